"""``unswayed review``: which labels to check, and what reviewers found."""

from pathlib import Path
from typing import Any

import numpy as np

from unswayed.cli.commands import ReviewApplyOptions, ReviewPlanOptions
from unswayed.cli.requests import make_request
from unswayed.cli.show import show_wide
from unswayed.cli.terminal import Terminal, check_output, write_table
from unswayed.cli.together import open_all_rows
from unswayed.exceptions import InputError
from unswayed.study.facts import need_radius
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
from unswayed.words import counted, number_end, percent

_LINES = 10  # labels that the terminal shows


def plan(train: Path, options: ReviewPlanOptions) -> int:
    """Answer ``unswayed review plan``."""
    terminal = Terminal(options.output)
    out, report, no_rows = options.out, options.page.report, options.page.no_rows
    request = make_request(
        *(train, options.data, options.bias, options.model),
        split=options.split,
        radius=options.radius,
    )
    if len(request.budgets) > 1:
        raise InputError("--budget: a plan is made for one budget; pass it once")
    check_output(out, "--out", (".csv",), *request.files, *options.exclude)
    check_output(report, "--report", (".html", ".htm"), *request.files, out)
    effort = Effort(
        labels=options.labels,
        per_reviewer=options.per_reviewer,
        costs=options.costs,
        cost_limit=options.cost_limit,
        error_rate=options.error_rate,
    )
    opened = open_all_rows(
        request,
        terminal,
        check=lambda study: need_radius(study, "review plan"),
        no_rows=no_rows,
    )
    study = opened.study
    before = read_review(study, options.exclude, applied=True)
    checked = np.array(sorted(before), dtype=np.intp)
    made = plan_review(study, effort, checked, lambda line: terminal.passing(line, finished=False))

    def write(path: Path) -> None:
        table = plan_columns(study, made, costs=options.costs is not None)
        write_table(path, table, escape=options.escape_formulas)

    opened.tell(
        terminal,
        {"review": plan_facts(study, made, effort, checked)},
        lambda facts: _show_plan(terminal, facts["review"], classes=bool(facts["classes"])),
        out=out,
        write=write,
        report=report,
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
    request = make_request(
        *(train, options.data, options.bias, options.model),
        split=options.split,
        radius=options.radius,
    )
    check_output(out, "--out", endings(train), *request.files, *answers, *exclude)
    opened = open_all_rows(
        request,
        terminal,
        check=lambda study: need_radius(study, "review apply"),
    )
    earlier = read_review(opened.study, exclude, applied=True)
    found = read_review(opened.study, answers, applied=False)
    if not found:
        raise InputError(
            f"{', '.join(map(str, answers))}: no label was checked; fill in the column "
            "checked_label, with the label as it should be"
        )
    before = verified(opened.study, earlier) if earlier else opened.study
    after = verified(before, found)

    def show(facts: dict[str, Any]) -> None:
        for note in after.notes:
            terminal.note(note)
        _show_applied(terminal, facts["review"], classes=bool(facts["classes"]))

    opened.tell(
        terminal,
        {"review": after_facts(before, after, found) | {"checked_before": len(earlier)}},
        show,
        out=out,
        write=lambda path: write_corrected(opened.study, found.values(), path),
    )
    return 0


# --- for people -----------------------------------------------------------------------------


def _show_plan(terminal: Terminal, facts: dict[str, Any], *, classes: bool) -> None:
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
    terminal.say(
        f"rows that {facts['keeps']}, of {facts['rows']:,}, if {facts['labels_in_words']} "
        f"({facts['budget']}) among the others are wrong",
        style="bold",
    )
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
        for each in facts["labels"][:_LINES]
    ]
    show_wide(terminal, lines, facts["columns"], ["row", "label"], numbers=not classes)
    if many > _LINES:
        terminal.say(f"… and {many - _LINES:,} more: --out review.csv has them all")
    terminal.say()


def _show_applied(terminal: Terminal, facts: dict[str, Any], *, classes: bool) -> None:
    wrong = facts["corrected"]
    terminal.say(
        f"{counted(facts['checked'], 'label')} checked, {len(wrong):,} of them corrected; what was "
        "checked is taken to be right",
        style="bold",
    )
    if wrong:
        show_wide(terminal, wrong[:_LINES], [], ["row", "label", "new label"], numbers=not classes)
        if len(wrong) > _LINES:
            terminal.say(f"… and {len(wrong) - _LINES:,} more: --json has them all")
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
