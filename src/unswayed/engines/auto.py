"""Auto: the sandwich first, exact for what it leaves open, exact alone where that is cheaper.

Which is cheaper is measured, not assumed: the first rows are always evaluated exactly and timed,
bounds are timed on arrays of the same size, and as the work goes on the sandwich is dropped as
soon as it costs more than it saves.
"""

import time
from functools import cache

import numpy as np

from unswayed._core.box import Box, Ellipsoid
from unswayed._core.sandwich import AnchoredBounds, Anchors
from unswayed._typing import IntArray
from unswayed.budgets import Budget
from unswayed.certificates import Verdict
from unswayed.decisions import Margins
from unswayed.engines.answer import Answer
from unswayed.engines.exact import ExactEngine
from unswayed.engines.rows import FeatureRows
from unswayed.engines.sandwich import MAX_ANCHORS, Sandwich

_FIRST = 64  # rows timed exactly before anything is decided
_CHUNK = 256  # rows of the first chunk: early anchors help all later rows; chunks then double
_LARGEST_CHUNK = 8192  # what is left open is evaluated together: products of many rows are cheap
_LOT = 64  # open rows evaluated before the others are looked at again
_ANCHOR_COST = 3  # exact rows that an anchor takes: the labels of both directions are listed too
_EXPECTED_OPEN = 0.1  # share of rows a new sandwich is expected to leave open
_KEPT = 4  # sandwiches kept warm, one per budget


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


class AutoEngine:
    """Exact verdicts, by bounds where they suffice; keeps its anchors from call to call."""

    def __init__(self, exact: ExactEngine) -> None:
        self._exact = exact
        self._warm: dict[Budget, Sandwich] = {}
        self._useless: set[Budget] = set()  # budgets at which a sandwich left too much open
        self._row_seconds = np.inf  # of one exact row, the fastest seen

    def answer(self, rows: FeatureRows, margins: Margins, budget: Budget) -> Answer:
        """Verdicts of all rows, identical to the exact engine's."""
        answer = Answer.blank(len(rows))
        sandwich = self._warm.get(budget)
        start = 0
        if sandwich is None:
            start = min(_FIRST, len(rows))
            self._exactly(rows, margins, budget, np.arange(start), answer)
            if budget not in self._useless and self._worth_building(len(rows) - start):
                sandwich = self._build(rows, budget, start)
        learning = start > 0  # a new sandwich is given one chunk to find its anchors
        chunk = _CHUNK if learning else _LARGEST_CHUNK
        while sandwich is not None and start < len(rows):
            here = slice(start, min(start + chunk, len(rows)))
            if not self._by_sandwich(sandwich, rows, margins, here, answer, learning=learning):
                self._warm.pop(budget, None)
                self._useless.add(budget)
                sandwich = None
            start, chunk, learning = here.stop, min(2 * chunk, _LARGEST_CHUNK), False
        self._exactly(rows, margins, budget, np.arange(start, len(rows)), answer)
        return answer

    def _worth_building(self, n_rows: int) -> bool:
        learner = self._exact.learner
        if not (self._exact.has_parameters and self._exact.precision.proven):
            return False
        if learner.design is None:
            return False
        q = learner.n_parameters  # type: ignore[attr-defined]
        exact = self._row_seconds
        build = (2 * q + _ANCHOR_COST * _FIRST) * exact
        per_row = _bound_seconds(q) + _ANCHOR_COST * _EXPECTED_OPEN * exact
        return bool(build + n_rows * per_row < n_rows * exact)

    def _build(self, rows: FeatureRows, budget: Budget, first: int) -> Sandwich:
        sandwich = Sandwich(self._exact, budget)
        sandwich.add(rows.directions(slice(first)))
        while len(self._warm) >= _KEPT:
            self._warm.pop(next(iter(self._warm)), None)  # another thread may have been faster
        self._warm[budget] = sandwich
        return sandwich

    def _exactly(
        self,
        rows: FeatureRows,
        margins: Margins,
        budget: Budget,
        which: IntArray,
        answer: Answer,
    ) -> None:
        if not len(which):
            return
        started = time.perf_counter()
        found = self._exact.reach(rows.take(which), budget)
        elapsed = time.perf_counter() - started
        if len(which) >= _FIRST:  # fewer would time the overhead of a call
            self._row_seconds = min(self._row_seconds, elapsed / len(which))
        answer.put(which, Answer.exact(found, margins[which]))

    def _by_sandwich(
        self,
        sandwich: Sandwich,
        rows: FeatureRows,
        margins: Margins,
        here: slice,
        answer: Answer,
        *,
        learning: bool,
    ) -> bool:
        """Decide a chunk; return whether that is cheaper than exact alone."""
        started = time.perf_counter()
        directions = rows.directions(here)
        asked = margins[here]
        found = sandwich.answer(directions, asked, sharp=False)
        open_rows = np.flatnonzero(found.verdict == Verdict.UNDECIDED)
        spent = time.perf_counter() - started
        expected = spent + _ANCHOR_COST * len(open_rows) * self._row_seconds
        if not learning and not self._pays(expected, len(directions)):
            answer.put(here, found)
            self._exactly(rows, margins, sandwich.budget, here.start + open_rows, answer)
            return False
        while len(open_rows):
            lot, open_rows = open_rows[:_LOT], open_rows[_LOT:]
            found.put(lot, Answer.exact(sandwich.add(directions[lot]), asked[lot]))
            if len(open_rows):
                again = sandwich.answer(directions[open_rows], asked[open_rows], sharp=False)
                found.put(open_rows, again)
                open_rows = open_rows[again.verdict == Verdict.UNDECIDED]
        answer.put(here, found)
        return True

    def _pays(self, seconds: float, n_rows: int) -> bool:
        """Whether a chunk took less than exact alone; a short one says nothing."""
        return n_rows < _FIRST or seconds < n_rows * self._row_seconds
