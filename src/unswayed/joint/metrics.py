"""Metrics of predicted classes, as functions that add up over rows.

A rate is a sum over rows, each of which adds what its predicted class says, so a difference of two
rates is one such sum as well. Gaps between groups are the largest of such differences, ratios the
smallest of quotients. Names and conventions are fairlearn's: `selection_rate`,
`true_positive_rate`, …, each also with `_difference` (largest minus smallest group), `_ratio`
(smallest by largest group), `_group_min` and `_group_max` behind it.
"""

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unswayed._typing import BoolArray
from unswayed.exceptions import InputError
from unswayed.inputs import as_doubles
from unswayed.joint.fragile import multiples, whole_numbers

_MIXES = 24  # of predictions, on which a callable is asked whether rows stand for themselves


@dataclass(frozen=True, eq=False)
class Function:
    """A sum over rows: start + unit·Σ gains over the rows that are predicted positive."""

    start: Fraction
    gains: NDArray[np.int64]
    unit: Fraction
    # How far the sum is from what was asked for, at most, where numbers had to be rounded
    blur: Fraction = Fraction(0)

    def value(self, positive: BoolArray) -> Fraction:
        """Return its value for predictions."""
        return self.start + self.unit * int(self.gains[positive].sum())

    @property
    def size(self) -> Fraction:
        """What its absolute value never exceeds."""
        return abs(self.start) + self.unit * int(np.abs(self.gains).sum())

    def __neg__(self) -> "Function":
        return Function(-self.start, -self.gains, self.unit, self.blur)

    def __sub__(self, other: "Function") -> "Function":
        return self.less(other, Fraction(1))

    def less(self, other: "Function", times: Fraction) -> "Function":
        """Return this function less some times another one."""
        theirs = other.unit * times
        unit = _common(self.unit, theirs)
        mine, their = int(self.unit / unit), int(theirs / unit)
        largest = max(
            mine * int(np.abs(self.gains).sum()), abs(their) * int(np.abs(other.gains).sum())
        )
        start, blur = self.start - times * other.start, self.blur + abs(times) * other.blur
        if largest < 2**60:
            return Function(start, self.gains * mine - other.gains * their, unit, blur)
        # Python's own integers: a unit that both share may be tiny.
        exactly = self.gains.astype(object) * mine - other.gains.astype(object) * their
        gains, unit, rounded = multiples(exactly.tolist(), unit)
        return Function(start, gains, unit, blur + rounded)


def _common(one: Fraction, other: Fraction) -> Fraction:
    """Return the largest number that both are whole multiples of."""
    if not other:
        return one
    denominator = math.lcm(one.denominator, other.denominator)
    whole = math.gcd(int(one * denominator), int(other * denominator))
    return Fraction(whole, denominator)


@dataclass(frozen=True, eq=False)
class Largest:
    """A metric that is the largest of some functions, or, with sign -1, that times -1.

    The smallest of some functions is the largest of their negatives, times -1.
    """

    functions: tuple[Function, ...]
    sign: int = 1

    def value(self, positive: BoolArray) -> Fraction:
        """Return its value for predictions."""
        return self.sign * max(each.value(positive) for each in self.functions)

    def bounded(self, at: Fraction | None, *, up: bool) -> list[Function]:
        """Return the functions that an outer end follows from upper bounds of."""
        return [each if up == (self.sign > 0) else -each for each in self.functions]


@dataclass(frozen=True, eq=False)
class Quotient:
    """A metric that is the smallest of some quotients."""

    pairs: tuple[tuple[Function, Function], ...]  # Numerators and denominators
    # The largest of each is a denominator, which must not be 0
    families: tuple[tuple[Function, ...], ...]
    capped: bool  # No quotient exceeds 1, as of the smallest and the largest of the same rates

    def value(self, positive: BoolArray) -> Fraction:
        """Return its value for predictions; raise `ZeroDivisionError` where it has none."""
        for family in self.families:
            if max(each.value(positive) for each in family) <= 0:
                raise ZeroDivisionError
        # Where one group's rate is 0 and another's is not, the quotient of the two is 0.
        values = ((above.value(positive), below.value(positive)) for above, below in self.pairs)
        return min(above / below for above, below in values if below)

    def bounded(self, at: Fraction | None, *, up: bool) -> list[Function]:
        """Return how far numerators exceed so many times their denominators, or fall short."""
        assert at is not None  # noqa: S101  (quotients have it)
        differences = [above.less(below, at) for above, below in self.pairs]
        return differences if up else [-each for each in differences]


Form = Largest | Quotient


@dataclass(frozen=True, eq=False)
class Sample:
    """The rows that a metric is about."""

    n_rows: int
    actual: BoolArray | None  # Whether a row's true class is the positive one
    # Rows of each group, in sorted order; empty without groups
    groups: tuple[tuple[Any, BoolArray], ...]

    @property
    def truth(self) -> BoolArray:
        """True classes, of metrics that were checked to have them."""
        assert self.actual is not None  # noqa: S101  (tells mypy)
        return self.actual


def class_in_question(metric: Any, positive: Any, classes: NDArray[Any]) -> int:
    """Return the number of the class that a metric is about."""
    known, several = classes.tolist(), len(classes) > 2
    names = ", ".join(map(repr, known[:8])) + (", …" if len(known) > 8 else "")
    if several and not isinstance(metric, str):
        raise InputError(
            "metrics of your own tell two classes apart, and there are "
            f"{len(known)} ({names}); pass the name of a metric, and positive= for the class "
            "that it is about"
        )
    if positive is None and not several:
        return 1
    if positive is None:
        raise InputError(
            f"{metric} is about one class against all others, and there are {len(known)} "
            f"({names}); say which one by positive=, as in positive={known[-1]!r}"
        )
    if positive not in known:
        raise InputError(
            f"positive={positive!r} is no class of the training labels; the classes are {names}"
        )
    if not several and positive != known[1]:
        raise InputError(
            f"of two classes the second one, {known[1]!r}, counts as positive, and "
            f"positive={positive!r} is the other; leave it out, or write the labels so "
            "that your class comes second when they are sorted"
        )
    return int(known.index(positive))


# --- rates --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rate:
    """A share of rows of one true class, or of all rows."""

    classes: tuple[bool, ...]  # The true class: True for the positive one; empty for all rows
    counted: bool | None  # The predicted class that counts; None for the true one

    @property
    def needs_truth(self) -> bool:
        """Whether predictions are compared with true classes."""
        return bool(self.classes) or self.counted is None

    def rows(self, sample: Sample, among: BoolArray) -> BoolArray:
        """Return the rows, among some, that it is a share of."""
        return among & np.isin(sample.truth, self.classes) if self.classes else among

    def function(self, sample: Sample, among: BoolArray) -> Function:
        """Return the rate of some rows."""
        rows = self.rows(sample, among)
        counted = np.asarray(sample.truth if self.counted is None else self.counted)
        count = int(rows.sum())
        start = Fraction(int((~counted & rows).sum()), count)
        return Function(start, np.where(counted, 1, -1) * rows, Fraction(1, count))


RATES = {
    "selection_rate": Rate((), True),
    "accuracy": Rate((), None),
    "true_positive_rate": Rate((True,), True),
    "false_negative_rate": Rate((True,), False),
    "false_positive_rate": Rate((False,), True),
    "true_negative_rate": Rate((False,), False),
}
"""Rates of rows, by name."""

_KINDS = ("difference", "ratio", "group_min", "group_max")

_FAIR = {
    "demographic_parity": ("selection_rate",),
    "equal_opportunity": ("true_positive_rate",),
    "equalized_odds": ("true_positive_rate", "false_positive_rate"),
}
"""What is said of gaps between groups only, and the rates that it is about."""

_ALIASES = _FAIR | {"accuracy_score": ("accuracy",), "recall_score": ("true_positive_rate",)}


def names() -> list[str]:
    """Return the names of all metrics."""
    compared = [f"{name}_{kind}" for name in RATES for kind in _KINDS]
    return [*RATES, *compared, *(f"{name}_{kind}" for name in _FAIR for kind in _KINDS[:2])]


@dataclass(frozen=True)
class Named:
    """A metric by its name: rates, and what is compared of them between groups."""

    name: str
    rates: tuple[str, ...]  # Keys of `RATES`
    # "difference", "ratio", "group_min" or "group_max"; None for the rate of all rows
    kind: str | None

    @classmethod
    def read(cls, name: str) -> "Named":
        """Read a name; raise if there is no such metric."""
        for kind in _KINDS:
            base = name.removesuffix(f"_{kind}")
            if base != name and (base in RATES or base in _ALIASES):
                return cls(name, _ALIASES.get(base, (base,)), kind)
        rates = _ALIASES.get(name, (name,))
        if rates[0] not in RATES or name in _FAIR:
            raise InputError(
                f"there is no metric {name!r}; the metrics of classes are {', '.join(names())}, "
                "and RowSum for one of your own"
            )
        return cls(name, rates, None)

    @property
    def needs_truth(self) -> bool:
        """Whether predictions are compared with true classes."""
        return any(RATES[rate].needs_truth for rate in self.rates)

    def check(self, sample: Sample) -> None:
        """Raise unless the sample has what the metric needs."""
        if sample.actual is None and self.needs_truth:
            raise InputError(
                f"{self.name} compares predictions with true classes: pass y_true, one label per "
                "row, or ask for selection_rate, which needs none"
            )
        if self.kind is not None and len(sample.groups) < 2:
            what = "no groups" if not sample.groups else f"one group, {sample.groups[0][0]!r}"
            raise InputError(
                f"{self.name} compares groups, and there is {what}: pass groups=, one group per "
                "row, at least two of them"
            )
        every = ("all rows", np.ones(sample.n_rows, dtype=bool))
        for group, rows in sample.groups or (every,):
            for rate in self.rates:
                if RATES[rate].classes and not RATES[rate].rows(sample, rows).any():
                    kind = "positive" if True in RATES[rate].classes else "negative"
                    raise InputError(
                        f"{rate} of {group!r} is a share of its rows whose true class is the "
                        f"{kind} one, and it has none; leave that group out, or merge it with "
                        "another"
                    )

    def form(self, sample: Sample) -> Form:
        """Return the metric of a sample."""
        if self.kind is None:
            every = np.ones(sample.n_rows, dtype=bool)
            return Largest((RATES[self.rates[0]].function(sample, every),))
        families = tuple(
            tuple(RATES[rate].function(sample, rows) for _, rows in sample.groups)
            for rate in self.rates
        )
        if self.kind == "group_max":
            return Largest(families[0])
        if self.kind == "group_min":
            return Largest(tuple(-each for each in families[0]), sign=-1)
        pairs = [(a, b) for rates in families for a in rates for b in rates if a is not b]
        if self.kind == "difference":
            return Largest(tuple(a - b for a, b in pairs))
        return Quotient(tuple(pairs), families, capped=True)

    def by_group(self, sample: Sample) -> list[tuple[Any, BoolArray, Function]]:
        """Return the function of each group, where the metric is about one rate."""
        if len(self.rates) > 1:
            return []
        rate = RATES[self.rates[0]].function
        return [(group, rows, rate(sample, rows)) for group, rows in sample.groups]


# --- metrics of one's own -----------------------------------------------------------------------


class RowSum:
    """A metric of one's own: a sum of terms, one per row, that depend on the row's prediction.

    Sums can be subtracted, multiplied by numbers, and divided by one another.

    Parameters
    ----------
    terms : callable, or pair of array-likes
        A callable is given the true labels (None if there are none) and predicted labels, and
        returns one number per row, which must depend on that row alone. A pair holds the numbers of
        rows that are predicted negative and of rows that are predicted positive.
    name : str
        What results call it; not the name of a standard metric.

    Examples
    --------
    What wrong decisions cost, if those of the one kind are five times as dear:

    >>> cost = RowSum(lambda actual, said: np.where(said == actual, 0, np.where(said, 5, 1)))
    >>> precise = RowSum(lambda actual, said: said * actual) / RowSum(lambda _, said: said)

    What the search makes of it: the terms of each row if it is predicted negative or positive, and
    a function of all predictions.

    >>> actual, classes = np.array([0, 1]), np.array([0, 1])
    >>> cost.ends(actual, classes, 2)[0].tolist()
    [[0.0, 1.0], [5.0, 0.0]]
    >>> cost.function(actual, classes, 2).gains.tolist()
    [5, -1]
    >>> type(cost.form(actual, classes, 2)).__name__
    'Largest'
    """

    def __init__(self, terms: Any, *, name: str = "sum of rows") -> None:
        if not callable(terms) and not (isinstance(terms, tuple | list) and len(terms) == 2):
            raise InputError(
                "RowSum takes a function of true and predicted labels that returns one number per "
                f"row, or a pair of arrays, for each class the terms of rows predicted so; got "
                f"{type(terms).__name__}"
            )
        _refuse_reserved(name)
        self._terms = [(1.0, terms)]
        self.name = name

    def _scaled(self, factor: float, other: "RowSum | None" = None) -> "RowSum":
        made = object.__new__(RowSum)
        made.name = self.name
        made._terms = [(factor * times, terms) for times, terms in self._terms]
        if other is not None:
            made._terms += other._terms
        return made

    def __neg__(self) -> "RowSum":
        return self._scaled(-1.0)

    def __mul__(self, factor: float) -> "RowSum":
        return self._scaled(float(factor))

    __rmul__ = __mul__

    def __add__(self, other: "RowSum") -> "RowSum":
        return self._scaled(1.0, other)

    def __sub__(self, other: "RowSum") -> "RowSum":
        return self._scaled(1.0, -other)

    def __truediv__(self, other: "RowSum | float") -> Any:
        if isinstance(other, RowSum):
            return RowQuotient(self, other)
        return self._scaled(1.0 / other)

    def ends(self, y_true: Any, classes: NDArray[Any], n_rows: int) -> list[NDArray[np.float64]]:
        """Return the terms of rows that are predicted negative, and of rows predicted positive.

        Parameters
        ----------
        y_true : (n,) array or None
            The labels of the rows, if they are known.
        classes : pair
            The negative and the positive label.
        n_rows : int
            How many rows there are.

        Returns
        -------
        list of one (2, n) array
            The first row for negative predictions, the second for positive ones.
        """
        parts = (times * _ends(terms, y_true, classes, n_rows) for times, terms in self._terms)
        return [sum(parts, np.zeros((2, n_rows)))]

    def function(self, y_true: Any, classes: NDArray[Any], n_rows: int) -> Function:
        """Return the sum as a function of predictions.

        Parameters
        ----------
        y_true : (n,) array or None
            The labels of the rows, if they are known.
        classes : pair
            The negative and the positive label.
        n_rows : int
            How many rows there are.

        Returns
        -------
        Function
            In whole multiples of a unit.
        """
        (ends,) = self.ends(y_true, classes, n_rows)
        steps, unit, blur = whole_numbers(ends.ravel())
        negative, positive = steps[:n_rows], steps[n_rows:]
        return Function(unit * int(negative.sum()), positive - negative, unit, blur)

    def form(self, y_true: Any, classes: NDArray[Any], n_rows: int) -> Form:
        """Return the metric.

        Parameters
        ----------
        y_true : (n,) array or None
            The labels of the rows, if they are known.
        classes : pair
            The negative and the positive label.
        n_rows : int
            How many rows there are.

        Returns
        -------
        Largest
            The metric of this one sum.
        """
        return Largest((self.function(y_true, classes, n_rows),))


@dataclass(frozen=True)
class RowQuotient:
    """A sum of terms of rows divided by another one, which must stay above 0."""

    above: RowSum
    below: RowSum

    @property
    def name(self) -> str:
        """What results call it."""
        return f"{self.above.name} / {self.below.name}"

    def ends(self, y_true: Any, classes: NDArray[Any], n_rows: int) -> list[NDArray[np.float64]]:
        """Return the terms of numerator and denominator."""
        above, below = (each.ends(y_true, classes, n_rows) for each in (self.above, self.below))
        return [*above, *below]

    def form(self, y_true: Any, classes: NDArray[Any], n_rows: int) -> Form:
        """Return the metric."""
        above, below = (each.function(y_true, classes, n_rows) for each in (self.above, self.below))
        return Quotient(((above, below),), ((below,),), capped=False)


def _refuse_reserved(name: str) -> None:
    """Raise if people would take the name of a metric of one's own for that of a standard one."""
    plain = re.sub(r"[\W_]+", "_", unicodedata.normalize("NFKC", name).casefold()).strip("_")
    bases = {plain} | {plain.removesuffix(f"_{kind}") for kind in _KINDS}
    if not bases.isdisjoint((*RATES, *_ALIASES, "mean_prediction")):
        raise InputError(
            f"{name!r} is the name of a standard metric, and a reader would take your sum for it; "
            "give it another one, as in RowSum(terms, name='cost of errors'), or pass the name "
            "itself, as text, if the standard metric is what you want"
        )


def _ends(terms: Any, y_true: Any, classes: NDArray[Any], n_rows: int) -> NDArray[np.float64]:
    """Return the terms of rows that are all predicted negative, and all predicted positive."""
    if not callable(terms):
        return np.stack([_numbers(each, n_rows) for each in terms])
    found = np.stack([_numbers(terms(y_true, np.full(n_rows, each)), n_rows) for each in classes])
    rng = np.random.default_rng(0)
    for share in np.linspace(0.1, 0.9, _MIXES):
        mixed = (rng.random(n_rows) < share).astype(np.intp)
        if not np.array_equal(_numbers(terms(y_true, classes[mixed]), n_rows),
                              found[mixed, np.arange(n_rows)]):  # fmt: skip
            raise InputError(
                "the terms of this metric are not row-wise: what it returns for a row changes with "
                "predictions of other rows, so that its range cannot be computed; return, for each "
                "row, a number that depends on that row alone, and divide sums of such (RowSum / "
                "RowSum) where a share is wanted"
            )
    return found


def _numbers(values: Any, n_rows: int) -> NDArray[np.float64]:
    found = as_doubles(values, "terms of a metric")
    if found.shape != (n_rows,) or not np.isfinite(found).all():
        what = "a single number" if found.ndim == 0 else f"numbers of shape {found.shape}"
        raise InputError(
            f"a metric of your own has to give one finite number per row, {n_rows} in all, and "
            f"this one gives {what}: a range is computed for sums of terms that depend on one row "
            "each. Return the terms, not their sum; for a mean, divide them by the number of rows"
        )
    return found


def own_metric(metric: Any) -> Sequence[Any]:
    """Return a metric of one's own and its name; a callable is a `RowSum` of its terms."""
    if isinstance(metric, RowSum | RowQuotient):
        _refuse_reserved(metric.name)
        return metric, metric.name
    if callable(metric):
        name = getattr(metric, "__name__", type(metric).__name__)
        return RowSum(metric, name=name), name
    raise InputError(
        "metric must be a name, a RowSum or a quotient of two, or a function of true and "
        f"predicted labels that returns one number per row; got {metric!r}. Names are "
        f"{', '.join(names())}"
    )
