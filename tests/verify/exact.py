"""Slow and plainly right, in fractions: what certificates must say, without the package."""

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np


def fractions(matrix):
    return [[Fraction(float(number)) for number in row] for row in matrix]


def transposed(a):
    return [list(column) for column in zip(*a, strict=True)]


def multiplied(a, b):
    return [[sum(x * y for x, y in zip(row, column, strict=True)) for column in transposed(b)]
            for row in a]  # fmt: skip


def reduced(a):
    """Row echelon form with ones, and the columns that hold them."""
    a, pivots = [list(row) for row in a], []
    for column in range(len(a[0]) if a else 0):
        at = next((i for i in range(len(pivots), len(a)) if a[i][column]), None)
        if at is None:
            continue
        k = len(pivots)
        a[k], a[at] = a[at], a[k]
        a[k] = [x / a[k][column] for x in a[k]]
        for i in range(len(a)):
            if i != k:
                a[i] = [x - a[i][column] * y for x, y in zip(a[i], a[k], strict=True)]
        pivots.append(column)
    return a, pivots


def inverted(a):
    n = len(a)
    done, _ = reduced([[*row, *(Fraction(i == j) for j in range(n))] for i, row in enumerate(a)])
    return [row[n:] for row in done]


def pseudo_inverse(a):
    """By full-rank factors: A = CF, A⁺ = Fᵀ(FFᵀ)⁻¹(CᵀC)⁻¹Cᵀ."""
    echelon, pivots = reduced(a)
    if not pivots:
        return [[Fraction(0)] * len(a) for _ in a[0]]
    f = echelon[: len(pivots)]
    c = [[row[j] for j in pivots] for row in a]
    right = multiplied(inverted(multiplied(transposed(c), c)), transposed(c))
    return multiplied(transposed(f), multiplied(inverted(multiplied(f, transposed(f))), right))


def ridge_influence(X, tests, alpha, intercept, weights):
    """Influence rows of test rows (None: of the coefficients), by the normal equations."""
    X, weights = fractions(X), [Fraction(float(weight)) for weight in weights]
    width, total = len(X[0]), sum(weights)
    mean = [Fraction(0)] * width
    if intercept:
        mean = [sum(w * x for w, x in zip(weights, column, strict=True)) / total
                for column in transposed(X)]  # fmt: skip
    centred = [[x - m for x, m in zip(row, mean, strict=True)] for row in X]
    weighted = [[w * x for x in row] for w, row in zip(weights, centred, strict=True)]
    normal = multiplied(transposed(centred), weighted)
    for j in range(width):
        normal[j][j] += Fraction(float(alpha))
    slope = multiplied(pseudo_inverse(normal), transposed(weighted))
    if tests is None:
        return slope
    constant = [w / total if intercept else Fraction(0) for w in weights]
    rows = [[x - m for x, m in zip(row, mean, strict=True)] for row in fractions(tests)]
    return [[z + c for z, c in zip(row, constant, strict=True)] for row in multiplied(rows, slope)]


def contrasted(influence, contrasts, intercept):
    """Influence rows of sums of coefficients, from those of coefficients and intercept."""
    return [
        [
            sum(
                Fraction(float(weight)) * influence[feature][label]
                for feature, weight in zip(each["features"], each["weights"], strict=True)
            )
            + (intercept[label] if each.get("intercept") else 0)
            for label in range(len(intercept))
        ]
        for each in contrasts
    ]


def kernel_influence(K, tests, alpha, weights):
    K, used = fractions(K), [i for i, weight in enumerate(weights) if weight]
    a = [[K[i][j] + (Fraction(float(alpha)) / Fraction(float(weights[i])) if i == j else 0)
          for j in used] for i in used]  # fmt: skip
    solver, found = pseudo_inverse(a), []
    for row in fractions(tests):
        short = multiplied([[row[i] for i in used]], solver)[0]
        z = [Fraction(0)] * len(K)
        for i, value in zip(used, short, strict=True):
            z[i] = value
        found.append(z)
    return found


def overturned(rule, score, moved):
    if rule["task"] == "regression":
        return abs(moved - score) > Fraction(rule["radius"])
    if rule["task"] == "classification":
        mark = Fraction(rule["threshold"])
        return (score > mark) != (moved > mark)
    return np.sign(score) != np.sign(moved)


def decision(rule, score):
    if rule["task"] == "classification":
        return int(score > Fraction(rule["threshold"]))
    return int(score > 0) - int(score < 0)


def truth(z, labels, lower, upper, budget, rule):
    """Score, lowest, highest, and the fewest labels that overturn it, from sorted sums."""
    labels, lower, upper = ([Fraction(float(x)) for x in part] for part in (labels, lower, upper))
    score = sum(a * b for a, b in zip(z, labels, strict=True))
    pairs = list(zip(z, lower, upper, strict=True))
    rises = sorted((max(a * lo, a * up) for a, lo, up in pairs), reverse=True)
    falls = sorted((max(-a * lo, -a * up) for a, lo, up in pairs), reverse=True)
    least = next(
        (k for k in range(1, len(z) + 1)
         if overturned(rule, score, score + sum(rises[:k]))
         or overturned(rule, score, score - sum(falls[:k]))),
        math.inf,
    )  # fmt: skip
    return score, score - sum(falls[:budget]), score + sum(rises[:budget]), least


def enumerated(z, labels, lower, upper, budget, rule):
    """The same by trying every set of labels and both ends of every interval."""
    labels, lower, upper = ([Fraction(float(x)) for x in part] for part in (labels, lower, upper))
    score = sum(a * b for a, b in zip(z, labels, strict=True))
    reached, least = {score}, math.inf
    for size in range(len(z) + 1):
        for rows in combinations(range(len(z)), size):
            for ends in product((lower, upper), repeat=size):
                steps = (z[i] * end[i] for i, end in zip(rows, ends, strict=True))
                moved = score + sum(steps)
                if size <= budget:
                    reached.add(moved)
                if overturned(rule, score, moved):
                    least = min(least, size)
    return score, min(reached), max(reached), least


def below(value):
    """Largest double that is not above a fraction."""
    near = float(value)
    return near if Fraction(near) <= value else math.nextafter(near, -math.inf)


def above(value):
    return -below(-value)
