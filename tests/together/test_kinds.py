"""Other questions than flips and classes: parts of rows, shifts, radii, means, budgets, inputs."""

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge

from tests.effort import some
from tests.extending.per_group import PerGroup
from tests.naive import refit_scores
from tests.together.oracle import problems
from unswayed import (
    CertifiedClassifier,
    CertifiedRegressor,
    InputError,
    LabelBias,
    LinearSmoother,
    RowSum,
)


@pytest.fixture(autouse=True)
def one_thread(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def test_rows_can_be_counted_in_one_direction_in_one_group_and_with_weights():
    for problem in problems(3_000_000, some(6, 25)):
        model, rng = problem.fitted(), np.random.default_rng(problem.seed)
        weights = rng.integers(0, 5, len(problem.tests)) / 10
        where = problem.groups == problem.groups[0]
        rises = problem.overturned & problem.predictions
        for options, counted in (
            ({"direction": "up"}, rises.sum(axis=1)),
            ({"direction": "down"}, (problem.overturned & ~rises).sum(axis=1)),
            ({"where": where}, problem.overturned[:, where].sum(axis=1)),
            ({"weights": weights}, problem.overturned @ weights),
        ):
            found = model.certify_together(problem.tests, time_limit=60, **options)
            assert found.at_least <= counted.max() + 1e-12
            assert found.at_most >= counted.max() - 1e-12
            assert found.proven


def test_without_time_there_are_bounds_and_a_witness_all_the_same():
    for problem in problems(4_000_000, some(10, 40)):
        found = problem.fitted().certify_together(problem.tests, time_limit=0)
        truth = problem.overturned.sum(axis=1).max()
        assert found.at_least <= truth <= found.at_most
        assert "cases" not in found.bounds


def most_by_shifts(influence, scores, offset, budget):
    """The most rows that shifts overturn: a linear programme per support and set of rows."""
    n_tests, n = influence.shape
    sign = np.where(scores > 0.5, -1.0, 1.0)
    best = 0
    for support in combinations(range(n), min(budget, n)):
        effects = sign[:, None] * influence[:, support]
        for size in range(n_tests, best, -1):
            for rows in combinations(range(n_tests), size):
                chosen = list(rows)
                found = linprog(
                    np.zeros(len(support)),
                    A_ub=-effects[chosen],
                    b_ub=-np.abs(scores[chosen] - 0.5),
                    bounds=[(-offset, offset)] * len(support),
                )
                if found.status == 0:
                    best = size
                    break
            if best == size:
                break
    return best


def test_shifts_may_be_partial_where_that_overturns_more():
    proven, many = 0, some(5, 25)
    for problem in problems(6_000_000, many):
        tests, n, budget = problem.tests[:4], len(problem.y), 1 + problem.budget % 2
        model = CertifiedClassifier(
            Ridge(alpha=problem.alpha), bias=LabelBias.shifts(0.6, budget=budget)
        ).fit(problem.X, problem.y)
        found = model.certify_together(tests, time_limit=60)
        base = refit_scores(
            problem.X, np.vstack((problem.y, np.eye(n))), tests, alpha=problem.alpha
        )
        truth = most_by_shifts(base[1:].T, base[0], 0.6, budget)
        assert found.at_least <= truth <= found.at_most
        proven += found.proven
        labels = problem.y.astype(float)
        labels[found.witness.indices] = found.witness.labels
        assert (np.abs(labels - problem.y) <= 0.6 + 1e-12).all()
        replayed = refit_scores(problem.X, labels, tests, alpha=problem.alpha)[0] > 0.5
        assert (replayed != (base[0] > 0.5)).sum() >= found.at_least
    assert proven >= 0.8 * many


def test_rows_leave_a_radius_upwards_or_downwards():
    rng = np.random.default_rng(5)
    X, tests = rng.standard_normal((9, 2)), rng.standard_normal((6, 2))
    y = rng.standard_normal(9)
    model = CertifiedRegressor(
        Ridge(alpha=0.5), bias=LabelBias.intervals(-1.0, 1.0, budget=2), radius=0.3
    ).fit(X, y)
    found = model.certify_together(tests)
    base = refit_scores(X, np.vstack((y, np.eye(9))), tests, alpha=0.5)
    corner = max(
        int((np.abs(signs @ base[1:][list(pair)]) > 0.3).sum())
        for pair in combinations(range(9), 2)
        for signs in np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    )
    assert found.proven
    assert found.at_least >= corner  # partial shifts never help here, and whole ones suffice
    labels = y.copy()
    labels[found.witness.indices] = found.witness.labels
    moved = np.abs(refit_scores(X, labels, tests, alpha=0.5)[0] - base[0])
    assert (moved > 0.3).sum() >= found.at_least


def test_a_budget_of_another_kind_is_bounded_and_attacked():
    for problem in problems(8_000_000, some(5, 15)):
        n = len(problem.y)
        group = np.arange(n) % 2
        bias = LabelBias.flips(budget=PerGroup(1, tuple(group.tolist())))
        model = CertifiedClassifier(Ridge(alpha=problem.alpha), bias=bias)
        model.fit(problem.X, problem.y)
        found = model.certify_together(problem.tests, time_limit=60)
        base = refit_scores(
            problem.X, np.vstack((np.zeros(n), np.eye(n))), problem.tests, alpha=problem.alpha
        )
        flipped = [set(), *({i} for i in range(n))]
        flipped += [{i, j} for i in range(0, n, 2) for j in range(1, n, 2)]
        labels = np.array([[(i in each) != v for i, v in enumerate(problem.y)] for each in flipped])
        said = labels.astype(float) @ (base[1:] - base[0]) + base[0] > 0.5
        truth = (said != said[0]).sum(axis=1).max()
        assert found.at_least <= truth <= found.at_most
        assert len(set(group[found.witness.indices])) == len(found.witness)


@pytest.mark.parametrize("kind", ["kernel", "smoother", "balanced"])
def test_other_models_are_asked_the_same(kind):
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((9, 2)), rng.integers(0, 2, 9)
    y[:2] = 0, 1
    tests = rng.standard_normal((6, 2))
    estimator, threshold = Ridge(alpha=1.0), "balanced"
    if kind == "kernel":
        estimator, threshold = KernelRidge(alpha=0.5, kernel="rbf"), None
    if kind == "smoother":
        estimator, threshold = LinearSmoother(), None
        tests = rng.dirichlet(np.ones(9), size=6)
        X = np.eye(9)
    bias = LabelBias.flips(budget=2)
    model = CertifiedClassifier(estimator, bias=bias, threshold=threshold).fit(X, y)
    found = model.certify_together(tests)
    assert found.proven
    said = []
    for count in range(3):
        for rows in combinations(range(9), count):
            labels = y.copy()
            labels[list(rows)] = 1 - labels[list(rows)]
            if len(set(labels)) == 2:
                other = CertifiedClassifier(estimator, bias=bias, threshold=threshold)
                said.append(other.fit(X, labels).predict(tests))
    assert found.at_most == max((each != said[0]).sum() for each in said)


def test_a_row_on_the_edge_is_overturnable_for_bounds_and_not_for_witnesses():
    # One flip takes the score exactly to the threshold, which doubles cannot tell.
    X = [[1, 0], [1, 0], [0, 1], [0, 1]]
    model = CertifiedClassifier(
        LinearRegression(fit_intercept=False), bias=LabelBias.flips(budget=1)
    ).fit(X, [1, 1, 0, 1])
    found = model.certify_together([[1, 0]])
    assert (found.at_least, found.at_most, found.proven) == (0, 1, False)


def test_a_row_whose_prediction_is_unknown_counts_for_bounds_and_not_for_witnesses():
    rng = np.random.default_rng(0)
    half = rng.standard_normal((4, 2))
    X, y = np.vstack((half, -half)), [0, 0, 1, 0, 1, 1, 0, 1]
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=0)).fit(X, y)
    middle = [[0.0, 0.0]]  # its score is the mean of the labels: the threshold
    assert list(model.certify(middle).verdict) == ["undecided"]
    found = model.certify_together(middle)
    assert (found.at_least, found.at_most) == (0, 1)
    rate = model.certify_metric(middle, "selection_rate")
    assert (rate.low, rate.high, rate.proven) == (0.0, 1.0, False)
    ratio = model.certify_metric(
        [*middle, X[0]], "accuracy_ratio", groups=["a", "b"], y_true=model.predict([*middle, X[0]])
    )
    assert (ratio.low, ratio.high, ratio.proven) == (0.0, 1.0, False)
    assert (ratio.inner_low, ratio.inner_high) == (1.0, 0.0)  # nothing is known to be reached


def test_progress_is_told_in_lines_of_bound_best_and_gap():
    lines = []
    for problem in problems(9_000_000, 5):
        problem.fitted().certify_together(problem.tests, progress=lines.append)
    assert lines
    assert all("at most" in line and "at least" in line and "gap" in line for line in lines)


# --- means of numbers ---------------------------------------------------------------------------


def regression(seed, whole=False):
    rng = np.random.default_rng(seed)
    X, tests, y = rng.standard_normal((8, 2)), rng.standard_normal((7, 2)), rng.standard_normal(8)
    groups = np.array(["a", "b", "a", "b", "b", "a", "b"])
    bias = LabelBias.shifts(0.5, budget=2)
    if whole:
        y, bias = (y > 0).astype(float), LabelBias.flips(budget=2)
        y[:2] = 0, 1
    model = CertifiedRegressor(Ridge(alpha=0.3), bias=bias).fit(X, y)
    if whole:
        sets = [list(rows) for count in range(3) for rows in combinations(range(8), count)]
        labels = np.array([[1 - v if i in rows else v for i, v in enumerate(y)] for rows in sets])
    else:
        shifts = np.array([[a, b] for a in (-0.5, 0, 0.5) for b in (-0.5, 0, 0.5)])
        labels = [y]
        for pair in combinations(range(8), 2):
            for shift in shifts:
                labels.append(y.copy())
                labels[-1][list(pair)] += shift
        labels = np.array(labels)
    return model, tests, groups, y, refit_scores(X, labels, tests, alpha=0.3), X


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_means_of_predictions_are_exact(seed, whole):
    model, tests, groups, y, scores, X = regression(seed, whole)
    found = model.certify_metric(tests, "mean_prediction", groups=groups)
    for one, values in (
        (found, scores.mean(axis=1)),
        (found.by_group["a"], scores[:, groups == "a"].mean(axis=1)),
    ):
        assert one.proven
        assert one.low <= values.min() + 1e-12 <= one.inner_low + 1e-9
        assert one.high >= values.max() - 1e-12 >= one.inner_high - 1e-9
        assert one.low == pytest.approx(values.min(), abs=1e-9)
        assert one.high == pytest.approx(values.max(), abs=1e-9)
        labels = y.copy()
        labels[one.witness_high.indices] = one.witness_high.labels
        mask = groups == "a" if one is not found else np.ones(7, dtype=bool)
        reached = refit_scores(X, labels, tests, alpha=0.3)[0][mask].mean()
        assert reached == pytest.approx(one.inner_high, abs=1e-9)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_gaps_of_means_hold_every_value_there_is(seed, whole):
    model, tests, groups, y, scores, X = regression(seed, whole)
    found = model.certify_metric(tests, "mean_prediction_difference", groups=groups)
    gap = np.abs(scores[:, groups == "a"].mean(axis=1) - scores[:, groups == "b"].mean(axis=1))
    assert found.value == pytest.approx(gap[0], abs=1e-9)
    assert found.low <= gap.min() + 1e-12
    assert found.high == pytest.approx(gap.max(), abs=1e-9)
    assert found.proven_high
    assert found.proven_low or whole
    for end, witness in ((found.inner_low, found.witness_low),
                         (found.inner_high, found.witness_high)):  # fmt: skip
        labels = y.copy()
        labels[witness.indices] = witness.labels
        now = refit_scores(X, labels, tests, alpha=0.3)[0]
        reached = abs(now[groups == "a"].mean() - now[groups == "b"].mean())
        assert reached == pytest.approx(end, abs=1e-8)


@pytest.mark.filterwarnings("ignore")  # about this model, which is the point
@pytest.mark.parametrize("estimator", [LinearRegression(), Ridge(alpha=1e-12)])
@pytest.mark.parametrize("metric", ["mean_prediction", "mean_prediction_difference"])
def test_ends_that_rounding_hides_are_not_called_proven(metric, estimator):
    rng = np.random.default_rng(0)
    X, tests, y = rng.standard_normal((12, 3)), rng.standard_normal((5, 3)), rng.standard_normal(12)
    X[:, 2] = X[:, 0] + X[:, 1] + 1e-12 * rng.standard_normal(12)
    X[:, 1] *= 1e6
    bias = LabelBias.shifts(1, budget=2)
    model = CertifiedRegressor(estimator, bias=bias).fit(X, y)
    whole = model.certify_metric(tests, metric, groups=list("aabbb"))
    for found in (whole, *(whole.by_group[group] for group in whole.by_group)):
        assert found.high > 1e3  # nothing is known
        assert not found.proven_low
        assert not found.proven_high
        assert found.low <= found.inner_low <= found.value <= found.inner_high <= found.high


# --- bad input ----------------------------------------------------------------------------------

X, Y = [[1.0, 0], [1, 0], [1, 1], [0, 1], [0, 1], [0, 2]], ["no", "yes", "yes", "no", "yes", "no"]
TESTS = [[1.0, 0], [0, 1], [2, 2]]


def classifier():
    return CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=1)).fit(X, Y)


@pytest.mark.parametrize(
    ("metric", "options", "said"),
    [
        ("accuracy", {}, "pass y_true"),
        ("equal_opportunity_difference", {"groups": ["a", "b", "b"]}, "pass y_true"),
        ("demographic_parity_difference", {}, "no groups"),
        ("demographic_parity_difference", {"groups": ["a", "a", "a"]}, "one group, 'a'"),
        (
            "true_positive_rate_difference",
            {"groups": ["a", "a", "b"], "y_true": ["yes", "no", "no"]},
            "'b' is a share of its rows whose true class is the positive one",
        ),
        ("accuracy", {"y_true": ["yes", "no", "maybe"]}, "none of the classes"),
        ("accuracy", {"y_true": ["yes", "no"]}, "one label per row"),
        ("selection_rate", {"groups": ["a", "b"]}, "one group per"),
        ("demographic_parity", {"groups": ["a", "b", "b"]}, "there is no metric"),
        ("speed", {}, "selection_rate"),
        (3, {}, "must be a name"),
        (lambda true, said: np.mean(said == "yes"), {}, "a single number"),
        (lambda true, said: np.full(3, np.mean(said == "yes")), {}, "not row-wise"),
        (lambda true, said: np.full(3, np.nan), {}, "one finite number per row"),
        (
            RowSum(lambda _, said: said == "yes") / RowSum(lambda _, said: said == "yes"),
            {"budget": 5},
            "the difference instead",
        ),
        (RowSum(([0, 0, 0], [1, 1, 1])) / RowSum(([0, 0, 0], [0, 0, 0])), {}, "denominator"),
        ("selection_rate", {"time_limit": -1}, "0 or more"),
        ("selection_rate", {"time_limit": "soon"}, "time_limit"),
        ("mean_prediction", {}, "there is no metric"),
    ],
)
def test_bad_questions_are_refused_with_advice(metric, options, said):
    with pytest.raises(InputError, match=said):
        classifier().certify_metric(TESTS, metric, **options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"direction": "left"}, "'up', 'down' or None"),
        ({"where": [True, False]}, "one flag per row"),
        ({"where": [1, 0, 1]}, "one flag per row"),
        ({"where": [False, False, False]}, "none of the rows"),
        ({"weights": [1, 2]}, "one finite number per row"),
        ({"weights": [1, -2, 0]}, "0 or more"),
        ({"time_limit": float("nan")}, "0 or more"),
    ],
)
def test_bad_options_are_refused_with_advice(options, said):
    with pytest.raises(InputError, match=said):
        classifier().certify_together(TESTS, **options)


def test_numbers_have_metrics_of_their_own():
    model = CertifiedRegressor(Ridge(), bias=LabelBias.shifts(1, budget=1))
    model.fit(X, [1.0, 2, 3, 4, 5, 6])
    with pytest.raises(InputError, match="mean_prediction"):
        model.certify_metric(TESTS, "selection_rate")
    with pytest.raises(InputError, match="at least two"):
        model.certify_metric(TESTS, "mean_prediction_difference", groups=["a", "a", "a"])
