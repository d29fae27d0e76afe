"""Fits of models whose labels are in the gradient, and the questions that they answer."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from unswayed._core.rounding import ordinary_arithmetic
from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.engines.protocol import Certifier
from unswayed.engines.region.engine import EFFORTS, Directions, SecantEngine
from unswayed.engines.region.least import LeastBudgets
from unswayed.engines.rows import CombinationRows, FeatureRows, UnitRows
from unswayed.estimators.fitted import CHECKED, Fitted, Trained
from unswayed.estimators.question import Question, Stated
from unswayed.estimators.region_file import region_document, safe_labels, wider_ends
from unswayed.estimators.standard_errors import gradient_errors
from unswayed.exceptions import (
    BiasError,
    InputError,
    SolverPrecisionWarning,
    UnprovenWarning,
    warn_asker,
)
from unswayed.labels.bias import LabelBias, ResolvedBias
from unswayed.labels.budgets import Budget, Count
from unswayed.margins.decisions import Decision
from unswayed.margins.verdicts import Answer, judge
from unswayed.models.gradient.family import GradientLearner
from unswayed.models.gradient.problem import stiff_columns
from unswayed.results.certificates import CertificateSet, MinimumBudgets, Verdict, verdicts
from unswayed.results.groups import StandardErrors

_EARLY = 0.02  # log-odds by which a solver's own scores may differ, relative to scores beyond 1
_STIFF = 2.0**-12  # of its size: a column that varies by less troubles solvers
_NAMED = 4  # columns that a warning names

REGION, ATTACK = "region", "attack"


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedGradient(Fitted):
    """A fit of logistic or Poisson regression."""

    direct_solver: ClassVar[str] = "newton-cholesky"

    @classmethod
    def of(
        cls,
        learner: GradientLearner,
        bias: LabelBias,
        resolved: ResolvedBias,
        made: dict[str, Any],
    ) -> "FittedGradient":
        """Prepare certificates of a fitted model."""
        labels = made["labels"]
        _check_bias(bias, resolved, labels.targets, classes=labels.decision is not None)
        centre = learner.centre(labels.targets)
        engine = SecantEngine(learner, labels.targets, centre, resolved)
        solution = learner.solution(centre)
        trained = Trained(learner, solution, cast(Any, engine), cast(Any, engine))
        return cls(**made, model=trained, scored=trained)

    @property
    def secant(self) -> SecantEngine:
        """The engine behind the model."""
        return cast(SecantEngine, self.model.engine)

    def need_rows(self, what: str) -> None:
        """Raise: questions about many rows at once are for models that are linear in labels."""
        self.need_linear(what)

    def need_linear(self, what: str) -> None:
        """Raise: the model is not linear in its labels."""
        raise InputError(
            f"{what} is for models that are linear in their labels, and "
            f"{type(self.final).__name__} is not; certify(X) works, and so does {what} of a "
            "RidgeClassifier or Ridge on the same rows"
        )

    def question(self, **asked: Any) -> "GradientQuestion":
        """Put rows to the model."""
        if asked["resolve"]:
            self.need_linear("resolve='exact'")
        directions = Directions.of(_directions(asked["weights"]))
        asked["scores"] = self.secant.scores(directions)
        return GradientQuestion(**asked, directions=directions)

    def raw(self, features: Any) -> FloatArray:
        """Return scores as the wrapped estimator itself computes them: log-odds, or log counts."""
        if hasattr(self.final, "decision_function"):
            return super().raw(features)
        with np.errstate(divide="ignore"):
            return np.log(np.asarray(self.final.predict(features), dtype=np.float64))

    def check_predictions(self, features: Any, decision: Decision, certified: NDArray[Any]) -> None:
        """Warn, naming rows, if the wrapped estimator predicts other classes than are certified."""
        if not self.secant.proven:
            return  # nothing is certified, and users were told why
        self._told.add("")
        super().check_predictions(features, decision, certified)

    def check_precision(self, features: Any, score: FloatArray) -> None:
        """Warn, once per fit, if the solver stopped early, or nothing can be proven."""
        if self._told:
            return
        score = score[:CHECKED]
        with np.errstate(invalid="ignore"):
            off = np.abs(score - self.raw(features[: len(score)])) / np.maximum(np.abs(score), 1.0)
        gap = float(off.max(initial=0.0))
        kind, proven = type(self.final).__name__, self.secant.proven
        if not proven:
            message = (
                f"no minimiser of this {kind} problem could be enclosed: every verdict is "
                "UNDECIDED. Without a penalty, classes that a plane separates have none, and "
                "columns that depend on one another have many; labels that are all alike, apart "
                "from those of weight 0, have none either. A penalty that is neither tiny nor "
                "huge makes most problems regular" + self._stiff_columns()
            )
        elif not gap <= _EARLY:
            message = (
                f"the solver of {kind} stopped early: its scores differ by up to {gap:.2g} (of "
                "scores beyond 1, relatively) from those of the minimiser, which certificates are "
                "about; a smaller tol (tol=1e-8) and a larger max_iter close the gap"
                + self._stiff_columns()
            )
        else:
            return
        self._told.add(message)
        warn_asker(message, SolverPrecisionWarning if proven else UnprovenWarning)

    def _stiff_columns(self) -> str:
        """Return what to do about columns whose numbers are large and nearly equal, if any."""
        matrix = cast(GradientLearner, self.learner).specification.matrix
        stiff = set() if matrix is None else set(stiff_columns(matrix, _STIFF).tolist())
        same = set() if matrix is None else set(stiff_columns(matrix, 0.0).tolist())
        found = ""
        if named := self._named(stiff - same):
            found += (
                f"; the numbers of {named} are large beside how far they vary, which takes all "
                "digits from solvers: standardise such columns (StandardScaler)"
            )
        if named := self._named(same):
            found += f"; {named} never varies, as little as an intercept does: leave it out"
        return found

    def _named(self, columns: set[int]) -> str:
        return ", ".join(repr(self.names[column]) for column in sorted(columns)[:_NAMED])


def _directions(rows: Any) -> FloatArray:
    """Return rows, coefficients or contrasts as directions in parameter space."""
    if isinstance(rows, FeatureRows):
        return rows.directions(slice(None))
    assert isinstance(rows, UnitRows | CombinationRows)  # noqa: S101  (no other)
    return rows.directions(0, len(rows))


def _check_bias(
    bias: LabelBias, resolved: ResolvedBias, targets: FloatArray, *, classes: bool
) -> None:
    """Raise for a bias whose labels the model could not be trained on."""
    if not isinstance(resolved.budget, Count):
        raise BiasError(
            f"this model is certified for budgets that are a number of labels, and this one is a "
            f"{type(resolved.budget).__name__}; pass a count or a share"
        )
    if classes and bias.kind != "flips":
        raise BiasError(
            f"a LogisticRegression is trained on classes, and {bias.kind} lets labels be between "
            "them; use LabelBias.flips"
        )
    if not classes:
        for row in np.flatnonzero(targets + resolved.lower < 0)[:1]:
            raise BiasError(
                f"the bias lets the count {targets[row]:g} at row {row} fall below 0, where the "
                "model is not defined; pass clip=(0, None)"
            )


@dataclass(frozen=True, eq=False, kw_only=True)
class GradientQuestion(Question):
    """Rows put to a model whose labels are in the gradient."""

    directions: Directions
    effort: int = 1
    _judged: dict[int, tuple[BoolArray, BoolArray]] = field(default_factory=dict, init=False)
    _written: dict[int, tuple[IntArray, FloatArray]] = field(default_factory=dict, init=False)

    @property
    def quick(self) -> bool:
        """No: every random draw is another fit."""
        return False

    @property
    def _secant(self) -> SecantEngine:
        return cast(SecantEngine, self.engine)

    def with_effort(self, effort: int) -> "GradientQuestion":
        """Return the same question, to be answered with more or less effort."""
        if isinstance(effort, bool) or effort not in EFFORTS:
            raise InputError(f"effort must be 0, 1 or 2, got {effort!r}")
        return replace(self, effort=effort)

    def exact(self, budget: Budget) -> Answer:
        """Return bounds by regions, and what attacks found."""
        labels = int(min(budget.most_labels, self._secant.moves.n_movable))
        bounds, attacked = self._secant.bounds(self.directions, labels, self.margins, self.effort)
        robust, broken = judge(bounds, self.margins)
        self._judged[labels] = robust, broken
        if attacked is not None:
            self._budgets.remember(attacked, broken)
        method = np.where(broken, ATTACK, REGION).astype("<U13")
        return Answer(bounds, verdicts(broken, ~robust & ~broken), method)

    def judged(self, certifier: Certifier, budget: Budget) -> Answer:
        """Return bounds by regions, and what attacks found."""
        return self.exact(budget)

    def by_least(self, budget: Budget) -> Answer:
        """Return bounds by regions, and what attacks found: ranges cost nothing more."""
        return self.exact(budget)

    def certificates(
        self, answer: Answer, budget: Budget, names: tuple[str, ...] | None = None
    ) -> CertificateSet:
        """Return an answer as certificates."""
        found = super().certificates(answer, budget, names)
        learner = cast(GradientLearner, self.engine.learner)
        return replace(found, link=None if names else learner.problem.link.name)

    @cached_property
    def _budgets(self) -> LeastBudgets:
        return LeastBudgets(self._secant, self.directions, self.margins, self.effort)

    @cached_property
    def _least(self) -> MinimumBudgets:
        """Minimum budgets of the distinct rows."""
        found = self._budgets.bounds()
        low, high = found.low, found.high
        # A budget by itself may get a sharper region, or a stronger attack, than a search over all.
        for labels, (robust, broken) in self._judged.items():
            if labels < self._secant.moves.n_movable:
                low = np.where(robust, np.maximum(low, labels + 1.0), low)
            high = np.where(broken, np.minimum(high, labels), high)
        return MinimumBudgets(low, high)

    @ordinary_arithmetic()
    def changes(self, row: int, budget: Budget) -> tuple[IntArray, FloatArray, float]:
        """Return a small set of label changes within a budget that overturns a row."""
        at = int(self.group[row])
        index, amounts, moved = self._budgets.witness(at, self._labels(budget))
        return *self._moved(index, amounts), float(self.scores.value[at] + moved)

    def stated_changes(self, row: int, budget: Budget) -> tuple[IntArray, FloatArray]:
        """Return what `stated` counted: to leave out labels one by one would take minutes."""
        return self._written[int(self.group[row])]

    def _moved(self, index: IntArray, amounts: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return the training rows whose labels change, and what is added to these."""
        engine = self._secant
        rows, _ = engine.moves.members(index, amounts)
        rises = np.isin(rows, _rising(engine, index, amounts))
        return rows, np.where(rises, engine.bias.upper[rows], engine.bias.lower[rows])

    def _labels(self, budget: Budget) -> int:
        """Return how many labels a budget lets change."""
        return int(min(budget.most_labels, self._secant.moves.n_movable))

    def standard_errors(self) -> StandardErrors:
        """Return by how much chance in the sample moves the numbers that are asked about."""
        found = gradient_errors(self._secant, self.directions)
        return replace(found, values=found.values[self.group])

    def stated(self, certificates: CertificateSet) -> Stated:
        """Return the numbers that a certificate file states: such as its region proves."""
        low, high = wider_ends(certificates, self.margins[self.group])
        return Stated(low, high, self._stated_budgets(certificates))

    def _stated_budgets(self, certificates: CertificateSet) -> MinimumBudgets:
        """Return from and to how many labels overturn rows that are not robust."""
        budget = self.engine.bias.budget.sized(certificates.budget)
        labels, known = self._labels(budget), np.isfinite(self.margins.slack)
        low, high = np.full((2, len(self.directions)), np.nan)
        first = np.unique(self.group, return_index=True)[1]
        left = np.flatnonzero((certificates.verdict[first] != Verdict.ROBUST) & known)
        directions, margins = self.directions.take(left), self.margins[left]
        low[left] = 1.0 + safe_labels(self._secant, directions, margins, labels, self.effort)
        high[left] = np.inf
        broken = left[certificates.verdict[first[left]] == Verdict.NOT_ROBUST]
        found = self._budgets.overturning(broken, low[broken].astype(np.intp), labels)
        for row, changed in zip(broken.tolist(), found, strict=True):
            self._written[row] = self._moved(*changed)
            high[row] = len(self._written[row][0])
        return MinimumBudgets(low, high)[self.group]

    def proof(self, budget: Budget) -> dict[str, Any]:
        """Return the region that no admissible labels lead out of."""
        return {"region": region_document(self._secant, self._labels(budget))}


def _rising(engine: SecantEngine, index: Any, amounts: FloatArray) -> Any:
    up = amounts > 0
    return engine.moves.members(index[up], amounts[up])[0]
