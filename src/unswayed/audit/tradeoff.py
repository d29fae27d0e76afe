"""Accuracy against robustness over alpha (the paper's first figure)."""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unswayed.audit.movement import need_radius
from unswayed.audit.opening import open_study
from unswayed.audit.penalty import quality, ridge, says_one_class
from unswayed.audit.progress import Progress
from unswayed.audit.request import Request
from unswayed.audit.study import Study
from unswayed.exceptions import SolverPrecisionWarning

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
    points = []
    for alpha in progress.track(wanted, "over alpha", len(wanted)):
        model = study.model if alpha == wanted[0] else _refitted(study, alpha)
        points.append(_point(study, model, alpha))
    return study, points


def _refitted(study: Study, alpha: float) -> Any:
    """Return the model of another penalty, fitted on the same rows."""
    from sklearn.base import clone

    model = clone(study.model)
    model.set_params(estimator=study.columns.pipeline(ridge(alpha), study.request.missing))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(study.train.features, study.train.labels, study.train.weights)
    for each in caught:
        note = f"alpha {alpha:g}: {each.message}"
        if issubclass(each.category, SolverPrecisionWarning):
            study.notes.append(note)
    return model


def _point(study: Study, model: Any, alpha: float) -> Point:
    request, test, target = study.request, study.test, study.target
    # One number per row gives the rate at every budget; its range is not needed here.
    if model is study.model:
        least = study.answers.minimum_budget
    else:
        least = model.minimum_budgets(test.features, resolve=request.resolve).low
    rates = tuple(float((least > study.count(budget)).mean()) for budget in request.budgets)
    said = np.asarray(model.predict(test.features), dtype=np.float64)
    always = None
    if target.classes and says_one_class(said):
        always = target.as_text(float(np.median(said)))
    found = None
    if test.labels is not None:
        right = float((said == test.labels).mean())
        found = right if target.classes else quality(None, said, test.labels)
    return Point(alpha, found, rates, always)
