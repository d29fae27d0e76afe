"""Training and test rows from files, held against the hashes in the certificate."""

import contextlib
import csv
import hashlib
import math
import struct
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from unswayed.verify.document import CertificateError, row_numbers, shown

_MISSING = frozenset(("", "NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL"))
_WORDS = {"true": 1, "True": 1, "TRUE": 1, "false": 0, "False": 0, "FALSE": 0}
_MOST_BYTES = 2**32  # that a .npz file may unpack to
Rows = Sequence[Sequence[float]]
File = Path | None
Table = dict[str, list[Any]]  # cells by column: texts and None, or what a Parquet file holds


class Data(NamedTuple):
    """The doubles a certificate is about; a smoother has no training features."""

    train: Rows
    labels: list[float]
    tests: Rows


def load(document: Any, label: str | None, train: File, test: File, data: File) -> Data:
    """Read the data and raise unless they are what the certificate was made from."""
    about, kind = document["data"], document["model"]["kind"]
    if data is None and train is None:
        raise CertificateError("name the data: the training file, or the .npz file of save()")
    found = _from_arrays(data) if data else _from_files(document, label, train, test)
    n, p, t = about["train_rows"], about["features"], about["test_rows"]
    parts: list[Any] = [("labels", [[y] for y in found.labels], (n, 1))]
    parts += [("train", found.train, (n, p))] if kind != "smoother" else []
    coefficients = document["question"]["task"] == "coefficients"
    parts += [("test", found.tests, (t, p))] if not coefficients else []
    alike = kind == "ridge" and t == p if coefficients else kind == "ridge" or n == p
    if not alike or about["sha256"].keys() != {key for key, *_ in parts}:
        raise CertificateError("the sizes or hashes of the data do not fit the question")
    for key, rows, shape in parts:
        if _sha256(rows, shape, key) != about["sha256"][key]:
            raise _other_data(f"the hash of {key!r} differs")
    return found


def _other_data(how: str) -> CertificateError:
    return CertificateError(f"the certificate belongs to other data than these: {how}")


def _sha256(rows: Rows, shape: tuple[int, int], what: str) -> str:
    """Of the shape as two 64-bit integers, then row by row of doubles; little-endian, -0 as 0."""
    found = (len(rows), len(rows[0]) if rows else shape[1])
    if found != shape:
        raise _other_data(f"{what!r} has {found} rows and columns here, {shape} there")
    digest = hashlib.sha256(struct.pack("<QQ", *shape))
    for row in rows:
        if not all(map(math.isfinite, row)):
            raise CertificateError(f"{what!r} holds NaN or infinity")
        digest.update(struct.pack(f"<{len(row)}d", *(number + 0.0 for number in row)))
    return digest.hexdigest()


# --- from files to doubles ------------------------------------------------------------------


def _from_arrays(path: Path) -> Data:
    import numpy as np  # noqa: PLC0415  (only for these files)

    try:
        with zipfile.ZipFile(path) as archive:
            if sum(each.file_size for each in archive.infolist()) > _MOST_BYTES:
                raise CertificateError(f"{path} unpacks to more than {_MOST_BYTES:,} bytes")
        with np.load(path, allow_pickle=False) as arrays:
            parts = [arrays.get(name, np.empty((0, 0))) for name in ("train", "labels", "test")]
    except (zipfile.BadZipFile, ValueError, EOFError) as error:
        raise CertificateError(f"{path} is not a readable .npz file: {shown(error)}") from None
    if [(part.ndim, part.dtype) for part in parts] != [(d, np.dtype("<f8")) for d in (2, 1, 2)]:
        raise CertificateError(f"{path} must hold doubles: train (2-d), labels (1-d), test (2-d)")
    return Data(*(part.tolist() for part in parts))


def _from_files(document: Any, label: str | None, train: Any, test: File) -> Data:
    table, recipe = _read(train), document.get("recipe")
    if recipe is None:  # numbers as they are: subtracting 0 and dividing by 1 changes none
        features = [{"column": name, "mean": 0.0, "scale": 1.0} for name in table if name != label]
        recipe = {"label": label, "features": features}
    elif (recipe["test_file"] == "test") != (test is not None):
        wanted = "name the test file too" if test is None else "they are rows of the training file"
        raise CertificateError(f"these are not the files of the test rows: {wanted}")
    labels = _labels(_cells(table, recipe["label"], _used(table, recipe, "train")), document)
    rows = _features(table, recipe, "train")
    if test is None and "test" not in recipe:
        return Data(rows, labels, [])
    return Data(rows, labels, _features(_read(test) if test else table, recipe, "test"))


def _read(path: Path) -> Table:
    """Read a CSV file (UTF-8, commas, a header) or a Parquet file."""
    with path.open("rb") as file:
        if file.read(4) == b"PAR1":
            return _read_parquet(path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header, *lines = (cells for cells in csv.reader(file) if cells)
        cells = ([None if cell in _MISSING else cell for cell in line] for line in lines)
        return dict(zip(header, map(list, zip(*cells, strict=True)), strict=True))
    except (ValueError, csv.Error) as error:
        raise CertificateError(f"{path} is not a readable CSV file: {shown(error)}") from None


def _read_parquet(path: Path) -> Table:
    import pyarrow as pa  # noqa: PLC0415  (only for these files)
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise CertificateError(f"{path} is not a readable Parquet file: {shown(error)}") from None
    kinds = [pa.float64() if pa.types.is_decimal(each.type) else each.type for each in table.schema]
    table = table.cast(pa.schema(zip(table.column_names, kinds, strict=True)), safe=False)
    return {name: table.column(name).to_pylist() for name in table.column_names}


def _used(table: Table, recipe: Any, which: str) -> Sequence[int]:
    size = len(next(iter(table.values()), ()))
    return row_numbers(recipe[which], size, "the recipe") if which in recipe else range(size)


def _cells(table: Table, name: str | None, used: Sequence[int]) -> list[Any]:
    if name is None or name not in table:
        raise CertificateError(f"there is no column {shown(name)}; name the label column if asked")
    return [table[name][at] for at in used]


def _features(table: Table, recipe: Any, which: str) -> Rows:
    used, columns = _used(table, recipe, which), []
    for feature in recipe["features"]:
        cells = _cells(table, feature["column"], used)
        made = {cell: _feature(cell, feature) for cell in set(cells)}
        columns.append([made[cell] for cell in cells])
    return list(zip(*columns, strict=True))


def _feature(cell: Any, feature: Any) -> float:
    if "equals" in feature:
        value = feature["equals"]
        return float(cell == value if type(value) in (str, type(None)) else _number(cell) == value)
    number = _number(cell)
    number = feature.get("missing") if number is None else number
    if number is None or not feature["scale"]:
        raise CertificateError(f"column {shown(feature['column'])} misses a value or a scale")
    # In doubles and in this order, as the features of the model were computed.
    return float((float(number) - feature["mean"]) / feature["scale"])


def _number(cell: Any) -> Any:
    """Return a cell as a number, None if it is missing."""
    if isinstance(cell, str):
        for read in (_WORDS.__getitem__, int, float):
            with contextlib.suppress(ValueError, KeyError):
                return read(cell)
        raise CertificateError(f"the cell {shown(cell)} is not a number")
    return None if cell != cell else cell  # noqa: PLR0124  (NaN)


def _labels(cells: list[Any], document: Any) -> list[float]:
    """Labels as numbers; of two classes the second in sorted order is the second number."""
    classes = document["data"].get("classes")
    with contextlib.suppress(*[CertificateError] * (classes is not None)):  # classes may be texts
        cells = [_number(cell) for cell in cells]
    known = set(cells)
    if None in known or (classes and len(known) != 2):
        raise CertificateError("a label is missing, or there are more or fewer than two classes")
    return [classes[cell == max(known)] for cell in cells] if classes else list(map(float, cells))
