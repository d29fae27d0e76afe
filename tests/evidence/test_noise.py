"""Labels that are wrong at random: bounds against every outcome, integrals and simulation."""

import itertools
import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, norm
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge

from tests.effort import examples, some
from tests.evidence import oracle
from tests.soundness import cases, truth
from tests.soundness.checks import can_be_fitted, ill_conditioned, true_rows
from tests.strategies import problems
from unswayed import (
    CertifiedClassifier,
    CertifiedRegressor,
    InputError,
    LabelBias,
    LabelNoise,
    LinearSmoother,
)

RATES = [0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 1.0]
METHODS = ["chernoff", "convolution"]
LONG = ["long", "many-rows", "duplicates"]  # more labels than can be enumerated
FLIPS = LabelBias.flips(budget=1)


def within(found, row, chance):
    assert found.low[row] <= chance <= found.high[row]
    assert found.low[row] <= found.estimate[row] <= found.high[row]


# --- every outcome enumerated ---------------------------------------------------------------


def noise_of(problem, rng):
    """Random errors of a problem, and their outcomes as the oracle takes them."""
    n_rows = len(problem.targets)
    rates = rng.choice(RATES, n_rows if rng.random() < 0.5 else 1) * np.ones(n_rows)
    if problem.flips is not None:
        codes = (-1.0, 1.0) if problem.signed else (0.0, 1.0)
        return LabelNoise(rates), oracle.flips(problem.targets, rates, codes)
    size = float(np.abs([problem.lower, problem.upper]).max() or 1.0)
    pair = (-size, size / 2)
    return (
        LabelNoise.shifts(pair, rate=rates, law="two-point"),
        oracle.two_points(rates, *pair, 0.5),
    )


@pytest.mark.parametrize("family", [name for name in cases.FAMILIES if name not in LONG])
def test_no_outcome_is_left_out_of_the_bounds_where_doubles_are_at_their_worst(family):
    tried = 0
    for seed in range(some(3, 30)):
        problem = cases.make(family, seed)
        small = len(problem.targets) <= (16 if problem.flips is not None else 9)
        if not (small and can_be_fitted(problem)):
            continue
        tried += 1
        noise, outcomes = noise_of(problem, np.random.default_rng(seed))
        with ill_conditioned():
            model = problem.fitted()
            rows = true_rows(problem, model)
            both = [
                model.overturn_probability(problem.matrix(problem.tests), noise, method=method)
                for method in METHODS
            ]
        for at, row in enumerate(rows):
            chance = oracle.probability(row.z, row.labels, row.question, outcomes)
            for found in both:
                within(found, at, chance)
    assert tried


@given(problems(binary=True), st.data())
@settings(max_examples=examples(1000))
def test_flips_of_small_problems_full_of_ties_are_within_the_bounds(problem, data):
    rates = data.draw(
        st.lists(st.sampled_from(RATES), min_size=len(problem.y), max_size=len(problem.y))
    )
    model = CertifiedClassifier(
        Ridge(alpha=problem.alpha, fit_intercept=problem.fit_intercept),
        bias=FLIPS,
        trust="sample_weight",
    ).fit(problem.X, problem.y, problem.sample_weight)
    weight = np.ones(len(problem.y)) if problem.sample_weight is None else problem.sample_weight
    into = truth.ridge_map(problem.X, problem.alpha, problem.fit_intercept, truth.fractions(weight))
    rows = [[Fraction(int(problem.fit_intercept)), *truth.fractions(row)] for row in problem.tests]
    outcomes = oracle.flips(problem.y, rates, (0.0, 1.0))
    for method in METHODS:
        found = model.overturn_probability(problem.tests, LabelNoise(rates), method=method)
        for at, z in enumerate(truth.product(rows, into)):
            labels = truth.fractions(problem.y)
            within(found, at, oracle.probability(z, labels, ("threshold", 0.5), outcomes))


def conditional(z, rates, crossing):
    """The sum over all sets of wrong labels of their probability times `crossing` of the set."""
    total = 0.0
    for wrong in itertools.product([False, True], repeat=len(z)):
        chance = math.prod(p if w else 1 - p for p, w in zip(rates, wrong, strict=True))
        if chance:
            total += chance * crossing(np.abs(z[list(wrong)]))
    return total


def uniform_beyond(widths, margin):
    """P(|sum of uniform errors| > margin), by inclusion and exclusion, in fractions."""
    widths = [Fraction(float(width)) for width in widths if width]
    if not widths:
        return 0.0
    total = Fraction(0)
    for signs in itertools.product([1, -1], repeat=len(widths)):
        end = sum(s * w for s, w in zip(signs, widths, strict=True)) - Fraction(margin)
        total += math.prod(signs) * max(end, Fraction(0)) ** len(widths)
    density = math.factorial(len(widths)) * math.prod(2 * width for width in widths)
    return float(2 * total / density)


def normal_beyond(widths, margin):
    spread = float(np.sqrt(np.sum(widths**2)))
    return float(2 * norm.sf(margin / spread)) if spread else 0.0


@pytest.mark.parametrize("law", ["uniform", "normal"])
@pytest.mark.parametrize("method", METHODS)
def test_uniform_and_normal_shifts_are_within_the_bounds_of_their_integrals(law, method):
    beyond = uniform_beyond if law == "uniform" else normal_beyond
    rng = np.random.default_rng(0)
    for _ in range(some(20, 250)):
        n_rows = int(rng.integers(1, 7))
        z = rng.choice([0.0, 0.5, -1.0, 1.0, 3.0, 0.1], (2, n_rows))
        rates = rng.choice(RATES, n_rows)
        radius = float(rng.choice([0.25, 1.0, 2.5, 6.0]))
        model = CertifiedRegressor(
            LinearSmoother(), bias=LabelBias.shifts(1, budget=1), radius=radius
        ).fit(np.eye(n_rows), rng.normal(size=n_rows))
        found = model.overturn_probability(
            z, LabelNoise.shifts(1.5, rate=rates, law=law), method=method
        )
        for at in range(2):
            chance = conditional(1.5 * z[at], rates, partial(beyond, margin=radius))
            assert found.low[at] <= chance * (1 + 1e-11)
            assert chance * (1 - 1e-11) <= found.high[at]
            if method == "convolution" and chance > 1e-6:
                assert found.high[at] < 10 * found.low[at]


# --- facts ----------------------------------------------------------------------------------


def mean_of_five(**noise):
    model = CertifiedClassifier(LinearRegression(fit_intercept=False), bias=FLIPS)
    model.fit([[1, 0]] * 5 + [[0, 1]] * 3, ["yes"] * 5 + ["no"] * 3)
    return model, [[1, 0], [0, 1]]


def test_three_of_five_and_two_of_three_are_binomial():
    model, tests = mean_of_five()
    found = model.overturn_probability(tests, LabelNoise(0.1), method="convolution")
    expected = np.array([0.00856, 0.028])
    assert (found.low <= expected).all()
    assert (found.high >= expected).all()
    assert (found.high < 1.01 * found.low).all()


@pytest.mark.parametrize("method", METHODS)
def test_labels_that_are_never_wrong_overturn_nothing(method):
    model, tests = mean_of_five()
    assert model.overturn_probability(tests, LabelNoise(0.0), method=method).high.tolist() == [0, 0]


@pytest.mark.parametrize("method", METHODS)
def test_labels_that_are_surely_wrong_overturn_everything(method):
    model, tests = mean_of_five()
    assert model.overturn_probability(tests, LabelNoise(1.0), method=method).low.tolist() == [1, 1]


@pytest.mark.parametrize("method", METHODS)
def test_a_row_that_no_wrong_label_reaches_is_never_overturned(method):
    model, tests = mean_of_five()
    noise = LabelNoise.by_group([1] * 5 + [2] * 3, {1: 0.5, 2: 0.0})
    found = model.overturn_probability(tests, noise, method=method)
    assert found.high[1] == 0.0 < found.high[0]


def test_rates_by_class_and_by_group_are_rates_of_labels():
    model, tests = mean_of_five()
    each = model.overturn_probability(tests, LabelNoise([0.1] * 5 + [0.2] * 3))
    classes = model.overturn_probability(tests, LabelNoise.by_class({"yes": 0.1, "no": 0.2}))
    groups = LabelNoise.by_group(["a"] * 5 + ["b"] * 3, {"a": 0.1, "b": 0.2})
    for other in (classes, model.overturn_probability(tests, groups)):
        assert other.high.tolist() == each.high.tolist()


def test_rates_by_class_are_of_labels_even_if_the_bias_shifts_them():
    X, y = [[1, 0]] * 5 + [[0, 1]] * 3, ["yes"] * 5 + ["no"] * 3
    ridge = LinearRegression(fit_intercept=False)
    model = CertifiedClassifier(ridge, bias=LabelBias.shifts(0.5, budget=1)).fit(X, y)
    noise = LabelNoise.by_class({"yes": 0.1, "no": 0.2})
    found = model.overturn_probability([[1, 0]], noise, method="convolution")
    assert found.low[0] <= 0.00856 <= found.high[0]


def test_a_margin_that_rounding_hides_leaves_everything_open():
    model = CertifiedClassifier(LinearRegression(), bias=FLIPS)
    model.fit([[0.1], [0.2], [0.3], [0.4]], [0, 1, 0, 1])
    hidden = [[(0.5 - model.estimator_.intercept_) / model.estimator_.coef_[0]]]
    found = model.overturn_probability(hidden, LabelNoise(0.1), method="convolution")
    assert (found.low[0], found.high[0]) == (0.0, 1.0)


def test_the_bias_plays_no_part():
    X, y = [[1, 0]] * 5 + [[0, 1]] * 3, [1] * 5 + [0] * 3
    ridge = Ridge(alpha=0.5)
    found = [
        CertifiedClassifier(ridge, bias=bias)
        .fit(X, y)
        .overturn_probability(X, LabelNoise(0.1))
        .high.tolist()
        for bias in (FLIPS, LabelBias.flips(budget=3, where=[False] * 7 + [True]))
    ]
    assert found[0] == found[1]


def test_equal_rows_get_equal_answers_in_any_order():
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 2, (60, 4)), rng.integers(0, 2, 60)
    tests = np.vstack((X[:9], X[:9]))
    order = rng.permutation(60)
    rates = rng.choice([0.05, 0.2], 60)
    found = [
        CertifiedClassifier(Ridge(), bias=FLIPS)
        .fit(X[rows], y[rows])
        .overturn_probability(tests, LabelNoise(rates[rows]), method="convolution")
        for rows in (np.arange(60), order)
    ]
    assert found[0].high[:9].tolist() == found[0].high[9:].tolist()
    np.testing.assert_allclose(found[0].high, found[1].high, rtol=1e-6)


# --- simulation -----------------------------------------------------------------------------


def simulated(model, X, y, tests, rate, draws, rng):
    """How often each prediction changed when labels were flipped at random."""
    inverse = np.linalg.inv(X.T @ X + model.estimator.alpha * np.eye(X.shape[1]))
    influence = tests @ inverse @ X.T
    before, changed = influence @ y > 0.5, np.zeros(len(tests))
    for _ in range(draws // 500):
        wrong = rng.random((500, len(y))) < rate
        changed += ((influence @ np.where(wrong, 1 - y, y).T > 0.5) != before[:, None]).sum(axis=1)
    return changed.astype(int)


def meets(found, changed, draws, confidence):
    for low, high, count in zip(found.low, found.high, changed.tolist(), strict=True):
        interval = binomtest(count, draws).proportion_ci(confidence)
        assert low <= interval.high
        assert interval.low <= high


@pytest.mark.parametrize("rate", [0.01, 0.05, 0.1])
def test_the_simulated_interval_meets_the_bounds_of_every_row(rate):
    rng = np.random.default_rng(2)
    X = rng.integers(0, 2, (800, 6)).astype(float)
    y = (X @ [1, -1, 0.5, 0, 0.2, 0.1] + rng.normal(size=800) > 0.4).astype(float)
    tests = rng.normal(size=(60, 6))
    model = CertifiedClassifier(Ridge(alpha=1.0, fit_intercept=False), bias=FLIPS).fit(X, y)
    changed = simulated(model, X, y, tests, rate, 4000, rng)
    for method in METHODS:
        found = model.overturn_probability(tests, LabelNoise(rate), method=method)
        meets(found, changed, 4000, 1 - 1e-5)
    likely = found.high > 1e-6
    assert likely.any()
    assert (found.high[likely] < 10 * found.low[likely]).all()


# --- how it prints --------------------------------------------------------------------------


def test_the_sentence_rounds_the_share_down_and_the_frame_has_a_line_per_row():
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame({"a": [1.0] * 5 + [0.0] * 3}, index=list("abcdefgh"))
    model = CertifiedClassifier(LinearRegression(), bias=FLIPS).fit(X, [1] * 5 + [0] * 3)
    found = model.overturn_probability(X, LabelNoise(0.02), method="convolution")
    assert found.share_below(1e-3) == 0.625
    assert found.sentence().endswith(
        "62.5 % of predictions change with probability below one in a thousand"
    )
    assert "\n" not in repr(found)
    frame = found.to_frame()
    assert list(frame.columns) == ["low", "high", "estimate"]
    assert frame.index.tolist() == list("abcdefgh")


def test_numbers_move_too_far():
    model = CertifiedRegressor(Ridge(), bias=LabelBias.shifts(1, budget=1), radius=2.0)
    model.fit([[0.0], [1.0], [2.0]], [1.0, 2.0, 3.0])
    found = model.overturn_probability([[1.0]], LabelNoise.shifts(1, law="normal"))
    assert "move too far with probability" in found.sentence()
    assert "normal shifts of 1" in repr(found)


# --- what is refused ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: LabelNoise(1.5), "between 0 and 1, got 1.5"),
        (lambda: LabelNoise(-0.1), "between 0 and 1"),
        (lambda: LabelNoise(float("nan")), "between 0 and 1, got nan"),
        (lambda: LabelNoise([0.1, np.nan]), "between 0 and 1, got nan"),
        (lambda: LabelNoise([]), "one probability, or one per label"),
        (lambda: LabelNoise([[0.1]]), "one probability, or one per label"),
        (lambda: LabelNoise("often"), "must be numbers"),
        (lambda: LabelNoise(None), "between 0 and 1"),
        (lambda: LabelNoise.by_class({"yes": 5}), "the rate of 'yes' must lie between 0 and 1"),
        (
            lambda: LabelNoise.by_group(["f"], {"f": 0.1, "x": 0.2}),
            "of the group 'x'; there are 'f'",
        ),
        (lambda: LabelNoise.by_group(["f", "m"], {"f": 0.1}), "no rate is given for the group 'm'"),
        (lambda: LabelNoise.shifts(-1), "not negative"),
        (lambda: LabelNoise.shifts(np.inf), "finite amount"),
        (lambda: LabelNoise.shifts((0, 1)), "a pair (low, high) goes with law='two-point'"),
        (lambda: LabelNoise.shifts(1, law="cauchy"), "laws uniform, normal, two-point"),
    ],
)
def test_noise_that_says_nothing_is_refused_at_birth(make, says):
    with pytest.raises(InputError) as caught:
        make()
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("noise", "says"),
    [
        (LabelNoise([0.1, 0.2]), "rate has 2 entries for 8 training labels"),
        (LabelNoise([0.1]), "rate has 1 entries for 8 training labels"),
        (LabelNoise.by_class({"yes": 0.1, "maybe": 0.1}), "of the class 'maybe'"),
        (LabelNoise.by_class({"yes": 0.1}), "no rate is given for the class 'no'"),
        (0.05, "noise must be a LabelNoise"),
    ],
)
def test_noise_that_does_not_fit_the_labels_is_refused(noise, says):
    model, tests = mean_of_five()
    with pytest.raises(InputError) as caught:
        model.overturn_probability(tests, noise)
    assert says in str(caught.value)


def test_an_unknown_method_is_refused_by_name():
    model, tests = mean_of_five()
    with pytest.raises(InputError, match="chernoff, convolution, got 'exact'"):
        model.overturn_probability(tests, LabelNoise(0.1), method="exact")


def test_numbers_have_no_other_class():
    model = CertifiedRegressor(Ridge(), bias=LabelBias.shifts(1, budget=1), radius=1.0)
    model.fit([[0.0], [1.0], [2.0]], [1.0, 2.0, 3.0])
    with pytest.raises(InputError, match=r"LabelNoise\.shifts"):
        model.overturn_probability([[1.0]], LabelNoise(0.1))
    with pytest.raises(InputError, match="labels that are classes"):
        model.overturn_probability([[1.0]], LabelNoise.by_class({1.0: 0.1}))


def test_models_that_are_not_linear_in_their_labels_are_refused():
    X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    model = CertifiedClassifier(LogisticRegression(), bias=FLIPS).fit(X, y)
    with pytest.raises(InputError, match="linear in their labels"):
        model.overturn_probability(X, LabelNoise(0.1))
