"""Least squares and ridge: z(x) = A (AᵀSA + αI)⁺ φ(x), S the sample weights.

With an intercept, features are centred by their weighted mean and the intercept is not
penalised, as scikit-learn has it; the centred labels' mean drops out, because centred columns
are orthogonal to a constant, and what is left of it is one constant influence s_i / Σs.
"""

import numpy as np
from scipy import linalg, sparse

from unswayed._typing import FloatArray, IntArray, Matrix
from unswayed.learners.definition import Definition
from unswayed.learners.symmetric import SymmetricSolver, relative_residual


def _dense(matrix: Matrix) -> FloatArray:
    return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix)


class _Centred:
    """Parameters of ridge in either space: coefficients, then the mean prediction if any."""

    n_features: int
    _fit_intercept: bool
    _mean: FloatArray
    _share: FloatArray  # of each label in the mean prediction

    @property
    def n_parameters(self) -> int:
        """Coefficients, and the mean prediction where there is an intercept."""
        return self.n_features + int(self._fit_intercept)

    def inputs(self, rows: Matrix) -> Matrix:
        """Feature rows themselves."""
        return rows

    def directions(self, rows: Matrix) -> FloatArray:
        """Rows as the parameters see them: centred, with a constant for the mean prediction."""
        if not self._fit_intercept:
            return _dense(rows)
        # Centred first: large means would cancel at a loss later.
        return np.hstack((_dense(rows) - self._mean, np.ones((rows.shape[0], 1))))

    def _slope(self, labels: FloatArray) -> FloatArray:
        raise NotImplementedError

    def solve(self, labels: FloatArray) -> FloatArray:
        """Coefficients, and the mean prediction after them, when trained on `labels`."""
        mean = [self._share @ labels] if self._fit_intercept else []
        return np.concatenate((self._slope(labels), mean))

    def scores(self, rows: Matrix, solution: FloatArray) -> FloatArray:
        """Scores of feature rows, given what `solve` returned."""
        slope = solution[: self.n_features]
        scores = np.asarray(rows @ slope)
        return scores + (solution[-1] - self._mean @ slope) if self._fit_intercept else scores


class LeastSquares(_Centred):
    """Ridge with more rows than features; alpha 0 is least squares, of minimum norm if singular.

    Parameters
    ----------
    features : (n, p) matrix, dense or CSR
    alpha : float
        Ridge penalty.
    fit_intercept : bool
    sample_weight : (n,) array, optional
    rank : int, optional
        The rank the wrapped estimator found, to follow it where alpha is 0.
    """

    def __init__(
        self,
        features: Matrix,
        *,
        alpha: float,
        fit_intercept: bool,
        sample_weight: FloatArray | None = None,
        rank: int | None = None,
    ) -> None:
        self.n_rows, self.n_features = (int(size) for size in features.shape)
        self.definition = Definition(
            "ridge",
            features,
            alpha=alpha,
            fit_intercept=fit_intercept,
            sample_weight=sample_weight,
        )
        self.row_scale = sample_weight
        self._sparse = hasattr(features, "indptr")
        weight = np.ones(self.n_rows) if sample_weight is None else sample_weight
        self._fit_intercept = fit_intercept
        self._total = float(weight.sum())
        self._share = weight / self._total if fit_intercept else np.zeros(self.n_rows)
        self._mean = np.asarray(features.T @ self._share).ravel()
        self._weight = weight
        if self._sparse:
            self._fit_sparse(features, alpha, rank)
        else:
            self._fit_dense(features, alpha, rank)
        probe = np.cos(np.arange(1.0, self.n_features + 1.0))
        self.residual = relative_residual(
            lambda v: self._normal(v) + alpha * v, lambda v: self._inverse @ v, probe
        )

    def _normal(self, slope: FloatArray) -> FloatArray:
        """The normal matrix times a vector, straight from the rows."""
        constant = slope @ self._mean if self._sparse else 0.0
        weighted = self._weight * (self.design[:, : self.n_features] @ slope - constant)
        product = self.design[:, : self.n_features].T @ weighted
        return np.asarray(product - weighted.sum() * self._mean if self._sparse else product)

    def _fit_dense(self, features: FloatArray, alpha: float, rank: int | None) -> None:
        # A copy either way: the caller may change the features later.
        centred = features - self._mean if self._fit_intercept else features.copy()
        scaled = centred
        if self.row_scale is not None:
            scaled = centred * np.sqrt(self._weight)[:, None]
        if alpha == 0:
            _, size, right = linalg.svd(scaled, full_matrices=False)
            if rank is None:
                cutoff = max(scaled.shape) * np.finfo(np.float64).eps * size.max(initial=0.0)
                rank = int(np.sum(size > cutoff))
            basis = right[:rank].T / size[:rank]
            with np.errstate(over="ignore"):  # the residual below tells
                self._inverse = basis @ basis.T
        else:
            self._inverse = self._invert(scaled.T @ scaled, alpha, rank)
        self.design: Matrix = centred
        if self._fit_intercept:
            self.design = np.hstack((centred, np.ones((self.n_rows, 1))))

    def _fit_sparse(self, features: Matrix, alpha: float, rank: int | None) -> None:
        # Centring would fill the matrix; the mean moves into the constant's weight instead.
        gram = _dense(features.T @ features.multiply(self._weight[:, None]).tocsr())
        self.design = features
        if self._fit_intercept:
            gram -= self._total * np.outer(self._mean, self._mean)
            ones = sparse.csr_array(np.ones((self.n_rows, 1)))
            self.design = sparse.csr_array(sparse.hstack((features, ones), format="csr"))
        self._inverse = self._invert(gram, alpha, rank)

    def _invert(self, gram: FloatArray, alpha: float, rank: int | None) -> FloatArray:
        gram[np.diag_indices_from(gram)] += alpha
        solver = SymmetricSolver(gram, definite=alpha > 0, rank=rank)
        inverse = solver.solve(np.eye(len(gram)))
        return (inverse + inverse.T) / 2

    def _with_constant(self, linear: FloatArray, constant: FloatArray | float) -> FloatArray:
        if not self._fit_intercept:
            return linear
        column = np.full(len(linear), constant) / self._total
        if self._sparse:
            column -= linear @ self._mean
        return np.hstack((linear, column[:, None]))

    def weights(self, rows: Matrix) -> FloatArray:
        """Weight vectors of feature rows; the constant's comes last."""
        if not self._sparse:
            return self.direction_weights(self.directions(rows))
        linear = np.asarray(rows @ self._inverse - self._mean @ self._inverse)
        return self._with_constant(linear, 1.0)

    def training_directions(self, which: IntArray | slice) -> FloatArray:
        """Training rows as directions."""
        rows = self.design[which]
        return self.directions(rows[:, : self.n_features]) if self._sparse else np.asarray(rows)

    def direction_weights(self, directions: FloatArray) -> FloatArray:
        """Weight vectors of directions in parameter space."""
        linear = directions[:, : self.n_features] @ self._inverse
        return self._with_constant(linear, directions[:, -1])

    def _slope(self, labels: FloatArray) -> FloatArray:
        moment = np.asarray(self.design.T @ (self._weight * labels)).ravel()
        if self._fit_intercept:
            constant, moment = moment[-1], moment[:-1]
            moment = moment - constant * self._mean if self._sparse else moment
        return np.asarray(self._inverse @ moment)


class WideLeastSquares(_Centred):
    """The same with fewer rows than features, solved in the space of the rows.

    z(x) = √S (√S K √S + αI)⁺ √S k(x) + intercept, K and k the inner products of centred rows.
    """

    design = None
    row_scale = None

    def __init__(
        self,
        features: Matrix,
        *,
        alpha: float,
        fit_intercept: bool,
        sample_weight: FloatArray | None = None,
        rank: int | None = None,
    ) -> None:
        self.n_rows, self.n_features = (int(size) for size in features.shape)
        self.definition = Definition(
            "ridge",
            features,
            alpha=alpha,
            fit_intercept=fit_intercept,
            sample_weight=sample_weight,
        )
        weight = np.ones(self.n_rows) if sample_weight is None else sample_weight
        self._fit_intercept = fit_intercept
        self._share = weight / weight.sum() if fit_intercept else np.zeros(self.n_rows)
        self._mean = np.asarray(features.T @ self._share).ravel()
        self._sparse = hasattr(features, "indptr")
        # Centring would fill a sparse matrix: there the mean is taken off its products instead.
        self._shift = self._mean if self._sparse else np.zeros(self.n_features)
        self._features = self._centred(features)
        self._root = np.sqrt(weight)
        gram = self._inner(features) * np.outer(self._root, self._root)
        gram[np.diag_indices_from(gram)] += alpha
        self._solver = SymmetricSolver(gram, definite=alpha > 0, rank=rank)
        self.residual = self._solver.residual

    def _centred(self, rows: Matrix) -> Matrix:
        return rows if self._sparse else _dense(rows) - self._mean

    def _inner(self, rows: Matrix) -> FloatArray:
        """Inner products of centred training rows with centred rows, one column per row."""
        rows = self._centred(rows)
        raw = _dense(self._features @ rows.T)
        return np.asarray(
            raw
            - np.asarray(self._features @ self._shift).reshape(-1, 1)
            - np.asarray(rows @ self._shift).reshape(1, -1)
            + self._shift @ self._shift
        )

    def _influence(self, inner: FloatArray) -> FloatArray:
        root = self._root[:, None]
        return (root * self._solver.solve(root * inner)).T

    def weights(self, rows: Matrix) -> FloatArray:
        """Whole influence rows."""
        return np.ascontiguousarray(self._influence(self._inner(rows)) + self._share)

    def direction_weights(self, directions: FloatArray) -> FloatArray:
        """Influence rows of directions in parameter space."""
        linear = directions[:, : self.n_features]
        influence = self._influence(np.asarray(self._features @ linear.T) - linear @ self._shift)
        if self._fit_intercept:
            influence += directions[:, -1:] * self._share
        return np.ascontiguousarray(influence)

    def _slope(self, labels: FloatArray) -> FloatArray:
        dual = self._root * self._solver.solve(self._root * (labels - self._share @ labels))
        slope = np.asarray(self._features.T @ dual).ravel() - self._shift * dual.sum()
        return np.asarray(slope)


def least_squares(
    features: Matrix,
    *,
    alpha: float,
    fit_intercept: bool,
    sample_weight: FloatArray | None = None,
    rank: int | None = None,
) -> LeastSquares | WideLeastSquares:
    """Ridge in whichever space is smaller, that of the features or that of the rows."""
    n_rows, n_features = features.shape
    learner = WideLeastSquares if n_rows < n_features else LeastSquares
    return learner(
        features, alpha=alpha, fit_intercept=fit_intercept, sample_weight=sample_weight, rank=rank
    )
