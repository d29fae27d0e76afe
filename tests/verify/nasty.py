"""Small nasty problems, and the floating-point stage against exact integers on them.

``python -m tests.verify.nasty 5000`` compares on 5,000 of them; a second number is the first seed.
"""

import math
import sys
from array import array
from collections import Counter
from fractions import Fraction

import numpy as np

from unswayed.verify.data import Data
from unswayed.verify.exact import ExactModel
from unswayed.verify.floating import FloatingModel, UnprovenError
from unswayed.verify.judging import Moves
from unswayed.verify.limits import CertificateError
from unswayed.verify.matrix import Matrix
from unswayed.verify.question import Bias

CELLS = ("whole", "gaussian", "categories", "duplicates", "dependent", "nearly dependent", "means",
         "scales", "far apart", "subnormal", "zeros", "Hilbert")  # fmt: skip


def cells(rng, kind, n_rows, width):
    """Features: ties, equal rows, dependent columns, and sizes from everywhere."""
    rows = rng.normal(size=(n_rows, width))
    if kind == "whole":
        return np.round(rows)
    if kind == "categories":
        choice = rng.integers(0, max(1, (width + 1) // 2), (n_rows, 2))
        half = np.arange(width) // 2
        return (choice[:, np.arange(width) % 2] == half).astype(float)
    if kind == "duplicates":
        return rows[rng.integers(0, max(1, n_rows // 3), n_rows)]
    if kind in ("dependent", "nearly dependent"):
        rows = np.round(rows * 4)
        rows[:, -1] = rows[:, 0] * 3 - (rows[:, 1] if width > 2 else 0)
        return rows + (rng.normal(size=rows.shape) * 1e-13 if kind == "nearly dependent" else 0)
    if kind == "means":
        return rows + 10.0 ** rng.integers(0, 9, width)
    if kind == "scales":
        return rows * 10.0 ** rng.integers(-150, 151, width)
    if kind == "far apart":
        return rows * 10.0 ** rng.integers(-140, 141, (n_rows, width))
    if kind == "subnormal":
        return np.round(rows * 3) * 5e-324 * 10.0 ** rng.integers(0, 8, width)
    if kind == "zeros":
        return rows * (rng.random((n_rows, width)) < 0.3)
    if kind == "Hilbert":
        return 1.0 / (np.arange(n_rows)[:, None] + np.arange(width) + 1.0)
    return rows


def pick(rng, *choices):
    return choices[int(rng.integers(len(choices)))]


def problem(seed):
    """A document without claims, its data and its bias."""
    rng = np.random.default_rng(seed)
    n_rows, width, n_tests = int(rng.integers(1, 14)), int(rng.integers(1, 6)), 3
    kind = pick(rng, "ridge", "ridge", "ridge", "kernel-ridge", "smoother")
    shape = CELLS[int(rng.integers(len(CELLS)))]
    task = pick(rng, "classification", "regression", "balanced")
    if kind == "ridge" and rng.random() < 0.25:
        task = pick(rng, "coefficients", "contrasts")
    width = width if kind == "ridge" else n_rows
    both = cells(rng, shape, n_rows + n_tests, width)
    if kind == "kernel-ridge" and rng.random() < 0.7:
        features = cells(rng, shape, n_rows + n_tests, 3)
        both = features @ features[:n_rows].T
        both = np.where(np.isfinite(both), both, 1.0)
    train, tests = both[:n_rows], both[n_rows:]
    if rng.random() < 0.4 and kind == "ridge":
        tests = train[rng.integers(0, n_rows, n_tests)] * pick(rng, 1.0, 1.0, -1.0, 2.0)
    size = pick(rng, 1.0, 1.0, 1.0, 1e-150, 1e150, 5e-324, 1e-308)
    flips = rng.random() < 0.5
    labels = rng.integers(0, 2, n_rows) * 1.0 if flips else np.round(2 * rng.normal(size=n_rows))
    lower, upper = -labels, 1.0 - labels
    if not flips:
        labels, lower, upper = labels * size, -rng.choice([0, 0.5, 1, 1e-12], n_rows) * size, (
            rng.choice([0, 0.5, 2, 0.1], n_rows) * size)  # fmt: skip
    weights = np.ones(n_rows)
    if kind != "smoother" and rng.random() < 0.4:
        weights = rng.choice([0.0, 0.1, 1.0, 2.0, 3.0, pick(rng, 1e-200, 1e100, 1e-12)], n_rows)
        weights = weights if weights.any() else np.ones(n_rows)
    model = {"kind": kind}
    if kind != "smoother":
        model["alpha"] = pick(rng, 0.0, 0.0, 1e-8, 1e-300, 0.5, 1, 1.0, 1e6, 1e150)
    if kind == "ridge":
        model["intercept"] = bool(rng.random() < 0.6)
    question = {"task": task, "radius": pick(rng, 0.0, 0.5, 1, 0.1) * size}
    if task in ("classification", "balanced"):
        question = {"task": "classification"}
        question["threshold"] = "balanced" if task == "balanced" else pick(rng, 0, 0.5, size, 0.1)
    elif task in ("coefficients", "contrasts"):
        question = {"task": "coefficients"}
        if task == "contrasts":
            weighed = rng.integers(-2, 3, (n_tests, width)) * pick(rng, 1.0, 0.1, 1e100)
            question["contrasts"] = [
                {"features": list(range(width)), "weights": row.tolist()} for row in weighed
            ]
    document = {"question": question, "model": model}
    vectors = (array("d", each.tolist()) for each in (lower, upper, weights))
    bias = Bias(*vectors, budget=int(rng.integers(0, n_rows + 2)))
    data = Data(
        None if kind == "smoother" else matrix(train),
        array("d", labels.tolist()),
        None if question["task"] == "coefficients" else matrix(tests),
    )
    n_asked = width if task == "coefficients" else n_tests
    return document, data, bias, n_asked


def matrix(rows):
    return Matrix(rows.shape[1], array("d", rows.ravel().tolist()))


def silent(steps, what, total):
    return steps


def near(value):
    """Doubles around a fraction: the next ones, and some further off."""
    try:
        middle = float(value)
    except OverflowError:
        return [math.copysign(sys.float_info.max, value)]
    steps = (1e-16, 4e-16, 1e-15, 1e-14, 1e-13, 1e-12, 1e-9, 1e-3)
    around = [middle * (1 + sign * step) for step in steps for sign in (1, -1)]
    around += [math.nextafter(middle, math.inf), math.nextafter(middle, -math.inf), middle]
    around += [middle + 5e-324, middle - 5e-324, 0.0, middle + 1.0, middle - 1.0]
    return [each for each in around if math.isfinite(each)]


def moves(rng, facts, bias):
    """Sets of labels to move: the strongest first, and with one exchanged for a weaker one."""
    z, size = facts.row.influence, len(bias.lower)
    place = facts.labels._place
    ends = {1: bias.upper, 0: bias.lower}
    for sign in (-1, 1):
        pushes = []
        for row in range(size):
            for end, offsets in ends.items():
                push = sign * z[place[row]] * Fraction(offsets[row])
                if push > 0:
                    pushes.append((push, row, end))
        pushes.sort(reverse=True)
        for count in range(len(pushes) + 1):
            chosen = pushes[:count]
            yield made(chosen)
            if 0 < count < len(pushes):
                yield made([*chosen[:-1], pushes[count]])
    rows = rng.permutation(size)[: rng.integers(0, size + 1)]
    yield made([(0, int(row), int(rng.integers(2))) for row in rows])


def made(chosen):
    up, down = (sorted(row for _, row, end in chosen if end == which) for which in (1, 0))
    return Moves(array("Q", up), array("Q", down))


def compare(seed):
    """How often the floating-point stage answered and abstained; raise where it was wrong."""
    document, data, bias, n_asked = problem(seed)
    try:
        floating = FloatingModel(document, data, bias)
    except UnprovenError as reason:
        return Counter({f"no model: {reason}": 1})
    try:
        exact = ExactModel(document, data, bias, silent)
    except CertificateError as reason:  # kernel ridge without a definition
        raise AssertionError(f"seed {seed}: bounds, where exact arithmetic refuses") from reason
    rng, counts = np.random.default_rng([seed, 1]), Counter({"models": 1})
    size = len(bias.lower)
    for row, known in enumerate(floating.facts(range(n_asked), [size] * n_asked)):
        if known is None:
            counts["no row"] += 1
            continue
        truth = exact.facts(row)
        counts.update(compare_rows(rng, known, truth, bias, f"seed {seed}, row {row}"))
    return counts


def compare_rows(rng, known, truth, bias, where):
    size, counts = len(bias.lower), Counter()

    def check(found, true, what):
        assert found is None or found == true, f"{where}: {what} is {true}, bounds say {found}"
        counts["abstained" if found is None else "answered"] += 1

    if known.task != "regression":
        check(known.decision(), truth.decision(), "the decision")
    for end in near(Fraction(truth.low, truth.row.below)):
        check(known.holds_below(end), truth.holds_below(end), f"low {end!r}")
    for end in near(Fraction(truth.high, truth.row.below)):
        check(known.holds_above(end), truth.holds_above(end), f"high {end!r}")
    for labels in (*range(size + 2), math.inf):
        check(known.overturned(labels), truth.overturned(labels), f"{labels} labels")
    for each in moves(rng, truth, bias):
        check(known.overturned_by(each), truth.overturned_by(each), f"{each}")
    least, most = known.fewest()
    assert least <= truth.n_fewest <= most, f"{where}: {truth.n_fewest} not in {least, most}"
    return counts


if __name__ == "__main__":
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    found = Counter()
    for seed in range(first, first + int(sys.argv[1])):
        found.update(compare(seed))
    for what, count in found.most_common():
        print(f"{count:>12,} {what}")
