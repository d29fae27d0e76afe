"""Read training and test rows from files and compare them with the hashes in the certificate."""

import hashlib
import math
import struct
import unicodedata
from array import array
from dataclasses import KW_ONLY, dataclass, field
from decimal import Context, Decimal
from itertools import chain
from pathlib import Path
from reprlib import repr as shown
from typing import Any

import numpy as np

from unswayed.verify.budget import Budget
from unswayed.verify.document import (
    MOST_COLUMNS,
    MOST_NUMBERS,
    CertificateError,
    read_arrays,
    row_numbers,
    vector,
)
from unswayed.verify.doubles import SAFETY, TINY, UNIT, FloatArray, IntArray, UnprovenError
from unswayed.verify.tables import Features, Writing, column_names, label_reader, read_table

_BLOCK = 2**16  # numbers hashed at a time


@dataclass(frozen=True, slots=True)
class Data:
    """Training rows, labels and test rows of a certificate, and where they come from."""

    train: FloatArray | None  # features; a smoother has none
    labels: "array[float]"
    tests: FloatArray | None  # None for coefficients
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
    about, model = document["data"], document["model"]
    kind = model["kind"]
    n, p, t = about["train_rows"], about["features"], about["test_rows"]
    # Beside its features a training row has a label, the two ends of its interval, and a weight.
    if (size := (n + t) * (p + 4)) > MOST_NUMBERS:
        raise CertificateError(
            f"it is about {size:,} numbers; more than {MOST_NUMBERS:,} are not read"
        )
    coefficients, votes = document["question"]["task"] == "coefficients", kind == "votes"
    shapes: dict[str, tuple[int, ...]] = {"labels": (n,)}
    shapes |= {"train": (n, p)} if kind != "smoother" else {}
    wide = (
        int(model["partitions"] * (1 + len(document["question"].get("to", "01")))) if votes else p
    )
    if (n + t) * (wide + 4) > MOST_NUMBERS:
        raise CertificateError(f"more than {MOST_NUMBERS:,} numbers of votes are not read")
    shapes |= {"test": (t, wide)} if not coefficients else {}
    claimed = len(document["question"].get("contrasts", ())) or p
    features = votes or kind in ("ridge", "logistic", "poisson")  # the others: one per training row
    fits = features and t == claimed if coefficients else features or n == p
    if not fits or about["sha256"].keys() != shapes.keys():
        raise CertificateError("the sizes or hashes of the data do not fit the question")
    if data is not None and train is None and test is None:
        arrays = read_arrays(data, shapes)
        labels = array("d", arrays["labels"].tobytes())
        found = Data(arrays.get("train"), labels, arrays.get("test"))
    elif train is not None and data is None:
        found = _from_tables(document, label, train, test)
    else:
        raise CertificateError("name the data: the training file, or else the .npz file of save()")
    parts = {"labels": np.frombuffer(found.labels), "train": found.train, "test": found.tests}
    for name, shape in shapes.items():
        rows = parts[name]
        if rows is None or _sha256(rows, shape, name) != about["sha256"][name]:
            raise CertificateError(f"it belongs to other data: the hash of {name!r} differs")
    return found


def _sha256(rows: FloatArray, shape: tuple[int, ...], what: str) -> str:
    """Return the hash of numbers; raise unless they have this shape and are finite.

    Hashed are the shape, as two 64-bit integers, then the doubles row by row, all little-endian and
    with -0 as 0.
    """
    if rows.shape != shape:
        raise CertificateError(f"it belongs to other data: {what!r} is {rows.shape}, not {shape}")
    digest, numbers = hashlib.sha256(struct.pack("<QQ", *(*shape, 1)[:2])), rows.reshape(-1)
    for start in range(0, len(numbers), _BLOCK):
        block = numbers[start : start + _BLOCK] + 0.0
        if not np.isfinite(block).all():
            raise CertificateError(f"{what!r} holds NaN or infinity")
        digest.update(block.astype("<f8").tobytes())
    return digest.hexdigest()


# --- tables ---------------------------------------------------------------------------------


class _Rows:
    """Numbers of the rows that are used, compared with a file row by row; None stands for all."""

    def __init__(self, value: Any, n_rows: int, where: str) -> None:
        self._numbers = None if value is None else row_numbers(value, n_rows, 2**32, where)
        self._n_rows, self._where, self.used = n_rows, where, 0

    def wants(self, row: int) -> bool:
        """Return whether a row is used; raise if there are more than the certificate is about."""
        numbers = self._numbers
        if numbers is None and row >= self._n_rows:
            text = f"{self._where} has more than {self._n_rows:,} rows"
            raise CertificateError(f"it belongs to other data: {text}")
        wanted = numbers is None or (self.used < len(numbers) and numbers[self.used] == row)
        self.used += wanted
        return wanted

    def check_all_found(self, n_rows: int) -> None:
        """Raise if some of the rows are not in the file; to be called after its last row."""
        if self._numbers is not None and self.used < len(self._numbers):
            raise CertificateError(
                f"it belongs to other data: {self._where} names row {self._numbers[-1]:,}, but the "
                f"file has {n_rows:,} rows"
            )


def _from_tables(document: Any, label: str | None, train: Path, test: Path | None) -> Data:
    """Return data whose features are made from the columns and rows that the recipe names."""
    about, with_recipe = document["data"], "recipe" in document
    if with_recipe:
        recipe, where = document["recipe"], ("recipe.train", "recipe.test")
        _check_recipe(recipe, test)
    else:
        recipe, where = _plain_recipe(document, label, train, test), (str(train), str(test))
    label = str(recipe["label"])
    names = list(dict.fromkeys(each["column"] for each in recipe["features"]))
    writing = Writing.of(recipe)
    maker = Features(recipe["features"], names, writing)
    read_label = label_reader(about.get("classes"), writing)
    no_tests = document["question"]["task"] == "coefficients"
    learned_from = _Rows(recipe["train"], about["train_rows"], where[0])
    tested = _Rows(recipe["test"], 0 if no_tests and with_recipe else about["test_rows"], where[1])
    rows, labels, tests = array("d"), array("d"), array("d")
    copies = {
        at for at, name in enumerate(names) if with_recipe and _spelling(name) == _spelling(label)
    }
    n_rows, both = {"train": 0}, 0
    for number, row in enumerate(read_table(train, [*names, label], writing)):
        n_rows["train"] += 1
        if learned := learned_from.wants(number):
            rows.extend(maker.row(row, count=True))
            labels.append(read_label(row[-1]))
            copies = {at for at in copies if row[at] == row[-1]}
        if test is None and tested.wants(number):
            tests.extend(maker.row(row))
            both += learned
    learned_from.check_all_found(n_rows["train"])
    if copies:
        name = shown(min(names[at] for at in copies))
        raise CertificateError(f"column {name} of its recipe is the label itself, cell by cell")
    if "logarithms" in recipe:
        labels = _logarithms(recipe["logarithms"], labels)
    if test is not None:
        n_rows["test"] = 0
        for number, row in enumerate(read_table(test, names, writing)):
            n_rows["test"] += 1
            if tested.wants(number):
                tests.extend(maker.row(row))
    tested.check_all_found(n_rows["train" if test is None else "test"])
    return Data(
        np.asarray(rows).reshape(len(labels), maker.width),
        labels,
        None if no_tests else np.asarray(tests).reshape(tested.used, maker.width),
        label=label,
        log="logarithms" in recipe,
        columns=[] if with_recipe else names,
        n_rows=n_rows,
        filled=maker.filled,
        both=both,
    )


def _check_recipe(recipe: Any, test: Path | None) -> None:
    """Raise unless a recipe can be followed, and wrong labels leave its features as they are."""
    if (recipe["test_file"] == "test") != (test is not None):
        raise CertificateError("name the test file if it was not the training file, only then")
    columns = {each["column"] for each in recipe["features"]}
    if recipe["label"] in columns:
        raise CertificateError(
            f"its recipe reads the label column {shown(recipe['label'])} as a feature, so that "
            "wrong labels would be wrong features too, and no claim says anything"
        )
    if len(columns) > MOST_COLUMNS:
        raise CertificateError(f"its recipe reads {len(columns):,} columns, over {MOST_COLUMNS:,}")


def _plain_recipe(document: Any, label: str | None, train: Path, test: Path | None) -> Any:
    """Return a recipe of all rows, with every column but the label as a feature, in order."""
    width = document["data"]["features"]
    columns = column_names(train)
    if label not in columns:
        raise CertificateError(f"{train} has no label column {shown(label)}; name it with --label")
    names = [name for name in columns if name != label]
    if len(names) != width:
        raise CertificateError(
            f"it belongs to other data: {train} has {len(names):,} columns beside the label, "
            f"not {width:,}"
        )
    features = [{"column": name, "mean": 0.0, "scale": 1.0} for name in names]
    return {
        "label": label, "features": features, "train": None, "test": [] if test is None else None,
    }  # fmt: skip


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


def _spelling(name: str) -> str:
    """Return a name without differences that people overlook: case, width, composition, spaces."""
    return "".join(unicodedata.normalize("NFKC", name).casefold().split())


# --- what the mathematics is given ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bias:
    """Which labels may be wrong, by how much, and what each row weighs."""

    lower: "array[float]"
    upper: "array[float]"
    weights: "array[float]"
    budget: Budget

    @classmethod
    def of(cls, document: dict[str, Any], n_rows: int) -> "Bias":
        """Return the bias and the weights of a certificate; raise unless they make sense."""
        given = document["bias"]
        lower, upper = (vector(given[end], n_rows, f"bias.{end}") for end in ("lower", "upper"))
        weights = vector(document["model"].get("weights", 1), n_rows, "model.weights")
        if max(lower) > 0 or min(upper) < 0:
            raise CertificateError("lower <= 0 <= upper must hold for every label")
        if min(weights) < 0 or not any(weights):
            raise CertificateError("weights >= 0, not all of them 0, must hold")
        return cls(lower, upper, weights, Budget.of(given["budget"], lower, upper))

    @property
    def labels(self) -> int:
        """How many labels may be wrong at once; raise if the budget is none of that kind."""
        if not self.budget.is_count:
            raise CertificateError(
                "claims about all rows together, and about models that are not linear in their "
                "labels, must have a number of labels as their budget"
            )
        return int(self.budget.said)

    @property
    def movable(self) -> list[bool]:
        """Which labels can be wrong."""
        return [low < high for low, high in zip(self.lower, self.upper, strict=True)]


@dataclass(frozen=True, slots=True)
class Given:
    """Training rows, their labels and which of these may be wrong, and what is asked."""

    kind: str  # of the model
    train: FloatArray  # Features; the numbers of a kernel; no columns for a smoother
    labels: FloatArray
    weights: FloatArray
    lower: FloatArray
    upper: FloatArray
    budget: Budget
    alpha: float
    intercept: bool
    tests: FloatArray | None  # None where claims are about coefficients
    # Sums of coefficients that claims are about; empty if they are about coefficients
    contrasts: list[dict[str, Any]]
    balanced: bool  # Whether scores are measured from the weighted mean of the labels

    @classmethod
    def of(cls, document: dict[str, Any], data: Data, bias: Bias) -> "Given":
        """Return the data of a certificate as arrays, without copying them."""
        model = document["model"]
        contrasts = document["question"].get("contrasts", [])
        for weight in chain.from_iterable(each["weights"] for each in contrasts):
            as_double(weight)
        return cls(
            kind=model["kind"],
            train=np.zeros((len(data.labels), 0)) if data.train is None else data.train,
            labels=np.frombuffer(data.labels),
            weights=np.frombuffer(bias.weights),
            lower=np.frombuffer(bias.lower),
            upper=np.frombuffer(bias.upper),
            budget=bias.budget,
            alpha=as_double(model.get("alpha", model.get("penalty", 0))),
            intercept=model.get("intercept", False),
            tests=data.tests,
            contrasts=contrasts,
            balanced=document["question"].get("threshold") == "balanced",
        )

    def subjects(self, numbers: IntArray) -> FloatArray:
        """Return rows φ, such that claims are about φ·(coefficients, intercept)."""
        if self.tests is not None:
            rows, ends = self.tests[numbers], np.ones(len(numbers))
        else:
            rows, ends = np.zeros((len(numbers), self.train.shape[1])), np.zeros(len(numbers))
            for place, at in enumerate(numbers):
                contrast = self.contrasts[at] if self.contrasts else {"features": at, "weights": 1}
                rows[place, contrast["features"]] = contrast["weights"]
                ends[place] = float(contrast.get("intercept", False))
        return np.column_stack((rows, ends)) if self.intercept else rows

    def mean_label(self) -> tuple[float, float, float]:
        """Return the weighted mean of the labels, its error, and the share of a unit of weight."""
        try:
            total = math.fsum(self.weights)
            shares = self.weights / total * self.labels
            mean, size = math.fsum(shares), math.fsum(np.abs(shares))
        except (OverflowError, ValueError):
            raise UnprovenError("the mean of the labels overflows") from None
        if not math.isfinite(total * size):
            raise UnprovenError("the mean of the labels overflows")
        return mean, 6 * UNIT * size * SAFETY + len(shares) * TINY, 1.0 / total


def as_double(number: float) -> float:
    """Return a number of the file as a double; raise if it is an integer that is none."""
    if float(number) != number:
        raise CertificateError(f"{number} is not a double")
    return float(number)


def distinct(*columns: FloatArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return which rows of a table differ, bit by bit."""
    table = np.ascontiguousarray(np.column_stack(columns))
    table += 0.0  # -0 is 0
    keys = table.view(np.dtype((np.void, table.shape[1] * table.itemsize)))[:, 0]
    _, first, kind, count = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True
    )
    return first, kind, count
