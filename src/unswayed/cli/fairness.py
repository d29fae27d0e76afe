"""``unswayed fairness``: how far wrong labels can move rates and gaps between groups."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from unswayed.cli.all_rows import open_all_rows, solver_output
from unswayed.cli.commands import FairnessOptions
from unswayed.cli.requests import make_request, split_names
from unswayed.cli.show import NOTHING_TESTED, puts_to_the_test
from unswayed.cli.terminal import TABLES, Terminal, check_output, write_table
from unswayed.results.groups import LARGE_GROUPS
from unswayed.study.joint import HOLDS, SOLVER, Fairness, Limit, check_seconds, read_limits
from unswayed.study.study import Study
from unswayed.words import counted


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
        _show(terminal, found)
        if asked_about and not tested:
            terminal.note(f"--limit {NOTHING_TESTED}")

    opened.tell(
        terminal,
        {"fairness": found, "passed": passed},
        show,
        notes=question.absent(),
        out=out,
        write=lambda path: write_table(path, _table(found), escape=options.escape_formulas),
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


def _table(found: dict[str, Any]) -> dict[str, Any]:
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


# --- for people -----------------------------------------------------------------------------


def _show(terminal: Terminal, found: dict[str, Any]) -> None:
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
