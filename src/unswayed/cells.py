"""Cells of a column: which kinds are used, and one form for each."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


def codes(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return values with one representation per category: -0.0 becomes 0.0, NaN becomes null."""
    if not pa.types.is_floating(values.type):
        return values
    values = pc.add(values, pa.scalar(0, values.type))
    return pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)


def same_everywhere(values: pa.ChunkedArray) -> bool:
    """Return whether all values are the same, a missing one being a value of its own."""
    if not len(values) or values.null_count in (len(values), 0):
        known = values.drop_null()
        return not len(known) or bool(pc.all(pc.equal(known, known[0])).as_py())
    return False


def plain(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return values in an Arrow type that the rest of the package handles."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    rare = pa.types.is_decimal(values.type) or pa.types.is_float16(values.type)
    return values.cast(pa.float64(), safe=False) if rare else values


def is_text(kind: Any) -> bool:
    """Return whether an Arrow type holds texts, dictionary-encoded or not."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_number(kind: Any) -> bool:
    """Return whether an Arrow type holds integers, floats or decimals."""
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def is_usable(kind: Any) -> bool:
    """Return whether an Arrow type holds numbers, texts or truth values."""
    return is_text(kind) or is_number(kind) or bool(pa.types.is_boolean(kind))
