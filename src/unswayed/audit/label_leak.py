"""Label leak: columns that tell the label of every row, as nothing can that was known before."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unswayed._typing import FloatArray, IntArray
from unswayed.cells import is_number, is_text

_FEWEST_ROWS = 20  # fewer can be told by chance
_FEWEST_STEPS = 2  # fewer, and a column of yes and no may well follow a number
_FIRST = 500  # rows looked at before all are: most columns have contradicted themselves by then


@dataclass(frozen=True, slots=True, eq=False)
class Label:
    """The label column, to compare others with.

    Attributes
    ----------
    there : pyarrow.ChunkedArray or None
        Which rows have a label; None if all do.
    classes : (n,) int array or None
        0 and 1 for two classes; None if there are not two.
    numbers : (n,) array or None
        The labels, if they are more than two numbers.
    """

    there: Any
    classes: IntArray | None
    numbers: FloatArray | None

    @classmethod
    def of(cls, values: pa.ChunkedArray) -> "Label":
        """Prepare a column.

        Parameters
        ----------
        values : pyarrow.ChunkedArray
            NaN being null.

        Returns
        -------
        Label
        """
        there = pc.is_valid(values) if values.null_count else None
        values = values if there is None else values.filter(there)
        distinct = pc.unique(values)
        classes = numbers = None
        if len(distinct) == 2:
            classes = np.asarray(pc.index_in(values, value_set=distinct))
        elif len(distinct) > 2 and is_number(values.type):
            numbers = np.asarray(values.cast(pa.float64(), safe=False))
        return cls(there, classes, numbers)

    def is_told_by(self, values: pa.ChunkedArray) -> bool:
        """Return whether a column tells the label of every row that has one.

        Parameters
        ----------
        values : pyarrow.ChunkedArray
            Cells of the column, NaN being null.

        Returns
        -------
        bool
            For classes, True if rows of equal cells have equal labels and there are at most half as
            many different cells as rows, or if all numbers of one class are above those of the
            other. For numbers, True if the column is the label in another unit, or its classes.
        """
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
