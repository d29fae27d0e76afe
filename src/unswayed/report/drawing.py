"""What the report's charts are drawn with: points, short names, colours and dashes."""

from collections.abc import Sequence
from itertools import takewhile
from typing import Any, ClassVar

import altair as alt
from altair.utils.schemapi import debug_mode

from unswayed.words import distinct_texts

unchecked = debug_mode(False)
"""Decorates what draws a chart: altair would look up every part of it in its schema."""


def spec_of(chart: Any) -> dict[str, Any]:
    """Return the specification of a chart."""
    spec: dict[str, Any] = chart.to_dict(validate=False)  # ours: tests draw every one
    return spec


def drawable(text: str) -> str:
    """Return a text with unprintable signs, which Vega's expressions cannot hold, as U+ codes."""
    return "".join(sign if sign.isprintable() else f"U+{ord(sign):04X}" for sign in text)


_DASHES = [[1, 0], [7, 3], [2, 2], [9, 3, 2, 3], [12, 4], [4, 2, 1, 2], [1, 3], [14, 3, 2, 3, 2, 3]]
"""As many as colours: lines are told apart without colour too."""
_NAME = 26  # characters of a name in a legend or on an axis, which would cut its end
_COMMON = 8  # characters: a shorter beginning in common is not worth leaving out


class _Records:
    """Points of a chart, in a form that altair takes as it is: it would copy them many times."""

    _schema: ClassVar[dict[str, str]] = {"type": "array"}

    def __init__(self, values: list[dict[str, Any]]) -> None:
        self._values = values

    def to_dict(self, *_: Any, **__: Any) -> list[dict[str, Any]]:
        return self._values


def points_of(values: list[dict[str, Any]]) -> Any:
    """Return points as altair takes them."""
    return alt.Data(values=_Records(values))  # type: ignore[no-untyped-call]


def short_names(names: Sequence[str]) -> list[str]:
    """Return names as a chart shows them: short and drawable, and different.

    Words that long names have in common at their beginning are left out.
    """
    drawn = [drawable(name) for name in names]
    words = [name.split(" ") for name in drawn]
    same = takewhile(
        lambda each: len(set(each)) == 1, zip(*(each[:-1] for each in words), strict=False)
    )
    common = [each[0] for each in same]
    if len(drawn) > 1 and len(" ".join(common)) >= _COMMON and max(map(len, drawn)) > _NAME:
        drawn = ["…" + " ".join(each[len(common) :]) for each in words]
    return distinct_texts(drawn, _NAME)


def told_apart(field: str, names: list[str]) -> dict[str, Any]:
    """Return colour and dashes of lines, in one legend."""
    legend = alt.Legend(title=None, symbolType="stroke", symbolSize=420)
    dashes = alt.Scale(domain=names, range=_DASHES)
    return {
        "color": alt.Color(field, sort=names, scale=alt.Scale(domain=names), legend=legend),
        "strokeDash": alt.StrokeDash(field, sort=names, scale=dashes, legend=legend),
    }
