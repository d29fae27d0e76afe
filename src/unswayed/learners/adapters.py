"""From a scikit-learn estimator or pipeline to a learner the engine understands."""

from copy import deepcopy
from typing import Any

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from unswayed._typing import FloatArray, Matrix
from unswayed.doubles import as_doubles
from unswayed.exceptions import InputError
from unswayed.learners.given import GivenInfluence
from unswayed.learners.kernel import KernelLearner
from unswayed.learners.least_squares import LeastSquares
from unswayed.learners.protocol import Learner
from unswayed.learners.refusals import (
    check_final,
    check_parameters,
    check_step,
    refuse_nonlinear,
)
from unswayed.learners.smoother import LinearSmoother
from unswayed.learners.steps import final_estimator, may_write, transformers
from unswayed.learners.wide import WideLeastSquares

_LINEAR = (LinearRegression, Ridge, RidgeClassifier, KernelRidge, LinearSmoother)


def check_certifiable(estimator: Any) -> None:
    """Raise, before anything is fitted, for what cannot be certified."""
    if isinstance(estimator, type):
        raise InputError(
            f"estimator is the class {estimator.__name__}; pass an instance of it, "
            f"{estimator.__name__}()"
        )
    if not hasattr(estimator, "fit"):
        raise refuse_nonlinear(estimator)
    for name, step in transformers(estimator):
        check_step(name, step)
    final = final_estimator(estimator)
    check_final(final)
    if type(final) not in _LINEAR:
        raise refuse_nonlinear(final)
    check_parameters(final)
    if hasattr(final, "alpha"):
        _one_alpha(final)


def feature_names(estimator: Any, names: Any, n_features: int) -> tuple[str, ...]:
    """Names of the final estimator's features.

    Parameters
    ----------
    estimator : fitted estimator or pipeline
    names : sequence of str, or None
        Of its input columns, where they have names.
    n_features : int
        How many features the final estimator has.

    Returns
    -------
    tuple of str
    """
    while type(estimator) is Pipeline:
        if len(estimator.steps) > 1:
            try:
                names = estimator[:-1].get_feature_names_out(names)
            except AttributeError:  # a transformer that does not name what it makes
                names = None
        estimator = estimator.steps[-1][1]
    if names is None:
        names = [f"x{j}" for j in range(n_features)]
    return tuple(str(name) for name in names)


def fit_final(final: Any, features: Any, labels: Any, weight: FloatArray | None) -> None:
    """Fit a final estimator on features that stay as they are.

    Parameters
    ----------
    final : estimator
    features : rows, as the steps before it make them
    labels : array
    weight : (n,) array, optional
    """
    if weight is not None and not has_fit_parameter(final, "sample_weight"):
        raise InputError(
            f"{type(final).__name__} takes no sample_weight: put it into the influence"
        )
    # It may write into its rows, or keep them while the caller changes theirs.
    kept = {KernelRidge: "kernel", LinearSmoother: "influence"}.get(type(final))
    keeps = kept is not None and getattr(final, kept) != "precomputed"
    rows = deepcopy(features) if keeps or may_write(final) else features
    final.fit(rows, labels, **({} if weight is None else {"sample_weight": weight}))


def learner_of(final: Any, features: Matrix, sample_weight: FloatArray | None) -> Learner:
    """Build the learner of a fitted final estimator on its training features."""
    if isinstance(final, LinearSmoother):
        return GivenInfluence(len(final.y_fit_), final.influence_rows)
    if isinstance(final, KernelRidge):
        return KernelLearner(final, alpha=_one_alpha(final), sample_weight=sample_weight)
    n_rows, n_features = features.shape
    # Whichever space is smaller, that of the features or that of the rows.
    learner = WideLeastSquares if n_rows < n_features else LeastSquares
    return learner(
        features,
        alpha=0.0 if isinstance(final, LinearRegression) else _one_alpha(final),
        fit_intercept=final.fit_intercept,
        sample_weight=sample_weight,
    )


def _one_alpha(final: Any) -> float:
    alpha = as_doubles(final.alpha, "alpha").reshape(-1)
    if alpha.size != 1:
        raise InputError(f"alpha has {alpha.size} values but there is one target; pass one number")
    if not 0 <= alpha[0] < np.inf:  # scikit-learn checks single numbers, not arrays
        raise InputError(f"alpha must be a finite number and not negative, got {final.alpha!r}")
    return float(alpha[0])
