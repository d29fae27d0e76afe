"""One set of wrong labels against the models of all folds, compared with refits on every set."""

import itertools

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from unswayed import CertifiedClassifier, CertifiedRegressor, LabelBias, cross_certify
from unswayed.exceptions import InputError

BUDGET = 2


def rows(seed, n_rows=16):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 3, n_rows), rng.normal(size=n_rows).round(1)])
    y = (X[:, 0] + X[:, 1] + rng.normal(0, 0.7, n_rows) > 1).astype(int)
    y[:2] = 0, 1
    weight = rng.integers(1, 4, n_rows).astype(float) if seed % 2 else None
    return X, y, weight, rng.choice(["a", "b"], n_rows, p=[0.4, 0.6])


def scores(folds, X, y, weight):
    """Scores of all rows, each by a model of scikit-learn alone that the other folds train."""
    found = np.empty(len(y))
    for fold in folds:
        own = None if weight is None else weight[fold.train]
        model = Ridge(alpha=1.0).fit(X[fold.train], y[fold.train], own)
        found[fold.test] = model.predict(X[fold.test])
    return found


def every_set(y):
    for size in range(BUDGET + 1):
        for changed in itertools.combinations(range(len(y)), size):
            other = y.copy()
            other[list(changed)] = 1 - other[list(changed)]
            yield other


def certified(seed):
    X, y, weight, group = rows(seed)
    model = CertifiedClassifier(Ridge(alpha=1.0), bias=LabelBias.flips(budget=BUDGET))
    return cross_certify(model, X, y, cv=3, sample_weight=weight), X, y, weight, group


@pytest.mark.parametrize("seed", range(4))
def test_no_label_set_overturns_more_rows_of_all_folds_and_the_witness_overturns_its_own(seed):
    certs, X, y, weight, group = certified(seed)
    folds, named, among = certs.source.folds, np.arange(1.0, len(y) + 1), group == "a"
    before = scores(folds, X, y, weight) > 0.5
    found = certs.certify_together(time_limit=3)
    up = certs.certify_together(time_limit=3, direction="up", where=among, weights=named)
    for other in every_set(y):
        after = scores(folds, X, other, weight) > 0.5
        assert (after != before).sum() <= found.at_most
        assert named[(after & ~before) & among].sum() <= up.at_most
    changed = y.copy()
    changed[found.witness.indices] = found.witness.labels
    assert (changed != y).sum() == len(found.witness) <= BUDGET
    turned = np.flatnonzero((scores(folds, X, changed, weight) > 0.5) != before)
    assert set(found.witness.overturned) <= set(turned)
    assert found.at_least == len(found.witness.overturned) > 0
    assert found.fragile == (~certs.robust).sum()


@pytest.mark.parametrize("seed", range(3))
def test_no_label_set_leaves_the_range_of_a_metric_of_all_folds(seed):
    certs, X, y, weight, group = certified(seed)
    rate, gap = (
        certs.certify_metric(name, groups=group, time_limit=3)
        for name in ("selection_rate", "demographic_parity_difference")
    )
    reached = []
    for other in every_set(y):
        after = scores(certs.source.folds, X, other, weight) > 0.5
        own = {name: after[group == name].mean() for name in "ab"}
        reached.append((after.mean(), abs(own["a"] - own["b"]), own["a"], own["b"]))
    ranges = rate, gap, rate.by_group["a"], rate.by_group["b"]
    for one, values in zip(ranges, np.transpose(reached), strict=True):
        assert one.low - 1e-12 <= values.min() <= one.inner_low + 1e-12
        assert one.inner_high - 1e-12 <= values.max() <= one.high + 1e-12
        assert one.value == pytest.approx(values[0])


@pytest.mark.parametrize("seed", range(3))
def test_the_range_of_a_mean_of_all_folds_is_what_the_strongest_labels_reach(seed):
    X, _, weight, group = rows(seed)
    rng = np.random.default_rng(seed)
    y = rng.normal(size=len(X))
    model = CertifiedRegressor(Ridge(alpha=1.0), bias=LabelBias.shifts(0.5, budget=2), radius=1)
    certs = cross_certify(model, X, y, cv=3, sample_weight=weight)
    mean, gap = (
        certs.certify_metric(name, groups=group)
        for name in ("mean_prediction", "mean_prediction_difference")
    )
    base = scores(certs.source.folds, X, y, weight)
    unit = np.array(
        [scores(certs.source.folds, X, y + row, weight) - base for row in np.eye(len(y))]
    )
    reach = np.sort(np.abs(0.5 * unit.mean(axis=1)))[-2:].sum()
    assert mean.value == pytest.approx(base.mean())
    assert (mean.low, mean.high) == pytest.approx((base.mean() - reach, base.mean() + reach))
    apart = unit[:, group == "a"].mean(axis=1) - unit[:, group == "b"].mean(axis=1)
    now = base[group == "a"].mean() - base[group == "b"].mean()
    most = np.sort(np.abs(0.5 * apart))[-2:].sum()
    assert gap.high == pytest.approx(abs(now) + most)
    assert gap.low == pytest.approx(max(0, abs(now) - most))


def test_one_set_of_labels_for_models_that_are_not_linear_is_refused():
    X, y, _, _ = rows(0, 24)
    model = CertifiedClassifier(LogisticRegression(C=0.01), bias=LabelBias.flips(budget=1))
    certs = cross_certify(model, X, y, cv=2)
    with pytest.raises(InputError, match="linear in their labels"):
        certs.certify_together()


def test_a_metric_that_needs_the_labels_of_rows_that_train_other_folds_is_refused():
    certs, *_ = certified(0)
    for name in ("accuracy", "equalized_odds_difference"):
        with pytest.raises(InputError, match="may be wrong themselves"):
            certs.certify_metric(name)


def test_a_certificate_of_all_folds_is_not_written_to_a_file_of_one_model(tmp_path):
    certs, *_ = certified(0)
    with pytest.raises(InputError, match="these 3 folds have one each"):
        certs.certify_together(time_limit=0).save(tmp_path / "c.json")
