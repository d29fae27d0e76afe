"""How much each label counts in a score: the mathematics, in integers of any size.

A score is linear in the labels, s = z·y. Doubles are integers over powers of two, so z is found
as integers over one common denominator, without any rounding.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from math import gcd
from operator import mul
from typing import Any

from unswayed.verify.document import CertificateError

Matrix = list[list[int]]
Rows = Sequence[Sequence[float]]
Influence = tuple[list[int], int]  # one numerator per place, and the positive denominator
Track = Callable[[Iterable[Any], str, int], Iterable[Any]]  # steps, what they do, how many


def common_power(values: Iterable[float]) -> int:
    """Least power of two that makes these doubles whole when multiplied by it."""
    return max((value.as_integer_ratio()[1] for value in values), default=1)


def whole(values: Iterable[float], power: int) -> list[int]:
    """Doubles times that power."""
    return [above * (power // below) for above, below in (v.as_integer_ratio() for v in values)]


def dot(a: Iterable[int], b: Iterable[int]) -> int:
    """Sum of products."""
    return sum(map(mul, a, b))


def inverse(matrix: Matrix, track: Track) -> tuple[Matrix, int]:
    """Return B and d > 0 with B / d the inverse, by Bareiss' elimination."""
    size, last = len(matrix), 1
    rows = [[*row, *(int(i == j) for j in range(size))] for i, row in enumerate(matrix)]
    for k in track(range(size), "inverting", size):
        at = next((i for i in range(k, size) if rows[i][k]), None)
        if at is None:
            raise CertificateError("the equations of its model are singular")
        rows[k], rows[at] = rows[at], rows[k]
        top, pivot = rows[k], rows[k][k]
        for i, row in enumerate(rows):
            if i != k:  # the divisions are exact: all these numbers are minors of the matrix
                rows[i] = [(pivot * a - row[k] * b) // last for a, b in zip(row, top, strict=True)]
        last = pivot
    shared = gcd(last, *chain(*(row[size:] for row in rows))) * (1 if last > 0 else -1)
    return [[number // shared for number in row[size:]] for row in rows], last // shared


def independent_rows(rows: Iterable[list[int]]) -> Matrix:
    """Rows of which none is a combination of the others, but all other rows are."""
    found: list[tuple[int, list[int], list[int]]] = []  # a place, 0 in later rests; rest; row
    for row in rows:
        rest = row
        for lead, other, _ in found:
            if rest[lead]:
                rest = [other[lead] * a - rest[lead] * b for a, b in zip(rest, other, strict=True)]
        if shared := gcd(*rest):
            lead = next(j for j, number in enumerate(rest) if number)
            found.append((lead, [number // shared for number in rest], row))
        if len(found) == len(row):
            break
    return [row for *_, row in found]


class Ridge:
    """Minimise Σ s_i (y_i - b - x_i·c)² + alpha ‖c‖²; with alpha 0 the least ‖c‖ of all minima.

    The minimum has c = Rᵀv for rows R that span the centred training rows X. For v it is an
    ordinary problem, v = (DᵀSD + alpha RRᵀ)⁻¹ DᵀS y with D = XRᵀ, and never a singular one.
    """

    def __init__(self, train: Rows, model: Any, weights: list[float], tests: Rows, track: Track):
        self._power, fine = common_power(chain(*train, *tests)), common_power(weights)
        places: dict[tuple[tuple[int, ...], int], int] = {}  # equal rows of equal weight
        keys = zip((tuple(whole(x, self._power)) for x in train), whole(weights, fine), strict=True)
        self.place = [places.setdefault(key, len(places)) for key in keys]
        self._weight, members = [weight for _, weight in places], Counter(self.place)
        load = [weight * members[at] for at, weight in enumerate(self._weight)]
        self._intercept, self._total, self._mean = model["intercept"], 1, [0] * len(train[0])
        if self._intercept:
            self._total = sum(load)
            self._mean = [dot(x, load) for x in zip(*(row for row, _ in places), strict=True)]
        self._unit = self._total * self._power  # the number 1 in the scale of centred rows
        centred = [self._centre(row) for row, _ in places]
        alpha, self._below = model["alpha"].as_integer_ratio()
        self._span = self._basis(centred, regular=alpha > 0)
        self._rows = [self._along(row) for row in centred]
        columns = list(zip(zip(*self._rows, strict=True), self._span, strict=True))
        penalty = alpha * self._unit**2 * fine
        normal = [
            [self._below * dot(map(mul, a, load), b) + penalty * dot(r, q) for b, q in columns]
            for a, r in columns
        ]
        self._inverse, self._denominator = inverse(normal, track)

    def _centre(self, row: Sequence[int]) -> list[int]:
        return [self._total * x - mean for x, mean in zip(row, self._mean, strict=True)]

    def _basis(self, centred: Matrix, *, regular: bool) -> Matrix:
        """Rows R: unit vectors, unless the problem would be singular or larger than it must be."""
        width = len(self._mean)
        if not regular or width > len(centred):
            used = (row for row, weight in zip(centred, self._weight, strict=True) if weight)
            found = independent_rows(used)
            if len(found) < width:
                return found
        return [[int(i == j) for j in range(width)] for i in range(width)]

    def _along(self, row: list[int]) -> list[int]:
        return [dot(each, row) for each in self._span]

    def row(self, features: Sequence[float]) -> Influence:
        """Influence of each place on the score of a test row."""
        return self._influence(self._centre(whole(features, self._power)), self._intercept)

    def coefficient(self, at: int) -> Influence:
        """Influence of each place on a coefficient."""
        return self._influence([self._unit * (j == at) for j in range(len(self._mean))], False)

    def _influence(self, centred: list[int], mean: bool) -> Influence:
        base, total = (self._denominator, self._total) if mean else (0, 1)
        along = [total * self._below * x for x in self._along(centred)]
        slope = [dot(row, along) for row in self._inverse]
        parts = zip(self._weight, self._rows, strict=True)
        numerators = [weight and weight * (base + dot(row, slope)) for weight, row in parts]
        return numerators, total * self._denominator


class KernelRidge:
    """Score k·(K + alpha S⁻¹)⁻¹ y over rows of positive weight, K and k the kernel's numbers.

    Where alpha is 0 and K singular, the pseudo-inverse: z is then the least-norm least-squares
    solution of Kᵀz = k, whose coefficients a `Ridge` of its own gives.
    """

    def __init__(self, train: Rows, model: Any, weights: list[float], tests: Rows, track: Track):
        self._power, fine = common_power(chain(*train, *tests)), common_power(weights)
        self.place = list(range(len(train)))
        used = self._used = [i for i in self.place if weights[i]]
        alpha, below = model["alpha"].as_integer_ratio()
        penalty, kernel = alpha * self._power * fine, [whole(row, self._power) for row in train]
        # z solves (K + alpha S⁻¹)ᵀ z = k. Times S, which makes it whole.
        self._scale = [below * weight for weight in whole(weights, fine)]
        matrix = [[self._scale[i] * kernel[j][i] + penalty * (i == j) for j in used] for i in used]
        try:
            found = inverse(matrix, track)
        except CertificateError:
            if alpha or len({weights[i] for i in used}) > 1:
                raise
            fit = Ridge(matrix, {"alpha": 0, "intercept": False}, [1] * len(matrix), [], track)
            parts = [fit.coefficient(j) for j in range(len(used))]
            found = [[z[at] for at in fit.place] for z, _ in parts], parts[0][1]
        self._inverse, self._denominator = found

    def row(self, kernel: Sequence[float]) -> Influence:
        """Influence of each training row on the score of a test row."""
        numbers = whole(kernel, self._power)
        right, influence = [self._scale[i] * numbers[i] for i in self._used], [0] * len(numbers)
        for i, row in zip(self._used, self._inverse, strict=True):
            influence[i] = dot(row, right)
        return influence, self._denominator


class Smoother:
    """The score is z·y for test rows z."""

    def __init__(self, train: Rows, model: Any, weights: list[float], tests: Rows, track: Track):
        self.place, self._power = list(range(len(weights))), common_power(chain(*tests))

    def row(self, influence: Sequence[float]) -> Influence:
        """Influence of each training row on the score of a test row."""
        return whole(influence, self._power), self._power


MODELS: dict[str, Any] = {"ridge": Ridge, "kernel-ridge": KernelRidge, "smoother": Smoother}
