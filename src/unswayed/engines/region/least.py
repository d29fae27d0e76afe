"""Least budgets: the largest that is proven safe, and the smallest that was found to overturn."""

from typing import TypeAlias

import numpy as np

from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.engines.region.attack import Found
from unswayed.engines.region.engine import Attacked, Directions, SecantEngine
from unswayed.exceptions import InputError
from unswayed.margins.decisions import Margins
from unswayed.results.certificates import MinimumBudgets

_NEAR = 1 / 8  # between the largest region that closed and the smallest that did not
_DROPS = 40  # labels of a witness up to which each is tried to be left out

_Changes: TypeAlias = tuple[IntArray, FloatArray, FloatArray]
"""Entries, amounts, and the parameters that these lead to."""


class LeastBudgets:
    """Bounds on the least number of labels that overturns each of several rows."""

    def __init__(
        self, engine: SecantEngine, directions: Directions, margins: Margins, effort: int
    ) -> None:
        self.engine, self.directions = engine, directions
        self.margins, self.effort = margins, effort
        with np.errstate(invalid="ignore"):
            self._sign = np.where(margins.up <= margins.down, 1.0, -1.0)
            enough = np.minimum(margins.up, margins.down) + margins.slack
            self._enough = np.nextafter(enough, np.inf) / directions.scale
        self._found: dict[int, _Changes] = {}
        self._known: dict[int, _Changes] = {}

    def remember(self, attacked: Attacked, overturned: BoolArray) -> None:
        """Keep what attacks of somebody else found, for witnesses."""
        rows, found = attacked
        for at in np.flatnonzero(overturned[rows]).tolist():
            row = int(rows[at])
            changes = found.index[at], found.amount[at], found.parameters[at]
            before = self._known.get(row)
            if before is None or self._size(changes) < self._size(before):
                self._known[row] = changes

    def _size(self, changes: _Changes) -> int:
        """Return how many labels change."""
        index, amount, _ = changes
        return int(np.rint(amount / self.engine.moves.unit(index, amount)).sum())

    def bounds(self) -> MinimumBudgets:
        """Return the bounds."""
        safe = self._safe()
        known = np.isfinite(self.margins.slack)
        most = self.engine.moves.n_movable
        low = np.where(safe >= most, np.inf, safe + 1.0)
        high = np.full(len(low), np.inf)
        rows = np.flatnonzero(known & np.isfinite(low))
        if len(rows):
            high[rows] = self._least_found(rows, low[rows].astype(np.intp))
        low[~known] = high[~known] = np.nan
        return MinimumBudgets(low, high)

    def _safe(self) -> IntArray:
        """Return the largest number of labels that is proven not to overturn each row."""
        engine, most = self.engine, self.engine.moves.n_movable
        safe = np.zeros(len(self.directions), dtype=np.intp)
        going = np.flatnonzero(np.isfinite(self.margins.slack))
        labels, closed, failed = 1, 0, most + 1
        while len(going) and closed < labels < failed:
            if engine.region(labels, self.effort) is None:
                failed = labels
            else:
                closed = labels
                within = self._stays(going, labels)
                safe[going[within]] = labels
                self._between(going[~within], labels, safe)
                going = going[within]
            if failed > most:
                labels = min(2 * labels, most)
            elif failed - closed > closed * _NEAR:
                labels = (closed + failed) // 2  # fewer than did not close may close
        return safe

    def _stays(self, rows: IntArray, labels: int) -> BoolArray:
        """Return which rows so many labels are proven not to overturn."""
        asked, margins = self.directions.take(rows), self.margins[rows]
        bounds, _ = self.engine.bounds(asked, labels, margins, self.effort, attack=False)
        return self.engine.within(bounds, margins)

    def _between(self, rows: IntArray, labels: int, safe: IntArray) -> None:
        """Find out how many fewer than `labels` are safe, in the region of that many."""
        low, high = safe[rows].copy(), np.full(len(rows), labels)
        while (going := np.flatnonzero(high - low > 1)).size:
            middle = (low + high)[going] // 2
            for many in np.unique(middle).tolist():
                here = going[middle == many]
                bounds = self.engine.outer_bounds(
                    self.directions.take(rows[here]), many, self.effort, within=labels
                )
                within = self.engine.within(bounds, self.margins[rows[here]])
                low[here[within]], high[here[~within]] = many, many
        safe[rows] = low

    def _least_found(self, rows: IntArray, low: IntArray) -> FloatArray:
        """Return the smallest number of labels that were found to overturn rows; inf if none."""
        most = self.engine.moves.n_movable
        high, tried = np.full(len(rows), np.inf), np.minimum(low, most)
        below = low - 1
        going = np.arange(len(rows))
        while len(going):  # upwards, until something is found
            hit = self._overturned(rows[going], tried[going])
            high[going[hit]] = tried[going[hit]]
            below[going[~hit]] = tried[going[~hit]]
            going = going[~hit]
            going = going[tried[going] < most]
            tried[going] = np.minimum(2 * tried[going], most)
        while (going := np.flatnonzero(np.isfinite(high) & (high - below > 1))).size:
            middle = ((below + high)[going] // 2).astype(np.intp)
            hit = self._overturned(rows[going], middle)
            high[going[hit]] = middle[hit]
            below[going[~hit]] = middle[~hit]
        return high

    def _overturned(self, rows: IntArray, many: IntArray) -> np.ndarray:
        """Attack rows with so many labels each, and remember what overturns them."""
        found = self._attack(rows, many)
        hit = found.moved > self._enough[rows]
        for at in np.flatnonzero(hit).tolist():
            self._found[int(rows[at])] = found.index[at], found.amount[at], found.parameters[at]
        return np.asarray(hit)

    def _attack(self, rows: IntArray, many: IntArray) -> Found:
        return self.engine.attacker.strongest(
            self.directions.rows[rows], self._sign[rows], many, 1 + self.effort,
            self._enough[rows],
        )  # fmt: skip

    def witness(self, row: int, labels: int) -> tuple[IntArray, FloatArray, float]:
        """Return a small set of label changes that overturns a row."""
        one = np.array([row])
        self.overturning(one, one * 0 + 1, labels)
        return self._reduced(row, *self._found[row])

    def overturning(
        self, rows: IntArray, least: IntArray, labels: int
    ) -> list[tuple[IntArray, FloatArray]]:
        """Return label changes that overturn rows: as few as the attacks that are tried need."""
        low, high = least - 1, np.full(len(rows), labels)
        hit = self._overturned(rows, high)
        for row in rows[~hit].tolist():
            # Another batch of rows may lead to other last digits, and so to other label changes.
            known = self._known.get(row)
            if known is None or self._size(known) > labels:
                raise InputError(
                    f"of row {row} no {labels} labels were found again that are proven to "
                    "overturn it; more effort may find some (effort=2)"
                )
            self._found[row] = known
        while (going := np.flatnonzero(high - low > 1)).size:
            middle = (low + high)[going] // 2
            hit = self._overturned(rows[going], middle)
            high[going[hit]], low[going[~hit]] = middle[hit], middle[~hit]
        return [self._found[row][:2] for row in rows.tolist()]

    def _reduced(
        self, row: int, index: IntArray, amount: FloatArray, parameters: FloatArray
    ) -> tuple[IntArray, FloatArray, float]:
        """Drop labels while the rest still overturns the row."""
        signed = (self.directions.rows[row] * self._sign[row])[None]
        engine = self.engine
        while True:
            choices = self._without_one(index, amount)
            if not choices:
                break
            found = engine.attacker.evaluated(
                np.repeat(signed, len(choices), axis=0),
                [each for each, _ in choices],
                [each for _, each in choices],
            )
            best = int(np.argmax(found.moved))
            if not found.moved[best] > self._enough[row]:
                break
            index, amount = found.index[best], found.amount[best]
            parameters = found.parameters[best]
        moved = (parameters - engine.centre.parameters) @ self.directions.rows[row]
        return index, amount, float(moved * self.directions.scale[row])

    def _without_one(
        self, index: IntArray, amount: FloatArray
    ) -> list[tuple[IntArray, FloatArray]]:
        """Return the changes with one label less, for each entry that has any."""
        if len(index) > _DROPS:
            return []
        unit = self.engine.moves.unit(index, amount)
        found = []
        for at in range(len(index)):
            left = amount.copy()
            left[at] -= unit[at]
            kept = np.abs(left) > 0.5 * np.abs(unit)
            if kept.any():
                found.append((index[kept], left[kept]))
        return found
