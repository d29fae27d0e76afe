"""Training rows in pieces: a model by passes over them, and never all rows in memory."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from unswayed._typing import FloatArray, IntArray
from unswayed.engines.passes import MergedEngine
from unswayed.estimators import fit_in_pieces as fitting
from unswayed.estimators.question import Asked
from unswayed.exceptions import InputError
from unswayed.pieces.pieces import Place
from unswayed.pieces.rows import CollectRows, CountRows, SelectedRows
from unswayed.report.certified import Size
from unswayed.results.certificates import CertificateSet, Verdict
from unswayed.results.rows import Witness
from unswayed.study.answers import Answers, by_budgets, columns_of_answers
from unswayed.study.loading import Gaps, Rows, split_rows
from unswayed.study.opening import Opening, check_method, refuse_identifier
from unswayed.study.request import InPieces, Loaded, Request
from unswayed.study.source import (
    Only,
    PassProgress,
    PassRunner,
    TrainingFiles,
    check_options,
    expected_passes,
)
from unswayed.study.study import OneModel, Progress, Study
from unswayed.study.target import Target, check_bias
from unswayed.tables.columns import plain
from unswayed.tables.encoding import MOST_CLASSES, Encoding, Survey
from unswayed.tables.inspection import constant
from unswayed.tables.many_files import FilePiece
from unswayed.words import as_text, counted, shorten


@dataclass(frozen=True, eq=False, kw_only=True)
class ModelOfPieces(OneModel):
    """One model whose training rows are in pieces: what is asked of them takes passes."""

    asked_for: InPieces
    source: TrainingFiles
    survey: Survey  # What the first pass found
    runner: PassRunner  # Makes the passes
    held_out: list[Place] | None  # Where the test rows are; None if they are of another file

    can = frozenset()
    held_out_of = "the same files"
    assumptions = (
        (
            "Rows in pieces.",
            "The training rows were never in memory together, so this page names none of them; "
            "unswayed witness SOURCE --row N, with the same options, names the labels that "
            "overturn one prediction, by file and row",
        ),
    )

    def close(self) -> None:
        """Leave the cluster."""
        self.runner.close()

    # --- what was asked -------------------------------------------------------------------

    def n_train(self, study: Study) -> int:
        """Return the number of training rows."""
        return self.survey.n_rows

    def n_file_rows(self, study: Study) -> int:
        """Return the number of rows of all files."""
        held_out = 0 if self.held_out is None else len(self.held_out)
        known = study.sizes.get(study.request.train, self.source.n_rows)
        if known is not None:
            return known
        return self.survey.n_rows + self.survey.left_out + held_out

    def n_movable(self, study: Study) -> int:
        """Return the number of training labels that may be wrong."""
        return int(study.model.fitted_.engine.precision.n_movable)

    def columns(self, study: Study) -> Sequence[str]:
        """Return the columns that may be features, in the files' order."""
        return self.source.names

    @property
    def numbering(self) -> str:
        """How rows are numbered."""
        if self.held_out is None or self.source.n_files == 1:
            return super().numbering
        more = "Held-out rows are numbered through all files, in the order of their names."
        return f"{super().numbering} {more}"

    @property
    def places(self) -> Sequence[Place] | None:
        """File and row of every test row, where these are of several files."""
        return self.held_out if self.source.n_files > 1 else None

    def source_in_words(self, study: Study) -> str:
        """Return what the training rows are read from."""
        return f"{self.asked_for.shown} ({counted(self.source.n_files, 'file')})"

    def selected_in_words(self, study: Study) -> str:
        """Return which rows ``--only`` selects; they are not counted."""
        return "the training rows"

    def is_training_file(self, study: Study, path: Path) -> bool:
        """Return whether training rows are read from a file."""
        return any(os.path.samefile(path, each) for each in self.source.paths)

    def class_counts(self, study: Study) -> list[int]:
        """Return the number of training labels of each of two classes."""
        counts = self.survey.labels.counts or {}
        positive = counts[study.target.classes[1]]
        return [sum(counts.values()) - positive, positive]

    def class_sizes(self, study: Study) -> dict[str, Size]:
        """Return the size of each class; which rows --only selects is not known by class."""
        ways = {None: (1, 1), "up": (1, 0), "down": (0, 1)}[study.request.direction]
        known = zip(study.target.class_names, self.class_counts(study), ways, strict=True)
        movable = self.n_movable(study)
        return {name: Size(rows, min(rows, movable) * way) for name, rows, way in known}

    def group_sizes(self, study: Study, name: str) -> dict[str, Size]:
        """Return nothing: no pass counts groups."""
        return {}

    def pass_facts(self, study: Study) -> dict[str, Any]:
        """Return how many files and passes there were."""
        return {
            "files": self.source.n_files,
            "passes": self.runner.made,
            "restored": self.runner.restored,
            "distinct_rows": self._n_distinct(study),
        }

    def last_notes(self, study: Study) -> list[str]:
        """Return how many passes were made."""
        made, restored = self.runner.made, self.runner.restored
        what = "1 pass" if made == 1 else f"{made:,} passes"
        files = counted(self.source.n_files, "file")
        note = f"{what} over {self.n_file_rows(study):,} rows in {files}"
        if restored:
            note += f", {restored:,} of them from {self.asked_for.resume}"
        distinct = self._n_distinct(study)
        if distinct is not None:
            note += (
                f"; {distinct:,} different training rows, so one pass was enough to learn from them"
            )
        return [note]

    def _n_distinct(self, study: Study) -> int | None:
        """Return the number of different training rows, if they were held in memory."""
        merged = isinstance(study.model.fitted_.engine, MergedEngine)
        return len(self.survey.distinct) if merged and self.survey.distinct is not None else None

    # --- answers --------------------------------------------------------------------------

    def rows(self, study: Study, at: IntArray) -> Any:
        """Return the cells of some test rows."""
        return study.test.table.take(pa.array(at))

    def asked(self, study: Study) -> list[Asked]:
        """Return nothing: single labels are never at hand."""
        return []

    def whole(self, study: Study) -> None:
        """Return nothing: of models in pieces, no coefficients are certified."""

    def _wants_least(self, study: Study) -> bool:
        """Return whether minimum budgets are worth their passes."""
        request = study.request
        return request.least or (request.method == "exact" and len(request.budgets) > 1)

    def certified(self, study: Study) -> tuple[Answers, list[CertificateSet]]:
        """Certify all test rows at once: passes are few then."""
        rows, request = self.rows(study, np.arange(len(study.test))), study.request
        wants = self._wants_least(study)
        classes = study.target.task == "classification"
        if not classes or request.ranges or request.method != "exact":
            certs = study.put_as_asked(rows, request.budget)
        elif wants:
            return self._by_least(study, study.put(rows, 0)), []
        else:
            certs = study.put(rows, request.budget, ranges=False)
        return Answers(*columns_of_answers(study, certs, least=wants)), []

    def _by_least(self, study: Study, certs: CertificateSet) -> Answers:
        """Return the verdicts that follow from minimum budgets, which are found once."""
        least, amount = certs.minimum_budgets, study.count(study.request.budget)
        verdict = by_budgets(least.low, least.high, amount)
        endless: FloatArray = np.full(len(certs), np.inf)
        score, said = certs.score, study.said(certs)
        ranges = score, -endless, endless, score, score
        return Answers(*ranges, verdict, least.low, least.high, said, np.nan * endless)

    def least_decides(self, study: Study) -> bool:
        """Return whether minimum budgets tell the verdict at every budget."""
        return self._wants_least(study) and study.request.method == "exact"

    # --- witnesses ------------------------------------------------------------------------

    def witnesses(self, study: Study, at: IntArray) -> list[Witness | None]:
        """Find the smallest set of label changes that overturns each of some test rows."""
        certs = study.put(self.rows(study, at), 0)
        least, source = certs.minimum_budgets, certs.source
        assert source is not None  # noqa: S101  (they were not pickled)
        return [
            source.witness(row, self.survey.n_rows) if np.isfinite(least.low[row]) else None
            for row in range(len(at))
        ]

    def ever_overturned(self, study: Study, at: int) -> Verdict:
        """Return whether any number of label changes overturns a test row."""
        certs = study.put(self.rows(study, np.array([at])), 0)
        return Verdict.ROBUST if np.isposinf(certs.minimum_budget[0]) else Verdict.UNDECIDED

    def training_rows(self, study: Study, places: Iterable[Place]) -> Rows:
        """Read some training rows."""
        wanted: dict[int, list[int]] = {}
        for place in places:
            at = next(at for at, piece in enumerate(self.source.wide) if _has(piece, place))
            wanted.setdefault(at, []).append(place.row - 1 - self.source.wide[at].first)
        pieces = [
            SelectedRows(self.source.wide[at].name, self.source.wide[at], np.array(rows), True)
            for at, rows in wanted.items()
        ]
        found = self.runner.run(pieces, CollectRows(study.request.label))
        numbers = [
            pieces[piece].place(number).row
            for piece, number in zip(found.piece.tolist(), found.number.tolist(), strict=True)
        ]
        labels = study.target.encode(found.table.column(study.request.label))
        return Rows(found.table, np.array(numbers), np.zeros((len(numbers), 0)), labels)


def _has(piece: FilePiece, place: Place) -> bool:
    """Return whether a row is in a piece."""
    at = place.row - 1 - piece.first
    return piece.file.name == place.file and at >= 0 and (piece.rows is None or at < piece.rows)


_SHUFFLED = 2**24  # rows that are shuffled as in memory; of more, some are drawn


class PieceProgress(Progress, PassProgress, Protocol):
    """Shows how far long work and passes have come."""


def open_pieces(request: Request, progress: PieceProgress) -> Study:
    """Find the files, hold rows out if asked to, and fit the model by passes over them."""
    check_options(request)
    return _OpeningInPieces(request, progress).study()


class _OpeningInPieces(Opening):
    """The steps from files in pieces to a fitted model."""

    progress: PieceProgress

    def __init__(self, request: Request, progress: PieceProgress) -> None:
        super().__init__(request, progress)
        check_method(request)
        self._n_drawn = 0  # rows that are held out
        self.source = TrainingFiles.of(request)
        self.notes += (*request.dialect.notes, *self.source.notes)
        self.caveats += self.source.caveats
        self.loader.names = self.source.names

    def study(self) -> Study:
        """Make the passes and fit the model."""
        request = self.request
        test: Loaded | None = None
        if request.test is not None:
            test = self.loader.other(request.test, self.source.schema)
        expected = len(expected_passes(request, self.source))
        runner = PassRunner(request.pieces, self.source.wide, self.progress, expected)
        try:
            return self._made_by(runner, test)
        except BaseException:
            runner.close()
            raise

    def _made_by(self, runner: PassRunner, test: Loaded | None) -> Study:
        request, source, asked = self.request, self.source, self.request.pieces
        pieces: Sequence[Any] = source.training
        places: list[Place] | None = None
        if test is None:
            pieces, test, places = self._held_out(runner)
        passes, how = runner.passes(pieces), source.columns(request)
        survey = passes.run(how.task())
        if not survey.n_rows:
            why = "every row misses a value" if survey.left_out else "its files have no rows"
            raise InputError(f"{asked.shown}: {why}, so nothing can be learned")
        left_out = survey.left_out
        if places is not None:  # those that were held out are told of by themselves
            left_out = self.loader.sizes[request.train] - self._n_drawn - survey.n_rows
        if left_out:
            self.notes.append(f"{left_out:,} training rows miss values and are left out")
        self.request = request = request.settled(survey.n_rows)
        target = self._target(survey)
        if request.positive is not None:
            how = replace(how, positive=target.classes[1])
        used = how.features(survey)
        self._say_what_is_constant(survey, used)
        encoding = Encoding.of(used, standardise=True, categories_first=True)
        for column in encoding.categories:
            if column.name not in request.categorical:
                refuse_identifier(column.name, column.width, survey.n_rows)
        testing = self._test_rows(encoding, target, *test)
        only = None if request.only is None else Only(request.only, request.label)
        assert request.alpha is not None  # noqa: S101  (checked)
        model = self.model(target, np.zeros(0), only, request.alpha)
        with self._noting():
            fitting.fit_on_passes(model, passes, how, survey)
        n_movable = int(model.fitted_.engine.precision.n_movable)
        if not n_movable and request.only is not None:
            raise self.nothing_selected()
        none = np.zeros(0, dtype=np.intp)
        return Study(
            request=request,
            target=target,
            encoding=encoding,
            train=Rows(source.schema.empty_table(), none, np.zeros((0, 0)), np.zeros(0)),
            test=testing,
            model=model,
            alpha=request.alpha,
            movable=np.zeros(0, dtype=bool),
            gaps=Gaps(None if survey.left_out else 0, survey.left_out),
            notes=self.notes,
            caveats=self.caveats,
            sizes=self.loader.sizes,
            progress=self.progress,
            scheme=ModelOfPieces(
                asked_for=asked, source=source, survey=survey, runner=runner, held_out=places
            ),
        )

    # --- rows that are held out -----------------------------------------------------------

    def _held_out(self, runner: PassRunner) -> tuple[list[SelectedRows], Loaded, list[Place]]:
        """Draw test rows from all rows. Returns the other rows in pieces, and these."""
        wide, request = self.source.wide, self.request
        counts = self._counts(runner)
        ends = np.cumsum(counts)
        self.loader.sizes[request.train] = int(ends[-1])
        drawn = self._drawn(int(ends[-1]))
        self._n_drawn = len(drawn)
        starts = ends - counts
        own = [
            drawn[np.searchsorted(drawn, start) : np.searchsorted(drawn, end)] - start
            for start, end in zip(starts, ends, strict=True)
        ]
        inside = [
            SelectedRows(piece.name, piece, at, True)
            for piece, at in zip(wide, own, strict=True)
            if len(at)
        ]
        found = runner.run(inside, CollectRows(request.label))
        if found.table is None:
            raise InputError(
                "every row that was held out misses a value; pass --holdout, or --test"
            )
        if len(found.number) < len(drawn):
            missing = len(drawn) - len(found.number)
            self.notes.append(f"{missing:,} rows that were held out miss values and are left out")
        at = np.array([k for k, rows in enumerate(own) if len(rows)])[found.piece]
        places = [
            wide[piece].place(number)
            for piece, number in zip(at.tolist(), found.number.tolist(), strict=True)
        ]
        table = pa.table(
            {name: plain(found.table.column(name)) for name in self.source.schema.names}
        )
        outside = [
            SelectedRows(piece.name, piece, rows, False)
            for piece, rows in zip(self.source.training, own, strict=True)
        ]
        return outside, (table, starts[at] + found.number + 1), places

    def _counts(self, runner: PassRunner) -> IntArray:
        """Return the number of rows of every piece."""
        wide = self.source.wide
        counts = np.array([piece.rows or 0 for piece in wide], dtype=np.int64)
        unknown = [at for at, piece in enumerate(wide) if piece.rows is None]
        if unknown:
            found = runner.run([wide[at] for at in unknown], CountRows())
            for number, count in found.rows.items():
                counts[unknown[number]] = count
        return counts

    def _drawn(self, n_rows: int) -> IntArray:
        """Return the positions of the rows that are held out, of as many as there are."""
        n_out = self.n_held_out(n_rows)
        if n_rows <= _SHUFFLED:
            return np.asarray(split_rows(n_rows, n_out, self.request.seed)[1])
        rng = np.random.default_rng(self.request.seed)
        return np.sort(rng.choice(n_rows, n_out, replace=False, shuffle=False))

    # --- what the first pass tells --------------------------------------------------------

    def _target(self, survey: Survey) -> Target:
        request, labels, name = self.request, survey.labels, shorten(self.request.label)
        number = labels.kind == "numbers"
        if request.positive is not None:
            if labels.counts is None:
                raise InputError(
                    f"--positive: the label {name!r} has more than {MOST_CLASSES} values, which "
                    "are not all kept for rows in pieces; write a column that is yes or no, or "
                    "pass one file that fits into memory"
                )
            target = Target.one_class(request.label, labels.counts, request.positive, request.task)
        elif labels.counts is not None:
            values = labels.counts
            target = Target.among(request.label, values, request.task, number=number)
            fractions = [value for value in values if isinstance(value, float) and value % 1]
            if target.classes and fractions:
                raise InputError(
                    f"the label {name!r} has two values, of which {fractions[0]!r} is a fraction; "
                    "for rows in pieces write the classes as texts or whole numbers, or pass "
                    "--task regression"
                )
        elif number and request.task != "classification":
            target = Target(request.label, "regression")
        else:
            way = " or pass --task regression" if number else ""
            raise InputError(
                f"the label {name!r} has more than {MOST_CLASSES} values, and for rows in pieces "
                f"only two can be told apart; make it a yes/no column{way}"
            )
        check_bias(request, target, certified=True)
        if request.clip is not None:
            for end in (labels.moments.low, labels.moments.high):
                if not request.clip[0] <= end <= request.clip[1]:
                    raise InputError(
                        f"--clip: no label may be outside the range, but {name!r} is "
                        f"{as_text(end)} in a training row; mend such labels or leave their "
                        "rows out, or pass a wider range"
                    )
        return target

    def _say_what_is_constant(self, survey: Survey, used: Survey) -> None:
        kept = {*(column.name for column in used.columns), *self.source.beside}
        self.caveats += [
            constant(column.name, column.first, "training row")
            for column in survey.columns
            if column.name not in kept
        ]
