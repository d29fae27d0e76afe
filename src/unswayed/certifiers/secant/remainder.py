"""Sharper bounds inside a region: what is left of a linear model, written out row by row.

Take any slopes τ_i of the weighted rows and v = (Σ τ_i a_i a_iᵀ + Λ)⁻¹ x. For a solution whose
margins move by m_i, with true curvatures c_i (see `region`),

    xᵀΔ = Σ_j p_j (v·a_j) + Σ_i (v·a_i) (τ_i - c_i) m_i - vᵀρ,

and multiplying the equations by Δ itself gives Σ_j p_j m_j = Σ_i c_i m_i² + ΔᵀΛΔ + ρᵀΔ: few labels
have little to spend. For any price μ >= 0, xᵀΔ is at most

    Σ_j p_j (v·a_j + μ m_j) + Σ_i [ (v·a_i) (τ_i - c_i) m_i - μ c_i m_i² ],

up to rounding and the residual. The first sum is a selection of labels, with m_j at the end of its
box; each term of the second is the largest value of a parabola, for an end of c_i, on a few parts
of the box, because secants differ less on a part. Every price gives a bound; the least is taken.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from unswayed._core.parallel import block_starts, run_blocks
from unswayed._core.rounding import SAFETY, UNIT, gamma
from unswayed._typing import FloatArray, Matrix
from unswayed.certifiers.secant.region import Region
from unswayed.models.ridge.scaling import row_norms
from unswayed.models.ridge.verified import VerifiedInverse


class Grid(NamedTuple):
    """On which parts of the box curvatures are bounded, and which prices are tried."""

    parts: tuple[float, ...]  # ends, as shares of each side of the box
    prices: tuple[float, ...]  # in units of reach by energy


COARSE = Grid((0.0, 0.4, 1.0), (0.06, 0.15, 0.35, 0.8))
"""Six times as fast as the other; on COMPAS one row in a hundred is decided by that alone."""

FINE = Grid(
    (0.0, 0.06, 0.125, 0.18, 0.25, 0.37, 0.5, 0.62, 0.75, 0.87, 1.0),
    (0.0, 0.03, 0.06, 0.09, 0.12, 0.18, 0.25, 0.35, 0.5, 0.7, 1.0),
)


class Remainder:
    """Bounds on scores inside a region, for one choice of slopes."""

    def __init__(
        self, region: Region, labels: int, slopes: FloatArray, grid: Grid = COARSE
    ) -> None:
        self._grid = grid
        self.region, self.labels, self.slopes = region, labels, slopes
        problem = region.problem
        self._inverse = VerifiedInverse(*problem.hessian(slopes))
        self.proven = region.proven and self._inverse.proven
        self._cut()
        widest = np.maximum(region.down, region.up)
        push = region.moves.most(region.moves.effects(widest[None], widest[None]), labels)
        self._energy = float(push[0])
        size = region.moves.most(
            region.moves.effects(problem.sizes[None], problem.sizes[None]), labels
        )
        rho = region.centre.residual
        # ‖Δ‖ and |ρᵀΔ| at most.
        self._shift = SAFETY * region.flat.bound * (float(size[0]) + rho)
        self._lost = SAFETY * rho * self._shift
        # What rounding is relative to, per unit of |v·a_i| and of the price.
        most = np.maximum(np.abs(slopes - region.low), np.abs(region.high - slopes))
        self._linear = most * widest
        self._square = float((region.high * widest * widest).sum())

    def _cut(self) -> None:
        """Bound curvatures on every part of the box."""
        region = self.region
        centre, link = region.centre, region.problem.link
        parts = []
        for side, end in ((-1.0, region.down), (1.0, region.up)):
            for first, last in pairwise(self._grid.parts):
                near, far = side * first * end, side * last * end
                bounds = link.slopes(
                    centre.margins, np.minimum(near, far), np.maximum(near, far), centre.error
                )
                low, high = region.weighted(*bounds)
                low, high = np.maximum(low, region.low), np.minimum(high, region.high)
                ends = np.minimum(near, far), np.maximum(near, far)
                # For m > 0 and a positive effect the least curvature is worst, for a negative one
                # the largest: where the least would be worse, the term is below 0.
                parts.append((*ends, *((low, high) if side > 0 else (high, low))))
        self._parts = parts

    def reach(self, directions: Matrix, labels_reach: FloatArray) -> FloatArray:
        """Return upper bounds on how far scores can rise, seen from the centre."""
        problem, k = self.region.problem, directions.shape[0]
        if not self.proven or not self._energy < np.inf:
            return np.full(k, np.inf)
        sizes = row_norms(directions)
        solved, missed = self._inverse.solve(directions, sizes)
        norms = row_norms(solved)
        n_rows = len(problem.first)
        out = np.empty(k)

        def work(start: int, stop: int, buffer: FloatArray) -> None:
            here = slice(start, stop)
            effects = problem.rows(solved[here], buffer)
            scale = labels_reach[here] / (self._energy or 1.0)
            out[here] = np.min(
                [self._priced(effects, norms[here], scale * price) for price in self._grid.prices],
                axis=0,
            )

        run_blocks(block_starts(k, 8 * n_rows), n_rows, work)
        missed = missed + 2.0 * UNIT * sizes  # rows themselves are rounded
        lost = missed * self._shift + norms * self.region.centre.residual
        found = np.nextafter(out + SAFETY * lost, np.inf)
        return np.where(np.isnan(found), np.inf, found)

    def _priced(self, effects: FloatArray, norms: FloatArray, price: FloatArray) -> FloatArray:
        """Return the bounds of one price per row."""
        region, cost = self.region, price[:, None]
        error = gamma(region.problem.n_parameters + 4) * norms[:, None] * region.problem.sizes
        rise, fall = effects + error + cost * region.up, error - effects + cost * region.down
        spent = region.moves.most(region.moves.effects(rise, fall), self.labels)
        best = np.zeros_like(effects)  # a margin that does not move
        helpful = effects > 0
        # Prices of 0 make lines, whose tops are at the ends: one this small is as good as none.
        cost = np.maximum(cost, 1e-100)
        top, slope = np.empty_like(effects), np.empty_like(effects)
        with np.errstate(over="ignore"):
            for first, last, with_sign, against in self._parts:
                bend = np.where(helpful, with_sign, against)
                np.subtract(self.slopes, bend, out=slope)
                slope *= effects
                bend *= cost
                np.divide(slope, bend + 1e-200, out=top)
                top *= 0.5
                np.clip(top, first, last, out=top)
                bend *= top
                slope -= bend
                slope *= top
                np.maximum(best, slope, out=best)
        rounding = (np.abs(effects) + error) @ self._linear + price * self._square
        lost = (len(self.slopes) + 64) * UNIT * rounding + error @ self._linear
        kept: FloatArray = spent + best.sum(axis=1) + SAFETY * (lost + price * self._lost)
        return kept
