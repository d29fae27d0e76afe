"""One model that was trained on rows in memory and answers for all test rows."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unswayed._typing import BoolArray, IntArray
from unswayed.estimators.three_numbers import Asked
from unswayed.margins.decisions import Decision, Radius
from unswayed.pieces.pieces import Place
from unswayed.report.facts import Size
from unswayed.results.certificates import CertificateSet, Verdict, Witness
from unswayed.study.loading import Rows
from unswayed.study.request import Budget
from unswayed.study.study import EXACT, Answers, Study, by_budgets
from unswayed.words import distinct_texts

NUMBERING = "Rows are numbered from 1 below the header of their file."
_CHUNK = 1024  # rows certified between two steps of the progress bar
_SLOW_CHUNK = 100  # the same of models that are not linear in their labels
_MANY = 10**9  # pairs of a test and a training row: exact ranges then take minutes
_RANGES = ("score", "low", "high", "inner_low", "inner_high")


def certify_as_asked(study: Study, rows: Any, budget: Budget) -> CertificateSet:
    """Certify rows by the method that was asked for."""
    request = study.request
    # Ranges do not depend on the radius, so that any will do where there is none.
    bare = study.target.task == "regression" and request.radius is None
    certs: CertificateSet = study.model.certify(
        rows,
        budget=study.count(budget),
        method=request.method,
        resolve=request.resolve,
        decision=Radius(0.0) if bare else None,
        effort=request.effort,
    )
    return certs


def certify_exactly(
    study: Study, rows: Any, budget: Budget, decision: Decision | None
) -> CertificateSet:
    """Certify rows by the exact method."""
    request = study.request
    certs: CertificateSet = study.model.certify(
        rows,
        budget=study.count(budget),
        decision=decision,
        resolve=request.resolve,
        effort=request.effort,
    )
    return certs


def columns_of_answers(study: Study, certificates: CertificateSet, *, least: bool) -> list[Any]:
    """Return the columns of `Answers`; without a radius, ranges only."""
    ranges = [getattr(certificates, name) for name in _RANGES]
    unknown = np.full(len(certificates), np.nan)
    if study.target.task == "regression" and study.request.radius is None:
        verdict = np.full(len(certificates), Verdict.UNDECIDED, dtype=object)
        return [*ranges, verdict, unknown, unknown]
    if not least:
        return [*ranges, certificates.verdict, unknown, unknown]
    found = certificates.minimum_budgets
    return [*ranges, certificates.verdict, found.low, found.high]


class InMemory:
    """Training rows that are in memory: what the schemes of one model and of folds share."""

    places: None = None

    def n_file_rows(self, study: Study) -> int:
        """Return the number of rows of the file, with those that are left out or certified."""
        return len(study.train) if study.inspection is None else study.inspection.n_rows

    def source_in_words(self, study: Study) -> str:
        """Return the name of the file."""
        return study.request.train.name

    def selected_in_words(self, study: Study) -> str:
        """Return how many rows ``--only`` selects."""
        return f"the {int(study.movable.sum()):,} training rows"

    def numbering(self) -> str:
        """Return how rows are numbered."""
        return NUMBERING

    def is_training_file(self, study: Study, path: Path) -> bool:
        """Return whether training rows are read from a file."""
        return path.samefile(study.request.train)

    def feature_columns(self, study: Study) -> list[str]:
        """Return the columns that are features, in the file's order."""
        used = {column.name for column in study.encoding.columns}
        return [name for name in study.train.table.column_names if name in used]

    def class_counts(self, study: Study) -> list[int]:
        """Return the number of training labels of each of two classes."""
        labels = np.asarray(study.train.labels).astype(np.intp)
        return [int(count) for count in np.bincount(labels, minlength=2)]

    def training_rows(self, study: Study, places: Iterable[Place]) -> Rows:
        """Return some training rows."""
        numbers, train = np.array([place.row for place in places]), study.train
        at = np.searchsorted(train.numbers, numbers)
        labels = np.asarray(train.labels)[at]
        return Rows(train.table.take(pa.array(at)), numbers, train.features[at], labels)

    def pass_facts(self, study: Study) -> dict[str, Any]:
        """Return nothing: there are no passes."""
        return {}

    def last_notes(self, study: Study) -> list[str]:
        """Return nothing: everything was known before."""
        return []

    def close(self) -> None:
        """Do nothing: nothing is held outside this process."""

    def class_sizes(self, study: Study) -> dict[str, Size]:
        """Return the size of each class among the training rows."""
        names = np.array(study.target.class_names)
        return self._sizes(study, names[np.asarray(study.train.labels, dtype=np.intp)])

    def group_sizes(self, study: Study, name: str) -> dict[str, Size]:
        """Return the size of each group among the training rows; nothing if it is not known."""
        if not len(study.train) or name not in study.train.table.column_names:
            return {}
        asked, trained = (rows.table.column(name).to_pylist() for rows in (study.test, study.train))
        return self._sizes(study, np.array(distinct_texts([*asked, *trained])[len(asked) :]))

    def _sizes(self, study: Study, names: NDArray[np.str_]) -> dict[str, Size]:
        """Return the size of each class or group, given that of every training row."""
        known, at = np.unique(names, return_inverse=True)
        every = np.ones(len(at), dtype=bool)
        sizes = (self.times(at, each).tolist() for each in (every, self.may_be_wrong(study)))
        return {str(name): Size(*each) for name, *each in zip(known, *sizes, strict=True)}

    def may_be_wrong(self, study: Study) -> BoolArray:
        """Return the training rows whose label may be wrong."""
        bias = study.model.fitted_.engine.bias
        return np.asarray((bias.lower != 0) | (bias.upper != 0))

    def times(self, at: IntArray, rows: BoolArray) -> IntArray:
        """Return how often each number occurs among some training rows."""
        return np.bincount(at[rows], minlength=int(at.max()) + 1)


class OneModel(InMemory):
    """One model, which was trained on rows in memory and certifies all test rows."""

    fold: None = None

    def n_train(self, study: Study) -> int:
        """Return the number of training rows."""
        return len(study.train)

    def n_movable(self, study: Study) -> int:
        """Return the number of training labels that may be wrong."""
        return int(np.count_nonzero(self.may_be_wrong(study)))

    def rows(self, study: Study, at: IntArray) -> Any:
        """Return the features of some test rows."""
        return study.test.features[at]

    def certified(self, study: Study) -> tuple[Answers, list[CertificateSet]]:
        """Certify the test rows in chunks."""
        request, n_test = study.request, len(study.test)
        if request.method == "exact" and not study.verdicts_only and n_test * study.n_train > _MANY:
            study.notes.append(
                f"exact ranges over {study.n_train:,} training rows take their time; --method auto "
                "gives the same verdicts faster, with ranges that are wider than need be"
            )
        linear = request.kind.linear
        chunk = _CHUNK if linear else _SLOW_CHUNK
        starts, columns, kept = range(0, n_test, chunk), [], []
        for start in study.progress.track(starts, "certifying", len(starts)):
            rows = study.test.features[np.arange(start, min(start + chunk, n_test))]
            certificates = self._answer(study, rows)
            # Minimum budgets of models that are not linear take their time.
            columns.append(columns_of_answers(study, certificates, least=linear or request.least))
            kept += [certificates] if request.keep else []
        return Answers(*map(np.concatenate, zip(*columns, strict=True))), kept

    def _answer(self, study: Study, rows: Any) -> CertificateSet:
        """Certify rows at the main budget."""
        request = study.request
        if not study.verdicts_only:
            return certify_as_asked(study, rows, request.budget)
        certs: CertificateSet = study.model.certify(
            rows, budget=study.count(request.budget), resolve=request.resolve, ranges=False
        )
        return certs

    def ranges(self, study: Study, at: IntArray, budget: Budget) -> CertificateSet:
        """Certify test rows at a budget by the method that was asked for."""
        return certify_as_asked(study, study.test.features[at], budget)

    def certify(
        self, study: Study, at: IntArray, budget: Budget, decision: Decision | None
    ) -> CertificateSet:
        """Certify test rows exactly."""
        return certify_exactly(study, study.test.features[at], budget, decision)

    def least_decides(self, study: Study) -> bool:
        """Return whether minimum budgets tell the verdict at every budget."""
        return study.request.kind.linear and study.request.method in EXACT

    def asked(self, study: Study) -> list[Asked]:
        """Return the test rows put to the model."""
        return [self.placed(study, np.arange(study.n_train), study.answers)]

    def placed(self, study: Study, place: IntArray, answers: Answers) -> Asked:
        """Return the test rows put to the model, whose training rows are at certain places."""
        model = study.model
        question = model._question(model.fitted_, study.test.features, None, None)
        return Asked(question, place, answers.minimum_budget if self.least_decides(study) else None)

    def witnesses(self, study: Study, at: IntArray) -> list[Witness | None]:
        """Find the smallest set of label changes that overturns each of some test rows."""
        tracked = study.progress.track(range(len(at)), "finding witnesses", len(at))
        if not study.request.kind.linear:
            certs = study.searched(at)
            enough, source = certs.minimum_budgets.high, certs.source
            assert source is not None  # noqa: S101  (they were not pickled)
            return [
                source.witness(row, enough[row]) if np.isfinite(enough[row]) else None
                for row in tracked
            ]
        certs = study.model.certify(
            study.test.features[at],
            budget=study.n_train,
            resolve=study.request.resolve,
            ranges=False,
        )
        return [certs.witness(row) for row in tracked]

    def ever_overturned(self, study: Study, at: int) -> Verdict:
        """Return whether any number of label changes overturns a test row."""
        if not study.request.kind.linear:
            least = study.minimum_budgets(np.array([at]))
            return Verdict(by_budgets(least.low, least.high, study.n_train)[0])
        certs = study.model.certify(
            study.test.features[np.array([at])],
            budget=study.n_train,
            resolve=study.request.resolve,
        )
        return Verdict(certs.verdict[0])
