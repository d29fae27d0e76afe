(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  drawCharts(data.charts, new Map(), () => {});
  document.getElementById("download")?.addEventListener("click", () => download(data.list, "labels-to-check.csv"));
})();
