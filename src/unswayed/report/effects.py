"""Effects: coefficients and contrasts as people read them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from unswayed.certificates import CertificateSet, Verdict

_LOST = 2.0**-44
_CHANCE = ("standard_error", "confidence_low", "confidence_high")
_DIFFERENCE = (
    "The proven range is not a confidence interval: it is what wrong labels can do, and sampling "
    "error is not in it."
)
NOT_IDENTIFIED = "not identified"
"""What stands where a verdict would, if the data do not say what a coefficient is."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Effects:
    """Coefficients or contrasts that were asked about, each question once."""

    rows: list[dict[str, Any]]
    # The same of the intercept, and what it means; it does not count among the rows
    intercept: dict[str, Any] | None = None
    bases: dict[str, str] = field(default_factory=dict)  # Base level of each category, by column
    meaning: str = ""  # What a coefficient is a change of, in words
    # What could mislead, as `caveat_dicts` gives it
    caveats: list[dict[str, Any]] = field(default_factory=list)
    # Of the rows that are identified, and of the intercept
    certificates: tuple[CertificateSet, ...] = ()
    scope: str = ""  # Of which model they are, where that is not the one that was certified
    # How many labels may be wrong, where that is another number than for predictions
    labels: int | None = None
    # Each "budget" as it was written, its "labels", also "labels_in_words", and how many rows are
    # "kept" and "undecided"
    budgets: list[dict[str, Any]] = field(default_factory=list)
    sampling: str = ""  # What standard errors and intervals are, and are not

    @classmethod
    def of(cls, certificates: CertificateSet, names: Sequence[str], sampling: str) -> "Effects":
        """Return the coefficients of a model as they are, largest first."""
        rows = [{"name": names[at]} | facts(certificates, at) for at in range(len(names))]
        rows.sort(key=lambda row: -abs(row["value"]))
        return cls(rows=rows, certificates=(certificates,), sampling=sampling)

    @property
    def kept(self) -> int:
        """Number of rows whose sign is proven to stay."""
        return sum(row["keeps_sign"] for row in self.rows)

    @property
    def undecided(self) -> int:
        """Number of rows whose sign is neither proven to stay nor known to be lost."""
        return sum(row["verdict"] == Verdict.UNDECIDED for row in self.rows)

    @property
    def unidentified(self) -> list[str]:
        """Names of rows that the data do not identify."""
        return [row["name"] for row in self.rows if row["verdict"] == NOT_IDENTIFIED]


def facts(certificates: CertificateSet, at: int, scale: float = 1.0) -> dict[str, Any]:
    """Return value, range and verdict of a coefficient."""
    return {
        **measured(certificates, at, scale),
        **judged(certificates, at),
        "minimum_budget": float(certificates.minimum_budget[at]),
        "enough": float(certificates.minimum_budgets.high[at]),
    }


def judged(certificates: CertificateSet, at: int) -> dict[str, Any]:
    """Return the verdict on a coefficient's sign, and the same in words."""
    verdict = Verdict(certificates.verdict[at])
    return {
        "verdict": str(verdict),
        "keeps_sign": verdict == Verdict.ROBUST,
        "sign": _sign(verdict, float(certificates.score[at])),
    }


def measured(certificates: CertificateSet, at: int, scale: float = 1.0) -> dict[str, float]:
    """Return a coefficient, its proven range, standard error and interval, divided by a number."""
    value, low, high = (
        float(each[at]) for each in (certificates.score, certificates.low, certificates.high)
    )
    chance = (certificates.standard_error, *certificates.confidence_interval())
    return in_units(value, low, high, scale) | {
        name: float(each[at]) / scale for name, each in zip(_CHANCE, chance, strict=True)
    }


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


def _sign(verdict: Verdict, value: float) -> str:
    match verdict:
        case Verdict.UNDECIDED:
            return "undecided"
        case Verdict.NOT_ROBUST:
            return "can be lost"
    return f"stays {'positive' if value > 0 else 'negative' if value < 0 else '0'}"


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
    value, low, high = (_exponential(found[end]) for end in ("value", "low", "high"))
    # Exponentials of a library may be wrong by some units in the last place.
    ends = {"odds_ratio_low": low * (1 - _LOST), "odds_ratio_high": high * (1 + _LOST)}
    return {"odds_ratio": value, **ends}


def _exponential(power: float) -> float:
    try:
        return math.exp(power)
    except OverflowError:
        return math.inf


def not_identified() -> dict[str, Any]:
    """Return the facts of a coefficient that the data do not identify: nothing is certified."""
    return {
        **dict.fromkeys(("value", "low", "high", *_CHANCE), math.nan),
        "verdict": NOT_IDENTIFIED,
        "keeps_sign": False,
        "sign": NOT_IDENTIFIED,
        "minimum_budget": math.nan,
        "enough": math.nan,
    }
