"""Accuracy against robustness over alpha (the paper's first figure)."""

from dataclasses import dataclass, replace

from unswayed.audit.movement import need_radius
from unswayed.audit.opening import open_study
from unswayed.audit.progress import Progress
from unswayed.audit.request import Budget, Request
from unswayed.audit.study import Study

ALPHAS: tuple[float, ...] = (0.1, 1.0, 10.0, 30.0, 100.0, 300.0, 1e3, 3e3, 1e4, 3e4)


@dataclass(frozen=True, slots=True)
class Point:
    """Accuracy and robustness at one penalty."""

    alpha: float
    quality: float | None
    rates: tuple[float, ...]  # one per budget


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
        The study of the largest penalty, for what all of them have in common.
    points : list of Point
        One per penalty, ascending.
    """
    points: list[Point] = []
    study: Study | None = None
    for alpha in progress.track(sorted(set(alphas)), "over alpha", len(set(alphas))):
        study = open_study(replace(request, alpha=alpha))
        need_radius(study, "the trade-off")
        budgets: tuple[Budget, ...] = request.budgets
        rates = tuple(float(study.robust(budget).mean()) for budget in budgets)
        points.append(Point(alpha, study.quality(), rates))
    assert study is not None  # noqa: S101
    return study, points
