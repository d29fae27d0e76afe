"""Prices that prove how far a budget moves a score: what a certificate file carries for selections.

Every budget is a limit on what wrong units weigh together, and maybe one for each of several parts:
see `unswayed.verify.budget`, which evaluates the prices that are searched for here.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from unswayed._typing import FloatArray, IntArray

_MOST_SPLITS = 5000  # of one tree of cases
_MOST_IN_ALL = 2**18  # of all trees of a file: the checker reads about ten times as many numbers
_NEAR = 1e-12  # relative: bounds of doubles that may be the same number


class Priced(NamedTuple):
    """Prices, the limit's first and then those of parts, and the bound that they prove."""

    prices: list[float]
    bound: float


class Prices:
    """Searches for prices, given a budget as its document says it."""

    def __init__(self, document: Any, n_rows: int) -> None:
        given: dict[str, Any] = document
        self.kind: str = given["kind"]
        name = {"clusters": "clusters", "total": "total", "cost": "limit"}.get(self.kind, "labels")
        self.limit: float = given[name]
        self.part, self.most = np.zeros(n_rows, dtype=np.intp), list[int]()
        for number, each in enumerate(given.get("parts", ())):
            self.part[each["rows"]] = number
            self.most.append(each["labels"])
        self.cluster = np.asarray(given.get("cluster", ()), dtype=np.intp)
        self.costs = np.asarray(given.get("costs", ()), dtype=np.float64)
        written = [Fraction(repr(each)) for each in self.costs.tolist()]
        self.below = math.lcm(1, *(each.denominator for each in written))
        self.units = [int(each * self.below) for each in written]

    @property
    def n_prices(self) -> int:
        """How many prices prove one bound."""
        return 1 + len(self.most)

    def fewer(self, least: float) -> float:
        """Return the largest amount that a minimum budget says is not enough."""
        if math.isinf(least) or self.kind == "total":
            return least
        return math.nextafter(least, 0.0) if self.kind == "cost" else max(least - 1, 0)

    def units_of(self, amount: float, *, below: bool) -> int:
        """Return the most units that cost no more than an amount, or less than it."""
        exact = Fraction(repr(float(amount))) * self.below
        return math.ceil(exact) - 1 if below else math.floor(exact)

    def found(self, effects: FloatArray, lengths: FloatArray, amount: float) -> Priced:
        """Return the prices that prove most of some effects, one for each label."""
        if self.kind == "parts":
            return self._of_parts(effects, amount)
        weights = np.ones(len(effects))
        if self.kind == "clusters":
            effects = np.bincount(self.cluster, effects).astype(np.float64)
            weights = np.ones(len(effects))
        elif self.kind == "total":
            weights = lengths
        elif self.kind == "cost":
            weights = self.costs
            effects = np.where(weights <= amount, effects, 0.0)
        density = _density(effects, weights)
        order = np.argsort(-density, kind="stable")
        at = int(np.searchsorted(np.cumsum(weights[order]), amount, side="left"))
        price = float(density[order[at]]) if at < len(order) else 0.0
        price = (
            price if math.isfinite(price) else float(density[np.isfinite(density)].max(initial=0.0))
        )
        beyond = np.maximum(effects - price * weights, 0.0)
        return Priced([price], (price * amount if price else 0.0) + float(beyond.sum()))

    def _of_parts(self, effects: FloatArray, amount: float) -> Priced:
        """Return prices of parts: the last effect that each would take, beyond that of all."""
        own = [np.sort(effects[self.part == at])[::-1] for at in range(len(self.most))]
        taken = np.sort(np.concatenate([[], *(e[:k] for e, k in zip(own, self.most, strict=True))]))
        shared = 0.0
        if amount < len(taken):
            shared = float(taken[len(taken) - max(int(amount), 1)])
        last = [
            float(e[max(k, 1) - 1]) if len(e) >= max(k, 1) else 0.0
            for e, k in zip(own, self.most, strict=True)
        ]
        prices = [max(0.0, each - shared) for each in last]
        beyond = np.maximum(effects - shared - np.array([*prices, 0.0])[self.part], 0.0)
        total = sum(k * price for k, price in zip(self.most, prices, strict=True))
        total += shared * amount if shared else 0.0
        return Priced([shared, *prices], total + float(beyond.sum()))


def _density(effects: FloatArray, weights: FloatArray) -> FloatArray:
    """Return effects per weight; infinite where they cost nothing, 0 where they do nothing."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(effects > 0, effects / weights, 0.0)


# --- cases of costs ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Kind:
    """Labels of equal training rows that cost the same: they do the same to every score."""

    rows: IntArray
    cost: float
    units: int  # the cost as a whole number


class Trees:
    """Trees of cases that prove what prices alone do not, and the sets of labels they are about."""

    def __init__(self, prices: Prices, kinds: Sequence[Kind]) -> None:
        self._prices, self._kinds = prices, kinds
        self._number: dict[int, int] = {}  # from a kind to its set
        self._splits: list[list[float]] = []

    def arrays(self) -> dict[str, FloatArray]:
        """Return what the checker reads."""
        if not self._splits:
            return {}
        sets = [
            (number, row) for at, number in self._number.items() for row in self._kinds[at].rows
        ]
        return {
            "cost_splits": np.array(self._splits, dtype=np.float64),
            "cost_sets": np.array(sets, dtype=np.float64).reshape(-1, 2),
        }

    def add(
        self, key: tuple[int, int], effects: FloatArray, units: int, goal: float
    ) -> float | None:
        """Add a tree that proves that costs move a score to a goal at most; return its bound."""
        values = [float(effects[kind.rows].max()) for kind in self._kinds]
        order = sorted(
            (at for at, kind in enumerate(self._kinds) if values[at] > 0 and kind.units <= units),
            key=lambda at: (
                -(values[at] / self._kinds[at].cost if self._kinds[at].cost else math.inf)
            ),
        )
        made: list[tuple[int, int, float]] = []
        most, nodes = 0.0, [dict[int, tuple[int, int]]()]
        while nodes:
            if len(made) > _MOST_SPLITS or len(self._splits) + len(made) > _MOST_IN_ALL:
                return None
            case = nodes.pop()
            bound, price, cut = self._filled(order, values, units, case)
            if bound <= goal + _NEAR * abs(goal):
                made.append((-1, 0, price))
                most = max(most, bound)
                continue
            if cut is None:
                return None  # all labels of this case fit, and do more
            kind, count = cut
            low, high = case.get(kind, (0, len(self._kinds[kind].rows)))
            nodes += [{**case, kind: (low, count - 1)}, {**case, kind: (count, high)}]
            made.append((kind, count, 0.0))
        for kind, count, price in made:
            number = kind if kind < 0 else self._number.setdefault(kind, len(self._number))
            self._splits.append([*key, number, count, price])
        return most

    def _filled(
        self, order: list[int], values: list[float], units: int, case: dict[int, tuple[int, int]]
    ) -> tuple[float, float, tuple[int, int] | None]:
        """Return a bound for a case, its price, and where the last label is wrong in part."""
        left, total = units, 0.0
        for at, (low, _) in case.items():
            left -= low * self._kinds[at].units
            total += low * values[at]
        if left < 0:
            return -math.inf, 0.0, None
        for at in order:
            kind = self._kinds[at]
            low, high = case.get(at, (0, len(kind.rows)))
            fits = high - low if not kind.units else min(high - low, left // kind.units)
            left -= fits * kind.units
            total += fits * values[at]
            if fits < high - low:
                share, price = left / kind.units, values[at] / kind.cost
                cut = (at, low + fits + 1) if share else None  # whole labels reach that
                return total + share * values[at], price, cut
        return total, 0.0, None
