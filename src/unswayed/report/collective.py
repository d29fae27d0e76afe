"""Answers about all rows at once, and comparisons, to one HTML file."""

import math
import textwrap
from collections.abc import Sequence
from typing import Any

import altair as alt

from unswayed.report.charts import drawable, points_of, short_names, spec_of, told_apart, unchecked
from unswayed.report.render import charted_page, page_environment
from unswayed.results.groups import LARGE_GROUPS
from unswayed.words import number_end, share_end, written

_SINGLY, _TOGETHER = "one at a time", "together"
_THICK = 15  # pixels of a bar
_RANGE = ("low", "high", "inner_low", "inner_high")


@unchecked
def count_chart(budgets: list[dict[str, Any]], rows: int) -> dict[str, Any]:
    """Draw how many rows are overturned together beside how many one at a time, by budget."""
    names = [drawable(each["budget"]) for each in budgets]
    values = []
    for name, each in zip(names, budgets, strict=True):
        told = {"budget": name, "low": each["at_least"], "high": each["at_most"]}
        values += [
            told
            | {"what": _SINGLY, "sure": each["one_at_a_time"], "end": each["one_at_a_time"]}
            | dict.fromkeys(("most", "least"), number_end(each["one_at_a_time"], 1)),
            told
            | {"what": _TOGETHER, "sure": each["at_least"], "end": each["at_most"]}
            | {"most": number_end(each["at_most"], 1), "least": number_end(each["at_least"], -1)},
        ]
    base = alt.Chart(points_of(values)).encode(
        y=alt.Y("budget:N", title="wrong labels", sort=names, axis=_ticks()),
        yOffset=alt.YOffset("what:N", sort=[_SINGLY, _TOGETHER]),
        color=alt.Color(
            "what:N",
            title=None,
            scale=alt.Scale(domain=[_SINGLY, _TOGETHER]),
            legend=alt.Legend(orient="top", symbolType="square"),
        ),
        tooltip=[
            alt.Tooltip("budget:N", title="wrong labels"),
            alt.Tooltip("what:N", title="counted"),
            alt.Tooltip("most:N", title="at most"),
            alt.Tooltip("least:N", title="at least"),
        ],
    )
    axis = alt.X(
        "end:Q",
        title=f"of {rows:,} rows overturned",
        axis=alt.Axis(format=",~r", tickMinStep=1),
        scale=alt.Scale(domainMin=0),
    )
    outer = base.mark_bar(opacity=0.3, height=_THICK).encode(x=axis)
    sure = base.mark_bar(height=_THICK).encode(x="sure:Q")
    height = 2 * (_THICK + 6) * len(budgets) + 50
    return spec_of(alt.layer(outer, sure).properties(width="container", height=height))


@unchecked
def range_chart(
    lines: Sequence[tuple[str, dict[str, Any]]],
    budgets: Sequence[str],
    *,
    share: bool,
    limits: dict[str, float] | None = None,
) -> dict[str, Any]:
    """Draw ranges of metrics, or of a rate by group, one bar per budget."""
    whole = [name for name, _ in lines]
    names = short_names(whole) if limits is None else [_in_lines(name) for name in whole]
    at = [drawable(each) for each in budgets]

    def text(found: dict[str, Any], end: str, way: int) -> str:
        return share_end(found[end], way) if share else number_end(found[end], way)

    values = [
        {
            "name": short,
            "full": drawable(name),
            "budget": budget,
            "value": line["value"],
            # An end that nothing is known of is not drawn.
            **{end: found[end] if math.isfinite(found[end]) else None for end in _RANGE},
            **{f"{end}_text": text(found | line, end, way) for end, _, way in _ENDS},
        }
        for short, (name, line) in zip(names, lines, strict=True)
        for budget, found in zip(at, line["ranges"], strict=True)
    ]
    base = alt.Chart(points_of(values)).encode(
        y=alt.Y("name:N", title=None, sort=names, axis=_ticks()),
        yOffset=alt.YOffset("budget:N", sort=at),
        tooltip=[
            alt.Tooltip("full:N", title="what"),
            alt.Tooltip("budget:N", title="wrong labels"),
            *(alt.Tooltip(f"{end}_text:N", title=title) for end, title, _ in _ENDS),
        ],
    )
    colour = alt.Color(
        "budget:N",
        title=None,
        sort=at,
        scale=alt.Scale(domain=at),
        legend=alt.Legend(orient="top", symbolType="square") if len(at) > 1 else None,
    )
    scale = alt.Scale(domain=[0, 1]) if share else alt.Scale(zero=False)
    axis = alt.X("low:Q", title=None, scale=scale, axis=alt.Axis(format=",~r"))
    layers = [
        base.mark_bar(opacity=0.3, height=_THICK).encode(x=axis, x2="high:Q", color=colour),
        base.mark_bar(height=_THICK / 3).encode(x="inner_low:Q", x2="inner_high:Q", color=colour),
        base.mark_tick(style="value", height=_THICK + 4, thickness=2).encode(x="value:Q"),
    ]
    known = [
        {"name": short, "limit": limits[name], "limit_text": written(limits[name])}
        for short, name in zip(names, whole, strict=True)
        if limits is not None and name in limits
    ]
    if known:
        tall = (_THICK + 6) * len(at)
        ticks = alt.Chart(points_of(known)).mark_tick(style="now", height=tall, thickness=2)
        layers.append(
            ticks.encode(
                x="limit:Q",
                y=alt.Y("name:N", sort=names),
                tooltip=[alt.Tooltip("limit_text:N", title="limit")],
            )
        )
    height = (_THICK + 6) * len(values) + 12 * len(lines) + 30
    return spec_of(alt.layer(*layers).properties(width="container", height=height))


_ENDS = (
    ("value", "now", 0),
    ("low", "proven at least", -1),
    ("high", "proven at most", 1),
    ("inner_low", "reached from", 1),
    ("inner_high", "reached to", -1),
)  # and which way to round: outwards what is proven, inwards what is reached


@unchecked
def review_chart(facts: dict[str, Any]) -> dict[str, Any]:
    """Draw how many rows are proven robust after so many checks, in three orders."""
    orders = {
        "this plan": facts["robust_after"],
        "most used in witnesses": facts["witness"],
        "at random": facts["random"],
    }
    values = [
        {"checked": checked, "robust": robust, "rows": number_end(robust, -1, 4), "order": order}
        for order, curve in orders.items()
        for checked, robust in enumerate(curve)
    ]
    lines = (
        alt.Chart(points_of(values))
        .mark_line(interpolate="step-after", style="group")
        .encode(
            x=alt.X(
                "checked:Q",
                title="labels checked",
                axis=alt.Axis(format=",d", tickMinStep=1),
                scale=alt.Scale(nice=False),
            ),
            y=alt.Y(
                "robust:Q",
                title=f"of {facts['rows']:,} rows proven robust",
                axis=alt.Axis(format=",~r", tickMinStep=1),
                scale=alt.Scale(zero=False),
            ),
            tooltip=[
                alt.Tooltip("order:N"),
                alt.Tooltip("checked:Q", title="labels checked", format=",d"),
                alt.Tooltip("rows:N", title="rows proven robust"),
            ],
            **told_apart("order:N", list(orders)),
        )
    )
    estimate = _estimate(facts)
    chart = alt.layer(lines, *estimate) if estimate else lines
    return spec_of(chart.properties(width="container", height=260))


def _estimate(facts: dict[str, Any]) -> list[Any]:
    """Return points for reviews that were simulated, with bars for their spread."""
    found = facts["expected"]
    if found is None:
        return []
    values = [
        {"checked": at, "mean": mean, "from": mean - spread, "to": mean + spread}
        for at, mean, spread in zip(facts["points"], found["mean"], found["spread"], strict=True)
    ]
    base = alt.Chart(points_of(values)).encode(
        x="checked:Q",
        tooltip=[
            alt.Tooltip("checked:Q", title="labels checked", format=",d"),
            alt.Tooltip("mean:Q", title="rows robust, estimated", format=",.1~f"),
            alt.Tooltip("from:Q", title="mean less spread", format=",.1~f"),
            alt.Tooltip("to:Q", title="mean and spread", format=",.1~f"),
        ],
    )
    bars = base.mark_rule(style="now").encode(y="from:Q", y2="to:Q")
    return [bars, base.mark_point(style="now", filled=True, size=40).encode(y="mean:Q")]


def _ticks() -> Any:
    """Return an axis of names, which may have several lines."""
    return alt.Axis(
        labelLimit=190, ticks=False, domain=False, labelExpr="split(datum.label, '\\n')"
    )


def _in_lines(metric: str) -> str:
    """Return the name of a metric in lines: on a phone there is no room for one."""
    return "\n".join(textwrap.wrap(metric.replace("_", " "), 20))


# ----------------------------------------------------------------------------------------
# Answers about all rows at once to one HTML file: counts, fairness ranges, review plans.

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


# ----------------------------------------------------------------------------------------
# A comparison to one HTML file: no scripts, no network, text from files is only ever text.

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def render_comparison(facts: dict[str, Any]) -> str:
    """Return the page of a comparison."""
    return page_environment().get_template("compare.html").render(facts=facts, policy=_POLICY)
