"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const number = (value) => value.toLocaleString("en-US");
  const percent = (rate) => (100 * rate).toFixed(1) + " %";
  const labels = (count) => (count === 1 ? "1 label" : number(count) + " labels");

  // --- the budget -----------------------------------------------------------------------
  // A row keeps its prediction at k wrong labels when its minimum budget is above k.

  const least = data.minimum_budget.map((value) => (value < 0 ? Infinity : value));
  const groups = data.group_codes.map((codes, at) => {
    const members = data.group_sizes[at].map(() => []);
    codes.forEach((group, row) => members[group].push(least[row]));
    return members;
  });
  const kept = (values, budget) => values.reduce((sum, value) => sum + (value > budget), 0);
  const views = [];

  function show(budget) {
    const count = kept(least, budget);
    const live = {
      kept: number(count),
      rate: percent(count / least.length),
      labels: number(budget),
      share: (100 * budget / data.train_rows).toFixed(2) + " %",
    };
    for (const element of all("[data-live]")) {
      if (element.dataset.live === "meter") element.style.width = (100 * count) / least.length + "%";
      else if (element.textContent !== live[element.dataset.live]) {
        element.textContent = live[element.dataset.live];
      }
    }
    groups.forEach((members, at) => showGroup(members, at, budget));
    for (const button of all("[data-budget]")) {
      button.setAttribute("aria-pressed", String(Number(button.dataset.budget) === budget));
    }
    for (const view of views) view.signal("budget", budget).run();
  }

  function showGroup(members, at, budget) {
    const counts = members.map((values) => kept(values, budget));
    const rates = counts.map((count, group) => count / members[group].length);
    all("#group-" + at + " tbody tr").forEach((row, group) => {
      row.querySelector("[data-cell=kept]").textContent = number(counts[group]);
      row.querySelector("[data-cell=rate]").textContent = percent(rates[group]);
      row.querySelector(".bar i").style.width = 100 * rates[group] + "%";
    });
    const gap = (values) => Math.max(...values) - Math.min(...values);
    const points = (value) => (100 * value).toFixed(1) + " points";
    document.querySelector("[data-gap='" + at + "']").textContent = points(gap(rates));
    const large = document.querySelector("[data-gap-large='" + at + "']");
    const of = rates.filter((_, group) => members[group].length >= data.small_group);
    if (large) {
      large.textContent = of.length > 1 ? " (" + points(gap(of)) + " without the small groups)" : "";
    }
  }

  const slider = document.getElementById("budget");
  const box = document.getElementById("budget-number");
  let current = data.main;
  function choose(budget) {
    if (!Number.isFinite(budget)) return;
    current = budget = Math.max(0, Math.min(data.train_rows, Math.round(budget)));
    slider.value = budget;
    slider.setAttribute("aria-valuetext", labels(budget));
    if (document.activeElement !== box) box.value = budget;
    show(budget);
  }
  slider.addEventListener("input", () => choose(Number(slider.value)));
  box.addEventListener("input", () => box.value !== "" && choose(Number(box.value)));
  box.addEventListener("change", () => { box.value = current; });
  for (const button of all("[data-budget]")) {
    button.addEventListener("click", () => choose(Number(button.dataset.budget)));
  }
  document.querySelector(".dial").addEventListener("submit", (event) => event.preventDefault());

  // --- the table ------------------------------------------------------------------------

  const page = 15;
  const body = document.querySelector("#rows tbody");
  const heads = all("#rows thead th[data-key]");
  const hasLabels = heads.some((head) => head.dataset.key === "label");
  const haystack = data.rows.rows.map((row) =>
    [row.row, row.prediction, row.label, ...row.cells].join("\u0000").toLowerCase());
  let order = data.rows.rows.map((_, at) => at);
  let sorted = { key: "least", down: false };
  let shown = page;

  const value = (row, key) => (/^\d+$/.test(key) ? row.cells[Number(key)] : row[key]);
  function compare(a, b) {
    if (a === b) return 0;
    if (a === null) return 1;
    if (b === null) return -1;
    const x = Number(a), y = Number(b);
    if (!Number.isNaN(x) && !Number.isNaN(y)) return x - y;
    return String(a).localeCompare(String(b));
  }
  function sort(key, down) {
    sorted = { key, down };
    order = data.rows.rows.map((_, at) => at).sort((a, b) => {
      const found = compare(value(data.rows.rows[a], key), value(data.rows.rows[b], key));
      return (down ? -found : found) || a - b;
    });
    for (const head of heads) {
      if (head.dataset.key === key) head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
    fill();
  }
  function cell(text, name) {
    const element = document.createElement("td");
    element.textContent = text;
    if (name) element.className = name;
    if (String(text).length > 24) element.title = text;
    return element;
  }
  function witness(row) {
    const element = cell("", "labels");
    if (!row.witness) {
      element.textContent = row.least === null ? "none can" : "";
      return element;
    }
    const words = row.witness.map(([at, label]) => at + " → " + label);
    element.append(words.slice(0, 3).join(", "));
    if (row.least > 3) {
      const details = document.createElement("details");
      const summary = document.createElement("summary");
      summary.textContent = " and " + number(row.least - 3) + " more";
      const rest = row.least - words.length;
      details.append(summary, words.slice(3).join(", ") + (rest > 0 ? " and " + number(rest) + " others" : ""));
      element.append(details);
    }
    return element;
  }
  function fill() {
    const words = document.getElementById("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = order.filter((at) => words.every((word) => haystack[at].includes(word)));
    body.replaceChildren(...found.slice(0, shown).map((at) => {
      const row = data.rows.rows[at];
      const line = document.createElement("tr");
      line.append(cell(row.row, "n"), cell(row.prediction));
      line.append(cell(row.least === null ? "never" : row.least === 0 ? "unknown" : labels(row.least), "n"), witness(row));
      line.append(cell(row.score, "n"));
      if (hasLabels) line.append(cell(row.label));
      line.append(...row.cells.map((text) => cell(text)));
      return line;
    }));
    document.getElementById("found").textContent = words.length
      ? number(found.length) + (found.length === 1 ? " row" : " rows") + " found" : "";
    document.getElementById("more").hidden = found.length <= shown;
  }
  for (const head of heads) {
    head.querySelector("button").addEventListener("click", () =>
      sort(head.dataset.key, sorted.key === head.dataset.key ? !sorted.down : false));
  }
  document.getElementById("search").addEventListener("input", () => { shown = page; fill(); });
  document.getElementById("more").addEventListener("click", () => { shown += 4 * page; fill(); });

  // --- the charts -----------------------------------------------------------------------

  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  function config(place) {
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
      axisY: { domain: false, ticks: false },
      legend: { labelColor: ink, labelFontSize: 12, orient: "top", symbolStrokeWidth: 2.5, symbolSize: 140, columns: place.clientWidth < 480 ? 2 : 4, layout: { top: { anchor: "start" } } },
      style: {
        group: { strokeWidth: 2 }, overall: { color: ink, strokeWidth: 3, opacity: 0.9 },
        now: { color: read("--warm"), strokeWidth: 1.5 }, zero: { color: soft, strokeDash: [3, 3] },
        range: { fillOpacity: 0.55 }, value: { color: ink },
      },
    };
  }
  async function draw() {
    views.splice(0).forEach((view) => view.finalize());
    for (const [id, spec] of Object.entries(data.charts)) {
      const place = document.getElementById(id);
      const drawn = await window.vegaEmbed(place, spec, {
        actions: false, renderer: "svg", ast: true, config: config(place), tooltip: { theme: dark.matches ? "dark" : "light" },
      });
      if (id.startsWith("curve-")) views.push(drawn.view);
    }
    choose(current);
    document.documentElement.dataset.drawn = "yes";
  }
  dark.addEventListener("change", draw);

  sort("least", false);
  choose(current);
  draw();
})();
