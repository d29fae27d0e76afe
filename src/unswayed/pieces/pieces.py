"""Files and their formats; pieces: parts of the training rows, which are read in batches."""

import glob
import importlib
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.fs as pa_fs

from unswayed._typing import IntArray
from unswayed.exceptions import InputError, UnswayedError
from unswayed.inputs import is_lazy
from unswayed.words import beginning, without_secrets

_PARQUET = (".parquet", ".pq")
_ENDINGS = (*_PARQUET, ".csv", ".csv.gz")
_PATTERN = "*?["


class Stamp(NamedTuple):
    """What a file of training rows looks like from outside: if it differs, it has changed."""

    file: str
    size: int | None = None  # In bytes
    # When it was written, or any tag that changes with it (of an object store)
    version: float | str | None = None
    rows: int | None = None  # None where only reading the file would tell


@dataclass(frozen=True, slots=True)
class File:
    """One file. It may travel to another process or machine, and is opened there."""

    name: str  # What messages call it: as the user wrote it, without secrets
    # Absolute, or a URL that fsspec knows; like the options it may hold secrets
    path: str = field(repr=False)
    # What fsspec needs to get there; it may hold secrets, so it is never shown
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def is_parquet(self) -> bool:
        """Whether it is a Parquet file, by its name or its first bytes."""
        if self.path.lower().endswith(_PARQUET):
            return True
        if self.path.lower().endswith(_ENDINGS):
            return False
        with self.reading(), self.open() as file:
            return bool(file.read(4) == b"PAR1")

    def stamp(self, rows: int | None = None) -> Stamp:
        """Return what the file looks like now."""
        with self.reading():
            if is_url(self.path):
                system, path = _fsspec(self.path, self.options)
                return Stamp(self.name, int(system.size(path) or 0), str(system.ukey(path)), rows)
            found = os.stat(self.path)
            return Stamp(self.name, found.st_size, str(found.st_mtime_ns), rows)

    def open(self) -> Any:
        """Open the file to read it anywhere."""
        system, path = self._system()
        return system.open_input_file(path)

    def stream(self) -> Any:
        """Open the file to read it from its start, unpacked if its name ends in .gz."""
        system, path = self._system()
        packed = "gzip" if path.lower().endswith(".gz") else None
        return system.open_input_stream(path, compression=packed)

    def _system(self) -> tuple[Any, str]:
        if not is_url(self.path):
            return pa_fs.LocalFileSystem(), self.path
        system, path = _fsspec(self.path, self.options)
        return pa_fs.PyFileSystem(pa_fs.FSSpecHandler(system)), path

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Turn what can go wrong with a file into one line that names it."""
        try:
            yield
        except MemoryError:
            raise  # Arrow's own is an ArrowException too, but no fault of the file
        except FileNotFoundError:
            raise InputError(
                f"there is no file {self.name} (any more); check the name, and that nothing "
                "removes it while it is used"
            ) from None
        except (pa.ArrowException, OSError) as error:
            raise self._fault(error) from None
        except Exception as error:  # storages have errors of their own: no credentials, say
            if not is_url(self.path) or isinstance(error, UnswayedError):
                raise
            raise self._fault(error) from None

    def _fault(self, error: Exception) -> InputError:
        what = getattr(error, "strerror", None) or str(error).strip().split("\n")[0]
        what = without_secrets(what, self.path)
        return InputError(
            f"cannot read {self.name} ({beginning(what, 120)}); write the file again, or leave it "
            "out"
        )


def find_files(source: Any, options: Mapping[str, Any] | None = None) -> list[File]:
    """Find the files that are meant."""
    sources = [source] if isinstance(source, str | os.PathLike) else list(source)
    found: dict[str, File] = {}
    for each in sources:
        written = os.fspath(each)
        files = _remote(written, options or {}) if is_url(written) else _local(written)
        for file in files:
            found.setdefault(file.path, file)
    if not found:
        raise InputError("no file is named; pass a folder, a pattern or a list of files")
    return list(found.values())


def is_url(path: str) -> bool:
    """Return whether a path goes through fsspec."""
    return "://" in path


def _local(written: str) -> list[File]:
    if os.path.isdir(written):
        inside = [
            os.path.join(folder, name) for folder, _, names in os.walk(written) for name in names
        ]
        names = _of_folder(written, inside, os.sep)
    elif os.path.exists(written) or not any(sign in written for sign in _PATTERN):
        names = [written]
    else:
        names = _not_none(
            written, [name for name in glob.glob(written, recursive=True) if os.path.isfile(name)]
        )
    return [File(name, os.path.abspath(name)) for name in names]


def _remote(written: str, options: Mapping[str, Any]) -> list[File]:
    system, path = _fsspec(written, options)
    shown = without_secrets(written)
    with File(shown, written).reading():
        if any(sign in path for sign in _PATTERN) and not system.exists(path):
            found = [name for name in system.glob(path) if system.isfile(name)]
            paths = _not_none(shown, found)
        elif system.isdir(path):
            paths = _of_folder(path.rstrip("/"), system.find(path), "/", shown)
        else:
            paths = [path]
    urls = [system.unstrip_protocol(each) for each in paths]
    return [File(without_secrets(url), url, options) for url in urls]


def _fsspec(url: str, options: Mapping[str, Any]) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs  # noqa: PLC0415 (only paths elsewhere need it)
    except ImportError:
        raise InputError(
            f"{without_secrets(url)} is read through fsspec, which is not here: "
            "pip install 'unswayed[distributed]'"
        ) from None
    try:
        system, path = url_to_fs(url, **options)
    except (ImportError, ValueError) as error:  # the package of this storage; no such storage
        raise InputError(without_secrets(f"cannot open {url}: {error}", url)) from None
    return system, path


def _of_folder(folder: str, paths: Iterable[str], separator: str, written: str = "") -> list[str]:
    """Return the CSV and Parquet files of a folder."""
    used = []
    for path in paths:
        *folders, name = path[len(folder) :].strip(separator).split(separator)
        hidden = any(part.startswith((".", "_")) for part in (*folders, name))
        if hidden or not name.lower().endswith(_ENDINGS):
            continue
        for part in folders:
            if "=" in part:
                raise InputError(
                    f"{written or folder} keeps a column in the names of its folders ({part}), "
                    "which is not read; to go without it, pass a pattern such as '*/*.parquet'"
                )
        used.append(path)
    return _not_none(written or folder, used, "CSV or Parquet file in")


def _not_none(written: str, found: list[str], what: str = "file matches") -> list[str]:
    if not found:
        raise InputError(f"no {what} {written}; check the name and the folder")
    return sorted(found)


# --- Formats: what a file is by its first bytes ---------------------------------------------

START = 1024
"""Bytes that tell."""
EXCEL, STATA, FEATHER = "an Excel workbook", "a Stata file", "a Feather file"

_IN_R = "save it there with write.csv(data, 'data.csv', row.names = FALSE)"
_AS_CSV = "save it as CSV (UTF-8) from the program that wrote it"
_UNPACK = "unpack it and name the file in it"
_MARK = b"\xef\xbb\xbf"
# What such a file begins with, what its name ends in if its first bytes do not tell, what it is,
# and what to do with it.
_FORMATS = (
    (rb"PK\x03\x04.{26}(\[Content_Types\]\.xml|_rels/|xl/|docProps/)", "", EXCEL,
     "save it as CSV (UTF-8) or Parquet"),
    (rb"PK\x03\x04.{26}mimetypeapplication/vnd\.oasis\.opendocument", "", "an OpenDocument file",
     "save it as CSV (UTF-8) or .xlsx"),
    (rb"PK\x03\x04", "", "a zip archive", _UNPACK),
    (rb"7z\xbc\xaf\x27\x1c|Rar!", "", "an archive", _UNPACK),
    (rb".{257}ustar", "", "a tar archive", _UNPACK),
    (rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "", "an Excel workbook of the old kind (.xls)",
     "save it as .xlsx or CSV (UTF-8)"),
    (rb"<stata_dta>", ".dta", STATA, "save it as CSV (export delimited) or Parquet"),
    (rb"ARROW1|FEA1", "", FEATHER, "save it as Parquet"),
    (rb"\xff\xff\xff\xff.\x00", "", "a stream of Arrow batches", "save it as Feather or Parquet"),
    (rb"\$FL[23]@?\(?#?\)?", ".sav", "an SPSS file", _AS_CSV),
    (rb"\x00{12}\xc2\xea\x81\x60", ".sas7bdat", "a SAS file", _AS_CSV),
    (rb"HEADER RECORD\*{7}", ".xpt", "a SAS transport file", _AS_CSV),
    (rb"RD[AX][2-9]\n", ".rds .rdata .rda", "a file of R", _IN_R),
    (rb"\x89HDF\r\n", "", "an HDF5 file", "save it as Parquet, with pandas for example"),
    (rb"SQLite format 3\x00", "", "an SQLite database", "save the table as CSV (UTF-8)"),
    (rb"%PDF-", "", "a PDF document", "find its table as CSV"),
    (rb"\x80[\x02-\x05]", "", "a pickle of Python", "save it as Parquet"),
    (rb"BZh|\x28\xb5\x2f\xfd|\xfd7zXZ|\x04\x22\x4d\x18", ".bz2 .zst .xz .lz4",
     "compressed, but not by gzip", "unpack it, or use gzip (.csv.gz)"),
    (rb"\x1f\x8b", "", "compressed by gzip although its name does not end in .gz",
     "rename it to .csv.gz if it is a CSV file, or unpack it"),
    (rb"(?i)\s*<(!doctype html|html|head|body|table|meta|div)\b", "", "a web page (HTML) and no "
     "table", "download the data itself, or save the table as CSV (UTF-8)"),
    (rb"\s*<\?xml\b", "", "an XML file", "save it as CSV (UTF-8)"),
    (rb"\s*(\{\s*[\"}]|\[\s*[\[{])", "", "a JSON file",
     "save it as CSV (UTF-8) or Parquet, with pandas.read_json for example"),
)  # fmt: skip


def format_of(name: str, start: bytes) -> tuple[str, str] | None:
    """Return what a file is and what to do with it; None if it may be CSV or Parquet.

    Examples
    --------
    >>> format_of("people.csv", b'[{"age": 31}]')[0]
    'a JSON file'
    >>> format_of("people.csv", b"age;town") is None
    True
    """
    start = start.removeprefix(_MARK)
    for pattern, endings, what, instead in _FORMATS:
        named = endings and name.lower().endswith(tuple(endings.split()))
        if named or re.match(pattern, start, re.DOTALL):
            return what, instead
    return None


def refuse_foreign(name: str, start: bytes, readable: Collection[str] = ()) -> str | None:
    """Return which of the readable formats a file has, if any; raise if it has one that is not."""
    found = format_of(name, start)
    if found is None or found[0] in readable:
        return found and found[0]
    ways = " in pieces" if found[0] in (EXCEL, STATA, FEATHER) else ""
    raise InputError(f"{name} is {found[0]}, which is not read{ways}; {found[1]}")


# --- Pieces -------------------------------------------------------------------------------

BATCH = 2**16
"""Rows that are in memory at once, at most, for every thread that reads."""


class Place(NamedTuple):
    """Where a training row is: its file (or partition) and its number there, from 1."""

    file: str
    row: int

    def __str__(self) -> str:
        return f"{self.file}, row {self.row:,}"


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Some rows of a piece, in memory."""

    rows: Any  # Features, as the user has them
    labels: Any  # As the user has them
    numbers: IntArray  # Positions of the rows in their piece, from 0, ascending
    # Rows of the piece, from the batch before to the next, that are left out because they miss a
    # value
    left_out: int = 0

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, here: slice) -> "Batch":
        return Batch(cut(self.rows, here), cut(self.labels, here), self.numbers[here])


def with_gaps(batches: Iterable[Batch]) -> Iterator[Batch]:
    """Yield the batches that have rows, each with the number of rows left out beside it.

    If none has rows, but some were left out, one batch without rows says how many.
    """
    held: Batch | None = None  # held back, for what is left out after it
    for batch in batches:
        if held is not None and len(held) and len(batch):
            yield held
            held = batch
        else:
            kept, before = (batch, 0) if held is None else (held, held.left_out)
            kept = batch if len(batch) else kept
            held = replace(kept, left_out=before + batch.left_out)
    if held is not None and (len(held) or held.left_out):
        yield held


class Piece(ABC):
    """Part of the training rows. It says where they are, and may travel to another machine."""

    name: str  # What messages call it: a file, or a partition

    @abstractmethod
    def batches(self) -> Iterator[Batch]:
        """Read the rows."""

    @property
    def identity(self) -> str:
        """Which rows these are: a run is resumed only where all pieces have the same identity.

        It is the name, for a piece that is all of its file; one that is some of it adds which.
        """
        return self.name

    def place(self, number: int) -> Place:
        """Return where one of its rows is."""
        return Place(self.name, number + 1)


@dataclass(frozen=True, slots=True, eq=False)
class HeldPiece(Piece):
    """A piece whose rows are in memory: a partition where it is computed, or a slice of arrays."""

    name: str
    rows: Any
    labels: Any

    def batches(self) -> Iterator[Batch]:
        """Cut the rows into batches."""
        if len(self.rows) != len(self.labels):
            raise InputError(
                f"{self.name} has {len(self.rows):,} rows but {len(self.labels):,} labels; take "
                "both from one frame, so that their partitions go together"
            )
        whole = Batch(self.rows, self.labels, np.arange(len(self.labels)))
        for start in range(0, len(whole), BATCH):
            yield whole[start : start + BATCH]


def cut(rows: Any, here: slice) -> Any:
    """Return some rows by position."""
    if hasattr(rows, "slice"):  # of pyarrow, whose columns would be cut by [...]
        start, stop, _ = here.indices(len(rows))
        return rows.slice(start, stop - start)
    return rows.iloc[here] if hasattr(rows, "iloc") else rows[here]


# --- Partitions: pieces of training rows that dask computes, on a cluster or on threads --------


def import_dask() -> Any:
    """Return the module dask, or say which extra brings it."""
    return import_extra("dask", "training rows on a cluster need dask")


def import_extra(name: str, why: str) -> Any:
    """Return a module of the extra for clusters, or say that it is not here."""
    try:
        return importlib.import_module(name)
    except ImportError:
        said = f"{why}: pip install 'unswayed[distributed]'"
        raise ModuleNotFoundError(said, name=name) from None


@dataclass(frozen=True, slots=True, eq=False)
class Partition(Piece):
    """A partition of a dask collection: it is computed where, and whenever, a task needs it."""

    name: str  # "partition 3", counted from 0 as dask does
    pair: Any  # It computes to rows and labels: a frame and a series, or arrays

    @property
    def identity(self) -> str:
        """The key that dask gave to what is computed; it changes with its source."""
        return str(self.pair.key)

    def batches(self) -> Iterator[Batch]:
        """Compute the rows, bring them here, and cut them into batches.

        Passes of `DaskPasses` do not use this.
        """
        yield from HeldPiece(self.name, *self.pair.compute()).batches()


def pieces_of(X: Any, y: Any) -> list[Partition]:
    """Return the pieces of rows that dask computes: one per partition, or per chunk of rows.

    They are computed from their source in every pass, unless the user has persisted them.

    Examples
    --------
    >>> import dask.array as da
    >>> X, y = da.ones((10, 2), chunks=(4, 1)), da.zeros(10, chunks=4)
    >>> [piece.name for piece in pieces_of(X, y)]
    ['partition 0', 'partition 1', 'partition 2']
    """
    for name, given in (("X", X), ("y", y)):
        if not is_lazy(given):
            raise InputError(
                f"{name} is in memory, but the other one of X and y is a dask collection; "
                "take both from one dask dataframe"
            )
        if not (_is_frame(given) or _is_array(given)):
            raise InputError(
                f"{name} is a dask collection of type {type(given).__name__}, which has no rows "
                "to train on; pass a dask dataframe or a dask array"
            )
    y = _one_column(y)
    if _is_array(X):
        if X.ndim != 2:
            raise InputError(f"X must have two dimensions, rows and columns, not {X.ndim}")
        X = X.rechunk({1: -1})
        if _is_array(y) and X.numblocks[0] != y.numblocks[0] and X.shape[0] == y.shape[0]:
            y = y.rechunk({0: X.chunks[0]})  # of known, equal lengths: unknown ones are NaN
    if _count(X) != _count(y):
        raise InputError(
            f"X has {_count(X):,} partitions but y has {_count(y):,}, so that rows and labels "
            "do not go together; take both from one dask dataframe (if they are persisted, "
            "persist that one), or repartition one like the other"
        )
    pairs = _frame_pairs(X, y) if _is_frame(X) and _is_frame(y) else _pairs(X, y)
    return [Partition(f"partition {number}", pair) for number, pair in enumerate(pairs)]


def _is_frame(collection: Any) -> bool:
    return hasattr(collection, "map_partitions") and hasattr(collection, "divisions")


def _is_array(collection: Any) -> bool:
    return hasattr(collection, "chunks") and hasattr(collection, "rechunk")


def _one_column(y: Any) -> Any:
    """Return labels as a series or as an array of one dimension."""
    if y.ndim == 1:
        return y
    if _is_frame(y) and len(y.columns) == 1:
        return y[y.columns[0]]
    raise InputError("y must have one dimension: one label for every row")


def _count(collection: Any) -> int:
    """Return the number of partitions, or of chunks of rows."""
    return int(collection.numblocks[0] if _is_array(collection) else collection.npartitions)


def _frame_pairs(X: Any, y: Any) -> list[Any]:
    """Return what computes to the rows and labels of each partition of frames.

    As one expression, which reads a common source once, and of it only the columns in use. All
    optimisation would go on to merge small partitions, so that users would not find a row under
    the number of its partition; and, of X and y by themselves, not in the same way.
    """
    import dask.dataframe as dd  # noqa: PLC0415

    pairs = dd.map_partitions(_pair, X, y, meta=(None, object), enforce_metadata=False)
    return list(pairs.simplify().to_delayed(optimize_graph=False))


def _pairs(X: Any, y: Any) -> list[Any]:
    """Return what computes to rows and labels, of arrays or of an array and a frame."""
    pair = import_dask().delayed(_pair, pure=True)
    return [pair(*both) for both in zip(_parts(X), _parts(y), strict=True)]


def _parts(collection: Any) -> list[Any]:
    """Return what computes to each partition."""
    if _is_frame(collection):
        return list(collection.simplify().to_delayed(optimize_graph=False))
    return list(collection.to_delayed(optimize_graph=True).ravel())


def _pair(rows: Any, labels: Any) -> tuple[Any, Any]:
    return rows, labels
