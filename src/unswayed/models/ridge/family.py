"""LinearRegression, Ridge and RidgeClassifier."""

from typing import Any

from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier

from unswayed._typing import FloatArray, Matrix
from unswayed.models.family import Family, decision_scores, one_alpha, register
from unswayed.models.learner import LinearLearner
from unswayed.models.ridge.tall import LeastSquares
from unswayed.models.ridge.wide import WideLeastSquares


def _solver(
    final: Any, features: Matrix, sample_weight: FloatArray | None, alpha: float
) -> LinearLearner:
    n_rows, n_features = features.shape
    # Whichever space is smaller, that of the features or that of the rows.
    learner = WideLeastSquares if n_rows < n_features else LeastSquares
    return learner(
        features, alpha=alpha, fit_intercept=final.fit_intercept, sample_weight=sample_weight
    )


def _least_squares(final: Any, features: Matrix, sample_weight: FloatArray | None) -> LinearLearner:
    return _solver(final, features, sample_weight, 0.0)


def _ridge(final: Any, features: Matrix, sample_weight: FloatArray | None) -> LinearLearner:
    return _solver(final, features, sample_weight, one_alpha(final))


register(Family((LinearRegression,), learner=_least_squares))
register(Family((Ridge,), learner=_ridge, check=one_alpha))
register(
    Family(
        (RidgeClassifier,),
        learner=_ridge,
        check=one_alpha,
        codes=(-1.0, 1.0),
        scores=decision_scores,
    )
)
