"""Groups of rows: the share of each that is robust, and the gap between them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.doubles import as_values, is_missing, refuse_masked
from unswayed.exceptions import InputError
from unswayed.intervals import CONFIDENCE, gap_interval, wilson
from unswayed.words import between, share_range

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

        It is made of Newcombe's intervals of all pairs of groups; see `unswayed.intervals`. It
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
        low, high = self.gap_interval()
        chance = "" if low > 0 else ": within chance"
        gap = share_range(*self.gap_range()).replace("%", "points")
        lines.append(f"{'gap':<{width}} {gap}  ({between((low, high))}{chance})")
        return "\n".join(lines)


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
