"""Every kind of budget against its definition: ranges, verdicts, least budgets and witnesses."""

import math
from fractions import Fraction

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from tests.budgets import oracle
from tests.effort import some
from unswayed import CertifiedRegressor, Cost, LabelBias, LinearSmoother, Total, prediction_range

KINDS = ("parts", "capped", "clusters", "cost", "total")
SEEDS = range(some(15, 1000))


def drawn(rng, kind, lower, upper):
    """Return a bias of a kind, and its definition."""
    n_rows = len(lower)
    if kind in ("parts", "capped"):
        part = rng.integers(0, 3, n_rows)  # some are empty
        most = rng.integers(0, 4, 3)
        terms = [
            LabelBias.intervals(lower, upper, budget=int(most[at]), where=part == at)
            for at in range(3)
        ]
        cap = int(rng.integers(0, 6)) if kind == "capped" else math.inf
        bias = sum(terms).capped(cap) if kind == "capped" else sum(terms)
        rows = [(set(np.flatnonzero(part == at)), most[at]) for at in range(3)]
        return bias, oracle.Counted(rows, cap)
    if kind == "clusters":
        cluster, most = rng.integers(0, 3, n_rows), int(rng.integers(0, 4))
        bias = LabelBias.intervals(lower, upper, budget=most, clusters=cluster)
        return bias, oracle.Clustered(cluster, most)
    if kind == "cost":
        costs = rng.choice([0.0, 0.1, 0.2, 0.7, 1.0, 2.0, math.inf], n_rows)
        limit = float(rng.choice([0.0, 0.3, 1.0, 2.1]))
        bias = LabelBias.intervals(lower, upper, budget=Cost(limit, costs))
        return bias, oracle.Priced(costs, limit)
    most = float(rng.choice([0.0, 0.3, 1.0, 1.5, 2.25, 10.0]))
    return LabelBias.intervals(lower, upper, budget=Total(most)), most


def truth(z, lower, upper, budget):
    if isinstance(budget, float):
        return oracle.total_reach(z, lower, upper, budget)
    return oracle.reach(z, lower, upper, budget)


@pytest.mark.parametrize("kind", KINDS)
def test_a_range_holds_what_admissible_labels_reach_and_hardly_more(kind):
    for seed in SEEDS:
        rng = np.random.default_rng([1, seed])
        z, lower, upper = oracle.problem(rng, int(rng.integers(1, 7)))
        y = rng.integers(0, 5, len(z)).astype(float)
        bias, budget = drawn(rng, kind, lower, upper)
        up, down = truth(z, lower, upper, budget)
        score = oracle.moved(z, y)
        low, high = prediction_range(z, y, bias)
        assert low <= score - down
        assert score + up <= high
        size = oracle.moved(np.abs(z), np.abs(y)) + up + down  # what rounding is relative to
        size = Fraction(1, 10**12) * size + Fraction(1, 10**300)
        assert low >= score - down - size
        assert high <= score + up + size


def certified(z, lower, upper, bias, radius):
    model = CertifiedRegressor(LinearSmoother(), bias=bias, radius=radius)
    return model.fit(np.zeros((len(lower), len(lower))), np.zeros(len(lower)))


def within(budget, change, bias):
    """Return whether a change is admissible, by the definition of its budget."""
    if isinstance(budget, float):
        return sum(map(abs, change)) <= bias.budget.most * (1 + 1e-12)
    return budget.allows(change)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("resolve", [None, "exact"])
def test_verdicts_least_budgets_and_witnesses_are_those_of_all_label_sets(kind, resolve):
    for seed in SEEDS[: some(8, 300)]:
        rng = np.random.default_rng([2, seed])
        z, lower, upper = oracle.problem(rng, int(rng.integers(1, 7)))
        bias, budget = drawn(rng, kind, lower, upper)
        up, down = truth(z, lower, upper, budget)
        radius = float(rng.choice([0.0, 0.1, 0.5, 1.0, 2.0, float(max(up, down))])) + 0.0
        model = certified(z, lower, upper, bias, radius)
        certs = model.certify(z[None], resolve=resolve)
        overturned = max(up, down) > Fraction(radius)
        verdict = str(certs.verdict[0])
        assert verdict in ("undecided", "not-robust" if overturned else "robust"), seed
        if resolve:
            assert verdict != "undecided"
        if verdict == "not-robust":
            witness = certs.witness(0)
            change = np.zeros(len(z))
            change[witness.indices] = witness.labels
            assert (change >= lower).all()
            assert (change <= upper).all()
            assert within(budget, change.tolist(), bias), seed
            hair = Fraction(1, 10**12) * Fraction(radius) if kind == "total" else 0
            assert abs(oracle.moved(z, change)) > Fraction(radius) - hair
        found = model.minimum_budgets(z[None], resolve=resolve)
        if kind == "total":
            check_total(z, lower, upper, radius, found)
            continue
        least = oracle.least(z, lower, upper, budget, radius)
        low, high = written(found.low[0]), written(found.high[0])
        assert math.isnan(low) or low <= least <= high, seed
        if resolve:
            assert low == high == least, seed


def written(number):
    """Return a number as it is written: costs are added up so."""
    return Fraction(repr(float(number))) if math.isfinite(number) else float(number)


def check_total(z, lower, upper, radius, found):
    """Compare the least total with what totals a little smaller and larger reach."""
    low, high, hair = float(found.low[0]), float(found.high[0]), Fraction(1, 10**12)
    most = max(oracle.total_reach(z, lower, upper, 1e9))
    if math.isfinite(low):
        less = max(oracle.total_reach(z, lower, upper, max(low * (1 - 1e-15) - 1e-320, 0.0)))
        assert less <= Fraction(radius) * (1 + hair)
    else:
        assert most <= Fraction(radius)
    if math.isfinite(high):
        assert max(oracle.total_reach(z, lower, upper, high * (1 + 1e-15))) >= Fraction(radius)
        assert high <= low * (1 + 1e-9) + 1e-300
    else:
        assert most <= Fraction(radius) * (1 + hair)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_refit_with_any_admissible_labels_stays_in_the_range_of_a_ridge(kind, weighted):
    for seed in SEEDS[: some(6, 60)]:
        rng = np.random.default_rng([3, seed])
        n_rows = int(rng.integers(3, 7))
        X = rng.integers(-1, 2, (n_rows, 2)).astype(float)
        _, lower, upper = oracle.problem(rng, n_rows)
        weights = rng.choice([0.5, 1.0, 3.0], n_rows) if weighted else None
        y = rng.normal(size=n_rows)
        bias, budget = drawn(rng, kind, lower, upper)
        model = CertifiedRegressor(Ridge(alpha=1.0), bias=bias, radius=0.3)
        model.fit(X, y, sample_weight=weights)
        tests = rng.normal(size=(2, 2))
        certs = model.certify(tests)
        for change in oracle.changes(lower, upper):
            added = np.array(change)
            if isinstance(budget, float):
                added *= min(1.0, budget / np.abs(added).sum() if added.any() else 1.0)
            elif not budget.allows(change):
                continue
            refit = Ridge(alpha=1.0).fit(X, y + added, sample_weight=weights)
            scores = refit.predict(tests)
            assert (scores >= certs.low - 1e-9).all(), seed
            assert (scores <= certs.high + 1e-9).all(), seed
