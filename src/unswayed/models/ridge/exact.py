"""Least squares and ridge in exact rational arithmetic.

Columns of features are scaled by powers of two to whole numbers first, each by its own, so that
columns of different scales stay short.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import sparse

from unswayed._core.compression import distinct_rows
from unswayed._core.dyadic import Dyadic, power_of_two, whole_sums
from unswayed._typing import FloatArray, IntArray, Matrix
from unswayed.inputs import dense
from unswayed.models.learner import (
    ExactInfluence,
    InfluenceRow,
    Specification,
    column_of,
    diagonal,
    exact_arithmetic,
    independent_rows,
    is_surely_regular,
    scale_rows,
    take,
)

_BLOCK = 16  # rows solved for at once


class RidgeSpecification(Specification):
    """Minimise Σ s_i (y_i - b - x_i·c)² + alpha ‖c‖² over c (and b with an intercept).

    With alpha 0, take the minimiser of least ‖c‖.
    """

    kind = "ridge"

    def __init__(
        self,
        features: Matrix,
        *,
        alpha: float = 0.0,
        fit_intercept: bool = False,
        sample_weight: FloatArray | None = None,
    ) -> None:
        super().__init__(features, sample_weight=sample_weight)
        self.alpha = alpha
        self.fit_intercept = fit_intercept

    def exact(self, n_rows: int) -> "RidgeInfluence":
        """Return the model in rational arithmetic."""
        return RidgeInfluence(self, n_rows)

    def document(self) -> dict[str, Any]:
        """Return what a certificate file says of the model."""
        return {
            "kind": self.kind,
            "alpha": float(self.alpha),
            "intercept": bool(self.fit_intercept),
        }


class RidgeInfluence(ExactInfluence):
    """Exact influence of least squares and ridge: z(x) = S·(D·v + 1/Σs), v = M⁻¹ t(x).

    The slope is sought as P·v. Where the normal equations are regular, P is the identity;
    otherwise (or with fewer rows than features) its columns are independent training rows, in
    whose span lies the slope of least norm. D are the training rows times P, t(x) the centred
    row x times P, and M = DᵀSD (centred) + alpha·PᵀP is regular.
    """

    def __init__(self, specification: RidgeSpecification, n_rows: int) -> None:
        flint = self._flint = exact_arithmetic()
        weight = specification.weights(n_rows)
        kept = np.flatnonzero(weight > 0)
        self._fit_intercept = specification.fit_intercept
        features: Matrix = specification.matrix
        if len(kept) < n_rows:
            features = features[kept]
        first, group = distinct_rows(features)
        self.group = np.zeros(n_rows, dtype=np.intp)
        self.group[kept] = group
        self.n_groups = len(first)
        dyadic = Dyadic.of(dense(features[first]))
        self.n_features = int(dyadic.odd.shape[1])
        self._exponent = dyadic.least_by_column()
        self._features = flint.fmpz_mat(self.n_groups, self.n_features, dyadic.over(self._exponent))
        weights = Dyadic.of(weight[kept])
        self._weight_exponent = weights.least()
        self._weight = whole_sums(weights.over(self._weight_exponent), group, self.n_groups)
        self._alpha = Fraction(specification.alpha)
        regular = False
        if self.n_features <= self.n_groups:
            self._use_features()
            regular = is_surely_regular(self._matrix)
        if not regular:
            self._use_rows()

    def _use_features(self) -> None:
        """Set up one unknown per column: regular unless alpha is 0 and columns are dependent."""
        top = int(self._exponent.max())
        squares = [1 << 2 * (top - int(e)) for e in self._exponent]
        self._basis: Any = None
        penalty = diagonal(squares)
        self._assemble(self._features, penalty, self._alpha * power_of_two(-2 * top))

    def _use_rows(self) -> None:
        """Set up one unknown per independent row: always regular."""
        flint, rows = self._flint, self._features
        if self._fit_intercept:  # centred rows and differences to one row have the same span
            ones = flint.fmpz_mat(rows.nrows(), 1, [1] * rows.nrows())
            rows = rows - ones * take(rows, [0], range(rows.ncols()))
        chosen = take(rows, independent_rows(rows), range(rows.ncols()))
        low = int(self._exponent.min())
        # Rows of unscaled features, seen in scaled columns, carry each column's scale squared.
        squares = [1 << 2 * (int(e) - low) for e in self._exponent]
        self._basis = scale_rows(chosen.transpose(), squares)
        self._assemble(
            self._features * self._basis,
            chosen * self._basis,
            self._alpha * power_of_two(-2 * low),
        )

    def _assemble(self, design: Any, penalty: Any, alpha: Fraction) -> None:
        """Set up M, times Σs with an intercept, as whole numbers times a power of two."""
        flint = self._flint
        weighted = scale_rows(design, self._weight).transpose()
        normal = weighted * design
        self._total, self._moment = 1, flint.fmpz_mat(design.ncols(), 1)
        if self._fit_intercept:
            self._total = sum(self._weight)
            self._moment = weighted * flint.fmpz_mat(self.n_groups, 1, [1] * self.n_groups)
            normal = normal * self._total - self._moment * self._moment.transpose()
        # alpha = numerator · 2**-shift: a denominator of a double is a power of two.
        shift = alpha.denominator.bit_length() - 1
        low = min(self._weight_exponent, -shift) if alpha else self._weight_exponent
        self._matrix = normal * (1 << (self._weight_exponent - low))
        if alpha:
            self._matrix += penalty * (self._total * alpha.numerator << (-shift - low))
        self._matrix_exponent = low
        self._design = design

    def rows(self, represented: Matrix) -> Iterator[InfluenceRow]:
        """Yield the influence on the scores of feature rows."""
        for start in range(0, represented.shape[0], _BLOCK):
            block = Dyadic.of(dense(represented[start : start + _BLOCK]))
            yield from self._solve(block.scaled(-self._exponent), centred=self._fit_intercept)

    def coefficients(self, which: IntArray | None = None) -> Iterator[InfluenceRow]:
        """Yield the influence on coefficients."""
        units = sparse.eye_array(self.n_features, format="csr")
        return self.combinations(units if which is None else units[which])

    def combinations(self, weights: Matrix) -> Iterator[InfluenceRow]:
        """Yield the influence on linear combinations of coefficients."""
        for start in range(0, weights.shape[0], _BLOCK):
            block = Dyadic.of(dense(weights[start : start + _BLOCK]))
            yield from self._solve(block.scaled(-self._exponent), centred=False)

    def _solve(self, directions: Dyadic, *, centred: bool) -> Iterator[InfluenceRow]:
        """Yield one influence row per direction; `centred` ones are rows and include the mean."""
        flint, n_rows = self._flint, len(directions.odd)
        lows = [min(0, directions[row].least()) for row in range(n_rows)]
        whole = directions.over(np.array(lows, dtype=np.int64)[:, None])
        right = flint.fmpz_mat(n_rows, self.n_features, whole).transpose()
        if self._basis is not None:
            right = self._basis.transpose() * right
        right *= self._total
        if centred:
            right -= self._moment * flint.fmpz_mat(1, n_rows, [1 << -low for low in lows])
        solution, denominator = self._matrix.solve(right).numer_denom()
        for row, low in enumerate(lows):
            # One at a time: the influence of a row takes kilobytes per training row.
            slope = take(solution, range(solution.nrows()), [row])
            raw = column_of(self._design * slope, 0)
            mean = int((self._moment.transpose() * slope)[0, 0])
            yield self._row(raw, mean, int(denominator), low, constant=centred)

    def _row(
        self, raw: list[int], mean: int, denominator: int, low: int, *, constant: bool
    ) -> InfluenceRow:
        """Subtract the mean and, for a row's score, add the share of the mean prediction."""
        scale = power_of_two(low - self._matrix_exponent) / (denominator * self._total)
        if not self._fit_intercept:
            return InfluenceRow(raw, scale)
        centred = [self._total * each - mean for each in raw]
        if not constant:
            return InfluenceRow(centred, scale)
        # 1/Σs over the same scale, which becomes finer where that is no whole number.
        shift = self._matrix_exponent - low - self._weight_exponent
        pad = max(0, -shift)
        share = denominator << (shift + pad)
        return InfluenceRow([(each << pad) + share for each in centred], scale / (1 << pad))
