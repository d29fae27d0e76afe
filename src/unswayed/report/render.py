"""Facts to one HTML file that needs no network and runs nothing it was not written with.

Whatever a cell of a file holds is text here: the template escapes it, the data stands in a JSON
block whose angle brackets are escaped too, and the script only ever sets text. On top of that the
page's policy allows its own scripts by their hash and nothing else, no requests at all.
"""

import base64
import contextlib
import functools
import hashlib
import importlib.metadata
import json
import math
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2
import platformdirs
import vl_convert

from unswayed.atomic import atomic_write, private_folder
from unswayed.report.charts import (
    coefficient_chart,
    count_chart,
    curve_chart,
    radius_chart,
    range_chart,
    review_chart,
    tradeoff_chart,
)
from unswayed.results.certificates import CertificateSet, Verdict
from unswayed.results.groups import LARGE_GROUPS
from unswayed.words import (
    between,
    distance,
    labels,
    labels_between,
    number_end,
    percent,
    points,
    separated,
    share_range,
    signed,
)

_HASHES = {"1.9.0.post1": "3425bd951a44d478d0505c6b5d1e8d57656b6e9a4da7bfe88a718ce61d76e572"}
"""sha256 of the script that each version of vl-convert makes."""
_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}
_DRAWN = 24  # coefficients drawn; more become a wall
_NAMED = 6  # small groups that are named
_NO_SCRIPTS = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


@functools.cache
def _environment() -> jinja2.Environment:
    """Return the templates, which escape whatever they are given and are compiled once."""
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
    return _charted_page("report.html", "report.js", facts, _for_script(facts))


def _charted_page(template: str, script: str, facts: dict[str, Any], data: dict[str, Any]) -> str:
    """Return a page whose script draws charts."""
    environment = _environment()
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
        charts["coefficients"] = coefficient_chart(facts["coefficients"]["rows"][:_DRAWN])
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


# --- answers about all rows at once, and comparisons ------------------------------------------


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
    return _charted_page("collective.html", "collective.js", facts, {"charts": charts})


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


def render_comparison(facts: dict[str, Any]) -> str:
    """Return the page of a comparison."""
    return _environment().get_template("compare.html").render(facts=facts, policy=_NO_SCRIPTS)


# --- the script that draws charts -----------------------------------------------------------


def chart_library() -> str:
    """Return the script that draws the page's charts: the kept one if it is right, or a new one."""
    version = importlib.metadata.version("vl-convert-python")
    path = platformdirs.user_cache_path("unswayed") / f"charts-{version}.js"
    if version in _HASHES:
        with contextlib.suppress(OSError):
            kept = _read_own(path)
            if hashlib.sha256(kept).hexdigest() == _HASHES[version]:
                return kept.decode()
    script = vl_convert.javascript_bundle()  # type: ignore[call-arg]  # it has a default
    made = script.encode()
    if hashlib.sha256(made).hexdigest() == _HASHES.get(version):
        with contextlib.suppress(OSError):
            private_folder(path.parent)
            if path.is_symlink():  # or the file that it names would be overwritten
                path.unlink()
            with atomic_write(path) as beside:
                beside.write_bytes(made)
    return script


def _read_own(path: Path) -> bytes:
    """Return the bytes of a file; raise OSError if it is a link, or belongs to someone else."""
    number = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0))
    with open(number, "rb") as file:
        found = os.fstat(number)
        if not stat.S_ISREG(found.st_mode) or (
            hasattr(os, "getuid") and found.st_uid != os.getuid()
        ):
            raise PermissionError(f"{path} is not a file of this user")
        return file.read()


# --- Coefficients as facts: value, proven range, verdict on the sign, and what chance adds -


NOT_IDENTIFIED = "not identified"
"""What stands where a verdict would, if the data do not say what a coefficient is."""
_LOST = 2.0**-44
_ENDS = ("value", "low", "high")
_CHANCE = ("standard_error", "confidence_low", "confidence_high")
_SHOWN = 40  # on a page
_DIFFERENCE = (
    "The proven range is not a confidence interval: it is what wrong labels can do, and sampling "
    "error is not in it."
)


def effect_facts(rows: list[dict[str, Any]], **known: Any) -> dict[str, Any]:
    """Return what is known of coefficients, and how many of them keep their sign.

    What is not passed is empty: the intercept, which does not count among the rows; the base
    levels; what a coefficient is a change of; what could mislead; every budget that was asked
    about; and what standard errors are.
    """
    return {
        "total": len(rows),
        "kept": sum(row["keeps_sign"] for row in rows),
        "undecided": sum(row["verdict"] == Verdict.UNDECIDED for row in rows),
        "not_identified": [row["name"] for row in rows if row["verdict"] == NOT_IDENTIFIED],
        "rows": rows,
        "intercept": None,
        "bases": {},
        "meaning": "",
        "sampling": "",
        "budgets": [],
        "caveats": [],
    } | known


def model_effects(
    certificates: CertificateSet, names: Sequence[str], *, classes: bool, penalised: bool
) -> dict[str, Any]:
    """Return the coefficients of a model as they are, largest first."""
    rows = [{"name": name} | certified(certificates, at) for at, name in enumerate(names)]
    rows.sort(key=lambda row: -abs(row["value"]))
    words = sampling_in_words(
        reason=certificates.standard_errors.reason,
        linear=certificates.link is None,
        classes=classes,
        penalised=penalised,
    )
    return effect_facts(rows, sampling=words)


def certified(certificates: CertificateSet, at: int, scale: float = 1.0) -> dict[str, Any]:
    """Return value, range and verdict of a coefficient, divided by a number."""
    return {
        **measured(certificates, at, scale),
        **judged(certificates, at),
        "minimum_budget": float(certificates.minimum_budget[at]),
        "enough": float(certificates.minimum_budgets.high[at]),
    }


def measured(certificates: CertificateSet, at: int, scale: float = 1.0) -> dict[str, float]:
    """Return a coefficient, its proven range, standard error and interval, divided by a number."""
    chance = (certificates.standard_error, *certificates.confidence_interval())
    return ranged(certificates, at, scale) | {
        name: float(each[at]) / scale for name, each in zip(_CHANCE, chance, strict=True)
    }


def ranged(certificates: CertificateSet, at: int, scale: float = 1.0) -> dict[str, float]:
    """Return a coefficient and its proven range, divided by a number."""
    value, low, high = (
        float(each[at]) for each in (certificates.score, certificates.low, certificates.high)
    )
    return in_units(value, low, high, scale)


def judged(certificates: CertificateSet, at: int) -> dict[str, Any]:
    """Return the verdict on a coefficient's sign, and the same in words."""
    verdict, value = Verdict(certificates.verdict[at]), float(certificates.score[at])
    stays = f"stays {'positive' if value > 0 else 'negative' if value < 0 else '0'}"
    words = {Verdict.UNDECIDED: "undecided", Verdict.NOT_ROBUST: "can be lost"}
    return {
        "verdict": str(verdict),
        "keeps_sign": verdict == Verdict.ROBUST,
        "sign": words.get(verdict, stays),
    }


def not_identified() -> dict[str, Any]:
    """Return the facts of a coefficient that the data do not identify: nothing is certified."""
    return {
        **dict.fromkeys((*_ENDS, *_CHANCE, "minimum_budget", "enough"), math.nan),
        "verdict": NOT_IDENTIFIED,
        "keeps_sign": False,
        "sign": NOT_IDENTIFIED,
    }


def in_units(value: float, low: float, high: float, scale: float) -> dict[str, float]:
    """Return a value and its range divided by a positive number, the range rounded outwards.

    >>> found = in_units(1.0, 0.5, 1.5, 3.0)
    >>> found["low"] * 3 < 0.5, found["high"] * 3 > 1.5
    (True, True)
    """
    if scale == 1:
        return {"value": value, "low": low, "high": high}
    return {
        "value": value / scale,
        "low": math.nextafter(low / scale, -math.inf) if low else low,
        "high": math.nextafter(high / scale, math.inf) if high else high,
    }


def odds_ratios(found: dict[str, Any]) -> dict[str, float]:
    """Return a coefficient of log-odds as an odds ratio, the range rounded outwards.

    >>> odds_ratios({"value": 0.0, "low": -math.inf, "high": math.inf})
    {'odds_ratio': 1.0, 'odds_ratio_low': 0.0, 'odds_ratio_high': inf}
    """
    value, low, high = (_exponential(found[end]) for end in _ENDS)
    # Exponentials of a library may be wrong by some units in the last place.
    ends = {"odds_ratio_low": low * (1 - _LOST), "odds_ratio_high": high * (1 + _LOST)}
    return {"odds_ratio": value, **ends}


def _exponential(power: float) -> float:
    try:
        return math.exp(power)
    except OverflowError:
        return math.inf


def sampling_in_words(*, reason: str, linear: bool, classes: bool, penalised: bool) -> str:
    """Say what standard errors and confidence intervals are, and how proven ranges differ."""
    if reason:
        return f"Standard errors and confidence intervals are not computed: {reason}. {_DIFFERENCE}"
    assumed = "errors of equal variance" if linear else "labels of the variance that the model says"
    if linear and classes:
        assumed += ", which labels of two classes have only roughly"
    about = (
        " With a penalty, the interval is about the penalised coefficient, not about what it would "
        "be without one."
    )
    return (
        f"{_DIFFERENCE} Confidence intervals, 95 %, allow for chance in the sample, take every "
        f"label to be right, and assume independent {assumed}.{about if penalised else ''}"
    )


# --- on a page ------------------------------------------------------------------------------


def drawn_effects(found: dict[str, Any], labels: int) -> dict[str, Any]:
    """Return coefficients for a page: the largest of those that are identified, in one unit.

    `labels` may be wrong, where the facts name no other number, and `scope` says of which model
    they are, where that is not the one that was certified.
    """
    known = [each for each in found["rows"] if each["verdict"] != NOT_IDENTIFIED]
    intercept = found["intercept"]
    return {"scope": "", "labels": labels} | found | {
        "intercept": None if intercept is None else _drawable(intercept),
        "rows": [_comparable(each) for each in known[:_SHOWN]],
    }  # fmt: skip


def _comparable(coefficient: dict[str, Any]) -> dict[str, Any]:
    """Return a coefficient for a page: standardised, with its base level in its name."""
    row = _drawable(coefficient)
    if coefficient.get("standard") is not None:
        original = {end: row[end] for end in _ENDS}
        row |= _finite(coefficient["standard"]) | {"original": original}
        row["budgets"] = [
            each | _finite(each["standard"]) for each in coefficient.get("budgets", ())
        ]
    if coefficient.get("base") is not None:
        row["short"] = coefficient["name"]  # for the chart: base levels stand above it
        row["name"] = f"{coefficient['name']}, not {coefficient['base']}"
    return row


def _drawable(coefficient: dict[str, Any]) -> dict[str, Any]:
    """Return a coefficient for a page: infinite ends become None, the budget a text."""
    budget = labels_between(coefficient["minimum_budget"], coefficient["enough"])
    return coefficient | _finite(coefficient) | {"minimum_budget": budget}


def _finite(ends: dict[str, Any]) -> dict[str, Any]:
    """Return value, ends, standard error and interval, None where they are not finite."""
    names = (end for end in (*_ENDS, *_CHANCE) if end in ends)
    return {end: ends[end] if math.isfinite(ends[end]) else None for end in names}
