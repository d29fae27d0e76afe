"""Logistic and Poisson regression: families of learners with labels in their gradient."""

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.linear_model import LogisticRegression, PoissonRegressor

from unswayed._typing import FloatArray, IntArray, Matrix
from unswayed.exceptions import BiasError, InputError, LabelPeekError, NotLinearError
from unswayed.inputs import dense
from unswayed.labels.bias import InGradient, LabelBias, ResolvedBias
from unswayed.models.family import Family, decision_scores, one_alpha, register
from unswayed.models.gradient.problem import (
    Centre,
    Exponential,
    GradientProblem,
    GradientSpecification,
    Labels,
    Link,
    Logistic,
)
from unswayed.models.learner import Parametric, Scores, Solution
from unswayed.models.ridge.verified import row_norms

_CHORDS = 12  # steps with one matrix for all; what has not converged gets a matrix of its own
_STEPS = 200
_DOUBLES = 60  # of a step whose end is still downhill
_STALLED = 0.5  # of the last step: rounding then rules
_SMALL = 1e-6  # margins that move by less have converged, but for rounding
_NEAR = 1e-9  # of their terms: equations that are missed by more are not solved
_GONE = 1e8  # margins that move by more in one step: there is no minimiser


def solve_all(
    problem: GradientProblem, labels: Labels, start: FloatArray, inverse: FloatArray
) -> FloatArray:
    """Return parameters that nearly solve the equations of every label vector."""
    found = np.array(start)
    before, first = np.full((2, len(found)), np.inf)
    going = np.arange(len(found))
    with np.errstate(all="ignore"):
        for chord in range(_CHORDS):
            step = problem.gradient(found[going], labels[going]) @ inverse
            size = np.abs(step).max(axis=1, initial=0.0)
            first = first if chord else size
            better = size < _STALLED * before[going]
            found[going[better]] -= step[better]
            before[going] = size
            going = going[better & (size > 0)]
            if not len(going):
                break
        precise = 1e-12 * (1.0 + np.abs(found).max(axis=1, initial=0.0))
    # Steps that grow led away.
    away = ~(before <= first) | ~np.isfinite(found).all(axis=1)
    for row in np.flatnonzero(~(before <= precise)).tolist():
        one = Labels(_of(labels.weight, row), _of(labels.total, row))
        found[row] = solve(problem, one, start[row] if away[row] else found[row])
    return found


def _of(values: FloatArray, row: int) -> FloatArray:
    return values if values.ndim == 1 else values[row]


def solve(problem: GradientProblem, labels: Labels, start: FloatArray) -> FloatArray:
    """Return parameters that nearly solve the equations of one label vector."""
    found = _newton(problem, labels, start)
    if start.any() and not _solves(problem, labels, found):
        # A solver that went astray may have left us where all slopes are 0, or infinite.
        again = _newton(problem, labels, np.zeros_like(start))
        found = again if _solves(problem, labels, again) else found
    return found


def _solves(problem: GradientProblem, labels: Labels, at: FloatArray) -> bool:
    """Return whether parameters are near a solution, to go by what the equations add up."""
    with np.errstate(all="ignore"):
        means = labels.weight * problem.link.mean(problem.rows(at[None])[0])
        own = problem.penalty * at
        missed = problem.pull(means - labels.total) + own
        terms = np.abs(labels.total) @ problem.sizes + np.linalg.norm(own)
        return bool(np.linalg.norm(missed) <= _NEAR * terms)


def _newton(problem: GradientProblem, labels: Labels, start: FloatArray) -> FloatArray:
    """Return what Newton's method comes to."""
    at, before = np.array(start), np.inf
    with np.errstate(all="ignore"):
        for _ in range(_STEPS):
            margins = problem.rows(at[None])[0]
            left = labels.weight * problem.link.mean(margins) - labels.total
            gradient = problem.pull(left) + problem.penalty * at
            curvature = problem.link.secant(margins, np.zeros(len(margins)))
            matrix, _ = problem.hessian(labels.weight * curvature)
            if not (np.isfinite(matrix).all() and np.isfinite(gradient).all()):
                break
            step = -_solved(matrix, gradient)
            move = problem.rows(step[None])[0]
            size = float(np.abs(step).max(initial=0.0))
            furthest = float(np.abs(move).max(initial=0.0))
            if furthest > 1.0:
                length = _length(problem, labels, at, step, margins, move, furthest)
                step, furthest = length * step, length * furthest
            if not furthest <= _GONE:
                break
            at = at + step
            if size <= 1e-15 * (1.0 + np.abs(at).max(initial=0.0)):
                break
            if furthest < _SMALL and furthest > _STALLED * before:
                break
            before = furthest
    return at


def _solved(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Solve with a matrix that has no negative eigenvalue, but may have zeros."""
    size = np.sqrt(np.maximum(matrix.diagonal(), 0.0))
    unit = 1.0 / np.where(size > 0, size, 1.0)
    scaled = matrix * unit * unit[:, None]
    factor, failed = linalg.lapack.dpotrf(scaled, lower=True)
    if not failed:
        found, failed = linalg.lapack.dpotrs(factor, right * unit, lower=True)
    if failed or not np.isfinite(found).all():
        found = np.linalg.lstsq(scaled, right * unit, rcond=None)[0]
    return np.asarray(found * unit)


def _length(
    problem: GradientProblem,
    labels: Labels,
    at: FloatArray,
    step: FloatArray,
    margins: FloatArray,
    move: FloatArray,
    furthest: float,
) -> float:
    """Return how much of a step to take, by the sign of the objective's derivative along it.

    Slopes change by a factor exp(t) at most where margins move by t. So log(1 + r) / r of a step
    of Newton that moves margins by up to r leads downhill, and all of it if r <= 1: the objective
    itself is never needed, nor is its rounding in the way.
    """
    own, slope = float((problem.penalty * at) @ step), float((problem.penalty * step) @ step)

    def uphill(length: float) -> bool:
        left = labels.weight * problem.link.mean(margins + length * move) - labels.total
        return not left @ move + own + length * slope <= 0.0

    safe, length = float(np.log1p(furthest)) / furthest, 1.0
    if uphill(length):
        while length > safe and uphill(length):
            length /= 2
        return max(length, safe)
    for _ in range(_DOUBLES):
        if uphill(2 * length):
            break
        length *= 2
    return length


def slopes(problem: GradientProblem, parameters: FloatArray) -> FloatArray:
    """Return derivatives of the means of the distinct rows, as computed."""
    margins = problem.rows(parameters[None])[0]
    return problem.link.secant(margins, np.zeros(len(margins)))


def changed(
    problem: GradientProblem, labels: Labels, rows: list[IntArray], added: list[FloatArray]
) -> Labels:
    """Return label vectors, each of them after some changes."""
    first, second = problem.class_weight
    total = np.repeat(labels.total[None], len(rows), axis=0)
    weight = labels.weight if first == second else np.repeat(labels.weight[None], len(rows), axis=0)
    for at, (row, amount) in enumerate(zip(rows, added, strict=True)):
        np.add.at(total[at], row, second * amount)
        if first != second:
            np.add.at(weight[at], row, (second - first) * amount)
    return Labels(weight, total)


class GradientLearner(Parametric):
    """A fitted logistic or Poisson regression: scores are linear in features, not in labels."""

    functional = InGradient

    def __init__(
        self, problem: GradientProblem, start: FloatArray, specification: GradientSpecification
    ) -> None:
        self.problem, self.specification, self.link = problem, specification, problem.link.name
        self.n_rows, self.n_features = problem.n_rows, problem.n_features
        self.parameter_scale = problem.scale
        found = problem.scaled_parameters(start[: problem.n_parameters])
        self._start = np.where(np.isfinite(found), found, 0.0)

    @property
    def n_parameters(self) -> int:
        """Number of parameters."""
        return self.problem.n_parameters

    def centre(self, labels: FloatArray) -> Centre:
        """Solve for labels as precisely as doubles allow."""
        read = self.problem.labels(labels)
        return self.problem.centre(solve(self.problem, read, self._start), read)

    def solve(self, labels: FloatArray) -> Solution:
        """Train on labels."""
        return self.solution(self.centre(labels))

    @staticmethod
    def solution(centre: Centre) -> Solution:
        """Return the parameters of a centre as a solution."""
        return Solution(centre.parameters, math.inf, math.inf)

    def directions(self, rows: Matrix) -> FloatArray:
        """Return feature rows as directions in parameter space."""
        return dense(self.problem.directions(rows))

    def direction_sizes(self, directions: FloatArray) -> FloatArray:
        """Return the sizes of directions, rounded up."""
        return row_norms(directions)

    def scores(self, represented: Matrix, solution: Solution) -> Scores:
        """Return the scores of rows, with infinite errors: those of the engine are proven."""
        return self.direction_scores(self.directions(represented), solution)

    def direction_scores(self, directions: FloatArray, solution: Solution) -> Scores:
        """Return the scores of directions, with infinite errors."""
        value = directions @ solution.values
        return Scores(value, np.full(len(value), np.inf))


# ----------------------------------------------------------------------------------------
# LogisticRegression and PoissonRegressor.


def _check_logistic(final: Any) -> None:
    """Raise for parameters that make it another model than a penalised one with squares."""
    penalty, ratio = final.penalty, final.l1_ratio
    if penalty in ("l1", "elasticnet") or (ratio or 0.0) != 0.0:
        what = f"penalty={penalty!r}" if penalty in ("l1", "elasticnet") else f"l1_ratio={ratio!r}"
        raise NotLinearError(
            f"LogisticRegression({what}) sets some coefficients to 0, and which ones depends on "
            "the labels in jumps, so that it cannot be certified; leave it out (an L2 penalty, "
            "the default)"
        )
    if final.solver == "liblinear" and final.fit_intercept:
        raise InputError(
            "solver='liblinear' penalises the intercept too, which makes it another model; pass "
            "another solver (solver='lbfgs', the default), or fit_intercept=False"
        )
    strength = final.C
    number = isinstance(strength, Real) and not isinstance(strength, bool)
    if not number or not float(strength) > 0.0:
        raise InputError(f"C must be a number above 0 (inf for no penalty), got {strength!r}")
    if isinstance(final.class_weight, str):
        raise LabelPeekError(
            f"LogisticRegression(class_weight={final.class_weight!r}) computes weights from the "
            "labels, so that changing a label changes the weights of all rows and the certificate "
            "would be false; pass numbers, class_weight={class: weight, ...}, or None"
        )
    if final.class_weight is not None:
        _class_factors(final.class_weight, tuple(final.class_weight))


def _class_factors(given: Any, classes: tuple[Any, ...]) -> tuple[float, ...]:
    """Return the weights of classes as numbers; 1 for those that are not named."""
    if not isinstance(given, Mapping):
        raise InputError(
            f"class_weight must be a mapping of classes to numbers, or None; got {given!r}"
        )
    found = []
    for each in classes:
        factor = given.get(each, 1.0)
        if not isinstance(factor, Real) or not 0.0 < float(factor) < math.inf:
            raise InputError(
                f"class_weight of {each!r} must be a finite number above 0, got {factor!r}"
            )
        found.append(float(factor))
    return tuple(found)


def _learner(
    final: Any,
    features: Matrix,
    link: Link,
    penalty: float,
    weight: FloatArray | None,
    factors: tuple[float, float] = (1.0, 1.0),
) -> GradientLearner:
    settings: dict[str, Any] = {
        "penalty": penalty,
        "fit_intercept": bool(final.fit_intercept),
        "sample_weight": weight,
        "class_weight": factors,
    }
    problem = GradientProblem(features, link, **settings)
    start = np.append(np.ravel(final.coef_), np.ravel(final.intercept_)[:1])
    return GradientLearner(problem, start, GradientSpecification(features, link, **settings))


def _logistic(final: Any, features: Matrix, weight: FloatArray | None) -> GradientLearner:
    none = final.penalty is None or math.isinf(final.C)
    factors = (1.0, 1.0)
    if final.class_weight is not None:
        first, second = _class_factors(final.class_weight, tuple(final.classes_.tolist()))
        factors = (first, second)
    return _learner(
        final, features, Logistic(), 0.0 if none else 1.0 / float(final.C), weight, factors
    )


def _poisson(final: Any, features: Matrix, weight: FloatArray | None) -> GradientLearner:
    total = float(features.shape[0]) if weight is None else math.fsum(weight.tolist())
    return _learner(final, features, Exponential(), one_alpha(final) * total, weight)


def _check_bias(
    bias: LabelBias, resolved: ResolvedBias, targets: FloatArray, classes: bool
) -> None:
    if not resolved.budget.countable:
        raise BiasError(
            f"this model is certified for budgets that are a number of labels, and this one is a "
            f"{type(resolved.budget).__name__}; pass a count or a share"
        )
    if classes and bias.kind != "flips":
        raise BiasError(
            f"a LogisticRegression is trained on classes, and {bias.kind} lets labels be between "
            "them; use LabelBias.flips"
        )
    if not classes:
        for row in np.flatnonzero(targets + resolved.lower < 0)[:1]:
            raise BiasError(
                f"the bias lets the count {targets[row]:g} at row {row} fall below 0, where the "
                "model is not defined; pass clip=(0, None)"
            )


register(
    Family(
        (LogisticRegression,),
        learner=_logistic,
        check=_check_logistic,
        check_bias=_check_bias,
        scores=decision_scores,
        threshold=0.0,
        weighs_classes=True,
        several=False,
        functional=InGradient,
    )
)


def _log_counts(final: Any, features: Any) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.asarray(final.predict(features), dtype=np.float64)))


register(
    Family(
        (PoissonRegressor,),
        learner=_poisson,
        check=one_alpha,
        check_bias=_check_bias,
        scores=_log_counts,
        counts=True,
        functional=InGradient,
    )
)
