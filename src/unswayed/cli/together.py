"""``unswayed together``, ``fairness`` and ``review``: one set of wrong labels against all rows."""

import contextlib
import ctypes
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from unswayed.cli.budgets import ascending, budget_head, budget_name, say_source, wrong_in_words
from unswayed.cli.checks import ReviewApplyOptions, ReviewPlanOptions
from unswayed.cli.commands import FairnessOptions, TogetherOptions
from unswayed.cli.options import PageOptions
from unswayed.cli.requests import check_outputs, make_request, split_names
from unswayed.cli.show import (
    NOTHING_TESTED,
    describe,
    introduce,
    puts_to_the_test,
    say_assumed,
    say_written,
    show_beside,
    show_changes,
    show_wide,
)
from unswayed.cli.terminal import (
    Terminal,
    check_output,
    command_line,
    write_table,
    write_text,
)
from unswayed.exceptions import InputError
from unswayed.report.fairness import headline
from unswayed.report.page import without_rows
from unswayed.results.groups import LARGE_GROUPS
from unswayed.study.facts import change_heads, paged, row_facts
from unswayed.study.folds import open_folds
from unswayed.study.joint import HOLDS, Fairness, read_limits
from unswayed.study.movement import need_radius
from unswayed.study.opening import open_study
from unswayed.study.request import Request
from unswayed.study.review import (
    Effort,
    after_facts,
    endings,
    plan_columns,
    plan_facts,
    plan_review,
    read_review,
    verified,
    write_corrected,
)
from unswayed.study.study import Study
from unswayed.study.together import Counting, check_seconds, together_facts
from unswayed.words import counted, number_end, percent


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


def open_rows(request: Request, terminal: Terminal) -> Study:
    """Open a study whose test rows are asked about together."""
    return (open_study if request.folds is None else open_folds)(request, terminal)


def tell(
    terminal: Terminal,
    study: Study,
    facts: dict[str, Any],
    show: Callable[[], None],
    *,
    notes: Iterable[str] = (),
    out: Path | None,
    write: Callable[[Path], None],
    page: PageOptions | None = None,
) -> None:
    """Write the files that were asked for, print what was found, and answer programs."""
    page = page or PageOptions()
    shared = without_rows(facts) if page.no_rows else facts
    text = ""
    if page.report is not None:
        # The charts' libraries take a second: only those who want a page pay for them.
        from unswayed.report.render import render_collective

        text = render_collective(paged(shared, command_line(), study))
    if out is not None:
        write(out)
    if page.report is not None:
        write_text(page.report, text)
    show()
    say_assumed(terminal, facts)
    describe(terminal, facts)
    terminal.say()
    say_written(terminal, out, page.report)
    introduce(terminal, (*notes, *study.notes), facts)
    terminal.answer(shared)


# ----------------------------------------------------------------------------------------
# ``unswayed together``: how many predictions one set of wrong labels overturns.

_NAMED = 12  # overturned rows that are named


def together(train: Path, options: TogetherOptions) -> int:
    """Answer ``unswayed together``."""
    terminal = Terminal(options.output)
    counting = Counting(
        only_rows=options.joint.only_rows,
        turned=options.turned,
        row_weights=options.row_weights,
        time_limit=check_seconds(options.joint.time_limit),
    )
    request = make_request(train, options, asks="together")
    check_outputs(request, options.out, options.page.report)
    study = open_rows(request, terminal)
    need_radius(study, "together")
    facts = row_facts(study, three=False)
    with solver_output():
        found = together_facts(study, counting, terminal.passing)
    table = _change_table(found, change_heads(study), budget_head(facts))
    tell(
        terminal,
        study,
        facts | {"together": found},
        lambda: _show_count(terminal, found, facts),
        out=options.out,
        write=lambda path: write_table(path, table, escape=options.escape_formulas),
        page=options.page,
    )
    return 0


def _change_table(found: dict[str, Any], heads: list[str], budget: str) -> dict[str, Any]:
    """Return the label changes of all budgets as one table."""
    changes = [
        {budget: each["budget"]} | change for each in found["budgets"] for change in each["changes"]
    ]
    return {head: [each[head] for each in changes] for head in (budget, *heads)}


def _show_count(terminal: Terminal, facts: dict[str, Any], about: dict[str, Any]) -> None:
    what = counted(facts["rows"], "row" if facts["folds"] else "test row")
    if facts["only_rows"] is not None:
        what += f" where {facts['only_rows']}"
    if facts["turned"] is not None:
        what += f", turned {facts['turned']}"
    if facts["row_weights"] is not None:
        what += f", weighted by {facts['row_weights']}"
    main = facts["budgets"][0]
    terminal.say(
        f"One set of wrong labels overturns at most {main['at_most_text']} of {what} if "
        f"{wrong_in_words(about, main)}; some set overturns {main['at_least_text']}.",
        style="bold",
    )
    if facts["folds"]:
        terminal.say(
            f"one set of labels acts on the models of all {facts['folds']} folds at once; a row is "
            "overturned if the model of its fold predicts something else"
        )
    terminal.say()
    budgets = ascending(facts["budgets"])
    lines = {
        "": "labels_in_words",
        "one set of labels overturns at most": "at_most_text",
        "  some set overturns": "at_least_text",
        "overturned one at a time": "one_at_a_time_text",
    }
    show_beside(
        terminal,
        [budget_head(about), *(each["budget"] for each in budgets)],
        [[name, *(each[key] for each in budgets)] for name, key in lines.items()],
    )
    say_source(terminal, about)
    name = budget_name(about, main)
    if not main["changes"]:
        terminal.say("", f"no set of labels within {name} was found that overturns any")
        terminal.say()
        return
    terminal.say()
    terminal.say(
        f"{counted(len(main['changes']), 'label')} that overturn {main['at_least_text']} at "
        f"{name}:",
        style="bold",
    )
    names = [name for name in main["changes"][0] if name not in ("row", "label", "new label")]
    show_changes(terminal, main["changes"], names, {}, numbers=not about["classes"])
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
    terminal, seconds = Terminal(options.output), check_seconds(options.joint.time_limit)
    request = make_request(train, options, asks="fairness")
    check_outputs(request, options.out, options.page.report)
    study = open_rows(request, terminal)
    question = Fairness.of(
        study,
        split_names(options.metric),
        only_rows=options.joint.only_rows,
        time_limit=seconds,
        say=terminal.passing,
    )
    limits = read_limits(options.limit, question.metrics)
    facts = row_facts(study, three=False)
    with solver_output():
        found = question.facts(limits)
    main, tested = study.request.budget.text, puts_to_the_test(facts)
    asked_about = [each["verdict"] for each in found["limits"] if each["budget"] == main]
    passed = all(tested and verdict == HOLDS for verdict in asked_about)

    def show() -> None:
        _show_ranges(terminal, found, facts)
        if asked_about and not tested:
            terminal.note(f"--limit {NOTHING_TESTED}")

    tell(
        terminal,
        study,
        facts | {"fairness": found, "passed": passed},
        show,
        notes=question.absent(),
        out=options.out,
        write=lambda path: write_table(
            path, _range_table(found, facts), escape=options.escape_formulas
        ),
        page=options.page,
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


def _range_table(found: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
    unit = {} if facts["unit"] == "labels" else {"unit": facts["unit"]}
    ends = ("low", "high", "inner_low", "inner_high", "proven")
    rows = [
        {
            "column": column, "metric": metric, "group": group, "rows": line["rows"],
            "value": line["value"], budget_head(facts): budget["budget"],
            ("amount" if unit else "labels"): budget["labels"], **unit,
            **{end: line["ranges"][at][end] for end in ends},
        }
        for column, metric, group, line in _lines(found)
        for at, budget in enumerate(found["budgets"])
    ]  # fmt: skip
    return {head: [row[head] for row in rows] for head in rows[0]}


def _show_ranges(terminal: Terminal, found: dict[str, Any], facts: dict[str, Any]) -> None:
    rows = counted(found["rows"], "row" if found["folds"] else "test row")
    if found["only_rows"] is not None:
        rows += f" where {found['only_rows']}"
    first = headline(facts | {"fairness": found})
    terminal.say(
        f"{' '.join(first['now'])}; that stays within {first['text']} if "
        f"{wrong_in_words(facts, found['budgets'][0])}.",
        style="bold",
    )
    for at, budget in enumerate(found["budgets"]):
        terminal.say("", f"if {wrong_in_words(facts, budget)}, of {rows}")
        say_source(terminal, facts)
        terminal.table(
            ["", "rows", "now", "proven between", "reached"], _cells(found, at), left=(0, 4)
        )
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


# ----------------------------------------------------------------------------------------
# ``unswayed review``: which labels to check, and what reviewers found.

_LABELS = 10  # labels that the terminal shows


def plan(train: Path, options: ReviewPlanOptions) -> int:
    """Answer ``unswayed review plan``."""
    terminal = Terminal(options.output)
    request = make_request(train, options, asks="review plan")
    if len(request.budgets) > 1:
        raise InputError("--budget: a plan is made for one budget; pass it once")
    check_outputs(request, options.out, options.page.report, *options.exclude, tables=(".csv",))
    effort = Effort(
        labels=options.labels,
        per_reviewer=options.per_reviewer,
        costs=options.costs,
        cost_limit=options.cost_limit,
        error_rate=options.error_rate,
    )
    study = open_rows(request, terminal)
    need_radius(study, "review plan")
    facts = row_facts(study, three=False)
    checked = np.array(sorted(read_review(study, options.exclude, applied=True)), dtype=np.intp)
    made = plan_review(study, effort, checked, terminal.passing)
    found = plan_facts(study, made, effort, checked)

    def write(path: Path) -> None:
        table = plan_columns(study, made, costs=options.costs is not None)
        write_table(path, table, escape=options.escape_formulas)

    tell(
        terminal,
        study,
        facts | {"review": found},
        lambda: _show_review(terminal, found, classes=bool(facts["classes"])),
        out=options.out,
        write=write,
        page=options.page,
    )
    return 0


def apply(train: Path, answers: tuple[Path, ...], options: ReviewApplyOptions) -> int:
    """Answer ``unswayed review apply``."""
    terminal, out, exclude = Terminal(options.output), options.out, options.exclude
    if not answers:
        raise InputError(
            "review apply needs what reviewers found: name the files that review plan --out wrote, "
            "with checked_label filled in, after the training file"
        )
    request = make_request(train, options, asks="review apply")
    check_output(out, "--out", endings(train), *request.files, *answers, *exclude)
    study = open_rows(request, terminal)
    need_radius(study, "review apply")
    facts = row_facts(study, three=False)
    earlier = read_review(study, exclude, applied=True)
    found = read_review(study, answers, applied=False)
    if not found:
        raise InputError(
            f"{', '.join(map(str, answers))}: no label was checked; fill in the column "
            "checked_label, with the label as it should be"
        )
    before = verified(study, earlier) if earlier else study
    after = verified(before, found)
    review = after_facts(before, after, found) | {"checked_before": len(earlier)}

    def show() -> None:
        for note in after.notes:
            terminal.note(note)
        _show_applied(terminal, review, classes=bool(facts["classes"]))

    tell(
        terminal,
        study,
        facts | {"review": review},
        show,
        out=out,
        write=lambda path: write_corrected(study, found.values(), path),
    )
    return 0


def _show_review(terminal: Terminal, facts: dict[str, Any], *, classes: bool) -> None:
    after, many = facts["robust_after"], len(facts["labels"])
    if facts["checked_before"]:
        terminal.say(f"{counted(facts['checked_before'], 'label')} checked before, and right now")
    if not many:
        terminal.say(
            f"no check makes more rows robust: {after[0]:,} of {facts['rows']:,} are, at "
            f"{facts['budget']}"
        )
        terminal.say()
        return
    checks = "check" if many == 1 else "checks"
    terminal.say(
        f"{many:,} {checks} leave at least {after[many]:,} of {facts['rows']:,} rows that "
        f"{facts['keeps']} ({after[0]:,} without a check), if {facts['labels_in_words']} "
        f"({facts['budget']}) among the other labels are wrong.",
        style="bold",
    )
    terminal.say()
    estimate = facts["expected"]
    terminal.table(
        [
            *("labels checked", "proven at least", "", "at random", "most used in witnesses"),
            *(["estimate"] if estimate else []),
        ],
        [
            [
                f"{at:,}",
                f"{after[at]:,}",
                percent(after[at] / facts["rows"]),
                number_end(facts["random"][at], -1, 4),
                number_end(facts["witness"][at], -1, 4),
                *(
                    [f"{estimate['mean'][place]:.1f} ± {estimate['spread'][place]:.1f}"]
                    if estimate
                    else []
                ),
            ]
            for place, at in enumerate(facts["points"])
        ],
        left=(),
    )
    terminal.say("proven for the case that the checked labels turn out to be right")
    if estimate:
        terminal.say(
            f"estimate, no proof: {estimate['error_rate_text']} of the checked labels drawn wrong "
            f"and corrected, the model refitted; mean and spread of {estimate['draws']} draws"
        )
    terminal.say()
    cost = f", cost {facts['cost']:g}" if facts["costs"] is not None else ""
    batches = f", {facts['batches']} reviewers" if facts["batches"] > 1 else ""
    terminal.say(f"{counted(many, 'label')} to check{batches}{cost}, in this order:", style="bold")
    lines = [
        {"row": each["row"], "label": each["label"]}
        | dict(zip(facts["columns"], each["cells"], strict=True))
        for each in facts["labels"][:_LABELS]
    ]
    show_wide(terminal, lines, facts["columns"], ["row", "label"], numbers=not classes)
    if many > _LABELS:
        terminal.say(f"… and {many - _LABELS:,} more: --out review.csv has them all")
    terminal.say()


def _show_applied(terminal: Terminal, facts: dict[str, Any], *, classes: bool) -> None:
    wrong = facts["corrected"]
    terminal.say(
        f"{counted(facts['checked'], 'label')} checked, {len(wrong):,} of them corrected; what was "
        "checked is taken to be right",
        style="bold",
    )
    if wrong:
        show_wide(terminal, wrong[:_LABELS], [], ["row", "label", "new label"], numbers=not classes)
        if len(wrong) > _LABELS:
            terminal.say(f"… and {len(wrong) - _LABELS:,} more: --json has them all")
    terminal.say()
    terminal.table(
        [f"rows that {facts['keeps']}", "", "before", "", "after", ""],
        [
            [
                each["budget"],
                each["labels_in_words"],
                *(
                    text
                    for robust in each["robust"]
                    for text in (f"{robust:,}", percent(robust / facts["rows"]))
                ),
            ]
            for each in facts["budgets"]
        ],
    )
    what = "accuracy" if classes else "variance explained (R²)"
    if facts["quality"][0] is not None:
        terminal.say(f"{what} on the test rows: {' → '.join(map(percent, facts['quality']))}")
    terminal.say(
        f"{facts['other_predictions']:,} of {counted(facts['rows'], 'test row')} get another "
        "prediction"
    )
    terminal.say()
