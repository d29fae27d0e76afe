"""A model family of somebody else's: the mean label of the nearest training rows."""

import numpy as np
from sklearn.neighbors import KNeighborsRegressor

from unswayed.models.family import Family, register
from unswayed.models.smoother import GivenInfluence


class Nearest(KNeighborsRegressor):
    """Known by its own type: that of scikit-learn has a family of its own."""


def _learner(model, features, sample_weight):
    def influence(rows):
        near = model.kneighbors(rows, return_distance=False)
        found = np.zeros((len(rows), len(features)))
        np.put_along_axis(found, near, 1.0 / near.shape[1], axis=1)
        return found

    return GivenInfluence(len(features), influence)


register(Family((Nearest,), learner=_learner))
