// The figure of the λ-path: panels one above the other over log λ.

// The colours that the text gives to lengths (text_view.css), from one word to eight and more.
const LENGTHS = ["#8a8a8a", "#56b4e9", "#009e73", "#f0e442", "#e69f00", "#d55e00", "#cc79a7", "#777777"];
const MARGIN = { l: 52, r: 14, t: 6, b: 42 }; // as --left and --right in path_chart.py

// state: {points, span, working, gram, height, width, theme}
function pathFigure(state) {
  const { points, gram, theme } = state;
  const heads = gram ? [0.58, 0.385, 0.19, 0] : [0.5, 0.25, 0];
  const tops = gram ? [1, 0.5, 0.305, 0.11] : [1, 0.4, 0.15];
  const rest = gram ? ["y2", "y3", "y4"] : ["y2", "y3"];
  const columns = [
    ...(gram ? [{ title: `uses of “${escaped(gram.label)}”`, y: gram.counts, format: ",d" }] : []),
    { title: "phrases in the dictionary", y: points.map((point) => point.size), format: ",d" },
    { title: "proved gap", y: points.map((point) => point.gap), format: ".2%" },
  ];
  const lines = columns.map(({ title, y, format }, k) => lineTrace(points, title, y, format, rest[k], theme));
  const axes = rest.map((name, k) => [
    `yaxis${name.slice(1)}`,
    {
      ...axis(theme), domain: [heads[k + 1], tops[k + 1]], rangemode: "tozero", nticks: 3,
      tickformat: columns[k].format.replace(".2%", ".2~%"),
    },
  ]);
  const titles = [{ title: "share of uses by length" }, ...columns].map(({ title }, k) => ({
    xref: "paper", yref: "paper", x: 0, y: tops[k], xanchor: "left", yanchor: "bottom", showarrow: false, text: title,
    font: { size: 12, color: theme.text }, xshift: 2,
  }));
  return {
    traces: [...areaTraces(points, theme), ...lines],
    layout: {
      width: state.width, height: state.height, margin: { ...MARGIN, t: 26 }, showlegend: false, dragmode: false,
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: theme.font, size: 12, color: theme.text },
      hovermode: "x unified", hoversubplots: "axis",
      hoverlabel: { bgcolor: theme.back, bordercolor: theme.grid, font: { color: theme.text } },
      xaxis: {
        ...axis(theme), type: "log", range: state.span.map(Math.log10), anchor: rest.at(-1), unifiedhovertitle: {
          text: "λ = %{x:.3~g}",
        },
        ...logTicks(Math.log10(state.span[0]), Math.log10(state.span[1]), state.width < 560),
        title: { text: "λ, the price of a use", standoff: 6 },
      },
      yaxis: { ...axis(theme), domain: [heads[0], tops[0]], range: [0, 1], tickformat: ".0%", nticks: 5 },
      ...Object.fromEntries(axes),
      shapes: state.working === null ? [] : [{
        type: "line", xref: "x", yref: "paper", x0: state.working, x1: state.working, y0: 0, y1: 1,
        line: { color: theme.text, width: 1.5, dash: "dot" },
      }],
      annotations: [...titles, ...areaLabels(points, theme)],
    },
  };
}

function axis(theme) {
  return {
    gridcolor: theme.grid, linecolor: theme.grid, zeroline: false, fixedrange: true, exponentformat: "none",
    separatethousands: true,
  };
}

// Shares on top of one another: thicker lines for longer K-grams, as in the text.
function areaTraces(solved, theme) {
  const lengths = solved[0]?.shares.length ?? 0;
  const [only] = solved; // an area of one point would have no width
  const points = solved.length === 1 ? [0.96, 1.04].map((times) => ({ ...only, lam: times * only.lam })) : solved;
  return Array.from({ length: lengths }, (_, k) => ({
    uid: `share${k}`, type: "scatter", mode: "lines", stackgroup: "shares", name: words(k + 1),
    x: points.map((point) => point.lam), y: points.map((point) => point.shares[k]),
    line: { color: mixed(LENGTHS[k], theme.dark ? 255 : 0, 0.3), width: 1 + 0.5 * k },
    fillcolor: `${LENGTHS[k]}${theme.dark ? "70" : "66"}`, hovertemplate: "%{y:.1%}",
  }));
}

function lineTrace(points, name, y, format, yaxis, theme) {
  return {
    uid: `${yaxis}${name}`, type: "scatter", mode: "lines+markers", name, x: points.map((point) => point.lam), y, yaxis,
    cliponaxis: false, line: { color: theme.text, width: 1.5 },
    marker: { size: 7, color: theme.text, symbol: points.map((point) => (point.asked ? "circle-open" : "circle")) },
    hovertemplate: `%{y:${format}}`,
  };
}

// The name of each area where it is highest, if there is space for it.
function areaLabels(points, theme) {
  const lengths = points[0]?.shares.length ?? 0;
  return Array.from({ length: lengths }, (_, k) => {
    const best = points.reduce((a, b) => (b.shares[k] > a.shares[k] ? b : a));
    if (best.shares[k] < 0.08) return null;
    const below = best.shares.slice(0, k).reduce((sum, share) => sum + share, 0);
    const [first, last] = [best === points[0], best === points.at(-1)];
    return {
      xref: "x", yref: "y", x: Math.log10(best.lam), y: below + best.shares[k] / 2, text: words(k + 1),
      showarrow: false, xanchor: first ? "left" : last ? "right" : "center", xshift: first ? 8 : last ? -8 : 0,
      font: { size: 13, color: theme.text },
    };
  }).filter(Boolean);
}

const words = (length) => `${length} word${length === 1 ? "" : "s"}`;

// Plotly reads some tags in its texts.
const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

// A colour moved towards black (0) or white (255).
function mixed(colour, to, share) {
  const part = (at) => Math.round(parseInt(colour.slice(at, at + 2), 16) * (1 - share) + to * share);
  return `rgb(${part(1)},${part(3)},${part(5)})`;
}
