// The sentences that most say a class, strongest first. Texts and labels are untrusted: textContent only.

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".tl");
  const look = JSON.stringify(data);
  if (root.cflLook === look) return;
  root.cflLook = look;
  const largest = Math.max(1e-9, ...data.rows.map((row) => row.said));
  const heaviest = Math.max(1e-9, ...data.rows.flatMap((row) => row.pieces.map((piece) => Math.abs(piece[1]))));
  root.replaceChildren(...data.rows.map((row) => itemOf(row, largest, heaviest, setTriggerValue)));
}

function make(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

function itemOf(row, largest, heaviest, setTriggerValue) {
  const item = make("li", row.read ? "" : "unread");
  const button = make("button");
  button.type = "button";
  button.title = `Open document ${row.document}`;
  const text = make("span", "tl-text");
  text.dir = "auto";
  for (const [piece, weight] of row.pieces) {
    if (!weight) {
      text.append(piece);
      continue;
    }
    const word = make("span", weight > 0 ? "tl-word" : "tl-word against", piece);
    word.style.setProperty("--thick", `${(1 + (3 * Math.abs(weight)) / heaviest).toFixed(1)}px`);
    text.append(word);
  }
  const line = make("span", "tl-line");
  const bar = make("i");
  bar.style.setProperty("--share", row.said / largest);
  const times = row.times > 1 ? ` · ${row.times.toLocaleString("en")} times` : "";
  line.append(bar, `+${row.said.toLocaleString("en", { maximumSignificantDigits: 2 })}${times} · document ${row.document}`);
  button.append(text, line);
  button.addEventListener("click", () => setTriggerValue("open", { position: row.position }));
  item.append(button);
  return item;
}
