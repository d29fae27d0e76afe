"""ParameterBox: every parameter's range at once (paper, section 5, algorithm 5)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unswayed._core.box import Box
from unswayed._core.rounding import above, below, gamma, ordinary_arithmetic
from unswayed._core.sandwich import Bounds
from unswayed._typing import FloatArray
from unswayed.budgets import Budget
from unswayed.certifiers.exact import ExactEngine
from unswayed.certifiers.rows import FeatureRows, UnitRows
from unswayed.certifiers.sandwich import check_budget
from unswayed.decisions import Margins
from unswayed.models.learner import LinearLearner, Scores, with_coefficients


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ParameterBox:
    """The smallest box that holds every parameter vector the bias can lead to.

    Computed once, without test rows. It certifies by interval arithmetic: sound, and quick to
    abstain. Parameters are the coefficients; with an intercept, the prediction at the mean row
    comes last (at doubles next to the mean, to be exact).

    Attributes
    ----------
    names : tuple of str
        Of the parameters.
    value, low, high : arrays
        Parameters as trained, and their ranges, rounding included.
    budget : Budget
        What may be wrong at once.
    fingerprint : str
        Of the model and bias that it was built from.
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
    >>> ParameterBox.build(fitted.engine, box.budget, fitted.parameters(2), fitted.names)
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
        cls, engine: ExactEngine, budget: Budget, values: Scores, names: tuple[str, ...]
    ) -> "ParameterBox":
        """Return the box of all parameters a budget can lead to, by the exact reach of each.

        Parameters
        ----------
        engine : ExactEngine
            Of a learner that has coefficients.
        budget : Budget
            What may be wrong at once.
        values : Scores
            Parameters as trained.
        names : tuple of str
            Of the parameters.

        Returns
        -------
        ParameterBox
        """
        learner = with_coefficients(engine.learner)
        found = engine.reach(UnitRows(learner, learner.n_parameters), budget)
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
            Of the directions, as the learner's `direction_sizes` gives them.

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


def _in_units(reach: FloatArray, scale: FloatArray) -> FloatArray:
    """Return reaches divided by powers of two, rounded up: exact unless that underflows."""
    return np.where(reach == 0, 0.0, np.nextafter(reach / scale, np.inf))


class ByBox:
    """The certifier "box": interval arithmetic with a parameter box."""

    def __init__(self, box: ParameterBox, learner: LinearLearner) -> None:
        self._box = box
        self._learner = learner
        self.fingerprint = box.fingerprint

    def bounds(self, rows: FeatureRows, budget: Budget, margins: Margins) -> Bounds:
        """Return outer bounds of all rows, whatever the margins."""
        check_budget(self._box, budget)
        directions = rows.directions(slice(None))
        return self._box.bounds(directions, self._learner.direction_sizes(directions))
