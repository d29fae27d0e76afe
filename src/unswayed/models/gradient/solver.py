"""Newton's method for many label vectors at once.

What it returns is proven by nobody here: whoever uses it measures what the equations are off by.
"""

import numpy as np
from scipy import linalg

from unswayed._typing import FloatArray, IntArray
from unswayed.models.gradient.problem import GradientProblem, Labels

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
