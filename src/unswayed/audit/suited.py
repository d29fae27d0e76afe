"""What is predicted, where the labels suit what was asked."""

from dataclasses import replace

import numpy as np
import pyarrow as pa

from unswayed._typing import IntArray
from unswayed.audit.request import Request
from unswayed.audit.target import Target
from unswayed.exceptions import InputError
from unswayed.words import as_text, shorten


def target_of(request: Request, train: tuple[pa.Table, IntArray], *, certified: bool) -> Target:
    """Recognise what is predicted from training rows.

    Parameters
    ----------
    request : Request
    train : pair
        Training rows, and their numbers in the file.
    certified : bool
        Whether predictions are certified, and not coefficients alone.

    Returns
    -------
    Target

    Raises
    ------
    InputError
        If what may be wrong does not suit the labels, or a label has no logarithm or is outside
        the range of ``--clip``.
    """
    column = train[0].column(request.label)
    target = Target.of(request.label, column, request.task, log=request.log)
    _check_bias(request, target, certified)
    _check_labels(request, target, train)
    return target


def _check_bias(request: Request, target: Target, certified: bool) -> None:
    if target.task == "regression":
        if request.shift is None:
            raise InputError(
                f"the label {shorten(target.label)!r} is a number, so say how far it may be "
                "off: pass --shift 2000, --shift 0:2000 for labels that are too low, or "
                "--shift 5% for a share of each"
            )
        if request.log and not request.shift.relative:
            raise InputError(
                "--log: on the scale of logarithms a label is off by a factor, so write "
                "--shift as a share, such as 5% for a factor of 1.05"
            )
        if request.threshold is not None:
            raise InputError(
                f"--threshold is for classes, but the label {shorten(target.label)!r} is a "
                "number; leave it out"
            )
        if request.radius is None and certified and request.method != "exact":
            raise InputError(
                f"--method {request.method} has ranges that are wider than what labels can "
                "do, so it needs a radius to decide by: pass --radius, or leave --method out"
            )
        return
    if request.threshold == "balanced" and request.method in ("box", "sandwich"):
        raise InputError(
            f"--method {request.method} bounds coefficients, which does not bound scores "
            "measured from the share of positive labels; use --method exact or auto"
        )
    given = {
        "--shift": request.shift,
        "--radius": request.radius,
        "--clip": request.clip,
        "--log": request.log or None,
    }
    for option in (name for name, value in given.items() if value is not None):
        raise InputError(
            f"{option} is for labels that are numbers, but {shorten(target.label)!r} has the "
            f"two classes {' and '.join(map(repr, target.class_names))}, which are flipped; "
            f"leave {option} out, or pass --task regression"
        )


def _check_labels(request: Request, target: Target, train: tuple[pa.Table, IntArray]) -> None:
    table, numbers = train
    if target.task == "classification" or not (request.log or request.clip):
        return
    values = replace(target, log=False).encode(table.column(target.label))
    low, high = request.clip or (-np.inf, np.inf)
    rules = (
        (request.log & (values <= 0), "--log: only positive numbers have a logarithm"),
        ((values < low) | (values > high), "--clip: no label may be outside the range"),
    )
    for broken, rule in rules:
        for at in np.flatnonzero(broken)[:1]:
            others = int(broken.sum()) - 1
            more = f", and {others:,} more are like it" if others else ""
            raise InputError(
                f"{rule}, but {shorten(target.label)!r} is {as_text(float(values[at]))} in row "
                f"{numbers[at]:,} of {request.train}{more}; mend such labels or leave their "
                f"rows out, or {'pass a wider range' if request.clip else 'leave --log out'}"
            )
