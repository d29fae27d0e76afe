"""Refit: what the user's own model says once it is trained on other labels."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unswayed._typing import FloatArray, IntArray
from unswayed.audit.folded import FoldedStudy
from unswayed.audit.study import Study


def refitted_scores(
    study: Study, changed: IntArray, labels: NDArray[Any], at: IntArray
) -> FloatArray:
    """Return scores of test rows by a model that is trained anew on changed labels.

    Where the threshold is balanced, they are measured from the mean of these labels.
    """
    from sklearn.base import clone

    if isinstance(study, FoldedStudy):
        return study.by_parts(at, lambda part, rows: _replayed(study, part, changed, labels, rows))
    given = np.array(study.train.labels)
    given[changed] = labels
    weights = study.train.weights
    weighted = {} if weights is None else {"model__sample_weight": weights}
    fitted = clone(study.model.estimator).fit(study.train.features, given, **weighted)
    asked = study.test.features[at]
    score = fitted.predict if study.request.kind.linear else fitted.decision_function
    scores = np.asarray(score(asked), dtype=np.float64)
    if study.request.threshold == "balanced":
        scores -= float(np.average(given, weights=weights))
    return scores


def _replayed(
    study: FoldedStudy, part: Study, changed: IntArray, labels: NDArray[Any], at: IntArray
) -> FloatArray:
    """Return scores of a fold by its model, trained anew on those of the labels that train it."""
    train = study.trains(part)
    here = np.isin(changed, train)
    return refitted_scores(part, np.searchsorted(train, changed[here]), labels[here], at)
