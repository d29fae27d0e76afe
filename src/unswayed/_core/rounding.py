"""Bounds on rounding errors, assuming only IEEE 754 doubles that round to nearest.

Bounds on errors are sums and products of nonnegative doubles, so they lose at most a few units
in the last place themselves. Every bound is multiplied by `SAFETY` at the end, which is worth
billions of those units.
"""

import contextlib
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

import numpy as np

from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.exceptions import ArithmeticModeError

UNIT = 2.0**-53
"""Largest relative error of one operation."""

SAFETY = 1.0 + 1e-6
"""Factor on every finished bound, for the rounding of the bound itself."""

PRODUCT_UNDERFLOW = 2.0**-1040
"""More than one entry of a sum of products can lose to underflow."""

SQUARES_UNDERFLOW = 2.0**-900
"""More than a sum of squares can lose to underflow where what matters is about 1."""

LEAST_SIZE = 2.0**-500
"""Rows smaller than this (in scaled units) are treated as if they were this large: underflow in
their products then disappears in the bounds."""

SIZE_UNDERFLOW = 2.0**-520
"""Error per unit of a row's size: at `LEAST_SIZE` it is more than underflow loses."""


# Read when they are used: constants inside a function would be folded when it is compiled.
_LEAST_NORMAL, _HALF = sys.float_info.min, 0.5
_ONE, _TIE, _BEYOND_TIE = 1.0, UNIT, 1.5 * UNIT


def check_arithmetic() -> None:
    """Raise unless this thread rounds to nearest and keeps subnormal numbers.

    Threads have settings of their own, and any library may change them at any time. The check
    takes a handful of operations, a fraction of a microsecond.
    """
    subnormal = _LEAST_NORMAL * _HALF
    if subnormal + subnormal != _LEAST_NORMAL:
        raise ArithmeticModeError(
            "in this thread, numbers below 2.2e-308 are flushed to zero, so that a certificate "
            "could be false; some library has switched that on (one that was built with "
            "-ffast-math does so when it is loaded, torch.set_flush_denormal(True) when it is "
            "called): switch it off, or certify in a process that does not load that library"
        )
    if _ONE + _TIE != _ONE or _ONE + _BEYOND_TIE == _ONE:
        raise ArithmeticModeError(
            "in this thread, results are not rounded to the nearest double, so that a certificate "
            "could be false; some library has changed the rounding mode (fesetround): have it "
            "restored to FE_TONEAREST, or certify in a process that does not load that library"
        )


@contextlib.contextmanager
def ordinary_arithmetic() -> Iterator[None]:
    """Compute inside as proofs assume; every public call that returns a proof is wrapped in this.

    Raises if this thread does not round as it should, before or after. Inside, floating-point
    errors such as overflow do not raise, whatever the caller has told NumPy: bounds account for
    their results. It is a decorator too: ``@ordinary_arithmetic()``.
    """
    check_arithmetic()
    usual = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}
    wanted = {name: usual[name] if how == "raise" else how for name, how in np.geterr().items()}
    with np.errstate(**wanted):  # type: ignore[arg-type]
        yield
    check_arithmetic()  # the estimator may have loaded anything


def gamma(terms: float) -> float:
    """Return the relative error of a sum of `terms` rounded terms, in any order, FMA or not.

    Examples
    --------
    >>> gamma(1) >= UNIT, gamma(2.0**53)
    (True, inf)
    """
    lost = terms * UNIT
    return lost / (1.0 - lost) * SAFETY if lost < 0.5 else math.inf


def binade(size: FloatArray | float) -> FloatArray:
    """Return the largest power of two not above each size, for scaling without rounding; 1 for 0.

    It is kept within 2^±1000, so that scaling by it and its inverse never overflows.

    Examples
    --------
    >>> binade(np.array([0.75, 1.0, 5.0, 0.0])).tolist()
    [0.5, 1.0, 4.0, 1.0]
    """
    size = np.asarray(size, dtype=np.float64)
    known = (size > 0) & np.isfinite(size)
    _, exponent = np.frexp(np.where(known, size, 1.0))
    return np.asarray(np.ldexp(1.0, np.clip(exponent - 1, -1000, 1000)))


def norm(values: FloatArray) -> float:
    """Return the Euclidean norm of all values, rounded up; their squares may over- or underflow.

    Examples
    --------
    >>> norm(np.array([3e-200, 4e-200])) >= 5e-200, norm(np.zeros(2))
    (True, 0.0)
    """
    peak = float(np.abs(values).max(initial=0.0))
    if not math.isfinite(peak):
        return math.inf
    if not peak:
        return 0.0
    return math.nextafter(peak * float(np.linalg.norm(values / peak)) * SAFETY, math.inf)


def wider(value: FloatArray, error: FloatArray) -> FloatArray:
    """Return `value + error`, rounded up; `value` itself where the error is 0."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(error == 0, value, np.nextafter(value + error, np.inf))


def narrower(value: FloatArray, error: FloatArray) -> FloatArray:
    """Return `value - error`, rounded down; `value` itself where the error is 0."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(error == 0, value, np.nextafter(value - error, -np.inf))


def above(value: FloatArray, moved: FloatArray, error: FloatArray) -> FloatArray:
    """Return an upper bound on `value + moved + error`, which is exact where nothing rounds.

    Where the sum is NaN, the bound is infinite.

    Examples
    --------
    >>> above(np.array([1.0]), np.array([0.5]), np.array([0.0])).tolist()
    [1.5]
    """
    with np.errstate(over="ignore", invalid="ignore"):
        found = wider(value + moved, wider(error, subtraction_error(value, -moved)))
        return np.where(np.isnan(found), np.inf, found)


def below(value: FloatArray, moved: FloatArray, error: FloatArray) -> FloatArray:
    """Return a lower bound on `value + moved - error`, which is exact where nothing rounds."""
    return -above(-value, -moved, error)


def subtraction_error(a: FloatArray, b: FloatArray | float) -> FloatArray:
    """Return how far the double `a - b` is from the true difference; 0 where it is exact.

    Examples
    --------
    >>> subtraction_error(np.array([1.5, 1.0]), np.array([0.5, 1e-30])).tolist()
    [0.0, 1e-30]
    """
    with np.errstate(over="ignore", invalid="ignore"):
        difference = a - b
        part = difference - a
        rest = np.abs((a - (difference - part)) - (b + part))
        return np.where(np.isfinite(rest), rest, np.inf)


def exact_dots(rows: FloatArray, other: FloatArray, times: FloatArray | float = 1.0) -> BoolArray:
    """Return for which rows all products with `other`, and all their sums, are certainly exact.

    That is so where everything is a whole multiple of one power of two and small enough. Entry j
    may occur `times`_j times in a sum. Of several others, one in each row, any may take part.

    Examples
    --------
    >>> exact_dots(np.array([[0.5, -3.0], [0.1, 1.0]]), np.array([2.0, 4.0])).tolist()
    [True, False]
    """
    with np.errstate(over="ignore", invalid="ignore"):
        most = np.atleast_2d(np.abs(other * times)).sum(axis=0)
        small = np.abs(rows) @ most
    found = np.asarray(_fine(rows) & _fine(other).all() & (small < 2.0**12))
    rest = np.flatnonzero(~found)
    if len(rest):
        unit = granules(other).min(initial=np.inf)
        found[rest] = _exact(small[rest], granules(rows[rest]).min(axis=1, initial=np.inf), unit)
    return found


def exact_products(rows: FloatArray, others: FloatArray) -> BoolArray:
    """Return the same as `exact_dots` for pairs of rows.

    Examples
    --------
    >>> exact_products(np.array([[3.0, 2.0**-40], [0.1, 0.3]]), np.ones((2, 2))).tolist()
    [True, False]
    """
    with np.errstate(over="ignore", invalid="ignore"):
        size = (np.abs(rows) * np.abs(others)).sum(axis=1)
    units = (granules(each).min(axis=1, initial=np.inf) for each in (rows, others))
    return _exact(size, *units)


def _exact(size: FloatArray, unit: FloatArray, other: FloatArray | float) -> BoolArray:
    """Return whether multiples of two units multiply and add up to sums of a size exactly."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        product = unit * other
        # A factor of two for the rounding of the size; tiny units underflow.
        return np.asarray((size < 2.0**52 * product) & (product > PRODUCT_UNDERFLOW))


def granules(values: FloatArray) -> FloatArray:
    """Return the largest power of two of which each value is a whole multiple; inf for 0.

    Examples
    --------
    >>> granules(np.array([1.0, 6.0, -0.75, 0.0])).tolist()
    [1.0, 2.0, 0.25, inf]
    """
    mantissa, exponent = np.frexp(values)
    with np.errstate(invalid="ignore"):
        whole = np.where(np.isfinite(values), np.ldexp(mantissa, 53), 1.0).astype(np.int64)
    found = np.ldexp((whole & -whole).astype(np.float64), exponent - 53)
    return np.where(values == 0, np.inf, np.where(np.isfinite(values), found, 0.0))


def _fine(values: FloatArray) -> BoolArray:
    """Return for which rows all values are multiples of 2^-20: halves, quarters, whole numbers."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray((values * 2.0**20 == np.rint(values * 2.0**20)).all(axis=-1))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Bounds:
    """Bounds on the reach of each row, upwards and downwards: inner <= exact <= outer."""

    outer_up: FloatArray
    outer_down: FloatArray
    inner_up: FloatArray
    inner_down: FloatArray
    base_up: FloatArray  # the outer bounds without any anchor
    base_down: FloatArray
    error: FloatArray  # how much of that is there because of rounding
    tight: BoolArray  # whether the reach itself is known, up to that error
    within: BoolArray  # proven to stay within its margins, by more than these bounds
    beyond: BoolArray  # proven to go beyond them
    close: BoolArray  # decided, or left open, by so little that rounding in another batch could
    # decide otherwise

    @classmethod
    def outside(cls, up: FloatArray, down: FloatArray, error: FloatArray) -> "Bounds":
        """Return outer bounds alone; the inner ones are 0."""
        # Arrays of their own: better answers are written into them later.
        inner_up, inner_down = np.zeros((2, len(up)))
        tight, within, beyond, close = np.zeros((4, len(up)), dtype=bool)
        return cls(
            outer_up=up,
            outer_down=down,
            inner_up=inner_up,
            inner_down=inner_down,
            base_up=up.copy(),
            base_down=down.copy(),
            error=error,
            tight=tight,
            within=within,
            beyond=beyond,
            close=close,
        )

    @classmethod
    def around(cls, up: FloatArray, down: FloatArray, error: FloatArray) -> "Bounds":
        """Return the bounds of rows whose reaches are known up to an error."""
        return replace(
            cls.outside(wider(up, error), wider(down, error), error),
            inner_up=np.maximum(narrower(up, error), 0.0),
            inner_down=np.maximum(narrower(down, error), 0.0),
            tight=np.ones(len(up), dtype=bool),
        )

    def decided_as(self, within: BoolArray, beyond: BoolArray, close: BoolArray) -> "Bounds":
        """Return the same bounds with decisions that were made by sharper ones."""
        return replace(self, within=within, beyond=beyond, close=close)

    def put(self, rows: IntArray, other: "Bounds") -> None:
        """Overwrite some rows with better bounds, those of these rows alone."""
        for each in fields(Bounds):
            getattr(self, each.name)[rows] = getattr(other, each.name)
