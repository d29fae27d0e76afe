"""``unswayed tradeoff``: accuracy against robustness over alpha."""

from pathlib import Path
from typing import Annotated, Any

from unswayed.atomic import atomic_write
from unswayed.audit import tradeoff as over_alpha
from unswayed.audit.findings import findings_of
from unswayed.cli.certify import describe
from unswayed.cli.options import (
    MODEL,
    OUTPUT,
    BiasOptions,
    DataOptions,
    Distance,
    Escape,
    ModelOptions,
    OutputOptions,
    RowOptions,
    Train,
    make_request,
)
from unswayed.cli.terminal import Terminal
from unswayed.cli.writing import TABLES, as_rows, check_output, write_table
from unswayed.exceptions import InputError
from unswayed.report.summarise import headline
from unswayed.words import percent

_CHARTS = (".html", ".svg", ".png")
_BAR = 24


def tradeoff(
    train: Train,
    /,
    *,
    data: DataOptions,
    test: RowOptions | None = None,
    bias: BiasOptions | None = None,
    output: OutputOptions | None = None,
    radius: Distance = None,
    alphas: Annotated[str | None, MODEL] = None,
    threshold: Annotated[str | None, MODEL] = None,
    out: Annotated[Path | None, OUTPUT] = None,
    escape_formulas: Escape = True,
    chart: Annotated[Path | None, OUTPUT] = None,
) -> int:
    """Weigh accuracy against robustness over alpha.

    Example: unswayed tradeoff people.csv --label hired --budget 1% --chart tradeoff.svg

    Parameters
    ----------
    train : Path
    data : DataOptions
    test : RowOptions, optional
    bias : BiasOptions, optional
    output : OutputOptions, optional
    radius : str, optional
    alphas
        Penalties to try, such as 1,10,100; by default ten from 0.1 to 30,000.
    threshold
        Score above which the second class is predicted: a number, or balanced, as for certify.
    out
        The table: FILE.csv, .parquet or .json.
    escape_formulas : bool
    chart
        The chart: FILE.html, .svg or .png.

    Returns
    -------
    int
        Exit code.
    """
    terminal = Terminal(output)
    model = ModelOptions(threshold=threshold)
    request = make_request(train, data, bias, model, test, radius=radius)
    check_output(out, "--out", TABLES, *request.files)
    check_output(chart, "--chart", _CHARTS, *request.files, out)
    study, points = over_alpha.tradeoff(request, terminal, _alphas(alphas))
    facts = headline(findings_of(study))
    heads = [budget.text for budget in request.budgets]
    name = "accuracy" if facts["classes"] else "r2"
    columns: dict[str, Any] = {
        "alpha": [point.alpha for point in points],
        name: [point.quality for point in points],
        **{f"robust at {head}": [p.rates[at] for p in points] for at, head in enumerate(heads)},
    }
    if facts["classes"]:
        columns["always says"] = [point.always for point in points]
    if out is not None:
        write_table(out, columns, escape=escape_formulas)
    if chart is not None:
        _draw(chart, points, heads, name)
    for note in study.notes:
        terminal.note(note)
    for caveat in facts["caveats"]:
        terminal.warn(caveat["sentence"])
    _show(terminal, study, facts, columns)
    for path in (out, chart):
        if path is not None:
            terminal.say(f"wrote {path}")
    keys = ("task", "label", "bias", "train_rows", "test_rows", "data", "columns", "caveats")
    asked = {key: facts[key] for key in keys}
    terminal.answer(asked | {"points": as_rows(columns)})
    return 0


def _alphas(text: str | None) -> tuple[float, ...]:
    if text is None:
        return over_alpha.ALPHAS
    try:
        found = tuple(float(part) for part in text.split(","))
    except ValueError:
        found = ()
    if not found or not all(0 <= alpha < float("inf") for alpha in found):
        raise InputError(f"--alphas {text!r} is not a list of penalties; write 1,10,100")
    return found


def _draw(path: Path, points: list[over_alpha.Point], heads: list[str], name: str) -> None:
    from unswayed.report.charts import save, tradeoff_chart

    spec = tradeoff_chart(
        [{"alpha": p.alpha, "quality": p.quality, "rates": list(p.rates)} for p in points],
        heads,
        name,
    )
    with atomic_write(path) as beside:
        save(spec, beside, path.suffix.lower())


def _show(terminal: Terminal, study: Any, facts: dict[str, Any], columns: dict[str, Any]) -> None:
    describe(terminal, study, facts | {"alpha": None})
    terminal.say()
    rates = [columns[head] for head in columns if head.startswith("robust")]
    name = "accuracy" if facts["classes"] else "R²"
    rows = []
    for at, alpha in enumerate(columns["alpha"]):
        found = columns["accuracy" if facts["classes"] else "r2"][at]
        bar = "█" * round(_BAR * rates[0][at])
        cells = [percent(rate[at]) for rate in rates]
        always = columns.get("always says", {at: None})[at]
        bar = bar if always is None else f"says {always} to (almost) everyone"
        rows.append([f"{alpha:g}", "" if found is None else percent(found), *cells, bar])
    terminal.table(
        ["alpha", name, *(f"robust at {each['budget']}" for each in facts["budgets"]), ""],
        rows,
        left=(2 + len(rates),),
    )
    terminal.say()
