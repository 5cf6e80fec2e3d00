// Keyboard shortcuts: letters act outside of text boxes. What a key does is found on the page by what is there for a mouse,
// so that a key does nothing else than a click would.

const TYPING = 'input:not([type=range], [type=checkbox], [type=radio], [type=button]), textarea, select, [contenteditable="true"]';
const GO_MS = 1500; // between g and the letter of a page

const ACT = {
  words: () => showTable(),
  find: () => searchBox()?.focus(),
  slider: () => seen('[role="slider"], input[type="range"]')[0]?.focus(),
  play: () => seen("button").find((button) => /^(▶|❚❚)/.test(button.textContent))?.click(),
  down: () => step("ArrowUp"),
  up: () => step("ArrowDown"),
  next: () => seen('[data-testid="stPageLink"] a').findLast((link) => link.textContent.includes("Next: "))?.click(),
};

function followKeys(tools) {
  let going = -Infinity;
  const pressed = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.composedPath()[0].matches?.(TYPING)) return;
    const { actions, pages } = tools.keys;
    const page = performance.now() - going < GO_MS ? pages[event.key] : undefined;
    going = event.key === "g" && page === undefined ? performance.now() : -Infinity;
    const act = page !== undefined ? () => open(page) : ACT[actions[event.key]];
    if (going < 0 && !act) return;
    event.preventDefault();
    event.stopImmediatePropagation(); // Streamlit has letters of its own
    act?.();
  };
  window.addEventListener("keydown", pressed, true);
  return () => window.removeEventListener("keydown", pressed, true);
}

function showKeys(tools) {
  const letters = new Map(Object.entries(tools.keys.pages).map(([letter, page]) => [page, letter]));
  // aria-keyshortcuts has no word for one key after another
  for (const link of navigation()) link.title = `g, then ${letters.get(pageOf(link))}`;
}

const navigation = () => [...document.querySelectorAll('[data-testid="stSidebarNavLink"]')];
const pageOf = (link) => new URL(link.href).pathname.split("/").at(-1);
const open = (page) => navigation().find((link) => pageOf(link) === page)?.click();

function showTable(tries = 20) {
  const tab = [...document.querySelectorAll('[data-testid="stPopoverBody"] [role="tab"]')].find((one) => one.textContent === "Keys");
  if (tab) return tab.click();
  if (tries === 20) document.querySelector(".st-key-words button")?.click();
  if (tries) setTimeout(() => showTable(tries - 1), 50);
}

function searchBox() {
  const boxes = seen('input[type="text"], input[type="search"]').filter((box) => box.closest('[data-testid="stMain"]'));
  return boxes.find((box) => /^(find|search|look for|filter)/i.test(box.getAttribute("aria-label") ?? ""));
}

function step(key) {
  seen('input[aria-label="Document"]')[0]?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
}

// what is on show, components' own trees included
function seen(selector, root = document.querySelector('[data-testid="stMain"]') ?? document) {
  const found = [...root.querySelectorAll(selector)].filter((node) => node.checkVisibility());
  for (const node of root.querySelectorAll("*")) if (node.shadowRoot) found.push(...seen(selector, node.shadowRoot));
  return found;
}
