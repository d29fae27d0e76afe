"""Sums of independent effects: bounds on how likely they exceed a margin, all rounding outwards.

`Sums.chernoff` takes one exponent t a row: every t proves a bound, so that only the evaluation at
the chosen one needs rigour. `Sums.convolved` knows the whole distribution by its characteristic
function: docs/guide/random.md has the theorems. NumPy's exp, log, sine and cosine and SciPy's
normal distribution are taken to be right to a relative 2^-48, far less than they promise.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from unswayed._core.rounding import SAFETY, UNIT, gamma, narrower, wider
from unswayed._typing import BoolArray, FloatArray

FARTHEST = 40.0
"""Standard deviations that no normal error exceeds, but with less than the least double."""

_AT_ONCE = 2**16  # numbers that stay in the cache
_ROUNDS = 8  # of Newton's method, from a start that is nearly right
_NEAR = 0.01  # of the logarithm of a bound: so little is left to gain
_LARGEST = {"points": 300.0, "uniform": 300.0, "normal": 24.0}  # t times an effect: no overflow
_FUNCTION = 2.0**-48  # relative error of one elementary function

_SMOOTHING = 0.01  # standard deviations: of the normal error that is added to the sum
_FACTOR = 0.15  # of the logarithm of a probability: so much each side may lose to smoothing
_LEAST = 1e-9  # rows whose bound is smaller are left to it: sums of waves have absolute errors
_WAVES = 2**14  # at most
_CHUNK = 64  # waves at a time
_CALM = 46.0  # logarithm of a wave that is as good as 0
_OUTSIDE = 1e-16  # of each side beyond the period


class Tails(NamedTuple):
    """What is known of P(sum > margin) for each row."""

    low: FloatArray
    high: FloatArray
    estimate: FloatArray
    exponent: FloatArray  # t of the Chernoff bound, below 0 where the margin is below the mean


class _Logarithm(NamedTuple):
    """Logarithms of moment-generating functions, and their first two derivatives."""

    value: FloatArray
    first: FloatArray
    second: FloatArray


@dataclass(frozen=True, eq=False)
class Sums:
    """Independent labels, each wrong with a chance, and what is added to it then.

    Effects are influence (rows × entries) times `sizes`: one of several points, uniform between
    plus and minus the size, or normal with the size as its standard deviation.
    """

    kind: str  # "points", "uniform" or "normal"
    chance: FloatArray  # (entries,)
    count: FloatArray  # labels of each entry
    sizes: FloatArray  # (points, entries)
    shares: tuple[float, ...]  # of the points

    @cached_property
    def _right(self) -> FloatArray:
        """How likely labels are right; of a rate of 1 exactly never."""
        return 1.0 - self.chance

    @cached_property
    def _cumulants(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """What is to be multiplied with influence, its square and its cube."""
        p = self.chance
        if self.kind == "points":
            one, two, three = (
                sum(
                    share * size**power for share, size in zip(self.shares, self.sizes, strict=True)
                )
                for power in (1, 2, 3)
            )
        else:
            one = three = np.zeros(len(p))
            two = self.sizes[0] ** 2 / (3.0 if self.kind == "uniform" else 1.0)
        third = p * three - 3 * p**2 * one * two + 2 * p**3 * one**3
        return self.count * p * one, self.count * (p * two - (p * one) ** 2), self.count * third

    def reach(self, z: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the least and the largest sums, and the sums of absolute effects."""
        ends = np.stack([z * size for size in self.sizes])
        if self.kind != "points":
            ends = np.abs(ends) * (1.0 if self.kind == "uniform" else np.inf)
            ends = np.nan_to_num(
                np.concatenate((-ends, ends)), nan=0.0, posinf=np.inf, neginf=-np.inf
            )
        low, high = ends.min(axis=0), ends.max(axis=0)
        sure = self.chance == 1.0
        most = np.abs(z) @ (np.abs(self.sizes).max(axis=0, initial=0.0) * self.count)
        return (
            np.where(sure, low, np.minimum(low, 0.0)) @ self.count,
            np.where(sure, high, np.maximum(high, 0.0)) @ self.count,
            most * (FARTHEST if self.kind == "normal" else 1.0),
        )

    def _generated(self, z: FloatArray, t: FloatArray) -> tuple[FloatArray, ...]:
        """Return E exp(t·effect) of wrong labels and its first two derivatives in t."""
        if self.kind == "points":
            found: list[FloatArray] = []
            for share, size in zip(self.shares, self.sizes, strict=True):
                effect = z * size
                value = np.exp(t * effect)
                value = value if share == 1.0 else share * value
                first = effect * value
                parts = [value, first, effect * first]
                found = parts if not found else [a + b for a, b in zip(found, parts, strict=True)]
            return tuple(found)
        effect = z * self.sizes[0]
        x = t * effect
        if self.kind == "normal":
            value = np.exp(0.5 * x * x)
            return value, effect * x * value, effect**2 * (1.0 + x * x) * value
        small = np.abs(x) < 0.02  # the next terms of the series are below 2^-53
        y = np.where(small, 1.0, x)
        square = x * x
        value = np.where(
            small, 1.0 + square / 6 * (1.0 + square / 20 * (1.0 + square / 42)), np.sinh(y) / y
        )
        first = np.where(small, x / 3 * (1.0 + square / 10), (np.cosh(y) - value) / y)
        second = np.where(small, 1.0 / 3 + square / 10, value - 2.0 * first / y)
        return value, effect * first, effect**2 * second

    def _logarithm(self, z: FloatArray, t: FloatArray) -> _Logarithm:
        found = _Logarithm(*np.empty((3, len(z))))
        step = max(1, _AT_ONCE // max(1, z.shape[1]))
        for start in range(0, len(z), step):
            here = slice(start, start + step)
            value, first, second = self._generated(z[here], t[here, None])
            value *= self.chance
            value += self._right
            scale = self.chance / value
            first *= scale
            second *= scale
            second -= first * first
            found.value[here] = np.log(value) @ self.count
            found.first[here] = first @ self.count
            found.second[here] = second @ self.count
        return found

    # --- Chernoff: one exponent a row -----------------------------------------------------

    def chernoff(self, z: FloatArray, margin: FloatArray, off: FloatArray) -> Tails:
        """Return bounds on P(sum > margin), where the margin is known up to `off`."""
        square, (first, second, cubic) = z * z, self._cumulants
        mean, variance, third = z @ first, square @ second, (square * z) @ cubic
        t, log = self._exponents(z, margin, mean, variance, third)
        low, high, total = self.reach(z)
        largest = np.abs(t) * self._largest(z)
        lost = gamma(len(self.count) + 64) * float(self.count.sum()) * (1.0 + largest) ** 2
        lost += _FUNCTION * self.count.sum()
        margins = narrower(margin, off), wider(margin, off)
        with np.errstate(invalid="ignore", over="ignore"):
            product = t * np.where(t > 0, *margins)
            bound = np.exp(log.value - product + lost + 8 * UNIT * np.abs(product))
            bound = np.nextafter(bound * (1.0 + 2 * _FUNCTION), np.inf)
        bound = np.where(bound < 1.0, bound, 1.0)  # NaN too
        found_low = np.where(t < 0, np.nextafter(1.0 - bound, -np.inf), 0.0)
        found_high = np.where(t > 0, bound, 1.0)
        found_high = np.where(wider(high, off) <= margin, 0.0, found_high)
        found_low = np.where(narrower(low, off) > margin, 1.0, np.maximum(found_low, 0.0))
        guess = _saddlepoint(t, log, margin, mean, variance, third)
        return Tails(found_low, found_high, np.clip(guess, found_low, found_high), t)

    def _largest(self, z: FloatArray) -> FloatArray:
        """Return the largest effect of each row."""
        size = np.abs(self.sizes).max(axis=0, initial=0.0)
        return np.asarray((np.abs(z) * size).max(axis=1, initial=0.0))

    def _exponents(
        self, z: FloatArray, margin: FloatArray, *cumulants: FloatArray
    ) -> tuple[FloatArray, _Logarithm]:
        """Minimise K(t) - t·margin by Newton's method, from what three cumulants say."""
        mean, variance, third = cumulants
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            most = _LARGEST[self.kind] / self._largest(z)
            away = margin - mean
            root = np.sqrt(np.maximum(variance**2 + 2.0 * third * away, 0.0))
            t = np.clip(2.0 * away / (variance + root), -most, most)
        t = np.where((variance > 0) & np.isfinite(t), t, 0.0)
        log = self._logarithm(z, t)
        share = np.ones(len(t))
        for _ in range(_ROUNDS):
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                step = (margin - log.first) / log.second
                gain = 0.5 * step * step * log.second
                after = np.clip(t + share * step, -most, most)
                after = np.where(after * away > 0, after, 0.5 * t)
            rows = np.flatnonzero((gain * share > _NEAR) & (after != t) & np.isfinite(after))
            if not len(rows):
                break
            tried = self._logarithm(z[rows], after[rows])
            before = log.value[rows] - t[rows] * margin[rows]
            better = tried.value - after[rows] * margin[rows] < before
            share[rows] = np.where(better, 1.0, 0.25 * share[rows])
            t[rows[better]] = after[rows[better]]
            for into, of in zip(log, tried, strict=True):
                into[rows[better]] = of[better]
        return t, log

    # --- the whole distribution -----------------------------------------------------------

    def convolved(self, z: FloatArray, margin: float, off: float, known: Tails) -> Tails:
        """Return sharper bounds of one row (1 × entries); what is known already is kept.

        A normal error J of standard deviation `sd` is added to the sum S: S + J > m - d if S >= m
        and J > -d, and S + J > m + d only if S > m or J > d. S + J has a smooth distribution, whose
        Fourier series over a long period has few terms that are not 0.
        """
        variance = float((z**2 @ self._cumulants[1])[0])
        low, high, guess, t = (float(each[0]) for each in known)
        if not (variance > 0 and high > _LEAST and low < 1.0 - _LEAST and math.isfinite(off)):
            return known
        spread = math.sqrt(variance)
        chance = min(max(1e-3 * min(guess, 1.0 - guess), 1e-13), 1e-3)
        reach = -float(ndtri(chance))
        sd = min(_SMOOTHING * spread, _FACTOR / (reach * abs(t)) if t else math.inf)
        below, above = (float(each(margin, off)) for each in (narrower, wider))
        half = self._half_period(z, spread, below, above)
        sd = max(sd, 8.6 * half / (math.pi * 2 * _WAVES))
        if sd < 1e-9 * max(abs(below), abs(above)):  # rounding would move the points
            return known
        points = np.array([below - reach * sd, above + reach * sd, margin])
        half += (10.0 + reach) * sd
        value, error = self._waves(z, points, half, sd)
        beyond = SAFETY * chance
        error += 4.0 * _OUTSIDE
        sharp_high = (value[0] + error) * (1.0 + 2.0 * beyond) if math.isfinite(error) else 1.0
        sharp_low = (value[1] - error - beyond) * (1.0 - 1e-12) if math.isfinite(error) else 0.0
        found = max(low, sharp_low), min(high, max(sharp_high * (1.0 + 1e-12), 0.0))
        middle = float(np.clip(value[2], *found))
        return Tails(*(np.array([each]) for each in (*found, middle, t)))

    def _half_period(self, z: FloatArray, spread: float, low: float, high: float) -> float:
        """Return how far from points between `low` and `high` the sum is but for `_OUTSIDE`."""
        scale = np.array([8.6, 6.0, 4.0, 2.0, 1.0, 0.5, 0.25]) / spread
        largest = float(self._largest(z)[0])
        t = np.minimum(scale, _LARGEST[self.kind] / largest)
        every = np.concatenate((t, -t))
        up, down = np.split(self._logarithm(np.repeat(z, len(every), axis=0), every).value, 2)
        lost = gamma(len(self.count) + 64) * float(self.count.sum()) * (1.0 + t * largest) ** 2
        needed = -math.log(_OUTSIDE) + lost + 1e-6
        above, below = float(((up + needed) / t).min()), float(((down + needed) / t).min())
        return max(above - low, below + high)

    def _waves(
        self, z: FloatArray, points: FloatArray, half: float, sd: float
    ) -> tuple[FloatArray, float]:
        """Return P(S + J > point) but for what is beyond the period, and a bound on the error."""
        base = math.pi / half
        last = 2 * math.ceil(8.6 / (sd * base) / 2) + 1
        effect = z[0] * self.sizes
        total, error = np.full(len(points), 0.5), 0.0
        turned = np.exp(1j * (2.0 * base * np.arange(_CHUNK)[:, None, None]) * effect)
        size = np.abs(effect).max(axis=0)
        drift = float((self.count * self.chance) @ size)
        labels = float(self.count.sum())
        for start in range(1, last + 1, 2 * _CHUNK):
            k = np.arange(start, min(start + 2 * _CHUNK, last + 1), 2)
            frequency = base * k
            wave = self._characteristic(effect, frequency, turned[: len(k)])
            factor = self._right + self.chance * wave
            calm = 0.5 * ((1.0 - (factor * factor.conj()).real) @ self.count)
            lively = np.flatnonzero(calm < _CALM)
            weight = 2.0 / (math.pi * k) * np.exp(-0.5 * (sd * frequency) ** 2)
            error += math.exp(1.0 - _CALM) * float(weight.sum())
            if not len(lively):
                continue
            log = np.log(np.where(factor[lively] == 0, 1e-300, factor[lively]))
            value = np.exp(log @ self.count)
            rough = (np.abs(log.real) + np.abs(log.imag)) @ self.count
            phase = frequency[lively]
            # Every factor is within the unit circle, so that errors of factors add up.
            each = 4 * _FUNCTION * labels + 8 * UNIT * phase * drift
            each += np.abs(value) * (
                gamma(len(self.count) + 8) * rough + 8 * UNIT * phase * np.abs(points).max()
            )
            error += float(weight[lively] @ (each + 8 * _FUNCTION))
            turns = np.exp(-1j * phase[:, None] * points) * value[:, None]
            total += weight[lively] @ turns.imag
        end = sd * base * last
        error += 2 / (math.pi * last) * math.exp(-0.5 * end**2) / -math.expm1(-2 * end * sd * base)
        return total, SAFETY * (error + 1e-15)

    def _characteristic(
        self, effect: FloatArray, frequency: FloatArray, turned: FloatArray
    ) -> FloatArray:
        """Return E exp(i·frequency·effect) of wrong labels, frequencies × entries."""
        if self.kind == "points":
            first = np.exp(1j * frequency[0] * effect)
            return np.asarray(
                sum(
                    share * (each * turned[:, at])
                    for at, (share, each) in enumerate(zip(self.shares, first, strict=True))
                )
            )
        x = frequency[:, None] * effect[0]
        return np.exp(-0.5 * x * x) if self.kind == "normal" else np.sinc(x / math.pi)


def _saddlepoint(
    t: FloatArray, log: _Logarithm, margin: FloatArray, *cumulants: FloatArray
) -> FloatArray:
    """Return estimates of P(sum > margin): Lugannani and Rice's, near the mean Edgeworth's."""
    mean, variance, third = cumulants
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        gap = margin - log.first
        best = t + gap / log.second
        w = np.sign(t) * np.sqrt(2.0 * (t * margin - log.value + 0.5 * gap**2 / log.second))
        density = np.exp(-0.5 * w * w) / math.sqrt(2.0 * math.pi)
        far = ndtr(-w) + density * (1.0 / (best * np.sqrt(log.second)) - 1.0 / w)
        x = (margin - mean) / np.sqrt(variance)
        skew = third / variance**1.5 / 6.0
        density = np.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)
        near = ndtr(-x) + skew * (x * x - 1.0) * density
    found: FloatArray = np.where((np.abs(w) > 0.1) & np.isfinite(far), far, near)
    never: BoolArray = ~(variance > 0) | ~np.isfinite(found)
    return np.where(never, np.where(mean > margin, 1.0, 0.0), found)
