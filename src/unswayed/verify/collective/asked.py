"""What a collective claim is about, and that in words; metrics as sums over rows.

A rate is a sum over the rows that are predicted positive, and so is a difference of rates. A gap
between groups is the largest of the differences between any two, a ratio the smallest quotient.
"""

import math
import re
import unicodedata
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from unswayed.verify.document import MOST_TOGETHER, CertificateError, row_numbers, vector
from unswayed.verify.words import counted, indented, listed, quoted, summary

_LISTED = 20  # groups and rows that are listed
_SHORT = 2**40  # a sum over all rows of smaller integers takes less than 64 bits
_FITS = {
    "together": ("classification", "regression"),
    "metric": ("classification",),
    "mean": ("regression",),
}
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
    "sum": "{}",
    "difference": "largest less smallest group, of the {}",
    "ratio": "smallest by largest group, of the {}",
    "group_min": "smallest group, of the {}",
    "group_max": "largest group, of the {}",
}
Integers = Any  # an array of integers of any size, one for each row


@dataclass(frozen=True, slots=True)
class Function:
    """A sum: start + unit·Σ steps over some rows."""

    start: Fraction
    steps: Integers
    unit: Fraction

    def value(self, rows: Any) -> Fraction:
        """Return the sum for rows that are predicted positive, given as flags."""
        return self.start + self.unit * int(self.steps[rows].sum())

    def __neg__(self) -> "Function":
        return Function(-self.start, -self.steps, self.unit)

    def less(self, other: "Function", times: Fraction) -> "Function":
        """Return this sum less some times another one."""
        theirs = other.unit * times
        unit = Fraction(1, math.lcm(self.unit.denominator, theirs.denominator))
        steps = _times(self.steps, int(self.unit / unit)) - _times(other.steps, int(theirs / unit))
        return Function(self.start - times * other.start, steps, unit)


Goal = list[
    Callable[[], Function]
]  # the least of these, made one at a time: there may be thousands


def _times(steps: Integers, factor: int) -> Integers:
    """Return a product of integers, of any size where 64 bits are too few."""
    most = int(np.abs(steps).max(initial=0)) * abs(factor)
    return (steps if most < _SHORT else steps.astype(object)) * factor


@dataclass(frozen=True, slots=True)
class Form:
    """How a metric follows from sums."""

    kind: str  # "sum" of all rows; of groups one of `_KINDS`; "quotient" of two sums
    families: list[list[Function]]  # The sum; the two sums of a quotient; those of each rate

    @property
    def divides(self) -> bool:
        """Whether it is the smallest quotient of its pairs."""
        return self.kind in ("ratio", "quotient")

    def _pairs(self) -> Iterator[tuple[Function, Function]]:
        for family in self.families:
            if self.kind == "quotient":
                yield family[0], family[1]
            else:
                yield from ((a, b) for a in family for b in family if a is not b)

    def goals(self, at: Fraction, *, up: bool) -> list[Goal]:
        """Return goals that none exceeds an end of which; of quotients, how far they exceed `at`.

        The largest of some functions is bounded if each is, the smallest if their least is.
        """
        if self.kind in ("difference", "ratio", "quotient"):
            times = at if self.divides else Fraction(1)
            functions: Goal = [partial(_difference, *pair, times, up) for pair in self._pairs()]
        else:
            functions = [partial(_signed, each, up) for each in self.families[0]]
        largest = self.kind not in ("group_min", "ratio", "quotient")
        return [[each] for each in functions] if largest == up else [functions]

    def floors(self) -> list[Goal]:
        """Return goals whose bounds, times -1, denominators do not fall below."""
        families = [self.families[0][1:]] if self.kind == "quotient" else self.families
        return [[partial(_signed, each, False) for each in family] for family in families]

    def value(self, positive: Any) -> Fraction | None:
        """Return the metric of predictions; None if it divides by 0."""
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
        return min(values[0]) if self.kind == "group_min" else max(values[0])


def _signed(function: Function, up: bool) -> Function:
    return function if up else -function


def _difference(above: Function, below: Function, times: Fraction, up: bool) -> Function:
    return _signed(above.less(below, times), up)


def is_reserved(name: str) -> bool:
    """Return whether people would take a name for that of a standard metric."""
    plain = re.sub(r"[\W_]+", "_", unicodedata.normalize("NFKC", name).casefold()).strip("_")
    bases = {plain} | {plain.removesuffix(f"_{kind}") for kind in _KINDS}
    return not bases.isdisjoint((*_WORDS, *_RATES, "mean_prediction"))


def _metric(name: str) -> tuple[tuple[str, ...], str]:
    """Return the rates that a metric is about, and what is compared of them between groups."""
    for kind in ("sum", *_KINDS):
        base = name.removesuffix(f"_{kind}")
        if (base == name) != (kind == "sum") or (kind == "sum" and base in list(_RATES)[:3]):
            continue
        rates = _RATES.get(base, (base,))
        one = len(rates) == 1 or kind in ("difference", "ratio")
        if one and all(rate in _WORDS for rate in rates):
            return rates, kind
    raise CertificateError(f"there is no metric {quoted(name)}")


def _rate(name: str, rows: Any, truth: Any, group: str) -> Function:
    """Return a rate of some rows, given as flags."""
    counts = np.ones(len(rows), dtype=bool)  # the predicted class that counts
    if name == "accuracy":
        counts = truth
    elif name != "selection_rate":
        rows = rows & (truth == (name in ("true_positive_rate", "false_negative_rate")))
        counts = counts & (name in ("true_positive_rate", "false_positive_rate"))
    if not rows.any():
        raise CertificateError(f"{name} of {quoted(group)} is a share of no rows")
    steps = np.where(counts, 1, -1) * rows
    total = int(rows.sum())
    return Function(Fraction(int((steps < 0).sum()), total), steps, Fraction(1, total))


def _whole(numbers: Sequence[float]) -> tuple[Integers, Fraction]:
    """Return numbers, as they are written, as multiples of a unit: 0.1 is 1/10."""
    written = [Fraction(repr(number)) for number in numbers]
    unit = Fraction(1, math.lcm(*(number.denominator for number in written)))
    return np.array([int(number / unit) for number in written], dtype=object), unit


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked of all test rows together."""

    ask: str  # "together", "metric" or "mean"
    n_rows: int
    metric: str = ""
    way: int | None = None  # 1 to count rows whose score rises too far only, -1 for falls
    where: "array[int] | None" = None  # Rows that count; None for all
    weights: "array[float] | None" = None  # How much each row counts
    groups: list[tuple[str, "array[int]"]] = field(default_factory=list)
    truth: "array[int] | None" = None  # Rows whose true class is the positive one
    # Of a metric of one's own: a number for each row that is predicted negative, and positive
    terms: list[list["array[float]"]] = field(default_factory=list)

    @classmethod
    def read(cls, document: dict[str, Any]) -> "Asked | None":
        """Read what was asked; None of a file with claims about single rows."""
        given = document.get("collective")
        if given is None:
            return None
        size, task = document["data"]["test_rows"], document["question"]["task"]
        if not 0 < size <= MOST_TOGETHER:
            raise CertificateError(f"a collective claim is about 1 to {MOST_TOGETHER:,} rows")
        if task not in _FITS[given["ask"]]:
            raise CertificateError("the collective claim does not fit the question")
        where, truth = (
            row_numbers(given[name], size, size, name) if name in given else None
            for name in ("where", "truth")
        )
        ends = ("negative", "positive")
        made = cls(
            given["ask"],
            size,
            given.get("metric", ""),
            {"up": 1, "down": -1}.get(given.get("direction", "")),
            where,
            vector(given["weights"], size, "weights") if "weights" in given else None,
            [
                (each["name"], row_numbers(each["rows"], size, size, "a group"))
                for each in given.get("groups", ())
            ],
            truth,
            [[vector(each[end], size, "terms") for end in ends] for each in given.get("terms", ())],
        )
        made._check()
        return made

    def _check(self) -> None:
        """Raise unless there is what the question needs, and nothing else."""
        if self.weights is not None and min(self.weights) < 0:
            raise CertificateError("weights of rows must not be negative")
        if self.where is not None and not len(self.where):
            raise CertificateError("where must name a row")
        compares, truth = self.metric.endswith("difference") and self.ask == "mean", False
        if self.terms and is_reserved(self.metric):
            raise CertificateError(
                f"{quoted(self.metric)} is the name of a standard metric, but the file gives terms "
                "of its own: a reader would take their sum for that metric"
            )
        if self.ask == "metric" and not self.terms:
            rates, kind = _metric(self.metric)
            compares, truth = kind != "sum", rates != ("selection_rate",)
        if bool(self.groups) != compares or (self.truth is not None) != truth:
            raise CertificateError(
                f"{quoted(self.metric)} must have groups or true classes, or must not"
            )
        rows = sorted(row for _, members in self.groups for row in members)
        if compares and len(self.groups) < 2:
            raise CertificateError("a metric that compares groups must have two of them")
        if compares and (
            rows != list(range(self.n_rows)) or not all(len(m) for _, m in self.groups)
        ):
            raise CertificateError("every row must be in one group, and every group must have rows")
        if len({name for name, _ in self.groups}) < len(self.groups):
            raise CertificateError("two groups have the same name")

    def flags(self, rows: Sequence[int] | None) -> Any:
        """Return which rows are named: all, if there is no list of them."""
        made = np.full(self.n_rows, rows is None)
        made[[] if rows is None else list(rows)] = True
        return made

    # --- what is to be bounded ----------------------------------------------------------------

    def count(self) -> Function:
        """Return how much each row counts if it is overturned, as a sum."""
        steps, unit = _whole([1.0] * self.n_rows if self.weights is None else self.weights)
        return Function(Fraction(0), steps * self.flags(self.where), unit)

    def form(self) -> Form:
        """Return the metric."""
        if self.terms:
            sums = []
            for negative, positive in self.terms:
                steps, unit = _whole([*negative, *positive])
                low, high = steps[: self.n_rows], steps[self.n_rows :]
                sums.append(Function(unit * int(low.sum()), high - low, unit))
            return Form("sum" if len(sums) == 1 else "quotient", [sums])
        rates, kind = _metric(self.metric)
        truth = None if self.truth is None else self.flags(self.truth)
        parts = [(name, self.flags(rows)) for name, rows in self.groups]
        parts = parts or [("all rows", self.flags(None))]
        return Form(
            kind, [[_rate(rate, rows, truth, name) for name, rows in parts] for rate in rates]
        )

    # --- in words -----------------------------------------------------------------------------

    def in_words(self) -> Iterator[str]:
        """Yield lines that say what was asked."""
        if self.ask == "together":
            yield from self._count_in_words()
            return
        what = f"asked: between which values {quoted(self.metric)} lies"
        if self.terms:
            kind = "a sum of terms of rows, given in the file"
            kind += ", divided by another one" if len(self.terms) > 1 else ""
            yield f"{what}: {kind}"
            for name, pair in zip(("terms", "divided by terms"), self.terms, strict=False):
                for way, numbers in zip(("negative", "positive"), pair, strict=True):
                    yield from _listed(f"{name} of rows predicted {way}", numbers)
            return
        if self.ask == "mean":
            gap = "largest less smallest group, of the " if self.groups else ""
            yield f"{what}: {gap}mean score"
        else:
            rates, kind = _metric(self.metric)
            of = " and of the ".join(_WORDS[rate] for rate in rates)
            worse = ", whichever is the worse" if len(rates) > 1 else ""
            yield f"{what}: {_COMPARED[kind].format(of)}{worse}"
        if self.groups:
            names = (f"{quoted(name)} {counted(len(rows), 'row')}" for name, rows in self.groups)
            yield f"  groups, as the file says: {listed(names, _LISTED)}"
        if self.truth is not None:
            yield (
                f"  truly positive, as the file says: {len(self.truth):,} of "
                f"{counted(self.n_rows, 'row')}"
            )

    def _count_in_words(self) -> Iterator[str]:
        which = {1: " by a rise of their score", -1: " by a fall of their score", None: ""}
        number = self.n_rows if self.where is None else len(self.where)
        yield (
            f"asked: how many of {counted(number, 'row')} one set of wrong labels overturns"
            f"{which[self.way]}"
        )
        if self.where is not None:
            names = listed(map(str, self.where), _LISTED)
            yield f"  these are not all of the {self.n_rows:,} test rows, but {names}"
        if self.weights is not None:
            yield from _listed("rows count by weights", self.weights)

    def facts(self) -> dict[str, Any]:
        """Return everything that changes what is proven, for a fingerprint."""
        return {
            "ask": self.ask,
            "metric": self.metric,
            "way": self.way,
            "where": None if self.where is None else self.where.tolist(),
            "weights": None if self.weights is None else self.weights.tolist(),
            "groups": [(name, rows.tolist()) for name, rows in self.groups],
            "truth": None if self.truth is None else self.flags(self.truth).astype(int).tolist(),
            "terms": [[part.tolist() for part in pair] for pair in self.terms],
        }


def _listed(what: str, numbers: Sequence[float]) -> Iterator[str]:
    """Yield lines that sum up a number for each row, and say which row has which."""
    head, *rest = summary(numbers, "row")
    yield f"  {what}: {head}"
    yield from indented(indented(rest))
    if min(numbers) != max(numbers):
        yield f"    in the order of the rows: {listed(map(repr, numbers), _LISTED)}"
