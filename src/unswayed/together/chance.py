"""Chance: what label sets drawn at random do to predictions. A simulation, and no proof."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from unswayed._typing import FloatArray, IntArray
from unswayed.bias import ResolvedBias
from unswayed.summaries import RandomDraws

Overturned = Callable[[Any], FloatArray]
"""From label changes, (draws, n) and sparse, to how many predictions each draw changes."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """A model whose labels are drawn, and where its training rows are among all of them."""

    bias: ResolvedBias
    place: IntArray
    overturned: Overturned


def at_random(
    models: Sequence[Drawn], labels: Sequence[int], n_rows: int, draws: int, seed: int
) -> list[RandomDraws]:
    """Return what so many random wrong labels do to the predictions of all models, at each count.

    Every draw is one set of labels for all models; those of smaller counts are parts of it.
    """
    found = np.zeros((len(labels), draws))
    places = np.concatenate([each.place for each in models]) if models else np.zeros(0, np.intp)
    low, high = np.zeros((2, int(places.max(initial=-1)) + 1))
    for each in models:
        low[each.place], high[each.place] = each.bias.lower, each.bias.upper
    whole = bool(models) and models[0].bias.whole
    for at, changes in enumerate(_changes(low, high, labels, draws, seed, whole)):
        for each in models:
            found[at] += each.overturned(changes[:, each.place])
    every = max(1, n_rows)
    return [
        RandomDraws(float(each.sum() / (draws * every)), float(each.max() / every), draws)
        for each in found
    ]


def _changes(
    low: FloatArray, high: FloatArray, labels: Sequence[int], draws: int, seed: int, whole: bool
) -> Iterator[Any]:
    """Yield label changes, (draws, n) and sparse, for each number of labels, which ascend."""
    rng = np.random.default_rng(seed)
    movable = np.flatnonzero((low != 0) | (high != 0))
    most = min(max(labels, default=0), len(movable))
    order = np.array([rng.choice(movable, most, replace=False) for _ in range(draws)])
    order = order.reshape(draws, most).astype(np.intp)
    if whole:  # a label that is wrong is the other one
        amount = np.where(high[order] > 0, high[order], low[order])
    else:
        amount = low[order] + rng.random(order.shape) * (high - low)[order]
    for count in labels:
        taken = min(count, most)
        rows = np.repeat(np.arange(draws), taken)
        entries = (amount[:, :taken].ravel(), (rows, order[:, :taken].ravel()))
        yield sparse.csr_array(entries, shape=(draws, len(low)))
