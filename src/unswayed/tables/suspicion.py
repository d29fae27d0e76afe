"""Suspicion: what a column may be, judged by its name and values: a code, a person, the label."""

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unswayed._typing import FloatArray, IntArray
from unswayed.tables.columns import Decimal, are_numbers, is_number, is_text, marks_of

FEW = 20
"""Different whole numbers, at most, that may be codes."""
FEWEST_ROWS = 20
"""Fewer rows say nothing: anything can be all different, or tell the label."""
NEARLY_ALL_MISSING = 0.95
NEARLY_ALL_EQUAL = 0.99
_MARKS = pa.array(["?", "??", "-", "--", ".", "..", "*"])  # among texts: perhaps missing
_FEW_MARKS = 3  # different texts among numbers that can all stand for missing values
MOST_CLASSES = 40
"""Classes of a label that are told apart; one that has more is probably no class."""
_FEW_CLASSES = 10  # different whole numbers at most that may be classes
_FEW_CODES = 5  # whole numbers from 1 on that are taken for codes however often each occurs
_NOT_KNOWN = frozenset((7, 8, 9, 88, 97, 98, 99, 888, 998, 999))  # as surveys code it
_MANY_TEXTS = 100  # and more than half the rows: who a row is, and not what it is like
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


def is_too_many(n_values: int, n_rows: int) -> bool:
    """Return whether so many different texts must be names or numbers of a file."""
    return n_values > max(_MANY_TEXTS, n_rows // 2)


def _words(name: str) -> list[str]:
    """Return the words of a name, in small letters."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return [word.casefold() for word in re.split(r"[\W\d_]+", apart) if word]


def _parts(name: str) -> list[str]:
    """Return the words of a name, in the singular."""
    known = _CODES | _MEASURES | _IDS
    return [word if word in known else word.removesuffix("s") for word in _words(name)]


def _says(name: str) -> str | None:
    """Return what a name says of its numbers: that they are "codes", "measures", or nothing."""
    for part in reversed(_parts(name)):
        if part in _CODES:
            return "codes"
        if part in _MEASURES or part.endswith(("room", "count", "year", "time", "size")):
            return "measures"
    return None


@dataclass(frozen=True, slots=True, eq=False)
class ValueCounts:
    """The different values of a column, and how many rows have each."""

    distinct: Any
    counts: IntArray
    n_rows: int
    n_missing: int

    @classmethod
    def of(cls, values: pa.ChunkedArray) -> "ValueCounts":
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


def looks_like_codes(name: str, rows: ValueCounts, *, ordered: bool = False) -> bool:
    """Return whether whole numbers are codes rather than counts or measures.

    Examples
    --------
    >>> def rows(*values):
    ...     return ValueCounts.of(pa.chunked_array([list(values)]))
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
    def of(cls, values: pa.ChunkedArray, rows: ValueCounts, decimal: Decimal) -> "Mixture | None":
        """Look for numbers among texts."""
        texts, counts = rows.distinct, rows.counts
        if not (are_numbers(texts, ".") | are_numbers(texts, ",")).any():
            return None
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


# ----------------------------------------------------------------------------------------
# Personal columns: those whose cells say who a person is, so that no example of them is shown.
#
# Judged by name and cells, rather too often than too rarely: a hidden example costs little.

_MOST = 0.6  # of the texts looked at: so many of a kind say what the column is
_LOOKED_AT = 200

# What a column is called, word by word or in one.
_CALLED = {
    "e-mail addresses": "email emails mail mails emailaddress",
    "phone numbers": "phone phones telephone tel mobile cellphone fax phonenumber",
    "dates of birth": "dob birth birthday birthdate dateofbirth born geburtsdatum naissance",
    "addresses": "address addresses addr street strasse straße rue residence homeaddress ip",
    "names": "name names firstname lastname surname forename fullname middlename maiden "
    "username login vorname nachname nom prenom prénom apellido apellidos nombre person_name",
    "ids": "id ids uid uuid guid rowid ssn passport iban mrn nhs vin licence license "
    "socialsecurity personnummer",
}
_BY_NAME = {word: kind for kind, words in _CALLED.items() for word in words.split()}
_WHOLE = (["first"], ["last"], ["given"], ["family"])  # beside others they say nothing
_NOT_OF_BIRTH = frozenset("weight height length order rate rates place country".split())
_BY_CELL = {
    "e-mail addresses": re.compile(r"[^\s@]+@[^\s@]+\.[^\s@]+"),
    "phone numbers": re.compile(r"(?:\+|00|\()[\d\s()./-]{6,}|\d{2,4}(?:[ ()./-]+\d{2,5}){2,4}"),
    "addresses": re.compile(
        r"\d+[a-zA-Z]?,? +[^\W\d][\w .'-]+"
        r"|[^\W\d][\w .'-]*(?:str\.|straße|strasse|street|road|avenue|lane|weg),? +\d+.*",
        re.IGNORECASE,
    ),
    "names": re.compile(r"[^\W\d_a-z][\w.'’-]*(?:,? +[^\W\d_a-z][\w.'’-]*){1,3}"),
}
_DATE = re.compile(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}(?:[ T].*)?")


def not_shown(name: str, values: pa.ChunkedArray, n_distinct: int) -> str | None:
    """Return why no cell of a column is shown; None if examples may be.

    Examples
    --------
    >>> not_shown("applicant name", pa.chunked_array([["x", "y"]]), 2)
    'looks like names'
    >>> not_shown("last", pa.chunked_array([["simmons", "staime"]]), 2)
    'looks like names'
    >>> not_shown("contact", pa.chunked_array([["ann@example.org", "bo@example.org"]]), 2)
    'looks like e-mail addresses'
    """
    kind = _by_name(name)
    if kind is None and is_text(values.type):
        kind = _by_cells(values, n_distinct)
    if kind is not None:
        return f"looks like {kind}"
    n_there = len(values) - values.null_count
    if is_text(values.type):
        alone = texts_are_ids(n_distinct, n_there)
        return "differs in every row" if alone else None
    whole = whole_numbers(values)
    if whole is not None and looks_like_ids(name, whole, n_distinct):
        return "looks like ids"
    return None


def _by_name(name: str) -> str | None:
    """Return what the name of a column says that its cells are."""
    words = _words(name)
    if _NOT_OF_BIRTH.intersection(words):
        words = [word for word in words if word not in ("birth", "born")]
    said = (_BY_NAME.get(word) for word in ("".join(words), *reversed(words)))
    return "names" if words in _WHOLE else next(filter(None, said), None)


def _by_cells(values: pa.ChunkedArray, n_distinct: int) -> str | None:
    """Return what the texts of a column are, if most of them look so."""
    some: list[Any] = pc.unique(values.slice(0, 10 * _LOOKED_AT)).drop_null().to_pylist()
    texts = [text.strip() for text in some[:_LOOKED_AT]]
    if not texts:
        return None
    for kind, pattern in _BY_CELL.items():
        alike = sum(bool(pattern.fullmatch(text)) and not _DATE.fullmatch(text) for text in texts)
        # Two capitalised words may be a place or a job; names of people hardly repeat.
        repeated = kind == "names" and 2 * n_distinct < len(values)
        if alike >= _MOST * len(texts) and not repeated:
            return kind
    return None


# ----------------------------------------------------------------------------------------
# Label leak: columns that tell the label, of every row or nearly, as nothing known before can.

_FEWEST_STEPS = 2  # fewer, and a column of yes and no may well follow a number
_NEARLY = 0.95  # right on so many rows of each class, on average: nothing to do with their sizes
_EXPLAINED = 0.98  # of the variance of a number
_FEWEST_OF_A_CLASS = 10  # rows: fewer are told by chance, if there are many columns
_SAMPLE = 20_000  # rows that are enough to see how nearly
_FIRST = 500  # rows looked at before all are: most columns have contradicted themselves by then


@dataclass(frozen=True, slots=True)
class Told:
    """How nearly a column tells the label by itself."""

    # Of two classes, the share of rows that are told right, averaged over the classes; of numbers,
    # the share of their variance
    share: float
    classes: bool
    every: bool = False  # whether it tells the label of every row

    def __str__(self) -> str:
        if self.every:
            return "tells the label of every row"
        share = f"{math.floor(1000 * self.share) / 10:.1f}"
        if self.classes:
            return f"tells the label right for {share} % of the rows of each class on average"
        return f"explains {share} % of the variance of the label"


@dataclass(frozen=True, slots=True, eq=False)
class Label:
    """The label column, to compare others with."""

    there: Any  # Which rows have a label; None if all do
    classes: IntArray | None  # 0 and 1 for two classes; None if there are not two
    numbers: FloatArray | None  # The labels, if they are more than two numbers

    @classmethod
    def of(cls, values: pa.ChunkedArray, is_positive: Any = None) -> "Label":
        """Prepare a column."""
        there = pc.is_valid(values) if values.null_count else None
        values = values if there is None else values.filter(there)
        distinct = pc.unique(values)
        classes = numbers = None
        if is_positive is not None:
            named = [value for value in distinct.to_pylist() if is_positive(value)]
            known = pa.array(named, type=values.type)
            classes = np.asarray(pc.is_in(values, value_set=known)).astype(np.intp)
        elif len(distinct) == 2:
            classes = np.asarray(pc.index_in(values, value_set=distinct))
        elif len(distinct) > 2 and is_number(values.type):
            numbers = _doubles(values)
        return cls(there, classes, numbers)

    def told_by(self, values: pa.ChunkedArray) -> Told | None:
        """Return how nearly a column tells the label by itself; None if not nearly.

        A rule for two classes looks a text up, or cuts numbers in two; missing cells are below all
        others, or above them. That a class is large is no help: a rule is as good as the mean of
        its shares of right rows of either class.
        """
        values = values if self.there is None else values.filter(self.there)
        labels: Any = self.numbers if self.classes is None else self.classes
        if labels is None or len(values) < FEWEST_ROWS:
            return None
        numbers = None if is_text(values.type) or values.null_count else _doubles(values)
        if self._is_told(values, numbers):
            return Told(1.0, self.classes is not None, every=True)
        at = np.linspace(0, len(values) - 1, min(_SAMPLE, len(values))).astype(np.intp)
        some, labels = values.take(pa.array(at)), labels[at]
        if self.classes is None:
            share = _explained(some, labels)
            return Told(share, classes=False) if share >= _EXPLAINED else None
        if min(np.bincount(labels, minlength=2)) < _FEWEST_OF_A_CLASS:
            return None
        if is_text(some.type):
            share = _looked_up(_positions(some), labels)
        else:
            known = np.asarray(some.cast(pa.float64(), safe=False).fill_null(np.nan))
            ends = (np.where(np.isnan(known), end, known) for end in (-np.inf, np.inf))
            share = max(_cut(each, labels) for each in ends)
        return Told(share, classes=True) if share >= _NEARLY else None

    def _is_told(self, values: pa.ChunkedArray, numbers: FloatArray | None) -> bool:
        """Return whether a column tells the label of every row.

        It tells which of two classes every row has if rows of equal values have equal labels and
        there are at most half as many values as rows, or if all numbers of one class are above all
        of the other.
        """
        if self.numbers is not None:
            labels = self.numbers
            return numbers is not None and (
                _in_other_unit(numbers, labels) or _bins(numbers, labels)
            )
        classes = self.classes
        assert classes is not None  # noqa: S101  (labels are numbers or two classes)
        if _contradicts(_positions(values.slice(0, _FIRST)), classes[:_FIRST]):
            return False
        position = _positions(values)
        if _contradicts(position, classes):
            return False
        if 2 * (int(position.max()) + 1) <= len(classes):
            return True
        if numbers is None:
            return False
        zero, one = numbers[classes == 0], numbers[classes == 1]
        return bool(zero.max() < one.min() or one.max() < zero.min())

    def is_in_order_of(self, values: pa.ChunkedArray) -> bool:
        """Return whether the mean label only rises, or only falls, from value to value."""
        values = values if self.there is None else values.filter(self.there)
        labels = self.numbers if self.classes is None else self.classes
        if labels is None or values.null_count:
            return False
        _, position = np.unique(_doubles(values), return_inverse=True)
        means = np.bincount(position, weights=labels) / np.bincount(position)
        steps = np.diff(means)
        return len(means) > 3 and bool((steps > 0).all() or (steps < 0).all())


def _doubles(values: pa.ChunkedArray) -> FloatArray:
    return np.asarray(values.cast(pa.float64(), safe=False))


def _looked_up(position: IntArray, label: IntArray) -> float:
    """Return how right it is to say of each text the class that it is more common in."""
    if int(position.max()) >= FEW:
        return 0.0
    shares = [
        np.bincount(position[label == each], minlength=FEW) / max(1, np.sum(label == each))
        for each in (0, 1)
    ]
    return float(np.maximum(*shares).sum() / 2)


def _cut(numbers: FloatArray, label: IntArray) -> float:
    """Return how right the best cut of numbers in two is, averaged over the classes."""
    order = np.argsort(numbers, kind="stable")
    sorted_numbers = numbers[order]
    ends = np.flatnonzero(np.append(sorted_numbers[1:] != sorted_numbers[:-1], True))
    ones = np.cumsum(label[order])[ends] / label.sum()
    zeros = np.cumsum(1 - label[order])[ends] / (len(label) - label.sum())
    return float(0.5 + np.abs(ones - zeros).max() / 2)


def _explained(values: pa.ChunkedArray, label: FloatArray) -> float:
    """Return the share of the variance of a number that a column explains by itself."""
    spread = label - label.mean()
    if not spread.any():
        return 0.0
    if is_text(values.type):
        position = _positions(values)
        if int(position.max()) >= FEW:
            return 0.0
        sums, counts = np.bincount(position, weights=spread), np.bincount(position)
        return float((sums**2 / counts).sum() / (spread @ spread))
    if values.null_count:
        return 0.0
    numbers = _doubles(values)
    with np.errstate(over="ignore", invalid="ignore"):  # then nothing is said
        own = numbers - numbers.mean()
        size = (own @ own) * (spread @ spread)
        return float((own @ spread) ** 2 / size) if 0 < size < np.inf else 0.0


def _positions(values: pa.ChunkedArray) -> IntArray:
    """Return which of its different cells each row has; a missing one is a cell of its own."""
    encoded = values.combine_chunks().dictionary_encode(null_encoding="encode")
    return np.asarray(encoded.indices)


def _contradicts(position: IntArray, label: IntArray) -> bool:
    """Return whether rows of equal cells have different labels."""
    positive, count = np.bincount(position, weights=label), np.bincount(position)
    return bool(((positive > 0) & (positive < count)).any())


def _bins(numbers: FloatArray, label: FloatArray) -> bool:
    """Return whether a column says in which of some classes of numbers the label is: deciles, say.

    It does if it only rises or only falls with the label, and takes three values or more.
    """
    order = np.argsort(label, kind="stable")
    steps, apart = np.diff(numbers[order]), np.diff(label[order]) > 0
    one_way = bool((steps >= 0).all() or (steps <= 0).all())
    return one_way and not steps[~apart].any() and int(np.count_nonzero(steps)) >= _FEWEST_STEPS


def _in_other_unit(numbers: FloatArray, label: FloatArray) -> bool:
    """Return whether a column of numbers is the label in another unit."""
    with np.errstate(over="ignore", invalid="ignore"):  # then nothing is said
        one, other = numbers - numbers.mean(), label - label.mean()
        size = np.sqrt(one @ one) * np.sqrt(other @ other)
        return bool(size > 0 and abs(one @ other) > (1 - 1e-9) * size)
