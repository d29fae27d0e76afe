"""Problems of which some part is empty, zero, equal or alone, against every label set there is."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from tests.together.oracle import draw_odd, problems
from tests.together.test_metrics import RATES, lies, of_one, truth, undefined_in_a_group
from tests.together.test_review import robust_rows
from tests.together.test_together import check
from unswayed import CertifiedClassifier, InputError, LabelBias
from unswayed.joint.metrics import names
from unswayed.verify import verify

CHUNK = 40


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@pytest.mark.parametrize("n_features", [1, 2])
def test_a_metric_has_one_value_where_all_labels_that_move_are_of_zero_rows(n_features):
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(12, n_features)), rng.normal(size=(6, n_features))
    X[:4] = 0
    y = (X[:, 0] > 0).astype(int)
    bias = LabelBias.flips(budget=2, where=np.arange(12) < 4)
    model = CertifiedClassifier(Ridge(alpha=0.1, fit_intercept=False), bias=bias).fit(X, y)
    groups = np.arange(6) % 2
    for metric in ("selection_rate", "selection_rate_difference", "selection_rate_group_min"):
        found = model.certify_metric(T, metric, groups=groups)
        assert found.low == found.value == found.high
    assert model.certify_together(T).at_most == 0


def pytest_generate_tests(metafunc):
    if "chunk" in metafunc.fixturenames:
        metafunc.parametrize("chunk", range(10))


def test_counts_of_odd_problems_are_true_and_proven_again(chunk, tmp_path):
    path, data = tmp_path / "c.json", tmp_path / "c.npz"
    for problem in problems(91_000_000 + 10_000 * chunk, CHUNK, draw_odd):
        found = problem.fitted().certify_together(problem.tests, time_limit=60)
        check(problem, found, problem.overturned.sum(axis=1))
        replayed = problem.replayed(found.witness) != problem.predictions[0]
        assert set(found.witness.overturned) <= set(np.flatnonzero(replayed))
        found.save(path, data=data)
        assert not verify(path, data=data).rejected, problem


def test_ranges_of_odd_problems_hold_every_value_there_is(chunk, tmp_path):
    path, data = tmp_path / "c.json", tmp_path / "c.npz"
    every, complaints, asked = names(), [], 0
    for at, problem in enumerate(problems(92_000_000 + 10_000 * chunk, CHUNK, draw_odd)):
        name = every[(chunk * CHUNK + at) % len(every)]
        values = truth(problem, name)
        try:
            found = problem.fitted().certify_metric(
                problem.tests, name, groups=problem.groups, y_true=problem.y_true, time_limit=60
            )
        except InputError as error:
            alone = len(set(problem.groups)) < 2 and name not in RATES
            one_class = "and it has none" in str(error) and undefined_in_a_group(problem)
            assert alone or one_class or np.isnan(values).any(), (problem, name)
            continue
        asked += 1
        complaints += lies(
            problem, values, found, lambda said, p=problem, n=name: of_one(p, n, said)
        )
        found.save(path, data=data)
        assert not verify(path, data=data).rejected, (problem, name)
    assert not complaints, "\n".join(complaints[:10])
    assert asked > 10


def test_reviews_of_odd_problems_promise_what_is_true(chunk):
    for problem in problems(93_000_000 + 10_000 * chunk, CHUNK, draw_odd):
        plan = problem.fitted().review_plan(problem.tests, labels=3)
        true = [robust_rows(problem, plan.order[:m]) for m in range(len(plan) + 1)]
        assert plan.robust_after.tolist() == true, problem
