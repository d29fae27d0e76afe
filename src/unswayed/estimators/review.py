"""Reviews: which labels to check, what that proves, and what to expect of it."""

import operator
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from unswayed._core.rounding import ordinary_arithmetic
from unswayed._typing import FloatArray, IntArray
from unswayed.estimators.coefficients import as_contrasts, coefficient_question
from unswayed.estimators.fitted import Fitted
from unswayed.estimators.question import Question
from unswayed.estimators.together import CertifiedTogether
from unswayed.evidence.answers import Audited, SeveralClasses
from unswayed.evidence.audit import LabelAudit
from unswayed.evidence.capital import Together
from unswayed.evidence.effects import Claims, LabelEffects, summed
from unswayed.exceptions import InputError
from unswayed.inputs import as_doubles, refuse_masked
from unswayed.joint.review import Review
from unswayed.joint.search import Progress
from unswayed.labels.bias import ResolvedBias, bias_without
from unswayed.labels.budgets import Budget
from unswayed.labels.samples import corrected
from unswayed.margins.decisions import Decision
from unswayed.models.steps import as_labels
from unswayed.results.certificates import Verdict
from unswayed.results.reviews import Reviewed, ReviewPlan, read_answers


@dataclass(frozen=True, eq=False)
class Simulation:
    """A model, and the rows that a review is to make robust."""

    question: Question  # Labels that were checked before cannot be wrong in it
    budget: Budget

    @property
    def usual_rate(self) -> float:
        """The budget's share of the labels that may be wrong."""
        bias = self.question.engine.bias
        movable = int(np.sum((bias.lower < 0) | (bias.upper > 0)))
        return min(1.0, self.budget.amount / movable) if movable else 0.0

    @ordinary_arithmetic()
    def robust(
        self, order: IntArray, checks: IntArray, rate: float, rng: np.random.Generator
    ) -> IntArray:
        """Draw which labels are wrong, and count robust rows after the first checks of a plan."""
        wrong = rng.random(len(order)) < rate
        correction = np.where(wrong, self._corrections(order, rng), 0.0)
        return np.array([self._count(order[:many], correction[:many]) for many in checks.tolist()])

    def _corrections(self, order: IntArray, rng: np.random.Generator) -> FloatArray:
        """Return what is added to labels that turn out to be wrong."""
        bias: ResolvedBias = self.question.engine.bias
        lower, upper = bias.lower[order], bias.upper[order]
        if bias.classes is not None:
            drawn = bias.classes.drawn(order, rng) - bias.classes.own[order]
            return np.asarray(drawn, dtype=np.float64)
        if bias.whole:
            return np.where(upper > 0, upper, lower)
        return lower + rng.random(len(order)) * (upper - lower)

    def _count(self, checked: IntArray, correction: FloatArray) -> int:
        """Return how many rows are proven robust after labels were checked and corrected."""
        question = self.question
        targets = question.targets.copy()
        targets[checked] += correction
        after = question.under(_spared(question.engine.bias, checked, targets), targets)
        verdict = after.case.answer(self.budget).verdict[question.group]
        return int(np.sum(verdict == Verdict.ROBUST))


# ----------------------------------------------------------------------------------------
# Which labels to check, from a fitted model to a plan in the user's terms.

_DRAWN = 10  # random orders whose mean is a baseline


class Reviewable(CertifiedTogether):
    """Meta-estimators that say which labels to check, too."""

    @ordinary_arithmetic()
    def review_plan(
        self,
        X: Any,
        labels: int = 60,
        *,
        budget: float | Budget | None = None,
        costs: ArrayLike | None = None,
        cost_limit: float | None = None,
        exclude: ArrayLike | None = None,
        per_reviewer: int | None = None,
        decision: Decision | None = None,
        progress: Progress | None = None,
    ) -> ReviewPlan:
        """Find the labels whose verification makes most of these predictions robust.

        A label that was checked and found right can no longer be wrong. Among the other labels, as
        many as before may be wrong. The number of robust predictions is proven. There may be a
        better choice of labels.

        Parameters
        ----------
        X : array, sparse matrix or frame
            Rows with the same columns as the training rows.
        labels : int
            How many labels are checked, at most.
        budget : int, float or Budget, optional
            Instead of the bias's own: a count of labels, or a share of the training rows.
        costs : (n,) array, optional
            What it takes to check the label of each training row, above 0; by default 1.
        cost_limit : float, optional
            The costs of all checks sum up to this at most.
        exclude : array of int, or of one flag per training row, optional
            Training rows whose labels were checked already: they are not wrong either.
        per_reviewer : int, optional
            Labels that one reviewer checks; by default one reviewer checks all. The first reviewer
            gets the labels that matter most.
        decision : Decision, optional
            What must stay the same, instead of the class or of being within `radius`.
        progress : callable, optional
            Given a line of text after every plan that was tried.

        Returns
        -------
        ReviewPlan
            Labels in the order in which to check them, and what that brings.

        Examples
        --------
        The last row's label does most: once it is known to be right, no other moves the prediction
        by more than 1.

        >>> from sklearn.linear_model import LinearRegression
        >>> from unswayed import CertifiedRegressor, LabelBias
        >>> model = CertifiedRegressor(
        ...     LinearRegression(fit_intercept=False), bias=LabelBias.shifts(4, budget=1), radius=1
        ... ).fit([[1], [1], [2]], [1, 1, 2])
        >>> plan = model.review_plan([[1]], labels=1)
        >>> plan.order.tolist(), plan.robust_after.tolist()
        ([2], [0, 1])
        """
        fitted = self._current()
        fitted.need("together", "review_plan")
        question, within = self._question(fitted, X, None, decision), self._budget(fitted, budget)
        n_labels = len(question.targets)
        many = _count(labels, "labels", 0, "how many labels can be checked")
        least = 0 if per_reviewer is None else 1
        batch = many if per_reviewer is None else per_reviewer
        batch = _count(batch, "per_reviewer", least, "labels per reviewer")
        cost, limit = _costs(costs, n_labels), _limit(cost_limit)
        if not within.countable:
            raise InputError(
                f"a review plan is about budgets that are a number of labels, and this one is a "
                f"{type(within).__name__}; pass budget=, or a bias, with a count or a share"
            )
        checked = as_rows(exclude, n_labels)
        if len(checked):
            question = question.under(_spared(question.engine.bias, checked))
        fragile = question.fragile(within)
        weight = np.bincount(question.group).astype(np.float64)
        review = Review(fragile, weight, cost, many)
        order = review.best(limit, progress)
        sure = weight.sum() - weight[np.unique(fragile.row)].sum()
        drawn = [review.curve(review.drawn(len(order), seed)) for seed in range(_DRAWN)]
        return ReviewPlan(
            order=order,
            labels=_as_given(question, order),
            cost=cost[order],
            batch=np.arange(len(order)) // max(1, batch) + 1,
            robust_after=review.curve(order) + int(sure),
            n_rows=len(question.group),
            baselines={
                "random": np.mean(drawn, axis=0) + sure,
                "witness": review.curve(review.most_used(len(order))) + sure,
            },
            budget=within.amount,
            question=f"{question.decision} if {within}",
            trusted=question.trusted,
            like=fitted.like,
            source=Simulation(question, within),
        )

    @ordinary_arithmetic()
    def label_audit(
        self,
        X: Any = None,
        *,
        risk: float = 0.05,
        together: Together = "each",
        seed: int = 0,
        decision: Decision | None = None,
        coefficients: Any = None,
        sums: Any = None,
        about: dict[str, Any] | None = None,
    ) -> LabelAudit:
        """Start an audit that confirms predictions by checking labels, without any budget.

        The budget of the bias plays no role; its intervals do: true labels are taken to lie in
        them, and labels that it does not let be wrong (see `where`) are taken to be right. With
        three or more classes, a label may be any other, or what `to` allows; a row is confirmed
        when there is enough evidence against every rival of its class.

        Parameters
        ----------
        X : array, sparse matrix or frame
            Rows with the same columns as the training rows; None to audit coefficients.
        risk : float
            How likely something false may be confirmed.
        together : {"each", "all", "discoveries"}
            What the risk is about: every row by itself; all rows of this list at once, which is
            confirmed as a whole or not at all; or the share of false ones among those that are
            confirmed, on average.
        seed : int
            Seed of the draws. If somebody may have placed wrong labels on purpose, draw the seed
            yourself, after labels and rows are fixed.
        decision : Decision, optional
            What must stay the same, instead of the class or of being within `radius`.
        coefficients : True or contrasts, optional
            Instead of rows, the signs of all coefficients, or of contrasts as for
            `certify_coefficients`.
        sums : mapping of names to weights, or (q, n) array, optional
            Instead of the rows of X, weighted sums of their scores, such as means of groups and
            gaps between them; one weight per row and sum.
        about : dict, optional
            Kept in the audit's file: anything that JSON can write.

        Returns
        -------
        LabelAudit
            With nothing drawn yet.

        Examples
        --------
        >>> from sklearn.linear_model import LinearRegression
        >>> from unswayed import CertifiedRegressor, LabelBias
        >>> model = CertifiedRegressor(
        ...     LinearRegression(), bias=LabelBias.shifts(1, budget=1), radius=0.5
        ... ).fit([[0], [1]] * 50, [3.0, 5.0] * 50)
        >>> audit = model.label_audit([[0], [1]])
        >>> rows = audit.draw(40)
        >>> audit.record(rows, np.where(rows % 2, 5.0, 3.0))
        >>> audit.confirmed.tolist()
        [True, True]
        >>> model.label_audit(coefficients=True).names
        ('x0',)
        """
        fitted = self._current()
        fitted.need("evidence", "label_audit")
        question, weights, names = self._audited(fitted, X, decision, coefficients, sums)
        duels, rows, group = question.duels, question.case.rows, question.group
        bias, code = question.engine.bias, question.code
        if weights is None:
            claims = Claims.of_duels(duels)
        else:
            group, weights = np.arange(len(weights)), merged(weights, group, len(rows))
            claims = Claims.of(question.decision.margins(summed(question.scores, weights)))
        audited = Audited(
            LabelEffects(duels, rows, bias, weights),
            claims,
            question.targets,
            group,
            None if code.shifted else code.classes,
            code.positive,
            names,
            str(question.decision),
            SeveralClasses.of(duels, bias.classes),
        )
        return LabelAudit(audited, risk=risk, together=together, seed=seed, about=about)

    def _audited(
        self, fitted: Fitted, X: Any, decision: Decision | None, coefficients: Any, sums: Any
    ) -> tuple[Question, FloatArray | None, tuple[str, ...] | None]:
        """Return what an audit is about: rows or coefficients, weights of sums, and names."""
        if (X is None) == (coefficients is None) or (sums is not None and X is None):
            raise InputError(
                "label_audit takes rows X, with or without sums of them, or coefficients=True; "
                "pass one of the two"
            )
        if coefficients is not None:
            learner = fitted.parametric  # raises where there are no coefficients
            every = coefficients is True
            asked = None if every else as_contrasts(coefficients, learner, fitted.names)
            question = coefficient_question(fitted, asked, decision=decision)
            return question, None, fitted.names if asked is None else asked[1]
        if sums is not None:
            fitted.need("decisions", "sums=")
        question = self._question(fitted, X, None, decision)
        if sums is None:
            return question, None, None
        if decision is None and question.decision.radius is None:
            raise InputError(
                "sums of scores have no threshold of their own: say what must stay the same, for "
                "example decision=unswayed.margins.Sign() for a gap, or Radius(0.1) for a mean"
            )
        named = isinstance(sums, Mapping)
        weights = as_doubles(list(sums.values()) if named else sums, "sums")
        if weights.ndim != 2 or weights.shape[1] != len(question.group):
            raise InputError(
                f"sums must have one weight per row of X in each of its rows, "
                f"{len(question.group)} of them; got an array of shape {weights.shape}"
            )
        if not np.isfinite(weights).all():
            raise InputError("sums must be finite weights; one of them is NaN or infinite")
        return question, weights, tuple(map(str, sums)) if named else None

    def reviewed(
        self, X: Any, y: Any, answers: Any, sample_weight: ArrayLike | None = None
    ) -> Reviewed:
        """Fit the model again after labels were checked: these can no longer be wrong.

        Parameters
        ----------
        X : array, sparse matrix or frame
            The rows that this model was fitted on.
        y : (n,) array-like
            The labels that it was fitted on.
        answers : mapping of row to label, frame, or path of a CSV file
            What reviewers found: for training rows by number the label as it should be. Frames and
            files have columns ``row`` and ``checked_label``, as `ReviewPlan.to_csv` writes them;
            what is empty there was not checked.
        sample_weight : weights, one per row, optional
            As this model was fitted with.

        Returns
        -------
        Reviewed
            With a new model, fitted on the corrected labels, whose bias leaves out those that were
            checked. Its budget is as it was written, for the labels that are left.
        """
        fitted = self._current()
        fitted.need("together", "reviewed")
        assert self.bias is not None  # noqa: S101  (checked: this tells mypy)
        given = as_labels(y, fitted.n_rows)
        if not np.array_equal(self._read(given).targets, fitted.targets):
            raise InputError(
                "y holds other labels than this model was fitted on, so that the numbers of rows "
                "in the answers may mean others; pass the X and y that were passed to fit"
            )
        found = read_answers(answers, fitted.n_rows)
        labels = corrected(given, found, classes=fitted.labels.decision is not None)
        bias = bias_without(self.bias, found, fitted.n_rows)
        model = clone(self).set_params(bias=bias).fit(X, labels, sample_weight)
        wrong = [row for row in sorted(found) if labels[row] != given[row]]
        return Reviewed(
            model, labels, np.array(sorted(found), dtype=np.intp), np.array(wrong, dtype=np.intp)
        )


def _spared(bias: ResolvedBias, rows: IntArray, targets: FloatArray | None = None) -> ResolvedBias:
    """Return a bias by which the labels of some rows are right, after these were corrected."""
    if bias.classes is not None:
        classes = bias.classes.spared(rows, targets)
        ends = classes.ends()
        return replace(bias, lower=ends[0], upper=ends[1], classes=classes)
    lower, upper = bias.lower.copy(), bias.upper.copy()
    lower[rows] = upper[rows] = 0.0
    return replace(bias, lower=lower, upper=upper)


def _as_given(question: Question, rows: IntArray) -> NDArray[Any]:
    """Return labels of training rows as the user wrote them."""
    classes, targets = question.code.classes, question.targets[rows]
    if classes is None or len(classes) > 2:
        return question.code.decode(targets)
    return np.asarray(classes[(targets == question.code.positive).astype(np.intp)])


def merged(weights: FloatArray, group: IntArray, n_distinct: int) -> FloatArray:
    """Return weights of distinct rows, given those of all rows."""
    found = np.zeros((len(weights), n_distinct))
    for each, into in zip(weights, found, strict=True):
        np.add.at(into, group, each)
    return found


# --- what users pass ----------------------------------------------------------------------


def as_rows(rows: Any, n_labels: int) -> IntArray:
    """Return numbers of training rows, given as such or as a mask."""
    if rows is None:
        return np.zeros(0, dtype=np.intp)
    refuse_masked(rows, "exclude")
    given = np.asarray(rows)
    if given.dtype == np.bool_ and given.shape == (n_labels,):
        return np.flatnonzero(given)
    if given.size == 0 and given.ndim == 1:
        return np.zeros(0, dtype=np.intp)
    inside = given.dtype.kind in "iu" and given.ndim == 1
    if not inside or given.min() < 0 or given.max() >= n_labels:
        raise InputError(
            f"exclude must be training rows whose labels were checked already, numbers from 0 to "
            f"{n_labels - 1} or one flag per training row; got {rows!r}"
        )
    return given.astype(np.intp)


def _count(given: Any, name: str, least: int, what: str) -> int:
    try:
        number = -1 if isinstance(given, bool | np.bool_) else operator.index(given)
    except TypeError:
        number = -1
    if number < least:
        raise InputError(f"{name} must be an int, {least} or more ({what}); got {given!r}")
    return number


def _costs(costs: Any, n_labels: int) -> FloatArray:
    if costs is None:
        return np.ones(n_labels)
    found = as_doubles(costs, "costs")
    if found.shape != (n_labels,) or not (np.isfinite(found) & (found > 0)).all():
        raise InputError(
            f"costs must be one number above 0 per training row, {n_labels} in all: what it takes "
            "to check its label, in any unit"
        )
    return found


def _limit(cost_limit: Any) -> float:
    if cost_limit is None:
        return np.inf
    found = as_doubles(cost_limit, "cost_limit")
    if found.ndim or not found >= 0:
        raise InputError(
            f"cost_limit must be a number, 0 or more, in the unit of costs; got {cost_limit!r}"
        )
    return float(found)
