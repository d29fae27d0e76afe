"""Put numbers and texts of a file in words: exact, short, and without line breaks."""

import heapq
import math
from collections.abc import Iterable, Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from hashlib import sha256
from itertools import groupby
from typing import Any

_FEW = 6  # distinct values that are all listed
_COMMON = 10  # of many, those that are listed where a summary would hide something
_GROUPS = 12  # powers of ten that the rest is listed by
_LONGEST = 60  # characters of a text
_PLAIN = 1000  # sizes that differ by more than this factor are not summed up in plain words


def quoted(value: Any) -> str:
    """Return a quoted cell or name without control characters; a long one is cut and hashed."""
    text = repr(value)
    if len(text) <= _LONGEST:
        return text
    digest = sha256(text.encode()).hexdigest()[:16]
    return f"{text[:_LONGEST]}… ({len(text):,} characters, sha256 {digest})"


def listed(texts: Iterable[str], most: int) -> str:
    """Return the first texts, joined by commas; of the others, their number and a hash."""
    shown: list[str] = []
    rest, digest = 0, sha256()
    for text in texts:
        if len(shown) < most:
            shown.append(text)
        else:
            rest += 1
            digest.update(text.encode() + b"\n")
    joined = ", ".join(shown)
    return f"{joined} and {rest:,} more (sha256 {digest.hexdigest()[:16]})" if rest else joined


def counted(count: int, noun: str) -> str:
    """Return a count with its noun, in the plural unless it is 1."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def ratio(above: Fraction) -> str:
    """Return a fraction as text: exactly if it is a double, else "about" and six digits."""
    try:
        if Fraction(float(above)) == above:
            return repr(float(above))
    except OverflowError:
        pass
    context = Context(prec=6, Emin=-999_999, Emax=999_999)
    rounded = context.divide(
        context.create_decimal(above.numerator), context.create_decimal(above.denominator)
    )
    return f"about {rounded.normalize(context)}"


def quartiles(values: Iterable[float]) -> str:
    """Return the smallest and largest of some values and their quartiles, as text."""
    ordered = sorted(values)
    if not ordered:
        return "none"
    if ordered[0] == ordered[-1]:
        return repr(ordered[0])
    last = len(ordered) - 1
    inner = ", ".join(repr(ordered[last * part // 4]) for part in (1, 2, 3))
    return f"from {ordered[0]!r} to {ordered[-1]!r} (quartiles {inner})"


def hides(sizes: Iterable[float], factor: float = _PLAIN) -> bool:
    """Return whether sizes that are not 0 differ by so much that a summary would hide some."""
    smallest, largest = math.inf, 0.0
    for size in map(abs, sizes):
        if size:
            smallest, largest = min(smallest, size), max(largest, size)
    return largest > 0 and largest / factor > smallest


def summary(values: Sequence[float], noun: str, factor: float = _PLAIN) -> list[str]:
    """Return numbers summed up in one line, or in a list where that would hide some."""
    ordered = sorted(values)
    if not ordered or ordered[0] == ordered[-1]:
        return [f"{ordered[0]!r} for {counted(len(ordered), noun)}" if ordered else "none"]
    kinds = runs(ordered)
    if hides(ordered, factor):
        return ["not in plain words:", *listing(ordered, noun, repr, abs)]
    if len(kinds) <= _FEW:
        return [", ".join(f"{value!r} for {counted(count, noun)}" for value, count in kinds)]
    return [quartiles(ordered)]


def runs(ordered: Iterable[Any]) -> list[tuple[Any, int]]:
    """Return distinct values and their counts, up to the first value more than `few` allows."""
    found = []
    for value, group in groupby(ordered):
        found.append((value, sum(1 for _ in group)))
        if len(found) > _FEW:
            break
    return found


def few(kinds: Sequence[Any]) -> bool:
    """Return whether there are few enough distinct values to list all of them."""
    return len(kinds) <= _FEW


def listing(ordered: Iterable[Any], noun: str, text: Any, size: Any) -> list[str]:
    """List the most common values, then the others by the power of ten of their size."""
    ordered = list(ordered)
    counts = ((sum(1 for _ in group), value) for value, group in groupby(ordered))
    common = heapq.nlargest(_COMMON, counts)
    lines = [f"{counted(count, noun)} {text(value)}" for count, value in common]
    shown = {value for _, value in common}
    groups: dict[int, list[Any]] = {}  # power of ten: how many, smallest, largest
    for value in ordered:
        if value in shown:
            continue
        large = size(value)
        group = groups.setdefault(_power_of_ten(large), [0, value, value])
        group[0] += 1
        if large < size(group[1]):
            group[1] = value
        if large > size(group[2]):
            group[2] = value
    largest = sorted(groups.items(), key=lambda item: -item[1][0])
    for _, (count, low, high) in largest[:_GROUPS]:
        lines.append(f"{counted(count, 'other ' + noun)} from {text(low)} to {text(high)}")
    if rest := largest[_GROUPS:]:
        low = min((group[1] for _, group in rest), key=size)
        high = max((group[2] for _, group in rest), key=size)
        count = sum(group[0] for _, group in rest)
        lines.append(
            f"{counted(count, 'other ' + noun)} of sizes between {text(low)} and {text(high)}"
        )
    return lines


def _power_of_ten(size: float) -> int:
    """Return the power of ten below a size; 1000 if it is infinite and -1000 if it is 0."""
    if not math.isfinite(size):  # the difference of two doubles may be none
        return 1000
    return math.floor(math.log10(size)) if size else -1000


def indented(lines: Iterable[str]) -> Iterator[str]:
    """Return lines indented by two spaces."""
    return (f"  {line}" for line in lines)


def between(low: float, high: float) -> str:
    """Return two numbers that something is between, rounded outwards to 17 digits."""
    ends = (
        Context(prec=17, rounding=rounding).create_decimal(Decimal(each)).normalize()
        for each, rounding in ((low, ROUND_FLOOR), (high, ROUND_CEILING))
    )
    return "between {} and {}".format(*ends)
