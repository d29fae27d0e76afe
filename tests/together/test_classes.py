"""One set of labels for all rows with three or more classes, against all label sets."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import KFold

from tests.classes.oracle import label_sets
from tests.effort import some
from tests.naive import refit_scores
from unswayed import CertifiedClassifier, LabelBias, RowSum, cross_certify
from unswayed.exceptions import InputError

NAMES = np.array(["ant", "bee", "cow", "dog"])
NEAR = 1e-9


@dataclass(frozen=True)
class Problem:
    """A classifier of three or four classes on few rows, and what labels may become."""

    seed: int

    def __post_init__(self):
        rng = np.random.default_rng([self.seed, 27])
        n_classes = 4 if self.seed % 6 == 5 else 3
        n_rows = 6 if n_classes == 4 else int(rng.integers(5, 8))
        whole = self.seed % 3 == 0
        draw = (lambda *size: rng.integers(-1, 2, size).astype(float)) if whole else (
            lambda *size: rng.normal(size=size)
        )  # fmt: skip
        X = draw(n_rows, 2)
        labels = np.concatenate((np.arange(n_classes), rng.integers(n_classes, size=n_rows)))
        labels = rng.permutation(labels[:n_rows])
        tests = np.vstack((X[:1], draw(int(rng.integers(3, 5)), 2), X[:1]))
        table, to = np.ones((n_classes, n_classes), dtype=bool), None
        if self.seed % 4 == 1:
            table = np.eye(n_classes, dtype=bool) | (rng.random((n_classes, n_classes)) < 0.5)
            to = {
                NAMES[a]: [NAMES[b] for b in np.flatnonzero(table[a]) if b != a]
                for a in range(n_classes)
            }
        where = rng.random(n_rows) < 0.7 if self.seed % 5 == 2 else np.ones(n_rows, dtype=bool)
        own = labels[:, None] == np.arange(n_classes)
        weight = rng.integers(1, 4, n_rows).astype(float) if self.seed % 7 == 3 else None
        found = {
            "n_classes": n_classes, "X": X, "labels": labels, "tests": tests, "weight": weight,
            "allowed": np.where(where[:, None], table[labels], own),
            "options": {"to": to, "where": where}, "budget": int(rng.integers(0, 4)),
            "alpha": float([0.5, 2.0, 0.125][self.seed % 3]), "one": bool(self.seed % 11),
            "codes": (-1.0, 1.0) if self.seed % 2 == 0 else (0.0, 1.0),
            "y_true": rng.integers(n_classes, size=len(tests)),
            "groups": np.array(["a", "b"])[np.arange(len(tests)) % 2],
        }  # fmt: skip
        self.__dict__.update(found)

    def fitted(self):
        kind = RidgeClassifier if self.codes[0] < 0 else Ridge
        bias = LabelBias.flips(budget=self.budget, **self.options)
        return CertifiedClassifier(
            kind(alpha=self.alpha, fit_intercept=self.one), bias=bias, trust="sample_weight"
        ).fit(self.X, NAMES[self.labels], sample_weight=self.weight)

    @cached_property
    def sets(self):
        """Every admissible vector of class numbers, the given one first."""
        return np.array(list(label_sets(self.labels, self.allowed, self.budget)))

    def classes(self, sets):
        """(label sets, tests): the class of each row, among classes that some label has."""
        n, number = len(self.labels), np.arange(self.n_classes)
        model = {"alpha": self.alpha, "fit_intercept": self.one, "sample_weight": self.weight}
        base = refit_scores(self.X, np.vstack((np.zeros(n), np.eye(n))), self.tests, **model)
        has = sets[:, None, :] == number[:, None]
        columns = np.where(has, self.codes[1], self.codes[0])
        scores = columns @ (base[1:] - base[0]) + base[0]
        scores = np.where(has.any(axis=2)[:, :, None], scores, -np.inf)
        return np.argmax(scores >= scores.max(axis=1, keepdims=True) - NEAR, axis=1)

    @cached_property
    def said(self):
        return self.classes(self.sets)

    def replayed(self, witness):
        changed = self.labels.copy()
        changed[witness.indices] = np.searchsorted(NAMES, witness.labels)
        assert (changed != self.labels).sum() == len(witness) <= self.budget
        assert self.allowed[np.arange(len(changed)), changed].all()
        return self.classes(changed[None])[0]


def metric_values(problem, name, said):
    """Values of a metric, one per label set."""
    kind, truth = name.partition("_difference")[0], problem.y_true
    if kind == "accuracy":
        return (said == truth).mean(axis=1)
    counts = said == 1  # "bee"
    if kind == "selection_rate":
        return counts.mean(axis=1)
    if kind == "true_positive_rate":
        return counts[:, truth == 1].mean(axis=1)
    rates = [counts[:, problem.groups == each].mean(axis=1) for each in ("a", "b")]
    return np.abs(rates[0] - rates[1])


@pytest.mark.parametrize("seed", range(some(30, 80)))
def test_counts_are_between_the_bounds_and_witnesses_overturn_what_they_say(seed):
    problem = Problem(seed)
    found = problem.fitted().certify_together(problem.tests, time_limit=some(1, 2))
    truth = (problem.said != problem.said[0]).sum(axis=1).max()
    assert found.at_least <= truth <= found.at_most <= found.fragile <= len(problem.tests)
    after = problem.replayed(found.witness)
    assert (after != problem.said[0])[found.witness.overturned].all()
    assert len(found.witness.overturned) == found.at_least


@pytest.mark.filterwarnings("ignore::unswayed.exceptions.SolverPrecisionWarning")
@pytest.mark.parametrize("seed", range(some(15, 40)))
def test_summaries_hold_for_all_label_sets(seed):
    problem = Problem(seed)
    certs = problem.fitted().certify(problem.tests)
    found, changed = certs.summary(), (problem.said != problem.said[0]).sum(axis=1)
    assert found.at_least <= changed.max() <= found.at_most <= len(certs) - found.robust
    largest = 0 if found.random is None else found.random.largest
    assert largest <= changed.max() / len(certs)


def test_summaries_count_rows_of_classes_that_can_lose_all_of_their_labels():
    rng = np.random.default_rng(5)
    X, labels = rng.normal(size=(30, 2)), np.arange(30) % 3
    X += 2 * np.eye(3)[labels][:, :2]
    bias = LabelBias.flips(budget=12)
    certs = CertifiedClassifier(Ridge(), bias=bias).fit(X, labels).certify(X)
    found = certs.summary()
    assert not certs.robust.any()
    assert 10 <= found.at_least <= found.at_most == 30
    assert f"together: {found.others()['together']}" in str(certs)


def test_many_rows_are_counted_one_at_a_time():
    rng = np.random.default_rng(6)
    X, labels = rng.normal(size=(700, 3)), rng.integers(4, size=700)
    certs = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=20)).fit(X, labels).certify(X)
    found = certs.summary()
    assert found.at_most == len(certs) - found.robust
    assert found.at_least is None
    assert "and some" not in found.lines()["together"]


def test_most_counts_are_found_exactly():
    met = [Problem(seed) for seed in range(some(20, 40))]
    found = [each.fitted().certify_together(each.tests, time_limit=5) for each in met]
    truth = [int((each.said != each.said[0]).sum(axis=1).max()) for each in met]
    exact = [one.at_least == one.at_most == true for one, true in zip(found, truth, strict=True)]
    assert np.mean(exact) >= 0.5
    assert all(true == one.at_most for one, true in zip(found, truth, strict=True) if one.proven)


@pytest.mark.parametrize("seed", range(some(15, 40)))
@pytest.mark.parametrize(
    "name", ["selection_rate", "accuracy", "true_positive_rate", "demographic_parity_difference"]
)
def test_values_of_metrics_are_within_their_ranges(seed, name):
    problem = Problem(seed)
    if name == "true_positive_rate" and not (problem.y_true == 1).any():
        problem.y_true[0] = 1
    given = {"groups": problem.groups} if name.endswith("difference") else {}
    given |= {} if name == "accuracy" else {"positive": "bee"}
    if name in ("accuracy", "true_positive_rate"):
        given["y_true"] = NAMES[problem.y_true]
    found = problem.fitted().certify_metric(problem.tests, name, time_limit=some(1, 2), **given)
    values = metric_values(problem, name, problem.said)
    assert found.low - 1e-9 <= values.min() <= found.inner_low + 1e-9
    assert found.inner_high - 1e-9 <= values.max() <= found.high + 1e-9
    assert abs(found.value - values[0]) < 1e-9
    for witness, end in (
        (found.witness_low, found.inner_low),
        (found.witness_high, found.inner_high),
    ):
        there = metric_values(problem, name, problem.replayed(witness)[None])[0]
        assert there <= end + 1e-9 if witness is found.witness_low else there >= end - 1e-9


@pytest.mark.parametrize("seed", range(some(6, 15)))
def test_a_ratio_of_rates_is_within_its_range(seed):
    problem = Problem(seed)
    model, ask = problem.fitted(), {"groups": problem.groups, "positive": "ant", "time_limit": 2}
    try:
        found = model.certify_metric(problem.tests, "demographic_parity_ratio", **ask)
    except InputError as error:
        if "denominator" not in str(error):
            raise
        return
    rates = [(problem.said == 0)[:, problem.groups == each].mean(axis=1) for each in "ab"]
    some_rate = np.maximum(*rates) > 0  # where both are 0, their ratio is undefined
    values = np.minimum(*rates)[some_rate] / np.maximum(*rates)[some_rate]
    assert found.low - 1e-9 <= values.min() <= found.inner_low + 1e-9
    assert found.inner_high - 1e-9 <= values.max() <= found.high + 1e-9


# --- reviews ----------------------------------------------------------------------------------


def robust_rows(problem, checked):
    """How many rows no admissible label set overturns that leaves the checked labels alone."""
    spared = (problem.sets[:, checked] == problem.labels[checked]).all(axis=1)
    return int((problem.said[spared] == problem.said[0]).all(axis=0).sum())


@pytest.mark.parametrize("seed", range(some(15, 40)))
def test_no_label_set_that_spares_checked_labels_overturns_more_rows_than_a_plan_says(seed):
    problem = Problem(seed)
    plan = problem.fitted().review_plan(problem.tests, labels=3)
    truth = [robust_rows(problem, plan.order[:many]) for many in range(len(plan) + 1)]
    assert (plan.robust_after <= truth).all()
    assert (np.diff(plan.robust_after) >= 0).all()
    assert plan.labels.tolist() == NAMES[problem.labels[plan.order]].tolist()
    assert (problem.allowed[plan.order].sum(axis=1) > 1).all()


def test_a_review_makes_rows_of_several_classes_robust():
    rng = np.random.default_rng(3)
    rows, names = rng.normal(size=(80, 3)), np.array(["a", "b", "c"])
    labels = names[np.argmax(rows + rng.normal(size=rows.shape), axis=1)]
    model = CertifiedClassifier(RidgeClassifier(), bias=LabelBias.flips(budget=2))
    model.fit(rows, labels)
    tests = rng.normal(size=(40, 3))
    plan = model.review_plan(tests, labels=12)
    assert plan.robust_after[0] == model.certify(tests).robust.sum()
    assert plan.robust_after[-1] > plan.robust_after[0]
    assert plan.robust_after[-1] >= plan.baselines["random"][-1]
    # As many are robust once the answers say that all labels are right, and not only in the plan.
    answers = {int(row): labels[row] for row in plan.order}
    again = model.reviewed(rows, labels, answers)
    assert again.model.certify(tests).robust.sum() == plan.robust_after[-1]
    spared = model.review_plan(tests, labels=0, exclude=plan.order)
    assert spared.robust_after.tolist() == [plan.robust_after[-1]]
    expected = plan.expected_after(0.1, draws=5)
    assert (expected.mean > 0).all()
    none_wrong = plan.expected_after(0.0, draws=1)
    assert none_wrong.mean.tolist() == plan.robust_after[none_wrong.checks].tolist()


# --- words, kinds and refusals ----------------------------------------------------------------

X = np.repeat(np.eye(3), 5, axis=0)
Y = [*"aaaab", *"bbbbc", *"cccca"]


def fitted(budget=1, estimator=None):
    model = estimator or Ridge(alpha=1.0, fit_intercept=False)
    return CertifiedClassifier(model, bias=LabelBias.flips(budget=budget)).fit(X, Y)


def test_one_label_set_serves_rows_of_all_classes():
    """Each of the three rows falls with two labels of its own, so that two sets never meet."""
    rows = np.eye(3)
    assert fitted(2).certify(rows).robust.tolist() == [False, False, False]
    found = fitted(2).certify_together(rows)
    assert (found.at_least, found.at_most, found.fragile) == (1, 1, 3)
    assert str(found.witness) == "2 label changes overturn 1 prediction"
    assert set(found.witness.labels.tolist()) <= {"a", "b", "c"}
    assert fitted(1).certify_together(rows).at_most == 0


def test_weights_and_where_count_rows_of_several_classes():
    rows = np.eye(3)
    weighed = fitted(2).certify_together(rows, weights=[1, 0.5, 3])
    assert (weighed.at_least, weighed.at_most) == (3, 3)
    some_rows = fitted(2).certify_together(rows, where=[True, True, False])
    assert (some_rows.at_least, some_rows.at_most, some_rows.n_rows) == (1, 1, 2)


@pytest.mark.parametrize("estimator", [KernelRidge(alpha=1.0), RidgeClassifier(alpha=1.0)])
def test_other_models_and_budgets_have_bounds_that_hold(estimator):
    rows = np.vstack((np.eye(3), [[0.5, 0.5, 0], [0.4, 0.3, 0.3]]))
    first = np.arange(len(X)) < 7
    parts = LabelBias.flips(budget=1, where=first) + LabelBias.flips(budget=1, where=~first)
    for bias in (LabelBias.flips(budget=2), parts, parts.capped(1)):
        model = CertifiedClassifier(estimator, bias=bias).fit(X, Y)
        alone = int((~model.certify(rows).robust).sum())
        found = model.certify_together(rows, time_limit=2)
        assert found.at_least <= found.at_most <= alone
        labels = np.array(Y)
        labels[found.witness.indices] = found.witness.labels
        again = CertifiedClassifier(estimator, bias=bias).fit(X, labels)
        assert (again.predict(rows) != model.predict(rows)).sum() >= found.at_least
        assert found.at_least or not alone


def test_the_class_in_question_has_to_be_named():
    model, rows = fitted(2), np.eye(3)
    with pytest.raises(InputError, match=r"about one class against all others.*positive='c'"):
        model.certify_metric(rows, "selection_rate")
    with pytest.raises(InputError, match="positive='d' is no class of the training labels"):
        model.certify_metric(rows, "selection_rate", positive="d")
    with pytest.raises(InputError, match="metrics of your own tell two classes apart"):
        model.certify_metric(rows, RowSum(lambda _, said: said == "a"))
    with pytest.raises(InputError, match="compares predictions with true classes"):
        model.certify_metric(rows, "accuracy")
    with pytest.raises(InputError, match="'d', which is none of the classes"):
        model.certify_metric(rows, "accuracy", y_true=["a", "b", "d"])
    two = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=1)).fit(X, np.array(Y) == "a")
    assert two.certify_metric(rows, "selection_rate", positive=True).value == pytest.approx(1 / 3)
    with pytest.raises(InputError, match="of two classes the second one, True"):
        two.certify_metric(rows, "selection_rate", positive=False)


def test_what_is_not_offered_is_refused_by_name(tmp_path):
    model, rows = fitted(2), np.eye(3)
    with pytest.raises(InputError, match="direction='up' is about one score"):
        model.certify_together(rows, direction="up")
    for found in (
        model.certify_together(rows),
        model.certify_metric(rows, "selection_rate", positive="a"),
    ):
        with pytest.raises(InputError, match="files about several classes prove single rows"):
            found.save(tmp_path / "c.json")
    folds = cross_certify(model, X, Y, cv=KFold(3, shuffle=True, random_state=0))
    with pytest.raises(InputError, match="models of all folds is not offered for three or more"):
        folds.source.check_joint()
    with pytest.raises(InputError, match="linear in their labels, and LogisticRegression is not"):
        CertifiedClassifier(LogisticRegression(), bias=LabelBias.flips(budget=1)).fit(
            X, np.array(Y) == "a"
        ).certify_together(rows)


def test_rows_whose_class_is_open_are_never_counted_as_overturned():
    """Two classes that tie exactly: rounding hides whose the row is."""
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(4, 3))
    features = np.vstack((rows, rows, rows))
    labels = np.repeat(["a", "b", "c"], 4)
    model = CertifiedClassifier(Ridge(alpha=0.3), bias=LabelBias.flips(budget=1))
    for where in (None, np.zeros(12, dtype=bool)):
        model.set_params(bias=LabelBias.flips(budget=1, where=where))
        found = model.fit(features, labels).certify_together(rows, time_limit=1)
        assert found.at_least == 0
        assert found.at_most == 4


def test_rows_on_the_threshold_stay_open_if_no_label_may_move():
    rows = np.random.default_rng(5).normal(size=(4, 3))
    bias = LabelBias.flips(budget=1, where=np.zeros(8, dtype=bool))
    model = CertifiedClassifier(Ridge(alpha=0.3), bias=bias)
    found = model.fit(np.vstack((rows, rows)), np.repeat([0, 1], 4)).certify_together(rows)
    assert (found.at_least, found.at_most) == (0, 4)


def test_no_labels_overturn_nothing():
    found = fitted(0).certify_together(np.eye(3))
    assert (found.at_least, found.at_most, len(found.witness)) == (0, 0, 0)
    rate = fitted(0).certify_metric(np.eye(3), "selection_rate", positive="b")
    assert (rate.low, rate.high) == pytest.approx((1 / 3, 1 / 3))
