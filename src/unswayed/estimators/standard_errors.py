"""Standard errors of coefficients: by how much chance in the sample moves them.

They are textbook formulas in doubles, beside the proven ranges and no part of any proof. Estimates
are c·y with known c (models that are linear in their labels), or solve equations whose derivative
is known (logistic and Poisson regression). With a penalty they are about the penalised coefficient:
what the estimate would be on average over such samples.
"""

import numpy as np

from unswayed._core.influence import WeightRows
from unswayed._typing import FloatArray
from unswayed.engines.region.engine import Directions, SecantEngine
from unswayed.models.learner import Learner
from unswayed.models.ridge.verified import weighted_gram
from unswayed.results.groups import StandardErrors

_BLOCK = 64
_FEW = 1e-6  # of the rows: fewer degrees of freedom are rounding errors of none

PIECES = "the training rows are read in pieces, and residuals would take another pass"
_WEIGHTS = "the training rows are weighted, and what the weights mean decides the formula"
_UNKNOWN = "how many parameters this kind of model has is not known"
_SINGULAR = "columns depend on one another so nearly that doubles tell nothing of the coefficients"
_SATURATED = "the model has as many parameters as there are training rows"


def linear_errors(learner: Learner, targets: FloatArray, rows: WeightRows) -> StandardErrors:
    """Return standard errors of numbers c·y, for labels y with errors of equal variance σ²: σ‖c‖.

    σ² is estimated by the sum of squared residuals over n less the trace of the hat matrix.
    """
    count, used = len(rows), learner.effective_parameters()
    if learner.specification.sample_weight is not None:
        return StandardErrors.missing(count, _WEIGHTS)
    features = learner.specification.matrix
    if used is None or features is None:
        return StandardErrors.missing(count, _UNKNOWN)
    if not learner.error_scale.proven:
        return StandardErrors.missing(count, _SINGULAR)
    degrees = learner.n_rows - used
    if degrees <= _FEW * learner.n_rows:
        return StandardErrors.missing(count, _SATURATED)
    fitted = learner.scores(learner.represent(features), learner.solve(targets)).value
    variance = float(np.sum((targets - fitted) ** 2)) / degrees
    gram = None if learner.design is None else weighted_gram(learner.design, None)
    squares = np.zeros(count)
    for start in range(0, count, _BLOCK):
        here = slice(start, min(start + _BLOCK, count))
        weights = np.asarray(rows.block(here.start, here.stop).values)
        moved = weights if gram is None else weights @ gram
        squares[here] = np.sum(moved * weights, axis=1)
    return StandardErrors(np.sqrt(variance * np.maximum(squares, 0.0)), degrees)


def gradient_errors(engine: SecantEngine, directions: Directions) -> StandardErrors:
    """Return standard errors by H⁻¹ Σ H⁻¹: H with the penalty, Σ the variance of the gradient.

    Each label has the variance that the model gives it: p(1 - p) of a class, the mean of a count.
    """
    problem = engine.problem
    if (problem.weight != 1.0).any() or problem.class_weight != (1.0, 1.0):
        return StandardErrors.missing(len(directions), _WEIGHTS)
    if not engine.proven:
        return StandardErrors.missing(len(directions), _SINGULAR)
    margins = engine.centre.margins
    curvature = engine.labels.weight * problem.link.secant(margins, np.zeros(len(margins)))
    hessian, _ = problem.hessian(curvature)
    spread = hessian - np.diag(problem.penalty)
    try:
        solved = np.linalg.solve(hessian, np.column_stack((directions.rows.T, spread)))
    except np.linalg.LinAlgError:
        return StandardErrors.missing(len(directions), _SATURATED)
    moved, shares = solved[:, : len(directions)], solved[:, len(directions) :]
    if problem.n_rows - np.trace(shares) <= _FEW * problem.n_rows:
        return StandardErrors.missing(len(directions), _SATURATED)
    squares = np.sum(moved * (spread @ moved), axis=0)
    return StandardErrors(directions.scale * np.sqrt(np.maximum(squares, 0.0)), np.inf)
