"""``unswayed together`` and ``unswayed fairness``: one set of wrong labels against all rows."""

import contextlib
import ctypes
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unswayed.cli.commands import FairnessOptions, TogetherOptions
from unswayed.cli.requests import make_request, split_names
from unswayed.cli.show import (
    NOTHING_TESTED,
    describe,
    introduce,
    puts_to_the_test,
    say_written,
    show_changes,
)
from unswayed.cli.terminal import (
    TABLES,
    Terminal,
    check_output,
    command_line,
    write_table,
    write_text,
)
from unswayed.report.page import without_rows
from unswayed.results.groups import LARGE_GROUPS
from unswayed.study.facts import change_heads, need_radius, paged, row_facts
from unswayed.study.folds import open_folds
from unswayed.study.joint import (
    HOLDS,
    SOLVER,
    Counting,
    Fairness,
    Limit,
    check_seconds,
    read_limits,
    together_facts,
)
from unswayed.study.opening import open_study
from unswayed.study.request import Request
from unswayed.study.study import Study
from unswayed.words import counted, number_end


@contextlib.contextmanager
def solver_output() -> Iterator[None]:
    """Send what compiled code prints to stderr: HiGHS does now and then, whatever it is told.

    Programs expect one JSON object on stdout and nothing else. Python's own output is not touched
    if it goes elsewhere, but nothing should be printed within.
    """
    if sys.__stdout__ is None or sys.__stderr__ is None:  # closed: 1 or 2 may be another file
        yield
        return
    sys.stdout.flush()
    saved = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        # C has a buffer of its own, which would be written later, to the restored stdout.
        with contextlib.suppress(OSError, AttributeError, TypeError):
            ctypes.CDLL(None).fflush(None)
        os.dup2(saved, 1)
        os.close(saved)


@dataclass(frozen=True, eq=False)
class AllRows:
    """A study whose test rows are asked about together, and the facts that all questions have."""

    study: Study
    facts: dict[str, Any]
    no_rows: bool  # Whether no single row may be shown

    def tell(
        self,
        terminal: Terminal,
        found: dict[str, Any],
        show: Callable[[dict[str, Any]], None],
        *,
        notes: Iterable[str] = (),
        out: Path | None = None,
        write: Callable[[Path], None] = lambda _: None,
        report: Path | None = None,
    ) -> None:
        """Write the files that were asked for, print what was found, and answer programs."""
        facts = self.facts | found
        shared = without_rows(facts) if self.no_rows else facts
        page = None
        if report is not None:
            # The charts' libraries take a second: only those who want a page pay for them.
            from unswayed.report.render import render_collective

            page = render_collective(paged(shared, command_line(), self.study))
        if out is not None:
            write(out)
        if report is not None and page is not None:
            write_text(report, page)
        introduce(terminal, (*notes, *self.study.notes), facts)
        describe(terminal, facts)
        terminal.say()
        show(facts)
        say_written(terminal, out, report)
        terminal.answer(shared)


def open_all_rows(
    request: Request,
    terminal: Terminal,
    *,
    check: Callable[[Study], None] = lambda _: None,
    no_rows: bool = False,
) -> AllRows:
    """Open a study whose test rows are asked about together; `check` raises before any work."""
    study = (
        open_study(request, terminal) if request.folds is None else open_folds(request, terminal)
    )
    check(study)
    return AllRows(study, row_facts(study, three=False), no_rows)


# ----------------------------------------------------------------------------------------
# ``unswayed together``: how many predictions one set of wrong labels overturns.

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
        lambda facts: _show_count(terminal, found, classes=bool(facts["classes"])),
        out=out,
        write=lambda path: write_table(
            path, _change_table(found, heads), escape=options.escape_formulas
        ),
        report=report,
    )
    return 0


def _change_table(found: dict[str, Any], heads: list[str]) -> dict[str, Any]:
    """Return the label changes of all budgets as one table."""
    changes = [
        {"wrong labels": each["budget"]} | change
        for each in found["budgets"]
        for change in each["changes"]
    ]
    return {head: [each[head] for each in changes] for head in ("wrong labels", *heads)}


def _show_count(terminal: Terminal, facts: dict[str, Any], *, classes: bool) -> None:
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


# ----------------------------------------------------------------------------------------
# ``unswayed fairness``: how far wrong labels can move rates and gaps between groups.


def fairness(train: Path, options: FairnessOptions) -> int:
    """Answer ``unswayed fairness``."""
    terminal = Terminal(options.output)
    out, report, no_rows = options.out, options.page.report, options.page.no_rows
    only_rows, seconds = options.joint.only_rows, check_seconds(options.joint.time_limit)
    request = make_request(
        *(train, options.data, options.bias, options.model),
        split=options.split,
        groups=options.groups,
        folds=options.folds,
    )
    check_output(out, "--out", TABLES, *request.files)
    check_output(report, "--report", (".html", ".htm"), *request.files, out)
    wanted = split_names(options.metric)
    limits: list[Limit] = []
    questions: list[Fairness] = []

    def check(study: Study) -> None:
        question = Fairness.of(
            study,
            wanted,
            only_rows=only_rows,
            time_limit=seconds,
            say=lambda line: terminal.passing(line, finished=False),
        )
        limits.extend(read_limits(options.limit, question.metrics))
        questions.append(question)

    opened = open_all_rows(request, terminal, check=check, no_rows=no_rows)
    question, tested = questions[0], puts_to_the_test(opened.facts)
    with solver_output():
        found = question.facts(limits)
    main = opened.study.request.budget.text
    asked_about = [each["verdict"] for each in found["limits"] if each["budget"] == main]
    passed = all(tested and verdict == HOLDS for verdict in asked_about)

    def show(_: dict[str, Any]) -> None:
        _show_ranges(terminal, found)
        if asked_about and not tested:
            terminal.note(f"--limit {NOTHING_TESTED}")

    opened.tell(
        terminal,
        {"fairness": found, "passed": passed},
        show,
        notes=question.absent(),
        out=out,
        write=lambda path: write_table(path, _range_table(found), escape=options.escape_formulas),
        report=report,
    )
    return 0 if passed else 1


def _lines(found: dict[str, Any]) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Yield column, metric, group and facts of everything that has a range."""
    for line in found["overall"]:
        yield "", line["metric"], "", line
    for each in found["columns"]:
        for line in each["metrics"]:
            yield each["column"], line["metric"], "", line
            if line["large"]:
                yield each["column"], line["metric"], LARGE_GROUPS, line["large"]
        for rate in each["rates"]:
            for group in rate["groups"]:
                yield each["column"], rate["rate"], group["group"], group


def _range_table(found: dict[str, Any]) -> dict[str, Any]:
    ends = ("low", "high", "inner_low", "inner_high", "proven", "rests_on")
    rows = [
        {
            "column": column, "metric": metric, "group": group, "rows": line["rows"],
            "value": line["value"], "wrong labels": budget["budget"], "labels": budget["labels"],
            **{end: line["ranges"][at][end] for end in ends},
        }
        for column, metric, group, line in _lines(found)
        for at, budget in enumerate(found["budgets"])
    ]  # fmt: skip
    return {head: [row[head] for row in rows] for head in rows[0]}


def _show_ranges(terminal: Terminal, found: dict[str, Any]) -> None:
    rows = counted(found["rows"], "row" if found["folds"] else "test row")
    if found["only_rows"] is not None:
        rows += f" where {found['only_rows']}"
    for at, budget in enumerate(found["budgets"]):
        terminal.say(
            f"if up to {budget['labels_in_words']} ({budget['budget']}) are wrong, of {rows}",
            style="bold",
        )
        terminal.table(
            ["", "rows", "now", "proven between", "reached"], _cells(found, at), left=(0, 4)
        )
        ranges = [line["ranges"][at] for *_, line in _lines(found)]
        if any(each["rests_on"] == SOLVER for each in ranges):
            terminal.say(f"some of these bounds rest on {SOLVER}, a solver; --json says which")
        terminal.say()
    for each in found["limits"]:
        terminal.say(each["sentence"], style="bold")
    if found["limits"]:
        terminal.say()


def _cells(found: dict[str, Any], at: int) -> Iterator[list[str]]:
    """Yield the lines of a table at one budget; a column of groups has a line of its own."""
    before = ""
    for column, metric, group, line in _lines(found):
        if column != before:
            yield [f"by {column}", "", "", "", ""]
            before = column
        name = f"{' ' * bool(column)}{metric}{', ' * bool(group)}{group}"
        if group == LARGE_GROUPS:  # below the same of all groups
            name = f"  {group}"
        each = line["ranges"][at]
        yield [name, f"{line['rows']:,}", line["value_text"], each["text"], each["reached"]]
