"""Sharper bounds inside a box: what is left of a linear model, written out row by row.

For any numbers τ_i, any vector v and K = Σ τ_i a_i a_iᵀ + Λ, the equations of `box` give

    xᵀΔ = Σ_j p_j (v·a_j) + Σ_i (v·a_i) (τ_i - c_i) m_i - vᵀρ + (x - Kv)ᵀΔ,   c_i = W_i s_i,

where row i's margin moves by m_i; and times Δ itself they give

    Σ_j p_j m_j - Σ_i c_i m_i² - ρᵀΔ = ΔᵀΛΔ >= 0.

Added to the first with a price μ >= 0, xᵀΔ is at most

    Σ_j p_j (v·a_j + μ m_j) + Σ_i [(v·a_i)(τ_i - c_i) m_i - μ c_i m_i²] - vᵀρ - μρᵀΔ + (x - Kv)ᵀΔ.

The first sum is one of the largest effects, each m_j at an end of its box. A term of the second is
at most the top of a parabola on each of a few parts of the box, for one end of the range of c_i
there. With e² = ΔᵀH̄Δ, the second equation bounds e by √(ρᵀH̄⁻¹ρ) + √(Σ p_j m_j), and |zᵀΔ| by
e √(zᵀH̄⁻¹z) for every z: this is for rounding and for ρ. As a function of μ the bound is convex.
"""

import numpy as np

from unswayed.verify.floating.rounding import SAFETY, TINY, UNIT, FloatArray, UnprovenError, gamma
from unswayed.verify.gradient.box import Box
from unswayed.verify.gradient.problem import forms, norms
from unswayed.verify.gradient.selection import largest

FINE = (0.0, 0.06, 0.12, 0.18, 0.26, 0.36, 0.48, 0.6, 0.74, 0.87, 1.0)
COARSE = (0.0, 0.4, 1.0)
"""Ends of the parts of each side of the box, as shares of it."""

MOST_ROWS = 2**16
"""Distinct rows of training data, for which there is room."""

_PRICES = (0.0, 0.05, 0.12, 0.25, 0.5, 1.0)
_REFINED = 2  # how often prices are tried between the best one and its neighbours
_BLOCK = 2**18  # effects at a time: what is done to them stays in the cache
_LEAST = 1e-100  # a price of 0 makes lines of parabolas, whose tops are at the ends


class Remainder:
    """Bounds on scores inside a box that no admissible labels lead out of."""

    def __init__(
        self,
        box: Box,
        labels: int,
        parts: tuple[float, ...] = FINE,
        moved: FloatArray | float = 0.0,
    ) -> None:
        if len(box.down) > MOST_ROWS:
            raise UnprovenError("there are too many distinct training rows for a closer look")
        self._box, self._labels = box, labels
        problem, margins = box.problem, box.centre.margins
        self._slopes = box.labels.weight * problem.link.secant(margins, moved + 0.0 * margins)
        self._gram = problem.gram(self._slopes)
        self._guess = np.linalg.pinv(self._gram.matrix, hermitian=True)
        widest = np.maximum(box.down, box.up)
        # (v·a)(τ - c) m - μ c m² falls with c where (v·a) m > 0. Where it is below 0, the term is
        # above 0 only if |v·a| > μ|m|, and then rises with c.
        self._parts = [
            (first, last, *((low, high) if (last > 0).any() else (high, low)))
            for first, last, low, high in box.parts(parts)
        ]
        moves = np.stack((box.up, box.down))
        nothing = np.zeros((1, len(widest)))
        self._most = box.pushes.effects(nothing, nothing, moves)
        self._energy = float(largest(self._most, box.pushes.counts, labels)[0])
        self._length = (box.residual + np.sqrt(self._energy)) * SAFETY
        # What rounding is relative to: per unit of |v·a_i|, and per unit of the price.
        apart = np.maximum(np.abs(self._slopes - box.low), np.abs(box.high - self._slopes))
        self._linear = apart * widest
        self._square = float(box.high @ (widest * widest)) * SAFETY

    def reach(self, directions: FloatArray, about: FloatArray) -> FloatArray:
        """Return upper bounds on how far scores can rise, seen from the centre."""
        found = np.full(len(directions), np.inf)
        step = max(1, _BLOCK // max(1, len(self._slopes)))
        for start in range(0, len(directions), step):
            part = slice(start, start + step)
            found[part] = self._block(directions[part], about[part])
        return np.where(np.isnan(found), np.inf, found)

    def _block(self, directions: FloatArray, about: FloatArray) -> FloatArray:
        box, design = self._box, self._box.problem.design
        solved = directions @ self._guess
        effects = solved @ design.T
        error = gamma(solved.shape[1] + 8) * norms(solved)[:, None] * box.problem.sizes
        error = error * SAFETY + TINY
        fixed = self._fixed(directions, solved) + error @ self._linear
        unit = about / max(self._energy, TINY)
        best = np.full(len(directions), np.inf)
        at = np.zeros(len(directions), dtype=np.int64)
        for number, price in enumerate(_PRICES):
            found = self._priced(effects, error, fixed, price * unit)
            at = np.where(found < best, number, at)
            best = np.fmin(best, found)
        padded = np.array((_PRICES[0], *_PRICES, 2.0 * _PRICES[-1]))
        low, middle, high = padded[at], padded[at + 1], padded[at + 2]
        for _ in range(_REFINED):
            for price in ((low + middle) / 2, (middle + high) / 2):
                found = self._priced(effects, error, fixed, price * unit)
                better = found < best
                low, high = (
                    np.where(better, np.where(price > middle, middle, low), low),
                    np.where(better, np.where(price > middle, high, middle), high),
                )
                middle = np.where(better, price, middle)
                best = np.fmin(best, found)
            low, high = (low + middle) / 2, (middle + high) / 2
        return best

    def _fixed(self, directions: FloatArray, solved: FloatArray) -> FloatArray:
        """Return bounds on (x - Kv)ᵀΔ - vᵀρ."""
        box, gram = self._box, self._gram
        left, size = np.abs(solved), np.abs(box.above)
        missed = directions - solved @ gram.matrix
        lost = gamma(solved.shape[1] + 3) * (np.abs(directions) + left @ np.abs(gram.matrix))
        lost += gram.doubt * gram.sizes * (left @ gram.sizes)[:, None]
        away = forms(missed, box.above, size) + forms(lost * SAFETY, size, size)
        rho = box.centre.missed
        own = np.abs(solved @ rho.vector) + left @ rho.error * SAFETY
        own += gamma(solved.shape[1] + 2) * (left @ np.abs(rho.vector))
        return np.asarray((away * self._length + own) * SAFETY)

    def _priced(
        self, effects: FloatArray, error: FloatArray, fixed: FloatArray, price: FloatArray
    ) -> FloatArray:
        """Return the bounds of one price for each row."""
        box, pushes = self._box, self._box.pushes
        spent = pushes.effects(effects, error, np.zeros((2, effects.shape[1])))
        spent += price[:, None] * self._most
        best = np.zeros_like(effects)  # a margin that does not move
        cost = np.maximum(price, _LEAST)[:, None]
        helpful = effects > 0
        for first, last, helping, hindering in self._parts:
            bend = np.where(helpful, helping, hindering)
            slope = (self._slopes - bend) * effects
            bend *= cost
            top = np.clip(slope / (2.0 * bend + 1e-200), first, last)
            slope -= bend * top
            slope *= top
            np.maximum(best, slope, out=best)
        sizes = (np.abs(effects) + error) @ self._linear + price * self._square
        lost = (len(self._slopes) + 64) * UNIT * sizes
        lost += price * (box.residual * self._length + 8 * UNIT * self._energy)
        total = largest(spent, pushes.counts, self._labels) + best.sum(axis=1)
        return np.asarray((total + (lost + fixed) * SAFETY) * (1.0 + 8 * UNIT))
