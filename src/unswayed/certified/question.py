"""A question: rows put to a fitted model, equal ones once."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from unswayed._core.dyadic import enclose, nearest
from unswayed._core.influence import WeightRows
from unswayed._core.rounding import above, below
from unswayed._typing import FloatArray, IntArray
from unswayed.certificates import CertificateSet, MinimumBudgets, Verdict, Witness
from unswayed.certified.certificate_file import write_certificates, write_data
from unswayed.certified.label_code import LabelCode
from unswayed.engines.answer import EXACT, RATIONAL, Answer
from unswayed.engines.exact import ExactEngine
from unswayed.engines.margins import Margins
from unswayed.engines.rational import ExactLimits, ExactRow, RationalEngine
from unswayed.engines.rows import FeatureRows
from unswayed.inputs import frame_like
from unswayed.learners.accuracy import Scores

Limits: TypeAlias = Callable[[Fraction], ExactLimits]


@dataclass(frozen=True, eq=False)
class Question:
    """Everything it takes to answer again: the model may be fitted anew in the meantime."""

    engine: ExactEngine
    targets: FloatArray  # training labels as numbers
    code: LabelCode
    weights: WeightRows
    group: IntArray  # the distinct row of each row
    scores: Scores  # of the distinct rows, like the margins
    margins: Margins
    limits: Limits  # the margins again, as functions of exact scores
    origin: Any  # the user's rows: a frame of their library is given back
    resolve: bool  # in rational arithmetic, what rounding leaves open
    rule: dict[str, Any]  # what must stay: the task, and its threshold or radius
    _settled: dict[int, ExactRow] = field(default_factory=dict)
    trusted: tuple[str, ...] = ()  # what the caller vouched for, by name

    # --- rational arithmetic --------------------------------------------------------------

    @cached_property
    def _rational(self) -> RationalEngine:
        return RationalEngine(self.engine.learner.definition, self.engine.bias, self.targets)

    def _exactly(self, rows: IntArray) -> Iterator[tuple[int, ExactRow]]:
        """Some of the distinct rows in rational arithmetic, each computed once."""
        missing = np.array([row for row in rows.tolist() if row not in self._settled], dtype=int)
        if len(missing):
            if isinstance(self.weights, FeatureRows):
                found = self._rational.rows(self.weights.inputs.take(missing))
            else:
                found = self._rational.coefficients(missing)
            self._settled.update(zip(missing.tolist(), found, strict=True))
        return ((row, self._settled[row]) for row in rows.tolist())

    # --- answers --------------------------------------------------------------------------

    def exact(self, budget: int) -> Answer:
        """Answer by selection alone."""
        return Answer.exact(self.engine.reach(self.weights, budget), self.margins)

    def _sharpened(self, answer: Answer, budget: int) -> Answer:
        """Ask selection about rows that bounds alone leave open: cheaper than fractions."""
        open_rows = np.flatnonzero((answer.verdict == Verdict.UNDECIDED) & (answer.method != EXACT))
        if len(open_rows) and isinstance(self.weights, FeatureRows):
            found = self.engine.reach(self.weights.take(open_rows), budget)
            answer.put(open_rows, Answer.exact(found, self.margins[open_rows]))
        return answer

    def certificates(
        self,
        answer: Answer,
        budget: int,
        question: str,
        names: tuple[str, ...] | None = None,
    ) -> CertificateSet:
        """Put an answer into the user's terms."""
        if self.resolve:
            answer = self._sharpened(answer, budget)
        score, error, bounds = self.scores.value.copy(), self.scores.error, answer.bounds
        with np.errstate(invalid="ignore"):
            ends = {
                "low": below(score, -bounds.outer_down, error),
                "high": above(score, bounds.outer_up, error),
                "inner_low": above(score, -bounds.inner_down, error),
                "inner_high": below(score, bounds.inner_up, error),
            }
            columns = {"score": score, "error": error + bounds.error} | ends
        if self.resolve:
            self._settle(answer, budget, columns)
        return CertificateSet(
            **{name: column[self.group] for name, column in columns.items()},
            verdict=answer.verdict[self.group],
            budget=budget,
            question=question,
            method_=answer.method[self.group],
            names=names,
            source=self,
        )

    def _settle(self, answer: Answer, budget: int, columns: dict[str, FloatArray]) -> None:
        """Overwrite what is undecided, or unknown, by what rational arithmetic says."""
        unknown = (answer.verdict == Verdict.UNDECIDED) | ~np.isfinite(columns["error"])
        for at, row in self._exactly(np.flatnonzero(unknown)):
            up, down = row.reach(budget)
            overturned = row.overturned(self.limits(row.score), budget)
            answer.verdict[at] = Verdict.NOT_ROBUST if overturned else Verdict.ROBUST
            answer.method[at] = RATIONAL
            low, inner_low = enclose(row.score - down)
            inner_high, high = enclose(row.score + up)
            below, above = enclose(row.score)
            error = max(above - below, high - inner_high, inner_low - low)
            for name, value in (
                ("score", below), ("error", error), ("low", low), ("high", high),
                ("inner_low", inner_low), ("inner_high", inner_high),
            ):  # fmt: skip
                columns[name][at] = value

    def minimum_budgets(self) -> MinimumBudgets:
        """Least number of wrong labels that overturns each row."""
        found = self.engine.minimum_budget(self.weights, self.margins)
        if self.resolve:
            for at, row in self._exactly(np.flatnonzero(~found.proven)):
                found.low[at] = found.high[at] = row.minimum_budget(self.limits(row.score))
        return found[self.group]

    def decision(self, row: int) -> int:
        """Class (0 or 1), or sign of a coefficient, where the verdict says that it is known."""
        at = int(self.group[row])
        # A double may round an exact score onto the threshold.
        exact = self._settled.get(at)
        above = exact.score if exact is not None else Fraction(float(self.scores.value[at]))
        above -= Fraction(self.rule.get("threshold", 0.0))
        return int(above > 0) - int(above < 0 and "threshold" not in self.rule)

    def changes(self, row: int, budget: int) -> tuple[IntArray, FloatArray, float]:
        """Smallest set of label changes that overturns a row: rows, offsets, the score then.

        Unless things are resolved, it has as many labels as are proven to be enough.
        """
        at = int(self.group[row])
        found = None
        if at not in self._settled:
            found = self.engine.changes(
                self.weights, at, self.margins, budget, smallest=self.resolve
            )
        if found is None:  # rounding hides it
            ((_, exact),) = self._exactly(np.array([at]))
            rows, added, moved = exact.changes(self.limits(exact.score), budget)
            return rows, added, nearest(exact.score + moved)
        rows, added, shift = found
        return rows, added, float(self.scores.value[at] + shift)

    def witness(self, row: int, budget: int) -> Witness:
        """Smallest set of label changes that overturns a row."""
        rows, added, score = self.changes(row, budget)
        return Witness(rows, self.code.decode(self.targets[rows] + added), score)

    def save(self, certificates: CertificateSet, path: Path, data: Path | None) -> None:
        """Write certificates to a file that anyone can check, and what they are about beside it."""
        if data is not None:
            write_data(self, data)
        write_certificates([certificates], path)

    def frame(self, columns: dict[str, Any]) -> Any:
        """Build a frame of the library the rows came in."""
        return frame_like(self.origin, columns)
