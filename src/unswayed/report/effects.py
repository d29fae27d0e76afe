"""Effects: coefficients and contrasts as people read them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from unswayed.certificates import CertificateSet, Verdict

_LOST = 2.0**-44
NOT_IDENTIFIED = "not identified"
"""What stands where a verdict would, if the data do not say what a coefficient is."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Effects:
    """Coefficients or contrasts that were asked about, each question once.

    Attributes
    ----------
    rows : list of dict
        Each has a "name", "value", "low", "high", "verdict", whether it "keeps_sign" and
        which ("sign"), its "minimum_budget" and how many labels are known to be "enough"; effects
        of columns also "column", "level", "base", "per" and "standard" (value, low and high per
        standard deviation).
    intercept : dict, optional
        The same of the intercept, and what it means; it does not count among the rows.
    bases : dict
        Base level of each category, by column.
    meaning : str
        What a coefficient is a change of, in words.
    caveats : list of dict
        What could mislead, as `caveat_dicts` gives it.
    certificates : tuple of CertificateSet
        Of the rows that are identified, and of the intercept.
    scope : str
        Of which model they are, where that is not the one that was certified.
    labels : int, optional
        How many labels may be wrong, where that is another number than for predictions.
    """

    rows: list[dict[str, Any]]
    intercept: dict[str, Any] | None = None
    bases: dict[str, str] = field(default_factory=dict)
    meaning: str = ""
    caveats: list[dict[str, Any]] = field(default_factory=list)
    certificates: tuple[CertificateSet, ...] = ()
    scope: str = ""
    labels: int | None = None

    @classmethod
    def of(cls, certificates: CertificateSet, names: Sequence[str]) -> "Effects":
        """Return the coefficients of a model as they are, largest first.

        Parameters
        ----------
        certificates : CertificateSet
        names : sequence of str
            In the same order.

        Returns
        -------
        Effects
        """
        rows = [{"name": names[at]} | facts(certificates, at) for at in range(len(names))]
        rows.sort(key=lambda row: -abs(row["value"]))
        return cls(rows=rows, certificates=(certificates,))

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
    """Return value, range and verdict of a coefficient.

    Parameters
    ----------
    certificates : CertificateSet
    at : int
        Its number among the certificates.
    scale : float
        Positive; what to divide the value and both ends of the range by. The ends are rounded
        outwards, and no sign changes.

    Returns
    -------
    dict
    """
    verdict = Verdict(certificates.verdict[at])
    value, low, high = (
        float(each[at]) for each in (certificates.score, certificates.low, certificates.high)
    )
    found = in_units(value, low, high, scale)
    return {
        **found,
        "verdict": str(verdict),
        "keeps_sign": verdict == Verdict.ROBUST,
        "sign": _sign(verdict, found["value"]),
        "minimum_budget": float(certificates.minimum_budget[at]),
        "enough": float(certificates.minimum_budgets.high[at]),
    }


def _sign(verdict: Verdict, value: float) -> str:
    match verdict:
        case Verdict.UNDECIDED:
            return "undecided"
        case Verdict.NOT_ROBUST:
            return "can be lost"
    return f"stays {'positive' if value > 0 else 'negative' if value < 0 else '0'}"


def in_units(value: float, low: float, high: float, scale: float) -> dict[str, float]:
    """Return a value and its range divided by a positive number, the range rounded outwards.

    Parameters
    ----------
    value, low, high, scale : float

    Returns
    -------
    dict
        "value", "low" and "high".

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

    Parameters
    ----------
    found : dict
        "value", "low" and "high".

    Returns
    -------
    dict
        "odds_ratio", "odds_ratio_low" and "odds_ratio_high".

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
    """Return the facts of a coefficient that the data do not identify: nothing is certified.

    Returns
    -------
    dict
    """
    return {
        **dict.fromkeys(("value", "low", "high"), math.nan),
        "verdict": NOT_IDENTIFIED,
        "keeps_sign": False,
        "sign": NOT_IDENTIFIED,
        "minimum_budget": math.nan,
        "enough": math.nan,
    }
