"""Training and test rows from files, held against the hashes in the certificate."""

import contextlib
import csv
import hashlib
import math
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from unswayed.verify.document import CertificateError, row_numbers, shown

_MISSING = frozenset(("", "NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL"))
_WORDS = {"true": 1, "True": 1, "TRUE": 1, "false": 0, "False": 0, "FALSE": 0}
_MOST = 2**24  # numbers in a certificate, characters of a line, four times the cells of a file
Rows = Sequence[Sequence[float]]
File = Path | None
Data = tuple[Rows, list[float], Rows]  # training features (a smoother has none), labels, tests


def load(document: Any, label: str | None, train: File, test: File, data: File) -> Data:
    """Read the data and raise unless they are what the certificate was made from."""
    about, kind = document["data"], document["model"]["kind"]
    n, p, t = about["train_rows"], about["features"], about["test_rows"]
    if (size := (n + t) * (p + 1)) > _MOST:
        raise CertificateError(f"it is about {size:,} numbers; more than {_MOST:,} are not read")
    if (train is None) == (data is None) or (data and test):
        raise CertificateError("name the data: the training file, or else the .npz file of save()")
    found = _from_arrays(data, size) if data else _from_files(document, label, train, test)
    parts: list[Any] = [("labels", [[y] for y in found[1]], (n, 1))]
    parts += [("train", found[0], (n, p))] if kind != "smoother" else []
    coefficients = document["question"]["task"] == "coefficients"
    parts += [("test", found[2], (t, p))] if not coefficients else []
    alike = kind == "ridge" and t == p if coefficients else kind == "ridge" or n == p
    if not alike or about["sha256"].keys() != {key for key, *_ in parts}:
        raise CertificateError("the sizes or hashes of the data do not fit the question")
    for key, rows, shape in parts:
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
    except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, RuntimeError) as error:
        raise CertificateError(f"{path} is not the .npz file of save(): {error}") from None
    if [(part.ndim, part.dtype) for part in parts] != [(d, np.dtype("<f8")) for d in (2, 1, 2)]:
        raise CertificateError(f"{path} must hold doubles: train (2-d), labels (1-d), test (2-d)")
    return parts[0].tolist(), parts[1].tolist(), parts[2].tolist()


def _from_files(document: Any, label: str | None, train: Any, test: File) -> Data:
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
    except (KeyError, ValueError, TypeError, NotImplementedError, csv.Error) as error:
        raise CertificateError(f"{path} lacks a column or is no table: {error}") from None
    return table


def _csv_rows(path: Path, _: Any) -> Iterator[dict[str, Any]]:
    csv.field_size_limit(_MOST // 2)  # a piece of a line without end is too long
    with path.open(encoding="utf-8-sig", newline="") as file:
        yield from csv.DictReader(iter(lambda: file.readline(_MOST), ""))


def _parquet_rows(path: Path, names: list[str] | None) -> Iterator[dict[str, Any]]:
    import pyarrow as pa  # noqa: PLC0415  (only for these files)
    import pyarrow.parquet as pq  # noqa: PLC0415

    for batch in pq.ParquetFile(path).iter_batches(columns=names):
        to = [x.with_type(pa.float64()) if pa.types.is_decimal(x.type) else x for x in batch.schema]
        yield from batch.cast(pa.schema(to), safe=False).to_pylist()


def _cells(cells: list[Any], recipe: Any, which: str) -> list[Any]:
    if which not in recipe:
        return cells
    where = f"{which!r} of the recipe, for a file of {len(cells):,} rows,"
    return [cells[at] for at in row_numbers(recipe[which], len(cells), where)]


def _features(table: dict[str, list[Any]], recipe: Any, which: str) -> Rows:
    columns = []
    for feature in recipe["features"]:
        cells = _cells(table[feature["column"]], recipe, which)
        made = {cell: _feature(cell, feature) for cell in set(cells)}
        columns.append([made[cell] for cell in cells])
    return list(zip(*columns, strict=True))


def _feature(cell: Any, feature: Any) -> float:
    if "equals" in feature:
        value = feature["equals"]
        return float(cell == value if type(value) in (str, type(None)) else _number(cell) == value)
    number = _number(cell, feature.get("missing"))
    if number is None or not feature["scale"]:
        raise CertificateError(f"column {shown(feature['column'])} misses a value or a scale")
    # In doubles and in this order, as the features of the model were computed.
    return float((float(number) - feature["mean"]) / feature["scale"])


def _number(cell: Any, missing: float | None = None) -> Any:
    """Return a cell as a number; integers of more than 63 bits as doubles, as Arrow does."""
    if isinstance(cell, str):
        for read in (_WORDS.__getitem__, int, float):
            with contextlib.suppress(ValueError, KeyError):
                number = read(cell)
                return _number(number if abs(number) < 2**63 else float(cell), missing)
    if not isinstance(cell, int | float | None):
        raise CertificateError(f"the cell {shown(cell)} is not a number")
    return missing if cell is None or cell != cell else cell  # noqa: PLR0124  (NaN)


def _labels(column: list[Any], recipe: Any, document: Any) -> list[float]:
    """Labels as numbers; of two classes the second in sorted order is the second number."""
    cells, classes = _cells(column, recipe, "train"), document["data"].get("classes")
    with contextlib.suppress(*[CertificateError] * (classes is not None)):  # classes may be texts
        cells = [_number(cell) for cell in cells]
    known = set(cells)
    if None in known or (classes and len(known) != 2):
        raise CertificateError("a label is missing, or there are more or fewer than two classes")
    return [classes[cell == max(known)] for cell in cells] if classes else list(map(float, cells))
