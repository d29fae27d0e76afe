"""Names and numbers as text for people.

What is proven is rounded outwards, so that what is read is never more than is proven: every end of
a proven range that a person reads, on the terminal, on a page, in a chart or in what Python prints,
goes through `number_end`, `share_end`, `range_text`, `points`, `percent` or `distance`. A `way` of
-1 rounds down, 1 up, and 0 to nearest, for numbers of which nothing is proven.
"""

import csv
import io
import math
import re
import shlex
import sys
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Context, Decimal
from typing import Any
from urllib.parse import unquote

_NOISE = Decimal("1e-12")  # a rate is a quotient of counts, and its double is nearer than this
_ROUNDING = {-1: ROUND_FLOOR, 0: ROUND_HALF_UP, 1: ROUND_CEILING}
_EXACT = Context(prec=1200)  # for numbers of any size
_LARGE, _SMALL = 15, -5  # powers of ten from which on, and below which, numbers have an exponent


def shorten(text: str, length: int = 60) -> str:
    """Return a name, cut to at most `length` characters with "…" in the middle if it is longer.

    Names that begin alike stay apart by how they end. `beginning` is for sentences.

    >>> shorten("household income before tax", 12), shorten("household income after tax", 12)
    ('househ…e tax', 'househ…r tax')
    """
    if len(text) <= length:
        return text
    end = (length - 1) // 2
    return text[: length - 1 - end] + "…" + text[len(text) - end :]


def beginning(text: str, length: int) -> str:
    """Return a sentence, cut to at most `length` characters with "…" at the end if it is longer."""
    return text if len(text) <= length else text[: length - 1] + "…"


_URL = re.compile(r"[A-Za-z][\w+.-]+:/{1,3}[^\s'\"<>]+")
_LOGIN = re.compile(r"(:/{1,3})([^/?#]*)(?=@)")
_PASSWORD = re.compile(r"(:/{1,3})([^/?#:@]*:(?!\d*(?:[/?#]|$))[^@]*)(?=@)")  # with a slash in it
_PARAMETER = re.compile(
    r"(?i)([?&;#][^=&;#]*(?:sig|token|key|secret|passw|pwd|credential|auth|code)[^=&;#]*=)[^&;#]*"
)


def without_secrets(text: str, url: str = "") -> str:
    """Return a text whose URLs show no logins, and no passwords or signatures in their queries.

    >>> without_secrets("no file https://me:secret@host/a.csv?sig=2b7e&part=3 (404)")
    'no file https://***@host/a.csv?sig=***&part=3 (404)'
    """
    hidden = [match[2] for match in (*_LOGIN.finditer(url), *_PASSWORD.finditer(url))]
    hidden += [match[0].partition("=")[2] for match in _PARAMETER.finditer(url)]
    for secret in [part for each in hidden for part in (each, each.partition(":")[2])]:
        for spelled in (secret, unquote(secret)):
            text = text.replace(spelled, "***") if len(spelled) > 2 else text
    return _URL.sub(lambda match: _masked(match[0]), text)


def _masked(url: str) -> str:
    """Return a URL with stars for its secrets."""
    shown = _LOGIN.sub(r"\1***", url, count=1)
    shown = shown if shown != url else _PASSWORD.sub(r"\1***", url, count=1)
    return _PARAMETER.sub(r"\1***", shown)


def suggest(name: str, known: list[str], what: str = "columns") -> str:
    """Return a hint for an unknown column: the nearest known name, or else some known names.

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

    >>> print(in_shell("--positive", "paid off"), in_shell("--positive", "-1"))
    --positive 'paid off' --positive=-1
    """
    return f"{name}{'=' if value.startswith('-') else ' '}{shlex.quote(value)}"


def option(name: str, columns: Iterable[str]) -> str:
    """Write an option that names columns, as it would be typed.

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

    >>> listed(["a", "b", "c"], 3), listed(["a", "b", "c"], 1)
    ("'a', 'b' and 'c'", "'a' and 2 more")
    """
    shown = [repr(shorten(name)) for name in names[:most]]
    if len(names) > most:
        shown.append(f"{len(names) - most:,} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def values_in_words(values: Sequence[Any], counts: Sequence[int], most: int = 4) -> str:
    """Return values with how many rows have each, in order; beyond `most`, only how many there are.

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

    >>> as_text(3603.0), as_text(0.123456789), as_text(1234567.8), as_text(None)
    ('3603', '0.123457', '1234568', 'missing')
    >>> as_text("a" * 70, 5)
    'aa…aa'
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "missing"
    kind = getattr(getattr(value, "dtype", None), "kind", "")  # of NumPy's scalars
    if isinstance(value, bool) or kind == "b":
        return str(bool(value))
    if isinstance(value, float) or kind == "f":
        number = float(value)
        if number.is_integer():
            return f"{number:.15g}"
        return f"{number:.6g}" if abs(number) < 1e6 else f"{number:.0f}"
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


# --- numbers that are proven, rounded outwards --------------------------------------------------


def number_end(value: float | Decimal, way: int = 0, digits: int = 6) -> str:
    """Return a number as people write it, with at least so many digits, and all before the point.

    >>> number_end(31234.567, -1), number_end(31234.567, 1), number_end(7)
    ('31,234.5', '31,234.6', '7')
    >>> number_end(-45067.2, -1, 4), number_end(2 / 3, 1, 4), number_end(1e-9 / 3, 1, 2)
    ('-45,068', '0.6667', '3.4e-10')
    """
    if not math.isfinite(value):
        return "unknown"
    exact = _decimal(value)
    size = exact.adjusted()
    plain = not exact or _SMALL <= size < _LARGE
    place = min(0, size + 1 - digits) if plain else size + 1 - digits
    rounded = exact.quantize(Decimal((0, (1,), place)), _ROUNDING[way], _EXACT).normalize(_EXACT)
    return f"{rounded + 0:,f}" if plain else f"{rounded:e}"


def share_end(value: float, way: int = 0) -> str:
    """Return a rate, or a difference or ratio of rates, with four decimals.

    >>> share_end(1 / 3, -1), share_end(1 / 3, 1), share_end(0.1 + 0.2, 1)
    ('0.3333', '0.3334', '0.3000')
    """
    if not math.isfinite(value):
        return "unknown"
    return f"{_of_counts(_decimal(value)).quantize(Decimal('0.0001'), _ROUNDING[way]) + 0:,f}"


def range_text(
    low: float, high: float, *, share: bool = False, outer: bool = True, digits: int = 6
) -> str:
    """Return a range, its ends rounded outwards where it is proven and inwards where reached.

    A range that is reached, and whose ends are the same, is a single number.

    >>> range_text(0.10001, 0.20001, share=True), range_text(0.10001, 0.2, share=True, outer=False)
    ('0.1000 to 0.2001', '0.1001 to 0.2000')
    """

    def end(value: float, way: int) -> str:
        return share_end(value, way) if share else number_end(value, way, digits)

    if not outer and low >= high:
        return end(low, 0) if low == high else "unknown"
    way = 1 if outer else -1
    return f"{end(low, -way)} to {end(high, way)}"


def points(share: float, step: str = "0.1", way: int = 0) -> str:
    """Return a share in hundredths.

    Ties are rounded up, as browsers do, so that page and terminal show the same number.

    >>> points(0.0625), points(0.019966, "0.01"), points(0.0629, way=-1), points(0.07, way=1)
    ('6.3', '2.00', '6.2', '7.0')
    """
    exact = Decimal(100 * share)
    exact = exact if way == 0 else _of_counts(exact)
    return str(exact.quantize(Decimal(step), _ROUNDING[way], _EXACT) + 0)


def percent(rate: float, way: int = 0) -> str:
    """Return a share as a percentage with one decimal, or with as many as keep it from 0 and 100.

    All rows are 100.0 %, and none are 0.0 %: nothing else is.

    >>> percent(0.8287), percent(0.8287, -1), percent(1.0), percent(0.9996), percent(1 / 3000)
    ('82.9 %', '82.8 %', '100.0 %', '99.96 %', '0.03 %')
    """
    text = points(rate, way=way)
    step = Decimal("0.1")
    while 0 < rate < 1 and not 0 < float(text) < 100 and step > _NOISE:
        step /= 10
        text = points(rate, str(step), way)
    return f"{text} %"


def distance(moved: float, relative: bool) -> str:
    """Return how far a prediction can move, which is infinite if nobody knows; rounded up.

    >>> distance(1234.51, False), distance(0.0721, True), distance(math.inf, False)
    ('1,235', '7.21 %', 'unknown')
    """
    if not relative or not math.isfinite(moved):
        return number_end(moved, 1, 4)
    return f"{number_end(100 * _decimal(moved), 1, 4)} %"


def written(value: float, *, times: int = 1, plus: int = 0) -> str:
    """Return a number that somebody chose, or a multiple of it, with all of its digits.

    >>> written(12345.678), written(0.29, times=100), written(0.1, plus=1)
    ('12,345.678', '29', '1.1')
    """
    return number_end(times * _decimal(value) + plus, digits=17)


def separated(text: str) -> str:
    """Return a number that is a text already with commas between thousands; other texts as is.

    >>> separated("45070.25"), separated("-1500"), separated("yes"), separated("1e+20")
    ('45,070.25', '-1,500', 'yes', '1e+20')
    """
    whole, point, rest = text.partition(".")
    digits = whole.removeprefix("-")
    number = digits.isdecimal() and (not point or rest.isdecimal())
    if not number or digits != str(int(digits)):
        return text
    return f"{whole[: -len(digits)]}{int(digits):,}{point}{rest}"


def _decimal(value: float | Decimal) -> Decimal:
    """Return the shortest decimal number that reads as a double: 0.1, not its expansion."""
    return value if isinstance(value, Decimal) else Decimal(repr(float(value)))


def _of_counts(exact: Decimal) -> Decimal:
    """Return a quotient of counts without the error of its double."""
    return exact.quantize(_NOISE, context=_EXACT)


# --- other numbers -----------------------------------------------------------------------------


def share_range(low: float, high: float) -> str:
    """Return a share that is known from below and from above, rounded outwards.

    >>> share_range(0.0, 0.9231), share_range(0.5, 0.5)
    ('0.0 to 92.4 %', '50.0 %')
    """
    if low == high:
        return percent(low)
    return f"{percent(low, -1).removesuffix(' %')} to {percent(high, 1)}"


def signed(share: float) -> str:
    """Return a change of a share in hundredths as text, with its sign.

    >>> signed(0.0625), signed(-0.05), signed(-0.0001)
    ('+6.3', '-5.0', '0.0')
    """
    size = points(abs(share))
    return f"{'' if not float(size) else '+' if share > 0 else '-'}{size}"


def between(ends: Sequence[float]) -> str:
    """Return an interval of shares, in hundredths, as text.

    >>> between((0.0524, 0.3339))
    '5.2 to 33.4'
    """
    return " to ".join(map(points, ends))


def counted(count: int, noun: str) -> str:
    """Return a number of things as text.

    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def in_unit(amount: float, unit: str = "labels", way: int = 0) -> str:
    """Return an amount of a budget with its unit; one that somebody chose has all of its digits.

    >>> in_unit(1, "clusters"), in_unit(2.50000001, "total change", 1), in_unit(math.inf, "cost")
    ('1 cluster', 'a total change of 2.50001', 'never')
    """
    if not math.isfinite(amount):
        return "never" if math.isinf(amount) else "unknown"
    if is_whole(unit):
        return counted(int(amount), unit.removesuffix("s"))
    return f"a {unit} of {number_end(amount, way, 6 if way else 17)}"


def amount_end(amount: float, way: int) -> str:
    """Return an amount without its unit; one that is infinite is never enough.

    >>> amount_end(2.0, 1), amount_end(2 / 3, -1), amount_end(math.inf, 1), amount_end(math.nan, 1)
    ('2', '0.666666', 'never', 'unknown')
    """
    return in_unit(amount) if not math.isfinite(amount) else number_end(amount, way)


def is_whole(unit: str) -> bool:
    """Return whether amounts in a unit are whole numbers.

    >>> is_whole("clusters"), is_whole("cost")
    (True, False)
    """
    return unit in ("labels", "clusters")


def whole_or_sum(amount: float, unit: str) -> float:
    """Return an amount as an int where its unit is counted, else as a float.

    >>> whole_or_sum(2.0, "clusters"), whole_or_sum(2, "cost")
    (2, 2.0)
    """
    return int(amount) if is_whole(unit) else float(amount)


def labels(count: float) -> str:
    """Return a number of labels as text.

    >>> labels(1), labels(2943), labels(math.inf), labels(math.nan)
    ('1 label', '2,943 labels', 'never', 'unknown')
    """
    return in_unit(count)


_CLOSE = 1e-6  # of an amount: ends that differ by less are one number to a reader


def is_settled(low: float, high: float, unit: str) -> bool:
    """Return whether two ends of an amount are the same, or of sums nearly so.

    >>> is_settled(3, 4, "labels"), is_settled(3.0, 3.0 + 1e-9, "cost")
    (False, True)
    """
    return low == high or (not is_whole(unit) and high - low <= _CLOSE * high < math.inf)


def labels_between(low: float, high: float, unit: str = "labels") -> str:
    """Return a least amount that is known from below and from above as text.

    Sums are rounded outwards; one that is known to six digits is rounded up, so that it is enough.

    >>> labels_between(3, 3), labels_between(3, 5), labels_between(3, math.inf)
    ('3 labels', '3 to 5 labels', '3 labels or more')
    >>> labels_between(2 / 3, 2 / 3 + 1e-12, "cost"), labels_between(2 / 3, 0.8, "cost")
    ('a cost of 0.666667', 'a cost of 0.666666 to 0.8')
    """
    if not math.isfinite(low):
        return in_unit(low, unit)
    if not math.isfinite(high):
        return f"{in_unit(low, unit, -1)} or more"
    if is_settled(low, high, unit):
        return in_unit(high, unit, 1)
    last = counted(int(high), unit.removesuffix("s")) if is_whole(unit) else number_end(high, 1)
    first = f"{int(low):,}" if is_whole(unit) else in_unit(low, unit, -1)
    return f"{first} to {last}"


def labels_of(count: int, movable: int, n_train: int) -> str:
    """Return a number of labels, and its share of those that may be wrong if not all may be.

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
    """Say that a file has no row of a number."""
    return (
        f"--row {row} is outside {path}, which has {n_rows:,} rows; they are numbered from 1 below "
        "the header"
    )
