"""Facts on the terminal: what several commands print of them, as tables and sentences."""

import math
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rich.cells import cell_len

from unswayed.cli.terminal import Terminal, printable
from unswayed.results.groups import LARGE_GROUPS
from unswayed.words import (
    between,
    distance,
    labels,
    labels_between,
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
_NAMES = 8  # characters that names of groups have at least in a table that is too wide
_HEAD = 34  # a longer head of a column would be broken in a terminal of 80 characters
_LINES = 40  # of label changes
_VERSUS = 6  # classes named of the rest
_MOVES = {"median": "half of the rows", "p90": "90 %", "largest": "all"}
_WRONG = "can be wrong"
_HEADS = {"clusters": "wrong clusters", "total change": "total change", "cost": "cost"}
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


def describe(terminal: Terminal, facts: dict[str, Any]) -> None:
    """Print what was asked: label, model, rows and bias; a penalty of None is not printed."""
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
    terminal.say(rows, facts["data"]["sentence"], facts["alpha_choice"])
    terminal.say(f"assumed: {facts['bias']}")
    if facts["movable_labels"] < facts["train_rows"]:
        for each in facts["budgets"]:
            terminal.say(f"budget {each['budget']}: {each['labels_in_words']}")


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
    return f"{facts['kind']} with {penalties[0]}" if penalties else ""


NOTHING_TESTED = "is not met, as no label can be wrong at the main budget: this proves nothing"


def puts_to_the_test(facts: dict[str, Any]) -> bool:
    """Return whether any label can be wrong at the main budget; otherwise nothing is proven."""
    return bool(min(facts["budgets"][0]["labels"], facts["movable_labels"]))


# --- budgets --------------------------------------------------------------------------------


def budget_head(facts: dict[str, Any]) -> str:
    """Return the head of a column of budgets, which names their unit."""
    return _HEADS.get(facts["unit"], "wrong labels")


def budget_name(facts: dict[str, Any], budget: dict[str, Any]) -> str:
    """Return a budget as the head of a column, with its unit unless that is labels."""
    text, unit = budget["budget"], facts["unit"]
    if unit == "clusters":
        return str(budget["labels_in_words"])
    return text if unit == "labels" else f"{unit} {text}"


def wrong_in_words(facts: dict[str, Any], budget: dict[str, Any]) -> str:
    """Say that as much as a budget allows is wrong, to follow "if"; labels are said elsewhere."""
    unit, words = facts["unit"], budget["labels_in_words"]
    if unit == "clusters":
        return f"up to {words} {'is' if budget['labels'] == 1 else 'are'} wrong as a whole"
    if unit == "cost":
        return f"labels are wrong that cost up to {budget['budget']} together"
    return f"labels are off by up to {budget['budget']} in all"


def amount_between(unit: str, low: float, high: float) -> str:
    """Return a least amount of a budget that is known from below and from above.

    >>> amount_between("clusters", 1, 1), amount_between("cost", 9.25, 9.5)
    ('1 cluster', 'a cost of 9.25 to 9.5')
    """
    if unit == "labels" or not math.isfinite(low):
        return labels_between(low, high)
    if unit == "clusters":
        words = labels_between(low, high)
        return words.replace("label", "cluster")
    ends = number_end(low, -1)
    if not math.isfinite(high):
        ends += " or more"
    elif number_end(high, 1) != ends:
        ends += f" to {number_end(high, 1)}"
    return f"a {unit} of {ends}"


def say_source(terminal: Terminal, facts: dict[str, Any]) -> None:
    """Say how sure a budget is that a checked sample gave."""
    if facts["budget_source"] is not None:
        terminal.say(
            f"the budget is from a sample ({facts['budget_source']}): what is proven at it holds "
            "together, with that confidence"
        )


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
    if shares:
        found.append("training labels: " + ", ".join(shares))
    if found:
        terminal.say("; ".join(found))
    if facts["balanced_accuracy"] is None:
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


def show_budgets(terminal: Terminal, facts: dict[str, Any]) -> None:
    """Print the rate at every budget; where rows are undecided, three counts instead of one."""
    rows = facts["test_rows"]
    asked = [[each["budget"], _size(each)] for each in facts["budgets"]]
    if facts["kind"] == "logistic" or any(each["undecided"] for each in facts["budgets"]):
        terminal.say(
            f"of {rows:,} test rows, robust ones are proven to {facts['keeps']}, "
            "overturned ones have labels that were found to change it, undecided ones neither: the "
            "robust share is from what is proven to what is not overturned"
        )
        heads = ["robust", "between", "overturned", "undecided"]
        cells = [
            [
                f"{each['robust']:,}  {share_range(each['rate'], each['highest_rate'])}",
                between(each["interval"]),
                *(f"{each[of]:,}  {percent(each[of] / rows)}" for of in heads[2:]),
            ]
            for each in facts["budgets"]
        ]
    else:
        head = f"rows that {facts['keeps']}"
        if len(head) > _HEAD:
            terminal.say(f"{head}:")
            head = "rows"
        heads = [head, "", "between"]
        cells = [
            [
                f"{each['robust']:,} of {rows:,}",
                percent(each["rate"]),
                between(each["interval"]),
            ]
            for each in facts["budgets"]
        ]
    lines = [[*about, *own] for about, own in zip(asked, cells, strict=True)]
    terminal.table([budget_head(facts), "", *heads], lines)
    say_source(terminal, facts)


def _size(budget: dict[str, Any]) -> str:
    """Return how many labels a budget is, where it was written as a share or as a sample."""
    return labels(budget["labels"]) if set("%/") & {*budget["budget"]} else ""


def show_three(terminal: Terminal, facts: dict[str, Any], of: str = "") -> None:
    """Print what each budget does to rows one at a time, to all rows together, and at random."""
    for each in facts["budgets"]:
        if each["three"] is None or not each["labels"]:
            continue
        terminal.say()
        if of or len(facts["budgets"]) > 1:
            terminal.say(f"{of}{', ' if of else ''}at {each['budget']}:")
        for name, sentence in each["three"]["sentences"].items():
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
    _table(terminal, ["predicted", "rows", ""], rows, budgets)


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
    _table(terminal, [grouping["column"], "rows", *selection], rows, budgets)
    if any(each["small"] for each in grouping["groups"]) and grouping["large_gaps"][0] is not None:
        gaps_at = zip(budgets, grouping["large_gaps"], strict=True)
        large = ", ".join(f"{points(gap)} pt at {budget}" for budget, gap in gaps_at)
        terminal.say(f"gap between {LARGE_GROUPS}: {large}")
    chance = zip(budgets, grouping["within_chance"], strict=True)
    ranges = zip(budgets, grouping["gap_ranges"], strict=True)
    left = [budget for budget, (low, high) in ranges if low < high]
    within = [budget for budget, is_chance in chance if is_chance]
    if left and len(grouping["groups"]) > 1:
        terminal.say(
            f"at {', '.join(left)} undecided rows leave rates open, from what is proven to what is "
            "not overturned, and so the gap"
        )
    if within and len(grouping["groups"]) > 1:
        terminal.say(f"at {', '.join(within)} a gap this size is within chance")


def show_confidence(terminal: Terminal, facts: dict[str, Any]) -> None:
    """Print what the intervals are, and what they allow for."""
    words = (
        f"between: {100 * facts['confidence']:g} % intervals, for chance in which rows these are"
    )
    pairs = max((math.comb(len(each["groups"]), 2) for each in facts["groups"]), default=0)
    terminal.say("", f"{words}; of gaps, allowing for all {pairs:,} pairs" if pairs > 1 else words)
    lines = [line for each in facts["groups"] for line in each["groups"]]
    if any(line["train_rows"] for line in [*lines, *(facts["predicted_classes"] or ())]):
        terminal.say(
            f"{_WRONG}: at most so many of the training labels of that class or group, if all "
            "wrong labels are in it"
        )


Cells = tuple[str, str, str]
"""At one budget: a rate, its interval, and how many labels of the class or group can be wrong."""
Line = tuple[list[str], list[Cells], str]
"""A line of a table: what it is about, cells per budget, and a remark."""


def _table(terminal: Terminal, heads: list[str], rows: list[Line], budgets: list[str]) -> None:
    """Print a table of rates at every budget; one below the other if they are too wide together."""

    def cells(at: list[int]) -> list[list[str]]:
        lines = [heads + [head for each in at for head in (budgets[each], "between", wrong)] + [""]]
        for about, rates, remark in rows:
            lines.append([*about, *(cell for each in at for cell in rates[each]), remark])
        return [[printable(cell) for cell in line] for line in lines]

    wrong = _WRONG if any(cell for _, rates, _ in rows for *_, cell in rates) else ""
    every = [*range(len(budgets))]
    fits = _width(_widest(cells(every))) <= terminal.width
    for at in [every] if fits else [[each] for each in every]:
        (head, *lines), widths = _narrowed(cells(at), terminal.width)
        terminal.say()
        terminal.table(head, lines, left=(0, len(head) - 1), widths=widths)


def _narrowed(lines: list[list[str]], room: int) -> tuple[list[list[str]], list[int] | None]:
    """Return lines and widths that spare the names: if too wide, without what shares are of."""
    if _width(_widest(lines)) <= room:
        return lines, None
    short = [[*line[:-2], line[-2].split(" of ")[0], line[-1]] for line in lines]
    head, *rest = short
    words = [max(map(cell_len, each.split()), default=0) for each in head]
    widths = [*map(max, words, _widest(rest))]
    widths[-1] = min(widths[-1], len(_BELOW))
    names = min(widths[0], room - _width([0, *widths[1:]]))
    return (short, [names, *widths[1:]]) if names >= _NAMES else (lines, None)


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

    terminal.say("predictions of test rows move by at most")
    terminal.table(
        [budget_head(facts), "", *heads],
        [[each["budget"], _size(each), *distances(each)] for each in budgets],
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
