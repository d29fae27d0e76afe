"""What a certificate file carries to prove claims about logistic and Poisson regression.

Parameters that solve the equations, boxes that map into themselves, and a table of bounds: for
every row which box, which bound inside it, its price and its thresholds. The engine found all of
it; here it is found again with a little room, for another program's rounding, and written down.
None of it has to be right for the file to be honest: the checker finds out what it proves.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.engines.protocol import Claimed
from unswayed.engines.region.engine import SHARES, Directions, SecantEngine
from unswayed.engines.region.region import COARSE, FINE, Case, Region, Remainder
from unswayed.inputs import dense
from unswayed.models.gradient.family import changed, slopes
from unswayed.models.ridge.verified import VerifiedInverse

_WIDER = 1.0 + 2e-5  # a box, than what follows from another
_ROOM = 1.0 + 1e-6  # between a box and what follows from it
_LEAST = 1e-9  # log-odds added to every row of a box
_HAIR = 1e-11  # log-odds between a bound and what is claimed
_STEPS = 40
_SHARP = 1e-11  # of a curvature: other programs' secants
_WEAK = 8.0  # margins that a witness moves by more get an inverse of their own
_MOST_WEAK = 2**20  # numbers in these inverses

UP, DOWN = 0, 1
SIGNS = (1.0, -1.0)


def region_proof(
    engine: SecantEngine, labels: int, asked: Sequence[Claimed]
) -> dict[str, FloatArray]:
    """Return the arrays of a proof."""
    with np.errstate(all="ignore"):
        made = _Proof(engine, labels, max((each.case.effort for each in asked), default=1))
        for each in asked:
            made.add(each)
        arrays = made.arrays() | _witnesses(engine, asked)
    # What overflowed proves nothing, and the checker reads finite numbers only.
    return {
        name: np.nan_to_num(each, nan=0.0, posinf=0.0, neginf=0.0)
        for name, each in arrays.items()
        if each.size
    }


class _Proof:
    """Boxes, and bounds inside them."""

    def __init__(self, engine: SecantEngine, labels: int, effort: int) -> None:
        self.engine, self.labels, self.effort = engine, labels, effort
        self._boxes: list[Region] = []
        self._cases: list[tuple[int, int]] = []
        self._numbers: dict[tuple[int, int], int | None] = {}  # of boxes, by their cases
        self._own: list[FloatArray] = []
        self._table: list[FloatArray] = []
        self._size = len(engine.problem.first)
        self._main = None
        for each in (effort, 0):  # a region that was tightened need not map into itself
            region = engine.region(labels, each)
            if region is not None and self._main is None:
                self._main = self._closed(region, 0, labels)

    # --- boxes ----------------------------------------------------------------------------

    def _closed(self, region: Region, least: int, most: int) -> int | None:
        """Add a slightly wider box that maps into itself; return its number, None if none does."""
        engine = self.engine
        still = engine.problem.sizes == 0
        ends = _rounded_up(
            np.where(still, 0.0, _WIDER * np.stack((region.up, region.down)) + _LEAST)
        )
        for _ in range(_STEPS):
            box = Region(
                engine.problem, engine.labels, engine.centre, region.base, ends[DOWN], ends[UP]
            )
            if not box.proven:
                return None
            reached, entries = self._inside(box, ends)
            if ((reached * _ROOM < ends) | still).all():
                self._boxes.append(box)
                self._cases.append((least, most))
                for way, plan, rows, hints in entries:
                    self._put(len(self._boxes) - 1, rows, way, self.labels, plan, hints)
                return len(self._boxes) - 1
            ends = _rounded_up(np.where(still, 0.0, np.maximum(ends, _WIDER * reached)))
        return None

    def _inside(
        self, box: Region, ends: FloatArray
    ) -> tuple[FloatArray, list[tuple[int, int, IntArray, FloatArray]]]:
        """Return how far labels move margins inside a box, and what proves it."""
        design, size = self.engine.problem.design, self._size
        marks = np.empty((size, 2, 2))
        reached, entries = np.stack(box.reach(design, self.labels, marks)), []
        rest: Remainder | None = None
        for way in (UP, DOWN):
            wide = ~(reached[way] * _ROOM < ends[way]) & (self.engine.problem.sizes > 0)
            rows, others = np.flatnonzero(wide), np.flatnonzero(~wide)
            entries.append((way, 0, others, _plain(marks[others, way])))
            if len(rows):
                rest = rest or Remainder(box, self.labels, self.engine.at_centre, COARSE)
                hints = np.empty((len(rows), 3))
                signed = SIGNS[way] * dense(design[rows])
                found = rest.reach(signed, ends[way, rows], hints)
                closer = found < reached[way, rows]
                reached[way, rows] = np.where(closer, found, reached[way, rows])
                entries.append((way, 1, rows, hints))
        return reached, entries

    def _put(
        self, box: int, rows: IntArray, way: int, labels: int, plan: int, hints: FloatArray
    ) -> None:
        """Add lines to the table; numbers that need no digits have few of them."""
        made = np.empty((len(rows), 8))
        made[:, 0], made[:, 1], made[:, 2] = box, rows, SIGNS[way]
        made[:, 3], made[:, 4], made[:, 5:] = labels, plan, hints.astype(np.float32)
        self._table.append(made)

    # --- claims ---------------------------------------------------------------------------

    def add(self, asked: Claimed) -> None:
        """Add what bounds the scores that claims are about."""
        if self._main is None or not len(asked.rows):
            return
        rows, numbers = asked.case.rows.take(asked.rows), self._size + asked.numbers
        value = asked.case.scores.value[asked.rows]
        targets = np.full((2, len(rows)), np.inf)
        for at, claim in enumerate(asked.claims):
            targets[UP, at] = claim.get("high", np.inf) - value[at]
            targets[DOWN, at] = value[at] - claim.get("low", -np.inf)
        targets = (targets - _HAIR * (1.0 + np.abs(value))) / rows.scale
        box, marks = self._boxes[self._main], np.empty((len(rows), 2, 2))
        reached = np.stack(box.reach(rows.rows, self.labels, marks))
        for way in (UP, DOWN):
            enough = reached[way] <= targets[way]
            self._put_rows(self._main, numbers, way, 0, _plain(marks[:, way]), rows, enough)
            left = np.flatnonzero(~enough & np.isfinite(reached[way]))
            left = self._closer(self._main, rows, numbers, way, left, reached[way], targets[way])
            if self.effort > 1:
                tried = [asked.case.tried.get(int(asked.rows[at])) for at in left]
                left = self._own_slopes(rows, numbers, way, left, tried, reached[way], targets[way])
                self._split(rows, numbers, way, left, targets[way])
        self._fewer(asked, rows, numbers)

    def _put_rows(
        self, box: int, numbers: IntArray, way: int, plan: int, hints: FloatArray,
        rows: Directions, which: BoolArray, labels: int | None = None,
    ) -> None:  # fmt: skip
        """Add lines about some subjects, in their own units."""
        kept = np.flatnonzero(which)
        labels = self.labels if labels is None else labels
        self._put(box, numbers[kept], way, labels, plan, (hints * rows.scale[:, None])[kept])

    def _closer(
        self, number: int, rows: Directions, numbers: IntArray, way: int, left: IntArray,
        about: FloatArray, targets: FloatArray,
    ) -> IntArray:  # fmt: skip
        """Bound rows by remainders; return those for which that is not enough."""
        for grid, plan in ((COARSE, 1), (FINE, 2)):
            if len(left):
                rest = Remainder(self._boxes[number], self.labels, self.engine.at_centre, grid)
                some, hints = rows.take(left), np.empty((len(left), 3))
                found = rest.reach(SIGNS[way] * some.rows, about[left], hints)
                about[left] = np.fmin(found, about[left])
                enough = found <= targets[left]
                self._put_rows(number, numbers[left], way, plan, hints, some, enough)
                left = left[~enough]
        return left

    def _own_slopes(
        self, rows: Directions, numbers: IntArray, way: int, left: IntArray,
        tried: list[FloatArray | None], about: FloatArray, targets: FloatArray,
    ) -> IntArray:  # fmt: skip
        """Bound rows by slopes that attacks on them lead to; return those that are left."""
        engine, open_rows = self.engine, []
        for at, parameters in zip(left.tolist(), tried, strict=True):
            one, centre = np.array([at]), engine.centre.parameters
            for share in SHARES if parameters is not None else ():
                move = share * (np.asarray(parameters) - centre)
                moved = engine.problem.rows(move[None])[0]
                curvature = engine.problem.link.secant(engine.centre.margins, moved)
                rest = Remainder(
                    self._boxes[self._main or 0],
                    self.labels,
                    engine.labels.weight * curvature,
                    FINE,
                )
                hints = np.empty((1, 3))
                signed = SIGNS[way] * rows.rows[one]
                found = rest.reach(signed, about[one], hints)
                if found[0] <= targets[at]:
                    plan = 2 * (len(self._own) // 2) + 4
                    self._own += [move, rest.solved(signed)[0] * rows.scale[at]]
                    every = np.ones(1, dtype=bool)
                    some = rows.take(one)
                    self._put_rows(self._main or 0, numbers[one], way, plan, hints, some, every)
                    break
            else:
                open_rows.append(at)
        return np.array(open_rows, dtype=np.intp)

    def _split(
        self, rows: Directions, numbers: IntArray, way: int, left: IntArray, targets: FloatArray
    ) -> None:
        """Bound rows case by case."""
        splitting = self.engine.splitting(self.labels) if len(left) else None
        if splitting is None:
            return
        leaves: list[Case] = []
        some, enough = rows.take(left), targets[left] / _WIDER
        found = splitting.reach(SIGNS[way] * some.rows, enough, leaves)
        for case in leaves:
            kept = case.open[np.isfinite(found[case.open])]
            key = case.least, case.most
            if len(kept) and key not in self._numbers:
                self._numbers[key] = self._closed(case.region, *key)
            number = self._numbers.get(key)
            if len(kept) and number is not None:
                self._in_case(number, rows, numbers, way, left[kept], targets)

    def _in_case(
        self, number: int, rows: Directions, numbers: IntArray, way: int, which: IntArray,
        targets: FloatArray,
    ) -> None:  # fmt: skip
        """Bound rows in one case."""
        some, marks = rows.take(which), np.empty((len(which), 2, 2))
        about = np.full(len(rows), np.inf)
        about[which] = self._boxes[number].reach(some.rows, self.labels, marks)[way]
        enough = about[which] <= targets[which]
        self._put_rows(number, numbers[which], way, 0, _plain(marks[:, way]), some, enough)
        self._closer(number, rows, numbers, way, which[~enough], about, targets)

    def _fewer(self, asked: Claimed, rows: Directions, numbers: IntArray) -> None:
        """Bound what fewer labels do than are claimed to be needed."""
        margins = asked.case.margins[asked.rows]
        fewer = np.array([_least(claim) - 1 for claim in asked.claims])
        for count in np.unique(fewer[(fewer > 0) & (fewer < self.labels)]).tolist():
            labels = int(count)
            which = np.flatnonzero(fewer == labels)
            some, marks = rows.take(which), np.empty((len(which), 2, 2))
            self._boxes[self._main or 0].reach(some.rows, labels, marks)
            for way, margin in ((UP, margins.up), (DOWN, margins.down)):
                needed, hints = np.isfinite(margin[which]), _plain(marks[:, way])
                self._put_rows(self._main or 0, numbers[which], way, 0, hints, some, needed, labels)

    def arrays(self) -> dict[str, FloatArray]:
        """Return what the checker reads, in the units of features."""
        engine, problem = self.engine, self.engine.problem
        units = problem.scale[:, None] * problem.scale
        made = {
            "parameters": engine.centre.parameters * problem.scale,
            "inverse": engine.attacker.inverse * units,
        }
        if problem.offset.any():
            made["offsets"] = problem.offset
        if not self._boxes:
            return made
        splitting = self.engine.splitting(self.labels) if len(self._boxes) > 1 else None
        made["boxes"] = np.vstack(
            [
                (box.down, box.up, box.low * (1.0 - _SHARP), box.high * (1.0 + _SHARP))
                for box in self._boxes
            ]
        )
        made["inverses"] = np.vstack(
            [each.inverse * units for box in self._boxes for each in (box.flat, box.steep)]
        )
        made["cases"] = np.array(self._cases, dtype=np.float64)
        if splitting is not None:
            made["inside"] = splitting.wide.astype(np.float64)
        made["bounds"] = np.vstack(self._table)
        if self._own:
            made["own"] = np.array(self._own) * problem.scale
        return made


def _witnesses(engine: SecantEngine, asked: Sequence[Claimed]) -> dict[str, FloatArray]:
    """Return where the labels of witnesses lead, and inverses where the centre's is too weak."""
    problem, found = engine.problem, {}
    for each in asked:
        for number, row, claim in zip(
            each.numbers.tolist(), each.rows.tolist(), each.claims, strict=True
        ):
            if "witness" in claim:
                found[number] = each.case, row
    weak: list[int] = []
    inverses: list[FloatArray] = []
    parameters = np.zeros((len(found), problem.n_parameters))
    for at, number in enumerate(sorted(found)):
        case, row = found[number]
        parameters[at] = case.refits[row]
        moved = problem.rows((parameters[at] - engine.centre.parameters)[None])
        if (
            np.abs(moved).max(initial=0.0) > _WEAK
            and len(weak) * problem.n_parameters**2 < _MOST_WEAK
        ):
            weight = _weights(engine, case, row)
            hessian = problem.hessian(weight * slopes(problem, parameters[at]))
            inverses.append(VerifiedInverse(*hessian).inverse)
            weak.append(at)
    units = problem.scale[:, None] * problem.scale
    return {
        "witnesses": parameters * problem.scale,
        "weak": np.array(weak, dtype=np.float64),
        "weak_inverses": np.vstack(
            [np.zeros((0, len(units))), *(each * units for each in inverses)]
        ),
    }


def _weights(engine: SecantEngine, case: Any, row: int) -> FloatArray:
    """Return the weights of distinct rows after the label changes of a witness."""
    rows, added, *_ = case.stated_changes(row, None)
    problem = engine.problem
    pushed = [added * problem.weight[rows]]
    weight = changed(problem, engine.labels, [problem.group[rows]], pushed).weight
    return weight if weight.ndim == 1 else weight[0]


def _least(claim: dict[str, Any]) -> float:
    """Return the least minimum budget that a claim names; 0 if it names none."""
    said = claim.get("minimum_budget", 0)
    said = said[0] if isinstance(said, list) else said
    return np.inf if said == "never" else float(said)


def _plain(marks: FloatArray) -> FloatArray:
    """Return thresholds beside a price of nothing."""
    return np.column_stack((np.zeros(len(marks)), marks))


def _rounded_up(values: FloatArray) -> FloatArray:
    """Return numbers rounded up to those of single precision: the file is half as long."""
    return np.nextafter(values.astype(np.float32), np.float32(np.inf)).astype(np.float64)
