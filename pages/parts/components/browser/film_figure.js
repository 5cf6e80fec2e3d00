// The figure of the homotopy over ζ: cost of the rounded solution above the proved bound, value of the weights, and the
// share of pointers that are decided. Dash and marker tell the lines apart as well as colour.

const MARGIN = { l: 64, r: 46, t: 52, b: 42 };
const AXIS = [-0.04, 1.04]; // of ζ

// film: {stages, bound, stays}
function filmFigure(film, width, height, theme) {
  const [costHue, boundHue, decidedHue] = theme.series;
  const { stages, bound, stays } = film;
  const column = (name) => stages.map((stage) => stage[name]);
  const [zetas, costs, last] = [column("zeta"), column("cost"), stages.at(-1)];
  const trace = (name, x, y, line, symbol, more) => ({
    type: "scatter", mode: "lines+markers", name, x, y, line, marker: { symbol, size: 7, color: line.color },
    hovertemplate: "%{y:,.6~g}", ...more,
  });
  const traces = [
    // as in Figure 4 of the paper, circles where it starts and ends; the last re-encoding is a step of its own at ζ = 1
    trace("cost, rounded", [...zetas, last.zeta], [...costs, last.repaired], { color: costHue, width: 3 }, "circle", {
      text: [...zetas.map(() => "rounded"), "re-encoded"], hovertemplate: "%{text}: %{y:,.6~g}",
    }),
    trace("start, end", [zetas[0], last.zeta], [costs[0], last.repaired], { color: costHue }, "circle-open", {
      mode: "markers", marker: { symbol: "circle-open", size: 15, color: costHue, line: { width: 2 } }, hoverinfo: "skip",
      hovertemplate: undefined, showlegend: false,
    }),
    trace("value of w", zetas, column("relaxation"), { color: theme.text, width: 1.5, dash: "dash" }, "diamond"),
    ...(bound === null ? [] : [
      trace("proved bound", [-0.02, 1.02], [bound, bound], { color: boundHue, width: 2 }, "circle", { mode: "lines" }),
    ]),
    trace("decided", zetas, column("decided"), { color: decidedHue, width: 2, dash: "dot" }, "square", {
      yaxis: "y2", hovertemplate: "%{y:.1%}",
    }),
  ];
  const axis = (more) => ({
    gridcolor: theme.grid, linecolor: theme.grid, zeroline: false, fixedrange: true, exponentformat: "none",
    separatethousands: true, ...more,
  });
  return {
    traces,
    layout: {
      width, height, margin: { ...MARGIN, autoexpand: false }, dragmode: false, hovermode: "x unified",
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: theme.font, size: 12, color: theme.text },
      hoverlabel: { bgcolor: theme.back, bordercolor: theme.grid, font: { color: theme.text } },
      legend: { orientation: "h", x: 0, xanchor: "left", y: 1.03, yanchor: "bottom", entrywidth: 0.5, entrywidthmode: "fraction" },
      xaxis: axis({ range: AXIS, dtick: 0.2, title: { text: "ζ", standoff: 6 }, unifiedhovertitle: { text: "ζ = %{x:.1f}" } }),
      yaxis: axis({ tickformat: ",", nticks: 6 }),
      yaxis2: axis({ overlaying: "y", side: "right", range: [0, 1.02], dtick: 0.25, tickformat: ".0%", showgrid: false }),
      shapes: stays === null ? [] : [{
        type: "line", xref: "x", yref: "paper", x0: stays, x1: stays, y0: 0, y1: 1,
        line: { color: theme.text, width: 1, dash: "dot" },
      }],
    },
  };
}
