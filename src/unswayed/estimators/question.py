"""A question: rows put to a fitted model, equal ones once."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from unswayed._core.dyadic import enclose, nearest
from unswayed._core.influence import MadeRows, WeightRows
from unswayed._core.parallel import one_blas_thread
from unswayed._core.rounding import above, below, ordinary_arithmetic
from unswayed._core.sandwich import Bounds
from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.engines.protocol import Certifier
from unswayed.engines.rational import ExactRow, RationalEngine
from unswayed.engines.rows import CombinationRows, FeatureRows, UnitRows
from unswayed.engines.selection import ExactEngine
from unswayed.estimators.label_code import LabelCode
from unswayed.estimators.standard_errors import linear_errors
from unswayed.exceptions import InputError
from unswayed.inputs import frame_like
from unswayed.labels.budgets import Budget, Count
from unswayed.margins.decisions import Decision, Margins
from unswayed.margins.verdicts import EXACT, RATIONAL, Answer, close_calls
from unswayed.models.learner import Scores, Solution
from unswayed.results.certificates import CertificateSet, MinimumBudgets, Verdict, Witness
from unswayed.results.curves import Summary
from unswayed.results.groups import StandardErrors

if TYPE_CHECKING:
    from unswayed.estimators.three_numbers import Asked

_QUICK = 2**24  # training rows, times rows in question, times parameters
_FEW = 2**20  # numbers: 8 MB, kept as long as the certificates are


@dataclass(frozen=True, slots=True, eq=False)
class Stated:
    """What a certificate file states of each row, beside its verdict."""

    low: FloatArray  # No score beyond these is reached
    high: FloatArray  # No score beyond these is reached
    least: MinimumBudgets  # NaN where nothing is said


@dataclass(frozen=True, eq=False, kw_only=True)
class Question:
    """Rows put to a fitted model, with all that it takes to answer even after another fit."""

    in_memory: ClassVar[bool] = True  # the training rows
    engine: ExactEngine
    targets: FloatArray  # training labels as numbers
    code: LabelCode
    weights: WeightRows
    group: IntArray  # the distinct row of each row
    scores: Scores  # of the distinct rows, like the margins
    decision: Decision
    origin: Any  # the user's rows: a frame of their library is given back
    resolve: bool  # in rational arithmetic, what rounding leaves open
    trusted: tuple[str, ...] = ()  # what the caller vouched for
    seen: Any = None  # rows as the final estimator sees them
    estimator: Any = None  # fitted, the model behind it
    solution: Solution | None = None  # what training left; None for all coefficients, one batch
    coefficients: Callable[[], tuple[CertificateSet, Sequence[str]] | None] = lambda: None
    _settled: dict[int, ExactRow] = field(default_factory=dict)

    @cached_property
    def margins(self) -> Margins:
        """How far the score of each distinct row may move."""
        found = self.decision.margins(self.scores)
        # Copies: close calls are overwritten, and a decision may hand out what it uses again.
        return Margins(*(np.array(getattr(found, each.name)) for each in fields(Margins)))

    @property
    def offsets(self) -> tuple[FloatArray, FloatArray]:
        """How far each training label may fall and rise."""
        return self.engine.bias.lower, self.engine.bias.upper

    @property
    def positive(self) -> BoolArray:
        """Which rows are predicted to be of the second class, where classes are predicted."""
        above = self.scores.value > self.decision.value  # type: ignore[attr-defined]
        return np.asarray(above[self.group], dtype=bool)

    # --- rational arithmetic --------------------------------------------------------------

    @cached_property
    def _rational(self) -> RationalEngine:
        return RationalEngine(self.engine.learner.specification, self.engine.bias, self.targets)

    def _exactly(self, rows: IntArray) -> Iterator[tuple[int, ExactRow]]:
        """Return some of the distinct rows in rational arithmetic, each computed once."""
        missing = np.array([row for row in rows.tolist() if row not in self._settled], dtype=int)
        if len(missing):
            if isinstance(self.weights, FeatureRows):
                found = self._rational.rows(self.weights.represented.take(missing))
            else:
                assert isinstance(self.weights, UnitRows | CombinationRows)  # noqa: S101  (no other)
                found = self._rational.combinations(self.weights.combinations(missing))
            self._settled.update(zip(missing.tolist(), found, strict=True))
        return ((row, self._settled[row]) for row in rows.tolist())

    # --- answers --------------------------------------------------------------------------

    def with_effort(self, effort: int) -> "Question":
        """Return the same question, to be answered with more or less effort."""
        raise InputError(
            f"effort={effort!r} is for models that are not linear in their labels, such as "
            "LogisticRegression: these certificates are exact; leave it out"
        )

    def exact(self, budget: Budget) -> Answer:
        """Return the answer by selection alone."""
        found = Answer.of(self.engine.reach(self.weights, budget), self.margins)
        return self._whatever_the_batch(found, self.engine, budget)

    def judged(self, certifier: Certifier, budget: Budget) -> Answer:
        """Return the answer that follows from the bounds of a certifier."""
        assert isinstance(self.weights, FeatureRows)  # noqa: S101  (coefficients have no other)
        found = Answer.of(certifier.bounds(self.weights, budget, self.margins), self.margins)
        return self._whatever_the_batch(found, certifier, budget)

    def by_least(self, budget: Budget) -> Answer:
        """Return the verdicts that follow from minimum budgets, and ranges that say nothing."""
        least, amount = self._least, budget.amount
        # Ranges decide where a little less or more would be another verdict: they say the same
        # in every batch. Amounts that are no counts have no next one: all rows are asked about.
        near = (least.low - 1 <= amount) & (amount <= least.high)
        near |= np.isposinf(least.low) & (amount >= self.engine.precision.n_movable)
        near |= not isinstance(budget, Count)
        answer = self._sharpened(self._decided(least, amount, near), budget)
        return self._whatever_the_batch(answer, self.engine, budget)

    def _decided(self, least: MinimumBudgets, amount: float, near: BoolArray) -> Answer:
        """Return verdicts that follow from minimum budgets, but for rows that are `near`."""
        endless = np.full(len(self.weights), np.inf)
        bounds = Bounds.outside(endless, endless.copy(), np.zeros(len(endless))).decided_as(
            within=np.asarray((least.low > amount) & ~near),
            beyond=np.asarray((least.high <= amount) & ~near),
            close=np.zeros(len(endless), dtype=bool),
        )
        return Answer.of(bounds, self.margins)

    def _whatever_the_batch(self, answer: Answer, certifier: Certifier, budget: Budget) -> Answer:
        """Ask again about each row that is a close call, by itself: its batch then plays no part.

        Scores and margins of these rows are overwritten, too: they are as right as the others.
        """
        if self.solution is None or not isinstance(self.weights, FeatureRows | CombinationRows):
            return answer
        known = np.isfinite(self.scores.error)
        for row in np.flatnonzero(close_calls(answer.bounds, self.margins) & known).tolist():
            alone = self.weights.take(np.array([row]))
            scores = alone.scores(self.solution)
            margins = self.decision.margins(scores)
            with one_blas_thread:
                bounds = (
                    certifier.bounds(alone, budget, margins)
                    if isinstance(alone, FeatureRows)
                    else self.engine.reach(alone, budget)
                )
            answer.put(np.array([row]), Answer.of(bounds, margins))
            self.scores.value[row], self.scores.error[row] = scores.value[0], scores.error[0]
            for each in fields(Margins):
                getattr(self.margins, each.name)[row] = getattr(margins, each.name)[0]
        return answer

    def _sharpened(self, answer: Answer, budget: Budget) -> Answer:
        """Ask selection about rows that bounds alone leave open: cheaper than fractions."""
        open_rows = np.flatnonzero((answer.verdict == Verdict.UNDECIDED) & (answer.method != EXACT))
        if len(open_rows) and isinstance(self.weights, FeatureRows):
            found = self.engine.reach(self.weights.take(open_rows), budget)
            answer.put(open_rows, Answer.of(found, self.margins[open_rows]))
        return answer

    def certificates(
        self,
        answer: Answer,
        budget: Budget,
        names: tuple[str, ...] | None = None,
    ) -> CertificateSet:
        """Return an answer as certificates, settled in rational arithmetic if `resolve`."""
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
        prediction = self.decision.predict(columns["score"])
        for at, row in self._settled.items():
            prediction[at] = self.decision.predict_exactly(row.score)
        return CertificateSet(
            score=columns["score"][self.group],
            low=columns["low"][self.group],
            high=columns["high"][self.group],
            inner_low=columns["inner_low"][self.group],
            inner_high=columns["inner_high"][self.group],
            error=columns["error"][self.group],
            verdict=answer.verdict[self.group],
            budget=budget.amount,
            question=f"{self.decision} if {budget}",
            prediction=prediction[self.group],
            trusted=self.trusted,
            method=answer.method[self.group],
            names=names,
            source=self,
        )

    def _settle(self, answer: Answer, budget: Budget, columns: dict[str, FloatArray]) -> None:
        """Overwrite rows that are undecided, or of infinite error, by rational arithmetic."""
        unknown = (answer.verdict == Verdict.UNDECIDED) | ~np.isfinite(columns["error"])
        for at, row in self._exactly(np.flatnonzero(unknown)):
            up, down = row.reach(budget)
            overturned = row.overturned(self.decision.limits(row.score), budget)
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

    @ordinary_arithmetic()
    def minimum_budgets(self) -> MinimumBudgets:
        """Return the least number of wrong labels that overturns each row."""
        return self._least[self.group]

    @cached_property
    def _least(self) -> MinimumBudgets:
        """Minimum budgets of the distinct rows."""
        with one_blas_thread:  # rows that rounding leaves open are asked about one by one
            found = self.engine.minimum_budget(self.weights, self.margins)
        if self.resolve:
            for at, row in self._exactly(np.flatnonzero(~found.proven)):
                found.low[at] = found.high[at] = row.minimum_budget(self.decision.limits(row.score))
        return found

    def claim(self, row: int) -> int | None:
        """Return the prediction of a row as a certificate file states it."""
        at = int(self.group[row])
        # A double may round an exact score onto the threshold.
        exact = self._settled.get(at)
        return self.decision.claim(
            exact.score if exact is not None else Fraction(float(self.scores.value[at]))
        )

    @property
    def quick(self) -> bool:
        """Whether a summary takes no time worth mentioning."""
        if not self.in_memory or not isinstance(self.engine.bias.budget, Count):
            return False
        numbers = self.engine.learner.n_rows * len(self.group)
        return numbers * (1 + self.engine.influence.width) <= _QUICK

    def summary(self, certificates: CertificateSet, seed: int) -> Summary:
        """Return what wrong labels do to these rows one at a time, together and at random."""
        from unswayed.estimators.three_numbers import summary_of  # noqa: PLC0415  (a circle)

        return summary_of(self.asked(), certificates, seed=seed)

    def asked(self) -> "list[Asked]":
        """Return the question with the places of its training rows, for summaries."""
        from unswayed.estimators.three_numbers import Asked  # noqa: PLC0415  (a circle)

        return [Asked(self, np.arange(self.engine.learner.n_rows))]

    @cached_property
    def _made_once(self) -> WeightRows:
        """The weights, made all at once where they are few: one by one takes far longer."""
        if len(self.weights) * self.engine.influence.width > _FEW:
            return self.weights
        return MadeRows(self.weights.block(0, len(self.weights)))

    @ordinary_arithmetic()
    def changes(self, row: int, budget: Budget) -> tuple[IntArray, FloatArray, float]:
        """Return the smallest set of label changes that overturns a row.

        Where rounding hides whether fewer labels would do, it has as many as are proven to be
        enough; with `resolve` it is always the smallest.
        """
        at = int(self.group[row])
        found = None
        if at not in self._settled:
            found = self.engine.changes(
                self._made_once, at, self.margins, budget, smallest=self.resolve
            )
        if found is None:  # rounding hides it
            ((_, exact),) = self._exactly(np.array([at]))
            rows, added, moved = exact.changes(self.decision.limits(exact.score), budget)
            return rows, added, nearest(exact.score + moved)
        rows, added, shift = found
        return rows, added, float(self.scores.value[at] + shift)

    def witness(self, row: int, amount: float) -> Witness:
        """Return the smallest set of label changes, `amount` at most, that overturns a row."""
        rows, added, score = self.changes(row, self.engine.bias.budget.sized(amount))
        return Witness(rows, self.code.decode(self.targets[rows] + added), score)

    def standard_errors(self) -> StandardErrors:
        """Return by how much chance in the sample moves the numbers that are asked about."""
        found = linear_errors(self.engine.learner, self.targets, self.weights)
        return replace(found, values=found.values[self.group])

    def stated(self, certificates: CertificateSet) -> "Stated":
        """Return the numbers that a certificate file states."""
        return Stated(certificates.low, certificates.high, certificates.minimum_budgets)

    def stated_changes(self, row: int, budget: Budget) -> tuple[IntArray, FloatArray]:
        """Return the label changes that a certificate file states for a row that is overturned."""
        return self.changes(row, budget)[:2]

    def proof(self, budget: Budget) -> dict[str, Any]:
        """Return what a certificate file needs beside the question to prove its claims."""
        return {}

    def save(self, certificates: CertificateSet, path: Path, data: Path | None) -> None:
        """Write a certificate file, and beside it, if wanted, the data that it is about."""
        # The writer asks for all that is here, so that it is above this file.
        from unswayed.estimators.certificate_file import write_certificates, write_data  # noqa: PLC0415

        if data is not None:
            write_data(self, data)
        write_certificates([certificates], path)

    def report(
        self,
        certificates: CertificateSet,
        path: Path,
        table: Any,
        groups: Sequence[str],
        y_true: Any,
    ) -> None:
        """Write a page about certificates."""
        # The charts' libraries take a second: only those who want a page pay for them.
        try:
            from unswayed.estimators.report import write_report  # noqa: PLC0415
        except ModuleNotFoundError as error:
            raise ImportError(
                f"a report needs {error.name}, which is not installed: "
                'pip install "unswayed[report]"'
            ) from error
        write_report(self, certificates, path, table, groups, y_true)

    def frame(self, columns: dict[str, Any]) -> Any:
        """Return columns as a frame of the library the rows came in."""
        return frame_like(self.origin, columns)
