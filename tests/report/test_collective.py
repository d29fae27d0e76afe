"""Pages about all rows at once are functions of a dict, and their charts can be drawn."""

import json

import pytest
import vl_convert

from unswayed.report.charts import count_chart, range_chart, review_chart
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
