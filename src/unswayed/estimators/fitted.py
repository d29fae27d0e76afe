"""What a fit leaves behind: one object that never changes.

A new fit makes a new one and puts it in the old one's place by one assignment. Every call takes
the one it finds and keeps to it, so that no answer is made of two fits.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import validate_data

from unswayed._typing import FloatArray
from unswayed.engines.choice import Trained
from unswayed.engines.protocol import Engine
from unswayed.exceptions import (
    InputError,
    SolverPrecisionWarning,
    UnprovenWarning,
    VacuousWarning,
    warn_asker,
)
from unswayed.inputs import refuse_masked, take_rows
from unswayed.margins.decisions import Decision
from unswayed.models.family import family_of, feature_names
from unswayed.models.gradient.problem import stiff_columns
from unswayed.models.learner import Learner, Parametric
from unswayed.models.steps import (
    Schema,
    as_matrix,
    check_numeric_frame,
    final_estimator,
    for_pipeline,
    transform_rows,
)
from unswayed.results.certificates import ALMOST_ALL, FEW_ROWS, CertificateSet


@dataclass(frozen=True, slots=True, eq=False)
class LabelCode:
    """How labels are coded as numbers, and how to turn such numbers into labels again."""

    classes: NDArray[Any] | None = None  # (negative, positive), as the user writes them
    positive: float = 1.0  # of two classes, the number that stands for the positive one
    shifted: bool = False  # labels are numbers, however many of them happen to land on a class

    def decode(self, targets: FloatArray) -> NDArray[Any]:
        """Return labels as the user writes them; numbers of no class stay as they are."""
        if self.classes is None or self.shifted:
            return targets
        if len(self.classes) > 2:  # numbers of classes
            return np.asarray(self.classes[targets.astype(np.intp)])
        return np.asarray(self.classes[(targets == self.positive).astype(np.intp)])


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """Training labels as a model reads them."""

    targets: FloatArray  # Labels as numbers, which scores are linear in
    to_fit: NDArray[Any]  # What the wrapped estimator is trained on
    code: LabelCode
    flip_between: tuple[float, float] | None = None  # The numbers that stand for two classes
    decision: Decision | None = None  # Which class a score stands for, where labels are classes

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 where labels are numbers."""
        return 0 if self.code.classes is None else len(self.code.classes)


# --- Checks of solvers: the wrapped estimator may stop before it reaches the solution ---------


_STIFF = 2.0**-12  # of its size: a column that varies by less troubles solvers
_NAMED_COLUMNS = 4  # columns that a warning names


@dataclass(frozen=True, slots=True)
class SolverCheck:
    """How far scores of an estimator may be from those of the solution, and what is said then."""

    gap: Callable[[FloatArray, FloatArray, float], float]  # of scores, own scores, largest label
    tolerance: float
    early: str  # what is said of a larger gap
    unproven: str  # and where nothing can be proven
    direct_solver: str  # of these estimators, one that never stops early
    always: bool = False  # predictions are compared even where no gap was seen
    near: float = 0.0  # and if not, for scores that are so close to the threshold
    advice: Callable[[Any], str] | None = None


def _relative_gap(score: FloatArray, own: FloatArray, largest: float) -> float:
    # Against the labels too: a score that is 0 in theory has no size of its own.
    scale = max(float(np.abs(own).max()), largest) or 1.0
    return float(np.abs(score - own).max()) / scale


def _log_gap(score: FloatArray, own: FloatArray, largest: float) -> float:
    with np.errstate(invalid="ignore"):
        off = np.abs(score - own) / np.maximum(np.abs(score), 1.0)
    return float(off.max(initial=0.0))


_EARLY = (
    "{kind}'s own scores differ by {gap:.1e} (relative) from those of the solution its definition "
    "asks for, and certificates are about that solution. An iterative solver wants a smaller tol, "
    "a singular problem alpha > 0"
)


def _singular(way_out: str) -> str:
    return (
        "this {kind} problem is too close to singular for proofs in double precision (or its "
        f"sample weights are too far apart): every verdict is UNDECIDED{way_out}; alpha > 0 would "
        "make it regular"
    )


def _stiff_columns(fitted: Any) -> str:
    """Return what to do about columns whose numbers are large and nearly equal, if any."""
    matrix = fitted.learner.specification.matrix
    stiff = set() if matrix is None else set(stiff_columns(matrix, _STIFF).tolist())
    same = set() if matrix is None else set(stiff_columns(matrix, 0.0).tolist())

    def named(columns: set[int]) -> str:
        return ", ".join(repr(fitted.names[column]) for column in sorted(columns)[:_NAMED_COLUMNS])

    found = ""
    if names := named(stiff - same):
        found += (
            f"; the numbers of {names} are large beside how far they vary, which takes all "
            "digits from solvers: standardise such columns (StandardScaler)"
        )
    if names := named(same):
        found += f"; {names} never varies, as little as an intercept does: leave it out"
    return found


_GRADIENT = SolverCheck(
    _log_gap,
    0.02,  # log-odds, relative to scores beyond 1
    "the solver of {kind} stopped early: its scores differ by up to {gap:.2g} (of scores "
    "beyond 1, relatively) from those of the minimiser, which certificates are about; a "
    "smaller tol (tol=1e-8) and a larger max_iter close the gap",
    "no minimiser of this {kind} problem could be enclosed: every verdict is UNDECIDED. "
    "Without a penalty, classes that a plane separates have none, and columns that depend on "
    "one another have many; labels that are all alike, apart from those of weight 0, have "
    "none either. A penalty that is neither tiny nor huge makes most problems regular",
    "newton-cholesky",
    always=True,
    advice=_stiff_columns,
)

_RATIONAL = " unless it is resolved in rational arithmetic (resolve='exact')"

CHECKS = {
    "memory": SolverCheck(_relative_gap, 1e-9, _EARLY, _singular(_RATIONAL), "cholesky"),
    # Votes that are equal up to rounding: scikit-learn sums them up in doubles.
    "neighbours": SolverCheck(
        _relative_gap,
        1e-9,
        "{kind}'s own scores differ by {gap:.1e} (relative) from the mean of the labels with the "
        "weights of the neighbours, and certificates are about that mean. A metric, or a function "
        "for the weights, that gives other numbers when it is called again does that",
        _singular(""),
        "",
        near=1e-9,
    ),
    "classes": SolverCheck(
        _relative_gap, 1e-9, _EARLY, _singular(_RATIONAL), "cholesky", near=1e-9
    ),
    "pieces": SolverCheck(_relative_gap, 1e-9, _EARLY, _singular(""), "cholesky"),
    "gradient": _GRADIENT,
    # Which columns trouble the solver is told of one model only.
    "rivals": replace(_GRADIENT, advice=None),
}


# --- What a fit leaves behind: one object that never changes -------------------------------


_NAMED = 20  # rows that a warning names

CHECKED = 1000
"""Most rows on which that is checked: a kernel of all pairs of rows may not fit into memory."""

# What an engine cannot do is missing from its `can`; here is why, by its setting.
_IN_GRADIENT = (
    "{what} is for models that are linear in their labels, and {model} is not; certify(X) works, "
    "and so does {what} of a RidgeClassifier or Ridge on the same rows"
)
_CHOSEN = (
    "{what} is for models whose parameters are fixed, and {model} chooses them by the labels; "
    "certify(X) works, and so does {what} of the chosen model with its parameters as given numbers"
)
_SINGLE_LABELS = (
    "{what} looks at single labels and at what they do to many rows at once, and the training "
    "rows are in pieces; fit on rows that are in memory, a sample of them, say"
)
_OF_VOTES = (
    "{what} looks at what single labels do to many rows at once, which is not known of the "
    "members of a PartitionedClassifier; certify(X) works, and so does {what} of a "
    "RidgeClassifier on the same rows"
)
_REFUSALS: dict[tuple[str, ...], str] = {
    ("classes", "decisions"): (
        "{what} says what must stay the same of one score, and three or more classes have one "
        "score each: the highest decides; leave it out"
    ),
    ("classes", "joint"): (
        "{what} is not offered for three or more classes yet; ask about one class against the rest"
    ),
    **{("rivals", each): _IN_GRADIENT for each in ("bounds", "exact", "joint", "decisions")},
    ("rivals", "files"): (
        "there are no certificate files about several logistic regressions; to_frame() has the "
        "verdicts"
    ),
    **{
        ("candidates", each): _CHOSEN
        for each in "bounds decisions evidence exact files joint pages together".split()
    },
    ("candidates", "effort"): "{what} is for models such as LogisticRegression; leave it out",
    ("gradient", "bounds"): _IN_GRADIENT,
    ("gradient", "exact"): _IN_GRADIENT,
    ("gradient", "joint"): _IN_GRADIENT,
    ("gradient", "evidence"): _IN_GRADIENT,
    ("gradient", "together"): _IN_GRADIENT,
    ("effort",): (
        "{what} is for models that are not linear in their labels, such as LogisticRegression: "
        "these certificates are exact; leave it out"
    ),
    ("votes", "bounds"): (
        "{what} is for models that are linear in their labels, and votes are counted; certify(X) "
        "works"
    ),
    ("votes", "exact"): (
        "{what} settles what rounding leaves open, and votes are counted; leave it out"
    ),
    ("votes", "effort"): (
        "{what} is for models such as LogisticRegression; for votes, exhaustive=1 of the "
        "PartitionedClassifier tries every label of every partition, which decides more rows"
    ),
    **{("votes", each): _OF_VOTES for each in ("evidence", "joint", "together")},
    ("pieces", "exact"): (
        "resolve='exact' is not possible for rows in pieces: rational arithmetic needs all of "
        "them; leave it out, or fit on rows that are in memory"
    ),
    ("pieces", "joint"): _SINGLE_LABELS,
    ("pieces", "together"): _SINGLE_LABELS,
    ("pieces", "evidence"): _SINGLE_LABELS,
    ("pieces", "files"): (
        "a certificate file is about training rows that fit into memory, and these are in pieces; "
        "certify.to_frame() has the verdicts"
    ),
    ("pieces", "pages"): (
        "the page shows labels of training rows, and these are in pieces; unswayed certify writes "
        "a page about folders of files, and to_frame() has the verdicts"
    ),
}


def need(engine: Engine, capability: str, what: str, model: str = "this model") -> None:
    """Raise, with the reason, if an engine cannot do something: the one place that refuses."""
    if capability in engine.can:
        return
    keys = (engine.setting, capability, what), (engine.setting, capability), (capability,)
    reason = next((_REFUSALS[key] for key in keys if key in _REFUSALS), None)
    if reason is None:
        reason = "{what} is not possible for {model}: the engine of this model does not offer it"
    raise InputError(reason.format(what=what, model=model))


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


@dataclass(frozen=True, eq=False, kw_only=True)
class Fitted:
    """A fitted model and what its certificates start from."""

    door: Any  # unfitted, but for the columns it was shown: it checks those of other rows
    schema: Schema | None  # kinds of the columns, where they came in a frame
    like: Any  # an empty frame of the training frame's library
    estimator: Any
    model: Trained  # the same as an engine sees it
    # What the decision looks at: the model, or the model less the mean of the labels
    scored: Trained
    labels: Reading
    trusted: tuple[str, ...]  # what the caller vouched for
    check: SolverCheck  # how far the wrapped estimator may be from the solution
    largest_label: float  # in absolute value, as a number
    # From a user's rows to features, where the training rows are in pieces; else the pipeline does
    encode: Callable[[Any], Any] | None = None
    encoded_names: tuple[str, ...] | None = None
    _warned: set[str] = field(default_factory=set)  # warnings are given once per fit

    @property
    def final(self) -> Any:
        """The fitted final estimator."""
        return final_estimator(self.estimator)

    @property
    def learner(self) -> Learner:
        """The model as its engine sees it."""
        return self.model.learner

    @property
    def engine(self) -> Engine:
        """The engine behind the model."""
        return self.model.engine

    @property
    def n_rows(self) -> int:
        """Number of training rows."""
        return self.learner.n_rows

    @property
    def targets(self) -> FloatArray:
        """Training labels as numbers."""
        return self.labels.targets

    @property
    def reference(self) -> float:
        """What scores are measured from: 0, or the mean of the labels if that is the threshold."""
        return self.scored.learner.reference(self.targets)

    @property
    def parametric(self) -> Parametric:
        """The learner; raises if it has no coefficients."""
        return self.learner.with_coefficients(type(self.final).__name__)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the final estimator's features."""
        if self.encoded_names is not None:
            return self.encoded_names
        given = getattr(self.door, "feature_names_in_", None)
        return feature_names(self.estimator, given, self.parametric.n_features)

    def need(self, capability: str, what: str) -> None:
        """Raise, with the reason, if the engine of this model cannot do something."""
        need(self.engine, capability, what, type(self.final).__name__)

    def features(self, X: Any) -> Any:
        """Return rows as the final estimator sees them, behind all steps of a pipeline."""
        if self.encode is not None:
            return self.encode(X)
        if self.schema is not None:
            self.schema.check(X)
        rows = transform_rows(self.estimator, validated(self.door, X, reset=False))
        return as_matrix(rows) if family_of(self.final).keeps_rows(self.final) else rows

    def raw(self, features: Any) -> FloatArray:
        """Return scores as the wrapped estimator itself computes them, less the `reference`."""
        return family_of(self.final).scores(self.final, features) - self.reference

    def check_predictions(self, features: Any, decision: Decision, certs: CertificateSet) -> None:
        """Warn, naming rows, if the wrapped estimator predicts other classes than are certified.

        Numbers are not compared: they always differ in their last digits.
        """
        rule = self.labels.decision
        if rule is None:
            return
        compared = self.engine.proven if self.check.always else bool(self._warned)
        rows = np.arange(len(certs))
        if not compared:  # few of them are asked about again
            rows = np.flatnonzero(rule.away(certs.score) < self.check.near)
            features = take_rows(features, rows) if len(rows) else features
        if len(rows):
            rows = rows[decision.predict(self.raw(features)) != certs.prediction[rows]]
        if not len(rows):
            return
        named = ", ".join(map(str, rows[:_NAMED].tolist())) + (", …" if len(rows) > _NAMED else "")
        kind = type(self.final).__name__
        why = (
            f"because the solver of {kind} stopped early; a smaller tol (tol=1e-12), or a direct "
            f"solver (solver={self.check.direct_solver!r}), closes the gap"
            if compared
            else f"because scores of two classes are equal there up to the rounding of {kind}"
        )
        warn_asker(
            f"predict says another class than the exact solution, which is what is certified, for "
            f"{len(rows)} of {len(certs)} rows ({named}), {why}",
            SolverPrecisionWarning,
        )

    def check_precision(self, features: Any, score: FloatArray) -> None:
        """Warn, once per fit, if the estimator's own scores differ, or nothing can be proven."""
        if self._warned:
            return
        score = score[:CHECKED]
        own = self.raw(features[: len(score)])
        own = own if self.labels.decision is None else self.labels.decision.scored(own)
        gap = self.check.gap(score, own, self.largest_label)
        kind, proven = type(self.final).__name__, self.engine.proven
        if gap <= self.check.tolerance and proven:
            return
        text = self.check.early if proven else self.check.unproven
        message = text.format(kind=kind, gap=gap)
        if self.check.advice is not None:
            message += self.check.advice(self)
        self._warned.add(message)
        warn_asker(message, SolverPrecisionWarning if proven else UnprovenWarning)


def warn_of_one_class(prediction: NDArray[Any]) -> None:
    """Warn if (almost) all rows get the same class: always saying it would be as robust."""
    n_rows = len(prediction)
    [(said, rows)] = Counter(prediction.tolist()).most_common(1) or [(None, 0)]
    if n_rows < FEW_ROWS or rows < ALMOST_ALL * n_rows:
        return
    warn_asker(
        f"the model predicts {said!r} for {rows:,} of these {n_rows:,} rows, and a model that "
        f"always predicts {said!r} would be robust too: look at balanced accuracy and AUC beside "
        "robustness",
        VacuousWarning,
    )
