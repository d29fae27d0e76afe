"""Nearest neighbours against every label set, with scikit-learn's own refits."""

import subprocess
import sys
import warnings
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    RadiusNeighborsClassifier,
    RadiusNeighborsRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.effort import some
from tests.naive import corners
from unswayed import (
    CertifiedClassifier,
    CertifiedRegressor,
    InputError,
    LabelBias,
    LabelNoise,
    LabelPeekError,
    SolverPrecisionWarning,
    Verdict,
    cross_certify,
)
from unswayed.models.neighbours import shares

NEAR = Fraction(1, 10**12)  # votes that differ by less are equal up to rounding


def steps(distance):
    """Weights that are small whole numbers: votes are often equal."""
    if getattr(distance, "dtype", np.dtype(float)).kind == "O":
        return np.array([*(steps(each) for each in distance), None], dtype=object)[:-1]
    return np.maximum(1.0, 5.0 - np.floor(np.asarray(distance, dtype=float)))


WEIGHTS = {"uniform": "uniform", "distance": "distance", "steps": steps}


def weights_of(model, row):
    """Neighbours of a row and their weights as scikit-learn's documents define them."""
    radius = hasattr(model, "radius") and isinstance(
        model, RadiusNeighborsClassifier | RadiusNeighborsRegressor
    )
    distance, near = (model.radius_neighbors if radius else model.kneighbors)(row[None])
    distance, near = np.asarray(distance[0], dtype=float), near[0]
    if model.weights == "distance":
        zero = distance == 0
        weight = zero.astype(float) if zero.any() else 1.0 / distance
    else:
        weight = np.ones(len(near)) if model.weights == "uniform" else model.weights(distance)
    return near, [Fraction(float(each)) for each in weight]


def problem(seed):
    """Few rows on a grid: equal rows, equal distances and equal votes are ordinary."""
    rng = np.random.default_rng(seed)
    n, kind = int(rng.integers(4, 10)), list(WEIGHTS)[seed % 3]
    X = rng.integers(0, 4, size=(n, int(rng.integers(1, 3)))).astype(float)
    y = rng.integers(0, 2, size=n)
    y[:2] = 0, 1
    tests = rng.integers(0, 4, size=(3, X.shape[1])) + rng.choice([0.0, 0.5], size=(3, 1))
    options = {
        "weights": WEIGHTS[kind],
        "metric": str(rng.choice(["euclidean", "manhattan", "chebyshev"])),
        "algorithm": str(rng.choice(["auto", "brute", "kd_tree", "ball_tree"])),
    }
    by_radius = bool(rng.random() < 0.3)
    size = {"radius": 6.0} if by_radius else {"n_neighbors": int(rng.integers(1, n + 1))}
    return X, y, tests, by_radius, options | size, int(rng.integers(1, 4)), kind == "distance"


def judged(near, weight, y):
    """Whether some label set overturns a row, whether one may up to rounding, and the fewest."""
    total = sum(weight)

    def votes(labels):
        signs = (1 if labels[i] else -1 for i in near)
        return sum(s * w for s, w in zip(signs, weight, strict=True))

    def close(value):
        return abs(value) <= NEAR * total

    positive = votes(y) > 0
    least, least_doubtful = np.inf, 0 if close(votes(y)) else np.inf
    for count in range(1, len(y) + 1):
        for rows in combinations(range(len(y)), count):
            labels = y.copy()
            labels[list(rows)] = 1 - labels[list(rows)]
            found = votes(labels)
            if (found > 0) != positive:
                least = min(least, count)
            if close(found):
                least_doubtful = min(least_doubtful, count)
        if least < np.inf:
            break
    return positive, least, least_doubtful


@pytest.mark.parametrize("block", range(10))
def test_verdicts_and_minimum_budgets_are_those_of_all_label_sets(block):
    for seed in range(block * some(4, 15), (block + 1) * some(4, 15)):
        X, y, tests, by_radius, options, budget, rounds = problem(seed)
        kind = RadiusNeighborsClassifier if by_radius else KNeighborsClassifier
        estimator = kind(**options)
        model = CertifiedClassifier(estimator, bias=LabelBias.flips(budget=budget)).fit(X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            certs = model.certify(tests)
        fitted = clone(estimator).fit(X, y)
        for row, test in enumerate(tests):
            near, weight = weights_of(fitted, test)
            positive, least, doubtful = judged(near, weight, y)
            if rounds and doubtful <= budget:
                assert not certs.minimum_budgets.low[row] > least
                continue  # equal up to rounding: any answer that is no false one will do
            assert certs.prediction[row] == int(positive) == fitted.predict(test[None])[0]
            assert certs.verdict[row] == (Verdict.NOT_ROBUST if least <= budget else Verdict.ROBUST)
            if not (rounds and doubtful <= least):
                assert certs.minimum_budget[row] == least
            if certs.verdict[row] == Verdict.NOT_ROBUST:
                witness = certs.witness(row)
                assert len(witness.indices) == least
                changed = y.copy()
                changed[witness.indices] = witness.labels
                again = clone(estimator).fit(X, changed).predict(test[None])[0]
                assert again != certs.prediction[row]


@pytest.mark.parametrize("block", range(5))
def test_ranges_of_regressors_are_those_of_all_refits(block):
    for seed in range(block * some(3, 10), (block + 1) * some(3, 10)):
        X, _, tests, by_radius, options, budget, _ = problem(seed)
        rng = np.random.default_rng(seed)
        y = rng.integers(-3, 4, size=len(X)).astype(float)
        estimator = (RadiusNeighborsRegressor if by_radius else KNeighborsRegressor)(**options)
        lower, upper = -rng.integers(0, 3, len(X)).astype(float), rng.random(len(X))
        bias = LabelBias.intervals(lower, upper, budget=budget)
        certs = CertifiedRegressor(estimator, bias=bias, radius=0.5).fit(X, y).certify(tests)
        refits = [
            clone(estimator).fit(X, labels).predict(tests)
            for labels in corners(y, lower, upper, budget)
        ]
        np.testing.assert_allclose(certs.low, np.min(refits, axis=0), rtol=0, atol=1e-12)
        np.testing.assert_allclose(certs.high, np.max(refits, axis=0), rtol=0, atol=1e-12)
        far = np.abs(np.array(refits) - refits[0]).max(axis=0)
        sure = np.abs(far - 0.5) > 1e-12
        assert ((certs.verdict == Verdict.ROBUST) == (far <= 0.5))[sure].all()


RNG = np.random.default_rng(5)
X = RNG.normal(size=(60, 3))
LABELS = np.where(X[:, 0] + RNG.normal(size=60) > 0, "yes", "no")
TESTS = RNG.normal(size=(20, 3)) / 2
EVERY = {
    "six": KNeighborsClassifier(6),
    "by-distance": KNeighborsClassifier(6, weights="distance"),
    "within": RadiusNeighborsClassifier(2.0),
    "numbers": KNeighborsRegressor(5, metric="manhattan"),
}


def classifier(estimator, budget=2, **options):
    return CertifiedClassifier(estimator, bias=LabelBias.flips(budget=budget), **options)


@pytest.fixture(params=EVERY, scope="module")
def model(request):
    return classifier(EVERY[request.param], budget=3).fit(X, LABELS)


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
@pytest.mark.parametrize("by_radius", [False, True], ids=["nearest", "within"])
def test_scores_are_those_of_the_estimator(weights, by_radius):
    kind, own = (
        (RadiusNeighborsClassifier, RadiusNeighborsRegressor)
        if by_radius
        else (KNeighborsClassifier, KNeighborsRegressor)
    )
    size = {"radius": 2.5} if by_radius else {"n_neighbors": 7}
    found = classifier(kind(weights=weights, **size)).fit(X, LABELS).certify(TESTS)
    share = kind(weights=weights, **size).fit(X, LABELS).predict_proba(TESTS)
    np.testing.assert_allclose(found.score, share[:, 1] - share[:, 0], rtol=0, atol=1e-9)
    y = X @ [1.0, 2.0, 3.0] + 100
    regressor = CertifiedRegressor(
        own(weights=weights, **size), bias=LabelBias.shifts(1, budget=2), radius=1
    ).fit(X, y)
    expected = own(weights=weights, **size).fit(X, y).predict(TESTS)
    np.testing.assert_allclose(regressor.certify(TESTS).score, expected, rtol=1e-9)


def test_all_that_is_certified_is_certified_of_neighbours(model):
    certs = model.certify(TESTS)
    assert (model.predict(TESTS) == certs.prediction).all()
    assert (certs.verdict == model.certify(TESTS, method="auto").verdict).all()
    exact = model.certify(TESTS, resolve="exact")
    assert (certs.verdict == exact.verdict)[certs.verdict != Verdict.UNDECIDED].all()
    alone = [model.certify(TESTS[row : row + 1]).verdict[0] for row in range(len(TESTS))]
    assert (certs.verdict == alone).all()
    overturned = int((certs.verdict == Verdict.NOT_ROBUST).sum())
    assert 0 <= model.certify_together(TESTS, time_limit=0).at_most <= overturned
    groups = np.arange(len(TESTS)) % 2
    assert certs.by_group(groups).rate.shape == (2,)
    gap = model.certify_metric(TESTS, "demographic_parity_difference", groups=groups, time_limit=0)
    assert gap.low <= gap.value <= gap.high
    assert len(model.review_plan(TESTS, labels=4).order) <= 4
    chance = model.overturn_probability(TESTS, LabelNoise(rate=0.05))
    assert (chance.low <= chance.high).all()
    assert not model.label_audit(TESTS, risk=0.05).confirmed.any()
    assert len(cross_certify(model, X, LABELS, cv=3)) == len(X)
    for method in ("box", "sandwich"):
        with pytest.raises(InputError, match="has no coefficients"):
            model.certify(TESTS, method=method)


def test_a_certificate_file_holds_the_influence_of_neighbours_and_is_proven(model, tmp_path):
    model.certify(TESTS).save(tmp_path / "c.json", data=tmp_path / "c.npz")
    command = [sys.executable, "-m", "unswayed", "verify", "c.json", "--data", "c.npz"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "20 claims proven, 0 rejected" in done.stdout


@pytest.mark.parametrize("n_neighbors", [2, 6, 10, 100])
def test_equal_votes_are_the_first_class_and_leave_nothing_undecided(n_neighbors):
    X = np.arange(100.0)[:, None] % 5
    y = np.arange(100) // 5 % 2
    certs = classifier(KNeighborsClassifier(n_neighbors), budget=50).fit(X, y).certify([[0.0]])
    assert certs.error[0] == 0
    assert Verdict.UNDECIDED not in certs.verdict
    if certs.score[0] == 0:
        assert certs.prediction[0] == 0
        assert certs.minimum_budget[0] == 1


def test_a_training_row_at_distance_0_has_all_the_weight():
    model = classifier(KNeighborsClassifier(3, weights="distance"), budget=1)
    certs = model.fit([[0.0], [0.1], [0.2], [5.0]], [0, 1, 1, 0]).certify([[0.0], [0.05]])
    assert certs.score[0] == -1
    assert certs.witness(0).indices.tolist() == [0]
    twice = model.fit([[0.0], [0.0], [0.2], [5.0]], [0, 1, 1, 0]).certify([[0.0]])
    assert twice.score[0] == 0


def test_a_class_that_appears_once_can_be_certified():
    certs = classifier(KNeighborsClassifier(3), budget=1).fit(X, np.arange(60) == 0).certify(X[:1])
    assert certs.prediction[0] == 0
    assert certs.minimum_budget[0] == 1


def test_tiny_and_huge_weights_are_shares_too():
    weight = np.array([5e-324, 5e-324, 1e308, 1e308, 1e308, 1e-300, 1.0])
    found = shares(weight, np.array([2, 3, 2]))
    np.testing.assert_allclose(found, [0.5, 0.5, 1 / 3, 1 / 3, 1 / 3, 1e-300, 1.0], rtol=1e-12)


def test_rows_without_neighbours_are_refused_with_their_numbers():
    model = classifier(RadiusNeighborsClassifier(2.0)).fit(X, LABELS)
    with pytest.raises(InputError, match=r"1 of 2 distinct rows have no training row within"):
        model.certify([[0.0, 0.0, 0.0], [90.0, 0.0, 0.0]])
    numbers = CertifiedRegressor(
        RadiusNeighborsRegressor(2.0), bias=LabelBias.shifts(1, budget=1), radius=1
    ).fit(X, X[:, 0])
    with pytest.raises(InputError, match="pass a larger radius, or leave these rows out"):
        numbers.certify([[90.0, 0.0, 0.0]])


@pytest.mark.parametrize(
    "weights", [lambda d: d * 0, lambda d: -d, lambda d: d + np.nan, lambda d: np.ones(3)]
)
def test_weights_that_are_no_shares_are_refused(weights):
    with pytest.raises(InputError, match="weights must be one finite number for each neighbour"):
        CertifiedRegressor(
            KNeighborsRegressor(weights=weights), bias=LabelBias.shifts(1, budget=1), radius=1
        ).fit(X, X[:, 0])


def test_what_looks_at_labels_or_is_unknown_is_refused():
    with pytest.raises(LabelPeekError, match="outlier_label='most_frequent'"):
        classifier(RadiusNeighborsClassifier(outlier_label="most_frequent")).fit(X, LABELS)
    with pytest.raises(InputError, match="weights must be 'uniform'"):
        classifier(KNeighborsClassifier(weights="near")).fit(X, LABELS)
    weight = np.arange(60.0) % 7 + 1
    with pytest.raises(InputError, match="KNeighborsClassifier takes no sample_weight"):
        classifier(KNeighborsClassifier()).fit(X, LABELS, sample_weight=weight)


@pytest.mark.filterwarnings("ignore:Precomputed sparse input was not sorted")
def test_distances_may_be_given():
    distance = np.abs(X[:, None, 0] - X[None, :, 0])
    given = classifier(KNeighborsClassifier(6, metric="precomputed")).fit(distance, LABELS)
    plain = classifier(KNeighborsClassifier(6)).fit(X[:, :1], LABELS)
    found = given.certify(np.abs(TESTS[:, :1] - X[None, :, 0]))
    assert (found.minimum_budget == plain.certify(TESTS[:, :1]).minimum_budget).all()
    with pytest.raises(InputError, match="zeros are lost"):
        given.fit(sparse.csr_array(distance), LABELS)


def test_neighbours_behind_a_pipeline_and_of_sparse_rows():
    scaled = make_pipeline(StandardScaler(), KNeighborsClassifier(5))
    own = clone(scaled).fit(X, LABELS).predict(TESTS)
    assert (classifier(scaled).fit(X, LABELS).certify(TESTS).prediction == own).all()
    thin = classifier(KNeighborsClassifier(5)).fit(sparse.csr_array(X), LABELS)
    plain = classifier(KNeighborsClassifier(5)).fit(X, LABELS).certify(TESTS)
    assert (thin.certify(sparse.csr_array(TESTS)).verdict == plain.verdict).all()


def test_a_threshold_at_the_mean_of_the_labels_is_certified():
    model = classifier(KNeighborsClassifier(5), threshold="balanced").fit(X, LABELS)
    certs = model.certify(TESTS)
    share = KNeighborsClassifier(5).fit(X, LABELS).predict_proba(TESTS)[:, 1]
    assert (certs.prediction == np.where(share > (LABELS == "yes").mean(), "yes", "no")).all()


def test_a_vote_that_scikit_learn_rounds_to_a_tie_is_named():
    # 1 against three times the double below 1/3, which scikit-learn's sum rounds to 1.
    X, y = [[1.0], [3.0], [-3.0], [3.0]], [1, 0, 0, 0]
    model = classifier(KNeighborsClassifier(4, weights="distance"), budget=1).fit(X, y)
    with pytest.warns(SolverPrecisionWarning, match="equal there up to the rounding"):
        certs = model.certify([[0.0]], resolve="exact")
    assert certs.prediction[0] == 1
    assert model.predict([[0.0]])[0] == 0
