"""What the page about fairness says: rates in per cent, the headline, limits, and charts.

Facts name metrics as fairlearn does and write shares as fractions. A page says the same in words
and in per cent; gaps between shares are in percentage points.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from unswayed.results.groups import LARGE_GROUPS
from unswayed.words import number_end, percent, points, written

_NAMED = 6  # small groups that are named
_KINDS = ("difference", "ratio", "group_min", "group_max")
_RATES = {
    "selection_rate": "share predicted {positive}",
    "accuracy": "share predicted right",
    "true_positive_rate": "share predicted {positive} of the rows labelled {positive}",
    "false_negative_rate": "share predicted {negative} of the rows labelled {positive}",
    "false_positive_rate": "share predicted {positive} of the rows labelled {negative}",
    "true_negative_rate": "share predicted {negative} of the rows labelled {negative}",
    "mean_prediction": "mean predicted {label}",
}
_ALIASES = {
    "demographic_parity": "selection_rate",
    "equal_opportunity": "true_positive_rate",
    "accuracy_score": "accuracy",
    "recall_score": "true_positive_rate",
}
_EITHER = "true or false positive rates"  # what equalized odds are about
_COMPARED = {
    "difference": "gap in the {}",
    "ratio": "lowest {} as a share of the highest",
    "group_min": "lowest {} of a group",
    "group_max": "highest {} of a group",
}


@dataclass(frozen=True, slots=True)
class _Metric:
    """A metric in words, and how its values are written."""

    kind: str | None  # how groups are compared; None: they are not
    rate: str  # in words, without an article
    words: str
    unit: str  # "%", "points", or "" for numbers of the label's own unit

    @classmethod
    def of(cls, name: str, facts: dict[str, Any]) -> "_Metric":
        """Read a name, of three or more classes with a class behind it; others stay as they are."""
        whole, of = name, ""
        if len(facts["classes"]) > 2 and name.endswith(")"):
            name, _, of = name.removesuffix(")").partition(" (")
        kind = next((each for each in _KINDS if name.endswith(f"_{each}")), None)
        stem = name if kind is None else name.removesuffix(f"_{kind}")
        stem = _ALIASES.get(stem, stem)
        unit = "" if not facts["fairness"]["share"] else "points" if kind == "difference" else "%"
        if stem == "equalized_odds":
            words = f"largest {kind} of {_EITHER}{f' ({of})' if of else ''} between groups"
            return cls(kind, _EITHER, words, unit)
        if stem not in _RATES:
            return cls(None, whole, whole, unit)
        first, second = facts["classes"] if len(facts["classes"]) == 2 else ("another class", of)
        rate = _RATES[stem].format(negative=first, positive=second, label=facts["label"])
        if kind is None:
            return cls(kind, rate, rate, unit)
        return cls(kind, rate, _COMPARED[kind].format(rate), unit)

    def end(self, value: float, way: int = 0) -> str:
        """Return a value with its unit, rounded down (-1), to nearest (0) or up (1)."""
        if not math.isfinite(value):
            return "unknown"
        if self.unit == "points":
            return f"{points(value, way=way)} points"
        return percent(value, way) if self.unit else number_end(value, way, 4)

    def bare(self, value: float, way: int = 0) -> str:
        """Return a value without its unit."""
        return self.end(value, way).removesuffix(" points").removesuffix(" %")

    def span(self, low: float, high: float, way: int = 1) -> str:
        """Return a range, its ends rounded outwards (1) or inwards (-1)."""
        if way < 0 and not low < high:
            return self.end(low)
        first, last = self.bare(low, -way), self.bare(high, way)
        if way < 0 and low < high and _number(first) > _number(last):  # too close to tell apart
            return self.end((low + high) / 2)
        return f"{first} to {self.end(high, way)}"


def _plural(rate: str) -> str:
    """Return the name of a rate in the plural."""
    return rate.replace("share ", "shares ", 1).replace("mean ", "means ", 1)


def _number(text: str) -> float:
    return math.nan if text == "unknown" else float(text.replace(",", ""))


def fairness_page(facts: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the page shows, in words and with budgets ascending, and its charts."""
    found = facts["fairness"]
    order = sorted(range(len(found["budgets"])), key=lambda at: found["budgets"][at]["labels"])

    def shown(line: dict[str, Any], metric: _Metric, name: str, technical: str = "") -> Any:
        return line | {
            "name": name,
            "technical": technical,
            "now": metric.end(line["value"]),
            "ranges": [_shown_range(line["ranges"][at], metric) for at in order],
        }

    overall = [
        shown(line, metric, metric.words, line["metric"])
        for line in found["overall"]
        for metric in [_Metric.of(line["metric"], facts)]
    ]
    columns = []
    for each in found["columns"]:
        compared = []
        for line in each["metrics"]:
            metric = _Metric.of(line["metric"], facts)
            more = ", all groups" if line["small_groups"] else ""
            compared.append(shown(line, metric, metric.words + more, line["metric"]))
            if line["large"]:
                name = f"{metric.words}, {LARGE_GROUPS}"
                compared.append(shown(line["large"], metric, name, line["metric"]))
        rates = [
            {
                "words": metric.words,
                "groups": [shown(group, metric, group["group"]) for group in rate["groups"]],
            }
            for rate in each["rates"]
            for metric in [_Metric.of(rate["rate"], facts)]
        ]
        columns.append({"column": each["column"], "compared": compared, "rates": rates})
    page = found | {
        "main": found["budgets"][0],
        "budgets": [found["budgets"][at] for at in order],
        "overall": overall,
        "columns": columns,
        "headline": headline(facts),
        "limits": [_judged(each, facts) for each in _by_amount(found)],
    }
    return page, _charts(page, facts)


def _shown_range(found: dict[str, Any], metric: _Metric) -> dict[str, Any]:
    """Return a range as the page writes it."""
    return found | {
        "text": metric.span(found["low"], found["high"]),
        "reached": metric.span(found["inner_low"], found["inner_high"], -1),
    }


# --- the headline ---------------------------------------------------------------------------


def headline(facts: dict[str, Any]) -> dict[str, Any]:
    """Return what a page opens with: the first gap, without groups whose rates say little.

    If they are all that is compared, a rate of all rows takes its place.
    """
    found = facts["fairness"]
    compared = [each for each in found["columns"] if each["metrics"]]
    gap: dict[str, Any] | None = compared[0]["metrics"][0] if compared else None
    line: dict[str, Any]
    note = _small_groups(gap, compared[0]["column"], facts) if gap and gap["small_groups"] else None
    if gap is not None and (gap["large"] or not gap["small_groups"]):
        line, metric = gap["large"] or gap, _Metric.of(gap["metric"], facts)
        now = _gap(line, metric, compared[0], facts, large=line is gap["large"])
    else:
        rates = [
            group | {"metric": rate["rate"], "column": each["column"]}
            for each in found["columns"]
            for rate in each["rates"]
            for group in rate["groups"]
        ]
        others = [*found["overall"], *(each for each in rates if not each["small"])]
        line = others[0] if others else gap or rates[0]
        metric = _Metric.of(line["metric"], facts)
        whom = f" of {line['column']} {line['group']}" if "group" in line else ""
        now = f"The {metric.words}{whom} is", metric.end(line["value"])
    ends, main = line["ranges"][0], _shown_range(line["ranges"][0], metric)
    way = metric.bare(ends["low"], -1), metric.bare(ends["high"], 1)
    return {
        "rows": line["rows"],
        "figure": f"{way[0]} to {way[1]}" if way[0] != way[1] else way[0],
        "unit": {"points": "percentage points", "%": "%", "": ""}[metric.unit],
        "now": now,
        "least": way[0],
        "most": metric.end(ends["high"], 1),
        "text": main["text"],
        "proven": ends["proven"],
        "reached": main["reached"],
        "note": note,
    }


def _gap(
    line: dict[str, Any],
    metric: _Metric,
    column: dict[str, Any],
    facts: dict[str, Any],
    *,
    large: bool,
) -> tuple[str, str]:
    """Return how far groups are apart: a sentence up to its number, and the number."""
    value = metric.end(line["value"])
    rates = [
        group
        for each in column["rates"]
        if _Metric.of(each["rate"], facts).rate == metric.rate
        for group in each["groups"]
        if not (large and group["small"])
    ]
    one = _Metric(None, metric.rate, metric.rate, "%" if metric.unit else "")
    named = ", ".join(f"{each['group']} {one.end(each['value'])}" for each in rates)
    where = f"groups of {column['column']}" + (f" ({LARGE_GROUPS})" if large else "")
    if metric.kind != "difference" or metric.rate == _EITHER:
        return f"Between {where}, the {metric.words} is", value
    if len(rates) == 2:
        return f"The {_plural(metric.rate)} ({named}) differ by", value
    return f"Between {where}, the {_plural(metric.rate)} differ by up to", value


def _small_groups(gap: dict[str, Any], column: str, facts: dict[str, Any]) -> str:
    """Return which groups make no headline, and what the gap is with them."""
    few, more = gap["small_groups"][:_NAMED], len(gap["small_groups"]) - _NAMED
    named = ", ".join(few) + (f" and {more} more" if more > 0 else "")
    metric = _Metric.of(gap["metric"], facts)
    left_out = f"Smaller groups are left out of this: {named}"
    if not gap["large"]:
        left_out = (
            f"This is no gap by {column}: that needs two {LARGE_GROUPS}, and these are smaller: "
            f"{named}"
        )
    within = metric.span(gap["ranges"][0]["low"], gap["ranges"][0]["high"])
    return (
        f"{left_out}. With them, the {metric.words} is {metric.end(gap['value'])} and stays within "
        f"{within}."
    )


# --- limits ---------------------------------------------------------------------------------


def _by_amount(found: dict[str, Any]) -> list[dict[str, Any]]:
    """Return limits, those of small budgets first."""
    amounts = {each["budget"]: each["labels"] for each in found["budgets"]}
    return sorted(found["limits"], key=lambda each: amounts[each["budget"]])


def _judged(limit: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
    """Say whether a limit holds at a budget, in the page's units."""
    found = facts["fairness"]
    at = next(i for i, each in enumerate(found["budgets"]) if each["budget"] == limit["budget"])
    line = next(
        line
        for column in found["columns"]
        if column["column"] == limit["column"]
        for line in column["metrics"]
        if line["metric"] == limit["metric"]
    )
    metric, ends = _Metric.of(limit["metric"], facts), line["ranges"][at]
    above = metric.kind == "difference"
    outer, inner, way = ("high", "inner_high", 1) if above else ("low", "inner_low", -1)
    bound, best = metric.end(ends[outer], way), metric.end(ends[inner], -way)
    most = written(limit["limit"], times=100 if metric.unit else 1)
    most = f"{most}{' points' if metric.unit == 'points' else ' %' if metric.unit else ''}"
    what = f"the {metric.words} of {limit['column']}"
    said = {
        "holds": f"{what} stays at {'most' if above else 'least'} {bound}",
        "can be broken": f"wrong labels can make {what} {best}",
        "open": f"wrong labels can make {what} {best}, and {bound} is not ruled out",
    }[limit["verdict"]]
    allowed = f"the limit is {'at most' if above else 'at least'} {most}"
    now = f", and without wrong labels it is {metric.end(line['value'])}"
    return limit | {"sentence": f"at a budget of {limit['budget']}, {said}; {allowed}{now}"}


# --- charts ---------------------------------------------------------------------------------


def _charts(page: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
    """Return charts of ranges: of all rows, then of each column its metrics and its groups."""
    budgets, share = [each["budget"] for each in page["budgets"]], page["share"]

    def drawn(lines: Sequence[dict[str, Any]], units: set[str], title: str, **more: Any) -> Any:
        unit = units.pop() if len(units) == 1 else "%"
        metric = _Metric(None, "", "", unit)
        named = [(line["name"], line) for line in lines]
        # The charts' libraries take a second: a terminal has none.
        from unswayed.report.charts import range_chart

        return range_chart(
            named, budgets, end=metric.end, title=title, share=share, unit=unit, **more
        )

    def units(lines: Sequence[dict[str, Any]]) -> set[str]:
        return {_Metric.of(line["technical"], facts).unit for line in lines}

    charts = {}
    if page["overall"]:
        title = "share of rows" if share else f"in the unit of {facts['label']}"
        charts["overall"] = drawn(page["overall"], units(page["overall"]), title, wrap=True)
    for at, each in enumerate(page["columns"]):
        limits = {
            line["name"]: limit["limit"]
            for limit in page["limits"]
            for line in each["compared"]
            if (limit["column"], limit["metric"]) == (each["column"], line["technical"])
        }
        if each["compared"]:
            title = "gap in percentage points" if share else f"gap in the unit of {facts['label']}"
            if share and units(each["compared"]) != {"points"}:
                title = "gap, or ratio"
            charts[f"metrics-{at}"] = drawn(
                each["compared"], units(each["compared"]), title, wrap=True, limits=limits
            )
        for place, rate in enumerate(each["rates"]):
            kind = {"%" if share else ""}
            charts[f"rates-{at}-{place}"] = drawn(rate["groups"], kind, rate["words"])
    return charts
