"""Accuracy against robustness over alpha (the paper's first figure)."""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unswayed._typing import FloatArray, Matrix
from unswayed.audit.movement import need_radius
from unswayed.audit.opening import open_study
from unswayed.audit.penalty import ridge, says_one_class
from unswayed.audit.progress import Progress
from unswayed.audit.request import Request
from unswayed.audit.study import Study
from unswayed.exceptions import SolverPrecisionWarning
from unswayed.report.findings import quality

ALPHAS: tuple[float, ...] = (0.1, 1.0, 10.0, 30.0, 100.0, 300.0, 1e3, 3e3, 1e4, 3e4)


@dataclass(frozen=True, slots=True)
class Point:
    """Accuracy and robustness at one penalty."""

    alpha: float
    quality: float | None
    rates: tuple[float, ...]  # one per budget
    always: str | None = None  # the class that (almost) everyone is told, if there is one


def tradeoff(
    request: Request, progress: Progress, alphas: tuple[float, ...] = ALPHAS
) -> tuple[Study, list[Point]]:
    """Fit and certify once per penalty.

    Parameters
    ----------
    request : Request
        Its alpha is replaced by each of the penalties.
    progress : Progress
    alphas : tuple of float
        Penalties; they are tried in ascending order, each once.

    Returns
    -------
    study : Study
        The study of the smallest penalty, for what all of them have in common.
    points : list of Point
        One per penalty, ascending.
    """
    wanted = sorted(set(alphas))
    study = open_study(replace(request, alpha=wanted[0], ranges=False))
    need_radius(study, "the trade-off")
    fitted = study.model.fitted_
    # Features do not depend on the penalty, so that they are made once.
    train, test = fitted.learner.specification.matrix, fitted.features(study.test.features)
    points = []
    for alpha in progress.track(wanted, "over alpha", len(wanted)):
        if alpha == wanted[0]:
            least = study.answers.minimum_budget
            said = study.model.predict(study.test.features)
        else:
            model = _refitted(study, train, alpha)
            # One number per row gives the rate at every budget; its range is not needed here.
            least = model.minimum_budgets(test, resolve=request.resolve).low
            said = model.predict(test)
        points.append(_point(study, alpha, least, np.asarray(said, dtype=np.float64)))
    return study, points


def _refitted(study: Study, features: Matrix, alpha: float) -> Any:
    """Return the model of another penalty, fitted on the same features."""
    from sklearn.base import clone

    model = clone(study.model).set_params(estimator=ridge(alpha))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(features, study.train.labels, study.train.weights)
    for each in caught:
        note = f"alpha {alpha:g}: {each.message}"
        if issubclass(each.category, SolverPrecisionWarning):
            study.notes.append(note)
    return model


def _point(study: Study, alpha: float, least: FloatArray, said: FloatArray) -> Point:
    request, test, target = study.request, study.test, study.target
    rates = tuple(float((least > study.count(budget)).mean()) for budget in request.budgets)
    always = None
    if target.classes and says_one_class(said):
        always = target.as_text(float(np.median(said)))
    found = None
    if test.labels is not None:
        found = quality(said, test.labels, classes=bool(target.classes))
    return Point(alpha, found, rates, always)
