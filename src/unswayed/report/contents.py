"""Contents: whose rows a page or an answer holds, so that people know how to share it."""

from collections.abc import Sequence
from typing import Any

from unswayed.words import counted

_NUMBERS = ("overturned", "replayed_rows")  # lists of row numbers
_WITHHELD = "no rows are shown"


def without_rows(facts: Any) -> Any:
    """Return facts without single rows: no numbers of rows, no cells, no examples of cells."""
    if isinstance(facts, dict):
        made = {
            key: [] if key in _NUMBERS and isinstance(value, list) else without_rows(value)
            for key, value in facts.items()
        }
        if "examples" in made:  # the first of every column are the cells of one row
            made |= {"examples": [], "not_shown": made["not_shown"] or _WITHHELD}
        return made
    if isinstance(facts, list):
        return [without_rows(each) for each in facts if not _is_row(each)]
    return facts


def _is_row(value: Any) -> bool:
    return isinstance(value, dict) and "row" in value


def contents(facts: dict[str, Any], sources: Sequence[str]) -> str:
    """Say whose rows a page holds.

    Examples
    --------
    >>> facts = {"review": {"labels": [{"row": 7, "label": "yes"}, {"row": 9, "label": "no"}]}}
    >>> print(contents(facts, ("a.csv", "a.csv")))
    This page contains 2 rows of a.csv: 2 that the model was trained on; share it as you would \
share that file.
    >>> print(contents({}, ()))
    This page contains no single person's row.
    """
    train, test = _rows(facts)
    asked = f"{test:,} that {'is' if test == 1 else 'are'} certified"
    learned = f"{train:,} that the model was trained on"
    both = " and ".join(part for part, count in ((asked, test), (learned, train)) if count)
    if not both:
        return "This page contains no single person's row."
    if not sources:
        return f"This page contains rows of the data: {both}; share it as you would share those."
    if sources[0] == sources[1]:
        what = f"{counted(train + test, 'row')} of {sources[0]}: {both}"
        return f"This page contains {what}; share it as you would share that file."
    parts = [f"{counted(test, 'row')} of {sources[1]}"] if test else []
    parts += [f"{counted(train, 'row')} of {sources[0]}"] if train else []
    files = "those files" if len(parts) > 1 else "that file"
    named = f"{' and '.join(parts)}: {both}"
    return f"This page contains {named}; share it as you would share {files}."


def _rows(facts: dict[str, Any]) -> tuple[int, int]:
    """Return how many training and how many test rows a page holds."""
    train: set[int] = set()
    listed = facts.get("rows") or []
    listed = listed["rows"] if isinstance(listed, dict) else listed
    test = {each["row"] for each in listed}
    for each in listed:
        train |= {row for row, _ in each.get("witness") or ()}
    for each in (facts.get("chosen") or {}).get("rows", ()):
        test.add(each["row"])
        train |= {change["row"] for change in each["changes"]}
    train |= {each["row"] for each in (facts.get("suspects") or {}).get("rows", ())}
    for each in facts.get("together", {}).get("budgets", ()):
        test.update(each["overturned"])
        train |= {change["row"] for change in each["changes"]}
    train |= {each["row"] for each in facts.get("review", {}).get("labels", ())}
    # The script of a report has a number for every test row.
    return len(train), max(len(test), len(facts.get("minimum_budget") or ()))
