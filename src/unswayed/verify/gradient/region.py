"""The region of a certificate: whether it holds, and the smaller one that follows."""

from typing import Any

import numpy as np

from unswayed.verify.document import CertificateError, vector
from unswayed.verify.floating.rounding import FloatArray, UnprovenError
from unswayed.verify.gradient.box import Box, Centre
from unswayed.verify.gradient.problem import Labels, Problem
from unswayed.verify.gradient.remainder import COARSE, Remainder
from unswayed.verify.integers import Track

_SHRINKS = 6
_WORTH_IT = 0.999
_WORTH_MUCH = 0.98
_TIGHTENINGS = 3
_TIGHTENED = 1500  # distinct rows up to which remainders of their own make the region smaller


def read_region(
    region: dict[str, Any], problem: Problem
) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """Return the parameters of a certificate's region, and how far margins move down and up."""
    if "down" not in region:
        return None
    size, ends = len(problem.kind), []
    for name in ("down", "up"):
        given = np.frombuffer(vector(region[name], size, f"region.{name}"))
        found = given[problem.first]
        if given.min() < 0 or not np.array_equal(found[problem.kind], given):
            raise CertificateError(
                f"region.{name} must be 0 or more, and the same for equal training rows"
            )
        ends.append(found)
    return read_parameters(region, problem), ends[0], ends[1]


def read_offsets(region: dict[str, Any], width: int) -> FloatArray | None:
    """Return what a certificate takes off the features; None if nothing."""
    if "offsets" not in region:
        return None
    return np.frombuffer(vector(region["offsets"], width, "region.offsets"))


def read_parameters(region: dict[str, Any], problem: Problem) -> FloatArray:
    """Return the parameters of a certificate, in scaled units."""
    size = len(problem.power)
    given = vector(region["parameters"], size, "region.parameters")
    return problem.parameters(np.frombuffer(given))


def proven_box(
    problem: Problem,
    labels: Labels,
    given: tuple[FloatArray, FloatArray, FloatArray],
    budget: int,
    track: Track,
) -> Box:
    """Return the box that follows from a region."""
    parameters, down, up = given
    box = Box(problem, labels, Centre.of(problem, labels, parameters), down, up)
    less, more = box.margins(budget, track)
    # Rows of zeros have margin 0 whatever the parameters are.
    still = ~problem.design.any(axis=1)
    outside = np.flatnonzero(~(still | ((less < down) & (more < up))))
    if len(outside):
        row = int(problem.first[outside].min())
        raise UnprovenError(
            f"labels may lead out of the region of the file, of {len(outside):,} distinct training "
            f"rows, the first of which is {row}"
        )
    for step in range(_SHRINKS):
        before = box.down.sum() + box.up.sum()
        down, up = np.minimum(box.down, less), np.minimum(box.up, more)
        down, up = np.where(still, 0.0, down), np.where(still, 0.0, up)
        box = Box(problem, labels, box.centre, down, up)
        if step == _SHRINKS - 1 or down.sum() + up.sum() > _WORTH_IT * before:
            break
        less, more = box.margins(budget, track)
    if len(problem.first) > _TIGHTENED:
        return box
    for _ in range(_TIGHTENINGS):
        before = box.down.sum() + box.up.sum()
        box = tightened(box, budget)
        if box.down.sum() + box.up.sum() > _WORTH_MUCH * before:
            break
    return box


def tightened(box: Box, budget: int) -> Box:
    """Return a box cut down by what follows from remainders of its own rows."""
    rest, design = Remainder(box, budget, COARSE), box.problem.design
    up = np.minimum(box.up, rest.reach(design, box.up))
    down = np.minimum(box.down, rest.reach(-design, box.down))
    return Box(box.problem, box.labels, box.centre, down, up)
