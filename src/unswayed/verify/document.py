"""Read certificate files and what is beside them, strictly and with bounded memory.

Sizes are checked before anything of that size is made; docs/certificates.md lists the limits.
`certificate.schema.json` says what a file may contain; the part of JSON Schema that it uses is
implemented here.
"""

import base64
import hashlib
import json
import math
import re
import sys
import zipfile
import zlib
from array import array
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from reprlib import repr as shown  # short, and without control characters
from typing import Any

import numpy as np

from unswayed.verify.doubles import FloatArray

MOST_BYTES = 2**26  # of a certificate file
MOST_BYTES_BEYOND_ASCII = 2**24  # of one with other characters, which take up to four bytes each
MOST_VALUES = 3_000_000  # in a certificate file
MOST_COLUMNS = 100_000  # of a table that a recipe reads
MOST_NUMBERS = 2**23  # that a certificate is about
MOST_PROVING = 2**24  # in the file that proves its claims
MOST_TOGETHER = 2**15  # test rows of a collective claim

MOST_TEXT = 2**22  # characters of a cell, and of a row of a CSV file
MOST_LINES = 2**24  # of a CSV file
MOST_UNPACKED = 2**30  # bytes of a table, after decompression


class CertificateError(ValueError):
    """A file that is malformed, does not belong to the data, or is too large to be checked."""


SCHEMA = 3
_LONGEST_NUMBER = 32  # characters
_MOST_FIELDS = 99  # of one object
_BLOCK = 2**15  # bytes read at a time
_LONGEST_HEADER = 2**10  # bytes, of an array
_LONGEST_DIRECTORY = 2**16  # bytes: a few members take a few hundred
_HEADER = re.compile(  # the form that NumPy writes
    rb"\{'descr': '<f8', 'fortran_order': (False|True), "
    rb"'shape': \((\d{1,12}), ?(\d{0,12})\), \} *\n"
)
_TYPES: dict[str, tuple[type, ...]] = {
    "null": (type(None),), "boolean": (bool,), "integer": (int,), "number": (int, float),
    "string": (str,), "array": (list,), "object": (dict,)}  # fmt: skip


def schema_text() -> str:
    """Return the JSON schema of certificate files."""
    return Path(__file__).with_name("certificate.schema.json").read_text(encoding="utf-8")


_SCHEMA = json.loads(schema_text())


def read(path: Path) -> dict[str, Any]:
    """Read a certificate file."""
    content, numbers = _content(path), ("parse_int", "parse_float", "parse_constant")
    hooks: dict[str, Any] = dict.fromkeys(numbers, _number)
    try:
        document: dict[str, Any] = json.loads(
            content.decode("utf-8"), object_pairs_hook=_object, **hooks
        )
    except (ValueError, RecursionError) as error:
        raise CertificateError(f"{path} is not readable as JSON: {error}") from None
    _check_schema_number(document, path)
    if misfit := _misfit(document, _SCHEMA, "the file"):
        raise CertificateError(f"{path} is not a certificate file: {misfit}")
    _check_contrasts(document)
    _check_classes(document)
    _check_claims(document)
    return document


def _content(path: Path) -> bytes:
    """Return what a file holds; raise if it is too large."""
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES or sum(map(content.count, (b",", b"[", b"{"))) > MOST_VALUES:
        raise CertificateError(f"{path}: more than {MOST_BYTES:,} bytes or {MOST_VALUES:,} values")
    if len(content) > MOST_BYTES_BEYOND_ASCII and not content.isascii():
        raise CertificateError(
            f"{path}: more than {MOST_BYTES_BEYOND_ASCII:,} bytes with characters beyond ASCII; "
            "write those as \\u escapes"
        )
    return content


def _number(text: str) -> float:
    """Return a number of the file; raise if it is too long or not finite."""
    if len(text) > _LONGEST_NUMBER or not math.isfinite(value := float(text)):
        raise CertificateError(f"the number {shown(text)} has no place in it")
    return value if set(text) & set(".eE") else int(text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of the file; raise if a field is given twice, or there are too many."""
    if len(pairs) > _MOST_FIELDS or len(made := dict(pairs)) < len(pairs):
        raise CertificateError(f"too many fields, or one given twice: {shown(pairs)}")
    if type(verdict := made.get("verdict")) is str:
        made["verdict"] = sys.intern(verdict)  # one text for all claims
    return made


def _check_schema_number(document: Any, path: Path) -> None:
    """Raise if the file was written for another version of the schema."""
    number = document.get("schema") if type(document) is dict else None
    if type(number) is int and number != SCHEMA:
        what = (
            "it was written by version 0.2 of the program, or an earlier one: check it with that "
            "version or write it again with this one"
            if number < SCHEMA
            else "check it with a newer version of the program"
        )
        raise CertificateError(f"{path} has schema {number}, and this is {SCHEMA}; {what}")


def _misfit(value: Any, rule: Any, where: str) -> str | None:
    """Return how a value breaks a rule of the schema; None if it does not."""
    if "$ref" in rule:
        rule = _SCHEMA["$defs"][rule["$ref"].rpartition("/")[2]]
    if "anyOf" in rule:
        reasons = [_misfit(value, each, where) for each in rule["anyOf"]]
        return None if None in reasons else " or else ".join(filter(None, reasons))
    kind = rule.get("type", "string")
    if type(value) not in _TYPES[kind]:  # a bool is no integer
        return f"{where} must be of type {kind}, not {shown(value)}"
    if value not in rule.get("enum", [value]):
        return f"{where} must be one of {rule['enum']}, not {shown(value)}"
    if "minimum" in rule and not rule["minimum"] <= value <= rule.get("maximum", math.inf):
        return f"{where} is out of range: {shown(value)}"
    if "maxLength" in rule and len(value) > rule["maxLength"]:
        return f"{where} has more than {rule['maxLength']} characters"
    return next(filter(None, _misfits_inside(value, rule, where)), None)


def _misfits_inside(value: Any, rule: Any, where: str) -> Iterator[str | None]:
    """Yield how items of a list or fields of an object break a rule; None for those that do not."""
    if type(value) is list:
        if not rule.get("minItems", 0) <= len(value) <= rule.get("maxItems", math.inf):
            yield f"{where} has {len(value)} items"
        for at, each in enumerate(value):
            yield _misfit(each, rule["items"], f"{where}[{at}]")
    elif type(value) is dict:
        for name, each in value.items():
            if name in rule["properties"]:
                yield _misfit(each, rule["properties"][name], f"{where}.{name}")
            else:
                yield f"{where} must not have a field {shown(name)}"
        for name in rule["required"]:
            if name not in value:
                yield f"{where} must have a field {shown(name)}"


def _check_contrasts(document: dict[str, Any]) -> None:
    """Raise unless every contrast names some of the features, each once, and weighs each."""
    for at, contrast in enumerate(document["question"].get("contrasts", ())):
        features, width = contrast["features"], document["data"]["features"]
        ascending = all(a < b for a, b in pairwise([-1, *features, width]))
        if not ascending or len(features) != len(contrast["weights"]):
            raise CertificateError(
                f"contrast {at} must have ascending feature numbers below {width:,}, and one "
                "weight for each"
            )
        if contrast.get("intercept") and not document["model"].get("intercept"):
            raise CertificateError(f"contrast {at} counts an intercept that the model has not")


def _check_classes(document: dict[str, Any]) -> None:
    """Raise unless classes are as many as the question has, and claims have the fields for them."""
    question, named = document["question"], document["data"].get("classes")
    several, count = "to" in question, len(question.get("to", "01"))
    if named and not len(named["values"]) == len(named["numbers"]) == count:
        raise CertificateError(f"data.classes must have {count} values and numbers")
    if named and several and named["numbers"] != list(range(count)):
        raise CertificateError("several classes must be numbered from 0")
    for claim in document["claims"]:
        moves = claim.get("witness", {"rows": ()} if several else {})
        other = {"high", "enough"} & claim.keys() if several else "rival" in claim
        if other or ("rows" in moves) != several or claim.get("decision", 0) >= count:
            raise CertificateError(f"claim {claim['row']} is not one about {count} classes")


def _check_claims(document: dict[str, Any]) -> None:
    """Raise unless there is one claim per row, with a decision where there should be one."""
    claims, size = document["claims"], document["data"]["test_rows"]
    if "collective" in document:
        if claims:
            raise CertificateError("beside a collective claim there must be no others")
        return
    if len(claims) != size or {claim["row"] for claim in claims} != set(range(size)):
        raise CertificateError(f"there must be one claim for each of the {size:,} rows, no more")
    number = document["question"]["task"] in ("regression", "counts")
    budget = document["bias"]["budget"]
    whole = type(budget) is int or budget["kind"] not in ("total", "cost")
    for claim in claims:
        bounds = claim.get("minimum_budget", 0)
        bounds = bounds if type(bounds) is list else [bounds]
        if whole and any(type(each) is float for each in bounds):
            raise CertificateError(f"the minimum budget of claim {claim['row']} must be whole")
        if "witness" in claim and "enough" in claim:
            raise CertificateError(f"claim {claim['row']} must have a witness, or what is enough")
        if ("decision" in claim) == (number or claim["verdict"] == "undecided"):
            raise CertificateError(f"claim {claim['row']} must have a decision, or must not")


# --- packed numbers -------------------------------------------------------------------------


def _unpack(text: str, most: int, code: str, where: str) -> bytes:
    """Return numbers packed by zlib and base64; never makes more than `most` of them."""
    size, engine = np.dtype(code).itemsize, zlib.decompressobj()
    try:
        content = engine.decompress(base64.b64decode(text, validate=True), size * most + 1)
        if not engine.eof or engine.unused_data or len(content) > size * most:
            raise ValueError(f"it is not complete, or holds more than {most} values")
        return np.frombuffer(content, f"<{code}").astype(code).tobytes()
    except (ValueError, zlib.error) as error:
        raise CertificateError(f"{where} cannot be unpacked: {error}") from None


def vector(value: float | str, n_rows: int, where: str) -> "array[float]":
    """Return one number per row."""
    if isinstance(value, str):
        found = array("d", _unpack(value, n_rows, "f8", where))
    else:
        found = array("d", [value]) * n_rows
    if len(found) != n_rows or not all(map(math.isfinite, found)):
        raise CertificateError(f"{where} must hold {n_rows} finite numbers")
    return found


def row_numbers(value: Any, most: int, below: int, where: str) -> "array[int]":
    """Return ascending row numbers; packed ones are the steps between them, the first from -1."""
    packed = isinstance(value, str)
    given = array("I", _unpack(value, most, "u4", where)) if packed else value
    if len(given) > most:
        raise CertificateError(f"{where} has more than {most:,} row numbers")
    rows, last = array("Q"), -1
    for number in given:
        row = last + number if packed else number
        if not last < row < below:
            raise CertificateError(f"{where} must be ascending row numbers below {below:,}")
        rows.append(row)
        last = row
    return rows


# --- arrays beside the file -----------------------------------------------------------------


def read_proof(document: dict[str, Any], certificate: Path) -> dict[str, FloatArray]:
    """Return what the file carries to prove its claims, by name; nothing if it carries nothing.

    Nothing of it is believed: each number is a hint that makes a claim provable, or does not.
    """
    if "proof" not in document:
        return {}
    about = document["proof"]
    shapes = {each["name"]: tuple(each["shape"]) for each in about["arrays"]}
    if sum(map(math.prod, shapes.values())) > MOST_PROVING:
        raise CertificateError(f"its proof has more than {MOST_PROVING:,} numbers")
    path = certificate.with_name(about["file"])
    if path.name != about["file"] or path.name in ("", ".", ".."):
        raise CertificateError("its proof must be a file beside it")
    if not path.is_file():
        raise CertificateError(
            f"{path} is missing: the proof of this certificate, which was written beside it"
        )
    with path.open("rb") as file:
        small = path.stat().st_size <= 16 * MOST_PROVING
        if not small or hashlib.file_digest(file, "sha256").hexdigest() != about["sha256"]:
            raise CertificateError(f"{path} is not the proof of this certificate: its hash differs")
    arrays = read_arrays(path, shapes)
    if not all(np.isfinite(each).all() for each in arrays.values()):
        raise CertificateError(f"{path} holds NaN or infinity")
    return arrays


def sized(
    proof: dict[str, FloatArray], names: tuple[str, ...], shape: tuple[int, int | None]
) -> FloatArray:
    """Return an array of the proof; raise unless it has this shape, zeros if there is none."""
    found = next((proof[name] for name in names if name in proof), None)
    if found is None:
        return np.zeros((shape[0], shape[1] or 0))
    if found.ndim != 2 or len(found) != shape[0] or shape[1] not in (None, found.shape[1]):
        raise CertificateError(f"{names[0]!r} of the proof is {found.shape}, not {shape}")
    return found


def solution_of(
    hint: FloatArray, exact: list[str] | None, shift: FloatArray | None
) -> list[Fraction]:
    """Return a solution of the file: in fractions if it gives them, else in doubles.

    Those in doubles are for features less a `shift`, if there is one.
    """
    if exact is None:
        found = [Fraction(float(each)) for each in hint]
        if shift is not None and len(found) == len(shift) + 1:
            moved = zip(found, shift.tolist(), strict=False)
            found[-1] -= sum((each * Fraction(t) for each, t in moved), Fraction(0))
        return found
    try:
        below, *above = (int(each, 16) for each in exact)
        return [Fraction(each, below) for each in above]
    except (ValueError, ZeroDivisionError):
        raise CertificateError("a solution in fractions is malformed") from None


def read_arrays(path: Path, shapes: dict[str, tuple[int, ...]]) -> dict[str, FloatArray]:
    """Read arrays of doubles from an .npz file, a zip file of .npy files: a header, then numbers.

    Headers are compared with the shapes first, so that nothing larger is ever unpacked.
    """
    try:
        _check_directory(path)
        with zipfile.ZipFile(path) as archive:
            return {name: _array(archive, name, shape) for name, shape in shapes.items()}
    except CertificateError:
        raise
    except Exception as error:  # whatever a damaged file leads to
        if isinstance(error, OSError) and error.filename is not None:
            raise  # there is no such file, or it may not be read
        raise CertificateError(f"{path} is not the .npz file of save(): {error}") from None


def _check_directory(path: Path) -> None:
    """Raise unless the list of members, which zipfile reads whole, is short and comes last."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 42))
        end = file.read(42)
    if len(end) < 22 or end[-22:-18] != b"PK\5\6" or end[-2:] != b"\0\0":
        raise ValueError("it is no zip file, or has a comment")
    if int.from_bytes(end[-10:-6], "little") > _LONGEST_DIRECTORY or end[:4] == b"PK\6\7":
        raise ValueError("it has too many members")


def _array(archive: zipfile.ZipFile, name: str, shape: tuple[int, ...]) -> FloatArray:
    """Read one array, block by block; raise unless it has this shape."""
    member = archive.getinfo(f"{name}.npy")
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError("it is packed in another way than NumPy's")
    with archive.open(member) as content:
        start = content.read(10)
        length = int.from_bytes(start[8:10], "little")
        header = content.read(length) if length < _LONGEST_HEADER else b""
        match = _HEADER.fullmatch(header)
        found = tuple(int(part) for part in match.groups()[1:] if part) if match else ()
        if start[:8] != b"\x93NUMPY\1\0" or match is None or len(found) != len(shape):
            raise CertificateError(
                f"{archive.filename} must hold doubles: train (2-d), labels (1-d), test (2-d)"
            )
        if found != shape:
            raise CertificateError(f"it belongs to other data: {name!r} is {found}, not {shape}")
        made = bytearray()
        while left := 8 * math.prod(shape) - len(made):
            block = content.read(min(left, _BLOCK))
            if not block:
                raise ValueError(f"{name} ends early")
            made += block
        if content.read(1):
            raise CertificateError(f"it belongs to other data: {name!r} goes on after its end")
    numbers = np.frombuffer(made, "<f8").astype(np.float64, copy=False)
    return np.ascontiguousarray(numbers.reshape(shape, order="F" if match[1] == b"True" else "C"))
