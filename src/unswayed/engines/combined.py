"""Rows with several margins: robust if all hold, overturned if one fails.

Each set of margins is bounded by the engine of its functional's type; the least budget of a row is
the least over its margins, and its witness that of the margin which needs the fewest labels.
"""

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unswayed._typing import BoolArray
from unswayed.engines.protocol import Case, LabelChanges, Terms
from unswayed.engines.selection import ExactEngine
from unswayed.engines.sparse import SparseEngine
from unswayed.exceptions import InputError
from unswayed.labels.bias import ResolvedBias
from unswayed.labels.budgets import Budget
from unswayed.labels.functionals import Functional, Linear
from unswayed.margins.margin import Margin, Rise
from unswayed.models.smoother import GivenInfluence
from unswayed.results.certificates import MinimumBudgets, Verdict, verdicts

Maker = Callable[[Margin, Budget], Case]


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


_CASES: dict[type[Functional], Maker] = {Linear: _linear}


def register_margins(functional: type[Functional], maker: Maker) -> None:
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
