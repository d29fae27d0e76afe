"""Suspicion: what a column may be, judged by its name and its values alone.

Nothing here changes how a column is read: it says what to ask the people who know the file. The
rules are in docs/command-line.md.
"""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unswayed._typing import IntArray
from unswayed.cells import is_text
from unswayed.numerals import Decimal, are_numbers, marks_of

FEW = 20
"""Different whole numbers, at most, that may be codes."""
FEWEST_ROWS = 20
"""Fewer rows say nothing: anything can be all different, or tell the label."""
NEARLY_ALL_MISSING = 0.95
NEARLY_ALL_EQUAL = 0.99
_MARKS = pa.array(["?", "??", "-", "--", ".", "..", "*"])  # among texts: perhaps missing
_FEW_MARKS = 3  # different texts among numbers that can all stand for missing values
_FEW_CLASSES = 10  # different whole numbers at most that may be classes
_FEW_CODES = 5  # whole numbers from 1 on that are taken for codes however often each occurs
_NOT_KNOWN = frozenset((7, 8, 9, 88, 97, 98, 99, 888, 998, 999))  # as surveys code it
_RARE = 5  # rows per text, on average: fewer, and texts of new rows will often be new too

# Parts of names that say what numbers are, in the singular. Of "nRegion_codes" they are n, region
# and code, of which the last one that is known here decides: a group size is a size.
_CODES = frozenset(
    "branch brand cat category cause cd channel cluster code color colour country county "
    "department dept district ethnic ethnicity fips gender icd industry job language make marital "
    "marriage msa naics nation nationality occupation origin plz postal postcode product "
    "profession puma purpose race region relation relationship religion sector segment sex sic soc "
    "species state status tract type workclass zip zipcode".split()
)
# Codes of the American Community Survey, whose names say nothing.
_CENSUS = frozenset(
    "ANC ANC1P ANC2P CIT COW DECADE DIVISION ESR FOD1P FOD2P HISP INDP JWTR LANP MAR MIGPUMA MIGSP "
    "MIL NAICSP OCCP POBP POWPUMA POWSP PUMA QTRBIR RAC1P RAC2P RAC3P REGION RELP RELSHIPP SOCP ST "
    "WAOB".split()
)
_MEASURES = frozenset(
    "accident adult age amount attempt baby bath bathroom bed bedroom bid call car child "
    "children claim cond condition count day delay dependant dependent distance door duration "
    "educ education employee exper experience failure fireplace floor garage goal grade "
    "height hour income inquiry kid kitchen length level likelihood member minute mo month n "
    "nb night no nr num number offence offense parch people percent person point price prior "
    "purchase qual quality quantity rank rate rating rm room salary score seat sib sibling "
    "sibsp size star stay storey stories story tenure time tot total trip vehicle visit wage "
    "week weight year yr".split()
)
_IDS = frozenset("id uid uuid guid key index idx rowid ssn unnamed".split())


def _parts(name: str) -> list[str]:
    """Return the words of a name, in small letters and the singular."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    parts = [part.lower() for part in re.split(r"[\W\d_]+", apart) if part]
    known = _CODES | _MEASURES | _IDS
    return [part if part in known else part.removesuffix("s") for part in parts]


def _says(name: str) -> str | None:
    """Return what a name says of its numbers: that they are "codes", "measures", or nothing."""
    for part in reversed(_parts(name)):
        if part in _CODES:
            return "codes"
        if part in _MEASURES or part.endswith(("room", "count", "year", "time", "size")):
            return "measures"
    return None


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """The different values of a column, and how many rows have each."""

    distinct: Any
    counts: IntArray
    n_rows: int
    n_missing: int

    @classmethod
    def of(cls, values: pa.ChunkedArray) -> "Tally":
        """Count the values of a column."""
        found = values.drop_null().combine_chunks().value_counts()
        counts = np.asarray(found.field("counts"))
        return cls(found.field("values"), counts, len(values), values.null_count)

    def may_be_classes(self) -> bool:
        """Return whether a label may be classes: it has three texts or more, or few numbers."""
        if len(self.distinct) < 3 or is_text(self.distinct.type):
            return len(self.distinct) > 2
        whole = whole_numbers(pa.chunked_array([self.distinct])) is not None
        return whole and len(self.distinct) <= _FEW_CLASSES and 2 * len(self.distinct) < self.n_rows

    def in_order(self) -> tuple[list[Any], IntArray]:
        """Return the values in order, and how many rows have each."""
        values = self.distinct.to_pylist()
        order = sorted(range(len(values)), key=values.__getitem__)
        return [values[at] for at in order], self.counts[order]


def whole_numbers(values: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return the numbers of a column that are there, if all of them are whole."""
    if values.null_count:
        values = values.drop_null()
    if pa.types.is_integer(values.type):
        return values
    if not pa.types.is_floating(values.type):
        return None
    whole = pc.all(pc.equal(pc.floor(values), values), min_count=0).as_py()
    return values if whole else None


def looks_like_codes(name: str, rows: Tally, *, ordered: bool = False) -> bool:
    """Return whether whole numbers are codes rather than counts or measures.

    Examples
    --------
    >>> def rows(*values):
    ...     return Tally.of(pa.chunked_array([list(values)]))
    >>> looks_like_codes("OCCP", rows(10, 4020, 9130))
    True
    >>> looks_like_codes("deal", rows(0, 0, 0, 1, 2, 2, 2, 3)), looks_like_codes("deal", rows(0, 0, 1, 2))
    (True, False)
    >>> looks_like_codes("bedrooms", rows(1, 1, 2, 3, 3)), looks_like_codes("room_type", rows(1, 2, 3))
    (False, True)
    """  # noqa: E501
    if len(rows.distinct) < 3:
        return False
    said = "codes" if name.upper() in _CENSUS else _says(name)
    if said is not None or len(rows.distinct) > FEW:
        return said == "codes"
    values, counts = rows.in_order()
    first, last = values[0], values[-1]
    if first < 0:
        return True
    if last - first + 1 > len(values):  # with a gap: 0, 1, 2 and 9 for those who did not answer
        return bool(first == 1 or (first == 0 and last in _NOT_KNOWN))
    steps = np.diff(counts)
    falling = int(np.argmax(steps < 0)) if (steps < 0).any() else len(steps)
    counting = bool((steps[falling:] <= 0).all())
    if first == 1:  # few counts begin with it, most codes do
        return not (counting and len(values) > _FEW_CODES) and not (ordered and len(values) > 3)
    return first == 0 and not counting and not ordered


def looks_like_ids(name: str, whole: pa.ChunkedArray, n_distinct: int) -> bool:
    """Return whether whole numbers say which row it is."""
    n_rows = len(whole)
    if n_rows < FEWEST_ROWS:
        return False
    if 2 * n_distinct > n_rows and _IDS.intersection(_parts(name or "unnamed")):
        return True
    if n_distinct < n_rows:
        return False
    ends = pc.min_max(whole).as_py()
    steps = np.diff(np.asarray(whole))
    return bool(ends["max"] - ends["min"] + 1 == n_rows or (steps > 0).all() or (steps < 0).all())


def texts_are_ids(n_distinct: int, n_rows: int) -> bool:
    """Return whether every row has a text of its own."""
    return n_rows >= FEWEST_ROWS and n_distinct == n_rows


def texts_are_rare(n_distinct: int, n_rows: int) -> bool:
    """Return whether there are so many texts that new rows will bring new ones."""
    return n_distinct > FEW and n_rows < _RARE * n_distinct


def missing_mark(distinct: pa.ChunkedArray) -> str | None:
    """Return a text without a letter or digit that often stands for a missing value.

    Examples
    --------
    >>> missing_mark(pa.chunked_array([["Private", " ?"]]))
    '?'
    """
    found = distinct.filter(pc.is_in(pc.utf8_trim_whitespace(distinct), value_set=_MARKS))
    return found[0].as_py().strip() if len(found) else None


@dataclass(frozen=True, slots=True)
class Mixture:
    """A column of texts, at least half of which are numbers."""

    odd: tuple[str, ...]  # The different texts that are no numbers, at most four of them
    n_odd: int  # Number of cells with such a text
    row: int  # The first such row, from 1
    cell: str  # What it holds
    comma: bool  # Whether the sign before decimals is the other one in this column
    # Currencies and percent signs, where all texts are numbers; "" if some have none
    signs: tuple[str, ...] = ()

    @property
    def marks(self) -> tuple[str, ...]:
        """Texts that may stand for missing values: all that are no numbers, if they are few."""
        return self.odd if len(self.odd) <= _FEW_MARKS and not self.comma else ()

    @classmethod
    def of(
        cls, values: pa.ChunkedArray, distinct: pa.ChunkedArray, decimal: Decimal
    ) -> "Mixture | None":
        """Look for numbers among texts."""
        if not (are_numbers(distinct, ".") | are_numbers(distinct, ",")).any():
            return None
        counted = values.drop_null().value_counts()
        texts, counts = counted.field("values"), np.asarray(counted.field("counts"))
        plain = are_numbers(texts, decimal, grouped=False)
        other = are_numbers(texts, "," if decimal == "." else ".") & ~plain
        numbers = are_numbers(texts, decimal)
        if not len(counts) or 2 * counts[numbers | other].sum() < counts.sum():
            return None
        comma = bool((other & ~numbers).any())
        unread = ~numbers if not numbers.all() else np.ones(len(counts), dtype=bool)
        named = texts.filter(pa.array(other & ~numbers if comma else unread))
        at = pc.index(pc.is_in(values, named), True).as_py()
        odd = texts.filter(pa.array(~(numbers | other)))
        n_odd = int(counts[~(plain | other) if comma else ~numbers].sum())
        return cls(
            tuple(odd.slice(0, _FEW_MARKS + 1).to_pylist()),
            n_odd,
            at + 1,
            values[at].as_py(),
            comma,
            tuple(sorted(marks_of(texts, decimal))) if numbers.all() else (),
        )
