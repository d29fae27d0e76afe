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
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jinja2
import platformdirs
import vl_convert
from markupsafe import Markup

from unswayed.atomic import atomic_write, private_folder
from unswayed.report.certified import words_of
from unswayed.report.charts import (
    coefficient_chart,
    count_chart,
    curve_chart,
    radius_chart,
    review_chart,
    tradeoff_chart,
)
from unswayed.report.fairness import fairness_page
from unswayed.results.reviews import ANSWER
from unswayed.words import (
    between,
    distance,
    in_unit,
    is_whole,
    labels,
    number_end,
    percent,
    points,
    separated,
    share_range,
    signed,
    written,
)

_HASHES = {"1.9.0.post1": "3425bd951a44d478d0505c6b5d1e8d57656b6e9a4da7bfe88a718ce61d76e572"}
"""sha256 of the script that each version of vl-convert makes."""
_ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}
_WORD = 14  # characters of a word that is not broken
_DRAWN = 12  # coefficients drawn; more become a wall
_STATES = ("confirmed", "enough evidence", "open", "overturned so far")  # of rows of an audit
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
        "amount": written,
        "in_unit": in_unit,
        "number": _number,
        "distance": distance,
        "low": lambda value: _number(value, -1),
        "high": lambda value: _number(value, 1),
        "separated": separated,
        "words_wide": _words_wide,
    }
    return environment


def render(facts: dict[str, Any]) -> str:
    """Return the page of a summary."""
    facts = facts | {"tradeoff": facts["tradeoff"] and _ascending(facts)}
    return _charted_page("report.html", "report.js", facts, _for_script(facts))


def _tradeoff_chart(facts: dict[str, Any]) -> dict[str, Any]:
    return tradeoff_chart(
        facts["tradeoff"]["points"],
        facts["tradeoff"]["budgets"],
        "accuracy" if facts["classes"] else "r2",
        _penalty(facts),
    )


def _penalty(facts: dict[str, Any]) -> str:
    """Return what the penalty of a trade-off is called."""
    return {"logistic": "C", "descent": "steps"}.get(facts["kind"], "alpha")


def _ascending(facts: dict[str, Any]) -> dict[str, Any]:
    """Return a trade-off whose budgets ascend, in whatever order they were asked for."""
    found, amounts = facts["tradeoff"], [each["labels"] for each in facts["budgets"]]
    order = sorted(range(len(amounts)), key=amounts.__getitem__)
    return {
        "budgets": [found["budgets"][at] for at in order],
        "points": [
            point | {name: [point[name][at] for at in order] for name in ("rates", "undecided")}
            for point in found["points"]
        ],
    }


def _charted_page(
    template: str, script: str, facts: dict[str, Any], data: dict[str, Any], view: Any = None
) -> str:
    """Return a page whose script draws charts; a view is what it shows of some facts, in words."""
    environment = _environment()
    library = _inert(chart_library())
    code = "\n".join(_source(environment, name) for name in ("charts.js", "download.js", script))
    return environment.get_template(template).render(
        facts=facts,
        **words_of(facts),
        data=_json(data),
        library=library,
        script=code,
        drawn=_DRAWN,
        view=view,
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


def _words_wide(names: Iterable[str]) -> Markup:
    """Return a style of a table whose columns of names do not break words, if these are short."""
    longest = max((len(word) for name in names for word in name.split()), default=0)
    return Markup(f' style="--word: {min(longest, _WORD) + 1}ch"')  # noqa: S704  (a number)


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
    keys += ["unit", "budget_source"]
    dial, words = facts["decided"] and not facts["no_rows"], words_of(facts)
    if dial:
        keys += ["top", "minimum_budget", "enough"]
    charts = {
        f"curve-{at}": curve_chart(curve, facts, words["measure"]["axis"])
        for at, curve in enumerate(facts.get("curves", ()))
    }
    if facts["coefficients"]["rows"]:
        charts["coefficients"] = coefficient_chart(facts["coefficients"]["rows"][:_DRAWN])
    if facts["tradeoff"]:
        charts["tradeoff"] = _tradeoff_chart(facts)
    if len(facts["radius_grid"]) > 1:
        charts["radii"] = radius_chart(
            facts["radius_grid"],
            facts["movement"]["budgets"],
            facts["label"],
            relative=facts["log"],
        )
    return {key: facts[key] for key in keys} | {
        "charts": charts,
        "plain": words["plain"],
        "around": [words["measure"][name] for name in ("before", "after", "after_one")],
        "dial": dial,
        "whole": is_whole(facts["unit"]),
        "tables": _tables(facts) if dial else [],
        "asked": [each["row"] for each in facts["chosen"]["rows"][: facts["chosen"]["asked"]]],
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
    view: dict[str, Any] | None = None
    if "together" in facts:
        asked = facts["together"]
        budgets = sorted(asked["budgets"], key=lambda each: each["labels"])
        axis = words_of(facts)["measure"]["axis"] if is_whole(facts["unit"]) else facts["unit"]
        charts["counts"] = count_chart(budgets, asked["rows"], axis)
    if "fairness" in facts:
        view, drawn = fairness_page(facts)
        charts |= drawn
    if "audit" in facts:
        facts = facts | {"audit": facts["audit"] | {"listed": _by_state(facts["audit"]["listed"])}}
    if "tradeoff" in facts:
        found = {"option": _penalty(facts)} | _weighed(facts["tradeoff"]["points"])
        facts = facts | {"tradeoff": _ascending(facts) | found}
        charts["tradeoff"] = _tradeoff_chart(facts)
    data: dict[str, Any] = {"charts": charts}
    if "review" in facts and facts["review"]["n_labels"]:
        charts["review"] = review_chart(facts["review"])
        data["list"] = _review_list(facts["review"])
    return _charted_page("collective.html", "collective.js", facts, data, view)


_POINT = 0.01  # of accuracy, that people may give up


def _weighed(points: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the most accurate model, and the most robust one that is a point worse at most."""
    known = [each for each in points if each["quality"] is not None]
    best = max(known, key=lambda each: (each["quality"], each["rates"][0]), default=points[0])
    near = [each for each in known if each["quality"] >= best["quality"] - _POINT]
    robust = max(near, key=lambda each: each["rates"][0], default=best)
    return {"best": best, "robust": robust if robust["rates"][0] > best["rates"][0] else None}


def _review_list(plan: dict[str, Any]) -> list[list[Any]]:
    """Return labels to check as lines of a file that `review apply` reads when it is filled in."""
    head = ["order", "batch", "row", "label", *plan["columns"], ANSWER]
    lines = [
        [at, each["batch"], each["row"], each["label"], *each["cells"], ""]
        for at, each in enumerate(plan["labels"], 1)
    ]
    return [head, *lines]


def _by_state(listed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of an audit: confirmed ones first, then open ones, then overturned ones."""
    return sorted(listed, key=lambda each: (_STATES.index(each["state"]), -each["e_value"]))


def render_comparison(facts: dict[str, Any]) -> str:
    """Return the page of a comparison."""
    words = [words_of(facts[side]) for side in ("first", "second")]
    template = _environment().get_template("compare.html")
    return template.render(facts=facts, words=words, policy=_NO_SCRIPTS)


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
