"""Rows and sums of rows in integers of any size."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from unswayed.verify.collective.bounded import SHARES, BoolArray, Levels
from unswayed.verify.collective.known import Measured
from unswayed.verify.data import Bias, Data
from unswayed.verify.exact import ExactModel
from unswayed.verify.floating.rounding import IntArray
from unswayed.verify.integers import Track


class ExactRows:
    """The same as `BoundedRows`, without rounding."""

    def __init__(self, document: dict[str, Any], data: Data, bias: Bias, track: Track) -> None:
        self._model = ExactModel(document, data, bias, track)

    def each(self, numbers: Sequence[int]) -> Iterator[Measured | None]:
        """Yield what is true of test rows."""
        for number in numbers:
            yield self._model.facts(number)

    def combined(self, numbers: Sequence[int], factors: Sequence[Fraction]) -> Measured:
        """Return what is true of a sum of scores, each times a factor."""
        return self._model.combined(numbers, factors)

    def exclusive(self, events: Levels, pairs: IntArray) -> BoolArray:
        """Return which pairs of events are proven to exclude each other."""
        return np.array([self._excludes(events, pair) for pair in pairs.tolist()], dtype=bool)

    def _excludes(self, events: Levels, pair: list[int]) -> bool:
        numbers = events.rows[pair].tolist()
        signs, levels = (list(map(Fraction, each[pair].tolist())) for each in
                         (events.signs, events.levels))  # fmt: skip
        scale = events.scale[pair].tolist()
        for share in SHARES:
            parts = [Fraction(share / scale[0]), Fraction((1 - share) / scale[1])]
            needed = parts[0] * levels[0] + parts[1] * levels[1]
            moved = self._model.combined(numbers, [parts[0] * signs[0], parts[1] * signs[1]])
            if moved.reach(1)[1] < needed:
                return True
        return False
