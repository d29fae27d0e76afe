"""What a collective claim is about: rows, weights, groups and true classes; and that in words."""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from unswayed.verify.collective.functions import Form, Function, Metric, is_reserved, sum_of
from unswayed.verify.document import MOST_TOGETHER, CertificateError, row_numbers, vector
from unswayed.verify.words import counted, indented, listed, quoted, summary

_GROUPS = _ROWS = 20  # that are listed


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
    truth: bytearray | None = None  # 1 for rows whose true class is the positive one
    # Of a metric of one's own: arrays of a number for each row
    terms: list[tuple["array[float]", "array[float]"]] = field(default_factory=list)

    @classmethod
    def read(cls, document: dict[str, Any]) -> "Asked | None":
        """Read what was asked; None of a file with claims about single rows."""
        given = document.get("collective")
        if given is None:
            return None
        n_rows, task = document["data"]["test_rows"], document["question"]["task"]
        if not 0 < n_rows <= MOST_TOGETHER:
            raise CertificateError(f"a collective claim is about 1 to {MOST_TOGETHER:,} rows")
        fits = {
            "together": ("classification", "regression"),
            "metric": ("classification",),
            "mean": ("regression",),
        }
        if task not in fits[given["ask"]]:
            raise CertificateError("the collective claim does not fit the question")
        made = cls(
            given["ask"],
            n_rows,
            given.get("metric", ""),
            {"up": 1, "down": -1}.get(given.get("direction", "")),
            _rows(given, "where", n_rows),
            vector(given["weights"], n_rows, "weights") if "weights" in given else None,
            _groups(given.get("groups", ()), n_rows),
            _flags(_rows(given, "truth", n_rows), n_rows),
            _terms(given.get("terms", ()), n_rows),
        )
        made._check()
        return made

    def _check(self) -> None:
        """Raise unless there is what the question needs, and nothing else."""
        if self.weights is not None and min(self.weights) < 0:
            raise CertificateError("weights of rows must not be negative")
        if self.where is not None and not len(self.where):
            raise CertificateError("where must name a row")
        if self.terms and is_reserved(self.metric):
            raise CertificateError(
                f"{quoted(self.metric)} is the name of a standard metric, but the file gives terms "
                "of its own: a reader would take their sum for that metric"
            )
        if self.ask == "together" or self.terms:
            compares, truth = False, False
        elif self.ask == "mean":
            compares, truth = self.metric.endswith("difference"), False
        else:
            found = Metric.read(self.metric)
            compares, truth = found.kind is not None, found.needs_truth
        if bool(self.groups) != compares or (self.truth is not None) != truth:
            raise CertificateError(
                f"{quoted(self.metric)} must have groups or true classes, or must not"
            )
        if compares and len(self.groups) < 2:
            raise CertificateError("a metric that compares groups must have two of them")

    # --- what is to be bounded ----------------------------------------------------------------

    def count(self) -> Function:
        """Return how much each row counts if it is overturned, as a sum."""
        steps, unit = [1] * self.n_rows, Fraction(1)
        if self.weights is not None:
            steps, unit = sum_of(self.weights)
        if self.where is not None:
            counts = _flags(self.where, self.n_rows)
            assert counts is not None  # noqa: S101  (tells mypy)
            steps = [step * flag for step, flag in zip(steps, counts, strict=True)]
        return Function(Fraction(0), steps, unit)

    def form(self) -> Form:
        """Return the metric."""
        if not self.terms:
            return Metric.read(self.metric).form(self.n_rows, self.groups, self.truth)
        sums = [_sum(*pair) for pair in self.terms]
        return Form("sum" if len(sums) == 1 else "quotient", [sums])

    def means(self) -> list[tuple[dict[int, int], int]]:
        """Return the sums of scores whose largest is asked about."""
        if not self.groups:
            return [(dict.fromkeys(range(self.n_rows), 1), self.n_rows)]
        return [
            (
                dict.fromkeys(one, len(other)) | dict.fromkeys(other, -len(one)),
                len(one) * len(other),
            )
            for _, one in self.groups
            for _, other in self.groups
            if one is not other
        ]

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
            yield f"{what}: {Metric.read(self.metric).in_words()}"
        if self.groups:
            names = (f"{quoted(name)} {counted(len(rows), 'row')}" for name, rows in self.groups)
            yield f"  groups, as the file says: {listed(names, _GROUPS)}"
        if self.truth is not None:
            yield (
                f"  truly positive, as the file says: {sum(self.truth):,} of "
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
            names = listed(map(str, self.where), _ROWS)
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
            "truth": None if self.truth is None else list(self.truth),
            "terms": [[part.tolist() for part in pair] for pair in self.terms],
        }


def _listed(what: str, numbers: Sequence[float]) -> Iterator[str]:
    """Yield lines that sum up a number for each row, and say which row has which."""
    head, *rest = summary(numbers, "row")
    yield f"  {what}: {head}"
    yield from indented(indented(rest))
    if min(numbers) != max(numbers):
        yield f"    in the order of the rows: {listed(map(repr, numbers), _ROWS)}"


def _rows(given: dict[str, Any], name: str, n_rows: int) -> "array[int] | None":
    return row_numbers(given[name], n_rows, n_rows, name) if name in given else None


def _flags(rows: Sequence[int] | None, n_rows: int) -> bytearray | None:
    """Return 1 for rows that are named, else 0."""
    if rows is None:
        return None
    made = bytearray(n_rows)
    for row in rows:
        made[row] = 1
    return made


def _groups(given: Sequence[Any], n_rows: int) -> list[tuple[str, "array[int]"]]:
    """Return groups; raise unless every row is in one of them, and none is empty."""
    if not given:
        return []
    found = [(each["name"], row_numbers(each["rows"], n_rows, n_rows, "a group")) for each in given]
    seen = bytearray(n_rows)
    for _, rows in found:
        for row in rows:
            seen[row] = 1
    once = sum(seen) == n_rows == sum(len(rows) for _, rows in found)
    if not once or not all(len(rows) for _, rows in found):
        raise CertificateError("every row must be in one group, and every group must have rows")
    if len({name for name, _ in found}) < len(found):
        raise CertificateError("two groups have the same name")
    return found


def _terms(given: Sequence[Any], n_rows: int) -> list[tuple["array[float]", "array[float]"]]:
    return [
        (
            vector(each["negative"], n_rows, "terms.negative"),
            vector(each["positive"], n_rows, "terms.positive"),
        )
        for each in given
    ]


def _sum(negative: Sequence[float], positive: Sequence[float]) -> Function:
    """Return a sum of terms, each of which is one or the other."""
    steps, unit = sum_of([*negative, *positive])
    low, high = steps[: len(negative)], steps[len(negative) :]
    gains = [b - a for a, b in zip(low, high, strict=True)]
    return Function(unit * sum(low), gains, unit)
