"""COMPAS, all rows at once. Skipped where the data are not at hand."""

import numpy as np
import pytest

from reproduction.problems import ALPHAS, Data, fitted, ridge


@pytest.fixture(scope="module")
def compas(real_data):
    problem = Data(real_data).problem("COMPAS")
    train, test = problem.splits[0]
    return problem, train, test, fitted(problem, train, ALPHAS["COMPAS"][0])


def refitted(problem, train, test, witness=None):
    labels = problem.labels[train].copy()
    if witness is not None:
        labels[witness.indices] = witness.labels
    model = ridge(ALPHAS["COMPAS"][0]).fit(problem.rows[train], labels)
    return model.predict(problem.rows[test]) > 0.5


def test_twelve_labels_overturn_forty_rows_together_where_sixty_one_are_fragile(compas):
    problem, _, test, model = compas
    found = model.certify_together(problem.rows[test], budget=12, time_limit=30)
    assert found.fragile == 61
    assert found.at_least <= 40 <= found.at_most
    assert found.bounds["Lagrangian"] <= 45
    changed = refitted(*compas[:3], found.witness) != refitted(*compas[:3])
    assert changed.sum() == found.at_least == len(found.witness.overturned)
    assert len(found.witness) <= 12
    assert found.at_least >= 35


def test_the_gap_between_two_groups_is_bounded_and_reached(compas):
    problem, _, test, model = compas
    race = problem.race[test]
    two = np.isin(race, ["African-American", "Caucasian"])
    found = model.certify_metric(
        problem.rows[test][two],
        "demographic_parity_difference",
        groups=race[two],
        budget=12,
        time_limit=20,
    )
    for end, witness in (
        (found.inner_low, found.witness_low),
        (found.inner_high, found.witness_high),
    ):
        said = refitted(*compas[:3], witness)[two]
        rates = [said[race[two] == each].mean() for each in ("African-American", "Caucasian")]
        assert abs(rates[0] - rates[1]) == pytest.approx(end, abs=1e-12)
    assert found.low <= found.inner_low <= found.value <= found.inner_high <= found.high
    assert found.by_group.groups == ("African-American", "Caucasian")


def test_sixty_checks_make_rows_robust_where_random_ones_make_none(compas):
    problem, train, test, model = compas
    plan = model.review_plan(problem.rows[test], labels=60, budget=0.01)
    before, after = plan.robust_after[[0, -1]]
    assert after - before >= 11  # 1.8 points
    assert plan.baseline("random")[-1] - before < 1
    labels = problem.labels[train]
    answers = dict(zip(plan.order, labels[plan.order], strict=True))
    done = model.reviewed(problem.rows[train], labels, answers)
    assert done.model.certify(problem.rows[test], budget=0.01).robust.sum() == after
