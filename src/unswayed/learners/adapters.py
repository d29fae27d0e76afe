"""From a scikit-learn estimator or pipeline to a learner the engine understands."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_array

from unswayed._typing import FloatArray, Matrix
from unswayed.exceptions import InputError, LabelPeekError
from unswayed.learners.given import GivenInfluence
from unswayed.learners.kernel import KernelLearner
from unswayed.learners.least_squares import LeastSquares
from unswayed.learners.protocol import Learner
from unswayed.learners.refusals import (
    check_final,
    check_parameters,
    check_step,
    is_known_blind,
    refuse_nonlinear,
)
from unswayed.learners.smoother import LinearSmoother
from unswayed.learners.wide import WideLeastSquares

_LINEAR = (LinearRegression, Ridge, RidgeClassifier, KernelRidge, LinearSmoother)


def final_estimator(estimator: Any) -> Any:
    """Return the last step of a pipeline, or the estimator itself."""
    while isinstance(estimator, Pipeline):
        estimator = estimator.steps[-1][1]
    return estimator


def own_rows(estimator: Any, X: Any) -> Any:
    """X, or a copy of it for an estimator that may write into its rows or keep them.

    Features are computed from the same rows again, and a caller may change theirs later.
    """
    final = final_estimator(estimator)
    kept = {KernelRidge: "kernel", LinearSmoother: "influence"}.get(type(final))
    keeps = kept is not None and getattr(final, kept) != "precomputed"
    writes = any(
        isinstance(value, bool | np.bool_)
        and not value
        and name.rsplit("__", maxsplit=1)[-1] in ("copy", "copy_X")
        for name, value in estimator.get_params().items()
    )
    steps = _transformers(_steps_before(estimator))
    # Functions and strangers may do anything with what they are given.
    unknown = any(isinstance(s, FunctionTransformer) or not is_known_blind(s) for _, s in steps)
    return deepcopy(X) if keeps or writes or unknown else X


def before_final(estimator: Any, X: Any) -> Any:
    """Rows as the final step of a fitted pipeline sees them."""
    if isinstance(estimator, Pipeline):
        X = own_rows(estimator, X)
    while isinstance(estimator, Pipeline):
        X = estimator[:-1].transform(X) if len(estimator.steps) > 1 else X
        estimator = estimator.steps[-1][1]
    return X


def _steps_before(estimator: Any) -> list[tuple[str, Any]]:
    steps: list[tuple[str, Any]] = []
    while isinstance(estimator, Pipeline):
        steps += estimator.steps[:-1]
        estimator = estimator.steps[-1][1]
    return steps


def _transformers(steps: list[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Every transformer in nested pipelines, unions and column transformers."""
    for name, step in steps:
        if step is None or isinstance(step, str):  # "passthrough", "drop"
            continue
        if isinstance(step, Pipeline):
            yield from _transformers(step.steps)
        elif isinstance(step, FeatureUnion):
            yield from _transformers(step.transformer_list)
        elif isinstance(step, ColumnTransformer):
            yield from _transformers([(inner, each) for inner, each, _ in step.transformers])
            yield from _transformers([("remainder", step.remainder)])
        else:
            yield name, step


def check_certifiable(estimator: Any) -> None:
    """Raise, before anything is fitted, for what cannot be certified."""
    if isinstance(estimator, type):
        raise InputError(
            f"estimator is the class {estimator.__name__}; pass an instance of it, "
            f"{estimator.__name__}()"
        )
    if not hasattr(estimator, "fit"):
        raise refuse_nonlinear(estimator)
    for name, step in _transformers(_steps_before(estimator)):
        check_step(name, step)
    final = final_estimator(estimator)
    check_final(final)
    if type(final) not in _LINEAR:
        raise refuse_nonlinear(final)
    check_parameters(final)


@dataclass(frozen=True, slots=True, eq=False)
class LinearModel:
    """A fitted estimator seen as linear in its labels."""

    estimator: Any
    learner: Learner

    def feature_names(self, names: Any) -> tuple[str, ...]:
        """Names of the final estimator's features, given those of the input."""
        inner = self.estimator
        while isinstance(inner, Pipeline):
            if len(inner.steps) > 1:
                try:
                    names = inner[:-1].get_feature_names_out(names)
                except AttributeError:  # a transformer that does not name what it makes
                    names = None
            inner = inner.steps[-1][1]
        if names is None:
            names = [f"x{j}" for j in range(self.learner.n_features)]  # type: ignore[attr-defined]
        return tuple(str(name) for name in names)


def as_matrix(X: Any) -> Matrix:
    """Rows as float64, dense in C order or canonical CSR: equal rows then have equal bits."""
    found = check_array(X, accept_sparse="csr", dtype=np.float64, order="C")
    if hasattr(found, "indptr"):
        found = sparse.csr_array(found, copy=True)
        found.sum_duplicates()
        found.eliminate_zeros()
    return found


def _transformed(steps: list[tuple[str, Any]], X: Any, y: Any, *, at_once: bool) -> Matrix:
    """Features that fresh copies of the steps make of X; `at_once` as a pipeline trains them."""
    for _, step in steps:
        if step is None or isinstance(step, str):
            continue
        fresh = clone(step)
        if at_once and hasattr(fresh, "fit_transform"):
            X = fresh.fit_transform(X, y)
        else:
            X = fresh.fit(X, y).transform(X)
    return as_matrix(X)


def check_blind(estimator: Any, X: Any, labels: Any, features: Matrix) -> None:
    """Raise if a transformer that is not known to be blind makes other features of other labels.

    It is tried without labels, with the given ones and with these in reverse. That is a test and
    no proof: what reacts to other changes only would pass.
    """
    steps = _steps_before(estimator)
    strangers = [(n, s) for n, s in _transformers(steps) if not is_known_blind(s)]
    if not strangers:
        return
    names = ", ".join(f"{name!r} ({type(step).__name__})" for name, step in strangers)
    try:
        differ = any(
            found.shape != features.shape or abs(found - features).max() > 0
            for found in (
                _transformed(steps, own_rows(estimator, X), y, at_once=at_once)
                for y, at_once in (
                    (None, False),
                    (None, True),
                    (labels, True),
                    (labels[::-1], True),
                )
            )
        )
    except Exception as error:  # a transformer of the user's own may raise anything
        raise LabelPeekError(
            f"step {names} cannot be fitted without labels ({error}), so it may look at them and "
            "the certificate could be false; drop the step, or fit it on data outside the "
            "training set"
        ) from error
    if differ:
        raise LabelPeekError(
            f"step {names} gives other features when fitted without labels or with others, so it "
            "looks at them (or is random: then set its random_state) and the certificate would be "
            "false; drop the step, or fit it on data outside the training set"
        )


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
    alpha = np.atleast_1d(np.asarray(final.alpha, dtype=np.float64))
    if alpha.size != 1:
        raise InputError(f"alpha has {alpha.size} values but there is one target; pass one number")
    if not 0 <= alpha[0] < np.inf:  # scikit-learn checks single numbers, not arrays
        raise InputError(f"alpha must be a finite number and not negative, got {final.alpha!r}")
    return float(alpha[0])
