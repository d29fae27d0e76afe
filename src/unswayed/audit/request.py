"""Request: what is asked of a file, checked before the file is opened."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, TypeAlias

from unswayed._typing import BoolArray, FloatArray
from unswayed.audit.inspection import Roles
from unswayed.audit.kinds import RIDGE, Kind
from unswayed.audit.reading import Reading
from unswayed.audit.shift import Shift, log_below, log_range
from unswayed.bias import LabelBias, cut
from unswayed.budgets import as_written, count_budget, least_share
from unswayed.decisions import AboveMean, Threshold
from unswayed.exceptions import InputError
from unswayed.words import without_secrets

_NUMBER = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(%?)\s*")

Where: TypeAlias = Callable[[Any, Any], BoolArray]
"""From rows and labels to which of them may be wrong."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How many labels may be wrong at once: as it was written and as a number."""

    text: str
    value: float  # an int is a count, a float a share of the training rows
    stated: bool = True  # False: nobody asked for it, so that it may be rounded up to one label

    def settled(self, n_rows: int) -> "Budget":
        """Return the budget; one label where the default is less, and raise where a stated one is.

        A budget of no labels calls every prediction robust, which proves nothing.
        """
        if not self.value or as_written(self.value) * n_rows >= 1:
            return self
        if not self.stated:
            return Budget("1", 1)
        raise InputError(
            f"--budget {self.text} of {n_rows:,} training rows is less than one label, so that "
            "nothing would be put to the test and every prediction be called robust; pass "
            f"--budget {(100 * least_share(n_rows)).normalize():f}% or more, or a count such as "
            "--budget 1"
        )

    def count(self, n_rows: int) -> int:
        """Return the budget as a number of labels."""
        return count_budget(self.value, n_rows)


DEFAULT_BUDGET = Budget("1%", 0.01, stated=False)


def parse_budget(text: str) -> Budget:
    """Read a budget: a count, or a share with a percent sign.

    Examples
    --------
    >>> parse_budget("1%")
    Budget(text='1%', value=0.01, stated=True)
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
        f"--budget {text!r} is not a number of labels; write a count such as 25, or a share of "
        "the training rows below 100 % such as 1%"
    )


def parse_share(text: str, option: str) -> float:
    """Read a share such as ``80%`` or ``0.8``."""
    match = _NUMBER.fullmatch(text)
    if match is not None:
        share = float(match[1]) / (100 if match[2] else 1)
        if 0 <= share <= 1:
            return share
    raise InputError(f"{option} {text!r} is not a share; write 80% or 0.8")


def parse_alpha(text: str) -> float | None:
    """Read a ridge penalty."""
    if text.strip().lower() == "auto":
        return None
    try:
        alpha = float(text)
    except ValueError:
        alpha = math.nan
    if not 0 <= alpha < math.inf:
        raise InputError(f"--alpha {text!r} is not a penalty; write a number, 0 or more, or auto")
    return alpha


def parse_strength(text: str) -> float | None:
    """Read the C of a logistic regression, as the penalty that it stands for.

    Examples
    --------
    >>> parse_strength("0.01"), parse_strength("inf")
    (100.0, 0.0)
    """
    if text.strip().lower() == "auto":
        return None
    try:
        strength = float(text)
    except ValueError:
        strength = math.nan
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
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(
            f"--threshold {text!r} is not a score; write a number such as 0.5, or balanced for the "
            "share of positive labels"
        )
    return value


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
    reading: Reading = field(default_factory=Reading)
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
        return replace(self, budgets=tuple(each.settled(n_rows) for each in self.budgets))

    @property
    def rule(self) -> Threshold:
        """Which class a score stands for, where labels are classes, coded as 0 and 1.

        Of logistic regression, scores and the threshold are log-odds.
        """
        if self.threshold is None:
            return Threshold.between(0.0, 1.0) if self.kind.linear else Threshold(0.0)
        return AboveMean(0.0) if self.threshold == "balanced" else Threshold(self.threshold)

    @property
    def roles(self) -> Roles:
        """What the columns of the training file are for."""
        return Roles(
            label=self.label,
            positive=self.positive,
            weights=self.weights,
            fold_by=self.fold_by,
            ignore=self.ignore,
            features=self.features,
            categorical=self.categorical,
            numeric=self.numeric,
            regression=self.task == "regression",
            decimal=self.reading.decimal,
        )

    @property
    def files(self) -> tuple[Path, ...]:
        """Paths of all files that are read; of training rows in pieces, those of the others."""
        train = None if self.in_pieces is not None else self.train
        return tuple(path for path in (train, self.test, self.validation) if path is not None)

    def on_scale(self, radius: float) -> float:
        """Return a radius on the scale that the model is trained on."""
        return log_below(1 + Fraction(radius)) if self.log else radius

    def bias(self, labels: FloatArray, where: BoolArray | Where | None) -> LabelBias:
        """Return the bias model at the main budget."""
        shift = self.shift
        rest: dict[str, Any] = {"budget": self.budget.value, "direction": self.direction}
        if shift is None:
            return LabelBias.flips(where=where, **rest)
        if not self.log:
            return LabelBias.shifts(
                (shift.low, shift.high),
                where=where,
                relative=shift.relative,
                clip=self.clip,
                **rest,
            )
        lower, upper = shift.of_logarithms(labels)
        if self.clip is not None:
            lower, upper = cut(lower, upper, labels, log_range(self.clip))
        return LabelBias.intervals(lower, upper, where=where, **rest)
