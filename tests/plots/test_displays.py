"""What displays draw is what was certified: the data on the axes, not that something is drawn."""

import subprocess
import sys

import numpy as np
import pytest
from matplotlib import pyplot as plt
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unswayed import (
    CertifiedClassifier,
    CertifiedRegressor,
    GroupDisplay,
    InputError,
    LabelBias,
    MetricRangeDisplay,
    RangeDisplay,
    RobustnessCurveDisplay,
    Total,
    TradeoffDisplay,
    Verdict,
)


def segments(collection):
    return np.array(collection.get_segments())


def points(line):
    return np.array(line.get_xdata(), float), np.array(line.get_ydata(), float)


# curves


def test_a_curve_shows_the_share_of_rows_that_more_labels_are_needed_for(model, rows, certs):
    display = RobustnessCurveDisplay.from_estimator(model, rows[2])
    budgets, percent = points(display.line_)
    least = certs.minimum_budget
    assert set(budgets) == {0.0, *least[np.isfinite(least)]}
    assert percent == pytest.approx([100 * (least > k).mean() for k in budgets])
    assert display.line_.get_drawstyle() == "steps-post"
    assert display.ax_.get_xlabel() == "labels wrong"


def test_a_curve_of_certificates_is_that_of_the_estimator(model, rows, certs):
    made = RobustnessCurveDisplay.from_certificates(certs)
    again = RobustnessCurveDisplay.from_estimator(model, rows[2])
    assert np.array_equal(points(made.line_), points(again.line_))


def test_a_curve_of_an_estimator_takes_minimum_budgets_alone_in_their_unit(rows, monkeypatch):
    X, _, X_test, *_ = rows
    bias = LabelBias.shifts(1, budget=Total(2))
    model = CertifiedRegressor(Ridge(), bias=bias, radius=0.1).fit(X, X[:, 0])
    made = RobustnessCurveDisplay.from_certificates(model.certify(X_test))
    monkeypatch.setattr(CertifiedRegressor, "certify", None)
    again = RobustnessCurveDisplay.from_estimator(model, X_test)
    assert np.array_equal(points(made.line_), points(again.line_))
    assert made.ax_.get_xlabel() == again.ax_.get_xlabel() != "labels wrong"


def test_every_group_has_a_curve_of_its_own_rows(certs, rows):
    groups = rows[4]
    display = RobustnessCurveDisplay.from_certificates(certs, groups=groups, max_budget=7)
    assert [line.get_label() for line in display.lines_] == ["a", "b"]
    for name, line in zip("ab", display.lines_, strict=True):
        budgets, percent = points(line)
        mine = certs.minimum_budget[groups == name]
        assert percent == pytest.approx([100 * (mine > k).mean() for k in budgets])
        assert budgets[-1] == 7
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["a", "b"]


def test_a_row_that_nothing_is_known_of_is_robust_at_no_budget():
    class Half:
        minimum_budget = np.array([np.nan, np.inf])
        unit = "labels"

    _, percent = points(RobustnessCurveDisplay.from_certificates(Half()).line_)
    assert percent.tolist() == [50.0]


# ranges


def test_ranges_and_values_are_those_of_the_certificates(model, rows, certs):
    display = RangeDisplay.from_estimator(model, rows[2])
    assert set(display.lines_) == set(certs.verdict)
    for verdict, line in display.lines_.items():
        mine = np.flatnonzero(certs.verdict == verdict)
        values, places = points(line)
        assert np.array_equal(values, certs.score[mine])
        assert np.array_equal(places, mine)
        ends = segments(display.ranges_[verdict])
        assert np.array_equal(ends[:, :, 0], np.c_[certs.low[mine], certs.high[mine]])
    assert display.reference_.get_xdata()[0] == model.threshold_
    assert [text.get_text() for text in display.ax_.get_yticklabels()][:2] == ["row 0", "row 1"]


def test_rows_can_be_chosen(certs):
    display = RangeDisplay.from_certificates(certs, rows=[4, 2])
    assert display.names == ["row 4", "row 2"]
    assert display.values.tolist() == certs.score[[4, 2]].tolist()
    with pytest.raises(InputError, match="0 to 24"):
        RangeDisplay.from_certificates(certs, rows=[25])


def test_many_ranges_stand_side_by_side_in_order_of_their_values(rows):
    X, y, *_ = rows
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=2)).fit(X, y)
    display = RangeDisplay.from_estimator(model, X)
    found = np.concatenate([np.c_[points(line)] for line in display.lines_.values()])
    assert len(found) == len(X)
    assert (np.diff(found[np.argsort(found[:, 0]), 1]) >= 0).all()
    assert display.ax_.get_ylabel() == "score"


def test_coefficients_are_drawn_with_their_names_against_zero(model):
    display = RangeDisplay.from_coefficients(model, contrasts={"x0 - x1": {"x0": 1, "x1": -1}})
    expected = model.certify_coefficients(contrasts={"x0 - x1": {"x0": 1, "x1": -1}})
    assert display.names == ["x0 - x1"]
    assert display.reference == 0
    assert (display.low[0], display.high[0]) == (expected.low[0], expected.high[0])


def test_a_range_without_ends_reaches_beyond_all_others():
    display = RangeDisplay(
        [1.0, 2.0], [0.5, -np.inf], [1.5, np.inf], [Verdict.ROBUST, Verdict.UNDECIDED]
    ).plot()
    (low, high) = segments(display.ranges_[Verdict.UNDECIDED])[0, :, 0]
    assert low < 0.5
    assert high > 2.0
    with pytest.raises(InputError, match="nothing to draw"):
        RangeDisplay([np.nan], [-np.inf], [np.inf], [Verdict.UNDECIDED]).plot()


# groups


def test_groups_are_drawn_with_the_intervals_of_their_rates(model, rows, certs):
    groups = rows[4]
    display = GroupDisplay.from_estimator(model, rows[2], groups)
    rates = certs.by_group(groups)
    assert points(display.line_)[0] == pytest.approx(100 * rates.rate)
    assert segments(display.intervals_)[:, :, 0] == pytest.approx(100 * rates.intervals())
    names = [f"{g} ({n})" for g, n in zip(rates.groups, rates.count, strict=True)]
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == names
    assert display.ax_.get_title().startswith(f"gap {100 * rates.gap:.1f} points")


# metrics


def test_a_metric_is_drawn_with_what_is_proven_and_what_is_reached(model, rows):
    found = model.certify_metric(rows[2], "selection_rate", groups=rows[4], time_limit=5)
    display = MetricRangeDisplay.from_ranges(found)
    assert list(display.ranges) == ["selection_rate", "a", "b"]
    shown = [found, found.by_group["a"], found.by_group["b"]]
    assert points(display.line_)[0].tolist() == [each.value for each in shown]
    outer, inner = segments(display.outer_), segments(display.inner_)
    assert outer[:, :, 0].tolist() == [[each.low, each.high] for each in shown]
    assert inner[:, :, 0].tolist() == [[each.inner_low, each.inner_high] for each in shown]


def test_metrics_of_several_questions_are_drawn_by_name(model, rows):
    ranges = {
        f"{k} labels": model.certify_metric(rows[2], "selection_rate", budget=k) for k in (1, 2)
    }
    display = MetricRangeDisplay.from_ranges(ranges)
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == list(ranges)


# the trade-off


def test_a_tradeoff_is_measured_on_models_fitted_with_each_penalty(rows):
    X, y, X_test, y_test, _ = rows
    bias = LabelBias.flips(budget=1)
    model = CertifiedClassifier(make_pipeline(StandardScaler(), Ridge()), bias=bias)
    alphas, budgets = [1.0, 100.0], [0.05, 2]
    display = TradeoffDisplay.from_estimator(
        model,
        X,
        y,
        X_test=X_test,
        y_test=y_test,
        param_name="estimator__ridge__alpha",
        param_range=alphas,
        budgets=budgets,
    )
    assert [line.get_label() for line in display.lines_] == ["5 %", "2 labels"]
    fitted = [
        CertifiedClassifier(make_pipeline(StandardScaler(), Ridge(alpha=a)), bias=bias).fit(X, y)
        for a in alphas
    ]
    accuracy = np.array([np.mean(each.predict(X_test) == y_test) for each in fitted])
    for line, count in zip(display.lines_, (3, 2), strict=True):
        loss, percent = points(line)
        assert loss == pytest.approx(100 * (accuracy.max() - accuracy))
        rates = [each.certify(X_test, budget=count).robustness_rate for each in fitted]
        assert percent == pytest.approx(100 * np.array(rates))


# manners


def test_a_display_can_be_drawn_again_on_axes_that_are_given(certs, rows):
    display = GroupDisplay.from_certificates(certs, rows[4])
    _, axes = plt.subplots(1, 2)
    assert display.plot(ax=axes[1]) is display
    assert display.ax_ is axes[1]
    assert display.figure_ is axes[1].figure
    assert not axes[0].lines


def test_options_of_lines_are_matplotlibs(certs):
    display = RobustnessCurveDisplay.from_certificates(certs, color="red", linestyle=":")
    assert (display.line_.get_color(), display.line_.get_linestyle()) == ("red", ":")


@pytest.mark.parametrize(
    "draw",
    [
        RobustnessCurveDisplay.from_estimator,
        RangeDisplay.from_estimator,
        lambda plain, X: RangeDisplay.from_coefficients(plain),
        lambda plain, X: GroupDisplay.from_estimator(plain, X, ["a"] * len(X)),
        lambda plain, X: MetricRangeDisplay.from_estimator(plain, X, "selection_rate"),
        lambda plain, X: TradeoffDisplay.from_estimator(plain, X, X, X_test=X, y_test=X),
    ],
)
def test_an_estimator_that_proves_nothing_is_refused(draw, rows):
    with pytest.raises(InputError, match=r"Ridge has no .* pass a"):
        draw(Ridge(), rows[2])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RobustnessCurveDisplay([1, 2], {"a": [0.5]}), "one rate per budget"),
        (lambda: RobustnessCurveDisplay([1, 2], {}), "no rates"),
        (lambda: RangeDisplay([1], [0], [2, 3], ["robust"]), "one entry per range"),
        (lambda: RangeDisplay([], [], [], []), "one at least"),
        (lambda: TradeoffDisplay([0.1], {"a": [0.5, 0.6]}), "one number per value"),
        (lambda: MetricRangeDisplay({}), "MetricRange by name"),
        (lambda: GroupDisplay({"a": 0.5}), "by_group"),
    ],
)
def test_what_does_not_fit_together_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_a_regressor_is_drawn_without_a_threshold(rows):
    X, _, X_test, *_ = rows
    model = CertifiedRegressor(Ridge(), bias=LabelBias.shifts(1, budget=2), radius=0.5)
    display = RangeDisplay.from_estimator(model.fit(X, X[:, 0]), X_test)
    assert display.reference_ is None
    assert display.ax_.get_xlabel() == "prediction"


def test_without_matplotlib_the_error_names_the_extra(certs, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'unswayed\[plots\]'"):
        RobustnessCurveDisplay.from_certificates(certs)


def test_matplotlib_is_not_imported_before_something_is_drawn():
    code = (
        "import sys, unswayed\n"
        "assert 'unswayed.plots' not in sys.modules\n"
        "unswayed.TradeoffDisplay([0.0], {'1 %': [0.5]})\n"
        "assert not {'matplotlib', 'sklearn'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
