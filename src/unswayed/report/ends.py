"""Ends of ranges as texts: what is proven is never rounded to less than it is."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

from unswayed.words import as_text

_NOISE = Decimal("1e-12")  # a rate is a quotient of counts, and its double is nearer than this
_STEP = Decimal("0.0001")
_ROUNDING = {-1: ROUND_FLOOR, 0: ROUND_HALF_EVEN, 1: ROUND_CEILING}


def share_end(value: float, way: int = 0) -> str:
    """Return a rate, or a difference or ratio of rates, with four decimals.

    Parameters
    ----------
    value : float
    way : {-1, 0, 1}
        Rounded down, to nearest, or up.

    Returns
    -------
    str

    Examples
    --------
    >>> share_end(1 / 3, -1), share_end(1 / 3, 1), share_end(0.1 + 0.2, 1)
    ('0.3333', '0.3334', '0.3000')
    """
    exact = Decimal(value).quantize(_NOISE)
    return str(exact.quantize(_STEP, _ROUNDING[way]) + 0)


def number_end(value: float, way: int = 0) -> str:
    """Return a number with six digits.

    Parameters
    ----------
    value : float
    way : {-1, 0, 1}
        Rounded down, to nearest, or up.

    Returns
    -------
    str

    Examples
    --------
    >>> number_end(31234.567, -1), number_end(31234.567, 1), number_end(7)
    ('31234.5', '31234.6', '7')
    """
    if not math.isfinite(value):
        return "unknown"
    return as_text(float(Context(prec=6, rounding=_ROUNDING[way]).plus(Decimal(value))))


def range_text(low: float, high: float, *, share: bool, outer: bool = True) -> str:
    """Return a range, its ends rounded outwards where it is proven and inwards where reached.

    Parameters
    ----------
    low, high : float
    share : bool
        Whether the ends are rates, or differences or ratios of such.
    outer : bool
        Whether nothing lies outside of it; otherwise, that both ends are reached.

    Returns
    -------
    str
        A single number if both ends that are reached are the same.

    Examples
    --------
    >>> range_text(0.10001, 0.20001, share=True), range_text(0.10001, 0.2, share=True, outer=False)
    ('0.1000 to 0.2001', '0.1001 to 0.2000')
    """
    end, way = (share_end if share else number_end), 1 if outer else -1
    if not outer and low >= high:
        return end(low) if low == high else "unknown"
    return f"{end(low, -way)} to {end(high, way)}"
