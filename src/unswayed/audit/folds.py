"""From a file to folds: every row is certified by a model that did not see it."""

from dataclasses import dataclass, replace

import numpy as np

from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.audit.columns import Columns
from unswayed.audit.fold_by import draw_folds, owners
from unswayed.audit.folded import FoldedStudy, FoldsChoice, Parts, counted
from unswayed.audit.opening import Opening
from unswayed.audit.penalty import AlphaChoice
from unswayed.audit.progress import Progress, Silent
from unswayed.audit.request import Request
from unswayed.audit.rows import Loaded, Rows, take
from unswayed.audit.study import Study
from unswayed.audit.target import Target, target_of
from unswayed.exceptions import InputError
from unswayed.words import outside, shorten

_KEPT = 2_000_000  # training rows of all models together: more models are made again when needed


def open_folds(request: Request, progress: Progress | None = None) -> FoldedStudy:
    """Read the file, and fit and certify once per fold.

    Folds are drawn without looking at the labels: if labels chose them, another label would mean
    another model. All that is learnt from rows (categories, scales) is learnt in each fold from
    rows that it does not certify. No row is set aside to choose alpha: it would train the models of
    other folds, and its label may be wrong.
    """
    progress = progress or Silent()
    drawn = _Drawn(request, progress)
    opening, rows, of_row, count = drawn.opening, drawn.rows, drawn.of_row, drawn.count
    request = drawn.request
    parts = Parts(drawn.study, count, keep=len(of_row) * count <= _KEPT)
    found, notes, caveats, choices, movable = [], opening.notes, [], [], []
    unseen: dict[str, BoolArray] = {}
    for fold in progress.track(range(count), "certifying folds", count):
        part = parts[fold]
        found.append(part.answers)
        notes += part.notes
        caveats += part.caveats
        choices.append(part.alpha_choice)
        movable.append(part.n_movable)
        for name, flags in part.columns.unseen(part.test.features).items():
            unseen.setdefault(name, np.zeros(len(of_row), dtype=bool))[of_row == fold] = flags
    for name, flags in unseen.items():
        opening.unseen(name, flags, rows)
    columns = Columns.of(rows[0], drawn.names, request.categorical)
    every = Rows(*rows, columns.matrix(rows[0]), drawn.labels)
    choice = _choice(choices)
    return FoldedStudy(
        request=request,
        target=drawn.target,
        columns=columns,
        train=every,
        test=every,
        model=_Several(getattr(parts[0].model, "threshold_", None)),
        alpha=request.alpha if choice is None or choice.lowest < choice.highest else choice.alpha,
        movable=opening.movable(rows[0]),
        alpha_choice=choice,
        inspection=opening.loader.inspection,
        gaps=opening.loader.gaps,
        notes=list(dict.fromkeys(notes)),
        caveats=list(dict.fromkeys([*opening.caveats, *caveats])),
        progress=progress,
        parts=parts,
        found=found,
        of_row=of_row,
        n_least=(drawn.n_train, min(movable)),
        whole=drawn.whole,
    )


def open_fold(request: Request, row: int, progress: Progress | None = None) -> Study:
    """Read the file, and fit the model of one fold."""
    drawn = _Drawn(request, progress or Silent())
    numbers = drawn.rows[1]
    found = np.flatnonzero(numbers == row)
    if not len(found):
        n_rows = drawn.opening.loader.sizes[request.train]
        if not 1 <= row <= n_rows:
            raise InputError(outside(row, request.train, n_rows))
        raise InputError(
            f"--row {row} is no row of {request.train} that is used; its rows are {numbers[0]:,} "
            f"to {numbers[-1]:,}"
        )
    study = drawn.study(int(drawn.of_row[found[0]]))
    study.notes[:0] = drawn.opening.notes
    study.caveats[:0] = drawn.opening.caveats
    return study


class _Drawn:
    """A file whose rows are drawn into folds."""

    def __init__(self, request: Request, progress: Progress) -> None:
        _check_penalty(request)
        self.opening = opening = Opening(request, progress)
        self.rows = opening.loader.train()
        table = self.rows[0]
        column = table.column(request.label)
        self.names = opening.loader.names
        self.aside = opening.load_validation(table.schema)
        self.target = target_of(
            request, self.rows, certified=True, versus_rest=opening.loader.versus_rest
        )
        opening.check_groups(table)
        self.labels = self.target.encode(column)
        self.of_row = _folds(request, self.target, self.labels, self.rows)
        self.count = int(self.of_row.max()) + 1
        self.n_train = len(self.of_row) - int(np.bincount(self.of_row).max())
        self.request = request.settled(self.n_train)
        self.each = replace(
            request,
            task=self.target.task,
            folds=None,
            budgets=tuple(counted(budget, self.n_train) for budget in self.request.budgets),
        )

    def study(self, fold: int) -> Study:
        """Fit the model of a fold."""
        train, test = (take(self.rows, np.flatnonzero(at)) for at in self._sides(fold))
        return self._fitted(self.each, train, test)

    def whole(self) -> Study:
        """Fit one more model, on the rows of all folds."""
        request = replace(self.each, budgets=self.opening.request.budgets)
        return self._fitted(request, self.rows, take(self.rows, np.arange(0)))

    def _fitted(self, request: Request, train: Loaded, test: Loaded) -> Study:
        opening = _FoldOpening(request, Silent())
        opening.loader.inspection = self.opening.loader.inspection
        opening.loader.gaps = self.opening.loader.gaps
        return opening.fitted(self.names, train, test, self.aside)

    def _sides(self, fold: int) -> tuple[BoolArray, BoolArray]:
        out = np.asarray(self.of_row == fold)
        return ~out, out


@dataclass(frozen=True, slots=True)
class _Several:
    """What stands for the models of all folds: it cannot be asked in place of them."""

    threshold_: float | None


class _FoldOpening(Opening):
    """The steps to a fitted model of one fold."""

    def unseen(self, name: str, rows: BoolArray, test: Loaded) -> None:
        """Do nothing: rows with categories of their own are noted once, for all folds."""


def _check_penalty(request: Request) -> None:
    """Raise if alpha is to be chosen on rows of the file, which train the other folds."""
    if request.alpha is None and request.validation is None:
        option = request.kind.option
        raise InputError(
            f"--folds: no row can be set aside to choose {option}, because every row trains the "
            f"models of other folds and its label may be wrong; pass a number, such as --{option} "
            f"{'1' if request.kind.linear else '0.01'}, or other rows with --validation FILE"
        )


def _folds(request: Request, target: Target, labels: FloatArray, rows: Loaded) -> IntArray:
    """Return the fold of each row, drawn at random; raise if there are too few rows for them."""
    folds, n_rows = request.folds or 0, len(labels)
    if folds > n_rows:
        raise InputError(f"--folds {folds} is more than the {n_rows:,} rows; pass fewer folds")
    for at, name in enumerate(target.class_names):
        count = int(np.sum(labels == at))
        if count < folds:
            raise InputError(
                f"--folds {folds}: only {count:,} rows have the label {shorten(name)!r}, so that "
                f"folds without one of them would be certified; pass "
                + (f"at most {count} folds, or more rows" if count > 1 else "more rows")
            )
    if request.fold_by is not None:
        return draw_folds(request.fold_by, owners(request.fold_by, rows), folds, request.seed)
    return np.random.default_rng(request.seed).permutation(n_rows) % folds


def _choice(choices: list[AlphaChoice | None]) -> FoldsChoice | None:
    made = [each for each in choices if each is not None]
    if not made:
        return None
    alphas = [each.alpha for each in made]
    most = max(each.n_rows for each in made)
    first = made[0]
    assert first.file is not None  # noqa: S101  (rows of the file itself choose nothing)
    return FoldsChoice(
        *(alphas[0], most, first.file, first.kind),
        lowest=min(alphas),
        highest=max(alphas),
        folds=len(made),
    )
