"""One set of wrong labels against the models of all folds: every row by one that did not see it.

A label trains the models of all folds but its own, so that one set of labels acts on all of them at
once. The rows that it may overturn are put side by side, each with what every label does to the
model of *its* fold, and nothing where that label does not train it. That is the same problem as
with one model, and the same search bounds it from both sides.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unswayed._core.influence import Entries, merge_rows
from unswayed._core.rounding import SAFETY, gamma
from unswayed._typing import FloatArray, IntArray
from unswayed.estimators.cases_proof import Proof
from unswayed.estimators.fitted import LabelCode, need
from unswayed.estimators.question import (
    Asked,
    Question,
    Section,
    Source,
    check_size,
)
from unswayed.exceptions import InputError
from unswayed.joint.fragile import Fragile
from unswayed.joint.metrics import Named
from unswayed.joint.ranges import Sums
from unswayed.labels.budgets import Budget
from unswayed.margins.decisions import Decision
from unswayed.results.certificates import CertificateSet, MinimumBudgets
from unswayed.results.groups import StandardErrors
from unswayed.results.rows import Witness


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """One fold: its certificates, the rows that trained its model, and the rows they are of."""

    certificates: CertificateSet
    train: IntArray
    test: IntArray

    @property
    def question(self) -> Question:
        """The rows as they were put to the model of the fold."""
        source = self.certificates.source
        assert isinstance(source, Question)  # noqa: S101  (tells mypy)
        return source


@dataclass(frozen=True, eq=False, kw_only=True)
class Folds(Source):
    """Rows, each put to the model of its fold, one by one or for one set of labels."""

    folds: Sequence[Fold]
    origin: Any  # all rows, as they were given
    labels: Any  # their labels, as the user writes them
    vouched: tuple[str, ...] = ()  # what the caller vouched for, beside what the models rest on

    # --- row by row -------------------------------------------------------------------------

    @property
    def order(self) -> IntArray:
        """Position of each row, where folds stand one after the other."""
        return np.argsort(np.concatenate([each.test for each in self.folds]))

    def columns(self, of: Callable[[CertificateSet], Any], names: Iterable[str]) -> dict[str, Any]:
        """Return columns of all rows, given whose columns they are in each fold."""
        parts, order = [of(each.certificates) for each in self.folds], self.order
        return {
            name: np.concatenate([getattr(part, name) for part in parts])[order] for name in names
        }

    def standard_errors(self) -> StandardErrors:
        """Return that there are none: every fold has a model of its own."""
        return StandardErrors.missing(len(self.order), "every fold has a model of its own")

    def minimum_budgets(self) -> MinimumBudgets:
        """Return the least number of wrong labels that overturns each row."""
        return MinimumBudgets(**self.columns(lambda part: part.minimum_budgets, ("low", "high")))

    def witness(self, row: int, amount: float) -> Witness:
        """Return the smallest set of label changes that overturns a row."""
        (fold,) = (each for each in self.folds if row in each.test)
        within = int(np.flatnonzero(fold.test == row)[0])
        found = fold.question.witness(within, max(amount, fold.certificates.budget))
        return replace(found, indices=fold.train[found.indices])

    def rivals(self) -> NDArray[np.object_] | None:
        """Return the class that the fewest labels make of each row, None where there is none."""
        found = [each.question.rivals() for each in self.folds]
        known = [each for each in found if each is not None]
        return np.concatenate(known)[self.order] if len(known) == len(found) else None

    def training_labels(self) -> NDArray[Any]:
        """Return the labels of all rows."""
        return np.asarray(self.labels)

    def asked(self) -> list[Asked]:
        """Return the rows of each fold put to its model."""
        return [Asked(each.question, each.train) for each in self.folds]

    def save(self, certificates: CertificateSet, path: Path, data: Path | None) -> None:
        """Refuse to write a certificate file: it is about one model."""
        raise InputError(
            f"a certificate file is about one model, and these {len(self.folds)} folds have one "
            "each; save them one by one: certs.source.folds[0].certificates.save(...)"
        )

    # --- rows and labels of all folds -------------------------------------------------------

    def check_joint(self) -> None:
        """Raise if one set of labels cannot be put to the models of all folds."""
        for each in self.folds:
            if each.question.engine.setting == "classes":
                need(each.question.engine, "joint", "one set of labels for the models of all folds")
        if not all("joint" in each.question.engine.can for each in self.folds):
            raise InputError(
                "one set of labels for all rows is for models that are linear in their labels, "
                "such as Ridge, and the models of these folds are not; certify rows one by one"
            )

    @cached_property
    def starts(self) -> IntArray:
        """Number of the first distinct row of each fold."""
        sizes = [int(each.question.group.max(initial=-1)) + 1 for each in self.folds]
        return np.cumsum([0, *sizes])[:-1]

    def _rowwise(self, parts: Sequence[Any], kind: type) -> Any:
        """Return values of all rows, given those of each fold."""
        out: Any = np.empty(sum(len(each.test) for each in self.folds), dtype=kind)
        for fold, part in zip(self.folds, parts, strict=True):
            out[fold.test] = part
        return out

    def _labelwise(self, parts: Sequence[FloatArray], what: str) -> FloatArray:
        """Return numbers of all labels, given those of each fold; raise if two folds disagree."""
        out = np.full(1 + max(int(each.train.max()) for each in self.folds), np.nan)
        for fold, part in zip(self.folds, parts, strict=True):
            known = out[fold.train]
            if ((known != part) & ~np.isnan(known)).any():
                raise InputError(
                    f"{what} differ between folds, so that one set of wrong labels does not mean "
                    "the same in all of them; pass a bias whose offsets depend on each row alone"
                )
            out[fold.train] = part
        return np.asarray(np.nan_to_num(out))

    @cached_property
    def group(self) -> IntArray:
        """The distinct row of each row: equal rows of two folds have two models, and are two."""
        parts = [
            start + each.question.group for start, each in zip(self.starts, self.folds, strict=True)
        ]
        found: IntArray = self._rowwise(parts, np.intp)
        return found

    @property
    def said(self) -> IntArray:
        """The number of the class of each row."""
        found: IntArray = self._rowwise([each.question.said for each in self.folds], np.intp)
        return found

    @cached_property
    def targets(self) -> FloatArray:
        """All labels, as numbers."""
        return self._labelwise([each.question.targets for each in self.folds], "labels as numbers")

    @cached_property
    def offsets(self) -> tuple[FloatArray, FloatArray]:
        """How far each label may fall and rise."""
        ends = zip(*(each.question.offsets for each in self.folds), strict=True)
        lower, upper = (self._labelwise(end, "offsets of labels") for end in ends)
        return lower, upper

    @property
    def code(self) -> LabelCode:
        """How labels are coded as numbers."""
        return self.folds[0].question.code

    @property
    def decision(self) -> Decision:
        """What must stay the same."""
        return self.folds[0].question.decision

    @property
    def trusted(self) -> tuple[str, ...]:
        """What the caller vouched for."""
        by_models = (name for each in self.folds for name in each.question.trusted)
        return tuple(dict.fromkeys((*by_models, *self.vouched)))

    def claimed(
        self,
        budget: Budget,
        section: Section,
        cases: Proof,
        closer: Callable[[], list[float]] | None = None,
    ) -> "NoClaim":
        """Return what refuses to write a certificate file."""
        return NoClaim(len(self.folds))

    # --- all folds as one problem -----------------------------------------------------------

    def exact_scores(self) -> list[Fraction]:
        """Return the scores of the distinct rows in rational arithmetic, fold by fold."""
        return [score for each in self.folds for score in each.question.exact_scores()]

    def _budgets(self, budget: Budget) -> list[Budget]:
        return [budget.taken(each.train) for each in self.folds]

    def fragile(self, budget: Budget, ways: tuple[float, ...] = (1, -1)) -> Fragile:
        """Put the rows of all folds side by side."""
        parts = [
            each.question.fragile(own, ways)
            for each, own in zip(self.folds, self._budgets(budget), strict=True)
        ]
        labels = _Labels.of(self.folds, parts)
        check_size(sum(map(len, parts)), len(labels.entries))
        numbers = [start + part.row for start, part in zip(self.starts, parts, strict=True)]
        return labels.beside(parts, np.concatenate(numbers), budget)

    def sums(self, budget: Budget, factors: FloatArray) -> Sums:
        """Return weighted sums of the scores of all rows, given how much each row counts."""
        parts = [
            each.question.sums(own, factors[:, each.test])
            for each, own in zip(self.folds, self._budgets(budget), strict=True)
        ]
        labels = _Labels.of(self.folds, [each.fragile for each in parts])
        one, rounding = labels.added([each.fragile for each in parts], budget), gamma(len(parts))
        size = np.sum([np.abs(each.value) for each in parts], axis=0)
        error = np.sum([each.error for each in parts], axis=0) + rounding * size
        return Sums(one, np.sum([each.value for each in parts], axis=0), SAFETY * error)


@dataclass(frozen=True, eq=False)
class _Labels:
    """The labels of all folds, equal ones merged, and where each is among those of every fold.

    Labels are equal if they are in every fold; those of two folds never are.
    """

    entries: Entries
    place: IntArray  # (entries, folds): the entry of each fold, -1 where it does not train it
    n_labels: int

    @classmethod
    def of(cls, folds: Sequence[Fold], parts: Sequence[Fragile]) -> "_Labels":
        n_labels = 1 + max(int(each.train.max()) for each in folds)
        place = np.full((n_labels, len(folds)), -1)
        lower, upper = np.zeros((2, n_labels))
        for at, (fold, part) in enumerate(zip(folds, parts, strict=True)):
            of = part.entries
            for members, start, ends, into in (
                (of.members_down, of.start_down, of.lower, lower),
                (of.members_up, of.start_up, of.upper, upper),
            ):
                entry = np.repeat(np.arange(len(of)), np.diff(start))
                place[fold.train[members], at] = entry
                into[fold.train[members]] = ends[entry]
        _, first, group = np.unique(place, axis=0, return_index=True, return_inverse=True)
        entries = merge_rows(lower, upper, group.reshape(-1), first)
        return cls(entries, place[entries.rows], n_labels)

    def _spread(self, part: Fragile, fold: int) -> FloatArray:
        """Return influence on the rows of a fold by all labels."""
        found = np.zeros((len(part), len(self.entries)))
        trains = self.place[:, fold] >= 0
        found[:, trains] = part.influence[:, self.place[trains, fold]]
        return found

    def _one(self, parts: Sequence[Fragile], budget: Budget, **rest: Any) -> Fragile:
        return Fragile(
            **rest,
            weights=np.zeros((len(rest["row"]), 0)),
            design=None,
            entries=self.entries,
            n_labels=self.n_labels,
            budget=budget,
            whole=parts[0].whole,
        )

    def beside(self, parts: Sequence[Fragile], row: IntArray, budget: Budget) -> Fragile:
        """Return the rows of all folds, one after the other."""
        names = ("way", "margin", "error", "ahead", "back")
        columns = {name: np.concatenate([getattr(each, name) for each in parts]) for name in names}
        spread = np.concatenate([self._spread(each, at) for at, each in enumerate(parts)])
        return self._one(parts, budget, row=row, influence=spread, **columns)

    def added(self, parts: Sequence[Fragile], budget: Budget) -> Fragile:
        """Return the sums, over folds, of rows that all of them have."""
        summed = {
            name: SAFETY * np.sum([getattr(each, name) for each in parts], axis=0)
            for name in ("error", "ahead", "back")
        }
        summed["error"] += SAFETY * gamma(len(parts)) * (summed["ahead"] + summed["back"])
        total = np.sum([self._spread(each, at) for at, each in enumerate(parts)], axis=0)
        first = parts[0]
        return self._one(
            parts, budget, row=first.row, way=first.way, margin=first.margin, influence=total,
            **summed,
        )  # fmt: skip


@dataclass(frozen=True)
class NoClaim:
    """A claim about the models of several folds, of which there are no certificate files."""

    n_folds: int

    def save(self, path: Path, data: Path | None) -> None:
        """Refuse to write a certificate file: it is about one model."""
        raise InputError(
            f"a certificate file is about one model, and these {self.n_folds} folds have one "
            "each; ask about the rows of one fold, by its own model, and save that"
        )


def refuse_truth(metric: str) -> None:
    """Raise if a metric compares predictions with labels, which train the models of other folds."""
    if Named.read(metric).needs_truth:
        raise InputError(
            f"{metric} compares predictions with the labels of the same rows, and with folds these "
            "labels train other models and may be wrong themselves; ask for selection_rate or "
            "demographic_parity_difference, which need no labels, or about rows that are held out"
        )
