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

from unswayed.numerals import Decimal, are_numbers

FEW = 20
"""Different whole numbers, at most, that may be codes."""
_FEWEST_ROWS = 20  # fewer rows say nothing: anything can be all different, or tell the label
_MARKS = pa.array(["?", "??", "-", "--", ".", "..", "*"])  # among texts: perhaps missing
_FEW_MARKS = 3  # different texts among numbers that can all stand for missing values
_RARE = 5  # rows per text, on average: fewer, and texts of new rows will often be new too

# Parts of names that say what numbers are. Of "nRegion_code" the parts are n, region and code.
_CODES = frozenset(
    "code codes cd zip zipcode postcode postal plz fips naics sic soc icd race ethnicity ethnic "
    "region state county country district category cat type sector industry occupation religion "
    "marital nationality department dept branch msa tract puma".split()
)
# Codes of the American Community Survey, whose names say nothing.
_CENSUS = frozenset(
    "ANC ANC1P ANC2P CIT COW DECADE DIVISION ESR FOD1P FOD2P HISP INDP JWTR LANP MAR MIGPUMA MIGSP "
    "MIL NAICSP OCCP POBP POWPUMA POWSP PUMA QTRBIR RAC1P RAC2P RAC3P REGION RELP RELSHIPP SOCP ST "
    "WAOB".split()
)
_MEASURES = frozenset(
    "age ages amount count counts num number score scores rank grade grades level year years month "
    "months week weeks day days hour hours minutes rating size length weight height income salary "
    "wage price children kids priors persons people rooms visits education educ experience exper "
    "tenure dependents quantity percent rate n no".split()
)
_IDS = frozenset("id ids uid uuid guid key index idx rowid ssn unnamed".split())


def _parts(name: str) -> list[str]:
    """Return the words of a name, in small letters."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return [part.lower() for part in re.split(r"[\W\d_]+", apart) if part]


def whole_numbers(values: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return the numbers of a column that are there, if all of them are whole.

    Parameters
    ----------
    values : pyarrow.ChunkedArray
        Numbers, NaN being null.

    Returns
    -------
    pyarrow.ChunkedArray or None
    """
    if values.null_count:
        values = values.drop_null()
    if pa.types.is_integer(values.type):
        return values
    if not pa.types.is_floating(values.type):
        return None
    whole = pc.all(pc.equal(pc.floor(values), values), min_count=0).as_py()
    return values if whole else None


def looks_like_codes(name: str, distinct: Any) -> bool:
    """Return whether whole numbers are codes rather than counts or measures.

    Parameters
    ----------
    name : str
        Of the column.
    distinct : pyarrow.Array
        Its different values, whole numbers.

    Returns
    -------
    bool
        True if there are at least three and the name says so, or if they are few, begin with 1 or
        below 0, and the name does not say that they count or measure something.

    Examples
    --------
    >>> looks_like_codes("OCCP", pa.array([10, 4020, 9130]))
    True
    >>> looks_like_codes("mhist", pa.array([2, 1, 4, 3]))
    True
    >>> looks_like_codes("children", pa.array([0, 1, 2])), looks_like_codes("grade", pa.array([1, 2, 3]))
    (False, False)
    """  # noqa: E501
    if len(distinct) < 3:
        return False
    parts = _parts(name)
    if name.upper() in _CENSUS or _CODES.intersection(parts):
        return True
    if len(distinct) > FEW or _MEASURES.intersection(parts):
        return False
    first = pc.min(distinct).as_py()
    return bool(first == 1 or first < 0)


def looks_like_ids(name: str, whole: pa.ChunkedArray, n_distinct: int) -> bool:
    """Return whether whole numbers say which row it is.

    Parameters
    ----------
    name : str
        Of the column.
    whole : pyarrow.ChunkedArray
        Its values, none of them missing.
    n_distinct : int

    Returns
    -------
    bool
        True if all are different and they count the rows, only rise or only fall; or if the name
        says so and more than half are different.
    """
    n_rows = len(whole)
    if n_rows < _FEWEST_ROWS:
        return False
    if 2 * n_distinct > n_rows and _IDS.intersection(_parts(name or "unnamed")):
        return True
    if n_distinct < n_rows:
        return False
    ends = pc.min_max(whole).as_py()
    steps = np.diff(np.asarray(whole))
    return bool(ends["max"] - ends["min"] + 1 == n_rows or (steps > 0).all() or (steps < 0).all())


def texts_are_ids(n_distinct: int, n_rows: int) -> bool:
    """Return whether every row has a text of its own.

    Parameters
    ----------
    n_distinct, n_rows : int

    Returns
    -------
    bool
    """
    return n_rows >= _FEWEST_ROWS and n_distinct == n_rows


def texts_are_rare(n_distinct: int, n_rows: int) -> bool:
    """Return whether there are so many texts that new rows will bring new ones.

    Parameters
    ----------
    n_distinct, n_rows : int

    Returns
    -------
    bool
    """
    return n_distinct > FEW and n_rows < _RARE * n_distinct


def missing_mark(distinct: pa.ChunkedArray) -> str | None:
    """Return a text without a letter or digit that often stands for a missing value.

    Parameters
    ----------
    distinct : pyarrow.ChunkedArray
        Different texts of a column.

    Returns
    -------
    str or None
        The first of them, without spaces around it.

    Examples
    --------
    >>> missing_mark(pa.chunked_array([["Private", " ?"]]))
    '?'
    """
    found = distinct.filter(pc.is_in(pc.utf8_trim_whitespace(distinct), value_set=_MARKS))
    return found[0].as_py().strip() if len(found) else None


@dataclass(frozen=True, slots=True)
class Mixture:
    """A column of texts, at least half of which are numbers.

    Attributes
    ----------
    odd : tuple of str
        The different texts that are no numbers, at most four of them.
    n_odd : int
        Number of cells with such a text.
    row : int
        The first such row, from 1.
    cell : str
        What it holds.
    comma : bool
        Whether the sign before decimals is the other one in this column.
    """

    odd: tuple[str, ...]
    n_odd: int
    row: int
    cell: str
    comma: bool

    @property
    def marks(self) -> tuple[str, ...]:
        """Texts that may stand for missing values: all that are no numbers, if they are few."""
        return self.odd if len(self.odd) <= _FEW_MARKS and not self.comma else ()

    @classmethod
    def of(
        cls, values: pa.ChunkedArray, distinct: pa.ChunkedArray, decimal: Decimal
    ) -> "Mixture | None":
        """Look for numbers among texts.

        Parameters
        ----------
        values : pyarrow.ChunkedArray
            Texts.
        distinct : pyarrow.Array
            The different ones among them.
        decimal : {".", ","}
            The sign before decimals, as files are read.

        Returns
        -------
        Mixture or None
            None if fewer than half of the cells are numbers. If all of them are, no text is odd,
            and the first cell is named.
        """
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
        unread = ~plain if not numbers.all() else np.ones(len(counts), dtype=bool)
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
        )
