"""Training and test rows from files, held against the hashes in the certificate."""

import contextlib
import csv
import hashlib
import math
import struct
import sys
import zipfile
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unswayed.verify.document import CertificateError, row_numbers, shown

_MISSING = frozenset(("", "NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL"))
_WORDS = {"true": 1, "True": 1, "TRUE": 1, "false": 0, "False": 0, "FALSE": 0}
_MOST_BYTES = 2**32  # that a .npz file may unpack to
Rows = Sequence[Sequence[float]]
Table = dict[str, list[Any]]  # cells by column: texts and None, or what a Parquet file holds


@dataclass(frozen=True, slots=True)
class Data:
    """The doubles a certificate is about; a smoother has no training features."""

    train: Rows
    labels: list[float]
    tests: Rows


def load(
    document: Any, label: str | None, train: Path | None, test: Path | None, data: Path | None
) -> Data:
    """Read the data and raise unless they are what the certificate was made from."""
    about = document["data"]
    if data is not None:
        found = _from_arrays(data)
    elif train is not None:
        found = _from_files(document, label, train, test)
    else:
        raise CertificateError("name the data: the training file, or the .npz file of save()")
    n, p, t = about["train_rows"], about["features"], about["test_rows"]
    parts: dict[str, tuple[Rows, tuple[int, int]]] = {
        "labels": ([[y] for y in found.labels], (n, 1))
    }
    if document["model"]["kind"] != "smoother":
        parts["train"] = (found.train, (n, p))
    if document["question"]["task"] != "coefficients":
        parts["test"] = (found.tests, (t, p))
    square = document["model"]["kind"] != "ridge"
    if (
        about["sha256"].keys() != parts.keys()
        or (square and n != p)
        or ("test" not in parts and t != p)
    ):
        raise CertificateError("the sizes or hashes of the data do not fit the question")
    for key, (rows, shape) in parts.items():
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
        doubles = array("d", [number + 0.0 for number in row])
        if sys.byteorder == "big":
            doubles.byteswap()
        digest.update(doubles)
    return digest.hexdigest()


# --- from files to doubles ------------------------------------------------------------------


def _from_arrays(path: Path) -> Data:
    import numpy as np  # noqa: PLC0415  (only for these files)

    try:
        with zipfile.ZipFile(path) as archive:
            if sum(each.file_size for each in archive.infolist()) > _MOST_BYTES:
                raise CertificateError(f"{path} unpacks to more than {_MOST_BYTES:,} bytes")
        none = np.empty((0, 0))
        with np.load(path, allow_pickle=False) as arrays:
            parts = [arrays.get(name, none) for name in ("train", "labels", "test")]
    except (zipfile.BadZipFile, ValueError, EOFError) as error:
        raise CertificateError(f"{path} is not a readable .npz file: {shown(error)}") from None
    if [(part.ndim, part.dtype) for part in parts] != [(d, np.dtype("<f8")) for d in (2, 1, 2)]:
        raise CertificateError(f"{path} must hold doubles: train (2-d), labels (1-d), test (2-d)")
    return Data(*(part.tolist() for part in parts))


def _from_files(document: Any, label: str | None, train: Path, test: Path | None) -> Data:
    table, recipe = _read(train), document.get("recipe")
    if recipe is None:  # numbers as they are: subtracting 0 and dividing by 1 changes none
        features = [{"column": name, "mean": 0.0, "scale": 1.0} for name in table if name != label]
        recipe = {"label": label, "features": features}
    elif (recipe["test_file"] == "test") != (test is not None):
        wanted = "name the test file too" if test is None else "they are rows of the training file"
        raise CertificateError(f"these are not the files of the test rows: {wanted}")
    used = _used_rows(table, recipe.get("train"))
    column = _column(table, recipe["label"])
    labels = _labels([column[at] for at in used], document["data"].get("classes"))
    rows = _features(table, used, recipe["features"])
    if test is not None:
        table = _read(test)
    elif "test" not in recipe:
        return Data(rows, labels, [])
    return Data(
        rows, labels, _features(table, _used_rows(table, recipe.get("test")), recipe["features"])
    )


def _read(path: Path) -> Table:
    """Read a CSV file (UTF-8, commas, a header) or a Parquet file."""
    with path.open("rb") as file:
        if file.read(4) == b"PAR1":
            return _read_parquet(path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header, *lines = (cells for cells in csv.reader(file) if cells)
        columns = zip(header, zip(*lines, strict=True), strict=True)
        return {
            name: [None if cell in _MISSING else cell for cell in cells] for name, cells in columns
        }
    except (ValueError, csv.Error) as error:
        raise CertificateError(f"{path} is not a readable CSV file: {shown(error)}") from None


def _read_parquet(path: Path) -> Table:
    import pyarrow as pa  # noqa: PLC0415  (only for these files)
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise CertificateError(f"{path} is not a readable Parquet file: {shown(error)}") from None
    for at, field in enumerate(table.schema):
        if pa.types.is_decimal(field.type):
            table = table.set_column(
                at, field.name, table.column(at).cast(pa.float64(), safe=False)
            )
    return {name: table.column(name).to_pylist() for name in table.column_names}


def _column(table: Table, name: str | None) -> list[Any]:
    if name is None or name not in table:
        raise CertificateError(f"there is no column {shown(name)}; name the label column if asked")
    return table[name]


def _used_rows(table: Table, which: Any) -> Sequence[int]:
    size = len(next(iter(table.values()), ()))
    return range(size) if which is None else row_numbers(which, size, "the recipe")


def _features(table: Table, used: Sequence[int], features: Any) -> Rows:
    columns = []
    for feature in features:
        cells = [_column(table, feature["column"])[at] for at in used]
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


def _labels(cells: list[Any], classes: list[float] | None) -> list[float]:
    """Labels as numbers; of two classes the second in sorted order is the second number."""
    try:
        cells = [_number(cell) for cell in cells]
    except CertificateError:
        if classes is None:
            raise
    if None in cells:
        raise CertificateError("a label is missing")
    known = sorted(set(cells))
    if classes is None:
        return [float(cell) for cell in cells]
    if len(known) != 2:
        raise CertificateError(f"there are {len(known)} different labels, not two classes")
    return [classes[cell == known[1]] for cell in cells]
