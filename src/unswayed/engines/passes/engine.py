"""The engine: ranges, minimum budgets and witnesses of rows, by passes over training labels."""

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from unswayed._core.influence import InfluenceMap, MadeRows, WeightRows, Weights
from unswayed._core.rounding import SAFETY, Bounds, narrower
from unswayed._core.tally import Lines
from unswayed._typing import FloatArray, IntArray, Matrix
from unswayed.engines.anchors import Sandwich
from unswayed.engines.linear import LinearEngine
from unswayed.engines.passes.search import MOST_PASSES, Crossings, Reaches, Search
from unswayed.engines.passes.training import FindStrongest, LabelBatch, OffsetGram, Scan, Strongest
from unswayed.engines.protocol import LabelChanges, LinearRows, OffsetSums, Precision
from unswayed.engines.selection import ExactEngine
from unswayed.labels.bias import ResolvedBias
from unswayed.labels.budgets import RELATIVE, Budget
from unswayed.margins.decisions import Decision, Margins, judge
from unswayed.models.learner import Solution
from unswayed.models.ridge.summed import SummedRidge, entry_errors
from unswayed.pieces.pieces import Piece
from unswayed.results.certificates import MinimumBudgets

_MOST_LISTED = 2**20  # labels of a witness that is not proven to be smaller
_LINES = 2**14  # rows and directions that are looked at in one pass
_LARGEST = 1e290  # effects: sums of them do not overflow


class StreamedBias(NamedTuple):
    """What an engine knows of a bias without all labels: its budget."""

    budget: Budget


class Located(NamedTuple):
    """Where training rows are: pieces, and how many rows come before each."""

    pieces: Sequence[Piece]
    starts: IntArray

    def changes(self, found: Strongest, moved: float) -> LabelChanges:
        """Return label changes by the numbers and places of their rows."""
        order = np.lexsort((found.number, found.piece))
        piece, number = found.piece[order], found.number[order]
        places = tuple(
            self.pieces[at].place(row)
            for at, row in zip(piece.tolist(), number.tolist(), strict=True)
        )
        rows = self.starts[piece] + number
        return LabelChanges(rows, found.offset[order], moved, found.target[order], places)


class StreamedEngine(LinearEngine):
    """Ranges, minimum budgets and witnesses, by passes over the training labels."""

    learner: SummedRidge
    can = frozenset({"bounds", "decisions"})
    setting = "pieces"
    again = False  # it would take another pass
    rounds = 1  # anchors of a sandwich come in one lot: in one pass

    def __init__(
        self,
        learner: SummedRidge,
        scan: Scan,
        budget: Budget,
        precision: Precision,
        sample: LabelBatch,
        largest_offset: float,
        located: Located,
    ) -> None:
        self.learner, self.scan, self.precision, self.located = learner, scan, precision, located
        self.bias = StreamedBias(budget)
        self._sample, self._largest_offset = sample, largest_offset

    @property
    def fingerprint(self) -> str:
        """Hash of learner and bias: bounds that were built from others are refused."""
        digest = hashlib.blake2b(self.scan.fingerprint.encode(), digest_size=16)
        digest.update(self.learner.sums.gram.tobytes())
        digest.update(self.learner.sums.moment.tobytes())
        return digest.hexdigest()

    @property
    def width(self) -> int:
        """Number of weights of a row."""
        return self.learner.n_parameters

    # --- searches -------------------------------------------------------------------------

    def _largest_effects(self, values: FloatArray) -> FloatArray:
        """Return what no single label adds to a score; rounding and underflow included."""
        with np.errstate(over="ignore", invalid="ignore"):
            norms = np.linalg.norm(values, axis=1) + np.abs(values).max(axis=1, initial=0.0)
            most = norms * self.learner.sums.longest * self._largest_offset
        return np.asarray(most * SAFETY + 2.0**-1000)

    def _search(self, made: Weights, lines: Lines) -> Search:
        most = self._largest_effects(made.values)
        share = len(self._sample) / max(1, self.learner.n_rows)
        return Search(
            self.scan,
            self._sample,
            share,
            weights=made.values,
            lines=lines,
            most=most[lines.row],
        )

    def _blocks(self, weights: WeightRows) -> Iterator[tuple[slice, Weights]]:
        """Yield rows and their weights, as many as are looked at in one pass."""
        for start in range(0, len(weights), _LINES // 2):
            here = slice(start, min(start + _LINES // 2, len(weights)))
            made = weights.block(here.start, here.stop)
            # Influence that is not finite would not be counted.
            known = self._largest_effects(made.values) < _LARGEST
            yield (
                here,
                Weights(
                    np.where(known[:, None], made.values, 0.0),
                    np.where(known, made.error, np.inf),
                    made.size,
                ),
            )

    def _errors(self, made: Weights, labels: FloatArray | float) -> FloatArray:
        return self.precision.errors(made.error, made.size, labels)

    def _labels(self, budget: Budget) -> int:
        return int(min(budget.most_labels, self.precision.n_movable))

    # --- reach ----------------------------------------------------------------------------

    def reach(self, weights: WeightRows, budget: Budget) -> Bounds:
        """Return how far a budget can raise and lower the score of each row."""
        return self._reach(weights, budget, MOST_PASSES)

    def roughly(self, weights: WeightRows, budget: Budget) -> Bounds:
        """Return bounds on how far a budget can move the score of each row, from a single pass."""
        return self._reach(weights, budget, 1)

    def _reach(self, weights: WeightRows, budget: Budget, passes: int) -> Bounds:
        return self._looked(weights, budget, lambda here, search, goals: search.run(goals, passes))

    def extremes(
        self, weights: WeightRows, budget: Budget
    ) -> tuple[Bounds, FloatArray, FloatArray]:
        """Return bounds of each row, and what labels that nearly attain them do to any score.

        All of it comes from one pass.
        """
        moved = np.zeros((len(weights), 2, self.learner.n_parameters))

        def pull(here: slice, search: Search, goals: Reaches) -> None:
            moved[here] = search.pull(goals, self._labels(budget)).reshape(moved[here].shape)

        return self._looked(weights, budget, pull), moved[:, 0], moved[:, 1]

    def _looked(
        self,
        weights: WeightRows,
        budget: Budget,
        look: Callable[[slice, Search, Reaches], object],
    ) -> Bounds:
        """Return what goals take note of when all rows are looked at, upwards and downwards."""
        labels, (up, down, error) = self._labels(budget), np.zeros((3, len(weights)))
        for here, made in self._blocks(weights):
            n_rows, rounded = len(made.values), self._errors(made, labels)
            reach, off = np.zeros((n_rows, 2)), np.zeros(n_rows)
            if labels:
                goals = Reaches(2 * n_rows, labels)
                lines = Lines(np.repeat(np.arange(n_rows), 2), np.tile([1.0, -1.0], n_rows))
                look(here, self._search(made, lines), goals)
                reach, off = goals.reach.reshape(-1, 2), goals.off.reshape(-1, 2).max(axis=1)
            reach = np.where(np.isnan(reach), 0.0, reach)
            up[here], down[here] = reach[:, 0], reach[:, 1]
            with np.errstate(invalid="ignore"):
                found = rounded + RELATIVE * reach.max(axis=1) + off
            error[here] = np.where(np.isnan(found), np.inf, found)
        return Bounds.around(up, down, error)

    def offset_gram(self) -> tuple[FloatArray, int]:
        """Return the Gram matrix of the design, each label's row times the square of its offset."""
        found = self.scan.run(OffsetGram(self.learner.n_parameters))
        return found.gram, found.roundings

    # --- minimum budgets ------------------------------------------------------------------

    def minimum_budget(
        self, weights: WeightRows, margins: Margins, asked: Budget | None = None
    ) -> MinimumBudgets:
        """Return the least number of labels that overturns each row; inf if none does."""
        low, high = np.full((2, len(weights)), np.nan)
        for here, made in self._blocks(weights):
            low[here], high[here] = self._least(made, margins[here], asked)
        return MinimumBudgets(low, high)

    def _least(
        self, made: Weights, margins: Margins, asked: Budget | None
    ) -> tuple[FloatArray, FloatArray]:
        margin = np.stack((margins.up, margins.down), axis=1)
        known = np.isfinite(margins.slack) & np.isfinite(self._errors(made, np.inf))
        row, way = np.nonzero(np.isfinite(margin) & known[:, None])
        low, high = np.full((2, *margin.shape), np.inf)

        def error(labels: FloatArray) -> FloatArray:
            rounded = self.precision.errors(made.error[row], made.size[row], labels)
            return np.asarray(rounded + margins.slack[row])

        if len(row):
            amount = None if asked is None else self._labels(asked)
            goals = Crossings(margin[row, way], error, amount)
            self._search(made, Lines(row, np.where(way == 0, 1.0, -1.0))).run(goals)
            low[row, way], high[row, way] = goals.low, goals.high
        unknown = np.where(known, 0.0, np.nan)
        return low.min(axis=1) + unknown, high.min(axis=1) + unknown

    # --- witnesses ------------------------------------------------------------------------

    def witness(
        self,
        weights: WeightRows,
        row: int,
        margins: Margins,
        budget: Budget,
        least: Callable[[], float] | None = None,
        *,
        smallest: bool = False,
    ) -> LabelChanges | None:
        """Return the fewest labels within a budget that are proven to overturn a row."""
        ((_, made),) = self._blocks(MadeRows(weights.block(row, row + 1)))
        margins = margins[row : row + 1]
        needed = float(self._least(made, margins, None)[1][0]) if least is None else least()
        return overturning(
            self, made, margins, budget, needed, lambda *asked: self._find(made, *asked)
        )

    def _find(self, made: Weights, sign: float, labels: int) -> Strongest:
        floor = self._search(made, Lines(np.zeros(1, dtype=np.intp), np.array([sign]))).floor(
            labels
        )
        found = self.scan.run(FindStrongest(made.values, sign, labels, floor))
        if len(found.value) < labels and floor > 0:  # the sample has misled
            found = self.scan.run(FindStrongest(made.values, sign, labels, 0.0))
        return found


def overturning(
    engine: "StreamedEngine | MergedEngine",
    made: Weights,
    margins: Margins,
    budget: Budget,
    needed: float,
    find: Callable[[float, int], Strongest],
) -> LabelChanges | None:
    """Return the first set of labels that is proven to overturn a row.

    As many are looked for as are proven to be enough, then all that may move: a row can be proven
    to be overturned by a budget where rounding hides by how few labels.
    """
    most = int(min(budget.most_labels, engine.precision.n_movable))
    every = min(most, _MOST_LISTED)
    for labels in dict.fromkeys([int(needed), every] if needed <= most else [every]):
        rounded = engine.precision.errors(made.error, made.size, labels)
        for sign, margin in ((1.0, margins.up), (-1.0, margins.down)):
            if not np.isfinite(margin[0]):
                continue
            found = find(sign, labels)
            reach = np.array([math.fsum(found.value)])
            error = rounded + RELATIVE * reach + margins.slack
            if narrower(reach, error)[0] > margin[0]:
                return engine.located.changes(found, sign * float(reach[0]))
    return None


class AnchorsFirst:
    """The certifier "auto" in passes: anchors decide most rows, exact passes what they leave open.

    Anchors take one pass, whatever the number of rows in question.
    """

    def __init__(self, engine: StreamedEngine, solution: Solution, decision: Decision) -> None:
        self._engine, self._solution, self._decision = engine, solution, decision
        self._built: dict[Budget, Sandwich] = {}

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the model and bias it answers for."""
        return self._engine.fingerprint

    def bounds(self, rows: LinearRows, budget: Budget, margins: Margins) -> Bounds:
        """Return bounds from anchors, and exact ones of rows that these leave open."""
        if budget not in self._built:
            made = Sandwich(self._engine, budget)
            self._built[budget] = made.choose_anchors(self._solution, self._decision)
        found = self._built[budget].bounds(rows.directions(slice(None)), margins)
        robust, broken = judge(found, margins)
        open_rows: IntArray = np.flatnonzero(~(robust | broken))
        if len(open_rows):
            found.put(open_rows, self._engine.reach(rows.take(open_rows), budget))
        return found


# --- The engine of rows that are many but rarely different: each is held once, with a count


_BELOW = 1.0 - 2.0**-30  # an effect is not computed to the last bit in every batch


class MergedEngine(ExactEngine):
    """The exact engine on distinct training rows with counts; witnesses take a pass."""

    can = frozenset({"bounds", "decisions"})
    setting = "pieces"

    def __init__(
        self,
        learner: SummedRidge,
        bias: ResolvedBias,
        rows: Matrix,
        count: FloatArray,
        scan: Scan,
        located: Located,
    ) -> None:
        self.scan, self._rows, self._count, self.located = scan, rows, count, located
        super().__init__(learner, bias)

    def _merged(self) -> InfluenceMap:
        return InfluenceMap(self._rows, self.bias.lower, self.bias.upper, count=self._count)

    def _precision(self) -> Precision:
        offset = np.maximum(-self.bias.lower, self.bias.upper)
        offsets = OffsetSums.of(offset, 1.0, entry_errors(self._rows), self._count)
        return Precision(self.learner.error_scale, offsets)

    def witness(
        self,
        weights: WeightRows,
        row: int,
        margins: Margins,
        budget: Budget,
        least: Callable[[], float] | None = None,
        *,
        smallest: bool = False,
    ) -> LabelChanges | None:
        """Return the fewest labels within a budget that are proven to overturn a row."""
        one, margins = weights.block(row, row + 1), margins[row : row + 1]
        if least is None:
            needed = float(self.minimum_budget(MadeRows(one), margins).high[0])
        else:
            needed = least()
        z = self.influence(one.values)[0]

        def find(sign: float, labels: int) -> Strongest:
            floor = self._weakest(sign * z, labels) * _BELOW
            return self.scan.run(FindStrongest(one.values, sign, labels, floor))

        return overturning(self, one, margins, budget, needed, find)

    def _weakest(self, signed: FloatArray, labels: int) -> float:
        """Return the weakest of the strongest effects, of as many labels."""
        entries = self.influence.entries
        effects = np.concatenate((signed * entries.upper, signed * entries.lower))
        count = np.concatenate((entries.n_upper, entries.n_lower))
        order = np.argsort(-effects, kind="stable")
        at = int(np.searchsorted(np.cumsum(count[order]), labels))
        return max(0.0, float(effects[order[at]])) if at < len(order) else 0.0
