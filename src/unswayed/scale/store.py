"""A folder that keeps results of passes, so that an interrupted run goes on where it was.

Of every finished pass it keeps the sum, and of one that was interrupted the sum of the first
pieces, as `OrderedSum` has it: what comes of a resumed run is, bit for bit, what comes of one that
was never interrupted. A sum is given back to the same task, over the same pieces of the same
unchanged files, of the same version of this package.
"""

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from unswayed import __version__
from unswayed._core.parts import P
from unswayed.atomic import atomic_write, private_folder
from unswayed.exceptions import InputError
from unswayed.scale.packing import digest, pack, storable, unpack
from unswayed.scale.passes import OrderedSum, Passes, Task, Watch

__all__ = ["SHARE", "Source", "Store", "StoredPasses", "storable"]

SHARE = 16
"""An interrupted pass does again one in so many pieces, at most."""

_CONTENTS = "contents.json"
_MAGIC = b"unswayed sum 1\n"


class Source(NamedTuple):
    """A file of training rows, and what tells whether it has changed."""

    path: str
    size: int | None = None  # In bytes
    # When it was written, or any tag that changes with it (of an object store)
    time: float | str | None = None
    rows: int | None = None  # Number of its rows, if that is known


class Store:
    """A folder with results of passes over some files."""

    def __init__(self, directory: str | os.PathLike[str], sources: Sequence[Source]) -> None:
        self.directory = Path(directory)
        self._sources = [Source(*source) for source in sources]
        try:
            private_folder(self.directory)  # what passes found is about people
            there = {path.name for path in self.directory.iterdir()}
        except OSError as error:
            raise InputError(f"{self.directory} cannot be a folder: {error.strerror}") from None
        if _CONTENTS in there:
            self._compare(self._recorded())
        elif any(not name.startswith(".") for name in there):
            raise InputError(
                f"{self.directory} is not empty, and no run was stored in it; name a new folder"
            )
        else:
            self._write(_CONTENTS, self._contents())

    def _contents(self) -> bytes:
        contents = {"unswayed": __version__, "sources": self._sources}
        return json.dumps(contents, indent=1).encode()

    def _recorded(self) -> list[Source]:
        """Return the files that results in the folder are about."""
        path = self.directory / _CONTENTS
        try:
            return [Source(*source) for source in json.loads(path.read_bytes())["sources"]]
        except (OSError, ValueError, KeyError, TypeError):
            raise self._damaged(path) from None

    def _damaged(self, path: Path) -> InputError:
        what = f"the folder {self.directory}" if path.name == _CONTENTS else "it"
        return InputError(
            f"{path} is damaged, or was written by another program; remove {what}, and run again"
        )

    def _compare(self, before: list[Source]) -> None:
        """Raise if files have changed since results were stored."""
        now = {source.path: source for source in self._sources}
        then = {source.path: source for source in before}
        changes = [f"{path} is gone" for path in then if path not in now]
        changes += [f"{path} is new" for path in now if path not in then]
        for path in then.keys() & now.keys():
            changes += _changes(then[path], now[path])
        if not changes and list(then) != list(now):
            changes = ["the order of the files has changed"]
        if changes:
            more = f" (and {len(changes) - 1:,} more changes)" if len(changes) > 1 else ""
            raise InputError(
                f"{min(changes)} since the run in {self.directory} began{more}, so that its "
                "results do not fit; start again in another folder, or remove that one"
            )

    def key(self, task: Task[Any], pieces: Sequence[str]) -> str:
        """Return the name under which the result of a task is kept."""
        files = [source[:3] for source in self._sources]
        return digest((__version__, files, list(pieces), task))[:32]

    def load(self, name: str) -> Any:
        """Return what was saved under a name."""
        path = self.directory / name
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror}") from None
        start = len(_MAGIC) + hashlib.sha256().digest_size
        body = name.encode() + data[start:]  # under another name it is another file
        if data[:start] != _MAGIC + hashlib.sha256(body).digest():
            raise self._damaged(path)
        try:
            return unpack(data[start:])
        except (ValueError, KeyError, TypeError):
            raise self._damaged(path) from None

    def save(self, name: str, value: Any) -> None:
        """Keep something under a name; it is there whole or not at all."""
        body = pack(value)
        self._write(name, _MAGIC + hashlib.sha256(name.encode() + body).digest() + body)

    def remove(self, name: str) -> None:
        """Forget what was saved under a name, if anything was."""
        (self.directory / name).unlink(missing_ok=True)

    def _write(self, name: str, data: bytes) -> None:
        try:
            with atomic_write(self.directory / name) as path:
                path.write_bytes(data)
        except OSError as error:
            raise InputError(
                f"nothing can be written to {self.directory}: {error.strerror}; make room, or "
                "name another folder"
            ) from None


def _changes(then: Source, now: Source) -> list[str]:
    """Say in which respect a file is not what it was."""
    if None not in (then.size, now.size) and then.size != now.size:
        return [f"{now.path} has changed (from {then.size:,} to {now.size:,} bytes)"]
    if None not in (then.rows, now.rows) and then.rows != now.rows:
        return [f"{now.path} has changed (from {then.rows:,} to {now.rows:,} rows)"]
    if then.time != now.time:
        return [f"{now.path} has been written again"]
    return []


class StoredPasses(Passes):
    """Passes that are made once: what a store has of them is not done again."""

    def __init__(self, passes: Passes, store: Store) -> None:
        super().__init__(passes.pieces, passes.progress)
        self._passes, self._store = passes, store
        self._identities = [piece.identity for piece in passes.pieces]
        self.restored = 0

    def finish(self, task: Task[P], total: OrderedSum[P], watch: Watch[P]) -> P:
        """Do a task with the pieces that are not yet in a sum."""
        key = self._store.key(task, self._identities)
        stored = self._store.load(f"{key}.pass")
        if stored is not None:
            self.restored += 1
            watch.done(len(self.pieces))
            return stored[0]  # type: ignore[no-any-return]
        begun: _Saver[P] = _Saver(self._store, f"{key}.begun", len(self.pieces), watch)
        found = self._passes.finish(task, begun.restore(total), begun)
        self._store.save(f"{key}.pass", (found,))
        self._store.remove(f"{key}.begun")
        return found


class _Saver(Watch[P]):
    """Saves the sum of the first pieces, every now and then."""

    saves = True

    def __init__(self, store: Store, name: str, pieces: int, watch: Watch[P]) -> None:
        self._store, self._name, self._watch = store, name, watch
        self._step = max(1, pieces // SHARE)
        self._saved = 0

    def restore(self, total: OrderedSum[P]) -> OrderedSum[P]:
        """Return the sum that was saved, if it is of more pieces than the given one."""
        stored = OrderedSum(total.value(), self._store.load(self._name) or ())
        if len(stored) > len(total):
            total = stored
        self._saved = len(total)
        self._watch.done(len(total))
        return total

    def done(self, pieces: int) -> None:
        self._watch.done(pieces)

    def save(self, total: OrderedSum[P]) -> None:
        if len(total) >= self._saved + self._step:
            self._store.save(self._name, total.runs)
            self._saved = len(total)
        self._watch.save(total)
