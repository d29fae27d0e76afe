"""The choice of alpha: the largest that costs at most so much accuracy (paper, section 6).

A choice that looks at a training label, even if only to fit the candidates, is another choice
when that label is another one, and a certificate for the alpha that was chosen would say
nothing about the alpha that would have been. So candidates are fitted *and* compared on rows
that are no part of the training set: some that are set aside, or those of another file. They
are few, so each is predicted by cross-validation among themselves. Of the training rows only
features and their number are used.

There is one thing to translate. Ridge regression minimises a sum over rows plus alpha·‖c‖², so
an alpha means less the more rows there are: alpha on m rows shrinks coefficients as much as
alpha·n/m does on n rows like them, because XᵀX grows with the number of rows. The alpha that
was found on the m rows of a fold is therefore multiplied by n/m. (Logistic regression is the
same, with alpha = 1/C.) With equal shrinkage more rows only make coefficients less noisy: the
accuracy that was seen is not promised, but it is the cautious side to err on, and for
robustness the one that was asked for.

The other way is a search over all training rows (RidgeCV). Their labels choose, so certificates
are about the search as a whole: the engine of candidates proves what wrong labels can choose.
"""

from functools import partial
from typing import Any

import numpy as np

from unswayed._typing import FloatArray, Matrix
from unswayed.exceptions import InputError
from unswayed.report.facts import quality
from unswayed.results.certificates import ALMOST_ALL
from unswayed.study.kinds import FOLDS, LOGISTIC, RIDGE, AlphaChoice, Kind
from unswayed.study.loading import Rows, split_rows
from unswayed.study.request import Request
from unswayed.study.study import Progress
from unswayed.study.target import Target

FEWEST = 10
"""Rows that choose alpha at least: two a fold."""
_SHARE = 5  # one row of so many is set aside: a ninth, as in the paper, is too few to fit on
_MOST = 5_000  # rows set aside at most; they are lost to training, and more say little more


def says_one_class(predictions: Any) -> bool:
    """Return whether predictions are (almost) all of one class, so that being robust is no feat."""
    _, counts = np.unique(predictions, return_counts=True)
    return bool(counts.max(initial=0) >= ALMOST_ALL * len(predictions))


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
    training: Rows,
    aside: tuple[Matrix, FloatArray],
    progress: Progress,
) -> AlphaChoice:
    """Choose the largest penalty whose accuracy is within ``give_up`` points of the best."""
    rows, labels = aside
    file = None if request.validation is None else request.validation.name
    _check_labels(labels, file, request.kind.option)
    scores = _predicted_by_others(rows, labels, request, target, progress)
    classes = bool(target.classes)
    decides = classes and not target.several
    predicted = [request.rule.predict(score) if decides else score for score in scores.T]
    found = np.array([quality(each, labels, classes=classes) for each in predicted])
    # A hair's breadth for the rounding of differences of shares.
    allowed = found >= found.max() - request.give_up / 100 - 1e-12
    if classes:
        telling = np.array([not says_one_class(each) for each in predicted])
        allowed = allowed & telling if (allowed & telling).any() else allowed
    best = request.kind.grid[int(np.flatnonzero(allowed)[-1])]
    per_row = best / (len(labels) * (FOLDS - 1) / FOLDS)
    weights = training.weights
    size = len(training) if weights is None else float(weights.sum())
    return AlphaChoice((float(f"{per_row * size:.3g}"),), len(labels), file, request.kind)


def chosen_by_labels(model: Any, n_rows: int, kind: Kind) -> AlphaChoice:
    """Return the alpha that all training labels chose, and those that wrong ones can choose."""
    engine = model.fitted_.engine
    found = engine.candidates(engine.bias.budget)
    alphas = [float(each["alpha"]) for each in found.parameters]
    left = tuple(alphas[at] for at in np.flatnonzero(found.possible))
    return AlphaChoice((alphas[found.chosen],), n_rows, None, kind, left)


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


def _predicted_by_others(
    rows: Any, labels: FloatArray, request: Request, target: Target, progress: Progress
) -> FloatArray:
    """Predict each row by models of the other folds; one column per penalty of the grid.

    These are scores, or numbers of classes where there are several.
    """
    fold = np.random.default_rng(request.seed).permutation(len(labels)) % FOLDS
    scores = np.empty((len(labels), len(request.kind.grid)))
    scored = _log_odds if request.kind is LOGISTIC else _numbers
    if target.several:
        scored = partial(_highest, n_classes=len(target.classes))
    for each in progress.track(range(FOLDS), f"choosing {request.kind.option}", FOLDS):
        out = fold == each
        scores[out] = scored(rows[~out], labels[~out], rows[out])
        if request.threshold == "balanced":
            scores[out] -= labels[~out].mean()
    return scores


def _numbers(rows: Any, labels: FloatArray, asked: Any) -> FloatArray:
    """Return scores of ridge regression; one column per penalty."""
    from sklearn.linear_model import Ridge

    repeated = np.repeat(labels[:, None], len(RIDGE.grid), axis=1)  # one target per penalty
    return np.asarray(Ridge(alpha=np.array(RIDGE.grid)).fit(rows, repeated).predict(asked))


def _highest(rows: Any, labels: FloatArray, asked: Any, n_classes: int) -> FloatArray:
    """Return the numbers of the classes with the highest scores; one column per penalty."""
    from sklearn.linear_model import Ridge

    columns = (labels[:, None] == np.arange(n_classes)).astype(np.float64)
    found = [Ridge(alpha=alpha).fit(rows, columns).predict(asked) for alpha in RIDGE.grid]
    return np.stack([np.argmax(each, axis=1) for each in found], axis=1).astype(np.float64)


def _log_odds(rows: Any, labels: FloatArray, asked: Any) -> FloatArray:
    """Return log-odds of logistic regression; one column per penalty."""
    if (labels == labels[0]).all():  # no other class was ever seen
        return np.full((asked.shape[0], len(LOGISTIC.grid)), 1.0 if labels[0] else -1.0)
    found = [LOGISTIC.estimator(alpha).fit(rows, labels) for alpha in LOGISTIC.grid]
    return np.column_stack([each.decision_function(asked) for each in found])
