"""Every kind of budget against an integer programme, for more labels than can be enumerated."""

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from tests.budgets.test_kinds import KINDS, certified
from tests.effort import some
from unswayed import Cost, LabelBias, Total, prediction_range

SEEDS = range(some(3, 15))


class Programme:
    """Changes within a budget: a row of numbers for each label, and for each cluster."""

    def __init__(self, rng, kind, lower, upper):
        self.kind, self.size = kind, len(lower)
        self.part = rng.integers(0, 3, self.size)
        self.most = rng.integers(0, 7, 3)
        self.cap, self.clusters = int(rng.integers(1, 12)), int(rng.integers(0, 5))
        self.cluster = rng.integers(0, 9, self.size)
        self.costs = rng.choice([0.0, 0.3, 0.7, 1.1, 1.9, 2.3], self.size)
        self.limit, self.total = float(rng.integers(0, 9)) + 0.4, float(rng.uniform(0.5, 9))
        self.lower, self.upper = lower, upper

    def bias(self):
        ends = self.lower, self.upper
        if self.kind in ("parts", "capped"):
            terms = [
                LabelBias.intervals(*ends, budget=int(most), where=self.part == at)
                for at, most in enumerate(self.most)
            ]
            return sum(terms).capped(self.cap) if self.kind == "capped" else sum(terms)
        if self.kind == "clusters":
            return LabelBias.intervals(*ends, budget=self.clusters, clusters=self.cluster)
        if self.kind == "cost":
            return LabelBias.intervals(*ends, budget=Cost(self.limit, self.costs))
        return LabelBias.intervals(*ends, budget=Total(self.total))

    def solved(self, z, *, margin=None):
        """Return the furthest that changes move a score up, or the least budget beyond a margin."""
        value = np.maximum(z * self.lower, z * self.upper)
        weight = np.ones(self.size)
        if self.kind == "cost":
            weight = self.costs
        elif self.kind == "total":
            weight = np.where(z > 0, self.upper, -self.lower)
        width = self.size + (9 if self.kind == "clusters" else 0)
        amount = np.zeros(width)
        amount[: self.size] = weight
        rows, limits = [], []
        if self.kind == "clusters":
            amount[: self.size], amount[self.size :] = 0.0, 1.0
            for label, number in enumerate(self.cluster):
                row = np.zeros(width)
                row[label], row[self.size + number] = 1.0, -1.0
                rows.append(row)
                limits.append(0.0)
        if self.kind in ("parts", "capped"):
            rows += [np.where(self.part == at, 1.0, 0.0) for at in range(3)]
            limits += self.most.tolist()
        limit = {"parts": np.inf, "capped": self.cap, "clusters": self.clusters,
                 "cost": self.limit, "total": self.total}[self.kind]  # fmt: skip
        gain = np.concatenate((value, np.zeros(width - self.size)))
        constraints = [LinearConstraint(np.array(rows), ub=limits)] if rows else []
        if margin is None:
            if np.isfinite(limit):
                constraints.append(LinearConstraint(amount, ub=limit))
            goal = -gain
        else:
            constraints.append(LinearConstraint(gain, lb=margin))
            goal = amount
        whole = np.full(width, 0 if self.kind == "total" else 1)
        found = milp(goal, constraints=constraints, bounds=Bounds(0, 1), integrality=whole,
                     options={"mip_rel_gap": 0.0})  # fmt: skip
        if found.status == 2:
            return np.inf
        return float(found.fun) if margin is not None else -float(found.fun)


def problem(seed, kind):
    rng = np.random.default_rng([9, seed])
    size = int(rng.integers(30, 61))
    z = rng.normal(size=size)
    lower, upper = -rng.choice([0.0, 0.5, 1.0], size), rng.choice([0.0, 0.25, 1.0], size)
    return z, Programme(rng, kind, lower, upper)


@pytest.mark.parametrize("kind", KINDS)
def test_ranges_are_those_of_the_programme(kind):
    for seed in SEEDS:
        z, programme = problem(seed, kind)
        low, high = prediction_range(z, np.zeros(len(z)), programme.bias())
        assert high == pytest.approx(programme.solved(z), abs=1e-6), seed
        assert low == pytest.approx(-programme.solved(-z), abs=1e-6), seed


@pytest.mark.parametrize("kind", KINDS)
def test_least_budgets_are_those_of_the_programme(kind):
    for seed in SEEDS:
        z, programme = problem(seed, kind)
        radius = float(np.random.default_rng([10, seed]).uniform(0.5, 6.0))
        model = certified(z, programme.lower, programme.upper, programme.bias(), radius)
        found = model.minimum_budgets(z[None])
        least = min(programme.solved(sign * z, margin=radius) for sign in (1, -1))
        assert found.low[0] == pytest.approx(least, abs=1e-6), seed
        assert found.high[0] == pytest.approx(least, abs=1e-6), seed
