"""What a certified model says of a problem, compared with the truth; every lie is one line."""

import contextlib
import math
import warnings

import numpy as np
from scipy.linalg import LinAlgWarning
from sklearn.base import clone

from tests.soundness.truth import Fraction
from unswayed import ParameterBox, Sandwich, prediction_range
from unswayed.engines.choice import Cascade
from unswayed.engines.rational import RationalEngine
from unswayed.exceptions import SolverPrecisionWarning
from unswayed.labels.bias import ResolvedBias
from unswayed.labels.budgets import Count
from unswayed.margins.decisions import Radius, Sign, Threshold
from unswayed.results.certificates import Verdict


def decision(kind, value=None):
    """The package's decision for a question of `truth`."""
    return {"threshold": Threshold, "radius": Radius}[kind](value) if kind != "sign" else Sign()


@contextlib.contextmanager
def ill_conditioned():
    """Problems here are hard on purpose: the solvers of others may say so."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", SolverPrecisionWarning)
        warnings.simplefilter("ignore", LinAlgWarning)
        warnings.filterwarnings("ignore", message="Singular matrix", module="sklearn")
        warnings.filterwarnings("ignore", category=RuntimeWarning, module="sklearn|scipy|numpy")
        yield


def can_be_fitted(problem):
    """Whether scikit-learn itself gets through: at extreme scales it may refuse its own sums."""
    given = {} if problem.weight is None else {"sample_weight": problem.weight}
    try:
        with ill_conditioned():
            clone(problem.estimator).fit(problem.matrix(problem.X), problem.targets, **given)
    except (ValueError, np.linalg.LinAlgError):
        return False
    return True


def true_rows(problem, model):
    """Truth about the test rows as the model computed their features."""
    learner = model.fitted_.learner
    if problem.kind != "kernel-ridge":
        return problem.true_rows(problem.influence(problem.tests))
    inputs = computed_rows(problem, model)
    return problem.true_rows(problem.influence(inputs, learner.specification.matrix))


def computed_rows(problem, model):
    """Features, kernel rows or influence rows as the model computes them."""
    question = model.certify(problem.matrix(problem.tests), budget=0).source
    return question.case.rows.shown(question.group)


def methods(problem):
    """Methods that exist for a problem's model."""
    found = ["auto", "exact"]
    if problem.kind == "ridge" and not problem.balanced:
        found.append("box")
        if len(problem.X) >= problem.X.shape[1]:
            found.append("sandwich")
    return found


def false_verdicts(certs, true):
    for i, row in enumerate(true):
        verdict, overturned = certs.verdict[i], row.overturned(certs.budget)
        if verdict == (Verdict.ROBUST if overturned else Verdict.NOT_ROBUST):
            yield (
                f"row {i}: {verdict} at budget {certs.budget}, but {row.minimum_budget} label "
                f"changes overturn it (score {as_double(row.score)!r})"
            )


def as_double(value):
    """Nearest double, infinite beyond the largest one: to print, not to compare."""
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def false_ranges(certs, true):
    for i, row in enumerate(true):
        up, down = row.reach(certs.budget)
        low, high = row.score - down, row.score + up
        ends = (
            ("low", certs.low[i], "above", low, lambda said, true: said <= true),
            ("high", certs.high[i], "below", high, lambda said, true: said >= true),
            ("inner_low", certs.inner_low[i], "below", low, lambda said, true: said >= true),
            ("inner_high", certs.inner_high[i], "above", high, lambda said, true: said <= true),
        )
        for name, said, where, end, holds in ends:
            if not holds(said, end):
                gap = abs(Fraction(float(said)) - end) if math.isfinite(said) else math.nan
                yield f"row {i}: {name} {said!r} is {where} the true end by {as_double(gap):.1e}"
        if certs.error[i] == math.inf:  # it says that it knows nothing
            continue
        if not abs(row.score - Fraction(float(certs.score[i]))) <= certs.error[i]:
            yield (
                f"row {i}: score {certs.score[i]!r} ± {certs.error[i]!r} misses the true one, "
                f"{as_double(row.score)!r}"
            )


def false_box(box, true):
    """What is false in a parameter box, given the truth about its parameters."""
    for name, low, high, row in zip(box.names, box.low, box.high, true, strict=True):
        up, down = row.reach(box.budget.amount)
        if not (low <= row.score - down and row.score + up <= high):
            yield f"{name}: {low!r} to {high!r} is not all of the true range"


def false_bounds(bounds, budget, true):
    """What is false in bounds on how far scores can move: inner <= true <= outer."""
    for i, row in enumerate(true):
        for way, reach in zip(("up", "down"), row.reach(budget), strict=True):
            inner, outer = (getattr(bounds, f"{side}_{way}")[i] for side in ("inner", "outer"))
            if not inner <= reach <= outer:
                yield f"row {i}: {inner!r} to {outer!r} {way} misses {as_double(reach)!r}"


def built(problem, model):
    """Methods of every second problem, with bounds that are built beforehand instead of named."""
    # On few rows "auto" alone would be "exact" again.
    cascade = Cascade(model.fitted_.scored.engine, eager=True)
    if problem.seed % 2:
        return [cascade if method == "auto" else method for method in methods(problem)]
    build = {
        "auto": lambda: cascade,
        "box": model.parameter_box,
        "sandwich": lambda: model.sandwich(max_anchors=(problem.seed // 2 + 1) % 4),
    }
    return [build.get(method, lambda method=method: method)() for method in methods(problem)]


def false_objects(method, problem, model, true):
    """What is false in a box or a sandwich itself; true rows are those of the problem's tests."""
    learner = model.fitted_.learner
    if isinstance(method, Sandwich):
        bounds = method.bounds(learner.directions(problem.matrix(problem.tests)))
        yield from false_bounds(bounds, problem.budget, true)
    if isinstance(method, ParameterBox):
        parameters = problem.true_coefficients
        if problem.fit_intercept:  # after the coefficients: the prediction at the mean row
            centre = learner.directions(np.zeros((1, learner.n_features)))[0, :-1]
            centre = -centre / learner.parameter_scale[:-1]
            parameters = parameters + problem.true_rows(problem.influence([centre]))
        yield from false_box(method, parameters)


def false_single_ranges(problem, true):
    """What is false in the range of one influence row that is given."""
    if problem.radius is None:  # flips of a classifier's labels are resolved by the classifier
        return
    for i, row in enumerate(true):
        low, high = prediction_range(problem.tests[i], problem.targets, problem.bias)
        up, down = row.reach(problem.budget)
        if not (low <= row.score - down and row.score + up <= high):
            yield f"row {i}: {low!r} to {high!r} is not all of the true range"


def false_budgets(said, true):
    for i, row in enumerate(true):
        low, high, least = said.low[i], said.high[i], row.minimum_budget
        if low > least or high < least:  # NaN: it says that it knows nothing
            yield f"row {i}: minimum budget {low} to {high}, but it is {least}"


def unresolved(certs, problem, true):
    """What is wrong with certificates that exact arithmetic has settled."""
    yield from false_verdicts(certs, true)
    yield from false_ranges(certs, true)
    for i, row in enumerate(true):
        if certs.verdict[i] == Verdict.UNDECIDED:
            yield f"row {i}: undecided after exact arithmetic"
        if certs.minimum_budget[i] != row.minimum_budget:
            yield f"row {i}: minimum budget {certs.minimum_budget[i]}, but it is exactly " + str(
                row.minimum_budget
            )
        witness = certs.witness(i)
        if row.overturned(certs.budget) and not _overturns(witness, problem, row):
            yield f"row {i}: {witness} is no set of label changes that overturns it"
        elif witness is not None and len(witness) != row.minimum_budget:
            yield f"row {i}: {witness} is not the smallest set of label changes"


def false_witness(certs, problem, true):
    """What is wrong with one witness, if any row has one, that was found in doubles."""
    broken = np.flatnonzero(certs.verdict == Verdict.NOT_ROBUST)
    if len(broken):
        i = int(broken[problem.seed % len(broken)])
        witness = certs.witness(i)
        if len(witness) > certs.budget or not _overturns(witness, problem, true[i]):
            yield f"row {i}: {witness} is no set of label changes that overturns it"


def _overturns(witness, problem, row):
    """Whether a witness's labels change the prediction, exactly.

    Labels are doubles: what was added to them is the end of the interval that rounds to them.
    """
    if witness is None:
        return False
    rows = witness.indices.tolist()
    ends = []
    for i, label in zip(rows, witness.labels.tolist(), strict=True):
        both = problem.lower[i], problem.upper[i]
        ends.append([end for end in both if problem.targets[i] + end == label])
    if not all(ends):
        return False
    for sign in (1, -1):
        offsets = [
            max(each, key=lambda end, i=i: sign * row.z[i] * Fraction(end))
            for i, each in zip(rows, ends, strict=True)
        ]
        if not rows or row.overturned_by(rows, offsets):
            return True
    return False


def wrong_exactly(rows, problem, true):
    """What the rational engine gets wrong; every row, for certificates ask it about few."""
    for i, (found, row) in enumerate(zip(rows, true, strict=True)):
        kind, value = row.question
        limits = decision(kind, value).limits(found.score)
        if found.score != row.score or found.reach(Count(problem.budget)) != row.reach(
            problem.budget
        ):
            yield f"row {i}: the exact range is off"
        if found.minimum_budget(limits) != row.minimum_budget:
            yield f"row {i}: the exact minimum budget is off"
        if row.minimum_budget < math.inf:
            changed, offsets, _ = found.changes(limits, Count(row.minimum_budget))
            if len(changed) != row.minimum_budget or (
                len(changed) and not row.overturned_by(changed.tolist(), offsets.tolist())
            ):
                yield f"row {i}: the exact changes do not overturn it"


def less_decided(decided, certs):
    """Rows that exact ranges decide and minimum budgets leave open."""
    for i, verdict in enumerate(certs.verdict):
        if decided.verdict[i] == Verdict.UNDECIDED != verdict:
            yield f"row {i}: undecided, but {verdict} by its range"


def lies(problem):
    """Everything that is false in what the package says of a problem, and how many cases it has."""
    with ill_conditioned():
        model = problem.fitted()
        tests = problem.matrix(problem.tests)
        true = true_rows(problem, model)
        found, n_cases = [], len(true)

        def note(what, complaints):
            found.extend(f"{what}, {complaint}" for complaint in complaints)

        bias = ResolvedBias(problem.lower, problem.upper, Count(problem.budget))
        scored = model.fitted_.scored.learner.specification
        engine = RationalEngine(scored, bias, problem.targets)
        note("rational", wrong_exactly(engine.rows(computed_rows(problem, model)), problem, true))
        for method in built(problem, model):
            certs = model.certify(tests, method=method)
            note(f"method={method!r}", false_objects(method, problem, model, true))
            note(f"method={method!r}", false_verdicts(certs, true))
            note(f"method={method!r}", false_ranges(certs, true))
        note(f"method={method!r}", false_witness(certs, problem, true))
        note("minimum_budgets", false_budgets(model.minimum_budgets(tests), true))
        decided = model.certify(tests, ranges=False)
        note("decide", false_verdicts(decided, true))
        note("decide", false_ranges(decided, true))
        note("decide", less_decided(decided, model.certify(tests)))
        note("certificates", false_budgets(certs.minimum_budgets, true))
        method = methods(problem)[problem.seed % len(methods(problem))]
        certs = model.certify(tests, method=method, resolve="exact")
        note(f"method={method!r}, resolve='exact'", unresolved(certs, problem, true))
        if model.minimum_budget(tests, resolve="exact").tolist() != [
            row.minimum_budget for row in true
        ]:
            found.append("minimum_budget, resolve='exact': not the true ones")
        if problem.kind == "smoother":
            note("prediction_range", false_single_ranges(problem, true))
        if problem.kind == "ridge":
            true = problem.true_coefficients
            n_cases += len(true)
            specification = model.fitted_.learner.specification
            engine = RationalEngine(specification, bias, problem.targets)
            note("rational coefficients", wrong_exactly(engine.coefficients(), problem, true))
            certs = model.certify_coefficients()
            note("coefficients", false_verdicts(certs, true))
            note("coefficients", false_ranges(certs, true))
            note("coefficients", false_budgets(certs.minimum_budgets, true))
            certs = model.certify_coefficients(resolve="exact")
            note("coefficients, resolve='exact'", unresolved(certs, problem, true))
    return found, n_cases
