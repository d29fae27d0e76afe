"""Sums of independent effects: bounds on how likely they exceed a margin, rounded outwards.

`Sums.chernoff` evaluates one exponent per row: every exponent proves a bound, so that the search
for a good one needs no rigour. `Sums.convolve` evaluates the whole distribution by its
characteristic function. docs/guide/random.md has the theorems. Elementary functions of NumPy and
the normal distribution of SciPy are taken to have relative errors below 2^-48, 32 units.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from unswayed._core.rounding import SAFETY, UNIT, gamma, narrower, wider
from unswayed._typing import FloatArray

FARTHEST = 40.0
"""Standard deviations: a normal error exceeds them less likely than the least double says."""

FUNCTION = 2.0**-48
"""Relative error of an elementary function."""

_AT_ONCE = 2**16  # numbers that stay in the cache
_ROUNDS, _NEAR = 8, 0.05  # of Newton's method; what is left to gain of a bound's logarithm
_SMOOTHING, _LOSS = 0.01, 0.15  # standard deviation of J, of the sum's; what it may cost, likewise
_LEAST = 1e-9  # smaller bounds stay as they are: sums of waves have absolute errors
_WAVES, _CHUNK = 2**14, 64  # at most, and at a time
_CALM = 46.0  # a wave of less than exp(-_CALM) is as good as 0
_OUTSIDE = 1e-16  # probability of sums beyond the period, on each side


class Tails(NamedTuple):
    """What is known of P(sum > margin), row by row."""

    low: FloatArray
    high: FloatArray
    estimate: FloatArray
    exponent: FloatArray  # of the Chernoff bound, below 0 if the margin is below the mean


class _Log(NamedTuple):
    """Logarithms of moment-generating functions, and their first two derivatives."""

    value: FloatArray
    first: FloatArray
    second: FloatArray


@dataclass(frozen=True, eq=False)
class Sums:
    """Independent labels: how likely each is wrong, and what is added to it then.

    An effect is influence (rows × entries) times size: of "flips" and "two-point" one of the sizes,
    "uniform" between plus and minus the size; "normal" with that deviation. Chances and shares may
    be off by a few units, relatively.
    """

    law: str
    chance: FloatArray  # (entries,)
    right: FloatArray  # (entries,): that nothing is added
    count: FloatArray  # labels of each entry
    sizes: FloatArray  # (points, entries)
    share: FloatArray  # (points, entries): how likely each size is, of those that are wrong

    @cached_property
    def _largest_size(self) -> FloatArray:
        return np.asarray(np.abs(self.sizes).max(axis=0))

    @property
    def _points(self) -> bool:
        return self.law in ("flips", "two-point")

    @cached_property
    def _cumulants(self) -> list[FloatArray]:
        """What influence, its square and its cube are to be multiplied with."""
        p = self.chance
        moments = [np.sum(self.share * self.sizes**power, axis=0) for power in (1, 2, 3)]
        if not self._points:
            two = moments[1] / (3.0 if self.law == "uniform" else 1.0)
            moments = [0.0 * two, two, 0.0 * two]
        one, two, three = moments[0] * p, moments[1] * p, moments[2] * p
        each = one, two - one**2, three - 3 * one * two + 2 * one**3
        return [self.count * of for of in each]

    def reach(self, z: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the least and the largest sums, and sums of absolute effects."""
        size, never = self._largest_size, np.where(self.right == 0.0, np.nan, 0.0)
        low = np.fmin(self.sizes.min(axis=0) if self._points else -size, never)
        high = np.fmax(self.sizes.max(axis=0) if self._points else size, never)
        # z·high where z is above 0 and z·low where it is below, as products of matrices
        ends = np.stack((high - low, size), axis=1) * self.count[:, None]
        (width, total), middle = (np.abs(z) @ ends).T, z @ ((high + low) * self.count)
        if self.law == "normal":
            width, total = np.where(total > 0, np.inf, 0.0), FARTHEST * total
        return 0.5 * (middle - width), 0.5 * (middle + width), total

    def _generated(self, z: FloatArray, t: FloatArray) -> tuple[FloatArray, ...]:
        """Return E exp(t·effect) of wrong labels and its first two derivatives in t."""
        if self._points:
            effects = [z * size for size in self.sizes]
            values = [np.exp(t * effect) for effect in effects]
            firsts = [effect * value for effect, value in zip(effects, values, strict=True)]
            seconds = [effect * first for effect, first in zip(effects, firsts, strict=True)]
            if len(values) == 1:
                return values[0], firsts[0], seconds[0]
            parts = values, firsts, seconds
            return tuple(sum(map(np.multiply, self.share, each)) for each in parts)
        effect = z * self.sizes[0]
        x = t * effect
        if self.law == "normal":
            value = np.exp(0.5 * x * x)
            return value, effect * x * value, effect**2 * (1.0 + x * x) * value
        y, square = np.where(np.abs(x) < 0.02, 1.0, x), x * x
        value, first = np.sinh(y) / y, (np.cosh(y) - np.sinh(y) / y) / y
        small = np.abs(x) < 0.02  # so that further terms of the series are below a unit
        value = np.where(small, 1 + square / 6 * (1 + square / 20 * (1 + square / 42)), value)
        second = np.where(small, 1 / 3 + square / 10, value - 2 * first / y)
        return value, effect * np.where(small, x / 3, first), effect**2 * second

    def _log(self, z: FloatArray, t: FloatArray) -> _Log:
        found = _Log(*np.empty((3, len(z))))
        step = max(1, _AT_ONCE // max(1, z.shape[1]))
        for start in range(0, len(z), step):
            here = slice(start, start + step)
            value, first, second = self._generated(z[here], t[here, None])
            value *= self.chance
            value += self.right
            scale = self.chance / value
            first *= scale
            second *= scale
            second -= first * first
            for into, of in zip(found, (np.log(value, out=value), first, second), strict=True):
                into[here] = of @ self.count
        return found

    def _lost(self, largest: FloatArray) -> FloatArray:
        """Return a bound on the error of logarithms, where exponents are up to `largest`."""
        each = gamma(len(self.count) + 64) * (1.0 + largest) ** 2 + 4 * FUNCTION
        return each * float(self.count.sum())

    # --- one exponent a row ---------------------------------------------------------------

    def chernoff(
        self, z: FloatArray, margin: FloatArray, off: FloatArray, reach: list[FloatArray]
    ) -> Tails:
        """Return bounds on P(sum > margin), where the margin is known up to `off`.

        `reach` is the least and the largest sum that there is.
        """
        square, (first, second, third) = z * z, self._cumulants
        cumulants = z @ first, square @ second, (square * z) @ third
        largest = (np.abs(z) * self._largest_size).max(axis=1, initial=0.0)
        t, log = self._exponents(z, margin, self._most(largest), cumulants)
        product = t * np.where(t > 0, narrower(margin, off), wider(margin, off))
        lost = self._lost(np.abs(t) * largest) + 8 * UNIT * np.abs(product)
        bound = np.nextafter(np.exp(log.value - product + lost) * (1 + 4 * FUNCTION), np.inf)
        bound = np.where(bound < 1.0, bound, 1.0)  # where it is NaN, too
        guess = _saddlepoint(t, log, margin, *cumulants)
        low = np.where(t < 0, np.maximum(np.nextafter(1.0 - bound, -1.0), 0.0), 0.0)
        low = np.where(narrower(reach[0], off) > margin, 1.0, low)
        never = np.nextafter(0.0, 1.0) if self.law == "normal" else 0.0  # beyond `FARTHEST`
        high = np.where(wider(reach[1], off) <= margin, never, np.where(t > 0, bound, 1.0))
        return Tails(low, high, np.clip(guess, low, high), t)

    def _most(self, largest: FloatArray) -> FloatArray:
        """Return the largest exponent: nothing overflows."""
        return (24.0 if self.law == "normal" else 300.0) / largest

    def _exponents(
        self, z: FloatArray, margin: FloatArray, most: FloatArray, cumulants: tuple[FloatArray, ...]
    ) -> tuple[FloatArray, _Log]:
        """Minimise log E exp(t·sum) - t·margin: Newton's method, from what three cumulants say."""
        mean, variance, third = cumulants
        away, share = margin - mean, np.ones(len(z))
        root = np.sqrt(np.maximum(variance**2 + 2.0 * third * away, 0.0))
        t = np.clip(2.0 * away / (variance + root), -most, most)
        t = np.where((variance > 0) & np.isfinite(t), t, 0.0)
        log = self._log(z, t)
        for _ in range(_ROUNDS):
            step = share * (margin - log.first) / log.second
            after = np.clip(t + step, -most, most)
            after = np.where(after * away > 0, after, 0.5 * t)
            gain = 0.5 * step * step * log.second
            rows = np.flatnonzero((gain > _NEAR) & (after != t) & np.isfinite(after))
            if not len(rows):
                break
            tried = self._log(z[rows], after[rows])
            gained = log.value[rows] - tried.value + (after - t)[rows] * margin[rows] > 0
            share[rows] = np.where(gained, 1.0, 0.25 * share[rows])
            better = rows[gained]
            t[better] = after[better]
            for into, of in zip(log, tried, strict=True):
                into[better] = of[gained]
        return t, log

    # --- the whole distribution -----------------------------------------------------------

    def convolve(self, z: FloatArray, margin: FloatArray, off: FloatArray, known: Tails) -> None:
        """Sharpen what is known, row by row.

        A normal error J is added to the sum S. S >= m and J > -d imply S + J > m - d, and
        S + J > m + d implies S > m or J > d. S + J is smooth: its Fourier series is short.
        """
        spread = np.sqrt((z * z) @ self._cumulants[1])
        open_rows = (known.high > _LEAST) & (known.low < 1.0 - _LEAST)
        open_rows &= (spread > 0) & np.isfinite(spread) & np.isfinite(off)
        for row in np.flatnonzero(open_rows).tolist():
            low, high, guess, t = (float(each[row]) for each in known)
            chance = min(max(1e-3 * min(guess, 1.0 - guess), 1e-13), 1e-3)  # that J > d
            reach = -float(ndtri(chance))
            ends = [float(each(margin[row], off[row])) for each in (narrower, wider)]
            half = self._half_period(z[row], float(spread[row]), *ends)
            sd = min(_SMOOTHING * float(spread[row]), _LOSS / (reach * abs(t) + 1e-300))
            sd = max(sd, 8.6 * half / (math.pi * 2 * _WAVES))
            if not sd > 1e-9 * max(map(abs, ends)):  # rounding would move the points
                continue
            points = np.array([ends[0] - reach * sd, ends[1] + reach * sd, margin[row]])
            value, error = self._waves(z[row], points, half + (10.0 + reach) * sd, sd)
            error, chance = error + 4.0 * _OUTSIDE, SAFETY * chance
            known.high[row] = min(high, max((value[0] + error) / (1.0 - chance) * SAFETY, 0.0))
            known.low[row] = max(low, (value[1] - error - chance) / SAFETY)
            known.estimate[row] = np.clip(value[2], known.low[row], known.high[row])

    def _half_period(self, z: FloatArray, spread: float, low: float, high: float) -> float:
        """Return how far the sum is from points between two, but for `_OUTSIDE` on each side."""
        largest = np.array([(np.abs(z) * self._largest_size).max()])
        scale = np.array([8.6, 6.0, 4.0, 2.0, 1.0, 0.5, 0.25]) / spread
        t = np.minimum(scale, self._most(largest))
        every = np.concatenate((t, -t))
        up, down = np.split(self._log(np.tile(z, (len(every), 1)), every).value, 2)
        needed = -math.log(_OUTSIDE) + self._lost(t * largest) + 1e-6
        above, below = float(((up + needed) / t).min()), float(((down + needed) / t).min())
        return max(above - low, below + high)

    def _waves(
        self, z: FloatArray, points: FloatArray, half: float, sd: float
    ) -> tuple[FloatArray, float]:
        """Return P(S + J > point) but for what is beyond the period, and a bound on the error."""
        base, effect, labels = math.pi / half, z * self.sizes, float(self.count.sum())
        last = 2 * math.ceil(8.6 / (sd * base) / 2) + 1
        total, error = np.full(len(points), 0.5), 1e-12
        turned = np.exp(1j * (2.0 * base * np.arange(_CHUNK)[:, None, None]) * effect)
        drift = float((self.count * self.chance) @ np.abs(effect).max(axis=0))
        for start in range(1, last + 1, 2 * _CHUNK):
            k = np.arange(start, min(start + 2 * _CHUNK, last + 1), 2)
            theta: FloatArray = base * k.astype(np.float64)
            wave = self._characteristic(effect, theta, turned[: len(k)])
            factor = self.right + self.chance * wave
            weight = 2.0 / (math.pi * k) * np.exp(-0.5 * (sd * theta) ** 2)
            error += math.exp(1.0 - _CALM) * float(weight.sum())
            calm = 0.5 * ((1.0 - factor.real**2 - factor.imag**2) @ self.count)
            lively = np.flatnonzero(calm < _CALM)
            theta, weight, factor = theta[lively], weight[lively], factor[lively]
            log = np.log(np.where(factor == 0, 1e-300, factor).astype(np.complex128))
            value = np.exp(log @ self.count)
            turns = np.exp(-1j * theta[:, None] * points) * value[:, None]
            total += weight @ turns.imag
            # All factors lie in the unit circle: their errors add up. Then those of the product.
            each = 4 * FUNCTION * (labels + 2.0) + 8 * UNIT * theta * drift
            rough = gamma(len(self.count) + 8) * ((abs(log.real) + abs(log.imag)) @ self.count)
            rough += gamma(_WAVES) + 8 * UNIT * theta * np.abs(points).max()
            each += np.abs(value) * rough
            error += float(weight @ each)
        end, next_one = sd * base * last, 2.0 * sd * base
        error += 2 / (math.pi * last) * math.exp(-0.5 * end**2) / -math.expm1(-end * next_one)
        return total, SAFETY * error

    def _characteristic(
        self, effect: FloatArray, theta: FloatArray, turned: FloatArray
    ) -> FloatArray:
        """Return E exp(i·theta·effect) of wrong labels, frequencies × entries."""
        if self._points:
            waves = np.exp(1j * theta[0] * effect) * turned
            return np.asarray(waves[:, 0] if len(effect) == 1 else (waves * self.share).sum(axis=1))
        x = theta[:, None] * effect[0]
        return np.asarray(np.exp(-0.5 * x * x) if self.law == "normal" else np.sinc(x / math.pi))


def _saddlepoint(
    t: FloatArray, log: _Log, margin: FloatArray, *cumulants: FloatArray
) -> FloatArray:
    """Return estimates of P(sum > margin): Lugannani and Rice's, near the mean Edgeworth's."""
    (mean, variance, third), gap = cumulants, margin - log.first
    w = np.sign(t) * np.sqrt(2.0 * (t * margin - log.value) + gap**2 / log.second)
    u = (t + gap / log.second) * np.sqrt(log.second)
    x = (margin - mean) / np.sqrt(variance)
    density = np.exp(-0.5 * np.stack((w, x)) ** 2) / math.sqrt(2.0 * math.pi)
    far = ndtr(-w) + density[0] * (1.0 / u - 1.0 / w)
    near = ndtr(-x) + third / variance**1.5 / 6.0 * (x * x - 1.0) * density[1]
    found = np.where((np.abs(w) > 0.1) & np.isfinite(far), far, near)
    return np.where(np.isfinite(found), found, np.where(mean > margin, 1.0, 0.0))
