"""A tree of cases: bounds that hold because of selections alone, whatever a solver says.

A goal is the least of some functions v_f = start_f + Σ_j gain_fj·b_j, where b_j is 1 if labels
overturn row j and else 0. With U_j the influence on row j, every admissible change f of labels has

    U_j·f >= least_j  if b_j = 1,     U_j·f <= most_j  if b_j = 0,     -back_j <= U_j·f <= ahead_j,

and of events that exclude one another (a clique C of "row j is overturned", "row j is not") at most
one happens. A *case* fixes some b_j. For any numbers λ_j, any μ_C >= 0 and any θ_f >= 0 that sum up
to 1, all labels of the case have, with λ⁺ and λ⁻ the positive parts of λ and of -λ,

    goal <= Σ θ_f start_f + Σ_j max over the b_j that the case allows of c_j(b_j)
            + Σ_j (λ⁺_j back_j + λ⁻_j most_j) + Σ μ_C + reach(Σ λ_j U_j),

    c_j(1) = Σ θ_f gain_fj - λ⁺_j (least_j + back_j) + λ⁻_j (ahead_j - most_j)
             - Σ {μ_C: "j is overturned" in C},          c_j(0) = - Σ {μ_C: "j is not" in C}.

Where a row has several events, of which one happens if it is overturned, a label set that moves it
too far brings about some of them: in the second inequality b_j is the sum over all events of its
row, and c_j(1) has λ⁻ (ahead - most) of all of them.

Proof: the least of the v_f is at most their mean; λ⁺_j (U_j·f + back_j - (least_j + back_j) b_j),
λ⁻_j (most_j + (ahead_j - most_j) b_j - U_j·f) and μ_C (1 - events of C that happen) are not
negative; add them. The last term is one selection on a sum of influence rows. So bad multipliers
make a weak bound, and never a false one. Where a case contradicts itself, large multipliers make
its bound as small as one likes.

A case may also say how many of some labels S move: at least low_S and at most high_S. For any ν_S,
add Σ_S (ν⁻_S high_S - ν⁺_S low_S), and in the selection ν_S to what each label of S does.

Two cases, "row j is overturned" and "row j is not", hold all labels between them, and so do "at
least c of S move" and "fewer do", and so do the leaves of a tree that splits one case into two
again and again: the goal is at most the largest bound of a leaf. Multipliers and what to split by
come from linear programmes.
"""

import heapq
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from unswayed._core.rounding import SAFETY, gamma, wider
from unswayed._typing import FloatArray, IntArray
from unswayed.joint.fragile import Columns, Fragile, Goal

FREE, KEPT, OVER = -1, 0, 1  # what a case says of a row

_FEW_EFFECTS = 2 * 10**6  # that a solver can be given one by one

_LARGE_MOMENTS = 100.0  # larger weights would multiply the tolerance of moments beyond usefulness

_PENALTIES = (8.0, 2.0**10, 2.0**20)  # of a goal's size, for rows that are not as their case says

_WHOLE = 1e-6  # how far from 0 and 1 a solver's numbers are that stand for these


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """A case and its multipliers, so that others can compute its bound again."""

    fixed: NDArray[np.int8]  # FREE, KEPT or OVER, of each fragile row
    links: FloatArray  # λ
    cuts: FloatArray  # μ, of each clique
    mix: FloatArray  # θ, up to a factor
    bound: float = math.inf
    # How many labels of a column move, at least and at most, and ν, where a case says so
    moving: dict[int, tuple[float, float]] = field(default_factory=dict)
    prices: dict[int, float] = field(default_factory=dict)

    def split(self, at: int, count: int, columns: Columns) -> "tuple[Leaf, Leaf]":
        """Return the two parts of a case; of a row that is overturned or not, `count` is 0."""
        if not count:
            fixed = [self.fixed.copy() for _ in (OVER, KEPT)]
            fixed[0][at], fixed[1][at] = OVER, KEPT
            return replace(self, fixed=fixed[0]), replace(self, fixed=fixed[1])
        low, high = self.moving.get(at, (0.0, float(columns.count[at])))
        ends = ((float(count), high), (low, float(count - 1)))
        first, second = (replace(self, moving=self.moving | {at: each}) for each in ends)
        return first, second


@dataclass(frozen=True, eq=False)
class Tree:
    """Cases that hold all labels between them."""

    # Depth first: of a case that is split, the row and 0, or the column and how many of its labels
    # move; then the case in which that is so, then the other one; -1 for a leaf
    splits: list[tuple[int, int]]
    leaves: list[Leaf]
    cliques: Any  # (cliques, 2n): of event j row j is overturned, of n + j it is not

    @property
    def bound(self) -> float:
        """No labels reach more."""
        return max(leaf.bound for leaf in self.leaves)


def clique_matrix(cliques: list[list[int]], events: IntArray, n_rows: int) -> Any:
    """Return cliques, given by places among some events, as a matrix of all events."""
    which = [int(events[place]) for clique in cliques for place in clique]
    number = np.repeat(np.arange(len(cliques)), [len(each) for each in cliques])
    shape = (len(cliques), 2 * n_rows)
    return sparse.csr_array((np.ones(len(which)), (number, which)), shape=shape)


def bound(fragile: Fragile, goal: Goal, cliques: Any, leaf: Leaf) -> float:
    """Return the bound of a leaf, rounded up."""
    n, known = len(fragile), fragile.known
    links, mix = np.where(known, leaf.links, 0.0), leaf.mix
    least, most, ahead, back = (
        np.where(known, each, 0.0)
        for each in (fragile.least, fragile.most, fragile.ahead, fragile.back)
    )
    over, kept = np.maximum(links, 0.0), np.maximum(-links, 0.0)
    priced = cliques.T @ leaf.cuts
    gain = mix @ goal.slopes
    some = np.bincount(fragile.row, weights=kept * (ahead - most))[fragile.row]
    one = gain - over * (least + back) + some - priced[:n]
    none = -priced[n:]
    reached = _reach(fragile, links, leaf.prices)
    ends = [(leaf.moving.get(at), price) for at, price in leaf.prices.items()]
    prices = [-price * (each[0] if price > 0 else each[1]) for each, price in ends if each]
    terms = [
        *(mix * goal.offsets).tolist(),
        *_chosen(fragile.row, leaf.fixed, one, none),
        *(over * back + kept * most).tolist(),
        *leaf.cuts.tolist(),
        *prices,
        reached,
    ]
    parts = mix @ np.abs(goal.slopes) + over * (np.abs(least) + back)
    parts += kept * (np.abs(ahead) + 2 * np.abs(most)) + over * back
    size = float(parts.sum()) + 2 * float(priced.sum()) + math.fsum(map(abs, terms))
    lost = SAFETY * gamma(cliques.shape[0] + len(mix) + n + 16) * size
    total = (math.fsum(terms) + lost) / math.fsum(mix.tolist())
    return total + 8 * gamma(1) * abs(total) if math.isfinite(total) else math.inf


def _reach(fragile: Fragile, links: FloatArray, prices: dict[int, float]) -> float:
    """Return how far labels move a sum of rows at most, each for a price, rounded up."""
    error = np.array([np.abs(links) @ np.where(fragile.known, fragile.rounding, 0.0)])
    combined = links @ fragile.influence
    if not prices:
        return float(fragile.reach(combined[None], error)[0])
    columns = fragile.columns
    effects = combined[columns.entry] * columns.offset
    at = np.fromiter(prices, dtype=np.intp)
    effects[at] += np.fromiter(prices.values(), dtype=np.float64)
    order = np.argsort(-effects, kind="stable")
    taken = np.diff(
        np.minimum(np.cumsum(columns.count[order]), fragile.budget.most_labels), prepend=0
    )
    terms = np.maximum(effects[order], 0.0) * taken
    # Prices are rounded once more, together with what they are added to.
    size = float(terms.sum()) + fragile.budget.most_labels * max(map(abs, prices.values()))
    return float(wider(np.array([math.fsum(terms.tolist())]), error + 8 * gamma(1) * size)[0])


def _chosen(
    row: IntArray, fixed: NDArray[np.int8], one: FloatArray, none: FloatArray
) -> Iterator[float]:
    """Yield what rows add at most; of the two ways in which a row is overturned, one happens."""
    yield from np.where(fixed == OVER, one, none).tolist()
    more = np.zeros(int(row.max(initial=-1)) + 1)
    free = fixed == FREE
    np.maximum.at(more, row[free], (one - none)[free])
    more[row[fixed == OVER]] = 0.0
    yield from more.tolist()


# --- linear programmes ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Solution:
    """What a solver found."""

    rows: FloatArray  # b: how much of each row is overturned
    amount: FloatArray  # How much of each column moves
    labels: FloatArray  # By how many labels


@dataclass(frozen=True, eq=False)
class Programme:
    """The linear relaxation of a goal.

    Variables are b, whether each row is overturned, f, how much of each column moves, moments, and
    the goal's value if it is the least of several functions.
    """

    fragile: Fragile
    goal: Goal
    cliques: Any
    compact: bool = True  # Write effects by moments where that takes fewer numbers

    @cached_property
    def _scale(self) -> FloatArray:
        """Size of each row's constraints."""
        effects = np.abs(self.fragile.effects).max(axis=1, initial=0.0)
        found = np.maximum(np.abs(np.where(self.fragile.known, self.fragile.margin, 0.0)), effects)
        return np.where(found > 0, found, 1.0)

    @cached_property
    def _moments(self) -> tuple[FloatArray, Any] | None:
        """Weights of the rows in moments, divided by their size, and moments of the columns."""
        fragile, columns = self.fragile, self.fragile.columns
        effects = len(fragile) * len(columns)
        if fragile.design is None or (effects <= _FEW_EFFECTS and not self.compact):
            return None
        rows = sparse.csr_array(fragile.design[columns.entry])
        rows = sparse.csr_array(rows.multiply(columns.offset[:, None]))
        width = rows.shape[1]
        if len(fragile) * width + rows.nnz > effects // 2:
            return None
        size = np.abs(rows).max(axis=0).toarray().ravel() if rows.nnz else np.zeros(width)
        size = np.where(size > 0, size, 1.0)
        weights = fragile.weights * size / self._scale[:, None]
        if np.abs(weights).sum(axis=1).max(initial=0.0) > _LARGE_MOMENTS:
            return None
        return weights, sparse.csr_array(rows.multiply(1.0 / size).T)

    @cached_property
    def _places(self) -> tuple[slice, slice, int]:
        """Where f, moments and the goal's value are among the variables."""
        n, c = len(self.fragile), len(self.fragile.columns)
        width = 0 if self._moments is None else self._moments[0].shape[1]
        return slice(n, n + c), slice(n + c, n + c + width), n + c + width

    @property
    def _width(self) -> int:
        return self._places[2] + (not self.goal.single)

    @cached_property
    def _ends(self) -> tuple[FloatArray, FloatArray]:
        """Ends of the ranges of the variables."""
        moved, moments, _ = self._places
        low, high = np.zeros(self._width), np.full(self._width, np.inf)
        low[moments.start :] = -np.inf
        high[: moved.start] = 1.0
        high[moved] = np.minimum(self.fragile.columns.count, self.fragile.budget.most_labels)
        return low, high

    @cached_property
    def _links(self) -> "_Rows":
        """What ties rows to labels: wanted ones need some to be overturned, feared ones to stay."""
        fragile, (moved, moments, _) = self.fragile, self._places
        wanted = np.flatnonzero(self.goal.wanted & fragile.known)
        feared = np.flatnonzero(self.goal.feared & fragile.firm)
        if self._moments is None:
            movement = _placed(fragile.effects / self._scale[:, None], moved.start, self._width)
        else:
            movement = _placed(self._moments[0], moments.start, self._width)
        at = np.append(wanted, feared)
        needed = np.append((fragile.least + fragile.back)[wanted],
                           (fragile.most - fragile.ahead)[feared]) / self._scale[at]  # fmt: skip
        sign = np.repeat([-1.0, 1.0], [len(wanted), len(feared)])
        own = sparse.csr_array((np.ones(len(wanted)), (np.arange(len(wanted)), wanted)),
                               shape=(len(wanted), len(fragile)))  # fmt: skip
        of_row = sparse.csr_array((np.ones(len(fragile)), (np.arange(len(fragile)), fragile.row)))
        tied = sparse.vstack((own, of_row[feared] @ of_row.T), format="csr")
        tie = _placed(tied.multiply(needed[:, None]), 0, self._width)
        matrix = sparse.csr_array(movement[at].multiply(sign[:, None])) + tie
        return matrix, np.append(fragile.back[wanted], fragile.most[feared]) / self._scale[at]

    @cached_property
    def _cuts(self) -> "_Rows":
        """Of each clique, at most one event."""
        n = len(self.fragile)
        over, kept = self.cliques[:, :n], self.cliques[:, n:]
        return _placed(over - kept, 0, self._width), 1.0 - kept.sum(axis=1)

    @cached_property
    def _functions(self) -> "_Rows":
        """Of several functions, each is at least the goal's value."""
        if self.goal.single:
            return sparse.csr_array((0, self._width)), np.zeros(0)
        value = _placed(np.ones((len(self.goal.offsets), 1)), self._places[2], self._width)
        return value - _placed(self.goal.slopes, 0, self._width), self.goal.offsets

    @cached_property
    def _budget(self) -> "_Rows":
        """So many labels at most, and of each one change."""
        moved, columns = self._places[0], self.fragile.columns
        most = float(min(self.fragile.budget.most_labels, columns.count.sum()))
        total = _placed(np.ones((1, len(columns))), moved.start, self._width)
        sharing = self.fragile.sharing
        if sharing is None:
            return total, np.array([most])
        first, labels = np.unique(sharing, return_index=True, return_inverse=True)[1:]
        places, shape = (labels, np.arange(len(labels))), (len(first), len(labels))
        each = sparse.csr_array((np.ones(len(labels)), places), shape=shape)
        return _stacked(
            [
                (total, np.array([most])),
                (_placed(each, moved.start, self._width), columns.count[first]),
            ]
        )

    @cached_property
    def _equations(self) -> "_Rows":
        """Of moments."""
        moved, moments, _ = self._places
        if self._moments is None:
            return sparse.csr_array((0, self._width)), np.zeros(0)
        width = moments.stop - moments.start
        matrix = sparse.hstack((self._moments[1], -sparse.eye_array(width)))
        return _placed(matrix, moved.start, self._width), np.zeros(width)

    @cached_property
    def _limits(self) -> "_Rows":
        return _stacked([self._links, self._cuts, self._functions, self._budget])

    @cached_property
    def _cost(self) -> FloatArray:
        cost = np.zeros(self._width)
        if self.goal.single:
            cost[: len(self.fragile)] = -self.goal.slopes[0]
        else:
            cost[-1] = -1.0
        return cost

    def trivial(self) -> Leaf:
        """Return the case of all labels, with multipliers that say nothing."""
        n, goal = len(self.fragile), self.goal
        zeros = np.zeros(n), np.zeros(self.cliques.shape[0])
        best = np.argmin(goal.offsets + np.maximum(goal.slopes, 0.0).sum(axis=1))
        mixes = np.ones(len(goal.offsets)), np.eye(1, len(goal.offsets), int(best))[0]
        free = np.full(n, FREE, dtype=np.int8)
        leaves = (self.bounded(Leaf(free, *zeros, mix)) for mix in mixes)
        return min(leaves, key=lambda leaf: leaf.bound)

    def bounded(self, leaf: Leaf) -> Leaf:
        """Return a leaf with its bound."""
        return replace(leaf, bound=bound(self.fragile, self.goal, self.cliques, leaf))

    def relaxed(
        self, parent: Leaf, seconds: float, penalty: float = _PENALTIES[0]
    ) -> tuple[Leaf, Solution | None]:
        """Return a case with better multipliers, and what the linear programme comes to.

        Rows that are not as the case says are possible there, at a price: multipliers of a case
        that contradicts itself would be without limit.
        """
        cost, n = self._cost.copy(), len(self.fragile)
        price = penalty * (self.goal.size or 1.0)
        cost[:n] -= price * ((parent.fixed == OVER) * 1.0 - (parent.fixed == KEPT))
        (matrix, right), (equal, zero) = self._limits, self._equations
        ends, first = np.stack(self._ends, axis=1), self._places[0].start
        for at, (low, high) in parent.moving.items():
            ends[first + at] = low, min(high, ends[first + at, 1])
        found = linprog(
            cost,
            A_ub=matrix,
            b_ub=right,
            A_eq=equal if len(zero) else None,
            b_eq=zero if len(zero) else None,
            bounds=ends,
            method="highs",
            options={"time_limit": max(seconds, 1.0)},
        )
        if found.status != 0 or found.ineqlin is None:
            return parent, None
        dual = np.maximum(-np.asarray(found.ineqlin.marginals), 0.0)
        sizes = [len(each[1]) for each in (self._links, self._cuts, self._functions)]
        links, cuts, mix, _ = np.split(dual, np.cumsum(sizes))
        signed = np.zeros(n)
        wanted = np.flatnonzero(self.goal.wanted & self.fragile.known)
        feared = np.flatnonzero(self.goal.feared & self.fragile.firm)
        signed[wanted] += links[: len(wanted)] / self._scale[wanted]
        signed[feared] -= links[len(wanted) :] / self._scale[feared]
        mix = mix if mix.any() else np.ones(len(self.goal.offsets))
        free = found.lower.marginals + found.upper.marginals
        prices = {at: float(free[first + at]) for at in parent.moving if free[first + at]}
        leaf = replace(parent, links=signed, cuts=cuts, mix=mix, prices=prices)
        leaf = self.bounded(leaf)
        amount = np.clip(found.x[self._places[0]], 0.0, self.fragile.columns.count)
        solution = Solution(found.x[:n], amount, np.ceil(amount - _WHOLE))
        return (leaf if leaf.bound < parent.bound else parent), solution

    def whole(self, seconds: float, above: float) -> Solution | None:
        """Return whole labels that a solver finds, if it finds any that reach more than a number.

        It is tried and proven by others. Where labels may move by a part of their offset, one more
        variable per column says how many labels move.
        """
        moved, columns = self._places[0], self.fragile.columns
        parts, width = not self.fragile.whole, self._width
        more = width + len(columns) * parts
        low, high = (np.append(each, np.zeros(more - width)) for each in self._ends)
        integral = np.zeros(more)
        integral[: moved.start] = 1
        at_least = _placed(-self._cost[None], 0, width), np.array([-above + self.goal.offsets[0]])
        if not self.goal.single:
            at_least = at_least[0], np.array([-above])
        rows = [self._links, self._cuts, self._functions, (-at_least[0], at_least[1])]
        rows = [(_placed(matrix, 0, more), right) for matrix, right in rows]
        total, most = self._budget
        if parts:  # the budget is of labels, and not of what they move by
            one = sparse.eye_array(len(columns))
            moves = _placed(one, moved.start, more) - _placed(one, width, more)
            rows += [(moves, np.zeros(len(columns)))]
            rows += [(_placed(np.ones((1, len(columns))), width, more), most)]
            high[width:], integral[width:] = high[moved], 1
        else:
            rows.append((total, most))
            integral[moved] = 1
        limits = _stacked(rows)
        equal, zero = self._equations
        found = milp(
            np.append(self._cost, np.zeros(more - width)),
            constraints=[
                LinearConstraint(limits[0], -np.inf, limits[1]),
                LinearConstraint(_placed(equal, 0, more), zero, zero),
            ],
            bounds=Bounds(low, high),
            integrality=integral,
            options={"time_limit": max(seconds, 0.1)},
        )
        if found.x is None:
            return None
        amount = np.clip(found.x[moved], 0.0, columns.count)
        labels = np.rint(found.x[width:]) if parts else np.rint(amount)
        return Solution(found.x[: moved.start], amount if parts else labels, labels)


_Rows = tuple[Any, FloatArray]  # matrix and right side: matrix·x <= right, or equal to it


def _placed(matrix: Any, start: int, width: int) -> Any:
    """Return a matrix with columns of zeros before and behind it."""
    made = sparse.csr_array(matrix)
    entries = (made.data, made.indices + start, made.indptr)
    return sparse.csr_array(entries, shape=(made.shape[0], width))


def _stacked(rows: list[_Rows]) -> _Rows:
    matrices, rights = zip(*rows, strict=True)
    return sparse.vstack(matrices, format="csr"), np.concatenate(rights)


# --- branching ------------------------------------------------------------------------------


@dataclass(eq=False)
class _Node:
    """A case, and the two that it is split into."""

    leaf: Leaf
    solution: Solution | None
    tried: int = 1  # penalties
    split: tuple[int, int] = (-1, 0)
    parts: list["_Node"] = field(default_factory=list)

    @property
    def contradicts(self) -> bool:
        """Whether the programme finds no labels that do what the case says."""
        fixed = self.leaf.fixed
        here = fixed != FREE
        found = None if self.solution is None else np.abs(self.solution.rows - fixed)[here]
        return found is not None and bool(found.max(initial=0.0) > _WHOLE)

    def next_split(self, programme: Programme) -> tuple[int, int]:
        """Return the row, or the column and count, that the programme is least sure of.

        A row counts by what it adds to the goal. (-1, 0) if all of them are whole.
        """
        free = self.leaf.fixed == FREE
        mix, slopes = self.leaf.mix / self.leaf.mix.sum(), programme.goal.slopes
        weight = (np.abs(mix @ slopes) + 0.01 * np.abs(slopes).max(axis=0)) * free
        largest = int(weight.argmax()) if weight.any() else -1
        if self.solution is None:
            return largest, 0
        b = self.solution.rows
        unsure = np.minimum(b, 1.0 - b) * weight
        if unsure.max(initial=0.0) > _WHOLE * weight.max(initial=0.0):
            return int(unsure.argmax()), 0
        amount = self.solution.amount
        unsure = np.abs(amount - np.rint(amount))
        if not programme.fragile.whole_columns or unsure.max(initial=0.0) <= _WHOLE:
            return -1, 0
        at = int(unsure.argmax())
        return at, math.ceil(amount[at])


def grow(
    programme: Programme,
    root: tuple[Leaf, Solution | None],
    closed: Callable[[float], bool],
    left: Callable[[], float],
    offer: Callable[[Solution], None],
) -> Tree:
    """Split cases, those with the largest bound first, until all are closed or the time is up.

    `closed` says of a bound whether it is small enough, `left` how many seconds are left; `offer`
    is given solutions in which every row is overturned or not.
    """
    top = _Node(*root)
    heap, count = [(-top.leaf.bound, 0, top)], 0
    while heap and left() > 0 and not closed(-heap[0][0]):
        node = heap[0][2]
        if node.contradicts and node.tried < len(_PENALTIES):
            heapq.heappop(heap)
            node.leaf, node.solution = programme.relaxed(node.leaf, left(), _PENALTIES[node.tried])
            node.tried += 1
            count += 1
            heapq.heappush(heap, (-node.leaf.bound, count, node))
            continue
        split = node.next_split(programme)
        if node.solution is not None and (split[0] < 0 or split[1]):
            offer(node.solution)
        if split[0] < 0:
            break  # these labels reach the bound, as far as the solver sees
        heapq.heappop(heap)
        node.split = split
        for part in node.leaf.split(*split, programme.fragile.columns):
            leaf, solution = programme.bounded(part), None
            if not closed(leaf.bound):
                leaf, solution = programme.relaxed(leaf, left())
            count += 1
            node.parts.append(_Node(leaf, solution))
            heapq.heappush(heap, (-leaf.bound, count, node.parts[-1]))
    splits, leaves, stack = [], [], [top]
    while stack:
        node = stack.pop()
        splits.append(node.split)
        leaves += [] if node.parts else [node.leaf]
        stack += node.parts[::-1]
    return Tree(splits, leaves, programme.cliques)
