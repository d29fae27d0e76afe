"""The engine of models whose labels are in the gradient: regions, remainders and attacks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from unswayed._core.kernels import Locked
from unswayed._core.rounding import SAFETY, Bounds, binade, gamma
from unswayed._typing import BoolArray, FloatArray, IntArray, Matrix
from unswayed.engines.protocol import Claimed, Terms, combined, units
from unswayed.engines.region.attack import Attacker, Found, Moves
from unswayed.engines.region.region import (
    COARSE,
    FINE,
    WIDE,
    Region,
    Remainder,
    Splitting,
    closed_region,
)
from unswayed.inputs import dense
from unswayed.labels.bias import ResolvedBias
from unswayed.labels.budgets import Budget
from unswayed.margins.decisions import Margins
from unswayed.models.gradient.family import GradientLearner, slopes
from unswayed.models.gradient.problem import Centre, Labels
from unswayed.models.learner import Scores, Solution
from unswayed.models.ridge.verified import row_norms

if TYPE_CHECKING:
    from unswayed.engines.region.case import RegionCase

EFFORTS = (0, 1, 2)
_SMALL = 1200  # distinct rows up to which a region is tightened by remainders, or a budget split
_SPLIT = 1.5  # times its margin: a bound that splitting the budget may take below it
_NEAR = 1.1  # times its margin: a bound that a finer grid may take below it
_ROUNDS = {0: 1, 1: 3, 2: 6}  # of attacks
SHARES = (0.4, 0.7, 1.0)  # of an attack's way, at which slopes are tried


@dataclass(frozen=True, slots=True, eq=False)
class Directions:
    """Rows in parameter space, scaled by powers of two to about unit size."""

    rows: FloatArray
    scale: FloatArray
    features: Matrix | None = None  # what they are of: feature rows
    sums: Matrix | None = None  # or sums of coefficients

    @classmethod
    def of(
        cls, rows: Matrix, features: Matrix | None = None, sums: Matrix | None = None
    ) -> "Directions":
        """Scale rows."""
        full = dense(rows)
        scale = binade(np.abs(full).max(axis=1, initial=0.0))
        return cls(full / scale[:, None], scale, features, sums)

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, which: IntArray) -> "Directions":
        """Return some of the rows."""
        features, sums = (
            None if each is None else each[which] for each in (self.features, self.sums)
        )
        return Directions(self.rows[which], self.scale[which], features, sums)

    def shown(self, which: IntArray) -> Matrix | None:
        """Return feature rows; None for coefficients."""
        return None if self.features is None else self.features[which]


class Attacked(NamedTuple):
    """Rows that were attacked, and what was found for each of them."""

    rows: IntArray
    found: Found


class SecantEngine(Locked):
    """Bounds, minimum budgets and witnesses of one fitted model under one bias."""

    can = frozenset({"files", "pages", "draws", "effort", "errors"})
    setting = "gradient"

    def __init__(
        self, learner: GradientLearner, targets: FloatArray, centre: Centre, bias: ResolvedBias
    ) -> None:
        super().__init__()
        self.learner, self.centre, self.bias = learner, centre, bias
        self.problem = learner.problem
        self.labels: Labels = self.problem.labels(targets)
        self.moves = Moves.of(self.problem, bias)
        self._regions: dict[tuple[int, int], Region | None] = {}
        self._splittings: dict[int, Splitting] = {}

    @property
    def fingerprint(self) -> str:
        """What tells this engine from others."""
        return f"secant {id(self)}"

    @cached_property
    def attacker(self) -> Attacker:
        """Who looks for label changes."""
        return Attacker(self.problem, self.labels, self.centre, self.moves)

    @cached_property
    def _plain(self) -> Region:
        """The region of labels that do not change: it encloses the solution itself."""
        found = closed_region(self.problem, self.labels, self.centre, self.moves, 0)
        if found is not None:
            return found
        still = np.zeros(len(self.problem.first))
        nowhere = Centre(
            self.centre.parameters, self.centre.margins, self.centre.error, float("inf")
        )
        return Region(self.problem, self.labels, nowhere, self.moves, still, still)

    @property
    def proven(self) -> bool:
        """Whether the solution of the labels as they are is known to exist, and enclosed."""
        return self._plain.proven

    @property
    def width(self) -> int:
        """Number of parameters."""
        return self.problem.n_parameters

    # --- what is asked --------------------------------------------------------------------

    def rows(self, features: Matrix) -> Directions:
        """Return feature rows as directions in parameter space."""
        return Directions.of(self.learner.directions(features), features=features)

    def coefficients(self, sums: Matrix | None = None) -> Directions:
        """Return coefficients, or sums of them, as directions in parameter space."""
        counts = units(self.learner.n_features) if sums is None else sums
        return Directions.of(combined(self.learner, counts), sums=sums)

    def case(self, rows: Directions, terms: Terms) -> "RegionCase":
        """Put rows to the engine."""
        from unswayed.engines.region.case import RegionCase  # noqa: PLC0415  (a circle)

        return RegionCase(self, rows, self.scores(rows, terms.solution), terms)

    def proof(self, budget: Budget, asked: Sequence[Claimed]) -> dict[str, FloatArray]:
        """Return what proves claims to a checker: see `proof`."""
        from unswayed.engines.region.proof import region_proof  # noqa: PLC0415  (a circle)

        labels = int(min(budget.most_labels, self.moves.n_movable))
        return region_proof(self, labels, asked)

    def scores(self, directions: Directions, solution: Solution | None = None) -> Scores:
        """Return scores of the centre, with bounds on their errors."""
        theta, rows = self.centre.parameters, directions.rows
        with np.errstate(invalid="ignore", over="ignore"):
            value = (rows @ theta) * directions.scale
            size = float(np.linalg.norm(theta)) * SAFETY
            error = gamma(self.problem.n_parameters + 6) * size * row_norms(rows)
            error = SAFETY * (error + self._plain.residual(rows)) * directions.scale
        nothing = ~rows.any(axis=1)
        known = np.isfinite(value) & np.isfinite(error) & self.proven
        return Scores(value, np.where(nothing, 0.0, np.where(known, error, np.inf)))

    # --- regions --------------------------------------------------------------------------

    def region(
        self, labels: int, effort: int = 1, progress: Callable[[str], object] | None = None
    ) -> Region | None:
        """Return a region that no change of so many labels leads out of; None if none is found."""
        labels = min(labels, self.moves.n_movable)
        key = (labels, effort)
        with self._lock:
            if key not in self._regions:
                self._regions[key] = self._closed(labels, effort, progress)
            return self._regions[key]

    def _closed(
        self, labels: int, effort: int, progress: Callable[[str], object] | None
    ) -> Region | None:
        if effort:
            found = self._regions.get((labels, 0)) or self._closed(labels, 0, progress)
            self._regions[labels, 0] = found
            for _ in range(effort):
                if found is not None and (effort > 1 or self._worth_tightening(found)):
                    found = self._tightened(found, labels)
            return found
        if not self.proven:
            return None
        return closed_region(self.problem, self.labels, self.centre, self.moves, labels, progress)

    def _worth_tightening(self, region: Region) -> bool:
        wide = max(region.up.max(initial=0.0), region.down.max(initial=0.0))
        return bool(wide > WIDE) and len(self.problem.first) <= _SMALL

    def _tightened(self, region: Region, labels: int) -> Region:
        """Cut a region down by what follows from remainders of its own rows."""
        design = dense(self.problem.design)
        rest = Remainder(region, labels, self.at_centre)
        up = np.minimum(region.up, rest.reach(design, region.up))
        down = np.minimum(region.down, rest.reach(-design, region.down))
        better = Region(self.problem, self.labels, self.centre, self.moves, down, up)
        return better if better.proven else region

    def splitting(self, labels: int) -> Splitting | None:
        """Return cases of a split budget; None where nothing is split."""
        region = self.region(labels, 2)
        if region is None or len(self.problem.first) > _SMALL:
            return None
        with self._lock:
            if labels not in self._splittings:
                self._splittings[labels] = Splitting(region, labels, self.at_centre)
            return self._splittings[labels]

    @cached_property
    def at_centre(self) -> FloatArray:
        """Curvatures at the centre."""
        return self.labels.weight * slopes(self.problem, self.centre.parameters)

    # --- bounds ---------------------------------------------------------------------------

    def bounds(
        self,
        directions: Directions,
        labels: int,
        margins: Margins,
        effort: int = 1,
        progress: Callable[[str], object] | None = None,
        *,
        attack: bool = True,
    ) -> tuple[Bounds, Attacked | None]:
        """Return how far so many labels can move scores, from outside and from inside."""
        self.region(labels, effort, progress)
        bounds = self.outer_bounds(directions, labels, effort)
        left = np.flatnonzero(~self.within(bounds, margins))
        if not labels or not len(left):
            return bounds, None
        found = None
        if attack:
            found = self._attacked(directions, labels, margins, bounds, left, effort)
        if effort:
            self._sharpen(directions, labels, margins, bounds, effort, found, left)
        return bounds, None if found is None else Attacked(left, found)

    def outer_bounds(
        self, directions: Directions, labels: int, effort: int, within: int | None = None
    ) -> Bounds:
        """Return how far so many labels can move scores at most, by selection alone."""
        region = self.region(labels if within is None else within, effort)
        up, down = np.full((2, len(directions)), np.inf)
        if region is not None:
            up, down = region.reach(directions.rows, min(labels, self.moves.n_movable))
        own, scale = self._own(directions), directions.scale
        return Bounds.outside(
            np.nextafter(up * scale + own, np.inf),
            np.nextafter(down * scale + own, np.inf),
            2 * own,
        )

    def _own(self, directions: Directions) -> FloatArray:
        """What the residual of the centre does: reaches are seen from the solution itself."""
        return np.asarray(self._plain.residual(directions.rows) * directions.scale)

    @staticmethod
    def within(bounds: Bounds, margins: Margins) -> BoolArray:
        """Return which rows stay within their margins."""
        with np.errstate(invalid="ignore"):
            slack = np.where(np.isfinite(margins.slack), margins.slack, np.inf)
            within = (bounds.outer_up + slack <= margins.up) | np.isposinf(margins.up)
            within &= (bounds.outer_down + slack <= margins.down) | np.isposinf(margins.down)
        return np.asarray(within)

    def _attacked(
        self,
        directions: Directions,
        labels: int,
        margins: Margins,
        bounds: Bounds,
        left: IntArray,
        effort: int,
    ) -> Found:
        """Attack rows that may not be robust, and keep what is reached."""
        with np.errstate(invalid="ignore"):
            sign = np.where(margins.up[left] <= margins.down[left], 1.0, -1.0)
            enough = np.minimum(margins.up[left], margins.down[left]) + margins.slack[left]
            enough = np.nextafter(enough, np.inf) / directions.scale[left]
        many = np.full(len(left), min(labels, self.moves.n_movable))
        found = self.attacker.strongest(directions.rows[left], sign, many, _ROUNDS[effort], enough)
        moved = np.maximum(found.moved, 0.0) * directions.scale[left]
        bounds.inner_up[left] = np.where(sign > 0, moved, 0.0)
        bounds.inner_down[left] = np.where(sign < 0, moved, 0.0)
        return Found(
            [*found.index], [*found.amount], found.moved * directions.scale[left],
            found.parameters,
        )  # fmt: skip

    def _sharpen(
        self,
        directions: Directions,
        labels: int,
        margins: Margins,
        bounds: Bounds,
        effort: int,
        found: Found | None,
        left: IntArray,
    ) -> None:
        """Bound rows that are left open by remainders, in the directions that matter."""
        region = self.region(labels, effort)
        if region is None:
            return
        labels = min(labels, self.moves.n_movable)
        for sign in (1.0, -1.0):
            for grid, near in ((COARSE, np.inf), (FINE, _NEAR)):
                rows = self._open(bounds, margins, sign, left, near)
                if len(rows):
                    rest = Remainder(region, labels, self.at_centre, grid)
                    self._cut(directions, bounds, rest, sign, rows)
            if effort < 2 or found is None:
                continue
            for row in self._open(bounds, margins, sign, left, 2.0).tolist():
                at = int(np.flatnonzero(left == row)[0])
                moved = self.problem.rows(found.parameters[at][None])[0] - self.centre.margins
                for share in SHARES:
                    curvature = self.problem.link.secant(self.centre.margins, share * moved)
                    own = Remainder(region, labels, self.labels.weight * curvature, FINE)
                    self._cut(directions, bounds, own, sign, np.array([row]))
            rows = self._open(bounds, margins, sign, left, _SPLIT)
            splitting = self.splitting(labels) if len(rows) else None
            if splitting is not None:
                self._split(directions, bounds, margins, splitting, sign, rows)

    def _open(
        self, bounds: Bounds, margins: Margins, sign: float, left: IntArray, near: float
    ) -> IntArray:
        """Return rows that bounds leave open in a direction, by a factor `near` at most."""
        outer, inner, margin = (
            (bounds.outer_up, bounds.inner_up, margins.up)
            if sign > 0
            else (bounds.outer_down, bounds.inner_down, margins.down)
        )
        with np.errstate(invalid="ignore"):
            slack = margins.slack
            still = ~(outer + slack <= margin) & ~(inner - slack > margin)
            still &= np.isfinite(slack) & np.isfinite(margin) & ~(outer > near * margin)
        return left[still[left]]

    def _split(
        self, directions: Directions, bounds: Bounds, margins: Margins, splitting: Splitting,
        sign: float, rows: IntArray,
    ) -> None:  # fmt: skip
        """Take over the bounds that follow from every case of a split budget."""
        asked, outer = directions.take(rows), bounds.outer_up if sign > 0 else bounds.outer_down
        own, margin = self._own(asked), (margins.up if sign > 0 else margins.down)[rows]
        enough = (margin - margins.slack[rows] - own) / asked.scale * (1.0 - 1e-9)
        found = splitting.reach(sign * asked.rows, enough)
        outer[rows] = np.minimum(outer[rows], np.nextafter(found * asked.scale + own, np.inf))

    def _cut(
        self, directions: Directions, bounds: Bounds, rest: Remainder, sign: float, rows: IntArray
    ) -> None:
        """Take over the bounds of a remainder where they are sharper."""
        asked = directions.take(rows)
        outer = bounds.outer_up if sign > 0 else bounds.outer_down
        own = self._own(asked)
        found = rest.reach(sign * asked.rows, outer[rows] / asked.scale) * asked.scale
        outer[rows] = np.minimum(outer[rows], np.nextafter(found + own, np.inf))
