// The λ-path with its slider. The cursor and the slider belong to the browser; Python is told where they are as often as
// it answers, and once more when they are let go.

const STEP_MS = 110; // Play: the time from one value of the slider to the next
const PATIENCE_MS = 4000; // after which a message that has no answer is taken for lost; twice as long each time

export default keptBy(new WeakMap(), (parent) => new PathChart(parent));

class PathChart {
  constructor(parent) {
    const find = (selector) => parent.querySelector(selector);
    this.root = find(".cfl-path");
    this.stage = find(".cfl-path-stage");
    this.plot = find(".cfl-path-plot");
    this.cursor = find(".cfl-path-cursor");
    this.bar = find(".cfl-path-bar");
    this.slider = find(".cfl-path-bar input");
    this.button = find(".cfl-path-bar button");
    this.output = find(".cfl-path-bar output");
    this.status = find(".cfl-path-status");
    this.choices = [];
    this.index = 0;
    this.n = 0;
    this.waiting = null; // {n, held, timer} of the message that has no answer yet
    this.patience = PATIENCE_MS;
    this.next = null; // {held} of the message to follow it
    this.listen();
  }

  listen() {
    this.bar.addEventListener("submit", (event) => event.preventDefault());
    this.slider.addEventListener("input", () => {
      this.pause();
      this.move(this.slider.valueAsNumber, true);
    });
    this.slider.addEventListener("change", () => this.move(this.slider.valueAsNumber, false));
    this.button.addEventListener("click", () => (this.playing ? this.stop() : this.play()));
    // The chart is a slider, too.
    const drag = (event) => this.move(this.choiceAt(event.clientX), true);
    this.stage.addEventListener("pointerdown", (event) => {
      if (!this.choices.length || event.button !== 0) return;
      this.pause();
      this.dragging = true;
      this.stage.setPointerCapture(event.pointerId);
      drag(event);
    });
    this.stage.addEventListener("pointermove", (event) => this.dragging && drag(event));
    for (const type of ["pointerup", "pointercancel"]) {
      this.stage.addEventListener(type, () => {
        if (this.dragging) this.move(this.index, false);
        this.dragging = false;
      });
    }
    this.resizer = new ResizeObserver(() => this.schedule());
    this.resizer.observe(this.plot);
  }

  update(data, setTriggerValue) {
    this.tell = setTriggerValue;
    this.data = data;
    this.theme = themeOf(this.root);
    this.plot.style.height = `${data.height}px`;
    if (this.waiting && this.waiting.n <= data.answer) {
      this.stopWaiting();
      this.patience = PATIENCE_MS;
    }
    this.takeChoices(data);
    this.follow(data.stream);
    loadPlotly(data.plotly)
      .then((plotly) => (this.plotly = plotly))
      .catch((error) => (this.status.textContent = error.message))
      .finally(() => this.schedule());
    this.send();
  }

  // New values: the slider stays at its λ. Where Python says it stands counts only while it is not moved.
  takeChoices(data) {
    const now = this.choices[this.index];
    const busy = this.dragging || this.playing || this.waiting || this.next;
    const lam = busy && now !== undefined ? now : (data.lam ?? now);
    this.choices = data.choices;
    this.bar.hidden = this.choices.length < 2;
    this.stage.classList.toggle("ready", this.choices.length > 1);
    this.slider.max = this.choices.length - 1;
    if (lam !== undefined && this.choices.length) this.index = this.nearest(lam);
  }

  nearest(lam) {
    const far = (choice) => Math.abs(Math.log(choice / lam));
    return this.choices.reduce((best, choice, k) => (far(choice) < far(this.choices[best]) ? k : best), 0);
  }

  destroy() {
    this.pause();
    this.stopWaiting();
    this.follow(null);
    this.resizer.disconnect();
    cancelAnimationFrame(this.frame);
    this.plotly?.purge(this.plot);
  }

  // ---- moving

  move(index, held) {
    this.index = index;
    this.next = { held };
    this.showCursor();
    this.send();
  }

  send() {
    if (!this.next || this.waiting) return;
    const { held } = this.next;
    this.n = Math.max(this.n, this.data.answer) + 1;
    this.waiting = { n: this.n, held, timer: setTimeout(() => this.sendAgain(), this.patience) };
    this.next = null;
    this.tell("move", { lam: this.choices[this.index], held, n: this.n });
  }

  // A message that came to no run of the page is lost, and with it, where nothing followed it, that the slider was let
  // go. What is sent instead says where it stands by now. A run that is only slow begins anew with every message: hence
  // the patience that grows.
  sendAgain() {
    const { held } = this.waiting;
    this.stopWaiting();
    this.patience *= 2;
    this.next ??= { held };
    this.send();
  }

  stopWaiting() {
    clearTimeout(this.waiting?.timer);
    this.waiting = null;
  }

  play() {
    let index = this.index >= this.choices.length - 1 ? 0 : this.index;
    let since = performance.now();
    const tick = () => {
      const now = performance.now();
      if (now - since >= STEP_MS && index < this.choices.length - 1) {
        // one value at a time: a page that was busy goes on where it was instead of leaping to the end
        since = Math.max(since + STEP_MS, now - STEP_MS);
        index += 1;
      }
      if (index !== this.index) this.move(index, true);
      if (index < this.choices.length - 1) this.playing = requestAnimationFrame(tick);
      else this.stop();
    };
    this.playing = requestAnimationFrame(tick);
    this.button.textContent = "❚❚ Pause";
  }

  pause() {
    if (this.playing) cancelAnimationFrame(this.playing);
    this.playing = null;
    this.button.textContent = "▶ Play";
  }

  stop() {
    this.pause();
    this.move(this.index, false);
  }

  choiceAt(clientX) {
    const { left, width } = this.axisBox();
    const [from, to] = this.data.span.map(Math.log);
    const share = Math.min(1, Math.max(0, (clientX - this.plot.getBoundingClientRect().left - left) / width));
    return this.nearest(Math.exp(from + share * (to - from)));
  }

  axisBox() {
    return { left: MARGIN.l, width: Math.max(1, this.plot.clientWidth - MARGIN.l - MARGIN.r) };
  }

  // ---- drawing

  schedule() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      if (!this.data) return;
      if (this.plotly && this.plot.clientWidth > 0) this.draw();
      this.showCursor();
    });
  }

  draw() {
    const { points, span, working, gram, height } = this.data;
    const state = { points, span, working, gram, height, width: this.plot.clientWidth, theme: this.theme };
    const look = JSON.stringify(state);
    if (look === this.drawn) return; // most updates are answers to the slider and change nothing here
    this.drawn = look;
    const { traces, layout } = pathFigure(state);
    this.plotly.react(this.plot, traces, layout, { displayModeBar: false, doubleClick: false, showTips: false });
    const last = points.at(-1);
    const words = last ? `${points.length} points, from λ = ${short(points[0].lam)} to ${short(last.lam)}` : "no points yet";
    this.plot.setAttribute("aria-label", `Chart of the path: ${words}`);
  }

  showCursor() {
    const lam = this.choices[this.index];
    this.cursor.hidden = this.choices.length < 2;
    if (this.cursor.hidden) return;
    const { left, width } = this.axisBox();
    const [from, to] = this.data.span.map(Math.log);
    const shareOf = (value) => (Math.log(value) - from) / (to - from || 1);
    const share = shareOf(lam);
    // the track lies below what is solved of the axis, half of its thumb standing out on either side
    const [first, last] = [this.choices[0], this.choices.at(-1)].map((value) => left + shareOf(value) * width);
    this.slider.style.marginInlineStart = `${first - 8}px`;
    this.slider.style.width = `${last - first + 16}px`;
    this.cursor.style.height = `${this.data.height - MARGIN.b}px`;
    this.cursor.style.transform = `translateX(${left + share * width - 1}px)`;
    this.cursor.classList.toggle("late", share > 0.8);
    this.cursor.firstElementChild.textContent = this.output.textContent = `λ = ${short(lam)}`;
    this.slider.value = this.index;
    this.slider.setAttribute("aria-valuetext", `λ = ${short(lam)}`);
  }

  // ---- the solve at a λ that is not on the path

  follow(url) {
    if (url === this.url) return;
    this.url = url;
    this.source?.close();
    this.source = null;
    this.status.textContent = url ? "solving here …" : "";
    if (!url) return;
    const source = (this.source = new EventSource(url));
    source.onmessage = (event) => {
      const gap = JSON.parse(event.data).findLast((row) => row.gap !== null)?.gap;
      if (gap !== undefined) this.status.textContent = `solving here … gap ${gapText(gap)}`;
    };
    const end = () => {
      source.close();
      this.tell("done", url);
    };
    source.addEventListener("done", end);
    source.onerror = () => source.readyState === EventSource.CLOSED && end(); // it ended before we asked
  }
}

const short = (lam) => lam.toLocaleString("en", { maximumSignificantDigits: 3 });
