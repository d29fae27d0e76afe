"""What doubles leave open, in rational arithmetic: the same evaluations, and nothing rounds.

Doubles are integers over powers of two. So is a solution that the file gives in doubles; where a
claim is a matter of a hair, or of none, the file gives one in fractions, whose residual is 0. The
largest effects are taken by Python's own sort: of integers it is shorter than any proof.

Two kinds of solutions take no regular equations. **Ridge** has z_i = s_i φ_i·w if the residual ρ
has no part for the intercept, and X·ρ is constant (0 without an intercept): the coefficients, of
least penalty or of least norm, are orthogonal to such directions, so that x and x - ρ have the same
score. **Kernel ridge** with alpha 0 has z = K u if K (Kᵀz - k) = 0: of all vectors for which Kᵀz is
next to k, the one of least norm is a sum of columns of K.
"""

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from unswayed.verify.budget import Case, Moves, up
from unswayed.verify.data import Given
from unswayed.verify.doubles import (
    MOST_EXACT_BITS,
    FloatArray,
    Integers,
    UnprovenError,
    groups_of_parts,
    lowest,
    whole,
)
from unswayed.verify.facts import COLUMNS, DOWN, UNKNOWN, UP, Ends, Facts


def is_unseen(given: Given, direction: Integers) -> bool:
    """Return whether X times a direction is constant, and 0 without an intercept."""
    used = np.flatnonzero(direction)
    rows = given.train[np.ix_(given.weights > 0, used)]
    low, seen = lowest(rows), set()
    for part in groups_of_parts(len(rows)):
        seen.update(whole(rows[part], low).dot(direction[used]).tolist())
    return len(seen) == 1 and (given.intercept or seen == {0})


def root_above(number: Fraction) -> Fraction:
    """Return a fraction that is no less than the square root of another, and hardly more."""
    above, below = number.numerator << 256, number.denominator
    return Fraction(math.isqrt(above * below) + bool(above), below << 128)


@dataclass(frozen=True, slots=True)
class ExactInfluence:
    """What each label does to a score: `numerators` times `unit`.

    A change δ of the labels moves the score by that, up to drift·Σ|δ_i| + spread·√(Σ s_i δ_i²).
    """

    numerators: list[int]
    unit: Fraction
    drift: Fraction = Fraction(0)
    spread: Fraction = Fraction(0)


class RationalRows:
    """Facts about single rows, coefficients or contrasts, in rational arithmetic."""

    def __init__(self, given: Given, inverse: float) -> None:
        self._given, self._inverse, self._low = given, inverse, lowest(given.train)
        low, ends = lowest(given.weights), np.stack((given.labels, given.lower, given.upper))
        self._weights, self._weight_unit = whole(given.weights, low), Fraction(1, 1 << -low)
        low = lowest(ends)
        self._labels, self._lower, self._upper = whole(ends, low).tolist()
        self._unit, self._label_unit = Fraction(1, 1 << -self._low), Fraction(1, 1 << -low)

    def influence(self, subject: FloatArray, solution: Sequence[Fraction]) -> ExactInfluence:
        """Return the influence of labels on one score, given an approximate or exact solution."""
        given, common = self._given, math.lcm(*(each.denominator for each in solution))
        made = np.array([int(each * common) for each in solution], dtype=object)
        longest = max((each.bit_length() for each in made), default=0) + common.bit_length()
        if longest * len(given.labels) > MOST_EXACT_BITS:
            raise UnprovenError("the solution in fractions is too long")
        if given.kind == "smoother":
            low = lowest(subject)
            found = ExactInfluence(whole(subject, low).tolist(), Fraction(1, 1 << -low))
        else:
            makes = self._ridge if given.kind == "ridge" else self._kernel
            found = makes(subject, made, Fraction(1, common))
        return self._centred(found) if given.balanced else found

    def _centred(self, found: ExactInfluence) -> ExactInfluence:
        """Return the same for a score that is measured from the weighted mean of the labels."""
        total, (above, below) = self._weights.sum(), found.unit.as_integer_ratio()
        pairs = zip(found.numerators, self._weights, strict=True)
        numerators = [number * above * total - weight * below for number, weight in pairs]
        return ExactInfluence(numerators, Fraction(1, below * total), found.drift, found.spread)

    def _ridge(self, subject: FloatArray, solution: Integers, unit: Fraction) -> ExactInfluence:
        given, width = self._given, self._given.train.shape[1]
        if len(solution) != len(subject):
            raise UnprovenError("a solution has another length")
        numerators: list[int] = []
        sums = np.zeros(len(subject), dtype=object)
        for part in groups_of_parts(len(given.train)):
            ones = np.full((len(given.train[part]), len(subject) - width), 1.0)
            rows = whole(np.column_stack((given.train[part], ones)), self._low)
            made = self._weights[part] * rows.dot(solution)
            sums = sums + made.dot(rows)
            numerators.extend(made.tolist())
        alpha, scale = Fraction(given.alpha), self._unit**2 * self._weight_unit * unit
        pairs = zip(subject.tolist(), sums, strict=True)
        rest = [Fraction(x) - scale * total for x, total in pairs]
        last = rest.pop() if given.intercept else Fraction(0)
        rest = [each - alpha * unit * w for each, w in zip(rest, solution, strict=False)]
        common = math.lcm(*(each.denominator for each in rest))
        direction = np.array([int(each * common) for each in rest], dtype=object)
        found = ExactInfluence(numerators, self._unit * self._weight_unit * unit)
        if not last and is_unseen(given, direction):
            return found
        if not alpha:
            raise UnprovenError("its solution is not exact")
        # A bound on √(ρᵀK⁻¹ρ) as in `linear`; a mean is at most the largest entry of its column.
        most = map(Fraction, np.abs(given.train).max(axis=0).tolist())
        squares = sum((abs(r) + mean * abs(last)) ** 2 for r, mean in zip(rest, most, strict=True))
        squares = squares / alpha + last**2 / (self._weights.sum() * self._weight_unit)
        return replace(found, spread=root_above(squares))

    def _kernel(self, subject: FloatArray, solution: Integers, unit: Fraction) -> ExactInfluence:
        given, used = self._given, np.flatnonzero(self._given.weights)
        if len(solution) != len(used):
            raise UnprovenError("a solution has another length")
        kernel = whole(given.train[np.ix_(used, used)], self._low)
        if self._inverse == math.inf:
            solution, unit = kernel @ solution, unit * self._unit
        alpha, weights = Fraction(given.alpha), given.weights[used].tolist()
        terms = zip(subject[used].tolist(), kernel.T @ solution, solution, weights, strict=True)
        rest = [
            Fraction(k) - unit * (self._unit * total + number * alpha / Fraction(s))
            for k, total, number, s in terms
        ]
        drift = Fraction(0)
        if self._inverse < math.inf:
            drift = Fraction(self._inverse) * max(map(abs, rest))
        elif alpha or len(set(weights)) > 1 or any(kernel @ np.array(rest, dtype=object)):
            raise UnprovenError("its solution is not exact")
        numerators = np.zeros(len(given.labels), dtype=object)
        numerators[used] = solution
        return ExactInfluence(numerators.tolist(), unit, drift)

    def facts(
        self, found: ExactInfluence, amounts: Sequence[Any], moves: Moves | None,
        cases: dict[int, list[Case]] | None = None,
    ) -> Facts:  # fmt: skip
        """Return what is known of one score, for some amounts and for the labels of a witness."""
        reach: dict[tuple[int, int], Ends] = {}
        unit, budget = found.unit * self._label_unit, self._given.budget
        ends = list(zip(found.numerators, self._lower, self._upper, strict=True))
        scale = self._label_unit if budget.kind == "total" else 1
        for way in (UP, DOWN):
            values = [max(way * z * low, way * z * high) for z, low, high in ends]
            lengths = [high if way * z > 0 else -low for z, low, high in ends]
            items = budget.items(values, lengths)
            for which, amount in enumerate(amounts):
                total = budget.filled(items, Fraction(amount) / scale)
                if tree := (cases or {}).get(COLUMNS.index((way, which))):
                    total = min(total, budget.in_cases(values, amount, tree, exactly=True))
                doubt = self._doubt(found, amount)
                least = 0 if budget.kind == "cost" else max(total * unit - doubt, Fraction(0))
                reach[way, which] = (Fraction(least), total * unit + doubt)
        steps: list[Any] = [0] * len(self._labels)
        for at, end, share in moves.steps(self._lower, self._upper) if moves is not None else ():
            steps[at] = end * Fraction(share)
        shift = UNKNOWN if moves is None else self._moved(found, steps)
        return Facts(self._moved(found, self._labels), reach, shift)

    def _moved(self, found: ExactInfluence, changes: Sequence[Any]) -> Ends:
        """Return bounds on how far changes of the labels move a score; or on that of labels."""
        total = sum(map(operator.mul, found.numerators, changes)) * found.unit
        lost = found.drift * sum(map(abs, changes))
        if found.spread:
            squares = sum(s * d * d for s, d in zip(self._weights, changes, strict=True))
            lost += found.spread * root_above(squares * self._weight_unit)
        return (total - lost) * self._label_unit, (total + lost) * self._label_unit

    def _doubt(self, found: ExactInfluence, amount: Any) -> Fraction:
        """Return how far an amount can move a score otherwise than by the effects of labels."""
        if not found.spread and not found.drift:
            return Fraction(0)
        far = [max(-low, high) for low, high in zip(self._lower, self._upper, strict=True)]
        squares = (s * d * d for s, d in zip(self._weights, far, strict=True))
        count = int(min(self._given.budget.labels(np.array([up(amount)]))[0], len(far)))
        drift, square = (sum(sorted(each, reverse=True)[:count]) for each in (far, squares))
        lost = found.drift * drift + found.spread * root_above(square * self._weight_unit)
        return Fraction(lost * self._label_unit)
