"""What the mathematics is given: arrays, all of them finite doubles."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from unswayed.verify.data import Data
from unswayed.verify.doubles import SAFETY, TINY, UNIT, FloatArray, IntArray, UnprovenError
from unswayed.verify.limits import CertificateError
from unswayed.verify.matrix import Matrix
from unswayed.verify.question import Bias


@dataclass(frozen=True, slots=True)
class Given:
    """Training rows, their labels and which of these may be wrong, and what is asked."""

    kind: str  # of the model
    train: FloatArray  # Features; the numbers of a kernel; no columns for a smoother
    labels: FloatArray
    weights: FloatArray
    lower: FloatArray
    upper: FloatArray
    alpha: float
    intercept: bool
    tests: FloatArray | None  # None where claims are about coefficients
    # Sums of coefficients that claims are about; empty if they are about coefficients
    contrasts: list[dict[str, Any]]
    balanced: bool  # Whether scores are measured from the weighted mean of the labels

    @classmethod
    def of(cls, document: dict[str, Any], data: Data, bias: Bias) -> "Given":
        """Return the data of a certificate as arrays, without copying them."""
        model = document["model"]
        contrasts = document["question"].get("contrasts", [])
        for contrast in contrasts:
            for weight in contrast["weights"]:
                as_double(weight)
        return cls(
            kind=model["kind"],
            train=_array(data.train or Matrix.of_no_columns(len(data.labels))),
            labels=np.frombuffer(data.labels),
            weights=np.frombuffer(bias.weights),
            lower=np.frombuffer(bias.lower),
            upper=np.frombuffer(bias.upper),
            alpha=as_double(model.get("alpha", model.get("penalty", 0))),
            intercept=model.get("intercept", False),
            tests=None if data.tests is None else _array(data.tests),
            contrasts=contrasts,
            balanced=document["question"].get("threshold") == "balanced",
        )

    def subjects(self, numbers: IntArray) -> FloatArray:
        """Return rows φ, such that claims are about φ·(coefficients, intercept)."""
        if self.tests is not None:
            rows = self.tests[numbers]
            ends = np.ones(len(rows))
        else:
            rows, ends = np.zeros((len(numbers), self.train.shape[1])), np.zeros(len(numbers))
            for place, at in enumerate(numbers):
                contrast = self.contrasts[at] if self.contrasts else {"features": at, "weights": 1}
                rows[place, contrast["features"]] = contrast["weights"]
                ends[place] = float(contrast.get("intercept", False))
        return np.column_stack((rows, ends)) if self.intercept else rows

    def mean_label(self) -> tuple[float, float, float]:
        """Return the weighted mean of the labels, its error, and the share of a unit of weight."""
        try:
            total = math.fsum(self.weights)
            shares = self.weights / total * self.labels
            mean, size = math.fsum(shares), math.fsum(np.abs(shares))
        except (OverflowError, ValueError):
            raise UnprovenError("the mean of the labels overflows") from None
        if not math.isfinite(total * size):
            raise UnprovenError("the mean of the labels overflows")
        return mean, 6 * UNIT * size * SAFETY + len(shares) * TINY, 1.0 / total


def as_double(number: float) -> float:
    """Return a number of the file as a double; raise if it is an integer that is none."""
    if float(number) != number:
        raise CertificateError(f"{number} is not a double")
    return float(number)


def distinct(*columns: FloatArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return which rows of a table differ, bit by bit."""
    table = np.ascontiguousarray(np.column_stack(columns))
    table += 0.0  # -0 is 0
    keys = table.view(np.dtype((np.void, table.shape[1] * table.itemsize)))[:, 0]
    _, first, kind, count = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True
    )
    return first, kind, count


def _array(matrix: Matrix) -> FloatArray:
    if not matrix.numbers:
        return np.zeros((len(matrix), matrix.width))
    return np.frombuffer(matrix.numbers).reshape(len(matrix), matrix.width)
