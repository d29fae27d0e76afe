"""Limits: could wrong labels take a gap between groups beyond what is allowed?"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from unswayed._core.dyadic import enclose
from unswayed.audit.fairness import Metric
from unswayed.exceptions import InputError
from unswayed.words import counted, number_end, share_end

HOLDS, BROKEN, OPEN = "holds", "can be broken", "open"
"""What is known of a limit: a proof, labels that break it, or neither."""


@dataclass(frozen=True)
class Limit:
    """The most that a difference may be, or the least that a ratio may be."""

    text: str  # As it was written
    value: Fraction
    metric: Metric

    @property
    def above(self) -> bool:
        """Whether values above it break it; otherwise those below."""
        return self.metric.kind == "difference"

    def judge(self, found: dict[str, Any], *, share: bool) -> str:
        """Say whether a range is within the limit."""
        below, above = enclose(self.value) if share else (self.value, self.value)
        # Ends of shares that are proven are equal; those of numbers may differ by rounding.
        if self.above:
            if found["high"] <= above:
                return HOLDS
            reached = found["inner_high"] > above or (share and found["proven_high"])
        else:
            if found["low"] >= below:
                return HOLDS
            reached = found["inner_low"] < below or (share and found["proven_low"])
        return BROKEN if reached else OPEN

    def check(self, line: dict[str, Any], column: str, budget: dict[str, Any], at: int,
              *, share: bool) -> dict[str, Any]:  # fmt: skip
        """Judge a metric at a budget."""
        found = line["ranges"][at]
        verdict = self.judge(found, share=share)
        text = share_end if share else number_end
        beyond = "above" if self.above else "below"
        outer, inner = ("high", "inner_high") if self.above else ("low", "inner_low")
        way = 1 if self.above else -1
        bound, best = text(found[outer], way), text(found[inner], -way)
        what = f"{self.metric.name} by {column}"
        many = counted(budget["labels"], "wrong label")
        now = Fraction(line["value"])
        already = now > self.value if self.above else now < self.value
        if verdict == BROKEN and already:
            what = f"{what}, which is {text(line['value'])} and so {beyond} {self.text} already,"
        settle = "a longer --time-limit may settle it" if share else "rounding hides it"
        said = {
            HOLDS: f"up to {many} do not take {what} {beyond} {self.text}: it stays at "
            f"{'most' if self.above else 'least'} {bound}",
            BROKEN: f"{many} can take {what} to {best}"
            + ("" if already else f", {beyond} {self.text}"),
            OPEN: f"whether {many} take {what} {beyond} {self.text} is open: {best} is reached, "
            f"{bound} not excluded; {settle}",
        }[verdict]
        return {
            "metric": self.metric.name,
            "column": column,
            "limit": float(self.value),
            "budget": budget["budget"],
            "verdict": verdict,
            "sentence": f"at {budget['budget']}: {said}",
        }


def read_limits(texts: Sequence[str], metrics: Sequence[Metric]) -> list[Limit]:
    """Read limits such as ``0.2``, or ``demographic_parity_ratio=0.8`` among several metrics."""
    compared = {each.name: each for each in metrics if each.kind in ("difference", "ratio")}
    found = []
    for text in texts:
        name, _, number = text.rpartition("=")
        name = name.strip()
        known = ", ".join(compared)
        if not compared:
            raise InputError(
                f"--limit {text} is about a difference or a ratio of groups, and no such --metric "
                "is asked for; add one, such as demographic_parity_difference"
            )
        if not name and len(compared) > 1:
            raise InputError(
                f"--limit {text} could be one of {known}; write --limit {next(iter(compared))}="
                f"{text.strip()}"
            )
        if name and name not in compared:
            raise InputError(
                f"--limit {text}: {name!r} is no difference or ratio that is asked for; these are "
                f"{known}"
            )
        found.append(Limit(number.strip(), _number(number, text), compared[name or known]))
    return found


def _number(number: str, text: str) -> Fraction:
    try:
        value = Fraction(number.strip().removesuffix("%"))
    except (ValueError, ZeroDivisionError):
        value = Fraction(-1)
    if value < 0:
        raise InputError(f"--limit {text} has no number that could be one; write 0.2, or 20%")
    return value / 100 if number.strip().endswith("%") else value
