"""Formats: what a file is that is neither CSV nor Parquet, by its first bytes or its name."""

import re
from collections.abc import Collection

from unswayed.exceptions import InputError

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
