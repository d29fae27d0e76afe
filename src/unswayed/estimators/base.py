"""What the certified meta-estimators share: fitting, checking and questions."""

import operator
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from unswayed._core.influence import distinct_rows
from unswayed._core.rounding import ordinary_arithmetic
from unswayed._typing import FloatArray
from unswayed.engines.anchors import MAX_ANCHORS, ParameterBox, Sandwich
from unswayed.engines.choice import trained
from unswayed.engines.protocol import Terms
from unswayed.estimators.coefficients import as_contrasts, coefficients_of
from unswayed.estimators.fitted import (
    CHECKED,
    CHECKS,
    Fitted,
    Reading,
    count_rows,
    validated,
    warn_of_one_class,
)
from unswayed.estimators.question import (
    Method,
    Question,
    certifier_of,
    check_method,
    parameter_box,
    sandwich,
)
from unswayed.evidence.noise import LabelNoise, OverturnProbability, overturn_probability
from unswayed.exceptions import InputError, LabelPeekError
from unswayed.inputs import is_lazy, rows_of_kind
from unswayed.labels.bias import LabelBias, ResolvedBias
from unswayed.labels.budgets import Budget, Movable, Stated, Statement, as_budget
from unswayed.margins.decisions import Decision
from unswayed.models.balanced import Balanced
from unswayed.models.classes import ClassScores
from unswayed.models.families import check_certifiable, family_of, fit_final
from unswayed.models.family import check_weights
from unswayed.models.learner import LinearInLabels
from unswayed.models.steps import (
    Schema,
    as_labels,
    as_matrix,
    as_sample_weight,
    as_trust,
    check_features,
    check_routing,
    check_trust,
    final_estimator,
    fit_steps,
)
from unswayed.results.certificates import CertificateSet, MinimumBudgets


class Certified(MetaEstimatorMixin, BaseEstimator):
    """What classification and regression share: fitting, checking and the engine."""

    estimator: Any
    bias: LabelBias | None
    trust: Any
    fitted_: Fitted

    # --- what differs ---------------------------------------------------------------------

    def _read(self, labels: NDArray[Any]) -> Reading:
        raise NotImplementedError

    def _decision(self, fitted: Fitted) -> Decision:
        raise NotImplementedError

    def _check_settings(self) -> None:
        if not isinstance(self.bias, LabelBias):
            raise InputError(
                f"bias must be a LabelBias, got {self.bias!r}; say which labels may be wrong, for "
                "example bias=LabelBias.flips(budget=0.01) or LabelBias.shifts(2000, budget=50)"
            )

    # --- fitting --------------------------------------------------------------------------

    @ordinary_arithmetic()
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the wrapped estimator and prepare its certificates.

        Parameters
        ----------
        X : array, scipy-sparse matrix, or pandas, polars or pyarrow frame
            Or a dask dataframe or array, which is never held whole: its partitions are passed over
            a few times, where they are. Categories need no encoder then.
        y : labels, one per row
            If X is a dask collection, another one with the same partitions.
        sample_weight : (n,) array-like, optional
            How much each row counts; by default all the same.

        Returns
        -------
        self
            The fitted model.

        Raises
        ------
        LabelPeekError
            If a step or the model looks at the labels beyond a linear fit; it is named.
        NotLinearError
            If the model is of no family that can be certified.
        BiasError
            If the bias does not fit these labels.
        InputError
            If rows, labels or settings cannot be used.
        """
        check_certifiable(self.estimator)
        self._check_settings()
        if is_lazy(X):
            # It needs pyarrow, and dask is imported already.
            from unswayed.estimators.fit_in_pieces import fit_lazily  # noqa: PLC0415

            fitted = fit_lazily(self, X, y, sample_weight)
        else:
            fitted = self._fitted(X, y, sample_weight)
        self._show(fitted)
        self.fitted_ = fitted  # by one assignment: calls under way keep the one they have
        return self

    def _fitted(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> Fitted:
        assert self.bias is not None  # noqa: S101  (checked: this tells mypy)
        trust = as_trust(self.trust)
        trusted = check_trust(self.estimator, trust)
        door = type(self)(**self.get_params(deep=False))
        rows = validated(door, X, reset=True)
        given = as_labels(y, count_rows(rows))
        weight = as_sample_weight(sample_weight, len(given))
        labels = self._read(given)
        if weight is not None:
            check_routing(self.estimator)
            try:
                check_weights(given, weight, classes=labels.decision is not None)
            except LabelPeekError:
                if "sample_weight" not in trust:
                    raise
                trusted += ("sample_weight",)
        labels.targets.setflags(write=False)
        resolved = self.bias.resolve(
            labels.targets,
            X=X,
            labels=y,
            flip_between=labels.flip_between,
            classes=labels.code.classes,
        )
        estimator = clone(self.estimator)
        seen = fit_steps(estimator, rows, labels.to_fit)
        features = as_matrix(seen)
        final = final_estimator(estimator)
        # What is compared with other rows is compared as certificates do: in doubles, canonical.
        seen = features if family_of(final).keeps_rows(final) else seen
        fit_final(final, seen, labels.to_fit, weight)
        check_features(estimator, rows, labels.to_fit, features)
        learner = family_of(final).learner(final, features, weight)
        family_of(final).check_bias(
            self.bias, resolved, labels.targets, labels.decision is not None
        )
        if labels.n_classes > 2 and isinstance(learner, LinearInLabels):
            learner = ClassScores(learner, family_of(final).codes, labels.n_classes)
        model = trained(learner, labels.targets, resolved)
        scored = model
        if labels.decision is not None and labels.decision.threshold == "balanced":
            assert isinstance(learner, LinearInLabels)  # noqa: S101  (others refuse the threshold)
            scored = trained(Balanced(learner), labels.targets, resolved)
        fitted = Fitted(
            door=door,
            schema=Schema.of(X),
            like=rows_of_kind(X),
            estimator=estimator,
            model=model,
            scored=scored,
            labels=labels,
            trusted=trusted,
            check=CHECKS.get(model.engine.setting, CHECKS["memory"]),
            largest_label=float(np.abs(labels.targets).max()),
        )
        checked = scored.engine.rows(features[:CHECKED])
        fitted.check_precision(seen, scored.engine.scores(checked, scored.solution).value)
        return fitted

    def _show(self, fitted: Fitted) -> None:
        """Set what scikit-learn and users read; certificates are made from `fitted_` alone."""
        self.__dict__.pop("feature_names_in_", None)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(fitted.door, name):
                setattr(self, name, getattr(fitted.door, name))
        self.estimator_ = fitted.estimator

    # --- questions ------------------------------------------------------------------------

    def _current(self) -> Fitted:
        """Return the result of the last fit; a call asks once, as another fit may replace it."""
        check_is_fitted(self)
        return self.fitted_

    def _question(
        self,
        fitted: Fitted,
        X: Any,
        resolve: str | None,
        decision: Decision | None,
        effort: int | None = None,
    ) -> Question:
        self._check_resolve(fitted, resolve)
        if effort is not None:
            fitted.need("effort", f"effort={effort!r}")
        if decision is not None and not isinstance(decision, Decision):
            raise InputError(
                f"decision must be a Decision, got {decision!r}; for example "
                "unswayed.margins.Radius(2000)"
            )
        if decision is not None:
            fitted.need("decisions", "decision=")
        seen = fitted.features(X)
        features = as_matrix(seen)
        first, group = distinct_rows(features)
        asked = fitted.scored if decision is None else fitted.model
        kept = self._decision(fitted) if decision is None else decision
        terms = Terms(
            kept, fitted.targets, asked.solution, resolve=resolve is not None, effort=effort
        )
        question = Question.of(
            fitted,
            asked,
            asked.engine.rows(features[first]),
            terms,
            group=group,
            origin=X,
            seen=seen,
            estimator=fitted.estimator,
            coefficients=lambda: coefficients_of(
                fitted, fitted.engine.bias.budget, resolve=resolve is not None
            ),
        )
        if decision is None:
            fitted.check_precision(seen, question.scores.value[group])
        return question

    @staticmethod
    def _check_resolve(fitted: Fitted, resolve: str | None) -> None:
        if resolve == "exact":
            fitted.need("exact", "resolve='exact'")
        elif resolve is not None:
            raise InputError(
                f"resolve must be 'exact' or None, got {resolve!r}; 'exact' settles what "
                "rounding leaves open in rational arithmetic"
            )

    @staticmethod
    def _budget(fitted: Fitted, budget: Stated | None) -> Budget:
        bias = fitted.engine.bias
        own: Budget = bias.budget
        if budget is None:
            return own
        if isinstance(budget, Statement):
            labels = None
            if isinstance(bias, ResolvedBias):
                labels = Movable(bias.lower, bias.upper, bias.whole, fitted.n_rows)
            budget = as_budget(budget, fitted.n_rows, labels)
        elif not isinstance(budget, Budget):
            return own.read(budget, fitted.n_rows)
        if type(budget) is not type(own):
            raise InputError(
                f"the bias was fitted with a budget of kind {type(own).__name__}, so it cannot be "
                f"asked about one of kind {type(budget).__name__}; fit again with that one"
            )
        if not own.like(budget):
            raise InputError(
                "the bias was fitted with other costs of the labels, and minimum budgets and "
                "witnesses are about those; pass another limit with the same costs, or fit again"
            )
        return budget

    @ordinary_arithmetic()
    def certify(
        self,
        X: Any,
        *,
        budget: Stated | None = None,
        method: Method = "exact",
        resolve: str | None = None,
        decision: Decision | None = None,
        ranges: bool = True,
        effort: int | None = None,
    ) -> CertificateSet:
        """Prove, for every row, that its prediction stays or that it can be overturned.

        Parameters
        ----------
        X : array, sparse matrix or frame
            Rows with the same columns as the training rows.
        budget : int, float or Budget, optional
            Instead of the bias's own: a count of labels, or a share of the training rows.
        method : {"exact", "auto", "sandwich", "box"}, ParameterBox, Sandwich or Certifier
            "exact" gives the tight range of every row. "auto" gives the same verdicts faster
            where there are very many training rows, by bounds: ranges are then outer ones.
            "sandwich" and "box" use their bounds alone and leave rows undecided. Bounds that
            were built before can be passed instead of a name.
        resolve : "exact", optional
            Settle rows that are left undecided in rational arithmetic (needs python-flint, extra
            `exact`): slow, and never in doubt.
        decision : Decision, optional
            What must stay the same, instead of the class or of being within `radius`.
        ranges : bool
            False for verdicts alone, in less time: they follow from the minimum budgets. `low` and
            `high` are then infinite, but for close calls. With the method "exact" only.
        effort : {0, 1, 2}, optional
            For models that are not linear in their labels: how much work to spend on rows that are
            left undecided; by default 1.

        Returns
        -------
        CertificateSet
            One certificate per row, in their order.

        Raises
        ------
        InputError
            If rows have other columns than at `fit`, or options do not go together.
        """
        certs = self._certified(X, budget, method, resolve, decision, ranges, effort)
        if decision is None and is_classifier(self):
            warn_of_one_class(certs.prediction)
        return certs

    def _certified(
        self,
        X: Any,
        budget: Stated | None,
        method: Method,
        resolve: str | None,
        decision: Decision | None,
        ranges: bool = True,
        effort: int | None = None,
    ) -> CertificateSet:
        """Do what `certify` does, without a warning about a model that says the same of all."""
        fitted = self._current()
        check_method(method)
        if not ranges and method != "exact":
            raise InputError(
                f"ranges=False goes with method='exact', whose verdicts it gives, not with "
                f"{method!r}; leave one of them out"
            )
        asked = self._budget(fitted, budget)
        if method not in ("exact", "auto"):
            fitted.need("bounds", f"method={method!r}")
        question = self._question(fitted, X, resolve, decision, effort)
        if ranges:
            scored = fitted.scored if decision is None else fitted.model
            certifier = certifier_of(fitted, scored, question.decision, asked, method)
            answer = question.case.answer(asked, certifier)
        else:
            answer = question.case.verdicts(asked)
        certs = question.certificates(answer, asked, link=fitted.learner.link)
        if decision is None:
            fitted.check_predictions(question.seen, question.decision, certs)
        return certs

    @ordinary_arithmetic()
    def parameter_box(self, *, budget: Stated | None = None) -> ParameterBox:
        """Build the box of all parameters the bias can lead to (paper, section 5).

        It needs no test rows; pass it to `certify` as `method` to use it again and again.

        Parameters
        ----------
        budget : int, float or Budget, optional
            Instead of the bias's own.

        Returns
        -------
        ParameterBox
            For this model, this bias and this budget.
        """
        fitted = self._current()
        fitted.need("bounds", "parameter_box")
        return parameter_box(fitted, self._budget(fitted, budget))

    @ordinary_arithmetic()
    def sandwich(self, *, budget: Stated | None = None, max_anchors: int = MAX_ANCHORS) -> Sandwich:
        """Build anchors and boxes that bound the range of every row from both sides.

        Anchors are training rows: the most frequent ones, then those left open by the others.
        It needs no test rows; pass it to `certify` as `method` to use it again and again.

        Parameters
        ----------
        budget : int, float or Budget, optional
            Instead of the bias's own.
        max_anchors : int
            Bound on the number of anchors, and so on memory; 0 means boxes only.

        Returns
        -------
        Sandwich
            For this model, this bias and this budget.
        """
        fitted = self._current()
        fitted.need("bounds", "sandwich")
        if operator.index(max_anchors) < 0:
            raise InputError(f"max_anchors must be a count, 0 or more; got {max_anchors!r}")
        decision = self._decision(fitted)
        return sandwich(fitted, decision, self._budget(fitted, budget), int(max_anchors))

    def minimum_budget(
        self, X: Any, *, resolve: str | None = None, decision: Decision | None = None
    ) -> FloatArray:
        """Return the least number of wrong labels that overturns each row; inf if none does.

        Fewer labels are proven not to overturn it. If it is open whether this number does,
        `minimum_budgets` says so. NaN where nothing is known.

        Parameters
        ----------
        X, resolve, decision : rows, and options
            As for `certify`.

        Returns
        -------
        (n,) array
            One number per row.
        """
        return self.minimum_budgets(X, resolve=resolve, decision=decision).low

    @ordinary_arithmetic()
    def minimum_budgets(
        self, X: Any, *, resolve: str | None = None, decision: Decision | None = None
    ) -> MinimumBudgets:
        """Return bounds `low` and `high` on minimum budgets; equal unless rounding hides which.

        Parameters
        ----------
        X, resolve, decision : rows, and options
            As for `certify`.

        Returns
        -------
        MinimumBudgets
            With `low`, `high` and `proven`, one entry per row.
        """
        return self._question(self._current(), X, resolve, decision).minimum_budgets()

    @ordinary_arithmetic()
    def overturn_probability(
        self,
        X: Any,
        noise: LabelNoise,
        *,
        method: Literal["chernoff", "convolution"] = "chernoff",
        decision: Decision | None = None,
    ) -> OverturnProbability:
        """Bound how likely labels that are wrong at random overturn each prediction.

        The bias plays no part: which labels are wrong, and how, is what `noise` says. With three or
        more classes, `low` is the largest probability that one of the rivals overtakes, and `high`
        the sum over all rivals; what happens if no label of the class is left counts as well.

        Parameters
        ----------
        X : array, sparse matrix or frame
            Rows with the same columns as the training rows.
        noise : LabelNoise
            How likely labels are wrong, and what they are then.
        method : {"chernoff", "convolution"}
            "chernoff" bounds all rows at once. "convolution" looks at the whole distribution of
            each score: bounds from both sides, a few milliseconds a row.
        decision : Decision, optional
            As for `certify`.

        Returns
        -------
        OverturnProbability
            With `low`, `high` and `estimate`, one entry per row.

        Raises
        ------
        InputError
            If the model is not linear in its labels, or the noise does not fit them.
        """
        fitted = self._current()
        fitted.need("evidence", "overturn_probability")
        question = self._question(fitted, X, None, decision)
        return overturn_probability(question, noise, method)

    @ordinary_arithmetic()
    def certify_coefficients(
        self,
        *,
        contrasts: Any = None,
        budget: Stated | None = None,
        resolve: str | None = None,
        effort: int | None = None,
    ) -> CertificateSet:
        """Prove, for every coefficient or contrast, that its sign stays or that it can be lost.

        With alpha 0 and columns that depend on one another (all levels of a category beside an
        intercept, say) single coefficients are those of the solution of least norm, which the data
        do not identify; contrasts of the levels are identified.

        Parameters
        ----------
        contrasts : mapping, or (m, n_features) array or sparse matrix, optional
            Instead of the coefficients, linear combinations of them:
            ``{"female - male": {"female": 1, "male": -1}}``, or a row of numbers for each. Each is
            certified as one number, because the ranges of two coefficients do not give the range of
            their difference.
        budget, resolve, effort : optional
            As for `certify`.

        Returns
        -------
        CertificateSet
            One entry per coefficient or contrast, with their names.
        """
        fitted = self._current()
        self._check_resolve(fitted, resolve)
        learner = fitted.parametric  # raises where there are no coefficients
        asked = None if contrasts is None else as_contrasts(contrasts, learner, fitted.names)
        found = coefficients_of(
            fitted,
            self._budget(fitted, budget),
            resolve=resolve is not None,
            effort=effort,
            contrasts=asked,
        )
        assert found is not None  # noqa: S101  (tells mypy)
        return found[0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        if isinstance(self.estimator, BaseEstimator):
            tags.input_tags.pairwise = get_tags(self.estimator).input_tags.pairwise
        return tags
