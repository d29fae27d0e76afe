"""The choice of alpha: the largest that costs at most so much accuracy (paper, section 6).

It is made on rows that are taken out of the training set for it. A choice that looked at the
training labels would change when they change, and the certificate would be false.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from unswayed._typing import FloatArray
from unswayed.audit.columns import Columns
from unswayed.audit.progress import Progress
from unswayed.audit.request import Request
from unswayed.audit.target import Task
from unswayed.exceptions import InputError

GRID: tuple[float, ...] = tuple(float(f"{10 ** (step / 4):.2g}") for step in range(-8, 21))
"""Penalties tried: four a decade from 0.01 to 100,000."""


def ridge(alpha: float) -> Any:
    """Return the model of a penalty. Iterative solvers run to full precision."""
    from sklearn.linear_model import LinearRegression, Ridge

    return LinearRegression() if alpha == 0 else Ridge(alpha=alpha, tol=1e-13)


def quality(task: Task, score: FloatArray, truth: FloatArray) -> float:
    """Accuracy of a classifier's scores; the share of variance explained (R²) of a regressor's."""
    if task == "classification":
        return float(((score > 0.5) == (truth > 0.5)).mean())
    spread = float(((truth - truth.mean()) ** 2).sum())
    return 1.0 - float(((truth - score) ** 2).sum()) / spread if spread else float("nan")


def split_rows(n_rows: int, n_out: int, seed: int) -> tuple[Any, Any]:
    """Rows that stay and `n_out` rows that are taken out, both ascending."""
    order = np.random.default_rng(seed).permutation(n_rows)
    return np.sort(order[n_out:]), np.sort(order[:n_out])


def choose_alpha(
    request: Request,
    task: Task,
    columns: Columns,
    *,
    training: tuple[FloatArray, FloatArray],
    validation: tuple[FloatArray, FloatArray],
    progress: Progress,
) -> float:
    """Largest penalty whose validation accuracy is within ``give_up`` points of the best."""
    from sklearn.linear_model import Ridge

    transformer = columns.transformer(request.missing).fit(training[0])
    features, rows = transformer.transform(training[0]), transformer.transform(validation[0])
    alphas: Iterable[float] = progress.track(GRID, "choosing alpha", len(GRID))
    found = np.array(
        [
            quality(
                task, Ridge(alpha=alpha).fit(features, training[1]).predict(rows), validation[1]
            )
            for alpha in alphas
        ]
    )
    if np.isnan(found).any():
        raise InputError(
            f"--alpha auto: the {len(validation[1]):,} rows kept apart to choose it by all have "
            "the same label; pass a number, or more rows"
        )
    # A hair's breadth for the rounding of differences of shares.
    allowed = found >= found.max() - request.give_up / 100 - 1e-12
    return GRID[int(np.flatnonzero(allowed)[-1])]
