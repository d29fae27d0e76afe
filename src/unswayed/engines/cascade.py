"""Cascade: bounds first, exact for what they leave open; exact alone where that is cheaper.

Which is cheaper is measured, not assumed: the first rows are always evaluated exactly and timed,
and as the work goes on bounds are dropped as soon as they cost more than they save. Anchors are
kept from call to call. None of that can be seen in an answer: bounds decide only what "exact"
would decide too, whatever it rounds, and the ranges that are reported are always those of the
boxes alone. So a row gets the same verdict and the same range alone or in any batch, in any
order, whatever was asked before and however long it took.
"""

import time
from functools import cache

import numpy as np

from unswayed._core.box import Box, Ellipsoid
from unswayed._core.sandwich import AnchoredBounds, Anchors, Bounds
from unswayed._typing import FloatArray, IntArray
from unswayed.engines.anchors import MAX_ANCHORS, Sandwich
from unswayed.engines.rows import LinearRows
from unswayed.engines.selection import ExactEngine
from unswayed.labels.budgets import Budget
from unswayed.margins.decisions import Margins
from unswayed.margins.verdicts import close_calls, judge
from unswayed.models.learner import linear_in_both

_TIMED_ROWS = 64  # evaluated exactly before anything is decided
_FIRST_CHUNK = 256  # rows: early anchors help all later rows; chunks then double
_LARGEST_CHUNK = 8192  # what is left open is evaluated together: products of many rows are cheap
_OPEN_ROWS = 64  # evaluated before the other open ones are looked at again
_ANCHOR_COST = 3  # exact rows that an anchor takes: the labels of both directions are listed too
_EXPECTED_OPEN = 0.1  # share of rows a new sandwich is expected to leave open
_SANDWICHES_KEPT = 4  # sandwiches kept, one per budget


@cache
def _bound_seconds(n_parameters: int) -> float:
    """Measured seconds per row of bounds with as many parameters and a full set of anchors."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(256, n_parameters))
    some = rng.normal(size=(MAX_ANCHORS, n_parameters))
    ones = np.ones(n_parameters)
    sizes, every = np.ones(len(some)), np.ones(len(rows))
    bounds = AnchoredBounds(
        (Box(ones, ones), Box(ones, ones, np.eye(n_parameters))),
        Ellipsoid(np.eye(n_parameters), 1.0, 0.0),
        Anchors(some, sizes, sizes, sizes, some, some),
    )
    best = np.inf
    for _ in range(2):
        started = time.perf_counter()
        bounds.sharpened(bounds.base(rows, every), rows, every, slice(None))
        best = min(best, time.perf_counter() - started)
    return float(best) / len(rows)


class Cascade:
    """The certifier "auto": the verdicts of `ExactEngine`, by bounds where these suffice."""

    def __init__(self, exact: ExactEngine, *, eager: bool = False) -> None:
        self._exact = exact
        self._eager = eager
        self._built: dict[Budget, Sandwich] = {}
        self._useless: set[Budget] = set()  # budgets at which a sandwich left too much open
        self._row_seconds = np.inf  # of one exact row, the fastest seen

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the model and bias it answers for."""
        return self._exact.fingerprint

    @property
    def is_able(self) -> bool:
        """Whether this model can have anchors, and its rounding errors are bounded."""
        able = "anchors" in self._exact.learner.capabilities
        return able and self._exact.precision.proven

    def bounds(self, rows: LinearRows, budget: Budget, margins: Margins) -> Bounds:
        """Return the ranges of boxes, and which rows are decided; without boxes, exact ranges."""
        if not self.is_able:
            return self._exact.bounds(rows, budget, margins)
        sandwich = self._built.get(budget) or self._build(budget)
        found = _Decisions(len(rows))
        start = 0
        if not self._eager and not sandwich.n_anchors:
            start = min(_TIMED_ROWS, len(rows))
            self._exactly(rows, margins, budget, np.arange(start), found)
            if self._worth_using(len(rows) - start) and budget not in self._useless:
                sandwich.add(rows.directions(slice(start)))
        learning = not sandwich.n_anchors or start > 0  # one chunk to find its anchors in
        chunk = _FIRST_CHUNK if learning else _LARGEST_CHUNK
        useful = self._eager or sandwich.n_anchors > 0
        while useful and start < len(rows):
            here = slice(start, min(start + chunk, len(rows)))
            useful = self._by_sandwich(sandwich, rows, margins, here, found, learning=learning)
            start, chunk, learning = here.stop, min(2 * chunk, _LARGEST_CHUNK), False
        if not useful:
            self._useless.add(budget)
        self._exactly(rows, margins, budget, np.arange(start, len(rows)), found)
        return found.reported(sandwich.boxed(rows.directions(slice(None))), margins)

    def _worth_using(self, n_rows: int) -> bool:
        learner, exact = self._exact.learner, self._row_seconds
        per_row = (
            _bound_seconds(linear_in_both(learner).n_parameters)
            + _ANCHOR_COST * _EXPECTED_OPEN * exact
        )
        return bool(_ANCHOR_COST * _TIMED_ROWS * exact + n_rows * per_row < n_rows * exact)

    def _build(self, budget: Budget) -> Sandwich:
        sandwich = Sandwich(self._exact, budget)
        while len(self._built) >= _SANDWICHES_KEPT:
            self._built.pop(next(iter(self._built)), None)  # another thread may have been faster
        return self._built.setdefault(budget, sandwich)

    def _exactly(
        self,
        rows: LinearRows,
        margins: Margins,
        budget: Budget,
        which: IntArray,
        found: "_Decisions",
    ) -> None:
        if not len(which):
            return
        started = time.perf_counter()
        bounds = self._exact.reach(rows.take(which), budget)
        elapsed = time.perf_counter() - started
        if len(which) >= _TIMED_ROWS:  # fewer would time the overhead of a call
            self._row_seconds = min(self._row_seconds, elapsed / len(which))
        found.put(which, bounds, margins[which])

    def _by_sandwich(
        self,
        sandwich: Sandwich,
        rows: LinearRows,
        margins: Margins,
        here: slice,
        found: "_Decisions",
        *,
        learning: bool,
    ) -> bool:
        """Decide a chunk; return whether that is cheaper than exact alone."""
        started = time.perf_counter()
        directions, numbers = rows.directions(here), np.arange(here.start, here.stop)
        asked = self._with_room(margins[here], sandwich, directions)
        open_rows = self._decide(sandwich, directions, asked, numbers, found)
        spent = time.perf_counter() - started
        expected = spent + _ANCHOR_COST * len(open_rows) * self._row_seconds
        if not (learning or self._eager or self._pays(expected, len(directions))):
            self._exactly(rows, margins, sandwich.budget, numbers[open_rows], found)
            return False
        while len(open_rows):
            lot, open_rows = open_rows[:_OPEN_ROWS], open_rows[_OPEN_ROWS:]
            exact = sandwich.add(directions[lot])
            found.put(numbers[lot], exact, margins[numbers[lot]])
            if len(open_rows):
                left = self._decide(
                    sandwich, directions[open_rows], asked[open_rows], numbers[open_rows], found
                )
                open_rows = open_rows[left]
        return True

    def _with_room(self, margins: Margins, sandwich: Sandwich, directions: FloatArray) -> Margins:
        """Return margins with so much slack that whatever bounds decide, exact would decide too."""
        room = 4 * self._exact.precision.most(sandwich.labels_at_once)
        sizes = sandwich.sizes(directions)
        return Margins(margins.up, margins.down, margins.slack + room * sizes)

    @staticmethod
    def _decide(
        sandwich: Sandwich,
        directions: FloatArray,
        margins: Margins,
        numbers: IntArray,
        found: "_Decisions",
    ) -> IntArray:
        """Decide what bounds decide; return the rows they leave open."""
        return found.put(numbers, sandwich.bounds(directions, margins), margins, close=False)

    def _pays(self, seconds: float, n_rows: int) -> bool:
        """Return whether a chunk took less time than exact alone; a short one is taken to have."""
        return n_rows < _TIMED_ROWS or seconds < n_rows * self._row_seconds


class _Decisions:
    """Which rows are proven to stay within their margins or to go beyond, and which by a hair."""

    def __init__(self, n_rows: int) -> None:
        self._robust, self._broken, self._close = np.zeros((3, n_rows), dtype=bool)

    def put(
        self, rows: IntArray, bounds: Bounds, margins: Margins, *, close: bool = True
    ) -> IntArray:
        """Decide some rows by their bounds; return which of them are left open."""
        robust, broken = judge(bounds, margins)
        self._robust[rows], self._broken[rows] = robust, broken
        if close:
            self._close[rows] = close_calls(bounds, margins)
        return np.flatnonzero(~(robust | broken))

    def reported(self, boxed: Bounds, margins: Margins) -> Bounds:
        """Return the bounds of boxes, cut off at the margins of rows that are proven robust."""
        up, down = (
            np.where(self._robust, np.minimum(outer, margin), outer)
            for outer, margin in (
                (boxed.outer_up, margins.up),
                (boxed.outer_down, margins.down),
            )
        )
        return Bounds.outside(up, down, boxed.error).decided_as(
            self._robust, self._broken, self._close
        )
