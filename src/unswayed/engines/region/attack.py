"""Attacks: label changes that overturn rows of a model with labels in its gradient."""

from dataclasses import dataclass, replace

import numpy as np

from unswayed._core import selection
from unswayed._core.influence import Entries, merge_rows
from unswayed._core.rounding import SAFETY, UNIT, gamma
from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.labels.bias import ResolvedBias
from unswayed.models.gradient.family import changed, slopes, solve_all
from unswayed.models.gradient.problem import Centre, GradientProblem, Labels
from unswayed.models.ridge.verified import VerifiedInverse, row_norms


@dataclass(frozen=True, slots=True, eq=False)
class Moves:
    """Label changes that a bias allows, as pushes on the gradient."""

    # Of the distinct rows, offsets times the labels' own weights; members are training rows
    entries: Entries
    n_movable: int  # Labels that may move at all
    # Distinct rows whose labels may rise, or fall; those of several weights more than once
    rising: IntArray
    falling: IntArray
    # The same, first those that rise and then those that fall, as the selection kernels read them:
    # `upper` is the push of one label, `n_upper` how many there are
    sides: Entries

    @classmethod
    def of(cls, problem: GradientProblem, bias: ResolvedBias) -> "Moves":
        """Merge the moves of labels."""
        lower, upper = bias.lower * problem.weight, bias.upper * problem.weight
        entries = merge_rows(lower, upper, problem.group, np.arange(len(problem.first)))
        rise, fall = np.flatnonzero(entries.n_upper), np.flatnonzero(entries.n_lower)
        rising, falling = entries.rows[rise], entries.rows[fall]
        nothing = np.zeros(len(rise) + len(fall))
        none = np.zeros(0, dtype=np.intp)
        sides = Entries(
            rows=np.concatenate((rising, falling)),
            lower=nothing,
            upper=np.concatenate((entries.upper[rise], -entries.lower[fall])),
            n_lower=nothing,
            n_upper=np.concatenate((entries.n_upper[rise], entries.n_lower[fall])),
            members_down=none,
            start_down=np.zeros(len(nothing) + 1, dtype=np.intp),
            members_up=none,
            start_up=np.zeros(len(nothing) + 1, dtype=np.intp),
        )
        movable = int(np.count_nonzero((lower != 0) | (upper != 0)))
        return cls(entries, movable, rising, falling, sides)

    def pushing(self, factor: FloatArray) -> "Moves":
        """Return moves whose pushes are multiplied, by a factor per distinct row."""
        push = self.sides.upper * factor[self.sides.rows]
        return replace(self, sides=replace(self.sides, upper=push))

    def effects(self, rise: FloatArray, fall: FloatArray) -> FloatArray:
        """Return what one unit of each move adds to a score, those that rise before the others."""
        out = np.empty((len(rise), len(self.sides)))
        np.take(rise, self.rising, axis=1, out=out[:, : len(self.rising)], mode="clip")
        np.take(fall, self.falling, axis=1, out=out[:, len(self.rising) :], mode="clip")
        return out

    def most(self, effects: FloatArray, labels: int) -> FloatArray:
        """Return the sum of the largest effects that so many labels can have, rounded up."""
        if not len(self.sides) or not labels:
            return np.zeros(len(effects))
        found, _ = selection.reach(effects, self.sides, labels)
        return np.asarray(found * (1.0 + 2.0**-48))

    def marks(self, effects: FloatArray, labels: int) -> FloatArray:
        """Return thresholds that prove `most`, two for each row: of some moves, and the others."""
        found = _mark(effects, self.sides, labels)
        return np.stack((found, found), axis=1)

    def unit(self, index: IntArray, amount: FloatArray) -> FloatArray:
        """Return what one label adds in each of several changes."""
        entries = self.entries
        return np.where(amount > 0, entries.upper[index], entries.lower[index])

    def members(self, index: IntArray, amount: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return the training rows whose labels change, and what is added to their pushes."""
        unit = self.unit(index, amount)
        many = np.rint(amount / unit).astype(np.intp)
        parts = [
            self.entries.members(entry, sign)[:count]
            for entry, sign, count in zip(
                index.tolist(), np.sign(amount).tolist(), many.tolist(), strict=True
            )
        ]
        rows = np.concatenate([*parts, np.zeros(0, dtype=np.intp)]).astype(np.intp)
        added = np.repeat(unit, many)
        order = np.argsort(rows)
        return rows[order], added[order]


@dataclass(frozen=True, slots=True, eq=False)
class SplitMoves(Moves):
    """Moves of which so many may be within some rows at once, and so many outside them."""

    inside: BoolArray  # Which of `sides` are within the rows
    most_inside: int
    most_outside: int

    @classmethod
    def split(
        cls, moves: Moves, inside: BoolArray, most_inside: int, most_outside: int
    ) -> "SplitMoves":
        """Return moves that are further limited."""
        given = moves.entries, moves.n_movable, moves.rising, moves.falling, moves.sides
        return cls(*given, inside, most_inside, most_outside)

    def most(self, effects: FloatArray, labels: int) -> FloatArray:
        """Return the sum of the largest effects that so many labels can have, rounded up.

        The thresholds t' inside and t'' outside, t the smaller one, prove it: the numbers that are
        chosen sum up to k t + m (t' - t) + o (t'' - t) and what they exceed t' or t'' by.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            labels, rooms = self._rooms(labels)
            marks, values = self.marks(effects, labels), effects * self.sides.upper
            least = marks.min(axis=1)
            values -= np.where(self.inside, marks[:, :1], marks[:, 1:])
            np.maximum(values, 0.0, out=values)
            found = values @ self.sides.n_upper + labels * least + (marks - least[:, None]) @ rooms
        # Of nonnegative terms: the roundings of a sum, and of each term.
        found = found * (1.0 + (len(self.sides) + 8) * 2.0**-52)
        return np.where(np.isnan(found), np.inf, found)

    def _rooms(self, labels: int) -> tuple[int, tuple[int, int]]:
        """Return how many labels there is room for: in all, within the rows, and outside."""
        rooms = min(self.most_inside, labels), min(self.most_outside, labels)
        return min(labels, sum(rooms)), rooms

    def marks(self, effects: FloatArray, labels: int) -> FloatArray:
        """Return thresholds that prove `most`: of moves within the rows, and of the others."""
        parts = [_some(effects, self.sides, each) for each in (self.inside, ~self.inside)]
        labels, rooms = self._rooms(labels)
        # So many labels are used up at the least of these, whichever part has no more room.
        least = _mark(effects, self.sides, labels)
        for part, other in ((0, 1), (1, 0)):
            if labels > rooms[other]:
                least = np.minimum(least, _mark(*parts[part], labels - rooms[other]))
        own = [_mark(*part, room) for part, room in zip(parts, rooms, strict=True)]
        return np.stack([np.maximum(each, least) for each in own], axis=1)


def _mark(effects: FloatArray, entries: Entries, labels: int) -> FloatArray:
    """Return what the last of so many labels does, or the first one if they are none."""
    if not len(entries):
        return np.zeros(len(effects))
    found, _ = selection.reach(effects, entries, max(labels, 1))
    if labels > 1:
        found = found - selection.reach(effects, entries, labels - 1)[0]
    return np.maximum(found, 0.0)


def _some(effects: FloatArray, entries: Entries, which: BoolArray) -> tuple[FloatArray, Entries]:
    """Return some of the entries, and their effects."""
    parts = {name: getattr(entries, name)[which] for name in ("rows", "upper", "n_upper")}
    none = np.zeros(len(parts["rows"]))
    return np.ascontiguousarray(effects[:, which]), replace(
        entries, lower=none, n_lower=none, **parts
    )


# ----------------------------------------------------------------------------------------
# Attacks: label changes that move a score far, and proofs of how far they move it.
#
# Which labels to change is a guess, by first-order influence, then again at the parameters that
# these lead to. What they do is proven: the solution of the changed labels is enclosed around the
# parameters that a solver returns, whatever these are.

_AT_ONCE = 2**21  # numbers in a batch of margins
_FAR = 12.0  # margins that move by more get a Hessian of their own


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Label changes for each of several rows, and what they do to its score."""

    # Entries that change, and what is added to the weighted labels of each, in total
    index: list[IntArray]
    amount: list[FloatArray]
    # How far scores move in the direction that was asked for, at least: a proof. Minus infinity
    # where nothing is proven
    moved: FloatArray
    parameters: FloatArray  # About where the changed labels lead

    def put(self, rows: IntArray, other: "Found") -> None:
        """Take over what another attack did better."""
        for at, row in enumerate(rows.tolist()):
            if other.moved[at] > self.moved[row]:
                self.index[row], self.amount[row] = other.index[at], other.amount[at]
                self.moved[row] = other.moved[at]
                self.parameters[row] = other.parameters[at]


class Attacker:
    """Finds label changes that move scores."""

    def __init__(
        self, problem: GradientProblem, labels: Labels, centre: Centre, moves: Moves
    ) -> None:
        self.problem, self.labels, self.centre, self.moves = problem, labels, centre, moves
        low, _ = problem.link.slopes(
            centre.margins, np.zeros(len(centre.margins)), np.zeros(len(centre.margins)),
            centre.error,
        )  # fmt: skip
        lost = 1.0 - problem.label_error - 4.0 * UNIT
        self._here = VerifiedInverse(*problem.hessian(labels.weight * low * lost))

    @property
    def inverse(self) -> FloatArray:
        """The inverse of a Hessian near the solution."""
        return self._here.inverse

    def moved(self, signed: FloatArray, index: IntArray, amount: FloatArray) -> FloatArray:
        """Return how far the same label changes move each of some scores, at least: a proof."""
        one = self._solved([index], [amount], self.centre.parameters[None])
        return self._moves(signed, *(np.repeat(each, len(signed), axis=0) for each in one))

    def strongest(
        self, directions: FloatArray, sign: FloatArray, many: IntArray, rounds: int,
        enough: FloatArray,
    ) -> Found:  # fmt: skip
        """Return label changes that move scores as far as could be found."""
        signed = directions * sign[:, None]
        found = self._first(signed, many)
        for _ in range(rounds):
            left = np.flatnonzero(~(found.moved > enough))
            if not len(left):
                break
            before = found.moved.copy()
            found.put(left, self._again(signed[left], many[left], found, left))
            if not (found.moved > before).any():
                break
        return found

    def _first(self, signed: FloatArray, many: IntArray) -> Found:
        """Change the labels of the strongest influence at the centre."""
        start = np.broadcast_to(self.centre.parameters, signed.shape)
        return self._batches(signed, many, start, signed @ self._here.inverse)

    def _again(self, signed: FloatArray, many: IntArray, found: Found, rows: IntArray) -> Found:
        """Change the labels of the strongest influence at the parameters that were found."""
        weights = np.empty_like(signed)
        start = found.parameters[rows]
        for at in range(len(signed)):
            curvature = self.labels.weight * slopes(self.problem, start[at])
            matrix, _ = self.problem.hessian(curvature)
            weights[at] = np.linalg.lstsq(matrix, signed[at], rcond=None)[0]
        return self._batches(signed, many, start, weights)

    def _batches(
        self, signed: FloatArray, many: IntArray, start: FloatArray, weights: FloatArray
    ) -> Found:
        size = max(1, _AT_ONCE // max(1, len(self.problem.first)))
        parts = []
        order = np.argsort(many, kind="stable")
        for labels in np.unique(many).tolist():
            rows = order[many[order] == labels]
            parts += [(rows[at : at + size], labels) for at in range(0, len(rows), size)]
        count = len(signed)
        nothing: list[IntArray] = [np.zeros(0, dtype=np.intp)] * count
        whole = Found(nothing, [np.zeros(0)] * count, np.full(count, -np.inf), np.array(start))
        for rows, labels in parts:
            index, amount = self._chosen(weights[rows], labels)
            whole.put(rows, self.evaluated(signed[rows], index, amount, start[rows]))
        return whole

    def _chosen(self, weights: FloatArray, labels: int) -> tuple[list[IntArray], list[FloatArray]]:
        """Return the moves of the strongest influence, for each row."""
        entries = self.moves.entries
        if not len(entries) or not labels:
            none = np.zeros(0, dtype=np.intp)
            return [none] * len(weights), [np.zeros(0)] * len(weights)
        z = np.ascontiguousarray(self.problem.rows(weights)[:, entries.rows])
        most = selection.extremes(z, entries, min(labels, self.moves.n_movable), 1.0)
        changes = [most.changes(row) for row in range(len(weights))]
        return [index for index, _ in changes], [amount for _, amount in changes]

    def evaluated(
        self,
        signed: FloatArray,
        index: list[IntArray],
        amount: list[FloatArray],
        start: FloatArray | None = None,
    ) -> Found:
        """Return what given label changes do to the score of each row."""
        if start is None:
            start = np.broadcast_to(self.centre.parameters, signed.shape)
        parameters, away = self._solved(index, amount, start)
        return Found(index, amount, self._moves(signed, parameters, away), parameters)

    def _solved(
        self, index: list[IntArray], amount: list[FloatArray], start: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return about where label changes lead, and how far from there the solution is at most."""
        problem, entries = self.problem, self.moves.entries
        labels = changed(problem, self.labels, [entries.rows[each] for each in index], amount)
        parameters = solve_all(problem, labels, start, self._here.inverse)
        return parameters, self.enclosed(parameters, labels)

    def _moves(self, signed: FloatArray, parameters: FloatArray, away: FloatArray) -> FloatArray:
        """Return how far scores move at least; minus infinity where nothing is proven."""
        step = parameters - self.centre.parameters
        own = self._here.bound * self.centre.residual
        with np.errstate(invalid="ignore", over="ignore"):
            moved = np.einsum("ij,ij->i", signed, step)
            rounding = gamma(self.problem.n_parameters + 10) * row_norms(step)
            lost = SAFETY * row_norms(signed) * (away + 2.0 * own + rounding)
            lost += 4.0 * UNIT * np.abs(moved)
            moved = np.nextafter(moved - lost, -np.inf)
        return np.where(np.isfinite(moved), moved, -np.inf)

    def enclosed(self, parameters: FloatArray, labels: Labels) -> FloatArray:
        """Return how far from given parameters the solution is, at most.

        Within a distance at which no margin moves by more than 1, slopes are at least exp(-1-t)
        times those of the centre, if margins differ from the centre's by t. So is the Hessian, and
        the residual cannot lead further than itself divided by that: if this is within that
        distance, there is a solution, and it is there.
        """
        problem = self.problem
        residual = problem.residual(parameters, labels)
        margins, error = problem.margins(parameters)
        with np.errstate(all="ignore"):
            apart = np.abs(margins - self.centre.margins) + error + self.centre.error
            furthest = apart.max(axis=1, initial=0.0)
            bound = np.exp(furthest + 1.0) * self._here.bound * SAFETY
        # Class weights change the weights of rows: these Hessians are not comparable.
        own = (furthest > _FAR) | ~np.isfinite(bound) | (labels.weight.ndim > 1)
        for row in np.flatnonzero(own & np.isfinite(residual)).tolist():
            weight = labels.weight if labels.weight.ndim == 1 else labels.weight[row]
            still = np.zeros(len(weight))
            low, _ = problem.link.slopes(margins[row], still, still, error[row])
            lost = (1.0 - problem.label_error - 4.0 * UNIT) * np.exp(-1.0) / SAFETY
            bound[row] = VerifiedInverse(*problem.hessian(weight * low * lost)).bound
        away = SAFETY * bound * residual
        inside = away * problem.sizes.max(initial=0.0) < 0.5
        return np.where(inside, away, np.inf)
