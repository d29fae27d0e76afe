"""Notebooks: tables of all results, certificates one by one, the weakest rows, links to pages."""

import html
import math
import os
import pickle
import re
import sys
import webbrowser
from html.parser import HTMLParser
from pathlib import Path

import matplotlib.pyplot
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression, Ridge, RidgeCV

import unswayed
from tests.effort import examples
from unswayed import (
    CertifiedClassifier,
    CertifiedRegressor,
    Cost,
    InputError,
    LabelBias,
    LabelNoise,
    ReportPage,
    RobustnessCurveDisplay,
    Verdict,
    cross_certify,
    robustness_curve,
)
from unswayed.results.certificates import MinimumBudgets

EVIL = "<script>alert(1)</script>"
RNG = np.random.default_rng(28)
N, T = 40, 30
X = RNG.normal(size=(N, 3))
X_TEST = RNG.normal(size=(T, 3)).round(1)
X_TEST[7] = X_TEST[3]  # equal rows need equally many labels
LABELS = np.where(X[:, 0] + RNG.normal(size=N) > 0, EVIL, "no")
FRAME = pd.DataFrame(X, columns=["a", "b", EVIL])
TESTS = pd.DataFrame(X_TEST, columns=["a", "b", EVIL], index=[f"{EVIL} {n}" for n in range(T)])


def classifier(estimator=None, **bias):
    bias = LabelBias.flips(**({"budget": 2} | bias))
    return CertifiedClassifier(Ridge() if estimator is None else estimator, bias=bias)


@pytest.fixture(scope="module")
def model():
    return classifier().fit(FRAME, LABELS)


@pytest.fixture
def certs(model):
    return model.certify(TESTS)


class Read(HTMLParser):
    """The cells of every line of a table, and all text; raises where tags do not match."""

    def __init__(self, page):
        super().__init__()
        self.open, self.lines, self.text, self.tags = [], [], "", []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.append(tag)
        if tag == "tr":
            self.lines.append([])
        if tag in ("td", "th"):
            self.lines[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data
        if self.open[-1] in ("td", "th"):
            self.lines[-1][-1] += data


def by_hand(low, high):
    """Rows in order, by Python's own sort."""
    known = [(0, math.inf) if math.isnan(a) else (a, b) for a, b in zip(low, high, strict=True)]
    return [row for *_, row in sorted((*ends, row) for row, ends in enumerate(known))]


# --- tables of everything -------------------------------------------------------------------


@pytest.fixture(scope="module")
def results():
    """One of each result, of rows, labels and groups whose names are hostile."""
    fitted = classifier().fit(FRAME, LABELS)
    certs, groups = fitted.certify(TESTS), [EVIL, "b"] * (T // 2)
    plan = fitted.review_plan(TESTS, labels=20)
    answers = dict(zip(plan.order.tolist(), plan.labels.tolist(), strict=True))
    audit = fitted.label_audit(TESTS)
    numbers = CertifiedRegressor(RidgeCV([1, 10]), bias=LabelBias.shifts(1, budget=1), radius=0.5)
    metric = fitted.certify_metric(TESTS, "selection_rate", groups=groups, time_limit=1)
    together = fitted.certify_together(TESTS, time_limit=1)
    weakest = certs.weakest(20)
    return {
        "CertificateSet": certs,
        "CertificateSet of coefficients": fitted.certify_coefficients(),
        "CrossCertificates": cross_certify(classifier(), FRAME, LABELS, cv=3),
        "CertificateRows": weakest,
        "Certificate": weakest[0],
        "Witness": weakest[0].witness(),
        "MinimumBudgets": certs.minimum_budgets,
        "Candidates": numbers.fit(FRAME, X[:, 0]).certify(TESTS).candidates,
        "OverturnProbability": fitted.overturn_probability(TESTS, LabelNoise(rate=0.05)),
        "GroupRates": certs.by_group(groups),
        "RobustnessCurve": robustness_curve(certs.minimum_budget),
        "TogetherCertificate": together,
        "CollectiveWitness": together.witness,
        "Summary": certs.summary(),
        "MetricRange": metric,
        "GroupRanges": metric.by_group,
        "ReviewPlan": plan,
        "ExpectedChecks": plan.expected_after(0.1, draws=2),
        "Reviewed": fitted.reviewed(FRAME, LABELS, answers | {int(plan.order[0]): "no"}),
        "LabelAudit": audit,
        "ParameterBox": fitted.parameter_box(),
    }


def test_every_result_is_a_table_that_is_short_and_escaped(results):
    for name, result in results.items():
        page = result._repr_html_()
        read = Read(page)
        tags = {"figure", "figcaption", "table", "thead", "tbody", "tr", "th", "td", "p"}
        assert {"table", "figcaption"} <= {*read.tags} <= tags, name
        assert len(read.lines) <= (61 if name == "CertificateRows" else 13), name
        assert len({*map(len, read.lines)}) == 1, name
        assert not re.search(r"(?<!-)color:(?!inherit)", page)  # light and dark notebooks


def test_no_result_is_missing_above(results):
    shown = {type(each) for each in results.values()}
    homes = ("results.", "evidence.", "estimators.cross")
    public = {
        getattr(unswayed, name) for name, home in unswayed._HOMES.items() if home.startswith(homes)
    }
    asked = {Verdict, LabelNoise, ReportPage}  # values that users pass, or single words
    assert {each for each in public if isinstance(each, type)} - asked <= shown


def test_lines_that_are_left_out_are_counted(certs, results):
    read = Read(certs._repr_html_())
    assert len(read.lines) == 13
    assert f"… and {T - 12} more rows" in read.text
    assert f"{100 * certs.robustness_rate:.1f} % of {T} rows proven robust" in read.text
    plan = results["ReviewPlan"]
    assert f"… and {len(plan) - 12} more checks" in Read(plan._repr_html_()).text


def test_the_table_has_the_weakest_rows_first_with_index_prediction_and_budget(certs):
    head, *lines = Read(certs._repr_html_()).lines
    assert head[:4] == ["row", "index", "prediction", "minimum budget"]
    least = certs.minimum_budgets
    for (row, index, prediction, budget, *_, verdict), at in zip(
        lines, by_hand(least.low, least.high), strict=False
    ):
        assert (int(row), index) == (at, TESTS.index[at])
        assert prediction == certs.prediction[at]
        assert budget.split()[0] == f"{least.low[at]:g}"
        assert verdict == str(certs.verdict[at])


def test_rows_without_an_index_of_their_own_are_numbered(model):
    plain = classifier().fit(X, LABELS)
    numbered = pd.DataFrame(X_TEST, columns=FRAME.columns)
    for certs in (plain.certify(X_TEST), model.certify(numbered)):
        assert Read(certs._repr_html_()).lines[0][:2] == ["row", "prediction"]
        assert certs.index.tolist() == list(range(T))
    names = ["a", "b", "c"]
    polars = classifier().fit(pl.DataFrame(X, names), LABELS).certify(pl.DataFrame(X_TEST, names))
    assert polars.index.tolist() == list(range(T))


@pytest.mark.parametrize(
    "index",
    [
        pd.date_range("2024-01-01", periods=T),
        pd.MultiIndex.from_product([["x", "y"], range(T // 2)]),
        pd.Index(range(100, 100 + T), name="prediction"),
        pd.Index(["same"] * T),
        pd.Index([None, *range(1, T)], dtype=object),
    ],
    ids=["dates", "two levels", "named", "duplicates", "missing"],
)
def test_any_index_is_shown(model, index):
    certs = model.certify(TESTS.set_axis(index))
    assert certs.index.tolist() == index.tolist()
    head, first, *_ = Read(certs._repr_html_()).lines
    assert head[1] == "index"
    label = certs.weakest(1)[0].index
    assert first[1] == ("missing" if label is None else str(label))


# --- order ----------------------------------------------------------------------------------

amounts = st.one_of(st.integers(0, 4).map(float), st.just(math.inf))
bounds = st.one_of(st.just((math.nan, math.nan)), st.tuples(amounts, amounts).map(sorted))


@settings(max_examples=examples(60))
@given(st.lists(bounds, max_size=12))
def test_the_weakest_rows_are_first_and_ties_go_to_the_lowest(ends):
    low, high = np.array(ends, dtype=float).reshape(-1, 2).T
    assert MinimumBudgets(low, high).weakest_first().tolist() == by_hand(low, high)


def test_the_weakest_rows_of_a_set(certs):
    least = certs.minimum_budget
    order = sorted(range(T), key=lambda row: (least[row], row))
    for n in (0, 1, 10, T, T + 5):
        assert certs.weakest(n).rows.tolist() == order[:n]
    assert len(certs.weakest()) == 10
    with pytest.raises(InputError, match="n must be a number of rows, 0 or more; got -1"):
        certs.weakest(-1)


def test_a_row_that_is_open_comes_after_one_that_is_proven_as_weak():
    found = MinimumBudgets(np.array([3, 3, np.nan, 2, 3.0]), np.array([np.inf, 3, np.nan, 9, 3.0]))
    assert found.weakest_first().tolist() == [2, 3, 1, 4, 0]
    shown = Read(found._repr_html_()).lines
    assert shown[1:3] == [["2", "unknown", "unknown"], ["3", "2", "9"]]
    assert shown[-1] == ["0", "3", "never"]


# --- one by one -----------------------------------------------------------------------------


def test_one_certificate_says_what_the_columns_say(certs):
    for row, one in enumerate(certs):
        assert one.row == row
        assert one.index == TESTS.index[row]
        assert (one.score, one.low, one.high) == (
            certs.score[row],
            certs.low[row],
            certs.high[row],
        )
        assert one.verdict is certs.verdict[row]
        assert (one.robust, one.method) == (certs.robust[row], certs.method[row])
        assert one.prediction == certs.prediction[row]
        assert one.minimum_budget == certs.minimum_budget[row]
        found, same = one.witness(), certs.witness(row)
        assert (found is None) == (same is None) == one.robust
        assert found is None or found.indices.tolist() == same.indices.tolist()
    assert certs[-1].row == T - 1
    assert certs[np.int64(-T)].row == 0


def test_a_certificate_prints_what_it_says(model, certs):
    weak = certs.weakest(1)[0]
    name = f"row {weak.row} (index {TESTS.index[weak.row]})"
    assert repr(weak).startswith(f"<Certificate: {name}, not-robust: same class if up to 2 labels")
    assert f"minimum budget: {weak.minimum_budget:g} label" in repr(weak)
    shown = dict(Read(weak._repr_html_()).lines)
    assert shown["verdict"] == "not-robust"
    sign = model.certify_coefficients()[2]
    assert repr(sign).startswith(f"<Certificate: coefficient {EVIL}, ")
    assert sign.index == EVIL


@pytest.mark.parametrize("row", [T, T + 5, -T - 1, [0, T]])
def test_a_row_out_of_range_is_an_index_error_that_says_what_there_is(certs, row):
    with pytest.raises(IndexError, match=rf"out of range: there are {T} .* from 0 to {T - 1}"):
        certs[row]


@pytest.mark.parametrize("which", ["first", 1.5, None, True, [[1]], (1, 2.5), TESTS.index[0]])
def test_what_is_no_row_number_is_refused(certs, which):
    with pytest.raises(TypeError, match="by row number, counted from 0, and not by"):
        certs[which]


def test_slices_masks_and_lists_select_rows(certs):
    assert certs[3:9:2].rows.tolist() == [3, 5, 7]
    assert certs[::-1].rows.tolist() == list(range(T))[::-1]
    assert certs[certs.robust].rows.tolist() == np.flatnonzero(certs.robust).tolist()
    assert certs[pd.Series(certs.robust)].rows.tolist() == certs[certs.robust].rows.tolist()
    assert certs[[5, -1, 5]].rows.tolist() == [5, T - 1, 5]
    assert certs[[5, 9]][1].row == certs[5:][4].row == 9
    assert certs[5:9][[True, False, False, True]].rows.tolist() == [5, 8]
    assert len(certs[[]]) == len(certs[T:]) == 0
    assert Read(certs[[]]._repr_html_()).text.startswith(f"0 of {T} rows")
    with pytest.raises(IndexError, match=f"the mask has length 2 but there are {T} certificates"):
        certs[[True, False]]
    assert [one.row for one in certs.weakest(3)] == certs.weakest(3).rows.tolist()
    assert certs.weakest(3).index.tolist() == TESTS.index[certs.weakest(3).rows].tolist()


# --- what printing costs --------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: classifier(LogisticRegression(C=0.01)),
        lambda: classifier(budget=Cost(3, np.linspace(1, 2, N))),
        lambda: classifier(RidgeCV([1, 10])),
    ],
    ids=["region", "knapsack", "candidates"],
)
def test_printing_computes_no_minimum_budgets_that_may_take_long(make, monkeypatch):
    certs = make().fit(FRAME, LABELS).certify(TESTS)

    def never(self):
        pytest.fail("printing asked for minimum budgets")

    with monkeypatch.context() as patch:
        patch.setattr(type(certs.source), "minimum_budgets", never)
        shown = [repr(certs), repr(certs[0]), certs[0]._repr_html_(), certs[:3]._repr_html_()]
        page = certs._repr_html_()
    assert all("minimum budget:" not in each for each in shown)
    assert "Minimum budgets are not computed for printing" in Read(page).text
    verdicts = [line[-1] for line in Read(page).lines[1:]]
    assert verdicts == sorted(verdicts, key=["not-robust", "undecided", "robust"].index)
    _ = certs.minimum_budget
    assert "minimum budget" in Read(certs._repr_html_()).lines[0]
    assert "minimum budget: " in repr(certs[0])


def test_rational_numbers_are_not_asked_for_by_printing(model):
    assert not model.certify(TESTS, resolve="exact").source.least_is_quick
    assert model.certify(TESTS).source.least_is_quick


def test_certificates_that_were_pickled_keep_what_is_shown(certs):
    again = pickle.loads(pickle.dumps(certs))
    assert again.index.tolist() == TESTS.index.tolist()
    assert again.weakest(5).rows.tolist() == certs.weakest(5).rows.tolist()
    assert Read(again._repr_html_()).lines == Read(certs._repr_html_()).lines
    assert again[0].minimum_budget == certs[0].minimum_budget


# --- pictures and pages ---------------------------------------------------------------------


@pytest.fixture
def pyplot():
    matplotlib.use("agg")
    yield matplotlib.pyplot
    matplotlib.pyplot.close("all")


@pytest.mark.usefixtures("pyplot")
def test_certificates_draw_their_curve_and_coefficients_their_ranges(model, certs):
    drawn, same = certs.plot(max_budget=5), RobustnessCurveDisplay.from_certificates(certs)
    assert drawn.rates["all rows"].tolist() == same.rates["all rows"][: len(drawn.budgets)].tolist()
    assert [*certs.plot(groups=["a", "b"] * (T // 2)).rates] == ["a", "b"]
    assert model.certify_coefficients().plot().names == list(FRAME.columns)
    assert pickle.loads(pickle.dumps(certs)).plot().budgets.tolist() == same.budgets.tolist()


def test_without_matplotlib_the_error_of_plot_names_the_extra(certs, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'unswayed\[plots\]'"):
        certs.plot()


def test_a_report_is_a_link(certs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = certs.report()
    assert isinstance(page, ReportPage)
    assert page.path == tmp_path / "unswayed-report.html"
    assert str(page) == os.fspath(page) == str(page.path)
    assert repr(page) == f"<ReportPage: {page.path}>"
    assert Path(page).read_text(encoding="utf-8").startswith("<!doctype html>")
    assert 'href="unswayed-report.html"' in page._repr_html_()


def test_a_link_is_relative_below_the_folder_and_escaped(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    below = ReportPage(tmp_path / "a b" / 'x"<y>.html')._repr_html_()
    assert 'href="a%20b/x%22%3Cy%3E.html"' in below
    assert "<y>" not in below
    elsewhere = ReportPage(tmp_path.parent / "r.html")
    assert f'href="{html.escape(elsewhere.path.as_uri())}"' in elsewhere._repr_html_()


def test_a_page_opens_in_a_browser(tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    ReportPage(tmp_path / "r.html").open()
    assert opened == [(tmp_path / "r.html").as_uri()]


def test_a_verdict_is_what_is_shown(certs):
    shown = {line[-1] for line in Read(certs[range(T)]._repr_html_()).lines[1:]}
    assert shown == {str(each) for each in certs.verdict} <= {str(each) for each in Verdict}
