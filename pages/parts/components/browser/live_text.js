// Text in pieces under a λ slider that lives in the browser: the text, the most used phrases, the shares of lengths and
// the proved numbers of every solved λ are here already, so that moving the slider needs no request.
//
// text_pieces.js, bars.js and stepper.js stand before this in one module. Texts and labels are untrusted: textContent only.

const STEP_MS = 650; // of Play
const views = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  let view = views.get(parentElement);
  if (!view) {
    view = new LiveText(parentElement);
    views.set(parentElement, view);
  }
  view.send = setTriggerValue;
  view.update(data);
  return () =>
    setTimeout(() => {
      if (parentElement.isConnected) return;
      view.stepper.pause();
      clearTimeout(view.text.filler);
      views.delete(parentElement);
    });
}

class LiveText {
  constructor(parent) {
    const find = (selector) => parent.querySelector(selector);
    [this.line, this.note, this.slider] = [".lt-line", ".lt-note", ".lt-bar input"].map(find);
    [this.output, this.shares, this.bar, this.top] = [".lt-bar output", ".lt-shares", ".lt-bar", ".lt-top"].map(find);
    this.text = new TextView(parent);
    this.text.send = (click) => this.choose(click.gram, { ...click, lam: this.point.lam });
    this.bars = new Map();
    this.root = find(".lt");
    const [button, settle] = [find(".lt-bar button"), () => this.send("move", { lam: this.point.lam })];
    this.stepper = new Stepper(this.slider, button, STEP_MS, (k) => this.show(k), settle);
  }

  update(bytes) {
    const [header, read] = received(bytes);
    const fresh = header.version !== this.version;
    const before = this.point?.lam;
    if (fresh) {
      this.version = header.version;
      Object.assign(this, read());
    }
    Object.assign(this.text, { unit: header.unit, counted: header.counted });
    this.root.classList.toggle("alone", header.alone);
    this.text.scroller.style.maxHeight = `${header.height}px`;
    const chosenElsewhere = header.selected !== (this.selected ?? null);
    this.selected = header.selected;
    this.found = header.found;
    const asked = header.lam !== this.asked;
    this.asked = header.lam;
    if (!fresh && !asked) {
      this.text.light(this.found);
      this.mark();
    } else {
      this.bar.hidden = this.points.length < 2;
      this.slider.max = this.points.length - 1;
      const wanted = asked || before === undefined ? header.lam : before;
      this.show(this.nearest(wanted), fresh);
    }
    // in a table, or on another page: its first use comes into sight
    if (chosenElsewhere && this.selected !== null && this.point.grams[this.selected]) this.text.select(this.selected);
  }

  nearest(lam) {
    const far = ({ lam: own }) => Math.abs(Math.log((own + 1e-9) / (lam + 1e-9)));
    return this.points.reduce((best, point, k) => (far(point) < far(this.points[best]) ? k : best), 0);
  }

  show(k, whole = false) {
    if (!whole && this.point === this.points[k]) return;
    const held = whole ? null : this.held();
    this.point = this.points[k];
    const { point, text } = this;
    this.slider.value = k;
    this.output.textContent = `λ = ${point.lam}`;
    this.slider.ariaValueText = `λ = ${point.lam}: ${point.line.map(([part]) => part).join("")}`;
    this.line.replaceChildren(...point.line.map(([part, strong]) => element(strong ? "b" : "span", "", part)));
    this.note.textContent = point.note;
    this.showShares();
    text.isNew = held && ((d, start, end) => !held.has(`${d}:${start}:${end}`));
    text.load({
      documents: this.documents.map((doc, d) => ({ ...doc, ...point.documents[d] })),
      grams: point.grams,
      counts: point.counts,
    });
    text.light(this.found, true);
    text.toTop(text.reading);
    this.mark();
  }

  // The pieces of more than a word that stand now: what is not among them next time is new.
  held() {
    const found = new Set();
    this.point?.documents.forEach(({ start, end }, d) => start.forEach((a, i) => found.add(`${d}:${a}:${end[i]}`)));
    return found;
  }

  showShares() {
    const parts = this.point.shares.map((share, i) => {
      const part = element("span", `p l${Math.min(i + 1, LONGEST)}`);
      part.style.flexGrow = share;
      part.classList.toggle("short", share < 0.2);
      part.classList.toggle("shortest", share < 0.12);
      const sized = element("span", "sized", `${this.text.sized(i + 1)} `); // left out where there is no space for it
      if (share > 0.08) part.append(sized, `${Math.round(100 * share)} %`);
      return part;
    });
    this.shares.replaceChildren(...parts);
    this.shares.ariaLabel = this.point.shares
      .map((share, i) => `${this.text.sized(i + 1)}: ${Math.round(100 * share)} %`).join(", ");
  }

  mark() {
    const known = this.selected !== null && this.point.grams[this.selected] ? this.selected : null;
    this.text.select(known, true);
    showBars(this.top, this.bars, { rows: this.point.top, selected: this.selected }, (gram) => this.choose(gram));
  }

  choose(gram, click = null) {
    if (gram === LITERAL) return;
    this.selected = this.selected === gram && !click ? null : gram;
    this.mark();
    if (!click && this.selected !== null && this.point.grams[gram]) this.text.select(gram);
    this.send("choose", { gram: this.selected, lam: this.point.lam });
  }
}
