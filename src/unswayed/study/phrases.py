"""Phrases: what is asked of the labels of a file, in words."""

import math
from collections.abc import Mapping

from unswayed.study.request import Request
from unswayed.study.target import Target
from unswayed.words import written


def bias_in_words(request: Request, target: Target, selected: str) -> str:
    """Describe which labels may be wrong and how."""

    def errors(direction: str | None = request.direction) -> str:
        if request.shift is None:
            return _changes(target, request.to) if target.several else _flips(target, direction)
        return request.shift.in_words(direction, log=request.log) + _clip(request)

    what = errors() if request.stated is None else request.stated.in_words(errors)
    if request.only is not None:
        what += f", in {selected} where {request.only}; every other label is taken to be right"
    return what + ("; mistakes among the other classes change nothing" if target.rest else "")


def _changes(target: Target, to: Mapping[str, tuple[str, ...]]) -> str:
    """Describe which of several classes labels may really be."""
    allowed = target.changes(to)
    if allowed is None:
        return "any label may really be any other class"
    names = target.class_names
    parts = [
        f"a label {names[int(each)]!r} may really be "
        + " or ".join(repr(names[int(other)]) for other in others)
        for each, others in allowed.items()
    ]
    rest = [] if len(allowed) == len(names) else ["labels of every other class are right"]
    return "; ".join([*parts, *rest])


def _flips(target: Target, direction: str | None) -> str:
    negative, positive = target.class_names
    match direction:
        case "up":
            other = "any other label" if target.rest else f"a label {negative!r}"
            return f"{other} may really be {positive!r}"
        case "down":
            other = "another class" if target.rest else repr(negative)
            return f"a label {positive!r} may really be {other}"
    if target.rest:
        return (
            f"a label {positive!r} may really be another class, and any other label may really be "
            f"{positive!r}"
        )
    return "any label may really be the other class"


def _clip(request: Request) -> str:
    """Describe the range that labels cannot leave, if there is one."""
    if request.clip is None:
        return ""
    low, high = request.clip
    if not math.isfinite(high):
        return f", but never below {written(low)}"
    if not math.isfinite(low):
        return f", but never above {written(high)}"
    return f", but never outside {written(low)} to {written(high)}"


def kept_in_words(request: Request, target: Target) -> str:
    """Describe what robust rows keep."""
    if target.task == "classification":
        return "keep their prediction"
    if request.radius is None:
        return "stay within a radius of their prediction"
    if request.log:
        return f"stay within a factor of {written(request.radius, plus=1)} of their prediction"
    return f"stay within {written(request.radius)} of their prediction"
