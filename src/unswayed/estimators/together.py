"""Questions about many rows at once: one set of wrong labels has to serve them all."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unswayed._core.dyadic import enclose, nearest
from unswayed._core.rounding import ordinary_arithmetic
from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.estimators.base import Certified
from unswayed.estimators.cases_proof import CasesProof, MeansProof
from unswayed.estimators.certificate_file import (
    end_section,
    groups_section,
    named_section,
    own_section,
    together_section,
    witness_section,
)
from unswayed.estimators.in_folds import Folds
from unswayed.estimators.question import Question, first_rows
from unswayed.exceptions import InputError
from unswayed.inputs import as_doubles, as_values, refuse_masked
from unswayed.joint.fragile import Changes, Fragile, count_goal, whole_numbers
from unswayed.joint.metrics import Form, Largest, Named, Sample, class_in_question, own_metric
from unswayed.joint.ranges import Mean, Ranges, Sums, alike
from unswayed.joint.search import Deadline, Progress, Search
from unswayed.labels.budgets import Budget
from unswayed.margins.decisions import Decision, Radius
from unswayed.results.collective import (
    CollectiveWitness,
    GroupRanges,
    MetricRange,
    TogetherCertificate,
)
from unswayed.results.groups import group_names


class CertifiedTogether(Certified):
    """Meta-estimators that answer for many rows together, too."""

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
            Rows with the same columns as the training rows.
        budget : int, float or Budget, optional
            Instead of the bias's own: a count of labels, or a share of the training rows.
        time_limit : float
            Seconds for splitting cases and searching for label sets. They end earlier if they
            agree. 0 gives the bounds that take little time.
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
        fitted.need("together", "certify_together")
        return together(
            self._question(fitted, X, None, decision),
            self._budget(fitted, budget),
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
        positive: Any = None,
        budget: float | Budget | None = None,
        time_limit: float = 60.0,
        progress: Progress | None = None,
    ) -> MetricRange:
        """Prove between which values a metric lies if some labels are wrong.

        Parameters
        ----------
        X : array, sparse matrix or frame
            Rows with the same columns as the training rows.
        metric : str, RowSum, quotient of two, or callable
            For a classifier, one of fairlearn's names: "selection_rate", "accuracy",
            "true_positive_rate", "true_negative_rate", "false_positive_rate" and
            "false_negative_rate", each also with "_difference", "_ratio", "_group_min" or
            "_group_max" behind it, and "demographic_parity", "equal_opportunity" and
            "equalized_odds" with "_difference" or "_ratio". One of your own is a `RowSum`; a
            callable is taken for one. For a regressor, "mean_prediction" and
            "mean_prediction_difference".
        groups : (n,) array-like, optional
            The group of each row, for metrics that compare groups and for `by_group`.
        y_true : (n,) array-like, optional
            The labels of the rows, for metrics that compare predictions with them.
        positive : class, optional
            With three or more classes, the one that counts as positive, against all others;
            accuracy needs none. With two classes it is the second one.
        budget : int, float or Budget, optional
            Instead of the bias's own: a count of labels, or a share of the training rows.
        time_limit : float
            Seconds for splitting cases and the search for label sets, for all ends together. 0 for
            bounds that take little time.
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
        fitted.need("together", "certify_metric")
        # A mean is not decided by anything: any radius will do.
        decision = Radius(0.0) if fitted.labels.decision is None else None
        asked = MetricQuestion(
            question=self._question(fitted, X, None, decision),
            budget=self._budget(fitted, budget),
            groups=groups,
            y_true=y_true,
            positive=positive,
            time_limit=time_limit,
            progress=progress,
        )
        return asked.range_of(metric)


def together(
    question: Question | Folds,
    budget: Budget,
    *,
    time_limit: float,
    direction: str | None,
    where: Any,
    weights: Any,
    progress: Progress | None,
) -> TogetherCertificate:
    """Return how many of the rows one admissible set of labels can overturn."""
    if direction is not None and len(_classes(question)) > 2:
        raise InputError(
            f"direction={direction!r} is about one score, which rises or falls, and here are three "
            "or more classes; leave it out, or pass where= for rows of one class"
        )
    fragile = question.fragile(budget, _ways(direction))
    seconds = _seconds(time_limit)
    among = _mask(where, len(question.group))
    weight = _weights(weights, len(question.group))
    steps, unit, blur = whole_numbers(weight)
    steps = np.where(among, steps, 0)
    per_row = np.zeros(int(question.group.max(initial=-1)) + 1, dtype=np.int64)
    np.add.at(per_row, question.group, steps)
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
        witness=_overturning(question, fragile, found.changes, among),
        fragile=shown(goal.ceiling, 1),
        n_rows=int(among.sum()),
        bounds={name: shown(bound, 1) for name, bound in found.bounds.items()},
        budget=budget.amount,
        question=f"{question.decision} if {budget}",
        trusted=question.trusted,
    )

    def section() -> dict[str, Any]:
        return together_section(direction, among, None if whole else weight) | {
            "at_least": made.at_least,
            "at_most": made.at_most,
            "witness": witness_section(found.changes, made.witness.overturned),
            "tree": 0,
        }

    cases = CasesProof(search, [goal], first_rows(question.group))
    return replace(made, source=question.claimed(budget, section, cases))


def _classes(question: Question | Folds) -> NDArray[Any]:
    """Return the classes that are told apart; none where numbers are predicted."""
    return np.zeros(0) if question.code.classes is None else question.code.classes


def _ways(direction: str | None) -> tuple[float, ...]:
    """Return the ways in which rows may be overturned; raise unless `direction` is one."""
    ways: dict[Any, tuple[float, ...]] = {None: (1.0, -1.0), "up": (1.0,), "down": (-1.0,)}
    if direction not in ways:
        raise InputError(
            f"direction must be 'up', 'down' or None, got {direction!r}; 'up' counts rows whose "
            "score rises too far, which is towards the second class"
        )
    return ways[direction]


def _seconds(time_limit: Any) -> float:
    """Return a time limit; raise unless it is a number of seconds, 0 or more."""
    given = as_doubles(time_limit, "time_limit")
    if given.ndim or not given >= 0:
        raise InputError(
            f"time_limit must be a number of seconds, 0 or more, got {time_limit!r}; 0 returns "
            "the bounds that take little time"
        )
    return min(float(given), 1e9)


def _witness(
    question: Question | Folds, changes: Changes, overturned: IntArray | None = None
) -> CollectiveWitness:
    """Return label changes in the user's terms, beside the rows that they overturn."""
    added = changes.added
    if added is None:
        lower, upper = question.offsets
        added = np.where(changes.sign > 0, upper[changes.rows], lower[changes.rows]) * changes.share
    labels = question.targets[changes.rows] + added
    hit = np.zeros(0, dtype=np.intp) if overturned is None else overturned
    return CollectiveWitness(changes.rows, question.code.decode(labels), hit)


def _overturning(
    question: Question | Folds, fragile: Fragile, changes: Changes, among: BoolArray | None = None
) -> CollectiveWitness:
    """Return label changes and the rows that they overturn, in the user's terms."""
    overturned, _ = fragile.outcome(changes)
    hit = np.isin(question.group, fragile.row[overturned])
    hit &= True if among is None else among
    return _witness(question, changes, np.flatnonzero(hit))


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


# --- Ranges of metrics, from a fitted model and users' groups and labels to results --------


_CLOSE = 2**24  # of the size of a value: how far from it numbers are that it is said to be between

_ROOM = 2.0**-30  # of a size: less than anybody reads

_MEANS = ("mean_prediction", "mean_prediction_difference")
_ENDS = ("value", "low", "high", "inner_low", "inner_high", "proven_low", "proven_high")


@dataclass(frozen=True, eq=False, kw_only=True)
class MetricQuestion:
    """A metric of rows that are put to a model."""

    question: Question | Folds
    budget: Budget
    groups: Any
    y_true: Any
    time_limit: float
    progress: Progress | None
    positive: Any = None  # of several classes, the one that a metric is about

    @property
    def _n_rows(self) -> int:
        return len(self.question.group)

    def _members(self) -> tuple[tuple[Any, BoolArray], ...]:
        if self.groups is None:
            return ()
        names, which = group_names(self.groups, self._n_rows)
        return tuple((name, which == at) for at, name in enumerate(names))

    def _made(self, name: str, n_rows: int, **ends: Any) -> MetricRange:
        return MetricRange(
            metric=name,
            n_rows=n_rows,
            budget=self.budget.amount,
            question=str(self.budget),
            trusted=self.question.trusted,
            **ends,
        )

    def range_of(self, metric: Any) -> MetricRange:
        """Return the range of a metric of predicted classes, or of predicted numbers."""
        numbers = self.question.code.classes is None
        return self._of_numbers(metric) if numbers else self._of_classes(metric)

    # --- classes --------------------------------------------------------------------------

    def _of_classes(self, metric: Any) -> MetricRange:
        seconds = _seconds(self.time_limit)
        classes = self.question.code.classes
        assert classes is not None  # noqa: S101  (a classifier has classes)
        actual, counted = self._in_question(metric, classes)
        sample = Sample(self._n_rows, actual, self._members())
        if isinstance(metric, str):
            named = Named.read(metric)
            named.check(sample)
            name, form, parts = metric, named.form(sample), named.by_group(sample)
            asked, rate = named_section(metric, sample), named.rates[0]
        else:
            own, name = own_metric(metric)
            labels = None if self.y_true is None else as_values(self.y_true)
            form, parts = own.form(labels, classes, self._n_rows), []
            asked, rate = own_section(name, own.ends(labels, classes, self._n_rows)), name
        search = Search(self.question.fragile(self.budget), self.progress)
        ranges = Ranges(search, self.question.group, self.question.said, counted)
        range_of, deadline = partial(self._range, ranges), Deadline.of(seconds)
        own_time = deadline.part(0.6 if parts else 1.0)
        found = range_of(form, own_time, name, self._n_rows, asked)
        by_group = []
        for at, (group, rows, function) in enumerate(parts):
            part, of = deadline.part(1 / (len(parts) - at)), Largest((function,))
            by_group.append((group, range_of(of, part, f"{rate} of {group}", int(rows.sum()))))
        return replace(found, by_group=GroupRanges(tuple(by_group)))

    def _in_question(self, metric: Any, classes: NDArray[Any]) -> tuple[BoolArray | None, IntArray]:
        """Return which rows truly are of the class that counts, if known, and that class."""
        truth = self._truth(classes)
        if isinstance(metric, str) and Named.read(metric).rates == ("accuracy",):
            if len(classes) > 2 and truth is not None:  # what counts is to be of the true class
                return np.ones(self._n_rows, dtype=bool), truth
            number = len(classes) - 1
        else:
            number = class_in_question(metric, self.positive, classes)
        counted = np.full(self._n_rows, number, dtype=np.intp)
        return None if truth is None else truth == number, counted

    def _truth(self, classes: NDArray[Any]) -> IntArray | None:
        """Return the number of the true class of each row, if it is known."""
        if self.y_true is None:
            return None
        refuse_masked(self.y_true, "y_true")
        values = as_values(self.y_true)
        if values.shape != (self._n_rows,):
            raise InputError(
                f"y_true has shape {values.shape} but there are {self._n_rows} rows; pass one "
                "label per row in question"
            )
        known = np.isin(values, classes)
        if not known.all():
            raise InputError(
                f"y_true holds {values[~known].tolist()[0]!r}, which is none of the classes that "
                f"the model was trained on ({', '.join(map(repr, classes.tolist()))}); leave such "
                "rows out"
            )
        return np.asarray(np.argmax(values[:, None] == classes, axis=1))

    def _range(
        self,
        ranges: Ranges,
        form: Form,
        deadline: Deadline,
        name: str,
        n_rows: int,
        asked: dict[str, Any] | None = None,
    ) -> MetricRange:
        value, fragile = ranges.value(form), ranges.search.fragile
        low, high = ranges.ends(form, deadline, name)
        made = self._made(
            name,
            n_rows,
            value=nearest(value),
            low=enclose(low.outer)[0],
            high=enclose(high.outer)[1],
            inner_low=enclose(low.inner)[0 if low.proven else 1],
            inner_high=enclose(high.inner)[1 if high.proven else 0],
            proven_low=low.proven,
            proven_high=high.proven,
            witness_low=_overturning(self.question, fragile, low.changes),
            witness_high=_overturning(self.question, fragile, high.changes),
        )
        if asked is None:
            return made
        cases = CasesProof(ranges.search, [], first_rows(self.question.group))
        ends = (made.low, made.inner_low), (made.high, made.inner_high)

        def section() -> dict[str, Any]:
            return asked | {
                "value": made.value,
                "low": end_section(ranges, form, low, ends[0], cases, up=False),
                "high": end_section(ranges, form, high, ends[1], cases, up=True),
            }

        return replace(made, source=self.question.claimed(self.budget, section, cases))

    # --- numbers --------------------------------------------------------------------------

    def _of_numbers(self, metric: Any) -> MetricRange:
        """Return the range of a mean of predicted numbers, or of the gap between groups' means."""
        if not isinstance(metric, str) or metric not in _MEANS:
            raise InputError(
                f"metrics of predicted numbers are {' and '.join(_MEANS)}, got {metric!r}; others "
                "are about classes, which a CertifiedClassifier predicts"
            )
        members = self._members()
        difference = metric.endswith("difference")
        if difference and len(members) < 2:
            raise InputError(
                f"{metric} compares groups: pass groups=, one group per row, at least two of them"
            )
        _seconds(self.time_limit)
        rates = [rows / rows.sum() for _, rows in members]
        pairs = [a - b for a in rates for b in rates if a is not b] if difference else []
        every = np.full(self._n_rows, 1.0 / self._n_rows)
        sums = self.question.sums(
            self.budget, np.array([*rates, *pairs] if difference else [*rates, every])
        )
        n_rows = [int(rows.sum()) for _, rows in members]
        parts = tuple(
            (group, self._mean(f"{_MEANS[0]} of {group}", sums.ends(at), n_rows[at]))
            for at, (group, _) in enumerate(members)
        )
        if difference:
            found, changes = self._gap(metric, sums, range(len(rates), len(sums.value)))
        else:
            mean = sums.ends(len(rates))
            found = self._mean(metric, mean, self._n_rows)
            changes = mean.changes_low, mean.changes_high
        section = self._mean_section(
            found, sums, len(rates), members if difference else (), changes
        )
        low, high = section["value"]
        size = abs(found.value) + float(np.abs(self.question.targets).max())
        closer = None
        if math.isfinite(found.low) and not alike(low, high, size):
            all_rows = ((None, np.ones(self._n_rows, dtype=bool)),)
            closer = partial(self._closer, members if difference else all_rows, size)
        return replace(
            found,
            by_group=GroupRanges(parts),
            source=self.question.claimed(
                self.budget, lambda: section, MeansProof(sums.fragile, len(rates)), closer
            ),
        )

    def _closer(self, members: tuple[tuple[Any, BoolArray], ...], size: float) -> list[float]:
        """Return numbers just below and above a mean, or the gap between several, as it is."""
        scores = self.question.exact_scores()
        means = []
        for _, those in members:
            kinds = self.question.group[those].tolist()
            means.append(sum((scores[kind] for kind in kinds), Fraction(0)) / len(kinds))
        exact = max(means) - min(means) if len(means) > 1 else means[0]
        room = Fraction(size) / _CLOSE  # a checker that rounds can then prove it, too
        return [enclose(exact - room)[0], enclose(exact + room)[1]]

    def _mean_section(
        self,
        found: MetricRange,
        sums: Sums,
        start: int,
        members: tuple[tuple[Any, BoolArray], ...],
        changes: tuple[Changes, Changes],
    ) -> dict[str, Any]:
        """Return the claim of a mean, or of the largest difference of some, for a file."""
        part, error = sums.value[start:], sums.error[start:]
        asked: dict[str, Any] = {"ask": "mean", "metric": found.metric}
        if members:
            asked["groups"] = groups_section(members)
        # A little further out, and in, so that doubles suffice to prove them.
        size = abs(found.value) + float(np.abs(self.question.targets).max())
        room = (size + max(abs(found.low), abs(found.high))) * _ROOM
        ends = (
            (found.low - room, found.inner_low + room),
            (found.high + room, found.inner_high - room),
        )
        low, high = (
            {"outer": outer, "inner": inner, "witness": labels}
            for (outer, inner), labels in zip(ends, map(witness_section, changes), strict=True)
        )
        value = [float((part - error).max() - room), float((part + error).max() + room)]
        return asked | {"value": value, "low": low, "high": high}

    def _mean(self, name: str, mean: Mean, n_rows: int) -> MetricRange:
        return self._made(
            name,
            n_rows,
            **{end: getattr(mean, end) for end in _ENDS},
            witness_low=_witness(self.question, mean.changes_low),
            witness_high=_witness(self.question, mean.changes_high),
        )

    def _gap(
        self, name: str, sums: Sums, pairs: range
    ) -> tuple[MetricRange, tuple[Changes, Changes]]:
        """Return the range of the largest difference of groups' means, and the labels there."""
        found = [sums.ends(at) for at in pairs]
        present = max(each.value for each in found)
        size = max(each.size for each in found)
        top = max(found, key=lambda each: each.inner_high)
        high = max(each.high for each in found)
        # The gap is at least each difference, in both orders, and so never below 0.
        low = max(0.0, *(each.low for each in found))
        best = sums.gentlest(pairs, [each.changes_low for each in found])
        inner_low = min(best.value, present) if math.isfinite(best.value) else present
        made = replace(
            self._mean(name, top, self._n_rows),
            value=present,
            low=low,
            high=high,
            inner_low=inner_low,
            proven_low=alike(low, inner_low, size),
            proven_high=alike(high, top.inner_high, size),
            witness_low=_witness(self.question, best.changes),
        )
        return made, (best.changes, top.changes_high)
