"""What doubles leave open, in rational arithmetic: the same evaluations, and nothing rounds.

Doubles are integers over powers of two. So is a solution that the file gives in doubles; where a
claim is a matter of a hair, or of none, the file gives one in fractions, whose residual is 0.

Two kinds of solutions take no regular equations. **Ridge** has z_i = s_i φ_i·w if the residual ρ
has no part for the intercept, and X·ρ is constant (0 without an intercept): the coefficients, of
least penalty or of least norm, are orthogonal to such directions, so that x and x - ρ have the same
score. **Kernel ridge** with alpha 0 has z = K u if K (Kᵀz - k) = 0: of all vectors for which Kᵀz is
next to k, the one of least norm is a sum of columns of K.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import compress
from typing import Any

import numpy as np

from unswayed.verify.doubles import FloatArray, UnprovenError, groups_of_parts
from unswayed.verify.facts import DOWN, UNKNOWN, UP, Ends, Facts, Moves
from unswayed.verify.given import Given
from unswayed.verify.limits import MOST_EXACT_BITS, CertificateError

Integers = Any  # an array of integers of any size
Ways = Sequence[tuple[int, int]]
_MOST_STEPS = 64  # from one distinct effect to the next


def lowest(numbers: FloatArray) -> int:
    """Return the exponent of a power of two, 1 at most, that doubles are multiples of."""
    if not numbers.size:
        return 0
    fractions, powers = np.frexp(numbers)
    digits = np.ldexp(fractions, 53).astype(np.int64)
    zeros = np.frexp((digits & -digits).astype(np.float64))[1] - 1
    found = np.where(digits == 0, 0, powers - 53 + zeros)
    low = min(0, int(found.min()))
    if (int(powers.max()) - low) * numbers.size > MOST_EXACT_BITS:
        raise UnprovenError("sizes differ by too much for exact arithmetic")
    return low


def whole(numbers: FloatArray, low: int) -> Integers:
    """Return doubles as integers: times 2 to the power of -`low`."""
    fractions, powers = np.frexp(numbers)
    digits = np.ldexp(fractions, 53).astype(np.int64).astype(object)
    shift = powers.astype(np.int64) - 53 - low
    return np.where(
        shift >= 0,
        digits << np.maximum(shift, 0).astype(object),
        digits >> np.maximum(-shift, 0).astype(object),
    )


def exact_products(rows: FloatArray, factors: FloatArray) -> list[int]:
    """Return rows times a vector, up to one power of two, without any rounding."""
    low, weights = lowest(rows), whole(factors, lowest(factors))
    found: list[int] = []
    for part in groups_of_parts(len(rows)):
        found.extend(whole(rows[part], low) @ weights if len(factors) else [0] * len(rows[part]))
    return found


def power_of_two(exponent: int) -> Fraction:
    """Return a power of two."""
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


def root_above(number: Fraction) -> Fraction:
    """Return a fraction that is no less than the square root of another, and hardly more."""
    if not number:
        return Fraction(0)
    above, below = number.numerator << 256, number.denominator
    return Fraction(math.isqrt(above * below) + 1, below << 128)


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
        self._given, self._inverse = given, inverse
        self._low = lowest(given.train)
        self._weight_low = lowest(given.weights)
        self._weights: list[int] = whole(given.weights, self._weight_low).tolist()
        self._label_low = min(map(lowest, (given.labels, given.lower, given.upper)))
        self._labels, self._lower, self._upper = (
            whole(each, self._label_low).tolist()
            for each in (given.labels, given.lower, given.upper)
        )
        self._label_unit = power_of_two(self._label_low)

    def influence(self, subject: FloatArray, solution: Sequence[Fraction]) -> ExactInfluence:
        """Return the influence of labels on one score, given an approximate or exact solution."""
        given = self._given
        common = math.lcm(*(each.denominator for each in solution))
        scaled = [each.numerator * (common // each.denominator) for each in solution]
        longest = max((each.bit_length() for each in scaled), default=0) + common.bit_length()
        if longest * len(given.labels) > MOST_EXACT_BITS:
            raise UnprovenError("the solution in fractions is too long")
        if given.kind == "smoother":
            low = lowest(subject)
            found = ExactInfluence(whole(subject, low).tolist(), power_of_two(low))
        elif given.kind == "ridge":
            found = self._ridge(subject, scaled, common)
        else:
            found = self._kernel(subject, scaled, common)
        return self._centred(found) if given.balanced else found

    def _centred(self, found: ExactInfluence) -> ExactInfluence:
        """Return the same for a score that is measured from the weighted mean of the labels."""
        total, (above, below) = sum(self._weights), found.unit.as_integer_ratio()
        numerators = [
            number * above * total - weight * below
            for number, weight in zip(found.numerators, self._weights, strict=True)
        ]
        return ExactInfluence(numerators, Fraction(1, below * total), found.drift, found.spread)

    # --- ridge ------------------------------------------------------------------------------

    def _ridge(self, subject: FloatArray, solution: list[int], common: int) -> ExactInfluence:
        given, width = self._given, self._given.train.shape[1]
        if len(solution) != len(subject):
            raise UnprovenError("a solution has another length")
        products, sums = self._sums(np.array(solution, dtype=object))
        numerators = list(map(int.__mul__, self._weights, products))
        unit = power_of_two(self._low + self._weight_low) / common
        alpha = Fraction(given.alpha)
        rest = [
            Fraction(x) - power_of_two(self._low) * unit * total - alpha * Fraction(w, common)
            for x, total, w in zip(subject[:width].tolist(), sums, solution, strict=False)
        ]
        last = Fraction(0)
        if given.intercept:
            last = Fraction(float(subject[-1])) - unit * sum(numerators)
        if not last and (not any(rest) or self._is_unseen(rest)):
            return ExactInfluence(numerators, unit)
        if not alpha:
            raise UnprovenError("its solution is not exact")
        return ExactInfluence(numerators, unit, spread=self._spread(rest, last, alpha))

    def _spread(self, rest: list[Fraction], last: Fraction, alpha: Fraction) -> Fraction:
        """Return a bound on √(ρᵀK⁻¹ρ); see `linear`."""
        squares = Fraction(0)
        if self._given.intercept:
            total = sum(self._weights)
            rest = [each - mean * last for each, mean in zip(rest, self._means, strict=True)]
            squares = last**2 / (total * power_of_two(self._weight_low))
        return root_above(sum((each**2 for each in rest), Fraction(0)) / alpha + squares)

    @cached_property
    def _means(self) -> list[Fraction]:
        """Weighted means of the columns."""
        totals = np.zeros(self._given.train.shape[1], dtype=object)
        for part in groups_of_parts(len(self._weights)):
            numbers = whole(self._given.train[part], self._low)
            totals += np.array(self._weights[part], dtype=object) @ numbers
        return [Fraction(each, sum(self._weights)) * power_of_two(self._low) for each in totals]

    def _sums(self, solution: Integers) -> tuple[list[int], list[int]]:
        """Return φ_i·w for every training row, and Σ s_i x_i (φ_i·w)."""
        train, width = self._given.train, self._given.train.shape[1]
        constant = int(solution[-1]) << -self._low if self._given.intercept else 0
        products: list[int] = []
        totals = np.zeros(width, dtype=object)
        for part in groups_of_parts(len(train)):
            numbers = whole(train[part], self._low)
            made = (numbers @ solution[:width] if width else np.zeros(len(numbers), int)) + constant
            weighted = np.array(self._weights[part], dtype=object) * made
            totals = totals + (weighted @ numbers if width else 0)
            products.extend(made.tolist())
        return products, totals.tolist()

    def _is_unseen(self, direction: list[Fraction]) -> bool:
        """Return whether X times a direction is constant, and 0 without an intercept."""
        common = math.lcm(*(each.denominator for each in direction))
        factors = np.array([int(each * common) for each in direction], dtype=object)
        seen: set[int] = set()
        for part in groups_of_parts(len(self._weights)):
            values = (whole(self._given.train[part], self._low) @ factors).tolist()
            seen.update(compress(values, self._weights[part]))
        return len(seen) == 1 if self._given.intercept else seen == {0}

    # --- kernel ridge -----------------------------------------------------------------------

    def _kernel(self, subject: FloatArray, solution: list[int], common: int) -> ExactInfluence:
        given, used = self._given, np.flatnonzero(self._given.weights)
        if len(solution) != len(used):
            raise UnprovenError("a solution has another length")
        kernel = whole(given.train[np.ix_(used, used)], self._low)
        z, unit = np.array(solution, dtype=object), Fraction(1, common)
        if self._inverse == math.inf:
            z, unit = kernel @ z, unit * power_of_two(self._low)
        made = (kernel.T @ z).tolist()
        alpha, weights = Fraction(given.alpha), given.weights[used].tolist()
        rest = [
            Fraction(k) - unit * (power_of_two(self._low) * total + number * alpha / Fraction(s))
            for k, total, number, s in zip(subject[used].tolist(), made, z, weights, strict=True)
        ]
        drift = Fraction(0)
        if self._inverse < math.inf:
            drift = Fraction(self._inverse) * max(map(abs, rest))
        elif alpha or len(set(weights)) > 1 or any(kernel @ np.array(rest, dtype=object)):
            raise UnprovenError("its solution is not exact")
        numerators = [0] * len(given.labels)
        for at, number in zip(used.tolist(), z, strict=True):
            numerators[at] = int(number)
        return ExactInfluence(numerators, unit, drift)

    # --- selections -------------------------------------------------------------------------

    def facts(
        self, found: ExactInfluence, asked: dict[tuple[int, int], tuple[float, float]],
        moves: Moves | None,
    ) -> Facts:  # fmt: skip
        """Return what is known of one score.

        `asked` has the number of labels and the threshold for each way and each such number.
        """
        score = sum(map(int.__mul__, found.numerators, self._labels)) * found.unit
        lost = found.spread * root_above(self._squares(self._labels)) if found.spread else 0
        lost += found.drift * sum(map(abs, self._labels))
        unit, lost = found.unit * self._label_unit, lost * self._label_unit
        score *= self._label_unit
        reach: dict[tuple[int, int], Ends] = {}
        for way in (UP, DOWN):
            effects = self._effects(found, way)
            for (other, which), (count, threshold) in asked.items():
                if other == way:
                    size = int(min(count, len(effects)))
                    low, high = _largest(effects, size, Fraction(threshold) / unit)
                    doubt = self._doubt(found, count)
                    reach[way, which] = (max(low * unit - doubt, Fraction(0)), high * unit + doubt)
        shift = self._shift(found, moves) if moves is not None else UNKNOWN
        return Facts((score - lost, score + lost), reach, shift)

    def _effects(self, found: ExactInfluence, way: int) -> list[int]:
        """Return how far single labels move the score, those that do."""
        ends = zip(found.numerators, self._lower, self._upper, strict=True)
        made = (max(way * number * low, way * number * high) for number, low, high in ends)
        return [each for each in made if each > 0]

    def _squares(self, changes: Sequence[int]) -> Fraction:
        """Return Σ s_i δ_i², in the units of the labels."""
        total = sum(s * d * d for s, d in zip(self._weights, changes, strict=True))
        return total * power_of_two(self._weight_low)

    def _doubt(self, found: ExactInfluence, count: float) -> Fraction:
        """Return how far labels can move a score otherwise than by their effects."""
        if not found.spread and not found.drift:
            return Fraction(0)
        far = [max(-low, high) for low, high in zip(self._lower, self._upper, strict=True)]
        count = min(int(min(count, len(far))), len(far))
        drift = found.drift * min(count * max(far), sum(far))
        most = max(s * d * d for s, d in zip(self._weights, far, strict=True))
        squares = min(count * most * power_of_two(self._weight_low), self._squares(far))
        lost: Fraction = (drift + found.spread * root_above(squares)) * self._label_unit
        return lost

    def _shift(self, found: ExactInfluence, moves: Moves) -> Ends:
        """Return bounds on how far labels that are named move a score."""
        total, doubt, squares = Fraction(0), Fraction(0), Fraction(0)
        for rows, end, shares in moves.parts():
            ends = self._upper if end else self._lower
            for place, at in enumerate(rows):
                step = ends[at] * (Fraction(1) if shares is None else Fraction(shares[place]))
                total += found.numerators[at] * step
                doubt += abs(step)
                squares += self._weights[at] * step * step
        lost = found.drift * doubt
        if found.spread:
            lost += found.spread * root_above(squares * power_of_two(self._weight_low))
        total, lost = total * found.unit * self._label_unit, lost * self._label_unit
        return total - lost, total + lost


def _largest(effects: list[int], count: int, threshold: Fraction) -> tuple[int, int]:
    """Return bounds on the sum of the largest effects, by the effect next to a threshold."""
    if count >= len(effects) or not count:
        total = sum(effects) if count else 0
        return total, total
    at = min(effects, key=lambda effect: abs(effect - threshold))
    for _ in range(_MOST_STEPS):
        above = [each for each in effects if each > at]
        n_most = len(above) + effects.count(at)
        if len(above) > count:
            at = min(above)
        elif n_most < count:
            at = max(each for each in effects if each < at)
        else:
            break
    at_most = count * at + sum(above) - len(above) * at
    return (at_most if len(above) <= count <= n_most else 0), at_most


def solution_of(
    hint: FloatArray, exact: list[str] | None, shift: FloatArray | None
) -> list[Fraction]:
    """Return a solution of the file: in fractions if it gives them, else in doubles.

    Those in doubles are for features less a `shift`, if there is one.
    """
    if exact is None:
        found = [Fraction(float(each)) for each in hint]
        if shift is not None and len(found) == len(shift) + 1:
            moved = zip(found, shift.tolist(), strict=False)
            found[-1] -= sum((each * Fraction(t) for each, t in moved), Fraction(0))
        return found
    try:
        below, *above = (int(each, 16) for each in exact)
        return [Fraction(each, below) for each in above]
    except (ValueError, ZeroDivisionError):
        raise CertificateError("a solution in fractions is malformed") from None
