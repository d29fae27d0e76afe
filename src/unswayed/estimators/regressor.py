"""CertifiedRegressor: a regressor whose predictions come with proofs."""

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin, is_classifier

from unswayed._core.rounding import ordinary_arithmetic
from unswayed._typing import FloatArray
from unswayed.estimators.fitted import Fitted, LabelCode, Reading
from unswayed.estimators.review import Reviewable
from unswayed.exceptions import InputError
from unswayed.inputs import as_doubles
from unswayed.labels.bias import LabelBias
from unswayed.margins.decisions import MeanRadius, Radius
from unswayed.models.families import family_of
from unswayed.models.steps import final_estimator


class CertifiedRegressor(RegressorMixin, Reviewable):
    """A regressor whose predictions come with proofs.

    Parameters
    ----------
    estimator : LinearRegression, Ridge, KernelRidge, PoissonRegressor, LinearSmoother, or a \
Pipeline that ends in one
        What is trained; predictions are its own.
    bias : LabelBias
        Which labels may be wrong.
    radius : float
        How far a prediction may move, either way, and still count as the same. The score of a
        PoissonRegressor is a logarithm, and this radius is about the expected count; pass
        ``certify(X, decision=Radius(0.1))`` for a radius on the logarithm.
    trust : str or sequence of str
        What you vouch for, by name, because it cannot be seen here that no label had a part in
        it: "sample_weight", or steps that were fitted elsewhere. Certificates say so.

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
    <CertificateSet: 1 row, within 3 if up to 1 label is wrong:
      one at a time: 1 robust
      together: 0 move too far
      at random: 0.0 % move too far on average (simulated)>
    >>> model.predict([[-1, 2]]).round(6).tolist(), model.minimum_budget([[-1, 2]]).tolist()
    ([5.0], [2.0])

    The signs of its coefficients, 3 and 4, and of their sum:

    >>> certs = model.certify_coefficients()
    >>> certs.names, [str(verdict) for verdict in certs.verdict]
    (('x0', 'x1'), ['robust', 'robust'])
    >>> [str(v) for v in model.certify_coefficients(contrasts=[[1, 1]]).verdict]
    ['robust']
    """

    def __init__(
        self,
        estimator: Any,
        *,
        bias: LabelBias | None = None,
        radius: float | None = None,
        trust: str | Sequence[str] = (),
    ) -> None:
        self.estimator = estimator
        self.bias = bias
        self.radius = radius
        self.trust = trust

    def _check_settings(self) -> None:
        super()._check_settings()
        final = final_estimator(self.estimator)
        if is_classifier(final):
            raise InputError(
                f"{type(final).__name__} predicts classes, not numbers; wrap it in "
                "CertifiedClassifier"
            )
        if self.radius is not None:
            Radius(self.radius)

    def _read(self, labels: NDArray[Any]) -> Reading:
        if not (labels.dtype.kind in "biuf" or all(isinstance(y, numbers.Number) for y in labels)):
            raise InputError(
                f"y holds {labels.dtype} values but a regressor needs numbers; "
                "for classes use CertifiedClassifier"
            )
        targets = as_doubles(labels, "y")
        return Reading(targets, targets, LabelCode())

    def _decision(self, fitted: Fitted) -> Radius | MeanRadius:
        if self.radius is None:
            raise InputError(
                "radius is not set: say how far a prediction may move and still count as the "
                "same, for example CertifiedRegressor(..., radius=2000)"
            )
        counts = family_of(self.estimator).counts
        return MeanRadius(self.radius) if counts else Radius(self.radius)

    @ordinary_arithmetic()
    def predict(self, X: Any) -> FloatArray:
        """Return the prediction of each row, exactly the wrapped estimator's.

        Parameters
        ----------
        X : array, sparse matrix or frame
            Rows with the same columns as the training rows.

        Returns
        -------
        (n,) array
            One number per row.
        """
        fitted = self._current()
        score = fitted.raw(fitted.features(X))
        return np.asarray(np.exp(score)) if family_of(self.estimator).counts else score
