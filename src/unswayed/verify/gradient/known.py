"""What is known of the rows that claims are about: scores, ranges, and what labels do to them."""

from array import array
from collections import defaultdict
from typing import Any

import numpy as np

from unswayed.verify.data import Bias, Data
from unswayed.verify.facts import Moves
from unswayed.verify.floating.enclosure import two_sum
from unswayed.verify.floating.rounding import FloatArray, IntArray, UnprovenError
from unswayed.verify.floating.stage import read_given
from unswayed.verify.gradient.box import Box
from unswayed.verify.gradient.functions import LINKS
from unswayed.verify.gradient.problem import Problem
from unswayed.verify.gradient.question import Range
from unswayed.verify.gradient.region import proven_box, read_offsets, read_parameters, read_region
from unswayed.verify.gradient.remainder import FINE, MOST_ROWS, Remainder
from unswayed.verify.gradient.solution import Solution, enclosed, score
from unswayed.verify.integers import Track

Claim = dict[str, Any]

_SHARES = (0.4, 0.7, 1.0)  # of the way that labels lead, at which slopes are tried


class Known:
    """Test rows, coefficients or contrasts, and bounds on their scores."""

    def __init__(self, document: dict[str, Any], data: Data, bias: Bias, track: Track) -> None:
        model, region = document["model"], document["region"]
        self._given, self._track = read_given(document, data, bias), track
        first, second = map(float, model.get("class_weights", (1.0, 1.0)))
        offsets = read_offsets(region, self._given.train.shape[1])
        self._problem = Problem(self._given, LINKS[model["kind"]], (first, second), offsets)
        self._labels = self._problem.labels(self._given.labels)
        self._centre = read_parameters(region, self._problem)
        self._base = enclosed(self._problem, self._labels, self._centre)
        self.subjects = _alike(document["claims"], data)
        numbers = np.array([each[0]["row"] for each in self.subjects], dtype=np.int64)
        self._directions = self._problem.directions(*self._given.subjects(numbers))
        self.scores = self._of(self._base, np.arange(len(numbers)))
        self.why = "the file has no region"
        self._box = self._read(region, bias.budget)

    def _read(self, region: dict[str, Any], budget: int) -> Box | None:
        try:
            ends = read_region(region, self._problem)
            if ends is None:
                return None
            return proven_box(self._problem, self._labels, ends, budget, self._track)
        except UnprovenError as error:
            self.why = str(error)
            return None

    @property
    def has_box(self) -> bool:
        """Whether the region of the file holds."""
        return self._box is not None

    def _of(self, solution: Solution, rows: IntArray) -> list[Range]:
        """Return bounds on the scores of some subjects; a row of zeros has 0."""
        directions = self._directions[rows]
        ends = np.stack(solution.scores(directions), axis=1)
        return _pairs(np.where(directions.any(axis=1, keepdims=True), ends, 0.0))

    # --- all admissible labels ----------------------------------------------------------------

    def ranges(self, rows: IntArray, labels: int) -> list[Range]:
        """Return between which scores so many labels lead, by the region alone."""
        found = np.tile((-np.inf, np.inf), (len(rows), 1))
        if self._box is None:
            return _pairs(found)
        directions = self._directions[rows]
        value, error = score(directions, self._centre)
        steps, reach = self._box.n_steps(len(rows)), self._box.reach(directions, labels)
        for part, up, down in self._track(reach, "proving by the region", steps):
            found[part, 0] = _beyond(value[part], down, error[part], -1.0)
            found[part, 1] = _beyond(value[part], up, error[part], 1.0)
        return _pairs(np.where(directions.any(axis=1, keepdims=True), found, 0.0))

    def remainders(self, rows: IntArray, about: FloatArray, sign: float, labels: int) -> FloatArray:
        """Return sharper bounds on how far scores rise or fall."""
        if self._box is None or not len(rows) or len(self._box.down) > MOST_ROWS:
            return about
        rest = Remainder(self._box, labels)
        blocks = np.array_split(np.arange(len(rows)), -(-len(rows) // 16))
        found = about.copy()
        for block in self._track(blocks, "proving by remainders", len(blocks)):
            found[block] = self._sharper(rest, rows[block], about[block], sign)
        return found

    def _sharper(
        self, rest: Remainder, rows: IntArray, about: FloatArray, sign: float
    ) -> FloatArray:
        """Return the bounds of a remainder, where they are sharper than others."""
        directions = self._directions[rows]
        value, error = score(directions, self._centre)
        reach = rest.reach(sign * directions, np.maximum(sign * (about - value), 0.0))
        found = _beyond(value, reach, error, sign)
        return np.where(sign * found < sign * about, found, about)

    def own_remainders(
        self, rows: IntArray, about: FloatArray, sign: float, labels: int
    ) -> FloatArray:
        """Return bounds that are sharper still, from slopes that each row's own labels lead to.

        Labels that move a score the other way lead to slopes, too, and sometimes to better ones.
        """
        found = about.copy()
        if self._box is None or len(self._box.down) > MOST_ROWS:
            return found
        for place in self._track(range(len(rows)), "proving rows one by one", len(rows)):
            one = slice(place, place + 1)
            for way in (sign, -sign):
                solution = self._solution(self.guess(int(rows[place]), way, labels))
                if solution is None:
                    continue
                moved = self._problem.margins(solution.parameters)[0] - self._box.centre.margins
                for share in _SHARES:
                    rest = Remainder(self._box, labels, FINE, share * moved)
                    found[one] = self._sharper(rest, rows[one], found[one], sign)
        return found

    # --- some labels --------------------------------------------------------------------------

    def moved(self, at: int, moves: Moves) -> Range | None:
        """Return the score of a subject for changed labels."""
        found = self._solution(moves)
        return None if found is None else self._of(found, np.array([at]))[0]

    def _solution(self, moves: Moves) -> Solution | None:
        """Return the solution for changed labels; None if it could not be enclosed."""
        given, rounded = self._given, False
        targets = np.array(given.labels)
        for rows, end, _ in moves.parts():
            places = np.array(rows, dtype=np.int64)
            added = (given.upper if end else given.lower)[places]
            targets[places], rest = two_sum(targets[places], added)
            rounded |= bool(rest.any())
        labels = self._problem.labels(targets, rounded=rounded)
        try:
            return enclosed(self._problem, labels, self._base.parameters)
        except UnprovenError:
            return None

    def guess(self, at: int, sign: float, budget: int) -> Moves:
        """Return the labels that should move a score furthest, to first order."""
        given, problem = self._given, self._problem
        weights = sign * (self._directions[at] @ self._base.above)
        slopes = (problem.design @ weights)[problem.kind] * given.weights
        up, down = slopes * given.upper, slopes * given.lower
        gain = np.maximum(up, down)
        best = np.argsort(-gain, kind="stable")[:budget]
        best = np.sort(best[gain[best] > 0])
        rises = up[best] > 0
        return Moves(_numbers(best[rises]), _numbers(best[~rises]))


def _numbers(rows: IntArray) -> "array[int]":
    return array("Q", rows.tolist())


def _alike(claims: list[Claim], data: Data) -> list[list[Claim]]:
    """Return claims, those about equal test rows together."""
    alike: dict[Any, list[Claim]] = defaultdict(list)
    for claim in claims:
        row = claim["row"]
        alike[row if data.tests is None else data.tests[row].tobytes()].append(claim)
    return list(alike.values())


def _pairs(ends: FloatArray) -> list[Range]:
    return [(low, high) for low, high in ends.tolist()]


def _beyond(value: FloatArray, reach: FloatArray, error: FloatArray, sign: float) -> FloatArray:
    """Return value + sign (reach + error), rounded away."""
    away = np.nextafter(reach + error, np.inf)
    return np.asarray(np.nextafter(value + sign * away, sign * np.inf))
