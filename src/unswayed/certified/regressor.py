"""CertifiedRegressor: a regressor whose predictions come with proofs."""

import numbers
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin, is_classifier

from unswayed._typing import FloatArray
from unswayed.bias import LabelBias
from unswayed.certified.base import Certified
from unswayed.certified.question import Limits
from unswayed.engines.margins import Margins, radius_margins
from unswayed.engines.rational import ExactLimits
from unswayed.exceptions import InputError
from unswayed.learners.accuracy import Scores
from unswayed.learners.adapters import final_estimator


class CertifiedRegressor(RegressorMixin, Certified):
    """A regressor whose predictions come with proofs.

    Parameters
    ----------
    estimator : LinearRegression, Ridge, KernelRidge, LinearSmoother, or a Pipeline that ends \
in one
    bias : LabelBias
        Which labels may be wrong.
    radius : float
        How far a prediction may move, either way, and still count as the same.

    Attributes
    ----------
    estimator_ : the fitted estimator

    Examples
    --------
    The paper's worked example, with its influence row z = (-1, 2) made by two orthogonal rows.

    >>> from sklearn.linear_model import LinearRegression
    >>> model = CertifiedRegressor(
    ...     LinearRegression(fit_intercept=False), bias=LabelBias.shifts(1, budget=1), radius=3
    ... ).fit([[1, 0], [0, 1]], [3, 4])
    >>> model.certify([[-1, 2]])
    <CertificateSet: 1 row, within 3 if up to 1 label is wrong: 1 robust>
    """

    def __init__(
        self, estimator: Any, *, bias: LabelBias | None = None, radius: float | None = None
    ) -> None:
        self.estimator = estimator
        self.bias = bias
        self.radius = radius

    def _check_settings(self) -> None:
        super()._check_settings()
        final = final_estimator(self.estimator)
        if is_classifier(final):
            raise InputError(
                f"{type(final).__name__} predicts classes, not numbers; wrap it in "
                "CertifiedClassifier"
            )
        self._check_radius()

    def _check_radius(self) -> None:
        radius: Any = self.radius
        number = isinstance(radius, numbers.Real) and not isinstance(radius, bool)
        if radius is not None and not (number and 0 <= radius < np.inf):
            raise InputError(
                f"radius must be a finite number and not negative, got {radius!r}; it is how "
                "far a prediction may move and still count as the same"
            )

    def _encode(self, labels: NDArray[Any]) -> FloatArray:
        if not (labels.dtype.kind in "biuf" or all(isinstance(y, numbers.Number) for y in labels)):
            raise InputError(
                f"y holds {labels.dtype} values but a regressor needs numbers; "
                "for classes use CertifiedClassifier"
            )
        return labels.astype(np.float64)

    def _labels_to_fit(self, labels: NDArray[Any]) -> NDArray[Any]:
        return self.targets_

    def _margins(self, scores: Scores) -> Margins:
        if self.radius is None:
            raise InputError(
                "radius is not set: say how far a prediction may move and still count as the "
                "same, for example CertifiedRegressor(..., radius=2000)"
            )
        self._check_radius()
        return radius_margins(len(scores.value), float(self.radius))

    def _limits(self) -> Limits:
        return partial(_within, float(self.radius))  # type: ignore[arg-type]

    def _rule(self) -> dict[str, Any]:
        return {"task": "regression", "radius": float(self.radius)}  # type: ignore[arg-type]

    def predict(self, X: Any) -> FloatArray:
        """Prediction of each row, exactly the wrapped estimator's."""
        rows = self._validated(X, reset=False)
        return self._raw(self.estimator_, rows)

    def _in_words(self, budget: int) -> str:
        return f"within {self.radius:g} if {self._wrong(budget)}"


def _within(radius: float, _: Fraction) -> ExactLimits:
    """Limits that are the same for every score."""
    return ExactLimits.radius(radius)
