"""Small nasty problems, and what is evaluated in doubles against exact integers on them.

Solutions, inverses and thresholds are those that a certificate file would carry, and others that
somebody made up: they may leave something open, and never make anything false.

``python -m tests.verify.nasty 5000`` compares on 5,000 of them; a second number is the first seed.
"""

import sys
from array import array
from collections import Counter
from fractions import Fraction

import numpy as np

from tests.integers.model import ExactModel
from tests.verify.proving import specification, subjects
from unswayed.estimators import linear_proof as producer
from unswayed.verify.budget import Budget, Moves
from unswayed.verify.data import Bias, Data, Given
from unswayed.verify.document import CertificateError, solution_of
from unswayed.verify.doubles import UnprovenError
from unswayed.verify.facts import UP, Asked
from unswayed.verify.linear import facts as facts_of
from unswayed.verify.linear import linear_model
from unswayed.verify.rational import RationalRows

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
    vectors = [array("d", each.tolist()) for each in (lower, upper, weights)]
    budget = Budget.of(int(rng.integers(0, n_rows + 2)), *vectors[:2])
    bias = Bias(*vectors, budget=budget)
    data = Data(
        None if kind == "smoother" else train,
        array("d", labels.tolist()),
        None if question["task"] == "coefficients" else tests,
    )
    n_asked = width if task == "coefficients" else n_tests
    return document, data, bias, n_asked


def silent(steps, what, total):
    return steps


def proof_of(document, data, bias, n_asked):
    """Arrays as a certificate file would carry them, for claims about every number of labels."""
    arrays = {"labels": np.array(data.labels)}
    parts = (("train", data.train), ("test", data.tests))
    arrays |= {name: rows for name, rows in parts if rows is not None}
    width = (data.tests if data.train is None else data.train).shape[1]
    about = {"train_rows": len(data.labels), "features": width}
    whole = {**document, "data": about}
    whole["model"] = {**document["model"], "weights": 1.0}
    spec = specification(whole, arrays)
    spec.sample_weight = np.array(bias.weights)
    rows = subjects(whole, arrays)[:n_asked]
    claims = [{"row": row, "minimum_budget": [1, 2]} for row in range(n_asked)]
    asked = producer.Asked(
        spec, arrays.get("train"), arrays["labels"], np.array(bias.lower), np.array(bias.upper),
        bias.labels, document["question"], rows, claims, np.zeros(len(rows), dtype=bool),
    )  # fmt: skip
    try:
        return producer.linear_proof(asked)[0]
    except (np.linalg.LinAlgError, ValueError, CertificateError):
        return {}


def spoilt(rng, arrays):
    """The same arrays, one of them with something else in it."""
    made = {name: each.copy() for name, each in arrays.items()}
    name = sorted(made)[int(rng.integers(len(made)))]
    values = made[name].reshape(-1)
    if len(values):
        at = int(rng.integers(len(values)))
        values[at] = pick(rng, 0.0, -values[at], values[at] * (1 + 1e-9), values[at] + 1.0, 1e300,
                          5e-324, -1.0)  # fmt: skip
    return made


def compare(seed):
    """How often something was known; raise where it was wrong."""
    document, data, bias, n_asked = problem(seed)
    rng = np.random.default_rng([seed, 1])
    with np.errstate(all="ignore"):
        arrays = proof_of(document, data, bias, n_asked)
    if not arrays:
        return Counter({"no proof": 1})
    counts = Counter()
    try:
        exact = ExactModel(document, data, bias, silent)
    except CertificateError:  # kernel ridge without a definition
        exact = None
    given = Given.of(document, data, bias)
    for made in (arrays, spoilt(rng, arrays), spoilt(rng, arrays)):
        counts.update(compare_proof(rng, given, made, exact, n_asked, f"seed {seed}"))
    return counts


def compare_proof(rng, given, arrays, exact, n_asked, where):
    hints = arrays.get("weights", arrays.get("dual", np.zeros((n_asked, 0))))
    counts, inverse = Counter(), np.inf
    size = len(given.labels)
    labels = rng.integers(0, size + 1, (n_asked, 3)).astype(float)
    moves = [random_moves(rng, size) for _ in range(n_asked)]
    thresholds = np.where(rng.random((n_asked, 6)) < 0.7, arrays["thresholds"],
                          np.abs(rng.normal(size=(n_asked, 6))))  # fmt: skip
    asked = Asked(labels, thresholds, moves)
    with np.errstate(all="ignore"):
        try:
            model = linear_model(given, arrays, hints)
            if model is None:
                raise UnprovenError("no model")
            found = model.influence(given.subjects(np.arange(n_asked)), hints)
            found = found.centred(given) if given.balanced else found
            known = facts_of(given, found, asked)
            inverse, counts["models"] = getattr(model, "inverse", np.inf), 1
        except UnprovenError:
            known = []
    for row, facts in enumerate(known):
        compare_row(counts, facts, exact, row, labels[row], moves[row], given, f"{where} doubles")
    exactly = RationalRows(given, inverse)
    for row in range(n_asked):
        try:
            solution = solution_of(hints[row], None, arrays.get("shift"))
            found = exactly.influence(given.subjects(np.array([row]))[0], solution)
        except UnprovenError:
            counts["not exactly"] += 1
            continue
        facts = exactly.facts(found, labels[row].tolist(), moves[row])
        compare_row(counts, facts, exact, row, labels[row], moves[row], given, f"{where} exactly")
    return counts


def compare_row(counts, facts, exact, row, labels, moves, given, where):
    """Every number of the facts has the truth between its ends."""
    if exact is None:
        ends = (facts.score, facts.shift, *facts.reach.values())
        known = [each for each in ends if each[1] < np.inf and each != (0, 0)]
        assert not known or all(each[1] == np.inf for each in (facts.score,)), where
        return
    truth = exact.facts(row)
    z, below = truth.row.influence, truth.row.below
    place, power = truth.labels._place, truth.labels.power
    unit = Fraction(power, below)
    step = [unit * z[place[at]] for at in range(len(given.labels))]
    lower, upper = (
        [Fraction(each) for each in part.tolist()] for part in (given.lower, given.upper)
    )

    def inside(ends, value, what):
        assert ends[0] <= value <= ends[1], f"{where}, row {row}: {what} {value} not in {ends}"
        counts["known" if ends[1] < np.inf else "open"] += 1

    inside(facts.score, Fraction(truth.row.score, below), "the score")
    for (way, which), ends in facts.reach.items():
        sign = 1 if way == UP else -1
        pushes = sorted(
            (max(sign * z * low, sign * z * high) for z, low, high in
             zip(step, lower, upper, strict=True)), reverse=True,
        )  # fmt: skip
        inside(ends, sum(pushes[: int(labels[which])], Fraction(0)), f"{labels[which]} labels")
    moved = sum((step[at] * upper[at] for at in moves.up), Fraction(0))
    moved += sum((step[at] * lower[at] for at in moves.down), Fraction(0))
    inside(facts.shift, moved, "the witness")


def random_moves(rng, size):
    rows = rng.permutation(size)[: rng.integers(0, size + 1)]
    ends = rng.integers(0, 2, len(rows))
    up, down = (sorted(rows[ends == which].tolist()) for which in (1, 0))
    return Moves(array("Q", up), array("Q", down))


if __name__ == "__main__":
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    found = Counter()
    for seed in range(first, first + int(sys.argv[1])):
        found.update(compare(seed))
    for what, count in found.most_common():
        print(f"{count:>12,} {what}")
