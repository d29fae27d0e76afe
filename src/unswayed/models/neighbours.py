"""Nearest neighbours: z(x) is 1/k, or what the distance makes of it, for the neighbours of x.

Neighbours and distances are those that scikit-learn finds, ties included. Of two classes the votes
are compared, so that labels are -1 and 1 and the decision is at 0: one factor on all weights of a
row then changes no decision. Weights are divided by their sum by multiplying them with a factor
that has as few digits as it takes for products and sums to be exact, wherever weights are short
numbers: equal votes are equal then, and not just up to rounding.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    RadiusNeighborsClassifier,
    RadiusNeighborsRegressor,
)

from unswayed._core.rounding import granules
from unswayed._typing import FloatArray, IntArray, Matrix
from unswayed.exceptions import InputError, LabelPeekError
from unswayed.models.family import Family, predicted_scores, register
from unswayed.models.smoother import GivenInfluence

_DIGITS = 50  # binary ones of weights, factor and sum together: a double has 53
_SHORT = 20  # of weights alone: factors would be too coarse beyond
_NAMED = 10  # rows that an error names

Found = tuple[Any, IntArray, IntArray]  # distances, neighbours, and how many each row has


def _nearest(model: Any, rows: Matrix) -> Found:
    """Return the k nearest training rows."""
    uniform = model.weights in (None, "uniform")
    distance, near = (
        (None, model.kneighbors(rows, return_distance=False))
        if uniform
        else (model.kneighbors(rows))
    )
    return distance, near.ravel(), np.full(len(near), near.shape[1])


def _within(model: Any, rows: Matrix) -> Found:
    """Return the training rows within the radius; raise for rows that have none."""
    distance, near = model.radius_neighbors(rows)
    length = np.array([len(each) for each in near], dtype=np.intp)
    alone = np.flatnonzero(length == 0)
    if len(alone):
        named = ", ".join(map(str, alone[:_NAMED].tolist())) + ", …" * (len(alone) > _NAMED)
        raise InputError(
            f"{len(alone)} of {len(near)} distinct rows have no training row within radius "
            f"{model.radius:g} ({named}, counted among those asked about at a time), so that no "
            "label has a part in their prediction and there is nothing to certify; pass a larger "
            "radius, or leave these rows out"
        )
    return distance, np.concatenate(near), length


def _weighed(model: Any, distance: Any, length: IntArray) -> FloatArray:
    """Return the weights of neighbours, one after the other, as scikit-learn computes them."""
    if model.weights in (None, "uniform"):
        return np.ones(int(length.sum()))
    if callable(model.weights):
        given = model.weights(distance)  # of a radius, an array of arrays: as scikit-learn does it
        ragged = np.asarray(given).dtype.kind == "O"
        found = np.concatenate(list(given)) if ragged else np.ravel(given)
        return _checked(np.asarray(found, dtype=np.float64), length)
    ragged = distance.dtype.kind == "O"
    flat = np.concatenate(list(distance)) if ragged else np.ravel(distance)
    with np.errstate(divide="ignore"):
        weight = 1.0 / np.asarray(flat, dtype=np.float64)
    # Training rows at distance 0 share all of the weight.
    start = np.cumsum(length) - length
    same = np.isinf(weight)
    apart = np.repeat(np.logical_or.reduceat(same, start), length)
    return _checked(np.where(apart, same.astype(np.float64), weight), length)


def _checked(weight: FloatArray, length: IntArray) -> FloatArray:
    """Return weights; raise unless they are shares: finite, not negative, not all 0."""
    wrong = len(weight) != length.sum() or not (np.isfinite(weight) & (weight >= 0)).all()
    if wrong or not np.add.reduceat(weight, np.cumsum(length) - length).all():
        raise InputError(
            "weights must be one finite number for each neighbour, not negative, and not all 0 "
            "for a row: a prediction is a mean with these weights; pass weights='uniform' or "
            "'distance', or a function that gives such weights"
        )
    return weight


def shares(weight: FloatArray, length: IntArray) -> FloatArray:
    """Return the weights of each row over their sum, about; exact multiples if they are short."""
    start = np.cumsum(length) - length
    # Powers of two: tiny and huge weights would be lost otherwise.
    _, exponent = np.frexp(np.maximum.reduceat(weight, start))
    weight = np.ldexp(weight, -np.repeat(exponent, length))
    total = np.add.reduceat(weight, start)
    unit = np.minimum.reduceat(granules(weight), start)
    with np.errstate(divide="ignore", over="ignore"):
        ratio = total / unit
    digits = np.where(np.isfinite(ratio), np.frexp(ratio)[1], _DIGITS)
    mantissa, exponent = np.frexp(1.0 / total)
    few = np.ldexp(np.rint(np.ldexp(mantissa, _DIGITS - digits)), exponent + digits - _DIGITS)
    factor = np.where(digits <= _SHORT, few, 1.0 / total)
    return np.asarray(weight * np.repeat(factor, length))


class Neighbours(GivenInfluence):
    """The learner of scikit-learn's neighbours: influence as CSR rows."""

    def __init__(self, model: Any, n_rows: int, find: Callable[[Any, Matrix], Found]) -> None:
        self._model, self._find = model, find
        super().__init__(n_rows, self._rows, sparse=True)

    def _rows(self, rows: Matrix) -> Matrix:
        """Return the influence of the labels on the score of each row."""
        if not rows.shape[0]:
            return sparse.csr_array((0, self.n_rows))
        distance, near, length = self._find(self._model, rows)
        share = shares(_weighed(self._model, distance, length), length)
        start = np.concatenate(([0], np.cumsum(length)))
        found = sparse.csr_array((share, near, start), shape=(len(length), self.n_rows))
        found.sort_indices()
        return found


def _check(model: Any) -> None:
    """Raise for parameters that look at the labels, or that say nothing of weights."""
    weights = model.weights
    if not (weights is None or callable(weights) or weights in ("uniform", "distance")):
        raise InputError(
            f"weights must be 'uniform', 'distance' or a function of distances, got {weights!r}"
        )
    if getattr(model, "outlier_label", None) == "most_frequent":
        raise LabelPeekError(
            f"{type(model).__name__}(outlier_label='most_frequent') looks for the most frequent "
            "label, so that changing labels changes what rows without neighbours get and the "
            "certificate would be false; pass a label that is fixed beforehand, or None"
        )


def vote_scores(model: Any, features: Any) -> FloatArray:
    """Return the share of the second class among the votes, less that of the first.

    Of three or more classes, return twice the share of each, less 1: a mean of -1 and 1 too.
    """
    found: NDArray[Any] = model.predict_proba(features)
    if found.shape[1] > 2:
        return np.asarray(2.0 * found - 1.0, dtype=np.float64)
    return np.asarray(found[:, 1] - found[:, 0], dtype=np.float64)


def _register(classifier: type, regressor: type, find: Callable[[Any, Matrix], Found]) -> None:
    def learner(model: Any, features: Matrix, sample_weight: FloatArray | None) -> Neighbours:
        if sparse.issparse(features) and model.metric == "precomputed":
            raise InputError(
                "distances are given as a sparse matrix, of which zeros are lost here, and a "
                "distance of 0 counts; pass them as an array"
            )
        return Neighbours(model, int(features.shape[0]), find)

    for kind, scores in ((classifier, vote_scores), (regressor, predicted_scores)):
        register(
            Family(
                (kind,),
                learner=learner,
                check=_check,
                keeps_rows=lambda model: True,
                codes=(-1.0, 1.0),
                scores=scores,
            )
        )


_register(KNeighborsClassifier, KNeighborsRegressor, _nearest)
_register(RadiusNeighborsClassifier, RadiusNeighborsRegressor, _within)
