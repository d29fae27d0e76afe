"""Columns that depend on one another: what their coefficients are, the data do not say."""

from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.csgraph import connected_components

from unswayed._core.parallel import few_blas_threads
from unswayed._typing import BoolArray, FloatArray, Matrix
from unswayed.doubles import dense

_ROWS = 4096  # factorised at a time
_NEARLY = 1e-10  # share of the largest eigenvalue: what depends to seven digits
_EXACTLY = 1e-12  # share of the largest singular value: what depends up to rounding
_MOST = 2000  # columns that are looked at where it is not needed for a verdict
_INVOLVED = 1e-9  # squared share of a coefficient that is free


@dataclass(frozen=True, slots=True, eq=False)
class Dependencies:
    """Directions in which coefficients can move without changing any fitted value."""

    projector: FloatArray  # Onto these directions, in units of the columns' spread
    constant: BoolArray  # Columns that are the same in every row
    mean: FloatArray  # Of the columns: their mean, and the unit of their spread
    scale: FloatArray  # Of the columns: their mean, and the unit of their spread
    searched: bool = True  # False if there are too many columns to look for others

    @property
    def identified(self) -> BoolArray:
        """Which coefficients no such direction moves."""
        return np.asarray(np.diag(self.projector) <= _INVOLVED)

    def identifies(self, point: FloatArray) -> bool:
        """Return whether no such direction moves the prediction for a row."""
        away = (point - self.mean) / self.scale
        moved = self.projector @ away
        return bool(moved @ moved <= _INVOLVED * (away @ away))

    def groups(self) -> list[list[int]]:
        """Return columns that depend on one another; constant columns depend on none."""
        joined = np.abs(self.projector) > np.sqrt(_INVOLVED)
        count, group = connected_components(sparse.csr_array(joined), directed=False)
        free = ~self.identified & ~self.constant
        found = [np.flatnonzero((group == each) & free).tolist() for each in range(count)]
        return [each for each in found if len(each) > 1]


def dependencies(columns: Matrix, *, exactly: bool) -> Dependencies:
    """Find columns that depend on one another, up to a constant."""
    n_rows, width = columns.shape
    mean = np.asarray(columns.mean(axis=0)).ravel()
    low, high = (
        np.asarray(dense(end)).ravel() for end in (columns.min(axis=0), columns.max(axis=0))
    )
    constant = np.asarray(low == high)
    if width > _MOST and not exactly:
        free, unit = np.diag(constant.astype(float)), np.ones(width)
        return Dependencies(free, constant, mean, unit, searched=False)
    gram = np.asarray(dense(columns.T @ columns)) / n_rows - np.outer(mean, mean)
    spread = np.sqrt(np.maximum(np.diag(gram), 0.0))
    scale = np.where(constant | (spread == 0), 1.0, spread)
    gram = gram / np.outer(scale, scale)
    gram[constant, :] = gram[:, constant] = 0.0
    with few_blas_threads(width):
        values, vectors = np.linalg.eigh(gram)
    flat = values <= _NEARLY * values.max(initial=0.0)
    if exactly and flat.any():
        root = _triangle(columns, np.where(constant, low, mean), scale)
        _, singular, right = np.linalg.svd(root)
        found = np.zeros(width)
        found[: len(singular)] = singular
        vectors, flat = right.T, found <= _EXACTLY * found.max(initial=0.0)
    free = vectors[:, flat]
    return Dependencies(free @ free.T, constant, np.where(constant, low, mean), scale)


def _triangle(columns: Matrix, mean: FloatArray, scale: FloatArray) -> FloatArray:
    """Return the triangular factor of the centred and scaled columns."""
    root = np.empty((0, len(mean)))
    for start in range(0, columns.shape[0], _ROWS):
        block = (dense(columns[start : start + _ROWS]) - mean) / scale
        root = np.asarray(linalg.qr(np.vstack((root, block)), mode="r")[0])[: len(mean)]
    return root
