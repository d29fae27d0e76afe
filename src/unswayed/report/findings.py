"""Findings: what a page says of certificates, whoever made them and from whatever rows."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.certificates import Verdict, Witness
from unswayed.groups import SMALL_GROUP
from unswayed.intervals import wilson
from unswayed.report.effects import Effects
from unswayed.summaries import Alone, Summary
from unswayed.words import shorten

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
