"""``unswayed together``: how many predictions one set of wrong labels overturns."""

from pathlib import Path
from typing import Any

from unswayed.cli.all_rows import open_all_rows, solver_output
from unswayed.cli.commands import TogetherOptions
from unswayed.cli.requests import make_request
from unswayed.cli.show import show_changes
from unswayed.cli.terminal import TABLES, Terminal, check_output, write_table
from unswayed.study.facts import change_heads
from unswayed.study.joint import Counting, check_seconds, together_facts
from unswayed.study.movement import need_radius
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
        no_rows=no_rows,
    )
    with solver_output():
        found = together_facts(
            opened.study, counting, lambda line: terminal.passing(line, finished=False)
        )
    heads = change_heads(opened.study)
    opened.tell(
        terminal,
        {"together": found},
        lambda facts: _show(terminal, found, classes=bool(facts["classes"])),
        out=out,
        write=lambda path: write_table(path, _table(found, heads), escape=options.escape_formulas),
        report=report,
    )
    return 0


def _table(found: dict[str, Any], heads: list[str]) -> dict[str, Any]:
    """Return the label changes of all budgets as one table."""
    changes = [
        {"wrong labels": each["budget"]} | change
        for each in found["budgets"]
        for change in each["changes"]
    ]
    return {head: [each[head] for each in changes] for head in ("wrong labels", *heads)}


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
