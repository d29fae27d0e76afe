"""Standard errors of coefficients: by how much chance in the sample moves them.

They are textbook formulas in doubles, beside the proven ranges and no part of any proof. Estimates
are c·y with known c (models that are linear in their labels), or solve equations whose derivative
is known (logistic and Poisson regression). With a penalty they are about the penalised coefficient:
what the estimate would be on average over such samples.
"""

import numpy as np

from unswayed._core.influence import WeightRows
from unswayed._typing import FloatArray
from unswayed.models.learner import LinearInLabels
from unswayed.models.ridge.verified import weighted_gram
from unswayed.results.groups import StandardErrors

_BLOCK = 64
FEW_DEGREES = 1e-6  # of the rows: fewer degrees of freedom are rounding errors of none

PIECES = "the training rows are read in pieces, and residuals would take another pass"
WEIGHTED = "the training rows are weighted, and what the weights mean decides the formula"
_UNKNOWN = "how many parameters this kind of model has is not known"
SINGULAR = "columns depend on one another so nearly that doubles tell nothing of the coefficients"
SATURATED = "the model has as many parameters as there are training rows"


def linear_errors(learner: LinearInLabels, targets: FloatArray, rows: WeightRows) -> StandardErrors:
    """Return standard errors of numbers c·y, for labels y with errors of equal variance σ²: σ‖c‖.

    σ² is estimated by the sum of squared residuals over n less the trace of the hat matrix.
    """
    count, used = len(rows), learner.effective_parameters()
    if learner.specification.sample_weight is not None:
        return StandardErrors.missing(count, WEIGHTED)
    features = learner.specification.matrix
    if used is None or features is None:
        return StandardErrors.missing(count, _UNKNOWN)
    if not learner.error_scale.proven:
        return StandardErrors.missing(count, SINGULAR)
    degrees = learner.n_rows - used
    if degrees <= FEW_DEGREES * learner.n_rows:
        return StandardErrors.missing(count, SATURATED)
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
