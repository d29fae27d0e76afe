"""Search for the threshold above which there are just enough labels, in few passes."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import fsum
from typing import NamedTuple, TypeAlias

import numpy as np

from unswayed._core.influence import SlicedDesign
from unswayed._core.rounding import narrower, wider
from unswayed._core.tally import Lines
from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.engines.passes.training import Count, Counted, LabelBatch, Pull, Scan, lines_of
from unswayed.labels.budgets import RELATIVE


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """Effects of a line between two thresholds, and what is above them, as one pass found them."""

    above: int  # labels whose effects are above the window
    total: tuple[float, float]  # the sum of these, as two doubles
    count: int  # labels in the window
    between: float  # the sum of their effects
    floor: float  # effects in the window are larger than this
    ceiling: float  # and none is larger than this
    complete: bool  # no label has an effect below the window
    effects: FloatArray | None = (
        None  # those in the window, strongest first, if they were asked for
    )


class Goals(ABC):
    """What is looked for in each line: the threshold above which there are just enough labels."""

    @abstractmethod
    def enough(self, count: IntArray, total: FloatArray, lines: IntArray) -> BoolArray:
        """Return whether the labels above thresholds are certainly enough."""

    @abstractmethod
    def too_few(self, count: IntArray, total: FloatArray, lines: IntArray) -> BoolArray:
        """Return whether the labels above thresholds are certainly no more than enough."""

    @abstractmethod
    def ranks(self, effects: FloatArray, share: float, lines: IntArray) -> FloatArray:
        """Return how many effects of a sample should be above what is looked for."""

    @abstractmethod
    def settle(self, line: int, found: Window) -> bool:
        """Take note of what a window tells; return whether that is all there is to know."""


class Reaches(Goals):
    """The sum of the k largest effects of each line."""

    def __init__(self, n_lines: int, labels: int) -> None:
        self._labels = labels
        self.reach, self.off = np.full(n_lines, np.nan), np.full(n_lines, np.inf)

    def enough(self, count: IntArray, total: FloatArray, lines: IntArray) -> BoolArray:
        """Return whether there are k labels."""
        return np.asarray(count >= self._labels)

    def too_few(self, count: IntArray, total: FloatArray, lines: IntArray) -> BoolArray:
        """Return whether there are no more than k labels."""
        return np.asarray(count <= self._labels)

    def ranks(self, effects: FloatArray, share: float, lines: IntArray) -> FloatArray:
        """Return the same share of k for all lines."""
        return np.full(len(effects), min(self._labels * share, effects.shape[1]))

    def settle(self, line: int, found: Window) -> bool:
        """Bound the reach by what is above the window and what is in it."""
        low, high = self._bounds(found)
        if high - low <= self.off[line]:
            self.reach[line], self.off[line] = low + (high - low) / 2, high - low
        return bool(high - low <= RELATIVE * high)

    def _bounds(self, found: Window) -> tuple[float, float]:
        missing = max(0, min(self._labels - found.above, found.count))
        if found.effects is not None:
            exact = math.fsum((*found.total, *found.effects[:missing].tolist()))
            return exact, exact
        if missing == found.count:
            whole = math.fsum((*found.total, found.between))
            return whole, whole
        # The largest are not below the mean of all, and the others not below the floor.
        mean = found.between / found.count * (1 - RELATIVE)
        others = (found.count - missing) * found.floor
        low = missing * max(found.floor, mean)
        high = min(missing * found.ceiling, (found.between - others) * (1 + RELATIVE))
        sure = math.fsum(found.total)
        return (sure + low) * (1 - RELATIVE), (sure + max(low, high)) * (1 + RELATIVE)


ErrorOf: TypeAlias = Callable[[FloatArray], FloatArray]
"""From a number of labels per line to bounds on how far their reach, and the margin, are off."""


class Crossings(Goals):
    """The least number of labels whose effects exceed the margin of each line."""

    def __init__(self, margin: FloatArray, error: ErrorOf, asked: int | None = None) -> None:
        self._margin, self._error, self._asked = margin, error, asked
        self._slack = error(np.full(len(margin), np.inf))
        self.low, self.high = np.ones(len(margin)), np.full(len(margin), np.inf)

    def _surely_within(self, lines: IntArray) -> FloatArray:
        within = narrower(self._margin[lines] * (1.0 - 2 * RELATIVE), self._slack[lines])
        return np.maximum(within, 0.0)  # no labels do nothing

    def _surely_beyond(self, lines: IntArray) -> FloatArray:
        return wider(self._margin[lines] * (1.0 + 2 * RELATIVE), self._slack[lines])

    def enough(self, count: IntArray, total: FloatArray, lines: IntArray) -> BoolArray:
        """Return whether effects exceed the margin, whatever was rounded."""
        return np.asarray(total > self._surely_beyond(lines)[:, None])

    def too_few(self, count: IntArray, total: FloatArray, lines: IntArray) -> BoolArray:
        """Return whether effects do not exceed the margin, whatever was rounded."""
        return np.asarray(total <= self._surely_within(lines)[:, None])

    def ranks(self, effects: FloatArray, share: float, lines: IntArray) -> FloatArray:
        """Return how many effects of the sample add up to the margin's share."""
        sums = np.cumsum(effects, axis=1) / share
        return np.asarray((sums <= self._margin[lines][:, None]).sum(axis=1), dtype=np.float64)

    def settle(self, line: int, found: Window) -> bool:
        """Bound the number of labels by what is above the window and what is in it."""
        most = found.above + found.count
        low, high = float(found.above + 1), math.inf if found.complete else float(most)
        if found.complete and not found.count:
            low = math.inf
        if found.effects is not None:
            # Errors grow with the number of labels: here it is known to be no larger.
            bound = math.inf if found.complete else float(most)
            self._slack[line] = min(
                self._slack[line], self._error(np.full(len(self._margin), bound))[line]
            )
            at = np.array([line])
            low = max(low, min(_needed(found, float(self._surely_within(at)[0])), high))
            high = min(high, _needed(found, float(self._surely_beyond(at)[0])))
        self.low[line] = max(self.low[line], low)
        self.high[line] = min(self.high[line], high)
        low, high = float(self.low[line]), float(self.high[line])
        decided = self._asked is not None and (low > self._asked or high <= self._asked)
        return found.effects is not None or low == high or decided


def _needed(found: Window, margin: float) -> float:
    """Return how many labels are needed to exceed a margin; inf if those in the window do not."""
    high, low = found.total
    if high + low > margin:
        return float(min(1, found.above))  # how many of those above, nobody has counted
    assert found.effects is not None  # noqa: S101  (tells mypy)
    for labels, effect in enumerate(found.effects.tolist(), found.above + 1):
        total = high + effect
        part = total - high
        low += (high - (total - part)) + (effect - part)
        high = total
        if high + low > margin:
            return float(labels)
    return math.inf


# ----------------------------------------------------------------------------------------
# Search: passes that narrow down where the goals of all lines are.

_CELLS = 2**18  # counts and sums that come back from a pass: six megabytes
_LEAST_GRID, _LARGEST_GRID = 8, 128  # thresholds of a line
_COLLECTED = 2**18  # effects that come back from a pass
_OF_A_LINE = 2**13  # of these, one line's
_SPREAD = 4.0  # standard deviations that the ranks of a sample may be off
_ANCHOR = 0.75  # where in the first grid there are surely too few labels above, but nearly enough
_STEP_DOWN = 8.0  # where to look below a grid that was too high
_LEAST = 1e-300

MOST_PASSES = 40
"""Passes of a search at most: a grid of 8 tells neighbouring doubles apart in 18."""


class _Left(NamedTuple):
    """Lines that have no answer yet, and thresholds to look at."""

    lines: IntArray
    thresholds: FloatArray
    kept: BoolArray  # lines whose effects between the first two thresholds are asked for


class Search:
    """Narrows down where the goals of lines are."""

    def __init__(
        self,
        scan: Scan,
        sample: LabelBatch,
        share: float,
        *,
        weights: FloatArray,
        lines: Lines,
        most: FloatArray,
    ) -> None:
        self._scan, self._sample, self._share = scan, sample, share
        self._weights, self._lines, self._most = weights, lines, most

    def run(self, goals: Goals, passes: int = MOST_PASSES) -> None:
        """Make passes until every goal is settled, or as many as may be made."""
        left = self._first(goals)
        for _ in range(passes):
            if not len(left.lines):
                break
            left = self._narrowed(goals, left, self._scan.run(self._count(left)))

    def pull(self, goals: Goals, labels: int) -> FloatArray:
        """Make one pass, and find what labels near the goals do to the parameters."""
        left = self._first(goals)
        at = np.full(len(left.lines), int(_ANCHOR * left.thresholds.shape[1]))
        found = self._scan.run(Pull(self._count(left), at))
        self._narrowed(goals, left, found.counted)
        count = found.counted.tally.above().count[np.arange(len(at)), at]
        # More than may move at once: of all ways to take as many, one does at least the mean.
        within = np.minimum(1.0, labels / np.maximum(count, 1.0))
        return np.asarray(found.moved * within[:, None])

    def floor(self, rank: float) -> float:
        """Return a threshold that probably more than `rank` effects of the first line exceed."""
        ((_, effects),) = _sorted_effects(self._sample, self._weights[:1], self._lines)
        expected = rank * self._share
        expected += _SPREAD * (np.sqrt(expected) + 1.0)
        return float(effects[0, int(expected)]) if expected < effects.shape[1] else 0.0

    def _count(self, left: _Left) -> Count:
        """Return the work of counting, with the weights of the rows that have lines left."""
        rows, row = np.unique(self._lines.row[left.lines], return_inverse=True)
        lines = Lines(row.astype(np.intp), self._lines.sign[left.lines])
        return Count(self._weights[rows], lines, left.thresholds, left.kept)

    # --- thresholds -----------------------------------------------------------------------

    def _first(self, goals: Goals) -> _Left:
        """Return thresholds around the goals, where the sample suggests they are."""
        n_lines = len(self._lines.row)
        grids = np.empty((n_lines, _grid(n_lines)))
        for here, effects in _sorted_effects(self._sample, self._weights, self._lines):
            lines = np.arange(here.start, here.stop)
            rank = goals.ranks(effects, max(self._share, _LEAST), lines)
            # A sample that is all of the rows knows.
            room = 1.0 + (_SPREAD * (np.sqrt(rank) + 1.0) if self._share < 1 else 0.0)
            grids[here] = _at_ranks(effects, rank, room, self._most[here], grids.shape[1])
        return _Left(np.arange(n_lines), grids, np.zeros(n_lines, dtype=bool))

    def _narrowed(self, goals: Goals, left: _Left, found: Counted) -> _Left:
        """Let the goals take note of what was found; return the lines that are left."""
        windows = _Windows(goals, left, found)
        lines, floors, ceilings, sizes = [], [], [], []
        for at, line in enumerate(left.lines.tolist()):
            window = windows.of(at)
            if window is not None and goals.settle(line, window):
                continue
            floor, ceiling = windows.ends(at)
            lines.append(line)
            floors.append(floor)
            ceilings.append(self._most[line] if ceiling is None else ceiling)
            sizes.append(np.inf if window is None else window.count)
        return _between(
            np.array(lines, dtype=np.intp), np.array(floors), np.array(ceilings), np.array(sizes)
        )


class _Windows:
    """Between which thresholds of a pass the goals are."""

    def __init__(self, goals: Goals, left: _Left, found: Counted) -> None:
        self._left, self._tally = left, found.tally
        self._above = above = found.tally.above()
        order = np.argsort(found.line, kind="stable")
        self._effects = found.value[order]
        self._ends = np.searchsorted(found.line[order], np.arange(len(left.lines) + 1))
        enough = goals.enough(above.count, above.high, left.lines)
        too_few = goals.too_few(above.count, above.high, left.lines)
        self._floor = enough.sum(axis=1) - 1  # the last with enough labels above; -1: none
        self._ceiling = enough.shape[1] - too_few.sum(axis=1)  # the first with too few

    def of(self, at: int) -> Window | None:
        """Return the window of a goal; None if it is outside the thresholds."""
        thresholds, g, h = self._left.thresholds[at], int(self._floor[at]), int(self._ceiling[at])
        complete = g < 0 and thresholds[0] == 0.0
        if h >= len(thresholds) or (g < 0 and not complete):
            return None
        g = max(g, 0)
        inside = slice(g, h)
        found = Window(
            above=int(self._above.count[at, h]),
            total=(float(self._above.high[at, h]), float(self._above.low[at, h])),
            count=int(self._above.count[at, min(g, h)] - self._above.count[at, h]),
            between=fsum((*self._tally.high[at, inside], *self._tally.low[at, inside])),
            floor=float(thresholds[g]),
            ceiling=float(thresholds[h]),
            complete=complete,
        )
        if not self._left.kept[at]:
            return found
        effects = self._effects[self._ends[at] : self._ends[at + 1]]
        return replace(found, effects=np.sort(effects)[::-1][: found.count])

    def ends(self, at: int) -> tuple[float, float | None]:
        """Return where to look next: between these; None for as high as effects go."""
        thresholds, g, h = self._left.thresholds[at], int(self._floor[at]), int(self._ceiling[at])
        lowest = thresholds[0] / _STEP_DOWN if thresholds[0] > _LEAST else 0.0
        floor = thresholds[g] if g >= 0 else lowest
        return float(floor), float(thresholds[h]) if h < len(thresholds) else None


def _grid(n_lines: int) -> int:
    """Return how many thresholds each of so many lines gets."""
    return int(min(max(_CELLS // max(1, n_lines), _LEAST_GRID), _LARGEST_GRID))


def _between(lines: IntArray, floors: FloatArray, ceilings: FloatArray, sizes: FloatArray) -> _Left:
    """Return thresholds between floors and ceilings; where few effects are, ask for these."""
    kept = sizes <= min(_OF_A_LINE, _COLLECTED / max(1, len(lines)))
    steps = np.linspace(0.0, 1.0, _grid(len(lines)))
    low, high = floors[:, None], ceilings[:, None]
    # Of both ends a share: their difference may overflow, or hide the smaller one.
    thresholds = np.clip(low * (1 - steps) + high * steps, low, high)
    thresholds = np.maximum.accumulate(thresholds, axis=1)
    thresholds[kept, 1:] = ceilings[kept, None]
    return _Left(lines, thresholds, kept)


def _sorted_effects(
    sample: LabelBatch, weights: FloatArray, lines: Lines
) -> Iterator[tuple[slice, FloatArray]]:
    """Yield the effects of a sample of labels, some lines at a time, strongest first."""
    design, step = SlicedDesign(sample.design), 64
    for start in range(0, len(weights), step):
        rows = slice(start, min(start + step, len(weights)))
        here = lines_of(lines.row, rows)
        z = np.empty((rows.stop - rows.start, len(sample)))
        for some, columns, block in design.products(weights[rows]):
            z[some, columns] = block
        signed = z[lines.row[here] - start] * lines.sign[here, None]
        effects = np.maximum(signed * sample.lower, signed * sample.upper)
        effects[~np.isfinite(effects)] = 0.0
        yield here, np.sort(effects, axis=1)[:, ::-1]


def _at_ranks(
    effects: FloatArray, rank: FloatArray, room: FloatArray | float, most: FloatArray, grid: int
) -> FloatArray:
    """Return ascending thresholds that rank ± room effects of a sample exceed.

    `effects` are sorted downwards, one line per row; `most` is what no effect exceeds.
    """
    size = effects.shape[1]
    if not size:
        return np.linspace(np.zeros(len(effects)), most, grid, axis=1)
    wanted = np.linspace(rank + room, rank - room, grid, axis=1)
    left = np.clip(np.floor(wanted), 0, size - 1).astype(np.intp)
    right = np.minimum(left + 1, size - 1)
    part = np.clip(wanted - left, 0.0, 1.0)
    upper = np.take_along_axis(effects, left, axis=1)
    lower = np.take_along_axis(effects, right, axis=1)
    found = upper * (1 - part) + lower * part
    found[wanted > size - 1] = 0.0  # more than the sample has: all there are
    # Fewer than the sample can tell: from its strongest effect to what none exceeds.
    beyond = wanted <= 0
    steps = np.cumsum(beyond, axis=1) / np.maximum(beyond.sum(axis=1), 1)[:, None]
    first = effects[:, :1]
    found = np.where(beyond, first + steps**3 * np.maximum(most[:, None] - first, 0.0), found)
    return np.maximum.accumulate(np.maximum(found, 0.0), axis=1)
