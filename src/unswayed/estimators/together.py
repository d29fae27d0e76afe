"""Questions about many rows at once: one set of wrong labels has to serve them all."""

from abc import ABC, abstractmethod
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unswayed._core.dyadic import enclose
from unswayed._core.rounding import ordinary_arithmetic
from unswayed._typing import BoolArray, FloatArray
from unswayed.estimators.collective import Collective, as_seconds, ways_of
from unswayed.estimators.collective_file import (
    first_rows,
    multipliers_section,
    together_section,
    witness_section,
)
from unswayed.estimators.fitted import Fitted
from unswayed.estimators.metric import MetricQuestion
from unswayed.estimators.question import Question
from unswayed.exceptions import InputError
from unswayed.inputs import as_doubles, refuse_masked
from unswayed.joint.goal import count_goal, whole_numbers
from unswayed.joint.search import Deadline, Progress, Search
from unswayed.labels.budgets import Budget
from unswayed.margins.decisions import Decision, Radius
from unswayed.results.collective import MetricRange, TogetherCertificate


class AllRows(ABC):
    """Meta-estimators that answer for many rows together; `Certified` is built on it."""

    @abstractmethod
    def _current(self) -> Fitted:
        """Return the result of the last fit."""

    @abstractmethod
    def _question(
        self, fitted: Fitted, X: Any, resolve: str | None, decision: Decision | None
    ) -> Question:
        """Put rows to a fitted model."""

    @staticmethod
    @abstractmethod
    def _budget(fitted: Fitted, budget: float | Budget | None) -> Budget:
        """Read a budget; None is the bias's own."""

    @ordinary_arithmetic()
    def certify_together(
        self,
        X: Any,
        *,
        budget: float | Budget | None = None,
        time_limit: float = 60.0,
        direction: str | None = None,
        where: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        decision: Decision | None = None,
        progress: Progress | None = None,
    ) -> TogetherCertificate:
        """Prove how many of these predictions one admissible set of wrong labels can overturn.

        Certificates of single rows say which of them can be overturned, each by labels of its own.
        Here the same labels have to serve all rows.

        Parameters
        ----------
        X : array, sparse matrix or frame
            Rows, of the same columns as the training rows.
        budget : int, float or Budget, optional
            Instead of the bias's own: a count of labels, or a share of the training rows.
        time_limit : float
            Seconds for mixed-integer programmes and the search for label sets, which take as long
            as they need to agree otherwise. 0 for bounds that take little time.
        direction : {"up", "down"}, optional
            Count only rows whose score rises too far (towards the second class), or falls.
        where : (n,) array of bool, optional
            Count only these rows: a group, say.
        weights : (n,) array, optional
            How much each row counts, 0 or more; by default 1.
        decision : Decision, optional
            What must stay the same, instead of the class or of being within `radius`.
        progress : callable, optional
            Given a line of text after every step: bound, best and gap.

        Returns
        -------
        TogetherCertificate
            Bounds from both sides, and labels that reach the lower one.

        Examples
        --------
        Two rows that one wrong label overturns, but not the same one:

        >>> from sklearn.linear_model import LinearRegression
        >>> from unswayed import CertifiedClassifier, LabelBias
        >>> X = [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1]]
        >>> model = CertifiedClassifier(
        ...     LinearRegression(fit_intercept=False), bias=LabelBias.flips(budget=1)
        ... ).fit(X, [1, 1, 0, 1, 1, 0])
        >>> model.certify_together([[1, 0], [0, 1]])
        <TogetherCertificate: 2 rows, same class if up to 1 label is wrong: 1 together>
        """
        fitted = self._current()
        fitted.need("joint", "certify_together")
        return together(
            self._question(fitted, X, None, decision).collective(
                self._budget(fitted, budget), ways_of(direction)
            ),
            time_limit=time_limit,
            direction=direction,
            where=where,
            weights=weights,
            progress=progress,
        )

    @ordinary_arithmetic()
    def certify_metric(
        self,
        X: Any,
        metric: Any,
        *,
        groups: ArrayLike | None = None,
        y_true: ArrayLike | None = None,
        budget: float | Budget | None = None,
        time_limit: float = 60.0,
        progress: Progress | None = None,
    ) -> MetricRange:
        """Prove between which values a metric lies if some labels are wrong.

        Parameters
        ----------
        X : array, sparse matrix or frame
            Rows, of the same columns as the training rows.
        metric : str, RowSum, quotient of two, or callable
            Of a classifier, fairlearn's names: "selection_rate", "accuracy",
            "true_positive_rate", "true_negative_rate", "false_positive_rate" and
            "false_negative_rate", each also with "_difference", "_ratio", "_group_min" or
            "_group_max" behind it, and "demographic_parity", "equal_opportunity" and
            "equalized_odds" with "_difference" or "_ratio". One of your own is a `RowSum`; a
            callable is taken for one. Of a regressor, "mean_prediction" and
            "mean_prediction_difference".
        groups : (n,) array-like, optional
            The group of each row, for metrics that compare groups and for `by_group`.
        y_true : (n,) array-like, optional
            The labels of the rows, for metrics that compare predictions with them.
        budget : int, float or Budget, optional
            Instead of the bias's own: a count of labels, or a share of the training rows.
        time_limit : float
            Seconds for mixed-integer programmes and the search for label sets, for all ends
            together. 0 for bounds that take little time.
        progress : callable, optional
            Given a line of text after every step: bound, best and gap.

        Returns
        -------
        MetricRange
            The proven range, the reached one, and labels at both ends.

        Examples
        --------
        >>> from sklearn.linear_model import LinearRegression
        >>> from unswayed import CertifiedClassifier, LabelBias
        >>> X = [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1]]
        >>> model = CertifiedClassifier(
        ...     LinearRegression(fit_intercept=False), bias=LabelBias.flips(budget=1)
        ... ).fit(X, [1, 1, 0, 1, 1, 0])
        >>> model.certify_metric([[1, 0], [0, 1]], "selection_rate")
        <MetricRange: selection_rate 1, if up to 1 label is wrong between 0.5 and 1>
        """
        fitted = self._current()
        fitted.need("joint", "certify_metric")
        numbers = fitted.labels.decision is None
        # A mean is not decided by anything: any radius will do.
        question = self._question(fitted, X, None, Radius(0.0) if numbers else None)
        asked = MetricQuestion(
            question=question,
            budget=self._budget(fitted, budget),
            groups=groups,
            y_true=y_true,
            time_limit=time_limit,
            progress=progress,
        )
        return asked.of_numbers(metric) if numbers else asked.of_classes(metric)


def together(
    asked: Collective,
    *,
    time_limit: float,
    direction: str | None,
    where: Any,
    weights: Any,
    progress: Progress | None,
) -> TogetherCertificate:
    """Return how many of the rows one admissible set of labels can overturn."""
    seconds = as_seconds(time_limit)
    question, budget = asked.question, asked.budget
    among = _mask(where, len(question.group))
    weight = _weights(weights, len(question.group))
    steps, unit, blur = whole_numbers(weight)
    steps = np.where(among, steps, 0)
    per_row = np.bincount(question.group, minlength=int(question.group.max(initial=-1)) + 1) * 0
    np.add.at(per_row, question.group, steps)
    fragile = asked.fragile
    goal = count_goal(per_row[fragile.row], unit, fragile.row)
    search = Search(fragile, progress)
    found = search.largest(goal, Deadline.of(seconds))
    whole = weights is None

    def shown(value: Fraction, end: int) -> float:
        value += blur if end else -blur
        return int(value) if whole else enclose(max(value, Fraction(0)))[end]

    made = TogetherCertificate(
        at_most=shown(found.outer, 1),
        at_least=shown(found.inner, 0),
        proven=found.proven,
        witness=asked.witness(found.changes, among),
        fragile=shown(goal.ceiling, 1),
        n_rows=int(among.sum()),
        bounds={name: shown(bound, 1) for name, bound in found.bounds.items()},
        budget=budget.amount,
        question=f"{question.decision} if {budget}",
        trusted=question.trusted,
    )

    def section() -> dict[str, Any]:
        claim = {
            "at_least": made.at_least,
            "at_most": made.at_most,
            "rests_on": made.rests_on,
            "witness": witness_section(found.changes, made.witness.overturned),
            "multipliers": multipliers_section(
                fragile, search.multipliers(goal), first_rows(question.group)
            ),
        }
        return together_section(
            claim, direction=direction, among=among, weights=None if whole else weight
        )

    return replace(made, source=question.claimed(budget, section))


def _mask(where: Any, n_rows: int) -> BoolArray:
    if where is None:
        return np.ones(n_rows, dtype=bool)
    refuse_masked(where, "where")
    mask = np.asarray(where)
    if mask.dtype == object and all(isinstance(flag, bool | np.bool_) for flag in mask.flat):
        mask = mask.astype(bool)
    if mask.dtype != np.bool_ or mask.shape != (n_rows,):
        raise InputError(
            f"where must be one flag per row in question, {n_rows} in all; got shape {mask.shape} "
            f"of {mask.dtype}. For a group pass a comparison, such as where=race == 'Black'"
        )
    if not mask.any():
        raise InputError("where holds for none of the rows, so that there is nothing to count")
    return mask


def _weights(weights: Any, n_rows: int) -> FloatArray:
    if weights is None:
        return np.ones(n_rows)
    found = as_doubles(weights, "weights")
    if found.shape != (n_rows,) or not (np.isfinite(found) & (found >= 0)).all():
        raise InputError(
            f"weights must be one finite number per row in question, 0 or more, {n_rows} in all; "
            "a row counts that much if it is overturned"
        )
    return found
