"""Vega-Lite specifications of the pages' charts, made with altair.

Colours come from the page, which knows whether it is light or dark: marks name a style, and the
page's script says what each style looks like.
"""

import json
import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, ClassVar

import altair as alt
import vl_convert
from altair.utils.schemapi import debug_mode

from unswayed.words import (
    distinct_texts,
    is_whole,
    number_end,
    percent,
    separated,
)

_unchecked = debug_mode(False)
"""Decorates what draws a chart: altair would look up every part of it in its schema."""


def _spec_of(chart: Any, height: float) -> dict[str, Any]:
    """Return the specification of a chart as wide as its place on the page."""
    sized = chart.properties(width="container", height=height)
    spec: dict[str, Any] = sized.to_dict(validate=False)  # ours: tests draw every one
    return spec


def _chart(values: list[dict[str, Any]]) -> Any:
    """Return a chart of points, without marks."""
    return alt.Chart(alt.Data(values=_Records(values)))  # type: ignore[no-untyped-call]


def _counts(field: str, title: str, *, whole: bool = True, **scale: Any) -> Any:
    """Return a horizontal axis of numbers of labels, or of other amounts."""
    axis = alt.Axis(format=",d", tickMinStep=1) if whole else alt.Axis(format=_SUMS)
    return alt.X(field, title=title, axis=axis, scale=alt.Scale(**scale, nice=False))


def _shares(title: str) -> Any:
    """Return the vertical axis of a share of the rows."""
    axis, scale = alt.Axis(format="%"), alt.Scale(domain=[0, 1])
    return alt.Y("rate:Q", title=title, axis=axis, scale=scale)


def _drawable(text: str) -> str:
    """Return a text with unprintable signs, which Vega's expressions cannot hold, as U+ codes."""
    return "".join(sign if sign.isprintable() else f"U+{ord(sign):04X}" for sign in text)


_DASHES = [[1, 0], [7, 3], [2, 2], [9, 3, 2, 3], [12, 4], [4, 2, 1, 2], [1, 3], [14, 3, 2, 3, 2, 3]]
"""As many as colours: lines are told apart without colour too."""
_NAME = 26  # characters of a name in a legend or on an axis, which would cut its end
_COMMON = 8  # characters: a shorter beginning in common is not worth leaving out


class _Records:
    """Points of a chart, in a form that altair takes as it is: it would copy them many times."""

    _schema: ClassVar[dict[str, str]] = {"type": "array"}

    def __init__(self, values: list[dict[str, Any]]) -> None:
        self._values = values

    def to_dict(self, *_: Any, **__: Any) -> list[dict[str, Any]]:
        return self._values


def _short_names(names: Sequence[str]) -> list[str]:
    """Return names as a chart shows them: short and _drawable, and different.

    Words that long names have in common at their beginning are left out.
    """
    drawn = [_drawable(name) for name in names]
    words = [name.split(" ") for name in drawn]
    same = takewhile(
        lambda each: len(set(each)) == 1, zip(*(each[:-1] for each in words), strict=False)
    )
    common = [each[0] for each in same]
    if len(drawn) > 1 and len(" ".join(common)) >= _COMMON and max(map(len, drawn)) > _NAME:
        drawn = ["…" + " ".join(each[len(common) :]) for each in words]
    return distinct_texts(drawn, _NAME)


def _told_apart(field: str, names: list[str]) -> dict[str, Any]:
    """Return colour and dashes of lines, in one legend."""
    legend = alt.Legend(title=None, symbolType="stroke", symbolSize=420)
    dashes = alt.Scale(domain=names, range=_DASHES)
    return {
        "color": alt.Color(field, sort=names, scale=alt.Scale(domain=names), legend=legend),
        "strokeDash": alt.StrokeDash(field, sort=names, scale=dashes, legend=legend),
    }


_PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A6F00", "#882255"]
"""Okabe and Ito's colours, which colour-blind readers can tell apart."""

_SUMS = ",~r"  # how numbers are written that are not counted
_TITLE = 50  # characters that fit along an axis
_SINGLY, _TOGETHER = "one at a time", "together"
_THICK = 15  # pixels of a bar
_NAMED: dict[str, Any] = {"labelLimit": 190, "ticks": False, "domain": False}
"""An axis of names."""
_RANGE = ("low", "high", "inner_low", "inner_high")


@_unchecked
def curve_chart(curve: dict[str, Any], facts: dict[str, Any], axis: str) -> dict[str, Any]:
    """Draw the robustness rate over budgets, of all rows and of the groups of one column.

    Groups of few rows are drawn faintly, and so are those that no colour is left for; these have
    no entry in the legend. A rule marks the budget that the reader picks; it is the parameter
    "budget" of the chart.
    """
    words, whole = f"rows that {facts['keeps']}", is_whole(facts["unit"])
    x = _counts("budget:Q", axis, whole=whole, domain=[0, curve["budget"][-1]])
    y = _shares(words if len(words) <= _TITLE else "robust rows")
    tip = [
        alt.Tooltip("group:N", title=_drawable(curve["column"] or "rows")),
        alt.Tooltip("rows:Q", title="number of rows", format=",d"),
        alt.Tooltip("budget:Q", title=axis, format=",d" if whole else _SUMS),
        alt.Tooltip("share:N", title="robust"),
    ]

    def steps(groups: list[dict[str, Any]], style: str, tooltip: Any = tip, **more: Any) -> Any:
        lines = _chart(_records(curve["budget"], groups))
        marked = lines.mark_line(interpolate="step-after", style=style)
        return marked.encode(x=x, y=y, tooltip=tooltip, **more)

    named = [each for each in curve["groups"] if each["named"]]
    others = [each for each in curve["groups"] if not each["named"]]
    layers = [_band(curve, x, y, tip[2])] if curve["standing"] != curve["all"] else []
    if others:
        layers.append(steps(others, "faint", detail="group:N"))
    if named:
        names = _short_names([each["group"] for each in named])
        short = [{**each, "short": name} for each, name in zip(named, names, strict=True)]
        opacity = alt.condition("datum.small", alt.value(0.4), alt.value(1))
        layers.append(steps(short, "group", opacity=opacity, **_told_apart("short:N", names)))
    layers.append(
        steps([{"group": "all rows", "rate": curve["all"]}], "overall", [tip[0], *tip[2:]])
    )
    now = _chart([{}]).transform_calculate(budget="budget").mark_rule(style="now", clip=True)
    chart = alt.layer(*layers, now.encode(x=x))
    return _spec_of(chart.add_params(alt.param(name="budget", value=facts["main"])), 260)


def _band(curve: dict[str, Any], x: Any, y: Any, tip: Any) -> Any:
    """Draw what lies between the rows that are proven robust and those that were not overturned."""
    ends = zip(curve["budget"], curve["all"], curve["standing"], strict=True)
    values = [
        {"budget": budget, "rate": low, "high": high}
        | {"proven": percent(low, -1), "standing": percent(high, 1)}
        for budget, low, high in ends
    ]
    return (
        _chart(values)
        .mark_area(interpolate="step-after", style="band")
        .encode(
            x=x,
            y=y,
            y2="high:Q",
            tooltip=[
                tip,
                alt.Tooltip("proven:N", title="proven robust"),
                alt.Tooltip("standing:N", title="not overturned"),
            ],
        )
    )


def _records(budgets: list[float], groups: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the points of step curves: where a rate changes, and both ends."""
    found = []
    for each in groups:
        rates, last = each["rate"], len(budgets) - 1
        told = {key: each[key] for key in ("rows", "small", "short") if key in each}
        group = _drawable(each["group"])
        found += [
            {"budget": budget, "rate": rates[at], "share": percent(rates[at]), "group": group}
            | told
            for at, budget in enumerate(budgets)
            if at in (0, last) or rates[at] != rates[at - 1]
        ]
    return found


@_unchecked
def radius_chart(
    points: list[dict[str, Any]], budgets: list[dict[str, Any]], label: str, *, relative: bool
) -> dict[str, Any]:
    """Draw the share of rows whose predicted number stays within a radius, over radii."""
    order = sorted(range(len(budgets)), key=lambda at: budgets[at]["labels"])
    names = [f"at {_drawable(budgets[at]['budget'])}" for at in order]
    values = [
        {"radius": each["radius"], "within": separated(each["text"]), "rate": rate}
        | {"share": percent(rate), "budget": name}
        for each in points
        for name, rate in zip(names, [each["rates"][at] for at in order], strict=True)
    ]
    form, several = "~%" if relative else ",~r", len(names) > 1
    chart = (
        _chart(values)
        .mark_line(point=True, style="group" if several else "overall")
        .encode(
            x=alt.X(
                "radius:Q",
                title="radius" if relative else f"radius, in the unit of {_drawable(label)}",
                axis=alt.Axis(format=form),
                scale=alt.Scale(domain=[0, values[-1]["radius"]], nice=False),
            ),
            y=_shares("rows that stay within it" + ("" if several else f" {names[0]}")),
            tooltip=[
                alt.Tooltip("within:N", title="radius"),
                alt.Tooltip("share:N", title="robust"),
                *([alt.Tooltip("budget:N", title="wrong labels")] if several else []),
            ],
            **(_told_apart("budget:N", names) if several else {}),
        )
    )
    return _spec_of(chart, 220)


@_unchecked
def coefficient_chart(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Draw the value and the range of coefficients, coloured by whether the sign is proven."""
    names = _short_names([row.get("short", row["name"]) for row in rows])
    shown = [
        {
            "name": names[at],
            "full": _drawable(row["name"]),
            "value": row["value"],
            "now": _end(row["value"], 0),
            "low": row["low"],
            "high": row["high"],
            "least": _end(row["low"], -1),
            "most": _end(row["high"], 1),
            "sign": _sign(row),
        }
        for at, row in enumerate(rows)
    ]
    undecided = ["undecided"] if any(each["sign"] == "undecided" for each in shown) else []
    base = _chart(shown).encode(
        y=alt.Y("name:N", title=None, sort=None, axis=alt.Axis(**_NAMED)),
        tooltip=[
            alt.Tooltip("full:N", title="coefficient"),
            alt.Tooltip("now:N", title="value"),
            alt.Tooltip("least:N", title="low"),
            alt.Tooltip("most:N", title="high"),
            alt.Tooltip("sign:N"),
        ],
    )
    colour = alt.Color(
        "sign:N",
        title=None,
        scale=alt.Scale(domain=["sign stays", "sign can be lost", *undecided]),
        legend=alt.Legend(orient="top"),
    )
    bars = base.mark_bar(style="range", height=9, cornerRadius=4).encode(
        x=alt.X("low:Q", title="coefficient"), x2="high:Q", color=colour
    )
    ticks = base.mark_tick(style="value", height=15, thickness=2).encode(x="value:Q")
    zero = _chart([{"low": 0}]).mark_rule(style="zero").encode(x="low:Q")
    return _spec_of(alt.layer(zero, bars, ticks), 24 * len(rows) + 60)


def _end(value: float | None, way: int) -> str:
    return "unknown" if value is None else number_end(value, way, 4)


def _sign(row: dict[str, Any]) -> str:
    """Say what is known of the sign of a coefficient."""
    if row["verdict"] == "undecided":
        return "undecided"
    return "sign stays" if row["keeps_sign"] else "sign can be lost"


_PENALTIES = {
    "alpha": "alpha: penalty on large coefficients",
    "C": "C: the smaller, the larger the penalty on large coefficients",
    "steps": "steps of gradient descent: the fewer, the smaller the coefficients",
}


@_unchecked
def tradeoff_chart(
    points: list[dict[str, Any]], budgets: list[str], quality: str, option: str = "alpha"
) -> dict[str, Any]:
    """Draw accuracy and robustness over the penalty (the paper's first figure)."""
    name = "accuracy" if quality == "accuracy" else "variance explained (R²)"
    names = [name, *(f"robust at {budget}" for budget in budgets)]
    left = any(share for point in points for share in point["undecided"])
    if left:
        names += [f"not overturned at {budget}" for budget in budgets]
    # What is proven is at least so much, and what was not overturned at most.
    ways = [0, *(-1 if left else 0 for _ in budgets), *(1 for _ in budgets if left)]
    values = [
        {"penalty": point["penalty"], "share": share, "text": percent(share, way), "what": what}
        for point in points
        if 0 < point["penalty"] < math.inf
        for what, share, way in zip(
            names, [point["quality"], *_robust_shares(point, left)], ways, strict=True
        )
        if share is not None
    ]
    chart = (
        _chart(values)
        .mark_line(point=True, style="group")
        .encode(
            x=alt.X(
                "penalty:Q",
                title=_PENALTIES[option],
                scale=alt.Scale(type="log", nice=False, reverse=option == "C"),
                axis=alt.Axis(format="~g"),
            ),
            y=alt.Y("share:Q", title=None, axis=alt.Axis(format="%")),
            **_told_apart("what:N", names),
            tooltip=[
                alt.Tooltip("what:N", title="curve"),
                alt.Tooltip("penalty:Q", title=option, format="~g"),
                alt.Tooltip("text:N", title="share"),
            ],
        )
    )
    return _spec_of(chart, 260)


def _robust_shares(point: dict[str, Any], left: bool) -> list[float]:
    """Return what is robust at each budget and, if wanted, what is robust or undecided."""
    both = [
        robust + open_ for robust, open_ in zip(point["rates"], point["undecided"], strict=True)
    ]
    return [*point["rates"], *(both if left else [])]


# --- answers about all rows at once ---------------------------------------------------------


@_unchecked
def count_chart(
    budgets: list[dict[str, Any]], rows: int, head: str = "wrong labels"
) -> dict[str, Any]:
    """Draw how many rows are overturned together beside how many one at a time, by budget."""
    names = [_drawable(each["budget"]) for each in budgets]
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
    base = _chart(values).encode(
        y=alt.Y("budget:N", title=head, sort=names, axis=_ticks()),
        yOffset=alt.YOffset("what:N", sort=[_SINGLY, _TOGETHER]),
        color=alt.Color(
            "what:N",
            title=None,
            scale=alt.Scale(domain=[_SINGLY, _TOGETHER]),
            legend=alt.Legend(orient="top", symbolType="square"),
        ),
        tooltip=[
            alt.Tooltip("budget:N", title=head),
            alt.Tooltip("what:N", title="counted"),
            alt.Tooltip("most:N", title="at most"),
            alt.Tooltip("least:N", title="at least"),
        ],
    )
    axis = alt.X(
        "end:Q",
        title=f"rows overturned, of {rows:,}",
        axis=alt.Axis(format=",~r", tickMinStep=1),
        scale=alt.Scale(domainMin=0),
    )
    outer = base.mark_bar(opacity=0.3, height=_THICK).encode(x=axis)
    sure = base.mark_bar(height=_THICK).encode(x="sure:Q")
    height = 2 * (_THICK + 6) * len(budgets) + 50
    return _spec_of(alt.layer(outer, sure), height)


@_unchecked
def range_chart(
    lines: Sequence[tuple[str, dict[str, Any]]],
    budgets: Sequence[str],
    *,
    end: Callable[[float, int], str],
    title: str,
    share: bool,
    unit: str = "%",
    wrap: bool = False,
    limits: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """Draw ranges of metrics, or of a rate by group, one bar per budget.

    `end` writes a value, rounded down (-1), to nearest (0) or up (1); long names are wrapped, or
    shortened. An axis of shares goes from none to all, in per cent or in points, and one of gaps
    (which may have limits) starts at 0.
    """
    whole = [name for name, _ in lines]
    names = [_in_lines(name) for name in whole] if wrap else _short_names(whole)
    at = [_drawable(each) for each in budgets]
    values = [
        {
            "name": short,
            "full": _drawable(name),
            "budget": budget,
            "value": line["value"],
            # An end that nothing is known of is not drawn.
            **{each: found[each] if math.isfinite(found[each]) else None for each in _RANGE},
            **{f"{each}_text": end((found | line)[each], way) for each, _, way in _ENDS},
        }
        for short, (name, line) in zip(names, lines, strict=True)
        for budget, found in zip(at, line["ranges"], strict=True)
    ]
    base = _chart(values).encode(
        y=alt.Y("name:N", title=None, sort=names, axis=_ticks()),
        yOffset=alt.YOffset("budget:N", sort=at),
        tooltip=[
            alt.Tooltip("full:N", title="what"),
            alt.Tooltip("budget:N", title="wrong labels"),
            *(alt.Tooltip(f"{each}_text:N", title=said) for each, said, _ in _ENDS),
        ],
    )
    colour = alt.Color(
        "budget:N",
        title=None,
        sort=at,
        scale=alt.Scale(domain=at),
        legend=alt.Legend(orient="top", symbolType="square") if len(at) > 1 else None,
    )
    scale = alt.Scale(domain=[0, 1]) if share else alt.Scale(zero=limits is not None)
    axis = alt.Axis(format="%" if share else ",~r")
    if unit == "points":
        axis = alt.Axis(labelExpr="format(100 * datum.value, ',~r')")
    x = alt.X("low:Q", title=_drawable(title), scale=scale, axis=axis)
    layers = [
        base.mark_bar(opacity=0.3, height=_THICK).encode(x=x, x2="high:Q", color=colour),
        base.mark_bar(height=_THICK / 3).encode(x="inner_low:Q", x2="inner_high:Q", color=colour),
        base.mark_tick(style="value", height=_THICK + 4, thickness=2).encode(x="value:Q"),
    ]
    known = [
        {"name": short, "limit": limits[name], "limit_text": end(limits[name], 0)}
        for short, name in zip(names, whole, strict=True)
        if limits is not None and name in limits
    ]
    if known:
        layers.append(_limits(known, names, (_THICK + 6) * len(at)))
    height = (_THICK + 6) * len(values) + 12 * len(lines) + 30
    return _spec_of(alt.layer(*layers), height)


def _limits(known: list[dict[str, Any]], names: list[str], tall: float) -> Any:
    """Draw a line at the limit of each metric that has one."""
    ticks = _chart(known).mark_tick(style="now", height=tall, thickness=2)
    return ticks.encode(
        x="limit:Q",
        y=alt.Y("name:N", sort=names),
        tooltip=[alt.Tooltip("limit_text:N", title="limit")],
    )


_ENDS = (
    ("value", "now", 0),
    ("low", "proven at least", -1),
    ("high", "proven at most", 1),
    ("inner_low", "reached from", 1),
    ("inner_high", "reached to", -1),
)  # and which way to round: outwards what is proven, inwards what is reached


@_unchecked
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
        _chart(values)
        .mark_line(interpolate="step-after", style="group")
        .encode(
            x=_counts("checked:Q", "labels checked"),
            y=alt.Y(
                "robust:Q",
                title=f"rows proven robust, of {facts['rows']:,}",
                axis=alt.Axis(format=",~r", tickMinStep=1),
                scale=alt.Scale(domain=[0, facts["rows"]]),
            ),
            tooltip=[
                alt.Tooltip("order:N"),
                alt.Tooltip("checked:Q", title="labels checked", format=",d"),
                alt.Tooltip("rows:N", title="rows proven robust"),
            ],
            **_told_apart("order:N", list(orders)),
        )
    )
    estimate = _estimate(facts)
    return _spec_of(alt.layer(lines, *estimate) if estimate else lines, 260)


def _estimate(facts: dict[str, Any]) -> list[Any]:
    """Return points for reviews that were simulated, with bars for their spread."""
    found = facts["expected"]
    if found is None:
        return []
    values = [
        {"checked": at, "mean": mean, "from": mean - spread, "to": mean + spread}
        for at, mean, spread in zip(facts["points"], found["mean"], found["spread"], strict=True)
    ]
    base = _chart(values).encode(
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
    return alt.Axis(**_NAMED, labelExpr="split(datum.label, '\\n')")


def _in_lines(metric: str) -> str:
    """Return the name of a metric in lines: on a phone there is no room for one."""
    return "\n".join(textwrap.wrap(_drawable(metric), 24))


def save(spec: dict[str, Any], path: Path, suffix: str) -> None:
    """Write a chart to a file of its own."""
    spec = spec | {
        "width": 560,
        "background": "white",
        "config": {"range": {"category": _PALETTE}, "view": {"stroke": None}},
    }
    text = json.dumps(spec)
    if suffix == ".png":
        path.write_bytes(vl_convert.vegalite_to_png(text, scale=2))
    else:
        path.write_text(vl_convert.vegalite_to_svg(text), encoding="utf-8")
