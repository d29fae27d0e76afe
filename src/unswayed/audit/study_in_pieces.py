"""A study whose training rows are in pieces: what is asked of them takes passes."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from unswayed._typing import FloatArray, IntArray
from unswayed.audit.crew import Crew
from unswayed.audit.rows import Rows
from unswayed.audit.source import Source
from unswayed.audit.study import Answers, Study, by_budgets
from unswayed.certificates import CertificateSet, Verdict, Witness
from unswayed.certified.three_numbers import Asked
from unswayed.certifiers.streamed import MergedEngine
from unswayed.report.findings import Size
from unswayed.scale.files import FilePiece
from unswayed.scale.pieces import Place
from unswayed.scale.rows import CollectRows, SelectedRows
from unswayed.scale.survey import Survey
from unswayed.words import counted


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
        used = {column.name for column in self.columns}
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
