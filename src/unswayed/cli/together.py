"""``unswayed together``: how many predictions one set of wrong labels overturns."""

from pathlib import Path
from typing import Annotated, Any, Literal

from unswayed.cli.all_rows import ASKED, AllRowsOptions, open_all_rows, solver_output
from unswayed.cli.label_changes import change_columns, show_changes
from unswayed.cli.model_options import ModelOptions
from unswayed.cli.options import (
    DATA,
    NO_LABEL,
    OUTPUT,
    BiasOptions,
    DataOptions,
    Distance,
    Escape,
    NoRows,
    OutputOptions,
    RowOptions,
    Train,
    make_request,
)
from unswayed.cli.terminal import TABLES, Terminal, as_rows, check_output, write_table, write_text
from unswayed.study.joint import Counted, Counting, count_together
from unswayed.study.movement import need_radius
from unswayed.study.study import Study
from unswayed.words import counted, number_end

_NAMED = 12  # overturned rows that are named


def together(
    train: Train,
    /,
    *,
    data: DataOptions = NO_LABEL,
    test: RowOptions | None = None,
    bias: BiasOptions | None = None,
    model: ModelOptions | None = None,
    asked: AllRowsOptions | None = None,
    output: OutputOptions | None = None,
    folds: Annotated[str | None, DATA] = None,
    turned: Annotated[Literal["up", "down"] | None, ASKED] = None,
    row_weights: Annotated[str | None, ASKED] = None,
    radius: Distance = None,
    out: Annotated[Path | None, OUTPUT] = None,
    escape_formulas: Escape = True,
    report: Annotated[Path | None, OUTPUT] = None,
    no_rows: NoRows = False,
) -> int:
    """Prove how many predictions one set of wrong labels can overturn.

    Example: unswayed together people.csv --label hired --budget 1% --budget 5%

    Parameters
    ----------
    train : Path
    data : DataOptions
    test : RowOptions, optional
    bias : BiasOptions, optional
    model : ModelOptions, optional
    asked : AllRowsOptions, optional
    output : OutputOptions, optional
    folds
        About every row of the file, each by a model of the other folds: 10 is a good number.
        Instead of --test and --holdout.
    turned
        Count only predictions that are turned up (to the second class in sorted order, or to a
        higher number), or down. --direction is about labels.
    row_weights
        Column of the test rows that says how much each counts, 0 or more; by default 1.
    radius : str, optional
    out
        Table of the labels to change, at every budget: FILE.csv, .parquet or .json.
    escape_formulas : bool
    report
        Page with charts for people: FILE.html, readable offline.
    no_rows : bool

    Returns
    -------
    int
        Exit code.
    """
    terminal = Terminal(output)
    options = asked or AllRowsOptions()
    counting = Counting(
        only_rows=options.only_rows,
        turned=turned,
        row_weights=row_weights,
        time_limit=options.seconds(),
    )
    request = make_request(train, data, bias, model, test, radius=radius, folds=folds)
    check_output(out, "--out", TABLES, *request.files)
    check_output(report, "--report", (".html", ".htm"), *request.files, out)
    opened = open_all_rows(
        request,
        terminal,
        check=lambda study: need_radius(study, "together"),
        page=report is not None,
        no_rows=no_rows,
    )
    study = opened.study
    with solver_output():
        found = count_together(study, counting, lambda line: terminal.passing(line, finished=False))
    tables = [_table(study, each) for each in found]
    facts = opened.facts | {
        "together": {
            "rows": found[0].found.n_rows,
            "only_rows": counting.only_rows,
            "turned": turned,
            "row_weights": row_weights,
            "folds": request.folds,
            "time_limit": counting.time_limit,
            "budgets": [
                each.facts | {"changes": as_rows(table)}
                for each, table in zip(found, tables, strict=True)
            ],
        }
    }
    page = None if report is None else opened.paged(opened.shown(facts))
    if out is not None:
        write_table(out, _joined(found, tables), escape=escape_formulas)
    if report is not None and page is not None:
        write_text(report, page)
    opened.introduce(terminal)
    _show(terminal, facts["together"], classes=bool(facts["classes"]))
    for path in (out, report):
        if path is not None:
            terminal.say(f"wrote {path}")
    terminal.answer(opened.shown(facts))
    return 0


def _table(study: Study, each: Counted) -> dict[str, Any]:
    witness = each.found.witness
    return change_columns(study, study.train, witness.indices, witness.labels)


def _joined(found: list[Counted], tables: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the label changes of all budgets as one table."""
    budgets = [
        each.facts["budget"]
        for each, table in zip(found, tables, strict=True)
        for _ in table["row"]
    ]
    columns = {head: [cell for table in tables for cell in table[head]] for head in tables[0]}
    return {"wrong labels": budgets} | columns


# --- for people -----------------------------------------------------------------------------


def _show(terminal: Terminal, facts: dict[str, Any], *, classes: bool) -> None:
    what = counted(facts["rows"], "row" if facts["folds"] else "test row")
    if facts["only_rows"] is not None:
        what += f" where {facts['only_rows']}"
    if facts["turned"] is not None:
        what += f", turned {facts['turned']}"
    if facts["row_weights"] is not None:
        what += f", weighted by {facts['row_weights']}"
    terminal.say(
        f"overturned of {what}: one at a time, and by one set of labels together", style="bold"
    )
    if facts["folds"]:
        terminal.say(
            f"one set of labels acts on the models of all {facts['folds']} folds at once; a row is "
            "overturned if the model of its fold predicts something else"
        )
    terminal.table(
        ["wrong labels", "", "one at a time", "at most", "at least", "", "rests on"],
        [
            [
                each["budget"],
                each["labels_in_words"],
                each["one_at_a_time_text"],
                each["at_most_text"],
                each["at_least_text"],
                "proven" if each["proven"] else "a range",
                each["rests_on"],
            ]
            for each in facts["budgets"]
        ],
        left=(0, 5, 6),
    )
    main = facts["budgets"][0]
    if not main["changes"]:
        terminal.say()
        terminal.say(f"no set of labels within {main['budget']} was found that overturns any")
        terminal.say()
        return
    terminal.say()
    terminal.say(
        f"{counted(len(main['changes']), 'label')} that overturn {main['at_least_text']} at "
        f"{main['budget']}:",
        style="bold",
    )
    names = [name for name in main["changes"][0] if name not in ("row", "label", "new label")]
    show_changes(terminal, main["changes"], names, {}, numbers=not classes)
    terminal.say()
    named = ", ".join(f"{row:,}" for row in main["replayed_rows"][:_NAMED])
    more = len(main["replayed_rows"]) - _NAMED
    many = number_end(main["replayed"], -1)
    who = "the models of all folds overturn" if facts["folds"] else "the model overturns"
    terminal.say(
        f"refitted on these labels, {who} {many}: rows {named}"
        + (f" and {more:,} more" if more > 0 else "")
    )
    terminal.say()
