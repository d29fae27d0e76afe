"""What certificate files state of models whose labels are in the gradient: their region.

A file must be provable by a checker that rounds in another way and knows nothing of this program.
So the region is a little wider than the engine's own, such that it maps into itself with room to
spare, and ranges of scores are wider by a thousandth.
"""

import numpy as np

from unswayed._typing import FloatArray, IntArray
from unswayed.engines.region.engine import Directions, SecantEngine
from unswayed.engines.region.region import Region
from unswayed.exceptions import InputError
from unswayed.margins.decisions import Margins
from unswayed.results.certificates import CertificateSet, Verdict

_WIDER = 1.001  # than what the engine proved
_ROOM = 1.0 + 1e-5  # between a region and what follows from it
_LEAST = 1e-7  # log-odds added to every row of a region: far more than anybody's rounding
_HAIR = 1e-9  # log-odds added to ranges of scores, relative to scores beyond 1
_STEPS = 40
_DIGITS = 2.0**20  # of the numbers of a region, rounded up: the file is half as long


def stated_region(engine: SecantEngine, labels: int) -> dict[str, FloatArray]:
    """Return the region of so many labels, as a certificate file states it."""
    problem = engine.problem
    made = {"parameters": engine.centre.parameters * problem.scale}
    if problem.offset.any():
        made["offsets"] = problem.offset
    region = engine.region(labels, 0)
    if region is not None:
        down, up = _roomy(region, labels)
        made |= {"down": down[problem.group], "up": up[problem.group]}
    return made


def _roomy(region: Region, labels: int) -> tuple[FloatArray, FloatArray]:
    """Return a wider box that maps into itself with room to spare."""
    problem, still = region.problem, region.problem.sizes == 0
    down, up = (
        _rounded_up(np.where(still, 0.0, _WIDER * each + _LEAST))
        for each in (region.down, region.up)
    )
    for _ in range(_STEPS):
        box = Region(problem, region.labels, region.centre, region.base, down, up)
        more, less = (_ROOM * each for each in box.reach(problem.design, labels))
        if ((more < up) & (less < down) | still).all():
            return down, up
        down, up = (
            _rounded_up(np.where(still, 0.0, np.maximum(old, _WIDER * new)))
            for old, new in ((down, less), (up, more))
        )
    raise InputError(
        "the region of these certificates is proven, but with so little room to spare that no "
        "other program could check it; certify for a smaller budget"
    )


def _rounded_up(values: FloatArray) -> FloatArray:
    """Return numbers rounded up to a few binary digits."""
    share, power = np.frexp(values)
    return np.asarray(np.ldexp(np.ceil(share * _DIGITS) / _DIGITS, power))


def wider_ends(certificates: CertificateSet, margins: Margins) -> tuple[FloatArray, FloatArray]:
    """Return ranges of scores that are wider by a thousandth, but as safe as they were."""
    robust = certificates.verdict == Verdict.ROBUST
    ends = []
    for end, sign, margin in (
        (certificates.low, -1.0, margins.down),
        (certificates.high, 1.0, margins.up),
    ):
        with np.errstate(invalid="ignore"):
            reach = np.abs(end - certificates.score)
            extra = (_WIDER - 1.0) * reach + _HAIR * (1.0 + np.abs(certificates.score))
            left = np.where(robust & np.isfinite(margin), (margin - reach) / 2, np.inf)
            extra = np.minimum(extra, np.maximum(left, 0.0))
            ends.append(np.nextafter(end + sign * extra, sign * np.inf))
    return ends[0], ends[1]


def safe_labels(
    engine: SecantEngine, directions: Directions, margins: Margins, labels: int, effort: int
) -> IntArray:
    """Return how many labels, below a number, the region of that number proves to be harmless."""
    low = np.zeros(len(directions), dtype=np.intp)
    high = np.full(len(directions), labels)
    if engine.region(labels, effort) is None:
        return low
    while (going := np.flatnonzero(high - low > 1)).size:
        middle = (low + high)[going] // 2
        for many in np.unique(middle).tolist():
            here = going[middle == many]
            bounds = engine.outer_bounds(directions.take(here), many, effort, within=labels)
            np.multiply(bounds.outer_up, _WIDER, out=bounds.outer_up)
            np.multiply(bounds.outer_down, _WIDER, out=bounds.outer_down)
            within = engine.within(bounds, margins[here])
            low[here[within]], high[here[~within]] = many, many
    return low
