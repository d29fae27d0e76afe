"""Sandwich: anchors that decide most rows at a cost that does not grow with the training set."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from unswayed._core.box import Box, Ellipsoid
from unswayed._core.compression import distinct_rows
from unswayed._core.sandwich import AnchoredBounds, Anchors, Bounds
from unswayed._typing import FloatArray
from unswayed.engines.answer import Answer, judge
from unswayed.engines.exact import ExactEngine
from unswayed.engines.margins import Margins
from unswayed.engines.rows import DirectionRows
from unswayed.learners.protocol import LinearLearner

MAX_ANCHORS = 512
_CANDIDATES = 8192  # training rows looked at when anchors are chosen
_ROUNDS = 8  # anchors come in so many lots, each where the ones before left rows open


def _rounding(singular_values: FloatArray) -> float:
    """Relative error of a reach put together from others: generous, worse when nearly singular."""
    kept = singular_values[singular_values > 1e-14 * singular_values.max(initial=0.0)]
    spread = kept.max() / kept.min() if kept.size else 1.0
    return float(max(1e-10, 1e3 * np.finfo(np.float64).eps * spread))


class Sandwich:
    """Inner and outer bounds of every row's reach, from anchors and boxes.

    Parameters
    ----------
    engine : ExactEngine
    budget : int
        The count of wrong labels it is built for; it answers for no other.
    max_anchors : int
        Bound on their number; the oldest give way. 0 means boxes only.

    Notes
    -----
    Safe under threads: anchors are replaced as a whole, readers keep the set they started with.
    """

    def __init__(self, engine: ExactEngine, budget: int, max_anchors: int = MAX_ANCHORS) -> None:
        self.budget = budget
        self.max_anchors = max_anchors
        self.fingerprint = engine.fingerprint
        self.evaluations = 0  # exact ones spent so far, boxes included
        self._engine = engine
        self._lock = threading.Lock()
        learner: LinearLearner = engine.learner  # type: ignore[assignment]
        self._learner = learner
        to_weights = learner.direction_weights(np.eye(learner.n_parameters))
        self._to_parameters = to_weights.T
        basis, size, _ = np.linalg.svd(to_weights)
        self.tolerance = _rounding(size)
        self._bounds = AnchoredBounds(
            self._boxes(basis), self._ellipsoid(), Anchors.none(learner.n_parameters)
        )

    def _reach(self, directions: FloatArray) -> tuple[FloatArray, FloatArray]:
        self.evaluations += len(directions)
        return self._engine.reach(DirectionRows(self._learner, directions), self.budget)

    def _boxes(self, basis: FloatArray) -> tuple[Box, ...]:
        # Single coefficients of correlated features can move far while predictions stay:
        # principal directions of the training rows do not have that problem.
        units = np.eye(len(basis))
        return Box(*self._reach(units)), Box(*self._reach(basis.T.copy()), basis)

    def _ellipsoid(self) -> Ellipsoid:
        influence = self._engine.influence
        entries = influence.entries
        up, down = entries.n_upper * entries.upper**2, entries.n_lower * entries.lower**2
        # In one direction an entry moves on one side only: the larger bounds both.
        gram = influence.gram(np.maximum(up, down))
        gram = self._to_parameters.T @ gram @ self._to_parameters
        return Ellipsoid.of(gram, self.budget)

    # --- anchors --------------------------------------------------------------------------

    @property
    def n_anchors(self) -> int:
        """How many anchors there are now."""
        return len(self._bounds.anchors)

    def add(self, directions: FloatArray) -> Bounds:
        """Evaluate directions exactly, make them anchors, and return what was found."""
        up, down, moved_up, moved_down = self._engine.extremes(
            DirectionRows(self._learner, directions), self.budget
        )
        self.evaluations += len(directions)
        new = Anchors(
            directions,
            up,
            down,
            moved_up @ self._to_parameters,
            moved_down @ self._to_parameters,
        )
        usable = np.isfinite(up) & np.isfinite(down)
        with self._lock:
            anchors = self._bounds.anchors + new[np.flatnonzero(usable)]
            oldest_kept = max(0, len(anchors) - self.max_anchors)
            self._bounds = self._bounds.with_anchors(anchors[oldest_kept:])
        return Bounds.exact(up, down)

    def choose_anchors(
        self, training: FloatArray, margins_of: Callable[[FloatArray], Margins]
    ) -> "Sandwich":
        """Fill up with training rows: the most frequent ones first, then where rows stay open.

        Parameters
        ----------
        training : (n, q) array
            Training rows as directions: test rows are expected to resemble them.
        margins_of : callable
            Margins of directions, so that "open" means what it will mean for test rows.
        """
        if not self.max_anchors:
            return self
        first, group = distinct_rows(training)
        frequency = np.bincount(group)
        best = np.argsort(-frequency, kind="stable")[:_CANDIDATES]
        candidates, margins = training[first[best]], margins_of(training[first[best]])
        open_rows = np.arange(len(candidates))
        lot = -(-self.max_anchors // _ROUNDS)
        while len(open_rows) and self.n_anchors < self.max_anchors:
            room = min(lot, self.max_anchors - self.n_anchors)
            self.add(candidates[open_rows[:room]])
            open_rows = open_rows[room:]
            bounds = self.bounds(candidates[open_rows], margins[open_rows])
            robust, broken = judge(bounds, margins[open_rows], self.tolerance)
            open_rows = open_rows[~(robust | broken)]
        return self

    # --- answers --------------------------------------------------------------------------

    def bounds(self, directions: FloatArray, margins: Margins | None = None) -> Bounds:
        """Bounds of every direction; given margins, sharpened only where they are needed."""
        current = self._bounds
        if margins is None:
            return current.bounds(directions)
        robust, broken = judge(current.base(directions), margins, self.tolerance)
        return current.bounds(directions, ~(robust | broken))

    def answer(self, directions: FloatArray, margins: Margins, *, sharp: bool) -> Answer:
        """Verdicts from bounds; `sharp` sharpens the bounds of decided rows too."""
        bounds = self.bounds(directions, None if sharp else margins)
        return Answer.bounded(bounds, margins, self.tolerance)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<Sandwich: {self.n_anchors} anchors, up to {self.budget} labels wrong>"
