"""Pages about all rows at once are functions of a dict, and their charts can be drawn."""

import json

import pytest
import vl_convert

from unswayed.report.charts import count_chart, range_chart, review_chart
from unswayed.report.fairness import fairness_page
from unswayed.words import percent

ENDS = {"low": 0.1, "high": 0.5, "inner_low": 0.2, "inner_high": 0.4}
LINE = {"value": 0.3, "ranges": [ENDS, ENDS]}
SHARES = {"end": percent, "title": "share of rows", "share": True}
COUNT = {"budget": "1%", "one_at_a_time": 9, "at_most": 5, "at_least": 4}


def drawn(spec):
    return vl_convert.vegalite_to_svg(json.dumps(spec | {"width": 500}))


def test_names_of_metrics_break_into_lines_and_groups_stay_as_they_are():
    name = "gap in the share predicted hired of the rows labelled hired"
    spec = range_chart([(name, LINE)], ["1%", "2%"], **SHARES, wrap=True, limits={})
    assert "gap in the share" in drawn(spec)
    svg = drawn(range_chart([("a_group", LINE), ("b\x07", LINE)], ["1%", "2%"], **SHARES))
    assert "a_group" in svg
    assert "U+0007" in svg


def fair(metric, rates):
    """Facts of a page about two groups at two budgets, the larger given first."""
    line = {"value": 0.3, "ranges": [ENDS | {"proven": True}] * 2, "rows": 80, "small": False}
    groups = {
        rate: [line | {"group": name, "value": value} for name, value in values.items()]
        for rate, values in rates.items()
    }
    column = {
        "column": "sex",
        "metrics": [line | {"metric": metric, "small_groups": [], "large": None}],
        "rates": [{"rate": rate, "groups": each} for rate, each in groups.items()],
    }
    budgets = [{"budget": "2%", "labels": 9}, {"budget": "1%", "labels": 4}]
    found = {"share": True, "overall": [], "columns": [column], "limits": [], "budgets": budgets}
    return {"classes": ["declined", "hired"], "label": "decision", "fairness": found}


def test_a_headline_names_the_rates_that_its_gap_is_about():
    rates = {
        "selection_rate": {"men": 0.9, "women": 0.8},
        "false_positive_rate": {"men": 0.5, "women": 0.2},
    }
    page, _ = fairness_page(fair("false_positive_rate_difference", rates))
    assert page["headline"]["now"] == (
        "The shares predicted hired of the rows labelled declined (men 50.0 %, women 20.0 %) "
        "differ by",
        "30.0 points",
    )
    assert page["headline"]["figure"] == "10.0 to 50.0"
    assert [each["budget"] for each in page["budgets"]] == ["1%", "2%"]
    assert page["main"]["budget"] == "2%"


@pytest.mark.parametrize(
    ("metric", "words", "value"),
    [
        ("demographic_parity_ratio", "lowest share predicted hired as a share of", "30.0 %"),
        ("equalized_odds_difference", "largest difference of true or false pos", "30.0 points"),
        ("accuracy_group_min", "lowest share predicted right of a group", "30.0 %"),
    ],
)
def test_every_metric_has_words_and_a_unit(metric, words, value):
    page, charts = fairness_page(fair(metric, {}))
    said, now = page["headline"]["now"]
    assert words in said
    assert words in page["columns"][0]["compared"][0]["name"]
    assert now == value
    assert drawn(charts["metrics-0"])


def test_ends_that_are_proven_are_rounded_outwards_and_reached_ones_inwards():
    facts = fair("demographic_parity_difference", {})
    ends = {"low": 0.10049, "high": 0.50001, "inner_low": 0.10049, "inner_high": 0.50001}
    facts["fairness"]["columns"][0]["metrics"][0]["ranges"] = [ends | {"proven": False}] * 2
    (line,) = fairness_page(facts)[0]["columns"][0]["compared"]
    assert line["ranges"][0]["text"] == "10.0 to 50.1 points"
    assert line["ranges"][0]["reached"] == "10.1 to 50.0 points"


def test_a_limit_is_drawn_where_there_is_one():
    lines = [("accuracy_difference", LINE)]
    without, with_one = (
        json.dumps(range_chart(lines, ["1%", "2%"], **SHARES, limits=limits))
        for limits in ({}, {"accuracy_difference": 0.45})
    )
    assert "0.45" not in without
    assert "0.45" in with_one


@pytest.mark.parametrize("budgets", [[COUNT], [COUNT, COUNT | {"budget": "<b>", "at_most": 4}]])
def test_counts_of_every_budget_are_drawn(budgets):
    svg = drawn(count_chart(budgets, 1200))
    assert "one at a time" in svg
    assert "rows overturned, of 1,200" in svg


def test_a_review_has_three_curves():
    facts = {"rows": 40, "robust_after": [3, 5], "random": [3.0, 3.2], "witness": [3, 4]}
    spec = review_chart(facts | {"expected": None})
    assert len({each["order"] for each in spec["data"]["values"]}) == 3
    assert "labels checked" in drawn(spec)
    estimate = {"mean": [3.0, 4.4], "spread": [0.0, 0.5]}
    spec = review_chart(facts | {"expected": estimate, "points": [0, 1]})
    assert "4.4" in str(spec)
    assert "labels checked" in drawn(spec)
