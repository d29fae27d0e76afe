"""Label audits: what they confirm, against the definition in rational arithmetic and simulation."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge

from tests.effort import some
from tests.evidence.audits import PROBLEMS, e_value, influence, overturned, simulated
from unswayed import CertifiedClassifier, CertifiedRegressor, InputError, LabelBias
from unswayed.margins import Radius, Sign

RIDGE = Ridge(alpha=1.0, fit_intercept=False)


def small(seed, kind="classes", n=14, rows=3):
    rng = np.random.default_rng(seed)
    X, tests = rng.choice([-1.0, 0.0, 1.0, 2.0], (n, 2)), rng.choice([-1.0, 0.5, 1.0], (rows, 2))
    if kind == "classes":
        y = np.where(rng.random(n) < 0.5, 1.0, 0.0)
        y[:2] = 0.0, 1.0
        bias = LabelBias.flips(budget=1, where=rng.random(n) < 0.9)
        model = CertifiedClassifier(RIDGE, bias=bias, threshold=0.3)
    else:
        y = rng.normal(size=n).round(2)
        model = CertifiedRegressor(RIDGE, bias=LabelBias.shifts((-0.5, 1), budget=1), radius=0.25)
    return model.fit(X, y), X, y, tests, rng


def true_labels(audit, y, rng, rate):
    added = np.where(rng.random(len(y)) < rate, rng.choice([0, 1], len(y)), 2)
    ends = audit._effects.moves.lower, audit._effects.moves.upper, np.zeros(len(y))
    return y + np.choose(added, ends)


@pytest.mark.parametrize("kind", ["classes", "regression"])
@pytest.mark.parametrize("rate", [0.0, 0.3])
def test_e_values_are_those_of_the_definition_and_never_above(kind, rate):
    seen = set()
    for seed in range(some(6, 60)):
        model, X, y, tests, rng = small(seed, kind)
        audit = model.label_audit(tests, risk=1e-9, seed=seed)  # never settled: all draws count
        truth = true_labels(audit, y, rng, rate)
        z = influence(X, tests, 1)
        for many in (2, 1, 4):
            drawn = audit.draw(many, aim=1.0)
            audit.record(drawn, truth[drawn])
        claims = audit.claims
        for row, found in enumerate(audit.e_values):
            exact = []
            for way, margin in exact_margins(model, z[row], y):
                mine = (claims.number == audit._group[row]) & (claims.way == way)
                batches = [(b.chances, b.labels, b.most[mine][0]) for b in audit._batches]
                signed = [way * each for each in z[row]]
                ends = audit._effects.moves.lower, audit._effects.moves.upper
                exact.append(e_value(signed, margin, *ends, batches, truth - y))
            exact = min(exact)
            assert found <= exact * (1 + 1e-9)
            assert found >= float(exact) * (1 - 1e-6) or (exact == np.inf and found > 1)
            seen.add(bool(found > 1))
    assert seen == {True, False} or rate == 0.0


def exact_margins(model, z, y):
    score = sum(a * Fraction(b) for a, b in zip(z, y.tolist(), strict=True))
    if isinstance(model, CertifiedRegressor):
        return (1, Fraction(model.radius)), (-1, Fraction(model.radius))
    distance = score - Fraction(model.threshold)
    return ((-1, distance),) if distance > 0 else ((1, -distance),)


@pytest.mark.parametrize(
    ("kind", "rows", "together"), [each for some_ in PROBLEMS.values() for each in some_]
)
def test_audits_of_labels_that_overturn_a_row_rarely_confirm_it(kind, rows, together):
    many = some(12, 200)
    assert np.mean(simulated(kind, rows, together, many)) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / many)


@pytest.mark.parametrize("kind", ["classes", "regression"])
@pytest.mark.parametrize("placed", ["most", "least", "any"])
def test_the_mean_e_value_over_all_draws_is_one_if_labels_overturn_a_row_by_its_margin(
    kind, placed
):
    means = []
    for seed in range(some(2, 12)):
        problem = overturned(seed, kind=kind, placed=placed, n=7, rows=2, most=4)
        model, tests, _, truth, _ = problem
        means += [means_over_draws(model, tests, truth, 2, aim)[0] for aim in (1.0, None)]
    assert max(means) <= 1 + 1e-9
    # It is less where hardly any right label could be wrong: rounding then decides.
    assert max(means) >= 0.999


def means_over_draws(model, tests, truth, draws, aim, before=()):
    """The mean, over all that can be drawn, of the e-value of every claim that is overturned.

    Probabilities are chosen anew after every draw, given the answers before it.
    """
    audit = model.label_audit(tests, risk=1e-12)
    for batch in before:
        audit._batches.append(batch)
        audit.record(batch.labels, truth[batch.labels])
    if len(before) < draws:
        batch = audit._next(1, aim)
        total = batch.chances.sum()
        found = 0.0
        for row in np.flatnonzero(batch.chances).tolist():
            then = (*before, replace(batch, labels=[row]))
            mean = means_over_draws(model, tests, truth, draws, aim, then)
            found += batch.chances[row] / total * mean
        if total:
            return found
    # Of two margins a row, one is crossed.
    moved = sum(
        (audit._effects.moved(audit.claims, row, *[truth[row] - audit._targets[row]] * 2)[1]
         for row in np.flatnonzero(truth != audit._targets).tolist()), np.zeros(len(audit.claims))
    )  # fmt: skip
    false = moved >= audit.claims.distance * (1 - 1e-9)
    mine = false & (audit.claims.number == audit._group[0])
    assert mine.sum() == 1
    return audit._capital.e_values[mine]


def test_right_labels_confirm_every_row_that_can_be_and_few_are_checked():
    rng = np.random.default_rng(0)
    X = rng.choice([0.0, 1.0], (600, 4))
    y = (X[:, 0] + 0.3 * rng.normal(size=600) > 0.5).astype(int)
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=1)).fit(X, y)
    audit = model.label_audit(np.unique(X, axis=0), together="all")
    while not audit.confirmed.all():
        drawn = audit.draw(10)
        audit.record(drawn, y[drawn])
    assert audit.n_counted < 100
    assert not audit.refuted.any()
    assert "for all 16 rows" in audit.claim


def test_no_label_is_drawn_twice_and_all_labels_settle_every_row():
    for seed in range(10):
        model, _, y, tests, rng = small(seed)
        audit = model.label_audit(tests, risk=1e-6, seed=seed)
        truth = true_labels(audit, y, rng, 0.2)
        while len(drawn := audit.draw(3, aim=1.0)):
            audit.record(drawn, truth[drawn])
        assert len(set(audit.drawn.tolist())) == len(audit.drawn)
        refitted = CertifiedClassifier(RIDGE, bias=LabelBias.flips(budget=1), threshold=0.3)
        if len(set(truth)) == 2:
            same = refitted.fit(small(seed)[1], truth).predict(tests) == model.predict(tests)
            np.testing.assert_array_equal(audit.confirmed, same)
            np.testing.assert_array_equal(audit.refuted, ~same)


def test_labels_outside_where_are_never_drawn():
    model, _, y, tests, _ = small(1)
    audit = model.label_audit(tests)
    while len(audit.draw(5, aim=1.0)):
        audit.record(audit.waiting, y[audit.waiting])
    free = (audit._effects.moves.lower < 0) | (audit._effects.moves.upper > 0)
    assert free[audit.drawn].all()
    assert not free.all()


def test_an_answer_counts_once_all_before_it_are_there():
    model, _, y, tests, _ = small(2)
    audit = model.label_audit(tests, risk=1e-6)
    drawn = audit.draw(4, aim=1.0)
    audit.record(drawn[[2, 0, 3]], y[drawn[[2, 0, 3]]])
    assert audit.n_counted == 1
    assert audit.waiting.tolist() == [drawn[1]]
    audit.record(drawn[1], y[drawn[1]])
    assert audit.n_counted == 4
    other = model.label_audit(tests, risk=1e-6)
    other.record(other.draw(4, aim=1.0), y[drawn])
    np.testing.assert_array_equal(audit.e_values, other.e_values)


def test_the_same_seed_draws_the_same_labels_whatever_is_true_and_another_does_not():
    model, _, _, tests, _ = small(3, n=30)
    audits = [model.label_audit(tests, seed=seed) for seed in (0, 0, 1)]
    drawn = [each.draw(8).tolist() for each in audits]
    assert drawn[0] == drawn[1] != drawn[2]


def test_what_nobody_can_tell_counts_as_what_does_most_harm():
    model, _, y, tests, _ = small(4)
    audits = [model.label_audit(tests, risk=1e-6) for _ in range(2)]
    drawn, _ = (each.draw(1, aim=1.0) for each in audits)
    audits[0].record(drawn, "?")
    audits[1].record(drawn, 1 - y[drawn])
    assert (audits[0].e_values <= audits[1].e_values).all()
    assert audits[0].wrong.tolist() == drawn.tolist()


def test_discoveries_are_those_of_e_bh_and_stay():
    rng = np.random.default_rng(5)
    X = np.eye(20)[rng.integers(0, 20, 900)]
    y = (rng.random(900) < np.linspace(0.1, 0.9, 20)[X.argmax(axis=1)]).astype(int)
    truth = np.where(rng.random(900) < 0.02, 1 - y, y)
    model = CertifiedClassifier(RIDGE, bias=LabelBias.flips(budget=1)).fit(X, y)
    audit = model.label_audit(np.eye(20), together="discoveries", risk=0.2)
    before = audit.confirmed
    for _ in range(15):
        drawn = audit.draw(20)
        audit.record(drawn, truth[drawn])
        e = np.sort(audit.e_values)[::-1]
        most = max((k for k in range(1, 21) if e[k - 1] >= 20 / (k * 0.2)), default=0)
        assert audit.confirmed.sum() == most
        assert (audit.confirmed | ~before).all()
        before = audit.confirmed
    assert before.any()


def test_a_list_is_confirmed_as_a_whole_or_not_at_all():
    model, _, y, _, _ = small(6, n=40)
    audit = model.label_audit([[1.0, 0.0], [1.0, 1.0], [-1.0, 1.0]], together="all")
    while not audit.reached.all() and len(drawn := audit.draw(1)):
        assert not audit.confirmed.any()
        assert audit.claim.startswith("nothing yet")
        audit.record(drawn, y[drawn])
    assert audit.confirmed.all() == audit.reached.all()


def test_signs_of_coefficients_and_contrasts_are_audited():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(300, 2))
    y = X @ [2.0, -1.0] + 0.1 * rng.normal(size=300)
    model = CertifiedRegressor(LinearRegression(), bias=LabelBias.shifts(1, budget=1)).fit(X, y)
    for asked, names in ((True, ("x0", "x1")), ({"sum": {"x0": 1, "x1": 1}}, ("sum",))):
        audit = model.label_audit(coefficients=asked)
        assert audit.names == names
        drawn = audit.draw(60, aim=1.0)
        audit.record(drawn, y[drawn])
        assert audit.confirmed.all()


def test_means_of_groups_and_gaps_are_audited_as_one_number():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(200, 2))
    y = X @ [2.0, -1.0]
    tests = rng.normal(size=(30, 2))
    model = CertifiedRegressor(LinearRegression(), bias=LabelBias.shifts(1, budget=1), radius=0.2)
    sums = {"mean": np.full(30, 1 / 30), "gap": np.repeat([1 / 15, -1 / 15], 15)}
    audit = model.fit(X, y).label_audit(tests, sums=sums, risk=1e-9)
    A = np.column_stack((X, np.ones(200)))
    z = np.array(list(sums.values())) @ np.column_stack((tests, np.ones(30))) @ np.linalg.pinv(A)
    np.testing.assert_allclose(
        [rise.sum() for rise in np.abs(z)],
        [
            audit._effects.moved(audit.claims, 0, 0, 0)[0][0] + sum(
                block[0] @ np.bincount(audit._effects.kind)
                for _, block in audit._effects.rises(audit.claims, np.array([at]))
            )
            for at in (0, 2)
        ],
    )  # fmt: skip
    assert audit.names == ("mean", "gap")
    drawn = audit.draw(100, aim=1.0)
    audit.record(drawn, y[drawn])
    assert (audit.e_values > 20).all()
    signs = model.label_audit(tests, sums=sums, decision=Sign())
    assert len(signs.claims) == 2


def test_expected_is_what_right_labels_then_bring():
    model, _, y, tests, _ = small(9, n=60)
    audit = model.label_audit(tests)
    expected = audit.expected(checks=[0, 20, 40])
    assert expected.counts.shape == (1, 3)
    drawn = audit.draw(20)
    audit.record(drawn, y[drawn])
    assert abs(audit.confirmed.sum() - expected.mean[1]) <= 1
    assert (audit.expected(0.2, checks=[20]).mean <= 3).all()
    assert len(audit.drawn) == 20  # nothing was drawn for it


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"risk": 0}, "risk must be"),
        ({"risk": 1.5}, "risk must be"),
        ({"together": "some"}, "together must be"),
        ({"seed": -1}, "seed must be"),
        ({"coefficients": True}, "one of the two"),
        ({"sums": [[1.0]]}, "one weight per row"),
        ({"sums": [[1.0, np.nan, 1.0]]}, "finite weights"),
    ],
)
def test_bad_audits_are_refused(arguments, said):
    model, _, _, tests, _ = small(0, "regression")
    with pytest.raises(InputError, match=said):
        model.label_audit(tests, **arguments)


def test_sums_of_a_classifier_need_a_decision():
    model, _, _, tests, _ = small(0)
    with pytest.raises(InputError, match="what must stay the same"):
        model.label_audit(tests, sums=np.ones((1, 3)))
    assert len(model.label_audit(tests, sums=np.ones((1, 3)), decision=Radius(0.1)).claims) == 2


def test_models_that_are_not_linear_in_their_labels_are_refused():
    X, y = np.arange(20.0)[:, None], np.arange(20) > 9
    model = CertifiedClassifier(LogisticRegression(), bias=LabelBias.flips(budget=1)).fit(X, y)
    with pytest.raises(InputError, match="label_audit is for models that are linear"):
        model.label_audit(X)


def test_bad_answers_are_refused_by_name_and_nothing_of_them_is_recorded():
    model, _, y, tests, _ = small(0)
    audit = model.label_audit(tests)
    drawn = audit.draw(3)
    other = next(row for row in range(14) if row not in drawn)
    for rows, labels, said in (
        ([drawn[0], other], [0, 0], f"training row {other} was not drawn"),
        (drawn[:2], [0, 7], f"the answer for row {drawn[1]} is 7, which is none of the classes"),
        (drawn[[0, 0]], [0, 1], f"row {drawn[0]} has two answers"),
        (drawn, [0, 1], "as many true labels"),
    ):
        with pytest.raises(InputError, match=said):
            audit.record(rows, labels)
        assert audit.waiting.tolist() == drawn.tolist()
    audit.record(drawn[0], y[drawn[0]])
    audit.record(drawn[0], y[drawn[0]])  # the same once more is no contradiction
    with pytest.raises(InputError, match="has two answers"):
        audit.record(drawn[:2], [1 - y[drawn[0]], 0])
    assert audit.n_counted == 1


def test_a_number_outside_its_interval_is_refused_with_what_to_do():
    model, _, y, tests, _ = small(0, "regression")
    audit = model.label_audit(tests)
    row = int(audit.draw(1)[0])
    with pytest.raises(InputError, match="fit with a wider bias, and start a new audit"):
        audit.record(row, y[row] + 1.5)
    with pytest.raises(InputError, match="finite number"):
        audit.record(row, np.nan)
    audit.record(row, y[row] + 1.0)
    assert audit.wrong.tolist() == [row]
