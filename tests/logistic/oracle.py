"""The truth about small problems: every admissible label vector, refitted.

All vectors are refitted in doubles; those that decide (the extremes of a test row's score, and
all that come near the threshold) and those that did not converge again in 60 digits, proven. A
label vector without a minimiser makes the truth "undefined": nothing that holds for all label
vectors may then be claimed.
"""

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from flint import arb

NEAR = 1e-6  # of a row's largest score: nearer to the question's limits, doubles do not decide
SAME = 1e-7  # doubles do not tell which of two extremes is further


@dataclass(frozen=True, eq=False)
class LabelSets:
    """Label vectors (k, n) with weights, the number of changes of each; the first has none."""

    labels: np.ndarray
    weights: np.ndarray
    sizes: np.ndarray
    limit: int  # all vectors of up to so many changes are among them; -1: some of no number
    complete: bool  # and there are no others


def flips(y, weights, may_flip, limit, alike):
    """All label vectors with at most `limit` flips; weights (2, n) are those of class 0 and 1.

    Rows `alike` (equal numbers) are interchangeable: one set of flips stands for all of its kind.
    """
    rows = np.flatnonzero(may_flip)
    limit = min(limit, len(rows))
    kinds, chosen = set(), []
    for size in range(limit + 1):
        for some in itertools.combinations(rows.tolist(), size):
            kind = tuple(sorted(alike[list(some)].tolist()))
            if kind not in kinds:
                kinds.add(kind)
                chosen.append(some)
    labels = np.repeat(y[None], len(chosen), axis=0)
    for at, some in enumerate(chosen):
        labels[at, list(some)] = 1 - y[list(some)]
    own = np.where(labels > 0.5, weights[1], weights[0])
    sizes = np.array([len(some) for some in chosen])
    return LabelSets(labels, own, sizes, limit, limit == len(rows))


def moves(rng, y, weight, lower, upper, limit, *, inside=150):
    """Label vectors with up to `limit` labels at ends of their intervals, and some in between."""
    rows = np.flatnonzero((lower < 0) | (upper > 0)).tolist()
    found = [y]
    for size in range(1, limit + 1):
        for some in itertools.combinations(rows, size):
            ends = ([e for e in (lower[i], upper[i]) if e] for i in some)
            for offsets in itertools.product(*ends):
                moved = y.copy()
                moved[list(some)] += offsets
                found.append(moved)
    for _ in range(inside if rows and limit else 0):
        some = rng.permutation(rows)[: rng.integers(1, limit + 1)]
        moved = y.copy()
        moved[some] += rng.uniform(lower[some], upper[some])
        found.append(moved)
    labels = np.maximum(np.array(found), 0.0)
    sizes = (labels != y).sum(axis=1)
    return LabelSets(labels, np.repeat(weight[None], len(labels), axis=0), sizes, -1, False)


class Truth:
    """What label vectors make of test rows.

    Parameters
    ----------
    glm : GLM
    sets : LabelSets
    tests : (t, m) array
        Rows with their constant, or any other directions in parameter space.
    radius : float or None
        None: the decision is score > 0. Else a prediction holds within a radius of its score.
    mean : bool
        Whether the radius is one of exp(score).
    """

    def __init__(self, glm, sets, tests, radius=None, *, mean=False):
        self.glm, self.sets, self.radius, self.mean = glm, sets, radius, mean
        self.tests = tests
        self.estimable = glm.estimable(tests)
        self.undefined = glm.undefined(sets.labels, sets.weights)
        self._refitted = {}
        if not self.undefined[0]:
            self._refit()

    def _refit(self):
        defined = np.flatnonzero(~self.undefined)
        labels, weights = self.sets.labels[defined], self.sets.weights[defined]
        self.start, size = self.glm.minimise(labels, weights)
        self.place = dict(zip(defined.tolist(), range(len(defined)), strict=True))
        self.scores = np.full((len(self.sets.labels), len(self.tests)), np.nan)
        self.scores[defined] = self.start @ self.tests[:, self.glm.columns].T
        for at in defined[~(size < 1e-9)].tolist():
            self.scores[at] = [float(s.mid()) for s in self.exact(at)]

    def exact(self, at):
        """Balls around the scores of all test rows, for label vector number `at`."""
        if at not in self._refitted:
            theta = self.glm.enclose(
                self.sets.labels[at], self.sets.weights[at], self.start[self.place[at]]
            )
            self._refitted[at] = [self.glm.score(row, theta) for row in self.tests]
        return self._refitted[at]

    @cached_property
    def rows(self):
        """One `TrueRow` per test row, None where the score is not defined."""
        if self.undefined[0]:
            return [None] * len(self.tests)
        return [TrueRow(self, t) if self.estimable[t] else None for t in range(len(self.tests))]

    def replay(self, labels, weights):
        """Balls around the scores of all test rows for other labels; None without a minimiser."""
        if self.glm.undefined(labels[None], weights[None])[0]:
            return None
        start, _ = self.glm.minimise(labels[None], weights[None])
        theta = self.glm.enclose(labels, weights, start[0])
        return [self.glm.score(row, theta) for row in self.tests]


class TrueRow:
    """The truth about one test row."""

    def __init__(self, truth, number):
        self.truth, self.number = truth, number
        self.sets = truth.sets
        self.scores = truth.scores[:, number]

    @cached_property
    def score(self):
        return self._exact(0)

    def _exact(self, at):
        return self.truth.exact(int(at))[self.number]

    def holds(self, score):
        """Whether a prediction stays; balls that hold the limit itself are taken for it."""
        if self.truth.radius is None:
            return (score > 0) == (self.score > 0)
        moved = score.exp() - self.score.exp() if self.truth.mean else score - self.score
        return not abs(moved) > arb(self.truth.radius)

    @cached_property
    def overturning(self):
        """Of each label vector, whether it overturns the prediction."""
        first = float(self.score.mid())
        scores = np.exp(self.scores) if self.truth.mean else self.scores
        largest = np.nanmax(np.abs(scores))
        if self.truth.radius is None:
            excess = scores
            found = (scores > 0) != (first > 0)
        else:
            excess = np.abs(scores - scores[0]) - self.truth.radius
            found = excess > 0
        found[np.isnan(self.scores)] = False
        if largest == 0 and not self.truth.tests[self.number].any():
            return found & False  # a row of zeros
        for at in np.flatnonzero(np.abs(excess) <= NEAR * largest):
            found[at] = not self.holds(self._exact(at))
        return found

    def knows(self, budget):
        """Whether every label vector of so many changes was looked at."""
        return budget <= self.sets.limit or self.sets.complete

    @cached_property
    def size(self):
        """What the score is a sum of, in absolute values."""
        glm = self.truth.glm
        return float(np.abs(self.truth.tests[self.number, glm.columns] * self.truth.start[0]).sum())

    def within(self, budget):
        return self.sets.sizes <= budget

    def overturned(self, budget):
        return bool(self.overturning[self.within(budget)].any())

    def undefined(self, budget):
        return bool(self.truth.undefined[self.within(budget)].any())

    @cached_property
    def minimum_budget(self):
        """Fewest changes that overturn; and fewest after which nothing is proven any more.

        inf: no number of changes does; None: more than were looked at, or only a sample was.
        """
        found = []
        for flags in (self.overturning, self.overturning | self.truth.undefined):
            least = int(self.sets.sizes[flags].min()) if flags.any() else None
            found.append(math.inf if least is None and self.sets.complete else least)
        return (found[0] if self.sets.limit >= 0 else None), found[1]

    def ends(self, budget):
        """Balls around the lowest and the highest score of up to so many changes."""
        inside = np.flatnonzero(self.within(budget) & ~np.isnan(self.scores))
        scores = self.scores[inside]
        found = []
        for end, pick in ((scores.min(), min), (scores.max(), max)):
            near = np.abs(scores - end) <= SAME * max(abs(end), 1e-3 * np.ptp(scores))
            furthest = np.argsort(np.abs(scores[near] - end), kind="stable")[:12]
            balls = [self._exact(at) for at in inside[near][furthest]]
            found.append(pick(balls, key=lambda ball: ball.mid()))
        return found
