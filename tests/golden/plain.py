"""Results as plain values, and these as readable JSON."""

import json
import math
import textwrap
from typing import Any

import numpy as np

WIDTH = 100


def plain(value: Any) -> Any:
    """Return numbers, texts, lists and dicts with the same content; inf and NaN become texts."""
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no plain form here: {value!r}")


def dumps(value: Any, indent: str = "") -> str:
    """Return JSON with sorted keys, in which short lists and dicts stand on one line."""
    short = json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False)
    if not isinstance(value, dict | list) or len(indent) + len(short) <= WIDTH:
        return short
    inner = indent + " "
    if isinstance(value, dict):
        lines = [
            f"{inner}{json.dumps(key, ensure_ascii=False)}: {dumps(value[key], inner)}"
            for key in sorted(value)
        ]
        return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
    if all(isinstance(each, int | float | None) for each in value):
        body = textwrap.fill(
            short[1:-1], WIDTH, initial_indent=inner, subsequent_indent=inner,
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip
        return f"[\n{body}\n{indent}]"
    return "[\n" + ",\n".join(inner + dumps(each, inner) for each in value) + f"\n{indent}]"
