"""Columns of a batch in one form: doubles, or codes of categories."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from unswayed._typing import FloatArray
from unswayed.cells import is_number, is_text, plain
from unswayed.exceptions import InputError
from unswayed.frames import eager_frame
from unswayed.words import shorten

TEXT = pa.dictionary(pa.int32(), pa.string())
"""Texts as they travel: every different one once, and a number for each row."""

Codes = NDArray[np.int32]


def kind_of(kind: Any) -> str | None:
    """Return what a column of an Arrow type holds, in words."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_null(kind):
        return "nothing"
    if is_text(kind) or pa.types.is_string_view(kind):
        return "texts"
    if pa.types.is_boolean(kind):
        return "truth values"
    return "numbers" if is_number(kind) else None


@dataclass(frozen=True, slots=True, eq=False)
class Categories:
    """Cells of a column of categories."""

    codes: Codes  # Positions among the values
    values: pa.Array  # Some of which no row may have

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> "Categories":
        """Make it of a column that misses no value."""
        if not pa.types.is_dictionary(column.type) or column.type.value_type == pa.float64():
            column = _plain_values(column).dictionary_encode()
        if column.num_chunks > 1:
            column = column.unify_dictionaries()
        if not column.num_chunks:
            return cls(np.zeros(0, np.int32), pa.array([], column.type.value_type))
        values = _plain_values(column.chunk(0).dictionary)
        parts = [np.asarray(chunk.indices) for chunk in column.chunks]
        codes = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return cls(codes.astype(np.int32, copy=False), values)

    def different(self) -> "Categories":
        """Return the cells with values that are all different."""
        encoded = self.values.dictionary_encode()
        if len(encoded.dictionary) == len(self.values):  # but Arrow allows others
            return self
        return Categories(np.asarray(encoded.indices)[self.codes], encoded.dictionary)

    def used(self) -> list[Any]:
        """Return the values that some row has."""
        found = np.bincount(self.codes, minlength=len(self.values)) > 0
        return list(self.values.filter(pa.array(found)).to_pylist())

    def array(self) -> pa.DictionaryArray:
        """Return the cells as Arrow has them."""
        return pa.DictionaryArray.from_arrays(pa.array(self.codes), self.values, safe=False)


def _plain_values(values: Any) -> Any:
    """Give equal values one form: texts of one width, integers and floats of 64 bits, no -0.0."""
    kind = values.type
    if is_text(kind) or pa.types.is_string_view(kind):
        return values if kind == pa.string() else values.cast(pa.string())
    if pa.types.is_integer(kind) and not pa.types.is_uint64(kind):
        return values.cast(pa.int64())
    if is_number(kind) and not pa.types.is_integer(kind):
        return pc.add(values.cast(pa.float64(), safe=False), 0.0)
    return values


def as_numbers(column: pa.ChunkedArray) -> FloatArray:
    """Return cells that miss no value as doubles."""
    column = plain(column)
    if column.type != pa.float64():
        column = column.cast(pa.float64(), safe=False)
    return np.asarray(column.chunk(0) if column.num_chunks == 1 else column, dtype=np.float64)


def as_table(rows: Any, name: str = "") -> pa.Table | None:
    """Return rows of any library as an Arrow table."""
    if isinstance(rows, pa.Table):
        table = rows
    elif isinstance(rows, pa.RecordBatch):
        table = pa.Table.from_batches([rows])
    else:
        frame = eager_frame(rows)
        if frame is None:
            return None
        try:
            if frame.implementation.is_pandas():
                table = pa.Table.from_pandas(rows, preserve_index=False)
            else:
                table = frame.to_arrow()
        except (pa.ArrowException, TypeError) as error:
            raise InputError(
                f"{_opening(name)}the rows cannot be turned into columns of one kind each "
                f"({'; '.join(map(str, error.args))}); write every column's cells the same way"
            ) from None
    names = table.column_names
    if len(set(names)) < len(names):
        twin = next(name for name in names if names.count(name) > 1)
        raise InputError(
            f"{_opening(name)}two columns are named {shorten(twin)!r}; rename or remove one"
        )
    return table


def _opening(name: str) -> str:
    return f"{name}: " if name else ""


def as_column(values: Any, name: str = "") -> pa.ChunkedArray:
    """Return labels of any library as an Arrow column."""
    if isinstance(values, pa.ChunkedArray):
        return values
    if not isinstance(values, pa.Array):
        if hasattr(values, "to_arrow"):
            values = values.to_arrow()
        else:
            try:
                values = pa.Array.from_pandas(values)
            except (pa.ArrowException, TypeError) as error:
                raise InputError(
                    f"{_opening(name)}the labels are not all of one kind ({error}); write all the "
                    "same way"
                ) from None
    return values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])


def first_bad(column: pa.ChunkedArray) -> int | None:
    """Return the first row that misses a value or is not finite."""
    if not column.null_count and not pa.types.is_floating(plain(column).type):
        return None
    column = plain(column)
    bad = pc.is_null(column, nan_is_null=True)
    if pa.types.is_floating(column.type):
        bad = pc.or_(bad, pc.fill_null(pc.is_inf(column), False))
    at = pc.index(bad, True).as_py()
    return None if at < 0 else int(at)
