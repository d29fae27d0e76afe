"""The floating-point stage: facts with error bounds, for as many claims as bounds can decide."""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from unswayed.verify.data import Bias, Data
from unswayed.verify.floating.dual import KernelRidge, Smoother, WideRidge
from unswayed.verify.floating.enclosure import Enclosure
from unswayed.verify.floating.facts import BoundedFacts
from unswayed.verify.floating.given import Entries, Given, Solved
from unswayed.verify.floating.reach import prefixes
from unswayed.verify.floating.ridge import TallRidge
from unswayed.verify.floating.rounding import (
    SAFETY,
    TINY,
    UNIT,
    FloatArray,
    IntArray,
    UnprovenError,
    is_ordinary,
)

_BLOCK = 2**21  # influences at a time
_SOLVED = 2**19  # unknowns that are solved for at a time


class _Model(Protocol):
    entries: Entries
    n_unknowns: int

    def solve(self, numbers: IntArray) -> Solved: ...

    def influence(self, found: Enclosure, /) -> tuple[FloatArray, FloatArray]: ...


class FloatingModel:
    """Bounds what is true of rows, in doubles."""

    def __init__(self, document: dict[str, Any], data: Data, bias: Bias) -> None:
        if not is_ordinary():
            raise UnprovenError("this thread does not round to nearest, or flushes small numbers")
        rule = document["question"]
        self._task, self._budget = rule["task"], bias.budget
        self._balanced = rule.get("threshold") == "balanced"
        mark = 0 if self._balanced else rule.get("threshold", rule.get("radius", 0))
        self._mark = _as_double(mark)
        self._given = read_given(document, data, bias)
        with np.errstate(all="ignore"):
            self._model = _model(document["model"]["kind"], self._given)
            self._mean = self._given.mean_label() if self._balanced else (0.0, 0.0, 0.0)

    def facts(self, numbers: Sequence[int], labels: Sequence[int]) -> Iterator[BoundedFacts | None]:
        """Yield what is known of test rows, coefficients or contrasts."""
        # Equations are solved for many at once; influence takes more room.
        many = max(1, _SOLVED // self._model.n_unknowns)
        for start in range(0, len(numbers), many):
            part = slice(start, start + many)
            with np.errstate(all="ignore"):
                solved = self._model.solve(np.asarray(numbers[part]))
            yield from self._block(solved, labels[part])

    def _block(self, solved: Solved, labels: Sequence[int]) -> Iterator[BoundedFacts | None]:
        step = max(1, _BLOCK // len(self._model.entries.count))
        for start in range(0, len(labels), step):
            part = slice(start, start + step)
            with np.errstate(all="ignore"):
                found = self._facts(
                    solved.solution.columns(part), solved.scores.part(part), labels[part][-1]
                )
            yield from found if is_ordinary() else [None] * len(found)

    def _facts(
        self, solution: Enclosure, scores: Enclosure, labels: int
    ) -> list[BoundedFacts | None]:
        influence, error = self._model.influence(solution)
        if self._balanced:
            influence, error, scores = self._from_the_mean(influence, error, scores)
        known = np.isfinite(scores.high) & np.isfinite(scores.low) & np.isfinite(scores.error)
        known &= np.isfinite(influence).all(axis=1) & np.isfinite(error).all(axis=1)
        entries = self._model.entries
        falls, rises = (prefixes(sign * influence, error, entries, labels) for sign in (-1.0, 1.0))
        ends = zip(*(end.tolist() for end in scores.ends()), strict=True)
        return [
            BoundedFacts(self._task, self._mark, score, *steps, self._budget, *rows, entries)
            if sure else None
            for sure, score, steps, rows in zip(
                known, ends, zip(falls, rises, strict=True), zip(influence, error, strict=True),
                strict=True,
            )
        ]  # fmt: skip

    def influence(
        self, numbers: Sequence[int]
    ) -> Iterator[tuple[FloatArray, FloatArray, Enclosure]]:
        """Yield the influence of labels on test rows, with its error, and their scores."""
        n_entries = len(self._model.entries.count)
        step = max(1, min(_BLOCK // n_entries, _SOLVED // self._model.n_unknowns))
        for start in range(0, len(numbers), step):
            with np.errstate(all="ignore"):
                solved = self._model.solve(np.asarray(numbers[start : start + step]))
                influence, error = self._model.influence(solved.solution)
                scores = solved.scores
                if self._balanced:
                    influence, error, scores = self._from_the_mean(influence, error, scores)
            if not is_ordinary():
                raise UnprovenError("this thread no longer rounds to nearest")
            yield influence, error, scores

    @property
    def entries(self) -> Entries:
        """Training labels, those that count and move alike taken together."""
        return self._model.entries

    def _from_the_mean(
        self, influence: FloatArray, error: FloatArray, scores: Enclosure
    ) -> tuple[FloatArray, FloatArray, Enclosure]:
        """Return the same for scores that are measured from the mean of the labels."""
        mean, doubt, per_weight = self._mean
        share = self._model.entries.weight * per_weight
        less = influence - share
        error = error + 4 * UNIT * (np.abs(influence) + share + np.abs(less))
        return less, error * SAFETY + TINY, scores.plus(np.full_like(scores.high, -mean), doubt)


def _as_double(number: float) -> float:
    """Return a number of the file as a double; raise if it is an integer that is none."""
    if float(number) != number:
        raise UnprovenError("a number is not a double")
    return float(number)


def read_given(document: dict[str, Any], data: Data, bias: Bias) -> Given:
    """Return the data of a certificate as arrays, without copying them."""
    model = document["model"]
    contrasts = document["question"].get("contrasts", [])
    for contrast in contrasts:
        for weight in contrast["weights"]:
            _as_double(weight)
    return Given(
        train=np.zeros((len(data.labels), 0)) if data.train is None else data.train,
        labels=np.frombuffer(data.labels),
        weights=np.frombuffer(bias.weights),
        lower=np.frombuffer(bias.lower),
        upper=np.frombuffer(bias.upper),
        alpha=_as_double(model.get("alpha", model.get("penalty", 0))),
        intercept=model.get("intercept", False),
        tests=data.tests,
        contrasts=contrasts,
        balanced=document["question"].get("threshold") == "balanced",
    )


def _model(kind: str, given: Given) -> _Model:
    if kind == "smoother":
        return Smoother(given)
    if kind == "kernel-ridge":
        return KernelRidge(given)
    n_rows, n_columns = given.train.shape
    return TallRidge(given) if n_columns + int(given.intercept) <= n_rows else WideRidge(given)
