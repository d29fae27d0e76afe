"""Read training and test rows from files and compare them with the hashes in the certificate."""

import hashlib
import math
import struct
import unicodedata
from array import array
from dataclasses import KW_ONLY, dataclass, field
from decimal import Context, Decimal
from pathlib import Path
from reprlib import repr as shown
from typing import Any

import numpy as np

from unswayed.verify.arrays import read_arrays
from unswayed.verify.cells import Features, Rows, label_reader, value_of
from unswayed.verify.document import vector
from unswayed.verify.limits import MOST_COLUMNS, MOST_NUMBERS, CertificateError
from unswayed.verify.matrix import Matrix
from unswayed.verify.tables import Row, Table
from unswayed.verify.writing import Writing

_BLOCK = 2**16  # numbers hashed at a time


@dataclass(frozen=True, slots=True)
class Data:
    """Training rows, labels and test rows of a certificate, and where they come from."""

    train: Matrix | None  # features; a smoother has none
    labels: "array[float]"
    tests: Matrix | None  # None for coefficients
    _: KW_ONLY
    label: str | None = None  # the column of labels; None for arrays, which have no names
    log: bool = False  # labels are logarithms of that column
    columns: list[str] = field(default_factory=list)  # where features are columns as they are
    n_rows: dict[str, int] = field(default_factory=dict)  # of the training and the test file
    filled: dict[str, int] = field(default_factory=dict)  # training cells that were missing
    both: int = 0  # rows that are training and test rows


def load(
    document: Any, label: str | None, train: Path | None, test: Path | None, data: Path | None
) -> Data:
    """Read the data of a certificate; raise unless they have the sizes and hashes that it names."""
    about, kind = document["data"], document["model"]["kind"]
    n, p, t = about["train_rows"], about["features"], about["test_rows"]
    # Beside its features a training row has a label, the two ends of its interval, and a weight.
    if (size := (n + t) * (p + 4)) > MOST_NUMBERS:
        raise CertificateError(
            f"it is about {size:,} numbers; more than {MOST_NUMBERS:,} are not read"
        )
    coefficients = document["question"]["task"] == "coefficients"
    shapes: dict[str, tuple[int, ...]] = {"labels": (n,)}
    shapes |= {"train": (n, p)} if kind != "smoother" else {}
    shapes |= {"test": (t, p)} if not coefficients else {}
    claimed = len(document["question"].get("contrasts", ())) or p
    features = kind in ("ridge", "logistic", "poisson")  # the others have one per training row
    fits = features and t == claimed if coefficients else features or n == p
    if not fits or about["sha256"].keys() != shapes.keys():
        raise CertificateError("the sizes or hashes of the data do not fit the question")
    if data is not None and train is None and test is None:
        arrays = read_arrays(data, shapes)
        found = Data(arrays.get("train"), arrays["labels"].numbers, arrays.get("test"))
    elif train is not None and data is None:
        found = _from_files(document, label, train, test)
    else:
        raise CertificateError("name the data: the training file, or else the .npz file of save()")
    parts = {"labels": Matrix(1, found.labels), "train": found.train, "test": found.tests}
    for name, shape in shapes.items():
        matrix = parts[name]
        if matrix is None or _sha256(matrix, (*shape, 1)[:2], name) != about["sha256"][name]:
            raise CertificateError(f"it belongs to other data: the hash of {name!r} differs")
    return found


def _sha256(matrix: Matrix, shape: tuple[int, ...], what: str) -> str:
    """Return the hash of a matrix; raise unless it has this shape and only finite numbers.

    Hashed are the shape, as two 64-bit integers, then the doubles row by row, all little-endian and
    with -0 as 0.
    """
    if (found := (len(matrix), matrix.width)) != shape:
        raise CertificateError(f"it belongs to other data: {what!r} is {found}, not {shape}")
    digest = hashlib.sha256(struct.pack("<QQ", *shape))
    for start in range(0, len(matrix.numbers), _BLOCK):
        block = np.array(matrix.numbers[start : start + _BLOCK]) + 0.0
        if not np.isfinite(block).all():
            raise CertificateError(f"{what!r} holds NaN or infinity")
        digest.update(block.astype("<f8").tobytes())
    return digest.hexdigest()


# --- tables ---------------------------------------------------------------------------------


def _from_files(document: Any, label: str | None, train: Path, test: Path | None) -> Data:
    if "recipe" in document:
        return _by_recipe(document, train, test)
    return _as_they_are(document, label, train, test)


def _by_recipe(document: Any, train: Path, test: Path | None) -> Data:
    """Return data whose features are made from the columns and rows that the recipe names."""
    recipe, about = document["recipe"], document["data"]
    if (recipe["test_file"] == "test") != (test is not None):
        raise CertificateError("name the test file if it was not the training file, only then")
    label = recipe["label"]
    _check_label_is_no_feature(recipe)
    names = list(dict.fromkeys(each["column"] for each in recipe["features"]))
    if len(names) > MOST_COLUMNS:
        raise CertificateError(f"its recipe reads {len(names):,} columns, over {MOST_COLUMNS:,}")
    writing = Writing.of(recipe)
    maker = Features(recipe["features"], names, writing)
    read_label = label_reader(about.get("classes"), writing)
    n_tests = 0 if document["question"]["task"] == "coefficients" else about["test_rows"]
    used = {
        "train": Rows(recipe["train"], about["train_rows"], "recipe.train"),
        "test": Rows(recipe["test"], n_tests, "recipe.test"),
    }
    rows, labels, tests = Matrix(maker.width), array("d"), Matrix(maker.width)
    copies = {at: name for at, name in enumerate(names) if _spelling(name) == _spelling(label)}
    n_rows, both = {"train": 0}, 0
    for row in Table(train, [*names, label], writing).rows():
        number = n_rows["train"]
        n_rows["train"] += 1
        if learned := used["train"].wants(number):
            rows.append(maker.row(row, count=True))
            labels.append(read_label(row[-1]))
            copies = {at: name for at, name in copies.items() if row[at] == row[-1]}
        if test is None and used["test"].wants(number):
            tests.append(maker.row(row))
            both += learned
    used["train"].check_all_found(n_rows["train"])
    if "logarithms" in recipe:
        labels = _logarithms(recipe["logarithms"], labels)
    if copies:
        name = shown(min(copies.values()))
        raise CertificateError(f"column {name} of its recipe is the label itself, cell by cell")
    if test is not None:
        n_rows["test"] = 0
        for row in Table(test, names, writing).rows():
            if used["test"].wants(n_rows["test"]):
                tests.append(maker.row(row))
            n_rows["test"] += 1
    used["test"].check_all_found(n_rows["train" if test is None else "test"])
    no_tests = document["question"]["task"] == "coefficients"
    return Data(
        rows,
        labels,
        None if no_tests else tests,
        label=label,
        log="logarithms" in recipe,
        n_rows=n_rows,
        filled=maker.filled,
        both=both,
    )


def _logarithms(packed: Any, numbers: "array[float]") -> "array[float]":
    """Return logarithms as the file has them; raise if one is not that of its number.

    No logarithm of a double is a double, and libraries do not round alike, so that the file has to
    say which doubles its claims are about. Those of `decimal` are right to the last of 30 digits.
    """
    found, context = vector(packed, len(numbers), "recipe.logarithms"), Context(prec=30)
    for number, stored in zip(numbers, found, strict=True):
        if number > 0:
            away = context.subtract(Decimal(stored), context.ln(Decimal(number)))
            if abs(away) <= Decimal(2 * math.ulp(stored)):
                continue
        raise CertificateError(
            f"{stored!r} in recipe.logarithms is not the logarithm of the label {number!r}"
        )
    return found


def _check_label_is_no_feature(recipe: Any) -> None:
    if any(each["column"] == recipe["label"] for each in recipe["features"]):
        raise CertificateError(
            f"its recipe reads the label column {shown(recipe['label'])} as a feature, so that "
            "wrong labels would be wrong features too, and no claim says anything"
        )


def _spelling(name: str) -> str:
    """Return a name without differences that people overlook: case, width, composition, spaces."""
    return "".join(unicodedata.normalize("NFKC", name).casefold().split())


def _as_they_are(document: Any, label: str | None, train: Path, test: Path | None) -> Data:
    """Return data of all rows, with every column but the label as a feature, in order."""
    width = document["data"]["features"]
    table = Table(train, None)
    if label not in table.names:
        raise CertificateError(f"{train} has no label column {shown(label)}; name it with --label")
    names = [name for name in table.names if name != label]
    if len(names) != width:
        raise CertificateError(
            f"it belongs to other data: {train} has {len(names):,} columns beside the label, "
            f"not {width:,}"
        )
    place, read_label = table.names.index(label), label_reader(document["data"].get("classes"))
    rows, labels, tests = Matrix(width), array("d"), Matrix(width)
    for row in table.rows():
        _check_length(labels, document["data"]["train_rows"], train)
        labels.append(read_label(row[place]))
        rows.append(_numbers(row[:place] + row[place + 1 :]))
    n_rows = {"train": len(labels)}
    if test is not None:
        for row in Table(test, names).rows():
            _check_length(tests, document["data"]["test_rows"], test)
            tests.append(_numbers(row))
        n_rows["test"] = len(tests)
    no_tests = document["question"]["task"] == "coefficients"
    return Data(
        rows, labels, None if no_tests else tests, label=label, columns=names, n_rows=n_rows
    )


def _check_length(rows: Any, most: int, path: Path) -> None:
    if len(rows) >= most:
        raise CertificateError(f"it belongs to other data: {path} has more than {most:,} rows")


def _numbers(cells: Row) -> "array[float]":
    numbers: array[float] = array("d")
    for cell in cells:
        number = value_of(cell, float)
        if number is None:
            raise CertificateError("a number is missing")
        numbers.append(number)
    return numbers
