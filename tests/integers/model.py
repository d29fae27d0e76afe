"""What is true of each row, worked out in integers of any size."""

import math
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from typing import Any

from tests.integers.algebra import (
    Matrix,
    Room,
    Track,
    bits,
    bits_of_doubles,
    common_power,
    dot,
    whole,
)
from tests.integers.influence import MODELS, Influence
from unswayed.verify.budget import Moves
from unswayed.verify.data import Bias, Data


@dataclass(frozen=True, slots=True)
class _Row:
    """Scores of one row as integers, numerators over a common denominator."""

    task: str
    influence: list[int]
    below: int
    mark: int  # the threshold, or the radius
    score: int

    def decision(self, score: int | Fraction) -> int:
        """Return the class, or the sign of a coefficient, at a score."""
        above = score - (self.mark if self.task == "classification" else 0)
        return int(above > 0) - int(above < 0 and self.task == "coefficients")

    def overturned(self, moved: int | Fraction) -> bool:
        """Return whether the answer at another score is a different one."""
        if self.task == "regression":
            return not -self.mark <= moved - self.score <= self.mark
        return self.decision(moved) != self.decision(self.score)

    def reach(self, steps: Counter[int], sign: int, budget: int) -> tuple[int, float]:
        """Return the furthest score within the budget, and how many labels overturn the answer.

        The labels that move the score most are moved first. `steps` counts, for each distance, the
        labels that can move the score by it; `sign` is the direction.
        """
        used, moved, reached, least = 0, self.score, self.score, math.inf
        for step in sorted(steps, reverse=True):
            count, push = steps[step], sign * step
            reached += push * max(0, min(count, budget - used))
            if least == math.inf and self.overturned(moved + count * push):
                scores = range(moved + push, moved + (count + 1) * push, push)
                least = used + 1 + bisect_left(scores, True, key=self.overturned)
            used, moved = used + count, moved + count * push
        return reached, least


@dataclass(frozen=True, slots=True)
class ExactFacts:
    """What is true of one row: all of it is known."""

    row: _Row
    low: int
    high: int
    n_fewest: float
    labels: "ExactLabels"

    def decision(self) -> int:
        """Return the class, or the sign of a coefficient."""
        return self.row.decision(self.row.score)

    def holds_below(self, low: float) -> bool:
        """Return whether no score below `low` is reached."""
        above, under = low.as_integer_ratio()
        return above * self.row.below <= self.low * under

    def holds_above(self, high: float) -> bool:
        """Return whether no score above `high` is reached."""
        above, under = high.as_integer_ratio()
        return above * self.row.below >= self.high * under

    def overturned(self, labels: float) -> bool:
        """Return whether so many labels can overturn the answer."""
        return self.n_fewest < math.inf and self.n_fewest <= labels

    def overturned_by(self, moves: Moves) -> bool:
        """Return whether labels moved to ends of their intervals overturn the answer."""
        return self.row.overturned(self.row.score + self.labels.shift(self.row.influence, moves))

    def fewest(self) -> tuple[float, float]:
        """Return how many labels overturn the answer, twice."""
        return self.n_fewest, self.n_fewest

    def score_range(self) -> tuple[Fraction, Fraction]:
        """Return the score, twice."""
        score = Fraction(self.row.score, self.row.below)
        return score, score

    def reach(self, way: int) -> tuple[Fraction, Fraction]:
        """Return how far labels move the score up, or down, twice."""
        far = self.high - self.row.score if way > 0 else self.row.score - self.low
        return Fraction(far, self.row.below), Fraction(far, self.row.below)

    def shift(self, moves: Moves) -> tuple[Fraction, Fraction]:
        """Return how far some labels move the score, twice."""
        found = self.labels.shift(self.row.influence, moves) / self.row.below
        return found, found


class ExactLabels:
    """Labels and how far they may move, as integers over one power of two."""

    def __init__(
        self,
        labels: "array[float]",
        bias: Bias,
        mark: float,
        place: "array[int]",
        room: Room,
    ) -> None:
        self.power = common_power(chain((mark,), labels, bias.lower, bias.upper))
        self.mark = whole([mark], self.power)[0]
        self._place = place
        self._intervals: list[tuple[int, int]] = []  # distinct ones
        self._interval = array("Q")  # which one each label has
        self._read_intervals(bias, room)
        self.length = bits(chain.from_iterable(self._intervals))
        n_places = 1 + max(place)
        room.take(n_places, bits_of_doubles(labels, self.power))
        self.sums = [0] * n_places  # of labels, by place
        for at, label in zip(place, labels, strict=True):
            self.sums[at] += whole([label], self.power)[0]
        # Rows of one place and one interval move a score alike: how many there are of each.
        self.alike: Counter[tuple[int, int]] = Counter()
        for key in zip(place, self._interval, strict=True):
            if key not in self.alike:
                room.take(4, 64)
            self.alike[key] += 1

    def _read_intervals(self, bias: Bias, room: Room) -> None:
        """Number the distinct intervals that labels may move in."""
        known: dict[tuple[float, float], int] = {}
        for pair in zip(bias.lower, bias.upper, strict=True):
            if pair not in known:
                ends = whole(pair, self.power)
                room.take(8, bits(ends))
                known[pair] = len(known)
                self._intervals.append((ends[0], ends[1]))
            self._interval.append(known[pair])

    def steps(self, influence: list[int], sign: int) -> Counter[int]:
        """Return how far single labels move a score."""
        found: Counter[int] = Counter()
        for (place, interval), count in self.alike.items():
            lower, upper = self._intervals[interval]
            found[max(sign * influence[place] * lower, sign * influence[place] * upper)] += count
        del found[0]
        return found

    def shift(self, influence: list[int], moves: Moves) -> Fraction:
        """Return how far labels move a score that go to, or towards, an end of their intervals."""
        total = Fraction(0)
        for rows, end, shares in moves.parts():
            steps = [
                influence[self._place[at]] * self._intervals[self._interval[at]][end] for at in rows
            ]
            if shares is None:
                total += sum(steps)
            else:
                parts = zip(steps, shares, strict=True)
                total += sum((step * Fraction(share) for step, share in parts), Fraction(0))
        return total


class ExactModel:
    """Works out what is true of rows, in integers."""

    def __init__(self, document: dict[str, Any], data: Data, bias: Bias, track: Track) -> None:
        rule, model = document["question"], document["model"]
        self._task, self._budget = rule["task"], bias.labels
        self._tests = None if data.tests is None else Matrix(data.tests)
        train = None if data.train is None else Matrix(data.train)
        self._contrasts = rule.get("contrasts", ())
        self._room = Room()
        self._model = MODELS[model["kind"]](
            train, model, bias.weights, self._tests, self._room, track
        )
        self._balanced = rule.get("threshold") == "balanced"
        mark = 0.0 if self._balanced else rule.get("threshold", rule.get("radius", 0))
        place = self._model.place
        if self._balanced:
            self._weigh(bias, place)
        self._labels = ExactLabels(data.labels, bias, mark, place, self._room)

    def _weigh(self, bias: Bias, place: "array[int]") -> None:
        """Set the weight of a label at each place, and of all labels, as integers."""
        power, n_places = common_power(bias.weights), 1 + max(place)
        self._room.take(n_places, bits_of_doubles(bias.weights, power))
        self._weights, self._total = [0] * n_places, 0
        for at, weight in zip(place, bias.weights, strict=True):
            self._weights[at] = whole([weight], power)[0]
            self._total += self._weights[at]

    def _from_the_mean(self, z: list[int], below: int) -> tuple[list[int], int]:
        """Return the influence on a score less the mean of the labels, z - weight / total."""
        self._room.check(len(z), bits(z) + below.bit_length() + self._total.bit_length())
        less = [
            number * self._total - weight * below
            for number, weight in zip(z, self._weights, strict=True)
        ]
        return less, below * self._total

    def facts(self, at: int) -> ExactFacts:
        """Return what is true of a test row, a coefficient or a contrast."""
        return self._facts(*self.influence(at))

    def influence(self, at: int) -> Influence:
        """Return the influence on a test row, a coefficient or a contrast."""
        if self._contrasts:
            return self._model.contrast(**self._contrasts[at])  # type: ignore[no-any-return]
        if self._tests is None:
            return self._model.coefficient(at)  # type: ignore[no-any-return]
        z, below = self._model.row(self._tests[at])
        return self._from_the_mean(z, below) if self._balanced else (z, below)

    def combined(self, numbers: Sequence[int], factors: Sequence[Fraction]) -> ExactFacts:
        """Return what is true of a sum of scores of test rows, each times a factor."""
        common = math.lcm(*(factor.denominator for factor in factors))
        total: list[int] = []
        below = 1
        for at, factor in zip(numbers, factors, strict=True):
            z, under = self.influence(at)
            times = factor.numerator * (common // factor.denominator)
            if under != below:  # of models as they are, all rows have the same one
                shared = math.lcm(below, under)
                total = [number * (shared // below) for number in total]
                times, below = times * (shared // under), shared
            total = total or [0] * len(z)
            self._room.check(len(z), max(bits(z) + times.bit_length(), bits(total)) + 1)
            total = [a + times * b for a, b in zip(total, z, strict=True)]
        return self._facts(total or [0] * len(self._labels.sums), below * common)

    def _facts(self, z: list[int], below: int) -> ExactFacts:
        labels = self._labels
        row = _Row(self._task, z, below * labels.power, labels.mark * below, dot(z, labels.sums))
        self._room.check(4 * len(labels.alike), bits(z) + labels.length)
        ends = [row.reach(labels.steps(z, sign), sign, self._budget) for sign in (-1, 1)]
        return ExactFacts(row, ends[0][0], ends[1][0], min(ends[0][1], ends[1][1]), labels)
