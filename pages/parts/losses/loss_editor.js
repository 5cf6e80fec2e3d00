// The picture of a loss: curves that Python has worked out, and points that the reader moves.

const SVG = "http://www.w3.org/2000/svg";
const BOX = { left: 44, right: 628, top: 12, bottom: 262 };
const RADIUS = 9;
const NARROW = 460; // pixels: below, letters and points are drawn larger
const STEP = 0.1; // of the arrow keys
const editors = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".loss-editor");
  if (!editors.has(root)) editors.set(root, new Editor(root));
  editors.get(root).update(data, (points) => setTriggerValue("points", points));
}

class Editor {
  constructor(root) {
    this.svg = root.querySelector("svg.picture");
    this.hint = root.querySelector(".loss-hint");
    this.legend = root.querySelector(".loss-legend");
    this.svg.addEventListener("dblclick", (event) => this.toggle(event));
    this.svg.addEventListener("pointermove", (event) => this.drag(event));
    for (const name of ["pointerup", "pointercancel"]) this.svg.addEventListener(name, () => this.drop());
  }

  update(data, send) {
    Object.assign(this, { data, send });
    if (this.held === undefined) this.points = data.points?.map((point) => [...point]) ?? null;
    this.hint.textContent = data.hint;
    this.draw();
  }

  // ---- coordinates

  x(value) {
    const [least, most] = this.data.range;
    return BOX.left + ((value - least) / (most - least)) * (BOX.right - BOX.left);
  }

  y(value) {
    return BOX.bottom - (value / this.data.range[2]) * (BOX.bottom - BOX.top);
  }

  place(event) {
    const corner = this.svg.getBoundingClientRect();
    const scale = 640 / corner.width;
    const [least, most, top] = this.data.range;
    const across = ((event.clientX - corner.left) * scale - BOX.left) / (BOX.right - BOX.left);
    const up = (BOX.bottom - (event.clientY - corner.top) * scale) / (BOX.bottom - BOX.top);
    const bound = (value, a, b) => Math.round(100 * Math.min(b, Math.max(a, value))) / 100;
    return [bound(least + across * (most - least), least, most), bound(up * top, 0, top)];
  }

  // ---- moving

  hold(event, k) {
    if (event.button) return;
    this.held = k;
    this.moved = false;
    this.svg.setPointerCapture?.(event.pointerId);
  }

  drag(event) {
    if (this.held === undefined) return;
    this.put(this.held, this.place(event));
    this.moved = true;
    this.draw();
  }

  // A point stays between its neighbours.
  put(k, [x, y]) {
    const before = this.points[k - 1]?.[0] ?? -Infinity;
    const after = this.points[k + 1]?.[0] ?? Infinity;
    this.points[k] = [Math.min(after - 0.05, Math.max(before + 0.05, x)), y];
  }

  drop() {
    if (this.held === undefined) return;
    this.held = undefined;
    if (this.moved) this.send(this.points);
  }

  toggle(event) {
    if (!this.points) return;
    const k = Number(event.target.dataset?.k ?? -1);
    if (k >= 0) {
      if (this.points.length <= 2) return;
      this.points.splice(k, 1);
    } else {
      const [x, y] = this.place(event);
      if (this.points.length >= 24 || this.points.some((point) => Math.abs(point[0] - x) < 0.05)) return;
      this.points.push([x, y]);
      this.points.sort((a, b) => a[0] - b[0]);
    }
    this.draw();
    this.send(this.points);
  }

  key(event, k) {
    const move = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, STEP], ArrowDown: [0, -STEP] }[event.key];
    if (!move) return;
    event.preventDefault();
    const [least, most, top] = this.data.range;
    const [x, y] = this.points[k];
    const bound = (value, a, b) => Math.round(100 * Math.min(b, Math.max(a, value))) / 100;
    this.put(k, [bound(x + move[0], least, most), bound(y + move[1], 0, top)]);
    this.draw();
    this.svg.querySelector(`[data-k="${k}"]`)?.focus();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.send(this.points), 400); // after the last of several
  }

  // ---- drawing

  draw() {
    const focus = this.svg.getRootNode().activeElement?.dataset?.k;
    this.svg.replaceChildren();
    this.zoom = this.svg.clientWidth && this.svg.clientWidth < NARROW ? 1.7 : 1;
    this.svg.style.setProperty("--zoom", this.zoom);
    const [least, most, top] = this.data.range;
    for (let v = Math.ceil(least); v <= most; v += 1) {
      this.add("line", { class: v ? "grid" : "axis", x1: this.x(v), x2: this.x(v), y1: BOX.top, y2: BOX.bottom });
      this.say(String(v).replace("-", "−"), this.x(v), BOX.bottom + 13 + 4 * this.zoom, "middle");
    }
    for (let v = 0; v <= top; v += 1) {
      this.add("line", { class: v ? "grid" : "axis", x1: BOX.left, x2: BOX.right, y1: this.y(v), y2: this.y(v) });
      this.say(String(v), BOX.left - 8, this.y(v) + 4, "end");
    }
    this.say(this.data.axis, (BOX.left + BOX.right) / 2, this.zoom > 1 ? 306 : 296, "middle");
    this.line(this.data.sum, "sum");
    this.data.parts.forEach(({ curve }, k) => this.line(curve, `part p${k % 4}`)); // dashed: the sum shows through
    this.legend.replaceChildren();
    this.label("sum", this.data.name);
    this.data.parts.forEach(({ name }, k) => this.label(`part p${k % 4}`, name));
    if (!this.points) return;
    this.line(this.points, "wanted");
    this.points.forEach((point, k) => {
      const circle = this.add("circle", {
        class: "point", r: RADIUS * this.zoom, cx: this.x(point[0]), cy: this.y(point[1]), tabindex: 0, "data-k": k, role: "slider",
        "aria-label": `point ${k + 1}: loss ${point[1].toFixed(2)} at ${point[0].toFixed(2)}`,
        "aria-valuenow": point[1],
      });
      circle.addEventListener("pointerdown", (event) => this.hold(event, k));
      circle.addEventListener("keydown", (event) => this.key(event, k));
    });
    if (focus !== undefined) this.svg.querySelector(`[data-k="${focus}"]`)?.focus();
  }

  // A curve's name, above the picture.
  label(look, name) {
    const entry = document.createElement("span");
    const sample = document.createElementNS(SVG, "svg");
    const line = document.createElementNS(SVG, "line");
    for (const [key, value] of Object.entries({ class: look, x1: 0, x2: 34, y1: 5, y2: 5 })) line.setAttribute(key, value);
    sample.append(line);
    entry.append(sample, name);
    this.legend.append(entry);
  }

  line(points, name) {
    const top = 1.06 * this.data.range[2]; // losses go on upwards, the picture does not
    const inside = points.filter((point) => point[1] <= top);
    const path = inside.map(([x, y]) => `${this.x(x).toFixed(1)},${this.y(y).toFixed(1)}`).join(" ");
    this.add("polyline", { class: name, points: path });
  }

  say(words, x, y, anchor) {
    this.add("text", { x, y, "text-anchor": anchor }).textContent = words;
  }

  add(name, attributes) {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    this.svg.append(element);
    return element;
  }
}
