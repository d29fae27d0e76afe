"""What a certified model says of a small problem, compared with the truth; a lie is one line.

A label set without a minimiser leaves nothing to be proven for all label sets: "robust" is a lie
then, and so is a range with two ends. "Not robust" needs a label set that has one.
"""

import contextlib
import math
import warnings
from collections import Counter

import numpy as np
from flint import arb, ctx
from scipy.linalg import LinAlgWarning
from sklearn.exceptions import ConvergenceWarning

from tests.logistic.glm import BITS
from unswayed.exceptions import SolverPrecisionWarning, UnswayedError
from unswayed.results.certificates import Verdict


@contextlib.contextmanager
def hard_problems():
    """Problems here are hard on purpose: the solvers of others may say so."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        for kind in (SolverPrecisionWarning, LinAlgWarning, ConvergenceWarning):
            warnings.simplefilter("ignore", kind)
        warnings.filterwarnings("ignore", category=RuntimeWarning, module="sklearn|scipy|numpy")
        warnings.filterwarnings("ignore", message="X contains unknown|Found unknown categories")
        yield


def false_verdicts(certs, rows):
    budget = certs.budget
    for i, row in enumerate(rows):
        verdict = certs.verdict[i]
        if verdict == Verdict.UNDECIDED:
            continue
        if row is None:
            yield f"row {i}: {verdict}, but the given labels define no score"
        elif verdict == Verdict.ROBUST and row.overturned(budget):
            yield f"row {i}: robust at budget {budget}, but {row.minimum_budget[0]} overturn it"
        elif verdict == Verdict.ROBUST and row.undefined(budget):
            yield f"row {i}: robust at budget {budget}, but some label sets have no minimiser"
        elif verdict == Verdict.NOT_ROBUST and row.knows(budget) and not row.overturned(budget):
            yield f"row {i}: not robust at budget {budget}, but the least is {row.minimum_budget}"


def _ends(certs, i, row):
    """Names of ends that are said, what they say, on which side of the true end they belong."""
    low, high = row.ends(certs.budget)
    yield "low", certs.low[i], "below", low
    yield "high", certs.high[i], "above", high
    if row.knows(certs.budget):
        yield "inner_low", certs.inner_low[i], "above", low
        yield "inner_high", certs.inner_high[i], "below", high
    if certs.link == "logistic":
        for name, true, side in (("low", low, "below"), ("high", high, "above")):
            said = getattr(certs, f"probability_{name}")[i]
            yield f"probability_{name}", said, side, 1 / (1 + (-true).exp())


def false_ranges(certs, rows):
    with ctx.workprec(BITS):
        for i, row in enumerate(rows):
            if row is None:
                continue
            for name, said, side, true in _ends(certs, i, row):
                if math.isnan(said):
                    yield f"row {i}: {name} is NaN"
                    continue
                beyond = arb(float(said)) > true if side == "below" else arb(float(said)) < true
                if beyond:
                    gap = abs(float(arb(float(said)) - true))
                    yield (
                        f"row {i}: {name} {said!r} should be {side} {float(true)!r}, "
                        f"missed by {gap:.1e} (budget {certs.budget})"
                    )
            closed = np.isfinite([certs.low[i], certs.high[i]]).all() and row.truth.tests[i].any()
            if closed and row.undefined(certs.budget):
                yield f"row {i}: a range with two ends, but some label sets have no minimiser"
            off = abs(row.score - arb(float(certs.score[i])))
            if certs.error[i] < math.inf and off > arb(float(certs.error[i])):
                yield (
                    f"row {i}: score {certs.score[i]!r} ± {certs.error[i]!r} misses the true "
                    f"one, {float(row.score)!r}"
                )


def false_predictions(certs, problem, rows):
    for i, row in enumerate(rows):
        if row is None or abs(float(row.score)) <= 1e-6 * row.size:
            continue
        if certs.link == "log":
            expected = math.exp(row.score) if row.truth.mean else float(row.score)
            if abs(certs.prediction[i] - expected) > 1e-6 * abs(expected):
                yield f"row {i}: predicts {certs.prediction[i]!r}, the minimiser {expected!r}"
            continue
        expected = problem.classes[int(row.score > 0)]
        if certs.prediction[i] != expected:
            yield f"row {i}: predicts {certs.prediction[i]!r}, the minimiser {expected!r}"


def false_witnesses(certs, problem, rows):
    """What is wrong with the witnesses of all rows that are called not robust."""
    for i in np.flatnonzero(certs.verdict == Verdict.NOT_ROBUST).tolist():
        witness = certs.witness(i)
        if witness is None:
            yield f"row {i}: not robust, but there is no witness"
            continue
        changed = witness.indices.tolist()
        if len(set(changed)) != len(changed) or len(changed) > certs.budget:
            yield f"row {i}: the witness changes {changed} at budget {certs.budget}"
        y, weights = problem.relabelled(changed, witness.labels)
        if not problem.admissible(changed, witness.labels):
            yield f"row {i}: the witness changes labels that cannot be wrong: {witness}"
        scores = problem.truth.replay(y, weights)
        if scores is None:
            yield f"row {i}: the labels of the witness have no minimiser: {changed}"
        elif rows[i] is not None and rows[i].holds(scores[i]):
            yield f"row {i}: the witness {changed} leaves it at {float(scores[i])!r}"
        elif abs(float(scores[i]) - witness.score) > 1e-3 * (1 + abs(witness.score)):
            yield f"row {i}: the witness says {witness.score!r}, the truth {float(scores[i])!r}"


def false_budgets(said, rows):
    for i, row in enumerate(rows):
        if row is None:
            continue
        overturns, unproven = row.minimum_budget
        low, high = said.low[i], said.high[i]
        if unproven is not None and low > unproven:
            yield f"row {i}: minimum budget is at least {low}, but {unproven} are enough"
        if high < overturns if overturns is not None else high <= row.sets.limit:
            yield f"row {i}: minimum budget is at most {high}, but it is {overturns}"


def unsure_of_nothing(certs, rows):
    """Rows that are not robust, or not known to be, if no label may be wrong."""
    for i, row in enumerate(rows):
        if row is None or certs.verdict[i] == Verdict.ROBUST:
            continue
        close = row.truth.radius is None and abs(float(row.score)) <= 1e-6 * row.size
        if certs.verdict[i] == Verdict.NOT_ROBUST or not close:
            yield f"row {i}: {certs.verdict[i]} at budget 0, score {float(row.score)!r}"


def lies(problem, efforts=None):
    """Everything false in what is said of a problem, and how often each verdict was right.

    Without efforts, one of the three is drawn for every budget.
    """
    found, tally = [], Counter()
    truth = problem.truth
    rows = truth.rows
    tests = problem.matrix(problem.tests)

    def note(what, complaints):
        found.extend(f"{what}, {complaint}" for complaint in complaints)

    with hard_problems():
        try:
            model = problem.fitted()
        except UnswayedError as error:
            tally["refused"] += 1
            if not truth.undefined[0]:
                found.append(f"refused: {error}")
            return found, tally
        asked = [
            (budget, effort)
            for budget in sorted({problem.budget, 1 + problem.seed % 4})
            for effort in efforts or [(problem.seed + budget) % 3]
        ]
        for budget, effort in asked:
            certs = model.certify(tests, budget=budget, effort=effort, **problem.asked)
            note("certify", false_verdicts(certs, rows))
            note("certify", false_ranges(certs, rows))
            if problem.regular:
                note("certify", false_predictions(certs, problem, rows))
            note("certify", false_witnesses(certs, problem, rows))
            tally.update(
                f"{'robust' if not row.overturned(budget) else 'not-robust'}: {verdict}"
                for row, verdict in zip(rows, certs.verdict, strict=True)
                if row is not None and not row.undefined(budget)
            )
        if problem.seed % 2 or problem.asked:
            note("certificates", false_budgets(certs.minimum_budgets, rows))
        else:
            note("minimum_budgets", false_budgets(model.minimum_budgets(tests), rows))
        nothing = model.certify(tests, budget=0, **problem.asked)
        if problem.regular:
            note("budget 0", unsure_of_nothing(nothing, rows))
        note("budget 0", false_verdicts(nothing, rows))
        note("budget 0", false_ranges(nothing, rows))
        if problem.seed % 3 == 0:
            certs = model.certify_coefficients(budget=problem.budget)
            slopes = problem.coefficients.rows
            note("coefficients", false_verdicts(certs, slopes))
            note("coefficients", false_ranges(certs, slopes))
            note("coefficients", false_budgets(certs.minimum_budgets, slopes))
    return found, tally
