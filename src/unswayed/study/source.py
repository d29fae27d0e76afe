"""Files of training rows in pieces: what of them is read, and what cannot be asked of them."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from unswayed._core.tally import P, Tally
from unswayed._typing import BoolArray
from unswayed.engines.passes.training import (
    Counted,
    Found,
    GramPart,
    LabelBatch,
    Print,
    Pulled,
    Strongest,
    Sums,
)
from unswayed.engines.protocol import OffsetSums
from unswayed.estimators import fit_in_pieces as fitting
from unswayed.exceptions import InputError
from unswayed.models.ridge.summed import RowSums
from unswayed.pieces.cluster import DaskPasses
from unswayed.pieces.passes import LocalPasses, Passes, Task
from unswayed.pieces.pieces import Piece, Stamp, find_files, is_url
from unswayed.pieces.rows import CollectedRows, RowCounts
from unswayed.pieces.store import Store, StoredPasses, storable
from unswayed.report.facts import Caveat
from unswayed.study.loading import need
from unswayed.study.request import InPieces, Request
from unswayed.tables.columns import Distinct, DistinctRows, Moments, MostDistinct, in_words, is_text
from unswayed.tables.delimited import CsvReader
from unswayed.tables.encoding import Survey, SurveyedColumn, SurveyedLabels
from unswayed.tables.expression import columns_of, select
from unswayed.tables.inspection import of_header
from unswayed.tables.many_files import FilePiece, fingerprint, open_files
from unswayed.words import shorten

_TO_THE_END = 3  # passes that count effects, as a rule: a grid, a finer one, what they leave open

PASSES = {
    "count": "count the rows of CSV files",
    "collect": "collect the rows that are held out",
    "survey": "look at the rows: columns, categories, different rows",
    "sum": "sum up what the model needs",
    "effects": "count the effects of labels on the test rows, until every answer is known",
}
"""What passes do, in their order."""


@dataclass(frozen=True, slots=True)
class Only:
    """The condition of ``--only``, asked about every batch of rows."""

    expression: str
    label: str  # What the column of labels is called

    def __call__(self, rows: Any, labels: Any) -> BoolArray:
        """Return which rows meet the condition."""
        column = pa.array(labels) if isinstance(labels, np.ndarray) else labels
        return select(self.expression, rows.append_column(self.label, column))


# --- what cannot be had in pieces -------------------------------------------------------------


def check_options(request: Request) -> None:
    """Raise if something is asked that needs all training rows together."""
    whole = "pass one file that fits into memory"
    rules = (
        ("choice" in request.kind.can, "--alpha search", "a search goes over the rows many times",
         f"pass a number, or {whole}"),
        ("pieces" not in request.kind.can, f"--model {request.kind.name}", "only models that are "
         "linear in their labels are summed up piece by piece", f"leave it out, or {whole}"),
        (request.folds, "--folds", "a fold is made of rows from anywhere", "pass --test, or hold "
         "rows out with --holdout"),
        (request.fold_by, "--fold-by", "rows of one value may be anywhere", "pass other rows with "
         "--test"),
        (request.weights, "--weights", "rows in pieces all count the same", f"leave it out, or "
         f"{whole}"),
        (request.log, "--log", "labels in pieces are taken as they are written", "write their "
         "logarithms into the files, and pass --shift and --radius on that scale"),
        (request.resolve, "--resolve exact", "rational arithmetic needs all training rows together",
         f"leave it out, or {whole}"),
        (request.threshold == "balanced", "--threshold balanced", "a threshold that moves with the "
         "labels needs them together", "pass a number, such as the share of positive labels"),
        (request.missing == "impute", "--missing impute", "a median needs all rows together",
         "pass --missing drop, or fill values in beforehand"),
        (request.to, "--to", "labels in pieces are of two classes",
         f"pass --direction, or {whole}"),
        (request.stated, _budget_option(request), "it looks at every single label",
         f"pass --budget, or {whole}"),
        (request.alpha is None, "--alpha auto or --give-up", "choosing alpha takes a model for "
         "each one that is tried", "pass a number, such as the one that --alpha auto finds on one "
         "of the files"),
    )  # fmt: skip
    for given, option, why, instead in rules:
        if given:
            raise refusal(option, why, instead)


def _budget_option(request: Request) -> str:
    """Return the option that says what the budget is."""
    return "" if request.stated is None else request.stated.option


def refusal(option: str, why: str, instead: str) -> InputError:
    """Return an error about an option that training rows in pieces do not have."""
    return InputError(f"{option} is not possible for training rows in pieces: {why}; {instead}")


# --- files ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class TrainingFiles:
    """Files of training rows, and which of their columns are for what."""

    # With all columns that anything asks for: features, those of ``--only`` and ``--groups``, and
    # the label
    wide: list[FilePiece]
    names: list[str]  # Feature columns
    beside: tuple[str, ...]  # Columns that ``--only`` looks at and the model does not
    notes: tuple[str, ...] = ()  # How the first file was read where that was not asked for
    caveats: tuple[Caveat, ...] = ()  # That the first line of the first file seems to be no header

    @classmethod
    def of(cls, request: Request) -> "TrainingFiles":
        """Find the files of a request and look at their columns."""
        looked_at = () if request.only is None else columns_of(request.only)
        kept = {*looked_at, *(() if request.test is not None else request.groups)}
        reader = CsvReader(request.dialect, request.categorical)
        first = find_files(request.pieces.source)[0]
        block = reader.first_block(first)
        written = {} if block is None else reader.written_numbers(block)
        reader = replace(reader, numerals=tuple(written))
        no_header = [] if block is None or not request.dialect.header else list(of_header(block))
        try:
            wide = open_files(
                request.pieces.source,
                label=request.label,
                columns=_columns_of(request, kept),
                ignore=[name for name in request.ignore if name not in kept],
                categorical=request.categorical,
                missing="drop" if request.missing == "drop" else "refuse",
                reader=reader,
            )
        except InputError as error:
            raise InputError("; ".join(map(str, (error, *no_header)))) from None
        columns = wide[0].schema.names[:-1]
        empty = wide[0].schema.empty_table()
        for option, names in (
            ("--categorical", request.categorical),
            ("--numeric", request.numeric),
            ("--ignore", [name for name in request.ignore if name in kept]),
        ):
            need(names, empty, option)
        names = [name for name in columns if request.roles.of(name) == "feature"]
        beside = tuple(name for name in columns if name in looked_at and name not in names)
        notes = (*reader.notes(first), *in_words(first.name, written))
        found = cls(wide, names, beside, notes, tuple(no_header))
        found._check(request)
        return found

    def _check(self, request: Request) -> None:
        schema = self.wide[0].schema
        for name in request.numeric:
            if is_text(schema.field(name).type):
                raise refusal(
                    f"--numeric {shorten(name)}",
                    "its cells are texts, of which those in memory are turned into numbers",
                    "write it as numbers, or name what stands for missing values with --na",
                )
        if request.dialect.missing and any(piece.groups is not None for piece in self.wide):
            raise refusal(
                "--na", "Parquet files know missing values themselves", "make such cells null"
            )
        if not self.names:
            raise InputError("no feature column is left beside the label; ignore fewer columns")
        if request.only is not None:  # typos are found before anything is read
            label = schema.field(schema.names[-1])
            select(request.only, _empty(self.training[0].schema, label.name))

    @property
    def schema(self) -> pa.Schema:
        """Of all columns, the label last."""
        return self.wide[0].schema

    @property
    def training(self) -> list[FilePiece]:
        """The same pieces, with the columns that training takes."""
        used = {*self.names, *self.beside, self.schema.names[-1]}
        narrow = pa.schema([field for field in self.schema if field.name in used])
        return [replace(piece, schema=narrow) for piece in self.wide]

    @property
    def n_files(self) -> int:
        """Number of files."""
        return len(fingerprint(self.wide))

    @property
    def paths(self) -> list[Path]:
        """Files on this machine."""
        paths = dict.fromkeys(piece.file.path for piece in self.wide)
        return [Path(path) for path in paths if not is_url(path)]

    @property
    def n_rows(self) -> int | None:
        """Number of rows, those that miss a value included; None where reading alone tells."""
        counts = [piece.rows for piece in self.wide]
        return None if None in counts else sum(count or 0 for count in counts)

    def columns(self, request: Request) -> fitting.FeatureRule:
        """Return how columns become features: as those of files in memory do."""
        return fitting.FeatureRule(
            categorical=request.categorical,
            standardise=True,
            categories_first=True,
            unseen="zeros",
            beside=self.beside,
            varying=True,
        )


def _columns_of(request: Request, kept: set[str]) -> list[str] | None:
    """Return the columns to read beside the label; None for all that are not ignored."""
    if not request.features:
        return None
    return [*request.features, *(kept - {request.label, *request.features})]


def _empty(schema: pa.Schema, label: str) -> pa.Table:
    """Return a table without rows, whose columns are those that batches have."""
    names = [*(name for name in schema.names if name != label), label]
    return schema.empty_table().select(names)


def expected_passes(request: Request, source: TrainingFiles) -> list[str]:
    """Return what passes will do, as far as that is known beforehand."""
    held_out = request.test is None
    found = ["count"] if held_out and source.n_rows is None else []
    found += ["collect"] if held_out else []
    searches = len(request.budgets) if request.method != "exact" else 1
    return [*found, "survey", "sum", *["effects"] * (_TO_THE_END * searches)]


# --- Passes of a study: made on this machine or on a cluster, counted, and resumed from a folder


for _kind in (
    CollectedRows,
    Counted,
    Distinct,
    DistinctRows,
    Found,
    GramPart,
    LabelBatch,
    SurveyedLabels,
    Moments,
    MostDistinct,
    OffsetSums,
    Print,
    Pulled,
    RowCounts,
    RowSums,
    Strongest,
    Sums,
    Survey,
    SurveyedColumn,
    Tally,
):
    storable(_kind)


def open_store(directory: str | os.PathLike[str], stamps: Iterable[Stamp]) -> Store:
    """Open the folder in which passes over files are kept."""
    return Store(directory, list(stamps))


class PassProgress(Protocol):
    """Shows how far passes have come."""

    def passing(self, line: str, *, finished: bool) -> None:
        """Say how far a pass is."""
        ...


class PassRunner:
    """Makes passes over any pieces of the same files, and counts them."""

    def __init__(
        self, asked: InPieces, files: Sequence[FilePiece], progress: PassProgress, expected: int
    ) -> None:
        self._progress = progress
        whole = len(fingerprint(files)) == len(files)
        self._noun = "files" if whole else "parts of files"
        self.expected = expected
        self._dask: DaskPasses | None = None
        self._made: list[Passes] = []
        if asked.scheduler is not None:
            self._dask = DaskPasses((), asked.scheduler)
        self._store = None
        if asked.resume is not None:
            try:
                self._store = open_store(asked.resume, fingerprint(files))
            except BaseException:
                self.close()
                raise

    @property
    def made(self) -> int:
        """Passes made so far."""
        return self._made[-1].made if self._made else 0

    @property
    def restored(self) -> int:
        """Passes restored from the resume folder."""
        return sum(each.restored for each in self._made if isinstance(each, StoredPasses))

    def passes(self, pieces: Sequence[Piece]) -> Passes:
        """Return who makes passes over some pieces; numbers go on from the passes before."""
        found: Passes
        if self._dask is not None:
            found = DaskPasses(pieces, self._dask.client, progress=self._show)
        else:
            found = LocalPasses(pieces, progress=self._show)
        if self._store is not None:
            found = StoredPasses(found, self._store)
        found.made = self.made
        self._made.append(found)
        return found

    def run(self, pieces: Sequence[Piece], task: Task[P]) -> P:
        """Make one pass."""
        return self.passes(pieces).run(task)

    def _show(self, title: str, done: int, total: int) -> None:
        number, _, what = title.partition(": ")
        at_least = max(self.expected, self.made + 1)
        line = f"{number} of about {at_least}: {what}, {done:,} of {total:,} {self._noun}"
        self._progress.passing(line, finished=done == total)

    def close(self) -> None:
        """Leave the cluster."""
        if self._dask is not None:
            self._dask.close()
