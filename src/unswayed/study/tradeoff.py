"""Accuracy against robustness over the penalty (the paper's first figure)."""

import warnings
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unswayed._typing import FloatArray, Matrix
from unswayed.exceptions import SolverPrecisionWarning
from unswayed.report.facts import quality
from unswayed.results.certificates import Verdict
from unswayed.study.movement import need_radius
from unswayed.study.opening import open_study
from unswayed.study.penalty import Progress, says_one_class
from unswayed.study.request import Kind, Request
from unswayed.study.study import Study, by_budgets


@dataclass(frozen=True, slots=True)
class Point:
    """Accuracy and robustness at one penalty."""

    alpha: float
    quality: float | None
    rates: tuple[float, ...]  # of rows that are proven robust, one per budget
    undecided: tuple[float, ...]  # of rows that are neither proven nor overturned
    always: str | None = None  # the class that (almost) everyone is told, if there is one


def tradeoff(
    request: Request, progress: Progress, alphas: tuple[float, ...] | None = None
) -> tuple[Study, list[Point]]:
    """Fit and certify once per penalty."""
    kind = request.kind
    wanted = sorted(set(alphas or kind.alphas))
    study = open_study(replace(request, alpha=wanted[0], ranges=False, least=kind.linear))
    need_radius(study, "the trade-off")
    fitted = study.model.fitted_
    # Features do not depend on the penalty, so that they are made once.
    train, test = study.encoded, fitted.features(study.test.features)
    points = []
    for alpha in progress.track(wanted, f"over {kind.option}", len(wanted)):
        if alpha == wanted[0]:
            found = [study.verdicts(budget) for budget in study.request.budgets]
            said = study.model.predict(study.test.features)
        else:
            model = _refitted(study, train, alpha)
            found = _verdicts(study, model, test)
            said = model.predict(test)
        points.append(_point(study, alpha, found, np.asarray(said, dtype=np.float64)))
    return study, points


def _verdicts(study: Study, model: Any, rows: Matrix) -> list[NDArray[np.object_]]:
    """Return verdicts of rows, one array per budget."""
    request = study.request
    counts = [study.count(budget) for budget in request.budgets]
    if not request.kind.linear:
        certified = [model.certify(rows, budget=each, effort=request.effort) for each in counts]
        return [each.verdict for each in certified]
    # One number per row gives the verdict at every budget; its range is not needed here.
    least = model.minimum_budgets(rows, resolve=request.resolve)
    return [by_budgets(least.low, least.high, each) for each in counts]


def point_facts(point: Point, kind: Kind) -> dict[str, Any]:
    """Return a point as plain values."""
    found = asdict(point) | {"rates": list(point.rates), "undecided": list(point.undecided)}
    return found | {"penalty": kind.written(point.alpha)}


def _refitted(study: Study, features: Matrix, alpha: float) -> Any:
    """Return the model of another penalty, fitted on the same features."""
    from sklearn.base import clone

    model = clone(study.model).set_params(estimator=study.request.kind.estimator(alpha))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(features, study.train.labels, study.train.weights)
    for each in caught:
        note = f"{study.request.kind.penalty(alpha)}: {each.message}"
        if issubclass(each.category, SolverPrecisionWarning):
            study.notes.append(note)
    return model


def _point(study: Study, alpha: float, found: list[NDArray[np.object_]], said: FloatArray) -> Point:
    test, target = study.test, study.target
    robust, undecided = (
        tuple(float(np.mean(verdicts == verdict)) for verdicts in found)
        for verdict in (Verdict.ROBUST, Verdict.UNDECIDED)
    )
    always = None
    if target.classes and says_one_class(said):
        always = target.as_text(float(np.median(said)))
    accuracy = None
    if test.labels is not None:
        accuracy = quality(said, test.labels, classes=bool(target.classes))
    return Point(alpha, accuracy, robust, undecided, always)
