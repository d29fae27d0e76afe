"""Models given by an explicit influence matrix, for linear models without a family of their own."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from unswayed._core.influence import Weights
from unswayed._core.rounding import PRODUCT_UNDERFLOW, exact_dots, gamma
from unswayed._typing import FloatArray, Matrix
from unswayed.exceptions import InputError
from unswayed.inputs import dense
from unswayed.models.family import Family, register
from unswayed.models.learner import ErrorScale, Learner, Scores, SmootherSpecification, Solution


class LinearSmoother(RegressorMixin, BaseEstimator):
    """A model given by its influence: prediction = influence · y.

    Nearest neighbours, local regression, smoothing splines and Gaussian processes are of this
    form once their tuning is fixed without looking at the labels.

    Parameters
    ----------
    influence : "precomputed" or callable
        A callable of (training rows, rows) that returns an array of shape
        (len(rows), len(training rows)). With "precomputed", the rows given to `predict` and
        `certify` are influence rows themselves and the training X only counts the labels.

    Examples
    --------
    The paper's example: z = (-1, 2), y = (3, 4), either label off by at most 1, one at a time.

    >>> from unswayed import CertifiedRegressor, LabelBias
    >>> model = CertifiedRegressor(
    ...     LinearSmoother(), bias=LabelBias.shifts(1, budget=1), radius=3
    ... ).fit([[0.0, 0.0], [0.0, 0.0]], [3, 4])
    >>> certificate = model.certify([[-1.0, 2.0]])
    >>> certificate.low.item(), certificate.high.item(), str(certificate.verdict[0])
    (3.0, 7.0, 'robust')

    By itself, it predicts and says by which influence:

    >>> smoother = LinearSmoother(lambda X, rows: abs(rows - X.T)).fit([[0], [1]], [3, 4])
    >>> smoother.influence_rows(np.array([[2.0]])).tolist(), smoother.predict([[2]]).tolist()
    ([[2.0, 1.0]], [10.0])
    """

    def __init__(
        self,
        influence: Literal["precomputed"] | Callable[[Any, Any], Any] = "precomputed",
    ) -> None:
        self.influence = influence

    def fit(self, X: Any, y: Any) -> "LinearSmoother":
        """Keep the training rows and labels.

        Parameters
        ----------
        X : (n, p) array or sparse matrix
            Training rows; with influence="precomputed", n columns whose values are not used.
        y : (n,) array
            Labels.

        Returns
        -------
        LinearSmoother
            The estimator itself.
        """
        X, y = validate_data(self, X, y, accept_sparse="csr", y_numeric=True, dtype=np.float64)
        if not (callable(self.influence) or self.influence == "precomputed"):
            raise InputError(
                f"influence must be 'precomputed' or a callable, got {self.influence!r}"
            )
        if self.influence == "precomputed" and X.shape[1] != X.shape[0]:
            raise InputError(
                f"with influence='precomputed' X must have one column per training row, got "
                f"{X.shape[1]} columns for {X.shape[0]} rows"
            )
        self.X_fit_, self.y_fit_ = X, np.asarray(y, dtype=np.float64)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.influence == "precomputed"
        tags.regressor_tags.poor_score = True  # as good as the influence it is given
        return tags

    def influence_rows(self, rows: Matrix) -> FloatArray:
        """Return the influence of each training label on the prediction at each row.

        Parameters
        ----------
        rows : (m, p) matrix
            Feature rows, or influence rows with influence="precomputed".

        Returns
        -------
        (m, n) array
            One row per row asked about, one column per training label.

        Raises
        ------
        InputError
            If the influence has another shape.
        """
        if callable(self.influence):
            # Copies either way: it may write into its rows, or hand out an array it uses again.
            found = deepcopy(self.influence(deepcopy(self.X_fit_), deepcopy(rows)))
        else:
            found = rows
        found = check_array(found, dtype=np.float64, input_name="influence", accept_sparse="csr")
        found = dense(found)
        if found.shape != (rows.shape[0], len(self.y_fit_)):
            raise InputError(
                f"influence has shape {found.shape}, expected {(rows.shape[0], len(self.y_fit_))}: "
                "one row per row asked about, one column per training label"
            )
        return np.ascontiguousarray(found)

    def predict(self, X: Any) -> FloatArray:
        """Return the predictions at rows: influence times labels.

        Parameters
        ----------
        X : (m, p) array or sparse matrix
            Feature rows, or influence rows with influence="precomputed".

        Returns
        -------
        (m,) array
            One number per row.
        """
        check_is_fitted(self)
        rows = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return self.influence_rows(rows) @ self.y_fit_


class GivenInfluence(Learner):
    """A learner whose influence rows are given by a function.

    Nothing is solved, so only products with labels and their sums round. A family whose influence
    can be computed needs no more than this.
    """

    def __init__(self, n_rows: int, influence: Callable[[Matrix], FloatArray]) -> None:
        self.n_rows = n_rows
        self.specification = SmootherSpecification()
        self.error_scale = ErrorScale(np.ones(n_rows), np.zeros(n_rows), 0.0, 1.0)
        self._influence = influence

    def represent(self, rows: Matrix) -> FloatArray:
        """Return influence rows."""
        return self._influence(rows)

    def weights(self, represented: FloatArray) -> Weights:
        """Return the influence rows themselves, which count as exact."""
        sizes = np.abs(represented).max(axis=1, initial=0.0)
        return Weights(represented, np.zeros(len(represented)), sizes)

    def solve(self, labels: FloatArray) -> Solution:
        """Return the labels themselves."""
        return Solution(labels, 0.0, 0.0)

    def scores(self, represented: FloatArray, solution: Solution) -> Scores:
        """Return the scores of influence rows, with error 0 where no product or sum rounds."""
        size = np.abs(represented) @ np.abs(solution.values)
        rounding = gamma(self.n_rows + 2) * size + self.n_rows * PRODUCT_UNDERFLOW
        exact = exact_dots(represented, solution.values)
        return Scores(represented @ solution.values, np.where(exact, 0.0, rounding))


def _learner(model: Any, features: Matrix, sample_weight: FloatArray | None) -> GivenInfluence:
    return GivenInfluence(len(model.y_fit_), model.influence_rows)


register(
    Family(
        (LinearSmoother,),
        learner=_learner,
        keeps_rows=lambda model: model.influence != "precomputed",
    )
)
