"""The selection kernels in NumPy: the twin of the compiled ones, and the fallback without them.

Both return the bits of `selection_literal`, which is the definition. The way is the same too:

1. A sample of the labels tells a floor: entries of at least that value probably suffice.
2. The entries above it, few as a rule, become *candidates*: a short row of values and counts.
3. Candidates are sorted, and prefix sums tell where the target is met: a number of labels
   (`reach`, `extremes`) or a margin that the sum has to exceed (`minimum_budget`).
4. These sums carry some thirty bits more than a double, and a bound on their error. Where all
   sums within the bound round to one double, that is the correctly rounded sum.

Sums too close to the middle between two doubles are summed as the definition does. Rows whose
candidates did not suffice are tried again with all entries, and what is open even then is answered
by the definition.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unswayed._core import selection_literal
from unswayed._typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from unswayed._core.influence import Entries

_SAMPLE = 512  # labels looked at to choose a floor
_WORTH_SAMPLING = 2 * _SAMPLE
_DEVIATIONS = 1.5  # of the sample's sum: how sure a floor is
_TOGETHER = 16  # rows side by side: enough to keep NumPy busy, few enough for the cache
_ALL = np.nextafter(0.0, 1.0)  # the floor of every entry that can do anything
_UNIT = 2.0**-53  # rounding error of one operation, relative


# --- what the entries can do ------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """Entries seen from one direction: an influence z moves the score by max(z·lower, z·upper)."""

    lower: FloatArray
    upper: FloatArray
    counts: FloatArray  # of labels that move, first of all entries where z·sign < 0, then elsewhere
    sign: float

    @classmethod
    def of(cls, entries: "Entries", sign: float) -> "_Side":
        """Return the entries as they raise the score (`sign` +1) or lower it (-1)."""
        counts = np.concatenate((entries.n_lower, entries.n_upper))
        return cls(sign * entries.lower, sign * entries.upper, counts, sign)

    def __len__(self) -> int:
        return len(self.lower)

    def values(self, z: FloatArray) -> FloatArray:
        """Return how far one label of each entry moves the score."""
        moved = z * self.lower
        return np.maximum(moved, z * self.upper, out=moved)

    def counts_at(self, columns: IntArray, z: FloatArray) -> FloatArray:
        """Return how many labels of some entries do so, given the influence of these entries."""
        return self.counts[columns + len(self) * (self.sign * z >= 0)]

    def sample(self, z: FloatArray, rows: IntArray) -> tuple[FloatArray, float]:
        """Return how far some labels move each score, and how many of all labels these are."""
        ends = np.cumsum(self.counts)
        chosen = np.searchsorted(ends, (np.arange(_SAMPLE) + 0.5) * (ends[-1] / _SAMPLE))
        offset = np.concatenate((self.lower, self.upper))[chosen]
        return z[rows[:, None], chosen % len(self)] * offset, _SAMPLE / ends[-1]


# --- candidates: the entries above a floor ----------------------------------------------------


def _floors(
    z: FloatArray, side: _Side, rows: IntArray, target: FloatArray, by_sum: bool
) -> FloatArray:
    """Return for each of the rows a value such that entries of at least that value hold the target.

    That is: as far as a sample tells. `target` is a sum of values, or a number of labels.
    """
    floors = np.full(len(rows), _ALL)
    if len(side) < _WORTH_SAMPLING:
        return floors
    value, share = side.sample(z, rows)
    value.sort(axis=1)
    value = np.maximum(value[:, ::-1], 0.0)
    part = value if by_sum else np.ones_like(value)
    sure = np.cumsum(part, axis=1) - _DEVIATIONS * np.sqrt(np.cumsum(part * part, axis=1))
    enough = sure > (target[rows] * share)[:, None]
    some = np.flatnonzero(enough.any(axis=1))
    floors[some] = np.maximum(value[some, enough[some].argmax(axis=1)], _ALL)
    return floors


def _collect(
    z: FloatArray, side: _Side, floors: FloatArray
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return values and counts of the entries above the floors, row after row, and how many."""
    value = side.values(z)
    where = np.flatnonzero(value >= floors[:, None])
    starts = len(side) * np.arange(len(z) + 1)
    lengths = np.diff(np.searchsorted(where, starts))
    columns = where - np.repeat(starts[:-1], lengths)
    return value.ravel()[where], side.counts_at(columns, z.ravel()[where]), lengths


def _candidates(
    z: FloatArray, side: _Side, rows: IntArray, floors: FloatArray
) -> Iterator[tuple[IntArray, "Prefixes"]]:
    """Yield which of the rows and their candidates' sums, rows with few candidates first."""
    at_a_time = range(0, len(rows), _TOGETHER)
    parts = [
        _collect(z[rows[at : at + _TOGETHER]], side, floors[at : at + _TOGETHER])
        for at in at_a_time
    ]
    value, count, lengths = (np.concatenate(each) for each in zip(*parts, strict=True))
    value, count = np.append(value, 0.0), np.append(count, 0.0)
    starts, order = np.cumsum(lengths) - lengths, np.argsort(lengths)
    for at in at_a_time:
        some = order[at : at + _TOGETHER]
        # After a row's last candidate stands at least one 0.
        place = np.arange(lengths[some[-1]] + 1)
        where = np.where(place < lengths[some, None], starts[some, None] + place, len(value) - 1)
        ranking = np.argsort(-value[where], axis=1) + len(place) * np.arange(len(some))[:, None]
        where = where.ravel()[ranking]
        yield some, Prefixes(value[where], count[where])


def _attempts(
    z: FloatArray, side: _Side, target: FloatArray, answered: BoolArray, *, by_sum: bool
) -> Iterator[tuple[IntArray, "Prefixes", BoolArray]]:
    """Yield rows not yet `answered`, their candidates' sums, and whether these are all there are.

    First come all such rows with the candidates that a sample suggests, then those that were not
    answered with all entries.
    """
    rows = np.flatnonzero(~answered)
    floors = _floors(z, side, rows, target, by_sum)
    while len(rows):
        for some, prefixes in _candidates(z, side, rows, floors):
            yield rows[some], prefixes, floors[some] == _ALL
        again = ~answered[rows] & (floors > _ALL)
        rows, floors = rows[again], np.full(np.count_nonzero(again), _ALL)


# --- correctly rounded sums -------------------------------------------------------------------


class Prefixes:
    """Sums of the first candidates of each row, in two parts.

    A value is split into a multiple of a power of two and a rest. The power is so large that the
    multiples add up without rounding; the rests are so small that their rounding errors matter to
    few sums.
    """

    def __init__(self, value: FloatArray, count: FloatArray) -> None:
        self.value, self.count = value, count
        self.labels = _sums(count)
        _, size = np.frexp(value[:, :1])  # values are below 2**size
        _, most = np.frexp(self.labels[:, -1:])  # and labels below 2**most
        grid = np.ldexp(1.0, size + most)
        self._multiple = (value + grid) - grid
        self._rest = value - self._multiple
        self._multiples, self._rests = _sums(self._multiple * count), _sums(self._rest * count)
        # A rest is at most _UNIT·grid; of fewer than 2**most labels, each prefix rounds once per
        # candidate for the product, once for the sum, and a few times in `reach`.
        roundings = 2.0 * value.shape[1] + 16.0
        self._error = (roundings * (np.ldexp(_UNIT, most) * (_UNIT * grid) + _ALL))[:, 0]

    @property
    def totals(self) -> FloatArray:
        """The sums, roughly; a column for each number of candidates, from 0."""
        return self._multiples + self._rests

    def first_beyond(self, sums: FloatArray, target: FloatArray) -> IntArray:
        """Return which candidate takes `labels` or `totals` beyond a target.

        If none does, it is the last, which stands for no labels.
        """
        within = np.count_nonzero(sums[:, 1:] <= target[:, None], axis=1)
        return np.asarray(np.minimum(within, self.value.shape[1] - 1))

    def missing(self, at: IntArray, target: FloatArray) -> FloatArray:
        """Return how much more than the first `at` candidates a row needs to reach a target."""
        rows = np.arange(len(at))
        return np.asarray((target - self._multiples[rows, at]) - self._rests[rows, at])

    def crossing(self, target: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return how many labels exceed a target, their reach without the last, and with it.

        The number is infinite where it is not found: because nothing exceeds the target, which the
        reach of all labels and a 0 then say, or because rounding hides it.
        """
        at = self.first_beyond(self.totals, target)
        here = np.arange(len(at)), at
        # A sum exceeds the target once rounded, so it must do so by half a unit in the last place.
        missing = self.missing(at, target) + np.spacing(target) / 2
        ahead = np.floor(missing / self.value[here])
        most = np.maximum(self.count[here] - 1, 0.0)
        ahead = np.where(ahead > 0, np.minimum(ahead, most), 0.0)
        less, enough = self.reach(at, ahead), self.reach(at, ahead + 1)
        crossed = (less <= target) & (enough > target)
        last = self.count[here] == 0
        count = np.where(crossed, self.labels[here] + ahead + 1, np.inf)
        return count, less, np.where(crossed, enough, np.where(last, 0.0, np.nan))

    def reach(self, at: IntArray, more: FloatArray) -> FloatArray:
        """Return the sum of the first `at` candidates and `more` labels of the next, rounded once.

        Where the parts leave two doubles open, it is summed by the definition.
        """
        rows = np.arange(len(at))
        multiple = self._multiples[rows, at] + more * self._multiple[rows, at]
        rest = self._rests[rows, at] + more * self._rest[rows, at]
        error = np.where(self.labels[rows, at] + more > 0, self._error, 0.0)
        least, most = multiple + (rest - error), multiple + (rest + error)
        for row in np.flatnonzero(~(least == most)):
            count = np.append(self.count[row, : at[row]], more[row]).astype(np.intp)
            labels = np.repeat(self.value[row, : at[row] + 1], count)
            least[row] = selection_literal.rounded_sum(labels)
        return np.asarray(least)


def _sums(terms: FloatArray) -> FloatArray:
    """Return the sums of the first 0, 1, 2, ... terms of each row."""
    sums = np.zeros((len(terms), terms.shape[1] + 1))
    np.cumsum(terms, axis=1, out=sums[:, 1:])
    return sums


def crossing(prefixes: Prefixes, margin: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return where the sums of all candidates exceed a margin: see `minimum_budget`."""
    with np.errstate(all="ignore"):
        count, before, after = prefixes.crossing(margin)
    for row in np.flatnonzero(np.isnan(after) | (np.isposinf(count) & (before > margin))):
        labels = np.repeat(prefixes.value[row], prefixes.count[row].astype(np.intp))
        found = selection_literal.crossing(labels, margin[row])
        count[row], before[row], after[row] = found
    outside = (margin < 0) | np.isposinf(margin)
    count = np.where(outside, np.where(margin < 0, 0.0, np.inf), count)
    return count, np.where(outside, 0.0, before), np.where(outside, 0.0, after)


# --- the questions ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Strongest:
    """What the strongest labels of each row do."""

    reach: FloatArray
    least: FloatArray  # value of the entry that is not taken whole; 0 if all are


def _strongest(z: FloatArray, side: _Side, budget: int) -> _Strongest:
    """Return the reach of `budget` labels in one direction, and the value where they end."""
    found = _Strongest(*np.zeros((2, len(z))))
    answered = np.zeros(len(z), dtype=bool)
    target = np.full(len(z), float(budget))
    for rows, prefixes, complete in _attempts(z, side, target, answered, by_sum=False):
        at = prefixes.first_beyond(prefixes.labels, target[rows])
        here = np.arange(len(rows)), at
        more = np.minimum(budget - prefixes.labels[here], prefixes.count[here])
        found.reach[rows] = prefixes.reach(at, more)
        found.least[rows] = prefixes.value[here]
        # With exactly as many labels as the budget, nobody knows the value where they end.
        answered[rows] = complete | (prefixes.labels[:, -1] > budget)
    return found


def _cross(
    z: FloatArray, entries: "Entries", margin: FloatArray, sign: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return where the reach in one direction exceeds a margin: see `minimum_budget`."""
    side = _Side.of(entries, sign)
    count, before, after = np.zeros((3, len(z)))
    count[~(margin < 0)] = np.inf
    # Below 0 a margin is crossed already; towards an infinite one nothing can matter.
    answered = ~((margin >= 0) & (margin < np.inf))
    for rows, prefixes, complete in _attempts(z, side, margin, answered, by_sum=True):
        least, less, enough = prefixes.crossing(margin[rows])
        never = complete & np.isposinf(least) & (less <= margin[rows]) & (enough == 0)
        count[rows], before[rows], after[rows] = least, less, enough
        answered[rows] = np.isfinite(least) | never
    for row in np.flatnonzero(~answered):
        labels = selection_literal.ranked_labels(z[row], entries, sign)
        count[row], before[row], after[row] = selection_literal.crossing(labels, margin[row])
    return count, before, after


def reach(z: FloatArray, entries: "Entries", budget: float) -> tuple[FloatArray, FloatArray]:
    """Return how far the `budget` strongest labels move each row's score, up and down."""
    whole = int(min(budget, entries.n_labels))
    part = min(budget, entries.n_labels) - whole
    with np.errstate(all="ignore"):
        up, down = (_strongest(z, _Side.of(entries, sign), whole).reach for sign in (1.0, -1.0))
    if part > 0:
        more = reach(z, entries, whole + 1)
        up, down = (one + part * (two - one) for one, two in zip((up, down), more, strict=True))
    return up, down


def _choice(
    z: FloatArray, side: _Side, budget: int, least: float
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return one row's strongest entries, how many labels of them move, and their influence.

    All have a value above `least`, or have this value and are the first ones.
    """
    value = side.values(z)
    columns = np.flatnonzero(value >= max(least, _ALL))
    count = side.counts_at(columns, z[columns])
    tied = np.where(value[columns] == least, count, 0.0)
    left = budget - np.sum(count - tied)
    taken = count - tied + np.clip(left - (np.cumsum(tied) - tied), 0.0, tied)
    columns, taken = columns[taken > 0], taken[taken > 0]
    return columns, taken, side.sign * z[columns]


def extremes(
    z: FloatArray, entries: "Entries", budget: int, sign: float
) -> tuple[FloatArray, IntArray, FloatArray, IntArray]:
    """Return each row's reach and the entries that attain it, ties to the first entry.

    That is: reaches, entries (per row as many as the last array says), what is added to their
    labels, and how many entries these are.
    """
    most = min(budget, len(entries))
    side, length = _Side.of(entries, sign), np.zeros(len(z), dtype=np.int64)
    index, amount = np.zeros((len(z), most), dtype=np.int64), np.zeros((len(z), most))
    with np.errstate(all="ignore"):
        found = _strongest(z, side, budget)
    for row, least in enumerate(found.least):
        chosen, taken, influence = _choice(z[row], side, budget, least)
        here = row, slice(len(chosen))
        length[row], index[here] = len(chosen), chosen
        amount[here] = taken * np.where(
            influence >= 0, entries.upper[chosen], entries.lower[chosen]
        )
    return found.reach, index, amount, length


def minimum_budget(
    z: FloatArray, entries: "Entries", margin_up: FloatArray, margin_down: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return where the reach of the strongest labels exceeds a margin, upwards and downwards.

    Three arrays of one row per row of `z`: how many labels, their reach without the last of
    them, and with it.
    """
    found = np.empty((3, len(z), 2))
    with np.errstate(all="ignore"):
        found[:, :, 0] = _cross(z, entries, margin_up, 1.0)
        found[:, :, 1] = _cross(z, entries, margin_down, -1.0)
    count, before, after = found
    return count, before, after
