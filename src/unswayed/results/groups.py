"""Rates of groups and the gap between them, with confidence intervals: the rows are a sample."""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.exceptions import InputError
from unswayed.inputs import as_values, is_missing, refuse_masked
from unswayed.results.notebook import SHOWN, table
from unswayed.words import as_text, between, share_range

CONFIDENCE = 0.95
"""The confidence of every interval that is shown."""


@dataclass(frozen=True, slots=True, eq=False)
class StandardErrors:
    """Standard errors of estimates, and the intervals that follow from them.

    Examples
    --------
    >>> errors = StandardErrors(np.array([1.0]), 10.0)
    >>> [end.round(3).tolist() for end in errors.intervals(np.array([5.0]))]
    [[2.772], [7.228]]
    """

    values: FloatArray  # NaN where they were not computed
    # Degrees of freedom of Student's t; infinite for the normal distribution
    degrees: float = math.inf
    reason: str = ""  # Why they were not computed; empty if they were

    @classmethod
    def missing(cls, count: int, reason: str) -> "StandardErrors":
        """Return that none were computed, and why."""
        return cls(np.full(count, np.nan), reason=reason)

    def intervals(
        self, estimates: FloatArray, *, confidence: float = CONFIDENCE
    ) -> tuple[FloatArray, FloatArray]:
        """Return low and high ends of confidence intervals."""
        half = float(special.stdtrit(self.degrees, (1.0 + confidence) / 2.0)) * self.values
        return estimates - half, estimates + half


def wilson(
    kept: ArrayLike,
    rows: ArrayLike,
    *,
    most: ArrayLike | None = None,
    confidence: float = CONFIDENCE,
) -> FloatArray:
    """Return Wilson's score intervals of shares.

    Examples
    --------
    >>> wilson(15, 148).round(4).tolist()
    [0.0624, 0.1605]
    """
    if most is not None:
        ends = (wilson(each, rows, confidence=confidence) for each in (kept, most))
        return np.stack([each[..., at] for at, each in enumerate(ends)], axis=-1)
    count, size = np.asarray(kept, dtype=np.float64), np.asarray(rows, dtype=np.float64)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    middle = (count + z * z / 2) / (size + z * z)
    half = z * np.sqrt(count * (size - count) / size + z * z / 4) / (size + z * z)
    # Rounding must not keep the ends of 0 and of all rows away from where they are.
    low = np.where(count == 0, 0.0, middle - half)
    high = np.where(count == size, 1.0, middle + half)
    return np.stack((low, high), axis=-1)


def newcombe(
    first: tuple[ArrayLike, ArrayLike],
    second: tuple[ArrayLike, ArrayLike],
    *,
    confidence: float = CONFIDENCE,
) -> FloatArray:
    """Return Newcombe's hybrid score intervals of differences of two independent shares.

    Examples
    --------
    >>> newcombe((56, 70), (48, 80)).round(4).tolist()
    [0.0524, 0.3339]
    """
    shares = [
        np.asarray(kept, dtype=np.float64) / np.asarray(rows) for kept, rows in (first, second)
    ]
    ends = [wilson(kept, rows, confidence=confidence) for kept, rows in (first, second)]
    difference = shares[0] - shares[1]
    below = np.hypot(shares[0] - ends[0][..., 0], ends[1][..., 1] - shares[1])
    above = np.hypot(ends[0][..., 1] - shares[0], shares[1] - ends[1][..., 0])
    return np.stack((difference - below, difference + above), axis=-1)


def paired_interval(
    both: int, first: int, second: int, neither: int, *, confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """Return an interval of the difference of two shares of the same rows.

    It is Newcombe's score interval for paired data (Statistics in Medicine 17 (1998), 2635-2650,
    method 10): Wilson's intervals of both shares, joined by how far the two go together. As it
    promises too much where few rows differ, an end beyond 0 counts only where McNemar's exact test
    tells the two apart as well.

    Examples
    --------
    >>> low, high = paired_interval(36, 2, 12, 0)
    >>> round(low, 4), round(high, 4)
    (0.0569, 0.3404)
    """
    rows, kept = both + first + second + neither, np.array([both + first, both + second])
    share = kept / rows
    below, above = np.abs(wilson(kept, rows, confidence=confidence) - share[:, None]).T
    margins = math.prod(int(each) for each in (*kept, *(rows - kept)))
    together = float(both * neither - first * second)
    if together > 0:  # a correction for continuity, which makes the interval wider
        together = max(together - rows / 2, 0.0)
    phi = together / math.sqrt(margins) if margins else 0.0
    difference = (second - first) / rows

    def joined(one: float, other: float) -> float:
        return math.sqrt(max(one * one - 2 * phi * one * other + other * other, 0.0))

    low = difference - joined(below[1], above[0])
    high = difference + joined(above[1], below[0])
    differ = 2 * special.bdtr(min(first, second), first + second, 0.5) <= 1 - confidence
    if not differ:
        low, high = min(low, 0.0), max(high, 0.0)
    return max(low, -1.0), min(high, 1.0)


def gap_interval(
    kept: ArrayLike,
    rows: ArrayLike,
    *,
    most: ArrayLike | None = None,
    confidence: float = CONFIDENCE,
) -> tuple[float, float]:
    """Return an interval of the gap between groups: largest share minus smallest.

    Which two groups are furthest apart is itself a matter of chance, and among many groups some
    pair always is. So all pairs are compared, by Newcombe's intervals at a confidence that allows
    for their number (Bonferroni): with the confidence asked for, all of them hold at once. The gap
    is then at least the largest of their low ends, and at most the largest of their high ends.
    As score intervals promise too much for groups of very few rows, a low end above 0 counts only
    where Fisher's exact test tells the two groups apart as well.

    Examples
    --------
    For two groups it is the interval of their difference. A third group makes it wider.

    >>> low, high = gap_interval([56, 48], [70, 80])
    >>> round(low, 4), round(high, 4)
    (0.0524, 0.3339)
    >>> gap_interval([56, 48, 7], [70, 80, 10])[0] < low
    True
    """
    count, size = np.asarray(kept), np.asarray(rows)
    top = count if most is None else np.asarray(most)
    if len(count) < 2:
        return 0.0, 0.0
    one, other = (~np.eye(len(count), dtype=bool)).nonzero()
    level = (1 - confidence) / math.comb(len(count), 2)

    def compared(first: IntArray, second: IntArray) -> FloatArray:
        pairs = (first[one], size[one]), (second[other], size[other])
        return newcombe(*pairs, confidence=1 - level)

    # Undecided rows turn out so that two groups come closest, or are furthest apart.
    lows, highs = compared(count, top)[:, 0], compared(top, count)[:, 1]
    low = 0.0
    for at in np.argsort(-lows):
        if lows[at] <= 0:
            break
        pair = np.array([count[one[at]], top[other[at]]])
        if _told_apart(pair, size[[one[at], other[at]]], level):
            low = float(lows[at])
            break
    return low, min(1.0, float(highs.max()))


def _told_apart(kept: IntArray, rows: IntArray, level: float) -> bool:
    """Return whether the shares of two groups differ by Fisher's exact test."""
    from scipy.stats import fisher_exact  # noqa: PLC0415  (half a second that few questions need)

    return bool(fisher_exact(np.stack((kept, rows - kept)).tolist()).pvalue <= level)


# ----------------------------------------------------------------------------------------
# Groups of rows: the share of each that is robust, and the gap between them.

SMALL_GROUP = 30
"""Fewer rows than this, and a rate says little: one row moves it by over three points."""
LARGE_GROUPS = f"groups of {SMALL_GROUP} rows or more"
"""What those that make headlines are called."""


@dataclass(frozen=True, slots=True, eq=False)
class GroupRates:
    """Robustness rates of groups of test rows, and the gap between the best and the worst.

    Attributes
    ----------
    groups : tuple
        The groups, sorted.
    rate : (k,) array
        Share of the rows of each that are proven robust.
    count : (k,) array of int
        Rows of each.
    undecided : (k,) array of int, optional
        Rows of each that are neither proven robust nor overturned.

    Examples
    --------
    >>> rates = GroupRates(("Black", "White"), np.array([0.4, 0.5]), np.array([10, 20]))
    >>> round(rates.gap, 3)
    0.1
    >>> print(rates)
    Black   40.0 %  (10 rows; 16.8 to 68.7)
    White   50.0 %  (20 rows; 29.9 to 70.1)
    gap     10.0 points  (0.0 to 40.7: within chance)
    >>> rates.intervals().round(3).tolist()
    [[0.168, 0.687], [0.299, 0.701]]
    >>> rates.gap_interval()[0], [round(end, 3) for end in rates.gap_range()]
    (0.0, [0.1, 0.1])
    >>> rates.to_dict()["count"]
    [10, 20]
    """

    groups: tuple[Any, ...]
    rate: FloatArray
    count: IntArray
    undecided: IntArray | None = None

    @property
    def n_undecided(self) -> IntArray:
        """Number of rows of each group that are neither proven robust nor overturned."""
        return np.zeros_like(self.count) if self.undecided is None else self.undecided

    def gap_range(self) -> tuple[float, float]:
        """Return between which values the gap lies, whatever the undecided rows turn out to be.

        Returns
        -------
        low : float
            The gap is at least this.
        high : float
            And at most this: both equal it where no row is undecided.
        """
        least, most = self.rate, self.highest
        # The largest difference of two groups, each at the end that makes it larger.
        apart = most[:, None] - least[None, :]
        np.fill_diagonal(apart, 0.0)
        return max(0.0, float(least.max() - most.min())), float(apart.max(initial=0.0))

    @property
    def gap(self) -> float:
        """Largest rate minus smallest, of what is proven: see `gap_range` for undecided rows."""
        return float(self.rate.max() - self.rate.min())

    @property
    def kept(self) -> IntArray:
        """Number of robust rows of each group."""
        return np.rint(self.rate * self.count).astype(np.int64)

    @property
    def highest(self) -> FloatArray:
        """Share of the rows of each group that nothing was found to overturn."""
        return np.asarray(self.rate + self.n_undecided / self.count)

    @property
    def _most(self) -> IntArray:
        return self.kept + self.n_undecided

    def intervals(self, confidence: float = CONFIDENCE) -> FloatArray:
        """Return Wilson's score interval of each group's rate, however undecided rows turn out.

        Parameters
        ----------
        confidence : float
            Above 0 and below 1.

        Returns
        -------
        (k, 2) array
            Low and high ends.
        """
        return wilson(self.kept, self.count, most=self._most, confidence=confidence)

    def gap_interval(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Return an interval of the gap, which allows for how many groups are compared.

        It is made of Newcombe's intervals of all pairs of groups; see `unswayed.results.groups`. It
        covers the gap however undecided rows turn out.

        Parameters
        ----------
        confidence : float
            Above 0 and below 1.

        Returns
        -------
        low : float
            0 if no two groups are told apart: the gap is within chance.
        high : float
            The other end.
        """
        return gap_interval(self.kept, self.count, most=self._most, confidence=confidence)

    def __getitem__(self, group: Any) -> float:
        return float(self.rate[self.groups.index(group)])

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, for JSON or a frame of any library.

        Returns
        -------
        dict of str to list
            Columns "group", "rate", "count", "low" and "high" ends of the rate's interval, and,
            where rows are undecided, how many of them and the "highest" rate that they leave open.
        """
        low, high = self.intervals().T
        return {
            "group": list(self.groups),
            "rate": self.rate.tolist(),
            "count": self.count.tolist(),
            "low": low.tolist(),
            "high": high.tolist(),
            **({} if self.undecided is None else self._open()),
        }

    def _open(self) -> dict[str, Any]:
        return {"undecided": self.n_undecided.tolist(), "highest": self.highest.tolist()}

    def __str__(self) -> str:
        width = max(len("gap"), *(len(str(group)) for group in self.groups)) + 2
        ends = map(between, self.intervals().tolist())
        left = [f", {many} undecided" if many else "" for many in self.n_undecided.tolist()]
        lines = [
            f"{group!s:<{width}} {share_range(rate, most)}  ({count} rows{more}; {chance})"
            for group, rate, most, count, more, chance in zip(
                self.groups, self.rate, self.highest, self.count, left, ends, strict=True
            )
        ]
        lines.append(f"{'gap':<{width}} {self._gap_in_words()}")
        return "\n".join(lines)

    def _gap_in_words(self) -> str:
        low, high = self.gap_interval()
        chance = "" if low > 0 else ": within chance"
        gap = share_range(*self.gap_range()).replace("%", "points")
        return f"{gap}  ({between((low, high))}{chance})"

    def _repr_html_(self) -> str:
        at = np.argsort(self.rate, kind="stable")[:SHOWN]
        shares = zip(self.rate[at].tolist(), self.highest[at].tolist(), strict=True)
        columns: dict[str, list[Any]] = {
            "group": [as_text(self.groups[each]) for each in at],
            "proven robust": [share_range(*each) for each in shares],
            "95 % interval": [between(each) for each in self.intervals()[at].tolist()],
            "rows": self.count[at].tolist(),
        }
        if self.n_undecided.any():
            columns["undecided"] = self.n_undecided[at].tolist()
        total = len(self.groups)
        return table(f"By group: gap {self._gap_in_words()}", columns, total=total, what="group")


def group_rates(
    robust: BoolArray, groups: ArrayLike, undecided: BoolArray | None = None
) -> GroupRates:
    """Return rate and count per group, in sorted order of the groups."""
    names, which = group_names(groups, len(robust))
    count = np.bincount(which, minlength=len(names))
    kept = np.bincount(which, weights=robust, minlength=len(names))
    if undecided is None or not undecided.any():
        return GroupRates(names, kept / count, count)
    left = np.bincount(which, weights=undecided, minlength=len(names)).astype(np.int64)
    return GroupRates(names, kept / count, count, left)


def group_names(groups: ArrayLike, n_rows: int) -> tuple[tuple[Any, ...], IntArray]:
    """Return the groups in sorted order, and the number of each row's group."""
    refuse_masked(groups, "groups")
    values = as_values(groups)
    if values.shape != (n_rows,):
        raise InputError(
            f"groups has shape {values.shape} but there are {n_rows} certificates; "
            "pass one group per certified row"
        )
    labels = ["missing" if is_missing(v) else v for v in values.tolist()]
    try:
        names = sorted(set(labels))
    except TypeError:  # mixed types have no order of their own
        names = sorted(set(labels), key=str)
    position = {name: at for at, name in enumerate(names)}
    which = np.array([position[label] for label in labels], dtype=np.intp)
    return tuple(names), which
