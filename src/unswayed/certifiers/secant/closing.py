"""Finding a region that no admissible labels lead out of."""

from collections.abc import Callable

import numpy as np

from unswayed.certifiers.secant.moves import Moves
from unswayed.certifiers.secant.region import Region
from unswayed.models.gradient.problem import Centre, GradientProblem, Labels
from unswayed.words import number_end

_WIDER = 1.02  # a box is tried that is so much wider than what followed from the last one
_STEPS = 40
_WIDEST = 200.0  # log-odds: no use in going on
_SHRINKS = 3  # of a region that is proven, to what follows from it
_WORTH_IT = 0.999


def closed_region(
    problem: GradientProblem,
    labels: Labels,
    centre: Centre,
    moves: Moves,
    many: int,
    progress: Callable[[str], object] | None = None,
) -> Region | None:
    """Return a small region that no `budget` label changes leave; None if none is found."""
    tell = progress or (lambda line: None)
    nothing = np.zeros(len(problem.first))
    region = Region(problem, labels, centre, moves, nothing, nothing)
    up, down = region.reach(problem.design, many)
    # Rows of zeros have margin 0 whatever the parameters are.
    still = problem.sizes == 0
    for step in range(_STEPS):
        wide_up, wide_down = (np.where(still, 0.0, _WIDER * each) for each in (up, down))
        widest = max(wide_up.max(initial=0.0), wide_down.max(initial=0.0))
        tell(f"region, step {step + 1}: margins move by up to {number_end(widest, 1, 3)}")
        if not widest < _WIDEST:
            return None
        region = Region(problem, labels, centre, moves, wide_down, wide_up)
        new_up, new_down = region.reach(problem.design, many)
        if ((new_up < wide_up) & (new_down < wide_down) | still).all():
            return shrunk(region, new_down, new_up, many)
        up, down = np.maximum(up, new_up), np.maximum(down, new_down)
    return None


def shrunk(region: Region, down: np.ndarray, up: np.ndarray, many: int) -> Region:
    """Return a proven region cut down to the bounds that follow from it, again and again."""
    problem = region.problem
    for step in range(_SHRINKS):
        down, up = np.minimum(down, region.down), np.minimum(up, region.up)
        before = region.down.sum() + region.up.sum()
        better = Region(problem, region.labels, region.centre, region.base, down, up)
        if not better.proven:
            return region
        region = better
        if step == _SHRINKS - 1 or down.sum() + up.sum() > _WORTH_IT * before:
            break
        up, down = region.reach(problem.design, many)
    return region
