"""LabelNoise: labels that are wrong at random, and how likely each prediction changes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unswayed._core.influence import Entries, InfluenceMap
from unswayed._core.kernels import block_starts, run_blocks
from unswayed._core.rounding import gamma, wider
from unswayed._typing import FloatArray, IntArray
from unswayed.engines.linear import LinearCase
from unswayed.engines.protocol import RELATIVE, Precision
from unswayed.engines.selection import ExactEngine
from unswayed.evidence.tails import FARTHEST, Sums, Tails
from unswayed.exceptions import InputError
from unswayed.inputs import as_doubles, as_values, dense, frame_like
from unswayed.labels.bias import LabelBias, ResolvedBias
from unswayed.labels.budgets import Count
from unswayed.words import counted, listed, percent, written

_METHODS = ("chernoff", "convolution")


def _rates(given: Any, what: str) -> FloatArray:
    """Return probabilities as doubles; raise unless they are some."""
    found = as_doubles(given, what)
    if found.ndim > 1 or not found.size:
        raise InputError(f"{what} must be one probability, or one per label, got {given!r}")
    for wrong in found[~((found >= 0) & (found <= 1))][:1]:
        raise InputError(
            f"{what} must lie between 0 and 1, got {wrong:g}: it is the probability that a label "
            "is wrong; write 5 % as 0.05"
        )
    return found


@dataclass(frozen=True, slots=True, eq=False)
class LabelNoise:
    """Labels that are wrong at random: each one independently, with a probability of its own.

    ``LabelNoise(rate=0.05)`` is about classes: a wrong label is the other class. Numbers are off by
    a random amount: make noise for them with `uniform`, `normal` or `two_point`.

    Attributes
    ----------
    rate : float, (n,) array or mapping
        How likely each label is wrong; by class, if it is a mapping.
    kind : {"flips", "uniform", "normal", "two-point"}
        What a wrong label becomes.
    sizes : tuple of float
        How far it is off: the largest shift, the standard deviation, or the two shifts.
    upper_share : float
        Of two shifts, how likely the second one is.

    Examples
    --------
    >>> LabelNoise(rate=0.05)
    LabelNoise(5.0 % of labels wrong at random)
    >>> LabelNoise.by_group(["f", "m", "f"], {"f": 0.05, "m": 0.01}).rate.tolist()
    [0.05, 0.01, 0.05]
    """

    rate: Any
    kind: Literal["flips", "uniform", "normal", "two-point"] = "flips"
    sizes: tuple[float, ...] = ()
    upper_share: float = 1.0

    def __post_init__(self) -> None:
        if isinstance(self.rate, Mapping):
            for name, rate in self.rate.items():
                _rates([rate], f"rate of {name!r}")
        else:
            object.__setattr__(self, "rate", _rates(self.rate, "rate"))
        for size in self.sizes:
            if not np.isfinite(as_doubles(size, "shift")).all():
                raise InputError(f"a shift must be a finite number, got {size!r}")
        if self.kind in ("uniform", "normal") and self.sizes[0] < 0:
            raise InputError(f"how far labels are off must not be negative, got {self.sizes[0]!r}")
        _rates(self.upper_share, "upper_share")

    @classmethod
    def by_group(cls, groups: ArrayLike, rates: Mapping[Any, float]) -> "LabelNoise":
        """Return noise with a rate for each group of training rows.

        Parameters
        ----------
        groups : (n,) array-like
            The group of each training row.
        rates : mapping
            How likely labels of each group are wrong; 0 where they are never.

        Returns
        -------
        LabelNoise
        """
        values = as_values(groups)
        known = set(values.tolist())
        _same(known, set(rates), "group")
        each = {name: float(_rates([rate], f"rate of {name!r}")[0]) for name, rate in rates.items()}
        return cls(np.array([each[name] for name in values.tolist()]))

    @classmethod
    def by_class(cls, rates: Mapping[Any, float]) -> "LabelNoise":
        """Return noise with a rate for each of two classes.

        Together the two rates are a confusion matrix, of the labels as they are given: of those
        that say "yes", say, 5 % should say "no".

        Parameters
        ----------
        rates : mapping
            How likely labels of each class, as written in the training labels, are wrong.

        Returns
        -------
        LabelNoise
        """
        return cls(dict(rates))

    @classmethod
    def uniform(cls, amount: float, *, rate: Any = 1.0) -> "LabelNoise":
        """Return noise of numbers that are off by up to ±amount, all amounts equally likely.

        Parameters
        ----------
        amount : float
            The largest shift.
        rate : float or (n,) array-like
            How likely each label is off at all.

        Returns
        -------
        LabelNoise
        """
        return cls(rate, "uniform", (amount,))

    @classmethod
    def normal(cls, sd: float, *, rate: Any = 1.0) -> "LabelNoise":
        """Return noise of numbers that are off by normal errors around 0.

        Parameters
        ----------
        sd : float
            Their standard deviation.
        rate : float or (n,) array-like
            How likely each label is off at all.

        Returns
        -------
        LabelNoise
        """
        return cls(rate, "normal", (sd,))

    @classmethod
    def two_point(
        cls, low: float, high: float, *, rate: Any = 1.0, upper_share: float = 0.5
    ) -> "LabelNoise":
        """Return noise of numbers that are off by one of two amounts.

        Parameters
        ----------
        low, high : float
            What is added to a wrong label.
        rate : float or (n,) array-like
            How likely each label is off at all.
        upper_share : float
            How likely a wrong label is off by `high`.

        Returns
        -------
        LabelNoise
        """
        return cls(rate, "two-point", (low, high), upper_share)

    def chances(
        self, targets: FloatArray, classes: NDArray[Any] | None, positive: float
    ) -> FloatArray:
        """Return how likely each of the training labels is wrong."""
        if not isinstance(self.rate, Mapping):
            if self.rate.size not in (1, len(targets)) or (
                self.rate.ndim and self.rate.size == 1 != len(targets)
            ):
                raise InputError(
                    f"rate has {self.rate.size} entries for {len(targets)} training labels; pass "
                    "one number for all, or one per label"
                )
            return np.array(np.broadcast_to(self.rate, len(targets)))
        if classes is None:
            raise InputError("rates by class are about two classes, and these labels are numbers")
        _same(set(classes.tolist()), set(self.rate), "class")
        negative_rate, positive_rate = (float(self.rate[name]) for name in classes.tolist())
        return np.where(targets == positive, positive_rate, negative_rate)

    def shifts(self, targets: FloatArray, between: tuple[float, float] | None) -> FloatArray:
        """Return how far wrong labels are off, (points, n)."""
        if self.kind != "flips":
            return np.repeat(np.array(self.sizes, dtype=np.float64)[:, None], len(targets), axis=1)
        if between is None:
            raise InputError(
                "a wrong label of LabelNoise(rate=...) is the other class, and these labels are "
                "numbers; say how far they are off: LabelNoise.normal(sd, rate=...), for example"
            )
        flipped = LabelBias.flips(budget=0).resolve(targets, flip_between=between)
        return (flipped.lower + flipped.upper)[None]

    def __str__(self) -> str:
        if isinstance(self.rate, Mapping):
            each = [f"{percent(rate)} of {name!s}" for name, rate in self.rate.items()]
            words = f"{listed(each, 4)} labels wrong at random"
        elif self.rate.size == 1 or self.rate.min() == self.rate.max():
            words = f"{percent(float(self.rate.flat[0]))} of labels wrong at random"
        else:
            ends = percent(self.rate.min()), percent(self.rate.max())
            words = f"labels wrong at random ({ends[0]} to {ends[1]} each)"
        size = " or ".join(written(float(each)) for each in self.sizes)
        return (
            words
            + {
                "flips": "",
                "uniform": f", off by up to {size}",
                "normal": f", off by normal errors of standard deviation {size}",
                "two-point": f", off by {size}",
            }[self.kind]
        )

    def __repr__(self) -> str:
        return f"LabelNoise({self})"


def _same(known: set[Any], named: set[Any], what: str) -> None:
    """Raise if rates are named for other groups or classes than there are."""
    for name in sorted(map(str, named - known))[:1]:
        raise InputError(
            f"there is no {what} {name!r} among the training labels; known: "
            f"{listed(sorted(map(repr, known)), 6)}"
        )
    for name in sorted(map(str, known - named))[:1]:
        raise InputError(
            f"no rate is given for the {what} {name!r}; write 0 if its labels are never wrong"
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class OverturnProbability:
    """How likely labels that are wrong at random overturn each prediction.

    Attributes
    ----------
    low, high : (n,) arrays
        Bounds that are proven, rounding included.
    estimate : (n,) array
        A saddlepoint approximation between them; no proof.
    noise : LabelNoise
        What was asked about.
    method : {"chernoff", "convolution"}
        How the bounds were found.
    origin : rows
        The rows in question: a frame of their library is given back.
    keeps : str
        What stays if a prediction is not overturned.

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
    >>> bool((found.low <= [0.00856, 0.028]).all() and (found.high >= [0.00856, 0.028]).all())
    True
    """

    low: FloatArray
    high: FloatArray
    estimate: FloatArray
    noise: LabelNoise
    method: str
    origin: Any
    keeps: str

    def __len__(self) -> int:
        return len(self.low)

    def share_below(self, probability: float) -> float:
        """Return the share of predictions proven to change with a probability below this.

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

    @property
    def mean(self) -> tuple[float, float]:
        """Bounds on the share of predictions that change on average."""
        n_rows = max(1, len(self))
        lost = 1.0 + gamma(n_rows + 2)
        return float(self.low.sum() / n_rows / lost), min(
            1.0, float(self.high.sum() / n_rows * lost)
        )

    def sentence(self, probability: float = 1e-3) -> str:
        """Return what `share_below` says, in words that stay true when they are rounded.

        Parameters
        ----------
        probability : float
            As for `share_below`.

        Returns
        -------
        str
        """
        share = percent(self.share_below(probability), -1) if len(self) else "none"
        verb = "change" if "class" in self.keeps else "move too far"
        chance = "one in a thousand" if probability == 1e-3 else written(probability)
        return f"with {self.noise}, {share} of predictions {verb} with probability below {chance}"

    def to_dict(self) -> dict[str, Any]:
        """Return bounds and estimates as columns by name.

        Returns
        -------
        dict of str to array
        """
        return {"low": self.low, "high": self.high, "estimate": self.estimate}

    def to_frame(self) -> Any:
        """Return a frame of the library the rows came in.

        Returns
        -------
        frame
            One line per row.
        """
        return frame_like(self.origin, self.to_dict())

    def __repr__(self) -> str:
        return f"<OverturnProbability: {counted(len(self), 'row')}, {self.sentence()}>"


@dataclass(frozen=True, eq=False)
class Noisy:
    """A case whose labels are wrong at random; equal training rows are merged."""

    case: LinearCase[ExactEngine]
    chance: FloatArray  # of each label to be wrong
    shifts: FloatArray  # (points, n)
    kind: str
    shares: tuple[float, ...]

    @cached_property
    def _influence(self) -> InfluenceMap:
        learner = self.case.engine.learner
        movable = (self.chance > 0) & (self.shifts != 0).any(axis=0)
        kinds = np.column_stack((self.chance, *self.shifts))
        _, apart = np.unique(kinds, axis=0, return_inverse=True)
        return InfluenceMap(
            learner.design,
            np.zeros(len(self.chance)),
            movable.astype(np.float64),
            learner.row_scale,
            apart.reshape(-1).astype(np.float64),
        )

    @cached_property
    def _precision(self) -> Precision:
        most = np.abs(self.shifts).max(axis=0) * (self.chance > 0)
        most *= FARTHEST if self.kind == "normal" else 1.0
        bias = ResolvedBias(-most, most, Count(len(most)))
        return Precision.of(self.case.engine.learner, bias)

    @cached_property
    def _sums(self) -> Sums:
        entries = self._influence.entries
        sizes = self.shifts[:, entries.rows] * entries.upper
        return Sums(self.kind, self.chance[entries.rows], entries.n_upper, sizes, self.shares)

    def tails(self, method: str) -> Tails:
        """Return how likely each row is overturned: a margin above, or one below."""
        margins, sums = self.case.margins, self._sums
        ends = ((1.0, margins.up), (-1.0, margins.down))
        row = np.concatenate([np.flatnonzero(np.isfinite(each)) for _, each in ends])
        way = np.concatenate([np.full(int(np.isfinite(each).sum()), sign) for sign, each in ends])
        margin = np.concatenate([each[np.isfinite(each)] for _, each in ends])
        weights, slack = self.case.rows.take(row), margins.slack[row]
        entries = self._influence.entries
        effects: Entries = replace(
            entries,
            lower=sums.sizes[0],
            upper=sums.sizes[-1],
            n_lower=sums.count,
            n_upper=sums.count,
        )
        found = Tails(*np.zeros((4, len(row))))

        def block(start: int, stop: int, buffer: FloatArray) -> None:
            here = slice(start, stop)
            values, error, size = weights.block(start, stop)
            z = self._influence(np.ascontiguousarray(dense(values)), buffer)
            z *= way[here, None]
            exact = self._precision.exact_rows(z, effects)
            off = self._precision.errors(error, size, np.inf)
            off += (RELATIVE + gamma(len(entries))) * sums.reach(z)[2]
            off = wider(np.where(exact, 0.0, off), slack[here])
            tails = sums.chernoff(z, margin[here], np.where(np.isnan(off), np.inf, off))
            if method == "convolution":
                for at in range(len(z)):
                    one = Tails(*(each[at : at + 1] for each in tails))
                    sharp = sums.convolved(
                        z[at : at + 1], float(margin[start + at]), float(off[at]), one
                    )
                    for into, of in zip(tails, sharp, strict=True):
                        into[at] = of[0]
            for into, of in zip(found, tails, strict=True):
                into[here] = of

        widest = max(self._influence.width, len(entries))
        starts = block_starts(len(row), 8 * widest, self._influence.block_bytes)
        run_blocks(starts, len(entries), block)
        return self._summed(found, row)

    def _summed(self, found: Tails, row: IntArray) -> Tails:
        """Return the tails of rows, whose margins above and below exclude one another."""
        total = [np.bincount(row, each, minlength=len(self.case.rows)) for each in found]
        unknown = ~np.isfinite(self.case.margins.slack)
        low = np.clip(total[0] * (1.0 - gamma(4)), 0.0, 1.0)
        high = np.clip(total[1] * (1.0 + gamma(4)), 0.0, 1.0)
        low, high = np.where(unknown, 0.0, low), np.where(unknown, 1.0, high)
        return Tails(low, high, np.clip(total[2], low, high), total[3])


def overturn_probability(
    question: Any, noise: Any, between: Any, method: str
) -> OverturnProbability:
    """Return how likely labels that are wrong at random overturn each row of a question."""
    if not isinstance(noise, LabelNoise):
        raise InputError(
            f"noise must be a LabelNoise, got {noise!r}; for example LabelNoise(rate=0.05)"
        )
    if method not in _METHODS:
        raise InputError(f"method must be one of {', '.join(_METHODS)}, got {method!r}")
    code, targets = question.code, question.targets
    upper = noise.upper_share
    noisy = Noisy(
        question.selection,
        noise.chances(targets, code.classes, code.positive),
        noise.shifts(targets, between),
        noise.kind if noise.kind in ("uniform", "normal") else "points",
        (1.0 - upper, upper) if noise.kind == "two-point" else (1.0,),
    )
    tails = noisy.tails(method)
    return OverturnProbability(
        low=tails.low[question.group],
        high=tails.high[question.group],
        estimate=tails.estimate[question.group],
        noise=noise,
        method=method,
        origin=question.origin,
        keeps=str(question.decision),
    )
