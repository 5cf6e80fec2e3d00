// What the charts share; put before each of their scripts, which makes one module of the two.

const MAX_POINTS = 300; // per trace: more SVG points cost time and show nothing

// One instance per element: Streamlit calls a component's function again whenever data or theme change, always with
// the same parentElement, and calls what it returned also for an update that was overtaken. Only a node that left the
// page is gone.
function keptBy(instances, make) {
  return (component) => {
    const { parentElement } = component;
    if (!instances.has(parentElement)) instances.set(parentElement, make(parentElement));
    const instance = instances.get(parentElement);
    instance.update(component.data, component.setTriggerValue);
    return () =>
      setTimeout(() => {
        if (parentElement.isConnected) return;
        instance.destroy();
        instances.delete(parentElement);
      });
  };
}

// One copy of the library for all charts of the page, whichever module instance asks first.
function loadPlotly(url) {
  window.cflPlotly ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = url;
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => {
      window.cflPlotly = undefined; // the next update tries again
      script.remove();
      reject(new Error("the chart library could not be loaded"));
    };
    document.head.append(script);
  });
  return window.cflPlotly;
}

// What a chart does once the library is there, and where it could not be loaded, which the next update may mend.
function drawnBy(chart, plotly) {
  if (chart.plot.dataset.failed) chart.plot.replaceChildren();
  delete chart.plot.dataset.failed;
  chart.plotly = plotly;
}

function notDrawn({ plot }, error) {
  plot.dataset.failed = "yes";
  plot.textContent = error.message;
}

// A redraw in the midst of a drag would throw the reader's zoom box away.
function watchDrags(chart) {
  const release = () => {
    if (chart.dragging) chart.schedule();
    chart.dragging = false;
  };
  chart.plot.addEventListener("pointerdown", () => (chart.dragging = true));
  for (const type of ["pointerup", "pointercancel"]) window.addEventListener(type, release, { signal: chart.gone.signal });
}

// Okabe-Ito hues, for each theme with a contrast of at least 3:1.
const SERIES = {
  light: ["#0072b2", "#d55e00", "#00805e", "#b0568c"],
  dark: ["#56b4e9", "#e69f00", "#2ec4a0", "#e39ac4"],
};

function themeOf(root) {
  const style = getComputedStyle(root);
  const read = (name) => style.getPropertyValue(name).trim();
  return {
    text: read("--st-text-color"),
    back: read("--st-background-color"),
    grid: read("--st-border-color"),
    font: read("--st-font"),
    dark: style.colorScheme === "dark",
    series: SERIES[style.colorScheme === "dark" ? "dark" : "light"],
  };
}

// At most `limit` of the points that have a value: first, last, and lowest and highest of each bucket.
function thin(x, y, limit = MAX_POINTS) {
  let kept = [...y.keys()].filter((k) => y[k] !== null);
  if (kept.length > limit) {
    const inner = kept.slice(1, -1);
    const size = Math.ceil(inner.length / Math.floor((limit - 2) / 2));
    const chosen = new Set([kept[0]]);
    for (let from = 0; from < inner.length; from += size) {
      const bucket = inner.slice(from, from + size);
      const low = bucket.reduce((a, k) => (y[k] < y[a] ? k : a));
      const high = bucket.reduce((a, k) => (y[k] > y[a] ? k : a));
      chosen.add(Math.min(low, high)).add(Math.max(low, high));
    }
    kept = [...chosen.add(kept.at(-1))];
  }
  return { x: kept.map((k) => x[k]), y: kept.map((k) => y[k]) };
}

// Ticks of a logarithmic axis at 1, 2 and 5 times the powers of ten, each with its whole number; range in log10.
function logTicks(from, to, sparse) {
  const powers = Array.from({ length: Math.ceil(to) - Math.floor(from) + 1 }, (_, k) => Math.floor(from) + k);
  const tickvals = powers.flatMap((power) => (sparse ? [1] : [1, 2, 5]).map((digit) => Number(`${digit}e${power}`)));
  return { tickmode: "array", tickvals, ticktext: tickvals.map((value) => value.toLocaleString("en", DIGITS)) };
}

const DIGITS = { maximumSignificantDigits: 6 };
const integer = (value) => Math.round(value).toLocaleString("en");
const amount = (value) =>
  value === null ? "–" : value.toLocaleString("en", { maximumFractionDigits: Math.abs(value) < 1e4 ? 2 : 0 });
// a proved bound from below: rounded down, since no more is proved
const atLeast = (value) => {
  if (value === null) return "–";
  const places = Math.abs(value) < 1e4 ? 100 : 1;
  return amount(Math.floor(value * places * (1 + 1e-12)) / places);
};
const percent = (value) => `${(100 * value).toLocaleString("en", { maximumSignificantDigits: 3 })} %`;

// as words.py has it: rounded up, since no more is proved
function gapText(gap) {
  if (gap < 1e-5) return gap === 0 ? "0 %" : "under 0.001 %";
  const digits = gap < 1e-3 ? 3 : 2, step = 10 ** (digits + 2);
  return `${((100 * Math.ceil(gap * step - 1e-9)) / step).toFixed(digits)} %`;
}
