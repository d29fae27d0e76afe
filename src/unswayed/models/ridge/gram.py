"""Weighted Gram matrices, summed in blocks because short sums round less than long ones."""

from collections.abc import Iterator

import numpy as np

from unswayed._core.rounding import gamma
from unswayed._typing import FloatArray, Matrix

_BLOCK = 1024


def _blocks(n_rows: int) -> Iterator[slice]:
    for start in range(0, n_rows, _BLOCK):
        yield slice(start, start + _BLOCK)


def roundings(n_rows: int) -> int:
    """Return how many roundings follow one another in the sums of `weighted_gram` and `moment`."""
    return min(n_rows, _BLOCK) + -(-n_rows // _BLOCK)


def summation(n_rows: int) -> float:
    """Return the relative error of the sums that `weighted_gram` and `moment` compute.

    It covers sums within a block and over the blocks, and products of three factors.
    """
    return gamma(roundings(n_rows) + 4)


def weighted_gram(design: Matrix, weight: FloatArray | None) -> FloatArray:
    """Return Σ weight_i d_i d_iᵀ over the rows d_i of `design`."""
    total = np.zeros((design.shape[1], design.shape[1]))
    with np.errstate(over="ignore", invalid="ignore"):
        for here in _blocks(design.shape[0]):
            part = design[here]
            if hasattr(part, "indptr"):
                _add_sparse_gram(total, part, None if weight is None else weight[here])
            elif weight is None:
                total += part.T @ part
            else:
                total += part.T @ (part * weight[here, None])
    return total


def _add_sparse_gram(total: FloatArray, part: Matrix, weight: FloatArray | None) -> None:
    """Add the Gram matrix of a few sparse rows to `total`: where it is 0, nothing is touched."""
    scaled = part
    if weight is not None:
        data = part.data * np.repeat(weight, np.diff(part.indptr))
        scaled = type(part)((data, part.indices, part.indptr), shape=part.shape)
    # Every place occurs once in the product, so that adding by position loses nothing.
    added = (part.T @ scaled).tocoo()
    total[added.row, added.col] += added.data


def moment(design: Matrix, values: FloatArray) -> FloatArray:
    """Return Σ values_i d_i over the rows d_i of `design`."""
    total = np.zeros(design.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        for here in _blocks(design.shape[0]):
            total += design[here].T @ values[here]
    return total
