// Sentences with their log-odds. Texts and labels are untrusted: textContent only.

// smaller log-odds are drawn but not spelled out, or not even drawn; where all are small, by shares of the largest
const SPELT = 5e-3, DRAWN = 1e-3, SHARES = [0.1, 0.02];

const NAMES = { sentence: "sentence", elastic: "elastic net", ridge: "ridge", lasso: "lasso", frequency: "frequency" };

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".sv");
  const look = JSON.stringify(data);
  if (root.cflLook === look) return;
  root.cflLook = look;
  legend(root.querySelector(".sv-legend"), data);
  const [left, right] = root.querySelector(".sv-sides").children;
  left.textContent = `← ${data.classes[0]}`;
  right.textContent = `${data.classes[1]} →`;
  root.querySelector(".sv-head > span").textContent = data.unit[0].toUpperCase() + data.unit.slice(1);
  const rows = root.querySelector(".sv-rows");
  rows.setAttribute("aria-label", `The document by ${data.unit}s`);
  rows.style.maxHeight = `${data.height}px`;
  const largest = Math.max(1e-9, ...data.rows.flatMap((row) => row.odds.map(Math.abs)));
  const heaviest = Math.max(1e-9, ...data.rows.flatMap((row) => row.pieces.map((piece) => Math.abs(piece[1]))));
  rows.replaceChildren(...data.rows.map((row) => rowOf(row, data, largest, heaviest)));
}

function make(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

function legend(list, { models, classes }) {
  const items = models.map((model, k) => {
    const item = make("li");
    const patch = make("i");
    patch.style.background = `var(--m${k})`;
    item.append(patch, NAMES[model] ?? model);
    return item;
  });
  for (const [side, name] of [["", classes[1]], ["against", classes[0]]]) {
    const item = make("li");
    item.append(make("span", `sv-word ${side}`, "word"), ` speaks for ${name}`);
    item.firstChild.style.setProperty("--thick", "2px");
    items.push(item);
  }
  list.replaceChildren(...items);
}

function rowOf(row, data, largest, heaviest) {
  const plain = data.strongest === 0; // nothing is kept or left out
  const kept = row.group_norm > 0;
  const node = make("div", plain ? "sv-row plain" : kept ? "sv-row kept" : "sv-row");
  node.role = "listitem";
  const body = make("div");
  const text = make("div", "sv-text");
  text.dir = "auto";
  for (const [piece, weight] of row.pieces) {
    if (!weight) {
      text.append(piece);
      continue;
    }
    const word = make("span", weight > 0 ? "sv-word" : "sv-word against", piece);
    word.style.setProperty("--thick", `${(1 + (3 * Math.abs(weight)) / heaviest).toFixed(1)}px`);
    word.title = `weight ${signed(weight)}`;
    text.append(word);
  }
  const norm = make("div", "sv-norm");
  if (kept) {
    const bar = make("i");
    bar.style.setProperty("--share", Math.min(1, row.group_norm / data.strongest));
    norm.append(bar, `kept, norm ${short(row.group_norm)}`);
  } else norm.append("left out");
  body.append(text);
  if (!plain) body.append(norm);
  const odds = make("div", "sv-odds");
  row.odds.forEach((value, k) => odds.append(oddsOf(value, k, data, largest)));
  node.append(body, odds);
  return node;
}

function oddsOf(value, k, { models, classes }, largest) {
  const line = make("div", "sv-odd");
  const sides = [make("span"), make("span")];
  const side = sides[value > 0 ? 1 : 0];
  if (Math.abs(value) >= Math.min(DRAWN, SHARES[1] * largest)) {
    const bar = make("i");
    bar.style.setProperty("--share", Math.abs(value) / largest);
    bar.style.setProperty("--hue", `var(--m${k})`);
    const parts = Math.abs(value) >= Math.min(SPELT, SHARES[0] * largest) ? [bar, short(Math.abs(value))] : [bar];
    side.append(...(value > 0 ? parts : parts.reverse()));
  }
  const name = NAMES[models[k]] ?? models[k];
  line.title = `${name}: ${short(Math.abs(value))} for ${classes[value > 0 ? 1 : 0]}`;
  line.append(...sides);
  return line;
}

const short = (value) => value.toLocaleString("en", { maximumSignificantDigits: 2 });
const signed = (value) => (value > 0 ? "+" : "−") + short(Math.abs(value));
