"""Facts on the terminal: what several commands print of them, as tables and sentences."""

import math
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rich.cells import cell_len

from unswayed.cli.budgets import (
    amount_between,
    ascending,
    budget_head,
    budget_name,
    say_source,
    wrong_in_words,
)
from unswayed.cli.terminal import Terminal, printable
from unswayed.results.groups import LARGE_GROUPS
from unswayed.words import (
    between,
    distance,
    labels,
    listed,
    number_end,
    percent,
    points,
    separated,
    share_range,
)

_BAR = 24  # characters
_NAME = 15  # of the three numbers
_GAP = 2  # spaces between columns
_HEAD = 40  # characters of the first column of a table with budgets beside each other
_NAMES = 8  # characters that names of groups have at least in a table that is too wide
_LINES = 40  # of label changes
_VERSUS = 6  # classes named of the rest
_MOVES = {"median": "half of the rows", "p90": "90 %", "largest": "all"}
_WRONG = "can be wrong"
_BELOW = "below budget"


# --- what was asked -------------------------------------------------------------------------


def introduce(terminal: Terminal, notes: Iterable[str], facts: dict[str, Any]) -> None:
    """Print notes, and what could mislead."""
    for note in notes:
        terminal.note(note)
    for caveat in facts["caveats"]:
        terminal.warn(caveat["sentence"])


def say_written(terminal: Terminal, *paths: Path | None) -> None:
    """Print which files were written."""
    for path in filter(None, paths):
        terminal.say(f"wrote {path}")


def say_assumed(terminal: Terminal, facts: dict[str, Any]) -> None:
    """Print which labels may be wrong, and what share of these each budget is."""
    terminal.say(f"assumed: {facts['bias']}")
    if facts["movable_labels"] < facts["train_rows"]:
        for each in facts["budgets"][1:]:  # the answer says it of the main one
            terminal.say(f"budget {each['budget']}: {each['labels_in_words']}")


def describe(terminal: Terminal, facts: dict[str, Any]) -> None:
    """Print label, model and rows; a penalty of None is not printed."""
    what = facts["task"]
    if facts["positive"] is not None:
        what += f", {positive_in_words(facts)}"
    elif facts["classes"]:
        what += f", {len(facts['classes'])} classes: {listed(facts['classes'], _VERSUS)}"
    if facts["log"]:
        what += " of its logarithm"
    held = " (held out)" if facts["held_out"] else ""
    model = model_in_words(facts)
    terminal.say(f"{facts['label']}: {what}{'; ' if model else ''}{model}")
    rows = f"{facts['train_rows']:,} training rows"
    if facts["folds"]:
        rows = (
            f"{facts['test_rows']:,} rows in {facts['folds']} folds, each row certified by a model "
            f"of the other folds ({rows})"
        )
    elif facts["test_rows"]:
        rows += f", {facts['test_rows']:,} test rows{held}"
    if facts["fold_by"] is not None:
        rows += f"; rows of the same {facts['fold_by']!r} are never split"
    terminal.say(rows, facts["alpha_choice"])
    say_read(terminal, facts)


def say_read(terminal: Terminal, facts: dict[str, Any]) -> None:
    """Print how the file was read, if cells are missing or everything is to be told."""
    if terminal.verbose or facts["data"]["missing"]:
        terminal.say(facts["data"]["sentence"])


def positive_in_words(facts: dict[str, Any]) -> str:
    """Say which class is the positive one, and which others are the rest, if it is put against it.

    >>> positive_in_words({"positive": "setosa", "versus_rest": ["versicolor", "virginica"]})
    "positive: setosa, versus the rest ('versicolor' and 'virginica')"
    """
    rest = facts["versus_rest"]
    versus = f", versus the rest ({listed(rest, _VERSUS)})" if rest else ""
    return f"positive: {facts['positive']}{versus}"


def model_in_words(facts: dict[str, Any]) -> str:
    """Return kind and penalty of a model in words; nothing where it has no single penalty.

    >>> model_in_words({"kind": "logistic", "alpha": None, "C": 0.01})
    'logistic with C 0.01'
    """
    penalties = [f"{name} {facts[name]:g}" for name in ("alpha", "C") if facts[name] is not None]
    kind = "ridge" if facts["kind"] == "search" else facts["kind"]
    return f"{kind} with {penalties[0]}" if penalties else ""


NOTHING_TESTED = "is not met, as no label can be wrong at the main budget: this proves nothing"


def puts_to_the_test(facts: dict[str, Any]) -> bool:
    """Return whether any label can be wrong at the main budget; otherwise nothing is proven."""
    return bool(min(facts["budgets"][0]["labels"], facts["movable_labels"]))


# --- rates ----------------------------------------------------------------------------------


def show_quality(terminal: Terminal, facts: dict[str, Any]) -> None:
    """Print how good the model is, beside what always saying the larger class would be."""
    quality, balance = facts["quality"], facts["balance"]
    found = []
    if quality is not None and balance is None:
        of = f" of log {facts['label']}" if facts["log"] else ""
        found.append(f"variance explained (R²){of} on the test rows: {percent(quality)}")
    elif quality is not None:
        always = f"always saying {facts['majority']}: {percent(facts['majority_quality'])}"
        found.append(f"accuracy on the test rows: {percent(quality)} ({always})")
    shares = [
        f"{percent(each['train_share'])} {each['class']}"
        for each in balance or ()
        if each["train_share"] is not None
    ]
    if shares and terminal.verbose:
        found.append("training labels: " + ", ".join(shares))
    if found:
        terminal.say("; ".join(found))
    if facts["balanced_accuracy"] is None or not terminal.verbose:
        return
    # How well the classes are told apart: accuracy hides it where one is rare.
    found = [
        f"balanced accuracy: {percent(facts['balanced_accuracy'])} (always saying one class: "
        f"{percent(1 / sum(each['test'] > 0 for each in balance))})"
    ]
    if facts["recall"] is not None:
        found.append(f"recall of {facts['positive']}: {percent(facts['recall'])}")
    if facts["precision"] is not None:
        found.append(f"precision: {percent(facts['precision'])}")
    if facts["auc"] is not None:
        found.append(f"AUC: {facts['auc']:.3f}")
    terminal.say("; ".join(found))


def say_kept(terminal: Terminal, facts: dict[str, Any]) -> None:
    """Print the answer at the main budget, in one sentence."""
    main, rows = facts["budgets"][0], facts["test_rows"]
    if not puts_to_the_test(facts):
        said = f"No label can be wrong at {main['budget']}, so this proves nothing"
    else:
        keeps = facts["keeps"] if main["robust"] != 1 else _one(facts["keeps"])
        said = (
            f"{main['robust']:,} of {rows:,} test rows ({percent(main['rate'])}) {keeps} if "
            f"{wrong_in_words(facts, main)}"
        )
        if main["undecided"]:
            said += f"; {main['undecided']:,} {'is' if main['undecided'] == 1 else 'are'} undecided"
        if main["three"] is not None:
            most = main["three"]["together"]["at_most"]
            many = f"{number_end(most, 1)} prediction{'' if most == 1 else 's'}"
            said += f"; one set of wrong labels changes at most {many}"
    terminal.say(f"{said}.", style="bold")


def _one(keeps: str) -> str:
    """Return what robust rows do, of one row.

    >>> _one("keep their prediction"), _one("stay within 5 of their prediction")
    ('keeps its prediction', 'stays within 5 of its prediction')
    """
    verb, _, rest = keeps.partition(" ")
    return f"{verb}s {rest.replace('their', 'its')}"


def show_budgets(terminal: Terminal, facts: dict[str, Any]) -> None:
    """Print what each budget does, one column each; where rows are undecided, three counts."""
    rows, budgets = facts["test_rows"], ascending(facts["budgets"])
    lines = [["", *map(_size, budgets)]]
    undecided = any(each["undecided"] for each in budgets)
    if facts["kind"] == "logistic" or undecided:
        lines += [
            [name, *(f"{each[of]:,}  {percent(each[of] / rows)}" for each in budgets)]
            for name, of in (
                ("proven robust", "robust"),
                ("overturned", "overturned"),
                ("undecided", "undecided"),
            )
        ]
        shares = [share_range(each["rate"], each["highest_rate"]) for each in budgets]
        lines.append(["robust share", *shares])
    else:
        name = f"rows that {facts['keeps']}"
        if len(name) > _HEAD:
            terminal.say(f"robust rows {facts['keeps']}")
            name = "robust rows"
        lines += [
            [name, *(f"{each['robust']:,} of {rows:,}" for each in budgets)],
            ["  share", *(percent(each["rate"]) for each in budgets)],
        ]
    interval = f"  {100 * facts['confidence']:g} % interval, in %"
    lines.append([interval, *(between(each["interval"]) for each in budgets)])
    if len(budgets) > 1:  # what one does is said in sentences
        lines += _three_lines(budgets)
    heads = [budget_head(facts), *(each["budget"] for each in budgets)]
    show_beside(terminal, heads, [line for line in lines if any(line)])
    if undecided:
        terminal.say(
            "undecided: neither a proof nor labels that change the prediction were found, so the "
            "robust share is a range"
        )
    say_source(terminal, facts)


def _three_lines(budgets: list[dict[str, Any]]) -> list[list[str]]:
    """Return what one set of labels does to all rows together, and what random ones do."""
    if any(each["three"] is None for each in budgets):
        return []

    def line(name: str, of: str, key: str, rounded: int) -> list[str]:
        found = [each["three"][of] and each["three"][of][key] for each in budgets]
        return [name, *("" if share is None else percent(share, rounded) for share in found)]

    return [
        line("one set of labels changes at most", "together", "at_most_share", 1),
        line("  some set changes", "together", "at_least_share", -1),
        line("random labels change, on average", "at_random", "mean", 0),
    ]


def show_beside(terminal: Terminal, heads: list[str], lines: list[list[str]]) -> None:
    """Print a table whose columns are budgets; further tables below it if it is too wide."""
    sizes = _widest([heads, *lines])
    at = 1
    while at < len(heads):
        end = at + 1
        while end < len(heads) and _width([sizes[0], *sizes[at : end + 1]]) <= terminal.width:
            end += 1
        if at > 1:
            terminal.say()
        chosen = [0, *range(at, end)]
        shown = [[line[each] for each in chosen] for line in lines]
        terminal.table([heads[each] for each in chosen], shown)
        at = end


def _size(budget: dict[str, Any]) -> str:
    """Return how many labels a budget is, where it was written as a share or as a sample."""
    return labels(budget["labels"]) if set("%/") & {*budget["budget"]} else ""


def show_three(terminal: Terminal, facts: dict[str, Any], of: str = "") -> None:
    """Print what the main budget does to rows one at a time, together, and at random."""
    main = facts["budgets"][0]
    if main["three"] is None or not main["labels"]:
        return
    terminal.say()
    if of or len(facts["budgets"]) > 1:
        terminal.say(f"{of}{', ' if of else ''}at {main['budget']}:")
    for name, sentence in main["three"]["sentences"].items():
        _say_named(terminal, name, sentence)


def show_noise(terminal: Terminal, facts: dict[str, Any]) -> None:
    """Print how likely labels that are wrong at random change predictions, if that was asked."""
    if facts.get("noise"):
        terminal.say()
        _say_named(terminal, "independent", facts["noise"]["sentence"])
        _say_named(terminal, "", facts["noise"]["explained"])


def _say_named(terminal: Terminal, name: str, sentence: str) -> None:
    """Print a sentence behind its name, lines below each other."""
    for line in textwrap.wrap(sentence, max(40, terminal.width - _NAME)):
        terminal.say(f"{name:<{_NAME}}{line}")
        name = ""


def show_predicted(terminal: Terminal, facts: dict[str, Any]) -> None:
    """Print a table of the predicted classes: how common and how robust each is."""
    if facts["predicted_classes"] is None:
        return
    rows: list[Line] = [
        ([each["class"], f"{each['rows']:,}", percent(each["share"])], _rates(each), _remark(each))
        for each in facts["predicted_classes"]
    ]
    budgets = [budget_name(facts, each) for each in facts["budgets"]]
    _table(terminal, ["predicted", "rows", ""], rows, budgets, _order(facts))


def show_turns(terminal: Terminal, facts: dict[str, Any]) -> None:
    """Print which of several classes turns into which, within the main budget."""
    if not facts.get("turns"):
        return
    main = facts["budgets"][0]
    terminal.say("", f"which class turns into which, within {main['labels_in_words']}:")
    lines = [
        [
            each["class"],
            "(every label of it wrong)" if each["becomes"] is None else each["becomes"],
            f"{each['rows']:,}",
            amount_between(facts["unit"], each["median_budget"], each["median_budget"]),
        ]
        for each in facts["turns"]
    ]
    terminal.table(["predicted", "becomes", "rows", "half of these by"], lines, left=(0, 1))


def show_groups(terminal: Terminal, facts: dict[str, Any], grouping: dict[str, Any]) -> None:
    """Print a table of the groups of one column: selection rate, rates, and gaps."""
    selection = [f"predicted {facts['positive']}"] if facts["positive"] is not None else []
    rows: list[Line] = []
    for each in grouping["groups"]:
        chosen = [percent(each["selection_rate"]) for _ in selection]
        rows.append(([each["group"], f"{each['rows']:,}", *chosen], _rates(each), _remark(each)))
    chosen = [f"{points(grouping['selection_gap'])} pt" for _ in selection]
    gaps = [
        (share_range(*found).replace("%", "pt"), between(ends), "")
        for ends, found in zip(grouping["gap_intervals"], grouping["gap_ranges"], strict=True)
    ]
    rows.append((["gap", "", *chosen], gaps, ""))
    budgets = [budget_name(facts, each) for each in facts["budgets"]]
    order = _order(facts)
    _table(terminal, [grouping["column"], "rows", *selection], rows, budgets, order)
    if any(each["small"] for each in grouping["groups"]) and grouping["large_gaps"][0] is not None:
        gaps_at = zip(budgets, grouping["large_gaps"], strict=True)
        large = ", ".join(f"{points(gap)} pt at {budget}" for budget, gap in gaps_at)
        terminal.say(f"gap between {LARGE_GROUPS}: {large}")
    ranges = grouping["gap_ranges"]
    left = [budgets[at] for at in order if ranges[at][0] < ranges[at][1]]
    within = [budgets[at] for at in order if grouping["within_chance"][at]]
    if left and len(grouping["groups"]) > 1:
        terminal.say(
            f"at {', '.join(left)} some rows are undecided, so rates and gaps are ranges: from "
            "what is proven to what is not overturned"
        )
    if within and len(grouping["groups"]) > 1:
        terminal.say(f"at {', '.join(within)} a gap this size is within chance")


def show_confidence(terminal: Terminal, facts: dict[str, Any]) -> None:
    """Print what the intervals are, and what they allow for."""
    share = f"{100 * facts['confidence']:g} %"
    words = f"between: {share} confidence intervals (the test rows are a sample)"
    pairs = max((math.comb(len(each["groups"]), 2) for each in facts["groups"]), default=0)
    wider = f"; those of gaps allow for all {pairs:,} pairs of groups" if pairs > 1 else ""
    terminal.say("", words + wider)
    lines = [line for each in facts["groups"] for line in each["groups"]]
    known = any(line["train_rows"] for line in [*lines, *(facts["predicted_classes"] or ())])
    if known and (terminal.verbose or len(facts["budgets"]) == 1):
        terminal.say(
            f"{_WRONG}: the most training labels of that class or group that can be wrong, if all "
            "wrong labels are in it"
        )


def _order(facts: dict[str, Any]) -> list[int]:
    """Return the places of the budgets, smallest first."""
    return [facts["budgets"].index(each) for each in ascending(facts["budgets"])]


Cells = tuple[str, str, str]
"""At one budget: a rate, its interval, and how many labels of the class or group can be wrong."""
Line = tuple[list[str], list[Cells], str]
"""A line of a table: what it is about, cells per budget, and a remark."""


def _table(
    terminal: Terminal, heads: list[str], rows: list[Line], budgets: list[str], order: list[int]
) -> None:
    """Print a table of rates, as many budgets beside each other as fit; the rest below it.

    Of one budget, or with --verbose, it says too how many labels of each line can be wrong.
    """

    def cells(at: list[int]) -> list[list[str]]:
        lines = [heads + [head for each in at for head in (budgets[each], *own)] + [""]]
        for about, rates, remark in rows:
            shown = [cell for each in at for cell in rates[each][: 1 + len(own)]]
            lines.append([*about, *shown, remark])
        return [[printable(cell) for cell in line] for line in lines]

    wrong = (terminal.verbose or len(budgets) == 1) and any(
        cell for _, rates, _ in rows for *_, cell in rates
    )
    own = ["between", _WRONG] if wrong else ["between"]
    left = [*order]
    while left:
        fitting = [n for n in range(len(left), 1, -1) if _fits(cells(left[:n]), terminal.width)]
        at, left = left[: max(fitting, default=1)], left[max(fitting, default=1) :]
        (head, *lines), widths = _narrowed(cells(at), terminal.width)
        terminal.say()
        terminal.table(head, lines, left=(0, len(head) - 1), widths=widths)


def _narrowed(lines: list[list[str]], room: int) -> tuple[list[list[str]], list[int] | None]:
    """Return lines and widths that spare the names: if too wide, without what shares are of."""
    if _fits(lines, room):
        return lines, None
    short = [[*line[:-2], line[-2].split(" of ")[0], line[-1]] for line in lines]
    head, *rest = short
    words = [max(map(cell_len, each.split()), default=0) for each in head]
    widths = [*map(max, words, _widest(rest))]
    widths[-1] = min(widths[-1], len(_BELOW))
    names = min(widths[0], room - _width([0, *widths[1:]]))
    return (short, [names, *widths[1:]]) if names >= _NAMES else (lines, None)


def _fits(lines: list[list[str]], room: int) -> bool:
    return _width(_widest(lines)) <= room


def _widest(lines: list[list[str]]) -> list[int]:
    return [max(map(cell_len, column)) for column in zip(*lines, strict=True)]


def _width(widths: list[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)


def _rates(group: dict[str, Any]) -> list[Cells]:
    """Return what a class or group has at each budget; empty texts where there is nothing."""
    return [
        ("", "", wrong) if rate is None else (share_range(rate, highest), between(ends), wrong)
        for rate, highest, ends, wrong in zip(
            *(group[name] for name in ("rates", "highest_rates", "intervals")),
            _can_be_wrong(group),
            strict=True,
        )
    ]


def _can_be_wrong(group: dict[str, Any]) -> list[str]:
    """Return at most how many of a class's or group's training labels are wrong, per budget."""
    rows = group["train_rows"]
    if not rows:
        return ["" if rows is None else "no rows" for _ in group["rates"]]
    return [
        f"all {rows:,}" if share == 1 else f"{percent(share)} of {rows:,}"
        for share in group["can_be_wrong"]
    ]


def _remark(group: dict[str, Any]) -> str:
    """Say why little can be read off a line: few test rows, or fewer training rows than labels."""
    few = bool(group["rows"] and group["small"])
    below = bool(group["train_rows"] and group["fewer_than_budget"][0])
    return (f"few, {_BELOW}" if few else _BELOW) if below else "few rows" * few


# --- movement -------------------------------------------------------------------------------


def show_movement(terminal: Terminal, facts: dict[str, Any]) -> None:
    """Print how far predictions can move, and what stays within which radius."""
    moved, grid = facts["movement"], facts["radius_grid"]
    heads, budgets = [*_MOVES.values()], moved["budgets"]

    def distances(each: dict[str, Any]) -> list[str]:
        return [distance(each[name], moved["relative"]) for name in _MOVES]

    main = moved["budgets"][0]
    most = dict(zip(_MOVES, distances(main), strict=True))
    terminal.say(
        f"Half of the {facts['test_rows']:,} predictions move by at most {most['median']}, and all "
        f"by at most {most['largest']}, if {wrong_in_words(facts, facts['budgets'][0])}.",
        style="bold",
    )
    say_assumed(terminal, facts)
    terminal.say()
    ordered = ascending(budgets)
    cells = [[_size(each), *distances(each)] for each in ordered]
    names = ["", *(f"{head} move by at most" for head in heads)]
    lines = [[name, *each] for name, *each in zip(names, *cells, strict=True)]
    show_beside(
        terminal,
        [budget_head(facts), *(each["budget"] for each in ordered)],
        [line for line in lines if any(line)],
    )
    say_source(terminal, facts)
    for grouping, known in zip(moved["groups"], facts["groups"], strict=True):
        lines = []
        for each, trained in zip(grouping["groups"], known["groups"], strict=True):
            wrong = _can_be_wrong(trained)[0]
            rows = f"{each['rows']:,}"
            lines.append([each["group"], rows, *distances(each), wrong, _remark(trained)])
        terminal.say()
        columns = [grouping["column"], "rows", *heads, _WRONG, ""]
        terminal.table(columns, lines, left=(0, len(columns) - 1))
    terminal.say()
    if not grid:
        terminal.say("rounding hides how far predictions can move; --resolve exact tells", "")
        return
    terminal.table(
        ["radius", *(f"robust at {each['budget']}" for each in budgets), ""],
        [
            [
                separated(each["text"]),
                *map(percent, each["rates"]),
                "█" * round(_BAR * each["rate"]),
            ]
            for each in grid
        ],
        left=(1 + len(budgets),),
    )
    hidden = max(each["undecided"] for each in grid)
    if hidden:
        terminal.say(f"undecided at a radius: up to {hidden:,} rows; --resolve exact settles them")
    terminal.say("verdicts need a radius, chosen by what matters to you: --radius DISTANCE", "")


# --- label changes --------------------------------------------------------------------------


def show_changes(
    terminal: Terminal,
    changes: list[dict[str, Any]],
    names: list[str],
    first: dict[str, Any],
    *,
    numbers: bool,
) -> None:
    """Print label changes as a table, cut where it is long, below a first line if there is one."""
    own = ["file", "row", "label", "new label"]
    heads = [head for head in own if head in changes[0]]
    lines = [*([first] if first else []), *changes[:_LINES]]
    show_wide(terminal, lines, names, heads, numbers=numbers)
    if len(changes) > _LINES:
        terminal.say(f"… and {len(changes) - _LINES} more: --out FILE.csv has them all")


def show_wide(
    terminal: Terminal,
    rows: list[dict[str, Any]],
    names: list[str],
    first: list[str],
    *,
    numbers: bool = False,
) -> None:
    """Print rows as a table, or as several below one another if they are too wide for one.

    Columns to begin with are named first, and later tables begin with the first of these; where
    labels are numbers, they get commas between thousands.
    """
    if numbers:
        labels = [head for head in ("label", "new label") if head in first]
        rows = [row | {head: separated(str(row[head])) for head in labels} for row in rows]
    for number, heads in enumerate(_fitting(rows, names, first, terminal.out.width)):
        if number:
            terminal.say()
        cells = [[str(row[head]) for head in heads] for row in rows]
        terminal.table(heads, cells, left=range(1, len(heads)))


def _fitting(
    rows: list[dict[str, Any]], names: list[str], first: list[str], width: int
) -> Iterator[list[str]]:
    """Yield columns that fit side by side; those of tables after the first begin with the row."""

    def size(head: str) -> int:
        return _GAP + max(len(head), *(len(str(row[head])) for row in rows))

    heads = list(first)
    for name in names:
        if len(heads) > 1 and sum(map(size, heads)) + size(name) > width:
            yield heads
            heads = [first[0]]
        heads.append(name)
    yield heads
