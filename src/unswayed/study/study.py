"""Study: files and a question, answered by models whose scheme says which rows train them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.estimators.certificate_file import pack_doubles, pack_rows, write_certificates
from unswayed.estimators.question import Asked
from unswayed.estimators.three_numbers import summaries
from unswayed.exceptions import InputError
from unswayed.margins.decisions import RATIONAL, Decision
from unswayed.pieces.pieces import Place
from unswayed.report.facts import Caveat, Size, quality
from unswayed.results.certificates import CertificateSet, MinimumBudgets, Verdict, Witness, verdicts
from unswayed.results.curves import Alone, Summary
from unswayed.study.loading import Gaps, Rows
from unswayed.study.penalty import AlphaChoice, Progress, Silent
from unswayed.study.request import Budget, Request
from unswayed.study.target import Target, bias_in_words, kept_in_words
from unswayed.tables.encoding import Encoding
from unswayed.tables.files import foreign_format, is_parquet
from unswayed.tables.inspection import Inspection
from unswayed.words import distinct_texts, labels_of

EXACT = ("auto", "exact")


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


class Scheme(Protocol):
    """Which training rows there are, which model answers for which test row, and by what way.

    One model of rows in memory (`OneModel`), one per fold (`ModelPerFold`), or one of rows in
    pieces (`ModelOfPieces`).
    """

    @property
    def fold(self) -> IntArray | None:
        """The fold of every test row, from 1; None where one model certifies all of them."""
        ...

    @property
    def places(self) -> Sequence[Place] | None:
        """File and row of every test row, where these are of several files."""
        ...

    def n_train(self, study: "Study") -> int:
        """Return the number of training rows: where models have several, of the smallest."""
        ...

    def n_movable(self, study: "Study") -> int:
        """Return the number of training labels that may be wrong."""
        ...

    def n_file_rows(self, study: "Study") -> int:
        """Return the number of rows of the training files, with those left out or certified."""
        ...

    def source_in_words(self, study: "Study") -> str:
        """Return what the training rows are read from."""
        ...

    def selected_in_words(self, study: "Study") -> str:
        """Return which rows ``--only`` selects."""
        ...

    def numbering(self) -> str:
        """Return how rows are numbered."""
        ...

    def is_training_file(self, study: "Study", path: Path) -> bool:
        """Return whether training rows are read from a file."""
        ...

    def feature_columns(self, study: "Study") -> list[str]:
        """Return the columns that are features, in the file's order."""
        ...

    def class_counts(self, study: "Study") -> list[int]:
        """Return the number of training labels of each of two classes."""
        ...

    def class_sizes(self, study: "Study") -> dict[str, Size]:
        """Return the size of each class among the training rows."""
        ...

    def group_sizes(self, study: "Study", name: str) -> dict[str, Size]:
        """Return the size of each group among the training rows; nothing if it is not known."""
        ...

    def training_rows(self, study: "Study", places: Iterable[Place]) -> Rows:
        """Return some training rows."""
        ...

    def rows(self, study: "Study", at: IntArray) -> Any:
        """Return some test rows as the model takes them."""
        ...

    def certified(self, study: "Study") -> tuple[Answers, list[CertificateSet]]:
        """Certify all test rows; also the certificates, if the request wants to keep them."""
        ...

    def ranges(self, study: "Study", at: IntArray, budget: Budget) -> CertificateSet:
        """Certify test rows at a budget by the method that was asked for."""
        ...

    def certify(
        self, study: "Study", at: IntArray, budget: Budget, decision: Decision | None
    ) -> CertificateSet:
        """Certify test rows exactly."""
        ...

    def least_decides(self, study: "Study") -> bool:
        """Return whether minimum budgets tell the verdict at every budget."""
        ...

    def asked(self, study: "Study") -> list[Asked]:
        """Return the test rows put to their models; nothing where single labels are not at hand."""
        ...

    def witnesses(self, study: "Study", at: IntArray) -> list[Witness | None]:
        """Find the smallest set of label changes that overturns each of some test rows."""
        ...

    def ever_overturned(self, study: "Study", at: int) -> Verdict:
        """Return whether any number of label changes overturns a test row."""
        ...

    def pass_facts(self, study: "Study") -> dict[str, Any]:
        """Return how often the training rows were passed over; nothing if they are in memory."""
        ...

    def last_notes(self, study: "Study") -> list[str]:
        """Return what is only known once everything was asked."""
        ...

    def close(self) -> None:
        """Let go of what is held outside this process."""
        ...


@dataclass(frozen=True, eq=False, kw_only=True)
class Study:
    """A request, the rows it is about, and the models that answer it."""

    request: Request
    target: Target
    encoding: Encoding
    train: Rows  # none where they are in pieces
    test: Rows
    model: Any
    scheme: Scheme
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

    def count(self, budget: Budget) -> int:
        """Return a budget as a number of training labels."""
        return budget.count(self.n_train)

    @property
    def numbering(self) -> str:
        """How rows are numbered."""
        return self.scheme.numbering()

    @property
    def source_in_words(self) -> str:
        """What the training rows are read from."""
        return self.scheme.source_in_words(self)

    @property
    def hashed_files(self) -> tuple[Path, ...]:
        """Files that a page names with their hashes."""
        return self.request.files

    def is_training_file(self, path: Path) -> bool:
        """Return whether training rows are read from a file."""
        return self.scheme.is_training_file(self, path)

    @property
    def class_counts(self) -> list[int]:
        """Number of training labels of each class; empty for numbers."""
        return self.scheme.class_counts(self) if self.target.classes else []

    def class_sizes(self) -> dict[str, Size]:
        """Return the size of each class among the training rows; nothing for numbers."""
        return self.scheme.class_sizes(self) if self.target.classes else {}

    def group_sizes(self, name: str) -> dict[str, Size]:
        """Return the size of each group among the training rows; nothing if it is not known."""
        return self.scheme.group_sizes(self, name)

    def train_label(self, row: int) -> str:
        """Return the label of a training row as a text."""
        return self.target.as_text(np.asarray(self.train.labels)[row])

    def training_rows(self, places: Iterable[Place]) -> Rows:
        """Return some training rows."""
        return self.scheme.training_rows(self, places)

    def pass_facts(self) -> dict[str, Any]:
        """Return how often the training rows were passed over; nothing if they are in memory."""
        return self.scheme.pass_facts(self)

    def last_notes(self) -> list[str]:
        """Return what is only known once everything was asked."""
        return self.scheme.last_notes(self)

    def close(self) -> None:
        """Let go of what is held outside this process: nothing, where rows are in memory."""
        self.scheme.close()

    def labels_in_words(self, count: int) -> str:
        """Return a number of labels and, if not all may be wrong, its share of those that may."""
        return labels_of(count, self.n_movable, self.n_train)

    @property
    def feature_columns(self) -> list[str]:
        """Columns of the file that are features, in the file's order."""
        return self.scheme.feature_columns(self)

    def bias_in_words(self) -> str:
        """Describe which labels may be wrong and how."""
        return bias_in_words(self.request, self.target, self.scheme.selected_in_words(self))

    def keeps(self) -> str:
        """Describe what robust rows keep."""
        return kept_in_words(self.request, self.target)

    # --- what was found ------------------------------------------------------------------

    @cached_property
    def _certified(self) -> tuple[Answers, list[CertificateSet]]:
        return self.scheme.certified(self)

    @property
    def answers(self) -> Answers:
        """Certified facts about every test row, at the main budget."""
        return self._certified[0]

    @property
    def certificates(self) -> list[CertificateSet]:
        """Certificates of the test rows in chunks; empty unless the request keeps them."""
        return self._certified[1]

    @property
    def verdicts_only(self) -> bool:
        """Whether nobody wants to see ranges: minimum budgets then give every verdict."""
        request = self.request
        exact = request.method in EXACT and self.target.task == "classification"
        return exact and request.kind.linear and not (request.ranges or request.keep)

    def certify_rows(
        self, at: IntArray, budget: Budget, decision: Decision | None = None
    ) -> CertificateSet:
        """Certify some test rows exactly."""
        return self.scheme.certify(self, at, budget, decision)

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

    def score(self, at: int) -> float:
        """Return the score of a test row."""
        rows = self.scheme.rows(self, np.array([at]))
        return float(self.model.certify(rows, budget=0).score[0])

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


def by_budgets(low: FloatArray, high: FloatArray, labels: int) -> NDArray[np.object_]:
    """Return the verdicts at so many labels that bounds on minimum budgets tell."""
    broken = high <= labels
    return verdicts(broken, ~broken & ~(low > labels))


# --- Recipe: how the features of a study come from its files, so that anyone can make them again


def check_recipe(request: Request) -> None:
    """Raise, before any work is done, if nobody could check certificates of a request."""
    for path in (request.train, request.test):
        if path is None or not path.exists():
            continue
        if not is_parquet(path) and (kind := foreign_format(path)) is not None:
            raise InputError(
                f"--certificates: {path} is {kind}, and unswayed verify reads CSV and Parquet "
                "files only; save it as one of them, and certify that"
            )
        if is_parquet(path) and not request.dialect.is_usual:
            raise InputError(
                f"--certificates: {path} is a Parquet file, which unswayed verify reads as it is, "
                "without --na and the other options about how a file is written; leave them out, "
                "or write the file anew with its missing values as nulls"
            )


@dataclass(frozen=True, slots=True)
class CertificateSize:
    """How much a certificate file is about."""

    n_rows: int  # Of the training data
    n_features: int  # Of the training data
    n_claims: int
    n_exact: int  # Claims that were settled in rational arithmetic


def save_certificates(
    study: Study, certificates: Sequence[CertificateSet], path: Path
) -> CertificateSize:
    """Write certificates of a study to a file that can be checked against the study's own files."""
    write_certificates(
        certificates,
        path,
        recipe=recipe(study),
        classes=_classes(study),
        track=study.progress.track,
    )
    return CertificateSize(
        n_rows=len(study.train.numbers),
        n_features=len(features_of(study)),
        n_claims=sum(map(len, certificates)),
        n_exact=sum(int((part.method == RATIONAL).sum()) for part in certificates),
    )


def _classes(study: Study) -> tuple[Any, ...] | None:
    """Return the classes; None stands for every other label where the positive one was named."""
    if study.request.positive is not None:
        return None, study.target.classes[1]
    return study.target.classes or None


def recipe(study: Study) -> dict[str, Any]:
    """Describe how features and labels are computed from the study's files."""
    dialect = study.request.dialect
    written = {} if dialect.is_usual else {"written": dialect.document()}
    labels = study.train.labels
    assert labels is not None  # noqa: S101  (training rows have labels)
    # No logarithm is exact, so the file says which doubles were taken for those of the column.
    logarithms = {"logarithms": pack_doubles(labels)} if study.target.log else {}
    return {
        "label": study.target.label,
        **logarithms,
        "features": features_of(study),
        "train": _rows(study.train.numbers),
        "test": _rows(study.test.numbers),
        "test_file": "train" if study.request.test is None else "test",
        **written,
    }


def features_of(study: Study) -> list[dict[str, Any]]:
    """Describe how each feature of the model is computed from a column, in the model's order."""
    return [*_categories(study), *_numbers(study)]


def _rows(numbers: IntArray) -> list[int] | str:
    return pack_rows(np.asarray(numbers) - 1)


def _categories(study: Study) -> list[dict[str, Any]]:
    return [
        {"column": column.name, "equals": value}
        for column in study.encoding.categories
        for value in column.categories.to_pylist()
    ]


def _numbers(study: Study) -> list[dict[str, Any]]:
    made = []
    for column in study.encoding.numbers:
        fill = {} if column.missing is None else {"missing": column.missing}
        made.append({"column": column.name, "mean": column.mean, "scale": column.scale, **fill})
    return made
