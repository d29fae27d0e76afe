"""Names and numbers as text for people."""

import csv
import io
import math
import re
import shlex
import sys
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_HALF_UP, Context, Decimal
from typing import Any

import numpy as np


def shorten(text: str, length: int = 60) -> str:
    """Return a name, cut to at most `length` characters with "…" in the middle if it is longer.

    Names that begin alike stay apart by how they end. `beginning` is for sentences.

    Parameters
    ----------
    text : str
    length : int

    Returns
    -------
    str

    Examples
    --------
    >>> shorten("household income before tax", 12), shorten("household income after tax", 12)
    ('househ…e tax', 'househ…r tax')
    """
    if len(text) <= length:
        return text
    end = (length - 1) // 2
    return text[: length - 1 - end] + "…" + text[len(text) - end :]


def beginning(text: str, length: int) -> str:
    """Return a sentence, cut to at most `length` characters with "…" at the end if it is longer.

    Parameters
    ----------
    text : str
    length : int

    Returns
    -------
    str
    """
    return text if len(text) <= length else text[: length - 1] + "…"


def suggest(name: str, known: list[str], what: str = "columns") -> str:
    """Return a hint for an unknown column: the nearest known name, or else some known names.

    Parameters
    ----------
    name : str
    known : list of str
    what : str
        What the known names are names of.

    Returns
    -------
    str

    Examples
    --------
    >>> suggest("salry", ["gender", "salary"])
    "did you mean 'salary'?"
    """
    near = min(known, key=lambda each: _apart(name, each), default=None)
    if near is not None and _apart(name, near) <= 1:
        return f"did you mean {shorten(near)!r}?"
    some = ", ".join(repr(shorten(each)) for each in known[:8])
    return f"the {what} are {some}{', …' if len(known) > 8 else ''}"


def _apart(name: str, known: str) -> float:
    """Return how far a name is from what was typed: at most 1 where one may be meant.

    That is where all words of one are in the other ("score" and "interview score"), where one is
    the first half of the other, or where few letters were mistyped after the first.
    """
    words = [set(re.findall(r"[^\W_]+", each.casefold())) for each in (name, known)]
    one, other = ("".join(re.findall(r"[^\W_]+", each.casefold())) for each in (name, known))
    if one == other:
        return 0.0
    short, long = sorted((one, other), key=len)
    if not short:
        return math.inf
    if (
        words[0] < words[1]
        or words[1] < words[0]
        or (len(short) >= 4 and 2 * len(short) >= len(long) - 1 and long.startswith(short))
    ):
        return 0.5
    if one[0] != other[0] and one[:2] != other[1::-1]:
        return math.inf
    # In short words another letter makes another word: rate is not race.
    swapped = 1 if len(long) > 5 else 2
    return _edits(one, other, swapped) / max(1, len(long) // 4)


def _edits(one: str, other: str, swapped: int) -> int:
    """Return how many letters to insert, delete, transpose or (at a price) replace."""
    rows = [list(range(len(other) + 1))]
    for i, a in enumerate(one, 1):
        rows.append([i])
        for j, b in enumerate(other, 1):
            best = min(rows[i - 1][j], rows[i][j - 1]) + 1
            best = min(best, rows[i - 1][j - 1] + swapped * (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and b == one[i - 2]:
                best = min(best, rows[i - 2][j - 2] + 1)
            rows[i].append(best)
    return rows[-1][-1]


def in_shell(name: str, value: str) -> str:
    """Write an option and its value as it would be typed.

    Examples
    --------
    >>> print(in_shell("--positive", "paid off"), in_shell("--positive", "-1"))
    --positive 'paid off' --positive=-1
    """
    return f"{name}{'=' if value.startswith('-') else ' '}{shlex.quote(value)}"


def option(name: str, columns: Iterable[str]) -> str:
    """Write an option that names columns, as it would be typed.

    Parameters
    ----------
    name : str
        Of the option.
    columns : iterable of str

    Returns
    -------
    str

    Examples
    --------
    >>> print(option("--ignore", ["who", "first name"]))
    --ignore 'who,first name'
    """
    columns = list(columns)
    if any(each != each.strip() for each in columns):  # in a list, spaces would not count
        return " ".join(in_shell(name, _comma_separated([each])) for each in columns)
    return in_shell(name, _comma_separated(columns))


def _comma_separated(columns: list[str]) -> str:
    """Write names with commas between them: all of them, so that the option can be pasted."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(columns)
    return text.getvalue()


def listed(names: Sequence[str], most: int) -> str:
    """Return names in quotes as a list for a sentence; beyond `most`, only how many there are.

    Parameters
    ----------
    names : sequence of str
    most : int

    Returns
    -------
    str

    Examples
    --------
    >>> listed(["a", "b", "c"], 3), listed(["a", "b", "c"], 1)
    ("'a', 'b' and 'c'", "'a' and 2 more")
    """
    shown = [repr(shorten(name)) for name in names[:most]]
    if len(names) > most:
        shown.append(f"{len(names) - most:,} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def values_in_words(values: Sequence[Any], counts: Sequence[int], most: int = 4) -> str:
    """Return values with how many rows have each, in order; beyond `most`, only how many there are.

    Examples
    --------
    >>> values_in_words(["virginica", "setosa"], [48, 50])
    "'setosa' in 50 rows and 'virginica' in 48"
    """
    order = sorted(range(len(values)), key=values.__getitem__)
    shown = [f"{as_text(values[at], 20)!r} in {counts[at]:,}" for at in order[:most]]
    shown[0] += " row" if counts[order[0]] == 1 else " rows"
    shown += [f"{len(values) - most:,} more"] if len(values) > most else []
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def as_text(value: Any, length: int = 60) -> str:
    """Return a cell as text: whole floats as integers, long texts cut.

    Parameters
    ----------
    value : anything
    length : int
        Most characters of a text; numbers are not cut.

    Returns
    -------
    str

    Examples
    --------
    >>> as_text(3603.0), as_text(0.123456789), as_text(None), as_text("a" * 70, 5)
    ('3603', '0.123457', 'missing', 'aa…aa')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "missing"
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, float | np.floating):
        number = float(value)
        return f"{number:.15g}" if number.is_integer() else f"{number:.6g}"
    return shorten(str(value), length)


def is_called(value: Any, text: str) -> bool:
    """Return whether a class is the one that an option names."""
    if as_text(value, sys.maxsize) == text:
        return True
    if isinstance(value, bool):
        return str(value).casefold() == text.strip().casefold()
    try:
        return not isinstance(value, str) and float(text) == value
    except ValueError:
        return False


def distinct_texts(values: Sequence[Any], length: int = 60) -> list[str]:
    """Return cells as texts: equal where the cells are, different where long texts differ.

    Where two texts would be cut to the same one, the later ones carry a number.

    Parameters
    ----------
    values : sequence
    length : int
        Most characters of a text.

    Returns
    -------
    list of str
        One per value.

    Examples
    --------
    >>> distinct_texts(["yes", "a long text with 1 end", "a long text with 2 end", "yes"], 9)
    ['yes', 'a lo… end', 'a …nd (2)', 'yes']
    """
    whole = [as_text(value, sys.maxsize) for value in values]
    short: dict[str, str] = {}
    taken = {text for text in whole if len(text) <= length}
    for text in dict.fromkeys(whole):
        cut, number = shorten(text, length), 1
        while cut != text and cut in taken:
            number += 1
            cut = f"{shorten(text, length - len(f' ({number})'))} ({number})"
        taken.add(cut)
        short[text] = cut
    return [short[text] for text in whole]


def natural(name: str) -> tuple[int, float, list[Any]]:
    """Return a key to sort names by: numbers by size, texts as people do, "missing" last.

    Parameters
    ----------
    name : str

    Returns
    -------
    tuple

    Examples
    --------
    >>> sorted(["missing", "b", "10-19", "A", "2-9", "10", "9"], key=natural)
    ['9', '10', '2-9', '10-19', 'A', 'b', 'missing']
    """
    try:
        number = float(name)
    except ValueError:
        number = math.nan
    if math.isfinite(number):
        return 0, number, []
    parts: list[Any] = re.split(r"([0-9]+)", name.casefold())
    parts[1::2] = map(int, parts[1::2])
    return 2 if name == "missing" else 1, 0.0, [*parts, name]


def points(share: float, step: str = "0.1") -> str:
    """Return a share in hundredths as text.

    Ties are rounded up, as browsers do, so that page and terminal show the same number.

    Parameters
    ----------
    share : float
    step : str
        What to round to, as a decimal number.

    Returns
    -------
    str

    Examples
    --------
    >>> points(0.0625), points(0.019966, "0.01")
    ('6.3', '2.00')
    """
    return str(Decimal(100 * share).quantize(Decimal(step), ROUND_HALF_UP))


def percent(rate: float) -> str:
    """Return a share as a percentage with one decimal.

    Parameters
    ----------
    rate : float

    Returns
    -------
    str

    Examples
    --------
    >>> percent(0.8287), percent(1.0)
    ('82.9 %', '100.0 %')
    """
    return f"{points(rate)} %"


def share_range(low: float, high: float) -> str:
    """Return a share that is known from below and from above as a text.

    Examples
    --------
    >>> share_range(0.0, 0.923), share_range(0.5, 0.5)
    ('0.0 to 92.3 %', '50.0 %')
    """
    return percent(low) if low == high else f"{points(low)} to {percent(high)}"


def signed(share: float) -> str:
    """Return a change of a share in hundredths as text, with its sign.

    Parameters
    ----------
    share : float

    Returns
    -------
    str

    Examples
    --------
    >>> signed(0.0625), signed(-0.05), signed(-0.0001)
    ('+6.3', '-5.0', '0.0')
    """
    size = points(abs(share))
    return f"{'' if not float(size) else '+' if share > 0 else '-'}{size}"


def between(ends: Sequence[float]) -> str:
    """Return an interval of shares, in hundredths, as text.

    Parameters
    ----------
    ends : sequence of two floats

    Returns
    -------
    str

    Examples
    --------
    >>> between((0.0524, 0.3339))
    '5.2 to 33.4'
    """
    return " to ".join(map(points, ends))


def counted(count: int, noun: str) -> str:
    """Return a number of things as text.

    Parameters
    ----------
    count : int
    noun : str
        In the singular; its plural has an s.

    Returns
    -------
    str

    Examples
    --------
    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def labels(count: float) -> str:
    """Return a number of labels as text.

    Parameters
    ----------
    count : float
        A minimum budget: inf if no number is enough, NaN if it is not known.

    Returns
    -------
    str

    Examples
    --------
    >>> labels(1), labels(2943), labels(math.inf), labels(math.nan)
    ('1 label', '2,943 labels', 'never', 'unknown')
    """
    if not math.isfinite(count):
        return "never" if math.isinf(count) else "unknown"
    return counted(int(count), "label")


def labels_between(low: float, high: float) -> str:
    """Return a number of labels that is known from below and from above as text.

    Parameters
    ----------
    low, high : float
        Bounds on a minimum budget; see `MinimumBudgets`.

    Returns
    -------
    str

    Examples
    --------
    >>> labels_between(3, 3), labels_between(3, 5), labels_between(3, math.inf)
    ('3 labels', '3 to 5 labels', '3 labels or more')
    """
    if low == high or not math.isfinite(low):
        return labels(low)
    if not math.isfinite(high):
        return f"{labels(low)} or more"
    return f"{int(low):,} to {labels(high)}"


def distance(moved: float, relative: bool) -> str:
    """Return how far a prediction can move as text, rounded up to four digits.

    Parameters
    ----------
    moved : float
        Infinite if it is not known.
    relative : bool
        Whether it is a share.

    Returns
    -------
    str

    Examples
    --------
    >>> distance(1234.51, False), distance(0.0721, True), distance(math.inf, False)
    ('1235', '7.21 %', 'unknown')
    """
    if not math.isfinite(moved):
        return "unknown"
    exact = Decimal(moved) * (100 if relative else 1)
    rounded = Context(prec=4, rounding=ROUND_CEILING).plus(exact)
    return f"{as_text(float(rounded))}{' %' if relative else ''}"


def labels_of(count: int, movable: int, n_train: int) -> str:
    """Return a number of labels, and its share of those that may be wrong if not all may be.

    Parameters
    ----------
    count : int
    movable : int
        Number of training labels that may be wrong.
    n_train : int
        Number of training labels.

    Returns
    -------
    str

    Examples
    --------
    >>> labels_of(119, 339, 2380), labels_of(3, 20, 20)
    ('119 labels, 35 % of the 339 that may be wrong', '3 labels')
    """
    if movable >= n_train:
        return labels(count)
    if count >= movable:
        return f"{labels(count)}, all {movable:,} that may be wrong"
    share = points(count / movable, "1" if count >= movable / 10 else "0.1")
    return f"{labels(count)}, {share} % of the {movable:,} that may be wrong"


def outside(row: int, path: object, n_rows: int) -> str:
    """Say that a file has no row of a number.

    Parameters
    ----------
    row : int
    path : Path or str
    n_rows : int
        How many rows the file has.

    Returns
    -------
    str
    """
    return (
        f"--row {row} is outside {path}, which has {n_rows:,} rows; they are numbered from 1 below "
        "the header"
    )
