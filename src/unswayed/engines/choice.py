"""The engine of a model, chosen by the functional that its scores are of the labels."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unswayed._core.rounding import Bounds
from unswayed._core.sandwich import AnchoredBounds, Anchors, Box, Ellipsoid
from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.engines.anchors import MAX_ANCHORS, Sandwich
from unswayed.engines.candidates import CandidatesEngine
from unswayed.engines.classes import ClassEngine
from unswayed.engines.protocol import Case, Certifier, Engine, LabelChanges, LinearRows, Terms
from unswayed.engines.region.engine import SecantEngine
from unswayed.engines.rivals import RivalEngine
from unswayed.engines.selection import ExactEngine, SparseEngine
from unswayed.engines.votes import MemberEngine, VotesEngine, classes_allowed
from unswayed.exceptions import InputError
from unswayed.labels.bias import Functional, InGradient, Linear, ResolvedBias
from unswayed.labels.budgets import Budget
from unswayed.margins.decisions import Margin, Margins, Rise, close_calls, judge, verdicts
from unswayed.models.candidates import CandidatesLearner, Chosen
from unswayed.models.classes import ClassScores, Leads
from unswayed.models.gradient.family import GradientLearner
from unswayed.models.gradient.one_vs_rest import OneVsRest, RivalScores
from unswayed.models.learner import Learner, LinearInLabels, Solution
from unswayed.models.smoother import GivenInfluence
from unswayed.models.votes import Votes, VotesLearner
from unswayed.results.certificates import MinimumBudgets, Verdict

_TIMED_ROWS = 64  # evaluated exactly before anything is decided
_FIRST_CHUNK = 256  # rows: early anchors help all later rows; chunks then double
_LARGEST_CHUNK = 8192  # what is left open is evaluated together: products of many rows are cheap
_OPEN_ROWS = 64  # evaluated before the other open ones are looked at again
_ANCHOR_COST = 3  # exact rows that an anchor takes: the labels of both directions are listed too
_EXPECTED_OPEN = 0.1  # share of rows a new sandwich is expected to leave open
_SANDWICHES_KEPT = 4  # sandwiches kept, one per budget


@cache
def _bound_seconds(n_parameters: int) -> float:
    """Measured seconds per row of bounds with as many parameters and a full set of anchors."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(256, n_parameters))
    some = rng.normal(size=(MAX_ANCHORS, n_parameters))
    ones = np.ones(n_parameters)
    sizes, every = np.ones(len(some)), np.ones(len(rows))
    bounds = AnchoredBounds(
        (Box(ones, ones), Box(ones, ones, np.eye(n_parameters))),
        Ellipsoid(np.eye(n_parameters), 1.0, 0.0),
        Anchors(some, sizes, sizes, sizes, some, some),
    )
    best = np.inf
    for _ in range(2):
        started = time.perf_counter()
        bounds.sharpened(bounds.base(rows, every), rows, every, slice(None))
        best = min(best, time.perf_counter() - started)
    return float(best) / len(rows)


class Cascade:
    """The certifier "auto": the verdicts of `ExactEngine`, by bounds where these suffice."""

    def __init__(self, exact: ExactEngine, *, eager: bool = False) -> None:
        self._exact = exact
        self._eager = eager
        self._built: dict[Budget, Sandwich] = {}
        self._useless: set[Budget] = set()  # budgets at which a sandwich left too much open
        self._row_seconds = np.inf  # of one exact row, the fastest seen

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the model and bias it answers for."""
        return self._exact.fingerprint

    @property
    def is_able(self) -> bool:
        """Whether this model can have anchors, and its rounding errors are bounded."""
        able = "anchors" in self._exact.learner.capabilities
        return able and self._exact.precision.proven

    def bounds(self, rows: LinearRows, budget: Budget, margins: Margins) -> Bounds:
        """Return the ranges of boxes, and which rows are decided; without boxes, exact ranges."""
        if not self.is_able:
            return self._exact.bounds(rows, budget, margins)
        sandwich = self._built.get(budget) or self._build(budget)
        found = _Decisions(len(rows))
        start = 0
        if not self._eager and not sandwich.n_anchors:
            start = min(_TIMED_ROWS, len(rows))
            self._exactly(rows, margins, budget, np.arange(start), found)
            if self._worth_using(len(rows) - start) and budget not in self._useless:
                sandwich.add(rows.directions(slice(start)))
        learning = not sandwich.n_anchors or start > 0  # one chunk to find its anchors in
        chunk = _FIRST_CHUNK if learning else _LARGEST_CHUNK
        useful = self._eager or sandwich.n_anchors > 0
        while useful and start < len(rows):
            here = slice(start, min(start + chunk, len(rows)))
            useful = self._by_sandwich(sandwich, rows, margins, here, found, learning=learning)
            start, chunk, learning = here.stop, min(2 * chunk, _LARGEST_CHUNK), False
        if not useful:
            self._useless.add(budget)
        self._exactly(rows, margins, budget, np.arange(start, len(rows)), found)
        return found.reported(sandwich.boxed(rows.directions(slice(None))), margins)

    def _worth_using(self, n_rows: int) -> bool:
        learner, exact = self._exact.learner, self._row_seconds
        per_row = (
            _bound_seconds(learner.with_coefficients().n_parameters)
            + _ANCHOR_COST * _EXPECTED_OPEN * exact
        )
        return bool(_ANCHOR_COST * _TIMED_ROWS * exact + n_rows * per_row < n_rows * exact)

    def _build(self, budget: Budget) -> Sandwich:
        sandwich = Sandwich(self._exact, budget)
        while len(self._built) >= _SANDWICHES_KEPT:
            self._built.pop(next(iter(self._built)), None)  # another thread may have been faster
        return self._built.setdefault(budget, sandwich)

    def _exactly(
        self,
        rows: LinearRows,
        margins: Margins,
        budget: Budget,
        which: IntArray,
        found: "_Decisions",
    ) -> None:
        if not len(which):
            return
        started = time.perf_counter()
        bounds = self._exact.reach(rows.take(which), budget)
        elapsed = time.perf_counter() - started
        if len(which) >= _TIMED_ROWS:  # fewer would time the overhead of a call
            self._row_seconds = min(self._row_seconds, elapsed / len(which))
        found.put(which, bounds, margins[which])

    def _by_sandwich(
        self,
        sandwich: Sandwich,
        rows: LinearRows,
        margins: Margins,
        here: slice,
        found: "_Decisions",
        *,
        learning: bool,
    ) -> bool:
        """Decide a chunk; return whether that is cheaper than exact alone."""
        started = time.perf_counter()
        directions, numbers = rows.directions(here), np.arange(here.start, here.stop)
        asked = self._with_room(margins[here], sandwich, directions)
        open_rows = self._decide(sandwich, directions, asked, numbers, found)
        spent = time.perf_counter() - started
        expected = spent + _ANCHOR_COST * len(open_rows) * self._row_seconds
        if not (learning or self._eager or self._pays(expected, len(directions))):
            self._exactly(rows, margins, sandwich.budget, numbers[open_rows], found)
            return False
        while len(open_rows):
            lot, open_rows = open_rows[:_OPEN_ROWS], open_rows[_OPEN_ROWS:]
            exact = sandwich.add(directions[lot])
            found.put(numbers[lot], exact, margins[numbers[lot]])
            if len(open_rows):
                left = self._decide(
                    sandwich, directions[open_rows], asked[open_rows], numbers[open_rows], found
                )
                open_rows = open_rows[left]
        return True

    def _with_room(self, margins: Margins, sandwich: Sandwich, directions: FloatArray) -> Margins:
        """Return margins with so much slack that whatever bounds decide, exact would decide too."""
        room = 4 * self._exact.precision.most(sandwich.labels_at_once)
        sizes = sandwich.sizes(directions)
        return Margins(margins.up, margins.down, margins.slack + room * sizes)

    @staticmethod
    def _decide(
        sandwich: Sandwich,
        directions: FloatArray,
        margins: Margins,
        numbers: IntArray,
        found: "_Decisions",
    ) -> IntArray:
        """Decide what bounds decide; return the rows they leave open."""
        return found.put(numbers, sandwich.bounds(directions, margins), margins, close=False)

    def _pays(self, seconds: float, n_rows: int) -> bool:
        """Return whether a chunk took less time than exact alone; a short one is taken to have."""
        return n_rows < _TIMED_ROWS or seconds < n_rows * self._row_seconds


class _Decisions:
    """Which rows are proven to stay within their margins or to go beyond, and which by a hair."""

    def __init__(self, n_rows: int) -> None:
        self._robust, self._broken, self._close = np.zeros((3, n_rows), dtype=bool)

    def put(
        self, rows: IntArray, bounds: Bounds, margins: Margins, *, close: bool = True
    ) -> IntArray:
        """Decide some rows by their bounds; return which of them are left open."""
        robust, broken = judge(bounds, margins)
        self._robust[rows], self._broken[rows] = robust, broken
        if close:
            self._close[rows] = close_calls(bounds, margins)
        return np.flatnonzero(~(robust | broken))

    def reported(self, boxed: Bounds, margins: Margins) -> Bounds:
        """Return the bounds of boxes, cut off at the margins of rows that are proven robust."""
        up, down = (
            np.where(self._robust, np.minimum(outer, margin), outer)
            for outer, margin in (
                (boxed.outer_up, margins.up),
                (boxed.outer_down, margins.down),
            )
        )
        return Bounds.outside(up, down, boxed.error).decided_as(
            self._robust, self._broken, self._close
        )


@dataclass(frozen=True, eq=False)
class Trained:
    """A model that was trained on labels, and the engine that bounds its scores under a bias."""

    learner: Learner
    solution: Solution
    engine: Engine
    auto: Certifier | None = None  # the method "auto", where it is not the engine itself


Maker = Callable[[Any, FloatArray, ResolvedBias], Trained]


def _selection(learner: LinearInLabels, labels: FloatArray, bias: ResolvedBias) -> Trained:
    engine = SparseEngine(learner, bias) if learner.sparse else ExactEngine(learner, bias)
    return Trained(learner, learner.solve(labels), engine, Cascade(engine))


def _region(learner: GradientLearner, labels: FloatArray, bias: ResolvedBias) -> Trained:
    centre = learner.centre(labels)
    engine = SecantEngine(learner, labels, centre, bias)
    return Trained(learner, learner.solution(centre), engine)


def _classes(learner: ClassScores, labels: FloatArray, bias: ResolvedBias) -> Trained:
    return Trained(learner, learner.solve(labels), ClassEngine(learner, bias))


def _rivals(learner: OneVsRest, labels: FloatArray, bias: ResolvedBias) -> Trained:
    return Trained(learner, learner.solve(labels), RivalEngine(learner, labels, bias))


def _votes(learner: VotesLearner, labels: FloatArray, bias: ResolvedBias) -> Trained:
    classes = labels.astype(np.intp)
    learner.check_repeatable(classes)
    allowed = classes_allowed(bias, classes)
    members = [_member(learner, at, classes, allowed) for at in range(len(learner.partitions))]
    engine = VotesEngine(learner, labels, bias, members)
    return Trained(learner, learner.solve(labels), engine)


def _member(
    learner: VotesLearner, at: int, classes: IntArray, allowed: BoolArray
) -> MemberEngine | None:
    """Return the engine of a member that can be certified itself, unless its solver stops short."""
    rows = learner.partitions[at].rows
    member = learner.certifiable_member(at, classes[rows])
    if member is None:
        return None
    targets, bias = member.bias(classes[rows], allowed[rows])
    made = trained(member.learner, targets, bias)
    found = made.engine.scores(made.engine.rows(member.training), made.solution).value
    if member.own is not None and not member.solved(found):
        return None
    return MemberEngine(member, made.engine, made.solution, targets)


def _choice(learner: CandidatesLearner, labels: FloatArray, bias: ResolvedBias) -> Trained:
    engine = CandidatesEngine(learner, labels, bias)
    return Trained(learner, engine.solutions[learner.chosen], engine)


_ENGINES: dict[type[Functional], Maker] = {
    Linear: _selection,
    InGradient: _region,
    Leads: _classes,
    RivalScores: _rivals,
    Votes: _votes,
    Chosen: _choice,
}


def register_engine(functional: type[Functional], maker: Maker) -> None:
    """Register how models are trained and bounded whose scores are functionals of a kind."""
    _ENGINES[functional] = maker


def trained(learner: Learner, labels: FloatArray, bias: ResolvedBias) -> Trained:
    """Train a model on labels, and prepare its engine."""
    return _ENGINES[learner.functional](learner, labels, bias)


# --- Rows with several margins: robust if all hold, overturned if one fails ----------------


CaseMaker = Callable[[Margin, Budget], Case]


def _linear(margin: Margin, budget: Budget) -> Case:
    """Return linear functionals as a case: their influence is given."""
    functional = margin.functional
    assert isinstance(functional, Linear)  # noqa: S101  (it was looked up by that)
    given = sparse.issparse(functional.influence)
    influence = sparse.csr_array(functional.influence) if given else functional.influence
    learner = GivenInfluence(len(functional.targets), lambda rows: rows, sparse=given)
    bias = ResolvedBias(functional.lower, functional.upper, budget)
    engine = (SparseEngine if given else ExactEngine)(learner, bias)
    solution = learner.solve(functional.targets)
    decision = Rise(margin.distance, margin.touching)
    terms = Terms(decision, functional.targets, solution, alone=False)
    return engine.case(engine.rows(influence), terms)


_CASES: dict[type[Functional], CaseMaker] = {Linear: _linear}


def register_margins(functional: type[Functional], maker: CaseMaker) -> None:
    """Register the engine that bounds margins of a kind of functional."""
    _CASES[functional] = maker


class Combined:
    """Rows, each with one or more margins, under a budget."""

    def __init__(self, margins: Sequence[Margin], n_rows: int, budget: Budget) -> None:
        self.n_rows, self.budget = n_rows, budget
        self._cases = []
        for margin in margins:
            case = _CASES[type(margin.functional)](margin, budget)
            rows = np.arange(len(case.rows)) if margin.rows is None else margin.rows
            if len(rows) != len(case.rows) or not ((rows >= 0) & (rows < n_rows)).all():
                raise InputError(
                    f"rows names {len(rows)} rows for {len(case.rows)} margins; name one of the "
                    f"{n_rows} rows, from 0, for each"
                )
            self._cases.append((case, rows))

    def verdict(self, budget: Budget | None = None) -> NDArray[np.object_]:
        """Return what is proven of each row at a budget."""
        robust, broken = np.ones(self.n_rows, dtype=bool), np.zeros(self.n_rows, dtype=bool)
        for case, rows in self._cases:
            found = case.answer(self.budget if budget is None else budget).verdict
            robust &= self._none(rows[found != Verdict.ROBUST])
            broken |= ~self._none(rows[found == Verdict.NOT_ROBUST])
        return verdicts(broken, ~robust & ~broken)

    def _none(self, rows: NDArray[np.intp]) -> BoolArray:
        found = np.ones(self.n_rows, dtype=bool)
        found[rows] = False
        return found

    @cached_property
    def least(self) -> MinimumBudgets:
        """The least budget that overturns each row: the least over its margins."""
        low, high = np.full((2, self.n_rows), np.inf)
        for case, rows in self._cases:
            np.minimum.at(low, rows, case.least.low)
            np.fmin.at(high, rows, case.least.high)
        return MinimumBudgets(low, high)

    def changes(self, row: int, budget: Budget | None = None) -> LabelChanges:
        """Return the fewest label changes that are known to overturn a row."""
        needed, case, at = min(
            (
                (float(case.least.high[at]), case, at)
                for case, rows in self._cases
                for at in np.flatnonzero(rows == row).tolist()
            ),
            key=lambda each: each[0],
            default=(np.inf, None, 0),
        )
        within = self.budget if budget is None else budget
        if case is None or not needed <= within.amount:
            raise InputError(f"no set of label changes within the budget overturns row {row}")
        return case.changes(at, within)
