"""What the experiments share: splits, rates, and the order in which attacks flip labels."""

import numpy as np

from reproduction.attacks import strongest_first
from reproduction.problems import (
    Problem,
    fitted,
    mean_rates,
    paper_splits,
    percentages,
    ridge,
    subsample,
    with_constant,
)


def problem(n_rows=60, seed=0):
    rng = np.random.default_rng(seed)
    rows = with_constant(rng.standard_normal((n_rows, 3)))
    labels = (rows[:, 0] + rng.standard_normal(n_rows) > 0).astype(int)
    race = np.where(rng.random(n_rows) < 0.4, "Black", "White")
    return Problem(rows, labels, paper_splits(n_rows), race)


def test_wisconsins_folds_have_the_papers_training_size():
    train, test = paper_splits(32_690)[0]
    assert len(train) in (26_152, 26_153)
    assert len(test) == 3_269


def test_every_row_is_tested_once_and_never_trained_on_then():
    splits = paper_splits(100)
    assert sorted(np.concatenate([test for _, test in splits])) == list(range(100))
    assert all(not set(train) & set(test) for train, test in splits)


def test_a_rate_counts_rows_whose_minimum_budget_is_above_the_budget():
    minimum = np.array([1, 2, 3, np.inf])
    assert percentages(minimum, 100, [0.5, 1, 2.9]) == [100.0, 75.0, 50.0]


def test_rates_of_groups_are_of_their_own_rows():
    data = problem(n_rows=200)
    both = mean_rates(data, 1.0, [2.0, 10.0], groups=("Black", "White"))
    nobody = mean_rates(data, 1.0, [2.0], where=np.zeros(200, dtype=bool))
    assert set(both) == {"Black", "White"}
    assert nobody == {"all": [100.0]}


def test_a_subsample_is_ordered_and_seeded():
    chosen = subsample(100, 0.2, 3)
    assert len(chosen) == 20
    assert (np.diff(chosen) > 0).all()
    assert (chosen == subsample(100, 0.2, 3)).all()


def test_flipping_the_strongest_labels_overturns_the_ridge_at_its_minimum_budget():
    data = problem()
    train, test = data.splits[0]
    rows, labels = data.rows[train], data.labels[train]
    minimum = fitted(data, train, 1.0).minimum_budget(data.rows[test])
    gram = rows.T @ rows + np.eye(4)
    assert np.isfinite(minimum).all()
    for target, least in zip(data.rows[test], minimum.astype(int), strict=True):
        positive = bool(ridge(1.0).fit(rows, labels).predict([target])[0] > 0.5)
        order = strongest_first(rows, labels, np.linalg.solve(gram, target), positive)
        for count, overturned in ((least - 1, False), (least, True)):
            changed = labels.copy()
            changed[order[:count]] = 1 - changed[order[:count]]
            now = ridge(1.0).fit(rows, changed).predict([target])[0] > 0.5
            assert (now != positive) == overturned
