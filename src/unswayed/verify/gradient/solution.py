"""The solution for given labels, enclosed around parameters that Newton's method finds.

Where no margin moves by more than ¼ from those of θ, slopes are at least e^-¼ times those at θ, and
so is every matrix H̄ of secants. Along the path on which the equations are missed by less and less
of what θ misses them by, ρ, margins move by √(aᵀH̄⁻¹a · ρᵀH̄⁻¹ρ) at most; if that is below ¼ for
every row, the path stays there and ends at the solution.
"""

from dataclasses import dataclass

import numpy as np

from unswayed.verify.floating.rounding import SAFETY, TINY, FloatArray, UnprovenError, gamma
from unswayed.verify.gradient.functions import SECANT
from unswayed.verify.gradient.inverse import inverse
from unswayed.verify.gradient.problem import Labels, Missed, Problem, forms

_NEAR = 0.25
_FACTOR = 1.2841  # more than e^¼
_STEPS = 50
_HALVES = 30


@dataclass(frozen=True, slots=True)
class Solution:
    """A solution near some parameters."""

    parameters: FloatArray
    above: FloatArray  # No inverse of a matrix of secants is above it, up to roundings
    residual: float  # Bound on √(ρᵀ H̄⁻¹ ρ)

    def scores(self, directions: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return bounds on scores."""
        value, error = score(directions, self.parameters)
        away = forms(directions, self.above, np.abs(self.above)) * self.residual
        away = (away + error) * SAFETY
        return np.nextafter(value - away, -np.inf), np.nextafter(value + away, np.inf)


def score(directions: FloatArray, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return scores, and bounds on their rounding."""
    error = gamma(len(parameters) + 2) * (np.abs(directions) @ np.abs(parameters))
    return directions @ parameters, error * SAFETY + TINY


def residual(missed: Missed, above: FloatArray) -> float:
    """Return a bound on √(ρᵀ H⁻¹ ρ)."""
    size = np.abs(above)
    parts = np.stack((missed.vector, missed.error))
    own, lost = forms(parts, above, size)[0], forms(parts, size, size)[1]
    return float(own + lost) * SAFETY


def newton(problem: Problem, labels: Labels, start: FloatArray) -> FloatArray:
    """Return parameters that nearly solve the equations; nothing is proven of them."""
    at, missed = start, problem.missed(start, labels)
    for _ in range(_STEPS):
        margins, _ = problem.margins(at)
        curvature = labels.weight * problem.link.secant(margins, np.zeros_like(margins))
        matrix = problem.gram(curvature).matrix
        if not (np.isfinite(matrix).all() and np.isfinite(missed.vector).all()):
            break
        step = np.linalg.lstsq(matrix, missed.vector, rcond=None)[0]
        size = float(np.linalg.norm(missed.vector))
        if size <= float(np.linalg.norm(missed.error)):  # rounding rules
            break
        for _ in range(_HALVES):
            found = problem.missed(at - step, labels)
            if np.linalg.norm(found.vector) < size:
                break
            step = step / 2
        else:
            break
        at, missed = at - step, found
    return at


def enclosed(problem: Problem, labels: Labels, start: FloatArray) -> Solution:
    """Return the solution for given labels."""
    at = newton(problem, labels, start)
    margins, error = problem.margins(at)
    slopes = problem.link.secant(margins, np.zeros_like(margins))
    slopes = slopes * (1.0 - 2.0 * SECANT - 2.0 * error - labels.doubt)
    found = inverse(problem.gram(labels.weight * np.maximum(slopes, 0.0)))
    above = found.above * _FACTOR
    rho = residual(problem.missed(at, labels), above)
    widest = forms(problem.design, above, np.abs(above)).max(initial=0.0) * rho
    if not widest * SAFETY < _NEAR:
        raise UnprovenError("the solution could not be enclosed")
    return Solution(at, above, rho)
