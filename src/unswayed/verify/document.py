"""What a certificate file may hold, and nothing more: read with bounded memory, checked strictly.

`certificate.schema.json` says what may stand where; here it is applied, and no more of JSON
Schema than it uses.
"""

import base64
import json
import math
import struct
import zlib
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from reprlib import repr as shown  # short, and without control characters
from typing import Any

MOST_BYTES = 64 * 2**20
MOST_VALUES = 5_000_000
_TYPES: dict[str, tuple[type, ...]] = {
    "null": (type(None),), "boolean": (bool,), "integer": (int,), "number": (int, float),
    "string": (str,), "array": (list,), "object": (dict,)}  # fmt: skip


class CertificateError(ValueError):
    """A file that is no certificate of the data it is held against."""


def schema_text() -> str:
    """Return the JSON schema of certificate files."""
    return Path(__file__).with_name("certificate.schema.json").read_text(encoding="utf-8")


_SCHEMA = json.loads(schema_text())


def read(path: Path) -> dict[str, Any]:
    """Read a certificate file; raise CertificateError unless it is well-formed throughout."""
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES or sum(map(content.count, (b",", b"[", b"{"))) > MOST_VALUES:
        raise CertificateError(f"{path}: more than {MOST_BYTES:,} bytes or {MOST_VALUES:,} values")
    hooks: Any = dict.fromkeys(("parse_int", "parse_float", "parse_constant"), _number)
    try:
        document: dict[str, Any] = json.loads(content, object_pairs_hook=_object, **hooks)
    except (ValueError, RecursionError) as error:
        raise CertificateError(f"{path} is not readable as JSON: {error}") from None
    if misfit := _misfit(document, _SCHEMA, "the file"):
        raise CertificateError(f"{path} is not a certificate file: {misfit}")
    _check_claims(document)
    return document


def _number(text: str) -> float:
    if len(text) > 32 or not math.isfinite(value := float(text)):
        raise CertificateError(f"the number {shown(text)} has no place in it")
    return value if set(text) & set(".eE") else int(text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(pairs) > 99 or len(made := dict(pairs)) < len(pairs):
        raise CertificateError(f"too many fields, or one given twice: {shown(pairs)}")
    return made


def _misfit(value: Any, rule: Any, where: str) -> str | None:
    """Say how a value breaks a rule of the schema; None if it does not."""
    if "$ref" in rule:
        rule = _SCHEMA["$defs"][rule["$ref"].rpartition("/")[2]]
    if "anyOf" in rule:
        reasons = [_misfit(value, each, where) for each in rule["anyOf"]]
        return None if None in reasons else " or else ".join(filter(None, reasons))
    if type(value) not in _TYPES[kind := rule.get("type", "string")]:  # a bool is no integer
        return f"{where} must be of type {kind}, not {shown(value)}"
    if value not in rule.get("enum", [value]):
        return f"{where} must be one of {rule['enum']}, not {shown(value)}"
    if "minimum" in rule and not rule["minimum"] <= value <= rule.get("maximum", math.inf):
        return f"{where} is out of range: {shown(value)}"
    return next(filter(None, _misfits_inside(value, rule, where)), None)


def _misfits_inside(value: Any, rule: Any, where: str) -> Iterator[str | None]:
    if type(value) is list:
        if not rule.get("minItems", 0) <= len(value) <= rule.get("maxItems", math.inf):
            yield f"{where} has {len(value)} items"
        for at, each in enumerate(value):
            yield _misfit(each, rule["items"], f"{where}[{at}]")
    elif type(value) is dict:
        for name in filter(rule["properties"].__contains__, value):  # the schema number first
            yield _misfit(value[name], rule["properties"][name], f"{where}.{name}")
        for name in value.keys() ^ {*rule["required"], *(value.keys() & rule["properties"])}:
            yield f"{where} must{' not' * (name in value)} have a field {shown(name)}"


def _check_claims(document: dict[str, Any]) -> None:
    claims, size = document["claims"], document["data"]["test_rows"]
    if len(claims) != size or {claim["row"] for claim in claims} != set(range(size)):
        raise CertificateError(f"there must be one claim for each of the {size:,} rows, no more")
    number = document["question"]["task"] == "regression"
    for claim in claims:
        if ("decision" in claim) == (number or claim["verdict"] == "undecided"):
            raise CertificateError(f"claim {claim['row']} must have a decision, or must not")


def _unpack(text: str, most: int, code: str, where: str) -> list[Any]:
    """Undo base64, zlib and struct; at most so many values are ever made."""
    size, engine = struct.calcsize(f"<{code}"), zlib.decompressobj()
    try:
        content = engine.decompress(base64.b64decode(text, validate=True), size * most + 1)
        if not engine.eof or engine.unused_data or len(content) > size * most:
            raise ValueError(f"it is not complete, or holds more than {most} values")
        return [value for (value,) in struct.iter_unpack(f"<{code}", content)]
    except (ValueError, zlib.error, struct.error) as error:
        raise CertificateError(f"{where} cannot be unpacked: {error}") from None


def vector(value: float | str, n_rows: int, where: str) -> list[float]:
    """One number per row: the same for all, or packed."""
    found = _unpack(value, n_rows, "d", where) if isinstance(value, str) else [value] * n_rows
    if len(found) != n_rows or not all(map(math.isfinite, found)):
        raise CertificateError(f"{where} must hold {n_rows} finite numbers")
    return found


def row_numbers(value: Any, n_rows: int, where: str) -> list[int]:
    """Ascending row numbers, as they are or packed as steps from one to the next."""
    packed = isinstance(value, str)
    rows = list(accumulate(_unpack(value, n_rows, "I", where), initial=-1))[1:] if packed else value
    if any(a >= b for a, b in zip([-1, *rows], [*rows, n_rows], strict=True)):
        raise CertificateError(f"{where} must be ascending row numbers below {n_rows}")
    return rows
