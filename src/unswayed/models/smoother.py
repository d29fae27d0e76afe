"""Models given by an explicit influence matrix, for linear models without a family of their own."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from unswayed._core.influence import Weights
from unswayed._core.rounding import PRODUCT_UNDERFLOW, exact_dots, exact_products, gamma
from unswayed._typing import FloatArray, IntArray, Matrix
from unswayed.exceptions import InputError
from unswayed.inputs import dense
from unswayed.models.family import Family, register
from unswayed.models.learner import (
    ErrorScale,
    LinearInLabels,
    Scores,
    SmootherSpecification,
    Solution,
)


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
        y : (n,) or (n, k) array
            Labels, or several columns of them.

        Returns
        -------
        LinearSmoother
            The estimator itself.
        """
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            y_numeric=True,
            dtype=np.float64,
            multi_output=np.asarray(y).ndim > 1 and np.asarray(y).shape[1] > 1,
        )
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
        (m,) or (m, k) array
            One number per row, and per column of labels.
        """
        check_is_fitted(self)
        rows = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return self.influence_rows(rows) @ self.y_fit_


class GivenInfluence(LinearInLabels):
    """A learner whose influence rows are given by a function.

    Nothing is solved, so only products with labels and their sums round. A family whose influence
    can be computed needs no more than this.
    """

    def __init__(
        self, n_rows: int, influence: Callable[[Matrix], Matrix], *, sparse: bool = False
    ) -> None:
        self.n_rows, self.sparse = n_rows, sparse
        self.specification = SmootherSpecification()
        self.error_scale = ErrorScale(np.ones(n_rows), np.zeros(n_rows), 0.0, 1.0)
        self._influence = influence

    def represent(self, rows: Matrix) -> Matrix:
        """Return influence rows."""
        found = self._influence(rows)
        return csr_array(found) if self.sparse else found

    def weights(self, represented: Matrix) -> Weights:
        """Return the influence rows themselves, which count as exact."""
        n_rows, found = represented.shape[0], represented if self.sparse else dense(represented)
        values = packed_rows(represented)[0] if self.sparse else found
        return Weights(found, np.zeros(n_rows), np.abs(values).max(axis=1, initial=0.0))

    def full(self) -> "GivenInfluence":
        """Return a learner of the same influence in dense rows."""
        return GivenInfluence(self.n_rows, self._influence) if self.sparse else self

    def solve(self, labels: FloatArray) -> Solution:
        """Return the labels themselves."""
        return Solution(labels, 0.0, 0.0)

    def scores(self, represented: Matrix, solution: Solution) -> Scores:
        """Return the scores of influence rows, with error 0 where no product or sum rounds."""
        if self.sparse:
            z, label = packed_rows(represented)
            labels = solution.values[label]
            exact, terms = exact_products(z, labels), z.shape[1]
            size, value = (np.abs(z) * np.abs(labels)).sum(axis=1), (z * labels).sum(axis=1)
        else:
            represented = dense(represented)
            exact, terms = exact_dots(represented, solution.values), self.n_rows
            size = np.abs(represented) @ np.abs(solution.values)
            value = represented @ solution.values
        rounding = gamma(terms + 2) * size + terms * PRODUCT_UNDERFLOW
        return Scores(value, np.where(exact, 0.0, rounding))


def packed_rows(matrix: Matrix) -> tuple[FloatArray, IntArray]:
    """Return the entries of CSR rows side by side, and their columns; shorter rows end in 0s."""
    length = np.diff(matrix.indptr)
    row = np.repeat(np.arange(len(length)), length)
    place = np.arange(len(row)) - np.repeat(matrix.indptr[:-1], length)
    values = np.zeros((len(length), int(length.max(initial=0))))
    column = np.zeros(values.shape, dtype=np.intp)
    values[row, place], column[row, place] = matrix.data, matrix.indices
    return values, column


def _learner(model: Any, features: Matrix, sample_weight: FloatArray | None) -> GivenInfluence:
    return GivenInfluence(len(model.y_fit_), model.influence_rows)


register(
    Family(
        (LinearSmoother,),
        learner=_learner,
        keeps_rows=lambda model: model.influence != "precomputed",
    )
)
