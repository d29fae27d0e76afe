"""Budgets that are no number of any labels: parts, clusters, totals, costs, and checked samples.

Each is read from options before a file is opened, and becomes a bias once the file is known. Rows
are those of the training file, numbered from 1, whether or not they train the model.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa

from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.exceptions import InputError
from unswayed.labels.amounts import Total
from unswayed.labels.bias import LabelBias
from unswayed.labels.costs import Cost
from unswayed.labels.samples import Sampled, SampledCount, most_wrong
from unswayed.results.reviews import ANSWER, as_row, read_lines
from unswayed.study.loading import owners
from unswayed.study.request import (
    Budget,
    Loaded,
    Request,
    Stated,
    parse_budget,
    parse_share,
)
from unswayed.study.target import Target, column_of_numbers, label_of, same
from unswayed.tables.expression import select, split_outside
from unswayed.words import counted, labels, shorten, written

REST = "rest"
UNKNOWN = "?"
"""What people answer where nobody can tell."""
POPULATION = "of_rows"
"""Column of a list: how many rows the file had that it was drawn from."""
Errors = Callable[..., str]
_DIRECTION = re.compile(r"(.*\S)\s+(up|down)\s*")
_SAMPLE = re.compile(r"\s*(\d+)\s*/\s*(\d+)\s*")


# --- clusters, totals, costs ----------------------------------------------------------------------


@dataclass(frozen=True)
class ByCluster(Stated):
    """Whole clusters are wrong: all labels with the same value of a column."""

    option: ClassVar[str] = "--clusters"
    column: str

    @property
    def columns(self) -> Mapping[str, str]:
        """The column of clusters."""
        return {"--clusters": self.column}

    def bias(
        self, made: Callable[..., LabelBias], budget: Budget, where: Any, rows: Loaded
    ) -> LabelBias:
        """Return a bias whose budget counts clusters."""
        cluster = owners(self.column, rows, "--clusters")
        return made(budget=int(budget.value), where=where, clusters=cluster)

    def spent(self, limit: Any, rows: IntArray, change: FloatArray) -> float:
        """Return the number of clusters that changes are in."""
        return float(len(np.unique(limit.cluster[rows])))

    def in_words(self, errors: Errors) -> str:
        """Say that clusters are wrong as a whole."""
        return (
            f"all labels with the same {shorten(self.column)!r} may be wrong at once, and the "
            f"budget counts such clusters: within a wrong one, {errors()}"
        )


@dataclass(frozen=True)
class InTotal(Stated):
    """All changes of labels add up to at most so much."""

    option: ClassVar[str] = "--total"

    def bias(
        self, made: Callable[..., LabelBias], budget: Budget, where: Any, rows: Loaded
    ) -> LabelBias:
        """Return a bias whose budget is a total."""
        return made(budget=Total(budget.value), where=where)

    def spent(self, limit: Any, rows: IntArray, change: FloatArray) -> float:
        """Return the sum of all changes."""
        return float(np.abs(change).sum())

    def in_words(self, errors: Errors) -> str:
        """Say that all changes together are limited."""
        return f"{errors()}, and the budget is the sum of all changes, without their signs"


@dataclass(frozen=True)
class ByCost(Stated):
    """Wrong labels have a price each, or a probability that the price follows from."""

    column: str
    probabilities: bool

    @property
    def columns(self) -> Mapping[str, str]:
        """The column of prices or probabilities."""
        return {self.option: self.column}

    @property
    def option(self) -> str:
        """The option that names it."""
        return "--error-probability" if self.probabilities else "--cost"

    def bias(
        self, made: Callable[..., LabelBias], budget: Budget, where: Any, rows: Loaded
    ) -> LabelBias:
        """Return a bias whose budget is a limit of cost."""
        if self.probabilities:
            says = "probabilities that a label is wrong are numbers from 0 to 1"
            found = column_of_numbers(self.column, rows, self.option, "probability", says, most=1.0)
            return made(budget=Cost.from_probabilities(found, surprise=budget.value), where=where)
        says = "costs are numbers, 0 or more, and inf for a label that is never wrong"
        found = column_of_numbers(self.column, rows, self.option, "cost", says, most=math.inf)
        return made(budget=Cost(budget.value, found), where=where)

    def spent(self, limit: Any, rows: IntArray, change: FloatArray) -> float:
        """Return the sum of all costs."""
        return float(limit.per_label[rows].sum())

    def in_words(self, errors: Errors) -> str:
        """Say what wrong labels cost."""
        name = repr(shorten(self.column))
        if not self.probabilities:
            return f"{errors()}, and each costs what column {name} says"
        return (
            f"{errors()}, each with the probability p in column {name}, which costs "
            "log((1 - p) / p), and nothing where p is above a half: a cost of c covers all sets of "
            "wrong labels that are at most e^c times less likely than the likeliest set"
        )


# --- parts ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Term:
    """Rows, and how many of their labels may be wrong: a budget, or a sample of these rows."""

    expression: str  # `REST`: all rows of no other part
    budget: Budget
    direction: Literal["up", "down"] | None = None
    sample: tuple[int, int] | None = None  # wrong and checked, where the budget follows from them
    population: int | None = None  # rows that the sample was drawn from, once they are known

    @property
    def ready(self) -> bool:
        """Whether it is known how many labels its budget is."""
        return isinstance(self.budget.value, int)

    def settled(self, n_rows: int) -> "Term":
        """Return the same with a share as a count."""
        if self.sample is not None:
            return self
        budget = self.budget.settled(n_rows, "--bias")
        return replace(self, budget=replace(budget, value=int(budget.count(n_rows))))

    def known(self, population: int, confidence: float) -> "Term":
        """Return the same once it is known how many rows a sample was drawn from."""
        if self.sample is None:
            return self
        wrong, checked = self.sample
        where = f"{population:,} rows of the file where {self.expression}"
        count = bound(checked, wrong, confidence, population, where, "--bias")
        return replace(self, budget=replace(self.budget, value=count), population=population)

    def in_words(self, errors: Errors, confidence: float) -> str:
        """Say which labels may be wrong, how many and how."""
        count, text = int(self.budget.value), self.budget.text
        why = f" ({text} of all training rows)" if "%" in text else ""
        if self.sample is not None:
            wrong, checked = self.sample
            were = "was" if wrong == 1 else "were"
            why = (
                f" (with {100 * confidence:g} % confidence, because {wrong:,} of {checked:,} "
                f"labels checked at random among {self.population:,} {were} wrong)"
            )
        where = "in all other rows" if self.expression == REST else f"where {self.expression}"
        return f"{where}, up to {labels(count)}{why}: {errors(self.direction)}"


@dataclass(frozen=True)
class InParts(Stated):
    """Sets of rows that exclude each other, each with a budget of its own."""

    option: ClassVar[str] = "--bias"
    terms: tuple[Term, ...]
    cap: Budget | None
    confidence: float

    def settled(self, request: Request, n_rows: int) -> Request:
        """Return the request with shares as counts."""
        terms = tuple(each.settled(n_rows) for each in self.terms)
        cap = self.cap
        if cap is not None:
            cap = cap.settled(n_rows, "--cap")
            cap = replace(cap, value=int(cap.count(n_rows)))
        return replace(self, terms=terms, cap=cap)._on(request)

    def known(self, request: Request, target: Any, every: pa.Table) -> Request:
        """Return the request with the bounds that samples give."""
        masks = self._masks(every)
        terms = tuple(
            term.known(int(mask.sum()), self.confidence)
            for term, mask in zip(self.terms, masks, strict=True)
        )
        return replace(self, terms=terms)._on(request)

    def _on(self, request: Request) -> Request:
        """Return the request, with the number of labels in all if it is known."""
        if not all(term.ready for term in self.terms):
            return replace(request, stated=self)
        counts = [int(term.budget.value) for term in self.terms]
        text, total = " + ".join(term.budget.text for term in self.terms), sum(counts)
        if self.cap is not None:
            if self.cap.value < min(counts):
                raise InputError(
                    f"--cap {self.cap.text} is {labels(self.cap.value)}, below the budget of every "
                    f"part of --bias ({', '.join(f'{each:,}' for each in counts)}), so that these "
                    "say nothing; pass a larger cap, or smaller budgets of the parts"
                )
            text, total = f"{text}, {self.cap.text} in all", min(total, int(self.cap.value))
        return replace(request, stated=self, budgets=(Budget(text, total),))

    def _masks(self, table: pa.Table) -> list[BoolArray]:
        """Return which rows belong to each part."""
        found = [
            None if term.expression == REST else select(term.expression, table, "--bias")
            for term in self.terms
        ]
        named = np.zeros(table.num_rows, dtype=bool)
        for mask in found:
            named |= False if mask is None else mask
        return [~named if mask is None else mask for mask in found]

    def _parts(self, rows: Loaded) -> list[BoolArray]:
        """Return which training rows belong to each part; raise if one is in two parts."""
        masks, owner = self._masks(rows[0]), np.full(len(rows[1]), -1)
        for number, (term, mask) in enumerate(zip(self.terms, masks, strict=True)):
            if not mask.any():
                what = "leaves" if term.expression == REST else "selects"
                raise InputError(
                    f"--bias: {shorten(term.expression)!r} {what} no training row, so that its "
                    "budget would be about nothing; check the values it compares with, or leave "
                    "the part out"
                )
            for at in np.flatnonzero(mask & (owner >= 0))[:1]:
                first = self.terms[owner[at]].expression
                raise InputError(
                    f"--bias: row {int(rows[1][at]):,} is in two parts, "
                    f"{shorten(first)!r} and {shorten(term.expression)!r} "
                    f"({counted(int((mask & (owner >= 0)).sum()), 'such row')}), so that nobody "
                    "knows which budget its label counts for; make the conditions exclude each "
                    f"other, or write {REST} for all rows of no other part"
                )
            owner[mask] = number
        return masks

    def movable(self, rows: Loaded) -> BoolArray:
        """Return the rows of all parts."""
        return np.asarray(np.any(self._parts(rows), axis=0))

    def bias(
        self, made: Callable[..., LabelBias], budget: Budget, where: Any, rows: Loaded
    ) -> LabelBias:
        """Return the sum of the parts."""
        terms = []
        for term, mask in zip(self.terms, self._parts(rows), strict=True):
            stated: Any = int(term.budget.value)
            if term.sample is not None:
                wrong, checked = term.sample
                stated = Sampled(checked, wrong, self.confidence, population=term.population)
            terms.append(made(budget=stated, where=mask, direction=term.direction))
        if self.cap is None or len(terms) == 1:  # a cap is not below the budget of a single part
            return sum(terms[1:], start=terms[0])
        return sum(terms[1:], start=terms[0]).capped(int(self.cap.value))

    def in_words(self, errors: Errors) -> str:
        """Say what may be wrong in each part."""
        parts = [term.in_words(errors, self.confidence) for term in self.terms]
        cap = [] if self.cap is None else [f"at most {labels(int(self.cap.value))} in all"]
        rest = (
            [] if self.terms[-1].expression == REST else ["every other label is taken to be right"]
        )
        return "; ".join([*parts, *cap, *rest])


def parse_parts(text: str, cap: str | None, confidence: float) -> InParts:
    """Read sets of rows and their budgets: ``CONDITION: BUDGET [up|down]; …``.

    >>> [term.budget.value for term in parse_parts("age < 30: 5% up; rest: 4", None, 0.95).terms]
    [0.05, 4]
    """
    wanted = (
        "write parts as CONDITION: BUDGET, followed by up or down if errors go one way, with "
        "semicolons between them: \"gender == 'female': 5% up; gender == 'male': 1%\""
    )
    terms = []
    for part in filter(str.strip, split_outside(text, ";")):
        condition, *rest = split_outside(part, ":")
        if len(rest) != 1 or not condition.strip():
            raise InputError(f"--bias {shorten(part.strip())!r} is not a part; {wanted}")
        terms.append(_term(condition.strip(), rest[0]))
    if not terms:
        raise InputError(f"--bias {text!r} names no part; {wanted}")
    left = [at for at, term in enumerate(terms) if term.expression == REST]
    if left not in ([], [len(terms) - 1]):
        raise InputError(
            f"--bias: {REST} is for all rows of no other part; write it once, as the last"
        )
    if len(terms) == 1 and left:
        raise InputError(f"--bias: {REST} needs another part before it; use --budget for all rows")
    return InParts(tuple(terms), None if cap is None else parse_budget(cap, "--cap"), confidence)


def _term(condition: str, text: str) -> Term:
    """Read one part."""
    match = _DIRECTION.fullmatch(text.strip())
    direction: Any = None if match is None else match[2]
    stated = text.strip() if match is None else match[1]
    sample = parse_sample(stated, "--bias")
    if sample is not None:
        return Term(condition, Budget(stated, math.nan), direction, sample)
    return Term(condition, parse_budget(stated, "--bias"), direction)


# --- samples --------------------------------------------------------------------------------------


def parse_sample(text: str, option: str = "--sampled") -> tuple[int, int] | None:
    """Read how many labels of a sample were wrong, such as ``4/300``; None if it is no such text.

    >>> parse_sample("4/300"), parse_sample("checked.csv")
    ((4, 300), None)
    """
    match = _SAMPLE.fullmatch(text)
    if match is None:
        return None
    wrong, checked = int(match[1]), int(match[2])
    if wrong > checked:
        raise InputError(
            f"{option} {text.strip()}: {wrong:,} of {checked:,} checked labels cannot be wrong; "
            "write WRONG/CHECKED, such as 4/300"
        )
    return wrong, checked


def parse_confidence(text: str) -> float:
    """Read a confidence such as ``95%``."""
    level = float(f"{parse_share(text, '--confidence'):.15g}")
    if not 0 < level < 1:
        raise InputError(
            f"--confidence {text} is no confidence that a sample can give; pass one above 0 % and "
            "below 100 %, such as 95%"
        )
    return level


def bound(
    checked: int, wrong: int, confidence: float, population: int, where: str, option: str
) -> int:
    """Return at most how many labels are wrong, given a sample of them."""
    if checked > population:
        raise InputError(
            f"{option} {wrong}/{checked}: {checked:,} labels cannot have been checked, because "
            f"there are only {where}; write WRONG/CHECKED, such as 4/300"
        )
    return most_wrong(population, checked, wrong, Fraction(str(confidence)))


@dataclass(frozen=True)
class Checked:
    """A sample of the labels of a file that was checked."""

    population: int
    checked: int
    wrong: int  # with those that nobody can tell
    # By row, where it is known: the label as it should be, and whether the file has another
    answers: Mapping[int, float] = field(default_factory=dict)
    changed: tuple[int, ...] = ()  # rows of the wrong ones whose label is known now

    @property
    def corrected(self) -> int:
        """How many wrong labels are known now."""
        return len(self.changed)

    def sentence(self, count: int, confidence: float) -> str:
        """Say how many labels may be wrong, and why."""
        were = "was" if self.wrong == 1 else "were"
        return (
            f"with {100 * confidence:g} % confidence, at most {count:,} of the "
            f"{self.population:,} labels of the file are wrong, because {self.wrong:,} of "
            f"{self.checked:,} labels checked at random {were}"
        )


@dataclass(frozen=True)
class BySample(Stated):
    """Labels of the file were drawn at random and checked, and the budget follows from that."""

    option: ClassVar[str] = "--sampled"
    sample: tuple[int, int] | Path  # wrong and checked, or the list with what people found
    confidence: float
    found: Checked | None = None

    def known(self, request: Request, target: Any, every: pa.Table) -> Request:
        """Return the request with the bound that the sample gives."""
        if isinstance(self.sample, Path):
            found = read_sample(self.sample, request, target, every)
        else:
            wrong, checked = self.sample
            found = Checked(every.num_rows, checked, wrong)
        count = self.most(found)
        budget = Budget(f"{found.wrong}/{found.checked}", count - found.corrected)
        return replace(request, stated=replace(self, found=found), budgets=(budget,))

    def most(self, found: Checked) -> int:
        """Return at most how many labels of the file were wrong before any was corrected."""
        where = f"{found.population:,} rows in the file"
        return bound(
            found.checked, found.wrong, self.confidence, found.population, where, "--sampled"
        )

    def movable(self, rows: Loaded) -> BoolArray:
        """Return the rows whose label is not known."""
        assert self.found is not None  # noqa: S101  (the file was read)
        return ~np.isin(rows[1], list(self.found.answers))

    def to_verify(self, request: Request) -> str | None:
        """Say which labels of the training file `unswayed verify` needs corrected."""
        if self.found is None or not self.found.changed:
            return None
        rows = ", ".join(map(str, self.found.changed))
        return (
            "certificates are about corrected labels: for unswayed verify --train, copy "
            f"{request.train.name} and correct column {shorten(request.label)!r} in what "
            f"{self.sample} says is wrong (row{'s' if len(self.found.changed) > 1 else ''} {rows})"
        )

    def corrected(self, labels: FloatArray, numbers: IntArray) -> FloatArray:
        """Return labels, those that were checked as they should be."""
        assert self.found is not None  # noqa: S101  (the file was read)
        answers = self.found.answers
        return np.array(
            [
                answers.get(row, label)
                for row, label in zip(numbers.tolist(), labels.tolist(), strict=True)
            ]
            if answers
            else labels
        )

    def bias(
        self, made: Callable[..., LabelBias], budget: Budget, where: Any, rows: Loaded
    ) -> LabelBias:
        """Return a bias whose budget carries the sample."""
        assert self.found is not None  # noqa: S101  (the file was read)
        level, found = Fraction(str(self.confidence)), self.found
        known = np.flatnonzero(~self.movable(rows)) if found.answers else None
        stated = SampledCount(
            int(budget.value), level, found.checked, found.wrong, found.population, known
        )
        return made(budget=stated, where=where)

    def in_words(self, errors: Errors) -> str:
        """Say how many labels may be wrong, and why."""
        assert self.found is not None  # noqa: S101  (the file was read)
        found, count = self.found, self.most(self.found)
        said = f"{errors()}; {found.sentence(count, self.confidence)}"
        if not found.answers:
            return said
        return (
            f"{said}; {found.corrected:,} of these are corrected, and what was checked is taken to "
            f"be right, so that {labels(count - found.corrected)} may still be wrong"
        )


def read_sample(path: Path, request: Request, target: Target, every: pa.Table) -> Checked:
    """Read a list that ``unswayed sample draw`` made and people filled in."""
    if not path.is_file():
        raise InputError(
            f"--sampled {path} is neither WRONG/CHECKED, such as 4/300, nor a file; check the name "
            "and the folder"
        )
    names, lines = read_lines(path)
    if not {"row", "label", ANSWER, POPULATION} <= set(names) or not lines:
        raise InputError(
            f"{path} is no list of unswayed sample draw, with the columns row, label, "
            f"{POPULATION} and {ANSWER}: a sample is one only if it was drawn at random; make a "
            "list with unswayed sample draw"
        )
    answers: dict[int, float] = {}
    changed: list[int] = []
    unknown = 0
    for line in lines:
        row, text = _row(path, line, every.num_rows, request), (line[ANSWER] or "").strip()
        if row in answers or not text:
            why = "is in the list twice" if row in answers else f"has no {ANSWER}"
            raise InputError(
                f"{path}: row {row:,} {why}; a sample is a random one only if every label that "
                f"was drawn is checked once: fill it in, with {UNKNOWN} where nobody can tell "
                "(which counts as wrong)"
            )
        given = float(target.encode(every.column(target.label).slice(row - 1, 1))[0])
        _check_label(path, row, line["label"], target.as_text(given), request)
        answers[row] = math.nan if text == UNKNOWN else label_of(request, target, row, text, path)
        unknown += text == UNKNOWN
        if text != UNKNOWN and answers[row] != given:
            changed.append(row)
    known = {row: label for row, label in answers.items() if not math.isnan(label)}
    wrong = len(changed) + unknown
    return Checked(every.num_rows, len(lines), wrong, known, tuple(changed))


def _row(path: Path, line: dict[str, str], n_rows: int, request: Request) -> int:
    """Return the row that a line is about; raise if it is one of another file."""
    try:
        of, row = as_row(line[POPULATION], 10**12), as_row(line["row"], n_rows, 1)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    if of != n_rows:
        raise InputError(
            f"{path} was drawn from a file of {of:,} rows, and {request.train.name} has "
            f"{n_rows:,}; pass the file that it was drawn from"
        )
    return row


def _check_label(path: Path, row: int, then: str, now: str, request: Request) -> None:
    """Raise if a row had another label when the sample was drawn."""
    if then.strip() not in (now, f"'{now}") and not same(then, now):
        raise InputError(
            f"{path}: the label of row {row:,} was {then!r} when the sample was drawn, and is "
            f"{now!r} in {request.train.name}; pass the file that it was drawn from, before any "
            "label was corrected"
        )


# --- amounts --------------------------------------------------------------------------------------


def parse_amount(text: str, option: str, what: str) -> Budget:
    """Read an amount that is no number of labels.

    >>> parse_amount("1e5", "--total", "a total").value
    100000.0
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise InputError(f"{option} {text!r} is not {what}; pass a number, 0 or more")
    return Budget(written(value), value, amount=True)


def parse_clusters(text: str) -> Budget:
    """Read a number of clusters."""
    try:
        found = parse_budget(text)
    except InputError:
        found = Budget(text, 0.5)
    if not isinstance(found.value, int):
        raise InputError(
            f"--budget {text!r} is no number of clusters; with --clusters the budget is how many "
            "of them may be wrong as a whole, such as 1"
        )
    return found
