"""A model whose alpha the labels choose among candidates: a row has the margins of all of them."""

import numpy as np

from tests.extending.several_classes import ridge_influence
from unswayed.labels.bias import Linear
from unswayed.margins import Margin


def candidate_margins(X, y, tests, alphas, lower, upper):
    """Margins of the decision ``score > 0`` by the first candidate, whichever is chosen."""
    decided = ridge_influence(X, tests, alphas[0]) @ y > 0
    margins = []
    for alpha in alphas:
        influence = ridge_influence(X, tests, alpha)
        for positive in (True, False):
            rows = np.flatnonzero(decided == positive)
            sign = -1.0 if positive else 1.0
            functional = Linear(sign * influence[rows], y, lower, upper)
            margins.append(Margin(functional, touching=positive, rows=rows))
    return decided, margins
