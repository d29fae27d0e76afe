"""Questions about many rows at once: one set of wrong labels has to serve them all."""

from abc import ABC, abstractmethod
from typing import Any

from numpy.typing import ArrayLike

from unswayed._core.rounding import ordinary_arithmetic
from unswayed.estimators.fitted import Fitted
from unswayed.estimators.metric import MetricQuestion
from unswayed.estimators.question import Question
from unswayed.estimators.together import Collective, together, ways_of
from unswayed.joint.search import Progress
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
            Collective.of(
                self._question(fitted, X, None, decision),
                self._budget(fitted, budget),
                ways_of(direction),
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
