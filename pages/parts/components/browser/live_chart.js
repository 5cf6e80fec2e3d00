// Live chart of one solve (binary objective, best objective, relaxation, certified bound, zeta) or of several: then
// the current and the best objective and the bound of each.

const FIELDS = ["t", "i", "s", "objective", "best", "relaxed", "bound", "zeta", "gap", "phase"];
const HELD = new Set(["best", "bound", "gap"]); // stay true until the next value
const MIN_FRAME_MS = 50; // at most 20 redraws a second
const IDLE_SHARE = 1; // after a redraw of n ms rest n ms: the solver may share this machine's cores
const MAX_FAILURES = 6; // stream errors in a row, without a new row in between, before giving up
const ARIA_MS = 2000; // a screen reader must not be talked over

export default keptBy(new WeakMap(), (parent) => new LiveChart(parent));

class LiveChart {
  constructor(parent) {
    const find = (selector) => parent.querySelector(selector);
    this.root = find(".cfl-live");
    this.plot = find(".cfl-live-plot");
    this.status = find(".cfl-live-status");
    this.bar = find(".cfl-live-bar");
    this.resetButton = find(".cfl-live-bar button");
    this.rows = [];
    this.latest = []; // the last row of each series
    this.link = "idle"; // idle, open, retrying, lost
    this.done = null;
    this.streamUrl = null;
    this.xField = "t";
    this.log = null;
    this.zoomOnGap = true;
    this.view = {}; // ranges the reader has dragged: {x: [from, to], y: [from, to], y2: [from, to]}
    this.frameCount = 0;
    this.restUntil = 0;
    this.ariaAt = -Infinity;
    this.gone = new AbortController();
    this.listen(this.bar);
  }

  listen(bar) {
    bar.addEventListener("submit", (event) => event.preventDefault());
    bar.addEventListener("change", ({ target }) => {
      if (target.name === "x") this.xField = target.value;
      else if (target.name === "log") this.log = target.checked;
      else this.zoomOnGap = target.checked;
      this.resetView(target.name === "zoom" ? "y" : "x");
    });
    this.resetButton.addEventListener("click", () => this.resetView());
    this.resizer = new ResizeObserver(() => this.schedule());
    this.resizer.observe(this.plot);
    watchDrags(this);
  }

  update(data, setTriggerValue) {
    this.notify = data.notify ? (payload) => setTriggerValue("done", payload) : null;
    Object.assign(this, { height: data.height, names: data.series, levels: data.levels, withZeta: data.zeta });
    this.phaseWords = data.phase;
    Object.assign(this, { stepsWord: data.steps, valueWord: data.value });
    this.bar.querySelector("input[value=i]").nextSibling.textContent = data.steps;
    if (this.log === null) this.bar.elements.log.checked = this.log = data.log;
    this.plot.style.height = `${data.height}px`;
    if (data.stream !== this.streamUrl) {
      this.closeStream();
      this.streamUrl = data.stream;
      if (data.stream) {
        this.clear();
        this.openStream(data.stream);
      }
    } else if (this.link === "lost") this.openStream(data.stream);
    if (data.rows) this.replaceRows(data.rows);
    // Python may know of the end, and take the stream away, before the stream has told of it.
    if (data.ended) this.done = data.ended;
    this.readTheme();
    loadPlotly(data.plotly)
      .then((plotly) => Object.assign(this, { plotly, broken: null }))
      .catch((error) => (this.broken = error.message))
      .finally(() => this.schedule());
  }

  destroy() {
    this.closeStream();
    this.resizer.disconnect();
    this.gone.abort();
    cancelAnimationFrame(this.frame);
    clearTimeout(this.rest);
    clearTimeout(this.ariaTimer);
    this.plotly?.purge(this.plot);
  }

  // ---- rows and stream

  clear() {
    this.rows = [];
    this.latest = [];
    this.done = null;
    this.view = {};
    this.schedule();
  }

  append(rows) {
    const before = this.rows.length;
    for (const row of rows) {
      const s = row.s ?? 0;
      const last = this.latest[s];
      // A stream that was opened again may replay what is already here.
      if (last && (row.t < last.t || (row.t === last.t && row.i <= last.i))) continue;
      const held = (name) => (HELD.has(name) ? last?.[name] : null);
      this.rows.push(Object.fromEntries(FIELDS.map((name) => [name, row[name] ?? held(name) ?? null])));
      this.rows.at(-1).s = s;
      this.latest[s] = this.rows.at(-1);
    }
    return this.rows.length > before;
  }

  replaceRows(rows) {
    // The stream may have run ahead of the snapshot that Python took.
    const ahead = this.source ? this.rows : [];
    this.rows = [];
    this.latest = [];
    this.append(rows);
    this.append(ahead);
  }

  openStream(url) {
    this.failures = 0;
    const connect = () => {
      const source = new EventSource(url);
      this.source = source;
      source.onopen = () => (this.link = "open");
      source.onmessage = (event) => {
        if (this.append(JSON.parse(event.data))) this.failures = 0;
        this.schedule();
      };
      source.addEventListener("reset", () => this.clear());
      source.addEventListener("done", (event) => {
        this.done = JSON.parse(event.data);
        this.closeStream();
        this.notify?.(this.done);
        this.schedule();
      });
      source.onerror = () => {
        this.failures += 1;
        this.schedule();
        this.link = "retrying";
        // The browser reconnects by itself unless the server answered with an error.
        if (source.readyState === EventSource.CLOSED) this.retry = setTimeout(connect, 250 * 2 ** this.failures);
        if (this.failures <= MAX_FAILURES) return;
        this.closeStream();
        this.link = "lost";
      };
    };
    connect();
  }

  closeStream() {
    clearTimeout(this.retry);
    this.source?.close();
    this.source = null;
    this.link = "idle";
  }

  // ---- drawing

  schedule() {
    this.frame ||= requestAnimationFrame(() => this.tick());
  }

  tick() {
    this.frame = 0;
    const wait = this.restUntil - performance.now();
    if (wait > 0) {
      clearTimeout(this.rest);
      this.rest = setTimeout(() => this.schedule(), wait);
      return;
    }
    const started = performance.now();
    this.showStatus();
    if (this.plotly && !this.dragging && this.plot.clientWidth > 0) this.draw();
    const spent = performance.now() - started;
    this.restUntil = started + Math.max(MIN_FRAME_MS, (1 + IDLE_SHARE) * spent);
  }

  draw() {
    const first = this.frameCount === 0;
    this.frameCount += 1;
    this.resetButton.hidden = Object.keys(this.view).length === 0;
    const config = { displayModeBar: false, doubleClick: false, showTips: false };
    const { traces, layout } = figureOf(this);
    this.plotly.react(this.plot, traces, layout, config);
    if (!first) return;
    this.plot.on("plotly_relayout", (change) => this.keepView(change));
    this.plot.on("plotly_doubleclick", () => this.resetView());
  }

  keepView(change) {
    for (const [name, axis] of [["x", "xaxis"], ["y", "yaxis"], ["y2", "yaxis2"]]) {
      const range = [change[`${axis}.range[0]`], change[`${axis}.range[1]`]];
      if (range[0] !== undefined) this.view[name] = range;
    }
    this.schedule();
  }

  resetView(axis) {
    if (axis) delete this.view[axis];
    else this.view = {};
    this.schedule();
  }

  readTheme() {
    const theme = themeOf(this.root);
    this.theme = { ...theme, colours: COLOURS[theme.dark ? "dark" : "light"] };
  }

  // ---- words

  showStatus() {
    const last = this.rows.at(-1);
    const value = (name) => (this.names.length ? null : this.done?.[name]) ?? last?.[name] ?? null;
    const words = [this.broken ?? this.stateWord()];
    const racing = this.names.length > 0;
    const over = racing && (this.done || !this.streamUrl); // then no solver's numbers are those of the race
    if (racing && last && !over) words.push(this.names[last.s]);
    if (!over) {
      if (last) words.push(`${this.stepsWord.replace(/s$/, "")} ${integer(last.i)}`, `${last.t.toFixed(1)} s`);
      words.push(`objective ${amount((racing ? null : this.done?.objective) ?? last?.best ?? last?.objective ?? null)}`);
      words.push(`bound ${atLeast(value("bound"))}`);
      words.push(value("gap") === null ? "gap –" : `gap ${gapText(value("gap"))} proved`);
    }
    const text = words.filter(Boolean).join("  ·  ");
    // Untouched while it says the same, so that a reader can select it.
    if (this.status.textContent !== text) this.status.textContent = text;
    this.showAria(text);
  }

  showAria(text) {
    const wait = this.ariaAt + ARIA_MS - performance.now();
    clearTimeout(this.ariaTimer);
    if (wait > 0) {
      this.ariaTimer = setTimeout(() => this.showAria(text), wait);
      return;
    }
    this.ariaAt = performance.now();
    this.plot.setAttribute("aria-label", `Chart of the solve: ${text.replaceAll("  ·  ", ", ")}`);
  }

  stateWord() {
    if (this.done) return this.done.reason === "done" ? "finished" : `finished: ${this.done.reason}`;
    const words = { open: "running", retrying: "reconnecting …", lost: "connection lost, showing what arrived" };
    return words[this.link] ?? (this.streamUrl ? "connecting …" : "");
  }
}
