"""Check that the features a pipeline makes do not depend on the labels.

A certificate holds for a pipeline only if changing a label changes none of its features. That is
known of scikit-learn's own transformers, by their exact type; a subclass may do anything. Every
other step is tested: fitted again without labels, and with other labels, it must make the same
features, bit by bit.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import shuffle

from unswayed._typing import Matrix
from unswayed.exceptions import LabelPeekError, NotLinearError
from unswayed.models.steps import (
    NamedSteps,
    as_matrix,
    fit_steps,
    is_known_blind,
    listed,
    transform_rows,
    transformers,
)

# Of the largest feature: training features may differ so much from later ones, by rounding.
_ROUNDING = 1e-6


def check_features(estimator: Any, X: Any, labels: Any, training: Matrix) -> None:
    """Raise if features depend on labels, or if rows get other features in training than later."""
    steps = transformers(estimator)
    _check_repeatable(estimator, steps, X, labels, training)
    unknown = [(name, step) for name, step in steps if not _is_known(step)]
    two_ways = [(name, step) for name, step in steps if not _transforms_alike(step)]
    if not (unknown or two_ways):
        return
    later = as_matrix(transform_rows(estimator, X))
    if unknown:
        _refit_withother_labels(estimator, unknown, X, labels, (training, later))
    gap = _gap(later, training)
    if not gap <= _ROUNDING:
        raise NotLinearError(
            f"step {listed(two_ways or unknown)} makes other features of the training rows by "
            f"fit_transform, which the model is trained on, than by transform, which all other "
            f"rows go through (by {gap:.1e} of the largest): certificates would be about a model "
            "that is trained on features no row has; drop the step, or let it converge (a smaller "
            "tol, a larger max_iter)"
        )


def _check_repeatable(
    estimator: Any, steps: NamedSteps, X: Any, labels: Any, training: Matrix
) -> None:
    """Raise if known steps that may be random make other features when fitted again."""
    may_be = [
        (name, step)
        for name, step in steps
        if is_known_blind(step)
        and (type(step) is FunctionTransformer or step.get_params().get("random_state", 0) is None)
    ]
    if (
        may_be
        and not _gap(as_matrix(fit_steps(clone(estimator), X, labels)), training) <= _ROUNDING
    ):
        raise NotLinearError(
            f"step {listed(may_be)} makes other features every time it is fitted, so that fitting "
            "again gives another model, whatever the labels are, and the certificate would be "
            "about one that nobody gets again; set its random_state"
        )


def _is_known(step: Any) -> bool:
    """Whether a step need not be tested: it never looks at labels, or cannot be fitted again."""
    return is_known_blind(step) or type(step) is FrozenEstimator


def _transforms_alike(step: Any) -> bool:
    """Whether a step is known to make the same features by `fit_transform` as by `transform`."""
    made = getattr(type(step), "fit_transform", None)
    return made is None or made is TransformerMixin.fit_transform


def _gap(found: Matrix, expected: Matrix) -> float:
    """Return the largest difference of two matrices, relative to their largest entry."""
    if found.shape != expected.shape:
        return np.inf
    largest = max(float(abs(matrix).max()) for matrix in (found, expected)) or 1.0
    return float(abs(found - expected).max()) / largest


def _refit_withother_labels(
    estimator: Any,
    unknown: NamedSteps,
    X: Any,
    labels: NDArray[Any],
    expected: tuple[Matrix, Matrix],
) -> None:
    """Raise if steps make other features when fitted without labels, or with other labels.

    Features are compared as made in training, by `transform`, and by `transform` of the training
    rows in another order. This is a test, not a proof: a step passes if it reacts only to label
    changes that are not tried here.
    """
    training, later = expected
    mixed = as_matrix(transform_rows(estimator, shuffle(X, random_state=0)))
    for others in other_labels(labels):
        fresh = clone(estimator)
        try:
            found = as_matrix(fit_steps(fresh, X, others))
            again = as_matrix(transform_rows(fresh, X))
            moved = as_matrix(transform_rows(fresh, shuffle(X, random_state=0)))
        except Exception as error:  # a transformer of the user's own may raise anything
            raise LabelPeekError(
                f"step {listed(unknown)} cannot be fitted without labels or with others "
                f"({error}), so it may look at them and the certificate could be false; drop the "
                "step, or fit it on data outside the training set"
            ) from error
        if _gap(found, training) or _gap(again, later) or _gap(moved, mixed):
            raise LabelPeekError(
                f"step {listed(unknown)} gives other features when fitted without labels or with "
                "others, so it looks at them (or is random: then set its random_state) and the "
                "certificate would be false; drop the step, or fit it on data outside the "
                "training set"
            )


def other_labels(labels: NDArray[Any]) -> Iterator[NDArray[Any] | None]:
    """Yield None, then the labels in other orders and with some of them replaced."""
    yield None
    yield labels[::-1]
    yield shuffle(labels, random_state=1)
    ranked, half = np.sort(labels), np.arange(len(labels)) % 2 == 0
    yield np.where(half, ranked[0], labels)
    yield np.where(half, ranked[-1], labels)
    rng = np.random.default_rng(0)
    for share in (0.02, 0.1, 0.2):  # near the given ones: a threshold may be close
        few = rng.random(len(labels)) < max(share, 1.5 / len(labels))
        yield np.where(few, ranked[::-1][np.searchsorted(ranked, labels)], labels)
