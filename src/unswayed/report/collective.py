"""Answers about all rows at once to one HTML file: counts, fairness ranges, review plans."""

from typing import Any

from unswayed.groups import LARGE_GROUPS
from unswayed.report.collective_charts import count_chart, range_chart, review_chart
from unswayed.report.render import charted_page

_NAMED = 6  # small groups that are named


def render_collective(facts: dict[str, Any]) -> str:
    """Return the page of an answer about all rows at once."""
    charts: dict[str, Any] = {}
    if "together" in facts:
        asked = facts["together"]
        charts["counts"] = count_chart(asked["budgets"], asked["rows"])
    if "fairness" in facts:
        found = facts["fairness"]
        charts |= _ranges(found)
        facts = facts | {"fairness": found | {"headline": _headline(found)}}
    if "review" in facts and facts["review"]["n_labels"]:
        charts["review"] = review_chart(facts["review"])
    return charted_page("collective.html", "collective.js", facts, {"charts": charts})


def _headline(found: dict[str, Any]) -> dict[str, Any]:
    """Return what a page opens with: the first gap, without groups whose rates say little.

    If they are all that is compared, a rate of all rows takes its place.
    """
    compared = [each for each in found["columns"] if each["metrics"]]
    rates = [
        group for each in found["columns"] for rate in each["rates"] for group in rate["groups"]
    ]
    gap = compared[0]["metrics"][0] if compared else None
    if gap is None or not (gap["large"] or not gap["small_groups"]):
        others = [*found["overall"], *(each for each in rates if not each["small"])]
        line = next(iter(others), gap or rates[0])
        what = line.get("metric", line.get("group"))
    else:
        line = gap["large"] or gap
        what = f"{gap['metric']} by {compared[0]['column']}"
    return {
        "line": line,
        "what": what,
        "large": LARGE_GROUPS if gap and line is gap["large"] else None,
        "large_groups": LARGE_GROUPS,
        "note": _small_groups(gap, compared[0]["column"]) if gap and gap["small_groups"] else None,
    }


def _small_groups(gap: dict[str, Any], column: str) -> str:
    """Return which groups make no headline, and what the gap is with them."""
    few, more = gap["small_groups"][:_NAMED], len(gap["small_groups"]) - _NAMED
    named = ", ".join(few) + (f" and {more} more" if more > 0 else "")
    left_out = (
        "Smaller groups are left out of it"
        if gap["large"]
        else f"This is no gap by {column}, which would take two {LARGE_GROUPS}; smaller are"
    )
    return (
        f"{left_out}: {named}. With them, {gap['metric']} by {column} is {gap['value_text']}, and "
        f"stays within {gap['ranges'][0]['text']}."
    )


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
