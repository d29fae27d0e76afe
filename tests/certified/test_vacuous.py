"""What is true and proves nothing is warned of: no label wrong, or one class for everyone."""

import warnings

import dask.array as da
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from unswayed import CertifiedClassifier, LabelBias, VacuousWarning, cross_certify
from unswayed.estimators import fit_in_pieces

rng = np.random.default_rng(5)
X = rng.normal(size=(60, 3))
Y = (X[:, 0] + 0.3 * rng.normal(size=60) > 0).astype(int)
RARE = (X[:, 0] > 1.8).astype(int)


def model(budget, estimator=None, **bias):
    flips = LabelBias.flips(budget=budget, **bias)
    return CertifiedClassifier(estimator or Ridge(), bias=flips)


def warned(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(each.message) for each in caught if each.category is VacuousWarning]


def test_a_share_below_one_label_warns_with_the_share_and_the_rows():
    (message,) = warned(lambda: model(0.01).fit(X, Y))
    assert "0.01 of 60 training rows" in message
    assert "pass 0.0167 or more" in message
    assert not warned(lambda: model(0.0167).fit(X, Y))


def test_a_share_is_one_of_all_rows_whatever_the_mask_selects():
    women = X[:, 1] > 1
    (message,) = warned(lambda: model(0.01, where=women).fit(X, Y))
    assert "of 60 training rows" in message


def test_a_share_in_a_question_warns_too():
    fitted = model(1).fit(X, Y)
    assert len(warned(lambda: fitted.certify(X, budget=0.01))) == 1
    assert len(warned(lambda: fitted.certify_together(X, budget=0.01))) == 1


def test_a_share_of_each_folds_training_rows_warns():
    messages = warned(lambda: cross_certify(model(0.018), X, Y, cv=10))  # 60 rows: 1.08 labels
    assert set(messages) == {messages[0]}
    assert "0.018 of 54 training rows" in messages[0]


def test_the_warning_names_the_line_that_asked():
    with pytest.warns(VacuousWarning) as caught:
        model(0.01).fit(X, Y)
    assert caught[0].filename == __file__


def test_code_of_no_module_is_warned_too():
    with pytest.warns(VacuousWarning, match="less than one label"):
        exec("fit(X, Y)", {"fit": model(0.01).fit, "X": X, "Y": Y})


@pytest.mark.parametrize("most_distinct", [0, 1000])
def test_a_share_is_one_of_all_rows_and_not_of_a_piece_or_of_different_rows(
    most_distinct, monkeypatch
):
    monkeypatch.setattr(fit_in_pieces, "MOST_DISTINCT", most_distinct)
    rows, labels = da.tile(da.from_array(X), (2, 1)), da.tile(da.from_array(Y), 2)
    assert not warned(lambda: model(0.01).fit(rows, labels))  # 1.2 of 120 labels, 0.6 of 60
    (message,) = warned(lambda: model(0.005).fit(rows, labels))
    assert "0.005 of 120 training rows" in message


def test_a_stated_count_of_zero_is_allowed_and_says_that_it_proves_nothing():
    certs = model(0).fit(X, Y).certify(X)
    assert "no label is wrong, which proves nothing" in repr(certs)


@pytest.mark.parametrize("estimator", [Ridge(), LogisticRegression()])
def test_a_classifier_that_says_one_class_warns_once_a_call(estimator):
    fitted = model(1, estimator).fit(X, RARE)
    (message,) = warned(lambda: fitted.certify(X))
    assert "predicts 0 for " in message


def test_folds_that_say_one_class_warn_once():
    assert len(warned(lambda: cross_certify(model(1), X, RARE, cv=5))) == 1


def test_few_rows_of_one_class_are_no_reason_to_warn():
    fitted = model(1).fit(X, Y)
    assert not warned(lambda: fitted.certify(X[fitted.predict(X) == 1][:9]))
    assert not warned(lambda: fitted.certify(X))
