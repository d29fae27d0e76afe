"""Study: files and a question, answered by models whose scheme says which rows train them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.estimators.question import Asked
from unswayed.estimators.three_numbers import summaries
from unswayed.labels.budgets import Budget as Limit
from unswayed.margins.decisions import Argmax, Decision, Radius
from unswayed.pieces.pieces import Place
from unswayed.report.certified import BudgetRate, Certified, Size
from unswayed.report.facts import Caveat, quality
from unswayed.results.certificates import CertificateSet, MinimumBudgets, Verdict
from unswayed.results.collective import MetricRange, TogetherCertificate
from unswayed.results.curves import Alone, Summary
from unswayed.results.rows import Witness
from unswayed.study.answers import Answers, by_budgets, class_texts, columns_of_answers
from unswayed.study.kinds import AlphaChoice
from unswayed.study.loading import Gaps, Rows
from unswayed.study.phrases import bias_in_words, kept_in_words
from unswayed.study.request import Budget, Request
from unswayed.study.target import Target
from unswayed.tables.encoding import Encoding
from unswayed.tables.inspection import Inspection
from unswayed.words import distinct_texts, labels_of

T = TypeVar("T")

EXACT = ("auto", "exact")
_MANY = 10**9  # pairs of a test and a training row: exact ranges then take minutes


class Progress(Protocol):
    """Shows how far long work has come."""

    def track(self, steps: Iterable[T], what: str, total: int) -> Iterator[T]:
        """Yield the steps, and show how many of them are done."""
        ...


class Silent:
    """Progress that is not shown."""

    def track(self, steps: Iterable[T], what: str, total: int) -> Iterator[T]:
        """Yield the steps."""
        yield from steps


class OneModel:
    """One model of training rows in memory, which certifies all test rows: a study's usual scheme.

    A scheme says which training rows there are, which model answers for which test row, and how.
    The others, `ModelPerFold` and `ModelOfPieces`, say what is different with them.
    """

    can = frozenset({"folds", "balance", "witnesses"})
    """What else may be asked for: --folds, --threshold balanced, witnesses of many rows."""
    held_out_of = "the same file"
    assumptions: tuple[tuple[str, str], ...] = ()
    """What is assumed of the training rows: titles and sentences."""

    @property
    def fold(self) -> IntArray | None:
        """The fold of every test row, from 1; None where one model certifies all of them."""
        return None

    @property
    def places(self) -> Sequence[Place] | None:
        """File and row of every test row, where these are of several files."""
        return None

    @property
    def numbering(self) -> str:
        """How rows are numbered."""
        return "Rows are numbered from 1 below the header of their file."

    def close(self) -> None:
        """Let go of what is held outside this process."""

    # --- training rows --------------------------------------------------------------------

    def n_train(self, study: "Study") -> int:
        """Return the number of training rows: where models have several, of the smallest."""
        return len(study.train)

    def limit(self, study: "Study") -> Limit:
        """Return the budget of the model, which knows its unit."""
        found: Limit = study.model.fitted_.engine.bias.budget
        return found

    def n_movable(self, study: "Study") -> int:
        """Return the number of training labels that may be wrong."""
        return int(np.count_nonzero(self.may_be_wrong(study)))

    def n_file_rows(self, study: "Study") -> int:
        """Return the number of rows of the training files, with those left out or certified."""
        return len(study.train) if study.inspection is None else study.inspection.n_rows

    def source_in_words(self, study: "Study") -> str:
        """Return what the training rows are read from."""
        return study.request.train.name

    def selected_in_words(self, study: "Study") -> str:
        """Return which rows ``--only`` selects."""
        return f"the {int(study.movable.sum()):,} training rows"

    def is_training_file(self, study: "Study", path: Path) -> bool:
        """Return whether training rows are read from a file."""
        return path.samefile(study.request.train)

    def columns(self, study: "Study") -> Sequence[str]:
        """Return the columns of the training files, in their order."""
        names: list[str] = study.train.table.column_names
        return names

    def class_counts(self, study: "Study") -> list[int]:
        """Return the number of training labels of each class."""
        labels, n_classes = np.asarray(study.train.labels), len(study.target.classes)
        found = np.bincount(labels.astype(np.intp), minlength=n_classes)
        return [int(count) for count in found]

    def class_sizes(self, study: "Study") -> dict[str, Size]:
        """Return the size of each class among the training rows."""
        names = np.array(study.target.class_names)
        return self._sizes(study, names[np.asarray(study.train.labels, dtype=np.intp)])

    def group_sizes(self, study: "Study", name: str) -> dict[str, Size]:
        """Return the size of each group among the training rows; nothing if it is not known."""
        if not len(study.train) or name not in study.train.table.column_names:
            return {}
        asked, trained = (rows.table.column(name).to_pylist() for rows in (study.test, study.train))
        return self._sizes(study, np.array(distinct_texts([*asked, *trained])[len(asked) :]))

    def _sizes(self, study: "Study", names: NDArray[np.str_]) -> dict[str, Size]:
        """Return the size of each class or group, given that of every training row."""
        known, at = np.unique(names, return_inverse=True)
        every = np.ones(len(at), dtype=bool)
        sizes = (self.times(at, each).tolist() for each in (every, self.may_be_wrong(study)))
        return {str(name): Size(*each) for name, *each in zip(known, *sizes, strict=True)}

    def may_be_wrong(self, study: "Study") -> BoolArray:
        """Return the training rows whose label may be wrong."""
        bias = study.model.fitted_.engine.bias
        return np.asarray((bias.lower != 0) | (bias.upper != 0))

    def times(self, at: IntArray, rows: BoolArray) -> IntArray:
        """Return how often each number occurs among some training rows."""
        return np.bincount(at[rows], minlength=int(at.max()) + 1)

    def training_rows(self, study: "Study", places: Iterable[Place]) -> Rows:
        """Return some training rows."""
        numbers, train = np.array([place.row for place in places]), study.train
        at = np.searchsorted(train.numbers, numbers)
        labels = np.asarray(train.labels)[at]
        return Rows(train.table.take(pa.array(at)), numbers, train.features[at], labels)

    def pass_facts(self, study: "Study") -> dict[str, Any]:
        """Return how often the training rows were passed over; nothing if they are in memory."""
        return {}

    def last_notes(self, study: "Study") -> list[str]:
        """Return what is only known once everything was asked."""
        return []

    def studies(self, study: "Study") -> Iterable["Study"]:
        """Return the studies of one model each."""
        return [study]

    def whole(self, study: "Study") -> "Study | None":
        """Return the study whose coefficients are told of; None if that would take too long."""
        return study

    # --- answers --------------------------------------------------------------------------

    def rows(self, study: "Study", at: IntArray) -> Any:
        """Return some test rows as the model takes them."""
        return study.test.features[at]

    def certified(self, study: "Study") -> tuple["Answers", list[CertificateSet]]:
        """Certify all test rows; also the certificates, if the request wants to keep them."""
        request, n_test, n_train = study.request, len(study.test), study.n_train
        if request.method == "exact" and not study.verdicts_only and n_test * n_train > _MANY:
            study.notes.append(
                f"exact ranges over {n_train:,} training rows take a while; --method auto "
                "gives the same verdicts faster, with wider ranges"
            )
        chunk = request.kind.chunk
        starts, columns, kept = range(0, n_test, chunk), [], []
        # Minimum budgets that are searched for take their time.
        least = request.least or "exact" in request.kind.can
        for start in study.progress.track(starts, "certifying", len(starts)):
            rows = self.rows(study, np.arange(start, min(start + chunk, n_test)))
            if study.verdicts_only:
                certificates = study.put(rows, request.budget, ranges=False)
            else:
                certificates = study.put_as_asked(rows, request.budget)
            columns.append(columns_of_answers(study, certificates, least=least))
            kept += [certificates] if request.keep else []
        return Answers(*map(np.concatenate, zip(*columns, strict=True))), kept

    def ranges(self, study: "Study", at: IntArray, budget: Budget) -> CertificateSet:
        """Certify test rows at a budget by the method that was asked for."""
        return study.put_as_asked(self.rows(study, at), budget)

    def certify(
        self, study: "Study", at: IntArray, budget: Budget, decision: Decision | None
    ) -> CertificateSet:
        """Certify test rows exactly."""
        return study.put(self.rows(study, at), budget, decision=decision)

    def certify_together(self, study: "Study", budget: Budget, **asked: Any) -> TogetherCertificate:
        """Prove how many test rows one set of wrong labels overturns."""
        found: TogetherCertificate = study.model.certify_together(
            study.test.features, budget=study.asked_of(budget), **asked
        )
        return found

    def certify_metric(
        self, study: "Study", at: IntArray, budget: Budget, truth: FloatArray | None, **asked: Any
    ) -> MetricRange:
        """Prove how far wrong labels move a metric of test rows."""
        found: MetricRange = study.model.certify_metric(
            study.test.features[at], y_true=truth, budget=study.asked_of(budget), **asked
        )
        return found

    def least_decides(self, study: "Study") -> bool:
        """Return whether minimum budgets tell the verdict at every budget."""
        return "exact" in study.request.kind.can and study.request.method in EXACT

    def asked(self, study: "Study") -> list[Asked]:
        """Return the test rows put to their models; nothing where single labels are not at hand."""
        return [self.placed(study, np.arange(study.n_train), study.answers)]

    def placed(self, study: "Study", place: IntArray, answers: "Answers") -> Asked:
        """Return the test rows put to the model, whose training rows are at certain places."""
        model = study.model
        question = model._question(model.fitted_, study.test.features, None, None)
        return Asked(question, place, answers.minimum_budget if self.least_decides(study) else None)

    def witnesses(self, study: "Study", at: IntArray) -> list[Witness | None]:
        """Find the smallest set of label changes that overturns each of some test rows."""
        tracked = study.progress.track(range(len(at)), "finding witnesses", len(at))
        if study.searches:
            certs = study.searched(at)
            enough, source = certs.minimum_budgets.high, certs.source
            assert source is not None  # noqa: S101  (they were not pickled)
            return [
                source.witness(row, enough[row]) if np.isfinite(enough[row]) else None
                for row in tracked
            ]
        # Sets of labels that are put through a whole search are found at the budget that was asked.
        found = "choice" in study.request.kind.can
        budget = study.request.budget if found else study.everything
        certs = study.put(self.rows(study, at), budget, ranges=False)
        return [certs.witness(row) for row in tracked]

    def ever_overturned(self, study: "Study", at: int) -> Verdict:
        """Return whether any number of label changes overturns a test row."""
        one = np.array([at])
        if study.searches:
            least = study.minimum_budgets(one)
            return Verdict(by_budgets(least.low, least.high, study.n_train)[0])
        return Verdict(study.put(self.rows(study, one), study.everything).verdict[0])

    def refitted_scores(
        self, study: "Study", changed: IntArray, labels: NDArray[Any], at: IntArray
    ) -> FloatArray:
        """Return scores of test rows by a model that is trained anew on changed labels.

        Where the threshold is balanced, they are measured from the mean of these labels. Of several
        classes there is a column of scores for each.
        """
        from sklearn.base import clone

        given, weights = np.array(study.train.labels), study.train.weights
        given[changed] = labels
        weighted = {} if weights is None else {"sample_weight": weights}
        if study.target.several:
            given = (given[:, None] == np.arange(len(study.target.classes))).astype(np.float64)
        fitted = clone(study.model.estimator).fit(study.train.features, given, **weighted)
        scores = study.request.kind.scores(fitted, study.test.features[at])
        if study.request.threshold == "balanced":
            scores -= float(np.average(given, weights=weights))
        return scores


@dataclass(frozen=True, eq=False, kw_only=True)
class Study:
    """A request, the rows it is about, and the models that answer it."""

    request: Request
    target: Target
    encoding: Encoding
    train: Rows  # none where they are in pieces
    test: Rows
    model: Any
    scheme: OneModel
    alpha: float | None  # None: one per fold
    movable: BoolArray  # training rows whose label may be wrong
    alpha_choice: AlphaChoice | None = None  # None: alpha was given
    inspection: Inspection | None = None  # of the training file
    gaps: Gaps = field(default_factory=Gaps)
    notes: list[str] = field(default_factory=list)
    caveats: list[Caveat] = field(default_factory=list)  # of the file and its columns
    sizes: dict[Path, int] = field(default_factory=dict)  # rows of each file, all of them
    progress: Progress = field(default_factory=Silent)
    _verdicts: dict[Budget, NDArray[np.object_]] = field(default_factory=dict, init=False)
    _kept: dict[tuple[int, ...], CertificateSet] = field(default_factory=dict, init=False)

    # --- what was asked ------------------------------------------------------------------

    @property
    def n_train(self) -> int:
        """Number of training rows; of the fold that has the fewest."""
        return self.scheme.n_train(self)

    @property
    def n_movable(self) -> int:
        """Number of training labels that may be wrong, where --only and --direction let them."""
        return self.scheme.n_movable(self)

    @property
    def n_file_rows(self) -> int:
        """Number of rows of the training files, with those that are left out or certified."""
        return self.scheme.n_file_rows(self)

    @property
    def fold(self) -> IntArray | None:
        """The fold of every test row, from 1; None where one model certifies all of them."""
        return self.scheme.fold

    @property
    def places(self) -> Sequence[Place] | None:
        """File and row of every test row, where these are of several files."""
        return self.scheme.places

    def count(self, budget: Budget) -> float:
        """Return a budget as a number of training labels, or as an amount of another unit."""
        return budget.count(self.n_train)

    @cached_property
    def limit(self) -> Limit | None:
        """The budget of the model, which knows its unit; None: a number of any labels."""
        return None if self.request.stated is None else self.scheme.limit(self)

    @property
    def unit(self) -> str:
        """What budgets and minimum budgets count."""
        return "labels" if self.limit is None else self.limit.unit

    @property
    def everything(self) -> float:
        """A budget that leaves no label out."""
        if self.unit in ("labels", "clusters"):
            return self.n_train
        bias = self.model.fitted_.engine.bias
        costs = getattr(bias.budget, "per_label", np.maximum(-bias.lower, bias.upper))
        return float(np.nextafter(2 * costs[np.isfinite(costs)].sum(), np.inf))

    def train_label(self, row: int) -> str:
        """Return the label of a training row as a text."""
        return self.target.as_text(np.asarray(self.train.labels)[row])

    def pass_facts(self) -> dict[str, Any]:
        """Return how often the training rows were passed over; nothing if they are in memory."""
        return self.scheme.pass_facts(self)

    def last_notes(self) -> list[str]:
        """Return what is only known once everything was asked."""
        return self.scheme.last_notes(self)

    def labels_in_words(self, count: float) -> str:
        """Return a number of labels and, if not all may be wrong, its share of those that may."""
        if self.limit is not None and self.unit != "labels":
            return self.limit.in_words(count)
        return labels_of(int(count), self.n_movable, self.n_train)

    @property
    def feature_columns(self) -> list[str]:
        """Columns of the file that are features, in the file's order."""
        used = {column.name for column in self.encoding.columns}
        return [name for name in self.scheme.columns(self) if name in used]

    def bias_in_words(self) -> str:
        """Describe which labels may be wrong and how."""
        return bias_in_words(self.request, self.target, self.scheme.selected_in_words(self))

    def keeps(self) -> str:
        """Describe what robust rows keep."""
        return kept_in_words(self.request, self.target)

    # --- what was found ------------------------------------------------------------------

    @cached_property
    def _answered(self) -> tuple[Answers, list[CertificateSet]]:
        return self.scheme.certified(self)

    @property
    def answers(self) -> Answers:
        """Certified facts about every test row, at the main budget."""
        return self._answered[0]

    @property
    def certificates(self) -> list[CertificateSet]:
        """Certificates of the test rows in chunks; empty unless the request keeps them."""
        return self._answered[1]

    @property
    def verdicts_only(self) -> bool:
        """Whether nobody wants to see ranges: minimum budgets then give every verdict."""
        request = self.request
        exact = request.method in EXACT and self.target.task == "classification"
        return exact and "exact" in request.kind.can and not (request.ranges or request.keep)

    @property
    def ranges_only(self) -> bool:
        """Whether numbers are predicted and no radius was given, so that there is no verdict."""
        return self.target.task == "regression" and self.request.radius is None

    @property
    def searches(self) -> bool:
        """Whether sets of labels are searched for: what is not found may still exist."""
        return "effort" in self.model.fitted_.engine.can

    def asked_of(self, budget: Budget) -> float | None:
        """Return a budget as the model takes it: None if it is the model's own, sample and all."""
        own = self.request.stated is not None and budget == self.request.budget
        return None if own else self.count(budget)

    def put(self, rows: Any, budget: Budget | float, **how: Any) -> CertificateSet:
        """Certify rows, exactly unless another method is named."""
        labels = self.asked_of(budget) if isinstance(budget, Budget) else budget
        rest = {"resolve": self.request.resolve, "effort": self.request.effort}
        certificates: CertificateSet = self.model.certify(rows, budget=labels, **rest, **how)
        return certificates

    def put_as_asked(self, rows: Any, budget: Budget) -> CertificateSet:
        """Certify rows by the method that was asked for."""
        # Ranges do not depend on the radius, so that any will do where there is none.
        decision = Radius(0.0) if self.ranges_only else None
        return self.put(rows, budget, method=self.request.method, decision=decision)

    def ranges(self, budget: Budget) -> CertificateSet:
        """Certify the test rows at a budget, for the ranges of their scores."""
        return self.scheme.ranges(self, np.arange(len(self.test)), budget)

    def summaries(self, alone: Sequence[Alone]) -> list[Summary]:
        """Return what wrong labels do to the test rows one at a time, together and at random."""
        asked, n_test = self.scheme.asked(self), len(self.test)
        return summaries(asked, alone, n_test, keeps=self.keeps(), seed=self.request.seed)

    def robust(self, budget: Budget) -> BoolArray:
        """Return which test rows are proven robust at a budget, by the method asked for."""
        return np.asarray(self.verdicts(budget) == Verdict.ROBUST, dtype=bool)

    def verdicts(self, budget: Budget) -> NDArray[np.object_]:
        """Return verdicts of the test rows at a budget, by the method asked for."""
        if budget == self.request.budget:
            return np.asarray(self.answers.verdict)
        if budget not in self._verdicts:
            self._verdicts[budget] = self._other_verdicts(budget)
        return self._verdicts[budget]

    def _other_verdicts(self, budget: Budget) -> NDArray[np.object_]:
        """Return verdicts at another budget than the main one."""
        if self.scheme.least_decides(self):
            return by_budgets(self.answers.minimum_budget, self.answers.enough, self.count(budget))
        return np.asarray(self.ranges(budget).verdict)

    def scored(self, at: int) -> tuple[float, str]:
        """Return the score of a test row, and its prediction as a text."""
        rows = self.scheme.rows(self, np.array([at]))
        settled = self.request.resolve if self.target.several else None
        found = self.model.certify(rows, budget=0, resolve=settled)
        return float(found.score[0]), self.target.as_text(float(self.said(found)[0]))

    def quality(self) -> float | None:
        """Return the accuracy on the test rows, or R² for regression."""
        if self.test.labels is None:
            return None
        return quality(self.answers.said, self.test.labels, classes=bool(self.target.classes))

    @cached_property
    def predictions(self) -> list[str]:
        """Predictions of all test rows as texts."""
        return [self.target.as_text(each) for each in self.answers.said.tolist()]

    @property
    def rule(self) -> Decision:
        """Which class a score stands for; of several classes, a row of scores."""
        if self.target.several:
            return Argmax(np.arange(float(len(self.target.classes))))
        return self.request.rule

    def said(self, certificates: CertificateSet) -> FloatArray:
        """Return what certified rows are predicted to be: a number, or the number of a class."""
        if self.target.several:  # a lead does not say whose it is
            return np.asarray(certificates.prediction, dtype=np.float64)
        return self.decided(certificates.score)

    def decided(self, scores: FloatArray) -> FloatArray:
        """Return the predictions that scores lead to, as numbers."""
        return np.asarray(self.rule.predict(scores)) if self.target.classes else scores

    @property
    def can_balance(self) -> bool:
        """Whether ``--threshold balanced`` is possible, and was not passed."""
        request, both = self.request, self.request.kind.can & self.scheme.can
        if self.target.several or request.threshold == "balanced":
            return False
        return "balance" in both and request.method in EXACT

    @cached_property
    def certified(self) -> Certified:
        """The test rows as arrays, with what verdicts say of minimum budgets."""
        request, target, scheme, answers = self.request, self.target, self.scheme, self.answers
        labels, low, high, budgets = self.test.labels, answers.minimum_budget, answers.enough, []
        counted = self.limit is None or self.limit.countable  # any labels, if they are few enough
        for budget in request.budgets:
            verdicts = self.verdicts(budget)
            count: Any = self.count(budget)  # an int of labels, and a float of other units
            more = count + 1.0 if self.unit in ("labels", "clusters") else count
            low = np.where(verdicts == Verdict.ROBUST, np.maximum(low, more), low)
            high = np.where(verdicts == Verdict.NOT_ROBUST, np.minimum(high, count), high)
            budgets.append(BudgetRate.of(budget.text, count, verdicts))
        return Certified(
            n_train=self.n_train,
            n_movable=self.n_movable,
            budgets=budgets,
            score=answers.score,
            minimum_budget=low,
            enough=high,
            prediction=self.predictions,
            truth=None if labels is None else [target.as_text(each) for each in labels.tolist()],
            quality=self.quality(),
            classes=target.class_names,
            rivals=class_texts(self, answers.rival.tolist()) if target.several else None,
            groups={name: self.groups(name) for name in request.groups},
            decided=not self.ranges_only,
            train_counts=scheme.class_counts(self) if target.classes else [],
            class_sizes=scheme.class_sizes(self) if target.classes and counted else {},
            group_sizes={n: scheme.group_sizes(self, n) for n in request.groups if counted},
            three=self.summaries if counted else None,
            unit=self.unit,
            limited=self.unit == "labels" and not counted,
            source=None if self.limit is None else self.limit.source,
            chosen_threshold=request.threshold is not None,
            can_balance=self.can_balance,
        )

    def groups(self, name: str) -> list[str]:
        """Return the group of every test row, by a column."""
        return distinct_texts(self.test.table.column(name).to_pylist())

    def witnesses(self, at: IntArray) -> list[Witness | None]:
        """Find the smallest set of label changes that overturns each of some test rows."""
        return self.scheme.witnesses(self, at) if len(at) else []

    def minimum_budgets(self, at: IntArray) -> MinimumBudgets:
        """Return bounds on the least number of labels that overturns each of some test rows."""
        return self.searched(at).minimum_budgets

    def searched(self, at: IntArray) -> CertificateSet:
        """Certify some test rows, and keep what a search for their minimum budgets finds."""
        key = tuple(at.tolist())
        if key not in self._kept:
            self._kept.clear()
            self._kept[key] = self.scheme.ranges(self, at, self.request.budget)
        return self._kept[key]

    def ever_overturned(self, at: int) -> Verdict:
        """Return whether any number of label changes overturns a test row."""
        return self.scheme.ever_overturned(self, at)
