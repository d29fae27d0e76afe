"""Study: a file and a question, answered by a fitted model."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.estimators.three_numbers import Asked, summaries
from unswayed.margins.decisions import Decision, Radius
from unswayed.pieces.pieces import Place
from unswayed.report.facts import Caveat, Size, quality
from unswayed.results.certificates import CertificateSet, MinimumBudgets, Verdict, Witness, verdicts
from unswayed.results.curves import Alone, Summary
from unswayed.study.loading import Gaps, Rows
from unswayed.study.penalty import AlphaChoice, Progress, Silent
from unswayed.study.request import Budget, Request
from unswayed.study.target import Target, bias_in_words, kept_in_words
from unswayed.tables.encoding import Encoding
from unswayed.tables.inspection import Inspection
from unswayed.words import distinct_texts, labels_of

_CHUNK = 1024  # rows certified between two steps of the progress bar
_SLOW_CHUNK = 100  # the same of models that are not linear in their labels
_MANY = 10**9  # pairs of a test and a training row: exact ranges then take minutes
EXACT = ("auto", "exact")
_RANGES = ("score", "low", "high", "inner_low", "inner_high")


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """The certified facts about every test row, one array entry per row."""

    score: FloatArray
    low: FloatArray  # infinite, like the other end, where the request wants no ranges
    high: FloatArray
    inner_low: FloatArray
    inner_high: FloatArray
    verdict: Any  # object array of Verdict, at the main budget
    minimum_budget: FloatArray  # fewer labels are proven not to overturn the row
    enough: FloatArray  # so many do; infinite where none are known to, NaN where nothing is known

    @property
    def minimum_budget_proven(self) -> BoolArray:
        """Where the minimum budget is proven to be exactly that."""
        return np.asarray(self.minimum_budget == self.enough)


@dataclass(frozen=True, eq=False, kw_only=True)
class Study:
    """A request, the rows it is about, and the model that answers it."""

    request: Request
    target: Target
    encoding: Encoding
    train: Rows
    test: Rows
    model: Any
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
        """Number of training rows."""
        return len(self.train)

    @property
    def fold(self) -> IntArray | None:
        """The fold of every test row, from 1; None where one model certifies all of them."""
        return None

    def count(self, budget: Budget) -> int:
        """Return a budget as a number of training labels."""
        return budget.count(self.n_train)

    @property
    def n_file_rows(self) -> int:
        """Number of rows of the training file, with those that are left out or certified."""
        return len(self.train) if self.inspection is None else self.inspection.n_rows

    @property
    def numbering(self) -> str:
        """How rows are numbered."""
        return "Rows are numbered from 1 below the header of their file."

    @property
    def source_in_words(self) -> str:
        """What the training rows are read from."""
        return self.request.train.name

    @property
    def hashed_files(self) -> tuple[Path, ...]:
        """Files that a page names with their hashes."""
        return self.request.files

    def is_training_file(self, path: Path) -> bool:
        """Return whether training rows are read from a file."""
        return path.samefile(self.request.train)

    @property
    def class_counts(self) -> list[int]:
        """Number of training labels of each class; empty for numbers."""
        if not self.target.classes:
            return []
        labels = np.asarray(self.train.labels).astype(np.intp)
        return [int(count) for count in np.bincount(labels, minlength=2)]

    def train_label(self, row: int) -> str:
        """Return the label of a training row as a text."""
        return self.target.as_text(np.asarray(self.train.labels)[row])

    @property
    def places(self) -> Sequence[Place] | None:
        """File and row of every test row, where these are of several files."""
        return None

    def pass_facts(self) -> dict[str, Any]:
        """Return how often the training rows were passed over; nothing if they are in memory."""
        return {}

    def last_notes(self) -> list[str]:
        """Return what is only known once everything was asked."""
        return []

    def close(self) -> None:
        """Let go of what is held outside this process: nothing, where rows are in memory."""

    @property
    def n_movable(self) -> int:
        """Number of training labels that may be wrong, where --only and --direction let them."""
        return int(np.count_nonzero(self._may_be_wrong))

    @property
    def _may_be_wrong(self) -> BoolArray:
        """Training rows whose label may be wrong."""
        bias = self.model.fitted_.engine.bias
        return np.asarray((bias.lower != 0) | (bias.upper != 0))

    def class_sizes(self) -> dict[str, Size]:
        """Return the size of each class among the training rows; nothing for numbers."""
        names = np.array(self.target.class_names)
        return (
            self._sizes(names[np.asarray(self.train.labels, dtype=np.intp)]) if len(names) else {}
        )

    def group_sizes(self, name: str) -> dict[str, Size]:
        """Return the size of each group among the training rows; nothing if it is not known."""
        if not len(self.train) or name not in self.train.table.column_names:
            return {}
        asked, trained = (rows.table.column(name).to_pylist() for rows in (self.test, self.train))
        return self._sizes(np.array(distinct_texts([*asked, *trained])[len(asked) :]))

    def _sizes(self, names: NDArray[np.str_]) -> dict[str, Size]:
        """Return the size of each class or group, given that of every training row."""
        known, at = np.unique(names, return_inverse=True)
        every = np.ones(len(at), dtype=bool)
        sizes = (self._count(at, each).tolist() for each in (every, self._may_be_wrong))
        return {str(name): Size(*each) for name, *each in zip(known, *sizes, strict=True)}

    def _count(self, at: IntArray, rows: BoolArray) -> IntArray:
        """Return how often each number occurs among some training rows."""
        return np.bincount(at[rows], minlength=int(at.max()) + 1)

    def labels_in_words(self, count: int) -> str:
        """Return a number of labels and, if not all may be wrong, its share of those that may."""
        return labels_of(count, self.n_movable, self.n_train)

    @property
    def feature_columns(self) -> list[str]:
        """Columns of the file that are features, in the file's order."""
        used = {column.name for column in self.encoding.columns}
        return [name for name in self.train.table.column_names if name in used]

    def bias_in_words(self) -> str:
        """Describe which labels may be wrong and how."""
        return bias_in_words(self.request, self.target, self._selected_rows())

    def _selected_rows(self) -> str:
        return f"the {int(self.movable.sum()):,} training rows"

    def keeps(self) -> str:
        """Describe what robust rows keep."""
        return kept_in_words(self.request, self.target)

    # --- what was found ------------------------------------------------------------------

    @cached_property
    def _certified(self) -> tuple[Answers, list[CertificateSet]]:
        """Certify the test rows in chunks.

        Returns the answers, and the certificates themselves if the request wants to keep them.
        """
        slow = self.request.method == "exact" and not self._verdicts_only
        if slow and len(self.test) * self.n_train > _MANY:
            self.notes.append(
                f"exact ranges over {self.n_train:,} training rows take their time; --method auto "
                "gives the same verdicts faster, with ranges that are wider than need be"
            )
        chunk = _CHUNK if self.request.kind.linear else _SLOW_CHUNK
        starts, columns, kept = range(0, len(self.test), chunk), [], []
        for start in self.progress.track(starts, "certifying", len(starts)):
            rows = self._rows(np.arange(start, min(start + chunk, len(self.test))))
            certificates = self._answer(rows)
            columns.append(self._facts(certificates))
            kept += [certificates] if self.request.keep else []
        return Answers(*map(np.concatenate, zip(*columns, strict=True))), kept

    def _facts(self, certificates: CertificateSet) -> list[Any]:
        """Return the columns of `Answers`; without a radius, ranges only."""
        ranges = [getattr(certificates, name) for name in _RANGES]
        unknown = np.full(len(certificates), np.nan)
        if self.target.task == "regression" and self.request.radius is None:
            verdict = np.full(len(certificates), Verdict.UNDECIDED, dtype=object)
            return [*ranges, verdict, unknown, unknown]
        if not (self.request.kind.linear or self.request.least):  # they take their time
            return [*ranges, certificates.verdict, unknown, unknown]
        least = certificates.minimum_budgets
        return [*ranges, certificates.verdict, least.low, least.high]

    @property
    def answers(self) -> Answers:
        """Certified facts about every test row, at the main budget."""
        return self._certified[0]

    @property
    def certificates(self) -> list[CertificateSet]:
        """Certificates of the test rows in chunks; empty unless the request keeps them."""
        return self._certified[1]

    @property
    def _verdicts_only(self) -> bool:
        """Whether nobody wants to see ranges: minimum budgets then give every verdict."""
        request = self.request
        exact = request.method in EXACT and self.target.task == "classification"
        return exact and request.kind.linear and not (request.ranges or request.keep)

    def _rows(self, at: IntArray) -> Any:
        """Return some test rows as the model takes them."""
        return self.test.features[at]

    def _answer(self, features: Any) -> Any:
        """Certify rows at the main budget."""
        request = self.request
        if not self._verdicts_only:
            return self._certify(features, request.budget)
        return self.model.certify(
            features, budget=self.count(request.budget), resolve=request.resolve, ranges=False
        )

    def _certify(self, features: Any, budget: Budget) -> Any:
        """Certify rows by the method that was asked for."""
        request = self.request
        # Ranges do not depend on the radius, so that any will do where there is none.
        bare = self.target.task == "regression" and request.radius is None
        return self.model.certify(
            features,
            budget=self.count(budget),
            method=request.method,
            resolve=request.resolve,
            decision=Radius(0.0) if bare else None,
            effort=request.effort,
        )

    def certify_rows(
        self, at: IntArray, budget: Budget, decision: Decision | None = None
    ) -> CertificateSet:
        """Certify some test rows exactly."""
        certs: CertificateSet = self.model.certify(
            self._rows(at),
            budget=self.count(budget),
            decision=decision,
            resolve=self.request.resolve,
            effort=self.request.effort,
        )
        return certs

    def ranges(self, budget: Budget) -> CertificateSet:
        """Certify the test rows at a budget, for the ranges of their scores."""
        certs: CertificateSet = self._certify(self._rows(np.arange(len(self.test))), budget)
        return certs

    def summaries(self, alone: Sequence[Alone]) -> list[Summary]:
        """Return what wrong labels do to the test rows one at a time, together and at random."""
        return summaries(
            self._asked(), alone, len(self.test), keeps=self.keeps(), seed=self.request.seed
        )

    def _asked(self) -> list[Asked]:
        return [self._placed(np.arange(self.n_train), self.answers)]

    def _placed(self, place: IntArray, answers: Answers) -> Asked:
        """Return the test rows put to the model, whose training rows are at certain places."""
        model, rows = self.model, self._rows(np.arange(len(self.test)))
        question = model._question(model.fitted_, rows, None, None)
        known = answers.minimum_budget if self._least_decides else None
        return Asked(question, place, known)

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
        if self._least_decides:
            return by_budgets(self.answers.minimum_budget, self.answers.enough, self.count(budget))
        return np.asarray(self.ranges(budget).verdict)

    @property
    def _least_decides(self) -> bool:
        """Whether minimum budgets tell the verdict at every budget."""
        return self.request.kind.linear and self.request.method in EXACT

    def score(self, at: int) -> float:
        """Return the score of a test row."""
        return float(self.model.certify(self._rows(np.array([at])), budget=0).score[0])

    def quality(self) -> float | None:
        """Return the accuracy on the test rows, or R² for regression."""
        if self.test.labels is None:
            return None
        score, classes = self.answers.score, bool(self.target.classes)
        predicted = self.request.rule.predict(score) if classes else score
        return quality(predicted, self.test.labels, classes=classes)

    def prediction(self, at: int) -> str:
        """Return the prediction of a test row as a text."""
        return self.predictions[at]

    @cached_property
    def predictions(self) -> list[str]:
        """Predictions of all test rows as texts."""
        score = self.answers.score
        if not self.target.classes:
            return [self.target.as_text(each) for each in score.tolist()]
        return [self.target.as_text(each) for each in self.request.rule.predict(score).tolist()]

    def decided(self, score: float) -> str:
        """Return the prediction that a score leads to, as a text."""
        if not self.target.classes:
            return self.target.as_text(score)
        return self.target.as_text(float(self.request.rule.predict(np.array([score]))[0]))

    def groups(self, name: str) -> list[str]:
        """Return the group of every test row, by a column."""
        return distinct_texts(self.test.table.column(name).to_pylist())

    def witnesses(self, at: IntArray) -> list[Witness | None]:
        """Find the smallest set of label changes that overturns each of some test rows."""
        if not len(at):
            return []
        tracked = self.progress.track(range(len(at)), "finding witnesses", len(at))
        if not self.request.kind.linear:
            certs = self._searched(at)
            enough, source = certs.minimum_budgets.high, certs.source
            assert source is not None  # noqa: S101  (they were not pickled)
            return [
                source.witness(row, enough[row]) if np.isfinite(enough[row]) else None
                for row in tracked
            ]
        certs = self.model.certify(
            self._rows(at), budget=self.n_train, resolve=self.request.resolve, ranges=False
        )
        return [certs.witness(row) for row in tracked]

    def minimum_budgets(self, at: IntArray) -> MinimumBudgets:
        """Return bounds on the least number of labels that overturns each of some test rows."""
        return self._searched(at).minimum_budgets

    def _searched(self, at: IntArray) -> CertificateSet:
        """Certify some test rows, and keep what a search for their minimum budgets finds."""
        key = tuple(at.tolist())
        if key not in self._kept:
            self._kept.clear()
            self._kept[key] = self._certify(self._rows(at), self.request.budget)
        return self._kept[key]

    def training_rows(self, places: Iterable[Place]) -> Rows:
        """Return some training rows."""
        numbers = np.array([place.row for place in places])
        at = np.searchsorted(self.train.numbers, numbers)
        labels = np.asarray(self.train.labels)[at]
        return Rows(self.train.table.take(pa.array(at)), numbers, self.train.features[at], labels)

    def ever_overturned(self, at: int) -> Verdict:
        """Return whether any number of label changes overturns a test row."""
        one = self._rows(np.array([at]))
        if not self.request.kind.linear:
            least = self.minimum_budgets(np.array([at]))
            return Verdict(by_budgets(least.low, least.high, self.n_train)[0])
        certs = self.model.certify(one, budget=self.n_train, resolve=self.request.resolve)
        return Verdict(certs.verdict[0])


def by_budgets(low: FloatArray, high: FloatArray, labels: int) -> NDArray[np.object_]:
    """Return the verdicts at so many labels that bounds on minimum budgets tell."""
    broken = high <= labels
    return verdicts(broken, ~broken & ~(low > labels))
