"""Studies whose training rows are in pieces: passes over them, and never all rows in memory."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from unswayed._typing import FloatArray, IntArray
from unswayed.engines.passes import MergedEngine
from unswayed.estimators import METHODS, CertifiedClassifier, CertifiedRegressor
from unswayed.estimators import fit_in_pieces as fitting
from unswayed.estimators.three_numbers import Asked
from unswayed.exceptions import InputError
from unswayed.pieces.pieces import Place
from unswayed.pieces.rows import CollectRows, CountRows, SelectedRows
from unswayed.report.facts import Size
from unswayed.results.certificates import CertificateSet, Verdict, Witness
from unswayed.study.loading import Gaps, Loaded, Rows
from unswayed.study.opening import Opening
from unswayed.study.penalty import Progress, split_rows
from unswayed.study.request import Request
from unswayed.study.source import Only, Source, check_options, expected_passes
from unswayed.study.study import Answers, Study, by_budgets
from unswayed.study.target import Target, check_bias
from unswayed.study.workers import Crew, PassProgress
from unswayed.tables import column_caveats
from unswayed.tables.cells import plain
from unswayed.tables.encoding import Encoding
from unswayed.tables.many_files import FilePiece
from unswayed.tables.survey import MOST_CLASSES, Survey
from unswayed.tables.suspicion import is_too_many
from unswayed.words import as_text, counted, option, shorten


@dataclass(frozen=True, eq=False, kw_only=True)
class StudyInPieces(Study):
    """A study whose training rows are in pieces: what is asked of them takes passes."""

    source: Source
    survey: Survey  # What the first pass found
    crew: Crew  # Makes the passes
    held_out: list[Place] | None  # Where the test rows are; None if they are of another file

    def close(self) -> None:
        """Leave the cluster."""
        self.crew.close()

    # --- what was asked -------------------------------------------------------------------

    @property
    def n_train(self) -> int:
        """Number of training rows."""
        return self.survey.n_rows

    @property
    def n_file_rows(self) -> int:
        """Number of rows of all files."""
        held_out = 0 if self.held_out is None else len(self.held_out)
        known = self.sizes.get(self.request.train, self.source.n_rows)
        return self.n_train + self.survey.left_out + held_out if known is None else known

    @property
    def n_movable(self) -> int:
        """Number of training labels that may be wrong."""
        return int(self.model.fitted_.engine.precision.n_movable)

    @property
    def feature_columns(self) -> list[str]:
        """Columns that are features, in the files' order."""
        used = {column.name for column in self.encoding.columns}
        return [name for name in self.source.names if name in used]

    @property
    def numbering(self) -> str:
        """How rows are numbered."""
        found = super().numbering
        if self.held_out is None or self.source.n_files == 1:
            return found
        return f"{found} Held-out rows are numbered through all files, in the order of their names."

    @property
    def places(self) -> Sequence[Place] | None:
        """File and row of every test row, where these are of several files."""
        return self.held_out if self.source.n_files > 1 else None

    @property
    def source_in_words(self) -> str:
        """What the training rows are read from."""
        assert self.request.in_pieces is not None  # noqa: S101
        return f"{self.request.in_pieces.shown} ({counted(self.source.n_files, 'file')})"

    def is_training_file(self, path: Path) -> bool:
        """Return whether training rows are read from a file."""
        return any(os.path.samefile(path, each) for each in self.source.paths)

    @property
    def class_counts(self) -> list[int]:
        """Number of training labels of each class; empty for numbers."""
        if not self.target.classes:
            return []
        counts = self.survey.labels.counts or {}
        positive = counts[self.target.classes[1]]
        return [sum(counts.values()) - positive, positive]

    def class_sizes(self) -> dict[str, Size]:
        """Return the size of each class; which rows --only selects is not known by class."""
        if not self.target.classes:
            return {}
        ways = {None: (1, 1), "up": (1, 0), "down": (0, 1)}[self.request.direction]
        known = zip(self.target.class_names, self.class_counts, ways, strict=True)
        return {name: Size(rows, min(rows, self.n_movable) * way) for name, rows, way in known}

    def _selected_rows(self) -> str:
        return "the training rows"

    def pass_facts(self) -> dict[str, Any]:
        """Return how many files and passes there were."""
        return {
            "files": self.source.n_files,
            "passes": self.crew.made,
            "restored": self.crew.restored,
            "distinct_rows": self.n_distinct,
        }

    def last_notes(self) -> list[str]:
        """Return how many passes were made."""
        made, restored = self.crew.made, self.crew.restored
        what = "1 pass" if made == 1 else f"{made:,} passes"
        note = f"{what} over {self.n_file_rows:,} rows in {counted(self.source.n_files, 'file')}"
        if restored:
            assert self.request.in_pieces is not None  # noqa: S101
            note += f", {restored:,} of them from {self.request.in_pieces.resume}"
        if self.n_distinct is not None:
            note += (
                f"; {self.n_distinct:,} different training rows, so one pass was enough to learn "
                "from them"
            )
        return [note]

    @property
    def n_distinct(self) -> int | None:
        """Number of different training rows, if they were held in memory."""
        merged = isinstance(self.model.fitted_.engine, MergedEngine)
        return len(self.survey.distinct) if merged and self.survey.distinct is not None else None

    # --- answers --------------------------------------------------------------------------

    def _rows(self, at: IntArray) -> Any:
        """Return some test rows as the model takes them."""
        return self.test.table.take(pa.array(at))

    def _asked(self) -> list[Asked]:
        return []  # single labels are never at hand

    @property
    def _wants_least(self) -> bool:
        """Whether minimum budgets are worth their passes."""
        return self.request.least or (
            self.request.method == "exact" and len(self.request.budgets) > 1
        )

    @cached_property
    def _certified(self) -> tuple[Answers, list[CertificateSet]]:
        """Certify all test rows at once: passes are few then."""
        rows, request = self._rows(np.arange(len(self.test))), self.request
        classes = self.target.task == "classification"
        if not classes or request.ranges or request.method != "exact":
            return Answers(*self._facts(self._certify(rows, request.budget))), []
        if not self._wants_least:
            asked = self.count(request.budget)
            return Answers(*self._facts(self.model.certify(rows, budget=asked, ranges=False))), []
        return self._by_least(self.model.certify(rows, budget=0)), []

    def _by_least(self, certs: CertificateSet) -> Answers:
        """Return the verdicts that follow from minimum budgets, which are found once."""
        least, amount = certs.minimum_budgets, self.count(self.request.budget)
        verdict = by_budgets(least.low, least.high, amount)
        endless: FloatArray = np.full(len(certs), np.inf)
        score = certs.score
        return Answers(score, -endless, endless, score, score, verdict, least.low, least.high)

    def _facts(self, certificates: CertificateSet) -> list[Any]:
        """Return the columns of `Answers`; minimum budgets where they are wanted."""
        decided = self.target.task == "classification" or self.request.radius is not None
        if self._wants_least or not decided:
            return super()._facts(certificates)
        names = ("score", "low", "high", "inner_low", "inner_high", "verdict")
        known = [getattr(certificates, name) for name in names]
        unknown = np.full(len(certificates), np.nan)
        return [*known, unknown, unknown]

    @property
    def _least_decides(self) -> bool:
        """Whether minimum budgets tell the verdict at every budget."""
        return self._wants_least and self.request.method == "exact"

    # --- witnesses ------------------------------------------------------------------------

    def witnesses(self, at: IntArray) -> list[Witness | None]:
        """Find the smallest set of label changes that overturns each of some test rows."""
        certs = self.model.certify(self._rows(at), budget=0)
        least, source = certs.minimum_budgets, certs.source
        return [
            source.witness(row, self.n_train) if np.isfinite(least.low[row]) else None
            for row in range(len(at))
        ]

    def ever_overturned(self, at: int) -> Verdict:
        """Return whether any number of label changes overturns a test row."""
        certs = self.model.certify(self._rows(np.array([at])), budget=0)
        return Verdict.ROBUST if np.isposinf(certs.minimum_budget[0]) else Verdict.UNDECIDED

    def training_rows(self, places: Iterable[Place]) -> Rows:
        """Read some training rows."""
        wanted: dict[int, list[int]] = {}
        for place in places:
            at = next(at for at, piece in enumerate(self.source.wide) if _has(piece, place))
            wanted.setdefault(at, []).append(place.row - 1 - self.source.wide[at].first)
        pieces = [
            SelectedRows(self.source.wide[at].name, self.source.wide[at], np.array(rows), True)
            for at, rows in wanted.items()
        ]
        found = self.crew.run(pieces, CollectRows(self.request.label))
        numbers = [
            pieces[piece].place(number).row
            for piece, number in zip(found.piece.tolist(), found.number.tolist(), strict=True)
        ]
        labels = self.target.encode(found.table.column(self.request.label))
        return Rows(found.table, np.array(numbers), np.zeros((len(numbers), 0)), labels)


def _has(piece: FilePiece, place: Place) -> bool:
    """Return whether a row is in a piece."""
    at = place.row - 1 - piece.first
    return piece.file.name == place.file and at >= 0 and (piece.rows is None or at < piece.rows)


# ----------------------------------------------------------------------------------------
# From files in pieces to a study: passes over them, and never all of their rows in memory.

_SHUFFLED = 2**24  # rows that are shuffled as in memory; of more, some are drawn


class PieceProgress(Progress, PassProgress, Protocol):
    """Shows how far long work and passes have come."""


def open_pieces(request: Request, progress: PieceProgress) -> "StudyInPieces":
    """Find the files, hold rows out if asked to, and fit the model by passes over them."""
    check_options(request)
    return _OpeningInPieces(request, progress).study()


class _OpeningInPieces(Opening):
    """The steps from files in pieces to a fitted model."""

    progress: PieceProgress

    def __init__(self, request: Request, progress: PieceProgress) -> None:
        super().__init__(request, progress)
        assert request.in_pieces is not None  # noqa: S101
        if request.method not in METHODS:
            raise InputError(f"--method {request.method!r} is not one of {', '.join(METHODS)}")
        self._n_drawn = 0  # rows that are held out
        self.source = Source.of(request)
        self.notes += (*request.dialect.notes, *self.source.notes)
        self.caveats += self.source.caveats
        self.loader.names = self.source.names

    def study(self) -> "StudyInPieces":
        """Make the passes and fit the model."""
        request = self.request
        assert request.in_pieces is not None  # noqa: S101
        test: Loaded | None = None
        if request.test is not None:
            test = self.loader.other(request.test, self.source.schema)
        expected = len(expected_passes(request, self.source))
        crew = Crew(request.in_pieces, self.source.wide, self.progress, expected)
        try:
            return self._made_by(crew, test)
        except BaseException:
            crew.close()
            raise

    def _made_by(self, crew: Crew, test: Loaded | None) -> "StudyInPieces":
        request, source = self.request, self.source
        pieces: Sequence[Any] = source.training
        places: list[Place] | None = None
        if test is None:
            pieces, test, places = self._held_out(crew)
        passes, how = crew.passes(pieces), source.columns(request)
        survey = passes.run(how.task())
        if not survey.n_rows:
            why = "every row misses a value" if survey.left_out else "its files have no rows"
            raise InputError(f"{request.in_pieces.shown}: {why}, so nothing can be learned")  # type: ignore[union-attr]
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
        self._refuse_identifiers(encoding, survey.n_rows)
        testing = self._test_rows(encoding, target, *test)
        model = self._model(target)
        with self._noting():
            fitting.fit_on_passes(model, passes, how, survey)
        n_movable = int(model.fitted_.engine.precision.n_movable)
        if not n_movable and request.only is not None:
            raise self.nothing_selected()
        return StudyInPieces(
            request=request,
            target=target,
            encoding=encoding,
            train=_no_rows(source.schema),
            test=testing,
            model=model,
            alpha=request.alpha,
            movable=np.zeros(0, dtype=bool),
            gaps=Gaps(None if survey.left_out else 0, survey.left_out),
            notes=self.notes,
            caveats=self.caveats,
            sizes=self.loader.sizes,
            progress=self.progress,
            source=source,
            survey=survey,
            crew=crew,
            held_out=places,
        )

    # --- rows that are held out -----------------------------------------------------------

    def _held_out(self, crew: Crew) -> tuple[list[SelectedRows], Loaded, list[Place]]:
        """Draw test rows from all rows. Returns the other rows in pieces, and these."""
        wide, request = self.source.wide, self.request
        counts = self._counts(crew)
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
        found = crew.run(inside, CollectRows(request.label))
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

    def _counts(self, crew: Crew) -> IntArray:
        """Return the number of rows of every piece."""
        wide = self.source.wide
        counts = np.array([piece.rows or 0 for piece in wide], dtype=np.int64)
        unknown = [at for at, piece in enumerate(wide) if piece.rows is None]
        if unknown:
            found = crew.run([wide[at] for at in unknown], CountRows())
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
                f"the label {name!r} has more than {MOST_CLASSES} values, but only two can be told "
                f"apart; make it a yes/no column{way}"
            )
        check_bias(request, target, certified=True)
        if request.clip is not None:
            ends = (labels.moments.low[0], labels.moments.high[0])
            for end in ends:
                if not request.clip[0] <= end <= request.clip[1]:
                    raise InputError(
                        f"--clip: no label may be outside the range, but {name!r} is "
                        f"{as_text(float(end))} in a training row; mend such labels or leave their "
                        "rows out, or pass a wider range"
                    )
        return target

    def _say_what_is_constant(self, survey: Survey, used: Survey) -> None:
        kept, texts = {column.name for column in used.columns}, iter(survey.categories)
        low = iter(survey.moments.low.tolist())
        for column in survey.columns:
            value = next(iter(next(texts))) if column.is_category else next(low)
            if column.name not in kept and column.name not in self.source.beside:
                self.caveats.append(column_caveats.constant(column.name, value, "training row"))

    def _refuse_identifiers(self, encoding: Encoding, n_rows: int) -> None:
        for column in encoding.categories:
            asked = column.name in self.request.categorical
            if not asked and is_too_many(column.width, n_rows):
                raise InputError(
                    f"column {shorten(column.name)!r} has {column.width:,} different texts "
                    f"in {n_rows:,} rows, so it says who a row is and not what it is like; leave "
                    f"it out with {option('--ignore', [column.name])}, or keep it "
                    f"with {option('--categorical', [column.name])}"
                )

    def _model(self, target: Target) -> Any:
        request = self.request
        only = None if request.only is None else Only(request.only, request.label)
        bias = request.bias(np.zeros(0), only)
        assert request.alpha is not None  # noqa: S101  (checked)
        ridge = request.kind.estimator(request.alpha)
        if target.task == "classification":
            return CertifiedClassifier(ridge, bias=bias, threshold=request.threshold)
        return CertifiedRegressor(ridge, bias=bias, radius=request.radius)


def _no_rows(schema: pa.Schema) -> Rows:
    table = schema.empty_table()
    return Rows(table, np.zeros(0, dtype=np.intp), np.zeros((0, 0)), np.zeros(0))
