"""Accuracy against robustness over alpha (the paper's first figure)."""

from dataclasses import dataclass, replace

from unswayed.audit.opening import open_study
from unswayed.audit.progress import Progress
from unswayed.audit.request import Budget, Request
from unswayed.audit.study import Study

ALPHAS: tuple[float, ...] = (0.1, 1.0, 10.0, 30.0, 100.0, 300.0, 1e3, 3e3, 1e4, 3e4)


@dataclass(frozen=True, slots=True)
class Point:
    """One penalty: how good the model is and how many predictions are proven robust."""

    alpha: float
    quality: float | None
    rates: tuple[float, ...]  # one per budget


def tradeoff(
    request: Request, progress: Progress, alphas: tuple[float, ...] = ALPHAS
) -> tuple[Study, list[Point]]:
    """Fit and certify once per penalty; returns the last study too, which says what was asked."""
    points: list[Point] = []
    study: Study | None = None
    for alpha in progress.track(sorted(set(alphas)), "over alpha", len(set(alphas))):
        study = open_study(replace(request, alpha=alpha))
        budgets: tuple[Budget, ...] = request.budgets
        rates = tuple(float(study.robust(budget).mean()) for budget in budgets)
        points.append(Point(alpha, study.quality(), rates))
    assert study is not None  # noqa: S101
    return study, points
