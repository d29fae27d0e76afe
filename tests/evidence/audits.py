"""Label audits by their definition, in rational arithmetic, and audits whose truth is known."""

from fractions import Fraction

import numpy as np
from sklearn.linear_model import Ridge

from unswayed import CertifiedClassifier, CertifiedRegressor, LabelBias

FRACTIONS = tuple(map(Fraction, (0.1, 0.25, 0.5, 0.75, 0.95)))


def influence(X, tests, alpha):
    """The influence of every label on every score of a ridge model without an intercept."""
    X = [[Fraction(float(cell)) for cell in row] for row in X]
    width = range(len(X[0]))
    gram = [
        [sum(row[i] * row[j] for row in X) + (i == j) * Fraction(alpha) for j in width]
        for i in width
    ]
    found = []
    for test in tests:
        w = solve([row[:] for row in gram], [Fraction(float(cell)) for cell in test])
        found.append([sum(a * b for a, b in zip(row, w, strict=True)) for row in X])
    return found


def solve(matrix, right):
    size = len(right)
    for at in range(size):
        pivot = next(row for row in range(at, size) if matrix[row][at])
        matrix[at], matrix[pivot] = matrix[pivot], matrix[at]
        right[at], right[pivot] = right[pivot], right[at]
        for row in range(size):
            if row != at:
                factor = matrix[row][at] / matrix[at][at]
                matrix[row] = [a - factor * b for a, b in zip(matrix[row], matrix[at], strict=True)]
                right[row] -= factor * right[at]
    return [right[at] / matrix[at][at] for at in range(size)]


def e_value(z, margin, lower, upper, batches, added):
    """The e-value of the claim that true labels move a score by at most `margin` upwards.

    `batches` are (chances of all labels, labels drawn, a bound on rise over chance, which is
    checked), `added` the true labels less the given.
    """
    rise = [
        max(each * Fraction(a), each * Fraction(b), 0)
        for each, a, b in zip(z, lower, upper, strict=True)
    ]
    if sum(rise) <= margin:
        return np.inf
    capital = [Fraction(1)] * len(FRACTIONS)
    drawn = set()
    for chances, labels, bound in batches:
        left = {i: Fraction(int(c)) for i, c in enumerate(chances) if c}
        assert not drawn & set(left)
        if any(rise[i] and i not in left for i in range(len(z)) if i not in drawn):
            assert bound == np.inf
        else:
            assert bound >= max((rise[i] / left[i] for i in left), default=0)
        drawn |= set(labels)
        for i in labels:
            total = sum(left.values())
            moved = z[i] * Fraction(added[i])
            if bound < np.inf and margin > 0:
                most = Fraction(float(bound)) * total
                if most <= margin:
                    return np.inf
                estimate = moved * total / left[i]
                capital = [
                    c * (1 + f / (most - margin) * (margin - estimate))
                    for c, f in zip(capital, FRACTIONS, strict=True)
                ]
            margin -= moved
            del left[i]
            if bound < np.inf and Fraction(float(bound)) * sum(left.values()) <= margin:
                return np.inf
    return sum(capital) / len(capital)


# --- audits whose true labels overturn rows ------------------------------------------------


def overturned(seed, *, kind, placed, n=60, rows=1, width=3, most=20):
    """A model, rows, and true labels that take at least one row just across its margin.

    `placed`: which labels are wrong, those with the "most" effect on the first row, the "least",
    or "any". Its true answer lies at the margin itself, as closely as doubles can.
    """
    rng = np.random.default_rng(seed)
    X = rng.choice([0.0, 1.0, 2.0], (n, width))
    tests = rng.choice([0.0, 1.0, 2.0], (rows, width)) + np.eye(rows, width)
    if kind == "regression":
        y = X.sum(axis=1) + rng.normal(size=n)
        bias, lower, upper = LabelBias.shifts(1.0, budget=1), -np.ones(n), np.ones(n)
    else:
        y = (X.sum(axis=1) + rng.normal(size=n) > width).astype(float)
        bias, lower, upper = LabelBias.flips(budget=1), -y, 1.0 - y
    z = tests @ np.linalg.solve(X.T @ X + np.eye(width), X.T)
    scores = z @ y
    way = rng.choice([-1.0, 1.0])
    rise = np.maximum(way * z[0] * lower, way * z[0] * upper)
    order = {"most": np.argsort(-rise), "least": np.argsort(rise), "any": rng.permutation(n)}[
        placed
    ]
    wrong = order[: rng.integers(3, most)]
    added = np.zeros(n)
    added[wrong] = np.where(way * z[0] > 0, upper, lower)[wrong]
    moved = z @ added
    if kind == "regression":
        # Down by so little that sums in another order do not come to lie within it.
        radius = float(abs(moved[0]) * (1 - 1e-12))
        model = CertifiedRegressor(Ridge(1.0, fit_intercept=False), bias=bias, radius=radius).fit(
            X, y
        )
        false = np.abs(moved) > radius
    else:
        threshold = float(scores[0] + moved[0] * (1 - 1e-12))
        model = CertifiedClassifier(
            Ridge(1.0, fit_intercept=False), bias=bias, threshold=threshold
        ).fit(X, y)
        false = (scores > threshold) != (scores + moved > threshold)
    return model, tests, y, y + added, false


def falsely(problem, *, together, seed, batch, risk=0.05):
    """How false the first thing is that an audit confirms, in the sense of `together`.

    It stops as early as possible: "each" when the first row, which is overturned, is confirmed,
    others when anything is.
    """
    model, tests, _, truth, false = problem
    audit = model.label_audit(tests, risk=risk, together=together, seed=seed)
    watched = np.arange(len(tests)) == 0 if together == "each" else np.ones(len(tests), dtype=bool)
    while len(drawn := audit.draw(batch, aim=1.0 if together == "each" else None)):
        for row in drawn.tolist():
            audit.record([row], [truth[row]])
            if (audit.confirmed & watched).any():
                found = audit.confirmed & watched
                return float(
                    (found & false).any()
                    if together != "discoveries"
                    else (found & false).sum() / found.sum()
                )
    return 0.0


PROBLEMS = {
    "one row": [("classes", 1, "each")],
    "a list": [("classes", 6, each) for each in ("each", "all", "discoveries")],
    "regression": [("regression", 6, each) for each in ("each", "all", "discoveries")],
}


def simulated(kind, rows, together, audits):
    """How false the first confirmations of many audits are, one number each."""
    return [
        falsely(
            overturned(seed, kind=kind, rows=rows, placed=("most", "least", "any")[seed % 3]),
            together=together,
            seed=seed,
            batch=60 if seed % 2 else 5,
        )
        for seed in range(audits)
    ]
