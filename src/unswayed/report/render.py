"""A dict to one HTML file that needs no network and runs nothing it was not written with.

Whatever a cell of a file holds is text here: the template escapes it, the data stands in a JSON
block whose angle brackets are escaped too, and the script only ever sets text. On top of that
the page's policy allows its own scripts by their hash and nothing else, no requests at all.
"""

import base64
import hashlib
import json
from typing import Any

import jinja2

from unswayed.report.charts import coefficient_chart, curve_chart, radius_chart, tradeoff_chart
from unswayed.report.library import chart_library
from unswayed.words import (
    between,
    distance,
    labels,
    number_end,
    percent,
    points,
    separated,
    share_range,
    signed,
)

_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}
_CHARTED = 24  # coefficients drawn; more become a wall


def page_environment() -> jinja2.Environment:
    """Return the templates, which escape whatever they are given."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("unswayed.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "percent": percent,
        "range": share_range,
        "points": points,
        "signed": signed,
        "between": between,
        "labels": labels,
        "number": _number,
        "distance": distance,
        "low": lambda value: _number(value, -1),
        "high": lambda value: _number(value, 1),
        "separated": separated,
    }
    return environment


def render(facts: dict[str, Any]) -> str:
    """Return the page of a summary."""
    return charted_page("report.html", "report.js", facts, _for_script(facts))


def charted_page(template: str, script: str, facts: dict[str, Any], data: dict[str, Any]) -> str:
    """Return a page whose script draws charts."""
    environment = page_environment()
    library = _inert(chart_library())
    code = "\n".join(_source(environment, name) for name in ("charts.js", script))
    return environment.get_template(template).render(
        facts=facts,
        data=_json(data),
        library=library,
        script=code,
        policy=_policy(library, code),
    )


def _source(environment: jinja2.Environment, name: str) -> str:
    loader = environment.loader
    assert loader is not None  # noqa: S101
    return loader.get_source(environment, name)[0].strip()


def _number(value: float | None, way: int = 0) -> str:
    if value is None:
        return "unknown"
    return f"{value:,}" if isinstance(value, int) else number_end(value, way, 4)


def _inert(script: str) -> str:
    """Keep a script from closing its own tag, without changing what it does."""
    return script.strip().replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _json(value: Any) -> str:
    """Return JSON that may stand between script tags."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False).translate(
        _ESCAPES
    )


def _policy(*scripts: str) -> str:
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(each.encode()).digest()).decode()}'"
        for each in scripts
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _for_script(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a summary that the page's script uses, and its charts."""
    keys = "kind task three train_rows test_rows main decided named small_group rows".split()
    dial = facts["decided"] and not facts["no_rows"]
    if dial:
        keys += ["top", "minimum_budget", "enough"]
    charts = {
        f"curve-{at}": curve_chart(curve, facts["main"], facts["keeps"])
        for at, curve in enumerate(facts.get("curves", ()))
    }
    if facts["coefficients"]["rows"]:
        charts["coefficients"] = coefficient_chart(facts["coefficients"]["rows"][:_CHARTED])
    if facts["tradeoff"]:
        charts["tradeoff"] = tradeoff_chart(
            facts["tradeoff"]["points"],
            facts["tradeoff"]["budgets"],
            "accuracy" if facts["classes"] else "r2",
            "C" if facts["kind"] == "logistic" else "alpha",
        )
    if len(facts["radius_grid"]) > 1:
        asked = [each["budget"] for each in facts["movement"]["budgets"]]
        charts["radii"] = radius_chart(facts["radius_grid"], asked, facts["log"])
    return {key: facts[key] for key in keys} | {
        "charts": charts,
        "dial": dial,
        "tables": _tables(facts) if dial else [],
        "sections": [each["row"] for each in facts["chosen"]["rows"]],
    }


def _tables(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what the tables of predicted classes and of groups need to follow the budget."""
    tables = [
        {"id": "predicted", "codes": codes, "sizes": [each["rows"] for each in groups]}
        for codes, groups in zip(facts["predicted_codes"], facts["exact_predicted"], strict=True)
    ]
    asked = [each["labels"] for each in facts["budgets"]]
    for at, (codes, grouping) in enumerate(zip(facts["group_codes"], facts["groups"], strict=True)):
        chances = [
            {"labels": labels, "interval": interval, "within_chance": within}
            for labels, interval, within in zip(
                asked, grouping["gap_intervals"], grouping["within_chance"], strict=True
            )
        ]
        sizes = [each["rows"] for each in grouping["groups"]]
        tables.append({"id": f"group-{at}", "codes": codes, "sizes": sizes, "gaps": chances})
    return tables
