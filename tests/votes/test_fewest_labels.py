"""The fewest labels that a rival needs, against all sets of votes that may change."""

from itertools import product

import numpy as np
import pytest

from tests.effort import some
from unswayed.engines.votes import fewest_labels


def by_trying(votes, cost, n_classes):
    """The least cost at which some set of votes, each moved anywhere, changes the majority."""
    counts = np.bincount(votes, minlength=n_classes)
    winner, least = int(counts.argmax()), np.inf
    for after in product(range(n_classes), repeat=len(votes)):
        if int(np.bincount(after, minlength=n_classes).argmax()) != winner:
            least = min(least, sum(c for c, a, b in zip(cost, votes, after, strict=True) if a != b))
    return least


@pytest.mark.parametrize("seed", range(some(30, 150)))
def test_the_least_over_all_rivals_is_the_least_over_all_sets_of_votes(seed):
    rng = np.random.default_rng(seed)
    n_classes = int(rng.integers(2, 5))
    votes = rng.integers(0, n_classes, int(rng.integers(1, 7)))
    cost = rng.choice([1.0, 1.0, 2.0, 3.0, 7.0, np.inf], len(votes))
    counts = np.bincount(votes, minlength=n_classes)
    winner, found = int(counts.argmax()), []
    for rival in {*range(n_classes)} - {winner}:
        gap = counts[winner] - counts[rival] + (winner < rival)
        own, other = votes == winner, (votes != winner) & (votes != rival)
        found.append(
            fewest_labels(
                np.where(own, cost, np.inf)[None],
                np.where(other, cost, np.inf)[None],
                np.array([gap]),
            )[0]
        )
    assert min(found) == by_trying(votes, cost, n_classes)


def test_without_rows_or_votes_there_is_nothing_to_find():
    assert fewest_labels(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0, dtype=int)).shape == (0,)
    none = fewest_labels(np.zeros((2, 0)), np.zeros((2, 0)), np.array([1, 0]))
    assert none.tolist() == [np.inf, 0.0]
