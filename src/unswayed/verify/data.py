"""Training and test rows from files, held against the hashes in the certificate."""

import csv
import gzip
import hashlib
import math
import struct
import zipfile
from collections.abc import Iterator
from itertools import dropwhile, islice
from pathlib import Path
from reprlib import repr as shown
from typing import Any

from unswayed.verify.document import CertificateError, row_numbers
from unswayed.verify.influence import Rows

_MISSING = frozenset(("", "NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL"))
_WORDS = {"true": "1", "True": "1", "TRUE": "1", "false": "0", "False": "0", "FALSE": "0"}
_MOST = 2**24  # numbers in a certificate, characters of a line, four times the cells of a file
Data = tuple[Rows, list[float], Rows]  # training features (a smoother has none), labels, tests


def load(document: Any, label: str | None, train: Any, test: Any, data: Any) -> Data:
    """Read the data and raise unless they are what the certificate was made from."""
    about, kind = document["data"], document["model"]["kind"]
    n, p, t = about["train_rows"], about["features"], about["test_rows"]
    if (size := (n + t) * (p + 1)) > _MOST:
        raise CertificateError(f"it is about {size:,} numbers; more than {_MOST:,} are not read")
    if (train is None) == (data is None) or (data and test):
        raise CertificateError("name the data: the training file, or else the .npz file of save()")
    found = _from_arrays(data, size) if data else _from_files(document, label, train, test)
    coefficients = document["question"]["task"] == "coefficients"
    parts: dict[str, Any] = {"labels": ([[y] for y in found[1]], (n, 1))}
    parts |= {"train": (found[0], (n, p))} if kind != "smoother" else {}
    parts |= {"test": (found[2], (t, p))} if not coefficients else {}
    alike = kind == "ridge" and t == p if coefficients else kind == "ridge" or n == p
    if not alike or about["sha256"].keys() != parts.keys():
        raise CertificateError("the sizes or hashes of the data do not fit the question")
    for key, (rows, shape) in parts.items():
        if _sha256(rows, shape, key) != about["sha256"][key]:
            raise CertificateError(f"it belongs to other data: the hash of {key!r} differs")
    return found


def _sha256(rows: Rows, shape: tuple[int, int], what: str) -> str:
    """Of the shape as two 64-bit integers, then row by row of doubles; little-endian, -0 as 0."""
    if (found := (len(rows), len(rows[0]) if rows else shape[1])) != shape:
        raise CertificateError(f"it belongs to other data: {what!r} is {found}, not {shape}")
    digest = hashlib.sha256(struct.pack("<QQ", *shape))
    for row in rows:
        if not all(map(math.isfinite, row)):
            raise CertificateError(f"{what!r} holds NaN or infinity")
        digest.update(struct.pack(f"<{len(row)}d", *(number + 0.0 for number in row)))
    return digest.hexdigest()


# --- from files to doubles ------------------------------------------------------------------


def _from_arrays(path: Path, size: int) -> Data:
    import numpy as np  # noqa: PLC0415  (only for these files)

    try:
        with zipfile.ZipFile(path) as archive:
            if sum(each.file_size for each in archive.infolist()) > 8 * size + 2**16:
                raise ValueError(f"it unpacks to more than the {size:,} numbers of the certificate")
        with np.load(path, allow_pickle=False) as arrays:
            parts = [np.asarray(arrays.get(key, [[]])) for key in ("train", "labels", "test")]
    except Exception as error:  # whatever a damaged file leads to
        raise CertificateError(f"{path} is not the .npz file of save(): {error}") from None
    if [(part.ndim, part.dtype) for part in parts] != [(d, np.dtype("<f8")) for d in (2, 1, 2)]:
        raise CertificateError(f"{path} must hold doubles: train (2-d), labels (1-d), test (2-d)")
    return parts[0].tolist(), parts[1].tolist(), parts[2].tolist()


def _from_files(document: Any, label: str | None, train: Path, test: Path | None) -> Data:
    recipe, names = document.get("recipe"), None
    if recipe:
        if (recipe["test_file"] == "test") != (test is not None):
            raise CertificateError("name the test file if it was not the training file, only then")
        names, label = [each["column"] for each in recipe["features"]], recipe["label"]
    table = _read(train, names and [*names, label])
    if recipe is None:  # numbers as they are: subtracting 0 and dividing by 1 changes none
        names = [name for name in table if name != label]
        recipe = {"features": [{"column": name, "mean": 0.0, "scale": 1.0} for name in names]}
    if label not in table:
        raise CertificateError(f"{train} has no label column {shown(label)}; name it with --label")
    rows, labels = _features(table, recipe, "train"), _labels(table[label], recipe, document)
    if test is None and "test" not in recipe:
        return rows, labels, []
    return rows, labels, _features(_read(test, names) if test else table, recipe, "test")


def _read(path: Path, names: list[str] | None) -> dict[str, list[Any]]:
    """Read these columns (None: all) of a CSV file (UTF-8, commas, a header) or a Parquet file."""
    with path.open("rb") as file:
        typed = file.read(4) == b"PAR1"
    once: dict[Any, Any] = {} if typed else dict.fromkeys(_MISSING)  # equal cells share memory
    table: dict[str, list[Any]] = {name: [] for name in names or ()}
    try:
        for number, row in enumerate((_parquet_rows if typed else _csv_rows)(path, names), 1):
            table = table or {name: [] for name in row}
            if number * len(table) > _MOST // 4:
                raise ValueError(f"there are more than {_MOST // 4:,} cells")
            for name, cells in table.items():
                cells.append(once.setdefault(row[name], row[name]))
    except Exception as error:  # whatever a damaged file leads to
        raise CertificateError(f"{path} lacks a column or is no table: {error}") from None
    return table


def _csv_rows(path: Path, _: Any) -> Iterator[dict[str, Any]]:
    csv.field_size_limit(_MOST // 2)  # a piece of a line without end is too long
    unpacked: Any = gzip.open if path.suffix == ".gz" else open
    with unpacked(path, "rt", encoding="utf-8-sig", newline="") as file:
        lines = islice(iter(lambda: file.readline(_MOST), ""), _MOST)
        yield from csv.DictReader(dropwhile(lambda line: not line.strip("\r\n"), lines))


def _parquet_rows(path: Path, names: list[str] | None) -> Iterator[dict[str, Any]]:
    import pyarrow as pa  # noqa: PLC0415  (only for these files)
    import pyarrow.parquet as pq  # noqa: PLC0415

    for batch in pq.ParquetFile(path).iter_batches(100, columns=names):  # texts may be long
        to = [x.with_type(pa.float64()) if pa.types.is_decimal(x.type) else x for x in batch.schema]
        yield from batch.cast(pa.schema(to), safe=False).to_pylist()


def _cells(cells: list[Any], recipe: Any, which: str) -> list[Any]:
    if which not in recipe:
        return cells
    return [cells[at] for at in row_numbers(recipe[which], len(cells), f"recipe.{which}")]


def _features(table: dict[str, list[Any]], recipe: Any, which: str) -> Rows:
    values = [(each["column"], each.get("equals")) for each in recipe["features"]]
    kinds = {column: type(value) for column, value in values if value is not None}
    columns = []
    for feature in recipe["features"]:
        cells = _cells(table[feature["column"]], recipe, which)
        kind = kinds.get(feature["column"], str) if "equals" in feature else float
        made = {cell: _feature(_value(cell, kind), feature) for cell in set(cells)}
        columns.append([made[cell] for cell in cells])
    return list(zip(*columns, strict=True))


def _feature(value: Any, feature: Any) -> float:
    if "equals" in feature:
        return float(value == feature["equals"])
    value = feature.get("missing") if value is None else value
    if value is None or not feature["scale"]:
        raise CertificateError(f"column {shown(feature['column'])} misses a value or a scale")
    # In doubles and in this order, as the features of the model were computed.
    return float((value - feature["mean"]) / feature["scale"])


def _labels(column: list[Any], recipe: Any, document: Any) -> list[float]:
    cells, classes = _cells(column, recipe, "train"), document["data"].get("classes")
    if classes is None:
        labels = [_value(cell, float) for cell in cells]
    else:
        if any(type(a) is not type(b) or a >= b for a, b in classes.values()):
            raise CertificateError("classes must be in sorted order, and so must their numbers")
        code = dict(zip(classes["values"], classes["numbers"], strict=True))
        labels = [code.get(_value(cell, type(classes["values"][0]))) for cell in cells]
    if None in labels:
        raise CertificateError("a label is missing, or of neither class")
    return labels


def _value(cell: Any, kind: type) -> Any:
    """Return a cell as Arrow reads it in a column of such values; None if it is missing."""
    if kind is str or cell is None:
        return cell
    try:
        number = _number(cell.strip()) if isinstance(cell, str) else cell
        return None if math.isnan(number) else float(number) if kind is float else number
    except (ValueError, TypeError, OverflowError):
        raise CertificateError(f"the cell {shown(cell)} is not a number") from None


def _number(text: str) -> float:
    text = _WORDS.get(text, text).lower()
    if text.startswith("0x"):  # 64 bits, the first of them the sign
        return (int(text, 16) + 2**63) % 2**64 - 2**63
    text = "nan" if text.lstrip("-").startswith("nan(") else text  # as in Windows
    return int(text) if text.lstrip("-").isdecimal() else float(text)
