"use strict";
// Draws charts in the colours of the page, and again when it turns dark or light.
function drawCharts(charts, views, finished) {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  // As many columns of the legend as its longest name leaves room for.
  function columns(spec, place) {
    const names = [spec, ...(spec.layer || [])].flatMap((each) => each.encoding?.color?.scale?.domain || []);
    const longest = Math.max(1, ...names.map((name) => name.length));
    return Math.max(1, Math.min(4, Math.floor((place.clientWidth - 60) / (7 * longest + 40))));
  }
  function config(place, spec) {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(name).trim();
    const ink = read("--ink"), soft = read("--soft"), line = read("--line");
    const palette = dark.matches
      ? ["#56b4e9", "#f0a35a", "#3fcf9f", "#e3a3c8", "#f0e442", "#8ab6ff", "#c9bd5a", "#ff9e9e"]
      : ["#0072b2", "#d55e00", "#009e73", "#b5568c", "#a67c00", "#3a86c8", "#6b6200", "#882255"];
    return {
      background: "transparent",
      font: read("--sans"),
      view: { stroke: null },
      range: { category: palette },
      axis: {
        labelColor: soft, titleColor: soft, gridColor: line, domainColor: line, tickColor: line,
        labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal", labelPadding: 6, tickCount: 6,
      },
      // On a phone, as many numbers as have room beside each other.
      axisX: { tickCount: Math.max(2, Math.min(6, Math.floor(place.clientWidth / 75))), labelOverlap: "parity", labelSeparation: 8, titleLimit: place.clientWidth - 60 },
      axisY: { domain: false, ticks: false },
      legend: { labelColor: ink, labelFontSize: 12, orient: "top", symbolStrokeWidth: 2.5, symbolSize: 140, labelLimit: 220, columns: columns(spec, place), layout: { top: { anchor: "start" } } },
      style: {
        group: { strokeWidth: 2 }, faint: { color: soft, strokeWidth: 1, opacity: 0.35 }, overall: { color: ink, strokeWidth: 3, opacity: 0.9 },
        band: { color: read("--fill"), fillOpacity: 0.18 }, now: { color: read("--warm"), strokeWidth: 1.5 }, zero: { color: soft, strokeDash: [3, 3] },
        range: { fillOpacity: 0.55 }, value: { color: ink },
      },
    };
  }
  async function draw() {
    views.forEach((view) => view.finalize());
    views.clear();
    for (const [id, spec] of Object.entries(charts)) {
      const place = document.getElementById(id);
      const drawn = await window.vegaEmbed(place, spec, {
        actions: false, renderer: "svg", ast: true, config: config(place, spec), tooltip: { theme: dark.matches ? "dark" : "light" },
      });
      views.set(id, drawn.view);
    }
    finished();
    document.documentElement.dataset.drawn = "yes";
  }
  dark.addEventListener("change", draw);
  draw();
}
