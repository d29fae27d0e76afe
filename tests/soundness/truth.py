"""What is true of a model, in fractions and by the book: slow, plain, and nobody's code but ours.

Nothing here uses the package or its arithmetic: labels' influence comes from the full normal
equations (no centring, the intercept is one more unknown) by fraction-free elimination.
"""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

ZERO = Fraction(0)


def fractions(values):
    return [Fraction(value) for value in values]


def table(matrix):
    return [fractions(row) for row in matrix]


def product(left, right):
    columns = list(zip(*right, strict=True))
    return [[dot(row, column) for column in columns] for row in left]


def dot(left, right):
    return sum((a * b for a, b in zip(left, right, strict=True) if a and b), ZERO)


def _whole(row):
    """Whole numbers, and the one that they have to be divided by to be the row."""
    factor = math.lcm(*(value.denominator for value in row))
    return [value.numerator * (factor // value.denominator) for value in row], factor


def solve(matrix, right):
    """Solutions of matrix · x = right, one per column of `right`, and the rank of the matrix.

    Unknowns that are left free are 0.
    """
    width = len(matrix[0])
    rows = [_whole([*left, *ends])[0] for left, ends in zip(matrix, right, strict=True)]
    pivots, last = [], 1
    for column in range(width):
        at = len(pivots)
        found = next((i for i in range(at, len(rows)) if rows[i][column]), None)
        if found is None:
            continue
        rows[at], rows[found] = rows[found], rows[at]
        top = rows[at]
        head = top[column]
        for i, row in enumerate(rows):
            if i != at:
                lead = row[column]
                rows[i] = [(head * a - lead * b) // last for a, b in zip(row, top, strict=True)]
        pivots.append(column)
        last = head
    solution = [[ZERO] * len(right[0]) for _ in range(width)]
    if any(any(row[width:]) for row in rows[len(pivots) :]):
        return None, len(pivots)
    for at, column in enumerate(pivots):
        solution[column] = [Fraction(end, rows[at][column]) for end in rows[at][width:]]
    return solution, len(pivots)


def least_solution(normal, right, sizes):
    """Of all solutions of normal · x = right the one of least Σ size·x²."""
    width = len(normal)
    plain, rank = solve(normal, right)
    if rank == width:
        return plain
    # Not unique: the least one is Σ multiplier·equation, divided by the sizes.
    system = [[*row, *[ZERO] * width] for row in normal]
    for j, size in enumerate(sizes):
        unit = [size if i == j else ZERO for i in range(width)]
        system.append([*unit, *(-row[j] for row in normal)])
    ends = [*right, *([ZERO] * len(right[0]) for _ in range(width))]
    found, _ = solve(system, ends)
    return found[:width]


def ridge_map(X, alpha, fit_intercept, weight):
    """The intercept (0 without one) and the coefficients as combinations of the labels."""
    rows = [[Fraction(int(fit_intercept)), *fractions(row)] for row in X]
    n_rows, size = len(rows), len(rows[0])
    weighted = [[s * a for a in row] for s, row in zip(weight, rows, strict=True)]
    normal = product(list(zip(*weighted, strict=True)), rows)
    if not fit_intercept:  # an equation 0 = 0: say that the intercept is 0
        normal[0][0] = Fraction(1)
    for j in range(1, size):
        normal[j][j] += Fraction(alpha)
    right = [[weighted[i][j] for i in range(n_rows)] for j in range(size)]
    return least_solution(normal, right, [ZERO, *[Fraction(1)] * (size - 1)])


def kernel_map(K, alpha, weight):
    """Dual coefficients as combinations of the labels: √S (√S K √S + alpha I)⁺ √S."""
    kept = [i for i, s in enumerate(weight) if s]
    q = [[Fraction(K[i][j]) for j in kept] for i in kept]
    for at, i in enumerate(kept):
        q[at][at] += Fraction(alpha) / weight[i]
    identity = [[Fraction(int(i == j)) for j in kept] for i in kept]
    found, rank = solve(q, identity)
    if rank < len(kept):
        weighted = [[weight[i] * a for a in q[at]] for at, i in enumerate(kept)]
        turned = [list(column) for column in zip(*weighted, strict=True)]
        found = least_solution(product(turned, q), turned, [1 / weight[i] for i in kept])
    full = [[ZERO] * len(weight) for _ in weight]
    for at, i in enumerate(kept):
        for other, j in enumerate(kept):
            full[i][j] = found[at][other]
    return full


def stays(question, before, after):
    """Whether a score of `after` is the same prediction as one of `before`."""
    kind, value = question
    if kind == "threshold":
        return (after > Fraction(value)) == (before > Fraction(value))
    if kind == "radius":
        return abs(after - before) <= Fraction(value)
    assert kind == "sign"
    return after == before if before == 0 else after * before > 0


@dataclass(frozen=True)
class TrueRow:
    """One score and what labels do to it; z, labels and offsets are lists of fractions."""

    z: list
    labels: list
    lower: list
    upper: list
    question: tuple

    @cached_property
    def score(self):
        return dot(self.z, self.labels)

    @cached_property
    def _sums(self):
        """Sums of the 0, 1, 2, … largest rises, and of the falls."""
        whole_z, of_z = _whole(self.z)
        offsets, of_offsets = _whole([*self.lower, *self.upper])
        pairs = list(zip(offsets[: len(self.z)], offsets[len(self.z) :], strict=True))
        sums = []
        for sign in (1, -1):
            gains = [
                sign * z * (high if sign * z > 0 else low)
                for z, (low, high) in zip(whole_z, pairs, strict=True)
            ]
            totals = itertools.accumulate(sorted(gains, reverse=True), initial=0)
            sums.append([Fraction(total, of_z * of_offsets) for total in totals])
        return sums

    def reach(self, budget):
        up, down = self._sums
        return up[min(budget, len(up) - 1)], down[min(budget, len(down) - 1)]

    def overturned(self, budget):
        up, down = self.reach(budget)
        score = self.score
        return not (
            stays(self.question, score, score + up) and stays(self.question, score, score - down)
        )

    @cached_property
    def minimum_budget(self):
        n_labels = len(self.z)
        return next((k for k in range(n_labels + 1) if self.overturned(k)), math.inf)

    def overturned_by(self, rows, offsets):
        """Whether adding these offsets to the labels of these rows changes the prediction."""
        moved = sum((self.z[i] * Fraction(o) for i, o in zip(rows, offsets, strict=True)), ZERO)
        return not stays(self.question, self.score, self.score + moved)
