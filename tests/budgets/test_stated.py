"""What users state: samples, sums, clusters, totals and costs, and what is refused by name."""

import math
from fractions import Fraction

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from tests.effort import some
from unswayed import (
    BiasError,
    CertifiedClassifier,
    CertifiedRegressor,
    Cost,
    InputError,
    LabelBias,
    Sampled,
    Total,
    cross_certify,
)
from unswayed.labels.samples import most_wrong


def at_most(wrong, population, total, checked):
    """Return the probability that a random sample has at most so many wrong labels."""
    ways = sum(
        math.comb(total, found) * math.comb(population - total, checked - found)
        for found in range(wrong + 1)
    )
    return Fraction(ways, math.comb(population, checked))


@pytest.mark.parametrize("confidence", ["0.5", "0.9", "0.95", "0.999"])
def test_the_bound_of_a_sample_holds_with_its_confidence_whatever_is_wrong(confidence):
    level = Fraction(confidence)
    for population in range(1, some(13, 41)):
        for checked in {0, 1, 2, population // 3, population // 2, population - 1, population}:
            if not 0 <= checked <= population:
                continue
            bounds = [most_wrong(population, checked, wrong, level) for wrong in range(checked + 1)]
            for total in range(population + 1):
                # The chance of a sample whose bound is too low.
                missed = sum(
                    Fraction(
                        math.comb(total, wrong) * math.comb(population - total, checked - wrong),
                        math.comb(population, checked),
                    )
                    for wrong in range(checked + 1)
                    if bounds[wrong] < total
                )
                assert missed <= 1 - level


def test_the_bound_of_a_sample_is_the_largest_that_is_not_improbable():
    for population, checked, wrong in ((40, 10, 0), (40, 10, 3), (25, 25, 4), (30, 0, 0)):
        found = most_wrong(population, checked, wrong, Fraction(95, 100))
        last = population - (checked - wrong)
        assert found == last or at_most(wrong, population, found + 1, checked) <= Fraction(5, 100)
        assert found == wrong or at_most(wrong, population, found, checked) > Fraction(5, 100)


def data(n_rows=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    return X, (X[:, 0] + 0.3 * rng.normal(size=n_rows) > 0).astype(int)


def test_a_sampled_budget_is_its_count_and_says_how_sure_it_is():
    X, y = data()
    sample = Sampled(checked=30, wrong=1, confidence=0.95)
    certs = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=sample)).fit(X, y).certify(X)
    count = sample.most_wrong(60)
    plain = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=count)).fit(X, y).certify(X)
    assert certs.budget == plain.budget == count
    np.testing.assert_array_equal(certs.verdict, plain.verdict)
    np.testing.assert_array_equal(certs.low, plain.low)
    assert "95 % confidence" in certs.question
    assert "confidence" not in plain.question


def test_labels_that_were_checked_are_never_wrong_and_the_bound_is_about_the_others():
    _, y = data()
    rows = np.arange(30)
    sample = Sampled(checked=30, wrong=2, confidence=0.9, rows=rows)
    resolved = LabelBias.flips(budget=sample).resolve(y)
    assert not resolved.lower[rows].any()
    assert not resolved.upper[rows].any()
    assert resolved.budget.labels == sample.most_wrong(60) - 2


def test_samples_of_groups_add_up_and_their_confidences_are_combined():
    _, y = data()
    first = np.arange(60) < 40
    bias = LabelBias.flips(
        budget=Sampled(checked=20, wrong=1, confidence=0.95), where=first
    ) + LabelBias.flips(budget=Sampled(checked=10, wrong=0, confidence=0.99), where=~first)
    budget = bias.resolve(y).budget
    assert [part.labels for part in budget.limits] == [
        most_wrong(40, 20, 1, Fraction("0.95")),
        most_wrong(20, 10, 0, Fraction("0.99")),
    ]
    assert budget.confidence == Fraction("0.94")
    assert "94 % confidence" in str(budget)


def test_a_sum_of_one_bias_is_that_bias():
    bias = LabelBias.flips(budget=3)
    assert sum([bias]) is bias


def test_a_term_without_rows_adds_nothing_to_ranges_bit_for_bit():
    X, y = data()
    women = np.arange(60) < 30
    alone = LabelBias.flips(budget=4, where=women)
    both = alone + LabelBias.flips(budget=2, where=np.zeros(60, dtype=bool))
    first, second = (
        CertifiedClassifier(Ridge(), bias=bias).fit(X, y).certify(X) for bias in (alone, both)
    )
    np.testing.assert_array_equal(first.verdict, second.verdict)
    np.testing.assert_array_equal(first.low, second.low)
    np.testing.assert_array_equal(first.high, second.high)


def test_a_sum_is_certified_in_folds_each_term_for_its_own_rows():
    X, y = data()
    women = np.arange(60) % 2 == 0
    bias = LabelBias.flips(budget=3, where=women, direction="up") + LabelBias.flips(
        budget=1, where=~women
    )
    found = cross_certify(CertifiedClassifier(Ridge(), bias=bias), X, y, cv=3)
    assert len(found.verdict) == 60
    with pytest.raises(InputError, match="number of labels"):
        found.certify_together()
    with pytest.raises(InputError, match="number of labels"):
        found.certify_metric("selection_rate")


def test_one_label_set_for_all_rows_keeps_the_limits_of_a_sum():
    X, y = data(30)
    women = np.arange(30) % 2 == 0
    bias = LabelBias.flips(budget=2, where=women) + LabelBias.flips(budget=1, where=~women)
    model = CertifiedClassifier(Ridge(), bias=bias).fit(X, y)
    found = model.certify_together(X, time_limit=5)
    changed = found.witness.indices
    assert women[changed].sum() <= 2
    assert (~women)[changed].sum() <= 1
    labels = np.array(y)
    labels[changed] = found.witness.labels
    refit = Ridge().fit(X, labels).predict(X) > 0.5
    assert np.sum(refit != (Ridge().fit(X, y).predict(X) > 0.5)) >= found.at_least


REFUSED = {
    "overlap": lambda y: sum(
        LabelBias.flips(budget=1, where=np.arange(60) < end) for end in (60, 5)
    ).resolve(y),
    "negative cost": lambda y: Cost(1, [-1.0] * 60),
    "NaN cost": lambda y: Cost(1, [math.nan] * 60),
    "too few costs": lambda y: LabelBias.flips(budget=Cost(1, [1.0] * 9)).resolve(y),
    "a probability above 1": lambda y: Cost.from_probabilities([0.5, 1.5], surprise=3),
    "a probability that is NaN": lambda y: Cost.from_probabilities([math.nan], surprise=3),
    "more wrong than checked": lambda y: Sampled(checked=3, wrong=4, confidence=0.95),
    "more checked than rows": lambda y: LabelBias.flips(
        budget=Sampled(checked=61, wrong=4, confidence=0.95)
    ).resolve(y),
    "confidence of 95": lambda y: Sampled(checked=3, wrong=0, confidence=95),
    "confidence NaN": lambda y: Sampled(checked=3, wrong=0, confidence=math.nan),
    "rows twice": lambda y: Sampled(checked=2, wrong=0, confidence=0.9, rows=[1, 1]),
    "a row that is none": lambda y: LabelBias.flips(
        budget=Sampled(checked=1, wrong=0, confidence=0.9, rows=[60])
    ).resolve(y),
    "a total of flips": lambda y: LabelBias.flips(budget=Total(3)).resolve(y),
    "a negative total": lambda y: Total(-1),
    "a total that is NaN": lambda y: Total(math.nan),
    "a share of clusters": lambda y: LabelBias.flips(budget=0.1, clusters=["a"] * 60),
    "clusters of other rows": lambda y: LabelBias.flips(budget=1, clusters=["a"] * 9).resolve(y),
    "a missing cluster": lambda y: LabelBias.flips(budget=1, clusters=[None] * 60).resolve(y),
    "a cap on one bias": lambda y: LabelBias.flips(budget=1).capped(3),
    "a sum with a total": lambda y: (
        LabelBias.shifts(1, budget=Total(1)) + LabelBias.shifts(1, budget=1)
    ),
    "more terms after a cap": lambda y: (
        (
            LabelBias.flips(budget=1, where=np.arange(60) < 5)
            + LabelBias.flips(budget=1, where=np.arange(60) > 5)
        ).capped(1)
        + LabelBias.flips(budget=1)
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_makes_no_sense_is_refused_in_a_sentence(name):
    _, y = data()
    with pytest.raises(BiasError) as caught:
        REFUSED[name](y)
    assert len(str(caught.value)) > 40


def test_a_cap_below_every_part_is_what_counts():
    _, y = data()
    half = np.arange(60) < 30
    bias = (LabelBias.flips(budget=9, where=half) + LabelBias.flips(budget=9, where=~half)).capped(
        2
    )
    assert bias.resolve(y).budget.most_labels == 2


def test_a_model_with_labels_in_its_gradient_takes_a_sampled_count_and_refuses_other_kinds():
    X, y = data()
    sample = LabelBias.flips(budget=Sampled(checked=60, wrong=1, confidence=0.95))
    CertifiedClassifier(LogisticRegression(C=0.1), bias=sample).fit(X, y).certify(X[:3])
    clusters = LabelBias.flips(budget=1, clusters=np.arange(60) // 10)
    with pytest.raises(BiasError, match="number of labels"):
        CertifiedClassifier(LogisticRegression(), bias=clusters).fit(X, y)


def test_a_minimum_budget_is_in_the_unit_of_its_budget():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    bias = LabelBias.shifts(2.0, budget=Total(10))
    model = CertifiedRegressor(Ridge(), bias=bias, radius=0.1).fit(X, y)
    least = model.minimum_budget(X[:5])
    for row, total in zip(X[:5], least, strict=True):
        below = model.certify([row], budget=float(total) * 0.999)
        above = model.certify([row], budget=float(total) * 1.001)
        assert below.robust[0]
        assert not above.robust[0]
    assert "in all" in model.certify(X[:1]).question


def test_a_budget_of_another_kind_is_refused_when_asking():
    X, y = data()
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=1)).fit(X, y)
    with pytest.raises(InputError, match="kind"):
        model.certify(X, budget=Cost(3, np.ones(60)))
    with pytest.raises(BiasError, match="flips"):
        model.certify(X, budget=Total(3))


def test_files_and_pages_take_budgets_that_are_no_numbers_of_labels(tmp_path):
    X, y = data()
    bias = LabelBias.flips(budget=1, clusters=np.arange(60) // 10)
    certs = CertifiedClassifier(Ridge(), bias=bias).fit(X, y).certify(X)
    assert "summary" not in repr(certs)
    certs.save(tmp_path / "c.json", data=tmp_path / "c.npz")
    certs.report(tmp_path / "page.html")
    assert "cluster" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("seed", range(4))
def test_one_label_set_for_all_rows_keeps_within_a_total(seed):
    rng = np.random.default_rng(seed)
    X, y, most = rng.normal(size=(24, 3)), rng.normal(size=24), rng.uniform(0.2, 2, 24)
    for bias in (
        LabelBias.shifts(1, budget=Total(3.3)),
        LabelBias.intervals(-most, most, budget=Total(3.3)),
    ):
        model = CertifiedRegressor(Ridge(), bias=bias, radius=0.3).fit(X, y)
        found = model.certify_together(X, time_limit=3)
        added = np.zeros(24)
        added[found.witness.indices] = found.witness.labels - y[found.witness.indices]
        assert np.abs(added).sum() <= 3.3 * (1 + 1e-9)
        before, after = (Ridge().fit(X, each).predict(X) for each in (y, y + added))
        assert found.at_least <= np.sum(np.abs(before - after) > 0.3) <= found.at_most


@pytest.mark.parametrize("seed", range(6))
def test_one_label_set_for_all_rows_keeps_within_clusters_and_costs(seed):
    X, y = data(24, seed)
    cluster, costs = np.arange(24) // 4, np.random.default_rng(seed).uniform(0.5, 2, 24)
    for bias, within in (
        (LabelBias.flips(budget=2, clusters=cluster), lambda rows: len(set(cluster[rows])) <= 2),
        (LabelBias.flips(budget=Cost(3, costs)), lambda rows: costs[rows].sum() <= 3 + 1e-9),
    ):
        model = CertifiedClassifier(Ridge(), bias=bias).fit(X, y)
        found = model.certify_together(X, time_limit=5)
        assert within(found.witness.indices)
        labels = np.array(y)
        labels[found.witness.indices] = found.witness.labels
        before, after = (Ridge().fit(X, each).predict(X) > 0.5 for each in (y, labels))
        assert found.at_least <= np.sum(before != after) <= found.at_most


@pytest.mark.parametrize(
    "bias",
    [
        LabelBias.shifts(1, budget=Total(3)),
        LabelBias.shifts(1, budget=Sampled(checked=9, wrong=0, confidence=0.9)),
        LabelBias.shifts(1, budget=1, clusters=np.arange(60) // 10),
        LabelBias.shifts(1, budget=1, direction="up") + LabelBias.shifts(1, budget=1),
    ],
    ids=["total", "sample", "clusters", "sum"],
)
def test_rows_in_pieces_take_numbers_of_labels_only(bias):
    frame = pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    X, y = data()
    table = frame.from_pandas(pandas.DataFrame(X, columns=list("abc")).assign(y=y), npartitions=2)
    model = CertifiedRegressor(Ridge(), bias=bias, radius=0.1)
    with pytest.raises(BiasError, match="in pieces"):
        model.fit(table[list("abc")], table["y"])
