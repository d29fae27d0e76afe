"""Bounds that rest on selection alone: whatever the multipliers are, they hold.

For multipliers λ >= 0 of the events' constraints U·f >= level·e - back·(1 - e) and μ >= 0 of the
cliques Σ e <= 1, every admissible f and e has

    Σ w·e <= Σ max(0, w - λ(level + back) - Σ μ) + Σ λ·back + Σ μ + reach(Σ λ·U).

The last term is one selection on a sum of influence rows. Good multipliers come from a solver, but
nothing rests on it.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from unswayed._core.rounding import SAFETY, gamma
from unswayed._typing import FloatArray
from unswayed.together.conflicts import Events
from unswayed.together.fragile import Fragile
from unswayed.together.goal import Goal


@dataclass(frozen=True, slots=True, eq=False)
class Multipliers:
    """What a bound was computed from, so that others can compute it again."""

    events: Events
    cliques: list[list[int]]  # Sets of events that exclude one another
    links: FloatArray  # One multiplier per event
    cuts: FloatArray  # One per clique


@dataclass(frozen=True, slots=True, eq=False)
class Bounded:
    """A bound, and the multipliers that lead to it; None where the solver gave none."""

    bound: Fraction
    multipliers: Multipliers | None = None


def lagrangian(
    fragile: Fragile,
    goal: Goal,
    multipliers: Multipliers,
) -> float:
    """Return a bound on what labels can reach, for any multipliers."""
    events, links, cuts = multipliers.events, multipliers.links, multipliers.cuts
    gain = goal.slopes[0]
    worth = _worth(gain, events)
    dual = np.zeros(len(events))
    for members, cut in zip(multipliers.cliques, cuts.tolist(), strict=True):
        dual[members] += cut
    needed = np.abs(events.level) + np.abs(events.back)
    rest = worth - links * (events.level + events.back) - dual
    combined = (links * events.sign) @ fragile.influence[events.at]
    reached = fragile.reach(combined[None], np.array([links @ fragile.rounding[events.at]]))
    # Of rows about which nothing is known, the better outcome is taken.
    unknown = np.abs(gain[~fragile.known])
    terms = [
        goal.offsets[0],
        *np.minimum(gain, 0.0).tolist(),
        *unknown.tolist(),
        *np.maximum(rest, 0.0).tolist(),
        *(links * events.back).tolist(),
        *cuts.tolist(),
        float(reached[0]),
    ]
    size = math.fsum(map(abs, terms)) + float(links @ needed) + float(dual.sum())
    return math.fsum(terms) + SAFETY * gamma(len(cuts) + len(events) + 16) * size


def _worth(gain: FloatArray, events: Events) -> FloatArray:
    """What each event adds to the goal, compared with the worst."""
    here = gain[events.at]
    return np.where(events.over, np.maximum(here, 0.0), np.maximum(-here, 0.0))
