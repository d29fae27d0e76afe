"""Training rows in memory, cut into pieces, to be compared with the engine that sees them whole."""

import itertools
from dataclasses import dataclass

import numpy as np

from unswayed.engines.passes import StreamedEngine
from unswayed.engines.passes.training import PassesScan, Reader, SumUp
from unswayed.engines.protocol import Precision
from unswayed.engines.selection import ExactEngine
from unswayed.labels.bias import LabelBias
from unswayed.models.ridge.learners import LeastSquares
from unswayed.models.ridge.summed import Design, SummedRidge
from unswayed.pieces.passes import LocalPasses
from unswayed.pieces.pieces import HeldPiece


@dataclass(frozen=True)
class AsTheyAre:
    """Features are numbers already."""

    def features(self, rows):
        return rows


def cut(X, y, boundaries):
    """Return pieces of arrays."""
    ends = [0, *sorted(boundaries), len(y)]
    return [
        HeldPiece(f"part {at}", X[start:stop], y[start:stop])
        for at, (start, stop) in enumerate(itertools.pairwise(ends))
    ]


def streamed(X, y, bias, boundaries=(), *, alpha=1.0, fit_intercept=True, step=None, threads=1):
    """Return a streamed engine, and the solution behind it."""
    pieces = cut(X, y, boundaries)
    features = X.toarray() if hasattr(X, "toarray") else X
    centre = features.mean(axis=0)
    if hasattr(X, "toarray"):
        centre = np.zeros(X.shape[1])
    peak = np.abs(features - centre).max(axis=0)
    design = Design.of(centre, peak, alpha=alpha, fit_intercept=fit_intercept)
    reader = Reader(AsTheyAre(), design, bias)
    passes = LocalPasses(pieces, threads)
    task = SumUp.of(reader, np.array([piece.rows.shape[0] for piece in pieces]))
    if step is not None:
        task = SumUp(reader, task.starts, step)
    sums = passes.run(task)
    sample = sums.sampled(design.width)
    learner = SummedRidge(sums.rows, design, alpha=alpha, examples=sample.design)
    precision = Precision(learner.error_scale, sums.offsets)
    budget = bias.resolve(y, X=X, labels=y).budget
    scan = PassesScan(passes, reader)
    engine = StreamedEngine(learner, scan, budget, precision, sample, sums.offsets.largest)
    return engine, learner.solution()


def whole(X, y, bias, *, alpha=1.0, fit_intercept=True):
    """Return the engine that has all rows, and the solution behind it."""
    learner = LeastSquares(X, alpha=alpha, fit_intercept=fit_intercept)
    return ExactEngine(learner, bias.resolve(y, X=X, labels=y)), learner.solve(y)


__all__ = ["LabelBias", "cut", "streamed", "whole"]
