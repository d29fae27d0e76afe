"""``unswayed tradeoff``: accuracy against robustness over alpha, or over C."""

from pathlib import Path
from typing import Any

from unswayed.atomic import atomic_write
from unswayed.cli.commands import TradeoffOptions
from unswayed.cli.options import KindOptions, ModelOptions
from unswayed.cli.requests import make_request
from unswayed.cli.show import describe, introduce, say_written
from unswayed.cli.terminal import TABLES, Terminal, as_rows, check_output, write_table
from unswayed.exceptions import InputError
from unswayed.study import compare
from unswayed.study.facts import row_facts
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
    study, points = compare.tradeoff(request, terminal, penalties)
    facts = row_facts(study, three=False)
    heads = [budget.text for budget in study.request.budgets]
    name = "accuracy" if facts["classes"] else "r2"
    columns: dict[str, Any] = {
        kind.option: [point["penalty"] for point in points],
        name: [point["quality"] for point in points],
    }
    shown = {"robust": "rates", "undecided": "undecided"}
    if kind.linear and not any(sum(point["undecided"]) for point in points):
        shown.pop("undecided")
    for said, key in shown.items():
        for at, head in enumerate(heads):
            columns[f"{said} at {head}"] = [point[key][at] for point in points]
    if facts["classes"]:
        columns["always says"] = [point["always"] for point in points]
    if out is not None:
        write_table(out, columns, escape=options.escape_formulas)
    if chart is not None:
        from unswayed.report.charts import save, tradeoff_chart

        with atomic_write(chart) as beside:
            spec = tradeoff_chart(points, heads, name, kind.option)
            save(spec, beside, chart.suffix.lower())
    introduce(terminal, study.notes, facts)
    _show(terminal, facts, columns, kind.option)
    say_written(terminal, out, chart)
    keys = "task label kind bias train_rows test_rows data columns caveats".split()
    terminal.answer({key: facts[key] for key in keys} | {"points": as_rows(columns)})
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


def _show(terminal: Terminal, facts: dict[str, Any], columns: dict[str, Any], option: str) -> None:
    describe(terminal, facts | {option: None})
    terminal.say()
    quality = "accuracy" if facts["classes"] else "r2"
    heads = [head for head in columns if head.startswith(("robust", "undecided"))]
    left = heads[-1].startswith("undecided")
    rows = []
    for at, penalty in enumerate(columns[option]):
        found, always = columns[quality][at], columns.get("always says", {at: None})[at]
        bar = "" if left else "█" * round(_BAR * columns[heads[0]][at])
        bar = bar if always is None else f"says {always} to (almost) everyone"
        cells = [percent(columns[head][at]) for head in heads]
        rows.append([f"{penalty:.4g}", "" if found is None else percent(found), *cells, bar])
    name = "accuracy" if facts["classes"] else "R²"
    terminal.table([option, name, *heads, ""], rows, left=(2 + len(heads),))
    terminal.say(
        "robust: one at a time, each row against its own worst labels; unswayed certify says what "
        "one set of wrong labels does to all rows, and random ones"
    )
    terminal.say()
