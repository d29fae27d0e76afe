"""Metrics as sums over the rows that are predicted positive, in whole numbers.

A rate is such a sum, and so is a difference of rates. A gap between groups is the largest of the
differences between any two, a ratio the smallest of the quotients.
"""

import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from unswayed.verify.document import CertificateError
from unswayed.verify.words import quoted

Flags = Sequence[int]  # 1 or 0 for each row


@dataclass(frozen=True, slots=True)
class Function:
    """A sum: start + unit·Σ steps over the rows that are predicted positive."""

    start: Fraction
    steps: list[int]
    unit: Fraction

    def value(self, positive: Flags) -> Fraction:
        """Return the sum for predictions."""
        return self.start + self.unit * sum(
            step for step, flag in zip(self.steps, positive, strict=True) if flag
        )

    def __neg__(self) -> "Function":
        return Function(-self.start, [-step for step in self.steps], self.unit)

    def less(self, other: "Function", times: Fraction) -> "Function":
        """Return this sum less some times another one."""
        theirs = other.unit * times
        unit = Fraction(1, math.lcm(self.unit.denominator, theirs.denominator))
        mine, their = int(self.unit / unit), int(theirs / unit)
        steps = [a * mine - b * their for a, b in zip(self.steps, other.steps, strict=True)]
        return Function(self.start - times * other.start, steps, unit)


def sum_of(numbers: Sequence[float]) -> tuple[list[int], Fraction]:
    """Return numbers, as they are written, as multiples of a unit: 0.1 is 1/10."""
    written = [Fraction(repr(number)) for number in numbers]
    unit = Fraction(1, math.lcm(*(number.denominator for number in written)))
    return [int(number / unit) for number in written], unit


@dataclass(frozen=True, slots=True)
class Form:
    """How a metric follows from sums."""

    # "sum" of all rows, "group_min" or "group_max" of groups, "difference" or "ratio" of groups;
    # "quotient" of two sums
    kind: str
    # The sum; the two sums of a quotient; for each rate those of the groups
    families: list[list[Function]]

    @property
    def largest(self) -> bool:
        """Whether it is the largest of its functions, and not the smallest."""
        return self.kind not in ("group_min", "ratio", "quotient")

    @property
    def divides(self) -> bool:
        """Whether it is the smallest quotient of its pairs."""
        return self.kind in ("ratio", "quotient")

    @property
    def denominators(self) -> list[list[Function]]:
        """Sums of which the largest of each list is a denominator."""
        return [self.families[0][1:]] if self.kind == "quotient" else self.families

    def pairs(self) -> Iterator[tuple[Function, Function]]:
        """Yield any two sums that are compared, one after the other."""
        for family in self.families:
            if self.kind == "quotient":
                yield family[0], family[1]
            else:
                yield from ((a, b) for a in family for b in family if a is not b)

    def functions(self) -> Iterator[Function]:
        """Yield the functions of which it is the largest or smallest."""
        if self.kind == "difference":
            yield from (above.less(below, Fraction(1)) for above, below in self.pairs())
        else:
            yield from self.families[0]

    def value(self, positive: Flags) -> Fraction | None:
        """Return the metric of predictions."""
        values = [[each.value(positive) for each in family] for family in self.families]
        if self.kind == "quotient":
            above, below = values[0]
            return above / below if below > 0 else None
        if self.kind == "ratio":
            if any(max(family) <= 0 for family in values):
                return None
            return min(min(family) / max(family) for family in values)
        if self.kind == "difference":
            return max(max(family) - min(family) for family in values)
        return max(values[0]) if self.largest else min(values[0])


_KINDS = ("difference", "ratio", "group_min", "group_max")

_RATES = {
    "demographic_parity": ("selection_rate",),
    "equal_opportunity": ("true_positive_rate",),
    "equalized_odds": ("true_positive_rate", "false_positive_rate"),
    "accuracy_score": ("accuracy",),
    "recall_score": ("true_positive_rate",),
}

_WORDS = {
    "selection_rate": "share of rows that are predicted positive",
    "accuracy": "share of rows that are predicted as they truly are",
    "true_positive_rate": "share predicted positive of the rows that truly are",
    "false_negative_rate": "share predicted negative of the rows that are truly positive",
    "false_positive_rate": "share predicted positive of the rows that are truly negative",
    "true_negative_rate": "share predicted negative of the rows that truly are",
}

_COMPARED = {
    None: "{}",
    "difference": "largest less smallest group, of the {}",
    "ratio": "smallest by largest group, of the {}",
    "group_min": "smallest group, of the {}",
    "group_max": "largest group, of the {}",
}


def is_reserved(name: str) -> bool:
    """Return whether people would take a name for that of a standard metric."""
    plain = re.sub(r"[\W_]+", "_", unicodedata.normalize("NFKC", name).casefold()).strip("_")
    bases = {plain} | {plain.removesuffix(f"_{kind}") for kind in _KINDS}
    return not bases.isdisjoint((*_WORDS, *_RATES, "mean_prediction"))


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric by its name."""

    rates: tuple[str, ...]
    kind: str | None  # What is compared between groups; None for the rate of all rows

    @classmethod
    def read(cls, name: str) -> "Metric":
        """Read a name."""
        for kind in (None, *_KINDS):
            base = name if kind is None else name.removesuffix(f"_{kind}")
            if kind is None and base not in _WORDS and not base.endswith("_score"):
                continue
            rates = _RATES.get(base, (base,))
            single = len(rates) == 1 or kind in ("difference", "ratio")
            if (kind is None or base != name) and single and all(rate in _WORDS for rate in rates):
                return cls(rates, kind)
        raise CertificateError(f"there is no metric {quoted(name)}")

    @property
    def needs_truth(self) -> bool:
        """Whether predictions are compared with true classes."""
        return self.rates != ("selection_rate",)

    def in_words(self) -> str:
        """Return what it is."""
        of = " and of the ".join(_WORDS[rate] for rate in self.rates)
        worse = ", whichever is the worse" if len(self.rates) > 1 else ""
        return _COMPARED[self.kind].format(of) + worse

    def form(self, n_rows: int, groups: list[tuple[str, Any]], truth: Flags | None) -> Form:
        """Return the metric of rows."""
        parts = groups if self.kind is not None else [("all rows", range(n_rows))]
        families = [
            [_rate(rate, n_rows, rows, truth, name) for name, rows in parts] for rate in self.rates
        ]
        return Form(self.kind or "sum", families)


def _rate(name: str, n_rows: int, rows: Any, truth: Flags | None, group: str) -> Function:
    """Return a rate of some rows."""
    steps = [0] * n_rows
    if name == "selection_rate":
        for row in rows:
            steps[row] = 1
        return Function(Fraction(0), steps, Fraction(1, len(rows)))
    assert truth is not None  # noqa: S101  (checked when it was read)
    if name == "accuracy":
        for row in rows:
            steps[row] = 1 if truth[row] else -1
        return Function(Fraction(steps.count(-1), len(rows)), steps, Fraction(1, len(rows)))
    used = [row for row in rows if _of_class(name, truth[row])]
    if not used:
        raise CertificateError(f"{name} of {quoted(group)} is a share of no rows")
    negative = name in ("false_negative_rate", "true_negative_rate")
    for row in used:
        steps[row] = -1 if negative else 1
    return Function(Fraction(int(negative)), steps, Fraction(1, len(used)))


def _of_class(name: str, truth: int) -> bool:
    """Return whether a rate is one of rows of this true class."""
    return bool(truth) == (name in ("true_positive_rate", "false_negative_rate"))
