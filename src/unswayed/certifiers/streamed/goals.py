"""Goals: what is looked for among the effects of each line, a row in one direction."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from unswayed._core.rounding import narrower, wider
from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.certifiers.precision import RELATIVE


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
