"""How much each label counts in a score, in integers of any size.

A score is linear in the labels, s = z·y. Doubles are integers over powers of two, so z can be
computed as integers over one common denominator, without any rounding.
"""

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import mul
from typing import Any

from tests.integers.algebra import (
    Integers,
    Matrix,
    Room,
    SingularError,
    Track,
    bits,
    bits_of_doubles,
    common_power,
    dot,
    independent_rows,
    inverse,
    whole,
)

Influence = tuple[list[int], int]  # one numerator per place, and the positive denominator


@dataclass(frozen=True)
class _WholeRows:
    """Training rows and their weights as integers, and what these are multiples of."""

    rows: Iterable[tuple[list[int], int]]
    width: int
    length: int  # bits of the longest integer
    total: int  # of the weights
    power: int  # features are these integers over it
    fine: int  # weights are integers over it


class Ridge:
    """Minimise Σ s_i (y_i - b - x_i·c)² + alpha ‖c‖²; with alpha 0 the least ‖c‖ of all minima.

    The minimum has c = Rᵀv for rows R that span the centred training rows X. For v it is an
    ordinary problem, v = (DᵀSD + alpha RRᵀ)⁻¹ DᵀS y with D = XRᵀ, and never a singular one.
    """

    def __init__(
        self,
        train: Matrix,
        model: Any,
        weights: "array[float]",
        tests: Matrix | None,
        room: Room,
        track: Track,
    ) -> None:
        numbers = (train.numbers, tests.numbers if tests is not None else ())
        power, fine = common_power(chain.from_iterable(numbers)), common_power(weights)
        length = bits_of_doubles(chain.from_iterable(numbers), power)
        total = sum(whole([weight], fine)[0] for weight in weights)
        rows = (
            (whole(row, power), whole([weight], fine)[0])
            for row, weight in zip(train, weights, strict=True)
        )
        found = _WholeRows(rows, train.width, length, total, power, fine)
        self._fit(found, model, room, track)

    @classmethod
    def of_integers(cls, matrix: Integers, room: Room, track: Track) -> "Ridge":
        """Return least squares without an intercept for training rows that are integers."""
        made = cls.__new__(cls)
        length, model = bits(chain.from_iterable(matrix)), {"alpha": 0, "intercept": False}
        rows = ((row, 1) for row in matrix)
        found = _WholeRows(rows, len(matrix[0]), length, len(matrix), power=1, fine=1)
        made._fit(found, model, room, track)
        return made

    def _fit(self, given: "_WholeRows", model: Any, room: Room, track: Track) -> None:
        """Solve for rows and weights that are whole."""
        self._power, self._room, self._width = given.power, room, given.width
        self._intercept = model["intercept"]
        self._total = given.total if self._intercept else 1
        self._unit = self._total * given.power  # the number 1 in the scale of centred rows
        self._length = given.length + self._total.bit_length() + 1
        centred, load = self._distinct(given.rows)
        alpha, self._below = model["alpha"].as_integer_ratio()
        self._span = self._basis(centred, regular=alpha > 0)
        self._rows = self._along_all(centred)
        self._length = bits(chain.from_iterable(self._rows))
        size = given.width if self._span is None else len(self._span)
        penalty = alpha * self._unit**2 * given.fine
        longest = max(penalty.bit_length(), self._below.bit_length()) + 2 * self._length
        room.take(size * size, longest + bits(load))
        self._inverse, self._denominator = inverse(self._normal(load, penalty, track), room, track)
        self._length += bits(chain.from_iterable(self._inverse)) + bits(self._weight)

    def _distinct(self, rows: Iterable[tuple[list[int], int]]) -> tuple[Integers, list[int]]:
        """Return the distinct rows: their centred features, and the total weight of equal rows."""
        places: dict[tuple[tuple[int, ...], int], int] = {}
        self.place = array("Q")
        for row, weight in rows:
            key = (tuple(row), weight)
            if key not in places:
                self._room.take(self._width + 8, self._length)
                places[key] = len(places)
            self.place.append(places[key])
        self._weight = [weight for _, weight in places]
        members = Counter(self.place)
        load = [weight * members[at] for at, weight in enumerate(self._weight)]
        kinds: list[Any] = [row for row, _ in places]
        del places
        self._mean = [0] * self._width
        if self._intercept:
            for row, weight in zip(kinds, load, strict=True):
                for j, number in enumerate(row):
                    self._mean[j] += number * weight
        for at, row in enumerate(kinds):  # one after the other: no second copy of them all
            kinds[at] = self._centre(row)
        return kinds, load

    def _normal(self, load: list[int], penalty: int, track: Track) -> Integers:
        """Return DᵀSD + alpha RRᵀ, scaled to integers."""
        columns = list(zip(*self._rows, strict=True))
        span = self._span
        made = []
        for i, column in track(enumerate(columns), "setting up equations", len(columns)):
            loaded = list(map(mul, column, load))
            made.append([self._below * dot(loaded, other) for other in columns])
            for j in range(len(columns)):
                made[i][j] += penalty * (int(i == j) if span is None else dot(span[i], span[j]))
        return made

    def _centre(self, row: Sequence[int]) -> list[int]:
        """Return a row minus the mean, in the scale of centred rows."""
        return [self._total * x - mean for x, mean in zip(row, self._mean, strict=True)]

    def _basis(self, centred: Integers, *, regular: bool) -> Integers | None:
        """Return the rows R; None for unit vectors, enough where nothing is singular or wide."""
        if regular and self._width <= len(centred):
            return None
        used = (row for row, weight in zip(centred, self._weight, strict=True) if weight)
        found = independent_rows(used, self._room)
        return found if len(found) < self._width else None

    def _along(self, row: list[int]) -> list[int]:
        """Return Rx for one row x."""
        return row if self._span is None else [dot(each, row) for each in self._span]

    def _along_all(self, centred: Integers) -> Integers:
        """Return Rx for all rows x."""
        if self._span is not None:
            longest = bits(chain.from_iterable(self._span)) + bits(chain.from_iterable(centred))
            self._room.take(len(centred) * len(self._span), longest + self._width.bit_length())
        return [self._along(row) for row in centred]

    def row(self, features: Sequence[float]) -> Influence:
        """Return the influence on the score of a test row."""
        return self._influence(self._centre(whole(features, self._power)), self._intercept)

    def coefficient(self, at: int) -> Influence:
        """Return the influence on a coefficient."""
        return self._influence([self._unit * (j == at) for j in range(self._width)], False)

    def contrast(
        self, features: Sequence[int], weights: Sequence[float], intercept: bool = False
    ) -> Influence:
        """Return the influence on a sum of coefficients, each times a weight."""
        power = common_power(weights)
        slope = [-power * mean if intercept else 0 for mean in self._mean]
        for at, weight in zip(features, whole(weights, power), strict=True):
            slope[at] += self._unit * weight
        numerators, denominator = self._influence(slope, intercept, power)
        return numerators, denominator * power

    def _influence(self, centred: list[int], mean: bool, times: int = 1) -> Influence:
        """Return the influence on a slope along `centred`, and on the mean prediction if `mean`.

        The mean counts so many `times`.
        """
        base, total = (times * self._denominator, self._total) if mean else (0, 1)
        along = [total * self._below * x for x in self._along(centred)]
        self._room.check(len(self._rows), self._length + bits(along))
        slope = [dot(row, along) for row in self._inverse]
        parts = zip(self._weight, self._rows, strict=True)
        numerators = [weight and weight * (base + dot(row, slope)) for weight, row in parts]
        return numerators, total * self._denominator


class KernelRidge:
    """Score k·(K + alpha S⁻¹)⁻¹ y over rows of positive weight, K and k the kernel's numbers.

    Where alpha is 0 and K singular, the pseudo-inverse: z is then the least-norm least-squares
    solution of Kᵀz = k, whose coefficients a `Ridge` of its own gives. Parameters and attributes
    are those of `Ridge`; every training row is a kind of its own.
    """

    def __init__(
        self,
        train: Matrix,
        model: Any,
        weights: "array[float]",
        tests: Matrix,
        room: Room,
        track: Track,
    ) -> None:
        numbers = (train.numbers, tests.numbers)
        self._power, fine = common_power(chain.from_iterable(numbers)), common_power(weights)
        self._room, self.place = room, array("Q", range(len(train)))
        used = self._used = [i for i in self.place if weights[i]]
        alpha, below = model["alpha"].as_integer_ratio()
        penalty = alpha * self._power * fine
        # z solves (K + alpha S⁻¹)ᵀ z = k. Times S, which makes it whole.
        self._scale = [below * weight for weight in whole(weights, fine)]
        self._length = bits_of_doubles(chain.from_iterable(numbers), self._power)
        self._length += bits(self._scale)
        room.take(2 * len(train) ** 2, self._length)
        kernel = [whole(row, self._power) for row in train]
        matrix = [[self._scale[i] * kernel[j][i] + penalty * (i == j) for j in used] for i in used]
        try:
            found = inverse(matrix, room, track)
        except SingularError:
            if alpha or len({weights[i] for i in used}) > 1:
                raise
            fit = Ridge.of_integers(matrix, room, track)
            parts = [fit.coefficient(j) for j in range(len(used))]
            found = [[z[at] for at in fit.place] for z, _ in parts], parts[0][1]
        self._inverse, self._denominator = found
        self._length += bits(chain.from_iterable(self._inverse))

    def row(self, kernel: Sequence[float]) -> Influence:
        """Return the influence on the score of a test row."""
        self._room.check(len(kernel), self._length)
        numbers = whole(kernel, self._power)
        right, influence = [self._scale[i] * numbers[i] for i in self._used], [0] * len(numbers)
        for i, row in zip(self._used, self._inverse, strict=True):
            influence[i] = dot(row, right)
        return influence, self._denominator


class Smoother:
    """The score is z·y for test rows z; parameters and attributes are those of `Ridge`."""

    def __init__(
        self,
        train: None,
        model: Any,
        weights: "array[float]",
        tests: Matrix,
        room: Room,
        track: Track,
    ) -> None:
        self.place = array("Q", range(len(weights)))
        self._power, self._room = common_power(tests.numbers), room
        self._length = bits_of_doubles(tests.numbers, self._power)

    def row(self, influence: Sequence[float]) -> Influence:
        """Return the influence on the score of a test row."""
        self._room.check(len(influence), self._length)
        return whole(influence, self._power), self._power


MODELS: dict[str, Any] = {"ridge": Ridge, "kernel-ridge": KernelRidge, "smoother": Smoother}
