"""Request: what is asked of a file, checked before the file is opened."""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa

from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.exceptions import InputError
from unswayed.labels.bias import LabelBias
from unswayed.labels.budgets import as_written, count_budget, least_share
from unswayed.labels.offsets import cut
from unswayed.margins.decisions import AboveMean, Threshold
from unswayed.study.kinds import RIDGE, Kind
from unswayed.tables.delimited import Dialect
from unswayed.tables.expression import split_outside
from unswayed.tables.inspection import Roles
from unswayed.words import without_secrets, written

# ----------------------------------------------------------------------------------------
# Shift: how far labels that are numbers may be off, as it was written.

_END = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)\s*(%?)\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Shift:
    """What may be added to a label: a range around 0, or around 0 % of the label."""

    low: float
    high: float
    relative: bool = False  # the ends are shares of the label's absolute value

    def of_logarithms(self, labels: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return what may be added to the logarithms of labels that may be off by a factor.

        A share of 5 % is a factor of 1.05 either way. The double next to a logarithm is not the
        logarithm: ends are wide enough for labels whose logarithms were rounded, before or after.
        """
        ends = [_log(1 + Fraction(abs(end)), up=True) for end in (self.low, self.high)]
        # Of a logarithm the C library knows the last place but one, here and at the other end.
        lost = 4 * np.spacing(np.abs(labels) + max(ends))
        wide = [np.nextafter(end + lost, np.inf) if end else np.zeros(len(labels)) for end in ends]
        return -wide[0], wide[1]

    def in_words(self, direction: str | None, *, log: bool = False) -> str:
        """Describe how far a label may be off."""
        down, up = self._amount(-self.low, log=log), self._amount(self.high, log=log)
        too_low, too_high = f"too low by {up}", f"too high by {down}"
        if not log:
            too_low, too_high = f"{up} too low", f"{down} too high"
        if direction == "up" or self.low == 0:
            return f"any label may be {too_low}"
        if direction == "down" or self.high == 0:
            return f"any label may be {too_high}"
        if self.low == -self.high:
            return f"any label may be off by {up} either way"
        return f"any label may be {too_high} or {too_low}"

    def _amount(self, amount: float, *, log: bool) -> str:
        if log:
            return f"a factor of up to {written(amount, plus=1)}"
        if self.relative:
            return f"up to {written(amount, times=100)} % of its own value"
        return f"up to {written(amount)}"


def parse_shift(text: str) -> Shift:
    """Read by how much labels may be wrong.

    ``2000`` is ±2000, ``0:2000`` only upwards, ``5%`` is 5 % of each label's own value.

    Examples
    --------
    >>> parse_shift("0:2000"), parse_shift("50%")
    (Shift(low=0.0, high=2000.0, relative=False), Shift(low=-0.5, high=0.5, relative=True))
    """
    found = [_END.fullmatch(end) for end in text.split(":")]
    ends = [(Fraction(match[1]), match[2]) for match in found if match is not None]
    numbers, signs = [number for number, _ in ends], {sign for number, sign in ends if number}
    if len(found) == len(ends) == 1 and numbers[0] >= 0:
        numbers = [-numbers[0], numbers[0]]
    if len(found) == len(ends) and len(numbers) == 2 and len(signs) < 2:
        relative = "%" in signs or (not signs and ends[0][1] == "%")
        low, high = (number / 100 if relative else number for number in numbers)
        if low <= 0 <= high and max(-low, high) <= Fraction(1e300):
            outward = _outward if relative else float
            return Shift(0.0 - outward(-low), outward(high), relative)
    raise InputError(
        f"--shift {text!r} is not a range of label errors; write 2000 for up to 2000 either way, "
        "0:2000 for labels that may be up to 2000 too low (LOW:HIGH with LOW <= 0 <= HIGH), or 5% "
        "or 0:5% for a share of each label's own value"
    )


def parse_clip(text: str) -> tuple[float, float]:
    """Read a range that labels cannot leave: ``0:100``, or ``0:`` with one end.

    Examples
    --------
    >>> parse_clip("0:"), parse_clip("0:100")
    ((0.0, inf), (0.0, 100.0))
    """
    ends = [end.strip() for end in text.split(":")]
    if len(ends) == 2 and any(ends):
        low, high = _float(ends[0] or "-inf"), _float(ends[1] or "inf")
        if low <= high:
            return low, high
    raise InputError(
        f"--clip {text!r} is not a range that labels stay in; write 0: for labels that are never "
        "below 0, :100 for never above 100, or 0:100"
    )


def parse_radius(text: str, *, log: bool) -> float:
    """Read how far a prediction may move: a number, or of logarithms a share such as ``10%``."""
    match = _END.fullmatch(text)
    if match is not None and Fraction(match[1]) >= 0 and float(match[1]) < math.inf:
        share = match[2] == "%"
        if share and log:
            return -_outward(-Fraction(match[1]) / 100)
        if not share and not log:
            return float(match[1])
        raise InputError(
            f"--radius {text}: with --log a prediction moves by a share of itself, so write "
            "--radius 10% for a factor of 1.1"
            if log
            else f"--radius {text}: a share is for --log; without it, write the distance in the "
            "label's own unit, such as --radius 2000"
        )
    wanted = "a share, 0 % or more, such as 10%" if log else "a number, 0 or more"
    raise InputError(f"--radius {text!r} is not a distance; pass {wanted}")


def log_below(number: Fraction) -> float:
    """Return the logarithm of a number, rounded down."""
    return max(0.0, _log(number, up=False))


def log_range(clip: tuple[float, float]) -> tuple[float, float]:
    """Return the logarithms of the ends of a range, rounded outwards."""
    low, high = clip
    if low > 0:
        found = _log(Fraction(low), up=False)
        low = found - 4 * math.ulp(found)
    else:
        low = -math.inf
    if high < math.inf:
        found = _log(Fraction(high), up=True)
        high = found + 4 * math.ulp(found)
    return low, high


def _log(number: Fraction, *, up: bool) -> float:
    """Return a logarithm rounded up or down, to a double."""
    if number == 1:
        return 0.0
    exactly = Context(prec=60)
    found = exactly.ln(exactly.divide(Decimal(number.numerator), Decimal(number.denominator)))
    # One digit in forty is more than the division and the logarithm lose.
    edge = Context(prec=40, rounding=ROUND_CEILING if up else ROUND_FLOOR).plus(found)
    return _outward(Fraction(edge)) if up else -_outward(-Fraction(edge))


def _outward(number: Fraction) -> float:
    """Return the least double that is not below a number."""
    nearest = float(number)
    return math.nextafter(nearest, math.inf) if Fraction(nearest) < number else nearest


_NUMBER = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(%?)\s*")

Where: TypeAlias = Callable[[Any, Any], BoolArray]
"""From rows and labels to which of them may be wrong."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How many labels may be wrong at once: as it was written and as a number."""

    text: str
    value: float  # an int is a count, a float a share of the training rows
    stated: bool = True  # False: nobody asked for it, so that it may be rounded up to one label
    amount: bool = False  # Whether it is no number of labels, but so much of something else

    def settled(self, n_rows: int, option: str = "--budget") -> "Budget":
        """Return the budget; one label where the default is less, and raise where a stated one is.

        A budget of no labels calls every prediction robust, which proves nothing.
        """
        if self.amount or not self.value or as_written(self.value) * n_rows >= 1:
            return self
        if not self.stated:
            return Budget("1", 1)
        raise InputError(
            f"{option} {self.text} of {n_rows:,} training rows is less than one label, so that "
            "nothing would be put to the test and every prediction be called robust; pass "
            f"{option} {(100 * least_share(n_rows)).normalize():f}% or more, or a count such as "
            f"{option} 1"
        )

    def count(self, n_rows: int) -> float:
        """Return the budget as a number of labels, or what it is an amount of."""
        return self.value if self.amount else count_budget(self.value, n_rows)


DEFAULT_BUDGET = Budget("1%", 0.01, stated=False)


def parse_budget(text: str, option: str = "--budget") -> Budget:
    """Read a budget: a count, or a share with a percent sign.

    Examples
    --------
    >>> parse_budget("1%").value
    0.01
    >>> parse_budget("25").value
    25
    """
    match = _NUMBER.fullmatch(text)
    if match is not None:
        number, percent = float(match[1]), match[2]
        if percent and 0 <= number < 100:
            # Rounded: 0.29 / 100 in floats is not the share that was written.
            return Budget(text.strip(), float(f"{number / 100:.15g}"))
        if not percent and number >= 0 and number == math.floor(number):
            return Budget(text.strip(), int(number))
    raise InputError(
        f"{option} {text.strip()!r} is not a number of labels; write a count such as 25, or a "
        "share of the training rows below 100 % such as 1%"
    )


class Stated(ABC):
    """How much may be wrong at once, where that is no number of any labels."""

    @property
    @abstractmethod
    def option(self) -> str:
        """The option that says so."""

    @property
    def columns(self) -> Mapping[str, str]:
        """Columns that are no features, by the options that name them."""
        return {}

    @abstractmethod
    def bias(
        self, made: Callable[..., LabelBias], budget: Budget, where: Any, rows: "Loaded"
    ) -> LabelBias:
        """Return the bias of training rows; `made` makes one of a budget and of some rows."""

    @abstractmethod
    def in_words(self, errors: Callable[..., str]) -> str:
        """Say which labels may be wrong; `errors` says how, and takes another direction."""

    def settled(self, request: "Request", n_rows: int) -> "Request":
        """Return the request once it is known how many training rows shares are taken of."""
        return request

    def known(self, request: "Request", target: Any, every: pa.Table) -> "Request":
        """Return the request once all rows of the training file are known."""
        return request

    def movable(self, rows: "Loaded") -> BoolArray:
        """Return which training rows' labels may be wrong."""
        return np.ones(len(rows[1]), dtype=bool)

    def spent(self, limit: Any, rows: IntArray, change: FloatArray) -> float:
        """Return how much of the model's budget some label changes take."""
        return float(len(rows))

    def corrected(self, labels: FloatArray, numbers: IntArray) -> FloatArray:
        """Return labels of rows of the training file, those that were checked as they should be."""
        return labels

    def to_verify(self, request: "Request") -> str | None:
        """Say what else the training file needs before certificates can be checked against it."""
        return None


Loaded: TypeAlias = tuple[pa.Table, IntArray]
"""Rows of a file, and their numbers in it, from 1."""


def parse_share(text: str, option: str) -> float:
    """Read a share such as ``80%`` or ``0.8``."""
    match = _NUMBER.fullmatch(text)
    if match is not None:
        share = float(match[1]) / (100 if match[2] else 1)
        if 0 <= share <= 1:
            return share
    raise InputError(f"{option} {text!r} is not a share; write 80% or 0.8")


def _float(text: str) -> float:
    """Return a number; NaN where a text is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def parse_alpha(text: str) -> float | None:
    """Read a ridge penalty."""
    if text.strip().lower() == "auto":
        return None
    alpha = _float(text)
    if not 0 <= alpha < math.inf:
        raise InputError(f"--alpha {text!r} is not a penalty; write a number, 0 or more, or auto")
    return alpha


def parse_steps(text: str) -> float | None:
    """Read a number of steps; None where it is none."""
    steps = _float(text)
    return steps if steps >= 1 and steps == math.floor(min(steps, 2.0**53)) else None


def parse_strength(text: str) -> float | None:
    """Read the C of a logistic regression, as the penalty that it stands for.

    Examples
    --------
    >>> parse_strength("0.01"), parse_strength("inf")
    (100.0, 0.0)
    """
    if text.strip().lower() == "auto":
        return None
    strength = _float(text)
    if not strength > 0 or not math.isfinite(1 / strength):
        raise InputError(
            f"--C {text!r} is not the C of a logistic regression; write a number above 0 (the "
            "smaller, the stronger the penalty), inf for no penalty, or auto"
        )
    return 1 / strength


def parse_probability(text: str) -> float:
    """Read a threshold of a logistic regression, as the log-odds that it stands for."""
    try:
        share = parse_share(text, "--threshold")
    except InputError:
        share = 0.0
    if not 0 < share < 1:
        raise InputError(
            f"--threshold {text!r} is not a probability; with --model logistic write one between 0 "
            "and 1, such as 0.3, above which the second class is predicted"
        )
    return math.log(share / (1 - share))


def parse_threshold(text: str) -> float | Literal["balanced"]:
    """Read where one class ends and the other begins."""
    if text.strip().lower() == "balanced":
        return "balanced"
    value = _float(text)
    if not math.isfinite(value):
        raise InputError(
            f"--threshold {text!r} is not a score; write a number such as 0.5, or balanced for the "
            "share of positive labels"
        )
    return value


def parse_to(text: str) -> dict[str, tuple[str, ...]]:
    """Read what labels may really be: classes, and for each a list of others.

    >>> parse_to("hired: declined, withdrawn; 'on hold: 2': declined")
    {'hired': ('declined', 'withdrawn'), 'on hold: 2': ('declined',)}
    """
    found: dict[str, tuple[str, ...]] = {}
    for part in filter(str.strip, split_outside(text, ";")):
        name, *rest = split_outside(part, ":")
        others = split_outside(rest[0], ",") if len(rest) == 1 else [""]
        names = [_unquoted(each) for each in (name, *others)]
        if not all(names) or names[0] in found:
            found = {}
            break
        found[names[0]] = tuple(names[1:])
    if not found:
        raise InputError(
            f"--to {text.strip()!r} does not say what labels may really be; write each class once, "
            "a colon, and the classes that its labels may really be, with semicolons between "
            'them: "hired: declined, withdrawn; interview: declined". A name with one of these '
            "signs goes into quotes"
        )
    return found


def _unquoted(text: str) -> str:
    bare = text.strip()
    quoted = len(bare) > 1 and bare[0] == bare[-1] and bare[0] in "'\""
    return bare[1:-1] if quoted else bare


def parse_holdout(text: str) -> float:
    """Read how many rows to hold out: a count, or a share with a percent sign."""
    try:
        rows = parse_budget(text).value
    except InputError:
        rows = 0
    if rows <= 0:
        raise InputError(
            f"--holdout {text!r} is not a number of rows; write a count such as 500, or a share "
            "below 100 % such as 10%"
        )
    return rows


def parse_folds(text: str) -> int:
    """Read a number of folds."""
    try:
        folds = int(text)
    except ValueError:
        raise InputError(f"--folds {text!r} is not a number of folds; write 10, say") from None
    if folds < 2:
        raise InputError(f"--folds {folds} leaves no rows to train on; pass 2 or more, say 10")
    return folds


@dataclass(frozen=True, slots=True)
class InPieces:
    """Training rows that are read in pieces and never held whole."""

    source: str = field(repr=False)  # A file, a folder, a pattern or a URL, as it was written
    scheduler: str | None = None  # Address of a dask scheduler; None: this machine
    resume: Path | None = None  # Folder that keeps what passes found

    @property
    def shown(self) -> str:
        """The source as people are shown it: without secrets."""
        return without_secrets(self.source)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked: which file, which label, which of its labels may be wrong, and how."""

    train: Path
    label: str
    test: Path | None = None
    task: Literal["classification", "regression"] | None = None
    positive: str | None = None  # the class that all others are put against, as one
    # From classes to those that their labels may really be, as people call them; empty: to any
    to: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    asks: str = "certify"  # the command, where not every label can be asked so
    dialect: Dialect = field(default_factory=Dialect)
    categorical: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    features: tuple[str, ...] = ()  # the only ones; empty: all but the label and those ignored
    weights: str | None = None  # column that says how much each training row counts
    missing: Literal["refuse", "drop", "impute"] = "refuse"
    unseen: Literal["refuse", "ignore"] = "refuse"
    holdout: float | None = None  # 10 %, but not more rows than say something
    folds: int | None = None  # every row is certified, by a model of the other folds
    fold_by: str | None = None  # column whose equal values are never split from each other
    seed: int = 0
    budgets: tuple[Budget, ...] = (DEFAULT_BUDGET,)
    stated: Stated | None = None  # what budgets are amounts of; None: labels
    shift: Shift | None = None
    clip: tuple[float, float] | None = None  # labels cannot leave this range
    log: bool = False  # the model is trained on the logarithms of the labels
    only: str | None = None
    direction: Literal["up", "down"] | None = None
    radius: float | None = None  # in the label's unit; of logarithms, a share
    kind: Kind = RIDGE
    alpha: float | None = 1.0  # the penalty, see `kinds`; None: to be chosen
    effort: int | None = None  # for rows that are left undecided, where verdicts are not exact
    threshold: float | Literal["balanced"] | None = None  # None: half-way between the classes
    give_up: float = 0.0
    validation: Path | None = None  # rows that choose alpha; None: some are set aside for it
    groups: tuple[str, ...] = ()
    method: str = "exact"
    resolve: Literal["exact"] | None = None
    ranges: bool = True  # of scores, beside verdicts
    keep: bool = False  # certificates with all that is behind them, to be written to a file
    least: bool = True  # minimum budgets, beside verdicts
    in_pieces: InPieces | None = None  # None: the training rows are held in memory

    @property
    def budget(self) -> Budget:
        """The main budget, which is the first one given."""
        return self.budgets[0]

    def settled(self, n_rows: int) -> "Request":
        """Return the request once it is known how many training rows shares are taken of."""
        if self.stated is not None:
            return self.stated.settled(self, n_rows)
        return replace(self, budgets=tuple(each.settled(n_rows) for each in self.budgets))

    @property
    def sets_aside(self) -> bool:
        """Whether rows that are no training rows choose the penalty."""
        return self.alpha is None and "choice" not in self.kind.can

    @property
    def rule(self) -> Threshold:
        """Which class a score stands for, where labels are classes, coded as 0 and 1.

        Of logistic regression, scores and the threshold are log-odds.
        """
        if self.threshold is None:
            return Threshold(0.0) if self.kind.log_odds else Threshold.between(0.0, 1.0)
        return AboveMean(0.0) if self.threshold == "balanced" else Threshold(self.threshold)

    @property
    def roles(self) -> Roles:
        """What the columns of the training file are for."""
        return Roles(
            label=self.label,
            positive=self.positive,
            weights=self.weights,
            fold_by=self.fold_by,
            beside={} if self.stated is None else self.stated.columns,
            ignore=self.ignore,
            features=self.features,
            categorical=self.categorical,
            numeric=self.numeric,
            classification=self.task == "classification",
            regression=self.task == "regression",
            decimal=self.dialect.decimal,
        )

    @property
    def pieces(self) -> "InPieces":
        """How the training rows are read, where they are read in pieces."""
        assert self.in_pieces is not None  # noqa: S101
        return self.in_pieces

    @property
    def files(self) -> tuple[Path, ...]:
        """Paths of all files that are read; of training rows in pieces, those of the others."""
        train = None if self.in_pieces is not None else self.train
        return tuple(path for path in (train, self.test, self.validation) if path is not None)

    def on_scale(self, radius: float) -> float:
        """Return a radius on the scale that the model is trained on."""
        return log_below(1 + Fraction(radius)) if self.log else radius

    def bias(
        self,
        labels: FloatArray,
        where: BoolArray | Where | None,
        rows: Loaded | None = None,
        to: Mapping[float, list[float]] | None = None,
    ) -> LabelBias:
        """Return the bias model at the main budget; `to` says which class each may really be."""
        made = partial(self._bias, labels, to)
        if self.stated is None or rows is None:
            return made(budget=self.budget.value, where=where)
        return self.stated.bias(made, self.budget, where, rows)

    def _bias(
        self, labels: FloatArray, to: Mapping[float, list[float]] | None, **rest: Any
    ) -> LabelBias:
        """Return a bias of the errors that are asked about."""
        shift, rest = self.shift, {"direction": self.direction} | rest
        if shift is None:
            return LabelBias.flips(to=to, **rest)
        if not self.log:
            ends = (shift.low, shift.high)
            return LabelBias.shifts(ends, relative=shift.relative, clip=self.clip, **rest)
        lower, upper = shift.of_logarithms(labels)
        if self.clip is not None:
            lower, upper = cut(lower, upper, labels, log_range(self.clip))
        return LabelBias.intervals(lower, upper, **rest)
