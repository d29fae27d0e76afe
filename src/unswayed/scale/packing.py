"""Packing: results as bytes that are read back without running any code of theirs, and digests.

A packed value is a tree in JSON and the arrays of its leaves, as NumPy writes them. Nothing is
pickled. Classes come back only if they have been declared `storable`.
"""

import copyreg
import hashlib
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from functools import cached_property, partial
from types import FunctionType
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

C = TypeVar("C", bound=type)

_CLASSES: dict[str, type] = {}
_SERIES: dict[str, Callable[[Iterable[Any]], Any]] = {
    "tuple": tuple,
    "list": list,
    "frozenset": frozenset,
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
    tree = json.dumps(_packed(value, arrays))
    file = io.BytesIO()
    np.savez(file, tree=np.frombuffer(tree.encode(), np.uint8), **_named(arrays))
    return file.getvalue()


def unpack(data: bytes) -> Any:
    """Return a value that has been packed."""
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        tree = json.loads(file["tree"].tobytes())
        return _unpacked(tree, lambda number: file[f"array{number}"])


def _named(arrays: list[Any]) -> dict[str, Any]:
    return {f"array{number}": array for number, array in enumerate(arrays)}


def _packed(value: Any, arrays: list[Any]) -> Any:
    """Return the tree of a value; a node is a list that begins with its kind."""
    kind = type(value)
    inner = partial(_packed, arrays=arrays)
    if value is None or kind in (bool, int, float, str):
        node = value
    elif _name(kind) in _CLASSES and _is_made(kind):
        node = ["made", _name(kind), inner(value.__reduce__()[1])]
    elif _name(kind) in _CLASSES:
        node = ["object", _name(kind), [[name, inner(item)] for name, item in _items(value)]]
    elif kind in (tuple, list, frozenset):
        node = [kind.__name__, [inner(item) for item in value]]
    elif kind is dict and all(type(key) in (str, int, float, bool) for key in value):
        node = ["dict", [[key, inner(item)] for key, item in value.items()]]
    elif kind is bytes:
        node = ["bytes", _leaf(np.frombuffer(value, np.uint8), arrays)]
    elif isinstance(value, np.generic):
        node = ["scalar", _leaf(np.asarray(value), arrays)]
    elif kind is np.ndarray and not value.dtype.hasobject:
        node = ["array", _leaf(value, arrays)]
    elif kind is sparse.csr_array:
        node = ["csr", inner((value.data, value.indices, value.indptr)), inner(value.shape)]
    elif _is_arrow(value):
        form, data = _arrow_bytes(value)
        node = [form, _leaf(np.frombuffer(data, np.uint8), arrays)]
    else:
        raise TypeError(f"{_name(kind)} cannot be stored; is it a class that is not storable?")
    return node


def _leaf(array: Any, arrays: list[Any]) -> int:
    arrays.append(array)
    return len(arrays) - 1


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
    return _from_array(kind, array(rest[0]))


def _from_array(kind: str, found: Any) -> Any:
    """Return a leaf of the tree."""
    if kind == "array":
        return found
    if kind == "scalar":
        return found[()]
    return found.tobytes() if kind == "bytes" else _arrow_value(kind, found)


def _is_arrow(value: Any) -> bool:
    return type(value).__module__.split(".")[0] == "pyarrow"


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
    'ea5f0e47'
    """
    hasher = hashlib.sha256()
    _feed(value, hasher.update)
    return hasher.hexdigest()


def _feed(value: Any, update: Callable[[Any], None]) -> None:
    """Hash a value: what it is, how long it is, and what is in it."""
    head, items, data = _anatomy(value)
    line = f"{_name(type(value))} {head!r} {len(items)} {len(data)}\n"
    update(line.encode(errors="surrogatepass"))
    update(data)
    for item in items:
        _feed(item, update)


def _anatomy(value: Any) -> tuple[object, Sequence[Any], bytes]:
    """Return what a value shows of itself, what it holds, and its bytes."""
    kind = type(value)
    if value is None or kind in (bool, int, float, str, bytes):
        return value, (), b""
    if kind in (tuple, list):
        return None, value, b""
    if kind is dict:
        return None, list(value.items()), b""
    if kind in (set, frozenset):
        return None, sorted(digest(item) for item in value), b""
    if isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject:
        array = np.asarray(value)
        return (array.dtype.descr, array.shape), (), array.tobytes()
    return _anatomy_of_object(value)


def _anatomy_of_object(value: Any) -> tuple[object, Sequence[Any], bytes]:
    """Do so for what is neither a plain value nor a plain container."""
    if isinstance(value, type | FunctionType):
        if "<" in value.__qualname__:  # in another function, whose variables it may use
            raise TypeError(f"{value.__qualname__} cannot be told from others of its name")
        return (value.__module__, value.__qualname__), (), b""
    if _is_arrow(value):
        form, data = _arrow_bytes(value)
        return form, (), data
    if is_dataclass(value) or _is_record(type(value)):
        return None, [*_items(value), *_undeclared(value)], b""
    # What pickle would write is all that there is to it, or else it could not travel.
    reducer = copyreg.dispatch_table.get(type(value))
    reduced = reducer(value) if reducer else value.__reduce_ex__(2)
    if isinstance(reduced, str):
        return (getattr(value, "__module__", None), reduced), (), b""
    parts = list(reduced[:3]) + [None if part is None else list(part) for part in reduced[3:5]]
    return None, parts, b""


def _undeclared(thing: Any) -> list[tuple[str, Any]]:
    """Return names and values of attributes that are neither fields nor caches."""
    known = {name for name, _ in _items(thing)}
    return [
        (name, value)
        for name, value in getattr(thing, "__dict__", {}).items()
        if name not in known and not isinstance(getattr(type(thing), name, None), cached_property)
    ]
