"""The tally kernels in NumPy: the twin of the compiled ones, and the fallback without them.

Both return the same counts, and the same sums but for errors within the bound of `joined`: the
compiled kernels add value by value, this one pairs of values, then pairs of pairs.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from unswayed._typing import FloatArray, IntArray

_AT_ONCE = 2**17  # values: enough to keep NumPy busy, few enough for the cache


def joined(
    high: FloatArray, low: FloatArray, other_high: FloatArray, other_low: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the sums of nonnegative numbers of two doubles each, as two doubles each.

    Here is how far they are from exact. Let u = 2^-53; numbers come with |low| <= u·high (half a
    unit in the last place of high), and leave so. With a = high, b = other_high:

    1. sum = a + b, rounded, and its error e = small - (sum - large) is exact, for large >= small
       (Dekker); |e| <= u·sum.
    2. |low + other_low| <= u·(a + b) <= u·(1 + u)·sum, so that its rounding loses at most
       u²·(1 + u)·sum.
    3. Adding e gives at most u·(2 + 3u)·sum, and its rounding loses at most u²·(2 + 3u)·sum.
    4. The last step is Dekker's again, and exact: sum is the larger.

    In all, a join loses at most 3u²·(1 + 2u)·sum, and sum is at most 1 + 4u times the exact value
    of what is joined: less than 3.01·2^-106 of that. A sum of c values takes c - 1 joins (one with
    nothing is exact), in whatever order. Each loses so much of a part of the sum at most, and what
    earlier ones lost changes that by a factor of 1 + c·2^-104 at most. For c <= 2^40 it is less
    than (c - 1)·2^-104 in all, relative to the exact sum of the values.

    Nothing is lost as long as the sum is at most 2^51 times the least value. All values are then
    multiples of q, a unit in the last place of the least, which is less than 2^53·q; so are all
    numbers above. With sum < 2^105·q, a unit in its last place is at most 2^52·q, and those of 2
    and 3 are at most one and a half such units: multiples of q not above 2^53·q, which are doubles.

    Nothing underflows, as sums of doubles are multiples of the least double. A sum that overflows
    is infinity and 0; near the largest double this may happen a unit in the last place early.
    """
    large, small = np.maximum(high, other_high), np.minimum(high, other_high)
    with np.errstate(over="ignore", invalid="ignore"):
        total = large + small
        rest = (small - (total - large)) + (low + other_low)
        rounded = total + rest
        finite = rounded < np.inf
        lost = rest - (rounded - total)
    return np.where(finite, rounded, np.inf), np.where(finite, lost, 0.0)


def _summed(key: IntArray, value: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return the keys that occur, and the sum of the values of each, as two doubles."""
    order = np.argsort(key, kind="stable")
    key, high, low = key[order], value[order], np.zeros(len(value))
    while True:
        first = np.flatnonzero(np.diff(key, prepend=-1))
        if len(first) == len(key):
            return key, high, low
        rank = np.arange(len(key)) - np.repeat(first, np.diff(first, append=len(key)))
        second = np.flatnonzero(rank % 2)
        pair = high[second - 1], low[second - 1], high[second], low[second]
        high[second - 1], low[second - 1] = joined(*pair)
        kept = rank % 2 == 0
        key, high, low = key[kept], high[kept], low[kept]


def _values(
    z: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    row: IntArray,
    sign: FloatArray,
    floor: FloatArray,
    ceiling: FloatArray,
) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
    """Yield line, index and value of what is above the floor and not above the ceiling, in order.

    That is, for some lines at a time.
    """
    n_labels = z.shape[1]
    at_once = max(1, _AT_ONCE // max(1, n_labels))
    for at in range(0, len(row) if n_labels else 0, at_once):
        some = slice(at, at + at_once)
        with np.errstate(over="ignore", invalid="ignore"):
            influence = sign[some, None] * z[row[some]]
            value = influence * lower
            np.maximum(value, influence * upper, out=value)
        where = np.flatnonzero((value > floor[some, None]) & (value <= ceiling[some, None]))
        line, index = np.divmod(where, n_labels)
        yield line + at, index, value.ravel()[where]


def _keys(line: IntArray, value: FloatArray, thresholds: FloatArray) -> IntArray:
    """Return the bins of values above the first threshold, numbered through all lines."""
    bins = np.empty(len(line), dtype=np.int64)
    starts = np.flatnonzero(np.diff(line, prepend=-1))
    for begin, end in zip(starts, np.append(starts, len(line))[1:], strict=True):
        bins[begin:end] = np.searchsorted(thresholds[line[begin]], value[begin:end]) - 1
    return np.asarray(line * thresholds.shape[1] + bins)


def _gathered(
    parts: Iterable[tuple[IntArray, FloatArray]],
) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield the same in fewer, larger parts."""
    keys: list[IntArray] = []
    values: list[FloatArray] = []
    for key, value in parts:
        keys.append(key)
        values.append(value)
        if sum(map(len, keys)) >= _AT_ONCE:
            yield np.concatenate(keys), np.concatenate(values)
            keys.clear()
            values.clear()
    if keys:
        yield np.concatenate(keys), np.concatenate(values)


def tally(
    z: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    row: IntArray,
    sign: FloatArray,
    thresholds: FloatArray,
    count: IntArray,
    high: FloatArray,
    low: FloatArray,
) -> None:
    """Add the values of some labels to counts and sums: see `unswayed._core.tally`."""
    n_lines, n_bins = thresholds.shape
    asked = (z, lower, upper, row, sign, thresholds[:, 0], np.full(n_lines, np.inf))
    parts = ((_keys(line, value, thresholds), value) for line, _, value in _values(*asked))
    for keys, value in _gathered(parts):
        count += np.bincount(keys, minlength=count.size).reshape(count.shape)
        key, *sums = _summed(keys, value)
        at = np.divmod(key, n_bins)
        high[at], low[at] = joined(high[at], low[at], *sums)


def collect(
    z: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    row: IntArray,
    sign: FloatArray,
    floor: FloatArray,
    ceiling: FloatArray,
) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the values above a floor and not above a ceiling, ordered by line, then label."""
    none = np.empty(0, dtype=np.int64)
    parts = [(none, none, np.empty(0)), *_values(z, lower, upper, row, sign, floor, ceiling)]
    line, index, value = (np.concatenate(each) for each in zip(*parts, strict=True))
    return line, index, value
