// What every page needs in the browser. A button on every Plotly chart of any page: its numbers as CSV, its picture
// as SVG or PNG. And roles that Streamlit's own markup lacks or has wrong, for those who hear a page.

const STARTS = /^[=+\-@\t\r']/; // what a spreadsheet would take for a formula
const FIELDS = ["x", "y", "z", "text", "customdata"];

const RESTED_MS = 3000;
const PHONE = "(max-width: 768px)"; // there the menu lies over the page

// A press on a link of the menu closes it where it covers what was asked for.
function closeMenu({ target }) {
  if (!target.closest?.("[data-testid=stSidebarNavLink]") || !matchMedia(PHONE).matches) return;
  document.querySelector("[data-testid=stSidebarCollapseButton] button")?.click();
}

export default function (component) {
  const { data, parentElement } = component;
  window.cflPageTools ??= watch();
  Object.assign(window.cflPageTools, { url: data.plotly, keys: data.keys });
  showKeys(window.cflPageTools);
  return () =>
    setTimeout(() => {
      if (parentElement.isConnected || !window.cflPageTools) return;
      window.cflPageTools.observer.disconnect();
      window.cflPageTools.forgetKeys();
      history.pushState = window.cflPageTools.push;
      window.cflPageTools = undefined;
    });
}

function watch() {
  const tools = { url: "", keys: { actions: {}, pages: {} } };
  let waiting = false;
  const look = () => {
    waiting = false;
    showKeys(tools);
    for (const chart of document.querySelectorAll(".js-plotly-plot")) {
      if (chart.data?.length && !chart.querySelector(":scope > .cfl-save")) chart.append(menuOf(chart, tools));
    }
  };
  tools.observer = new MutationObserver(() => {
    mendRoles(); // at once, before a screen reader meets the wrong one
    if (waiting) return;
    waiting = true;
    setTimeout(look, 250); // charts that move change their nodes sixty times a second
  });
  tools.observer.observe(document.body, { childList: true, subtree: true, attributes: true, attributeFilter: ["role"] });
  const forgetKeys = followKeys(tools);
  document.addEventListener("click", closeMenu);
  tools.forgetKeys = () => {
    forgetKeys();
    document.removeEventListener("click", closeMenu);
  };
  tools.push = history.pushState;
  history.pushState = onePagePerEntry(tools.push);
  mendRoles();
  look();
  loadAhead(tools);
  return tools;
}

// The chart library takes a moment to be read, in which nothing moves: while nobody does anything, before it is wanted.
function loadAhead(tools) {
  let last = performance.now();
  const seen = () => (last = performance.now());
  const kinds = ["pointermove", "pointerdown", "keydown", "wheel"];
  for (const kind of kinds) document.addEventListener(kind, seen, { passive: true });
  const wait = () => {
    const rested = performance.now() - last > RESTED_MS && tools.url;
    if (!rested && !window.cflPlotly) return setTimeout(wait, 500);
    for (const kind of kinds) document.removeEventListener(kind, seen);
    return loadPlotly(tools.url).catch(() => {}); // a chart says so, when there is one
  };
  setTimeout(wait, RESTED_MS);
}

// Streamlit makes an entry of every parameter that the address is given, so that "back" would stay on the page.
function onePagePerEntry(push) {
  return function (state, title, url) {
    const same = url != null && new URL(url, location.href).pathname === location.pathname;
    return same ? history.replaceState(state, title, url) : push.call(history, state, title, url);
  };
}

// Navigation in groups is a list of boxes of entries; the uploader is called a presentation and has a name.
function mendRoles() {
  for (const list of document.querySelectorAll('ul[data-testid="stSidebarNavItems"]')) {
    give(list, "group");
    for (const item of list.querySelectorAll("li")) {
      if (item.parentElement === list) give(item, "presentation");
      else give(item.parentElement, "list");
    }
  }
  for (const zone of document.querySelectorAll('[data-testid="stFileUploaderDropzone"][role="presentation"]')) give(zone, "group");
}

function give(node, role) {
  if (node.getAttribute("role") !== role) node.setAttribute("role", role);
}

function menuOf(chart, tools) {
  const menu = document.createElement("div");
  menu.className = "cfl-save";
  const opener = buttonOf("⤓");
  opener.title = "Save this chart";
  opener.setAttribute("aria-label", "Save this chart");
  const choices = document.createElement("div");
  const open = (wanted) => {
    choices.hidden = !wanted;
    opener.setAttribute("aria-expanded", String(wanted));
  };
  open(false);
  opener.addEventListener("click", () => open(choices.hidden));
  const whole = chart.closest(".cfl-figure");
  if (whole && document.fullscreenEnabled) {
    const button = buttonOf("Full screen");
    button.addEventListener("click", () => {
      open(false);
      if (document.fullscreenElement) document.exitFullscreen();
      else whole.requestFullscreen();
    });
    choices.append(button);
  }
  for (const format of ["CSV", "SVG", "PNG"]) {
    const button = buttonOf(format);
    button.addEventListener("click", () => {
      open(false);
      save(chart, format, tools.url);
    });
    choices.append(button);
  }
  menu.append(opener, choices);
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || choices.hidden) return;
    open(false);
    opener.focus();
  });
  // a press here is none on the chart
  for (const kind of ["pointerdown", "mousedown", "click"]) menu.addEventListener(kind, (event) => event.stopPropagation());
  return menu;
}

function buttonOf(text) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = text;
  return button;
}

async function save(chart, format, url) {
  const name = nameOf(chart);
  if (format === "CSV") {
    const file = new Blob([csvOf(chart._fullData ?? chart.data)], { type: "text/csv;charset=utf-8" });
    hand(URL.createObjectURL(file), `${name}.csv`);
    return;
  }
  const Plotly = await loadPlotly(url);
  const back = getComputedStyle(document.querySelector(".stApp") ?? document.body).backgroundColor;
  const layout = { ...chart.layout, paper_bgcolor: back, plot_bgcolor: back, width: undefined, height: undefined };
  const size = { width: chart.clientWidth, height: chart.clientHeight };
  const picture = { format: format.toLowerCase(), scale: format === "PNG" ? 2 : 1, ...size };
  hand(await Plotly.toImage({ data: chart.data, layout }, picture), `${name}.${format.toLowerCase()}`);
}

function nameOf(chart) {
  const title = chart.layout?.yaxis?.title?.text ?? chart.layout?.title?.text ?? "";
  const plain = String(title).replace(/<[^>]*>/g, "").replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "");
  return plain.slice(0, 40) || "chart";
}

// A row a point: the trace's name, then the fields that any trace has, and how far its intervals reach.
function csvOf(traces) {
  const shown = traces.filter((trace) => trace.visible !== false && (trace.y?.length || trace.x?.length || trace.z?.length));
  const fields = FIELDS.filter((field) => shown.some((trace) => isList(trace[field])));
  const columns = fields.flatMap((field) => (field === "customdata" ? details(shown) : [[field, (trace, k) => at(trace[field], k)]]));
  if (shown.some((trace) => isList(trace.error_y?.array))) columns.push(["low", reach(-1)], ["high", reach(1)]);
  const rows = [["series", ...columns.map(([name]) => name)]];
  for (const trace of shown) {
    const name = plain(trace.name ?? "");
    if (isList(trace.z) && isList(trace.z[0])) rows.push(...gridRows(trace, columns, name));
    else {
      const count = Math.max(...fields.map((field) => (isList(trace[field]) ? trace[field].length : 0)));
      for (let k = 0; k < count; k++) {
        rows.push([name, ...columns.map(([, of]) => of(trace, k))]);
      }
    }
  }
  return rows.map((row) => row.map(cell).join(",")).join("\n") + "\n";
}

const plain = (text) => String(text).replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&"); // as shown

const at = (list, k) => (isList(list) ? list[k] : "");

// What the points carry besides: a column each where the chart names them.
function details(traces) {
  const names = traces.find((trace) => trace.meta?.customdata)?.meta.customdata;
  if (!names) return [["customdata", (trace, k) => at(trace.customdata, k)]];
  return names.map((name, j) => [name, (trace, k) => at(at(trace.customdata, k), j)]);
}

const reach = (sign) => (trace, k) => {
  const { array, arrayminus = array } = trace.error_y ?? {};
  return isList(array) && trace.y[k] != null ? trace.y[k] + sign * (sign > 0 ? array : arrayminus)[k] : "";
};

function gridRows(trace, columns, series) {
  return [...trace.z].flatMap((line, i) =>
    [...line].map((value, k) => [
      series,
      ...columns.map(([name]) => ({ x: trace.x?.[k] ?? k, y: trace.y?.[i] ?? i, z: value, text: trace.text?.[i]?.[k] ?? "" })[name] ?? ""),
    ]),
  );
}

const isList = (value) => Array.isArray(value) || ArrayBuffer.isView(value);

function cell(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "";
  if (typeof value === "number") return String(value);
  const text = isList(value) ? [...value].join(" ") : String(value);
  return `"${(STARTS.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`;
}

function hand(address, name) {
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  if (address.startsWith("blob:")) setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
