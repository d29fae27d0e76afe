"""``unswayed tradeoff``: accuracy against robustness over alpha, or over C."""

from pathlib import Path
from typing import Any

from unswayed.atomic import atomic_write
from unswayed.cli.certify import describe
from unswayed.cli.commands import TradeoffOptions
from unswayed.cli.options import KindOptions, ModelOptions
from unswayed.cli.requests import make_request
from unswayed.cli.terminal import TABLES, Terminal, as_rows, check_output, write_table
from unswayed.exceptions import InputError
from unswayed.report.summarise import headline
from unswayed.study import tradeoff as over_alpha
from unswayed.study.findings import findings_of
from unswayed.study.request import RIDGE, Kind, parse_alpha, parse_strength
from unswayed.words import percent

_CHARTS = (".html", ".svg", ".png")
_BAR = 24


def tradeoff(train: Path, options: TradeoffOptions) -> int:
    """Answer ``unswayed tradeoff``."""
    terminal, out, chart = Terminal(options.output), options.out, options.chart
    request = make_request(
        *(train, options.data, options.bias),
        ModelOptions(threshold=options.threshold),
        KindOptions(model=options.model, effort=options.effort),
        options.split,
        radius=options.radius,
    )
    kind = request.kind
    penalties = _penalties(kind, options.alphas, options.Cs)
    check_output(out, "--out", TABLES, *request.files)
    check_output(chart, "--chart", _CHARTS, *request.files, out)
    study, points = over_alpha.tradeoff(request, terminal, penalties)
    facts = headline(findings_of(study), three=False)
    heads = [budget.text for budget in study.request.budgets]
    name = "accuracy" if facts["classes"] else "r2"
    columns: dict[str, Any] = {
        kind.option: [kind.written(point.alpha) for point in points],
        name: [point.quality for point in points],
        **{f"robust at {head}": [p.rates[at] for p in points] for at, head in enumerate(heads)},
    }
    if not kind.linear or any(sum(point.undecided) for point in points):
        for at, head in enumerate(heads):
            columns[f"undecided at {head}"] = [point.undecided[at] for point in points]
    if facts["classes"]:
        columns["always says"] = [point.always for point in points]
    if out is not None:
        write_table(out, columns, escape=options.escape_formulas)
    if chart is not None:
        _draw(chart, points, heads, name, kind)
    for note in study.notes:
        terminal.note(note)
    for caveat in facts["caveats"]:
        terminal.warn(caveat["sentence"])
    _show(terminal, study, facts, columns)
    for path in (out, chart):
        if path is not None:
            terminal.say(f"wrote {path}")
    keys = (
        "task",
        "label",
        "kind",
        "bias",
        "train_rows",
        "test_rows",
        "data",
        "columns",
        "caveats",
    )
    asked = {key: facts[key] for key in keys}
    terminal.answer(asked | {"points": as_rows(columns)})
    return 0


def _penalties(kind: Kind, alphas: str | None, strengths: str | None) -> tuple[float, ...] | None:
    """Return the penalties that were asked for; None for those of the kind."""
    given = {"alphas": alphas, "Cs": strengths}
    other = "Cs" if kind is RIDGE else "alphas"
    if given[other] is not None:
        raise InputError(
            f"--{other} are not the penalties of --model {kind.name}; pass --{kind.option}s"
        )
    text = given[f"{kind.option}s"]
    if text is None:
        return None
    try:
        read = parse_alpha if kind is RIDGE else parse_strength
        found = [read(part) for part in text.split(",")]
    except InputError:
        found = [None]
    known = tuple(each for each in found if each is not None)
    if len(known) < len(found):
        some = "1,10,100" if kind is RIDGE else "0.001,0.01,0.1"
        raise InputError(f"--{kind.option}s {text!r} is not a list of penalties; write {some}")
    return known


def _draw(
    path: Path, points: list[over_alpha.Point], heads: list[str], name: str, kind: Kind
) -> None:
    from unswayed.report.charts import save, tradeoff_chart

    spec = tradeoff_chart(
        [over_alpha.point_facts(point, kind) for point in points], heads, name, kind.option
    )
    with atomic_write(path) as beside:
        save(spec, beside, path.suffix.lower())


def _show(terminal: Terminal, study: Any, facts: dict[str, Any], columns: dict[str, Any]) -> None:
    option = study.request.kind.option
    describe(terminal, study, facts | {option: None})
    terminal.say()
    rates = [columns[head] for head in columns if head.startswith("robust")]
    name = "accuracy" if facts["classes"] else "R²"
    rows = []
    left = [columns[head] for head in columns if head.startswith("undecided")]
    for at, penalty in enumerate(columns[option]):
        found = columns["accuracy" if facts["classes"] else "r2"][at]
        bar = "" if left else "█" * round(_BAR * rates[0][at])
        cells = [percent(rate[at]) for rate in (*rates, *left)]
        always = columns.get("always says", {at: None})[at]
        bar = bar if always is None else f"says {always} to (almost) everyone"
        rows.append([f"{penalty:.4g}", "" if found is None else percent(found), *cells, bar])
    heads = [head for head in columns if head.startswith(("robust", "undecided"))]
    terminal.table([option, name, *heads, ""], rows, left=(2 + len(heads),))
    terminal.say(
        "robust: one at a time, each row against its own worst labels; unswayed certify says what "
        "one set of wrong labels does to all rows, and random ones"
    )
    terminal.say()
