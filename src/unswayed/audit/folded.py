"""A study of every row of a file, each certified by a model that did not see it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.audit.penalty import FOLDS, AlphaChoice
from unswayed.audit.request import Budget
from unswayed.audit.study import Answers, Study
from unswayed.certificates import CertificateSet, Verdict, Witness
from unswayed.certified.three_numbers import Asked
from unswayed.decisions import Decision

if TYPE_CHECKING:
    from unswayed.certified.cross import CrossCertificates


@dataclass(frozen=True, slots=True)
class FoldsChoice(AlphaChoice):
    """The alphas of all folds, and the rows that chose them."""

    lowest: float = field(kw_only=True)
    highest: float = field(kw_only=True)
    folds: int = field(kw_only=True)

    def in_words(self) -> str:
        """Explain which rows chose the alphas, and why the certificates stay valid."""
        found = f"{self.kind.option} was chosen in each of the {self.folds} folds"
        ends = sorted(self.kind.written(each) for each in (self.lowest, self.highest))
        if ends[0] < ends[1]:
            found += f", {ends[0]:g} to {ends[1]:g},"
        else:
            found += f", {ends[0]:g} each time,"
        return (
            f"{found} by {FOLDS}-fold cross-validation on the {self.n_rows:,} rows of {self.file}; "
            "as long as none of them is a training row, no label that may be wrong takes part in "
            "the choice"
        )


class Parts:
    """The studies of all folds; where the models would fill the memory, one at a time."""

    def __init__(self, make: Callable[[int], Study], count: int, *, keep: bool) -> None:
        self._make, self._count, self._keep = make, count, keep
        self._made: dict[int, Study] = {}

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, fold: int) -> Study:
        if fold not in self._made:
            if not self._keep:
                self._made.clear()
            self._made[fold] = self._make(fold)
        return self._made[fold]

    def __iter__(self) -> Iterator[Study]:
        return (self[fold] for fold in range(self._count))


@dataclass(frozen=True, eq=False, kw_only=True)
class FoldedStudy(Study):
    """A study of every row of a file: its test rows are its training rows too.

    Every row is certified by the model of its fold, which was trained on rows of the other folds.
    Budgets are counts, the same in all folds: a share is one of the training rows of the smallest.
    """

    parts: Parts  # One per fold
    found: list[Answers]  # Of the test rows of each fold
    of_row: IntArray  # The fold of each row, from 0
    # Of the fold that has the fewest: number of training rows, and of those whose label may be
    # wrong
    n_least: tuple[int, int]
    # Returns the study of one more model, which is trained on the rows of all folds
    whole: Callable[[], Study]

    @property
    def n_train(self) -> int:
        """Number of training rows of the fold that has the fewest."""
        return self.n_least[0]

    @property
    def n_movable(self) -> int:
        """Number of training rows whose label may be wrong, where they are fewest."""
        return self.n_least[1]

    @property
    def _may_be_wrong(self) -> BoolArray:
        """Rows whose label may be wrong."""
        direction, labels = self.request.direction, np.asarray(self.train.labels)
        if direction is None or not self.target.classes:
            return self.movable
        return np.asarray(self.movable & (labels == (0 if direction == "up" else 1)))

    def _count(self, at: IntArray, rows: BoolArray) -> IntArray:
        """Return how often each number occurs among training rows, in the fold that has fewest."""
        folds = range(int(self.of_row.max()) + 1)
        within = np.array([Study._count(self, at, rows & (self.of_row == fold)) for fold in folds])
        return np.asarray(within.sum(axis=0) - within.max(axis=0))

    @property
    def fold(self) -> IntArray:
        """The fold of every row, from 1."""
        return self.of_row + 1

    def _in_order(self, columns: list[Any]) -> Any:
        """Return values of all rows, given those of each fold, in the order of the file."""
        order = np.argsort(self.of_row, kind="stable")
        joined = np.concatenate(columns)
        out = np.empty_like(joined)
        out[order] = joined
        return out

    @cached_property
    def _certified(self) -> tuple[Answers, list[CertificateSet]]:
        columns = (
            [getattr(answers, each.name) for answers in self.found] for each in fields(Answers)
        )
        return Answers(*map(self._in_order, columns)), []

    def _certify(self, features: FloatArray, budget: Budget) -> CertificateSet:
        """Certify all rows, which is what is asked for: each by the model of its fold."""
        same, every = self._counted(budget), np.arange(len(self.of_row))
        return self._by_fold(every, lambda part, _: part._certify(part.test.features, same))

    def certify_rows(
        self, at: IntArray, budget: Budget, decision: Decision | None = None
    ) -> "CrossCertificates":
        """Certify some rows exactly, each by the model of its fold."""
        same = self._counted(budget)
        return self._by_fold(at, lambda part, rows: part.certify_rows(rows, same, decision))

    def _by_fold(
        self, at: IntArray, certify: Callable[[Study, IntArray], CertificateSet]
    ) -> "CrossCertificates":
        """Return certificates of some rows, given how those of one fold are made."""
        from unswayed.certified.cross import Fold, Folds, join

        made = []
        for fold in np.unique(self.of_row[at]).tolist():
            part, places = self.parts[fold], np.flatnonzero(self.of_row[at] == fold)
            within = np.searchsorted(np.flatnonzero(self.of_row == fold), at[places])
            made.append(Fold(certify(part, within), self.trains(part), places))
        return join(Folds(folds=made, origin=None, labels=None))

    def by_parts(self, at: IntArray, scores: Callable[[Study, IntArray], FloatArray]) -> FloatArray:
        """Return numbers of some rows, given how those of one fold are computed."""
        out = np.empty(len(at))
        for fold in np.unique(self.of_row[at]).tolist():
            places = np.flatnonzero(self.of_row[at] == fold)
            within = np.searchsorted(np.flatnonzero(self.of_row == fold), at[places])
            out[places] = scores(self.parts[fold], within)
        return out

    def _asked(self) -> list[Asked]:
        parts = zip(self.parts, self.found, strict=True)
        return [part._placed(self.trains(part), answers) for part, answers in parts]

    def _counted(self, budget: Budget) -> Budget:
        return counted(budget, self.n_train)

    def trains(self, part: Study) -> IntArray:
        """Return the positions of the training rows of a fold among all rows."""
        return np.searchsorted(self.train.numbers, part.train.numbers)

    def witnesses(self, at: IntArray) -> list[Witness | None]:
        """Find the smallest set of label changes that overturns each of some rows."""
        made: dict[int, Witness | None] = {}
        asked = np.unique(self.of_row[at])
        for fold in self.progress.track(asked.tolist(), "finding witnesses", len(asked)):
            part, rows = self.parts[fold], at[self.of_row[at] == fold]
            within = np.searchsorted(np.flatnonzero(self.of_row == fold), rows)
            train = self.trains(part)
            for row, each in zip(rows.tolist(), part.witnesses(within), strict=True):
                made[row] = (
                    None if each is None else Witness(train[each.indices], each.labels, each.score)
                )
        return [made[row] for row in at.tolist()]

    def ever_overturned(self, at: int) -> Verdict:
        """Return whether any number of label changes overturns a row."""
        fold = int(self.of_row[at])
        return self.parts[fold].ever_overturned(int(np.sum(self.of_row[:at] == fold)))


def counted(budget: Budget, n_rows: int) -> Budget:
    """Return a budget as a count of labels."""
    return Budget(budget.text, budget.count(n_rows))
