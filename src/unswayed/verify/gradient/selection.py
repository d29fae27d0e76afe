"""The sum of the k largest effects of labels, from above.

For every threshold τ >= 0, the k largest of some numbers sum up to kτ + Σ max(v - τ, 0) at most;
the k-th largest makes that exact. So the threshold may be found in any way.
"""

import numpy as np

from unswayed.verify.floating.rounding import TINY, FloatArray, gamma


def largest(effects: FloatArray, counts: FloatArray, labels: int) -> FloatArray:
    """Return upper bounds on the sums of the largest effects."""
    if not effects.shape[1] or not labels:
        return np.zeros(len(effects))
    mark = _threshold(effects, counts, labels)
    over = effects - mark[:, None]
    np.maximum(over, 0.0, out=over)
    total = labels * mark + over @ counts
    return np.asarray(total * (1.0 + gamma(effects.shape[1] + 8)) + TINY)


def _threshold(effects: FloatArray, counts: FloatArray, labels: int) -> FloatArray:
    """Return the effect at which so many labels are used up; 0 if there are not as many."""
    size = effects.shape[1]
    if counts.sum() <= labels:
        return np.zeros(len(effects))
    if (counts == 1.0).all():
        found = np.partition(effects, size - labels, axis=1)[:, size - labels]
        return np.maximum(found, 0.0)
    wanted = min(labels, size)
    order = np.argpartition(effects, size - wanted, axis=1)[:, size - wanted :]
    values = np.take_along_axis(effects, order, axis=1)
    ranks = np.argsort(-values, axis=1)
    values = np.take_along_axis(values, ranks, axis=1)
    used = np.cumsum(np.take_along_axis(counts[order], ranks, axis=1), axis=1)
    at = (used >= labels).argmax(axis=1)
    return np.asarray(np.maximum(values[np.arange(len(values)), at], 0.0))
