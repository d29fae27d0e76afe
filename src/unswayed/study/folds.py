"""Folds: every row of a file is certified, by a model that did not see it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.estimators.question import Asked
from unswayed.exceptions import InputError
from unswayed.labels.budgets import Budget as Limit
from unswayed.margins.decisions import Decision, Radius
from unswayed.results.certificates import CertificateSet, Verdict
from unswayed.results.collective import MetricRange, TogetherCertificate
from unswayed.results.rows import Witness
from unswayed.study.answers import Answers
from unswayed.study.kinds import AlphaChoice
from unswayed.study.loading import Rows, draw_folds, owners, take
from unswayed.study.opening import Opening
from unswayed.study.request import Budget, Loaded, Request
from unswayed.study.study import OneModel, Progress, Silent, Study
from unswayed.study.target import Target, target_of
from unswayed.words import outside, shorten

if TYPE_CHECKING:
    from unswayed.estimators.cross import CrossCertificates


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
class ModelPerFold(OneModel):
    """A model per fold: test rows are training rows too, of the models of other folds.

    Budgets are counts, the same in all folds: a share is one of the training rows of the smallest.
    """

    parts: Parts  # One per fold
    found: list[Answers]  # Of the test rows of each fold
    of_row: IntArray  # The fold of each row, from 0
    # Of the fold that has the fewest: number of training rows, and of those whose label may be
    # wrong
    n_least: tuple[int, int]
    # Returns the study of one more model, which is trained on the rows of all folds
    of_all_rows: Callable[[], Study]

    can = frozenset({"balance", "witnesses"})

    @property
    def fold(self) -> IntArray:
        """The fold of every row, from 1."""
        return self.of_row + 1

    def n_train(self, study: Study) -> int:
        """Return the number of training rows of the fold that has the fewest."""
        return self.n_least[0]

    def n_movable(self, study: Study) -> int:
        """Return the number of training rows whose label may be wrong, where they are fewest."""
        return self.n_least[1]

    def limit(self, study: Study) -> Limit:
        """Return the budget of the first fold, whose unit is that of all."""
        return self.parts[0].scheme.limit(self.parts[0])

    def may_be_wrong(self, study: Study) -> BoolArray:
        """Return the rows whose label may be wrong."""
        direction, labels = study.request.direction, np.asarray(study.train.labels)
        if study.request.to:
            fixed = [*(study.target.changes(study.request.to) or ())]
            return np.asarray(study.movable & np.isin(labels, fixed))
        if direction is None or not study.target.classes:
            return study.movable
        return np.asarray(study.movable & (labels == (0 if direction == "up" else 1)))

    def times(self, at: IntArray, rows: BoolArray) -> IntArray:
        """Return how often each number occurs among training rows, in the fold that has fewest."""
        folds, size = range(int(self.of_row.max()) + 1), int(at.max()) + 1
        within = np.array(
            [np.bincount(at[rows & (self.of_row == fold)], minlength=size) for fold in folds]
        )
        return np.asarray(within.sum(axis=0) - within.max(axis=0))

    def certified(self, study: Study) -> tuple[Answers, list[CertificateSet]]:
        """Return what the models of the folds found, in the order of the file."""
        order = np.argsort(self.of_row, kind="stable")

        def in_order(name: str) -> Any:
            joined = np.concatenate([getattr(answers, name) for answers in self.found])
            out = np.empty_like(joined)
            out[order] = joined
            return out

        return Answers(*(in_order(each.name) for each in fields(Answers))), []

    def ranges(self, study: Study, at: IntArray, budget: Budget) -> CertificateSet:
        """Certify rows by the method that was asked for, each by the model of its fold."""
        same = counted(budget, self.n_least[0])
        return self._by_fold(at, lambda part, rows: part.scheme.ranges(part, rows, same))

    def certify(
        self, study: Study, at: IntArray, budget: Budget, decision: Decision | None
    ) -> "CrossCertificates":
        """Certify some rows exactly, each by the model of its fold."""
        same = counted(budget, self.n_least[0])
        return self._by_fold(at, lambda part, rows: part.scheme.certify(part, rows, same, decision))

    def _by_fold(
        self, at: IntArray, certify: Callable[[Study, IntArray], CertificateSet]
    ) -> "CrossCertificates":
        """Return certificates of some rows, given how those of one fold are made."""
        from unswayed.estimators.cross import join
        from unswayed.estimators.in_folds import Fold, Folds

        made = [
            Fold(certify(part, within), trains, places)
            for part, within, trains, places in self.split(at)
        ]
        return join(Folds(folds=made, origin=None, labels=None))

    def split(self, at: IntArray) -> Iterator[tuple[Study, IntArray, IntArray, IntArray]]:
        """Yield the parts that some rows are test rows of.

        With each come their positions among its test rows, the positions of its training rows among
        all rows, and the positions of the rows in `at`.
        """
        for fold in np.unique(self.of_row[at]).tolist():
            part, places = self.parts[fold], np.flatnonzero(self.of_row[at] == fold)
            own = np.flatnonzero(self.of_row == fold)
            trains = np.flatnonzero(self.of_row != fold)
            yield part, np.searchsorted(own, at[places]), trains, places

    def asked(self, study: Study) -> list[Asked]:
        """Return the rows of each fold put to its model."""
        parts = zip(self.split(np.arange(len(self.of_row))), self.found, strict=True)
        return [self.placed(part, trains, answers) for (part, _, trains, _), answers in parts]

    def witnesses(self, study: Study, at: IntArray) -> list[Witness | None]:
        """Find the smallest set of label changes that overturns each of some rows."""
        made: dict[int, Witness | None] = {}
        count = len(np.unique(self.of_row[at]))
        for part, within, trains, places in study.progress.track(
            self.split(at), "finding witnesses", count
        ):
            for place, each in zip(places.tolist(), part.witnesses(within), strict=True):
                made[place] = None if each is None else replace(each, indices=trains[each.indices])
        return [made[place] for place in range(len(at))]

    def ever_overturned(self, study: Study, at: int) -> Verdict:
        """Return whether any number of label changes overturns a row."""
        fold = int(self.of_row[at])
        return self.parts[fold].ever_overturned(int(np.sum(self.of_row[:at] == fold)))

    def certify_together(self, study: Study, budget: Budget, **asked: Any) -> TogetherCertificate:
        """Prove how many rows one set of wrong labels overturns, of all models at once."""
        labels = self._joint(study, budget)
        certificates = self.certify(study, np.arange(len(study.test)), budget, None)
        return certificates.certify_together(budget=labels, **asked)

    def certify_metric(
        self, study: Study, at: IntArray, budget: Budget, truth: FloatArray | None, **asked: Any
    ) -> MetricRange:
        """Prove how far wrong labels move a metric of rows, of all models at once."""
        # A mean is not decided by anything: any radius will do.
        bare = None if study.target.classes else Radius(0.0)
        labels = self._joint(study, budget)
        certificates = self.certify(study, at, budget, bare)
        return certificates.certify_metric(budget=labels, **asked)

    def _joint(self, study: Study, budget: Budget) -> int:
        """Return how many labels one set has that acts on all models; raise if it is not that."""
        stated = study.request.stated
        if stated is not None and not self.limit(study).countable:
            raise InputError(
                "--folds: one set of labels for the models of all folds is looked for within a "
                f"number of any labels, and {stated.option} is another kind of budget; "
                "leave --folds out, or pass --budget alone"
            )
        return int(study.count(budget))

    def refitted_scores(
        self, study: Study, changed: IntArray, labels: NDArray[Any], at: IntArray
    ) -> FloatArray:
        """Return scores of rows by the models of their folds, each trained anew on its labels."""
        out = np.empty(len(at))
        for part, within, trains, places in self.split(at):
            here = np.isin(changed, trains)
            own = np.searchsorted(trains, changed[here])
            out[places] = part.scheme.refitted_scores(part, own, labels[here], within)
        return out

    def studies(self, study: Study) -> Iterable[Study]:
        """Return the studies of the folds."""
        return self.parts

    def whole(self, study: Study) -> Study:
        """Return the study of one more model, which is trained on the rows of all folds."""
        return self.of_all_rows()


def counted(budget: Budget, n_rows: int) -> Budget:
    """Return a budget as a count of labels; one of another unit stays what it is."""
    return replace(budget, value=budget.count(n_rows))


_KEPT = 2_000_000  # training rows of all models together: more models are made again when needed


def open_folds(request: Request, progress: Progress | None = None) -> Study:
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
        for name, flags in part.encoding.unseen(part.test.table).items():
            unseen.setdefault(name, np.zeros(len(of_row), dtype=bool))[of_row == fold] = flags
    for name, flags in unseen.items():
        opening.unseen(name, flags, rows)
    encoding = opening.encoding(drawn.names, rows[0])
    every = Rows(*rows, encoding.features(rows[0]), drawn.labels)
    choice = _choice(choices)
    return Study(
        request=request,
        target=drawn.target,
        encoding=encoding,
        train=every,
        test=every,
        # The models of the folds are asked, and nothing in place of them.
        model=SimpleNamespace(threshold_=getattr(parts[0].model, "threshold_", None)),
        alpha=request.alpha if choice is None else choice.alpha,
        movable=opening.movable(rows),
        alpha_choice=choice,
        inspection=opening.loader.inspection,
        gaps=opening.loader.gaps,
        notes=list(dict.fromkeys(notes)),
        caveats=list(dict.fromkeys([*opening.caveats, *caveats])),
        progress=progress,
        scheme=ModelPerFold(
            parts=parts,
            found=found,
            of_row=of_row,
            n_least=(drawn.n_train, min(movable)),
            of_all_rows=drawn.whole,
        ),
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
        self.names = opening.loader.names
        self.aside = opening.load_validation(table.schema)
        self.target = target_of(
            request, self.rows, certified=True, versus_rest=opening.loader.versus_rest
        )
        opening.check_groups(table)
        opening.request = opening.stated(self.target)
        self.labels = opening.labels(self.target, self.rows)
        self.of_row = _folds(request, self.target, self.labels, self.rows)
        self.count = int(self.of_row.max()) + 1
        self.n_train = len(self.of_row) - int(np.bincount(self.of_row).max())
        self.request = opening.request.settled(self.n_train)
        self.each = replace(
            self.request,
            task=self.target.task,
            folds=None,
            budgets=tuple(counted(budget, self.n_train) for budget in self.request.budgets),
        )

    def study(self, fold: int) -> Study:
        """Fit the model of a fold."""
        out = self.of_row == fold
        train, test = (take(self.rows, np.flatnonzero(at)) for at in (~out, out))
        return self._fitted(self.each, train, test)

    def whole(self) -> Study:
        """Fit one more model, on the rows of all folds."""
        request = self.each
        if request.stated is None:  # a share is one of more rows
            request = replace(request, budgets=self.opening.request.budgets)
        return self._fitted(request, self.rows, take(self.rows, np.arange(0)))

    def _fitted(self, request: Request, train: Loaded, test: Loaded) -> Study:
        opening = _FoldOpening(request, Silent())
        opening.loader.inspection = self.opening.loader.inspection
        opening.loader.gaps = self.opening.loader.gaps
        return opening.fitted(self.names, train, test, self.aside)


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
            f"{request.kind.usual}, or other rows with --validation FILE"
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
        found = draw_folds(request.fold_by, owners(request.fold_by, rows), folds, request.seed)
    else:
        found = np.random.default_rng(request.seed).permutation(n_rows) % folds
    for at, name in enumerate(target.class_names if target.several else ()):
        if len(np.unique(found[labels == at])) == 1:
            raise InputError(
                f"--folds {folds}: all rows with the label {shorten(name)!r} are in one fold, so "
                "that the model of that fold would not know the class; pass another --seed, fewer "
                "folds, or more rows of it"
            )
    return found


def _choice(choices: list[AlphaChoice | None]) -> AlphaChoice | None:
    """Return the alphas of all folds, and the rows that chose them."""
    made = [each for each in choices if each is not None]
    if not made:
        return None
    alphas = tuple(alpha for each in made for alpha in each.alphas)
    return replace(made[0], alphas=alphas, n_rows=max(each.n_rows for each in made))
