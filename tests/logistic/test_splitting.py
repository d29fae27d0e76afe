"""Budgets that are split between some rows and the others."""

from itertools import product

import numpy as np
from sklearn.linear_model import LogisticRegression

from unswayed import CertifiedClassifier, LabelBias, Verdict
from unswayed.engines.region.attack import SplitMoves
from unswayed.engines.region.engine import Directions
from unswayed.engines.region.region import Splitting


def rare_category(seed, n_rows=160, rare=6, C=5.0, budget=4):
    """A model with a category of few rows, on which labels can pile up."""
    rng = np.random.default_rng(seed)
    X = np.column_stack((rng.normal(size=(n_rows, 2)).round(1), np.arange(n_rows) < rare))
    y = (X[:, 0] + rng.logistic(size=n_rows) > 0).astype(int)
    y[:rare] = 1
    y[0] = 0
    tests = np.column_stack((rng.normal(size=(60, 2)), np.arange(60) < 6))
    final = LogisticRegression(C=C, solver="newton-cholesky", tol=1e-10)
    return CertifiedClassifier(final, bias=LabelBias.flips(budget=budget)).fit(X, y), tests


def test_the_largest_effects_within_the_limits_are_chosen():
    model, _ = rare_category(0, n_rows=9, rare=3)
    moves, rng = model.fitted_.engine.moves, np.random.default_rng(0)
    size = len(moves.sides)
    counts = moves.sides.n_upper.astype(int)
    for _ in range(40):
        effects, inside = rng.normal(size=(1, size)).round(1), rng.random(size) < 0.5
        most_inside, most_outside, labels = (int(each) for each in rng.integers(0, 5, size=3))
        best = max(
            float((effects[0] * moves.sides.upper) @ chosen)
            for chosen in map(np.array, product(*(range(count + 1) for count in counts)))
            if chosen.sum() <= labels
            and chosen[inside].sum() <= most_inside
            and chosen[~inside].sum() <= most_outside
        )
        split = SplitMoves.split(moves, inside, most_inside, most_outside)
        found = float(split.most(effects, labels)[0])
        assert best <= found <= best + 1e-12


def test_a_split_budget_reaches_as_far_as_attacks_and_less_far_than_the_whole():
    decided = 0
    for seed in range(3):
        model, tests = rare_category(seed)
        engine = model.fitted_.engine
        region = engine.region(4, 2)
        if region is None:
            continue
        directions = Directions.of(engine.problem.directions(tests))
        whole, _ = region.reach(directions.rows, 4)
        split = Splitting(region, 4, engine.at_centre)
        found = split.reach(directions.rows, whole)
        many = np.full(len(tests), 4)
        attack = engine.attacker.strongest(directions.rows, np.ones(len(tests)), many, 3, whole)
        closed = np.isfinite(found)
        assert (found[closed] <= whole[closed]).all()
        assert (attack.moved[closed] <= found[closed]).all()
        decided += closed.sum()
    assert decided > 50


def test_splitting_decides_rows_that_nothing_else_does():
    model, tests = rare_category(2, C=20.0)
    some, all_of_it = (model.certify(tests, effort=effort) for effort in (1, 2))
    assert (some.robust <= all_of_it.robust).all()
    assert (all_of_it.verdict == Verdict.UNDECIDED).sum() <= 2  # 8 without it
