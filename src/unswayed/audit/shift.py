"""Shift: how far labels that are numbers may be off, as it was written."""

import math
import re
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

import numpy as np

from unswayed._typing import FloatArray
from unswayed.exceptions import InputError
from unswayed.words import written

_END = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)\s*(%?)\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Shift:
    """What may be added to a label: a range around 0, or around 0 % of the label."""

    low: float
    high: float
    relative: bool = False  # the ends are shares of the label's absolute value

    def of_logarithms(self, labels: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return what may be added to the logarithms of labels that may be off by a factor.

        A share of 5 % is a factor of 1.05 either way. The double next to a logarithm is not the
        logarithm: ends are wide enough for labels whose logarithms were rounded, before or after.
        """
        ends = [_log(1 + Fraction(abs(end)), up=True) for end in (self.low, self.high)]
        # Of a logarithm the C library knows the last place but one, here and at the other end.
        lost = 4 * np.spacing(np.abs(labels) + max(ends))
        wide = [np.nextafter(end + lost, np.inf) if end else np.zeros(len(labels)) for end in ends]
        return -wide[0], wide[1]

    def in_words(self, direction: str | None, *, log: bool = False) -> str:
        """Describe how far a label may be off."""
        down, up = self._amount(-self.low, log=log), self._amount(self.high, log=log)
        too_low, too_high = f"too low by {up}", f"too high by {down}"
        if not log:
            too_low, too_high = f"{up} too low", f"{down} too high"
        if direction == "up" or self.low == 0:
            return f"any label may be {too_low}"
        if direction == "down" or self.high == 0:
            return f"any label may be {too_high}"
        if self.low == -self.high:
            return f"any label may be off by {up} either way"
        return f"any label may be {too_high} or {too_low}"

    def _amount(self, amount: float, *, log: bool) -> str:
        if log:
            return f"a factor of up to {written(amount, plus=1)}"
        if self.relative:
            return f"up to {written(amount, times=100)} % of its own value"
        return f"up to {written(amount)}"


def parse_shift(text: str) -> Shift:
    """Read by how much labels may be wrong.

    ``2000`` is ±2000, ``0:2000`` only upwards, ``5%`` is 5 % of each label's own value.

    Examples
    --------
    >>> parse_shift("0:2000"), parse_shift("50%")
    (Shift(low=0.0, high=2000.0, relative=False), Shift(low=-0.5, high=0.5, relative=True))
    """
    found = [_END.fullmatch(end) for end in text.split(":")]
    ends = [(Fraction(match[1]), match[2]) for match in found if match is not None]
    numbers, signs = [number for number, _ in ends], {sign for number, sign in ends if number}
    if len(found) == len(ends) == 1 and numbers[0] >= 0:
        numbers = [-numbers[0], numbers[0]]
    if len(found) == len(ends) and len(numbers) == 2 and len(signs) < 2:
        relative = "%" in signs or (not signs and ends[0][1] == "%")
        low, high = (number / 100 if relative else number for number in numbers)
        if low <= 0 <= high and max(-low, high) <= Fraction(1e300):
            outward = _outward if relative else float
            return Shift(0.0 - outward(-low), outward(high), relative)
    raise InputError(
        f"--shift {text!r} is not a range of label errors; write 2000 for up to 2000 either way, "
        "0:2000 for labels that may be up to 2000 too low (LOW:HIGH with LOW <= 0 <= HIGH), or 5% "
        "or 0:5% for a share of each label's own value"
    )


def parse_clip(text: str) -> tuple[float, float]:
    """Read a range that labels cannot leave: ``0:100``, or ``0:`` with one end.

    Examples
    --------
    >>> parse_clip("0:"), parse_clip("0:100")
    ((0.0, inf), (0.0, 100.0))
    """
    ends = [end.strip() for end in text.split(":")]
    if len(ends) == 2 and any(ends):
        try:
            low = float(ends[0] or -math.inf)
            high = float(ends[1] or math.inf)
        except ValueError:
            low, high = 1.0, 0.0
        if low <= high:
            return low, high
    raise InputError(
        f"--clip {text!r} is not a range that labels stay in; write 0: for labels that are never "
        "below 0, :100 for never above 100, or 0:100"
    )


def parse_radius(text: str, *, log: bool) -> float:
    """Read how far a prediction may move: a number, or of logarithms a share such as ``10%``."""
    match = _END.fullmatch(text)
    if match is not None and Fraction(match[1]) >= 0 and float(match[1]) < math.inf:
        share = match[2] == "%"
        if share and log:
            return -_outward(-Fraction(match[1]) / 100)
        if not share and not log:
            return float(match[1])
        raise InputError(
            f"--radius {text}: with --log a prediction moves by a share of itself, so write "
            "--radius 10% for a factor of 1.1"
            if log
            else f"--radius {text}: a share is for --log; without it, write the distance in the "
            "label's own unit, such as --radius 2000"
        )
    wanted = "a share, 0 % or more, such as 10%" if log else "a number, 0 or more"
    raise InputError(f"--radius {text!r} is not a distance; pass {wanted}")


def log_below(number: Fraction) -> float:
    """Return the logarithm of a number, rounded down."""
    return max(0.0, _log(number, up=False))


def log_range(clip: tuple[float, float]) -> tuple[float, float]:
    """Return the logarithms of the ends of a range, rounded outwards."""
    low, high = clip
    if low > 0:
        found = _log(Fraction(low), up=False)
        low = found - 4 * math.ulp(found)
    else:
        low = -math.inf
    if high < math.inf:
        found = _log(Fraction(high), up=True)
        high = found + 4 * math.ulp(found)
    return low, high


def _log(number: Fraction, *, up: bool) -> float:
    """Return a logarithm rounded up or down, to a double."""
    if number == 1:
        return 0.0
    exactly = Context(prec=60)
    found = exactly.ln(exactly.divide(Decimal(number.numerator), Decimal(number.denominator)))
    # One digit in forty is more than the division and the logarithm lose.
    edge = Context(prec=40, rounding=ROUND_CEILING if up else ROUND_FLOOR).plus(found)
    return _outward(Fraction(edge)) if up else -_outward(-Fraction(edge))


def _outward(number: Fraction) -> float:
    """Return the least double that is not below a number."""
    nearest = float(number)
    return math.nextafter(nearest, math.inf) if Fraction(nearest) < number else nearest
