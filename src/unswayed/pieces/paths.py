"""Paths: files on this machine, or wherever fsspec finds them, and whether they have changed."""

import glob
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.fs as pa_fs

from unswayed.exceptions import InputError, UnswayedError
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
