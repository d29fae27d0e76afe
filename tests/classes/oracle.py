"""Every label set of a small problem with several classes, each refitted."""

from itertools import combinations, product

import numpy as np

from tests.naive import refit_scores


def label_sets(labels, allowed, budget):
    """Every vector of class numbers with at most `budget` labels changed to what they may be."""
    movable = [i for i in range(len(labels)) if allowed[i].sum() > 1]
    for count in range(min(budget, len(movable)) + 1):
        for rows in combinations(movable, count):
            ways = [[b for b in np.flatnonzero(allowed[i]) if b != labels[i]] for i in rows]
            for new in product(*ways):
                changed = np.array(labels)
                changed[list(rows)] = new
                yield changed


def class_scores(X, labels, tests, n_classes, codes=(0.0, 1.0), **model):
    """Scores of test rows, one column per class, trained on one column of codes each."""
    columns = np.where(np.arange(n_classes)[:, None] == labels, codes[1], codes[0])
    return refit_scores(X, columns, tests, **model).T


def outcome(scores, *, near=1e-9):
    """The class of each row: the highest, of equal ones the first."""
    best = scores.max(axis=1, keepdims=True)
    return np.argmax(scores >= best - near, axis=1)


def least_budgets(X, labels, allowed, tests, n_classes, most, **model):
    """The fewest changed labels that change the class of each row, up to `most`; else inf."""
    before = outcome(class_scores(X, labels, tests, n_classes, **model))
    found = np.full(len(tests), np.inf)
    for changed in label_sets(labels, allowed, most):
        count = int((changed != labels).sum())
        after = outcome(class_scores(X, changed, tests, n_classes, **model))
        gone = ~np.isin(before, changed)  # no model knows the class any more
        found = np.where((after != before) | gone, np.minimum(found, count), found)
    return before, found
