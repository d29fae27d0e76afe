"""What a fit leaves behind: one object that never changes.

A new fit makes a new one and puts it in the old one's place by one assignment. Every call takes
the one it finds and keeps to it, so that no answer is made of two fits.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import validate_data

from unswayed._typing import FloatArray
from unswayed.engines.cascade import Cascade
from unswayed.engines.protocol import Certifier
from unswayed.engines.rows import UnitRows
from unswayed.engines.selection import ExactEngine
from unswayed.estimators.label_code import Reading
from unswayed.estimators.question import Question
from unswayed.exceptions import (
    InputError,
    SolverPrecisionWarning,
    UnprovenWarning,
    warn_asker,
)
from unswayed.inputs import refuse_masked
from unswayed.labels.bias import ResolvedBias
from unswayed.margins.decisions import Decision
from unswayed.models.family import family_of, feature_names
from unswayed.models.learner import Learner, LinearLearner, Scores, Solution, with_coefficients
from unswayed.models.steps import as_matrix, final_estimator, transform_rows
from unswayed.validation import Schema, check_numeric_frame, for_pipeline

# Own scores and the wrapped estimator's agree to this, relative to the largest score.
_PRECISION = 1e-9

_NAMED = 20  # rows that a warning names

CHECKED = 1000
"""Most rows on which that is checked: a kernel of all pairs of rows may not fit into memory."""


def validated(door: Any, X: Any, *, reset: bool) -> Any:
    """Return rows ready for the wrapped estimator.

    For a bare estimator they are checked and made doubles. A pipeline's steps check values
    themselves, and may take texts, so that for one little but the columns is checked here.
    """
    refuse_masked(X, "X")
    if getattr(getattr(X, "dtype", None), "kind", "") in ("m", "M"):
        raise InputError("X holds dates or durations; turn them into numbers, a date into a year")
    if type(door.estimator) is not Pipeline:
        check_numeric_frame(X)
        try:
            return validate_data(door, X, accept_sparse="csr", dtype=np.float64, reset=reset)
        except OverflowError:
            raise InputError("X holds a number that is too large for a double") from None
    rows = for_pipeline(X)
    validate_data(door, rows, skip_check_array=True, reset=reset)
    if count_rows(rows) == 0:
        raise InputError("X has no rows")
    return rows


def count_rows(rows: Any) -> int:
    """Return the number of rows."""
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)


@dataclass(frozen=True, eq=False)
class Trained:
    """A learner that was trained on labels, and who certifies what it says under a bias."""

    learner: Learner
    solution: Solution
    engine: ExactEngine
    cascade: Certifier  # the certifier "auto"

    @classmethod
    def of(cls, learner: Learner, labels: FloatArray, bias: ResolvedBias) -> "Trained":
        """Train a learner."""
        engine = ExactEngine(learner, bias)
        return cls(learner, learner.solve(labels), engine, Cascade(engine))


@dataclass(frozen=True, eq=False, kw_only=True)
class Fitted:
    """A fitted model and what its certificates start from."""

    door: Any  # Unfitted, but for the columns it was shown: it checks those of other rows
    schema: Schema | None  # Kinds of the columns, where they came in a frame
    like: Any  # An empty frame of the training frame's library
    estimator: Any
    model: Trained  # The same as certifiers see it
    # What the decision looks at: the model, or the model less the mean of the labels
    scored: Trained
    labels: Reading
    trusted: tuple[str, ...]  # What the caller vouched for
    _told: set[str] = field(default_factory=set)  # warnings are given once per fit
    direct_solver: ClassVar[str] = "cholesky"  # of these estimators, that never stops early

    @property
    def final(self) -> Any:
        """The fitted final estimator."""
        return final_estimator(self.estimator)

    @property
    def learner(self) -> Learner:
        """The model as certifiers see it."""
        return self.model.learner

    @property
    def engine(self) -> ExactEngine:
        """The engine behind the model."""
        return self.model.engine

    @property
    def reference(self) -> float:
        """What scores are measured from: 0, or the mean of the labels if that is the threshold."""
        return self.scored.learner.reference(self.targets)

    _way_out = " unless it is resolved in rational arithmetic (resolve='exact')"

    @property
    def n_rows(self) -> int:
        """Number of training rows."""
        return self.learner.n_rows

    @property
    def largest_label(self) -> float:
        """Largest absolute label, as a number."""
        return float(np.abs(self.targets).max())

    def need_rows(self, what: str) -> None:
        """Raise if the training rows are not in memory."""

    def need_linear(self, what: str) -> None:
        """Raise if the model is not linear in its labels."""

    def question(self, **asked: Any) -> Question:
        """Put rows to the model."""
        return Question(**asked)

    @property
    def targets(self) -> FloatArray:
        """Training labels as numbers."""
        return self.labels.targets

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the final estimator's features."""
        given = getattr(self.door, "feature_names_in_", None)
        return feature_names(self.estimator, given, self.linear_learner.n_features)

    @property
    def linear_learner(self) -> LinearLearner:
        """The learner; raises if it has no coefficients."""
        return with_coefficients(self.learner, type(self.final).__name__)

    def parameters(self, count: int) -> Scores:
        """Return the first `count` parameters as trained, in the user's units."""
        return UnitRows(self.linear_learner, count).scores(self.model.solution)

    def features(self, X: Any) -> Any:
        """Return rows as the final estimator sees them, behind all steps of a pipeline."""
        if self.schema is not None:
            self.schema.check(X)
        rows = transform_rows(self.estimator, validated(self.door, X, reset=False))
        return as_matrix(rows) if family_of(self.final).keeps_rows(self.final) else rows

    def raw(self, features: Any) -> FloatArray:
        """Return scores as the wrapped estimator itself computes them, less the `reference`."""
        score = getattr(self.final, family_of(self.final).score)
        return np.asarray(score(features), dtype=np.float64).ravel() - self.reference

    def check_predictions(self, features: Any, decision: Decision, certified: NDArray[Any]) -> None:
        """Warn, naming rows, if the wrapped estimator predicts other classes than are certified.

        Only after `check_precision` has warned, and only for classes: numbers always differ then.
        """
        if not self._told or self.labels.decision is None:
            return
        rows = np.flatnonzero(decision.predict(self.raw(features)) != certified)
        if not len(rows):
            return
        named = ", ".join(map(str, rows[:_NAMED].tolist())) + (", …" if len(rows) > _NAMED else "")
        warn_asker(
            f"predict says another class than the exact solution, which is what is certified, for "
            f"{len(rows)} of {len(certified)} rows ({named}), because the solver of "
            f"{type(self.final).__name__} stopped early; a smaller tol (tol=1e-12), or a direct "
            f"solver (solver={self.direct_solver!r}), closes the gap",
            SolverPrecisionWarning,
        )

    def check_precision(self, features: Any, score: FloatArray) -> None:
        """Warn, once per fit, if the estimator's own scores differ, or nothing can be proven."""
        if self._told:
            return
        score = score[:CHECKED]
        raw = self.raw(features[: len(score)])
        # Against the labels too: a score that is 0 in theory has no size of its own.
        scale = max(float(np.abs(raw).max()), self.largest_label) or 1.0
        gap = float(np.abs(score - raw).max()) / scale
        proven = self.engine.precision.proven
        if gap <= _PRECISION and proven:
            return
        kind = type(self.final).__name__
        message = (
            f"{kind}'s own scores differ by {gap:.1e} (relative) from those of the solution its "
            "definition asks for, and certificates are about that solution. An iterative solver "
            "wants a smaller tol, a singular problem alpha > 0"
        )
        if not proven:
            message = (
                f"this {kind} problem is too close to singular for proofs in double precision "
                f"(or its sample weights are too far apart): every verdict is UNDECIDED"
                f"{self._way_out}; alpha > 0 would make it regular"
            )
        self._told.add(message)
        category = SolverPrecisionWarning if proven else UnprovenWarning
        warn_asker(message, category)
