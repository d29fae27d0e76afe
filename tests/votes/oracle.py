"""Slow and plainly right: every label set, every member trained on it, votes counted by hand."""

from itertools import combinations, product

import numpy as np
from sklearn.base import clone

from unswayed.models.partitioned import seeds


def majorities(model, estimator, X, y, tests):
    """A function from labels to the majority of each row, members trained anew on them.

    Of the package it takes who is in which partition, and the seeds of the members.
    """
    classes = np.unique(y)
    parts = [np.flatnonzero(model.partition_ == at) for at in range(model.n_partitions)]
    seen, states = {}, seeds(model)

    def vote(at, labels):
        key = at, labels.tobytes()
        if key not in seen:
            fresh = clone(estimator)
            if "random_state" in fresh.get_params():
                fresh.set_params(random_state=states[at])
            alike = len(np.unique(labels)) == 1
            said = np.full(len(tests), labels[0]) if alike else fresh.fit(X[parts[at]], labels)
            seen[key] = said if alike else said.predict(tests)
        return seen[key]

    def majority(labels):
        votes = [vote(at, labels[part]) for at, part in enumerate(parts) if len(part)]
        counts = np.array([np.sum([each == c for each in votes], axis=0) for c in classes])
        return classes[counts.argmax(axis=0)]

    return majority


def true_minimum(majority, y, movable, n_tests, others=None):
    """The fewest of the movable labels whose changes change each majority; inf if none do.

    `others` has, by class, what its labels may really be: by default any other class.
    """
    classes, before = np.unique(y).tolist(), majority(y)
    others = others or {each: [c for c in classes if c != each] for each in classes}
    least = np.full(n_tests, np.inf)
    for size in range(1, len(movable) + 1):
        for rows in combinations(movable, size):
            for new in product(*(others[each] for each in y[list(rows)].tolist())):
                changed = y.copy()
                changed[list(rows)] = new
                least[(majority(changed) != before) & np.isinf(least)] = size
        if np.isfinite(least).all():
            break
    return least
