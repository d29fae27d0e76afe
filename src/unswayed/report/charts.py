"""Vega-Lite specifications of the report's charts, made with altair.

Colours come from the page, which knows whether it is light or dark: marks name a style, and the
page's script says what each style looks like.
"""

import json
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, ClassVar

import altair as alt
import vl_convert
from altair.utils.schemapi import debug_mode

from unswayed.words import distinct_texts

_PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A6F00", "#882255"]
"""Okabe and Ito's colours, which colour-blind readers can tell apart."""


_unchecked = debug_mode(False)
"""Decorates what draws a chart: altair would look up every part of it in its schema."""


def _spec(chart: Any) -> dict[str, Any]:
    spec: dict[str, Any] = chart.to_dict(validate=False)  # ours: tests draw every one
    return spec


def _drawable(text: str) -> str:
    """Return a text with unprintable signs, which Vega's expressions cannot hold, as U+ codes."""
    return "".join(sign if sign.isprintable() else f"U+{ord(sign):04X}" for sign in text)


_DASHES = [[1, 0], [7, 3], [2, 2], [9, 3, 2, 3], [12, 4], [4, 2, 1, 2], [1, 3], [14, 3, 2, 3, 2, 3]]
"""As many as colours: lines are told apart without colour too."""
_NAME = 26  # characters of a name in a legend or on an axis, which would cut its end
_TITLE = 50  # characters that fit along an axis
_COMMON = 8  # characters: a shorter beginning in common is not worth leaving out


class _Records:
    """Points of a chart, in a form that altair takes as it is: it would copy them many times."""

    _schema: ClassVar[dict[str, str]] = {"type": "array"}

    def __init__(self, values: list[dict[str, Any]]) -> None:
        self._values = values

    def to_dict(self, *_: Any, **__: Any) -> list[dict[str, Any]]:
        return self._values


def _data(values: list[dict[str, Any]]) -> Any:
    return alt.Data(values=_Records(values))  # type: ignore[no-untyped-call]


def _names(names: Sequence[str]) -> list[str]:
    """Return names as a chart shows them: short and drawable, and different.

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


@_unchecked
def curve_chart(curve: dict[str, Any], main: int, keeps: str) -> dict[str, Any]:
    """Draw the robustness rate over budgets, of all rows and of the groups of one column.

    Groups of few rows are drawn faintly, and so are those that no colour is left for; these have
    no entry in the legend. A rule marks the budget that the reader picks; it is the parameter
    "budget" of the chart.

    Parameters
    ----------
    curve : dict
        One of the "curves" of `summarise`.
    main : int
        The main budget, in labels: where the rule stands first.
    keeps : str
        What robust rows do.

    Returns
    -------
    dict
        A Vega-Lite specification.
    """
    budget, words = alt.param(name="budget", value=main), f"rows that {keeps}"
    x = alt.X(
        "budget:Q",
        title="wrong labels",
        axis=alt.Axis(format=",d", tickMinStep=1),
        scale=alt.Scale(domain=[0, curve["budget"][-1]], nice=False),
    )
    y = alt.Y(
        "rate:Q",
        title=words if len(words) <= _TITLE else "robust rows",
        axis=alt.Axis(format="%"),
        scale=alt.Scale(domain=[0, 1]),
    )
    tip = [
        alt.Tooltip("group:N", title=_drawable(curve["column"] or "rows")),
        alt.Tooltip("rows:Q", title="number of rows", format=",d"),
        alt.Tooltip("budget:Q", title="wrong labels", format=",d"),
        alt.Tooltip("rate:Q", title="robust", format=".1%"),
    ]
    named = [each for each in curve["groups"] if each["named"]]
    others = [each for each in curve["groups"] if not each["named"]]
    names = _names([each["group"] for each in named])
    layers = []
    if others:
        lines = alt.Chart(_data(_records(curve["budget"], others)))
        encoded = lines.mark_line(interpolate="step-after", style="faint").encode(
            x=x, y=y, detail="group:N", tooltip=tip
        )
        layers.append(encoded)
    if named:
        short = [{**each, "short": name} for each, name in zip(named, names, strict=True)]
        lines = alt.Chart(_data(_records(curve["budget"], short)))
        layers.append(
            lines.mark_line(interpolate="step-after", style="group").encode(
                x=x,
                y=y,
                opacity=alt.condition("datum.small", alt.value(0.4), alt.value(1)),
                tooltip=tip,
                **_told_apart("short:N", names),
            )
        )
    everyone = [{"group": "all rows", "rate": curve["all"]}]
    layers.append(
        alt.Chart(_data(_records(curve["budget"], everyone)))
        .mark_line(interpolate="step-after", style="overall")
        .encode(x=x, y=y, tooltip=[tip[0], *tip[2:]])
    )
    layers.append(
        alt.Chart(_data([{}]))
        .transform_calculate(budget="budget")
        .mark_rule(style="now", clip=True)
        .encode(x=x)
    )
    chart = alt.layer(*layers).add_params(budget).properties(width="container", height=260)
    return _spec(chart)


def _records(budgets: list[int], groups: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the points of step curves: where a rate changes, and both ends."""
    found = []
    for each in groups:
        rates, last = each["rate"], len(budgets) - 1
        told = {key: each[key] for key in ("rows", "small", "short") if key in each}
        group = _drawable(each["group"])
        found += [
            {"budget": budget, "rate": rates[at], "group": group, **told}
            for at, budget in enumerate(budgets)
            if at in (0, last) or rates[at] != rates[at - 1]
        ]
    return found


@_unchecked
def radius_chart(
    points: list[dict[str, Any]], budgets: list[str], relative: bool
) -> dict[str, Any]:
    """Draw the share of rows whose predicted number stays within a radius, over radii.

    Parameters
    ----------
    points : list of dict
        "radius" and "rates", one per budget.
    budgets : list of str
        The budgets as they were written.
    relative : bool
        Whether radii are shares.

    Returns
    -------
    dict
        A Vega-Lite specification.
    """
    names = [f"at {_drawable(budget)}" for budget in budgets]
    values = [
        {"radius": each["radius"], "rate": rate, "budget": name}
        for each in points
        for name, rate in zip(names, each["rates"], strict=True)
    ]
    form, several = "~%" if relative else ",~r", len(names) > 1
    chart = (
        alt.Chart(_data(values))
        .mark_line(point=True, style="group" if several else "overall")
        .encode(
            x=alt.X(
                "radius:Q",
                title="radius: how far a prediction may move",
                axis=alt.Axis(format=form),
                scale=alt.Scale(domain=[0, values[-1]["radius"]], nice=False),
            ),
            y=alt.Y(
                "rate:Q",
                title="rows that stay within it" + ("" if several else f" {names[0]}"),
                axis=alt.Axis(format="%"),
                scale=alt.Scale(domain=[0, 1]),
            ),
            tooltip=[
                alt.Tooltip("radius:Q", format="~%" if relative else ",.6~g"),
                alt.Tooltip("rate:Q", title="robust", format=".1%"),
                *([alt.Tooltip("budget:N", title="wrong labels")] if several else []),
            ],
            **(_told_apart("budget:N", names) if several else {}),
        )
        .properties(width="container", height=220)
    )
    return _spec(chart)


@_unchecked
def coefficient_chart(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Draw the value and the range of coefficients, coloured by whether the sign is proven.

    Parameters
    ----------
    rows : list of dict
        Some of the "rows" of `details.coefficients`, in the order to draw them.

    Returns
    -------
    dict
        A Vega-Lite specification.
    """
    names = _names([row.get("short", row["name"]) for row in rows])
    shown = [
        {
            "name": names[at],
            "full": _drawable(row["name"]),
            "value": row["value"],
            "low": row["low"],
            "high": row["high"],
            "sign": "sign stays" if row["keeps_sign"] else "sign can be lost",
        }
        for at, row in enumerate(rows)
    ]
    base = alt.Chart(_data(shown)).encode(
        y=alt.Y(
            "name:N",
            title=None,
            sort=None,
            axis=alt.Axis(labelLimit=190, ticks=False, domain=False),
        ),
        tooltip=[
            alt.Tooltip("full:N", title="coefficient"),
            alt.Tooltip("value:Q", format=".4g"),
            alt.Tooltip("low:Q", format=".4g"),
            alt.Tooltip("high:Q", format=".4g"),
            alt.Tooltip("sign:N"),
        ],
    )
    colour = alt.Color(
        "sign:N",
        title=None,
        scale=alt.Scale(domain=["sign stays", "sign can be lost"]),
        legend=alt.Legend(orient="top"),
    )
    bars = base.mark_bar(style="range", height=9, cornerRadius=4).encode(
        x=alt.X("low:Q", title="coefficient"), x2="high:Q", color=colour
    )
    ticks = base.mark_tick(style="value", height=15, thickness=2).encode(x="value:Q")
    zero = alt.Chart(_data([{"low": 0}])).mark_rule(style="zero").encode(x="low:Q")
    chart = alt.layer(zero, bars, ticks).properties(width="container", height=24 * len(rows) + 60)
    return _spec(chart)


@_unchecked
def tradeoff_chart(
    points: list[dict[str, Any]], budgets: list[str], quality: str
) -> dict[str, Any]:
    """Draw accuracy and robustness over alpha (the paper's first figure).

    Parameters
    ----------
    points : list of dict
        "alpha", "quality" (or None) and "rates", one per budget. The scale is logarithmic, so an
        alpha of 0 is left out.
    budgets : list of str
        The budgets as they were written.
    quality : str
        "accuracy"; anything else is R².

    Returns
    -------
    dict
        A Vega-Lite specification.
    """
    name = "accuracy" if quality == "accuracy" else "variance explained (R²)"
    names = [name, *(f"robust at {budget}" for budget in budgets)]
    values = [
        {"alpha": point["alpha"], "share": share, "what": what}
        for point in points
        if point["alpha"] > 0
        for what, share in zip(names, [point["quality"], *point["rates"]], strict=True)
        if share is not None
    ]
    chart = (
        alt.Chart(_data(values))
        .mark_line(point=True, style="group")
        .encode(
            x=alt.X(
                "alpha:Q",
                title="alpha: penalty on large coefficients",
                scale=alt.Scale(type="log", nice=False),
                axis=alt.Axis(format="~g"),
            ),
            y=alt.Y("share:Q", title=None, axis=alt.Axis(format="%")),
            **_told_apart("what:N", names),
            tooltip=[
                alt.Tooltip("what:N", title="curve"),
                alt.Tooltip("alpha:Q", format="~g"),
                alt.Tooltip("share:Q", format=".1%"),
            ],
        )
        .properties(width="container", height=260)
    )
    return _spec(chart)


def save(spec: dict[str, Any], path: Path, suffix: str) -> None:
    """Write a chart to a file of its own.

    Parameters
    ----------
    spec : dict
        A Vega-Lite specification.
    path : Path
    suffix : {".html", ".svg", ".png"}
        The format, whatever `path` is called. Any other suffix means HTML.
    """
    spec = spec | {
        "width": 560,
        "background": "white",
        "config": {"range": {"category": _PALETTE}, "view": {"stroke": None}},
    }
    text = json.dumps(spec)
    if suffix == ".png":
        path.write_bytes(vl_convert.vegalite_to_png(text, scale=2))
    elif suffix == ".svg":
        path.write_text(vl_convert.vegalite_to_svg(text), encoding="utf-8")
    else:
        path.write_text(vl_convert.vegalite_to_html(text, bundle=True), encoding="utf-8")
