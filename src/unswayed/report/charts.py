"""Vega-Lite specifications of the report's charts, made with altair.

Colours come from the page, which knows whether it is light or dark: marks name a style, and the
page's script says what each style looks like.
"""

import json
from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

_PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A6F00", "#882255"]
"""Okabe and Ito's colours, which colour-blind readers can tell apart."""


def _spec(chart: Any) -> dict[str, Any]:
    spec: dict[str, Any] = chart.to_dict()
    return spec


def _drawable(text: str) -> str:
    """Return a text with unprintable signs, which Vega's expressions cannot hold, as U+ codes."""
    return "".join(sign if sign.isprintable() else f"U+{ord(sign):04X}" for sign in text)


def _data(values: list[dict[str, Any]]) -> Any:
    return alt.Data(values=values)  # type: ignore[no-untyped-call]


def curve_chart(curve: dict[str, Any], column: str | None, main: int) -> dict[str, Any]:
    """Draw the robustness rate over budgets, of all rows and of the groups of one column.

    A rule marks the budget that the reader picks; it is the parameter "budget" of the chart.

    Parameters
    ----------
    curve : dict
        One of the "curves" of `summarise`.
    column : str or None
        The column of the groups; None if there are none.
    main : int
        The main budget, in labels: where the rule stands first.

    Returns
    -------
    dict
        A Vega-Lite specification.
    """
    budget = alt.param(name="budget", value=main)
    x = alt.X(
        "budget:Q",
        title="wrong labels",
        axis=alt.Axis(format=",d", tickMinStep=1),
        scale=alt.Scale(domain=[0, curve["budget"][-1]], nice=False),
    )
    y = alt.Y(
        "rate:Q",
        title="rows that keep their prediction",
        axis=alt.Axis(format="%"),
        scale=alt.Scale(domain=[0, 1]),
    )
    tip = [
        alt.Tooltip("group:N", title=_drawable(column or "rows")),
        alt.Tooltip("budget:Q", title="wrong labels", format=",d"),
        alt.Tooltip("rate:Q", title="keep their prediction", format=".1%"),
    ]
    everyone = _data(_records(curve["budget"], curve["all"], "all rows"))
    layers = []
    if curve["groups"]:
        names = [_drawable(each["group"]) for each in curve["groups"]]
        groups = _data(
            [
                record
                for each, name in zip(curve["groups"], names, strict=True)
                for record in _records(curve["budget"], each["rate"], name)
            ]
        )
        layers.append(
            alt.Chart(groups)
            .mark_line(interpolate="step-after", style="group")
            .encode(
                x=x,
                y=y,
                color=alt.Color("group:N", title=None, sort=names),
                strokeDash=alt.StrokeDash("group:N", legend=None, sort=names),
                tooltip=tip,
            )
        )
    layers.append(
        alt.Chart(everyone)
        .mark_line(interpolate="step-after", style="overall")
        .encode(x=x, y=y, tooltip=tip)
    )
    layers.append(
        alt.Chart(_data([{}]))
        .transform_calculate(budget="budget")
        .mark_rule(style="now", clip=True)
        .encode(x=x)
    )
    chart = alt.layer(*layers).add_params(budget).properties(width="container", height=260)
    return _spec(chart)


def _records(budgets: list[int], rates: list[float], group: str) -> list[dict[str, Any]]:
    return [{"budget": k, "rate": r, "group": group} for k, r in zip(budgets, rates, strict=True)]


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
    shown = [
        {
            "name": _drawable(row["name"]),
            "value": row["value"],
            "low": row["low"],
            "high": row["high"],
            "sign": "sign stays" if row["keeps_sign"] else "sign can be lost",
        }
        for row in rows
    ]
    base = alt.Chart(_data(shown)).encode(
        y=alt.Y(
            "name:N",
            title=None,
            sort=None,
            axis=alt.Axis(labelLimit=150, ticks=False, domain=False),
        ),
        tooltip=[
            alt.Tooltip("name:N", title="coefficient"),
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
            x=alt.X("alpha:Q", scale=alt.Scale(type="log"), axis=alt.Axis(format="~g")),
            y=alt.Y("share:Q", title=None, axis=alt.Axis(format="%")),
            color=alt.Color("what:N", title=None, sort=names),
            strokeDash=alt.StrokeDash("what:N", legend=None, sort=names),
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
