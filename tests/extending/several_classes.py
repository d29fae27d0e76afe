"""Several classes, as scikit-learn's RidgeClassifier has them: one margin per rival class."""

import numpy as np

from unswayed.labels.bias import Linear
from unswayed.margins import Margin


def ridge_influence(X, tests, alpha):
    """What each training label does to the score of each test row, without an intercept."""
    return tests @ np.linalg.solve(X.T @ X + alpha * np.eye(X.shape[1]), X.T)


def class_margins(influence, labels, n_classes):
    """Margins of each row's winner against every rival; any label may become any other class.

    With codes of +1 for a class and -1 for all others, a label of class a adds z·t to the rival's
    lead: t is 2 for the rival, -2 for the winner, and 0 for every other class.
    """
    codes = np.where(labels[:, None] == np.arange(n_classes), 1.0, -1.0)
    scores = influence @ codes
    winner = np.argmax(scores, axis=1)
    margins = []
    for first in range(n_classes):
        rows = np.flatnonzero(winner == first)
        for rival in set(range(n_classes)) - {first}:
            lead = codes[:, rival] - codes[:, first]
            least = np.where((labels == first) & (n_classes < 3), 2.0, -2.0)
            functional = Linear(
                influence[rows],
                lead,
                np.minimum(np.where(labels == first, 0.0, least - lead), 0.0),
                np.maximum(np.where(labels == rival, 0.0, 2.0 - lead), 0.0),
            )
            # A tie goes to the class that comes first.
            margins.append(Margin(functional, touching=rival < first, rows=rows))
    return winner, margins
