"""Checks of solvers: certificates are about the solution, and the wrapped estimator may stop early.

How far its scores may be from those of the solution, and what to say otherwise.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from unswayed._typing import FloatArray
from unswayed.models.gradient.problem import stiff_columns

_STIFF = 2.0**-12  # of its size: a column that varies by less troubles solvers
_NAMED = 4  # columns that a warning names


@dataclass(frozen=True, slots=True)
class SolverCheck:
    """How far scores of an estimator may be from those of the solution, and what is said then."""

    gap: Callable[[FloatArray, FloatArray, float], float]  # of scores, own scores, largest label
    tolerance: float
    early: str  # what is said of a larger gap
    unproven: str  # and where nothing can be proven
    direct_solver: str  # of these estimators, one that never stops early
    always: bool = False  # predictions are compared even where no gap was seen
    advice: Callable[[Any], str] | None = None


def _relative_gap(score: FloatArray, own: FloatArray, largest: float) -> float:
    # Against the labels too: a score that is 0 in theory has no size of its own.
    scale = max(float(np.abs(own).max()), largest) or 1.0
    return float(np.abs(score - own).max()) / scale


def _log_gap(score: FloatArray, own: FloatArray, largest: float) -> float:
    with np.errstate(invalid="ignore"):
        off = np.abs(score - own) / np.maximum(np.abs(score), 1.0)
    return float(off.max(initial=0.0))


_EARLY = (
    "{kind}'s own scores differ by {gap:.1e} (relative) from those of the solution its definition "
    "asks for, and certificates are about that solution. An iterative solver wants a smaller tol, "
    "a singular problem alpha > 0"
)


def _singular(way_out: str) -> str:
    return (
        "this {kind} problem is too close to singular for proofs in double precision (or its "
        f"sample weights are too far apart): every verdict is UNDECIDED{way_out}; alpha > 0 would "
        "make it regular"
    )


def _stiff_columns(fitted: Any) -> str:
    """Return what to do about columns whose numbers are large and nearly equal, if any."""
    matrix = fitted.learner.specification.matrix
    stiff = set() if matrix is None else set(stiff_columns(matrix, _STIFF).tolist())
    same = set() if matrix is None else set(stiff_columns(matrix, 0.0).tolist())

    def named(columns: set[int]) -> str:
        return ", ".join(repr(fitted.names[column]) for column in sorted(columns)[:_NAMED])

    found = ""
    if names := named(stiff - same):
        found += (
            f"; the numbers of {names} are large beside how far they vary, which takes all "
            "digits from solvers: standardise such columns (StandardScaler)"
        )
    if names := named(same):
        found += f"; {names} never varies, as little as an intercept does: leave it out"
    return found


CHECKS = {
    "memory": SolverCheck(
        _relative_gap,
        1e-9,
        _EARLY,
        _singular(" unless it is resolved in rational arithmetic (resolve='exact')"),
        "cholesky",
    ),
    "pieces": SolverCheck(_relative_gap, 1e-9, _EARLY, _singular(""), "cholesky"),
    "gradient": SolverCheck(
        _log_gap,
        0.02,  # log-odds, relative to scores beyond 1
        "the solver of {kind} stopped early: its scores differ by up to {gap:.2g} (of scores "
        "beyond 1, relatively) from those of the minimiser, which certificates are about; a "
        "smaller tol (tol=1e-8) and a larger max_iter close the gap",
        "no minimiser of this {kind} problem could be enclosed: every verdict is UNDECIDED. "
        "Without a penalty, classes that a plane separates have none, and columns that depend on "
        "one another have many; labels that are all alike, apart from those of weight 0, have "
        "none either. A penalty that is neither tiny nor huge makes most problems regular",
        "newton-cholesky",
        always=True,
        advice=_stiff_columns,
    ),
}
