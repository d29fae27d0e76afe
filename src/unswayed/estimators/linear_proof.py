"""What a certificate file carries to prove claims about models that are linear in their labels.

The solution of every distinct row, the thresholds of its selections, one approximate inverse; and
where a claim is a close call, the solution in fractions. None of it has to be right for the file
to be honest: the checker finds out whether it proves the claims.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from unswayed._core.influence import distinct_rows
from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.estimators.prices import Kind, Prices, Trees
from unswayed.labels.classes import ClassChanges
from unswayed.models.learner import Specification

_FAR = 1  # standard deviations from 0: a column that is worth shifting
_MOST_EXACT = 2**27  # about how much work solutions in fractions may be
_COARSE = 1e-10  # doubt of a solution: more is too much for the ends of ranges
_CLOSE = 1e-9  # of its size: a margin that is missed by less is a matter for fractions
_MOST_UNKNOWNS = 2**11  # of an inverse that the checker reads
_BLOCK = 2**19  # influences at a time
_ROUNDING = 2.0**-48  # of a sum, about
_SMALL = 1e-9  # of an eigenvalue, beside the largest: suggests a direction that no row sees
_MOST_FACTOR = 1000  # of the whole numbers that are tried

Claim = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Asked:
    """What the claims of a file are about."""

    specification: Specification
    train: FloatArray | None
    labels: FloatArray
    lower: FloatArray
    upper: FloatArray
    budget: Any  # a number of labels, or the document of a budget of another kind
    rule: dict[str, Any]
    subjects: (
        FloatArray  # distinct rows of features, a number for the intercept last if there is one
    )
    claims: Sequence[Claim]  # one for each of them
    settled: BoolArray  # which of them took rational arithmetic
    classes: ClassChanges | None = None  # where labels are numbers of three or more classes

    @property
    def weights(self) -> FloatArray:
        """Sample weights."""
        return self.specification.weights(len(self.labels))


def linear_proof(asked: Asked) -> tuple[dict[str, FloatArray], dict[int, list[str]]]:
    """Return the arrays of a proof, and solutions in fractions by the number of their subject."""
    with np.errstate(all="ignore"):
        solver = _solver(asked)
        every = np.arange(len(asked.claims))
        thresholds, close, trees = (
            _thresholds(asked, solver, every) if asked.classes is None else _duels(asked, solver)
        )
        close |= solver.doubt() > _COARSE
        # Beyond that only what took rational arithmetic anyway: it would take hours.
        width, n_close = asked.subjects.shape[1], int(close.sum())
        if width**4 + n_close * len(asked.labels) * width > _MOST_EXACT:
            close[:] = False
        close |= asked.settled
    arrays = solver.arrays() | {"thresholds": thresholds} | trees
    # What overflowed proves nothing, and the checker reads finite numbers only.
    arrays = {name: np.nan_to_num(each, posinf=0, neginf=0) for name, each in arrays.items()}
    return arrays, dict(_in_fractions(asked, np.flatnonzero(close), solver))


def _in_fractions(asked: Asked, close: IntArray, solver: Any) -> Iterator[tuple[int, list[str]]]:
    """Yield solutions of close calls in fractions, where there is a library for them."""
    if not len(close) or isinstance(solver, _Given):
        return
    try:
        exact = asked.specification.exact(len(asked.labels))
    except ModuleNotFoundError:
        return
    for at, found in zip(close, exact.solutions(asked.subjects[close]), strict=True):
        below = math.lcm(*(each.denominator for each in found))
        numbers = [below, *(each.numerator * (below // each.denominator) for each in found)]
        yield int(at), [f"{number:x}" for number in numbers]


# --- solutions --------------------------------------------------------------------------------


class _Ridge:
    """Solutions of ridge: one number per feature, and one for the intercept."""

    def __init__(self, asked: Asked, rows: FloatArray, alpha: float, intercept: bool) -> None:
        weights, subjects = asked.weights, asked.subjects
        self._shift = _shift(rows, weights) if intercept else np.zeros(rows.shape[1])
        if intercept:
            rows = np.column_stack((rows - self._shift, np.ones(len(rows))))
            subjects = subjects - np.append(self._shift, 0.0) * subjects[:, -1:]
        self._scale = _reciprocal(np.sqrt(weights @ rows**2))
        self._rows, self._weights = rows * self._scale, weights
        matrix = (self._rows.T * weights) @ self._rows
        penalty = alpha * self._scale**2
        penalty[len(penalty) - int(intercept) :] = 0.0
        self._penalty = penalty
        matrix[np.diag_indices_from(matrix)] += penalty
        self._unseen = np.zeros((0, len(matrix)))
        if not alpha:
            self._unseen = unseen_directions(matrix, rows[weights > 0], self._scale, intercept)
            directions = self._unseen * self._scale
            matrix += directions.T @ directions
        self._inverse = _inverse(matrix) if len(matrix) <= _MOST_UNKNOWNS else None
        right = subjects * self._scale
        self._solution = _solved(matrix, self._inverse, right)
        self._width = len(matrix) - int(intercept)

    def influence(self, here: IntArray) -> FloatArray:
        """Return the influence of labels on some of the scores."""
        return np.asarray(self._solution[here] @ self._rows.T * self._weights)

    def doubt(self) -> float:
        """Return about how far the checker's bounds are from the truth, in units of a score."""
        size = math.inf if self._inverse is None else np.abs(self._inverse).sum(axis=1).max()
        by_penalty = 1.0 / self._penalty.min(initial=math.inf, where=self._penalty > 0)
        return float(_ROUNDING * len(self._scale) * np.sqrt(min(size, by_penalty)))

    def arrays(self) -> dict[str, FloatArray]:
        """Return what the checker reads."""
        made = {"weights": self._solution * self._scale}
        if self._inverse is not None:
            made["inverse"] = self._inverse * self._scale[:, None] * self._scale
        if self._shift.any():
            made["shift"] = self._shift
        if len(self._unseen):
            made["unseen"] = self._unseen[:, : self._width]
        return made


class _Dual:
    """Solutions of kernel ridge, or of ridge with more features than rows and no penalty."""

    def __init__(self, asked: Asked, matrix: FloatArray, right: FloatArray, kind: IntArray) -> None:
        self._used = np.flatnonzero(asked.weights)
        weights = asked.weights[self._used]
        self._kind, self._n_rows = kind, len(asked.labels)
        self._share = weights / np.bincount(kind, weights)[kind]
        self._matrix, self._inverse = matrix, _inverse(matrix, symmetric=False)
        self._solution = _solved(matrix.T, self._inverse.T, right)

    @classmethod
    def of_kernel(cls, asked: Asked, kernel: FloatArray, alpha: float) -> "_Dual":
        """Return solutions of kernel ridge."""
        used = np.flatnonzero(asked.weights)
        matrix = kernel[np.ix_(used, used)].T + np.diag(alpha / asked.weights[used])
        return cls(asked, matrix, asked.subjects[:, used], np.arange(len(used)))

    @classmethod
    def of_rows(cls, asked: Asked, rows: FloatArray, intercept: bool) -> "_Dual":
        """Return solutions of least squares."""
        rows = rows[asked.weights > 0]
        first, kind = distinct_rows(rows)
        order = np.argsort(
            first
        )  # kinds in the order in which they appear, as the checker has them
        first, kind = first[order], np.argsort(order)[kind]
        # In the checker's units: one power of two makes all numbers less than 1.
        power = -int(np.frexp(np.abs(rows).max(initial=0.0))[1])
        rows = np.ldexp(rows[first], power)
        matrix = rows @ rows.T
        right = np.ldexp(asked.subjects[:, : rows.shape[1]], power) @ rows.T
        if intercept:
            matrix = np.pad(matrix, (0, 1), constant_values=1.0)
            matrix[-1, -1] = 0.0
            right = np.column_stack((right, asked.subjects[:, -1]))
        return cls(asked, matrix, right, kind)

    def influence(self, here: IntArray) -> FloatArray:
        """Return the influence of labels on some of the scores."""
        found = self._solution[here][:, self._kind] * self._share
        made = np.zeros((len(found), self._n_rows))
        made[:, self._used] = found
        return made

    def doubt(self) -> float:
        """Return about how far the checker's bounds are from the truth; see `_Ridge`."""
        sizes = (np.abs(each).sum(axis=1).max() for each in (self._inverse, self._matrix))
        return float(_ROUNDING * math.prod(sizes))

    def arrays(self) -> dict[str, FloatArray]:
        """Return what the checker reads."""
        return {"dual": self._solution, "inverse": self._inverse}


class _Given:
    """Influence that is given."""

    def __init__(self, asked: Asked) -> None:
        self._rows = asked.subjects

    def influence(self, here: IntArray) -> FloatArray:
        """Return the influence of labels on some of the scores."""
        return self._rows[here]

    def doubt(self) -> float:
        """Return none."""
        return 0.0

    def arrays(self) -> dict[str, FloatArray]:
        """Return nothing: the data hold it."""
        return {}


_Solver = _Ridge | _Dual | _Given


def _solver(asked: Asked) -> _Solver:
    model = asked.specification.document()
    if asked.train is None:
        return _Given(asked)
    if model["kind"] == "kernel-ridge":
        return _Dual.of_kernel(asked, asked.train, model["alpha"])
    alpha, intercept = model["alpha"], model["intercept"]
    n_rows, width = asked.train[asked.weights > 0].shape
    if not alpha and n_rows < width + int(intercept) and n_rows <= _MOST_UNKNOWNS:
        return _Dual.of_rows(asked, asked.train, intercept)
    return _Ridge(asked, asked.train, alpha, intercept)


def _shift(rows: FloatArray, weights: FloatArray) -> FloatArray:
    """Return round numbers to subtract from columns far from 0, where that rounds nothing."""
    total = weights.sum()
    mean = weights @ rows / total
    spread = np.sqrt(weights @ (rows - mean) ** 2 / total)
    unit = np.ldexp(1.0, np.frexp(np.where(spread > 0, spread, np.abs(mean)))[1] - 1)
    found = np.rint(mean / unit) * unit
    moved = rows - found
    back = moved - rows
    rest = (rows - (moved - back)) - (found + back)
    useful = (np.abs(mean) > _FAR * spread) & np.isfinite(found) & ~rest.any(axis=0)
    return np.where(useful, found, 0.0)


def _reciprocal(sizes: FloatArray) -> FloatArray:
    """Return one over sizes, up to a factor of two a power of two; 1 where a size is none."""
    powers = np.frexp(np.where((sizes > 0) & np.isfinite(sizes), sizes, 1.0))[1]
    return np.asarray(np.ldexp(1.0, -powers))


def _inverse(matrix: FloatArray, *, symmetric: bool = True) -> FloatArray:
    """Return an approximate inverse; zeros, which prove nothing, if there is none."""
    try:
        found = np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return np.zeros_like(matrix)
    found = np.where(np.isfinite(found), found, 0.0)
    return np.asarray((found + found.T) / 2 if symmetric else found)


def _solved(matrix: FloatArray, inverse: FloatArray | None, right: FloatArray) -> FloatArray:
    """Return solutions of x·matrix = right, one row for each."""
    if inverse is None:
        return np.asarray(np.linalg.solve(matrix.T, right.T).T)
    found = right @ inverse
    for _ in range(2):
        found += (right - found @ matrix) @ inverse
    return np.asarray(np.where(np.isfinite(found), found, 0.0))


# --- thresholds -------------------------------------------------------------------------------


def _duels(asked: Asked, solver: _Solver) -> tuple[FloatArray, BoolArray, dict[str, FloatArray]]:
    """Return the same for every rival of a subject: a question about the later of two classes."""
    assert asked.classes is not None  # noqa: S101  (labels are classes)
    low, high = asked.rule["codes"]
    made = np.zeros((len(asked.claims), asked.classes.n_classes, 6))
    close = np.zeros(len(made), dtype=bool)
    winner = np.array([claim.get("decision", -1) for claim in asked.claims])
    for first, second in combinations(range(asked.classes.n_classes), 2):
        rows = np.flatnonzero((winner == first) | (winner == second))
        labels, lower, upper = asked.classes.lead(first, second, high - low)
        part = replace(
            asked, labels=labels, lower=lower, upper=upper,
            rule={"task": "classification", "threshold": 0.0}, subjects=asked.subjects[rows],
            claims=[asked.claims[at] for at in rows.tolist()], settled=asked.settled[rows],
        )  # fmt: skip
        found, near, _ = _thresholds(part, solver, rows)
        made[rows, np.where(winner[rows] == first, second, first)] = found
        close[rows] |= near
    return made.reshape(len(made), -1), close, {}


def _thresholds(
    asked: Asked, solver: _Solver, rows: IntArray
) -> tuple[FloatArray, BoolArray, dict[str, FloatArray]]:
    """Return the prices of selections, which are close calls, and trees of cases."""
    weights, labels = asked.weights, asked.labels
    balanced = asked.rule.get("threshold") == "balanced"
    share = weights / weights.sum() if balanced else 0.0
    selections = _Counts(asked) if isinstance(asked.budget, int) else _Priced(asked)
    made = np.zeros((len(asked.claims), 6 * selections.n_prices))
    close = np.zeros(len(made), dtype=bool)
    step = max(1, _BLOCK // len(labels))
    for start in range(0, len(made), step):
        z = solver.influence(rows[start : start + step]) - share
        scores = z @ labels
        rises, falls = z * asked.upper, z * asked.lower
        for way, effects in ((0, np.maximum(rises, falls)), (1, np.maximum(-rises, -falls))):
            for at, row in enumerate(effects, start):
                score = -scores[at - start] if way else scores[at - start]
                found, sums = selections.of(at, way, row, z[at - start], score)
                made[at].reshape(3, 2, -1)[:, way] = found
                close[at] |= _is_close(asked.rule, bool(way), score, sums)
    return made, close, selections.arrays()


class _Counts:
    """Selections of a number of labels: the budget, and the ends of a minimum budget."""

    n_prices = 1

    def __init__(self, asked: Asked) -> None:
        self._movable = np.flatnonzero((asked.lower < 0) | (asked.upper > 0))
        ends = [(asked.budget, *_least(claim)) for claim in asked.claims]
        self._counts = np.array(ends, dtype=np.float64)

    def of(
        self, at: int, way: int, effects: FloatArray, z: FloatArray, score: float
    ) -> tuple[Any, list[float]]:
        """Return the thresholds of a subject, and sums that may be close to its margin."""
        found, sums = _ranked(effects[self._movable], self._counts[at])
        return np.array(found)[:, None], sums

    def arrays(self) -> dict[str, FloatArray]:
        """Return nothing else."""
        return {}


class _Priced:
    """Prices of budgets of other kinds: enough is shown by labels and needs none."""

    def __init__(self, asked: Asked) -> None:
        self._asked, self._prices = asked, Prices(asked.budget, len(asked.labels))
        self.n_prices = self._prices.n_prices
        self._trees = Trees(self._prices, self._kinds()) if self._prices.kind == "cost" else None

    def _kinds(self) -> list[Kind]:
        """Return training rows that do the same to every score and cost the same."""
        asked, prices = self._asked, self._prices
        columns = [asked.weights, asked.lower, asked.upper, prices.costs]
        if asked.train is None:
            columns.append(np.arange(float(len(asked.labels))))
        table = np.column_stack(columns if asked.train is None else [asked.train, *columns])
        kind = distinct_rows(table)[1]
        order = np.argsort(kind, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(kind[order])) + 1)
        return [
            Kind(rows, float(prices.costs[rows[0]]), prices.units[rows[0]])
            for rows in groups
            if asked.lower[rows[0]] < asked.upper[rows[0]]
        ]

    def of(
        self, at: int, way: int, effects: FloatArray, z: FloatArray, score: float
    ) -> tuple[Any, list[float]]:
        """Return the prices of a subject, and sums that may be close to its margin."""
        asked, prices, claim = self._asked, self._prices, self._asked.claims[at]
        sign, (least, _) = -1.0 if way else 1.0, _least(claim)
        lengths = np.where(sign * z > 0, asked.upper, -asked.lower)
        made, sums = np.zeros((3, self.n_prices)), [_witnessed(claim, sign * z, asked)]
        for which, amount in enumerate((prices.limit, prices.fewer(least))):
            made[which], bound = prices.found(effects, lengths, amount)
            goal = self._goal(claim, which, way, score)
            if self._trees is not None and bound > goal > -math.inf and math.isfinite(amount):
                units = prices.units_of(least if which else amount, below=bool(which))
                bound = self._trees.add((at, 2 * which + way), effects, units, goal) or bound
            sums.append(bound)
        return made, sums

    def _goal(self, claim: Claim, which: int, way: int, score: float) -> float:
        """Return how far a score may move by what a claim says; infinite if it says nothing."""
        margin = _margin(self._asked.rule, bool(way), score)
        margin = margin if margin >= 0 else math.inf  # it is not lost that way
        least, _ = _least(claim)
        if which:
            return margin if least > 0 else math.inf
        end = -claim["low"] if way and "low" in claim else claim.get("high", math.inf)
        end = math.inf if way and "low" not in claim else end - score
        robust = claim["verdict"] == "robust" and least <= self._prices.limit
        return min(end, margin) if robust else end

    def arrays(self) -> dict[str, FloatArray]:
        """Return trees of cases."""
        return {} if self._trees is None else self._trees.arrays()


def _least(claim: Claim) -> tuple[float, float]:
    """Return the bounds on its minimum budget that a claim names."""
    bounds = claim.get("minimum_budget", [0, "never"])
    bounds = bounds if isinstance(bounds, list) else [bounds, bounds]
    least, most = (np.inf if bound == "never" else bound for bound in bounds)
    return least, most


def _witnessed(claim: Claim, z: FloatArray, asked: Asked) -> float:
    """Return how far the labels that a claim names move a score."""
    named = claim.get("witness", claim.get("enough"))
    if named is None:
        return 0.0
    up, down = named["up"], named["down"]
    added = np.concatenate((asked.upper[up], asked.lower[down])) * named.get("shares", 1.0)
    return float(z[np.concatenate((up, down))] @ added)


def _ranked(effects: FloatArray, counts: FloatArray) -> tuple[list[float], list[float]]:
    """Return the effects of some ranks, and how far one label less, and as many, move a score."""
    size = len(effects)
    ranks = [int(count) if 0 < count <= size else None for count in counts]
    places = sorted({size - rank for rank in ranks if rank is not None})
    if not places:
        return [0.0] * len(ranks), [float(effects.sum())]
    ordered = np.partition(effects, places)
    found = [0.0 if rank is None else max(0.0, float(ordered[size - rank])) for rank in ranks]
    sums = []
    for rank, threshold in zip(ranks, found, strict=True):
        total = float(ordered[size - rank :].sum()) if rank else float(effects.sum())
        sums += [total, total - threshold]
    return found, sums


def _margin(rule: dict[str, Any], down: bool, score: float) -> float:
    """Return how far a score may move; `down` has been turned round."""
    if rule["task"] == "regression":
        return float(rule["radius"])
    mark = rule.get("threshold", 0)
    mark = 0.0 if mark == "balanced" else float(mark)
    return -mark - score if down else mark - score


def _is_close(rule: dict[str, Any], down: bool, score: float, sums: list[float]) -> bool:
    """Return whether doubles may be too coarse to tell whether labels overturn a row."""
    margin = _margin(rule, down, score)
    size = abs(margin) + max(map(abs, sums), default=0.0)
    if not np.isfinite(size):
        return True
    missed = [abs(margin - total) for total in sums]
    return bool(min(missed) <= _CLOSE * size or abs(margin) <= _CLOSE * (abs(score) + size))


# --- directions that no training row sees -----------------------------------------------------


def unseen_directions(
    matrix: FloatArray, rows: FloatArray, scale: FloatArray, intercept: bool
) -> FloatArray:
    """Return combinations of features that may be the same in all rows, where there are any."""
    none = np.zeros((0, len(matrix)))
    try:
        sizes, vectors = np.linalg.eigh(matrix)
    except np.linalg.LinAlgError:
        return none
    small = vectors[:, np.abs(sizes) < _SMALL * np.abs(sizes).max()].T
    if intercept:
        small = small[:, :-1]
    width = small.shape[1]
    found = []
    for row in _reduced(small * scale[:width]):
        direction = _whole(row)
        if direction is None:
            continue
        values = rows[:, :width] @ direction
        if np.ptp(values if intercept else np.append(values, 0.0)) <= _SMALL * np.abs(values).max():
            size = float(np.linalg.norm(direction * scale[:width]))
            found.append(np.ldexp(direction, -int(np.frexp(size)[1])))
        elif not np.any(values):
            found.append(direction)
    made = np.zeros((len(found), len(matrix)))
    for at, direction in enumerate(found):
        made[at, :width] = direction
    return made


def _reduced(vectors: FloatArray) -> FloatArray:
    """Return a basis of the same space with as many zeros as elimination makes."""
    vectors = vectors.copy()
    for at in range(len(vectors)):
        rest = np.abs(vectors[at:])
        row, column = map(int, np.unravel_index(rest.argmax(), rest.shape))
        vectors[[at, at + row]] = vectors[[at + row, at]]
        if not vectors[at, column]:
            return vectors[:at]
        vectors[at] /= vectors[at, column]
        others = np.arange(len(vectors)) != at
        vectors[others] -= vectors[others, column][:, None] * vectors[at]
    return vectors


def _whole(direction: FloatArray) -> FloatArray | None:
    """Return small whole numbers in the ratios of these numbers; None if there are none."""
    most = np.abs(direction).max(initial=0.0)
    if not 0 < most < np.inf:
        return None
    ratios = direction / most
    ratios = np.where(np.abs(ratios) < 1e-7, 0.0, ratios)
    lcm = 1
    for ratio in ratios[ratios != 0]:
        lcm = int(np.lcm(lcm, Fraction(float(ratio)).limit_denominator(_MOST_FACTOR).denominator))
        if lcm > _MOST_FACTOR:
            return None
    return np.asarray(np.rint(ratios * lcm))
