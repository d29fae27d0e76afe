"""The choice of alpha: the largest that costs at most so much accuracy (paper, section 6)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from unswayed._typing import FloatArray, Matrix
from unswayed.exceptions import InputError
from unswayed.report.facts import quality
from unswayed.results.certificates import ALMOST_ALL
from unswayed.study.request import LOGISTIC, RIDGE, Kind, Request
from unswayed.study.target import Target

T = TypeVar("T")


class Progress(Protocol):
    """Shows how far long work has come."""

    def track(self, steps: Iterable[T], what: str, total: int) -> Iterator[T]:
        """Yield the steps, and show how many of them are done."""
        ...


class Silent:
    """Progress that is not shown."""

    def track(self, steps: Iterable[T], what: str, total: int) -> Iterator[T]:
        """Yield the steps."""
        yield from steps


# ----------------------------------------------------------------------------------------
# The choice of alpha: the largest that costs at most so much accuracy (paper, section 6).
#
# A choice that looks at a training label, even if only to fit the candidates, is another choice
# when that label is another one, and a certificate for the alpha that was chosen would say
# nothing about the alpha that would have been. So candidates are fitted *and* compared on rows
# that are no part of the training set: some that are set aside, or those of another file. They
# are few, so each is predicted by cross-validation among themselves. Of the training rows only
# features and their number are used.
#
# There is one thing to translate. Ridge regression minimises a sum over rows plus alpha·‖c‖², so
# an alpha means less the more rows there are: alpha on m rows shrinks coefficients as much as
# alpha·n/m does on n rows like them, because XᵀX grows with the number of rows. The alpha that
# was found on the m rows of a fold is therefore multiplied by n/m. (Logistic regression is the
# same, with alpha = 1/C.) With equal shrinkage more rows only make coefficients less noisy: the
# accuracy that was seen is not promised, but it is the cautious side to err on, and for
# robustness the one that was asked for.

GRID: tuple[float, ...] = tuple(float(f"{10 ** (step / 4):.2g}") for step in range(-8, 21))
"""Penalties tried: four a decade from 0.01 to 100,000."""
FOLDS = 5
FEWEST = 10
"""Rows that choose alpha at least: two a fold."""
_SHARE = 5  # one row of so many is set aside: a ninth, as in the paper, is too few to fit on
_MOST = 5_000  # rows set aside at most; they are lost to training, and more say little more


@dataclass(frozen=True, slots=True)
class AlphaChoice:
    """An alpha and the rows that chose it."""

    alpha: float
    n_rows: int
    file: str | None  # None: they were set aside from the file with the training rows
    kind: Kind = RIDGE

    def in_words(self) -> str:
        """Explain which rows chose alpha, and why the certificates stay valid.

        Examples
        --------
        >>> print(AlphaChoice(56.0, 120, None).in_words())
        alpha 56 was chosen by 5-fold cross-validation on 120 rows set aside for it; they are no
        part of the training rows, so no label that may be wrong takes part in the choice
        """
        chosen = f"{self.kind.penalty(self.alpha)} was chosen by {FOLDS}-fold cross-validation on"
        if self.file is None:
            rows = f"{self.n_rows:,} rows set aside for it; they are no part of the training rows, "
            return f"{chosen} {rows}so no label that may be wrong takes part in the choice"
        return (
            f"{chosen} the {self.n_rows:,} rows of {self.file}; as long as none of them is a "
            "training row, no label that may be wrong takes part in the choice"
        )


def says_one_class(predictions: Any) -> bool:
    """Return whether predictions are (almost) all of one class, so that being robust is no feat."""
    _, counts = np.unique(predictions, return_counts=True)
    return bool(counts.max(initial=0) >= ALMOST_ALL * len(predictions))


def split_rows(n_rows: int, n_out: int, seed: int) -> tuple[Any, Any]:
    """Split row positions at random into those that stay and those that are taken out."""
    order = np.random.default_rng(seed).permutation(n_rows)
    return np.sort(order[n_out:]), np.sort(order[:n_out])


def set_aside(n_rows: int, seed: int, option: str = "alpha") -> tuple[Any, Any]:
    """Split row positions into those that stay for training and those that choose alpha.

    A fifth of the rows is taken out, but at least 10 and at most 5,000.
    """
    n_out = min(_MOST, max(FEWEST, n_rows // _SHARE))
    if n_rows < 2 * n_out:
        raise InputError(
            f"--{option} auto: {option} is chosen on rows outside the training set, at least "
            f"{FEWEST}, and {n_rows:,} rows are too few to spare them; pass a number as "
            f"--{option}, or other rows with --validation"
        )
    return split_rows(n_rows, n_out, seed + 1)


def choose_alpha(
    request: Request,
    target: Target,
    *,
    n_train: int,
    aside: tuple[Matrix, FloatArray],
    progress: Progress,
    weights: FloatArray | None = None,
) -> AlphaChoice:
    """Choose the largest penalty whose accuracy is within ``give_up`` points of the best."""
    rows, labels = aside
    file = None if request.validation is None else request.validation.name
    _check_labels(labels, file, request.kind.option)
    scores = _predicted_by_others(rows, labels, request, progress)
    classes = bool(target.classes)
    predicted = [request.rule.predict(score) if classes else score for score in scores.T]
    found = np.array([quality(each, labels, classes=classes) for each in predicted])
    # A hair's breadth for the rounding of differences of shares.
    allowed = found >= found.max() - request.give_up / 100 - 1e-12
    if classes:
        telling = np.array([not says_one_class(each) for each in predicted])
        allowed = allowed & telling if (allowed & telling).any() else allowed
    best = grid_of(request.kind)[int(np.flatnonzero(allowed)[-1])]
    per_row = best / (len(labels) * (FOLDS - 1) / FOLDS)
    size = n_train if weights is None else float(weights.sum())
    return AlphaChoice(float(f"{per_row * size:.3g}"), len(labels), file, request.kind)


def _check_labels(labels: FloatArray, file: str | None, option: str) -> None:
    where = "set aside to choose it by" if file is None else f"of {file}"
    if len(labels) < FEWEST:
        raise InputError(
            f"--{option} auto: the {len(labels):,} rows {where} are too few to fit and compare on; "
            f"pass at least {FEWEST}, or a number as --{option}"
        )
    if (labels == labels[0]).all():
        raise InputError(
            f"--{option} auto: the {len(labels):,} rows {where} all have the same label, so every "
            f"{option} looks as good as any other; pass a number, or more rows"
        )


def grid_of(kind: Kind) -> tuple[float, ...]:
    """Return the penalties that are tried, weakest first."""
    return GRID if kind.linear else GRID[::2]


def _predicted_by_others(
    rows: Any, labels: FloatArray, request: Request, progress: Progress
) -> FloatArray:
    """Predict each row by models of the other folds; one column per penalty of the grid."""
    fold = np.random.default_rng(request.seed).permutation(len(labels)) % FOLDS
    scores = np.empty((len(labels), len(grid_of(request.kind))))
    scored = _log_odds if request.kind is LOGISTIC else _numbers
    for each in progress.track(range(FOLDS), f"choosing {request.kind.option}", FOLDS):
        out = fold == each
        scores[out] = scored(rows[~out], labels[~out], rows[out])
        if request.threshold == "balanced":
            scores[out] -= labels[~out].mean()
    return scores


def _numbers(rows: Any, labels: FloatArray, asked: Any) -> FloatArray:
    """Return scores of ridge regression; one column per penalty."""
    from sklearn.linear_model import Ridge

    repeated = np.repeat(labels[:, None], len(GRID), axis=1)  # one target per penalty
    return np.asarray(Ridge(alpha=np.array(GRID)).fit(rows, repeated).predict(asked))


def _log_odds(rows: Any, labels: FloatArray, asked: Any) -> FloatArray:
    """Return log-odds of logistic regression; one column per penalty."""
    if (labels == labels[0]).all():  # no other class was ever seen
        return np.full((asked.shape[0], len(grid_of(LOGISTIC))), 1.0 if labels[0] else -1.0)
    found = [LOGISTIC.estimator(alpha).fit(rows, labels) for alpha in grid_of(LOGISTIC)]
    return np.column_stack([each.decision_function(asked) for each in found])
