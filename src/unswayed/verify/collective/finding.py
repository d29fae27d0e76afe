"""What comes of one part of a collective claim."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from unswayed.verify.collective.known import nearest
from unswayed.verify.collective.multipliers import FRAGILE, LAGRANGIAN, TRIVIAL, Bound
from unswayed.verify.words import ratio

PROVEN, REJECTED, OPEN = "proven", "rejected", "not re-proven"

_WORD = ("HiGHS", "engine")  # what rests on these rests on somebody's word

_HOW = {
    FRAGILE: "because all other rows are robust, each by itself",
    LAGRANGIAN: "by selection on sums of influence rows, with the file's multipliers",
    TRIVIAL: "as every such quotient is",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of one part of a collective claim."""

    part: str  # "at least", "at most", "value", "low", "high", "low reached" or "high reached"
    # The number that the file names; of a mean's value two, which it is between
    claimed: float | tuple[float, float]
    status: str  # "proven", "rejected", or "not re-proven" where it rests on somebody's word
    # The best that was proven; two numbers where it is what the truth is between; None if nothing
    # was
    reproven: float | tuple[float, float] | None
    text: str  # In words

    @property
    def heading(self) -> str:
        """The part and what the file claims of it."""
        claimed = self.claimed
        said = between(*claimed) if isinstance(claimed, tuple) else repr(claimed)
        return f"{self.part} {said}"


def between(low: float, high: float) -> str:
    """Return two numbers that something is between, rounded outwards to 17 digits."""
    ends = (
        Context(prec=17, rounding=rounding).create_decimal(Decimal(each)).normalize()
        for each, rounding in ((low, ROUND_FLOOR), (high, ROUND_CEILING))
    )
    return "between {} and {}".format(*ends)


def value_finding(claimed: float, value: Fraction | None) -> Finding:
    """Return whether a metric has a value as things are."""
    if value is None:
        return Finding("value", claimed, REJECTED, None, "it is a quotient by 0")
    if nearest(value) != claimed:
        return Finding("value", claimed, REJECTED, nearest(value), f"it is {ratio(value)}")
    return Finding("value", claimed, PROVEN, nearest(value), "of the model as trained")


def inner_finding(name: str, claimed: float, reached: Fraction | str, labels: str) -> Finding:
    """Return whether a value is reached, up to the doubles on both sides of it."""
    part = f"{name} reached"
    if isinstance(reached, str):
        return Finding(part, claimed, REJECTED, None, reached)
    holds = claimed >= below(reached) if name == "low" else claimed <= above(reached)
    if not holds:
        text = f"its witness leads to {ratio(reached)}"
        return Finding(part, claimed, REJECTED, nearest(reached), text)
    return Finding(part, claimed, PROVEN, nearest(reached), f"{labels} changed at once lead there")


def outer_finding(
    part: str,
    claimed: float,
    rests_on: str,
    found: Bound,
    reached: Sequence[Fraction],
    *,
    up: bool = True,
) -> Finding:
    """Return what comes of an outer end."""
    best = None
    if math.isfinite(found.value):
        best = (above if up else below)(Fraction(found.value))
    if found.value <= claimed if up else found.value >= claimed:
        text = _HOW[found.basis]
        if rests_on in _WORD:
            text += f"; it need not rest on {rests_on}, as the file says"
        return Finding(part, claimed, PROVEN, best, text)
    beyond = [each for each in reached if (each > claimed if up else each < claimed)]
    if beyond:
        return Finding(part, claimed, REJECTED, best, f"{ratio(beyond[0])} is reached")
    proven = "nothing"
    if best is not None:
        number = repr(best).removesuffix(".0")
        proven = f"{'at most' if up else 'at least'} {number}, {_HOW[found.basis]}"
    if rests_on in _WORD:
        text = f"rests on {rests_on}: not re-proven; what was re-proven is {proven}"
        return Finding(part, claimed, OPEN, best, text)
    return Finding(part, claimed, REJECTED, best, f"it is not proven; what is proven is {proven}")


def below(value: Fraction) -> float:
    """Return the largest double that is not above a fraction."""
    near = nearest(value)
    return near if near <= value else math.nextafter(near, -math.inf)


def above(value: Fraction) -> float:
    """Return the smallest double that is not below a fraction."""
    return -below(-value)
