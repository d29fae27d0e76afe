"""Kinds of models that a file can be studied with: ridge regression and logistic regression.

A penalty is one number here whatever the kind, `alpha`: the larger, the harder coefficients are
pulled to 0, and 0 for no penalty. People write the one of logistic regression as C = 1 / alpha.
"""

import math
from dataclasses import dataclass
from typing import Any

from unswayed.exceptions import InputError

_DIGITS = 15  # of C: 1 / (1 / C) is C again up to these


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of model."""

    name: str  # What ``--model`` calls it
    words: str  # What people call it
    option: str  # What its penalty is called
    linear: bool  # Whether scores are linear in the labels, so that verdicts are exact
    alphas: tuple[float, ...]  # Penalties of a trade-off

    def written(self, alpha: float) -> float:
        """Return a penalty as people write it.

        Examples
        --------
        >>> LOGISTIC.written(100.0), RIDGE.written(100.0)
        (0.01, 100.0)
        """
        if self.option == "alpha":
            return alpha
        return float(f"{1 / alpha:.{_DIGITS}g}") if alpha else math.inf

    def penalty(self, alpha: float) -> str:
        """Return a penalty in words.

        Examples
        --------
        >>> LOGISTIC.penalty(100.0), RIDGE.penalty(100.0)
        ('C 0.01', 'alpha 100')
        """
        return f"{self.option} {self.written(alpha):g}"

    def facts(self, alpha: float | None) -> dict[str, Any]:
        """Return kind and penalty as plain values."""
        known = None if alpha is None else self.written(alpha)
        penalty = {"alpha": None, "C": None} | {self.option: known}
        return {"kind": self.name} | penalty

    def estimator(self, alpha: float) -> Any:
        """Make the model of a penalty, not fitted."""
        from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge

        if self is LOGISTIC:
            # Newton's method: few steps to the solution itself, however columns depend on another.
            return LogisticRegression(
                C=self.written(alpha), solver="newton-cholesky", tol=1e-9, max_iter=200
            )
        return LinearRegression() if alpha == 0 else Ridge(alpha=alpha, tol=1e-13)


RIDGE = Kind(
    "ridge",
    "ridge regression",
    "alpha",
    True,
    (0.1, 1.0, 10.0, 30.0, 100.0, 300.0, 1e3, 3e3, 1e4, 3e4),
)
LOGISTIC = Kind(
    "logistic",
    "logistic regression",
    "C",
    False,
    tuple(1 / strength for strength in (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)),
)
KINDS = {kind.name: kind for kind in (RIDGE, LOGISTIC)}


def need_linear(kind: Kind, what: str) -> None:
    """Raise if something is asked of a model that is not linear in its labels."""
    if not kind.linear:
        either = f" or {what}" if what.startswith("--") else ""
        raise InputError(
            f"{what} is for models that are linear in their labels, and {kind.words} is not; leave "
            f"--model {kind.name}{either} out"
        )
