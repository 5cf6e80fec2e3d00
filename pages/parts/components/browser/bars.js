// Bars of K-grams. A K-gram keeps its element while it is on the list, so that one sees it rise and fall.
//
// Labels are untrusted: textContent only.

const LAST_HUE = 8;
const SETTLED_MS = 600; // longer than the transitions of path_bars.py

function showBars(root, bars, { rows, selected }, choose) {
  const most = Math.max(1, ...rows.map((row) => row[3]));
  const gone = new Set(bars.keys());
  root.style.height = `calc(${rows.length} * var(--row))`;
  rows.forEach(([gram, label, length, count], place) => {
    gone.delete(gram);
    const bar = bars.get(gram) ?? makeBar(root, bars, gram);
    bar.onclick = () => choose(gram);
    const [name, number] = bar.children;
    name.textContent = label;
    number.textContent = count.toLocaleString("en");
    const look = {
      place, share: count / most, hue: `var(--h${Math.min(length, LAST_HUE)})`, thick: `${0.5 + 0.5 * length}px`,
    };
    for (const [property, value] of Object.entries(look)) bar.style.setProperty(`--${property}`, value);
    bar.classList.toggle("chosen", gram === selected);
    bar.ariaPressed = String(gram === selected);
    bar.ariaLabel = `${label}, ${length} word${length === 1 ? "" : "s"}, ${number.textContent} pointers`;
  });
  for (const gram of gone) {
    bars.get(gram).remove();
    bars.delete(gram);
  }
  // The keyboard goes from top to bottom. An element that is put elsewhere does not glide, hence afterwards.
  clearTimeout(root.cflSorter);
  root.cflSorter = setTimeout(() => {
    if (!root.contains(root.getRootNode().activeElement)) root.append(...rows.map(([gram]) => bars.get(gram)));
  }, SETTLED_MS);
}

function makeBar(root, bars, gram) {
  const bar = document.createElement("button");
  bar.type = "button";
  bar.className = "bar";
  for (const part of ["name", "count"]) {
    const span = document.createElement("span");
    span.className = part;
    bar.append(span);
  }
  bar.firstElementChild.dir = "auto";
  bars.set(gram, bar);
  root.append(bar);
  if (!matchMedia("(prefers-reduced-motion: reduce)").matches) bar.animate([{ opacity: 0 }, { opacity: 1 }], 300);
  return bar;
}
