"""Boxes and sandwiches hold the exact range, and auto gives the exact verdicts."""

import pickle
import threading

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_regression
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge

from tests import naive
from tests.effort import examples
from tests.strategies import problems
from unswayed import (
    CertifiedClassifier,
    CertifiedRegressor,
    InputError,
    LabelBias,
    ParameterBox,
    Verdict,
)
from unswayed._core import selection, selection_numpy
from unswayed._core.influence import merge_rows
from unswayed._core.sandwich import AnchoredBounds, Anchors, Box, Ellipsoid
from unswayed.engines.anchors import ByBox, BySandwich
from unswayed.engines.choice import Cascade

slow = settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


def regressor(p, radius=0.5):
    bias = LabelBias.intervals(p.lower, p.upper, budget=p.budget)
    estimator = Ridge(alpha=p.alpha, fit_intercept=p.fit_intercept)
    model = CertifiedRegressor(estimator, bias=bias, radius=radius, trust="sample_weight")
    return model.fit(p.X, p.y, sample_weight=p.sample_weight)


def gaussian_model(n=400, m=6, *, budget=8, seed=0, fit_intercept=True, **more):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m))
    y = X @ rng.normal(size=m) + rng.normal(size=n) > 0
    model = CertifiedClassifier(
        Ridge(fit_intercept=fit_intercept), bias=LabelBias.flips(budget=budget, **more)
    )
    return model.fit(X, y), rng.normal(size=(300, m))


def eager(model):
    """The cascade that "auto" is, with bounds whatever they cost."""
    return Cascade(model.fitted_.engine, eager=True)


# --- the box (theorem 3) ------------------------------------------------------------------


def parameters_of(p, labels):
    """Coefficients, and the mean prediction with an intercept, by refits."""
    m = p.X.shape[1]
    weight = np.ones(len(p.y)) if p.sample_weight is None else p.sample_weight
    mean = weight @ p.X / weight.sum() if p.fit_intercept else np.zeros(m)
    probes = np.vstack((mean, mean + np.eye(m)))
    scores = naive.refit_scores(p.X, labels, probes, **p.model)
    slopes = scores[:, 1:] - scores[:, :1]
    return np.hstack((slopes, scores[:, :1])) if p.fit_intercept else slopes


@slow
@given(problems())
def test_theorem_3_the_box_holds_every_reachable_model_and_every_face_is_reached(p):
    box = regressor(p).parameter_box()
    found = parameters_of(p, list(naive.corners(p.y, p.lower, p.upper, p.budget)))
    np.testing.assert_allclose(box.low, found.min(axis=0), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(box.high, found.max(axis=0), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(box.value, found[0], rtol=1e-9, atol=1e-9)


@slow
@given(problems(), st.sampled_from([0.2, 1.0, 4.0]))
def test_the_box_is_sound_and_never_says_not_robust(p, radius):
    model = regressor(p, radius)
    exact, boxed = model.certify(p.tests, method="exact"), model.certify(p.tests, method="box")
    assert set(boxed.verdict) <= {Verdict.ROBUST, Verdict.UNDECIDED}
    assert exact.robust[boxed.robust].all()
    assert (boxed.low <= exact.low + 1e-9).all()
    assert (boxed.high >= exact.high - 1e-9).all()
    assert (boxed.method == "box").all()


def test_a_box_knows_its_parameters_by_name():
    X, y = make_regression(50, 3, random_state=0)
    model = CertifiedRegressor(
        LinearRegression(), bias=LabelBias.shifts(1, budget=2), radius=1
    ).fit(X, y)
    box = model.parameter_box()
    assert isinstance(box, ParameterBox)
    assert box.names == ("x0", "x1", "x2", "mean prediction")
    assert box.value in box
    assert box.high + 1 not in box
    assert repr(box) == "<ParameterBox: 4 parameters, up to 2 labels are wrong>"
    np.testing.assert_allclose(box.low[:3], model.certify_coefficients().low)


def test_a_box_works_with_more_features_than_rows():
    X, y = make_regression(12, 30, random_state=0)
    model = CertifiedRegressor(Ridge(), bias=LabelBias.shifts(1, budget=2), radius=100).fit(X, y)
    exact = model.certify(X, method="exact")
    boxed = model.certify(X, method="box")
    assert (boxed.low <= exact.low + 1e-9).all()
    assert (boxed.high >= exact.high - 1e-9).all()


# --- the sandwich -------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.integers(0, 30), st.sampled_from([1.0, -1.0]))
def test_the_chosen_labels_attain_the_reach_and_the_twin_chooses_the_same(seed, budget, sign):
    rng = np.random.default_rng(seed)
    n = 25
    lower, upper = -rng.integers(0, 3, n) * 1.0, rng.integers(0, 3, n) * 1.0
    group = np.sort(rng.integers(0, 12, n))
    first = np.flatnonzero(np.diff(group, prepend=-1))
    entries = merge_rows(lower, upper, np.searchsorted(group[first], group), first)
    z = rng.integers(-3, 4, size=(3, len(entries))) / 2.0
    found = selection.extremes(z, entries, budget, sign)
    reach = selection.reach(z, entries, budget)[0 if sign > 0 else 1]
    np.testing.assert_array_equal(found.reach, reach)
    for row in range(len(z)):
        index, amount = found.changes(row)
        assert sign * (amount @ z[row, index]) == pytest.approx(reach[row], rel=1e-12, abs=1e-12)
    literal = selection_numpy.extremes(z, entries, budget, sign)
    np.testing.assert_array_equal(found.reach, literal[0])
    for row in range(len(z)):
        n = literal[3][row]
        assert found.length[row] == n
        np.testing.assert_array_equal(found.index[row, :n], literal[1][row, :n])
        np.testing.assert_array_equal(found.amount[row, :n], literal[2][row, :n])


@slow
@given(problems(), st.sampled_from([0, 1, 3, 100]))
def test_inner_bounds_exact_range_and_outer_bounds_are_nested(p, max_anchors):
    model = regressor(p)
    if model.fitted_.learner.design is None:
        return
    made = model.sandwich(max_anchors=max_anchors)
    assert made.n_anchors <= max_anchors
    exact, bounded = model.certify(p.tests, method="exact"), model.certify(p.tests, method=made)
    # True ends lie between inner and outer ones, for bounds and for the exact engine alike.
    assert (bounded.low <= exact.inner_low).all()
    assert (exact.low <= bounded.inner_low).all()
    assert (bounded.inner_high <= exact.high).all()
    assert (exact.inner_high <= bounded.high).all()
    decided = (bounded.verdict != Verdict.UNDECIDED) & (exact.verdict != Verdict.UNDECIDED)
    assert (bounded.verdict[decided] == exact.verdict[decided]).all()


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("budget", [1, 8, 60])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_the_sandwich_is_sound_on_larger_problems_and_beats_the_box(
    fit_intercept, budget, as_sparse
):
    rng = np.random.default_rng(budget)
    X = (rng.random((500, 8)) < 0.4).astype(float)
    y = X @ rng.normal(size=8) + 0.5 * rng.normal(size=500) > 0.3
    tests = (rng.random((400, 8)) < 0.4).astype(float)
    estimator = Ridge(fit_intercept=fit_intercept)
    if as_sparse:
        X, tests = sparse.csr_array(X), sparse.csr_array(tests)
        estimator = Ridge(fit_intercept=fit_intercept, solver="sparse_cg", tol=1e-14)
    model = CertifiedClassifier(estimator, bias=LabelBias.flips(budget=budget)).fit(X, y)
    exact = model.certify(tests, method="exact")
    bounded, boxed = (model.certify(tests, method=m) for m in ("sandwich", "box"))
    decided = bounded.verdict != Verdict.UNDECIDED
    assert (bounded.verdict[decided] == exact.verdict[decided]).all()
    assert (bounded.low <= exact.inner_low).all()
    assert (bounded.inner_high <= exact.high).all()
    assert decided.mean() > max(0.9, (boxed.verdict != Verdict.UNDECIDED).mean())
    assert set(bounded.method_counts) <= {"anchor", "box", "cutting-plane"}


def test_bounds_are_exact_at_an_anchor():
    model, tests = gaussian_model()
    made = model.sandwich(max_anchors=40)
    directions = model.fitted_.learner.directions(tests[:20])
    made.add(directions)
    exact = model.certify(tests[:20], method="exact")
    bounded = model.certify(tests[:20], method=made)
    np.testing.assert_allclose(bounded.low, exact.low, rtol=1e-9)
    np.testing.assert_allclose(bounded.inner_low, exact.low, rtol=1e-9)


def test_a_cutting_plane_that_overflows_says_nothing():
    shift = np.array([[1.9e298, -1e298]])
    ones, zeros = np.ones(2), np.zeros((1, 2))
    anchors = Anchors(zeros, np.zeros(1), np.zeros(1), np.zeros(1), shift, zeros)
    bounds = AnchoredBounds(
        (Box(1e298 * ones, 1e298 * ones),), Ellipsoid(np.eye(2), 1.0, np.inf), anchors
    )
    found = bounds.base(np.full((1, 2), 1e10), np.array([2e10]))
    assert found.inner_up[0] <= 0.9e308  # what the shift does to the row


def test_the_oldest_anchors_give_way():
    model, tests = gaussian_model()
    made = model.sandwich(max_anchors=16)
    directions = model.fitted_.learner.directions(tests)
    made.add(directions[:100])
    assert made.n_anchors == 16
    np.testing.assert_array_equal(made._bounds.anchors.directions, directions[84:100])


def test_no_anchors_means_boxes_only():
    model, tests = gaussian_model()
    made = model.sandwich(max_anchors=0)
    made.add(model.fitted_.learner.directions(tests[:5]))
    assert made.n_anchors == 0
    assert set(model.certify(tests, method=made).method) == {"box"}


def test_building_a_sandwich_is_bounded_and_counted():
    model, _ = gaussian_model(n=2000)
    made = model.sandwich(max_anchors=100)
    assert made.evaluations <= 100 + 2 * model.fitted_.learner.n_parameters


# --- auto ---------------------------------------------------------------------------------


@settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(problems(max_rows=8), st.sampled_from([0.2, 0.37, 0.61, 1.3, 2.1]), st.integers(0, 10**6))
def test_auto_gives_the_exact_verdict_of_every_row(p, radius, seed):
    model = regressor(p, radius)
    rng = np.random.default_rng(seed)
    tests = rng.choice([-2.0, -1.0, 0.0, 1.0, 1.5, 3.0], size=(25, p.X.shape[1]))
    exact = model.certify(tests, method="exact")
    # On a tie the last bit decides, and products in blocks of another size round differently.
    for reach in (exact.high - exact.score, exact.score - exact.low):
        assume((np.abs(reach - radius) > 1e-9).all())
    assert model.certify(tests, method="auto").verdict.tolist() == exact.verdict.tolist()
    assert model.certify(tests, method=eager(model)).verdict.tolist() == exact.verdict.tolist()


@pytest.mark.parametrize("seed", range(4))
def test_auto_through_the_sandwich_equals_exact_on_larger_problems(seed):
    model, tests = gaussian_model(seed=seed, budget=5 + 10 * seed)
    method, exact = eager(model), model.certify(tests, method="exact")
    for _ in range(2):  # cold, then warm
        found = model.certify(tests, method=method)
        assert found.verdict.tolist() == exact.verdict.tolist()
        assert set(found.method) == {"auto"}
        assert (found.low <= exact.inner_low).all()
        assert (found.high >= exact.inner_high).all()
        # A range does not cross the threshold of a row that is proven to stay on its side.
        robust, error = found.robust, found.error[found.robust]
        above = found.score[robust] > model.threshold_
        crossed = np.where(above, model.threshold_ - found.low[robust], 0.0)
        assert (crossed <= error).all()


def test_auto_learns_and_nobody_sees_it():
    model, tests = gaussian_model(n=3000)
    cold, warm, other = eager(model), eager(model), eager(model)
    first = model.certify(tests, method=cold)
    model.certify(tests[::-1], method=warm)
    model.certify(tests[:50] * 1.01, method=other)
    for method in (warm, other):
        again = model.certify(tests, method=method)
        assert again.verdict.tolist() == first.verdict.tolist()
        assert again.method.tolist() == first.method.tolist()
        for name in ("low", "high", "inner_low", "inner_high"):
            np.testing.assert_array_equal(getattr(again, name), getattr(first, name))


@pytest.mark.parametrize("method", ["exact", "auto", "cascade"])
def test_the_same_question_gets_the_same_answer_whatever_was_asked_before(method):
    model, tests = gaussian_model(n=500)
    method = eager(model) if method == "cascade" else method
    first = model.certify(tests, method=method)
    order = np.random.default_rng(0).permutation(len(tests))
    model.certify(tests[order[:7]], method=method, budget=3)
    other, again = model.certify(tests[order], method=method), model.certify(tests, method=method)
    alone = [model.certify(tests[i : i + 1], method=method) for i in range(40)]
    for name in ("low", "high", "inner_low", "inner_high"):
        expected = getattr(first, name)
        np.testing.assert_array_equal(getattr(again, name), expected)
        error = 2 * first.error
        assert (np.abs(getattr(other, name) - expected[order]) <= error[order]).all()
        for i, one in enumerate(alone):
            assert abs(getattr(one, name)[0] - expected[i]) <= error[i]
    assert again.method.tolist() == first.method.tolist()
    assert other.verdict.tolist() == first.verdict[order].tolist()
    assert [one.verdict[0] for one in alone] == first.verdict[:40].tolist()


def test_exact_is_the_default_and_gives_tight_ranges():
    model, tests = gaussian_model(n=500)
    certs, exact = model.certify(tests), model.certify(tests, method="exact")
    assert set(certs.method) == {"exact"}
    np.testing.assert_array_equal(certs.low, exact.low)
    assert (certs.inner_low - certs.low <= 3 * certs.error).all()


def test_one_thread_or_two_give_the_same_bits(monkeypatch):
    model, tests = gaussian_model(n=3000)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    one = model.certify(tests)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    two = model.certify(tests)
    assert (np.abs(one.low - two.low) <= one.error).all()
    assert one.verdict.tolist() == two.verdict.tolist()


def test_auto_is_exact_for_models_without_parameters():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    model = CertifiedRegressor(
        KernelRidge(kernel="rbf"), bias=LabelBias.shifts(1, budget=2), radius=0.3
    ).fit(X, y)
    assert model.certify(X, method="auto").method_counts == {"exact": 30}
    assert model.certify(X, method=eager(model)).method_counts == {"exact": 30}


def test_threads_may_share_a_model():
    model, tests = gaussian_model()
    exact = model.certify(tests, method="exact").verdict.tolist()
    method, wrong = eager(model), []

    def work(seed):
        order = np.random.default_rng(seed).permutation(len(tests))
        found = model.certify(tests[order], method=method).verdict
        if found.tolist() != [exact[i] for i in order]:
            wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


# --- what bounds refuse -------------------------------------------------------------------


def test_bounds_for_another_budget_are_refused_by_both_numbers():
    model, tests = gaussian_model(budget=8)
    for made in (model.parameter_box(budget=3), model.sandwich(budget=3, max_anchors=4)):
        with pytest.raises(InputError, match=r"budget of 3 labels but 8 were asked for"):
            model.certify(tests, method=made)
        assert len(model.certify(tests, method=made, budget=3)) == len(tests)


@pytest.mark.parametrize("change", ["data", "bias", "direction", "model"])
def test_bounds_of_another_model_or_bias_are_refused(change):
    model, tests = gaussian_model()
    other, _ = {
        "data": lambda: gaussian_model(seed=1),
        "bias": lambda: gaussian_model(where=np.arange(400) < 200),
        "direction": lambda: gaussian_model(direction="up"),
        "model": lambda: gaussian_model(fit_intercept=False),
    }[change]()
    for made in (other.parameter_box(), other.sandwich(max_anchors=4)):
        with pytest.raises(InputError, match="another model or bias"):
            model.certify(tests, method=made)


def test_bounds_of_the_same_rows_in_another_order_are_refused():
    rng = np.random.default_rng(0)
    X, y = rng.integers(-3, 4, size=(40, 3)) * 1.0, rng.integers(-3, 4, size=40) * 1.0
    bias = LabelBias.intervals(np.zeros(40), np.arange(40.0), budget=2)
    model = CertifiedRegressor(Ridge(fit_intercept=False), bias=bias, radius=0.5).fit(X, y)
    bounds = model.sandwich(max_anchors=4)
    other = CertifiedRegressor(Ridge(fit_intercept=False), bias=bias, radius=0.5)
    other.fit(X[::-1], y[::-1])  # whole numbers: every sum over the rows is the same
    with pytest.raises(InputError, match="another model or bias"):
        other.certify(X, method=bounds)


def test_bounds_of_the_same_columns_in_another_order_are_refused():
    rows = np.random.default_rng(0).integers(0, 2, size=(8, 100)).astype(float)
    order = np.arange(100)
    order[[90, 91]] = 91, 90
    first, second = (
        CertifiedRegressor(
            Ridge(fit_intercept=False), bias=LabelBias.shifts(1, budget=2), radius=0.01
        ).fit(features, np.arange(8.0))
        for features in (rows, rows[:, order])
    )
    with pytest.raises(InputError, match="built from another model"):
        second.certify(rows[:, order], method=first.parameter_box())


def test_bounds_survive_pickling_with_their_model():
    model, tests = gaussian_model()
    made = model.sandwich(max_anchors=10)
    copied, sandwich = pickle.loads(pickle.dumps((model, made)))
    assert repr(sandwich) == "<Sandwich: 10 anchors, up to 8 labels are wrong>"
    certs = copied.certify(tests, method=sandwich)
    assert certs.verdict.tolist() == model.certify(tests, method=made).verdict.tolist()


def test_a_negative_number_of_anchors_is_refused():
    model, _ = gaussian_model()
    with pytest.raises(InputError, match="max_anchors must be a count"):
        model.sandwich(max_anchors=-1)


@pytest.mark.parametrize("method", ["box", "sandwich"])
def test_a_model_without_coefficients_has_no_box(method):
    model = CertifiedRegressor(KernelRidge(), bias=LabelBias.shifts(1, budget=1), radius=1).fit(
        np.eye(4), np.arange(4.0)
    )
    with pytest.raises(InputError, match="KernelRidge has no coefficients"):
        model.certify(np.eye(4), method=method)


def test_a_sandwich_for_more_features_than_rows_is_refused_with_the_reason():
    X, y = make_regression(12, 30, random_state=0)
    model = CertifiedRegressor(Ridge(), bias=LabelBias.shifts(1, budget=2), radius=1).fit(X, y)
    with pytest.raises(InputError, match="fewer training rows than features"):
        model.sandwich()


def test_certifiers_of_another_fit_are_refused():
    model, tests = gaussian_model()
    other, _ = gaussian_model(seed=1)
    refitted = clone(model).fit(*(np.array(each) for each in (tests, tests[:, 0] > 0)))
    for method in (eager(model), model.fitted_.engine, BySandwich(model.sandwich(max_anchors=4))):
        assert len(model.certify(tests, method=method)) == len(tests)
        for stranger in (other, refitted):
            with pytest.raises(InputError, match="built from another model"):
                stranger.certify(tests, method=method)


def test_certifiers_of_another_budget_are_refused():
    model, tests = gaussian_model(budget=8)
    box = ByBox(model.parameter_box(budget=3), model.fitted_.learner)
    for method in (BySandwich(model.sandwich(budget=3, max_anchors=4)), box):
        with pytest.raises(InputError, match="budget of 3 labels but 8"):
            model.certify(tests, method=method)


@pytest.mark.parametrize("method", [Cascade, np.zeros(3), "Exact", None, 3])
def test_what_is_no_method_is_refused(method):
    model, tests = gaussian_model(n=50)
    with pytest.raises(InputError, match="method must be one of"):
        model.certify(tests, method=method)
