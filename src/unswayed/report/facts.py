"""Findings: what a page says of certificates, whoever made them and from whatever rows."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.results.certificates import CertificateSet, Verdict, Witness
from unswayed.results.curves import Alone, Summary
from unswayed.results.groups import SMALL_GROUP, wilson
from unswayed.words import shorten

_LOST = 2.0**-44
_CHANCE = ("standard_error", "confidence_low", "confidence_high")
_DIFFERENCE = (
    "The proven range is not a confidence interval: it is what wrong labels can do, and sampling "
    "error is not in it."
)
NOT_IDENTIFIED = "not identified"
"""What stands where a verdict would, if the data do not say what a coefficient is."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Effects:
    """Coefficients or contrasts that were asked about, each question once."""

    rows: list[dict[str, Any]]
    # The same of the intercept, and what it means; it does not count among the rows
    intercept: dict[str, Any] | None = None
    bases: dict[str, str] = field(default_factory=dict)  # Base level of each category, by column
    meaning: str = ""  # What a coefficient is a change of, in words
    # What could mislead, as `caveat_dicts` gives it
    caveats: list[dict[str, Any]] = field(default_factory=list)
    # Of the rows that are identified, and of the intercept
    certificates: tuple[CertificateSet, ...] = ()
    scope: str = ""  # Of which model they are, where that is not the one that was certified
    # How many labels may be wrong, where that is another number than for predictions
    labels: int | None = None
    # Each "budget" as it was written, its "labels", also "labels_in_words", and how many rows are
    # "kept" and "undecided"
    budgets: list[dict[str, Any]] = field(default_factory=list)
    sampling: str = ""  # What standard errors and intervals are, and are not

    @classmethod
    def of(cls, certificates: CertificateSet, names: Sequence[str], sampling: str) -> "Effects":
        """Return the coefficients of a model as they are, largest first."""
        rows = [{"name": names[at]} | facts(certificates, at) for at in range(len(names))]
        rows.sort(key=lambda row: -abs(row["value"]))
        return cls(rows=rows, certificates=(certificates,), sampling=sampling)

    @property
    def kept(self) -> int:
        """Number of rows whose sign is proven to stay."""
        return sum(row["keeps_sign"] for row in self.rows)

    @property
    def undecided(self) -> int:
        """Number of rows whose sign is neither proven to stay nor known to be lost."""
        return sum(row["verdict"] == Verdict.UNDECIDED for row in self.rows)

    @property
    def unidentified(self) -> list[str]:
        """Names of rows that the data do not identify."""
        return [row["name"] for row in self.rows if row["verdict"] == NOT_IDENTIFIED]


def facts(certificates: CertificateSet, at: int, scale: float = 1.0) -> dict[str, Any]:
    """Return value, range and verdict of a coefficient."""
    return {
        **measured(certificates, at, scale),
        **judged(certificates, at),
        "minimum_budget": float(certificates.minimum_budget[at]),
        "enough": float(certificates.minimum_budgets.high[at]),
    }


def judged(certificates: CertificateSet, at: int) -> dict[str, Any]:
    """Return the verdict on a coefficient's sign, and the same in words."""
    verdict = Verdict(certificates.verdict[at])
    return {
        "verdict": str(verdict),
        "keeps_sign": verdict == Verdict.ROBUST,
        "sign": _sign(verdict, float(certificates.score[at])),
    }


def measured(certificates: CertificateSet, at: int, scale: float = 1.0) -> dict[str, float]:
    """Return a coefficient, its proven range, standard error and interval, divided by a number."""
    value, low, high = (
        float(each[at]) for each in (certificates.score, certificates.low, certificates.high)
    )
    chance = (certificates.standard_error, *certificates.confidence_interval())
    return in_units(value, low, high, scale) | {
        name: float(each[at]) / scale for name, each in zip(_CHANCE, chance, strict=True)
    }


def sampling_in_words(*, reason: str, linear: bool, classes: bool, penalised: bool) -> str:
    """Say what standard errors and confidence intervals are, and how proven ranges differ."""
    if reason:
        return f"Standard errors and confidence intervals are not computed: {reason}. {_DIFFERENCE}"
    assumed = "errors of equal variance" if linear else "labels of the variance that the model says"
    if linear and classes:
        assumed += ", which labels of two classes have only roughly"
    about = (
        " With a penalty, the interval is about the penalised coefficient, not about what it would "
        "be without one."
    )
    return (
        f"{_DIFFERENCE} Confidence intervals, 95 %, allow for chance in the sample, take every "
        f"label to be right, and assume independent {assumed}.{about if penalised else ''}"
    )


def _sign(verdict: Verdict, value: float) -> str:
    match verdict:
        case Verdict.UNDECIDED:
            return "undecided"
        case Verdict.NOT_ROBUST:
            return "can be lost"
    return f"stays {'positive' if value > 0 else 'negative' if value < 0 else '0'}"


def in_units(value: float, low: float, high: float, scale: float) -> dict[str, float]:
    """Return a value and its range divided by a positive number, the range rounded outwards.

    Examples
    --------
    >>> found = in_units(1.0, 0.5, 1.5, 3.0)
    >>> found["low"] * 3 < 0.5, found["high"] * 3 > 1.5
    (True, True)
    """
    if scale == 1:
        return {"value": value, "low": low, "high": high}
    return {
        "value": value / scale,
        "low": math.nextafter(low / scale, -math.inf) if low else low,
        "high": math.nextafter(high / scale, math.inf) if high else high,
    }


def odds_ratios(found: dict[str, Any]) -> dict[str, float]:
    """Return a coefficient of log-odds as an odds ratio, the range rounded outwards.

    Examples
    --------
    >>> odds_ratios({"value": 0.0, "low": -math.inf, "high": math.inf})
    {'odds_ratio': 1.0, 'odds_ratio_low': 0.0, 'odds_ratio_high': inf}
    """
    value, low, high = (_exponential(found[end]) for end in ("value", "low", "high"))
    # Exponentials of a library may be wrong by some units in the last place.
    ends = {"odds_ratio_low": low * (1 - _LOST), "odds_ratio_high": high * (1 + _LOST)}
    return {"odds_ratio": value, **ends}


def _exponential(power: float) -> float:
    try:
        return math.exp(power)
    except OverflowError:
        return math.inf


def not_identified() -> dict[str, Any]:
    """Return the facts of a coefficient that the data do not identify: nothing is certified."""
    return {
        **dict.fromkeys(("value", "low", "high", *_CHANCE), math.nan),
        "verdict": NOT_IDENTIFIED,
        "keeps_sign": False,
        "sign": NOT_IDENTIFIED,
        "minimum_budget": math.nan,
        "enough": math.nan,
    }


# ----------------------------------------------------------------------------------------
# Findings: what a page says of certificates, whoever made them and from whatever rows.

MOST_GROUPS = 40
"""Groups of one column that can still be compared."""
_NAMED = 5  # small groups that a caveat names


class ShownRows(Protocol):
    """Rows whose numbers and cells can be shown."""

    @property
    def numbers(self) -> IntArray:
        """Number of each row, as the reader knows it."""
        ...

    def cells(self, at: IntArray, names: list[str], length: int) -> list[list[str]]:
        """Return cells of some rows as texts."""
        ...


@dataclass(frozen=True, slots=True)
class Caveat:
    """Something that could mislead whoever reads the numbers, and what settles it."""

    # A short name that programs can look for, such as "constant-classifier" or "code-column"
    kind: str
    text: str  # What it is and why it matters, in one sentence
    option: str | None = None  # What to pass to settle it

    def __str__(self) -> str:
        return self.text if self.option is None else f"{self.text}; {self.option}"


def caveat_dicts(caveats: Iterable[Caveat]) -> list[dict[str, Any]]:
    """Return caveats as plain values."""
    return [asdict(each) | {"sentence": str(each)} for each in caveats]


def probability(log_odds: float) -> float:
    """Return the probability of the second class.

    Examples
    --------
    >>> probability(0.0), probability(-1e6)
    (0.5, 0.0)
    """
    return 0.5 * (1.0 + math.tanh(0.5 * log_odds))


def small_groups(groups: Mapping[str, Sequence[str]], option: str | None) -> list[Caveat]:
    """Return a caveat for every column that has groups of few rows."""
    made = []
    for column, values in groups.items():
        counts = sorted(
            (rows, name) for name, rows in Counter(values).items() if rows < SMALL_GROUP
        )
        if not counts:
            continue
        named = ", ".join(f"{shorten(name)!r} ({rows})" for rows, name in counts[:_NAMED])
        named += f" and {len(counts) - _NAMED} more" if len(counts) > _NAMED else ""
        text = (
            f"{shorten(column)!r} has {'a group' if len(counts) == 1 else 'groups'} of fewer than "
            f"{SMALL_GROUP} test rows, where one row moves the rate by more than three points: "
            f"{named}"
        )
        made.append(Caveat("small-group", text, option))
    return made


def quality(predicted: FloatArray, truth: FloatArray, *, classes: bool) -> float:
    """Return the accuracy of predicted classes, or R² of predicted numbers."""
    if classes:
        return float((predicted == truth).mean())
    spread = float(((truth - truth.mean()) ** 2).sum())
    return 1.0 - float(((truth - predicted) ** 2).sum()) / spread if spread else float("nan")


class Size(NamedTuple):
    """Size of a class or of a group among the training rows."""

    rows: int
    movable: int  # of these, how many labels may be wrong


@dataclass(frozen=True, slots=True, eq=False)
class BudgetRate:
    """A budget that was asked about, and which test rows are robust at it."""

    text: str  # as it was written
    labels: int
    robust: BoolArray
    undecided: BoolArray  # neither proven robust nor overturned

    @classmethod
    def of(cls, text: str, labels: int, verdicts: NDArray[np.object_]) -> "BudgetRate":
        """Sort verdicts."""
        robust, undecided = (
            np.asarray(verdicts == each, dtype=bool) for each in (Verdict.ROBUST, Verdict.UNDECIDED)
        )
        return cls(text, labels, robust, undecided)

    @property
    def standing(self) -> BoolArray:
        """Rows that no labels were found to overturn: the robust and the undecided ones."""
        return self.robust | self.undecided

    def interval(self, members: BoolArray | None = None) -> list[float]:
        """Return an interval of the robust share of some rows, however undecided ones turn out."""
        own = np.ones(len(self.robust), dtype=bool) if members is None else members
        least, most = self.robust[own].sum(), self.standing[own].sum()
        return [float(end) for end in wilson(least, own.sum(), most=most)]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Findings:
    """Certificates of test rows in the words and numbers of those who asked."""

    task: str
    label: str  # What is predicted
    classes: tuple[str, ...]  # Both classes, the positive one last; none for numbers
    bias: str  # Which labels may be wrong, and what a robust row keeps
    keeps: str  # Which labels may be wrong, and what a robust row keeps
    model: str  # In words: the model, which rows were certified, and how rows are numbered
    rows_in_words: str  # In words: the model, which rows were certified, and how rows are numbered
    numbering: str  # In words: the model, which rows were certified, and how rows are numbered
    n_train: int  # Number of training rows
    n_movable: int  # Number of training labels that may be wrong
    budgets: Sequence[BudgetRate]  # The first is the main one
    # Of the test rows: fewer labels than `minimum_budget` are proven not to overturn a row (NaN
    # where nothing is proven), and `enough` are known to
    score: FloatArray
    # Of the test rows: fewer labels than `minimum_budget` are proven not to overturn a row (NaN
    # where nothing is proven), and `enough` are known to
    minimum_budget: FloatArray
    # Of the test rows: fewer labels than `minimum_budget` are proven not to overturn a row (NaN
    # where nothing is proven), and `enough` are known to
    enough: FloatArray
    prediction: Sequence[str]  # Of the test rows
    truth: Sequence[str] | None  # Labels of the test rows, where they are known
    quality: float | None  # Accuracy, or the share of variance explained
    test: ShownRows
    train: ShownRows
    columns: list[str]  # Columns to show beside rows
    groups: dict[str, list[str]]  # Group of every test row, by column
    # From a training row to its label as a text; from another label to its text
    train_label: Callable[[int], str]
    # From a training row to its label as a text; from another label to its text
    new_label: Callable[[Any], str]
    # From positions of test rows to their witnesses; None where the page names no training row
    witnesses: Callable[[IntArray], list[Witness | None]] | None
    # Returns the coefficients, or None if there are none
    coefficients: Callable[[], Effects | None]
    radius: float | None = None
    log: bool = False  # Whether logarithms are predicted: the radius and movements are then shares
    # Whether there are verdicts: False where nobody said how far a number may move
    decided: bool = True
    # How far predicted numbers can move: "median", "p90" and "largest", at the main budget and in
    # "budgets" at each; "groups", by column; "relative", whether they are shares
    movement: dict[str, Any] | None = None
    # "radius", its "text", and how many rows are "robust" and "undecided" at it; "rate" is the
    # robust share at the main budget, "rates" at each that was asked about without a radius
    radius_grid: Sequence[dict[str, Any]] = ()
    # Of the test rows at the main budget: the ends of a predicted number, in the label's unit, and
    # how far it can move, in the terms of a radius
    low: FloatArray | None = None
    # Of the test rows at the main budget: the ends of a predicted number, in the label's unit, and
    # how far it can move, in the terms of a radius
    high: FloatArray | None = None
    # Of the test rows at the main budget: the ends of a predicted number, in the label's unit, and
    # how far it can move, in the terms of a radius
    moved: FloatArray | None = None
    # Of the model. Verdicts of the last two leave rows undecided, and their scores are log-odds, or
    # logarithms of expected counts
    kind: str = "ridge"
    alpha: float | None = None
    C: float | None = None
    # Of the second class, for every test row at the main budget, where scores are log-odds
    probability: tuple[FloatArray, FloatArray, FloatArray] | None = None
    method: str = "exact"
    alpha_choice: str | None = None  # Which rows chose alpha
    n_validation: int = 0
    held_out: bool = False  # Whether test rows are of the same file as the training rows
    # Number of models, where every row is certified by the one that did not see it; `n_train` rows
    # trained each of them at least
    folds: int | None = None
    fold_by: str | None = None
    notes: Sequence[str] = ()
    caveats: Sequence[Caveat] = ()  # What could mislead; shown beside the numbers, in every output
    # How the columns of the training file were read, as `ColumnFacts.to_dict` has it
    column_facts: Sequence[dict[str, Any]] = ()
    # How many rows, columns, features and missing cells there are, and a "sentence" about it
    data: dict[str, Any] | None = None
    command: str | None = None  # What makes the page again
    files: Sequence[tuple[str, str]] = ()
    seed: int | None = None
    # "alpha", "quality" and "rates" (one per budget) of every penalty that was tried
    tradeoff: Sequence[dict[str, Any]] | None = field(default=None)
    # Number of training labels of each class; empty where that is not known
    train_counts: Sequence[int] = ()
    # Of each class among the training rows; empty where that is not known
    class_sizes: Mapping[str, Size] = field(default_factory=dict)
    # The same of groups, by column
    group_sizes: Mapping[str, Mapping[str, Size]] = field(default_factory=dict)
    # Positions of test rows to show in full, before the least robust ones
    chosen: Sequence[int] = ()
    # Whether someone chose where one class ends: a number, or the mean of the labels
    chosen_threshold: bool = False
    # Whether the model could decide at the mean of its labels, and does not
    can_balance: bool = False
    # What else was assumed, such as how missing cells were filled: a title and sentences
    assumptions: Sequence[tuple[str, str]] = ()
    # Whether options are called what they are in Python, not what the command line calls them
    in_python: bool = False
    # From how many rows are robust one at a time, at ascending numbers of labels, to what these do
    # to all rows together, and at random
    three: Callable[[Sequence[Alone]], list[Summary]] | None = None
    # The classes that the first of `classes` stands for, where it is all but the positive one
    versus: tuple[str, ...] = ()
    # Names of the files of training and of test rows; none where there are no files
    sources: tuple[str, ...] = ()
    no_rows: bool = False  # Whether no single row may be shown

    def within_budget(self, size: Size | None) -> dict[str, Any]:
        """Return how much of a class or group each budget can change."""
        if size is None:
            return dict.fromkeys(("train_rows", "movable", "can_be_wrong", "fewer_than_budget"))
        allowed = [each.labels for each in self.budgets]
        return {
            "train_rows": size.rows,
            "movable": size.movable,
            "can_be_wrong": [min(each, size.movable) / max(1, size.rows) for each in allowed],
            "fewer_than_budget": [size.rows < each for each in allowed],
        }

    @property
    def n_test(self) -> int:
        """Number of test rows."""
        return len(self.score)

    @property
    def minimum_budget_proven(self) -> BoolArray:
        """Where the minimum budget is proven to be exactly that."""
        return np.asarray(self.minimum_budget == self.enough)

    @property
    def proven_budget(self) -> FloatArray:
        """A number of labels for every test row: any fewer are proven not to overturn it.

        Infinite where no number of labels does, 0 where nothing is proven.
        """
        return np.nan_to_num(self.minimum_budget, nan=0.0, posinf=np.inf)
