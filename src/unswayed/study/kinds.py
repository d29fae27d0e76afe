"""Kinds of models: their penalties, and how one was chosen."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unswayed._typing import FloatArray

FOLDS = 5
"""Folds of the rows that choose alpha."""
_DIGITS = 15  # of C: 1 / (1 / C) is C again up to these


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of model: its names, its penalties, what its scores are and what it can."""

    name: str  # What ``--model`` calls it
    words: str  # What people call it
    option: str  # What its penalty is called
    usual: str  # A penalty to begin with, as people write it
    alphas: tuple[float, ...]  # Penalties of a trade-off
    grid: tuple[float, ...]  # Penalties that are tried where one is to be chosen, weakest first
    log_odds: bool  # Whether scores are log-odds, so that people read probabilities beside them
    # "exact" certificates, whose minimum budgets tell every verdict; "numbers" as labels; a
    # threshold in "balance"; training rows in "pieces", or "sparse" ones; a "choice" of the penalty
    # by the training labels
    can: frozenset[str]
    chunk: int  # Rows certified between two steps of the progress bar

    def written(self, alpha: float) -> float:
        """Return a penalty as people write it.

        Examples
        --------
        >>> LOGISTIC.written(100.0), RIDGE.written(100.0)
        (0.01, 100.0)
        """
        if self.option != "C":
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

    @property
    def per_fold(self) -> str:
        """The penalty in words where every fold has one of its own."""
        return f"{'an' if self.option == 'alpha' else 'a'} {self.option} per fold"

    def facts(self, alpha: float | None) -> dict[str, Any]:
        """Return kind and penalty as plain values."""
        known = None if alpha is None else self.written(alpha)
        penalty = {"alpha": None, "C": None} | {self.option: known}
        return {"kind": self.name} | penalty

    def estimator(self, alpha: float | None) -> Any:
        """Make the model of a penalty, not fitted; None where the labels choose it."""
        from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeCV

        if alpha is None:
            return RidgeCV(self.grid)
        if self is DESCENT:
            from unswayed.models.descent import GradientDescentRegressor

            return GradientDescentRegressor(steps=int(alpha))
        if self is LOGISTIC:
            # Newton's method: few steps to the solution itself, however columns depend on another.
            return LogisticRegression(
                C=self.written(alpha), solver="newton-cholesky", tol=1e-9, max_iter=200
            )
        return LinearRegression() if alpha == 0 else Ridge(alpha=alpha, tol=1e-13)

    def scores(self, fitted: Any, rows: Any) -> FloatArray:
        """Return the scores of rows by a fitted model."""
        score = fitted.decision_function if self.log_odds else fitted.predict
        return np.asarray(score(rows), dtype=np.float64)


GRID: tuple[float, ...] = tuple(float(f"{10 ** (step / 4):.2g}") for step in range(-8, 21))
"""Penalties tried: four a decade from 0.01 to 100,000."""

RIDGE = Kind(
    name="ridge",
    words="ridge regression",
    option="alpha",
    usual="1",
    alphas=(0.1, 1.0, 10.0, 30.0, 100.0, 300.0, 1e3, 3e3, 1e4, 3e4),
    grid=GRID,
    log_odds=False,
    can=frozenset({"exact", "numbers", "balance", "pieces", "sparse"}),
    chunk=1024,
)
LOGISTIC = Kind(
    name="logistic",
    words="logistic regression",
    option="C",
    usual="0.01",
    alphas=tuple(1 / strength for strength in (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)),
    grid=GRID[::2],
    log_odds=True,
    can=frozenset({"sparse"}),
    chunk=100,
)
SEARCH = replace(
    RIDGE,
    name="search",
    grid=RIDGE.alphas,
    can=frozenset({"numbers", "choice", "sparse"}),
)
"""Ridge regression whose penalty all training labels choose."""
DESCENT = replace(
    RIDGE,
    name="descent",
    words="least squares by gradient descent",
    option="steps",
    usual="100",
    alphas=(1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1e3, 3e3),
    can=frozenset({"exact", "numbers", "balance"}),
)
"""Gradient descent that stops early: fewer steps do what a larger penalty does."""
KINDS = {kind.name: kind for kind in (RIDGE, LOGISTIC)}


@dataclass(frozen=True, slots=True)
class AlphaChoice:
    """The alpha of the model, or those of the models of all folds, and the rows that chose it."""

    alphas: tuple[float, ...]
    n_rows: int
    file: str | None  # None: they were set aside from the file with the training rows
    kind: Kind = RIDGE
    possible: tuple[float, ...] = ()  # that wrong labels can choose, where training labels chose

    @property
    def alpha(self) -> float | None:
        """The alpha of every model; None where they differ."""
        return self.alphas[0] if len(set(self.alphas)) == 1 else None

    def in_words(self) -> str:
        """Explain which rows chose alpha, and why the certificates stay valid.

        Examples
        --------
        >>> print(AlphaChoice((56.0,), 120, None).in_words())
        alpha 56 was chosen by 5-fold cross-validation on 120 rows set aside for it; they are no
        part of the training rows, so no label that may be wrong takes part in the choice
        """
        if self.possible:
            return self._by_labels()
        by = f"by {FOLDS}-fold cross-validation on"
        chosen = f"{self.kind.penalty(self.alphas[0])} was chosen {by}"
        if self.file is None:
            rows = f"{self.n_rows:,} rows set aside for it; they are no part of the training rows, "
            return f"{chosen} {rows}so no label that may be wrong takes part in the choice"
        if len(self.alphas) > 1:
            ends = sorted({self.kind.written(end(self.alphas)) for end in (min, max)})
            said = f"{ends[0]:g} each time" if len(ends) == 1 else f"{ends[0]:g} to {ends[1]:g}"
            folds = f"{self.kind.option} was chosen in each of the {len(self.alphas)} folds"
            chosen = f"{folds}, {said}, {by}"
        return (
            f"{chosen} the {self.n_rows:,} rows of {self.file}; as long as none of them is a "
            "training row, no label that may be wrong takes part in the choice"
        )

    def _by_labels(self) -> str:
        """Explain which penalties wrong training labels can choose.

        Examples
        --------
        >>> print(AlphaChoice((100.0,), 5000, None, SEARCH, (30.0, 100.0)).in_words())
        alpha 100 was chosen by the leave-one-out errors of all 5,000 training rows, so wrong labels
        may change it, and the certificates cover that: 2 of the 10 alphas tried are not ruled out
        within the budget (30, 100), and robust means robust with each of these
        """
        kind, left = self.kind, self.possible
        chosen = f"{kind.penalty(self.alphas[0])} was chosen by the leave-one-out errors of all"
        chosen, tried = f"{chosen} {self.n_rows:,} training rows", f"{len(kind.grid)} alphas tried"
        if len(left) == 1:
            return f"{chosen}; wrong labels within the budget can choose no other of the {tried}"
        named = ", ".join(f"{each:g}" for each in left)
        return (
            f"{chosen}, so wrong labels may change it, and the certificates cover that: "
            f"{len(left)} of the {tried} are not ruled out within the budget ({named}), and robust "
            "means robust with each of these"
        )
