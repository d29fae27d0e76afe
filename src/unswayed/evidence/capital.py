"""Bets against claims: what each has earned after some draws, rounded down (see `audit`)."""

import copy
from typing import Any, Literal, TypeAlias

import numpy as np

from unswayed._core.rounding import below
from unswayed._typing import BoolArray, FloatArray
from unswayed.evidence.answers import Audited
from unswayed.exceptions import InputError
from unswayed.inputs import as_doubles

Together: TypeAlias = Literal["each", "all", "discoveries"]
Moved: TypeAlias = tuple[FloatArray, FloatArray]

FRACTIONS = np.array([0.1, 0.25, 0.5, 0.75, 0.95])
"""Shares of the largest λ: the largest is fastest if no label is wrong, small ones forgive."""

_LESS, _MORE = 1.0 - 2.0**-40, 1.0 + 2.0**-40
LAST_BITS = 2.0**-50  # more than a few products are off by, relatively


class Capital:
    """What bets against each claim have earned, and what is left of its margin."""

    def __init__(
        self,
        audited: Audited,
        risk: float,
        together: Together,
        certain: BoolArray,
    ) -> None:
        claims, group = audited.claims, audited.group
        self.number, self.together = claims.number, together
        self.count = np.bincount(group)
        self.n_rows, self.risk = len(group), risk
        self.values = np.ones((len(claims), len(FRACTIONS)))
        self.margin = claims.distance.copy()  # less what is known, rounded down
        self.known = np.zeros(len(claims))  # what is known, rounded down
        self.settled = np.zeros(len(claims), dtype=bool)
        self.doubtful = audited.doubtful  # classes that nobody has seen a true label of
        self.values[certain] = np.inf
        self._settle()

    def __deepcopy__(self, memo: dict[int, Any]) -> "Capital":
        other = copy.copy(self)
        for name in ("values", "margin", "known", "settled", "doubtful"):
            setattr(other, name, getattr(self, name).copy())
        return other

    @property
    def e_values(self) -> FloatArray:
        """The e-value of each claim, rounded down."""
        with np.errstate(over="ignore"):  # beyond all doubles is beyond every risk
            found = self.values.sum(axis=1) / len(FRACTIONS) * _LESS
        return np.where(self.doubtful >= 0, 0.0, found)

    @property
    def of_numbers(self) -> FloatArray:
        """The e-value of each number: the least of its claims."""
        found = np.full(len(self.count), np.inf)
        np.minimum.at(found, self.number, self.e_values)
        return found

    @property
    def reached(self) -> BoolArray:
        """Which numbers have all of their claims settled."""
        found = np.ones(len(self.count), dtype=bool)
        np.logical_and.at(found, self.number, self.settled)
        return found

    def bet(
        self, most: FloatArray, chance: int, total: int, moved: Moved | None, seen: int = -1
    ) -> None:
        """Count the draw of a label, whose chance was so much out of a total.

        `most` is the largest rise of any label over its chance, `moved` how far the true label
        moves each number, rounded down and up; None if the label is right. `seen` is the class
        that the label is truly of, where there are three or more.
        """
        self.doubtful[self.doubtful == seen] = -1
        self._settle_surely(most, total)
        largest = most * total * (1.0 + LAST_BITS)  # estimate that any draw could have given
        low, high = (np.zeros(1), np.zeros(1)) if moved is None else moved
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            open_ = ~self.settled & (largest > self.margin) & (self.margin > 0)
            open_ &= np.isfinite(largest)
            rate = FRACTIONS * (_LESS / (largest - self.margin))[:, None]
            estimate = high * (total / chance)
            gain = below(self.margin, -estimate, LAST_BITS * np.abs(estimate))
            product = np.nextafter(rate * gain[:, None], -np.inf)
            factor = np.maximum(np.nextafter(1.0 + product, -np.inf), 0.0)
            after = np.maximum(np.nextafter(self.values * factor, -np.inf), 0.0)
        self.values = np.where(open_[:, None], after, self.values)
        if moved is not None:
            self.margin = below(self.margin, -high, np.zeros(1))
            self.known = below(self.known, low, np.zeros(1))
        self._settle_surely(most, total - chance)
        self._settle()

    def _settle_surely(self, most: FloatArray, total: int) -> None:
        """Give all there is to claims that hold whatever the labels are that are left."""
        with np.errstate(invalid="ignore"):
            sure = most * total * (1.0 + LAST_BITS) <= self.margin
        self.values[sure & ~self.settled & np.isfinite(most)] = np.inf

    def _settle(self) -> None:
        """Settle claims that have reached what they need; their capital stays as it is."""
        many = self.n_rows if self.together == "discoveries" else 1  # as much as can be needed
        self.settled |= self.e_values * self.risk >= _MORE * many
        if self.together != "discoveries":
            return
        e = self.of_numbers  # the procedure e-BH
        order = np.argsort(-e, kind="stable")
        rows = np.cumsum(self.count[order])
        enough = np.flatnonzero(e[order] * rows * self.risk >= _MORE * self.n_rows)
        if len(enough):
            found = np.zeros(len(e), dtype=bool)
            found[order[: enough[-1] + 1]] = True
            self.settled |= found[self.number]


def as_risk(risk: Any) -> float:
    """Return a risk; raise unless it is above 0 and below 1."""
    number = as_doubles(risk, "risk")
    if number.ndim or not 0 < number < 1:
        raise InputError(
            f"risk must be a number between 0 and 1, such as 0.05: how likely something false may "
            f"be confirmed; got {risk!r}"
        )
    return float(number)


def as_together(together: Any) -> Together:
    """Return what a risk is about; raise unless it is one of the three."""
    if together not in ("each", "all", "discoveries"):
        raise InputError(
            f"together must be 'each' (every row at its own risk), 'all' (the whole list at one "
            f"risk) or 'discoveries' (the share of false ones among the confirmed); got "
            f"{together!r}"
        )
    return together  # type: ignore[no-any-return]


def as_seed(seed: Any) -> int:
    """Return a seed; raise unless it is a whole number."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InputError(f"seed must be a whole number, 0 or more; got {seed!r}")
    return int(seed)
