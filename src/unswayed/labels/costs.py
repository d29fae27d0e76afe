"""Cost: a budget on what wrong labels cost together, each at its own price.

Which labels within a limit do most is a 0/1 knapsack. Labels in the order of what they do per unit
of cost, the last of them in part: no admissible set of labels does more. Whole labels alone: a set
that does nearly as much. Branch and bound closes the gap, over the labels near the cut: leaving out
one that is clearly better than the last, or taking one that is clearly worse, loses more than that.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from unswayed._core import selection
from unswayed._core.influence import Entries
from unswayed._core.rounding import UNIT
from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.exceptions import BiasError
from unswayed.inputs import as_doubles
from unswayed.labels.amounts import extremes, positive
from unswayed.labels.budgets import Budget, Members, Movable, Move, Part, Statement
from unswayed.words import written

_NODES = 20_000  # of branch and bound, for one row in one direction


class _Item(NamedTuple):
    """Labels that do and cost the same."""

    value: Any  # int or float
    cost: int
    labels: int
    number: int


class _Found(NamedTuple):
    """Bounds on the best, and how many labels of which items make what is reached."""

    low: Any
    high: Any
    taken: dict[int, int]


def _by_density(items: Sequence[_Item]) -> list[_Item]:
    return sorted(items, key=lambda item: item.value / Fraction(item.cost), reverse=True)


def _dearest(given: Sequence[_Item], limit: int) -> _Found:
    """Return the most that items do within a limit of cost."""
    items = _by_density(given)

    def bound(at: int, left: int) -> Any:
        total: Any = 0
        for item in items[at:]:
            taken = min(item.labels, left // item.cost)
            total += taken * item.value
            left -= taken * item.cost
            if taken < item.labels:
                return total + item.value * Fraction(left, item.cost)
        return total

    best: Any = 0
    chosen: tuple[int, ...] = ()
    # Of each node: the item, how many of it, what is left and reached without it, those before.
    nodes: list[tuple[int, int, int, Any, tuple[int, ...]]] = []

    def push(at: int, left: int, value: Any, taken: tuple[int, ...]) -> None:
        if at < len(items) and value + bound(at, left) > best:
            nodes.append((at, min(items[at].labels, left // items[at].cost), left, value, taken))

    push(0, limit, 0, ())
    for _ in range(_NODES):
        if not nodes:
            break
        at, count, left, value, taken = nodes.pop()
        item = items[at]
        now, rest = value + count * item.value, left - count * item.cost
        if now > best:
            best, chosen = now, (*taken, count)
        if count and now - item.value + bound(at + 1, rest + item.cost) > best:
            nodes.append((at, count - 1, left, value, taken))
        push(at + 1, rest, now, (*taken, count))
    high = max([best, *(node[3] + bound(node[0], node[2]) for node in nodes)])
    pairs = zip(items, chosen, strict=False)
    return _Found(best, high, {item.number: count for item, count in pairs if count})


def _cheapest(given: Sequence[_Item], margin: Any) -> _Found:
    """Return the least cost of items that do more than a margin; infinite if all do not."""
    items = _by_density(given)

    def bound(at: int, need: Any) -> Any:
        cost: Any = 0
        for item in items[at:]:
            if need <= item.value * item.labels:
                return cost + (need / Fraction(item.value) if need > 0 else 0) * item.cost
            need -= item.value * item.labels
            cost += item.cost * item.labels
        return math.inf

    best: Any = math.inf
    chosen: tuple[int, ...] = ()
    nodes: list[tuple[int, int, Any, int, tuple[int, ...]]] = []

    def push(at: int, need: Any, cost: int, taken: tuple[int, ...]) -> None:
        if at < len(items) and cost + bound(at, need) < best:
            wanted = min(items[at].labels, math.floor(need / Fraction(items[at].value)) + 1)
            nodes.append((at, wanted, need, cost, taken))

    push(0, margin, 0, ())
    for _ in range(_NODES):
        if not nodes:
            break
        at, count, need, cost, taken = nodes.pop()
        item = items[at]
        rest, now = need - count * item.value, cost + count * item.cost
        if count and now - item.cost + bound(at + 1, rest + item.value) < best:
            nodes.append((at, count - 1, need, cost, taken))
        if rest < 0:
            if now < best:
                best, chosen = now, (*taken, count)
        else:
            push(at + 1, rest, now, (*taken, count))
    low = min([best, *(node[3] + bound(node[0], node[2]) for node in nodes)])
    pairs = zip(items, chosen, strict=False)
    return _Found(low, best, {item.number: count for item, count in pairs if count})


@dataclass(frozen=True, eq=False)
class Cost(Statement):
    """Wrong labels together cost at most this much, each at its own price.

    Numbers are taken as they are written: ten labels of cost 0.1 cost 1. A label of infinite cost
    is never wrong, labels that cost nothing may all be.

    Parameters
    ----------
    limit : float
        In the unit of the costs.
    per_label : (n,) array-like
        The cost of each training label, 0 or more.

    Examples
    --------
    The paper's example, z = (-1, 2) and y = (3, 4), either label off by at most 1. The second one
    is twice as unlikely to be wrong, and too dear:

    >>> from unswayed import Cost, LabelBias, prediction_range
    >>> prediction_range([-1, 2], [3, 4], LabelBias.shifts(1, budget=Cost(1, [1, 2])))
    (4.0, 6.0)
    """

    limit: float
    per_label: Any = field(repr=False)

    def __post_init__(self) -> None:
        limit = positive(self.limit, "the limit of Cost")
        costs = as_doubles(self.per_label, "per_label of Cost", BiasError)
        if costs.ndim != 1:
            raise BiasError("per_label of Cost must have one cost for each training label")
        for row in np.flatnonzero(~(costs >= 0))[:1]:
            raise BiasError(
                f"the cost of label {row} is {costs[row]:g}; costs must be 0 or more, and infinite "
                "for labels that are never wrong"
            )
        object.__setattr__(self, "limit", limit)
        object.__setattr__(self, "per_label", costs)

    @classmethod
    def from_probabilities(cls, probability: ArrayLike, *, surprise: float) -> "Cost":
        """Return the cost of errors that have a probability each, independently of one another.

        A label that is wrong with probability p costs log((1 - p) / p), the logarithm of the odds
        against it; one that is at least as likely wrong as right costs nothing. A surprise of 10,
        say, covers all sets of labels that are at most e¹⁰, about 22,000, times less likely to be
        the wrong ones than the likeliest set is, and, if labels are likelier wrong than right, also
        sets without these.

        Parameters
        ----------
        probability : (n,) array-like
            The probability that each training label is wrong, in [0, 1].
        surprise : float
            The limit.

        Returns
        -------
        Cost

        Raises
        ------
        BiasError
            If a number is not a probability.

        Examples
        --------
        >>> from unswayed import Cost
        >>> Cost.from_probabilities([0.5, 0.1, 0.0], surprise=10).per_label.round(3).tolist()
        [0.0, 2.197, inf]
        """
        given = as_doubles(probability, "probabilities", BiasError)
        for row in np.flatnonzero(~((given >= 0) & (given <= 1)))[:1]:
            raise BiasError(
                f"the probability of label {row} is {given.ravel()[row]:g}, but probabilities are "
                "from 0 to 1; pass the probability that each training label is wrong"
            )
        with np.errstate(divide="ignore"):
            return cls(surprise, np.maximum(np.log1p(-given) - np.log(given), 0.0))

    def _budget(self, labels: Movable) -> "CostBudget":
        return CostBudget(self.limit, self._costs_of(len(labels.lower)))

    def _never_wrong(self, n_rows: int) -> BoolArray:
        return np.isposinf(self._costs_of(n_rows))

    def _of_rows(self, rows: IntArray, n_rows: int) -> "Cost":
        return Cost(self.limit, self._costs_of(n_rows)[rows])

    def _costs_of(self, n_rows: int) -> FloatArray:
        """Return the costs; raise unless there is one for each training label."""
        if len(self.per_label) != n_rows:
            raise BiasError(
                f"Cost has {len(self.per_label):,} costs, but there are {n_rows:,} training "
                "labels; it needs exactly one for each"
            )
        costs: FloatArray = self.per_label
        return costs


@dataclass(frozen=True, eq=False)
class CostBudget(Budget):
    """Wrong labels cost at most so much."""

    closed: ClassVar[bool] = False

    limit: float
    per_label: FloatArray = field(repr=False)

    def parts(self) -> tuple[Part]:
        """Return all training rows, and how many of the cheapest labels are within the limit."""
        costs = np.cumsum(np.sort(self.per_label[np.isfinite(self.per_label)]))
        return (Part(None, int((costs <= self.limit * (1 + 1e-9)).sum())),)

    def sized(self, amount: float) -> "CostBudget":
        """Return another limit."""
        return replace(self, limit=float(amount))

    def like(self, other: Budget) -> bool:
        """Return whether these are the same costs."""
        return isinstance(other, CostBudget) and np.array_equal(self.per_label, other.per_label)

    def taken(self, rows: IntArray) -> "CostBudget":
        """Return the costs of some of the training rows."""
        return replace(self, per_label=self.per_label[rows])

    @property
    def least_amount(self) -> float:
        """Return that labels may cost nothing."""
        return 0.0

    def labels_of(self, amount: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return that any number of labels may be within an amount."""
        labels = np.full(amount.shape, float(len(self.per_label)))
        return labels, labels

    @property
    def relative(self) -> float:
        """Relative rounding error of a reach: what labels do is added up in doubles."""
        return (len(self.per_label) + 64) * UNIT

    def apart(
        self, lower: FloatArray, upper: FloatArray, scale: FloatArray | None = None
    ) -> FloatArray:
        """Keep labels of different costs apart."""
        return np.unique(self.per_label, return_inverse=True)[1].astype(np.float64)

    # --- whole numbers ------------------------------------------------------------------------

    def _units(self) -> tuple[Any, int]:
        """Return costs as whole numbers, -1 for infinite ones, and what these are multiples of."""
        cached = self.__dict__.get("_whole")
        if cached is None:
            kinds, place = np.unique(self.per_label, return_inverse=True)
            written = [_written(each) for each in kinds.tolist()]
            below = math.lcm(*(each.denominator for each in written if each is not None), 1)
            whole = [-1 if each is None else int(each * below) for each in written]
            cached = np.array(whole, dtype=object)[place.reshape(-1)], below
            object.__setattr__(self, "_whole", cached)
        return cached

    def _limit(self) -> int:
        limit, below = _written(self.limit), self._units()[1]
        assert limit is not None  # noqa: S101  (it is finite)
        return math.floor(limit * below)

    def _items(self, z: FloatArray, entries: Entries, sign: float) -> Iterator["_Row"]:
        units = self._units()[0][entries.rows]
        cost = self.per_label[entries.rows]
        for row in sign * z:
            value = np.where(row >= 0, row * entries.upper, row * entries.lower)
            count = np.where(row >= 0, entries.n_upper, entries.n_lower)
            used = np.flatnonzero((value > 0) & (count > 0) & np.isfinite(cost))
            yield _Row(value[used], cost[used], units[used], count[used].astype(np.int64), used)

    # --- in doubles ---------------------------------------------------------------------------

    def reach(self, z: FloatArray, entries: Entries) -> tuple[FloatArray, FloatArray]:
        """Return upper bounds on how far scores rise and fall: exact where the search ends."""
        up, down, *_ = self.ends(z, entries)
        return up, down

    def ends(self, z: FloatArray, entries: Entries) -> tuple[FloatArray, ...]:
        """Return these bounds, and how far the best labels that were found take scores."""
        found = [
            [row.dearest(self._limit()) for row in self._items(z, entries, sign)]
            for sign in (1.0, -1.0)
        ]
        high = (np.array([float(each.high) for each in way]) for way in found)
        low = (np.array([float(each.low) for each in way]) for way in found)
        return (*high, *low)

    def argmax(self, z: FloatArray, entries: Entries, sign: float) -> selection.Extremes:
        """Return how far scores rise or fall, and the best label changes that were found."""
        made = []
        for at, row in enumerate(self._items(z, entries, sign)):
            found = row.dearest(self._limit())
            entry = np.array(sorted(found.taken), dtype=np.int64)
            taken = np.array([found.taken[each] for each in entry.tolist()])
            offset = np.where(sign * z[at, entry] >= 0, entries.upper[entry], entries.lower[entry])
            made.append((float(found.high), entry, taken * offset))
        return extremes(made, len(entries))

    def _costs(
        self, z: FloatArray, entries: Entries, up: FloatArray, down: FloatArray
    ) -> Iterator[tuple[int, int, _Found]]:
        for side, (sign, margin) in enumerate(((1.0, up), (-1.0, down))):
            for at, row in enumerate(self._items(z, entries, sign)):
                yield at, side, row.cheapest(float(margin[at]))

    def least(
        self, z: FloatArray, entries: Entries, up: FloatArray, down: FloatArray
    ) -> selection.Crossings:
        """Return costs that no cheaper labels exceed the margins of a row at."""
        found, below = selection.Crossings.blank(len(z)), self._units()[1]
        found.before[:] = found.after[:] = 0.0
        for at, side, each in self._costs(z, entries, up, down):
            found.count[at, side] = _rounded(each.low, below, -math.inf)
        return found

    def enough(
        self, z: FloatArray, entries: Entries, up: FloatArray, down: FloatArray
    ) -> FloatArray:
        """Return costs of labels that exceed a margin of each row."""
        found, below = np.full((len(z), 2), np.inf), self._units()[1]
        for at, side, each in self._costs(z, entries, up, down):
            found[at, side] = _rounded(each.high, below, math.inf)
        return np.asarray(found.min(axis=1))

    def choose(
        self, strength: FloatArray, offset: FloatArray | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Return labels within the limit that move a score far."""
        rows = np.flatnonzero((strength > 0) & np.isfinite(self.per_label))
        units, ones = self._units()[0][rows], np.ones(len(rows), dtype=np.int64)
        row = _Row(strength[rows], self.per_label[rows], units, ones, rows)
        chosen = np.array(sorted(row.dearest(self._limit()).taken), dtype=np.intp)
        return chosen, np.ones(len(chosen))

    # --- exactly ------------------------------------------------------------------------------

    def _moves(self, moves: Sequence[Move]) -> tuple[list[Move], list[_Item]]:
        """Return moves that cost nothing, and the others."""
        units, free, dear = self._units()[0], [], []
        for at, move in enumerate(moves):
            cost = int(units[move.row])
            if cost == 0:
                free.append(move)
            elif cost > 0:
                dear.append(_Item(move.value, cost, move.labels, at))
        return free, dear

    def reach_exactly(self, moves: Sequence[Move]) -> int:
        """Return the most that labels within the limit do."""
        free, dear = self._moves(moves)
        found = _dearest(dear, self._limit())
        if found.low != found.high:
            raise BiasError(
                "which labels within this cost do most could not be settled: too many sets of "
                "labels do nearly the same; round the costs, or pass a number of labels"
            )
        return int(sum(move.value * move.labels for move in free) + found.low)

    def least_exactly(self, moves: Sequence[Move], goal: Any) -> float:
        """Return the least cost, rounded up, that moves a score by `goal`; inf if none does."""
        free, dear = self._moves(moves)
        need = goal - 1 - sum(move.value * move.labels for move in free)
        if need < 0:
            return 0.0
        found = _cheapest(dear, need)
        return _rounded(found.high, self._units()[1], math.inf)

    def choose_exactly(self, moves: Sequence[Move], members: Members) -> list[tuple[int, Fraction]]:
        """Return the labels within the limit that do most."""
        free, dear = self._moves(moves)
        rows = [row for move in free for row in members(move)]
        for number, count in _dearest(dear, self._limit()).taken.items():
            rows += members(moves[number])[:count]
        return [(row, Fraction(1)) for row in sorted(rows)]

    unit: ClassVar[str] = "cost"

    def used(self, rows: IntArray, change: FloatArray) -> float:
        """Return what the labels cost together, rounded up."""
        units, below = self._units()
        own = units[rows].tolist()
        return math.inf if -1 in own else _rounded(sum(own), below, math.inf)

    def document(self, n_rows: int) -> Any:
        """Return the limit and the costs; labels of infinite cost, which cannot move, cost 0."""
        costs = np.where(np.isfinite(self.per_label), self.per_label, 0.0)
        return {"kind": "cost", "limit": self.limit, "costs": costs}

    def __str__(self) -> str:
        return f"labels that cost up to {written(self.limit)} together are wrong"


class _Row(NamedTuple):
    """What the labels of one row's entries do and cost."""

    value: FloatArray
    cost: FloatArray
    units: Any  # the costs as whole numbers
    labels: IntArray
    number: IntArray

    def part(self, which: Any) -> "_Row":
        """Return some of the entries."""
        value, cost, units, labels, number = (each[which] for each in self)
        return _Row(value, cost, units, labels, number)

    def _free(self) -> tuple[float, dict[int, int], "_Row"]:
        """Return what labels that cost nothing do, which these are, and the others by density."""
        free = self.cost == 0
        total, _, taken = self.part(free)._all()
        rest = np.flatnonzero(~free)
        rest = rest[np.argsort(-(self.value[rest] / self.cost[rest]), kind="stable")]
        return total, taken, self.part(rest)

    def _near(self, at: int, gap: float) -> tuple[list[_Item], "_Row"]:
        """Return items near the cut at an item, and those before it that are not near."""
        density = float(self.value[at] / self.cost[at])
        near = np.abs(self.value - density * self.cost) <= gap * (1.0 + 1e-9)
        near[at] = True
        sure = self.part(~near & (np.arange(len(near)) < at))
        fields = self.value, self.units, self.labels, self.number
        return list(map(_Item, *(each[near].tolist() for each in fields))), sure

    def _all(self) -> tuple[float, int, dict[int, int]]:
        """Return what all labels do and cost, and how many there are of each item."""
        spent = int((self.units * self.labels).sum()) if len(self.value) else 0
        taken = dict(zip(self.number.tolist(), self.labels.tolist(), strict=True))
        return float(self.value @ self.labels), spent, taken

    def dearest(self, limit: int) -> _Found:
        """Return the most that labels do within a limit."""
        total, taken, row = self._free()
        row = row.part((row.units <= limit).astype(bool))
        spent = np.cumsum(row.units * row.labels)
        at = int(np.sum(spent <= limit))
        if at == len(spent):
            value, _, every = row._all()
            return _Found(total + value, total + value, taken | every)
        left, cost = limit - (int(spent[at - 1]) if at else 0), int(row.units[at])
        # What is lost by leaving out the part of a label at the cut.
        near, sure = row._near(at, float(row.value[at]) * ((left % cost) / cost))
        base, paid, every = sure._all()
        found = _dearest(near, limit - paid)
        low, high = (total + base + float(each) for each in found[:2])
        return _Found(low, high, taken | every | found.taken)

    def cheapest(self, margin: float) -> _Found:
        """Return the least cost of labels that do more than a margin."""
        if not math.isfinite(margin):
            return _Found(math.inf, math.inf, {})
        total, taken, row = self._free()
        if total > margin:
            return _Found(0, 0, taken)
        at = int(np.searchsorted(total + np.cumsum(row.value * row.labels), margin, side="right"))
        if at == len(row.value):
            return _Found(math.inf, math.inf, {})
        # A whole label at the cut, instead of a part of it, costs no more than that label.
        near, sure = row._near(at, float(row.value[at]))
        base, paid, every = sure._all()
        found = _cheapest(near, margin - total - base)
        return _Found(paid + found.low, paid + found.high, taken | every | found.taken)


def _written(number: float) -> Fraction | None:
    """Return a number as it is written; None if it is infinite."""
    return None if math.isinf(number) else Fraction(Decimal(repr(float(number))))


def _rounded(units: Any, below: int, way: float) -> float:
    """Return whole units as a double, rounded towards `way` unless it is that number."""
    if math.isinf(units):
        return math.inf
    exact = Fraction(units) / below
    found = float(exact)
    return found if _written(found) == exact else math.nextafter(found, way)
