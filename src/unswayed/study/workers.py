"""Passes of a study: made on this machine or on a cluster, counted, and resumed from a folder."""

import os
from collections.abc import Iterable, Sequence
from typing import Protocol

from unswayed._core.parts import P
from unswayed._core.tally import Tally
from unswayed.engines.passes.training import Found, Print, Sums
from unswayed.engines.passes.work import Counted, GramPart, LabelBatch, Pulled, Strongest
from unswayed.engines.protocol import OffsetSums
from unswayed.models.ridge.summed import RowSums
from unswayed.pieces.cluster import DaskPasses
from unswayed.pieces.passes import LocalPasses, Passes, Task
from unswayed.pieces.paths import Stamp
from unswayed.pieces.pieces import Piece
from unswayed.pieces.rows import CollectedRows, RowCounts
from unswayed.pieces.store import Store, StoredPasses, storable
from unswayed.study.request import InPieces
from unswayed.tables.columns import Distinct, DistinctRows, Moments, MostDistinct
from unswayed.tables.many_files import FilePiece, fingerprint
from unswayed.tables.survey import Survey, SurveyedColumn, SurveyedLabels

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
