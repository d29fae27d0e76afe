"""The engine of rows that are many but rarely different: each is held once, with a count."""

from collections.abc import Callable

import numpy as np

from unswayed._core.influence import InfluenceMap, MadeRows, WeightRows
from unswayed._typing import FloatArray, Matrix
from unswayed.engines.passes.engine import Located, enough_labels, proven_witness
from unswayed.engines.passes.work import FindStrongest, Scan, Strongest
from unswayed.engines.protocol import LabelChanges, OffsetSums, Precision
from unswayed.engines.selection import ExactEngine
from unswayed.labels.bias import ResolvedBias
from unswayed.labels.budgets import Budget
from unswayed.margins.decisions import Margins
from unswayed.models.ridge.summed import SummedRidge, entry_errors

_BELOW = 1.0 - 2.0**-30  # an effect is not computed to the last bit in every batch


class MergedEngine(ExactEngine):
    """The exact engine on distinct training rows with counts; witnesses take a pass."""

    can = frozenset({"bounds"})
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

    def _prepare(self) -> None:
        lower, upper = self.bias.lower, self.bias.upper
        self.influence = InfluenceMap(self._rows, lower, upper, count=self._count)
        offsets = OffsetSums.of(
            np.maximum(-lower, upper), 1.0, entry_errors(self._rows), self._count
        )
        self.precision = Precision(self.learner.error_scale, offsets)

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
        most = int(min(budget.most_labels, self.precision.n_movable))
        z = self.influence(one.values)[0]

        def find(sign: float, labels: int) -> Strongest:
            floor = self._weakest(sign * z, labels) * _BELOW
            return self.scan.run(FindStrongest(one.values, sign, labels, floor))

        found = proven_witness(
            find,
            lambda labels: self.precision.errors(one.error, one.size, labels),
            margins,
            enough_labels(needed, most),
        )
        return None if found is None else self.located.changes(*found)

    def _weakest(self, signed: FloatArray, labels: int) -> float:
        """Return the weakest of the strongest effects, of as many labels."""
        entries = self.influence.entries
        effects = np.concatenate((signed * entries.upper, signed * entries.lower))
        count = np.concatenate((entries.n_upper, entries.n_lower))
        order = np.argsort(-effects, kind="stable")
        at = int(np.searchsorted(np.cumsum(count[order]), labels))
        return max(0.0, float(effects[order[at]])) if at < len(order) else 0.0
