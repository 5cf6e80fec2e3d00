// Texts with their pointers: coloured, hoverable, clickable, for 100,000 words and more.
//
// Texts and labels are untrusted. They enter the document through textContent and text nodes only.
//
// A *place* is the running number of a piece over all documents. Pieces are numbered before their elements
// exist, because a long text is filled in block by block while the reader already sees its first screen.
//
// In a heat map every piece is a token or what stands between two, and a token is a pointer of its own.

const LITERAL = -1;
const LONGEST = 8;
const SLICE_MS = 12; // time spent on filling between two frames
const LEVELS = 20; // steps of the scale of prices in text_view.css
const TICKS = 4;
const CLICK_MS = 5000; // a selection that comes within this time of a click is its echo
const LINE_REM = 1.75; // line height in text_view.css; with the width it gives a guess at a block's height

class TextView {
  constructor(parent) {
    this.version = null;
    this.selected = null;
    this.sent = null;
    this.marked = null;
    this.found = []; // matches of a search, [document, start, end]
    this.matching = new Set(); // their places
    const find = (selector) => parent.querySelector(selector);
    this.root = find(".view");
    this.legend = find(".legend");
    this.finder = find(".finder");
    this.scroller = find(".scroller");
    this.tip = find(".tip");
    this.finder.addEventListener("click", ({ target: { dataset } }) => {
      if (dataset.step) this.step(Number(dataset.step));
    });

    // One listener per kind of event for all pointers: 100,000 closures would cost more than the spans.
    const on = (type, handle) => this.scroller.addEventListener(type, handle);
    on("pointerover", (event) => this.hover(placeOf(event.target)));
    on("pointerleave", () => this.hover(null));
    on("click", (event) => this.isMarking() || this.choose(placeOf(event.target)));
    on("focusin", (event) => this.hover(placeOf(event.target)));
    on("focusout", () => this.hover(null));
    on("keydown", (event) => this.key(event));
    on("scroll", () => this.hovered != null && this.putTip(this.spans[this.hovered]));
  }

  update(bytes) {
    const [header, read] = received(bytes);
    this.root.classList.toggle("plain", !header.overlap);
    this.scroller.style.maxHeight = `${header.height}px`;
    [this.unit, this.counted, this.name] = [header.unit, header.counted, header.name];
    const fresh = header.version !== this.version;
    if (fresh) {
      this.version = header.version;
      this.load(read());
    }
    if (fresh || header.selected !== this.selected) this.select(header.selected);
    if (fresh || String(header.marked) !== String(this.marked)) this.mark(header.marked);
    this.light(header.found, fresh);
    if (fresh) this.toTop(this.reading);
  }

  // ---- filling

  load(view) {
    clearTimeout(this.filler);
    this.hover(null);
    this.reading = this.whereItIs(view.documents);
    this.sent = null;
    this.grams = view.grams;
    this.documents = view.documents;
    this.scale = view.scale;
    if (this.scale) this.documents.forEach(unpack);
    this.root.classList.toggle("heat", Boolean(this.scale));
    this.scroller.ariaLabel = this.scale ? "Text with the price of every token" : (this.name ?? "Text with its pointers");
    this.spans = []; // place -> span, undefined for plain text and for what is not filled in yet
    this.blocks = [];
    this.chosen = new Set();
    this.within = new Set();
    this.focused = null;
    if (this.scale) this.showScale();
    else this.showLegend(view.counts);
    this.scroller.replaceChildren(...this.documents.map((doc, d) => this.article(doc, d)));
    this.pieces = this.blocks.at(-1)?.to ?? 0;
    this.indexed = null;
    this.fillUntil(performance.now() + SLICE_MS, 0);
    this.focusable(this.seek(0, 1));
    this.scroller.tabIndex = this.focused === null ? 0 : -1; // a scrolling region must be reachable by keyboard
    this.scroller.scrollTop = 0;
  }

  // The first piece in sight, as [document, start, end], if the same texts are about to be shown again (with prices
  // in place of pointers, say): a reader who compares the two wants to keep the line.
  whereItIs(coming) {
    const now = this.documents ?? [];
    if (!this.scroller.scrollTop || now.length !== coming.length) return null;
    if (now.some((doc, d) => doc.text !== coming[d].text)) return null;
    const top = this.scroller.getBoundingClientRect().top;
    const block = this.blocks.find(({ node }) => node.getBoundingClientRect().bottom > top);
    if (!block) return null;
    let offset = block.offset;
    for (let place = block.from; place < block.to; place++) {
      const length = now[block.d].cut[place - now[block.d].first];
      if (this.spans[place]?.getBoundingClientRect().bottom > top) return [block.d, offset, offset + length];
      offset += length;
    }
    return null;
  }

  article(doc, d) {
    const article = element("article");
    const title = element("div", "title", doc.title);
    if (doc.title) {
      title.setAttribute("role", "heading");
      title.setAttribute("aria-level", "2");
    }
    const body = element("div");
    const parts = [title, ...(doc.meta ? [element("div", "meta", doc.meta)] : []), body];
    for (const part of parts) part.dir = "auto"; // a Latin title says nothing about the text below it
    article.append(...parts);
    const perLine = Math.max(20, (this.scroller.clientWidth - 32) / 7.5);
    doc.first = this.blocks.at(-1)?.to ?? 0;
    let piece = 0;
    let offset = 0;
    for (const count of doc.blocks) {
      const from = doc.first + piece;
      const block = { d, from, to: from + count, offset, node: element("div", "block") };
      for (; piece < block.to - doc.first; piece++) offset += doc.cut[piece];
      const lines = Math.ceil((offset - block.offset) / perLine);
      block.node.style.setProperty("--guess", `${lines * LINE_REM}rem`);
      this.blocks.push(block);
      body.append(block.node);
    }
    return article;
  }

  // Where each gram stands: all its places, to be outlined together, and the first place of each pointer. Made when
  // it is first asked for, so that a long text is on the screen sooner.
  index() {
    if (this.indexed) return this.indexed;
    const places = new Map();
    const starts = new Map();
    const put = (map, gram, place) => (map.has(gram) ? map.get(gram).push(place) : map.set(gram, [place]));
    for (const doc of this.documents) {
      const seen = new Uint8Array(doc.gram.length);
      doc.who.forEach((primary, piece) => {
        if (primary < 0) return;
        for (const pointer of [primary, ...(doc.others[piece] ?? [])]) {
          if (doc.gram[pointer] === LITERAL) continue;
          put(places, doc.gram[pointer], doc.first + piece);
          if (!seen[pointer]) put(starts, doc.gram[pointer], doc.first + piece);
          seen[pointer] = 1;
        }
      });
    }
    this.indexed = { places, starts };
    return this.indexed;
  }

  placesOf(gram) {
    return (gram !== null && this.index().places.get(gram)) || [];
  }

  startsOf(gram) {
    return (gram !== null && this.index().starts.get(gram)) || [];
  }

  fillUntil(deadline, next) {
    while (next < this.blocks.length && performance.now() < deadline) this.fill(this.blocks[next++]);
    if (next < this.blocks.length) {
      this.filler = setTimeout(() => this.fillUntil(performance.now() + SLICE_MS, next));
    }
  }

  fill(block) {
    if (block.filled) return;
    block.filled = true;
    const doc = this.documents[block.d];
    const nodes = [];
    let offset = block.offset;
    for (let place = block.from; place < block.to; place++) {
      const piece = place - doc.first;
      const text = doc.text.slice(offset, (offset += doc.cut[piece]));
      const pointer = doc.who[piece];
      if (pointer < 0) {
        nodes.push(text);
        continue;
      }
      const look = doc.price ? `p q${this.level(doc.price[pointer])}` : classes(doc, piece, pointer);
      const span = element("span", look, text);
      span.cflPlace = place;
      if (doc.length?.[pointer] > 1 && this.isNew?.(block.d, doc.start[pointer], doc.end[pointer])) span.classList.add("fresh");
      if (this.chosen.has(place)) span.classList.add("chosen");
      if (this.within.has(place)) span.classList.add(this.markedAs());
      if (this.matching.has(place)) span.classList.add("match");
      this.spans[place] = span;
      nodes.push(span);
    }
    // Under dir="auto" a node costs the more to insert the more siblings it gets, so all of them go in as one.
    const inside = element("span");
    inside.append(...nodes);
    block.node.append(inside);
  }

  level(price) {
    return Math.min(LEVELS, Math.round((price / this.scale[0]) * LEVELS));
  }

  blockAt(place) {
    let low = 0;
    let high = this.blocks.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (place < this.blocks[middle].to) high = middle;
      else low = middle + 1;
    }
    return this.blocks[low];
  }

  spanAt(place) {
    this.fill(this.blockAt(place));
    return this.spans[place];
  }

  // ---- pointers

  at(place) {
    const d = this.blockAt(place).d;
    const doc = this.documents[d];
    const piece = place - doc.first;
    return { d, doc, pointers: [doc.who[piece], ...(doc.others[piece] ?? [])] };
  }

  hover(place) {
    if (place === this.hovered) return;
    this.hovered = place;
    for (const span of this.outlined ?? []) span.classList.remove("same");
    this.outlined = [];
    this.tip.hidden = place === null;
    if (place === null) return;
    const { doc, pointers } = this.at(place);
    const same = this.placesOf(doc.gram[pointers[0]]);
    for (const other of same.length ? same : [place]) {
      const span = this.spans[other];
      if (!span) continue;
      span.classList.add("same");
      this.outlined.push(span);
    }
    this.tip.replaceChildren(...this.describe(place).map((text, n) => element(n ? "div" : "b", "", text)));
    this.putTip(this.spanAt(place));
  }

  // The K-gram first, then one line for each further thing worth knowing.
  describe(place) {
    const { doc, pointers } = this.at(place);
    const [primary, ...others] = pointers;
    if (doc.price) {
      const [word, count, mean] = this.grams[doc.gram[primary]];
      const lines = [word, `price ${exact(doc.price[primary])}`];
      if (count > 1) lines.push(`on average ${round(mean)}, ${count.toLocaleString("en")} × in the corpus`);
      else lines.push("only here in the corpus");
      return lines;
    }
    const name = (pointer) => this.grams[doc.gram[pointer]]?.[0] ?? this.spanAt(place).textContent;
    const lines = [name(primary)];
    const words = this.sized(doc.length[primary]);
    const gram = this.grams[doc.gram[primary]];
    if (gram) lines.push(`${words}, ${this.counted} ${gram[1].toLocaleString("en")} ×, dictionary cost ${round(gram[2])}`);
    else lines.push(`${words}, unknown to the dictionary: stored as it is`);
    if (doc.weight) lines.push(`weight ${round(doc.weight[primary])}`);
    if (others.length) lines.push(`also covered by: ${others.map(name).join(" · ")}`);
    return lines;
  }

  sized(n, more = "") {
    return `${n}${more} ${this.unit}${n === 1 ? "" : "s"}`;
  }

  putTip(span) {
    const box = span.getClientRects()[0];
    const seen = this.scroller.getBoundingClientRect();
    if (box.bottom < seen.top || box.top > seen.bottom) {
      this.hover(null);
      return;
    }
    const frame = this.root.getBoundingClientRect();
    const left = Math.min(box.left - frame.left, frame.width - this.tip.offsetWidth - 4);
    const above = box.top - frame.top - this.tip.offsetHeight - 6;
    this.tip.style.left = `${Math.max(0, left)}px`;
    this.tip.style.top = `${above > 0 ? above : box.bottom - frame.top + 6}px`;
  }

  // A reader who drags over words wants to copy them.
  isMarking() {
    const selection = this.root.getRootNode().getSelection?.() ?? document.getSelection();
    return selection !== null && !selection.isCollapsed;
  }

  choose(place) {
    if (place === null) return;
    const { d, doc, pointers } = this.at(place);
    const pointer = pointers[0];
    this.sent = { gram: doc.gram[pointer], place, at: performance.now() };
    this.focusable(place);
    this.spans[place].focus({ preventScroll: true });
    const [start, end] = this.extent(place);
    this.send({ gram: doc.gram[pointer], document: d, start, end });
  }

  // Where the primary pointer of a place starts and ends, in code points.
  extent(place) {
    const { doc, pointers } = this.at(place);
    const [pointer] = pointers;
    if (doc.start) return [doc.start[pointer], doc.end[pointer]];
    const first = doc.who.indexOf(pointer);
    const last = doc.who.lastIndexOf(pointer);
    const units = (pieces) => doc.cut.slice(0, pieces).reduce((sum, length) => sum + length, 0);
    return [units(first), units(last + 1)].map((end) => Array.from(doc.text.slice(0, end)).length);
  }

  // ---- keyboard: one pointer is in the tab order, arrows move on from it

  key(event) {
    const from = placeOf(event.target);
    if (from === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const forward = getComputedStyle(event.target).direction === "rtl" ? -1 : 1;
    const moves = {
      ArrowRight: () => this.seek(from, forward, true),
      ArrowLeft: () => this.seek(from, -forward, true),
      ArrowDown: () => this.nextLine(from, 1),
      ArrowUp: () => this.nextLine(from, -1),
      Home: () => this.seek(0, 1),
      End: () => this.seek(this.pieces - 1, -1),
    };
    if (event.key === "Enter" || event.key === " ") this.choose(from);
    else if (moves[event.key]) this.moveTo(moves[event.key]());
    else return;
    event.preventDefault();
  }

  // The nearest place with a pointer, from a place onwards; with `other`, one of another pointer.
  seek(place, step, other = false) {
    const here = other ? this.at(place) : null;
    for (let k = other ? place + step : place; k >= 0 && k < this.pieces; k += step) {
      const { d, pointers } = this.at(k);
      if (pointers[0] >= 0 && (d !== here?.d || pointers[0] !== here.pointers[0])) return k;
    }
    return other ? place : null;
  }

  nextLine(from, step) {
    const start = this.spanAt(from).getClientRects()[0];
    let best = from;
    let distance = Infinity;
    let line = null;
    for (let k = this.seek(from, step, true), last = from; k !== last; last = k, k = this.seek(k, step, true)) {
      const box = this.spanAt(k).getClientRects()[0];
      if (Math.abs(box.top - start.top) < start.height / 2) continue;
      line ??= box.top;
      if (Math.abs(box.top - line) > start.height / 2) break;
      if (Math.abs(box.left - start.left) < distance) [best, distance] = [k, Math.abs(box.left - start.left)];
    }
    return best;
  }

  moveTo(place) {
    this.focusable(place);
    this.reveal(place);
    this.spanAt(place).focus({ preventScroll: true });
  }

  focusable(place) {
    if (this.focused !== null) this.spans[this.focused].removeAttribute("tabindex");
    this.focused = place;
    if (place === null) return;
    const span = this.spanAt(place);
    span.tabIndex = 0;
    span.setAttribute("role", "button");
    span.setAttribute("aria-description", this.describe(place).slice(1).join(", "));
  }

  // ---- the selected gram

  // quiet: nothing scrolls, the reader is busy with something else
  select(gram, quiet = false) {
    for (const place of this.chosen) this.spans[place]?.classList.remove("chosen");
    this.selected = gram;
    this.chosen = new Set(this.placesOf(gram));
    for (const place of this.chosen) this.spans[place]?.classList.add("chosen");
    const starts = this.startsOf(gram);
    // A reader who has just clicked on this gram is looking at it already.
    const clicked = this.sent?.gram === gram && performance.now() - this.sent.at < CLICK_MS;
    this.current = clicked ? starts.findLastIndex((place) => place <= this.sent.place) : 0;
    if (starts.length && !clicked && !quiet) this.reveal(starts[0], true);
    this.showFound();
  }

  step(by) {
    const starts = this.startsOf(this.selected);
    if (!starts.length) return;
    this.current = (this.current + by + starts.length) % starts.length;
    this.showFound();
    this.focusable(starts[this.current]);
    this.reveal(starts[this.current], true);
    this.hover(starts[this.current]); // the focus stays on the button, for the next step
  }

  showFound() {
    const count = this.startsOf(this.selected).length;
    this.finder.hidden = count === 0;
    if (count === 0) return;
    const label = element("b", "", this.grams[this.selected][0]);
    label.dir = "auto";
    this.finder.lastElementChild.replaceChildren(
      `${(this.current + 1).toLocaleString("en")} of ${count.toLocaleString("en")} here: `, label);
  }

  // ---- the marked span

  mark(span) {
    for (const place of this.within) this.spans[place]?.classList.remove("within", "only");
    this.marked = span;
    this.within = new Set(span ? this.placesIn(...span) : []);
    for (const place of this.within) this.spans[place]?.classList.add(this.markedAs());
    if (!this.within.size) return;
    const clicked = this.within.has(this.sent?.place) && performance.now() - this.sent.at < CLICK_MS;
    if (!clicked) this.reveal(this.within.values().next().value, true);
  }

  markedAs() {
    return this.within.size === 1 ? "only" : "within"; // a line over many pieces, a frame around one
  }

  // Every piece that a match of the search touches; the first one is scrolled to when the search changes.
  light(found, fresh = false) {
    const changed = String(found) !== String(this.found);
    if (!changed && !fresh) return;
    for (const place of this.matching) this.spans[place]?.classList.remove("match");
    this.found = found;
    this.matching = this.placesOfAll(found);
    for (const place of this.matching) this.spans[place]?.classList.add("match");
    if (changed && this.matching.size) this.reveal(this.matching.values().next().value);
  }

  // The places of many spans, in one sweep over each document.
  placesOfAll(spans) {
    const places = new Set();
    this.documents.forEach((doc, d) => {
      const own = spans.filter(([of]) => of === d).sort((a, b) => a[1] - b[1]);
      let offset = 0;
      let next = 0;
      for (let piece = 0; piece < doc.cut.length && next < own.length; offset += doc.cut[piece++]) {
        while (next < own.length && own[next][2] <= offset) next++;
        const end = offset + doc.cut[piece];
        if (next < own.length && own[next][1] < end && doc.who[piece] >= 0) places.add(doc.first + piece);
      }
    });
    return places;
  }

  // The places with a pointer in [start, end) of a document.
  placesIn(d, start, end) {
    const doc = this.documents[d];
    const places = [];
    let offset = 0;
    for (let piece = 0; piece < doc.cut.length && offset < end; offset += doc.cut[piece++]) {
      if (offset + doc.cut[piece] > start && doc.who[piece] >= 0) places.push(doc.first + piece);
    }
    return places;
  }

  toTop(span) {
    const box = span && this.spanAt(this.placesIn(...span)[0])?.getClientRects()[0];
    if (box) this.scroller.scrollTop += box.top - this.scroller.getBoundingClientRect().top - 4;
  }

  // Scrolls the text alone; scrollIntoView would move the whole page.
  reveal(place, centre = false) {
    const frame = this.scroller.getBoundingClientRect();
    const box = this.spanAt(place).getClientRects()[0];
    if (!box) return; // in a tab that is not shown
    const inside = box.top >= frame.top + 8 && box.bottom <= frame.bottom - 8;
    if (!inside || centre) this.scroller.scrollTop += box.top - frame.top - frame.height / 3;
  }

  showScale() {
    const [top, note] = this.scale;
    const bar = element("li", "scale");
    const steps = Array.from({ length: LEVELS + 1 }, (_, level) => element("span", `p q${level}`));
    const ticks = Array.from({ length: TICKS + 1 }, (_, k) => element("span", "", round((top * k) / TICKS)));
    ticks.at(-1).textContent += " +";
    for (const [name, nodes] of [["steps", steps], ["ticks", ticks]]) {
      bar.append(element("div", name));
      bar.lastElementChild.append(...nodes);
    }
    bar.firstElementChild.ariaHidden = "true";
    this.legend.replaceChildren(bar, element("li", "note", note));
  }

  showLegend(counts) {
    const items = Object.entries(counts.lengths).map(([n, count]) =>
      [`p l${n}`, this.sized(Number(n), Number(n) === LONGEST ? "+" : ""), count]);
    if (counts.literals) items.push(["p literal", "unknown word", counts.literals]);
    if (counts.overlaps) items.push(["p l2 over", "overlap", counts.overlaps]);
    if (counts.weighted) items.push(["p l2 w3", "paler: smaller weight", null]);
    this.legend.replaceChildren(
      ...items.map(([look, text, count]) => {
        const item = element("li");
        item.append(element("span", look, text), count === null ? "" : `× ${count.toLocaleString("en")}`);
        return item;
      }),
    );
  }
}

// Tokens with prices follow one another: what a pointer knows of its pieces is counted, not sent.
function unpack(doc) {
  let pointer = -1;
  doc.who = doc.cut.map((length, piece) => (length < 0 ? -1 : doc.joins[piece] & 1 ? pointer : ++pointer));
  doc.cut = doc.cut.map(Math.abs);
  doc.price = doc.price.map((millionths) => millionths / 1e6);
  doc.others = {};
}

function classes(doc, piece, pointer) {
  const literal = doc.gram[pointer] === LITERAL;
  let names = literal ? "p literal" : `p l${Math.min(doc.length[pointer], LONGEST)}`;
  const joins = doc.joins[piece] ?? 0;
  if (joins & 1) names += " from";
  if (joins & 2) names += " on";
  if (doc.others[piece]) names += " over";
  if (doc.weight && doc.weight[pointer] < 0.95) names += ` w${Math.round(doc.weight[pointer] * 10)}`;
  return names;
}

const placeOf = (target) => target.closest(".p")?.cflPlace ?? null;
const exact = (value) => value.toLocaleString("en", { maximumFractionDigits: 6 });
const round = (value) => value.toLocaleString("en", { maximumFractionDigits: 3 });

function element(tag, className = "", text = "") {
  const node = document.createElement(tag);
  node.className = className;
  node.textContent = text;
  return node;
}
