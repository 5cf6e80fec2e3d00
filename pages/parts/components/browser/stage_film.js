// The homotopy as a film: slider, numbers, chart and text of every stage are here, so that moving needs no request.
//
// plots.js, text_pieces.js, stepper.js and film_figure.js stand before this in one module. Texts and labels are
// untrusted: textContent only.

const STEP_MS = 700; // of Play
const HEIGHT = 330; // of the chart

export default keptBy(new WeakMap(), (parent) => new StageFilm(parent));

class StageFilm {
  constructor(parent) {
    const find = (selector) => parent.querySelector(selector);
    [this.root, this.bar, this.slider] = [".cfl-film", ".cfl-film-bar", ".cfl-film-bar input"].map(find);
    [this.output, this.numbers, this.note] = [".cfl-film-bar output", "dl", ".cfl-film-note"].map(find);
    [this.stage, this.plot, this.cursor] = [".cfl-film-stage", ".cfl-film-plot", ".cfl-film-cursor"].map(find);
    this.head = find(".cfl-film-head");
    [this.now, this.end] = [".cfl-film-now", ".cfl-film-end"].map((name) => new TextView(find(name)));
    for (const text of [this.now, this.end]) text.send = ({ gram }) => this.choose(text, gram);
    Object.assign(this.now, { unit: "word", counted: "occurs", name: "Text with its pointers at this ζ" });
    Object.assign(this.end, { unit: "word", counted: "used", name: "Text with its pointers at the end" });
    this.at = 0;
    this.stepper = new Stepper(this.slider, find(".cfl-film-bar button"), STEP_MS, (k) => this.show(k));
    this.listen();
  }

  // The chart is a slider, too.
  listen() {
    const drag = (event) => this.dragging && this.show(this.stageAt(event.clientX));
    this.stage.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      this.stepper.pause();
      this.dragging = true;
      this.stage.setPointerCapture(event.pointerId);
      drag(event);
    });
    this.stage.addEventListener("pointermove", drag);
    for (const type of ["pointerup", "pointercancel"]) this.stage.addEventListener(type, () => (this.dragging = false));
    this.resizer = new ResizeObserver(() => this.schedule());
    this.resizer.observe(this.plot);
  }

  update(bytes) {
    const [header, read] = received(bytes);
    for (const text of [this.now, this.end]) text.scroller.style.maxHeight = `${header.height}px`;
    this.theme = themeOf(this.root);
    if (header.version !== this.version) {
      this.version = header.version;
      this.take(read());
    }
    loadPlotly(header.plotly)
      .then((plotly) => drawnBy(this, plotly))
      .catch((error) => notDrawn(this, error))
      .finally(() => this.schedule());
  }

  // Another document, or another film: the slider stays at its place.
  take(film) {
    this.film = film;
    const last = film.stages.length - 1;
    this.slider.max = last;
    this.bar.hidden = last === 0;
    const stays = film.stays === null ? "" :
      `Up to the dotted line, ζ = ${film.stays.toFixed(2)}, every word has a pointer of at least that weight in the ` +
      "relaxation already, which therefore stays optimal.";
    this.note.textContent = last === 0 ? "The solve ended at ζ = 0, so there is one stage to look at." : stays;
    this.load(this.end, film.end);
    this.show(Math.min(this.at, last));
  }

  show(k) {
    const stage = this.film.stages[k];
    this.at = k;
    this.slider.value = k;
    const zeta = `ζ = ${stage.zeta.toFixed(1)}`;
    this.output.textContent = zeta;
    this.slider.ariaValueText = `${zeta}: ${percent(stage.decided)} decided, cost ${amount(stage.cost)}`;
    this.head.textContent = `At ${zeta}${stage.counts.weighted ? " · depth of colour: weight w" : ""}`;
    this.numbers.replaceChildren(
      fact("Decided", percent(stage.decided), "of the pointers with w above 0.01, those with 0.99 or more"),
      fact("Pointers chosen", integer(stage.pointers), "where every weight is taken as in or out"),
      fact("Cost, rounded here", integer(stage.cost), "of these pointers and their dictionary"),
      fact("Re-encoded", integer(stage.repaired), "the same dictionary, every document at its least cost"),
    );
    this.load(this.now, stage);
    this.now.toTop(this.now.reading);
    this.putCursor();
  }

  // A text in another state: what was chosen there stays so, where it still stands.
  load(text, { documents, grams, counts }) {
    text.load({ documents: this.film.shared.map((doc, d) => ({ ...doc, ...documents[d] })), grams, counts });
    this.choose(text, text.selected);
  }

  choose(text, gram) {
    text.select(gram !== null && text.grams[gram] ? gram : null, true);
  }

  stageAt(clientX) {
    const share = (clientX - this.plot.getBoundingClientRect().left - MARGIN.l) / this.axisWidth();
    const zeta = AXIS[0] + share * (AXIS[1] - AXIS[0]);
    const far = (stage) => Math.abs(stage.zeta - zeta);
    return this.film.stages.reduce((best, stage, k) => (far(stage) < far(this.film.stages[best]) ? k : best), 0);
  }

  axisWidth() {
    return Math.max(1, this.plot.clientWidth - MARGIN.l - MARGIN.r);
  }

  putCursor() {
    const share = (this.film.stages[this.at].zeta - AXIS[0]) / (AXIS[1] - AXIS[0]);
    this.cursor.style.top = `${MARGIN.t}px`;
    this.cursor.style.height = `${HEIGHT - MARGIN.t - MARGIN.b}px`;
    this.cursor.style.transform = `translateX(${MARGIN.l + share * this.axisWidth() - 1}px)`;
  }

  schedule() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      if (this.plotly && this.plot.clientWidth > 0) this.draw();
      this.putCursor();
    });
  }

  draw() {
    const look = JSON.stringify([this.version, this.plot.clientWidth, this.theme]);
    if (look === this.drawn) return;
    this.drawn = look;
    const { traces, layout } = filmFigure(this.film, this.plot.clientWidth, HEIGHT, this.theme);
    this.plotly.react(this.plot, traces, layout, { displayModeBar: false, doubleClick: false, showTips: false });
    const { stages } = this.film;
    const ends = [stages[0], stages.at(-1)].map((stage) => percent(stage.decided));
    const words = `Cost, proved bound and share of decided pointers over ζ: from ${ends[0]} decided to ${ends[1]}`;
    this.plot.setAttribute("aria-label", words);
  }

  destroy() {
    this.stepper.pause();
    this.resizer.disconnect();
    cancelAnimationFrame(this.frame);
    for (const text of [this.now, this.end]) clearTimeout(text.filler);
    this.plotly?.purge(this.plot);
  }
}

function fact(label, value, words) {
  const box = element("div");
  const said = element("dd");
  said.append(element("b", "", value), element("span", "", words));
  box.append(element("dt", "", label), said);
  return box;
}
