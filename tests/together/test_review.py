"""Which labels to check: against every admissible label set, and every choice of labels."""

from itertools import combinations

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier

from tests.effort import some
from tests.extending.per_group import PerGroup
from tests.naive import ranges
from tests.together.oracle import problems
from unswayed import CertifiedClassifier, CertifiedRegressor, InputError, LabelBias

CHUNK = 40


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    """Problems are tiny: to start threads for them would take longer than to answer."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def robust_rows(problem, checked):
    """How many rows no admissible label set overturns that leaves the checked labels alone."""
    checked = list(checked)
    allowed = (problem.label_sets[:, checked] == problem.y[checked]).all(axis=1)
    return int((~problem.overturned[allowed].any(axis=0)).sum())


def drawn(seed, n=120, d=4, tests=60, budget=4):
    """A fitted classifier with fragile rows, and rows to ask about."""
    rng = np.random.default_rng(seed)
    X, rows = rng.standard_normal((n, d)), rng.standard_normal((tests, d))
    y = (X @ np.arange(1, d + 1) + 2 * rng.standard_normal(n) > 0).astype(int)
    model = CertifiedClassifier(Ridge(alpha=1.0), bias=LabelBias.flips(budget=budget)).fit(X, y)
    return X, y, rows, model


@pytest.mark.parametrize("start", range(0, 200, CHUNK))
def test_as_many_rows_are_robust_as_no_label_set_overturns_that_spares_checked_labels(start):
    for problem in problems(7_000_000 + 1000 * start, some(12, CHUNK)):
        plan = problem.fitted().review_plan(problem.tests, labels=4)
        truth = [robust_rows(problem, plan.order[:m]) for m in range(len(plan) + 1)]
        assert plan.robust_after.tolist() == truth, problem
        assert (np.diff(plan.robust_after) >= 0).all()
        assert len(set(plan.order.tolist())) == len(plan) <= 4
        assert problem.where[plan.order].all()
        assert plan.n_rows == len(problem.tests)


def test_hardly_any_choice_of_labels_is_better():
    reached, best, chance = 0, 0, 0.0
    for problem in problems(7_900_000, some(20, 60)):
        labels = 3
        plan = problem.fitted().review_plan(problem.tests, labels=labels)
        movable = np.flatnonzero((problem.label_sets != problem.y).any(axis=0))
        before = plan.robust_after[0]
        sets = combinations(movable, min(labels, len(movable)))
        most = max(robust_rows(problem, chosen) for chosen in sets)
        assert plan.robust_after[-1] <= most
        reached, best = reached + plan.robust_after[-1] - before, best + most - before
        chance += plan.baseline("random")[-1] - before
    assert best > some(10, 30)  # otherwise this would show nothing
    assert reached >= 0.95 * best
    assert reached >= 1.5 * chance


def test_baselines_are_worth_what_their_labels_are_worth():
    for problem in problems(7_950_000, some(10, 30)):
        plan = problem.fitted().review_plan(problem.tests, labels=3)
        for kind in ("random", "witness"):
            curve = plan.baseline(kind)
            assert len(curve) == len(plan) + 1
            assert curve[0] == plan.robust_after[0]
            assert (np.diff(curve) >= 0).all()
            assert curve[-1] <= plan.n_rows


def test_labels_bring_more_than_random_ones_and_those_most_used_in_witnesses():
    gained = {"plan": 0.0, "random": 0.0, "witness": 0.0}
    for seed in range(5):
        _, _, rows, model = drawn(seed, n=400, tests=150, budget=8)
        plan = model.review_plan(rows, labels=30)
        gained["plan"] += plan.robust_after[-1] - plan.robust_after[0]
        for kind in ("random", "witness"):
            gained[kind] += plan.baseline(kind)[-1] - plan.robust_after[0]
    assert gained["plan"] >= 3 * gained["random"]
    assert gained["plan"] > gained["witness"]


def test_a_model_whose_labels_were_confirmed_certifies_what_was_promised():
    X, y, rows, model = drawn(0)
    plan = model.review_plan(rows, labels=12)
    assert plan.robust_after[0] == model.certify(rows).robust.sum()
    assert plan.robust_after[-1] > plan.robust_after[0]
    for m in (1, 5, 12):
        done = model.reviewed(X, y, {row: y[row] for row in plan.order[:m]})
        assert done.model.certify(rows).robust.sum() == plan.robust_after[m]
        assert done.corrected.tolist() == []
        assert done.checked.tolist() == sorted(plan.order[:m].tolist())
    again = done.model.review_plan(rows, labels=5)
    assert again.robust_after[0] == plan.robust_after[-1]
    assert not set(again.order.tolist()) & set(plan.order.tolist())


def test_labels_that_were_checked_before_are_left_out_and_cannot_be_wrong():
    X, y, rows, model = drawn(1)
    first = model.review_plan(rows, labels=6)
    mask = np.isin(np.arange(len(y)), first.order)
    for exclude in (first.order, mask, first.order.tolist()):
        rest = model.review_plan(rows, labels=6, exclude=exclude)
        assert rest.robust_after[0] == first.robust_after[-1]
        assert not set(rest.order.tolist()) & set(first.order.tolist())
    done = model.reviewed(X, y, {row: y[row] for row in first.order})
    assert done.model.review_plan(rows, labels=6).order.tolist() == rest.order.tolist()


def test_equal_labels_are_checked_lowest_row_first_unless_they_cost_more():
    X = np.repeat([[1.0, 0.0], [0.0, 1.0]], 5, axis=0)
    y = np.tile([1, 1, 1, 1, 0], 2)
    model = CertifiedClassifier(
        LinearRegression(fit_intercept=False), bias=LabelBias.flips(budget=2)
    ).fit(X, y)
    # Three of the four labels that speak for the row: one is left to be wrong, and 3 : 2 remains.
    plan = model.review_plan([[1, 0]], labels=5)
    assert plan.order.tolist() == [0, 1, 2]
    assert plan.robust_after.tolist() == [0, 0, 0, 1]
    costs = np.ones(10)
    costs[1] = 2.0
    assert model.review_plan([[1, 0]], labels=5, costs=costs).order.tolist() == [0, 2, 3]


def test_costs_count_up_to_their_limit():
    _, y, rows, model = drawn(2)
    rng = np.random.default_rng(0)
    costs = rng.integers(1, 9, len(y)).astype(float)
    plan = model.review_plan(rows, labels=40, costs=costs, cost_limit=20)
    assert plan.cost.tolist() == costs[plan.order].tolist()
    assert plan.total_cost[-1] <= 20
    blind = model.review_plan(rows, labels=40).order
    affordable = int((np.cumsum(costs[blind]) <= 20).sum())
    without = model.review_plan(rows, labels=40).robust_after[affordable]
    assert plan.robust_after[-1] >= without
    assert len(model.review_plan(rows, costs=costs, cost_limit=0)) == 0


def test_of_numbers_a_row_must_stay_within_its_radius_both_ways():
    for seed in range(15):
        rng = np.random.default_rng(seed)
        X, tests = rng.integers(0, 3, (8, 2)).astype(float), rng.standard_normal((5, 2))
        y = rng.standard_normal(8)
        lower, upper = -rng.integers(0, 3, 8).astype(float), rng.integers(0, 3, 8).astype(float)
        model = CertifiedRegressor(
            Ridge(alpha=0.5), bias=LabelBias.intervals(lower, upper, budget=2), radius=0.7
        ).fit(X, y)
        plan = model.review_plan(tests, labels=5)
        score = model.predict(tests)
        for m in range(len(plan) + 1):
            free = ~np.isin(np.arange(8), plan.order[:m])
            low, high = ranges(X, y, tests, lower * free, upper * free, 2, alpha=0.5)
            inside = (low >= score - 0.7) & (high <= score + 0.7)
            assert plan.robust_after[m] == inside.sum()


def test_sample_weights_and_a_threshold_that_moves_with_the_labels_count():
    X, y, rows, _ = drawn(3)
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    for model in (
        CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=3)),
        CertifiedClassifier(RidgeClassifier(), bias=LabelBias.flips(budget=3)),
    ):
        model.fit(X, y, weight)
        plan = model.review_plan(rows, labels=10)
        done = model.reviewed(X, y, {row: y[row] for row in plan.order}, weight)
        assert done.model.certify(rows).robust.sum() == plan.robust_after[-1]


def test_models_without_coefficients_have_plans_too():
    X, y, rows, _ = drawn(3)
    model = CertifiedClassifier(KernelRidge(kernel="rbf"), bias=LabelBias.flips(budget=2)).fit(X, y)
    plan = model.review_plan(rows, labels=10)
    done = model.reviewed(X, y, {row: y[row] for row in plan.order})
    assert done.model.certify(rows).robust.sum() == plan.robust_after[-1] > plan.robust_after[0]


def test_wrong_labels_are_corrected_and_others_stay():
    X, y, rows, _ = drawn(4)
    names = np.where(y == 1, "hired", "declined")
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=3)).fit(X, names)
    plan = model.review_plan(rows, labels=4)
    a, b, c, _ = plan.order.tolist()
    other = {"hired": "declined", "declined": "hired"}
    done = model.reviewed(X, names, {a: other[names[a]], b: f" {names[b]} ", c: None})
    assert done.checked.tolist() == sorted([a, b])
    assert done.corrected.tolist() == [a]
    expected = names.copy()
    expected[a] = other[names[a]]
    assert done.labels.tolist() == expected.tolist()
    direct = CertifiedClassifier(
        Ridge(), bias=LabelBias.flips(budget=3, where=~np.isin(np.arange(len(y)), [a, b]))
    ).fit(X, expected)
    assert np.array_equal(done.model.certify(rows).low, direct.certify(rows).low)
    assert model.certify(rows).robust.sum() == plan.robust_after[0]  # the old one is as it was


def test_a_bias_keeps_its_own_mask_beside_the_checks():
    X, y, rows, _ = drawn(5)
    half = X[:, 0] > 0
    for where in (half, lambda X, y: X[:, 0] > 0):
        model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=3, where=where)).fit(X, y)
        plan = model.review_plan(rows, labels=8)
        assert half[plan.order].all()
        done = model.reviewed(X, y, {row: y[row] for row in plan.order})
        assert done.model.certify(rows).robust.sum() == plan.robust_after[-1]


def test_a_file_goes_to_reviewers_and_comes_back(tmp_path):
    X, y, rows, _ = drawn(6)
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=4)).fit(frame, y)
    plan = model.review_plan(pd.DataFrame(rows, columns=list("abcd")), labels=7, per_reviewer=3)
    plan.to_csv(tmp_path / "plan.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["plan.csv"]
    written = pd.read_csv(tmp_path / "plan.csv")
    table = plan.to_frame()
    assert isinstance(table, pd.DataFrame)
    assert list(table) == [name for name in written if name != "checked_label"]
    assert written["row"].tolist() == plan.order.tolist()
    assert written["label"].tolist() == y[plan.order].tolist()
    assert written["batch"].tolist() == [1, 1, 1, 2, 2, 2, 3]
    assert written["robust_after"].tolist() == plan.robust_after[1:].tolist()
    assert written["checked_label"].isna().all()
    written["checked_label"] = [1 - y[plan.order[0]], *y[plan.order[1:5]], np.nan, np.nan]
    written.to_csv(tmp_path / "answers.csv", index=False)  # pandas writes 1.0 for 1 there
    for answers in (tmp_path / "answers.csv", str(tmp_path / "answers.csv"), written):
        done = model.reviewed(frame, y, answers)
        assert done.checked.tolist() == sorted(plan.order[:5].tolist())
        assert done.corrected.tolist() == [plan.order[0]]
        assert repr(done) == "<Reviewed: 5 labels checked, 1 of them corrected>"


def test_spreadsheets_write_files_in_their_own_way(tmp_path):
    X, y, _, _ = drawn(6)
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=4)).fit(X, y == 1)
    path = tmp_path / "answers.csv"
    path.write_text("\ufeffrow;note;checked_label\n3.0;a, b;TRUE\n4;;false\n5;;\n", "utf-8")
    done = model.reviewed(X, y == 1, path)
    assert done.checked.tolist() == [3, 4]
    assert done.labels[[3, 4]].tolist() == [True, False]
    path.write_bytes("row,checked_label\n3,é\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"answers.csv is not in UTF-8"):
        model.reviewed(X, y == 1, path)
    path.write_text("row,label\n3,1\n", "utf-8")
    with pytest.raises(InputError, match=r"answers.csv has the columns \['row', 'label'\]"):
        model.reviewed(X, y == 1, path)


def test_a_frame_is_of_the_library_that_the_training_rows_came_in():
    X, y, rows, _ = drawn(6)
    names = np.where(y == 1, "hired", "declined")
    columns = list("abcd")
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=4))
    model.fit(pl.DataFrame(X, schema=columns), names)
    plan = model.review_plan(pl.DataFrame(rows, schema=columns), labels=5)
    table = plan.to_frame()
    assert isinstance(table, pl.DataFrame)
    assert table["label"].to_list() == names[plan.order].tolist()


def test_numbers_are_corrected_too():
    X, y = np.arange(6.0)[:, None], np.arange(6)
    model = CertifiedRegressor(Ridge(), bias=LabelBias.shifts(2, budget=1), radius=1).fit(X, y)
    done = model.reviewed(X, y, {"2": "2.5", 3: 3})
    assert done.labels.tolist() == [0, 1, 2.5, 3, 4, 5]
    assert done.corrected.tolist() == [2]
    with pytest.raises(InputError, match="finite number"):
        model.reviewed(X, y, {2: np.inf})
    with pytest.raises(InputError, match="must be numbers"):
        model.reviewed(X, y, {2: "two"})


def test_without_fragile_rows_there_is_nothing_to_check():
    _, _, rows, model = drawn(7)
    plan = model.review_plan(rows, budget=0)
    assert plan.order.tolist() == []
    assert plan.robust_after.tolist() == [len(rows)]
    assert plan.baseline("random").tolist() == [len(rows)]
    assert plan.rate_after.tolist() == [1.0]
    assert len(plan.to_frame()) == 0


def test_no_labels_or_more_than_there_are():
    X, _, rows, model = drawn(8, n=30)
    assert model.review_plan(rows, labels=0).robust_after.shape == (1,)
    every = model.review_plan(rows, labels=1000)
    assert every.robust_after[-1] == len(rows)
    assert len(every) <= len(X)


def test_it_prints_in_one_line_and_tells_its_progress():
    _, _, rows, model = drawn(9)
    told = []
    plan = model.review_plan(rows, labels=3, progress=told.append)
    before, after = plan.robust_after[[0, -1]]
    assert repr(plan) == (
        "<ReviewPlan: 3 labels to check, 60 rows, same class if up to 4 labels are wrong: "
        f"{before} robust before, {after} after>"
    )
    assert told
    assert all(line.startswith("3 labels: ") for line in told)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": -1}, "labels must be an int, 0 or more"),
        ({"labels": 2.5}, "labels must be an int"),
        ({"labels": True}, "labels must be an int"),
        ({"per_reviewer": 0}, "per_reviewer must be an int, 1 or more"),
        ({"costs": np.ones(5)}, "costs must be one number above 0 per training row, 120"),
        ({"costs": np.zeros(120)}, "costs must be one number above 0"),
        ({"cost_limit": -1}, "cost_limit must be a number, 0 or more"),
        ({"cost_limit": np.nan}, "cost_limit must be a number"),
        ({"exclude": [120]}, "numbers from 0 to 119"),
        ({"exclude": [-1]}, "numbers from 0 to 119"),
        ({"exclude": [0.5]}, "numbers from 0 to 119"),
        ({"exclude": [True, False]}, "one flag per training row"),
        ({"decision": "same"}, "decision must be a Decision"),
    ],
)
def test_what_cannot_be_asked_is_refused(options, message):
    _, _, rows, model = drawn(10)
    with pytest.raises(InputError, match=message):
        model.review_plan(rows, **options)


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({500: 1}, "500 is no training row"),
        ({"first": 1}, "'first' is no training row"),
        ({1.5: 1}, "1.5 is no training row"),
        ({3: "maybe"}, "none of the classes: say 0 or 1"),
        ([1, 0], "answers must be a mapping"),
        (pd.DataFrame({"row": [1], "label": [1]}), "checked_label"),
        (pd.DataFrame({"row": [1, 1], "checked_label": [0, 1]}), "row 1 has two answers"),
    ],
)
def test_answers_that_say_nothing_are_refused(answers, message):
    X, y, _, model = drawn(11)
    with pytest.raises(InputError, match=message):
        model.reviewed(X, y, answers)


def test_other_labels_than_the_model_was_fitted_on_are_refused():
    X, y, rows, model = drawn(12)
    with pytest.raises(InputError, match="other labels than this model was fitted on"):
        model.reviewed(X, y[::-1], {0: 1})
    with pytest.raises(InputError, match="no baseline 'best'; pass one of 'random', 'witness'"):
        model.review_plan(rows, labels=1).baseline("best")


def test_a_budget_that_is_no_number_of_labels_is_refused():
    X, y, rows, _ = drawn(13)
    budget = PerGroup(2, tuple((X[:, 0] > 0).astype(int).tolist()))
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=budget)).fit(X, y)
    with pytest.raises(InputError, match="this one is a PerGroup"):
        model.review_plan(rows)


def test_labels_in_pieces_are_refused():
    X, y, rows, _ = drawn(14)
    frame = pd.DataFrame(X, columns=list("abcd"))
    lazy = dd.from_pandas(frame, npartitions=2)
    labels = dd.from_pandas(pd.Series(y, name="y"), npartitions=2)
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=4)).fit(lazy, labels)
    with pytest.raises(InputError, match="are in pieces"):
        model.review_plan(pd.DataFrame(rows, columns=list("abcd")))
    with pytest.raises(InputError, match="are in pieces"):
        model.reviewed(lazy, labels, {0: 1})
