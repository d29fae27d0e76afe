"""Label leak: columns that tell the label, of every row or nearly, as nothing known before can."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unswayed._typing import FloatArray, IntArray
from unswayed.cells import is_number, is_text

_FEWEST_ROWS = 20  # fewer can be told by chance
_FEWEST_STEPS = 2  # fewer, and a column of yes and no may well follow a number
_NEARLY = 0.95  # right on so many rows of each class, on average: nothing to do with their sizes
_EXPLAINED = 0.98  # of the variance of a number
_FEWEST_OF_A_CLASS = 10  # rows: fewer are told by chance, if there are many columns
_FEW = 20  # different texts at most that are looked up one by one
_SAMPLE = 20_000  # rows that are enough to see how nearly
_FIRST = 500  # rows looked at before all are: most columns have contradicted themselves by then


@dataclass(frozen=True, slots=True)
class Told:
    """How nearly a column tells the label by itself."""

    # Of two classes, the share of rows that are told right, averaged over the classes; of numbers,
    # the share of their variance
    share: float
    classes: bool

    def __str__(self) -> str:
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
            numbers = np.asarray(values.cast(pa.float64(), safe=False))
        return cls(there, classes, numbers)

    def is_told_by(self, values: pa.ChunkedArray) -> bool:
        """Return whether a column tells the label of every row that has one."""
        values = values if self.there is None else values.filter(self.there)
        numbers = None
        if not is_text(values.type) and not values.null_count and len(values):
            numbers = np.asarray(values.cast(pa.float64(), safe=False))
        if self.classes is None:
            if numbers is None or self.numbers is None:
                return False
            return _tells_numbers(numbers, self.numbers) or _bins(numbers, self.numbers)
        if _contradicts(_positions(values.slice(0, _FIRST)), self.classes[:_FIRST]):
            return False
        return _tells_classes(_positions(values), self.classes, numbers)

    def nearly_told_by(self, values: pa.ChunkedArray) -> Told | None:
        """Return how nearly a column tells the label by itself; None if not nearly.

        A rule for two classes looks a text up, or cuts numbers in two; missing cells are below all
        others, or above them. That a class is large is no help: a rule is as good as the mean of
        its shares of right rows of either class.
        """
        values = values if self.there is None else values.filter(self.there)
        labels: Any = self.numbers if self.classes is None else self.classes
        if labels is None or len(values) < _FEWEST_ROWS:
            return None
        at = np.linspace(0, len(values) - 1, min(_SAMPLE, len(values))).astype(np.intp)
        values, labels = values.take(pa.array(at)), labels[at]
        texts = is_text(values.type)
        if self.classes is None:
            share = _explained(values, labels, texts=texts)
            return Told(share, classes=False) if share >= _EXPLAINED else None
        if min(np.bincount(labels, minlength=2)) < _FEWEST_OF_A_CLASS:
            return None
        if texts:
            share = _looked_up(_positions(values), labels)
        else:
            numbers = np.asarray(values.cast(pa.float64(), safe=False).fill_null(np.nan))
            missing = np.isnan(numbers)
            share = max(_cut(np.where(missing, end, numbers), labels) for end in (-np.inf, np.inf))
        return Told(share, classes=True) if share >= _NEARLY else None

    def is_in_order_of(self, values: pa.ChunkedArray) -> bool:
        """Return whether the mean label only rises, or only falls, from value to value."""
        values = values if self.there is None else values.filter(self.there)
        labels = self.numbers if self.classes is None else self.classes
        if labels is None or values.null_count:
            return False
        numbers = np.asarray(values.cast(pa.float64(), safe=False))
        _, position = np.unique(numbers, return_inverse=True)
        means = np.bincount(position, weights=labels) / np.bincount(position)
        steps = np.diff(means)
        return len(means) > 3 and bool((steps > 0).all() or (steps < 0).all())


def _looked_up(position: IntArray, label: IntArray) -> float:
    """Return how right it is to say of each text the class that it is more common in."""
    if int(position.max()) >= _FEW:
        return 0.0
    shares = [
        np.bincount(position[label == each], minlength=_FEW) / max(1, np.sum(label == each))
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


def _explained(values: pa.ChunkedArray, label: FloatArray, *, texts: bool) -> float:
    """Return the share of the variance of a number that a column explains by itself."""
    spread = label - label.mean()
    if not spread.any():
        return 0.0
    if texts:
        position = _positions(values)
        if int(position.max()) >= _FEW:
            return 0.0
        sums, counts = np.bincount(position, weights=spread), np.bincount(position)
        return float((sums**2 / counts).sum() / (spread @ spread))
    if values.null_count:
        return 0.0
    numbers = np.asarray(values.cast(pa.float64(), safe=False))
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


def _tells_classes(position: IntArray, label: IntArray, numbers: FloatArray | None) -> bool:
    """Return whether a column tells which of two classes every row has.

    It does if rows of equal values have equal labels and there are at most half as many values as
    rows, or if all numbers of one class are above all of the other.
    """
    if len(label) < _FEWEST_ROWS:
        return False
    if _contradicts(position, label):
        return False
    return 2 * (int(position.max()) + 1) <= len(label) or (
        numbers is not None and _apart(numbers, label)
    )


def _apart(numbers: FloatArray, label: IntArray) -> bool:
    """Return whether all numbers of one class are above all of the other."""
    zero, one = numbers[label == 0], numbers[label == 1]
    return bool(zero.max() < one.min() or one.max() < zero.min())


def _bins(numbers: FloatArray, label: FloatArray) -> bool:
    """Return whether a column says in which of some classes of numbers the label is: deciles, say.

    It does if it only rises or only falls with the label, and takes three values or more.
    """
    if len(label) < _FEWEST_ROWS:
        return False
    order = np.argsort(label, kind="stable")
    steps, apart = np.diff(numbers[order]), np.diff(label[order]) > 0
    one_way = bool((steps >= 0).all() or (steps <= 0).all())
    return one_way and not steps[~apart].any() and int(np.count_nonzero(steps)) >= _FEWEST_STEPS


def _tells_numbers(numbers: FloatArray, label: FloatArray) -> bool:
    """Return whether a column of numbers is the label in another unit."""
    if len(label) < _FEWEST_ROWS:
        return False
    with np.errstate(over="ignore", invalid="ignore"):  # then nothing is said
        one, other = numbers - numbers.mean(), label - label.mean()
        size = np.sqrt(one @ one) * np.sqrt(other @ other)
        return bool(size > 0 and abs(one @ other) > (1 - 1e-9) * size)
