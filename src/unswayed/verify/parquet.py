"""Rows of Parquet files, with bounded memory.

A Parquet file of a few kilobytes can unpack to gigabytes, and the sizes in its footer need not be
true. So the pages of every column to be read are walked first: each begins with a header of its
own (in thrift's compact protocol) that gives its size after decompression, which is what pyarrow
allocates. A file with pages beyond the limits is never given to pyarrow.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from reprlib import repr as shown
from typing import Any, BinaryIO

from unswayed.verify.document import MOST_TEXT, MOST_UNPACKED

_MAGIC = b"PAR1"
_MOST_FOOTER = 2**20  # bytes of the file's description of itself
_MOST_PAGE = 2**25  # bytes, after decompression
_MOST_PAGES = 2**17  # in the columns that are read
_MOST_BATCH = 2**25  # bytes of texts that are unpacked at a time
_MOST_ROWS = 1000  # at a time
_MOST_LIST = 20_000  # items of a list in the footer
_MOST_HEADER = 2**16  # bytes of a page's header
_PADDING = 100  # bytes that pyarrow may read past a column, for the sake of old writers

# Fields of a page's header, and of what it holds for pages of data and of dictionaries.
_UNPACKED_SIZE, _PACKED_SIZE = 2, 3
_DATA_PAGE, _DICTIONARY_PAGE, _DATA_PAGE_2 = 5, 7, 8
_N_VALUES = 1
_ENCODING = {_DATA_PAGE: 2, _DICTIONARY_PAGE: 2, _DATA_PAGE_2: 4}
# Plain, by dictionary, runs, differences of integers, bytes apart. The encodings of texts that
# repeat parts of earlier texts are left out: they can grow a thousandfold.
_ENCODINGS = frozenset((0, 2, 3, 5, 8, 9))


def is_parquet(path: Path) -> bool:
    """Return whether a file begins as Parquet files do."""
    with path.open("rb") as file:
        return file.read(4) == _MAGIC


def parquet_rows(path: Path, names: list[str] | None) -> Iterator[tuple[Any, ...]]:
    """Yield the names of the columns, then the rows; decimals become doubles."""
    import pyarrow as pa  # noqa: PLC0415  (only for these files)
    import pyarrow.compute as pc  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    _check_footer(path)
    file = pq.ParquetFile(
        path,
        buffer_size=2**16,  # else whole columns are read at a time
        pre_buffer=False,
        thrift_container_size_limit=_MOST_LIST,
        thrift_string_size_limit=_MOST_FOOTER,
    )
    known = Counter(file.schema_arrow.names)
    names = list(known) if names is None else names
    for name in names:
        if known[name] != 1:
            raise ValueError(f"there is no column {shown(name)}, or more than one")
        if pa.types.is_nested(kind := file.schema_arrow.field(name).type):
            raise ValueError(f"column {shown(name)} holds {kind} values")
    yield tuple(names)
    size = _batch_size(path, file, names)
    for batch in file.iter_batches(size, columns=names, use_threads=False):
        columns = []
        for name in names:
            column = batch.column(name)
            if pa.types.is_dictionary(column.type):
                column = column.dictionary_decode()
            if pa.types.is_decimal(column.type):
                column = column.cast(pa.float64(), safe=False)
            if pa.types.is_string_view(column.type):
                column = column.cast(pa.large_string())
            if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
                if (longest := pc.max(pc.binary_length(column)).as_py() or 0) > MOST_TEXT:
                    raise ValueError(f"a text of column {shown(name)} has {longest:,} bytes")
            elif not (pa.types.is_primitive(column.type) or pa.types.is_null(column.type)):
                raise ValueError(f"column {shown(name)} holds {column.type} values")
            columns.append(column.to_pylist())
        yield from zip(*columns, strict=True)


def _check_footer(path: Path) -> None:
    """Raise unless the footer, which describes the file, is short."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 8))
        end = file.read(8)
    if size < 12 or end[4:] != _MAGIC:
        raise ValueError("it is no complete Parquet file")
    if (footer := int.from_bytes(end[:4], "little")) > _MOST_FOOTER:
        raise ValueError(
            f"its footer has {footer:,} bytes; more than {_MOST_FOOTER:,} are not read"
        )


def _batch_size(path: Path, file: Any, names: list[str]) -> int:
    """Return how many rows may be unpacked at a time; raise if pages are too many or too large.

    Every row can repeat a text of its column's dictionary, so the memory for a number of rows is
    bounded by that number times the largest page of each text column.
    """
    schema, groups = file.schema, file.metadata
    wanted = [at for at in range(len(schema)) if schema.column(at).path in set(names)]
    if len(wanted) != len(names):
        raise ValueError("a column is nested")
    n_pages = unpacked = in_row = 0
    with path.open("rb") as content:
        for at in wanted:
            column, largest = schema.column(at), 0
            for group in range(groups.num_row_groups):
                for size in _pages(content, groups.row_group(group).column(at)):
                    n_pages += 1
                    unpacked += size
                    largest = max(largest, size)
                    if n_pages > _MOST_PAGES or unpacked > MOST_UNPACKED:
                        most = f"{MOST_UNPACKED:,} bytes or {_MOST_PAGES:,} pages"
                        raise ValueError(f"it unpacks to more than {most}")
            if column.max_repetition_level > 0 or (column.length or 0) > 64:
                raise ValueError(f"column {shown(column.path)} holds lists or long blocks of bytes")
            in_row += largest if column.physical_type == "BYTE_ARRAY" else 64
    return max(1, min(_MOST_ROWS, _MOST_BATCH // max(1, in_row)))


def _pages(content: BinaryIO, chunk: Any) -> Iterator[int]:
    """Yield the size after decompression of each page of a column."""
    at, dictionary = chunk.data_page_offset, chunk.dictionary_page_offset
    if dictionary is not None and 0 < dictionary < at:
        at = dictionary
    end = at + chunk.total_compressed_size
    while at < end + _PADDING:
        content.seek(at)
        header = _Header(content.read(_MOST_HEADER))
        try:
            fields = header.structure()
            size = _check_page(fields)
        except (IndexError, ValueError):
            if at < end:
                raise ValueError("a page of a column is damaged or too large") from None
            return  # what follows the column is no page
        yield size
        at += header.at + fields[_PACKED_SIZE]


def _check_page(header: dict[int, Any]) -> int:
    """Return the size of a page after decompression; raise if it is large or oddly encoded."""
    unpacked, packed = header.get(_UNPACKED_SIZE, -1), header.get(_PACKED_SIZE, -1)
    if not (0 <= unpacked <= _MOST_PAGE and 0 <= packed <= _MOST_PAGE):
        raise ValueError("size")
    for kind, encoding in _ENCODING.items():
        page = header.get(kind)
        if page is not None and (
            page.get(encoding) not in _ENCODINGS or not 0 <= page.get(_N_VALUES, 0) <= _MOST_PAGE
        ):
            raise ValueError("encoding")
    return int(unpacked)


class _Header:
    """The header of a page, in thrift's compact protocol."""

    def __init__(self, content: bytes) -> None:
        self._content, self.at = content, 0  # where the next byte is

    def _byte(self) -> int:
        self.at += 1
        return self._content[self.at - 1]

    def _integer(self) -> int:
        """Read an unsigned integer of up to ten groups of seven bits."""
        number = 0
        for place in range(10):
            byte = self._byte()
            number |= (byte & 127) << 7 * place
            if byte < 128:
                return number
        raise ValueError("an integer does not end")

    def _signed(self) -> int:
        number = self._integer()
        return (number >> 1) ^ -(number & 1)

    def structure(self, depth: int = 0) -> dict[int, Any]:
        """Read a structure: its fields by number."""
        if depth > 8:
            raise ValueError("too deep")
        fields: dict[int, Any] = {}
        number = 0
        while byte := self._byte():
            number = number + (byte >> 4) if byte >> 4 else self._signed()
            fields[number] = self._field(byte & 15, depth)
        return fields

    def _field(self, kind: int, depth: int) -> Any:
        """Read a field of a kind that page headers have."""
        if kind in (1, 2):  # true and false
            return kind == 1
        if kind == 3:
            return self._byte()
        if kind in (4, 5, 6):  # integers
            return self._signed()
        if kind in (7, 8):  # a double, or bytes
            length = 8 if kind == 7 else self._integer()
            self.at += length
            return None
        if kind == 12:
            return self.structure(depth + 1)
        raise ValueError("unknown kind")
