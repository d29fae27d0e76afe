"""What the certified meta-estimators share: fitting, inputs, and questions."""

import operator
import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from unswayed._core.compression import distinct_rows
from unswayed._core.influence import WeightRows
from unswayed._core.rounding import check_arithmetic
from unswayed._typing import FloatArray, IntArray
from unswayed.bias import LabelBias, count_budget
from unswayed.certificates import CertificateSet, MinimumBudgets
from unswayed.certified.label_code import LabelCode
from unswayed.certified.question import Limits, Question
from unswayed.engines.answer import Answer
from unswayed.engines.auto import AutoEngine
from unswayed.engines.exact import ExactEngine
from unswayed.engines.margins import Margins, sign_margins
from unswayed.engines.parameter_box import ParameterBox
from unswayed.engines.rational import ExactLimits
from unswayed.engines.rows import FeatureRows, UnitRows
from unswayed.engines.sandwich import MAX_ANCHORS, Sandwich
from unswayed.exceptions import InputError, SolverPrecisionWarning
from unswayed.inputs import (
    Schema,
    as_labels,
    as_sample_weight,
    check_numeric_frame,
    for_pipeline,
    rows_of_kind,
)
from unswayed.learners.accuracy import Scores
from unswayed.learners.adapters import (
    LinearModel,
    as_matrix,
    before_final,
    check_blind,
    check_certifiable,
    final_estimator,
    learner_of,
    own_rows,
)
from unswayed.learners.least_squares import LeastSquares
from unswayed.learners.protocol import LinearLearner

METHODS = ("auto", "exact", "sandwich", "box")

# Own scores and the wrapped estimator's agree to this, relative to the largest score.
_PRECISION = 1e-9

_CHECKED = 1000  # rows on which that is checked
_TRAINING_SAMPLE = 200_000  # training rows that anchors are chosen among


class Certified(MetaEstimatorMixin, BaseEstimator):
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

    def _code(self) -> LabelCode:
        return LabelCode()

    def _margins(self, scores: Scores) -> Margins:
        raise NotImplementedError

    def _limits(self) -> Limits:
        raise NotImplementedError

    def _rule(self) -> dict[str, Any]:
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
        check_arithmetic()
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
            own_rows(self.estimator_, rows),
            self._labels_to_fit(labels),
            **self._weight_argument(self.estimator_, weight),
        )
        final = final_estimator(self.estimator_)
        seen = before_final(self.estimator_, rows)
        features = as_matrix(seen)
        check_blind(self.estimator_, rows, self._labels_to_fit(labels), features)
        self.model_ = LinearModel(self.estimator_, learner_of(final, features, weight))
        self._warned = False
        self._label_code = self._code()  # now: a bias that is set later counts from the next fit on
        self._label_size = float(np.abs(self.targets_).max())
        self.solution_ = self.model_.learner.solve(self.targets_)
        self.engine_ = ExactEngine(self.model_.learner, resolved)
        checked = FeatureRows.of(self.model_.learner, features[:_CHECKED])
        self._check_precision(seen, checked.scores(self.solution_).value)
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
            self._training_kind = rows_of_kind(X)
        return rows

    def _check_precision(self, seen: Any, score: FloatArray) -> None:
        """Warn, once per fit, if the wrapped estimator and the certificates do not agree.

        A thousand rows show it; all of them would hold a kernel of every pair.
        """
        if self._warned:
            return
        score = score[:_CHECKED]
        raw = self._raw(final_estimator(self.estimator_), seen[: len(score)])
        # Against the labels too: a score that is 0 in theory has no size of its own.
        scale = max(float(np.abs(raw).max()), self._label_size) or 1.0
        gap = float(np.abs(score - raw).max()) / scale
        proven = self.engine_.precision.proven
        if gap <= _PRECISION and proven:
            return
        self._warned = True
        kind = type(final_estimator(self.estimator_)).__name__
        message = (
            f"{kind}'s own scores differ by {gap:.1e} (relative) from those of the solution its "
            "definition asks for, and certificates are about that solution. An iterative solver "
            "wants a smaller tol, a singular problem alpha > 0"
        )
        if not proven:
            message = (
                f"this {kind} problem is too close to singular for proofs in double precision "
                "(or its sample weights are too far apart): "
                "every verdict is UNDECIDED unless it is resolved in rational arithmetic "
                "(resolve='exact'); alpha > 0 would make it regular"
            )
        warnings.warn(message, SolverPrecisionWarning, stacklevel=4)

    # --- questions ------------------------------------------------------------------------

    def _question(self, X: Any, resolve: str | None) -> Question:
        self._check_resolve(resolve)
        rows = self._validated(X, reset=False)
        seen = before_final(self.estimator_, rows)
        features = as_matrix(seen)
        first, group = distinct_rows(features)
        weights = FeatureRows.of(self.model_.learner, features[first])
        scores = weights.scores(self.solution_)
        self._check_precision(seen, scores.value[group])
        margins, limits = self._margins(scores), self._limits()
        return self._put(weights, group, scores, margins, limits, X, resolve, self._rule())

    def _put(
        self,
        weights: WeightRows,
        group: IntArray,
        scores: Scores,
        margins: Margins,
        limits: Limits,
        origin: Any,
        resolve: str | None,
        rule: dict[str, Any],
    ) -> Question:
        return Question(
            self.engine_,
            self.targets_,
            self._label_code,
            weights,
            group,
            scores,
            margins,
            limits,
            origin,
            resolve is not None,
            rule,
        )

    @staticmethod
    def _check_resolve(resolve: str | None) -> None:
        if resolve not in (None, "exact"):
            raise InputError(
                f"resolve must be 'exact' or None, got {resolve!r}; 'exact' settles what "
                "rounding leaves open in rational arithmetic"
            )

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
        resolve: str | None = None,
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
        resolve : "exact", optional
            Settle rows that are left undecided in rational arithmetic (needs python-flint, extra
            `exact`): slow, and never in doubt.
        """
        check_is_fitted(self)
        if not isinstance(method, ParameterBox | Sandwich) and method not in METHODS:
            raise InputError(f"method must be one of {', '.join(METHODS)}, got {method!r}")
        count = self._budget(budget)
        if not isinstance(method, str):
            self._check_origin(method, count)
        question = self._question(X, resolve)
        answer = self._answer(question, count, method)
        return question.certificates(answer, count, self._in_words(count))

    def _answer(
        self, question: Question, budget: int, method: str | ParameterBox | Sandwich
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
        learner = self._linear_learner()
        directions = rows.directions(slice(None))
        if isinstance(method, ParameterBox):
            sizes = learner.direction_sizes(directions)
            return Answer.bounded(method.bounds(directions, sizes), margins)
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
        values = self._parameters(learner.n_parameters)
        return ParameterBox.build(self.engine_, self._budget(budget), values, names)

    def _parameters(self, count: int) -> Scores:
        """The first `count` parameters in the user's units."""
        learner = self._linear_learner()
        return UnitRows(learner, count).scores(self.solution_)

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
            lambda directions: self._margins(learner.direction_scores(directions, self.solution_)),
        )

    def minimum_budget(self, X: Any, *, resolve: str | None = None) -> FloatArray:
        """Least number of wrong labels that overturns each row's prediction; inf if none does.

        Fewer are proven not to. Where rounding hides whether as many do, `minimum_budgets` says
        so; NaN where nothing is known.

        Parameters
        ----------
        X : rows, of the same columns as the training rows
        resolve : "exact", optional
            Settle what rounding leaves open in rational arithmetic.
        """
        return self.minimum_budgets(X, resolve=resolve).low

    def minimum_budgets(self, X: Any, *, resolve: str | None = None) -> MinimumBudgets:
        """Minimum budgets from `low` to `high`, which differ only where rounding hides them.

        Parameters
        ----------
        X, resolve
            As for `minimum_budget`.
        """
        return self._question(X, resolve).minimum_budgets()

    def certify_coefficients(
        self, *, budget: float | None = None, resolve: str | None = None
    ) -> CertificateSet:
        """Prove, for every coefficient, that its sign stays or that it can be lost.

        Parameters
        ----------
        budget : int or float, optional
            Instead of the bias's own.
        resolve : "exact", optional
            Settle what rounding leaves open in rational arithmetic.
        """
        self._check_resolve(resolve)
        learner = self._linear_learner()
        values = self._parameters(learner.n_features)
        question = self._put(
            UnitRows(learner, learner.n_features),
            np.arange(learner.n_features),
            values,
            sign_margins(values),
            ExactLimits.sign,
            self._training_kind,
            resolve,
            {"task": "coefficients"},
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
