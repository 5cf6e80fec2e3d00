// Live chart of one homotopy solve: binary objective, best objective, relaxation, certified bound, zeta.
//
// Streamlit calls the default export again whenever data or theme change, always with the same
// parentElement; the chart is kept per element, so the DOM node and with it zoom and legend survive.

const FIELDS = ["t", "i", "objective", "best", "relaxed", "bound", "zeta", "gap"];
const HELD = new Set(["best", "bound", "gap"]); // stay true until the next value
const MAX_POINTS = 300; // per trace: more SVG points cost time and show nothing
const MIN_FRAME_MS = 50; // at most 20 redraws a second
const IDLE_SHARE = 1; // after a redraw of n ms rest n ms: the solver may share this machine's cores
const MAX_FAILURES = 6; // stream errors in a row, without a new row in between, before giving up
const ARIA_MS = 2000; // a screen reader must not be talked over

// Okabe-Ito hues, picked per theme for a contrast of at least 3:1. Dash, width and marker tell the traces
// apart as well; colour is never the only cue.
const COLOURS = {
  light: { objective: "#009e73", best: "#0072b2", relaxed: "#b0568c", bound: "#d55e00" },
  dark: { objective: "#009e73", best: "#56b4e9", relaxed: "#cc79a7", bound: "#e69f00" },
};

const charts = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  let chart = charts.get(parentElement);
  if (!chart) {
    chart = new LiveChart(parentElement);
    charts.set(parentElement, chart);
  }
  chart.update(data, setTriggerValue);
  // Streamlit may run this for an update that was overtaken, too; only a node that left the page is gone.
  return () =>
    setTimeout(() => {
      if (parentElement.isConnected) return;
      chart.destroy();
      charts.delete(parentElement);
    });
}

class LiveChart {
  constructor(parent) {
    const find = (selector) => parent.querySelector(selector);
    this.root = find(".cfl-live");
    this.plot = find(".cfl-live-plot");
    this.status = find(".cfl-live-status");
    this.resetButton = find(".cfl-live-bar button");
    this.rows = [];
    this.link = "idle"; // idle, open, retrying, lost
    this.done = null;
    this.streamUrl = null;
    this.xField = "t";
    this.zoomOnGap = true;
    this.view = {}; // ranges the reader has dragged: {x: [from, to], y: [from, to], y2: [from, to]}
    this.frameCount = 0;
    this.restUntil = 0;
    this.ariaAt = -Infinity;
    this.gone = new AbortController();
    this.listen(find(".cfl-live-bar"));
  }

  listen(bar) {
    bar.addEventListener("submit", (event) => event.preventDefault());
    bar.addEventListener("change", ({ target }) => {
      if (target.name === "x") this.xField = target.value;
      else this.zoomOnGap = target.checked;
      this.resetView(target.name === "x" ? "x" : "y");
    });
    this.resetButton.addEventListener("click", () => this.resetView());
    this.resizer = new ResizeObserver(() => this.schedule());
    this.resizer.observe(this.plot);
    // A redraw in the middle of a drag would throw the reader's zoom box away.
    const release = () => {
      if (this.dragging) this.schedule();
      this.dragging = false;
    };
    this.plot.addEventListener("pointerdown", () => (this.dragging = true));
    window.addEventListener("pointerup", release, { signal: this.gone.signal });
    window.addEventListener("pointercancel", release, { signal: this.gone.signal });
  }

  update(data, setTriggerValue) {
    this.notify = data.notify ? (payload) => setTriggerValue("done", payload) : null;
    this.height = data.height;
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
    this.done = null;
    this.view = {};
    this.schedule();
  }

  append(rows) {
    const before = this.rows.length;
    for (const row of rows) {
      const last = this.rows.at(-1);
      // A stream that was opened again may replay what is already here.
      if (last && (row.t < last.t || (row.t === last.t && row.i <= last.i))) continue;
      const held = (name) => (HELD.has(name) ? last?.[name] : null);
      this.rows.push(Object.fromEntries(FIELDS.map((name) => [name, row[name] ?? held(name) ?? null])));
    }
    return this.rows.length > before;
  }

  replaceRows(rows) {
    // The stream may have run ahead of the snapshot that Python took.
    const ahead = this.source ? this.rows : [];
    this.rows = [];
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
    this.plotly.react(this.plot, this.traces(), this.layout(), config);
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
    const style = getComputedStyle(this.root);
    const read = (name) => style.getPropertyValue(name).trim();
    this.theme = {
      text: read("--st-text-color"),
      back: read("--st-background-color"),
      grid: read("--st-border-color"),
      font: read("--st-font"),
      colours: COLOURS[style.colorScheme === "dark" ? "dark" : "light"],
    };
  }

  traces() {
    const { colours, text } = this.theme;
    const column = (name) => this.rows.map((row) => row[name]);
    const x = column(this.xField);
    const trace = (field, name, legendrank, line, more) => {
      const points = thin(x, column(field));
      return {
        uid: field, name, legendrank, type: "scatter", mode: "lines", showlegend: points.x.length > 0,
        ...points, line: { color: colours[field], ...line }, hovertemplate: "%{y:,.6~g}", ...more,
      };
    };
    const marked = (symbol, size) => ({ mode: "lines+markers", marker: { symbol, size, maxdisplayed: 9 } });
    const triangles = { legendgroup: "bound", ...marked("triangle-up", 9) };
    return [
      {
        uid: "gap", type: "scatter", mode: "lines", fill: "toself", fillcolor: `${colours.bound}26`,
        line: { width: 0 }, hoverinfo: "skip", showlegend: false, legendgroup: "bound",
        ...region(x, column("best"), column("bound")),
      },
      trace("objective", "binary objective", 4, { width: 1 }),
      trace("relaxed", "relaxation (estimate)", 3, { width: 2, dash: "dash" }),
      trace("bound", "certified lower bound", 2, { width: 2, shape: "hv" }, triangles),
      trace("best", "best objective", 1, { width: 3.5, shape: "hv" }, marked("circle", 7)),
      trace("zeta", "ζ", 5, { width: 1.5, color: text }, { yaxis: "y2", showlegend: false }),
    ];
  }

  layout() {
    const { text, grid, font, back } = this.theme;
    const narrow = this.plot.clientWidth < 520;
    const size = narrow ? 11 : 13;
    const withZeta = this.rows.some((row) => row.zeta !== null);
    const [from, to] = [this.rows[0]?.[this.xField] ?? 0, this.rows.at(-1)?.[this.xField] ?? 1];
    const [left, right] = this.view.x ?? [from, to + 0.02 * (to - from || 1)];
    const start = this.rows.find((row) => row.zeta > 0)?.[this.xField];
    const late = start > left + 0.6 * (right - left);
    const axis = (range, more) => ({
      // A new uirevision each time: Plotly keeps the legend clicks, this.view the dragged ranges.
      uirevision: this.frameCount, gridcolor: grid, linecolor: grid, zeroline: false, automargin: true,
      separatethousands: true, exponentformat: "none", nticks: narrow ? 5 : 8,
      ...(range ? { range: [...range], autorange: false } : { autorange: true }), ...more,
    });
    return {
      uirevision: "legend", width: this.plot.clientWidth, height: this.height, dragmode: "zoom",
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { family: font, size, color: text },
      margin: { l: narrow ? 44 : 60, r: 10, t: 8, b: 40 },
      hovermode: "x unified", hoverlabel: { bgcolor: back, bordercolor: grid, font: { color: text } },
      legend: { orientation: "h", x: 0, xanchor: "left", y: 1.02, yanchor: "bottom", font: { size } },
      xaxis: axis([left, right], {
        anchor: withZeta ? "y2" : "y", spikethickness: 1, spikedash: "solid", spikecolor: text,
        title: { text: this.xField === "t" ? "seconds" : "iterations" },
      }),
      yaxis: axis(this.view.y ?? (this.zoomOnGap ? focus(this.rows.at(-1)) : null), {
        domain: [withZeta ? 0.24 : 0, 1], title: { text: narrow ? "" : "cost" },
      }),
      yaxis2: axis(this.view.y2, {
        domain: [0, 0.16], visible: withZeta, rangemode: "tozero", nticks: 3, title: { text: "ζ" },
      }),
      shapes: start === undefined ? [] : [{
        type: "line", xref: "x", yref: "paper", x0: start, x1: start, y0: 0, y1: 1,
        line: { color: text, width: 1, dash: "dot" },
      }],
      annotations: start === undefined ? [] : [{
        xref: "x", x: start, yref: "paper", y: 1, yanchor: "top", xanchor: late ? "right" : "left",
        showarrow: false, bgcolor: back, font: { size, color: text },
        text: late ? "ζ > 0 from here ×" : "× ζ > 0 from here",
      }],
    };
  }

  // ---- words

  showStatus() {
    const last = this.rows.at(-1);
    const value = (name) => this.done?.[name] ?? last?.[name] ?? null;
    const words = [this.broken ?? this.stateWord()];
    if (last) words.push(`iteration ${integer(last.i)}`, `${last.t.toFixed(1)} s`);
    words.push(`objective ${amount(this.done?.objective ?? last?.best ?? last?.objective ?? null)}`);
    words.push(`bound ${amount(value("bound"))}`);
    words.push(value("gap") === null ? "gap –" : `gap ${percent(value("gap"))} proved`);
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
    if (this.done) return `finished: ${this.done.reason}`;
    const words = { open: "running", retrying: "reconnecting …", lost: "connection lost, showing what arrived" };
    return words[this.link] ?? (this.streamUrl ? "connecting …" : "");
  }
}

// The range from bound to best objective with air around it: early values may be larger by orders of magnitude.
// Null, Plotly's own choice, while there is no objective yet.
function focus(row) {
  const high = row?.best ?? null;
  if (high === null) return null;
  const low = row.bound ?? Math.min(row.relaxed ?? high, high);
  const span = Math.max(high - low, 1e-4 * Math.abs(high), 1e-9);
  return [low - 0.35 * span, high + 0.9 * span];
}

// At most `limit` of the points that have a value: first, last, and lowest and highest of each bucket.
function thin(x, y, limit = MAX_POINTS) {
  let kept = [...y.keys()].filter((k) => y[k] !== null);
  if (kept.length > limit) {
    const inner = kept.slice(1, -1);
    const size = Math.ceil(inner.length / Math.floor((limit - 2) / 2));
    const chosen = new Set([kept[0]]);
    for (let from = 0; from < inner.length; from += size) {
      const bucket = inner.slice(from, from + size);
      const low = bucket.reduce((a, k) => (y[k] < y[a] ? k : a));
      const high = bucket.reduce((a, k) => (y[k] > y[a] ? k : a));
      chosen.add(Math.min(low, high)).add(Math.max(low, high));
    }
    kept = [...chosen.add(kept.at(-1))];
  }
  return { x: kept.map((k) => x[k]), y: kept.map((k) => y[k]) };
}

// Outline of the area between the steps of the best objective and of the bound, where both are known.
function region(x, best, bound) {
  const known = best.map((value, k) => (value === null || bound[k] === null ? null : k));
  const kept = thin(x, known, MAX_POINTS / 4).y;
  const steps = (values) =>
    kept.flatMap((k, n) => [[x[k], values[kept[Math.max(0, n - 1)]]], [x[k], values[k]]]);
  const outline = [...steps(best), ...steps(bound).reverse()];
  return { x: outline.map((point) => point[0]), y: outline.map((point) => point[1]) };
}

// One copy of the library for all charts of the page, whichever module instance asks first.
function loadPlotly(url) {
  window.cflPlotly ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = url;
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => {
      window.cflPlotly = undefined; // the next update tries again
      script.remove();
      reject(new Error("the chart library could not be loaded"));
    };
    document.head.append(script);
  });
  return window.cflPlotly;
}

const integer = (value) => Math.round(value).toLocaleString("en");
const amount = (value) =>
  value === null ? "–" : value.toLocaleString("en", { maximumFractionDigits: Math.abs(value) < 1e4 ? 2 : 0 });
const percent = (value) => `${(100 * value).toLocaleString("en", { maximumSignificantDigits: 3 })} %`;
