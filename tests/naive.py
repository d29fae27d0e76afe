"""Slow and plainly right: enumerate the bias set, refit for every member, compare.

Nothing here uses the package: it is what the package is measured against.
"""

from collections.abc import Iterator
from itertools import combinations, product

import numpy as np


def corners(y, lower, upper, budget) -> Iterator[np.ndarray]:
    """Every label vector with at most `budget` labels moved to an end of its interval.

    A score that is linear in the labels has its extremes here (paper, theorem 1).
    """
    movable = [i for i in range(len(y)) if lower[i] < 0 or upper[i] > 0]
    for count in range(min(budget, len(movable)) + 1):
        for rows in combinations(movable, count):
            ends = [[e for e in (lower[i], upper[i]) if e != 0] for i in rows]
            for offsets in product(*ends):
                moved = np.array(y, dtype=float)
                for i, offset in zip(rows, offsets, strict=True):
                    moved[i] += offset
                yield moved


def refit_scores(X, labels, tests, *, alpha=0.0, fit_intercept=True, sample_weight=None):
    """Ridge scores at `tests` for each row of `labels`, by one least-squares problem each.

    The penalty is written as extra rows √α·I with label 0, so that plain minimum-norm least
    squares solves every case, alpha 0 and rank-deficient features included.
    """
    X, tests = np.asarray(X, float), np.asarray(tests, float)
    labels = np.atleast_2d(labels)
    weight = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, float)
    mean = weight @ X / weight.sum() if fit_intercept else np.zeros(X.shape[1])
    scores = []
    for y in labels:
        centre = weight @ y / weight.sum() if fit_intercept else 0.0
        root = np.sqrt(weight)
        top = root[:, None] * (X - mean)
        bottom = np.sqrt(alpha) * np.eye(X.shape[1])
        right = np.concatenate((root * (y - centre), np.zeros(X.shape[1])))
        slope = np.linalg.lstsq(np.vstack((top, bottom)), right, rcond=1e-12)[0]
        scores.append((tests - mean) @ slope + centre)
    return np.array(scores)


def ranges(X, y, tests, lower, upper, budget, **model):
    """Lowest and highest score of every test row over the enumerated bias set."""
    scores = refit_scores(X, list(corners(y, lower, upper, budget)), tests, **model)
    return scores.min(axis=0), scores.max(axis=0)


def rise_and_fall(influence, lower, upper):
    """What each label can add to and take from a score (paper's ρ⁺ and −ρ⁻)."""
    ends = np.stack((influence * lower, influence * upper))
    return ends.max(axis=0), -ends.min(axis=0)


def reach(influence, lower, upper, budget):
    """Sum of the `budget` largest rises and of the `budget` largest falls."""
    rise, fall = rise_and_fall(np.asarray(influence, float), lower, upper)
    return tuple(float(np.sort(each)[::-1][:budget].sum()) for each in (rise, fall))


def flip_one_by_one(influence, lower, upper, margin_up, margin_down):
    """The paper's loop for the minimum k: find the largest, flip it, check, repeat."""
    best = np.inf
    rise, fall = rise_and_fall(np.asarray(influence, float), lower, upper)
    for gains, margin in ((rise.copy(), margin_up), (fall.copy(), margin_down)):
        moved = 0.0
        for flipped in range(1, len(gains) + 1):
            at = int(np.argmax(gains))
            moved += gains[at]
            gains[at] = 0.0
            if moved > margin:
                best = min(best, flipped)
                break
    return best
