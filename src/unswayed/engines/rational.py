"""Exact answers in rational arithmetic: what doubles leave open is settled here.

All inputs are doubles, and doubles are rational numbers, so that scores, reaches and minimum
budgets are rational numbers too, and comparing them is exact.
"""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from unswayed._core.compression import distinct_rows, merge_rows
from unswayed._core.dyadic import Dyadic, power_of_two, whole_sums
from unswayed._typing import FloatArray, IntArray, Matrix
from unswayed.bias import ResolvedBias
from unswayed.decisions import ExactLimits
from unswayed.engines.rational_influence import (
    InfluenceRow,
    RidgeInfluence,
    exact_influence,
    sample_weights,
)
from unswayed.exceptions import InputError
from unswayed.learners.definition import Definition


class _Strength(NamedTuple):
    """Labels of equal training rows, and what each of them can add to the score, in units."""

    value: int
    labels: int
    entry: int


class RationalEngine:
    """Ranges, minimum budgets and smallest label changes of one model, exactly.

    Parameters
    ----------
    definition : Definition
        The model; see there what each kind minimises.
    bias : ResolvedBias
    targets : (n,) array
        Training labels as numbers.

    Examples
    --------
    The paper's example: z = (-1, 2), y = (3, 4), either label off by at most 1, one at a time.

    >>> bias = ResolvedBias(np.array([-1.0, -1.0]), np.array([1.0, 1.0]), budget=1)
    >>> engine = RationalEngine(Definition("smoother"), bias, np.array([3.0, 4.0]))
    >>> row = next(engine.rows(np.array([[-1.0, 2.0]])))
    >>> [str(each) for each in (row.score, *row.reach(1))]
    ['5', '2', '2']
    """

    def __init__(self, definition: Definition, bias: ResolvedBias, targets: FloatArray) -> None:
        n_rows = len(targets)
        self.bias = bias
        self.influence = exact_influence(definition, n_rows)
        weight = sample_weights(definition, n_rows)
        weights, labels = Dyadic.of(weight), Dyadic.of(targets)
        weight_low, label_low = weights.least(), labels.least()
        self.whole_weights = weights.over(weight_low)
        products = [w * y for w, y in zip(self.whole_weights, labels.over(label_low), strict=True)]
        group = self.influence.group
        self.moments = whole_sums(products, group, self.influence.n_groups)
        self.moment_unit = power_of_two(weight_low + label_low)
        self._merge(weight, weight_low)

    def _merge(self, weight: FloatArray, weight_low: int) -> None:
        """Merge labels of equal features, weight and offsets; those of weight 0 never matter."""
        matters = weight > 0
        lower, upper = (
            np.where(matters, self.bias.lower, 0.0),
            np.where(matters, self.bias.upper, 0.0),
        )
        first, group = distinct_rows(np.column_stack((self.influence.group, weight)))
        self.entries = merge_rows(lower, upper, group, first)
        low, high = Dyadic.of(self.entries.lower), Dyadic.of(self.entries.upper)
        unit = min(low.least(), high.least())
        factors = [self.whole_weights[row] for row in self.entries.rows.tolist()]
        self.falls = [w * o for w, o in zip(factors, low.over(unit), strict=True)]
        self.rises = [w * o for w, o in zip(factors, high.over(unit), strict=True)]
        self.offset_unit = power_of_two(weight_low + unit)
        self.entry_group = self.influence.group[self.entries.rows].tolist()

    def rows(self, inputs: Matrix) -> Iterator["ExactRow"]:
        """Rows as the learner's `inputs` gives them: features, kernel rows or influence rows."""
        return (ExactRow(self, each) for each in self.influence.rows(inputs))

    def coefficients(self, which: Sequence[int] | IntArray | None = None) -> Iterator["ExactRow"]:
        """Coefficients of a ridge or least-squares model, by number; by default all."""
        if not isinstance(self.influence, RidgeInfluence):
            raise InputError("this model has no coefficients; ask about rows instead")
        if which is None:
            which = np.arange(self.influence.n_features)
        found = self.influence.coefficients(np.asarray(which, dtype=np.intp))
        return (ExactRow(self, each) for each in found)


class ExactRow:
    """One score, and what label changes can do to it.

    Attributes
    ----------
    score : Fraction
    """

    def __init__(self, engine: RationalEngine, influence: InfluenceRow) -> None:
        self._engine = engine
        self._numerators = influence.numerators
        self._unit = influence.scale * engine.offset_unit
        total = sum(u * m for u, m in zip(influence.numerators, engine.moments, strict=True))
        self.score: Fraction = influence.scale * engine.moment_unit * total

    def _strengths(self, sign: int) -> list[_Strength]:
        """What single labels can do, strongest first; nothing that does nothing."""
        engine, entries = self._engine, self._engine.entries
        found = []
        for entry, group in enumerate(engine.entry_group):
            signed = sign * self._numerators[group]
            if signed > 0:
                value, count = signed * engine.rises[entry], int(entries.n_upper[entry])
            else:
                value, count = signed * engine.falls[entry], int(entries.n_lower[entry])
            if value:
                found.append(_Strength(value, count, entry))
        return sorted(found, key=lambda each: -each.value)

    @cached_property
    def _ranked(self) -> dict[int, list[_Strength]]:
        return {sign: self._strengths(sign) for sign in (+1, -1)}

    def reach(self, budget: float) -> tuple[Fraction, Fraction]:
        """How far `budget` labels can raise and lower the score."""
        return self._reach(+1, budget), self._reach(-1, budget)

    def _reach(self, sign: int, budget: float) -> Fraction:
        total, left = 0, budget
        for value, count, _ in self._ranked[sign]:
            taken = int(min(count, left))
            total += taken * value
            left -= taken
            if left <= 0:
                break
        return total * self._unit

    def _needed(self, sign: int, goal: int) -> float:
        """Fewest labels that move the score by `goal` units; inf if all of them do not."""
        if goal <= 0:
            return 0.0
        used = 0
        for value, count, _ in self._ranked[sign]:
            if goal <= value * count:
                return float(used - (-goal // value))
            goal -= value * count
            used += count
        return math.inf

    def _directions(self, limits: ExactLimits) -> list[tuple[float, int]]:
        """Fewest labels and direction, the better first; of equal ones, up."""
        goals = limits.goals(self._unit)
        return sorted((self._needed(sign, goal), -sign) for sign, goal in goals.items())

    def minimum_budget(self, limits: ExactLimits) -> float:
        """Least number of labels that overturns the prediction; inf if all of them do not."""
        return min((needed for needed, _ in self._directions(limits)), default=math.inf)

    def overturned(self, limits: ExactLimits, budget: float) -> bool:
        """Whether `budget` labels overturn the prediction."""
        return self.minimum_budget(limits) <= budget

    def changes(self, limits: ExactLimits, budget: float) -> tuple[IntArray, FloatArray, Fraction]:
        """Smallest set of at most `budget` label changes that overturns the prediction.

        Returns the training rows, ascending, what is added to their labels, and how far that
        moves the score. Of equally strong labels those with the lowest row numbers are taken.
        """
        needed, against = min(self._directions(limits), default=(math.inf, -1))
        if needed > budget:
            raise InputError("no set of label changes within the budget overturns this row")
        chosen: list[tuple[int, float]] = []
        for equal in self._by_strength(-against):
            chosen += equal[: int(needed) - len(chosen)]
            if len(chosen) == needed:
                break
        chosen.sort()
        rows = np.array([row for row, _ in chosen], dtype=np.intp)
        offsets = np.array([offset for _, offset in chosen], dtype=np.float64)
        return rows, offsets, -against * self._reach(-against, needed)

    def _by_strength(self, sign: int) -> Iterator[list[tuple[int, float]]]:
        """Labels of equal strength with their offsets, strongest first, rows ascending."""
        ranked = self._ranked[sign]
        start = 0
        while start < len(ranked):
            stop = start
            labels: list[tuple[int, float]] = []
            while stop < len(ranked) and ranked[stop].value == ranked[start].value:
                labels += self._members(ranked[stop].entry, sign)
                stop += 1
            yield sorted(labels)
            start = stop

    def _members(self, entry: int, sign: int) -> list[tuple[int, float]]:
        engine = self._engine
        way = sign * self._numerators[engine.entry_group[entry]]
        offset = engine.bias.upper if way > 0 else engine.bias.lower
        return [(int(row), float(offset[row])) for row in engine.entries.members(entry, way)]
