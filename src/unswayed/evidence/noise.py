"""LabelNoise: labels that are wrong at random, and how likely each prediction changes."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from reprlib import repr as shown
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from unswayed._typing import FloatArray
from unswayed.evidence.errors import ClassErrors, Errors, class_tails, merged, tails
from unswayed.evidence.tails import Tails
from unswayed.exceptions import InputError
from unswayed.inputs import as_doubles, as_values, frame_like, row_labels
from unswayed.results.notebook import SHOWN, table
from unswayed.words import as_text, counted, listed, number_end, percent, written

_ROUNDED = 1e-12  # of probabilities that were meant to sum up to 1
_METHODS = ("chernoff", "convolution")
_LAWS = ("uniform", "normal", "two-point")


@dataclass(frozen=True, slots=True, eq=False)
class LabelNoise:
    """Labels that are wrong at random: each one independently, with a probability of its own.

    A wrong label is the other class; with three or more classes it is each of the others with the
    same probability, unless `by_class` says how likely each is. For numbers, `shifts` says how far
    wrong labels are off.

    Attributes
    ----------
    rate : float, (n,) array, or mapping of class to float or to a mapping of class to float
        How likely labels are wrong, or are really of other classes.
    law : {"flips", "uniform", "normal", "two-point"}
        What a wrong label becomes.
    sizes : tuple of float
        How far it is off: the largest shift, the standard deviation, or the two shifts.

    Examples
    --------
    >>> LabelNoise(rate=0.05)
    LabelNoise(5 % of labels wrong, independently of each other)
    >>> LabelNoise.by_group(["f", "m", "f"], {"f": 0.05, "m": 0.01}).rate.tolist()
    [0.05, 0.01, 0.05]
    >>> LabelNoise.by_class({"yes": 0.05, "no": 0.01})
    LabelNoise(5 % of yes, 1 % of no labels wrong, independently of each other)
    >>> LabelNoise.by_class({"ant": {"bee": 0.04, "cow": 0.01}, "bee": 0.02, "cow": 0})
    LabelNoise(5 % of ant, 2 % of bee, 0 % of cow labels wrong, independently of each other)
    >>> LabelNoise.shifts(2000, rate=0.1, law="normal")
    LabelNoise(10 % of labels wrong, independently of each other, normal shifts of 2,000)
    """

    rate: Any
    law: Literal["flips", "uniform", "normal", "two-point"] = "flips"
    sizes: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for name, given in _named_rates(self.rate):
            what = "rate" if name is None else f"the rate of {name}"
            found = as_doubles(given, what)
            if found.ndim > (name is None) or not found.size:
                raise InputError(
                    f"{what} must be one probability, or one per label: {shown(given)}"
                )
            for wrong in found[~((found >= 0) & (found <= 1))][:1]:
                raise InputError(
                    f"{what} must lie between 0 and 1, got {wrong:g}: it is the probability that "
                    "a label is wrong; write 5 % as 0.05"
                )
            if name is None:
                object.__setattr__(self, "rate", found)
        for name, given in self.rate.items() if isinstance(self.rate, Mapping) else ():
            if _total(given) > 1 + _ROUNDED:
                raise InputError(
                    f"labels of {name!r} are wrong with probabilities that sum up to "
                    f"{_total(given):g}; what is left of 1 is the probability that they are right"
                )

    @classmethod
    def by_group(cls, groups: ArrayLike, rates: Mapping[Any, float]) -> "LabelNoise":
        """Return noise with a rate for each group of training rows.

        Parameters
        ----------
        groups : (n,) array-like
            The group of each training row.
        rates : mapping of group to float
            How likely labels of each group are wrong; 0 where they never are.

        Returns
        -------
        LabelNoise
        """
        values = as_values(groups).tolist()
        _check_names(set(values), set(rates), "group")
        return cls([rates[name] for name in values])

    @classmethod
    def by_class(cls, rates: Mapping[Any, float | Mapping[Any, float]]) -> "LabelNoise":
        """Return noise with a rate for each class.

        The rates are a confusion matrix of labels as given: 5 % of those that say "yes", for
        example, should say "no".

        Parameters
        ----------
        rates : mapping of class to float, or to a mapping of class to float
            How likely labels that say so are wrong, or how likely they are really of each of the
            other classes. With three or more classes, a single rate is shared equally by the other
            classes.

        Returns
        -------
        LabelNoise
        """
        return cls(dict(rates))

    @classmethod
    def shifts(
        cls,
        amount: float | tuple[float, float],
        *,
        rate: float | ArrayLike = 1.0,
        law: Literal["uniform", "normal", "two-point"] = "uniform",
    ) -> "LabelNoise":
        """Return noise of labels that are numbers.

        Parameters
        ----------
        amount : float or pair
            How far a wrong label is off: "uniform" between ±amount, "normal" with this standard
            deviation, or "two-point": either end of ±amount or of the pair, equally likely.
        rate : float or (n,) array-like
            How likely labels are off at all.
        law : {"uniform", "normal", "two-point"}
            How the shift is distributed.

        Returns
        -------
        LabelNoise
        """
        sizes = as_doubles(amount, "amount")
        pair = sizes.shape == (2,)
        if law not in _LAWS or not np.isfinite(sizes).all() or (sizes.ndim and not pair):
            raise InputError(
                f"shifts takes a finite amount and one of the laws {', '.join(_LAWS)}; got "
                f"{shown(amount)} and {law!r}"
            )
        if (pair and law != "two-point") or (not pair and sizes < 0):
            raise InputError(
                f"a {law} shift takes one amount that is not negative, got {shown(amount)}; a pair "
                "(low, high) goes with law='two-point'"
            )
        ends = (-sizes, sizes) if law == "two-point" and not pair else np.atleast_1d(sizes)
        return cls(rate, law, tuple(float(each) for each in ends))

    def __str__(self) -> str:
        if isinstance(self.rate, Mapping):
            each = [f"{100 * _total(rate):.6g} % of {name}" for name, rate in self.rate.items()]
            words = f"{', '.join(each)} labels"
        else:
            ends = sorted({float(self.rate.min()), float(self.rate.max())})
            words = " to ".join(f"{100 * rate:.6g} %" for rate in ends) + " of labels"
        size = " or ".join(written(each) for each in self.sizes)
        law = f", {self.law} shifts of {size}" if size else ""
        return f"{words} wrong, independently of each other{law}"

    def __repr__(self) -> str:
        return f"LabelNoise({self})"


def _named_rates(rate: Any) -> Iterator[tuple[str | None, Any]]:
    """Yield all probabilities, each with whose it is."""
    if not isinstance(rate, Mapping):
        yield None, rate
        return
    for name, given in rate.items():
        if isinstance(given, Mapping):
            yield from ((f"{name!r} that are {other!r}", each) for other, each in given.items())
        else:
            yield repr(name), given


def _total(rate: Any) -> float:
    """Return how likely labels of a class are wrong."""
    return math.fsum(map(float, rate.values())) if isinstance(rate, Mapping) else float(rate)


def _check_names(known: set[Any], named: set[Any], what: str) -> None:
    """Raise if rates are given for other groups or classes than there are."""
    for name in sorted(map(repr, named - known))[:1]:
        names = listed(sorted(map(str, known)), 6)
        raise InputError(f"no training label is of the {what} {name}; there are {names}")
    for name in sorted(map(repr, known - named))[:1]:
        raise InputError(f"no rate is given for the {what} {name}; 0 says that it is never wrong")


@dataclass(frozen=True, eq=False, kw_only=True)
class OverturnProbability:
    """How likely labels that are wrong at random overturn each prediction.

    Attributes
    ----------
    low, high : (n,) arrays
        Proven bounds, rounding included.
    estimate : (n,) array
        An estimate of the probability; it is not proven.
    noise : LabelNoise
        What was asked about.
    method : {"chernoff", "convolution"}
        How the bounds were found.
    keeps : str
        What stays the same of a prediction that is not overturned.
    origin : rows
        The rows in question, whose library `to_frame` uses.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from unswayed import CertifiedClassifier, LabelBias, LabelNoise
    >>> X = [[1, 0]] * 5 + [[0, 1]] * 3
    >>> model = CertifiedClassifier(
    ...     LinearRegression(fit_intercept=False), bias=LabelBias.flips(budget=1)
    ... ).fit(X, ["yes"] * 5 + ["no"] * 3)
    >>> found = model.overturn_probability(
    ...     [[1, 0], [0, 1]], LabelNoise(rate=0.1), method="convolution"
    ... )
    >>> found.estimate.round(5).tolist()  # three of five labels, and two of three
    [0.00856, 0.028]
    >>> found.share_below(0.01), len(found.to_frame())
    (0.5, 2)
    >>> print(found.sentence(0.01))
    with 10 % of labels wrong, independently of each other, 50.0 % of predictions change with
    probability below 0.01
    """

    low: FloatArray
    high: FloatArray
    estimate: FloatArray
    noise: LabelNoise
    method: str
    keeps: str
    origin: Any = None

    def __len__(self) -> int:
        return len(self.low)

    def share_below(self, probability: float) -> float:
        """Return the share of predictions that are proven to change with a smaller probability.

        Parameters
        ----------
        probability : float
            For example 1e-3.

        Returns
        -------
        float
            NaN if there are no rows.
        """
        return float(np.mean(self.high < probability)) if len(self) else float("nan")

    def sentence(self, probability: float = 1e-3) -> str:
        """Return what `share_below` says in words, the share rounded down.

        Parameters
        ----------
        probability : float
            As for `share_below`.

        Returns
        -------
        str
            Without a full stop.
        """
        share = percent(self.share_below(probability), -1) if len(self) else "none"
        verb = "change" if "class" in self.keeps else "move too far"
        chance = "one in a thousand" if probability == 1e-3 else written(probability)
        return f"with {self.noise}, {share} of predictions {verb} with probability below {chance}"

    def to_frame(self) -> Any:
        """Return a frame of the library the rows came in.

        Returns
        -------
        frame
            One line per row: low, high and estimate.
        """
        columns = {"low": self.low, "high": self.high, "estimate": self.estimate}
        return frame_like(self.origin, columns)

    def __repr__(self) -> str:
        return f"<OverturnProbability: {counted(len(self), 'row')}, {self.sentence()}>"

    def _repr_html_(self) -> str:
        at = np.lexsort((-self.estimate, -self.high))[:SHOWN]
        names = row_labels(self.origin, len(self))
        columns: dict[str, list[Any]] = {"row": at.tolist()}
        if not np.array_equal(names, np.arange(len(self))):
            columns["index"] = [as_text(each) for each in names[at].tolist()]
        columns["probability"] = [number_end(each, 0, 3) for each in self.estimate[at]]
        columns["at least"] = [number_end(each, -1, 3) for each in self.low[at]]
        columns["at most"] = [number_end(each, 1, 3) for each in self.high[at]]
        return table(self.sentence(), columns, total=len(self))


def overturn_probability(question: Any, noise: Any, method: str) -> OverturnProbability:
    """Return how likely labels that are wrong at random overturn the rows of a question."""
    if not isinstance(noise, LabelNoise):
        raise InputError(
            f"noise must be a LabelNoise, such as LabelNoise(rate=0.05); got {noise!r}"
        )
    if method not in _METHODS:
        raise InputError(f"method must be one of {', '.join(_METHODS)}, got {method!r}")
    found = _tails(question, noise, method)
    low, high, estimate, _ = (each[question.group] for each in found)
    return OverturnProbability(
        low=low,
        high=high,
        estimate=estimate,
        noise=noise,
        method=method,
        keeps=str(question.decision),
        origin=question.origin,
    )


def _tails(question: Any, noise: LabelNoise, method: str) -> Tails:
    """Return how likely the distinct rows of a question are overturned."""
    targets: FloatArray = question.targets
    classes = question.code.classes
    chance = _chances(noise, targets, question.code)
    if classes is not None and len(classes) > 2:
        if noise.law != "flips":
            raise InputError(
                f"{noise.law} shifts are for labels that are numbers, and these are of "
                f"{len(classes)} classes; pass LabelNoise(rate=...) or LabelNoise.by_class(...)"
            )
        rate = noise.rate if isinstance(noise.rate, Mapping) else chance
        errors = ClassErrors.of(rate, targets.astype(np.intp), classes.tolist())
        return class_tails(question.case, errors, method)
    (duel,) = question.duels
    if noise.law != "flips":
        shifts = np.repeat(np.array(noise.sizes)[:, None], len(targets), axis=1)
    elif classes is not None:
        shifts = (targets.min() + targets.max() - 2.0 * targets)[None]  # both classes are there
    else:
        raise InputError(
            "a wrong label of LabelNoise(rate=...) is the other class, and these labels are "
            "numbers; say how far they are off: LabelNoise.shifts(2000, rate=...), for example"
        )
    every = Errors.of(noise.law, chance, shifts)
    movable = (every.farthest[every.kind] > 0).astype(np.float64)
    return tails(duel.case, merged(duel.case, every.kind, movable), every, method)


def _chances(noise: LabelNoise, targets: FloatArray, code: Any) -> FloatArray:
    """Return how likely each training label is wrong."""
    if not isinstance(noise.rate, Mapping):
        if noise.rate.shape not in ((), targets.shape):
            raise InputError(
                f"rate has {noise.rate.size} entries for {len(targets)} training labels; pass one "
                "number for all, or one per label"
            )
        return np.array(np.broadcast_to(noise.rate, targets.shape))
    if code.classes is None:
        raise InputError("rates by class are for labels that are classes, and these are numbers")
    names = code.classes.tolist()
    _check_names(set(names), set(noise.rate), "class")
    for name, given in noise.rate.items():
        for other in given if isinstance(given, Mapping) else ():
            if other == name or other not in names:
                raise InputError(
                    f"a wrong label of {name!r} cannot really be {other!r}; name other classes, of "
                    f"{listed(sorted(map(str, set(names) - {name})), 6)}"
                )
    rates = np.array([min(_total(noise.rate[name]), 1.0) for name in names])
    second = targets == code.positive if len(names) == 2 else targets
    return np.asarray(rates[second.astype(np.intp)])
