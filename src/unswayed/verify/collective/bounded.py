"""Rows and sums of rows in floating point, with error bounds."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unswayed.verify.collective.known import Measured, nearest
from unswayed.verify.data import Bias, Data
from unswayed.verify.floating import FloatingModel, UnprovenError
from unswayed.verify.floating.enclosure import two_product, two_sum
from unswayed.verify.floating.facts import BoundedFacts
from unswayed.verify.floating.reach import furthest, prefixes
from unswayed.verify.floating.rounding import (
    SAFETY,
    TINY,
    UNIT,
    FloatArray,
    IntArray,
    is_ordinary,
)

BoolArray = NDArray[np.bool_]

_MOST_KEPT = 2**22  # influences of rows whose pairs are looked at
_BLOCK = 2**20  # influences of pairs at a time
_MOST_WORK = 3 * 10**9  # influences of pairs in all, for each of their sums


@dataclass(frozen=True, slots=True)
class Levels:
    """Events: labels move a row, times a sign, by at least a level."""

    rows: IntArray  # Test rows
    signs: FloatArray
    levels: FloatArray
    scale: FloatArray  # What events are divided by before two of them are added up


class BoundedRows:
    """Scores of test rows, and how far labels move sums of them."""

    def __init__(self, document: dict[str, Any], data: Data, bias: Bias) -> None:
        self._model, self._budget = FloatingModel(document, data, bias), bias.budget

    def each(self, numbers: Sequence[int]) -> Iterator[Measured | None]:
        """Yield what is known of test rows."""
        labels = min(self._budget, int(self._model.entries.count.sum()))
        yield from self._model.facts(numbers, [labels] * len(numbers))

    def combined(self, numbers: Sequence[int], factors: Sequence[Fraction]) -> Measured:
        """Return what is known of a sum of scores, each times a factor."""
        given = [float(factor) for factor in factors]
        if any(each != factor for each, factor in zip(given, factors, strict=True)):
            raise UnprovenError("a factor is not a double")
        n_entries = len(self._model.entries.count)
        high, low, doubt, size = np.zeros((4, n_entries))
        score = [Fraction(0), Fraction(0)]
        at = 0
        for influence, error, scores in self._model.influence(numbers):
            ends = np.stack(scores.ends())
            if not np.isfinite(ends).all():
                raise UnprovenError("a score is not known")
            for row, its_error, pair in zip(influence, error, ends.T.tolist(), strict=True):
                factor, exact = given[at], factors[at]
                at += 1
                with np.errstate(all="ignore"):
                    step, rest = two_product(np.full_like(row, factor), row)
                    high, lost = two_sum(high, step)
                    low += rest + lost
                    doubt += abs(factor) * its_error
                    size += np.abs(step)
                for end, number in enumerate(sorted(exact * Fraction(each) for each in pair)):
                    score[end] += number
        # What is lost of a step and of a sum is at most UNIT of their sizes; adding that up loses
        # as much of it again.
        terms = 2 * len(given) + 4
        with np.errstate(all="ignore"):
            influence_sum = high + low
            error_sum = (
                doubt * (1 + terms * UNIT)
                + 2 * UNIT * np.abs(influence_sum)
                + (terms * UNIT) ** 2 * size
            ) * SAFETY + terms * TINY
        return self._facts(influence_sum, error_sum, score)

    def _facts(self, influence: FloatArray, error: FloatArray, score: list[Fraction]) -> Measured:
        if not (np.isfinite(influence).all() and np.isfinite(error).all() and is_ordinary()):
            raise UnprovenError("a sum overflows")
        entries = self._model.entries
        labels = min(self._budget, int(entries.count.sum()))
        with np.errstate(all="ignore"):
            (falls,), (rises,) = (
                prefixes(sign * influence[None], error[None], entries, labels)
                for sign in (-1.0, 1.0)
            )
        ends = _outwards(score[0], -math.inf), _outwards(score[1], math.inf)
        return BoundedFacts(
            "regression", 0.0, ends, falls, rises, self._budget, influence, error, entries
        )

    def exclusive(self, events: Levels, pairs: IntArray) -> BoolArray:
        """Return which pairs of events are proven to exclude each other."""
        found = np.zeros(len(pairs), dtype=bool)
        n_entries = len(self._model.entries.count)
        kept = max(1, _MOST_KEPT // n_entries)
        distinct, place = np.unique(events.rows, return_inverse=True)
        blocks = list(self._model.influence(distinct[:kept].tolist()))
        if not blocks:
            return found
        influence, error = (np.concatenate([block[part] for block in blocks]) for part in (0, 1))
        left = np.flatnonzero((place[pairs] < kept).all(axis=1))[: _MOST_WORK // n_entries]
        for share in SHARES:
            left = left[~found[left]]
            for start in range(0, len(left), max(1, _BLOCK // n_entries)):
                here = left[start : start + max(1, _BLOCK // n_entries)]
                a, b = pairs[here].T
                with np.errstate(all="ignore"):
                    x, y = share / events.scale[a], (1 - share) / events.scale[b]
                    most = self._most(
                        (x * events.signs[a], influence[place[a]], error[place[a]]),
                        (y * events.signs[b], influence[place[b]], error[place[b]]),
                    )
                    one, other = x * events.levels[a], y * events.levels[b]
                    needed = one + other
                    slack = 4 * UNIT * (np.abs(one) + np.abs(other)) + TINY
                    found[here] = most < needed - slack * SAFETY  # never if something is NaN
        if not is_ordinary():
            raise UnprovenError("this thread no longer rounds to nearest")
        return found

    def _most(
        self,
        one: tuple[FloatArray, FloatArray, FloatArray],
        other: tuple[FloatArray, FloatArray, FloatArray],
    ) -> FloatArray:
        """Return upper bounds on how far labels move sums of two rows, each times a factor."""
        parts = [(x[:, None] * z, np.abs(x)[:, None] * e) for x, z, e in (one, other)]
        (step, doubt), (other_step, other_doubt) = parts
        error = doubt + other_doubt + 4 * UNIT * (np.abs(step) + np.abs(other_step))
        total = step + other_step
        return furthest(total, error * SAFETY + TINY, self._model.entries, self._budget)


SHARES = (0.5, 0.3, 0.7, 0.4, 0.6, 0.15, 0.85)
"""Of the first event in a sum of two, those that prove most pairs first."""


def _outwards(number: Fraction, end: float) -> float:
    """Return a double beside a fraction, on the side of an end."""
    return math.nextafter(nearest(number), end)
