"""Ranges of metrics, from a fitted model and users' groups and labels to results."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unswayed._core.dyadic import enclose, nearest
from unswayed._core.rounding import narrower, wider
from unswayed._typing import BoolArray
from unswayed.estimators.collective import Collective, JointRows, as_seconds
from unswayed.estimators.collective_file import (
    end_section,
    first_rows,
    groups_section,
    named_section,
    own_section,
    witness_section,
)
from unswayed.exceptions import InputError
from unswayed.inputs import as_values, refuse_masked
from unswayed.joint.fragile import Changes
from unswayed.joint.means import Mean, Sums, alike
from unswayed.joint.metrics import Form, Largest, Named, Sample, own_metric
from unswayed.joint.ranges import End, Ranges
from unswayed.joint.search import Deadline, Progress, Search
from unswayed.labels.budgets import Budget
from unswayed.results.collective import GroupRanges, MetricRange
from unswayed.results.groups import group_names

CLOSED_FORM = "closed form"

_CLOSE = 2**24  # of the size of a value: how far from it numbers are that it is said to be between

_MEANS = ("mean_prediction", "mean_prediction_difference")


@dataclass(frozen=True, eq=False, kw_only=True)
class MetricQuestion:
    """A metric of rows that are put to a model."""

    question: JointRows
    budget: Budget
    groups: Any
    y_true: Any
    time_limit: float
    progress: Progress | None

    @property
    def _n_rows(self) -> int:
        return len(self.question.group)

    def _members(self) -> tuple[tuple[Any, BoolArray], ...]:
        if self.groups is None:
            return ()
        names, which = group_names(self.groups, self._n_rows)
        return tuple((name, which == at) for at, name in enumerate(names))

    # --- classes --------------------------------------------------------------------------

    def of_classes(self, metric: Any) -> MetricRange:
        """Return the range of a metric of predicted classes."""
        seconds = as_seconds(self.time_limit)
        classes = self.question.code.classes
        assert classes is not None  # noqa: S101  (a classifier has classes)
        actual = self._actual(classes)
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
        collective = self.question.collective(self.budget)
        search = Search(collective.fragile, self.progress)
        ranges = Ranges(search, self.question.group, self.question.positive)
        deadline = Deadline.of(seconds)
        found = self._range(
            collective,
            ranges,
            form,
            deadline.part(0.6 if parts else 1.0),
            name,
            self._n_rows,
            asked,
        )
        by_group = []
        for at, (group, rows, function) in enumerate(parts):
            part = deadline.part(1 / (len(parts) - at))
            one = self._range(
                collective,
                ranges,
                Largest((function,)),
                part,
                f"{rate} of {group}",
                int(rows.sum()),
            )
            by_group.append((group, one))
        return replace(found, by_group=GroupRanges(tuple(by_group)))

    def _actual(self, classes: NDArray[Any]) -> BoolArray | None:
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
                f"y_true holds {values[~known][0]!r}, which is none of the classes that the model "
                f"was trained on ({classes[0]!r} and {classes[1]!r})"
            )
        return np.asarray(values == classes[1], dtype=bool)

    def _range(
        self,
        collective: Collective,
        ranges: Ranges,
        form: Form,
        deadline: Deadline,
        name: str,
        n_rows: int,
        asked: dict[str, Any] | None = None,
    ) -> MetricRange:
        value = ranges.value(form)
        low, high = ranges.ends(form, deadline, name)
        made = MetricRange(
            metric=name,
            value=nearest(value),
            low=enclose(low.outer)[0],
            high=enclose(high.outer)[1],
            inner_low=enclose(low.inner)[0 if low.proven else 1],
            inner_high=enclose(high.inner)[1 if high.proven else 0],
            proven_low=low.proven,
            proven_high=high.proven,
            witness_low=self._witness(collective, low),
            witness_high=self._witness(collective, high),
            rests_on=(low.rests_on, high.rests_on),
            n_rows=n_rows,
            budget=self.budget.amount,
            question=str(self.budget),
            trusted=self.question.trusted,
        )
        if asked is None:
            return made
        first = first_rows(self.question.group)
        ends = (made.low, made.inner_low), (made.high, made.inner_high)
        section = asked | {
            "value": made.value,
            "low": end_section(ranges, form, low, ends[0], first, up=False),
            "high": end_section(ranges, form, high, ends[1], first, up=True),
        }
        return replace(made, source=self.question.claimed(self.budget, lambda: section))

    @staticmethod
    def _witness(collective: Collective, end: End) -> Any:
        return collective.witness(end.changes)

    # --- numbers --------------------------------------------------------------------------

    def of_numbers(self, metric: Any) -> MetricRange:
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
        as_seconds(self.time_limit)
        rates = [rows / rows.sum() for _, rows in members]
        pairs = [a - b for a in rates for b in rates if a is not b] if difference else []
        every = np.full(self._n_rows, 1.0 / self._n_rows)
        sums = self.question.sums(
            self.budget, np.array([*rates, *pairs] if difference else [*rates, every])
        )
        n_rows = [int(rows.sum()) for _, rows in members]
        parts = tuple(
            (group, self._mean(f"{_MEANS[0]} of {group}", sums.ends(at), sums, n_rows[at]))
            for at, (group, _) in enumerate(members)
        )
        if difference:
            found, changes = self._gap(metric, sums, range(len(rates), len(sums.value)))
        else:
            mean = sums.ends(len(rates))
            found = self._mean(metric, mean, sums, self._n_rows)
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
            source=self.question.claimed(self.budget, lambda: section, closer),
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
        ends = (found.low, found.inner_low), (found.high, found.inner_high)
        low, high = (
            {"outer": outer, "inner": inner, "rests_on": CLOSED_FORM, "witness": labels}
            for (outer, inner), labels in zip(ends, map(witness_section, changes), strict=True)
        )
        value = [float(narrower(part, error).max()), float(wider(part, error).max())]
        return asked | {"value": value, "low": low, "high": high}

    def _mean(self, name: str, mean: Mean, sums: Sums, n_rows: int) -> MetricRange:
        collective = Collective(self.question, self.budget, sums.fragile)
        return MetricRange(
            metric=name,
            value=mean.value,
            low=mean.low,
            high=mean.high,
            inner_low=mean.inner_low,
            inner_high=mean.inner_high,
            proven_low=mean.proven_low,
            proven_high=mean.proven_high,
            witness_low=collective.labels(mean.changes_low),
            witness_high=collective.labels(mean.changes_high),
            rests_on=(CLOSED_FORM, CLOSED_FORM),
            n_rows=n_rows,
            budget=self.budget.amount,
            question=str(self.budget),
            trusted=self.question.trusted,
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
        collective = Collective(self.question, self.budget, sums.fragile)
        made = replace(
            self._mean(name, top, sums, self._n_rows),
            value=present,
            low=low,
            high=high,
            inner_low=inner_low,
            proven_low=alike(low, inner_low, size),
            proven_high=alike(high, top.inner_high, size),
            witness_low=collective.labels(best.changes),
        )
        return made, (best.changes, top.changes_high)
