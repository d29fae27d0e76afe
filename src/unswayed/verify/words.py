"""Put numbers and texts of a file in words: exact, short, and without line breaks."""

import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from hashlib import sha256
from itertools import chain, groupby
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


def kinds(values: Iterable[Any]) -> list[tuple[Any, int]]:
    """Return distinct values in order, with their counts; nothing if there are more than a few."""
    counts = Counter(values)
    return sorted(counts.items()) if len(counts) <= _FEW else []


def summary(values: Sequence[float], noun: str, factor: float = _PLAIN) -> list[str]:
    """Return numbers summed up in one line, or in a list where that would hide some."""
    few = kinds(values)
    if len(few) != 1 and hides(values, factor):
        return ["not in plain words:", *listing(values, noun, repr, abs)]
    if few:
        return [", ".join(f"{value!r} for {counted(count, noun)}" for value, count in few)]
    return [quartiles(values)]  # "none" if there are none


def told(what: str, values: Sequence[float], noun: str, factor: float = _PLAIN) -> Iterator[str]:
    """Yield what numbers are about and their summary; further lines are indented."""
    head, *rest = summary(values, noun, factor)
    yield f"{what}: {head}"
    indent = " " * (len(what) - len(what.lstrip()) + 2)
    yield from (indent + line for line in rest)


def listing(
    values: Iterable[Any], noun: str, text: Callable[[Any], str], size: Callable[[Any], float]
) -> list[str]:
    """List the most common values, then the others by the power of ten of their size."""
    counts = Counter(values)
    common = heapq.nlargest(_COMMON, ((count, value) for value, count in counts.items()))
    lines = [f"{counted(count, noun)} {text(value)}" for count, value in common]
    for _, value in common:
        del counts[value]
    rest = sorted((size(value), value, count) for value, count in counts.items())
    groups = [list(group) for _, group in groupby(rest, lambda each: _power_of_ten(each[0]))]
    groups.sort(key=lambda group: -sum(count for *_, count in group))
    others = sorted(chain.from_iterable(groups[_GROUPS:]))
    for group in filter(None, (*groups[:_GROUPS], others)):
        between = "of sizes between {} and {}" if group is others else "from {} to {}"
        number = counted(sum(count for *_, count in group), f"other {noun}")
        lines.append(f"{number} {between.format(text(group[0][1]), text(group[-1][1]))}")
    return lines


def _power_of_ten(size: float) -> int:
    """Return the power of ten below a size; 1000 if it is infinite and -1000 if it is 0."""
    if not math.isfinite(size):  # the difference of two doubles may be none
        return 1000
    return math.floor(math.log10(size)) if size else -1000


def between(low: float, high: float) -> str:
    """Return two numbers that something is between, rounded outwards to 17 digits."""
    ends = (
        Context(prec=17, rounding=rounding).create_decimal(Decimal(each)).normalize()
        for each, rounding in ((low, ROUND_FLOOR), (high, ROUND_CEILING))
    )
    return "between {} and {}".format(*ends)


def indented(lines: Iterable[str]) -> Iterator[str]:
    """Return lines indented by two spaces."""
    return (f"  {line}" for line in lines)
