"""Newton's method for many label vectors at once.

What it returns is proven by nobody here: whoever uses it measures what the equations are off by.
"""

import numpy as np

from unswayed._typing import FloatArray, IntArray
from unswayed.models.gradient.problem import GradientProblem, Labels

_CHORDS = 12  # steps with one matrix for all; what has not converged gets a matrix of its own
_STEPS = 60
_HALVES = 30
_STALLED = 0.5  # of the last step: rounding then rules


def solve_all(
    problem: GradientProblem, labels: Labels, start: FloatArray, inverse: FloatArray
) -> FloatArray:
    """Return parameters that nearly solve the equations of every label vector.

    Parameters
    ----------
    problem : GradientProblem
    labels : Labels
        k vectors.
    start : (k, m) array
    inverse : (m, m) array
        Of a Hessian that is not far from theirs.

    Returns
    -------
    (k, m) array
    """
    found = np.array(start)
    before = np.full(len(found), np.inf)
    going = np.arange(len(found))
    with np.errstate(all="ignore"):
        for _ in range(_CHORDS):
            step = problem.gradient(found[going], labels[going]) @ inverse
            size = np.abs(step).max(axis=1, initial=0.0)
            better = size < _STALLED * before[going]
            found[going[better]] -= step[better]
            before[going] = size
            going = going[better & (size > 0)]
            if not len(going):
                break
        precise = 1e-12 * (1.0 + np.abs(found).max(axis=1, initial=0.0))
    for row in np.flatnonzero(~(before <= precise)).tolist():
        one = Labels(_of(labels.weight, row), _of(labels.total, row))
        origin = found[row] if np.isfinite(found[row]).all() else start[row]
        found[row] = solve(problem, one, origin)
    return found


def _of(values: FloatArray, row: int) -> FloatArray:
    return values if values.ndim == 1 else values[row]


def solve(problem: GradientProblem, labels: Labels, start: FloatArray) -> FloatArray:
    """Return parameters that nearly solve the equations of one label vector.

    Parameters
    ----------
    problem : GradientProblem
    labels : Labels
        A single vector.
    start : (m,) array

    Returns
    -------
    (m,) array
        Where there is no solution, whatever the last step came to.
    """
    at, before = np.array(start), np.inf
    stacked = Labels(labels.weight, labels.total[None])
    gradient = problem.gradient(at[None], stacked)[0]
    with np.errstate(all="ignore"):
        for _ in range(_STEPS):
            matrix, _ = problem.hessian(labels.weight * slopes(problem, at))
            if not (np.isfinite(matrix).all() and np.isfinite(gradient).all()):
                break
            step = np.linalg.lstsq(matrix, gradient, rcond=None)[0]
            size = float(np.abs(step).max(initial=0.0))
            if size <= 1e-15 * (1.0 + np.abs(at).max(initial=0.0)) or size > 1e8:
                break
            norm = np.linalg.norm(gradient)
            for _ in range(_HALVES):
                found = problem.gradient((at - step)[None], stacked)[0]
                if np.linalg.norm(found) < norm:
                    break
                step = step / 2
            else:
                break
            at, gradient = at - step, found
            if size < 1e-6 and size > _STALLED * before:
                break
            before = size
    return at


def slopes(problem: GradientProblem, parameters: FloatArray) -> FloatArray:
    """Return derivatives of the means of the distinct rows, as computed.

    Parameters
    ----------
    problem : GradientProblem
    parameters : (m,) array

    Returns
    -------
    (n,) array
    """
    margins = problem.rows(parameters[None])[0]
    return problem.link.secant(margins, np.zeros(len(margins)))


def changed(
    problem: GradientProblem, labels: Labels, rows: list[IntArray], added: list[FloatArray]
) -> Labels:
    """Return label vectors, each of them after some changes.

    Parameters
    ----------
    problem : GradientProblem
    labels : Labels
        A single vector, as it is.
    rows : list of arrays of int
        For each vector, the distinct rows whose labels change.
    added : list of arrays
        What is added to the weighted labels of these: of classes, the weight of those that become
        the second class less that of those that become the first.

    Returns
    -------
    Labels
        As many vectors as there are lists of changes.
    """
    first, second = problem.class_weight
    total = np.repeat(labels.total[None], len(rows), axis=0)
    weight = labels.weight if first == second else np.repeat(labels.weight[None], len(rows), axis=0)
    for at, (row, amount) in enumerate(zip(rows, added, strict=True)):
        np.add.at(total[at], row, second * amount)
        if first != second:
            np.add.at(weight[at], row, (second - first) * amount)
    return Labels(weight, total)
