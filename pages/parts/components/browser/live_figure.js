// The figure of the live chart: traces and layout for ``Plotly.react``, from the rows, the reader's choices and theme.

// Okabe-Ito hues, picked per theme for a contrast of at least 3:1. Dash, width and marker tell the traces
// apart as well; colour is never the only cue.
const COLOURS = {
  light: { objective: "#009e73", best: "#0072b2", relaxed: "#b0568c", bound: "#d55e00" },
  dark: { objective: "#009e73", best: "#56b4e9", relaxed: "#cc79a7", bound: "#e69f00" },
};
const DASHES = ["solid", "dash", "dashdot", "longdash"]; // of several series
const SYMBOLS = ["circle", "square", "diamond", "pentagon"];

function figureOf(chart) {
  const traces = chart.names.length ? chart.names.flatMap((name, s) => seriesTraces(chart, name, s)) : singleTraces(chart);
  return { traces, layout: layoutOf(chart) };
}

function singleTraces(chart) {
  const { colours, text } = chart.theme;
  const column = (name) => chart.rows.map((row) => row[name]);
  const x = column(chart.xField);
  const trace = (field, name, legendrank, line, more) => {
    const points = thin(x, column(field));
    return {
      uid: field, name, legendrank, type: "scatter", mode: "lines", showlegend: points.x.length > 0,
      ...points, line: { color: colours[field], ...line }, hovertemplate: "%{y:,.6~g}", ...more,
    };
  };
  const marked = (symbol, size) => ({ mode: "lines+markers", marker: { symbol, size, maxdisplayed: 9 } });
  const triangles = { legendgroup: "bound", ...marked("triangle-up", 9) };
  const zeta = trace("zeta", "ζ", 5, { width: 1.5, color: text }, { yaxis: "y2", showlegend: false });
  return [
    {
      uid: "gap", type: "scatter", mode: "lines", fill: "toself", fillcolor: `${colours.bound}26`,
      line: { width: 0 }, hoverinfo: "skip", showlegend: false, legendgroup: "bound",
      ...region(x, column("best"), column("bound")),
    },
    trace("objective", chart.valueWord === "cost" ? "binary objective" : "objective now", 4, { width: 1 }, current(chart.rows)),
    trace("relaxed", "relaxation (estimate)", 3, { width: 2, dash: "dash" }),
    trace("bound", "certified lower bound", 2, { width: 2, shape: "hv" }, triangles),
    trace("best", "best objective", 1, { width: 3.5, shape: "hv" }, marked("circle", 7)),
    ...(chart.withZeta ? [zeta] : []),
  ];
}

// One of several: thick its best objective, thin the current one, dotted with hollow markers the bound, and an ×
// where its relaxation is solved. The legend's entry switches all of them.
function seriesTraces(chart, name, s) {
  const rows = chart.rows.filter((row) => row.s === s);
  const column = (field) => rows.map((row) => row[field]);
  const x = column(chart.xField);
  const marker = (more) => ({ symbol: SYMBOLS[s], size: 8, maxdisplayed: 7, ...more });
  const trace = (field, line, more) => ({
    uid: `${field}${s}`, type: "scatter", mode: "lines", legendgroup: name, showlegend: false, ...thin(x, column(field)),
    line: { color: chart.theme.series[s], ...line }, hoverinfo: "skip", ...more,
  });
  const turn = rows.find((row) => row.phase > 0);
  const cross = { symbol: "x-thin", size: 13, line: { width: 3, color: chart.theme.series[s] } };
  return [
    trace("objective", { width: 1 }, { name: `${name}, of the moment`, opacity: 0.6, ...current(rows) }),
    trace("bound", { width: 2, dash: "dot", shape: "hv" }, {
      name: `${name}, bound`, mode: "lines+markers", marker: marker({ symbol: `${SYMBOLS[s]}-open` }),
      hoverinfo: undefined, hovertemplate: `${name}, bound: %{y:,.6~g}<extra></extra>`,
    }),
    trace("best", { width: 3, dash: DASHES[s], shape: "hv" }, {
      mode: "lines+markers", marker: marker(), name, showlegend: true, legendrank: s,
      hoverinfo: undefined, hovertemplate: `${name}, best: %{y:,.6~g}<extra></extra>`,
    }),
    trace("phase", {}, {
      name: `${name}, relaxation solved`, mode: "markers", marker: cross, x: turn ? [turn[chart.xField]] : [], y: turn ? [turn.best] : [],
    }),
  ];
}

// The solution of the moment: a line where every step has one, else points, since nothing is known between them.
function current(rows) {
  const few = rows.filter((row) => row.objective !== null).length < 60;
  return few ? { mode: "markers", marker: { size: 5 } } : {};
}

function layoutOf(chart) {
  const { text, grid, font, back } = chart.theme;
  const narrow = chart.plot.clientWidth < 520;
  const size = narrow ? 11 : 13;
  const single = !chart.names.length;
  const [left, right] = chart.view.x ?? spanOf(chart);
  const axis = (range, more) => ({
    // A new uirevision each time: Plotly keeps the legend clicks, chart.view the dragged ranges.
    uirevision: chart.frameCount, gridcolor: grid, linecolor: grid, zeroline: false, automargin: true,
    separatethousands: true, exponentformat: "none", nticks: narrow ? 5 : 8,
    ...(range ? { range: [...range], autorange: false } : { autorange: true }), ...more,
  });
  const focus = single ? focusOne(chart.rows) : focusSeveral(chart.latest);
  // one line for each phase that has begun, its words a step lower than those of the one before, half-way between the
  // best objective and the bound, where no curve is
  const begun = (single && chart.phaseWords ? chart.phaseWords.split("|") : [])
    .map((words, k) => ({ words, k, start: chart.rows.find((row) => row.phase > k)?.[chart.xField] }))
    .filter(({ start }) => start !== undefined);
  const phase = begun.map(({ words, k, start }) => {
    const place = chart.log ? Math.log10(start) : start;
    const late = place > left + 0.6 * (right - left);
    return {
      xref: "x", x: place, yref: "paper", y: 0.62 - 0.08 * k, yanchor: "top", xanchor: late ? "right" : "left",
      showarrow: false, bgcolor: back, font: { size, color: text }, text: late ? `${words} ×` : `× ${words}`,
    };
  });
  const marks = begun.map(({ start }) => ({
    type: "line", xref: "x", yref: "paper", x0: start, x1: start, y0: 0, y1: 1,
    line: { color: text, width: 1, dash: "dot" },
  }));
  const levels = chart.zoomOnGap ? gapLevels(chart, chart.view.y ?? focus) : [];
  return {
    uirevision: "legend", width: chart.plot.clientWidth, height: chart.height, dragmode: "zoom",
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { family: font, size, color: text },
    margin: { l: narrow ? 44 : 60, r: levels.length ? 52 : 10, t: 8, b: 40 },
    hovermode: single ? "x unified" : "closest",
    hoverlabel: { bgcolor: back, bordercolor: grid, font: { color: text } },
    legend: { orientation: "h", x: 0, xanchor: "left", y: 1.02, yanchor: "bottom", font: { size } },
    xaxis: axis([left, right], {
      anchor: chart.withZeta ? "y2" : "y", spikethickness: 1, spikedash: "solid", spikecolor: text,
      type: chart.log ? "log" : "linear", ...(chart.log ? logTicks(left, right, narrow) : {}),
      title: { text: chart.xField === "t" ? "seconds" : chart.stepsWord },
    }),
    yaxis: axis(chart.view.y ?? (chart.zoomOnGap ? focus : null), {
      domain: [chart.withZeta ? 0.24 : 0, 1], title: { text: narrow ? "" : chart.valueWord },
    }),
    yaxis2: axis(chart.view.y2, {
      domain: [0, 0.16], visible: chart.withZeta, rangemode: "tozero", nticks: 3, title: { text: "ζ" },
    }),
    shapes: [...marks, ...levels.map(({ y }) => ({
      type: "line", xref: "paper", yref: "y", x0: 0, x1: 1, y0: y, y1: y, layer: "below",
      line: { color: text, width: 1, dash: "dot" },
    }))],
    annotations: [...phase, ...levels.map(({ y, words }) => ({
      xref: "paper", x: 1.005, xanchor: "left", yref: "y", y, showarrow: false, text: words, font: { size, color: text },
    }))],
  };
}

// The horizontal range, in the axis's own coordinates. A logarithmic one begins where the first gap of a tenth is proved,
// before which there is nothing to compare.
function spanOf(chart) {
  const x = chart.rows.map((row) => row[chart.xField]);
  const [from, to] = [x.reduce((a, b) => Math.min(a, b), x[0] ?? 0), x.reduce((a, b) => Math.max(a, b), x[0] ?? 1)];
  if (!chart.log) return [from, to + 0.02 * (to - from || 1)];
  const proved = chart.rows.filter((row) => row.gap !== null && row.gap < 0.1).map((row) => row[chart.xField]);
  const high = Math.log10(Math.max(to, 1e-3));
  const low = Math.min(Math.log10(proved.reduce((a, b) => Math.min(a, b || a), Math.max(to, 1))), high - 0.3);
  return [low - 0.15, high + 0.03 * (high - low)];
}

// Where the lines of `levels` stand above the best bound, as far as they are in sight.
function gapLevels(chart, range) {
  const bound = Math.max(...chart.latest.map((row) => row?.bound ?? 0));
  if (!range || !(bound > 0)) return [];
  const all = chart.levels.map((level) => ({ y: bound * (1 + level), words: `+${percent(level)}` }));
  return all.filter(({ y }) => y > range[0] && y < range[1]);
}

// The range from bound to best objective with air around it: early values may be larger by orders of magnitude, and of
// a gap that is all but closed one wants to see the end of how it was. Where one solver has taken over from another, the
// range reaches up to what the first one had half-way through. Null, Plotly's own choice, while there is no objective yet.
function focusOne(rows) {
  const row = rows.at(-1);
  const high = row?.best ?? null;
  if (high === null) return null;
  const low = row.bound ?? Math.min(row.relaxed ?? high, high);
  const first = rows.some(({ phase }) => phase === 2) ? rows.filter(({ phase, best }) => phase === 1 && best !== null) : [];
  const before = first[Math.floor(first.length / 2)]?.best ?? high;
  const span = Math.max(high - low, 5e-3 * Math.abs(high), 1e-9);
  return [low - 0.35 * span, Math.max(high + 0.9 * span, before + 0.25 * (before - low))];
}

// The same around the best of several; somewhat more than two per cent above it are in sight.
function focusSeveral(rows) {
  const some = rows.filter((row) => row?.best != null);
  if (!some.length) return null;
  const high = Math.min(...some.map((row) => row.best));
  const low = Math.max(...some.map((row) => row.bound ?? 0)) || high;
  const span = Math.max(high - low, 0.025 * Math.abs(high), 1e-9);
  return [low - 0.3 * span, high + span];
}

// Outline of the area between the steps of the best objective and of the bound, where both are known.
function region(x, best, bound) {
  // a corner wherever one of them moves; the chart thins other lines evenly, which would cut these corners
  const last = best.length - 1;
  const moved = (k) => k === 0 || k === last || best[k] !== best[k - 1] || bound[k] !== bound[k - 1];
  const known = best.map((value, k) => (value === null || bound[k] === null || !moved(k) ? null : k));
  const kept = thin(x, known, MAX_POINTS / 4).y;
  const steps = (values) =>
    kept.flatMap((k, n) => [[x[k], values[kept[Math.max(0, n - 1)]]], [x[k], values[k]]]);
  const outline = [...steps(best), ...steps(bound).reverse()];
  return { x: outline.map((point) => point[0]), y: outline.map((point) => point[1]) };
}
