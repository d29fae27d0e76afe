"""Answers about all rows at once to one HTML file: counts, fairness ranges, review plans."""

from typing import Any

from unswayed.report.collective_charts import count_chart, range_chart, review_chart
from unswayed.report.render import charted_page


def render_collective(facts: dict[str, Any]) -> str:
    """Return the page of an answer about all rows at once.

    Parameters
    ----------
    facts : dict
        The headline of a study, its "provenance", and one of "together", "fairness" and "review".

    Returns
    -------
    str
        HTML that needs no other file and no network.
    """
    charts: dict[str, Any] = {}
    if "together" in facts:
        asked = facts["together"]
        charts["counts"] = count_chart(asked["budgets"], asked["rows"])
    if "fairness" in facts:
        charts |= _ranges(facts["fairness"])
    if "review" in facts and facts["review"]["labels"]:
        charts["review"] = review_chart(facts["review"])
    return charted_page("collective.html", "collective.js", facts, {"charts": charts})


def _ranges(found: dict[str, Any]) -> dict[str, Any]:
    """Return charts of ranges: of all rows, then of each column its metrics and its groups."""
    share, budgets = found["share"], [each["budget"] for each in found["budgets"]]
    charts = {}
    if found["overall"]:
        lines = [(line["metric"], line) for line in found["overall"]]
        charts["overall"] = range_chart(lines, budgets, share=share, limits={})
    for at, each in enumerate(found["columns"]):
        limits = {
            limit["metric"]: limit["limit"]
            for limit in found["limits"]
            if limit["column"] == each["column"]
        }
        if each["metrics"]:
            lines = [(line["metric"], line) for line in each["metrics"]]
            charts[f"metrics-{at}"] = range_chart(lines, budgets, share=share, limits=limits)
        for place, rate in enumerate(each["rates"]):
            lines = [(group["group"], group) for group in rate["groups"]]
            charts[f"rates-{at}-{place}"] = range_chart(lines, budgets, share=share)
    return charts
