"""Attacks: label changes that move a score far, and proofs of how far they move it.

Which labels to change is a guess, by first-order influence, then again at the parameters that
these lead to. What they do is proven: the solution of the changed labels is enclosed around the
parameters that a solver returns, whatever these are.
"""

from dataclasses import dataclass

import numpy as np

from unswayed._core import selection
from unswayed._core.rounding import SAFETY, UNIT, gamma
from unswayed._typing import FloatArray, IntArray
from unswayed.certifiers.secant.moves import Moves
from unswayed.models.gradient.problem import Centre, GradientProblem, Labels
from unswayed.models.gradient.solver import changed, slopes, solve_all
from unswayed.models.ridge.scaling import row_norms
from unswayed.models.ridge.verified import VerifiedInverse

_AT_ONCE = 2**21  # numbers in a batch of margins
_FAR = 12.0  # margins that move by more get a Hessian of their own


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Label changes for each of several rows, and what they do to its score."""

    # Entries that change, and what is added to the weighted labels of each, in total
    index: list[IntArray]
    # Entries that change, and what is added to the weighted labels of each, in total
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
