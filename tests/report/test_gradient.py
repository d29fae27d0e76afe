"""Reports of logistic and Poisson regression say what is proven of them, and no more."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge

from unswayed import CertifiedClassifier, CertifiedRegressor, LabelBias
from unswayed.margins.decisions import Radius

RNG = np.random.default_rng(4)
X = RNG.normal(size=(120, 2))
TABLE = pd.DataFrame(X[:30], columns=["a", "b"])


@pytest.fixture(scope="module")
def poisson():
    counts = RNG.poisson(np.exp(0.6 + X @ [0.5, -0.3]))
    bias = LabelBias.shifts(1, budget=3, clip=(0, None))
    model = CertifiedRegressor(PoissonRegressor(alpha=0.1, tol=1e-9), bias=bias, radius=0.3)
    return model.fit(X, counts), counts[:30]


@pytest.fixture(scope="module")
def logistic():
    side = X @ [1.0, -1.0] + RNG.logistic(size=120) > 0
    model = CertifiedClassifier(
        LogisticRegression(C=0.03, tol=1e-9), bias=LabelBias.flips(budget=3)
    )
    return model.fit(X, np.where(side, "yes", "no"))


def text_of(certs, folder, **options):
    """What people read on the page, scripts and tags left out."""
    certs.report(folder / "r.html", table=TABLE, **options)
    page = re.sub(r"<(script|style).*?</\1>", "", (folder / "r.html").read_text(), flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


def test_no_page_of_theirs_promises_that_exact_arithmetic_settles_anything(
    poisson, logistic, tmp_path
):
    for certs in (poisson[0].certify(X[:30]), logistic.certify(X[:30])):
        text = text_of(certs, tmp_path)
        assert "rounding hides" not in text
        assert "resolve=" not in text
        assert "is known as a range: fewer labels than its first number are proven not to" in text
        assert "ranges are bounds and not exact" in text
        assert "Bars are proven bounds" in text


def test_a_page_of_counts_speaks_of_counts(poisson, tmp_path):
    text = text_of(poisson[0].certify(X[:30]), tmp_path)
    assert "a larger alpha" in text
    assert "Logarithms of expected counts are not linear in the labels" in text
    assert "stay within 0.3 even if" in text
    text = text_of(poisson[0].certify(X[:30], decision=Radius(0.2)), tmp_path)
    assert "stay within 0.2 in the logarithm even if" in text


def test_variance_explained_is_that_of_counts_and_not_of_their_logarithms(poisson, tmp_path):
    model, counts = poisson
    certs = model.certify(X[:30])
    missed = ((counts - certs.prediction) ** 2).sum() / ((counts - counts.mean()) ** 2).sum()
    text = text_of(certs, tmp_path, y_true=counts)
    assert f"{100 * (1 - missed):.1f} %" in text


def test_a_page_of_log_odds_speaks_of_classes_and_probabilities(logistic, tmp_path):
    text = text_of(logistic.certify(X[:30]), tmp_path)
    assert "120 of 120 training labels may really be the other class" in text
    assert "probability of yes" in text
    assert "a smaller C" in text


def test_frames_have_what_is_known_beyond_a_linear_model(logistic, poisson):
    certs = logistic.certify(X[:30])
    frame = certs.to_frame()
    np.testing.assert_array_equal(frame["probability_low"], certs.probability_low)
    np.testing.assert_array_equal(frame["enough"], certs.minimum_budgets.high)
    assert (frame["enough"] >= frame["minimum_budget"]).all()
    counts = poisson[0].certify(X[:30]).to_dict().keys()
    assert "enough" in counts
    assert "probability_low" not in counts
    linear = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=1)).fit(X, X[:, 0] > 0)
    assert "enough" not in linear.certify(X[:3]).to_dict()
