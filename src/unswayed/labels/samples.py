"""Labels that were checked: the budget that a checked sample gives, and what answers mean."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unswayed._typing import BoolArray, IntArray
from unswayed.exceptions import BiasError, InputError
from unswayed.inputs import as_doubles
from unswayed.labels.budgets import Budget, Count, Movable, Part, Statement, least_size
from unswayed.labels.groups import Parts, confident


def most_wrong(population: int, checked: int, wrong: int, confidence: Fraction) -> int:
    """Return the most labels that may be wrong in all, given how many of a checked sample are.

    It is the largest number K for which a random sample has at most so many wrong labels with a
    probability above 1 - confidence, by the hypergeometric distribution, in whole numbers. If more
    than K were wrong, a sample with as few wrong labels would be that improbable.

    Examples
    --------
    >>> most_wrong(5_555, 300, 0, Fraction(95, 100))
    53
    """
    every = math.comb(population, checked)

    def improbable(total: int) -> bool:
        likely = sum(
            math.comb(total, found) * math.comb(population - total, checked - found)
            for found in range(wrong + 1)
        )
        return likely <= (1 - confidence) * every

    last = population - (checked - wrong)  # more cannot be wrong: these were found right
    more = least_size(lambda extra: improbable(wrong + extra), last - wrong)
    return last if more is None else wrong + more - 1


@dataclass(frozen=True, eq=False)
class Sampled(Statement):
    """A budget from a sample: labels were drawn at random and checked, and some were wrong.

    What is certified with it holds with this confidence, all of it together: either at most as
    many labels are wrong as the sample allows, and then every certificate holds, or the sample was
    that unlucky.

    Parameters
    ----------
    checked : int
        How many labels were drawn at random, without replacement, and checked.
    wrong : int
        How many of these were wrong.
    confidence : float
        Above 0 and below 1.
    rows : (checked,) array-like of int, optional
        Which training rows were checked. Their labels are then taken to be right as they are given
        to `fit`, so pass corrected ones; the bound is about the others.
    population : int, optional
        How many labels the sample was drawn from; by default the training rows, or those that
        `where` of the bias names. If it is given, checked rows need not all be training rows.

    Examples
    --------
    >>> from unswayed import LabelBias, Sampled
    >>> sample = Sampled(checked=300, wrong=4, confidence=0.95)
    >>> sample.most_wrong(5_555)
    165
    >>> LabelBias.flips(budget=sample)
    LabelBias.flips(budget=Sampled(checked=300, wrong=4, confidence=0.95))
    """

    checked: int
    wrong: int
    confidence: float
    rows: Any = field(default=None, repr=False)
    population: int | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for name in ("checked", "wrong", "population"):
            given: Any = getattr(self, name)
            if given is None and name == "population":
                continue
            if isinstance(given, bool | np.bool_) or not isinstance(given, Integral) or given < 0:
                raise BiasError(f"Sampled: {name} must be a whole number, 0 or more; got {given!r}")
        if self.wrong > self.checked:
            raise BiasError(
                f"Sampled: {self.wrong:,} of {self.checked:,} checked labels cannot be wrong; "
                "wrong counts those of the checked labels that were wrong"
            )
        try:
            level = Fraction(str(self.confidence))
        except ValueError:
            level = Fraction(0)
        if not 0 < level < 1:
            raise BiasError(
                f"Sampled: confidence must be above 0 and below 1, such as 0.95; got "
                f"{self.confidence!r}"
            )
        if self.rows is not None:
            object.__setattr__(self, "rows", self._checked_rows(self.rows))

    def _checked_rows(self, rows: ArrayLike) -> Any:
        found = np.asarray(rows)
        if found.ndim != 1 or found.dtype.kind not in "iu" or len(np.unique(found)) < len(found):
            raise BiasError("Sampled: rows must be numbers of training rows, each once")
        if len(found) > self.checked or (self.population is None and len(found) < self.checked):
            raise BiasError(
                f"Sampled: rows names {len(found):,} training rows, but {self.checked:,} were "
                "checked"
            )
        return found.astype(np.intp)

    def most_wrong(self, population: int) -> int:
        """Return how many labels may be wrong in all, before any were corrected.

        Parameters
        ----------
        population : int
            How many labels the sample was drawn from, unless the sample says that itself.

        Returns
        -------
        int
            It holds with the confidence of the sample.
        """
        size = population if self.population is None else self.population
        if self.checked > size:
            raise BiasError(
                f"Sampled: {self.checked:,} labels were checked, but there are only {size:,} to "
                "draw from; pass population= if they were drawn from more than the training rows"
            )
        return most_wrong(size, self.checked, self.wrong, Fraction(str(self.confidence)))

    def _budget(self, labels: Movable) -> "SampledCount":
        found = self.most_wrong(labels.population) - (0 if self.rows is None else self.wrong)
        size = labels.population if self.population is None else self.population
        level = Fraction(str(self.confidence))
        return SampledCount(found, level, self.checked, self.wrong, size, self.rows)

    def _never_wrong(self, n_rows: int) -> BoolArray:
        found = np.zeros(n_rows, dtype=bool)
        if self.rows is not None:
            for row in self.rows[(self.rows < 0) | (self.rows >= n_rows)][:1]:
                raise BiasError(f"Sampled: there is no training row {row}; there are {n_rows:,}")
            found[self.rows] = True
        return found

    def _of_rows(self, rows: IntArray, n_rows: int) -> "Sampled":
        # What is wrong among some of the rows is wrong among all: the bound is the same.
        size = n_rows if self.population is None else self.population
        kept = None if self.rows is None else np.flatnonzero(np.isin(rows, self.rows))
        return Sampled(self.checked, self.wrong, self.confidence, kept, size)


@dataclass(frozen=True, slots=True, eq=False)
class SampledCount(Count):
    """A number of labels that a checked sample gave."""

    countable: ClassVar[bool] = True
    labels: int
    level: Fraction  # the confidence
    checked: int
    wrong: int
    population: int  # how many labels the sample was drawn from
    rows: IntArray | None = None  # the training rows that were checked, where that is known

    def sized(self, amount: float) -> Count:
        """Return a number of labels; another one than the sample gave is no finding of its."""
        return self if amount == self.labels else Count(int(min(amount, 2**53)))

    @property
    def source(self) -> str:
        """The sample, and how sure its bound is."""
        found = f"{self.wrong:,} of {self.checked:,} labels checked at random"
        found += " was wrong" if self.wrong == 1 else " were wrong"
        return f"{confident(self.level)}: {found}"

    def sample(self) -> dict[str, Any]:
        """Return the sample as a certificate file writes it."""
        found = {"checked": self.checked, "wrong": self.wrong, "confidence": float(self.level)}
        rows = {} if self.rows is None else {"rows": np.sort(self.rows)}
        return found | {"population": self.population} | rows

    def document(self, n_rows: int) -> Any:
        """Return the count and the sample that gave it."""
        labels = Count.document(self, n_rows)
        return {"kind": "sample", "labels": labels, "sample": self.sample()}

    def __str__(self) -> str:
        return f"{Count.__str__(self)} ({self.source})"


def joined(terms: Sequence[tuple[IntArray, Budget]], cap: float | None) -> Parts:
    """Return the budget of several sets of training rows, each with a budget of its own.

    Confidences of samples are combined: the chance that one of them was unlucky is at most the sum
    of their chances.
    """
    parts: list[Part] = []
    samples: list[dict[str, Any] | None] = []
    owner: dict[int, int] = {}
    doubt = Fraction(0)
    for number, (rows, budget) in enumerate(terms):
        for row in rows.tolist():
            if owner.setdefault(row, number) != number:
                raise BiasError(
                    f"terms {owner[row] + 1} and {number + 1} of the sum both let the label of "
                    f"training row {row} be wrong; each label belongs to one term: make their "
                    "where= masks exclude each other"
                )
        if not len(rows):
            continue
        parts.append(Part(rows, int(min(budget.most_labels, len(rows)))))
        sampled = budget if isinstance(budget, SampledCount) else None
        samples.append(None if sampled is None else sampled.sample())
        doubt += 0 if sampled is None else 1 - sampled.level
    every = sum(part.labels for part in parts)
    level = max(1 - doubt, Fraction(0)) if doubt else None
    most = every if cap is None else int(min(cap, every))
    return Parts(most, tuple(parts), level, tuple(samples))


# --- labels that were checked ---------------------------------------------------------------------


def corrected(given: NDArray[Any], answers: dict[int, Any], *, classes: bool) -> NDArray[Any]:
    """Return labels as they should be."""
    if classes:
        known = np.unique(given)
        found = given.copy()
        for row, answer in answers.items():
            found[row] = class_named(answer, known, row)
        return found
    found = given.astype(np.float64)
    for row, answer in answers.items():
        number = as_doubles(answer, f"the answer for row {row}")
        if number.ndim or not np.isfinite(number):
            raise InputError(f"the answer for row {row} must be a finite number, got {answer!r}")
        found[row] = float(number)
    return found


def class_named(answer: Any, known: NDArray[Any], row: int) -> Any:
    """Return the class that an answer names."""
    text = str(answer).strip()
    for same in (_equal_text, _equal_number, _equal_letters):  # from strict to what spreadsheets do
        found = [value for value in known if same(text, str(value))]
        if len(found) == 1:
            return found[0]
    named = " or ".join(repr(value) for value in known.tolist())
    raise InputError(
        f"the answer for row {row} is {answer!r}, which is none of the classes: say {named}"
    )


def _equal_text(answer: str, value: str) -> bool:
    return answer == value


def _equal_number(answer: str, value: str) -> bool:
    try:
        return float(answer) == float(value)
    except ValueError:
        return False


def _equal_letters(answer: str, value: str) -> bool:
    return answer.casefold() == value.casefold()
