"""Budgets: how much may be wrong at once, and prices that bound what it does to a score.

A budget lets some *units* be wrong: labels, or clusters of them. Unit u weighs w_u: 1, its cost, or
how far its label moves. All that are wrong weigh at most L together, and of those in part p at most
k_p are wrong.

**Prices.** For all q >= 0 and t_p >= 0, no admissible labels move a score by more than

    q·L + Σ_p k_p t_p + Σ_u max(v_u - q w_u - t_p(u), 0),

where v_u is what unit u does at most: of each unit that is wrong, in whole or by a share, v_u is at
most its price q w_u + t_p(u) plus what it does beyond that, and prices add up to q·L + Σ k_p t_p at
most. The best prices lose nothing, but for costs: there the last label may be wrong in part.
Of a number of labels q is the k-th largest of the numbers v, `proofs/Selection.v` has the theorem,
checked by a machine, and there is a bound from below, too: let a of the numbers be above (1 + ε)q
and b of them (1 - ε)q at least. If a <= k, the k largest sum up to
min(k, b)·q + Σ max(v - q, 0) - 2(b - a)εq at least: take those above, which sum up to
a·q + Σ max(v - q, 0) - (b - a)εq at least, and others that are (1 - ε)q at least. If not, to k·q.

**Cases.** Of costs a file may therefore split the question: at least c labels of a set are wrong,
or fewer are. If l to h of the labels of a set are wrong, none of which does more than v or costs
less than w, they add at most h·max(v - q w, 0) + l·min(v - q w, 0) to the sum above. The largest
bound of all cases holds; a case in which too much is wrong does not occur.

**Samples.** Of N labels c were drawn at random, w of which were wrong. If more than K of all are, a
sample has so few wrong ones with a probability of at most that if K + 1 are, and if this is no more
than 1 - confidence, K holds with that confidence. All that is proven holds together with it.
"""

import math
from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np

from unswayed.verify.document import CertificateError, row_numbers, sized, vector
from unswayed.verify.doubles import (
    TINY,
    UNIT,
    FloatArray,
    IntArray,
    gamma_of_parts,
    sum_of_parts,
)
from unswayed.verify.words import counted, told

_NEAR = 2.0**-40  # ε of selections: what rounding moves past a threshold is on neither side
_MOST_CHECKED = 2**17  # labels of a sample: its chances are numbers of some million digits
# Some training rows, at least and at most how many of their labels are wrong; and the price q
Case = tuple[list[tuple[list[int], int, int]], float]


@dataclass(frozen=True, slots=True)
class Moves:
    """Training rows whose labels move to the upper, or to the lower, end of their interval.

    With `shares`, they go that share of the way: those that move up first.
    """

    up: "array[int]"
    down: "array[int]"
    shares: "array[float] | None" = None

    def steps(self, lower: Any, upper: Any) -> Iterator[tuple[int, Any, float]]:
        """Yield rows, the ends that their labels move to, and which share of the way they go."""
        for rows, end, shares in self.parts():
            for place, at in enumerate(rows):
                yield at, (upper if end else lower)[at], 1.0 if shares is None else shares[place]

    def parts(self) -> Iterator[tuple["array[int]", int, "array[float] | None"]]:
        """Yield the rows that move up, then those that move down."""
        first = len(self.up)
        for rows, end, which in ((self.up, 1, slice(first)), (self.down, 0, slice(first, None))):
            yield rows, end, None if self.shares is None else self.shares[which]

    def allowed(self, lower: Any, upper: Any) -> bool:
        """Return whether no label moves twice, nor one that cannot move so."""
        rows = [*self.up, *self.down]
        can = all(end and 0 < share <= 1 for _, end, share in self.steps(lower, upper))
        return can and len(set(rows)) == len(rows)


@dataclass(frozen=True, slots=True)
class Sample:
    """Labels that were drawn at random and checked."""

    checked: int
    wrong: int
    confidence: Fraction
    population: int
    rows: "array[int] | None"  # training rows that were checked, and corrected where wrong

    @classmethod
    def of(cls, given: dict[str, Any], labels: int, movable: "list[bool]", n_here: int) -> "Sample":
        """Read a sample; raise unless it shows that no more labels than that are wrong."""
        checked, wrong, population = (given[name] for name in ("checked", "wrong", "population"))
        level, known = _written(float(given["confidence"])), None
        if "rows" in given:
            known = row_numbers(given["rows"], checked, len(movable), "the rows of a sample")
        found, corrected = cls(checked, wrong, level, population, known), known or ()
        _need(
            0 < level < 1 and wrong <= checked <= population and checked <= _MOST_CHECKED,
            "a sample must have wrong <= checked <= population, a confidence between 0 and 1, and "
            f"at most {_MOST_CHECKED:,} checked labels",
        )
        can = any(movable[row] for row in corrected)
        _need(not can, "a label that a sample checked and corrected can still move")
        few = population < n_here + len(corrected)
        _need(not few, "a sample was drawn from fewer labels than can be wrong")
        total = labels + (0 if known is None else wrong)  # before any were corrected
        _need(
            labels >= n_here or found._exceeded(total + 1),
            f"its sample does not show that at most {labels:,} labels are wrong: that is not so "
            f"with a confidence of {_percent(level)}",
        )
        return found

    def _exceeded(self, total: int) -> bool:
        """Return whether it is improbable that so many labels are wrong: that many, or more."""
        checked, wrong, right = self.checked, self.wrong, self.population - total
        if right < checked - wrong:
            return True  # more right ones were found
        first = max(0, checked - right)
        ways = math.comb(total, first) * math.comb(right, checked - first)
        likely = ways
        for found in range(first, min(wrong, total, checked)):
            ways = ways * (total - found) * (checked - found)
            ways //= (found + 1) * (right - checked + found + 1)
            likely += ways
        return likely <= (1 - self.confidence) * math.comb(self.population, checked)

    def in_words(self) -> str:
        """Return what was found in the sample."""
        were = "was" if self.wrong == 1 else "were"
        text = f"{self.wrong:,} of {self.checked:,} labels drawn at random from "
        text += f"{self.population:,} {were} wrong"
        if self.rows is not None:
            text += (
                f"; {counted(len(self.rows), 'training row')} of these cannot move any more, which "
                "supposes that wrong ones were corrected"
            )
        return f"{text}; confidence {_percent(self.confidence)}"


def _need(holds: Any, otherwise: str) -> None:
    if not holds:
        raise CertificateError(otherwise)


def _percent(level: Fraction) -> str:
    return f"{float(100 * level):.12g} %"


@dataclass(frozen=True, slots=True)
class Budget:
    """How much may be wrong at once."""

    said: float  # the limit L, as the file has it
    whole: Fraction | int  # an amount that is enough for everything
    kind: str = "labels"  # or "clusters", "total" or "cost": what amounts of it count
    costs: FloatArray = field(default_factory=lambda: np.zeros(0))  # as written: 0.1 is 1/10
    below: int = 1  # what costs are multiples of: one over this
    cluster: IntArray | None = None  # of each label
    part: IntArray | None = None  # of each label, from 1; 0 for none
    most: tuple[int, ...] = ()  # labels of each part
    samples: tuple[Sample, ...] = ()

    @classmethod
    def of(cls, given: Any, lower: Sequence[float], upper: Sequence[float]) -> "Budget":
        """Read a budget; raise unless it makes sense for these labels."""
        if isinstance(given, int):
            return cls(given, len(lower))
        movable = [low < high for low, high in zip(lower, upper, strict=True)]
        reads = {"sample": _of_sample, "parts": _of_parts, "clusters": _of_clusters,
                 "total": _of_total, "cost": _of_cost}  # fmt: skip
        return cls(**reads[given["kind"]](given, movable, (lower, upper)))

    @property
    def is_count(self) -> bool:
        """Whether any labels may be wrong that are few enough."""
        return self.kind == "labels" and self.part is None

    @property
    def confidence(self) -> Fraction | None:
        """How sure the budget is, where samples gave it: by the sum of their risks."""
        risks = (1 - each.confidence for each in self.samples)
        return 1 - sum(risks, Fraction(0)) if self.samples else None

    # --- amounts ------------------------------------------------------------------------------

    def exactly(self, amount: float) -> Fraction | int:
        """Return an amount that a file states; costs are taken as they are written."""
        if self.kind == "cost":
            return _written(float(amount))
        return amount if isinstance(amount, int) else Fraction(amount)

    def amounts(self, least: float, most: float) -> list[Fraction | int]:
        """Return the limit, the most that is less than a claim says is needed, and enough.

        Of a total, which has no next smaller one, the least amount itself must not be enough.
        """
        fewer = self.whole if least == math.inf else self.exactly(least)
        if least < math.inf and self.kind != "total":
            fewer = Fraction(math.ceil(fewer * self.below) - 1, self.below)
        enough = self.whole if most == math.inf else self.exactly(most)
        made = (self.exactly(self.said), fewer, enough)
        return [min(max(each, Fraction(0)), self.whole) for each in made]

    def rounded(self, amount: Fraction | int) -> float:
        """Return an amount as a double: up, but of costs the largest that is written as no more.

        Labels within a cost are then those within the double, and `reach` outweighs the rest.
        """
        found = up(amount)
        while self.kind == "cost" and _written(found) > amount:
            found = math.nextafter(found, 0.0)
        return found

    def size(
        self, moves: Moves, lower: Sequence[float], upper: Sequence[float]
    ) -> Fraction | float:
        """Return how much of the budget some changes take; infinite if a part has too many."""
        steps = list(moves.steps(lower, upper))
        rows = [row for row, *_ in steps]
        if self.kind == "total":
            return sum((abs(Fraction(end)) * Fraction(s) for _, end, s in steps), Fraction(0))
        if self.kind == "cost":
            return sum(map(_written, self.costs[rows].tolist()), Fraction(0))
        if self.cluster is not None:
            return Fraction(len(set(self.cluster[rows].tolist())))
        if self.part is not None:
            found = np.bincount(self.part[rows], minlength=len(self.most) + 1)[1:]
            if self.part[rows].min(initial=1) == 0 or (found > self.most).any():
                return math.inf
        return Fraction(len(rows))

    def some(self, amount: Fraction | float) -> str:
        """Return an amount with its unit."""
        if amount == math.inf:
            return "all labels, or too many of a part"
        if self.kind in ("labels", "clusters"):
            return counted(int(amount), self.kind[:-1])
        return f"a {'total change' if self.kind == 'total' else 'cost'} of {float(amount)!r}"

    # --- prices, in doubles -------------------------------------------------------------------

    def labels(self, amount: FloatArray) -> FloatArray:
        """Return bounds on how many labels amounts let be wrong."""
        return amount if self.kind == "labels" else np.full(len(amount), 2.0**53)

    def reach(
        self, moved: FloatArray, here: Any, ends: FloatArray, amount: FloatArray, prices: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return bounds on how far amounts move scores up, given prices: q first, then of parts.

        `moved` is what some labels do at their lower and at their upper ends.
        """
        effects, q, own = np.maximum(*moved), prices[:, :1], prices[:, 1:]
        size, lower = effects.shape[1], np.zeros(len(q))
        if self.is_count:
            return largest(effects, np.minimum(amount, size), q[:, 0])
        lost = gamma_of_parts(size) + 16 * UNIT
        if self.cluster is not None:
            excess, lost = _totals(effects, self.cluster[here]) - q, lost + size * UNIT
        elif self.kind == "total":
            excess = np.maximum(*(moved - q * np.abs(ends)[:, None]))
        elif self.kind == "cost":
            costs = self.costs[here]
            fits = costs <= amount[:, None]  # others are never wrong
            excess = np.where(fits, effects - q * costs, 0.0)
        else:
            assert self.part is not None  # noqa: S101  (counts have none)
            never = np.full((len(q), 1), math.inf)  # labels in no part are never wrong
            excess = effects - (q + np.hstack((never, own)))[:, self.part[here]]
        total = amount * q[:, 0] + own @ np.array(self.most, dtype=float)
        total = (total + sum_of_parts(np.maximum(excess, 0.0))) * (1 + lost)
        total += (size + len(self.most)) * TINY
        return lower, np.where((prices >= 0).all(axis=1), total, math.inf)

    def in_cases(self, values: Any, limit: Any, cases: list[Case], *, exactly: bool = False) -> Any:
        """Return how far costs move one score up at most, case by case.

        In doubles by the price of each case, exactly by filling up what is left of the limit.
        """
        best: Any = 0
        for sets, q in cases:
            free = np.ones(len(values), dtype=bool)
            items, left, base = list[Item](), limit, 0
            for rows, low, high in sets:
                free[rows] = False
                value, cost = max(values[row] for row in rows), float(self.costs[rows].min())
                left, base = left - low * _written(cost), base + low * value
                items += [(value, cost, 1)] * (high - low)
            if left < 0 or any(low > high for _, low, high in sets):
                continue  # no labels are wrong so
            items += [(values[row], float(self.costs[row]), 1) for row in np.flatnonzero(free)]
            left, most = Fraction(left), self.rounded(left)
            total: Any = base
            if exactly:
                exact = ((value, _written(cost), 1) for value, cost, _ in items)
                total += self.filled(sorted(exact, key=_density, reverse=True), left)
            else:
                beyond = math.fsum(max(v - q * c, 0.0) for v, c, _ in items if c <= most)
                total = (base + q * up(left) + beyond) * (1 + _NEAR) + len(values) * TINY
            best = max(best, total) if q >= 0 and total < math.inf else math.inf
        return best

    # --- in fractions -------------------------------------------------------------------------

    def items(self, values: Sequence[int], lengths: Sequence[int]) -> "list[Item]":
        """Return what units do, largest value per weight first.

        `lengths` are how far labels move, in the unit in which a limit is then given.
        """
        weights: Sequence[Any] = [1] * len(values)
        parts = weights if self.part is None else self.part.tolist()
        if self.cluster is not None:
            totals = [0] * (1 + int(self.cluster.max()))
            for number, value in zip(self.cluster.tolist(), values, strict=True):
                totals[number] += value
            values, weights, parts = totals, [1] * len(totals), [1] * len(totals)
        elif self.kind in ("total", "cost"):
            costs = map(_written, self.costs.tolist())
            weights = lengths if self.kind == "total" else list(costs)
        triples = zip(values, weights, parts, strict=True)
        return sorted((each for each in triples if each[0] and each[2]), key=_density, reverse=True)

    def filled(self, items: "list[Item]", limit: Fraction | int) -> Fraction | int:
        """Return the most that an amount does if the last unit may be wrong in part.

        Units of the largest value per weight first are the best choice; all but costs allow it.
        """
        left, total = limit if limit % 1 else int(limit), Fraction(0) if limit % 1 else 0
        room = [0, *(self.most or [math.inf])]
        for value, weight, part in items:
            if not left and weight:
                break
            if not room[part] or (self.kind == "cost" and weight > limit):
                continue
            share = 1 if weight <= left else Fraction(left) / weight
            room[part] -= 1
            left -= share * weight
            total += share * value
        return total

    # --- in words -----------------------------------------------------------------------------

    def in_words(self, n_movable: int, n_rows: int) -> Iterator[str]:
        """Yield lines that say what may be wrong at once."""
        of = f"of the {n_movable:,} that can move ({counted(n_rows, 'label')} in all)"
        if self.cluster is not None:
            sizes = np.bincount(self.cluster)
            many = f"{self.said:,} cluster{'' if self.said == 1 else 's'}"
            yield f"wrong labels: all labels of at most {many} at once, {of}"
            yield from told("  labels of a cluster", sizes[sizes > 0].tolist(), "cluster")
        elif self.kind == "total":
            yield f"wrong labels: changes that add up to at most {self.said!r}, signs apart, {of}"
        elif self.kind == "cost":
            yield f"wrong labels: those that cost at most {self.said!r} together, {of}"
            yield from told("  costs", self.costs.tolist(), "label")
        else:
            yield f"wrong labels: at most {self.said:,} at once, {of}"
        if self.part is not None:
            sizes = np.bincount(self.part, minlength=len(self.most) + 1)[1:]
            for number, (most, size) in enumerate(zip(self.most, sizes.tolist(), strict=True)):
                yield f"  part {number}: at most {most:,} of {counted(size, 'label')}"
        for each in self.samples:
            yield f"  from a sample: {each.in_words()}"
        if self.confidence is not None:
            yield (
                f"  all claims hold together with a confidence of {_percent(self.confidence)}, if "
                "labels were drawn at random and checked rightly, which cannot be seen here"
            )


def largest(effects: FloatArray, count: FloatArray, t: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return bounds on the sums of the largest effects of each row, given thresholds."""
    size = effects.shape[1]
    lost, least = gamma_of_parts(size) + 12 * UNIT, size * TINY
    excess = sum_of_parts(np.maximum(effects - t[:, None], 0.0))
    n_above = np.count_nonzero(effects > (t * (1 + _NEAR))[:, None], axis=1)
    n_most = np.count_nonzero(effects >= (t * (1 - _NEAR))[:, None], axis=1)
    total = (np.minimum(count, n_most) * t + excess) * (1 - lost)
    total -= 3 * (n_most - n_above) * (_NEAR * t)  # 3 instead of 2, for what rounds here
    total = np.where(n_above <= count, total, count * t * (1 - lost))
    at_most = np.where(count > 0, (count * t + excess) * (1 + lost) + least, 0.0)
    return np.where(t >= 0, total - least, 0.0), np.where(t >= 0, at_most, np.inf)


Item = tuple[Any, Any, int]  # value, weight, and part


def _density(item: Item) -> Any:
    value, weight, _ = item
    return value if weight == 1 else Fraction(value) / weight if weight else math.inf


def _written(number: float) -> Fraction:
    """Return the shortest decimal that stands for a double."""
    return Fraction(repr(number))


def up(number: Fraction | float) -> float:
    """Return a double that is no less than a number."""
    found = float(number)
    return found if found >= number else math.nextafter(found, math.inf)


def _totals(effects: FloatArray, cluster: IntArray) -> FloatArray:
    """Return the sums of effects by cluster."""
    order = np.argsort(cluster, kind="stable")
    _, start = np.unique(cluster[order], return_index=True)
    return np.add.reduceat(effects[:, order], start, axis=1) if len(order) else effects


# --- budgets as files have them -------------------------------------------------------------

Read = dict[str, Any]


def read_moves(given: dict[str, Any], n_rows: int, where: str) -> Moves:
    """Return labels that a file names."""
    up, down = (row_numbers(given[way], n_rows, n_rows, where) for way in ("up", "down"))
    shares = (
        vector(given["shares"], len(up) + len(down), f"shares of {where}")
        if "shares" in given
        else None
    )
    return Moves(up, down, shares)


def _of_sample(given: Read, movable: list[bool], ends: Any) -> Read:
    found = Sample.of(given["sample"], given["labels"], movable, sum(movable))
    return {"said": given["labels"], "whole": len(movable), "samples": (found,)}


def _of_parts(given: Read, movable: list[bool], ends: Any) -> Read:
    part, samples, n_rows = np.zeros(len(movable), dtype=np.int64), [], len(movable)
    most = [each["labels"] for each in given["parts"]]
    for number, each in enumerate(given["parts"], 1):
        rows = row_numbers(each["rows"], n_rows, n_rows, f"part {number - 1} of the budget")
        _need(not part[rows].any(), "parts of its budget share training rows")
        part[rows] = number
        if "sample" in each:
            here = sum(movable[row] for row in rows)
            samples.append(Sample.of(each["sample"], each["labels"], movable, here))
    _need(part[movable].all(), "a label that can move is in no part of its budget")
    risk = sum((1 - each.confidence for each in samples), Fraction(0))
    _need(risk < 1, "the confidences of its samples leave none for all of them together")
    return {
        "said": given["labels"], "whole": sum(most), "part": part, "most": tuple(most),
        "samples": tuple(samples),
    }  # fmt: skip


def _of_clusters(given: Read, movable: list[bool], ends: Any) -> Read:
    found = np.frombuffer(vector(given["cluster"], len(movable), "budget.cluster"))
    _need(np.isin(found, np.arange(len(movable))).all(), "clusters must be numbered from 0")
    cluster = found.astype(np.int64)
    whole = len(np.unique(cluster))
    return {"kind": "clusters", "said": given["clusters"], "whole": whole, "cluster": cluster}


def _of_total(given: Read, movable: list[bool], ends: Any) -> Read:
    far = (max(-Fraction(low), Fraction(high)) for low, high in zip(*ends, strict=True))
    return {"kind": "total", "said": given["total"], "whole": sum(far, Fraction(0))}


def _of_cost(given: Read, movable: list[bool], ends: Any) -> Read:
    costs = np.frombuffer(vector(given["costs"], len(movable), "budget.costs")) + 0.0
    _need(costs.min() >= 0, "costs must be 0 or more")
    below, whole = 1, Fraction(0)
    for cost, count in zip(
        *map(np.ndarray.tolist, np.unique(costs, return_counts=True)), strict=True
    ):
        below, whole = math.lcm(below, _written(cost).denominator), whole + count * _written(cost)
    return {
        "kind": "cost", "said": given["limit"], "whole": whole, "costs": costs, "below": below
    }  # fmt: skip


# --- cases of costs -------------------------------------------------------------------------


def read_cases(proof: dict[str, FloatArray], n_rows: int) -> dict[tuple[int, int], list[Case]]:
    """Return the cases of each tree of a proof, by subject and column.

    A row of `cost_splits` has these two, then a set of labels and how many of them: first the case
    in which at least so many are wrong, then the other one. A set of -1 is no split but a case, and
    the last number its price. `cost_sets` are the sets, and training rows that belong to them.
    """
    splits = sized(proof, ("cost_splits",), (len(proof.get("cost_splits", ())), 5))
    members = sized(proof, ("cost_sets",), (len(proof.get("cost_sets", ())), 2))
    rows, trees = defaultdict[float, list[int]](list), defaultdict[Any, list[Any]](list)
    for number, row in members.tolist():
        rows[number].append(int(row))
    every = list(chain.from_iterable(rows.values()))
    apart = len(set(every)) == len(every) and all(0 <= row < n_rows for row in every)
    _need(apart, "sets of labels must share no training row")
    for subject, column, *split in splits.tolist():
        trees[int(subject), int(column)].append(split)
    return {key: list(_leaves(tree, rows)) for key, tree in trees.items()}


def _leaves(tree: list[list[float]], rows: dict[float, list[int]]) -> Iterator[Case]:
    """Yield the cases of a tree; raise unless it leaves none out."""
    open_cases: list[dict[float, tuple[int, int]]] = [{}]
    for number, given, price in tree:
        count = int(given)
        fits = open_cases and count == given and (number == -1 or number in rows)
        _need(fits, "a tree of cases is malformed")
        case = open_cases.pop()
        if number == -1:
            yield [(rows[each], *ends) for each, ends in case.items()], price
        else:
            low, high = case.get(number, (0, len(rows[number])))
            open_cases.append({**case, number: (low, min(high, count - 1))})
            open_cases.append({**case, number: (max(low, count), high)})
    _need(not open_cases, "a tree of cases ends early")
