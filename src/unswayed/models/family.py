"""Families of models that are linear in their labels, by registration.

A family says which estimators it wraps, by their exact types, and how a fitted one becomes a
learner. Its file registers it when it is imported; `unswayed.models.families` imports those that
come with the package. A family of your own needs no more than a `Family` and `register`.
"""

from collections.abc import Callable
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from unswayed._core.parallel import one_blas_thread
from unswayed._typing import FloatArray, Matrix
from unswayed.exceptions import InputError
from unswayed.inputs import as_doubles
from unswayed.labels.bias import LabelBias, ResolvedBias
from unswayed.models.learner import Learner
from unswayed.models.refusals import check_final, check_parameters, check_step, refuse_nonlinear
from unswayed.models.steps import final_estimator, may_write, transformers


def predicted_scores(final: Any, features: Any) -> FloatArray:
    """Return what an estimator predicts."""
    return np.asarray(final.predict(features), dtype=np.float64).ravel()


def decision_scores(final: Any, features: Any) -> FloatArray:
    """Return what an estimator's decisions are made of."""
    return np.asarray(final.decision_function(features), dtype=np.float64).ravel()


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of model: its estimators, and how a fitted one becomes a learner."""

    # Exactly these types; a subclass does not count, because it may do anything in `fit`
    estimators: tuple[type, ...]
    learner: Callable[[Any, Matrix, FloatArray | None], Learner]  # Returns its `Learner`
    # Raises for parameters that cannot be certified
    check: Callable[[Any], object] = lambda estimator: None
    # Raises for a bias that allows labels which the model could not be trained on; it is given
    # the bias, its offsets, the labels as numbers, and whether these are classes
    check_bias: Callable[[LabelBias, ResolvedBias, FloatArray, bool], object] = (
        lambda bias, resolved, targets, classes: None
    )
    # Whether it keeps the rows it is fitted on; it is then given a copy of them
    keeps_rows: Callable[[Any], bool] = lambda estimator: False
    # Numbers that stand for two classes; the decision is halfway between them
    codes: tuple[float, float] = (0.0, 1.0)
    # Scores as the fitted estimator itself computes them
    scores: Callable[[Any, Any], FloatArray] = predicted_scores
    threshold: float | None = None  # Where scores decide, if that is not halfway between the codes
    weighs_classes: bool = False  # Whether its `class_weight`, as numbers, is accounted for
    # Whether its labels are counts, and its scores their logarithms: a regressor only
    counts: bool = False


_FAMILIES: dict[type, Family] = {}


def register(family: Family) -> None:
    """Register a family, so that its estimators can be certified."""
    _FAMILIES.update(dict.fromkeys(family.estimators, family))


def family_of(estimator: Any) -> Family:
    """Return the family of an estimator, or of the last step of a pipeline."""
    final = final_estimator(estimator)
    found = _FAMILIES.get(type(final))
    if found is None:
        raise refuse_nonlinear(final)
    return found


def check_certifiable(estimator: Any) -> None:
    """Raise if an estimator cannot be certified, before anything is fitted."""
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
    family = family_of(final)
    check_parameters(final, weighs_classes=family.weighs_classes)
    family.check(final)


def feature_names(estimator: Any, names: Any, n_features: int) -> tuple[str, ...]:
    """Return the names of the final estimator's features."""
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
    """Fit a final estimator; it is given a copy of the features if it may change or keep them."""
    if weight is not None and not has_fit_parameter(final, "sample_weight"):
        raise InputError(
            f"{type(final).__name__} takes no sample_weight: put it into the influence"
        )
    # It may write into its rows, or keep them while the caller changes theirs.
    own = family_of(final).keeps_rows(final) or may_write(final)
    rows = deepcopy(features) if own else features
    # Solvers of sparse problems take thousands of steps, too short to share among threads.
    with one_blas_thread if sparse.issparse(rows) else nullcontext():
        final.fit(rows, labels, **({} if weight is None else {"sample_weight": weight}))


def one_alpha(final: Any) -> float:
    """Return the penalty of an estimator; raise unless it is one number, 0 or more."""
    alpha = as_doubles(final.alpha, "alpha").reshape(-1)
    if alpha.size != 1:
        raise InputError(f"alpha has {alpha.size} values but there is one target; pass one number")
    if not 0 <= alpha[0] < np.inf:  # scikit-learn checks single numbers, not arrays
        raise InputError(f"alpha must be a finite number and not negative, got {final.alpha!r}")
    return float(alpha[0])
