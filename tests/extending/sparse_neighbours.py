"""Nearest neighbours with CSR influence: the cost is that of the neighbours, not of all rows."""

import numpy as np
from scipy import sparse
from sklearn.neighbors import KNeighborsRegressor

from unswayed.models.family import Family, register
from unswayed.models.smoother import GivenInfluence


class SparseNearest(KNeighborsRegressor):
    """Known by its own type: that of scikit-learn has a family of its own."""


def _learner(model, features, sample_weight):
    def influence(rows):
        near = model.kneighbors(rows, return_distance=False)
        start = np.arange(0, near.size + 1, near.shape[1])
        share = np.full(near.size, 1.0 / near.shape[1])
        found = sparse.csr_array((share, near.ravel(), start), shape=(len(rows), len(features)))
        found.sort_indices()
        return found

    return GivenInfluence(len(features), influence, sparse=True)


register(Family((SparseNearest,), learner=_learner))
