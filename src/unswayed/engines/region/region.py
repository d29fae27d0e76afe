"""A region that no admissible labels leave, and what it bounds."""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from unswayed._core.kernels import block_starts, run_blocks
from unswayed._core.rounding import SAFETY, UNIT, gamma
from unswayed._typing import FloatArray, IntArray, Matrix
from unswayed.engines.region.attack import Moves, SplitMoves
from unswayed.inputs import dense
from unswayed.models.gradient.problem import Centre, GradientProblem, Labels
from unswayed.models.ridge.verified import VerifiedInverse, row_norms
from unswayed.words import number_end

_LEAST = 2.0**-400  # added to every row's error: underflow disappears in it


class Region:
    """A box of margin changes, and bounds on scores for all labels that stay inside it."""

    def __init__(
        self,
        problem: GradientProblem,
        labels: Labels,
        centre: Centre,
        moves: Moves,
        down: FloatArray,
        up: FloatArray,
    ) -> None:
        self.problem, self.labels, self.centre = problem, labels, centre
        self.down, self.up, self.base = down, up, moves
        low, high = problem.link.slopes(centre.margins, -down, up, centre.error)
        self.low, self.high = self.weighted(low, high)
        factor = problem.push_factor(
            centre.margins - down - centre.error, centre.margins + up + centre.error
        )
        self.moves = moves.pushing(factor * (1.0 + problem.label_error) * (1.0 + 4.0 * UNIT))
        self.steep = steep = VerifiedInverse(*problem.hessian(self.high))
        self.flat = VerifiedInverse(*problem.hessian(self.low))
        self.proven = steep.proven and self.flat.proven and math.isfinite(centre.residual)
        if not self.proven:
            self._middle = self._half = np.zeros_like(self.flat.inverse)
            self._rounding = math.inf
            self.error = np.full(len(centre.margins), np.inf)
            return
        # (1 - d) G <= H⁻¹ <= G / (1 - d), whatever the norm in which d bounds 1 - HG: the
        # eigenvalues of HG are real.
        upper, lower = 1.0 / (1.0 - self.flat.defect), 1.0 / (1.0 + steep.defect)
        wide, narrow = upper * SAFETY * self.flat.inverse, lower / SAFETY * steep.inverse
        self._middle, self._half = (wide + narrow) / 2, (wide - narrow) / 2
        norms = self.flat.norm * upper + steep.norm
        # What rounding does to rows, to these matrices, to products of both, to quadratic forms.
        self._rounding = math.sqrt(SAFETY * gamma(4 * problem.n_parameters + 20) * norms)
        self.error = self.errors(problem.design)

    def weighted(self, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return bounds on slopes times the weights of the distinct rows, rounded outwards."""
        lost = self.problem.label_error + 4.0 * UNIT
        weight = self.labels.weight
        with np.errstate(invalid="ignore"):
            high = np.where(weight > 0, weight * high * (1.0 + lost), 0.0)
        return weight * low * (1.0 - lost), high

    def errors(self, directions: Matrix) -> FloatArray:
        """Return factors; two rows' product bounds the error of xᵀ M a, rounding included."""
        with np.errstate(invalid="ignore", over="ignore"):
            image = np.asarray(directions @ self._half)
            form = np.einsum("ij,ij->i", image, dense(directions))
            rounding = 2.0 * self._rounding * row_norms(directions)
            found = np.hypot(np.sqrt(np.maximum(form, 0.0)), rounding)
        return np.asarray(SAFETY * found + _LEAST)

    def residual(self, directions: Matrix) -> FloatArray:
        """Return bounds on what the residual of the centre does to scores."""
        return SAFETY * self.flat.bound * self.centre.residual * row_norms(directions)

    def reach(
        self, directions: Matrix, labels: int, marks: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return how far so many labels can raise and lower scores, seen from the centre.

        Thresholds that prove it are put into `marks`: for each row two up, and two down.
        """
        k = directions.shape[0]
        if not self.proven:
            return np.full(k, np.inf), np.full(k, np.inf)
        up, down = np.empty((2, k))
        own, size = self.errors(directions), self.problem.design.shape[0]
        extra = self.residual(directions)

        def work(start: int, stop: int, buffer: FloatArray) -> None:
            here = slice(start, stop)
            middle = np.asarray(directions[here] @ self._middle)
            rise = self.problem.rows(middle, buffer)
            error = own[here, None] * self.error
            fall = error - rise
            rise += error
            up[here] = self._chosen(rise, fall, labels, None if marks is None else marks[here, 0])
            down[here] = self._chosen(fall, rise, labels, None if marks is None else marks[here, 1])

        run_blocks(block_starts(k, 8 * size), size, work)
        return np.nextafter(up + extra, np.inf), np.nextafter(down + extra, np.inf)

    def _chosen(
        self, rise: FloatArray, fall: FloatArray, labels: int, marks: FloatArray | None
    ) -> FloatArray:
        """Return what the strongest moves do; put the thresholds that prove it into `marks`."""
        effects = self.moves.effects(rise, fall)
        if marks is not None:
            marks[:] = self.moves.marks(effects, labels)
        return self.moves.most(effects, labels)


# ----------------------------------------------------------------------------------------
# Sharper bounds inside a region: what is left of a linear model, written out row by row.
#
# Take any slopes τ_i of the weighted rows and v = (Σ τ_i a_i a_iᵀ + Λ)⁻¹ x. For a solution whose
# margins move by m_i, with true curvatures c_i (see `region`),
#
#     xᵀΔ = Σ_j p_j (v·a_j) + Σ_i (v·a_i) (τ_i - c_i) m_i - vᵀρ,
#
# and multiplying the equations by Δ itself gives Σ_j p_j m_j = Σ_i c_i m_i² + ΔᵀΛΔ + ρᵀΔ: few
# labels have little to spend. For any price μ >= 0, xᵀΔ is at most
#
#     Σ_j p_j (v·a_j + μ m_j) + Σ_i [ (v·a_i) (τ_i - c_i) m_i - μ c_i m_i² ],
#
# up to rounding and the residual. The first sum is a selection of labels, with m_j at the end of
# its box; each term of the second is the largest value of a parabola, for an end of c_i, on a few
# parts of the box, because secants differ less on a part. Every price gives a bound; the least is
# taken.


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

    def reach(
        self, directions: Matrix, labels_reach: FloatArray, hints: FloatArray | None = None
    ) -> FloatArray:
        """Return upper bounds on how far scores can rise, seen from the centre.

        What proves them is put into `hints`: the price, and two thresholds.
        """
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
            error = gamma(problem.n_parameters + 4) * norms[here, None] * problem.sizes
            prices = [price * scale for price in self._grid.prices]
            found = [self._priced(effects, error, price) for price in prices]
            out[here] = np.min(found, axis=0)
            if hints is not None:
                best = np.array(prices)[np.argmin(found, axis=0), np.arange(stop - start)]
                spent = self._spent(effects, error, best[:, None])
                hints[here, 0], hints[here, 1:] = best, self.region.moves.marks(spent, self.labels)

        run_blocks(block_starts(k, 8 * n_rows), n_rows, work)
        missed = missed + 2.0 * UNIT * sizes  # rows themselves are rounded
        lost = missed * self._shift + norms * self.region.centre.residual
        found = np.nextafter(out + SAFETY * lost, np.inf)
        return np.where(np.isnan(found), np.inf, found)

    def solved(self, directions: Matrix) -> FloatArray:
        """Return v of each direction."""
        return self._inverse.solve(directions, row_norms(directions))[0]

    def _spent(self, effects: FloatArray, error: FloatArray, cost: FloatArray) -> FloatArray:
        """Return what one unit of each move adds, its price included."""
        region = self.region
        rise, fall = effects + error + cost * region.up, error - effects + cost * region.down
        return region.moves.effects(rise, fall)

    def _priced(self, effects: FloatArray, error: FloatArray, price: FloatArray) -> FloatArray:
        """Return the bounds of one price per row."""
        cost = price[:, None]
        spent = self.region.moves.most(self._spent(effects, error, cost), self.labels)
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


# ----------------------------------------------------------------------------------------
# Finding a region that no admissible labels lead out of.

_WIDER = 1.02  # a box is tried that is so much wider than what followed from the last one
_STEPS = 40
_WIDEST = 200.0  # log-odds: no use in going on
_SHRINKS = 3  # of a region that is proven, to what follows from it
_WORTH_IT = 0.999


def closed_region(
    problem: GradientProblem,
    labels: Labels,
    centre: Centre,
    moves: Moves,
    many: int,
    progress: Callable[[str], object] | None = None,
) -> Region | None:
    """Return a small region that no `budget` label changes leave; None if none is found."""
    tell = progress or (lambda line: None)
    nothing = np.zeros(len(problem.first))
    region = Region(problem, labels, centre, moves, nothing, nothing)
    up, down = region.reach(problem.design, many)
    # Rows of zeros have margin 0 whatever the parameters are.
    still = problem.sizes == 0
    for step in range(_STEPS):
        wide_up, wide_down = (np.where(still, 0.0, _WIDER * each) for each in (up, down))
        widest = max(wide_up.max(initial=0.0), wide_down.max(initial=0.0))
        tell(f"region, step {step + 1}: margins move by up to {number_end(widest, 1, 3)}")
        if not widest < _WIDEST:
            return None
        region = Region(problem, labels, centre, moves, wide_down, wide_up)
        new_up, new_down = region.reach(problem.design, many)
        if ((new_up < wide_up) & (new_down < wide_down) | still).all():
            return shrunk(region, new_down, new_up, many)
        up, down = np.maximum(up, new_up), np.maximum(down, new_down)
    return None


def shrunk(region: Region, down: np.ndarray, up: np.ndarray, many: int) -> Region:
    """Return a proven region cut down to the bounds that follow from it, again and again."""
    problem = region.problem
    for step in range(_SHRINKS):
        down, up = np.minimum(down, region.down), np.minimum(up, region.up)
        before = region.down.sum() + region.up.sum()
        better = Region(problem, region.labels, region.centre, region.base, down, up)
        if not better.proven:
            return region
        region = better
        if step == _SHRINKS - 1 or down.sum() + up.sum() > _WORTH_IT * before:
            break
        up, down = region.reach(problem.design, many)
    return region


# ----------------------------------------------------------------------------------------
# Sharper bounds by splitting a budget: few of its labels within some rows, or few outside them.
#
# Where a region is wide, that is because labels may pile up on a few rows: a rare category, say.
# Then they are not elsewhere. Of a budget of k labels, either at most t are within those rows, or
# at most k - t - 1 outside them, and each case has a smaller region of its own: what the region
# of the whole budget proves holds in either case, so that it can be cut down by what follows from
# it there. Cases are split again until every one of them leaves a row within its margin.

WIDE = 3.0
"""Log-odds: margins that may move by more belong to rows on which labels pile up."""

_CASES = 48  # that are looked at
_CUTS = 2  # of a region, to what follows from it


class Case(NamedTuple):
    """How many labels are within the rows, the region that is known to hold, rows still open."""

    least: int
    most: int
    region: Region
    open: IntArray


class Splitting:
    """Bounds on scores, case by case."""

    def __init__(self, region: Region, labels: int, slopes: FloatArray) -> None:
        self.region, self.labels, self.slopes = region, labels, slopes
        self.wide = np.maximum(region.up, region.down) > WIDE
        self._inside = self.wide[region.base.sides.rows]
        self._design = dense(region.problem.design)
        self._known: dict[tuple[int, int], Region] = {}

    def reach(
        self, directions: FloatArray, enough: FloatArray, leaves: list[Case] | None = None
    ) -> FloatArray:
        """Return upper bounds on how far scores can rise, seen from the centre.

        Cases are put into `leaves`, with the rows that need no smaller ones.
        """
        found = np.zeros(len(directions))
        inside = int(min(self.labels, self.region.base.sides.n_upper[self._inside].sum()))
        if not inside or self._inside.all():
            return np.full(len(directions), np.inf)
        todo = self._halves(Case(0, inside, self.region, np.arange(len(directions))))
        for _ in range(_CASES):
            if not todo:
                break
            least, most, region, rows = todo.pop()
            rows = rows[np.isfinite(found[rows])]
            if not len(rows):
                continue
            region = self._smaller(region, least, most)
            bound = self._bound(region, directions[rows], enough[rows])
            done = bound < enough[rows]
            found[rows[done]] = np.maximum(found[rows[done]], bound[done])
            if leaves is not None and done.any():
                leaves.append(Case(least, most, region, rows[done]))
            if least == most:
                found[rows[~done]] = np.inf
            elif not done.all():
                todo += self._halves(Case(least, most, region, rows[~done]))
        for case in todo:
            found[case.open] = np.inf
        return found

    @staticmethod
    def _halves(case: Case) -> list[Case]:
        """Return two cases that are one together; the one of few labels inside comes last."""
        middle = (case.least + case.most) // 2
        if case.least == case.most:
            return [case]
        return [case._replace(least=middle + 1), case._replace(most=middle)]

    def _smaller(self, region: Region, least: int, most: int) -> Region:
        """Cut down a region by what follows from it for fewer labels inside, or outside."""
        if (least, most) in self._known:
            return self._known[least, most]
        moves = SplitMoves.split(self.region.base, self._inside, most, self.labels - least)
        known = self._cut(region, moves, region.down, region.up)
        for _ in range(_CUTS):
            up, down = known.reach(self._design, self.labels)
            known = self._cut(known, moves, down, up)
        rest = Remainder(known, self.labels, self.slopes)
        up, down = (
            rest.reach(sign * self._design, end)
            for sign, end in ((1.0, known.up), (-1.0, known.down))
        )
        self._known[least, most] = self._cut(known, moves, down, up)
        return self._known[least, most]

    @staticmethod
    def _cut(known: Region, moves: SplitMoves, down: FloatArray, up: FloatArray) -> Region:
        down, up = np.minimum(known.down, down), np.minimum(known.up, up)
        found = Region(known.problem, known.labels, known.centre, moves, down, up)
        return found if found.proven else known

    def _bound(self, region: Region, directions: FloatArray, enough: FloatArray) -> FloatArray:
        """Return bounds of one case."""
        bound, _ = region.reach(directions, self.labels)
        for grid in (COARSE, FINE):
            left = np.flatnonzero(~(bound < enough))
            if len(left):
                rest = Remainder(region, self.labels, self.slopes, grid)
                sharper = rest.reach(directions[left], bound[left])
                bound[left] = np.minimum(bound[left], sharper)
        return bound
