"""Regions: boxes of margins that no admissible labels lead out of, and what follows inside.

Let θ̂ nearly solve the equations of the labels as they are, and Δ = θ - θ̂ for a solution θ of other
labels. Subtracting the equations gives H̄ Δ = Σ p_j a_j - ρ, with pushes p_j of the changed labels,
the small residual ρ of θ̂, and H̄ = Σ w_i s_i a_i a_iᵀ + Λ, where s_i is the secant slope of row i
between its old and its new margin. If all margins move within a box, every s_i lies between known
bounds, so that H_lo ≼ H̄ ≼ H_up and H_up⁻¹ ≼ H̄⁻¹ ≼ H_lo⁻¹. With M halfway between these inverses
and D half their difference, |xᵀ H̄⁻¹ a - xᵀ M a| <= √(xᵀDx · aᵀDa).

If the bounds that follow for all rows lie strictly inside the box, no admissible labels lead out of
it: along y + tδ solutions move continuously, and none is on the border.
"""

import math

import numpy as np

from unswayed._core.parallel import block_starts, run_blocks
from unswayed._core.rounding import SAFETY, UNIT, gamma
from unswayed._typing import FloatArray, Matrix
from unswayed.certifiers.secant.moves import Moves
from unswayed.doubles import dense
from unswayed.models.gradient.problem import Centre, GradientProblem, Labels
from unswayed.models.ridge.scaling import row_norms
from unswayed.models.ridge.verified import VerifiedInverse

_LEAST = 2.0**-400  # added to every row's error: underflow disappears in it


class Region:
    """A box of margin changes, and bounds on scores for all labels that stay inside it."""

    def __init__(
        self,
        problem: GradientProblem,
        labels: Labels,
        centre: Centre,
        moves: Moves,
        down: FloatArray,
        up: FloatArray,
    ) -> None:
        self.problem, self.labels, self.centre = problem, labels, centre
        self.down, self.up, self.base = down, up, moves
        low, high = problem.link.slopes(centre.margins, -down, up, centre.error)
        self.low, self.high = self.weighted(low, high)
        factor = problem.push_factor(
            centre.margins - down - centre.error, centre.margins + up + centre.error
        )
        self.moves = moves.pushing(factor * (1.0 + problem.label_error) * (1.0 + 4.0 * UNIT))
        steep = VerifiedInverse(*problem.hessian(self.high))
        self.flat = VerifiedInverse(*problem.hessian(self.low))
        self.proven = steep.proven and self.flat.proven and math.isfinite(centre.residual)
        if not self.proven:
            self._middle = self._half = np.zeros_like(self.flat.inverse)
            self._rounding = math.inf
            self.error = np.full(len(centre.margins), np.inf)
            return
        # (1 - d) G <= H⁻¹ <= G / (1 - d), whatever the norm in which d bounds 1 - HG: the
        # eigenvalues of HG are real.
        upper, lower = 1.0 / (1.0 - self.flat.defect), 1.0 / (1.0 + steep.defect)
        wide, narrow = upper * SAFETY * self.flat.inverse, lower / SAFETY * steep.inverse
        self._middle, self._half = (wide + narrow) / 2, (wide - narrow) / 2
        norms = self.flat.norm * upper + steep.norm
        # What rounding does to rows, to these matrices, to products of both, to quadratic forms.
        self._rounding = math.sqrt(SAFETY * gamma(4 * problem.n_parameters + 20) * norms)
        self.error = self.errors(problem.design)

    def weighted(self, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return bounds on slopes times the weights of the distinct rows, rounded outwards."""
        lost = self.problem.label_error + 4.0 * UNIT
        weight = self.labels.weight
        with np.errstate(invalid="ignore"):
            high = np.where(weight > 0, weight * high * (1.0 + lost), 0.0)
        return weight * low * (1.0 - lost), high

    def errors(self, directions: Matrix) -> FloatArray:
        """Return factors; two rows' product bounds the error of xᵀ M a, rounding included."""
        with np.errstate(invalid="ignore", over="ignore"):
            image = np.asarray(directions @ self._half)
            form = np.einsum("ij,ij->i", image, dense(directions))
            rounding = 2.0 * self._rounding * row_norms(directions)
            found = np.hypot(np.sqrt(np.maximum(form, 0.0)), rounding)
        return np.asarray(SAFETY * found + _LEAST)

    def residual(self, directions: Matrix) -> FloatArray:
        """Return bounds on what the residual of the centre does to scores."""
        return SAFETY * self.flat.bound * self.centre.residual * row_norms(directions)

    def reach(self, directions: Matrix, labels: int) -> tuple[FloatArray, FloatArray]:
        """Return how far so many labels can raise and lower scores, seen from the centre."""
        k = directions.shape[0]
        if not self.proven:
            return np.full(k, np.inf), np.full(k, np.inf)
        up, down = np.empty((2, k))
        own, size = self.errors(directions), self.problem.design.shape[0]
        extra = self.residual(directions)

        def work(start: int, stop: int, buffer: FloatArray) -> None:
            here = slice(start, stop)
            middle = np.asarray(directions[here] @ self._middle)
            rise = self.problem.rows(middle, buffer)
            error = own[here, None] * self.error
            fall = error - rise
            rise += error
            up[here] = self.moves.most(self.moves.effects(rise, fall), labels)
            down[here] = self.moves.most(self.moves.effects(fall, rise), labels)

        run_blocks(block_starts(k, 8 * size), size, work)
        return np.nextafter(up + extra, np.inf), np.nextafter(down + extra, np.inf)
