"""All test rows at once: how far wrong labels can move rates of groups and gaps between them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from unswayed._core.dyadic import enclose
from unswayed._typing import BoolArray, FloatArray
from unswayed.exceptions import InputError
from unswayed.joint.metrics import RATES, Named, names
from unswayed.results.collective import CollectiveWitness, MetricRange
from unswayed.results.groups import SMALL_GROUP
from unswayed.study.facts import budget_facts
from unswayed.study.request import Budget
from unswayed.study.study import Study
from unswayed.study.target import Target
from unswayed.study.together import Say, rows_meant
from unswayed.words import (
    counted,
    distinct_texts,
    natural,
    number_end,
    range_text,
    share_end,
    shorten,
    suggest,
)

MEAN = "mean_prediction"
MEANS = (MEAN, f"{MEAN}_difference")
HOLDS, BROKEN, OPEN = "holds", "can be broken", "open"
"""What is known of a limit: a proof, labels that break it, or neither."""


@dataclass(frozen=True)
class Metric:
    """A metric by its name, and what it needs."""

    name: str
    rates: tuple[str, ...]  # What it is made of
    # How groups are compared: "difference", "ratio", "group_min" or "group_max"; None: they are not
    kind: str | None
    of: int | None = None  # Of several classes, the number of the one that it is about
    class_name: str | None = None

    @classmethod
    def read(cls, name: str, *, classes: bool) -> "Metric":
        """Read a name; raise if there is no such metric of classes, or of numbers."""
        if not classes:
            if name in MEANS:
                return cls(name, (MEAN,), "difference" if name != MEAN else None)
            raise InputError(
                f"--metric: there is no metric {shorten(name)!r} of predicted numbers; there are "
                f"{' and '.join(MEANS)}"
            )
        if name in MEANS:
            raise InputError(
                f"--metric {name} is about predicted numbers, and here are classes; "
                "selection_rate is the share of rows for which the second class is predicted"
            )
        try:
            found = Named.read(name)
        except InputError:
            raise InputError(
                f"--metric: there is no metric {shorten(name)!r}; "
                f"{suggest(name, names(), 'metrics')}"
            ) from None
        return cls(name, found.rates, found.kind)

    @classmethod
    def of_classes(cls, text: str, target: Target) -> "list[Metric]":
        """Read a metric of each class, or of the one in brackets; accuracy is about all of them."""
        name, bracket, given = text.removesuffix(")").partition(" (")
        if not (bracket and target.several):
            name = text
        found = cls.read(name, classes=bool(target.classes))
        every = [(at, known) for at, known in enumerate(target.class_names) if target.several]
        if found.rates == ("accuracy",):
            every = []
        if name == text:
            return [replace(found, of=at, class_name=known) for at, known in every] or [found]
        if not every:
            raise InputError(f"--metric {text}: {name} is about all classes; leave '({given})' out")
        for at, known in every:
            if known == given:
                return [replace(found, of=at, class_name=known)]
        raise InputError(
            f"--metric {text}: {shorten(given)!r} is no class of the label "
            f"{shorten(target.label)!r}; {suggest(given, [*target.class_names], 'classes')}"
        )

    def named(self, name: str) -> str:
        """Return the name of the metric, or of a rate, with the class that it is about."""
        return name if self.of is None else f"{name} ({self.class_name})"

    @property
    def title(self) -> str:
        """The name of the metric, with the class that it is about."""
        return self.named(self.name)

    def labelled(self, truth: FloatArray, *, positive: bool) -> BoolArray:
        """Return which rows are labelled as the positive class, or are not."""
        return np.asarray((truth == (1 if self.of is None else self.of)) == positive)

    @property
    def needs_truth(self) -> bool:
        """Whether it compares predictions with labels of the test rows."""
        return any(rate in RATES and RATES[rate].needs_truth for rate in self.rates)

    @property
    def by_group(self) -> str | None:
        """The rate that is known of every group, where the metric is about one."""
        return self.named(self.rates[0]) if len(self.rates) == 1 else None


def default_metrics(study: Study) -> tuple[str, ...]:
    """Return the metrics of a study where none is named."""
    if study.target.classes:
        return ("selection_rate", "demographic_parity_difference")
    return MEANS


@dataclass(frozen=True, eq=False)
class Fairness:
    """Metrics of the test rows of a study, over budgets."""

    study: Study
    metrics: Sequence[Metric]
    only_rows: str | None  # Test rows that they are about, as a condition; None: all
    among: BoolArray  # The same, by row
    time_limit: float  # Seconds for every metric at every budget
    say: Say  # Takes a line about how far a search is

    @classmethod
    def of(
        cls,
        study: Study,
        metrics: Sequence[str],
        *,
        only_rows: str | None,
        time_limit: float,
        say: Say,
    ) -> "Fairness":
        """Check what is asked before any work is done."""
        request, target = study.request, study.target
        if request.log:
            raise InputError(
                "--log: a mean of predicted logarithms is no mean of predicted numbers; leave "
                "--log out"
            )
        read = [
            each
            for name in metrics or default_metrics(study)
            for each in Metric.of_classes(name, target)
        ]
        made = cls(study, read, only_rows, rows_meant(study, only_rows), time_limit, say)
        for metric in read:
            made._check(metric)
        return made

    # --- what users ask ---------------------------------------------------------------------

    def _check(self, metric: Metric) -> None:
        request, target = self.study.request, self.study.target
        if metric.needs_truth and request.folds is not None:
            raise InputError(
                f"--metric {metric.name} compares predictions with the labels of the same rows, "
                "and with --folds these labels train other models and may be wrong themselves; ask "
                "for selection_rate or demographic_parity_difference, which need no labels, or "
                "hold rows out with --holdout"
            )
        if metric.needs_truth and self.study.test.labels is None:
            raise InputError(
                f"--metric {metric.name} compares predictions with labels, and --test "
                f"{request.test} has no column {shorten(target.label)!r}; add it, or ask for "
                "selection_rate, which needs none"
            )
        if metric.kind is not None and not request.groups:
            raise InputError(
                f"--metric {metric.name} compares groups: name a column of them with --groups; "
                + suggest("", self.study.test.table.column_names)
            )
        for column in request.groups:
            self._check_groups(metric, column)

    def _check_groups(self, metric: Metric, column: str) -> None:
        groups = np.array(self._groups(column))
        kinds = sorted(set(groups.tolist()), key=natural)
        if metric.kind is not None and len(kinds) < 2:
            raise InputError(
                f"--groups: {shorten(column)!r} is {kinds[0]!r} in all of these test rows, and "
                f"{metric.name} compares groups; name another column, or pass more rows"
            )
        truth = self.study.test.labels
        if truth is None:
            return
        for rate in metric.rates:
            for positive in RATES[rate].classes if rate in RATES else ():
                some = set(groups[metric.labelled(truth[self.among], positive=positive)].tolist())
                lacking = [kind for kind in kinds if kind not in some]
                if lacking:
                    raise InputError(
                        f"--metric {metric.title}: {rate} is a share of the rows whose "
                        f"{shorten(self.study.target.label)} is "
                        f"{self._meant(metric, positive=positive)}, and the group "
                        f"{lacking[0]!r} of {shorten(column)!r} has none among the test rows; "
                        "leave it out with --only-rows, or pass more rows with --holdout or --test"
                    )

    def _meant(self, metric: Metric, *, positive: bool) -> str:
        """Return the class of some labels in words."""
        if metric.of is None:
            return repr(self.study.target.class_names[positive])
        return f"{'' if positive else 'not '}{metric.class_name!r}"

    def absent(self) -> list[str]:
        """Return a note for every column with groups that no test row is in."""
        notes = []
        for column in self.study.request.groups:
            if column not in self.study.train.table.column_names:
                continue
            here = set(self._groups(column))
            known = distinct_texts(self.study.train.table.column(column).to_pylist())
            out = sorted(set(known) - here, key=natural)
            if out:
                named = ", ".join(map(repr, out[:4])) + (", …" if len(out) > 4 else "")
                notes.append(
                    f"--groups: {shorten(column)!r} is {named} in training rows but in no test row "
                    "that is asked about, so the answer does not cover "
                    f"{'it' if len(out) == 1 else 'them'}"
                )
        return notes

    def _groups(self, column: str) -> list[str]:
        every = self.study.groups(column)
        return [every[at] for at in np.flatnonzero(self.among)]

    # --- what is found ----------------------------------------------------------------------

    def facts(self, limits: Sequence["Limit"]) -> dict[str, Any]:
        """Ask for every metric at every budget, and judge limits."""
        request = self.study.request
        columns: list[dict[str, Any]] = [
            {"column": shorten(name), "metrics": [], "rates": []} for name in request.groups
        ]
        budgets = [budget_facts(self.study, each) for each in request.budgets]
        found = {
            "rows": int(self.among.sum()),
            "budgets": budgets,
            "overall": self._overall(columns),
            "columns": columns,
            "only_rows": self.only_rows,
            "time_limit": self.time_limit,
            "folds": request.folds,
            "share": self._share,
        }
        for name, into in zip(request.groups, columns, strict=True):
            self._compare(name, into)
        judged = [
            limit.check(
                line,
                each["column"],
                budget,
                at,
                share=self._share,
                labelled=self.study.unit == "labels",
            )
            for limit in limits
            for each in columns
            for line in each["metrics"]
            if line["metric"] == limit.metric.title
            for at, budget in enumerate(budgets)
        ]
        return found | {"limits": judged}

    def _overall(self, columns: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return metrics of all rows; where no gap needs a rate, put it into the columns, too."""
        groups, overall = self.study.request.groups, []
        covered = {each.by_group for each in self.metrics if each.kind is not None}
        for metric in (each for each in self.metrics if each.kind is None):
            single = metric.by_group in covered or not groups
            found = [self._over_budgets(metric, name) for name in ([None] if single else groups)]
            overall.append(self._line(metric, found[0]))
            for into, ranges in zip(columns, [] if single else found, strict=False):
                into["rates"].append(self._rates(metric, ranges))
        return overall

    def _compare(self, name: str, into: dict[str, Any]) -> None:
        """Put metrics that compare the groups of a column, and their rates, beside it."""
        for metric in (each for each in self.metrics if each.kind is not None):
            found = self._over_budgets(metric, name)
            line = self._line(metric, found) | self._without_small(metric, name)
            into["metrics"].append(line)
            known = {each["rate"] for each in into["rates"]}
            if metric.by_group is not None and metric.by_group not in known:
                into["rates"].append(self._rates(metric, found))

    def _without_small(self, metric: Metric, column: str) -> dict[str, Any]:
        """Return the small groups of a column, and the metric of two or more others, if any."""
        kinds, which = np.unique(self._groups(column), return_inverse=True)
        large = np.ones(len(kinds), dtype=bool)
        for of in self._counted(metric):
            large &= np.bincount(which[of], minlength=len(kinds)) >= SMALL_GROUP
        line = None
        if not large.all() and large.sum() > 1:
            among = self.among.copy()
            among[among] = large[which]
            line = self._line(metric, replace(self, among=among)._over_budgets(metric, column))
        small = sorted(kinds[~large].tolist(), key=natural)
        return {"small_groups": small, "large": line}

    def _counted(self, metric: Metric) -> list[BoolArray]:
        """Return which of the rows asked about each rate of a metric is a share of."""
        truth = None if self.study.test.labels is None else self.study.test.labels[self.among]
        classes = [each for rate in metric.rates if rate in RATES for each in RATES[rate].classes]
        if truth is None or not classes:
            return [np.ones(int(self.among.sum()), dtype=bool)]
        return [metric.labelled(truth, positive=each) for each in classes]

    def _over_budgets(self, metric: Metric, column: str | None) -> list[MetricRange]:
        return [self._asked(metric, column, budget) for budget in self.study.request.budgets]

    def _asked(self, metric: Metric, column: str | None, budget: Budget) -> MetricRange:
        study, rows = self.study, np.flatnonzero(self.among)
        truth = study.test.labels
        about = [budget.text, *([shorten(column)] if column else [])]
        beside = f"{', '.join(about + ([metric.title] if metric.class_name else []))}: "
        try:
            return study.scheme.certify_metric(
                study,
                rows,
                budget,
                None if truth is None or not metric.needs_truth else truth[rows],
                metric=metric.name,
                **({} if metric.of is None else {"positive": metric.of}),
                groups=None if column is None else np.array(self._groups(column), dtype=object),
                time_limit=self.time_limit,
                progress=lambda line: self.say(beside + line),
            )
        except InputError as error:
            raise InputError(
                f"--metric {metric.title} at --budget {budget.text}: {error}"
            ) from None

    @property
    def _share(self) -> bool:
        return bool(self.study.target.classes)

    def _line(self, metric: Metric, found: Sequence[MetricRange]) -> dict[str, Any]:
        return {
            "metric": metric.title,
            **self._value(found[0]),
            "ranges": [self._range(each) for each in found],
        }

    def _rates(self, metric: Metric, found: Sequence[MetricRange]) -> dict[str, Any]:
        groups = sorted(found[0].by_group, key=natural)
        return {
            "rate": metric.by_group,
            "groups": [
                {
                    "group": group,
                    **self._value(found[0].by_group[group]),
                    "ranges": [self._range(each.by_group[group]) for each in found],
                }
                for group in groups
            ],
        }

    def _value(self, found: MetricRange) -> dict[str, Any]:
        text = share_end(found.value) if self._share else number_end(found.value)
        small = found.n_rows < SMALL_GROUP
        return {"rows": found.n_rows, "small": small, "value": found.value, "value_text": text}

    def _range(self, found: MetricRange) -> dict[str, Any]:
        share = self._share
        inner = range_text(found.inner_low, found.inner_high, share=share, outer=False)
        ends = ("low", "high", "inner_low", "inner_high", "proven_low", "proven_high", "proven")
        return {end: getattr(found, end) for end in ends} | {
            "text": range_text(found.low, found.high, share=share),
            "reached": "both ends" if found.proven else inner,
            "labels_at_low": self._labels(found.witness_low),
            "labels_at_high": self._labels(found.witness_high),
        }

    def _labels(self, witness: CollectiveWitness) -> list[dict[str, Any]]:
        text = self.study.target.as_text
        numbers = self.study.train.numbers[witness.indices].tolist()
        new = np.asarray(witness.labels).tolist()
        return [
            {"row": number, "new label": text(label)}
            for number, label in zip(numbers, new, strict=True)
        ]


# --- limits: could wrong labels take a gap between groups beyond what is allowed? -------------


@dataclass(frozen=True)
class Limit:
    """The most that a difference may be, or the least that a ratio may be."""

    text: str  # As it was written
    value: Fraction
    metric: Metric

    @property
    def above(self) -> bool:
        """Whether values above it break it; otherwise those below."""
        return self.metric.kind == "difference"

    def judge(self, found: dict[str, Any], *, share: bool) -> str:
        """Say whether a range is within the limit."""
        below, above = enclose(self.value) if share else (self.value, self.value)
        # Ends of shares that are proven are equal; those of numbers may differ by rounding.
        if self.above:
            if found["high"] <= above:
                return HOLDS
            reached = found["inner_high"] > above or (share and found["proven_high"])
        else:
            if found["low"] >= below:
                return HOLDS
            reached = found["inner_low"] < below or (share and found["proven_low"])
        return BROKEN if reached else OPEN

    def check(self, line: dict[str, Any], column: str, budget: dict[str, Any], at: int,
              *, share: bool, labelled: bool = True) -> dict[str, Any]:  # fmt: skip
        """Judge a metric at a budget."""
        found = line["ranges"][at]
        verdict = self.judge(found, share=share)
        text = share_end if share else number_end
        beyond = "above" if self.above else "below"
        outer, inner = ("high", "inner_high") if self.above else ("low", "inner_low")
        way = 1 if self.above else -1
        bound, best = text(found[outer], way), text(found[inner], -way)
        what = f"{self.metric.title} by {column}"
        many, most = f"label changes within {budget['labels_in_words']}", ""
        if labelled:
            many, most = counted(int(budget["labels"]), "wrong label"), "up to "
        now = Fraction(line["value"])
        already = now > self.value if self.above else now < self.value
        if verdict == BROKEN and already:
            what = f"{what}, which is {text(line['value'])} and so {beyond} {self.text} already,"
        settle = "a longer --time-limit may settle it" if share else "rounding hides it"
        said = {
            HOLDS: f"{most}{many} do not take {what} {beyond} {self.text}: it stays at "
            f"{'most' if self.above else 'least'} {bound}",
            BROKEN: f"{many} can take {what} to {best}"
            + ("" if already else f", {beyond} {self.text}"),
            OPEN: f"whether {many} take {what} {beyond} {self.text} is open: some reach {best}, "
            f"and {bound} is not ruled out; {settle}",
        }[verdict]
        return {
            "metric": self.metric.title,
            "column": column,
            "limit": float(self.value),
            "budget": budget["budget"],
            "verdict": verdict,
            "sentence": f"at {budget['budget']}: {said}",
        }


def read_limits(texts: Sequence[str], metrics: Sequence[Metric]) -> list[Limit]:
    """Read limits such as ``0.2``, or ``demographic_parity_ratio=0.8`` among several metrics.

    A limit that names no class is one of every class.
    """
    compared = [each for each in metrics if each.kind in ("difference", "ratio")]
    known = list(dict.fromkeys(each.name for each in compared))
    found = []
    for text in texts:
        name, _, number = text.rpartition("=")
        name = name.strip()
        if not compared:
            raise InputError(
                f"--limit {text} is about a difference or a ratio of groups, and no such --metric "
                "is asked for; add one, such as demographic_parity_difference"
            )
        if not name and len(known) > 1:
            raise InputError(
                f"--limit {text} could be one of {', '.join(known)}; write --limit {known[0]}="
                f"{text.strip()}"
            )
        meant = [each for each in compared if name in ("", each.name, each.title)]
        if not meant:
            raise InputError(
                f"--limit {text}: {name!r} is no difference or ratio that is asked for; these are "
                f"{', '.join(each.title for each in compared)}"
            )
        value = _number(number, text)
        found += [Limit(number.strip(), value, each) for each in meant]
    return found


def _number(number: str, text: str) -> Fraction:
    try:
        value = Fraction(number.strip().removesuffix("%"))
    except (ValueError, ZeroDivisionError):
        value = Fraction(-1)
    if value < 0:
        raise InputError(f"--limit {text} has no number that could be one; write 0.2, or 20%")
    return value / 100 if number.strip().endswith("%") else value
