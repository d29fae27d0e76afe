"""CertifiedClassifier and CertifiedRegressor: scikit-learn's manners and one new verb, certify."""

import numbers
import operator
import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from unswayed._core.compression import distinct_rows
from unswayed._core.influence import WeightRows
from unswayed._core.sandwich import Bounds
from unswayed._typing import FloatArray, IntArray
from unswayed.bias import LabelBias, count_budget
from unswayed.certificates import CertificateSet, Verdict, Witness
from unswayed.engines.answer import Answer
from unswayed.engines.auto import AutoEngine
from unswayed.engines.exact import ExactEngine
from unswayed.engines.margins import Margins, radius_margins, sign_margins, threshold_margins
from unswayed.engines.parameter_box import BOX_TOLERANCE, ParameterBox
from unswayed.engines.rows import FeatureRows, unit_rows
from unswayed.engines.sandwich import MAX_ANCHORS, Sandwich
from unswayed.exceptions import InputError, SolverPrecisionWarning
from unswayed.inputs import (
    Schema,
    as_labels,
    as_sample_weight,
    check_numeric_frame,
    for_pipeline,
    frame_like,
)
from unswayed.learners.adapters import (
    LinearModel,
    as_matrix,
    before_final,
    check_blind,
    check_certifiable,
    final_estimator,
    learner_of,
)
from unswayed.learners.least_squares import LeastSquares
from unswayed.learners.protocol import LinearLearner

METHODS = ("auto", "exact", "sandwich", "box")

# Own scores and the wrapped estimator's agree to this, relative to the largest score.
_PRECISION = 1e-9

_TRAINING_SAMPLE = 200_000  # training rows that anchors are chosen among


@dataclass(frozen=True, slots=True, eq=False)
class _Question:
    """Rows put to a fitted model, equal ones once. What a CertificateSet asks for more."""

    model: "_Certified"
    weights: WeightRows
    group: IntArray  # the distinct row of each row
    score: FloatArray  # of the distinct rows, like everything below
    margins: Margins
    origin: Any  # the user's rows: a frame of their library is given back

    def certificates(
        self,
        answer: Answer,
        budget: int,
        question: str,
        names: tuple[str, ...] | None = None,
    ) -> CertificateSet:
        group, bounds = self.group, answer.bounds
        verdict = np.where(np.isfinite(self.score), answer.verdict, Verdict.UNDECIDED)
        return CertificateSet(
            score=self.score[group],
            low=(self.score - bounds.outer_down)[group],
            high=(self.score + bounds.outer_up)[group],
            inner_low=(self.score - bounds.inner_down)[group],
            inner_high=(self.score + bounds.inner_up)[group],
            verdict=verdict[group],
            budget=budget,
            question=question,
            method_=answer.method[group],
            names=names,
            source=self,
        )

    def exact(self, budget: int) -> Answer:
        reach = self.model.engine_.reach(self.weights, budget)
        return Answer.exact(Bounds.exact(*reach), self.margins)

    def minimum_budget(self) -> FloatArray:
        return self.model.engine_.minimum_budget(self.weights, self.margins)[self.group]

    def witness(self, row: int) -> Witness:
        at = int(self.group[row])
        rows, added, shift = self.model.engine_.changes(self.weights, at, self.margins)
        labels = self.model._label_values(self.model.targets_[rows] + added)
        return Witness(rows, labels, float(self.score[at] + shift))

    def frame(self, columns: dict[str, Any]) -> Any:
        return frame_like(self.origin, columns)


class _Certified(MetaEstimatorMixin, BaseEstimator):
    """What classification and regression share: fitting, inputs, and the engine."""

    estimator: Any
    bias: LabelBias | None
    schema_: Schema | None

    # --- what differs ---------------------------------------------------------------------

    def _encode(self, labels: NDArray[Any]) -> FloatArray:
        raise NotImplementedError

    def _labels_to_fit(self, labels: NDArray[Any]) -> NDArray[Any]:
        raise NotImplementedError

    def _flip_between(self) -> tuple[float, float] | None:
        return None

    def _label_values(self, targets: FloatArray) -> NDArray[Any]:
        return targets

    def _margins(self, score: FloatArray) -> Margins:
        raise NotImplementedError

    def _raw(self, estimator: Any, X: Any) -> FloatArray:
        return np.asarray(estimator.predict(X), dtype=np.float64).ravel()

    def _check_settings(self) -> None:
        if not isinstance(self.bias, LabelBias):
            raise InputError(
                f"bias must be a LabelBias, got {self.bias!r}; say which labels may be wrong, for "
                "example bias=LabelBias.flips(budget=0.01) or LabelBias.shifts(2000, budget=50)"
            )

    # --- fitting --------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the wrapped estimator and prepare its certificates.

        Parameters
        ----------
        X : array, scipy-sparse matrix, or pandas, polars or pyarrow frame
        y : labels, one per row
        sample_weight : weights, one per row, optional
        """
        before = self.__dict__.copy()
        try:
            return self._fit(X, y, sample_weight)
        except BaseException:
            # What was fitted before still answers: half of a new fit would answer falsely.
            self.__dict__ = before
            raise

    def _fit(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> Self:
        check_certifiable(self.estimator)
        self._check_settings()
        assert self.bias is not None  # noqa: S101  (checked: this tells mypy)
        rows = self._validated(X, reset=True)
        n_rows = rows.shape[0] if hasattr(rows, "shape") else len(rows)
        labels = as_labels(y, n_rows)
        weight = as_sample_weight(sample_weight, n_rows)
        self.targets_ = self._encode(labels)
        resolved = self.bias.resolve(
            self.targets_, X=X, labels=y, flip_between=self._flip_between()
        )
        self.estimator_ = clone(self.estimator)
        self.estimator_.fit(
            rows, self._labels_to_fit(labels), **self._weight_argument(self.estimator_, weight)
        )
        final = final_estimator(self.estimator_)
        seen = before_final(self.estimator_, rows)
        features = as_matrix(seen)
        check_blind(self.estimator_, rows, features)
        self.model_ = LinearModel(self.estimator_, learner_of(final, features, weight))
        self._warned = False
        self._label_size = float(np.abs(self.targets_).max())
        self.solution_ = self.model_.learner.solve(self.targets_)
        self._check_precision(seen, self.model_.learner.scores(features, self.solution_))
        self.engine_ = ExactEngine(self.model_.learner, resolved)
        self.auto_ = AutoEngine(self.engine_)
        return self

    @staticmethod
    def _weight_argument(estimator: Any, weight: FloatArray | None) -> dict[str, FloatArray]:
        if weight is None:
            return {}
        route = ""
        while isinstance(estimator, Pipeline):
            step, estimator = estimator.steps[-1]
            route += f"{step}__"
        if not has_fit_parameter(estimator, "sample_weight"):
            raise InputError(
                f"{type(estimator).__name__} takes no sample_weight: put it into the influence"
            )
        return {f"{route}sample_weight": weight}

    def _validated(self, X: Any, *, reset: bool) -> Any:
        """Rows ready for the wrapped estimator: its own business behind a pipeline."""
        if not reset:
            check_is_fitted(self)
            if self.schema_ is not None:
                self.schema_.check(X)
        if isinstance(self.estimator, Pipeline):
            rows = for_pipeline(X)
            validate_data(self, rows, skip_check_array=True, reset=reset)
            n_rows = rows.shape[0] if hasattr(rows, "shape") else len(rows)
            if n_rows == 0:
                raise InputError("X has no rows")
        else:
            check_numeric_frame(X)
            rows = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=reset)
        if reset:
            self.schema_ = Schema.of(X)
        return rows

    def _check_precision(self, seen: Any, score: FloatArray) -> None:
        """Warn, once per fit, if the final estimator scores the rows it sees differently."""
        if self._warned:
            return
        raw = self._raw(final_estimator(self.estimator_), seen)
        # Against the labels too: a score that is 0 in theory has no size of its own.
        scale = max(float(np.abs(raw).max()), self._label_size) or 1.0
        gap = float(np.abs(score - raw).max()) / scale
        if gap > _PRECISION:
            self._warned = True
            warnings.warn(
                f"{type(final_estimator(self.estimator_)).__name__} stopped {gap:.1e} (relative) "
                "away from the solution its definition asks for; certificates are about that "
                "solution. An iterative solver wants a smaller tol; a singular problem wants "
                "alpha > 0",
                SolverPrecisionWarning,
                stacklevel=4,
            )

    # --- questions ------------------------------------------------------------------------

    def _question(self, X: Any) -> _Question:
        rows = self._validated(X, reset=False)
        seen = before_final(self.estimator_, rows)
        features = as_matrix(seen)
        first, group = distinct_rows(features)
        distinct = features[first]
        score = self.model_.learner.scores(distinct, self.solution_)
        self._check_precision(seen, score[group])
        weights = FeatureRows(self.model_.learner, distinct)
        return _Question(self, weights, group, score, self._margins(score), X)

    def _budget(self, budget: float | None) -> int:
        if budget is None:
            return int(self.engine_.bias.budget)
        return count_budget(budget, len(self.targets_))

    def certify(
        self,
        X: Any,
        *,
        budget: float | None = None,
        method: str | ParameterBox | Sandwich = "auto",
    ) -> CertificateSet:
        """Prove, for every row, that its prediction stays or that it can be overturned.

        Parameters
        ----------
        X : rows, of the same columns as the training rows
        budget : int or float, optional
            Instead of the bias's own: a count of labels, or a share of the training rows.
        method : {"auto", "exact", "sandwich", "box"}, ParameterBox or Sandwich
            "auto" gives the verdicts of "exact", by cheaper bounds where these suffice and save
            time; "sandwich" and "box" use their bounds alone and leave rows undecided. Bounds
            that were built before can be passed instead of a name.
        """
        check_is_fitted(self)
        if not isinstance(method, ParameterBox | Sandwich) and method not in METHODS:
            raise InputError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
        count = self._budget(budget)
        if not isinstance(method, str):
            self._check_origin(method, count)
        question = self._question(X)
        answer = self._answer(question, count, method)
        return question.certificates(answer, count, self._in_words(count))

    def _answer(
        self, question: _Question, budget: int, method: str | ParameterBox | Sandwich
    ) -> Answer:
        if method == "exact":
            return question.exact(budget)
        rows, margins = question.weights, question.margins
        assert isinstance(rows, FeatureRows)  # noqa: S101  (tells mypy)
        if method == "auto":
            return self.auto_.answer(rows, margins, budget)
        if method == "box":
            method = self.parameter_box(budget=budget)
        elif method == "sandwich":
            method = self.sandwich(budget=budget)
        directions = self._linear_learner().directions(rows.rows)
        if isinstance(method, ParameterBox):
            return Answer.bounded(method.bounds(directions), margins, BOX_TOLERANCE)
        assert isinstance(method, Sandwich)  # noqa: S101
        return method.answer(directions, margins, sharp=True)

    def _linear_learner(self) -> LinearLearner:
        check_is_fitted(self)
        if not self.engine_.has_parameters:
            raise InputError(
                f"{type(final_estimator(self.estimator_)).__name__} has no coefficients; "
                "certify its predictions with method='auto' or 'exact' instead"
            )
        learner: LinearLearner = self.model_.learner  # type: ignore[assignment]
        return learner

    def _check_origin(self, bounds: ParameterBox | Sandwich, budget: int) -> None:
        kind = type(bounds).__name__
        if bounds.fingerprint != self.engine_.fingerprint:
            raise InputError(
                f"this {kind} was built from another model or bias than this one; bounds prove "
                f"nothing beyond what they were built from: build one from this model"
            )
        if bounds.budget != budget:
            raise InputError(
                f"this {kind} was built for a budget of {bounds.budget} labels but {budget} were "
                f"asked for; pass budget={bounds.budget}, or build one for {budget}"
            )

    def parameter_box(self, *, budget: float | None = None) -> ParameterBox:
        """Build the box of all parameters the bias can lead to (paper, section 5).

        It needs no test rows; pass it to `certify` as `method` to use it again and again.
        """
        learner = self._linear_learner()
        names = self.model_.feature_names(getattr(self, "feature_names_in_", None))
        names += ("mean prediction",) * (learner.n_parameters - len(names))
        return ParameterBox.build(self.engine_, self._budget(budget), self.solution_, names)

    def sandwich(self, *, budget: float | None = None, max_anchors: int = MAX_ANCHORS) -> Sandwich:
        """Build anchors and boxes that bound the range of every row from both sides.

        Anchors are training rows: the most frequent ones, then those left open by the others.
        It needs no test rows; pass it to `certify` as `method` to use it again and again.

        Parameters
        ----------
        budget : int or float, optional
            Instead of the bias's own.
        max_anchors : int
            Bound on the number of anchors, and so on memory; 0 means boxes only.
        """
        learner = self._linear_learner()
        if not isinstance(learner, LeastSquares):
            raise InputError(
                "there are fewer training rows than features, so that exact certificates are "
                "cheaper than any bound: use method='exact'"
            )
        if operator.index(max_anchors) < 0:
            raise InputError(f"max_anchors must be a count, 0 or more; got {max_anchors!r}")
        made = Sandwich(self.engine_, self._budget(budget), int(max_anchors))
        step = max(1, learner.n_rows // _TRAINING_SAMPLE)
        return made.choose_anchors(
            learner.training_directions(slice(None, None, step)),
            lambda directions: self._margins(directions @ self.solution_),
        )

    def minimum_budget(self, X: Any) -> FloatArray:
        """Least number of wrong labels that overturns each row's prediction; inf if none does."""
        return self._question(X).minimum_budget()

    def certify_coefficients(self, *, budget: float | None = None) -> CertificateSet:
        """Prove, for every coefficient, that its sign stays or that it can be lost."""
        learner = self._linear_learner()
        value = self.solution_[: learner.n_features]
        question = _Question(
            self,
            unit_rows(learner, learner.n_features),
            np.arange(len(value)),
            value,
            sign_margins(value),
            None,
        )
        count = self._budget(budget)
        names = self.model_.feature_names(getattr(self, "feature_names_in_", None))
        words = f"same sign if {self._wrong(count)}"
        return question.certificates(question.exact(count), count, words, names)

    def _wrong(self, budget: int) -> str:
        labels = "label is" if budget == 1 else "labels are"
        return f"up to {budget} {labels} wrong"

    def _in_words(self, budget: int) -> str:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        if isinstance(self.estimator, BaseEstimator):
            tags.input_tags.pairwise = get_tags(self.estimator).input_tags.pairwise
        return tags


class CertifiedClassifier(ClassifierMixin, _Certified):
    """A binary classifier whose predictions come with proofs.

    Parameters
    ----------
    estimator : LinearRegression, Ridge, RidgeClassifier, KernelRidge, LinearSmoother, or a \
Pipeline that ends in one
        Regressors are trained on labels 0 and 1 and decide at 0.5, as in the paper;
        RidgeClassifier on -1 and 1, deciding at 0.
    bias : LabelBias
        Which labels may be wrong. Offsets of `shifts` and `intervals` are in the numbers above.

    Attributes
    ----------
    classes_ : array
        The two labels; the second is the positive one.
    estimator_ : the fitted estimator
    threshold_ : float
        The decision is ``score > threshold_``.

    Examples
    --------
    Four labels, of which one may be wrong. The first row is decided by two of them.

    >>> from sklearn.linear_model import LinearRegression
    >>> X = [[1, 0], [1, 0], [0, 1], [0, 1]]
    >>> model = CertifiedClassifier(
    ...     LinearRegression(fit_intercept=False), bias=LabelBias.flips(budget=1)
    ... ).fit(X, ["yes", "yes", "no", "yes"])
    >>> certs = model.certify([[1, 0], [0, 1]])
    >>> certs
    <CertificateSet: 2 rows, same class if up to 1 label is wrong: 2 not-robust>
    >>> str(certs.witness(0)), certs.witness(0).labels.tolist()
    ('1 label change moves the score to 0.5', ['no'])
    """

    def __init__(self, estimator: Any, *, bias: LabelBias | None = None) -> None:
        self.estimator = estimator
        self.bias = bias

    def _encode(self, labels: NDArray[Any]) -> FloatArray:
        if labels.dtype.kind == "f" and (labels != np.floor(labels)).any():
            # The wording is scikit-learn's: its own checks look for it.
            raise InputError(
                "Unknown label type: continuous. A classifier needs two classes; for real-valued "
                "labels use CertifiedRegressor"
            )
        classes = np.unique(labels)
        if len(classes) != 2:
            what = "one class" if len(classes) == 1 else f"{len(classes)} classes"
            raise InputError(
                f"y has {what}. Only binary classification is supported: the labels must take "
                "exactly two values"
            )
        self.classes_ = classes
        signed = isinstance(final_estimator(self.estimator), RidgeClassifier)
        self.threshold_ = 0.0 if signed else 0.5
        positive = labels == classes[1]
        return np.where(positive, 1.0, -1.0 if signed else 0.0)

    def _signed(self) -> bool:
        return self.threshold_ == 0.0

    def _labels_to_fit(self, labels: NDArray[Any]) -> NDArray[Any]:
        return labels if self._signed() else self.targets_

    def _flip_between(self) -> tuple[float, float]:
        return (-1.0, 1.0) if self._signed() else (0.0, 1.0)

    def _label_values(self, targets: FloatArray) -> NDArray[Any]:
        negative, positive = self._flip_between()
        if np.isin(targets, (negative, positive)).all():
            return np.asarray(self.classes_[(targets == positive).astype(np.intp)])
        return targets

    def _margins(self, score: FloatArray) -> Margins:
        return threshold_margins(score, self.threshold_)

    def _raw(self, estimator: Any, X: Any) -> FloatArray:
        if self._signed():
            return np.asarray(estimator.decision_function(X), dtype=np.float64).ravel()
        return super()._raw(estimator, X)

    def decision_function(self, X: Any) -> FloatArray:
        """Score minus threshold: positive for the second class."""
        rows = self._validated(X, reset=False)
        return self._raw(self.estimator_, rows) - self.threshold_

    def predict(self, X: Any) -> NDArray[Any]:
        """Class of each row, exactly the wrapped estimator's."""
        positive = self.decision_function(X) > 0
        return np.asarray(self.classes_[positive.astype(np.intp)])

    def _in_words(self, budget: int) -> str:
        return f"same class if {self._wrong(budget)}"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class CertifiedRegressor(RegressorMixin, _Certified):
    """A regressor whose predictions come with proofs.

    Parameters
    ----------
    estimator : LinearRegression, Ridge, KernelRidge, LinearSmoother, or a Pipeline that ends \
in one
    bias : LabelBias
        Which labels may be wrong.
    radius : float
        How far a prediction may move, either way, and still count as the same.

    Attributes
    ----------
    estimator_ : the fitted estimator

    Examples
    --------
    The paper's worked example, with its influence row z = (-1, 2) made by two orthogonal rows.

    >>> from sklearn.linear_model import LinearRegression
    >>> model = CertifiedRegressor(
    ...     LinearRegression(fit_intercept=False), bias=LabelBias.shifts(1, budget=1), radius=3
    ... ).fit([[1, 0], [0, 1]], [3, 4])
    >>> model.certify([[-1, 2]])
    <CertificateSet: 1 rows, within 3 if up to 1 label is wrong: 1 robust>
    """

    def __init__(
        self, estimator: Any, *, bias: LabelBias | None = None, radius: float | None = None
    ) -> None:
        self.estimator = estimator
        self.bias = bias
        self.radius = radius

    def _check_settings(self) -> None:
        super()._check_settings()
        self._check_radius()

    def _check_radius(self) -> None:
        radius: Any = self.radius
        number = isinstance(radius, numbers.Real) and not isinstance(radius, bool)
        if radius is not None and not (number and 0 <= radius < np.inf):
            raise InputError(
                f"radius must be a finite number and not negative, got {radius!r}; it is how "
                "far a prediction may move and still count as the same"
            )

    def _encode(self, labels: NDArray[Any]) -> FloatArray:
        if not (labels.dtype.kind in "biuf" or all(isinstance(y, numbers.Number) for y in labels)):
            raise InputError(
                f"y holds {labels.dtype} values but a regressor needs numbers; "
                "for classes use CertifiedClassifier"
            )
        return labels.astype(np.float64)

    def _labels_to_fit(self, labels: NDArray[Any]) -> NDArray[Any]:
        return self.targets_

    def _margins(self, score: FloatArray) -> Margins:
        if self.radius is None:
            raise InputError(
                "radius is not set: say how far a prediction may move and still count as the "
                "same, for example CertifiedRegressor(..., radius=2000)"
            )
        self._check_radius()
        return radius_margins(len(score), float(self.radius))

    def predict(self, X: Any) -> FloatArray:
        """Prediction of each row, exactly the wrapped estimator's."""
        rows = self._validated(X, reset=False)
        return self._raw(self.estimator_, rows)

    def _in_words(self, budget: int) -> str:
        return f"within {self.radius:g} if {self._wrong(budget)}"
