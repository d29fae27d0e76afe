"""Precision: how far computed reaches may be from the true ones, budget by budget."""

import math

import numpy as np

from unswayed._core.compression import Entries
from unswayed._core.rounding import SAFETY, TINY, UNIT, exact_dots
from unswayed._typing import BoolArray, FloatArray
from unswayed.bias import ResolvedBias
from unswayed.learners.protocol import Learner

RELATIVE = 4.0 * UNIT
"""Of a reach: its offsets are scaled, multiplied and summed, one rounding each."""


class Precision:
    """Bounds on |computed reach - true reach|, for one learner under one bias.

    Of k labels, each errs by its offset times the error of its influence. With o_i the larger
    end of label i's interval and an influence error e + f as in `Accuracy`, Cauchy-Schwarz gives
    Σ o_i|e_i| <= root·size·√(Σ o_i² weight_i) and Σ o_i|f_i| <= size·Σ o_i entry_i, both over
    any k labels: at most k times the largest term, and at most the sum of all.
    """

    def __init__(self, learner: Learner, bias: ResolvedBias) -> None:
        accuracy = learner.accuracy
        offset = np.maximum(-bias.lower, bias.upper)
        self.n_movable = int(np.count_nonzero(offset))
        self._unit = float(offset.max(initial=0.0)) or 1.0
        offset = offset / self._unit  # at most 1: squares neither over- nor underflow
        squares = offset * offset * accuracy.weight
        terms = offset * accuracy.entry
        self._squares = float(squares.max(initial=0.0)), float(squares.sum())
        self._terms = float(terms.max(initial=0.0)), float(terms.sum())
        self._root = accuracy.root
        self._given = accuracy.root == 0.0 and not accuracy.entry.any()

    @property
    def proven(self) -> bool:
        """Whether anything is proven at all."""
        return math.isfinite(self._root)

    @property
    def root_error(self) -> float:
        """At least √(Σ (o_i·error_i)²) over all labels, per unit of size."""
        return SAFETY * (self._unit * (self._root * math.sqrt(self._squares[0]) + self._terms[1]))

    def errors(self, sizes: FloatArray, budget: FloatArray | float) -> FloatArray:
        """Bounds on the errors of reaches of `budget` labels, for rows of these sizes.

        The relative error that every reach has beside these is `RELATIVE`.
        """
        k = np.minimum(budget, self.n_movable)
        with np.errstate(invalid="ignore", over="ignore"):
            squares = np.sqrt(np.minimum(k * self._squares[0], self._squares[1]))
            terms = np.minimum(k * self._terms[0], self._terms[1])
            # Of an offset that is subnormal, scaling and products lose digits: TINY each.
            per_size = SAFETY * (self._unit * (self._root * squares + terms) + k * TINY)
            found = sizes * per_size + k * TINY
        return np.where((sizes == 0) | (k == 0), 0.0, np.where(np.isnan(found), np.inf, found))

    def exact_rows(self, z: FloatArray, entries: Entries) -> BoolArray:
        """Rows whose reaches are exact: influence is given, and no product or sum rounds."""
        if not self._given:
            return np.zeros(len(z), dtype=bool)
        return exact_dots(z, entries.lower, entries.n_lower) & exact_dots(
            z, entries.upper, entries.n_upper
        )
