"""The paper's search for the minimum k in plain NumPy: find the largest, flip, check, repeat."""

import numpy as np


class PaperLoop:
    """Everything it needs of the training set is prepared beforehand, as in the paper."""

    def __init__(self, X: np.ndarray, y: np.ndarray, alpha: float) -> None:
        self.C = np.linalg.solve(X.T @ X + alpha * np.eye(X.shape[1]), X.T)
        self.y = y

    def minimum_budget(self, test: np.ndarray) -> float:
        z = test @ self.C
        labels = self.y.copy()
        positive = z @ labels > 0.5
        # What flipping each label does towards the other side of the threshold.
        gain = np.where(labels == 1, -z, z) * (-1 if positive else 1)
        for flips in range(1, len(labels) + 1):
            largest = int(np.argmax(gain))
            if gain[largest] <= 0:
                return np.inf
            labels[largest] = 1 - labels[largest]
            gain[largest] = 0
            if (z @ labels > 0.5) != positive:
                return flips
        return np.inf
