"""From files in pieces to a study: passes over them, and never all of their rows in memory."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from unswayed._typing import IntArray
from unswayed.audit import column_caveats
from unswayed.audit.columns import Column, Columns, is_too_many
from unswayed.audit.crew import Crew, PassProgress
from unswayed.audit.loading import Gaps
from unswayed.audit.opening import Opening
from unswayed.audit.penalty import split_rows
from unswayed.audit.progress import Progress
from unswayed.audit.request import Request
from unswayed.audit.rows import Loaded, Rows
from unswayed.audit.source import Only, Source, check_options, expected_passes
from unswayed.audit.study_in_pieces import StudyInPieces
from unswayed.audit.target import Target, check_bias
from unswayed.cells import plain
from unswayed.certified import METHODS, CertifiedClassifier, CertifiedRegressor
from unswayed.certified import fit_in_pieces as fitting
from unswayed.exceptions import InputError
from unswayed.scale.encoding import Encoding
from unswayed.scale.pieces import Place
from unswayed.scale.rows import CollectRows, CountRows, SelectedRows
from unswayed.scale.survey import MOST_CLASSES, Survey
from unswayed.words import as_text, option, shorten

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
        self.notes += (*request.reading.notes, *self.source.notes)
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
        columns = _columns(Encoding.of(used, categories_first=True))
        self._refuse_identifiers(columns, survey.n_rows)
        testing = self._test_rows(columns, target, *test)
        model = self._model(target)
        with self._noting():
            fitting.fit_on_passes(model, passes, how, survey)
        n_movable = int(model.fitted_.engine.precision.n_movable)
        if not n_movable and request.only is not None:
            raise self.nothing_selected()
        return StudyInPieces(
            request=request,
            target=target,
            columns=columns,
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

    def _refuse_identifiers(self, columns: Columns, n_rows: int) -> None:
        for column in columns.categories:
            asked = column.name in self.request.categorical
            if not asked and is_too_many(column.n_categories, n_rows):
                raise InputError(
                    f"column {shorten(column.name)!r} has {column.n_categories:,} different texts "
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


def _columns(encoding: Encoding) -> Columns:
    """Return columns as those of files in memory are."""
    return Columns(
        tuple(Column(each.name, each.categories) for each in encoding.columns if each.is_category),
        tuple(Column(each.name, None) for each in encoding.columns if not each.is_category),
    )


def _no_rows(schema: pa.Schema) -> Rows:
    table = schema.empty_table()
    return Rows(table, np.zeros(0, dtype=np.intp), np.zeros((0, 0)), np.zeros(0))
