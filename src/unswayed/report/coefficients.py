"""Coefficients as facts: value, proven range, verdict on the sign, and what chance adds."""

import math
from collections.abc import Sequence
from typing import Any

from unswayed.results.certificates import CertificateSet, Verdict
from unswayed.words import labels_between

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

    Examples
    --------
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

    Examples
    --------
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
