drawCharts(JSON.parse(document.getElementById("data").textContent).charts, new Map(), () => {});
