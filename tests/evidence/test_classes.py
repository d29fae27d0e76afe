"""Three or more classes: audits and random errors, against definitions, outcomes and simulation."""

import json
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier
from sklearn.model_selection import KFold

from tests.effort import some
from tests.evidence import oracle
from tests.evidence.audits import e_value, falsely, influence
from unswayed import (
    CertifiedClassifier,
    InputError,
    LabelAudit,
    LabelBias,
    LabelNoise,
    cross_certify,
)
from unswayed.margins import Radius
from unswayed.verify import CertificateError
from unswayed.verify.audit import verify_audit

NAMES = np.array(["ant", "bee", "cow", "dog"])
RATES = [0.0, 0.01, 0.125, 0.5, 0.75, 1.0]
METHODS = ["chernoff", "convolution"]
FLIPS = LabelBias.flips(budget=1)


def problem(seed, n=8, n_classes=3, rows=3):
    """Rows that repeat, labels of all classes, and test rows, some of them with ties."""
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 0.0, 1.0, 2.0], (n, 2))
    labels = rng.permutation(np.resize(np.arange(n_classes), n))
    tests = np.vstack((X[:1], rng.choice([-1.0, 0.5, 1.0, 2.0], (rows - 1, 2))))
    return rng, X, labels, tests


def ridge(seed, alpha=1.0):
    kind = RidgeClassifier if seed % 2 else Ridge
    return kind(alpha=alpha, fit_intercept=False)


# --- random errors: every outcome -------------------------------------------------------------


def noise_of(seed, rng, labels, n_classes):
    """Random errors, and how likely each label is of each class."""
    n = len(labels)
    if seed % 3 == 2:
        table = rng.choice([0.0, 0.0625, 0.25, 0.5], (n_classes, n_classes)) / (n_classes - 1)
        np.fill_diagonal(table, 0.0)
        rates = {
            NAMES[a]: {NAMES[b]: float(table[a, b]) for b in range(n_classes) if b != a}
            for a in range(n_classes)
        }
        rates[NAMES[0]] = float(rng.choice(RATES))  # a number stands for equal shares
        table[0] = 0.0
        likely = [[Fraction(float(each)) for each in table[label]] for label in labels]
        for each, label in zip(likely, labels, strict=True):
            if label == 0:
                each[1:] = [Fraction(rates[NAMES[0]]) / (n_classes - 1)] * (n_classes - 1)
        noise = LabelNoise.by_class(rates)
    else:
        rate = rng.choice(RATES, n if seed % 3 else 1) * np.ones(n)
        likely = [[Fraction(p) / (n_classes - 1)] * n_classes for p in rate.tolist()]
        noise = LabelNoise(rate)
    for each, label in zip(likely, labels, strict=True):
        each[label] = Fraction(0)
        each[label] = 1 - sum(each)
    return noise, likely


@pytest.mark.parametrize("seed", range(some(12, 60)))
def test_no_outcome_of_several_classes_is_left_out_of_the_bounds(seed):
    n_classes = 4 if seed % 5 == 4 else 3
    rng, X, labels, tests = problem(seed, n=6 if n_classes == 4 else 8, n_classes=n_classes)
    noise, likely = noise_of(seed, rng, labels, n_classes)
    model = CertifiedClassifier(ridge(seed), bias=FLIPS).fit(X, NAMES[labels])
    z = influence(X, tests, 1)
    for method in METHODS:
        found = model.overturn_probability(tests, noise, method=method)
        for row in range(len(tests)):
            chance = oracle.class_probability(z[row], labels, likely)
            assert found.low[row] <= chance <= found.high[row]
            assert found.low[row] <= found.estimate[row] <= found.high[row]


def votes(*counts):
    """A model whose score is the share of each class among all labels, and its one row."""
    y = np.repeat(NAMES[: len(counts)], counts)
    model = CertifiedClassifier(LinearRegression(fit_intercept=False), bias=FLIPS)
    return model.fit(np.ones((len(y), 1)), y), [[1.0]]


def test_the_bounds_by_convolution_are_near_the_probability_of_some_rival():
    features, labels = (np.arange(9) % 5 + 8) / 8, np.array([0] * 4 + [1] * 3 + [2] * 2)
    model = CertifiedClassifier(Ridge(fit_intercept=False), bias=FLIPS)
    model.fit(features[:, None], NAMES[labels])
    found = model.overturn_probability([[1.0]], LabelNoise(0.1), method="convolution")
    likely = [[Fraction(0.1) / 2] * 3 for _ in range(9)]
    for each, label in zip(likely, labels, strict=True):
        each[label] = 1 - Fraction(0.1)
    z = influence(features[:, None], [[1.0]], 1)[0]
    chance = float(oracle.class_probability(z, labels, likely))
    assert found.low[0] <= chance <= found.high[0] < 2 * found.low[0]
    assert abs(found.estimate[0] - chance) < 0.03


def test_surely_wrong_labels_overturn_and_right_ones_do_not():
    model, tests = votes(5, 2, 2)
    every = {"bee": 0.0, "cow": 0.0}
    for method in METHODS:
        for ant, low, high in (
            (0.0, 0.0, 0.0),
            ({"bee": 1.0}, 1.0, 1.0),
            ({"bee": 0.9, "cow": 0.1}, 0.99, 1.0),
        ):
            noise = LabelNoise.by_class({"ant": ant} | every)
            found = model.overturn_probability(tests, noise, method=method)
            assert low <= found.low[0] <= found.high[0] <= high


def test_a_class_that_loses_all_labels_is_not_predicted_any_more():
    # Without an intercept, scores of other classes are below 0 at this row: nothing overtakes it.
    X, y = [[1.0], [-1.0], [-1.0]], ["ant", "bee", "cow"]
    model = CertifiedClassifier(Ridge(fit_intercept=False), bias=FLIPS).fit(X, y)
    noise = LabelNoise.by_class({"ant": {"bee": 0.25}, "bee": 0.0, "cow": 0.0})
    found = model.overturn_probability([[1.0]], noise)
    assert found.low[0] <= 0.25 <= found.high[0] + 1e-9
    assert found.low[0] > 0.2


def test_a_lead_that_rounding_hides_leaves_everything_open():
    model, _ = votes(3, 3, 1)
    found = model.overturn_probability([[0.1]], LabelNoise(0.1))
    assert (found.low[0], found.high[0]) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("noise", "says"),
    [
        (LabelNoise.by_class({"ant": {"bee": 0.1, "elk": 0.1}, "bee": 0, "cow": 0}), "be 'elk'"),
        (LabelNoise.by_class({"ant": {"ant": 0.9}, "bee": 0, "cow": 0}), "really be 'ant'"),
        (LabelNoise.by_class({"ant": 0.1, "bee": 0.1}), "no rate is given for the class 'cow'"),
        (LabelNoise([0.1]), "rate has 1 entries for 9 training labels"),
        (LabelNoise.shifts(1.0), "uniform shifts are for labels that are numbers"),
    ],
)
def test_noise_that_does_not_fit_several_classes_is_refused(noise, says):
    model, tests = votes(5, 2, 2)
    with pytest.raises(InputError) as caught:
        model.overturn_probability(tests, noise)
    assert says in str(caught.value)


def test_confusions_are_probabilities():
    with pytest.raises(InputError, match=r"sum up to 1\.2"):
        LabelNoise.by_class({"ant": {"bee": 0.6, "cow": 0.6}})
    with pytest.raises(InputError, match="the rate of 'ant' that are 'bee' must lie between 0 and"):
        LabelNoise.by_class({"ant": {"bee": -0.1}})
    LabelNoise.by_class({"ant": {"bee": 0.9, "cow": 0.1}})  # whose doubles exceed 1 by a hair


def test_two_classes_take_a_confusion_too():
    model = CertifiedClassifier(LinearRegression(fit_intercept=False), bias=FLIPS)
    model.fit([[1, 0]] * 5 + [[0, 1]] * 3, ["yes"] * 5 + ["no"] * 3)
    found = [
        model.overturn_probability([[1, 0]], LabelNoise.by_class(rates)).high[0]
        for rates in ({"yes": 0.1, "no": 0.0}, {"yes": {"no": 0.1}, "no": {}})
    ]
    assert found[0] == found[1]


# --- audits: the definition -------------------------------------------------------------------


def allowed_of(seed, rng, n_classes):
    """What labels may really be, as a user says it."""
    if seed % 3 != 1:
        return None
    return {
        NAMES[a]: [NAMES[b] for b in range(n_classes) if b != a and rng.random() < 0.7]
        for a in range(n_classes)
    }


@pytest.mark.parametrize("rate", [0.0, 0.3])
def test_e_values_of_duels_are_those_of_the_definition_and_never_above(rate):
    seen = set()
    for seed in range(some(9, 25)):
        rng, X, labels, tests = problem(seed, n=14)
        bias = LabelBias.flips(budget=1, where=rng.random(14) < 0.9, to=allowed_of(seed, rng, 3))
        model = CertifiedClassifier(ridge(seed), bias=bias).fit(X, NAMES[labels])
        audit = model.label_audit(tests, risk=1e-9, seed=seed)
        may = model.fitted_.engine.bias.classes.allowed
        truth = [
            int(rng.choice(np.flatnonzero(may[i]))) if rng.random() < rate else labels[i]
            for i in range(14)
        ]
        for many in (2, 1, 4):
            drawn = audit.draw(many, aim=1.0)
            audit.record(drawn, NAMES[truth][drawn])
        e, several, step = audit._capital.e_values, audit._audited.several, 1 + seed % 2
        z, seen_classes = influence(X, tests, 1), {truth[i] for i in audit.drawn.tolist()}
        for at, found in enumerate(e):
            row = int(np.flatnonzero(audit._group == audit.claims.number[at])[0])
            duel = int(audit.claims.duel[at])
            winner, rival = int(several.winner[duel]), int(several.rival[duel])
            value = [step * ((c == rival) - (c == winner)) for c in range(3)]
            margin = -sum(a * value[b] for a, b in zip(z[row], labels, strict=True))
            ends = [[value[c] - value[b] for c in np.flatnonzero(may[i])]
                    for i, b in enumerate(labels)]  # fmt: skip
            batches = [(b.chances, b.labels, b.most[at]) for b in audit._batches]
            added = [value[a] - value[b] for a, b in zip(truth, labels, strict=True)]
            exact = e_value(z[row], margin, [*map(min, ends)], [*map(max, ends)], batches, added)
            if winner not in seen_classes and (may[labels == winner].sum(axis=1) > 1).all():
                assert found == 0.0
                continue
            assert found <= exact * (1 + 1e-9)
            hidden = margin == 0  # a tie, or nearly: doubles do not tell whose lead it is
            near = found >= float(exact) * (1 - 1e-6) or (exact == np.inf and found >= 1)
            assert near or hidden
            seen.add(bool(found > 1))
    assert True in seen


def overturned(seed, *, placed, rows=1, n=60):
    """A model, rows, and true labels that take the first row across its margin by a hair.

    The influence of the last label, which is right, puts the lead where the wrong labels reach it.
    """
    rng = np.random.default_rng(seed)
    while True:
        labels, z = rng.integers(0, 3, n), rng.normal(0.3, 1.0, (rows, n))
        winner, rival = rng.permutation(3)[:2]
        labels[-1] = winner
        value = (np.arange(3) == rival) * 1.0 - (np.arange(3) == winner)
        best = np.where(z[0] > 0, rival, winner)
        rise = z[0] * (value[best] - value[labels])
        rise[-1] = -np.inf
        order = {"most": np.argsort(-rise), "least": np.argsort(rise), "any": rng.permutation(n)}
        wrong = [i for i in order[placed] if rise[i] > 0][: rng.integers(3, 20)]
        truth = labels.copy()
        truth[wrong] = best[wrong]
        z[0, -1] = (z[0, :-1] @ value[truth[:-1]]) * (1 - 1e-12)
        onehot = np.eye(3)
        before, after = (np.argmax(z @ onehot[each], axis=1) for each in (labels, truth))
        if before[0] == winner != after[0] and z[0, -1] > 0 and len(np.unique(labels)) == 3:
            break
    bias = LabelBias.flips(budget=1, where=np.arange(n) < n - 1)
    # Rows of their own: the influence of labels on a test row is half of it.
    model = CertifiedClassifier(Ridge(fit_intercept=False), bias=bias).fit(np.eye(n), NAMES[labels])
    return model, 2.0 * z, NAMES[labels], NAMES[truth], before != after


@pytest.mark.parametrize(
    ("rows", "together"), [(1, "each"), (6, "each"), (6, "all"), (6, "discoveries")]
)
def test_audits_of_labels_that_overturn_a_row_of_several_classes_rarely_confirm_it(rows, together):
    many = some(30, 120)
    found = [
        falsely(
            overturned(seed, rows=rows, placed=("most", "least", "any")[seed % 3]),
            together=together,
            seed=seed,
            batch=60 if seed % 2 else 5,
        )
        for seed in range(many)
    ]
    assert np.mean(found) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / many)


# --- audits: facts ------------------------------------------------------------------------------

RNG = np.random.default_rng(0)
X = RNG.choice([0.0, 1.0, 2.0], (300, 3))
Y = NAMES[np.argmax(X + 0.3 * RNG.normal(size=X.shape), axis=1)]
TRUTH = np.where(RNG.random(300) < 0.04, NAMES[RNG.integers(0, 3, 300)], Y)
TESTS = np.unique(X, axis=0)


def fitted(labels=Y, **options):
    return CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=1, **options)).fit(X, labels)


def audited(path, together="each"):
    audit = fitted().label_audit(TESTS, together=together, risk=0.2, seed=3)
    audit.save(path)
    for _ in range(4):
        drawn = audit.draw(15)
        audit.record(drawn, TRUTH[drawn])
    last = audit.draw(2)
    audit.record(last, ["?", TRUTH[last[1]]])
    return audit


def test_all_labels_settle_every_row_and_say_what_a_refit_says():
    for seed in range(some(5, 12)):
        rng, features, labels, tests = problem(seed, n=16)
        given = np.where(rng.random(16) < 0.3, rng.integers(0, 3, 16), labels)
        if len(set(given)) < 3:
            continue
        make = ridge(seed, alpha=0.7)
        model = CertifiedClassifier(make, bias=FLIPS).fit(features, NAMES[given])
        audit = model.label_audit(tests, risk=1e-6, seed=seed)
        while len(drawn := audit.draw(3, aim=1.0)):
            audit.record(drawn, NAMES[labels][drawn])
        again = CertifiedClassifier(make, bias=FLIPS).fit(features, NAMES[labels])
        same = model.predict(tests) == again.predict(tests)
        assert not (audit.confirmed & ~same).any()
        assert not (audit.refuted & same).any()
        ranked = np.sort([each.decision_function(tests) for each in (model, again)], axis=2)
        tied = (ranked[..., -1] - ranked[..., -2] < 1e-9).any(axis=0)  # whose rounding hides
        assert (audit.confirmed | audit.refuted | tied).all()


def test_right_labels_confirm_all_rows_and_expected_says_after_how_many():
    audit = fitted().label_audit(TESTS[[1, 2, 6, 18]], together="all")
    expected = audit.expected(checks=[0, 300])
    assert expected.counts.tolist() == [[0, 4]]
    while not audit.confirmed.all():
        drawn = audit.draw(10)
        audit.record(drawn, Y[drawn])
    assert audit.n_counted < 200
    assert (audit.expected(0.1, checks=[50]).mean <= 4).all()


@pytest.mark.parametrize("together", ["each", "all", "discoveries"])
def test_a_saved_audit_goes_on_and_the_checker_finds_its_e_values(tmp_path, together):
    path = tmp_path / "audit.json"
    audit = audited(path, together)
    other = tmp_path / "other.json"  # two that draw into one file are refused
    other.write_bytes(path.read_bytes())
    again, found = LabelAudit.load(other, fitted(), TESTS), verify_audit(path)
    np.testing.assert_array_equal(again.e_values, audit.e_values)
    np.testing.assert_allclose(found.e_values, audit.e_values, rtol=1e-6)
    np.testing.assert_array_equal(found.confirmed, audit.confirmed)
    assert (found.counted, found.wrong) == (62, len(audit.wrong))
    assert len(audit.wrong) > 1
    assert again.draw(10).tolist() == audit.draw(10).tolist()


def test_answers_of_two_people_merge(tmp_path):
    path, other = tmp_path / "one.json", tmp_path / "two.json"
    audit = audited(path)
    drawn = audit.draw(6)
    other.write_bytes(path.read_bytes())
    LabelAudit.load(other, fitted(), TESTS).record(drawn[:3], TRUTH[drawn[:3]])
    audit.record(drawn[3:], TRUTH[drawn[3:]])
    audit.merge(other)
    assert not len(audit.waiting)


def test_the_checker_refuses_a_wrong_class_that_counts_as_right(tmp_path):
    path = tmp_path / "audit.json"
    audited(path)
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    line = next(line for line in lines if line.get("moved"))
    del line["moved"][next(iter(line["moved"]))]
    path.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    with pytest.raises(CertificateError):
        verify_audit(path)


def test_a_file_of_other_allowed_changes_is_refused(tmp_path):
    path = tmp_path / "audit.json"
    audited(path)
    model = fitted(to={"ant": ["bee", "cow"], "bee": ["ant", "cow"], "cow": ["ant"]})
    with pytest.raises(InputError, match="or classes"):
        LabelAudit.load(path, model, TESTS)


def test_answers_that_are_no_class_or_not_allowed_are_refused_by_name():
    model = fitted(to={"ant": ["bee"], "bee": ["ant"]})
    audit = model.label_audit(TESTS)
    drawn = audit.draw(20)
    assert (Y[drawn] != "cow").all()  # whose labels are right
    row = drawn[0]
    for answer, said in (("elk", "none of the classes"), ("cow", "to= allows it")):
        with pytest.raises(InputError, match=said):
            audit.record(row, answer)
    audit.record(row, "BEE " if Y[row] == "ant" else "Ant")
    assert audit.wrong.tolist() == [row]


def test_no_row_is_confirmed_before_a_label_of_its_class_is_known_to_be_right():
    # Nothing overtakes the first class at this row, but all of its labels may be wrong.
    features, y = [[1.0], [1.0], [-1.0], [-1.0]], ["ant", "ant", "bee", "cow"]
    model = CertifiedClassifier(Ridge(fit_intercept=False), bias=FLIPS).fit(features, y)
    audit = model.label_audit([[1.0]], risk=0.9)
    while len(drawn := audit.draw(1)):
        audit.record(drawn, ["bee" if y[drawn[0]] == "ant" else y[drawn[0]]])
    assert not audit.confirmed.any()
    audit = model.label_audit([[1.0]], risk=0.9)
    while len(drawn := audit.draw(1)):
        audit.record(drawn, [y[drawn[0]]])
    assert audit.confirmed.all()


def test_sums_and_decisions_of_one_score_are_refused():
    model = fitted()
    with pytest.raises(InputError, match="three or more classes have one"):
        model.label_audit(TESTS, sums=np.ones((1, len(TESTS))))
    with pytest.raises(InputError, match="three or more classes have one"):
        model.label_audit(TESTS, decision=Radius(1.0))
    with pytest.raises(InputError, match="coefficients for each of 3 classes"):
        model.label_audit(coefficients=True)


# --- random label sets --------------------------------------------------------------------------


def test_random_label_sets_change_as_many_predictions_as_refits_say():
    rng, features, labels, tests = problem(3, n=9, rows=6)
    bias = LabelBias.flips(budget=3, to=allowed_of(1, rng, 3))
    model = CertifiedClassifier(Ridge(fit_intercept=False), bias=bias).fit(features, NAMES[labels])
    case = model._question(model.fitted_, tests, None, None).case
    changes = model.fitted_.engine.bias.classes
    movable = np.flatnonzero(changes.allowed.sum(axis=1) > 1)
    z = np.array(influence(features, case.rows.shown(np.arange(len(case.rows))), 1), dtype=float)
    compared = 0
    for _ in range(20):
        rows = rng.choice(movable, 3, replace=False)
        new = changes.drawn(rows, rng)
        assert changes.allowed[rows, new].all()
        assert (new != labels[rows]).all()
        after = labels.copy()
        after[rows] = new
        said, then = (np.argmax(z @ np.eye(3)[each], axis=1) for each in (labels, after))
        expected = (said != then) | ~np.isin(said, after)
        added = sparse.csr_array([(after - labels).astype(float)])
        ranked = np.sort(z @ np.eye(3)[after], axis=1)
        clear = ranked[:, -1] - ranked[:, -2] > 1e-9  # doubles do not tell ties
        np.testing.assert_array_equal(case.crossed(added)[0][clear], expected[clear])
        compared += clear.sum()
    assert compared > 40


def test_a_summary_has_its_three_numbers():
    certs = fitted().certify(TESTS)
    assert certs.summary().random.draws == 1000
    assert "at random: 1 random wrong label changes" in str(certs.summary())


def test_folds_that_know_the_same_classes_have_random_draws_too():
    certs = cross_certify(
        CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=2)), X, Y, cv=KFold(3)
    )
    assert certs.summary().random.draws == 1000
