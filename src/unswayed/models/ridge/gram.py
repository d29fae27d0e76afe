"""Weighted Gram matrices, summed in blocks because short sums round less than long ones."""

from collections.abc import Iterator

import numpy as np

from unswayed._core.rounding import gamma
from unswayed._typing import FloatArray, Matrix
from unswayed.doubles import dense

_BLOCK = 1024


def _blocks(n_rows: int) -> Iterator[slice]:
    for start in range(0, n_rows, _BLOCK):
        yield slice(start, start + _BLOCK)


def summation(n_rows: int) -> float:
    """Return the relative error of the sums that `weighted_gram` and `moment` compute.

    It covers sums within a block and over the blocks, and products of three factors.

    Parameters
    ----------
    n_rows : int
        Number of rows that are summed over.

    Returns
    -------
    float
    """
    return gamma(min(n_rows, _BLOCK) + -(-n_rows // _BLOCK) + 4)


def weighted_gram(design: Matrix, weight: FloatArray | None) -> FloatArray:
    """Return Σ weight_i d_i d_iᵀ over the rows d_i of `design`.

    Parameters
    ----------
    design : (n, m) matrix
    weight : (n,) array or None
        All 1 if None.

    Returns
    -------
    (m, m) array
    """
    total = np.zeros((design.shape[1], design.shape[1]))
    with np.errstate(over="ignore", invalid="ignore"):
        for here in _blocks(design.shape[0]):
            part = design[here]
            if weight is None:
                total += dense(part.T @ part)
            elif hasattr(part, "indptr"):
                total += dense(part.T @ part.multiply(weight[here, None]).tocsr())
            else:
                total += part.T @ (part * weight[here, None])
    return total


def moment(design: Matrix, values: FloatArray) -> FloatArray:
    """Return Σ values_i d_i over the rows d_i of `design`.

    Parameters
    ----------
    design : (n, m) matrix
    values : (n,) array

    Returns
    -------
    (m,) array
    """
    total = np.zeros(design.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        for here in _blocks(design.shape[0]):
            total += design[here].T @ values[here]
    return total
