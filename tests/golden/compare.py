"""Stored results against those of today: floats up to rounding, everything else exactly."""

import base64
import binascii
import difflib
import io
import json
import math
import re
import zlib
from itertools import zip_longest
from typing import Any

import numpy as np

from tests.golden.masks import ERRORS, masked, masked_text
from tests.golden.plain import plain

RELATIVE, ABSOLUTE = 1e-9, 1e-12
LONG = 12  # significant digits of a number in a text from which on it is compared as a float

_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?")
_ROWS = {"train", "test", "up", "down", "overturned"}  # of a certificate file: packed row numbers


def close(stored: float, found: float) -> bool:
    """Return whether two floats are the same up to rounding."""
    return math.isclose(stored, found, rel_tol=RELATIVE, abs_tol=ABSOLUTE)


def differences(name: str, stored: bytes, found: bytes) -> list[str]:
    """Return how the content of a file differs from what is stored, in lines for people."""
    if name.endswith(".proof.npz"):
        return [*_values(_shapes(stored), _shapes(found), name)]
    if name.endswith(".npz"):
        return [*_values(_arrays(stored), _arrays(found), name)]
    if name.endswith(".json"):
        old, new = (masked(unpacked(json.loads(each))) for each in (stored, found))
        return [*_values(old, new, name)]
    old, new = (masked_text(each.decode()) for each in (stored, found))
    return [*_texts(old, new, name)]


def _arrays(content: bytes) -> dict[str, Any]:
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        return {name: [str(file[name].dtype), plain(file[name])] for name in file.files}


def _shapes(content: bytes) -> dict[str, Any]:
    """Return the types and shapes of arrays. Another processor finds other numbers for a proof.

    What matters is that they prove the claims, which is tested with the stored ones.
    """
    with np.load(io.BytesIO(content), allow_pickle=False) as file:
        return {name: [str(file[name].dtype), list(file[name].shape)] for name in file.files}


def _values(stored: Any, found: Any, place: str):
    """Yield where plain values differ."""
    if isinstance(stored, dict) and isinstance(found, dict):
        for key in sorted({*stored, *found}):
            if key not in stored or key not in found:
                yield f"{place}.{key}: only {'stored' if key in stored else 'found'}"
            elif key in ERRORS:
                yield from _sizes(stored[key], found[key], f"{place}.{key}", ERRORS[key])
            else:
                yield from _values(stored[key], found[key], f"{place}.{key}")
    elif isinstance(stored, list) and isinstance(found, list):
        if len(stored) != len(found):
            yield f"{place}: {len(stored)} stored, {len(found)} found"
        for at, (old, new) in enumerate(zip(stored, found, strict=False)):
            yield from _values(old, new, f"{place}[{at}]")
    elif type(stored) is not type(found):
        yield f"{place}: stored {stored!r}, found {found!r}"
    elif isinstance(stored, float):
        if not close(stored, found):
            yield f"{place}: stored {stored!r}, found {found!r}"
    elif isinstance(stored, str):
        yield from _texts(stored, found, place)
    elif stored != found:
        yield f"{place}: stored {stored!r}, found {found!r}"


def _sizes(stored: Any, found: Any, place: str, factor: float):
    """Yield where rounding errors differ by more than a factor."""
    if not isinstance(stored, list) or not isinstance(found, list):
        stored, found = [stored], [found]
    for at, (old, new) in enumerate(zip_longest(stored, found)):
        if isinstance(old, float) and isinstance(new, float):
            same = old / factor - ABSOLUTE <= new <= old * factor + ABSOLUTE
        else:
            same = old == new
        if not same:
            yield f"{place}[{at}]: stored {old!r}, found {new!r}, more than a factor of {factor}"


def _texts(stored: str, found: str, place: str):
    """Yield the lines in which texts differ, but for the last digits of long numbers."""
    if stored == found:
        return
    old, new = stored.split("\n"), found.split("\n")
    if len(old) == len(new):
        new = [was if _same_line(was, now) else now for was, now in zip(old, new, strict=True)]
    if old == new:
        return
    lines = [*difflib.unified_diff(old, new, "stored", "found", n=0, lineterm="")][2:]
    yield "\n".join([f"{place}:", *lines])


def _same_line(stored: str, found: str) -> bool:
    if stored == found:
        return True
    if _NUMBER.sub("#", stored) != _NUMBER.sub("#", found):
        return False
    pairs = zip(_NUMBER.findall(stored), _NUMBER.findall(found), strict=True)
    return all(old == new or _same_number(old, new) for old, new in pairs)


def _same_number(stored: str, found: str) -> bool:
    digits = max(sum(map(str.isdigit, each.split("e")[0].lstrip("0."))) for each in (stored, found))
    return digits >= LONG and close(float(stored), float(found))


def unpacked(value: Any, key: str = "", above: str = "") -> Any:
    """Return a certificate document with its packed arrays as lists; others as they are."""
    if isinstance(value, dict):
        return {name: unpacked(each, name, key) for name, each in value.items()}
    if isinstance(value, list):
        return [unpacked(each, key, above) for each in value]
    if not isinstance(value, str) or not value.startswith("eN"):
        return value
    try:
        content = zlib.decompress(base64.b64decode(value, validate=True))
    except (binascii.Error, zlib.error):
        return value
    kind = "<u4" if key in _ROWS and above != "region" else "<f8"
    return np.frombuffer(content, kind).tolist()
