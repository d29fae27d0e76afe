"""Read certificate files with bounded memory, and check them strictly.

`certificate.schema.json` says what a file may contain; the part of JSON Schema that it uses is
implemented here.
"""

import base64
import json
import math
import sys
import zlib
from array import array
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from reprlib import repr as shown  # short, and without control characters
from typing import Any

from unswayed.verify.limits import (
    MOST_BYTES,
    MOST_BYTES_BEYOND_ASCII,
    MOST_VALUES,
    CertificateError,
)

SCHEMA = 3
_LONGEST_NUMBER = 32  # characters
_MOST_FIELDS = 99  # of one object
_TYPES: dict[str, tuple[type, ...]] = {
    "null": (type(None),), "boolean": (bool,), "integer": (int,), "number": (int, float),
    "string": (str,), "array": (list,), "object": (dict,)}  # fmt: skip


def schema_text() -> str:
    """Return the JSON schema of certificate files."""
    return Path(__file__).with_name("certificate.schema.json").read_text(encoding="utf-8")


_SCHEMA = json.loads(schema_text())


def read(path: Path) -> dict[str, Any]:
    """Read a certificate file."""
    text = _text(path)
    try:
        document: dict[str, Any] = json.loads(
            text,
            object_pairs_hook=_object,
            parse_int=_number,
            parse_float=_number,
            parse_constant=_number,
        )
    except (ValueError, RecursionError) as error:
        raise CertificateError(f"{path} is not readable as JSON: {error}") from None
    _check_schema_number(document, path)
    if misfit := _misfit(document, _SCHEMA, "the file"):
        raise CertificateError(f"{path} is not a certificate file: {misfit}")
    _check_contrasts(document)
    _check_claims(document)
    return document


def _text(path: Path) -> str:
    """Return the text of a file; raise if it is too large."""
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES or sum(map(content.count, (b",", b"[", b"{"))) > MOST_VALUES:
        raise CertificateError(f"{path}: more than {MOST_BYTES:,} bytes or {MOST_VALUES:,} values")
    if len(content) > MOST_BYTES_BEYOND_ASCII and not content.isascii():
        raise CertificateError(
            f"{path}: more than {MOST_BYTES_BEYOND_ASCII:,} bytes with characters beyond ASCII; "
            "write those as \\u escapes"
        )
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CertificateError(f"{path} is not readable as JSON: {error}") from None


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
    for claim in claims:
        if ("decision" in claim) == (number or claim["verdict"] == "undecided"):
            raise CertificateError(f"claim {claim['row']} must have a decision, or must not")


# --- packed numbers -------------------------------------------------------------------------


def _unpack(text: str, most: int, code: str, where: str) -> "array[Any]":
    """Return numbers packed by zlib and base64; never makes more than `most` of them."""
    values: array[Any] = array(code)
    size, engine = values.itemsize, zlib.decompressobj()
    try:
        content = engine.decompress(base64.b64decode(text, validate=True), size * most + 1)
        if not engine.eof or engine.unused_data or len(content) > size * most:
            raise ValueError(f"it is not complete, or holds more than {most} values")
        values.frombytes(content)
    except (ValueError, zlib.error) as error:
        raise CertificateError(f"{where} cannot be unpacked: {error}") from None
    if sys.byteorder == "big":
        values.byteswap()
    return values


def vector(value: float | str, n_rows: int, where: str) -> "array[float]":
    """Return one number per row."""
    if isinstance(value, str):
        found = _unpack(value, n_rows, "d", where)
    else:
        found = array("d", [value]) * n_rows
    if len(found) != n_rows or not all(map(math.isfinite, found)):
        raise CertificateError(f"{where} must hold {n_rows} finite numbers")
    return found


def row_numbers(value: Any, most: int, below: int, where: str) -> "array[int]":
    """Return ascending row numbers."""
    packed = isinstance(value, str)
    given = _unpack(value, most, "I", where) if packed else value
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
