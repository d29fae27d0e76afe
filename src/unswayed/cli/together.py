"""``unswayed together``: how many predictions one set of wrong labels overturns."""

from pathlib import Path
from typing import Any

from unswayed.cli.all_rows import open_all_rows, solver_output
from unswayed.cli.commands import TogetherOptions
from unswayed.cli.requests import make_request
from unswayed.cli.terminal import TABLES, Terminal, as_rows, check_output, write_table, write_text
from unswayed.cli.witness import change_columns, show_changes
from unswayed.study.joint import Counted, Counting, check_seconds, count_together
from unswayed.study.movement import need_radius
from unswayed.study.study import Study
from unswayed.words import counted, number_end

_NAMED = 12  # overturned rows that are named


def together(train: Path, options: TogetherOptions) -> int:
    """Answer ``unswayed together``."""
    terminal = Terminal(options.output)
    out, report, no_rows = options.out, options.page.report, options.page.no_rows
    counting = Counting(
        only_rows=options.joint.only_rows,
        turned=options.turned,
        row_weights=options.row_weights,
        time_limit=check_seconds(options.joint.time_limit),
    )
    request = make_request(
        *(train, options.data, options.bias, options.model),
        split=options.split,
        radius=options.radius,
        folds=options.folds,
    )
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
            "turned": counting.turned,
            "row_weights": counting.row_weights,
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
        write_table(out, _joined(found, tables), escape=options.escape_formulas)
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
