"""Plan: what passes over files would take, from a first look at them."""

import gzip
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from unswayed._core.kernels import thread_count
from unswayed._core.tally import Lines
from unswayed.engines.passes.training import Count, LabelBatch
from unswayed.estimators.fit_in_pieces import MOST_DISTINCT
from unswayed.exceptions import InputError
from unswayed.models.ridge.summed import Design, RowSums
from unswayed.pieces.pieces import BATCH, Batch
from unswayed.study.opening import Opening
from unswayed.study.request import Request
from unswayed.study.source import PASSES, TrainingFiles, check_options, expected_passes
from unswayed.study.study import Silent
from unswayed.tables.encoding import Encoding, Survey
from unswayed.tables.files import read_table
from unswayed.tables.many_files import FilePiece, fingerprint

_LOOK = 4  # batches that are read to see how long that takes
_FEW = 2**13  # training rows, and test rows, whose effects are counted for that
_SOME = 256
_GRID = 128  # thresholds
_LATER = 0.05  # test rows that a first count of effects leaves open
_START = 3.0  # seconds until the program and its libraries are loaded, on one thread
_CELLS = 2**18  # counts that come back from a pass, at most
_PROGRAM = 250_000_000  # bytes of the program and its libraries, once they are loaded
_MERGED = 0.5  # of the first rows: if fewer are different, few of all are


def plan_of(request: Request) -> dict[str, Any]:
    """Look at the files and at a first batch of rows; return what a request would take.

    Where the rows are not counted, their number is estimated from bytes. Features are those of the
    first rows; later files may have further categories.
    """
    check_options(request)
    source = TrainingFiles.of(request)
    look = _Look.at(request, source)
    rows = _n_rows(source)
    if request.test is None:
        n_test = Opening(request, Silent()).n_held_out(rows)
    else:
        n_test = read_table(request.test, (), request.dialect).num_rows
    kinds = expected_passes(request, source)
    # So few rows seem to be different that they are held in memory.
    few = look.different is not None and look.different < _MERGED * look.n_rows
    merges = rows <= MOST_DISTINCT or few
    if merges:
        kinds = kinds[: kinds.index("survey") + 1]
    threads = 1 if request.pieces.scheduler is not None else thread_count()
    passes: list[dict[str, Any]] = [
        {"what": PASSES[kind], "seconds": rows * look.seconds(kind, asked) / threads}
        for kind, asked in zip(kinds, _rows_asked(kinds, n_test), strict=True)
    ]
    memory = look.memory(n_test, threads)
    return {
        "files": source.n_files,
        "bytes": sum(stamp.size or 0 for stamp in fingerprint(source.wide)),
        "rows": rows,
        "rows_estimated": source.n_rows is None,
        "columns": len(source.names),
        "features": look.encoding.n_features,
        "test_rows": n_test,
        "held_out": request.test is None,
        "first_rows": look.n_rows,
        "first_different": look.different,
        "merges": merges,
        "passes": passes,
        "seconds": _START + sum(each["seconds"] for each in passes),
        "threads": threads,
        "memory": memory,
        "memory_total": sum(memory.values()),
    }


def _rows_asked(kinds: list[str], n_test: int) -> list[float]:
    """Return of how many test rows each pass counts effects: after the first count, of few."""
    first = kinds.index("effects") if "effects" in kinds else len(kinds)
    return [n_test if at <= first else _LATER * n_test for at in range(len(kinds))]


def _n_rows(source: TrainingFiles) -> int:
    """Return the number of rows; of CSV files about."""
    rows = sum(piece.rows or 0 for piece in source.wide)
    texts = [piece for piece in source.wide if piece.rows is None]
    if not texts:
        return rows
    per_byte = next(filter(None, map(_rows_per_byte, texts)), 0.0)
    return rows + round(per_byte * sum(piece.stamp.size or 0 for piece in texts))


def _rows_per_byte(piece: FilePiece) -> float:
    """Return how many rows a byte of a CSV file stands for, by its first block."""
    block = next(iter(piece.reader.blocks(piece.file, piece.schema)), None)
    if block is None:
        return 0.0
    with piece.file.reading(), piece.file.stream() as stream:
        start = stream.read(piece.reader.block)
    packed = piece.file.path.lower().endswith(".gz")
    size = len(gzip.compress(start)) if packed else len(start)
    return float(block.num_rows / max(1, size))


@dataclass(frozen=True, slots=True, eq=False)
class _Look:
    """A first batch of rows, and seconds that a row takes."""

    batch: Batch
    survey: Survey
    encoding: Encoding
    read: float
    surveyed: float
    encoded: float
    summed: float
    counted: float  # for each test row, too

    @classmethod
    def at(cls, request: Request, source: TrainingFiles) -> "_Look":
        """Read some rows, and do with them what passes do."""
        how = source.columns(request)
        for piece in source.training:
            some, read = _timed(partial(_first_batches, piece))
            batch = next((each for each in some if len(each)), None)
            if batch is not None:
                break
        else:
            raise InputError(f"{request.train}: its files have no rows to look at")
        survey, surveyed = _timed(lambda: how.task().batch(0, piece, batch))
        used = how.features(survey)
        encoding = Encoding.of(used, standardise=True, categories_first=True)
        design = Design.of(
            encoding.centre, encoding.peak, alpha=request.alpha or 0.0, fit_intercept=True
        )
        rows, encoded = _timed(lambda: design.rows(encoding.features(batch.rows)))
        _, summed = _timed(lambda: RowSums.of(rows, np.zeros(len(batch))))
        n = len(batch)
        return cls(
            batch=batch,
            survey=survey,
            encoding=encoding,
            read=read / sum(map(len, some)),
            surveyed=surveyed / n,
            encoded=encoded / n,
            summed=summed / n,
            counted=_counting(rows[:_FEW], _largest_share(request, n)),
        )

    @property
    def n_rows(self) -> int:
        return len(self.batch)

    @property
    def different(self) -> int | None:
        return None if self.survey.distinct is None else len(self.survey.distinct)

    def seconds(self, kind: str, n_test: float) -> float:
        """Return how long a row takes in a pass, if one thread works on it."""
        further = {
            "count": 0.0,
            "collect": 0.0,
            "survey": self.surveyed,
            "sum": self.encoded + self.summed,
            "effects": self.encoded + n_test * self.counted,
        }
        return self.read + further[kind]

    def memory(self, n_test: int, threads: int) -> dict[str, int]:
        """Return about how many bytes a process needs, by what for."""
        width, columns = self.encoding.n_features + 1, len(self.encoding.columns)
        per_row = 12 * (columns + 1) if self.encoding.is_sparse else 8 * width
        cells = self.batch.rows.nbytes / max(1, self.n_rows)
        return {
            "program": _PROGRAM,
            "batches": round((threads + _LOOK) * BATCH * cells),
            "features": round(2 * threads * BATCH * per_row),
            "model": round(8 * 6 * width * width),
            "counts": round((threads + 1) * 3 * 8 * max(_CELLS, 8 * 2 * n_test)),
            "test rows": round(n_test * (8 * width + cells)),
            "different rows": round(2 * 8 * MOST_DISTINCT * (columns + 2)),
        }


def _first_batches(piece: FilePiece) -> list[Batch]:
    return list(islice(piece.batches(), _LOOK))


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return what work finds, and the seconds it takes on a machine that does nothing else."""
    start, used = time.perf_counter(), time.process_time()
    found = work()
    return found, min(time.perf_counter() - start, time.process_time() - used)


def _largest_share(request: Request, n_rows: int) -> float:
    """Return the largest share of labels that is asked about; of a count, at most."""
    values = (each.value for each in request.budgets)
    return min(1.0, max(each / n_rows if isinstance(each, int) else each for each in values))


def _counting(design: Any, share: float) -> float:
    """Return how long the effects of one label on one test row take to count.

    That takes as long as the effects above the lowest threshold, which are about that share.
    """
    rows, width = design.shape
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((_SOME, width)) / max(1, rows)
    one = np.ones(rows)
    batch = LabelBatch(design, -one, one, one, 0, np.arange(rows))
    lines = Lines(np.arange(_SOME), np.ones(_SOME))
    effects = np.abs(weights @ design[:_SOME].T)
    ends = np.quantile(effects, 1 - share), effects.max()
    thresholds = np.tile(np.linspace(*ends, _GRID), (_SOME, 1))
    work = Count(weights, lines, thresholds, np.zeros(len(lines.row), dtype=bool))
    seconds = min(_timed(lambda: work.of(batch))[1] for _ in range(3))  # the first is cold
    return float(seconds / (rows * _SOME))
