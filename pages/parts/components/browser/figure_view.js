// A finished figure of Plotly's in the colours of the page. plots.js stands before this in one module.

export default keptBy(new WeakMap(), (parent) => new FigureView(parent));

class FigureView {
  constructor(parent) {
    this.root = parent.querySelector(".cfl-figure");
    this.plot = parent.querySelector(".cfl-figure-plot");
    this.resizer = new ResizeObserver(() => this.schedule());
    this.resizer.observe(this.plot);
    this.resizer.observe(this.root);
    this.gone = new AbortController();
    watchDrags(this);
  }

  update(bytes, setTriggerValue) {
    const [header, read] = received(bytes);
    this.tell = header.points ? (point) => setTriggerValue("point", point) : null;
    this.plot.setAttribute("aria-label", header.alt);
    this.theme = themeOf(this.root);
    Object.assign(this, { version: header.version, height: header.height, read });
    this.plot.style.minHeight = `${header.height}px`; // what is below does not jump
    loadPlotly(header.plotly)
      .then((plotly) => drawnBy(this, plotly))
      .catch((error) => notDrawn(this, error))
      .finally(() => this.schedule());
  }

  schedule() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      if (this.plotly && !this.dragging && this.plot.clientWidth > 0) this.draw();
    });
  }

  draw() {
    const full = document.fullscreenElement === this.root;
    const size = { width: this.plot.clientWidth, height: full ? window.innerHeight - 32 : this.height };
    const look = JSON.stringify([this.version, this.theme]);
    if (look === this.drawn) {
      this.resize(size);
      return;
    }
    const first = this.drawn === undefined;
    Object.assign(this, { drawn: look, size });
    const { data, layout, frames } = this.read(); // each time anew: Plotly writes into what it is given
    const own = { ...layout, ...size, uirevision: "kept", template: templateOf(this.theme) };
    const config = { displayModeBar: false, showTips: false };
    this.plotly.react(this.plot, { data, layout: own, frames, config });
    if (!first) return;
    this.plot.on("plotly_click", ({ points: [point] }) => this.tell?.(plainOf(point.customdata)));
  }

  // Not drawn anew: a film would begin again.
  resize(size) {
    if (size.width === this.size.width && size.height === this.size.height) return;
    this.size = size;
    this.plotly.relayout(this.plot, size);
  }

  destroy() {
    this.resizer.disconnect();
    this.gone.abort();
    cancelAnimationFrame(this.frame);
    this.plotly?.purge(this.plot);
  }
}

const plainOf = (value) => (ArrayBuffer.isView(value) ? [...value] : (value ?? null));

// What a figure does not say itself.
function templateOf(theme) {
  return { layout: layoutOf(theme), data: { heatmap: [{ textfont: { color: theme.text } }] } };
}

function layoutOf({ text, back, grid, font, dark, series }) {
  const soft = dark ? "#c3c6cf" : "#4f525c";
  const small = { size: 12, color: soft };
  const axis = {
    automargin: true, gridcolor: grid, zerolinecolor: grid, linecolor: grid, tickcolor: grid, tickfont: small,
    ticklabelposition: "outside", minor: { gridcolor: grid },
  };
  const clear = "rgba(0,0,0,0)";
  return {
    paper_bgcolor: clear, plot_bgcolor: clear, font: { family: font, ...small },
    colorway: series,
    title: { x: 0, xanchor: "left", font: { size: 16, color: text }, pad: { l: 4 } },
    margin: { l: 0, r: 0, pad: 8 },
    legend: { font: small, title: { font: small, side: "top" }, bgcolor: clear, borderwidth: 0, valign: "top" },
    hoverlabel: { bgcolor: back, bordercolor: grid, font: { family: font, size: 12, color: text } },
    xaxis: { ...axis, showgrid: false, title: { font: { size: 14, color: soft }, standoff: 16 } },
    yaxis: { ...axis, title: { font: { size: 14, color: soft }, standoff: 24 } },
    coloraxis: { colorbar: barOf(small) },
    sliderdefaults: { font: small }, updatemenudefaults: { font: small, bgcolor: back, bordercolor: grid },
    annotationdefaults: { font: small },
  };
}

function barOf(font) {
  return { thickness: 16, xpad: 24, ticklabelposition: "outside", outlinewidth: 0, len: 0.75, tickfont: font };
}
