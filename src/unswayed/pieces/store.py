"""A folder that keeps results of passes, as bytes that are read back without running code."""

import copyreg
import hashlib
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from functools import cached_property, partial
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from unswayed import __version__
from unswayed._core.tally import P
from unswayed.atomic import atomic_write, private_folder
from unswayed.exceptions import InputError
from unswayed.pieces.passes import OrderedSum, Passes, Task, Watch
from unswayed.pieces.pieces import Stamp

C = TypeVar("C", bound=type)

_CLASSES: dict[str, type] = {}
_SERIES: dict[str, Callable[[Iterable[Any]], Any]] = {
    "tuple": tuple,
    "list": list,
    "frozenset": frozenset,
}
_LEAVES: dict[str, Callable[[Any], Any]] = {
    "array": lambda found: found,
    "scalar": lambda found: found[()],
    "bytes": lambda found: found.tobytes(),
}


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _is_record(kind: type) -> bool:
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def _is_made(kind: type) -> bool:
    """Return whether a class says itself what its objects are made of."""
    return "__reduce__" in vars(kind)


def storable(kind: C) -> C:
    """Declare that objects of a class may be packed: a decorator."""
    if not _is_record(kind) and not _is_made(kind):
        if not is_dataclass(kind):
            raise TypeError(f"{kind.__name__} is neither a dataclass nor a named tuple")
        if not all(field.init for field in fields(kind)):
            raise TypeError(f"{kind.__name__} has fields that are not arguments")
    _CLASSES[_name(kind)] = kind
    return kind


def _items(thing: Any) -> Iterator[tuple[str, Any]]:
    """Yield names and values of the fields of a dataclass or a named tuple."""
    for name in getattr(thing, "_fields", None) or [field.name for field in fields(thing)]:
        yield name, getattr(thing, name)


def pack(value: Any) -> bytes:
    """Return a value as bytes."""
    arrays: list[Any] = []
    tree = json.dumps(_tree(value, arrays, _stored))
    named = {f"array{number}": array for number, array in enumerate(arrays)}
    file = io.BytesIO()
    np.savez(file, tree=np.frombuffer(tree.encode(), np.uint8), **named)
    return file.getvalue()


def unpack(data: bytes) -> Any:
    """Return a value that has been packed."""
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        tree = json.loads(file["tree"].tobytes())
        return _unpacked(tree, lambda number: file[f"array{number}"])


_Objects = Callable[[Any, Callable[[Any], Any]], list[Any]]


def _tree(value: Any, arrays: list[Any], objects: _Objects) -> Any:
    """Return the tree of a value; a node is a list that begins with its kind."""
    kind = type(value)
    inner = partial(_tree, arrays=arrays, objects=objects)

    def leaf(array: Any) -> int:
        arrays.append(array)
        return len(arrays) - 1

    if value is None or kind in (bool, int, float, str):
        node = value
    elif kind in (tuple, list):
        node = [kind.__name__, [inner(item) for item in value]]
    elif kind is frozenset:
        node = ["frozenset", [inner(item) for item in sorted(value, key=digest)]]
    elif kind is dict and all(type(key) in (str, int, float, bool) for key in value):
        node = ["dict", [[key, inner(item)] for key, item in value.items()]]
    elif kind is bytes:
        node = ["bytes", leaf(np.frombuffer(value, np.uint8))]
    elif isinstance(value, np.generic):
        node = ["scalar", leaf(np.asarray(value))]
    elif kind is np.ndarray and not value.dtype.hasobject:
        node = ["array", leaf(value)]
    elif kind is sparse.csr_array:
        node = ["csr", inner((value.data, value.indices, value.indptr)), inner(value.shape)]
    elif kind.__module__.split(".")[0] == "pyarrow":
        form, data = _arrow_bytes(value)
        node = [form, leaf(np.frombuffer(data, np.uint8))]
    else:
        node = objects(value, inner)
    return node


def _stored(value: Any, inner: Callable[[Any], Any]) -> list[Any]:
    """Return the node of an object that is read back: of a class that is storable."""
    name = _name(type(value))
    if name not in _CLASSES:
        raise TypeError(f"{name} cannot be stored; is it a class that is not storable?")
    if _is_made(type(value)):
        return ["made", name, inner(value.__reduce__()[1])]
    return ["object", name, [[field, inner(item)] for field, item in _items(value)]]


def _unpacked(node: Any, array: Callable[[int], Any]) -> Any:
    if not isinstance(node, list):
        return node
    inner = partial(_unpacked, array=array)
    kind, *rest = node
    if kind in ("object", "made"):
        name, items = rest
        made = _CLASSES[name]
        return made(*inner(items)) if kind == "made" else made(**{f: inner(i) for f, i in items})
    if kind == "dict":
        return {key: inner(item) for key, item in rest[0]}
    if kind == "csr":
        return sparse.csr_array(inner(rest[0]), shape=inner(rest[1]))
    if kind in _SERIES:
        return _SERIES[kind](inner(item) for item in rest[0])
    return _LEAVES.get(kind, partial(_arrow_value, kind))(array(rest[0]))


def _arrow_bytes(value: Any) -> tuple[str, bytes]:
    """Return a table, an array or a schema as a stream of Arrow's, and what it was."""
    import pyarrow as pa  # noqa: PLC0415

    form = type(value).__name__
    if isinstance(value, pa.Schema):
        return "schema", value.serialize().to_pybytes()
    if isinstance(value, pa.DataType):
        return "type", pa.schema([pa.field("", value)]).serialize().to_pybytes()
    if isinstance(value, pa.Table):
        form, table = "table", value
    elif isinstance(value, pa.ChunkedArray):
        form, table = "chunks", pa.table({"": value})
    elif isinstance(value, pa.Array):
        form, table = "arrow", pa.table({"": pa.chunked_array([value])})
    else:
        raise TypeError(f"{form} of pyarrow cannot be stored")
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return form, sink.getvalue().to_pybytes()


def _arrow_value(form: str, data: Any) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    if form in ("schema", "type"):
        schema = pa.ipc.read_schema(pa.py_buffer(data))
        return schema if form == "schema" else schema.field(0).type
    table = pa.ipc.open_stream(pa.py_buffer(data)).read_all()
    if form == "table":
        return table
    column = table.column(0)
    if form == "chunks":
        return column
    return column.chunk(0) if column.num_chunks else pa.array([], column.type)


def digest(value: Any) -> str:
    """Return a hash of a value that is the same in every process.

    Examples
    --------
    >>> digest({"weights": np.ones(2)})[:8]
    '3d482cd8'
    """
    arrays: list[Any] = []
    tree = json.dumps(_tree(value, arrays, _seen))
    hasher = hashlib.sha256(tree.encode())
    for array in arrays:
        hasher.update(f"{array.dtype.descr} {array.shape}\n".encode())
        hasher.update(array.tobytes())
    return hasher.hexdigest()


def _seen(value: Any, inner: Callable[[Any], Any]) -> list[Any]:
    """Return the node of any object, which tells it from others."""
    kind = type(value)
    if isinstance(value, type | FunctionType):
        if "<" in value.__qualname__:  # in another function, whose variables it may use
            raise TypeError(f"{value.__qualname__} cannot be told from others of its name")
        return ["named", value.__module__, value.__qualname__]
    if kind is dict:
        return ["items", inner(list(value.items()))]
    if kind is set:
        return ["set", inner(frozenset(value))]
    if is_dataclass(value) or _is_record(kind):
        return ["fields", _name(kind), inner([*_items(value), *_undeclared(value)])]
    # What pickle would write is all that there is to it, or else it could not travel.
    reducer = copyreg.dispatch_table.get(kind)
    reduced = reducer(value) if reducer else value.__reduce_ex__(2)
    if isinstance(reduced, str):
        return ["named", getattr(value, "__module__", None), reduced]
    parts = list(reduced[:3]) + [None if part is None else list(part) for part in reduced[3:5]]
    return ["reduced", _name(kind), inner(parts)]


def _undeclared(thing: Any) -> list[tuple[str, Any]]:
    """Return names and values of attributes that are neither fields nor caches."""
    known = {name for name, _ in _items(thing)}
    return [
        (name, value)
        for name, value in getattr(thing, "__dict__", {}).items()
        if name not in known and not isinstance(getattr(type(thing), name, None), cached_property)
    ]


# --- A folder -----------------------------------------------------------------------------
#
# Of every finished pass it keeps the sum, and of one that was interrupted the sum of the first
# pieces, as `OrderedSum` has it: what comes of a resumed run is, bit for bit, what comes of one
# that was never interrupted. A sum is given back to the same task, over the same pieces of the
# same unchanged files, of the same version of this package.

SHARE = 16
"""An interrupted pass does again one in so many pieces, at most."""

_CONTENTS = "contents.json"
_MAGIC = b"unswayed sum 1\n"


class Store:
    """A folder with results of passes over some files."""

    def __init__(self, directory: str | os.PathLike[str], sources: Sequence[Stamp]) -> None:
        self.directory = Path(directory)
        self._sources = [Stamp(*source) for source in sources]
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
            contents = {"unswayed": __version__, "sources": self._sources}
            self._write(_CONTENTS, json.dumps(contents, indent=1).encode())

    def _recorded(self) -> list[Stamp]:
        """Return the files that results in the folder are about."""
        path = self.directory / _CONTENTS
        try:
            return [Stamp(*source) for source in json.loads(path.read_bytes())["sources"]]
        except (OSError, ValueError, KeyError, TypeError):
            raise self._damaged(path) from None

    def _damaged(self, path: Path) -> InputError:
        what = f"the folder {self.directory}" if path.name == _CONTENTS else "it"
        return InputError(
            f"{path} is damaged, or was written by another program; remove {what}, and run again"
        )

    def _compare(self, before: list[Stamp]) -> None:
        """Raise if files have changed since results were stored."""
        now = {source.file: source for source in self._sources}
        then = {source.file: source for source in before}
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


def _changes(then: Stamp, now: Stamp) -> list[str]:
    """Say in which respect a file is not what it was."""
    if None not in (then.size, now.size) and then.size != now.size:
        return [f"{now.file} has changed (from {then.size:,} to {now.size:,} bytes)"]
    if None not in (then.rows, now.rows) and then.rows != now.rows:
        return [f"{now.file} has changed (from {then.rows:,} to {now.rows:,} rows)"]
    if then.version != now.version:
        return [f"{now.file} has been written again"]
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
        super().__init__(watch.done)
        self._store, self._name = store, name
        self._step = max(1, pieces // SHARE)
        self._saved = 0

    def restore(self, total: OrderedSum[P]) -> OrderedSum[P]:
        """Return the sum that was saved, if it is of more pieces than the given one."""
        stored = OrderedSum(total.value(), self._store.load(self._name) or ())
        if len(stored) > len(total):
            total = stored
        self._saved = len(total)
        self.done(len(total))
        return total

    def save(self, total: OrderedSum[P]) -> None:
        if len(total) >= self._saved + self._step:
            self._store.save(self._name, total.runs)
            self._saved = len(total)
