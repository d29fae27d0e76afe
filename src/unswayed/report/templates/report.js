(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const number = (value) => value.toLocaleString("en-US");
  // Rounded as the terminal does: down (-1), to nearest (0) or up (1).
  const hundredths = (rate, places, way) => {
    const step = 10 ** places, scaled = 100 * rate * step;
    if (!way) return (100 * rate).toFixed(places);
    return ((way < 0 ? Math.floor(scaled + 1e-9) : Math.ceil(scaled - 1e-9)) / step).toFixed(places);
  };
  // All rows are 100.0 %, and none are 0.0 %: nothing else is.
  const percent = (rate, way = 0) => {
    let places = 1;
    const whole = () => [0, 100].includes(Number(hundredths(rate, places, way)));
    while (rate > 0 && rate < 1 && places < 12 && whole()) places += 1;
    return hundredths(rate, places, way) + " %";
  };
  const said = (text) => (data.task === "regression" && /^-?\d+(\.\d+)?$/.test(text)
    ? text.replace(/^-?\d+/, (digits) => digits.replace(/\B(?=(\d{3})+$)/g, ",")) : text);
  const labels = (count) => (count === 1 ? "1 label" : number(count) + " labels");
  // Numbers of labels and of clusters are whole; totals and costs have all of their digits.
  const amount = (value) => (data.whole ? number(value) : value.toLocaleString("en-US", { maximumSignificantDigits: 15 }));
  const after = (value) => data.around[value === 1 ? 2 : 1];
  const inWords = (value) => (data.plain ? labels(value) : [data.around[0], amount(value), after(value)].join(" "));

  // --- the budget -----------------------------------------------------------------------
  // A row keeps its prediction at k wrong labels when its minimum budget is above k.

  // It is overturned when as many labels as are known to be enough may be wrong; else it is left open.
  // Of totals and costs the same holds in their unit.

  const known = (values) => (values || []).map((value) => (value < 0 ? Infinity : value));
  const [least, enough] = [known(data.minimum_budget), known(data.enough)];
  const tables = data.tables.map((table) => {
    const members = table.sizes.map(() => []);
    table.codes.forEach((group, row) => members[group].push(row));
    return { ...table, members };
  });
  const every = least.map((_, row) => row);
  const kept = (rows, budget) => rows.reduce((sum, row) => sum + (least[row] > budget), 0);
  const lost = (rows, budget) => rows.reduce((sum, row) => sum + (enough[row] <= budget), 0);
  const views = new Map();

  function show(budget) {
    const count = kept(every, budget);
    const overturned = lost(every, budget);
    const left = least.length - count - overturned;
    const live = {
      kept: number(count),
      left: number(left),
      overturned: number(overturned),
      rate: range(count / least.length, (count + left) / least.length),
      interval: "; 95 % interval " + between(interval(count, least.length, count + left)),
      labels: amount(budget),
      after: after(budget),
      source: data.budget_source && budget === data.main ? " (" + data.budget_source + ")" : "",
      share: (100 * budget / data.train_rows).toFixed(2) + " %",
      ...(data.three ? together(budget, least.length - count) : {}),
    };
    for (const element of all("[data-live]")) {
      if (element.dataset.live === "meter") element.style.width = (100 * count) / least.length + "%";
      else if (element.dataset.live === "meter-left") element.style.width = (100 * left) / least.length + "%";
      else if (element.textContent !== live[element.dataset.live]) {
        element.textContent = live[element.dataset.live];
      }
    }
    for (const table of tables) showTable(table, budget);
    for (const cell of all("[data-cell=wrong]")) {
      const [rows, movable] = [Number(cell.dataset.rows), Number(cell.dataset.movable)];
      const share = Math.min(budget, movable) / rows;
      if (rows) cell.textContent = share === 1 ? "all " + number(rows) : percent(share) + " of " + number(rows);
    }
    for (const button of all("[data-budget]")) {
      button.setAttribute("aria-pressed", String(Number(button.dataset.budget) === budget));
    }
    for (const [id, view] of views) {
      if (id.startsWith("curve-")) view.signal("budget", budget).run();
    }
  }

  // What one set of labels does to all rows, and random ones. More labels do more: between two
  // numbers that were computed, the next one bounds from above and the last one from below.
  const outwards = (count, round) =>
    (round(1000 * count / least.length + (round === Math.ceil ? -1e-9 : 1e-9)) / 10).toFixed(1) + " %";
  function together(budget, fragile) {
    const stops = data.three;
    if (budget === data.main) return { together: stops.sentences.together, random: stops.sentences["at random"] };
    const next = stops.labels.findIndex((labels) => labels >= budget);
    const last = stops.labels.findLastIndex((labels) => labels <= budget);
    const most = next < 0 ? fragile : Math.min(fragile, stops.at_most[next]);
    const reached = stops.at_least[last];
    const exact = stops.labels[last] === budget;
    const between = (values) => (exact || next < 0 ? values[last]
      : values[last] + (values[next] - values[last]) * (budget - stops.labels[last])
        / (stops.labels[next] - stops.labels[last]));
    const random = stops.mean[last] !== null && (next < 0 || stops.mean[next] !== null);
    const [verb, far] = data.task === "regression" ? ["move", " too far"] : ["change", ""];
    const wrong = (what) => number(budget) + what + (budget === 1 ? " label " + verb + "s" : " labels " + verb);
    const set = " such set of wrong labels " + verb + "s";
    const some = data.plain ? "some " + verb : "one " + verb + "s";
    const ruledOut = most < least.length
      ? "no" + (data.plain ? " " + wrong(" wrong") : set) + " more than " + outwards(most, Math.ceil) + " of the predictions" + far + " (" + number(most) + ")"
      : "it is not ruled out that " + (data.plain ? wrong(" wrong") : "one" + set) + " all predictions" + far;
    return {
      together: ruledOut + (reached === null ? ""
        : reached === most ? ", and " + some + " as many"
        : ", and " + some + " " + outwards(reached, Math.floor) + " (" + number(reached) + ")"),
      random: !random ? "not simulated" : wrong(" random wrong") + (exact ? " " : " about ")
        + percent(between(stops.mean)) + far + " on average"
        + (exact ? ", " + percent(stops.largest[last]) + " at most in " + number(stops.draws[last]) + " draws" : "")
        + " (simulated)",
    };
  }

  // Wilson's score interval of a rate, at 95 %: from that of the lower count to that of the higher.
  function interval(count, size, most) {
    const z = 1.959963984540054;
    const middle = (count) => (count + z * z / 2) / (size + z * z);
    const half = (count) => z * Math.sqrt(count * (size - count) / size + z * z / 4) / (size + z * z);
    return [count === 0 ? 0 : middle(count) - half(count), most === size ? 1 : middle(most) + half(most)];
  }
  // From what is proven to what was not overturned.
  const range = (low, high) => (low === high
    ? percent(low) : percent(low, -1).replace(" %", " to ") + percent(high, 1));
  const between = ([low, high]) => (100 * low).toFixed(1) + " to " + (100 * high).toFixed(1);

  function showTable(table, budget) {
    const sizes = table.members.map((rows) => rows.length);
    const counts = table.members.map((rows) => kept(rows, budget));
    const lefts = table.members.map((rows, group) => sizes[group] - counts[group] - lost(rows, budget));
    const rates = counts.map((count, group) => (sizes[group] ? count / sizes[group] : 0));
    all("#" + table.id + " tbody tr").forEach((row, group) => {
      row.querySelector("[data-cell=kept]").textContent = number(counts[group]);
      row.querySelector("[data-cell=rate]").textContent =
        sizes[group] ? range(rates[group], (counts[group] + lefts[group]) / sizes[group]) : "";
      row.querySelector(".bar i").style.width = 100 * rates[group] + "%";
      const open = row.querySelector("[data-cell=left]");
      if (open) {
        open.textContent = number(lefts[group]);
        row.querySelector(".bar .left").style.width = (100 * lefts[group]) / (sizes[group] || 1) + "%";
      }
      row.querySelector("[data-cell=interval]").textContent =
        sizes[group] ? between(interval(counts[group], sizes[group], counts[group] + lefts[group])) : "";
    });
    if (table.gaps) showGap(table, rates, lefts, sizes, budget);
  }
  function showGap(table, rates, lefts, sizes, budget) {
    const at = table.id.slice("group-".length);
    const gap = (values) => Math.max(...values) - Math.min(...values);
    const points = (value, way = 0) => hundredths(value, 1, way) + " points";
    // Undecided rows may turn out either way.
    const most = rates.map((rate, group) => rate + lefts[group] / (sizes[group] || 1));
    const apart = most.flatMap((one, at) => rates.map((other, to) => (at === to ? 0 : one - other)));
    document.querySelector("[data-gap='" + at + "']").textContent = !lefts.some(Boolean) ? points(gap(rates))
      : points(Math.max(0, Math.max(...rates) - Math.min(...most)), -1).replace(" points", " to ")
        + points(Math.max(...apart), 1) + ", as undecided rows turn out";
    const large = document.querySelector("[data-gap-large='" + at + "']");
    const of = rates.filter((_, group) => sizes[group] >= data.small_group);
    if (large) {
      large.textContent = of.length > 1 && !lefts.some(Boolean) ? " (" + points(gap(of)) + " without the small groups)" : "";
    }
    const asked = table.gaps.find((each) => each.labels === budget);
    document.querySelector("[data-gap-chance='" + at + "']").textContent = !asked ? ""
      : "; 95 % interval " + between(asked.interval) + " points"
        + (asked.within_chance ? ": a gap this size is within chance" : "");
  }

  const slider = document.getElementById("budget");
  const box = document.getElementById("budget-number");
  let current = data.main;
  function choose(budget) {
    if (!data.dial || !Number.isFinite(budget)) return;  // without verdicts, or rows, there is no dial
    current = budget = Math.max(0, data.whole ? Math.min(data.train_rows, Math.round(budget)) : budget);
    slider.value = budget;
    slider.setAttribute("aria-valuetext", inWords(budget));
    if (document.activeElement !== box) box.value = budget;
    show(budget);
  }
  if (data.dial) {
    // Where nothing is counted, it stops at numbers of three digits.
    slider.addEventListener("input", () => choose(Number(data.whole ? slider.value : Number(slider.value).toPrecision(3))));
    box.addEventListener("input", () => box.value !== "" && choose(Number(box.value)));
    box.addEventListener("change", () => { box.value = current; });
    document.querySelector(".dial").addEventListener("submit", (event) => event.preventDefault());
  }
  for (const button of all("[data-budget]")) {
    button.addEventListener("click", () => choose(Number(button.dataset.budget)));
  }

  // --- the table ------------------------------------------------------------------------

  const page = 10;
  const inline = data.rows.columns.length <= 4 ? 4 : 3;  // cells of a row that is folded
  const body = document.querySelector("#rows tbody");
  const heads = all("#rows thead th[data-key]");
  const names = all("#rows thead th").map((head) => head.textContent.trim());
  const [hasLabels, hasScores, hasRivals] = ["label", "score", "becomes"].map((key) =>
    heads.some((head) => head.dataset.key === key));
  const folded = new Map(all(".chosen").map((each) => [Number(each.dataset.row), each]));
  const opened = new Set(data.asked);
  const chooser = document.getElementById("sort");
  const haystack = data.rows.rows.map((row) =>
    [row.row, row.prediction, row.label, ...row.cells].join("\u0000").toLowerCase());
  let order = data.rows.rows.map((_, at) => at);  // rows that were asked for come first
  const first = data.decided ? { key: "least", down: false } : { key: "moved", down: true };
  let sorted = first;
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
  function sort(key, down, pinned = new Set()) {
    sorted = { key, down };
    order = data.rows.rows.map((_, at) => at).sort((a, b) => {
      const asked = (at) => (pinned.has(data.rows.rows[at].row) ? 0 : 1);
      if (asked(a) !== asked(b)) return asked(a) - asked(b);
      const found = compare(value(data.rows.rows[a], key), value(data.rows.rows[b], key));
      return (down ? -found : found) || a - b;
    });
    for (const head of heads) {
      if (head.dataset.key === key) head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
    chooser.value = key;
    fill();
  }
  function cell(text, name) {
    const element = document.createElement("td");
    element.textContent = text;
    if (name) element.className = name;
    element.setAttribute("role", "cell");
    return element;
  }
  function unfold(row, open) {
    if (open) opened.add(row.row);
    else opened.delete(row.row);
    fill();
  }
  function handle(row) {
    const element = cell("", "n");
    const button = document.createElement("button");
    button.type = "button";
    button.className = "fold";
    button.textContent = row.row;
    button.setAttribute("aria-expanded", String(opened.has(row.row)));
    button.addEventListener("click", () => {
      unfold(row, !opened.has(row.row));
      document.querySelector("[data-handle='" + row.row + "']")?.focus();
    });
    button.dataset.handle = row.row;
    element.append(button);
    return element;
  }
  function features(row, name, cells) {
    const element = cell("", name);
    cells.forEach((text, at) => {
      const feature = document.createElement("span");
      const head = document.createElement("b");
      feature.className = "feature";
      head.textContent = data.rows.columns[at];
      feature.append(head, " " + text);
      element.append(feature, " ");
    });
    return element;
  }
  const changes = (row) => row.witness.map(([at, label]) => at + " → " + said(label));
  function witness(row) {
    const none = row.least === null ? "none can" : row.enough === null && row.least ? "none found" : "";
    if (!row.witness) return cell(none, "labels");
    const rest = row.changed - 2;
    return cell(changes(row).slice(0, 2).join(", ") + (rest > 0 ? " and " + number(rest) + " more" : ""), "labels");
  }
  // All that is known of a row: what the page has of it, or its cells and labels.
  function inFull(row) {
    const line = document.createElement("tr");
    const element = cell("", "full");
    line.id = "row-" + row.row;
    line.setAttribute("role", "row");
    element.colSpan = names.length;
    if (folded.has(row.row)) element.append(folded.get(row.row));
    else {
      const own = document.createElement("p");
      own.className = "own";
      own.append(...features(row, "", row.cells).childNodes);
      element.append(own);
      if (row.witness) {
        const rest = row.changed - row.witness.length;
        const words = document.createElement("p");
        words.textContent = "Labels that " + (data.task === "regression" ? "move" : "overturn") + " it: "
          + changes(row).join(", ") + (rest > 0 ? " and " + number(rest) + " others" : "");
        element.append(words);
      }
    }
    line.append(element);
    return line;
  }
  // Log-odds are shown as a probability, with its range at the main budget.
  function scored(row) {
    if (row.probability === undefined) return cell(row.score, "n");
    const element = cell(row.probability + " ", "n odds");
    const range = document.createElement("small");
    range.textContent = row.probability_range;
    element.append(range);
    return element;
  }
  const searched = () =>
    document.getElementById("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const matching = (words) => order.filter((at) => words.every((word) => haystack[at].includes(word)));
  // What is known of a row: its minimum budget, or without verdicts how far it can move.
  const answer = (row) => (data.decided
    ? [cell(data.whole ? row.needs : row.needs.replace("a " + data.unit + " of ", ""), "n"), ...(hasRivals ? [cell(row.becomes || "", "word")] : []), ...(data.named ? [witness(row)] : [])]
    : [row.low_text, row.high_text, row.moves].map((text) => cell(text, "n")));
  function fill() {
    const words = searched();
    const found = matching(words);
    body.replaceChildren(...found.slice(0, shown).flatMap((at) => {
      const row = data.rows.rows[at];
      const line = document.createElement("tr");
      line.setAttribute("role", "row");
      line.append(handle(row), cell(said(row.prediction), "word"), ...answer(row));
      if (hasScores) line.append(scored(row));
      if (hasLabels) line.append(cell(said(row.label), "word"));
      if (row.cells.length) line.append(features(row, "features", row.cells.slice(0, inline)));
      [...line.children].forEach((each, place) => { each.dataset.head = names[place]; });
      return opened.has(row.row) ? [line, inFull(row)] : [line];
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

  chooser.addEventListener("change", () => sort(chooser.value, false));

  function table() {
    const odds = data.kind === "logistic" ? ["probability", "overturned_by"] : hasRivals ? ["becomes"] : [];
    const unit = data.unit === "labels" ? [] : [data.unit];
    const names = data.decided ? ["score", "minimum_budget", ...unit.map(() => "unit"), "labels_to_change", ...odds] : ["low", "high", "moves_by_at_most"];
    const head = ["row", "prediction", ...(hasLabels ? ["label"] : []), ...names];
    const lines = matching(searched()).map((at) => {
      const row = data.rows.rows[at];
      const changes = (row.witness || []).map(([number, label]) => number + " → " + label).join("; ");
      const budget = row.least === null ? "inf" : row.least === 0 ? "nan" : row.least;
      const more = hasRivals ? [row.becomes] : odds.length ? [row.probability, row.enough === null ? "inf" : row.enough] : [];
      const found = data.decided ? [row.score, budget, ...unit, changes, ...more] : [row.low, row.high, row.moved];
      return [row.row, row.prediction, ...(hasLabels ? [row.label] : []), ...found, ...row.cells];
    });
    return [[...head, ...data.rows.columns], ...lines];
  }
  document.getElementById("download").addEventListener("click", () =>
    download(table(), data.decided ? "least-robust-rows.csv" : "rows-that-move-furthest.csv"));
  for (const button of all("[data-later]")) {
    button.addEventListener("click", () => {
      all("#" + button.dataset.later + " .later").forEach((row) => { row.hidden = false; });
      button.hidden = true;
    });
  }

  // --- one row --------------------------------------------------------------------------

  function open() {
    const found = /^#row-(\d+)$/.exec(location.hash);
    const at = found ? data.rows.rows.findIndex((each) => each.row === Number(found[1])) : -1;
    if (at < 0) return;
    document.getElementById("search").value = "";
    shown = Math.max(shown, order.indexOf(at) + 1);
    unfold(data.rows.rows[at], true);
    document.getElementById(location.hash.slice(1)).previousElementSibling.scrollIntoView();
  }
  window.addEventListener("hashchange", open);

  // --- the charts -----------------------------------------------------------------------

  sort(first.key, first.down, opened);
  choose(current);
  drawCharts(data.charts, views, () => {
    choose(current);
    open();
  });
})();
