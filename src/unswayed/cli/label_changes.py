"""Label changes as tables: training rows, their labels, their new labels and their cells."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unswayed._typing import IntArray
from unswayed.cli.terminal import Terminal
from unswayed.study.loading import Rows
from unswayed.study.study import Study
from unswayed.words import separated

OWN = ("file", "row", "label", "new label")
"""Columns that a table of label changes has by itself."""
_LINES = 40
_GAP = 2  # spaces between columns


def shown_columns(study: Study) -> list[str]:
    """Return groups, whether they are features or not, then the other features.

    Parameters
    ----------
    study : Study

    Returns
    -------
    list of str
    """
    groups = list(study.request.groups)
    known = set(study.train.table.column_names) & set(study.test.table.column_names)
    return [
        *(name for name in groups if name in known),
        *(name for name in study.feature_columns if name not in groups),
    ]


def beside(name: str, own: Sequence[str] = OWN) -> str:
    """Return the name of a file's column beside columns that a table has by itself.

    Parameters
    ----------
    name : str
    own : sequence of str
        Names that are taken.

    Returns
    -------
    str
    """
    return f"{name} (column)" if name in own else name


def change_columns(study: Study, rows: Rows, at: IntArray, new: NDArray[Any]) -> dict[str, Any]:
    """Return the training rows whose labels change as columns.

    Parameters
    ----------
    study : Study
    rows : Rows
        Training rows, with labels.
    at : int array
        Positions of those whose labels change.
    new : array
        Their new labels, as the model is trained on them.

    Returns
    -------
    dict of str to list
        Number, label, new label and features.
    """
    names = shown_columns(study)
    cells = rows.cells(at, names)
    old = np.asarray(rows.labels)[at]
    return {
        "row": rows.numbers[at].tolist(),
        "label": [study.target.as_text(label) for label in old.tolist()],
        "new label": [study.target.as_text(label) for label in new.tolist()],
        **{beside(name): [row[place] for row in cells] for place, name in enumerate(names)},
    }


def show_changes(
    terminal: Terminal,
    changes: list[dict[str, Any]],
    names: list[str],
    first: dict[str, Any],
    *,
    numbers: bool,
) -> None:
    """Print label changes as a table, cut where it is long.

    Parameters
    ----------
    terminal : Terminal
    changes : list of dict
        As `change_columns` has them, by row.
    names : list of str
        Columns to show beside the table's own.
    first : dict
        A line that stands above them; empty for none.
    numbers : bool
        Whether labels are numbers.
    """
    heads = [head for head in OWN if head in changes[0]]
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

    Parameters
    ----------
    terminal : Terminal
    rows : list of dict
    names : list of str
        Columns.
    first : list of str
        Columns to begin with; those of later tables begin with the first of these.
    numbers : bool
        Whether labels are numbers, and get commas between thousands.
    """
    if numbers:
        labels = [head for head in ("label", "new label") if head in first]
        rows = [row | {head: separated(str(row[head])) for head in labels} for row in rows]
    for number, heads in enumerate(_fitting(rows, names, first, terminal.out.width)):
        if number:
            terminal.say()
        terminal.table(
            heads,
            [[str(row[head]) for head in heads] for row in rows],
            left=range(1, len(heads)),
        )


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
