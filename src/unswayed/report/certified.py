"""Certified test rows, and what their budgets count: what facts are computed from."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from decimal import ROUND_CEILING, Context, Decimal
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.results.certificates import Verdict
from unswayed.results.curves import Alone, Summary
from unswayed.results.groups import wilson
from unswayed.words import is_settled, is_whole, whole_or_sum

_NEARLY_ALL = 0.995
_MARGIN = 1.1  # the main budget is not at the very edge of a chart


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """What a budget counts, in the words of a page."""

    before: str  # "if … 3 …": what stands before and after an amount
    after: str
    after_one: str  # after an amount of 1
    at: str  # "At … 3 …"
    wrong: str
    axis: str  # of a chart, and the head of a column
    over: str  # "Robustness over …"
    more: str  # "Each line falls as …"
    allowed: str  # beside a slider
    least: str  # what overturns rows first, with or without an "s" at its verb
    singular: bool
    never: str  # "overturned by …", if nothing does
    explained: str  # what the budget assumes, as a sentence; nothing of a number of labels


_LABELS = Measure(
    before="up to",
    after="labels are wrong",
    after_one="label is wrong",
    at="",
    wrong="wrong labels",
    axis="wrong labels",
    over="the number of wrong labels",
    more="more labels may be wrong",
    allowed="Wrong labels allowed",
    least="the fewest wrong labels",
    singular=False,
    never="no number of labels",
    explained="",
)
_LIMITED = replace(
    _LABELS,
    after="labels are wrong in all, each part within its limit",
    after_one="label is wrong in all, each part within its limit",
    axis="wrong labels in all, each part within its limit",
    over="the number of wrong labels in all",
    allowed="Wrong labels allowed in all",
    never="no labels within the limits",
    explained="Each part of the labels has a limit of its own, beside the number of wrong labels "
    "in all",
)
_CLUSTERS = Measure(
    before="up to",
    after="clusters of labels are wrong",
    after_one="cluster of labels is wrong",
    at="",
    wrong="wrong clusters",
    axis="clusters that may be wrong",
    over="the number of wrong clusters",
    more="more clusters may be wrong",
    allowed="Wrong clusters allowed",
    least="the fewest wrong clusters",
    singular=False,
    never="no number of clusters",
    explained="All labels of a wrong cluster may be wrong at once, and no label of another",
)
_TOTAL = Measure(
    before="labels are off by up to",
    after="in all",
    after_one="in all",
    at="a total change of",
    wrong="",
    axis="total change of labels, in the label's unit",
    over="the total change of labels",
    more="labels may be off by more",
    allowed="Total change allowed",
    least="the smallest total change",
    singular=True,
    never="no total change",
    explained="What labels are off by is added up without signs. Any number of labels may share "
    "the total, none of them beyond its own limit",
)
_COST = Measure(
    before="labels that cost up to",
    after="together are wrong",
    after_one="together are wrong",
    at="a cost of",
    wrong="",
    axis="cost of the wrong labels",
    over="the cost of wrong labels",
    more="wrong labels may cost more",
    allowed="Cost allowed",
    least="the lowest cost",
    singular=True,
    never="no cost",
    explained="Each label has its own cost, and those of the wrong ones are added up. Labels of "
    "infinite cost are never wrong, and labels that cost nothing may all be",
)
_MEASURES = {"labels": _LABELS, "clusters": _CLUSTERS, "total change": _TOTAL, "cost": _COST}


def words_of(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the words of a page for what its budgets count, and whether they count labels only."""
    limited = facts.get("limited", False)
    found = _LIMITED if limited else _MEASURES[facts["unit"]]
    return {"plain": facts["unit"] == "labels" and not limited, "measure": asdict(found)}


def _rounded_up(value: float) -> float:
    """Return a number above that has two digits.

    >>> _rounded_up(15_154.7), _rounded_up(0.0213)
    (16000.0, 0.022)
    """
    return float(Context(prec=2, rounding=ROUND_CEILING).create_decimal(Decimal(value)))


class Size(NamedTuple):
    """Size of a class or of a group among the training rows."""

    rows: int
    movable: int  # of these, how many labels may be wrong


@dataclass(frozen=True, slots=True, eq=False)
class BudgetRate:
    """A budget that was asked about, and which test rows are robust at it."""

    text: str  # as it was written
    amount: float  # in the unit of the budgets: an int where that is counted
    robust: BoolArray
    undecided: BoolArray  # neither proven robust nor overturned

    @classmethod
    def of(cls, text: str, amount: float, verdicts: NDArray[np.object_]) -> "BudgetRate":
        """Sort verdicts."""
        found = (np.asarray(verdicts == each) for each in (Verdict.ROBUST, Verdict.UNDECIDED))
        return cls(text, amount, *(each.astype(bool) for each in found))

    def interval(self, own: BoolArray) -> list[float]:
        """Return an interval of the robust share of some rows, however undecided ones turn out."""
        robust, undecided = self.robust[own].sum(), self.undecided[own].sum()
        return [float(end) for end in wilson(robust, own.sum(), most=robust + undecided)]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Certified:
    """Certified test rows: the arrays that facts are computed from."""

    n_train: int
    n_movable: int  # Training labels that may be wrong
    budgets: Sequence[BudgetRate]  # The first is the main one
    score: FloatArray
    minimum_budget: FloatArray  # Less is proven not to overturn a row; NaN: not known
    enough: FloatArray  # So much is known to overturn it
    prediction: Sequence[str]
    truth: Sequence[str] | None  # Labels of the test rows, where they are known
    quality: float | None  # Accuracy, or the share of variance explained
    classes: tuple[str, ...] = ()  # All classes, of two the positive one last; none for numbers
    # Of several classes, the one that the fewest labels make of each row; None: there is none
    rivals: Sequence[str | None] | None = None
    groups: Mapping[str, list[str]] = field(default_factory=dict)  # Of every row, by column
    # Whether there are verdicts: False where nobody said how far a number may move
    decided: bool = True
    # Training labels of each class, and the size of classes and groups; empty where not known
    train_counts: Sequence[int] = ()
    class_sizes: Mapping[str, Size] = field(default_factory=dict)
    group_sizes: Mapping[str, Mapping[str, Size]] = field(default_factory=dict)
    # From how many rows are robust one at a time, at ascending numbers of labels, to what these do
    # to all rows together, and at random
    three: Callable[[Sequence[Alone]], list[Summary]] | None = None
    # Whether someone chose where one class ends, and whether the mean of the labels could say it
    chosen_threshold: bool = False
    can_balance: bool = False
    in_python: bool = False  # Whether options are called what they are in Python
    unit: str = "labels"  # What budgets and minimum budgets count
    # Whether sets of labels have limits of their own, beside the number of labels in all
    limited: bool = False
    source: str | None = None  # How sure the budget is, where a checked sample gave it

    @property
    def several(self) -> bool:
        """Whether there are three or more classes, so that a score is a lead."""
        return len(self.classes) > 2

    @property
    def positive(self) -> str | None:
        """The positive one of two classes."""
        return self.classes[1] if len(self.classes) == 2 else None

    @property
    def n_test(self) -> int:
        """Number of test rows."""
        return len(self.score)

    @property
    def plain(self) -> bool:
        """Whether budgets are numbers of labels, and any labels may be wrong that are so few."""
        return self.unit == "labels" and not self.limited

    @property
    def main(self) -> float:
        """How much may be wrong at the main budget."""
        return self.budgets[0].amount

    @property
    def safe(self) -> FloatArray:
        """An amount for every row: less is proven not to overturn it; 0: not known."""
        return np.nan_to_num(self.minimum_budget, nan=0.0, posinf=np.inf)

    @property
    def breaking(self) -> FloatArray:
        """So much is known to overturn a row; infinite where nothing is."""
        return np.nan_to_num(self.enough, nan=np.inf, posinf=np.inf)

    @property
    def settled(self) -> BoolArray:
        """Whether the least amount is known, as well as anybody can read it."""
        ends = zip(self.minimum_budget.tolist(), self.enough.tolist(), strict=True)
        return np.array([is_settled(*each, self.unit) for each in ends], dtype=bool)

    def amount(self, value: float) -> float:
        """Return an amount as facts have it: -1 stands for never."""
        return whole_or_sum(value if math.isfinite(value) else -1, self.unit)

    @property
    def slider_end(self) -> float:
        """The largest budget of a slider: nearly every row that can be overturned is, there."""
        asked = max(budget.amount for budget in self.budgets)
        known = self.enough[np.isfinite(self.enough)]
        known = known if known.size else self.safe[np.isfinite(self.safe)]
        reach = float(np.quantile(known, _NEARLY_ALL, method="higher")) if known.size else 0.0
        if not is_whole(self.unit):
            return _rounded_up(max(reach, _MARGIN * asked) or 1.0)
        return int(min(self.n_train, max(reach, np.ceil(_MARGIN * asked), 10)))

    def grid(self, points: int) -> list[float]:
        """Return amounts from none to the end of a slider."""
        found = np.linspace(0, self.slider_end, points)
        found = np.unique(found.round() if is_whole(self.unit) else found)
        return [self.amount(each) for each in found.tolist()]

    def codes(self, names: Sequence[str]) -> IntArray:
        """Return the position of each class among the classes."""
        return np.array([self.classes.index(name) for name in names], dtype=np.intp)

    def at_budgets(self, own: BoolArray) -> dict[str, Any]:
        """Return how many of some rows are robust, at each budget; None where there are none."""
        known = self.decided and own.any()
        return {
            "rates": [float(each.robust[own].mean()) if known else None for each in self.budgets],
            "highest_rates": [
                float((each.robust | each.undecided)[own].mean()) if known else None
                for each in self.budgets
            ],
            "intervals": [each.interval(own) if known else None for each in self.budgets],
            "undecided": [
                int(each.undecided[own].sum()) if self.decided else None for each in self.budgets
            ],
        }

    def within_budget(self, size: Size | None) -> dict[str, Any]:
        """Return how much of a class or group each budget can change."""
        if size is None or not self.plain:
            return dict.fromkeys(("train_rows", "movable", "can_be_wrong", "fewer_than_budget"))
        allowed = [each.amount for each in self.budgets]
        return {
            "train_rows": size.rows,
            "movable": size.movable,
            "can_be_wrong": [min(each, size.movable) / max(1, size.rows) for each in allowed],
            "fewer_than_budget": [size.rows < each for each in allowed],
        }
