"""Bounds that need no selection: the box of all parameters (paper, section 5), and the sandwich."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unswayed._core.influence import distinct_rows
from unswayed._core.kernels import Locked
from unswayed._core.rounding import (
    SAFETY,
    SQUARES_UNDERFLOW,
    Bounds,
    above,
    below,
    gamma,
    ordinary_arithmetic,
)
from unswayed._core.sandwich import AnchoredBounds, Anchors, Box, Ellipsoid
from unswayed._typing import FloatArray, IntArray
from unswayed.engines.linear import LinearEngine
from unswayed.engines.protocol import CoefficientRows, DirectionRows, LinearRows, units
from unswayed.engines.selection import ExactEngine
from unswayed.exceptions import InputError
from unswayed.labels.budgets import Budget
from unswayed.margins.decisions import Decision, Margins, judge
from unswayed.models.learner import Parametric, Solution
from unswayed.results.notebook import SHOWN, table
from unswayed.words import number_end


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ParameterBox:
    """The smallest box that holds every parameter vector the bias can lead to.

    Computed once, without test rows. It certifies by interval arithmetic: sound, and quick to
    abstain. Parameters are the coefficients; with an intercept, the prediction at the mean row
    comes last (at doubles next to the mean, to be exact).

    Attributes
    ----------
    names : tuple of str
        Names of the parameters.
    value, low, high : arrays
        Parameters as trained, and their ranges, rounding included.
    budget : Budget
        What may be wrong at once.
    fingerprint : str
        Fingerprint of the model and bias that it was built from.
    box : Box
        The same in the units of the learner.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from unswayed import CertifiedClassifier, LabelBias
    >>> X = [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1]]
    >>> model = CertifiedClassifier(
    ...     LinearRegression(fit_intercept=False), bias=LabelBias.flips(budget=1)
    ... ).fit(X, ["yes", "yes", "yes", "no", "yes", "no"])
    >>> box = model.parameter_box()
    >>> box.high.round(3).tolist()
    [1.0, 0.667]
    >>> model.certify([[1, 0]], method=box)
    <CertificateSet: 1 row, same class if up to 1 label is wrong:
      one at a time: 1 robust
      together: 0 change
      at random: 0.0 % change on average (simulated)>

    What certifiers ask of it: how far the scores of rows, in the space of parameters, can rise.

    >>> import numpy as np
    >>> box.bounds(np.array([[1.0, 1.0]]), np.array([1.0])).outer_up.round(3).tolist()
    [0.333]

    How a fitted model makes it:

    >>> fitted = model.fitted_
    >>> ParameterBox.build(fitted.engine, box.budget, fitted.model.solution, fitted.names)
    <ParameterBox: 2 parameters, up to 1 label is wrong>
    """

    names: tuple[str, ...]
    value: FloatArray
    low: FloatArray
    high: FloatArray
    budget: Budget
    fingerprint: str  # of the model and bias it was built from
    box: Box

    @classmethod
    def build(
        cls, engine: ExactEngine, budget: Budget, solution: Solution, names: tuple[str, ...]
    ) -> "ParameterBox":
        """Return the box of all parameters a budget can lead to, by the exact reach of each.

        Parameters
        ----------
        engine : ExactEngine
            The engine of a learner that has coefficients.
        budget : Budget
            What may be wrong at once.
        solution : Solution
            What training left.
        names : tuple of str
            Names of the parameters.

        Returns
        -------
        ParameterBox
        """
        learner = engine.learner.with_coefficients()
        every = CoefficientRows(learner, units(learner.n_parameters))
        found, values = engine.reach(every, budget), every.scores(solution)
        scale = learner.parameter_scale
        return cls(
            names=names,
            value=values.value,
            low=below(values.value, -found.outer_down, values.error),
            high=above(values.value, found.outer_up, values.error),
            budget=budget,
            fingerprint=engine.fingerprint,
            box=Box(_in_units(found.outer_up, scale), _in_units(found.outer_down, scale)),
        )

    @ordinary_arithmetic()
    def bounds(self, directions: FloatArray, sizes: FloatArray) -> Bounds:
        """Return outer bounds of the reach of each direction; a box gives no inner ones.

        Parameters
        ----------
        directions : (rows, q) array
            In the learner's parameter space.
        sizes : (rows,) array
            Sizes of the directions, as the learner's `direction_sizes` gives them.

        Returns
        -------
        Bounds
            Outer ones, with their rounding errors.
        """
        up, down = self.box.reach(directions, sizes)
        error = gamma(2 * len(self) + 16) * np.maximum(up, down)
        return Bounds.outside(up, down, error)

    def __contains__(self, parameters: ArrayLike) -> bool:
        found: Any = np.asarray(parameters, dtype=np.float64)
        return bool(((self.low <= found) & (found <= self.high)).all())

    def __len__(self) -> int:
        return len(self.value)

    def __repr__(self) -> str:
        return f"<ParameterBox: {len(self)} parameters, {self.budget}>"

    def _repr_html_(self) -> str:
        columns = {
            "parameter": self.names[:SHOWN],
            "value": [number_end(each) for each in self.value[:SHOWN].tolist()],
            "low": [number_end(each, -1) for each in self.low[:SHOWN].tolist()],
            "high": [number_end(each, 1) for each in self.high[:SHOWN].tolist()],
        }
        caption = f"All parameters that wrong labels can lead to, if {self.budget}"
        return table(caption, columns, total=len(self), what="parameter")


def _in_units(reach: FloatArray, scale: FloatArray) -> FloatArray:
    """Return reaches divided by powers of two, rounded up: exact unless that underflows."""
    return np.where(reach == 0, 0.0, np.nextafter(reach / scale, np.inf))


class ByBox:
    """The certifier "box": interval arithmetic with a parameter box."""

    def __init__(self, box: ParameterBox, learner: Parametric) -> None:
        self._box = box
        self._learner = learner
        self.fingerprint = box.fingerprint

    def bounds(self, rows: LinearRows, budget: Budget, margins: Margins) -> Bounds:
        """Return outer bounds of all rows, whatever the margins."""
        check_budget(self._box, budget)
        directions = rows.directions(slice(None))
        return self._box.bounds(directions, self._learner.direction_sizes(directions))


# ----------------------------------------------------------------------------------------
# Sandwich: anchors that decide most rows at a cost that does not grow with the training set.

MAX_ANCHORS = 512
_TRAINING_SAMPLE = 200_000  # training rows that anchors are chosen among
_CANDIDATES = 8192  # training rows looked at when anchors are chosen


class Sandwich(Locked):
    """Inner and outer bounds of every row's reach, from anchors and boxes.

    Parameters
    ----------
    engine : LinearEngine
        The engine of a fitted model; `CertifiedClassifier.sandwich` passes its own.
    budget : Budget
        What may be wrong at once; it answers for no other budget.
    max_anchors : int
        Bound on the number of anchors; the oldest are dropped. 0 means boxes only.

    Notes
    -----
    Safe under threads: anchors are replaced as a whole, readers keep the set they started with.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from unswayed import CertifiedClassifier, LabelBias
    >>> X = [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1]]
    >>> model = CertifiedClassifier(
    ...     LinearRegression(fit_intercept=False), bias=LabelBias.flips(budget=1)
    ... ).fit(X, ["yes", "yes", "yes", "no", "yes", "no"])
    >>> sandwich = model.sandwich()
    >>> model.certify([[1, 0]], method=sandwich)
    <CertificateSet: 1 row, same class if up to 1 label is wrong:
      one at a time: 1 robust
      together: 0 change
      at random: 0.0 % change on average (simulated)>

    What certifiers ask of it: how far the scores of rows, in the space of parameters, can rise. A
    row that is added is known exactly from then on.

    >>> row = np.array([[1.0, 1.0]])
    >>> sandwich.boxed(row).outer_up.round(3).tolist(), sandwich.sizes(row).shape
    ([0.333], (1,))
    >>> np.allclose(sandwich.add(row).outer_up, sandwich.bounds(row).outer_up)
    True
    >>> trained, decision = model.fitted_.scored, model.fitted_.labels.decision
    >>> made = Sandwich(trained.engine, sandwich.budget)
    >>> made.choose_anchors(trained.solution, decision).n_anchors
    2
    """

    def __init__(
        self, engine: LinearEngine, budget: Budget, max_anchors: int = MAX_ANCHORS
    ) -> None:
        super().__init__()
        self.budget = budget
        self.max_anchors = max_anchors
        self.fingerprint = engine.fingerprint
        self.evaluations = 0  # exact ones spent so far, boxes included
        self._engine = engine
        learner = engine.learner.with_coefficients()
        self._learner = learner
        # Labels that can be wrong at once.
        self.labels_at_once = int(min(budget.most_labels, engine.precision.n_movable))
        to_weights = learner.direction_weights(np.eye(learner.n_parameters)).values
        self._to_parameters = to_weights.T
        basis = np.eye(learner.n_parameters)
        if np.isfinite(to_weights).all():
            basis, _, _ = np.linalg.svd(to_weights)
        self._bounds = AnchoredBounds(
            self._boxes(basis),
            self._ellipsoid(),
            Anchors.none(learner.n_parameters),
            self._plane_error(),
        )

    def _plane_error(self) -> float:
        """How far g·r may be off for the computed shift g of a budget's labels, per unit of size.

        As the reach of as many labels, but g is a sum over the labels first, and goes through
        the parameters one by one.
        """
        q = self._learner.n_parameters
        factor = (self.labels_at_once + 2 * q + 16) / (q + 8) * (1.0 + math.sqrt(q))
        return factor * self._engine.precision.most(self.labels_at_once)

    def _reach(self, directions: FloatArray) -> tuple[FloatArray, FloatArray]:
        self.evaluations += len(directions)
        found = self._engine.roughly(DirectionRows(self._learner, directions), self.budget)
        return found.outer_up, found.outer_down

    def _boxes(self, basis: FloatArray) -> tuple[Box, ...]:
        # Single coefficients of correlated features can move far while predictions stay:
        # principal directions of the training rows do not have that problem.
        up, down = self._reach(np.vstack((np.eye(len(basis)), basis.T)))
        units = Box(up[: len(basis)], down[: len(basis)])
        return units, Box.of_basis(up[len(basis) :], down[len(basis) :], basis, units.longest)

    def _ellipsoid(self) -> Ellipsoid:
        shifts = self._to_parameters
        inner, terms = self._engine.offset_gram()
        gram = shifts.T @ inner @ shifts
        if not np.isfinite(gram).all():
            return Ellipsoid(np.zeros_like(gram), 0.0, math.inf)
        size, norm = float(np.linalg.norm(shifts)), float(np.trace(inner))
        rounding = gamma(terms + 2 * len(gram) + 16) * norm + SQUARES_UNDERFLOW
        error = SAFETY * size * size * rounding
        # A direction is a sum of single parameters, and every parameter's weights are off.
        off = (1.0 + math.sqrt(len(gram))) * self._engine.precision.most_of_norm
        return Ellipsoid.of(gram, error, off, self.labels_at_once)

    # --- anchors --------------------------------------------------------------------------

    @property
    def n_anchors(self) -> int:
        """Number of anchors."""
        return len(self._bounds.anchors)

    @ordinary_arithmetic()
    def add(self, directions: FloatArray) -> Bounds:
        """Make anchors of directions: evaluate them exactly and keep what was found.

        Those of infinite reach are left out; beyond `max_anchors` the oldest ones are dropped.

        Parameters
        ----------
        directions : (k, q) array
            In the learner's parameter space, one a row.

        Returns
        -------
        Bounds
            Exact ones of these directions.
        """
        found, moved_up, moved_down = self._engine.extremes(
            DirectionRows(self._learner, directions), self.budget
        )
        self.evaluations += len(directions)
        new = Anchors(
            directions,
            self._learner.direction_sizes(directions),
            found.outer_up,
            found.outer_down,
            moved_up @ self._to_parameters,
            moved_down @ self._to_parameters,
        )
        usable = np.isfinite(found.outer_up) & np.isfinite(found.outer_down)
        with self._lock:
            anchors = self._bounds.anchors + new[np.flatnonzero(usable)]
            oldest_kept = max(0, len(anchors) - self.max_anchors)
            self._bounds = self._bounds.with_anchors(anchors[oldest_kept:])
        return found

    def choose_anchors(self, solution: Solution, decision: Decision) -> "Sandwich":
        """Fill up with training rows: the most frequent ones first, then where rows stay open.

        Test rows are expected to resemble them.

        Parameters
        ----------
        solution : Solution
            The solution for the training labels.
        decision : Decision
            So that "open" means what it will mean for test rows.

        Returns
        -------
        Sandwich
            Itself.
        """
        if not self.max_anchors:
            return self
        training = self._learner.example_directions(_TRAINING_SAMPLE)
        first, group = distinct_rows(training)
        frequency = np.bincount(group)
        best = np.argsort(-frequency, kind="stable")[:_CANDIDATES]
        candidates = training[first[best]]
        margins = decision.margins(self._learner.direction_scores(candidates, solution))
        open_rows = np.arange(len(candidates))
        lot = -(-self.max_anchors // self._engine.rounds)
        while len(open_rows) and self.n_anchors < self.max_anchors:
            room = min(lot, self.max_anchors - self.n_anchors)
            self.add(candidates[open_rows[:room]])
            open_rows = open_rows[room:]
            bounds = self.bounds(candidates[open_rows], margins[open_rows])
            robust, broken = judge(bounds, margins[open_rows])
            open_rows = open_rows[~(robust | broken)]
        return self

    # --- answers --------------------------------------------------------------------------

    @ordinary_arithmetic()
    def bounds(self, directions: FloatArray, margins: Margins | None = None) -> Bounds:
        """Return bounds of every direction from anchors and boxes.

        Parameters
        ----------
        directions : (k, q) array
            In the learner's parameter space, one a row.
        margins : Margins, optional
            Use anchors from outside only for directions that planes and boxes leave undecided; by
            default for all.

        Returns
        -------
        Bounds
            Inner and outer ones.
        """
        current, sizes = self._bounds, self._learner.direction_sizes(directions)
        base = current.base(directions, sizes)
        rows: IntArray | slice = slice(None)
        if margins is not None:
            robust, broken = judge(base, margins)
            rows = np.flatnonzero(~(robust | broken))
        return current.sharpened(base, directions, sizes, rows)

    def sizes(self, directions: FloatArray) -> FloatArray:
        """Return sizes of directions, which errors are relative to.

        Parameters
        ----------
        directions : (k, q) array
            In the learner's parameter space, one a row.

        Returns
        -------
        (k,) array
            One size per direction.
        """
        return self._learner.direction_sizes(directions)

    @ordinary_arithmetic()
    def boxed(self, directions: FloatArray) -> Bounds:
        """Return bounds of every direction from the boxes alone, whatever anchors there are.

        Parameters
        ----------
        directions : (k, q) array
            In the learner's parameter space, one a row.

        Returns
        -------
        Bounds
            Outer ones.
        """
        alone = self._bounds.with_anchors(Anchors.none(self._learner.n_parameters))
        return alone.base(directions, self.sizes(directions))

    def __repr__(self) -> str:
        return f"<Sandwich: {self.n_anchors} anchors, {self.budget}>"


def check_budget(bounds: Any, budget: Budget) -> None:
    """Raise if a box or a sandwich was built for another budget."""
    if bounds.budget != budget:
        raise InputError(
            f"this {type(bounds).__name__} was built for a budget of {bounds.budget.amount} labels "
            f"but {budget.amount} were asked for; pass budget={bounds.budget.amount}, or build one "
            f"for {budget.amount}"
        )


class BySandwich:
    """The certifier "sandwich": bounds of a sandwich, as sharp as they get."""

    def __init__(self, sandwich: Sandwich) -> None:
        self._sandwich = sandwich
        self.fingerprint = sandwich.fingerprint

    def bounds(self, rows: LinearRows, budget: Budget, margins: Margins) -> Bounds:
        """Return bounds of all rows, as sharp as they get, whatever the margins."""
        check_budget(self._sandwich, budget)
        return self._sandwich.bounds(rows.directions(slice(None)))
