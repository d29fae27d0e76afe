"""Exact answers in rational arithmetic: what doubles leave open is settled here.

All inputs are doubles, and doubles are rational numbers, so that scores, reaches and minimum
budgets are rational numbers too, and comparing them is exact.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property

import numpy as np

from unswayed._core.dyadic import Dyadic, power_of_two, whole_sums
from unswayed._core.influence import distinct_rows, merge_rows
from unswayed._typing import FloatArray, IntArray, Matrix
from unswayed.exceptions import InputError
from unswayed.labels.bias import ResolvedBias
from unswayed.labels.budgets import Budget, Move
from unswayed.margins.decisions import ExactLimits
from unswayed.models.learner import InfluenceRow, Specification


class RationalEngine:
    """Ranges, minimum budgets and smallest label changes of one model, exactly.

    Examples
    --------
    The paper's example: z = (-1, 2), y = (3, 4), either label off by at most 1, one at a time.

    >>> from unswayed.labels.budgets import Count
    >>> from unswayed.models.learner import SmootherSpecification
    >>> bias = ResolvedBias(np.array([-1.0, -1.0]), np.array([1.0, 1.0]), Count(1))
    >>> engine = RationalEngine(SmootherSpecification(), bias, np.array([3.0, 4.0]))
    >>> row = next(engine.rows(np.array([[-1.0, 2.0]])))
    >>> [str(each) for each in (row.score, *row.reach(Count(1)))]
    ['5', '2', '2']
    """

    def __init__(
        self, specification: Specification, bias: ResolvedBias, targets: FloatArray
    ) -> None:
        n_rows = len(targets)
        self.bias = bias
        self.influence = specification.exact(n_rows)
        weight = specification.weights(n_rows)
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
        keys = [self.influence.group, weight]
        apart = self.bias.budget.apart(self.bias.lower, self.bias.upper, weight)
        first, group = distinct_rows(np.column_stack(keys if apart is None else [*keys, apart]))
        self.entries = merge_rows(lower, upper, group, first)
        low, high = Dyadic.of(self.entries.lower), Dyadic.of(self.entries.upper)
        unit = min(low.least(), high.least())
        factors = [self.whole_weights[row] for row in self.entries.rows.tolist()]
        self.falls = [w * o for w, o in zip(factors, low.over(unit), strict=True)]
        self.rises = [w * o for w, o in zip(factors, high.over(unit), strict=True)]
        self.offset_unit = power_of_two(weight_low + unit)
        self.entry_group = self.influence.group[self.entries.rows].tolist()

    def rows(self, represented: Matrix) -> Iterator["ExactRow"]:
        """Return the exact scores of rows, and what label changes can do to them."""
        return (ExactRow(self, each) for each in self.influence.rows(represented))

    def coefficients(self, which: IntArray | None = None) -> Iterator["ExactRow"]:
        """Return the exact coefficients of the model, and what label changes can do to them."""
        return (ExactRow(self, each) for each in self.influence.coefficients(which))

    def combinations(self, weights: Matrix) -> Iterator["ExactRow"]:
        """Return exact combinations of coefficients and how far label changes move them."""
        return (ExactRow(self, each) for each in self.influence.combinations(weights))


class ExactRow:
    """One score, and what label changes can do to it."""

    def __init__(self, engine: RationalEngine, influence: InfluenceRow) -> None:
        self._engine = engine
        self._numerators = influence.numerators
        self._unit = influence.scale * engine.offset_unit
        total = sum(u * m for u, m in zip(influence.numerators, engine.moments, strict=True))
        self.score: Fraction = influence.scale * engine.moment_unit * total

    def _strengths(self, sign: int) -> list[Move]:
        """Return what single labels can do, strongest first, without those that can do nothing."""
        engine, entries = self._engine, self._engine.entries
        found = []
        for entry, group in enumerate(engine.entry_group):
            signed = sign * self._numerators[group]
            if signed > 0:
                value, count = signed * engine.rises[entry], int(entries.n_upper[entry])
                offset = float(entries.upper[entry])
            else:
                value, count = signed * engine.falls[entry], int(entries.n_lower[entry])
                offset = -float(entries.lower[entry])
            if value:
                found.append(Move(value, count, entry, int(entries.rows[entry]), offset))
        return sorted(found, key=lambda each: -each.value)

    @cached_property
    def _ranked(self) -> dict[int, list[Move]]:
        return {sign: self._strengths(sign) for sign in (+1, -1)}

    def reach(self, budget: Budget) -> tuple[Fraction, Fraction]:
        """Return how far a budget can raise and lower the score."""
        return self._reach(+1, budget), self._reach(-1, budget)

    def _reach(self, sign: int, budget: Budget) -> Fraction:
        return budget.reach_exactly(self._ranked[sign]) * self._unit

    def _directions(self, limits: ExactLimits) -> list[tuple[float, int]]:
        """Return least budget and negated sign per direction, sorted; of equal ones, up first."""
        kind = self._engine.bias.budget
        goals = limits.goals(self._unit) if kind.summed else limits.ends(self._unit)
        return sorted(
            (kind.least_exactly(self._ranked[sign], goal), -sign) for sign, goal in goals.items()
        )

    def minimum_budget(self, limits: ExactLimits) -> float:
        """Return the least budget of the bias's kind that overturns the row; inf if none does."""
        return min((needed for needed, _ in self._directions(limits)), default=math.inf)

    def overturned(self, limits: ExactLimits, budget: Budget) -> bool:
        """Return whether a budget overturns the prediction."""
        return any(limits.crossed(sign, self._reach(sign, budget)) for sign in (+1, -1))

    def changes(self, limits: ExactLimits, budget: Budget) -> tuple[IntArray, FloatArray, Fraction]:
        """Return the smallest set of label changes within a budget that overturns the prediction.

        Of equally strong labels those with the lowest row numbers are taken.
        """
        if not self.overturned(limits, budget):
            raise InputError("no set of label changes within the budget overturns this row")
        needed, against = min(self._directions(limits))
        # Of amounts that are not whole, a little more than the least, but not beyond the budget.
        sign, least = -against, budget.sized(min(budget.comfortable(needed), budget.amount))
        chosen = least.choose_exactly(
            self._ranked[sign], lambda move: self._members(move.entry, sign)
        )
        rows = np.array([row for row, _ in chosen], dtype=np.intp)
        offsets = np.array([self._offset(row, sign) * float(share) for row, share in chosen])
        return rows, offsets, sign * self._reach(sign, least)

    def _way(self, group: int, sign: int) -> int:
        """Return a number whose sign is the direction in which labels of a group must move."""
        return sign * self._numerators[group]

    def _members(self, entry: int, sign: int) -> list[int]:
        way = self._way(self._engine.entry_group[entry], sign)
        members: list[int] = self._engine.entries.members(entry, way).tolist()
        return members

    def _offset(self, row: int, sign: int) -> float:
        engine = self._engine
        way = self._way(int(engine.influence.group[row]), sign)
        return float((engine.bias.upper if way > 0 else engine.bias.lower)[row])
