"""The fewest labels that a rival needs, against all sets of votes that may change."""

from itertools import product

import numpy as np
import pytest

from tests.effort import some
from unswayed.engines.votes import _cheapest, fewest_labels


def by_trying(votes, cost):
    """The least cost at which votes, each moved to a class at the price of that, change the winner.

    `cost` is (votes, classes).
    """
    n_classes = cost.shape[1]
    winner, least = int(np.bincount(votes, minlength=n_classes).argmax()), np.inf
    for after in product(range(n_classes), repeat=len(votes)):
        if int(np.bincount(after, minlength=n_classes).argmax()) != winner:
            moves = zip(cost, votes, after, strict=True)
            least = min(least, sum(price[b] for price, a, b in moves if a != b))
    return least


@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("seed", range(some(30, 150)))
def test_the_least_over_all_rivals_is_the_least_over_all_sets_of_votes(seed, by_class):
    rng = np.random.default_rng(seed)
    n_classes = int(rng.integers(2, 5))
    votes = rng.integers(0, n_classes, int(rng.integers(1, 7)))
    shape = len(votes), n_classes if by_class else 1
    cost = rng.choice([1.0, 1.0, 2.0, 3.0, 7.0, np.inf], shape) + np.zeros((len(votes), n_classes))
    counts = np.bincount(votes, minlength=n_classes)
    winner, found = int(counts.argmax()), []
    for rival in {*range(n_classes)} - {winner}:
        gap = counts[winner] - counts[rival] + (winner < rival)
        own, towards = votes == winner, np.where(votes == rival, np.inf, cost[:, rival])
        third = [c for c in range(n_classes) if c not in (winner, rival)]
        away = cost[:, third].min(axis=1, initial=np.inf)
        two, one = np.where(own, towards, np.inf), np.where(own, away, towards)
        found.append(fewest_labels(two[None], one[None], np.array([gap]))[0])
        if np.isfinite(found[-1]):
            chosen = _cheapest(two, one, int(gap))
            assert sum(1 + double for _, double in chosen) >= gap
            assert sum((two if double else one)[at] for at, double in chosen) == found[-1]
    assert min(found) == by_trying(votes, cost)


def test_without_rows_or_votes_there_is_nothing_to_find():
    assert fewest_labels(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0, dtype=int)).shape == (0,)
    none = fewest_labels(np.zeros((2, 0)), np.zeros((2, 0)), np.array([1, 0]))
    assert none.tolist() == [np.inf, 0.0]
