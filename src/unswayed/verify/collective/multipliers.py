"""Bounds on sums over overturned rows, from any multipliers.

An event is that a row is overturned in one way, or that it is not. With U the influence on the row
times a sign, every admissible change f of labels has

    U·f >= level if the event happens,   U·f >= -back if it does not,

and of events that exclude one another (a clique) at most one happens. So for λ, μ >= 0

    value <= start + Σ_kinds max_outcomes (gain - Σ_events that happen (λ(level + back) + Σ μ))
             + Σ λ·back + Σ μ + the furthest that labels move Σ λ·U.

Outcomes of a kind of row are: it stays, it is overturned by rising, by falling. Whoever wrote the
file chose λ and μ; levels, what excludes what and how far labels move a sum are computed here. So
bad multipliers make a weak bound, and never a false one. Numbers are fractions.

Two events exclude each other if labels cannot move x·U₁ + y·U₂ by x·level₁ + y·level₂, for some
x, y > 0.
"""

import math
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from unswayed.verify.collective.bounded import Levels
from unswayed.verify.collective.kinds import Goal, Kinds
from unswayed.verify.collective.known import Number, ends_of, nearest
from unswayed.verify.document import CertificateError, row_numbers, vector
from unswayed.verify.floating import UnprovenError

FRAGILE, LAGRANGIAN, TRIVIAL = "fragile rows", "Lagrangian", "trivial"

_MOST_IN_CLIQUES = 2**11  # events of which pairs are looked at
_MOST_MEMBERS = 2**20  # of all cliques together
_LISTS = (("rise", 1, True), ("fall", -1, True), ("no_rise", 1, False), ("no_fall", -1, False))


@dataclass(frozen=True, slots=True)
class Bound:
    """No admissible labels lead to more than `value`, and why."""

    value: Number
    basis: str


@dataclass(slots=True)
class _Event:
    """A kind of row is overturned in one way (`over`), or is not, with its multiplier."""

    kind: int
    way: int
    over: bool
    link: Fraction
    level: Fraction
    back: Fraction
    penalty: Fraction = Fraction(0)

    @property
    def sign(self) -> int:
        """What the influence is multiplied by."""
        return self.way if self.over else -self.way

    def happens(self, outcome: int) -> bool:
        """Return whether it happens if the row is overturned so; 0 if it stays."""
        return (outcome == self.way) == self.over


def bound(goal: Goal, kinds: Kinds, section: dict[str, Any]) -> Bound:
    """Return an upper bound on a sum."""
    top = ceiling(goal, kinds)
    if not section:
        return Bound(top, FRAGILE)
    events, cliques = _read(section, kinds)
    try:
        value = _lagrangian(goal, kinds, events, cliques)
    except UnprovenError:
        return Bound(top, FRAGILE)
    found = _snapped(value, goal, kinds)
    return Bound(found, LAGRANGIAN) if found < top else Bound(top, FRAGILE)


def ceiling(goal: Goal, kinds: Kinds) -> Fraction:
    """Return the sum if every row that is not robust were overturned or not at will."""
    return goal.start + goal.unit * sum(gain for _, gain in _movable(goal, kinds) if gain > 0)


def _movable(goal: Goal, kinds: Kinds) -> Iterator[tuple[int, int]]:
    """Yield kinds of rows that may be overturned so that it counts, and their gains."""
    for kind, (gain, known) in enumerate(zip(goal.gains, kinds.known, strict=True)):
        if gain and any(goal.way in (None, way) for way in known.sides):
            yield kind, gain


def _snapped(value: Number, goal: Goal, kinds: Kinds) -> Number:
    """Return the largest value that exists and is not above a bound."""
    step = goal.unit * math.gcd(*(gain for _, gain in _movable(goal, kinds)))
    if not step:
        return goal.start
    if not math.isfinite(value):
        return value
    return goal.start + step * math.floor((value - goal.start) / step)


def _lagrangian(
    goal: Goal, kinds: Kinds, events: list[_Event], cliques: list[tuple[Fraction, list[int]]]
) -> Number:
    """Return the bound that follows from multipliers."""
    total = goal.start
    for weight, members in _exclusive(events, cliques, kinds):
        total += weight
        for at in members:
            events[at].penalty += weight
    by_kind: dict[int, list[_Event]] = {}
    for event in events:
        total += event.link * event.back
        event.penalty += event.link * (event.level + event.back)
        by_kind.setdefault(event.kind, []).append(event)
    gains = dict(_movable(goal, kinds))
    for kind in gains.keys() | by_kind.keys():
        total += max(
            goal.unit * (gains.get(kind, 0) if outcome and goal.way in (None, outcome) else 0)
            - sum((e.penalty for e in by_kind.get(kind, ()) if e.happens(outcome)), Fraction(0))
            for outcome in (0, *kinds.known[kind].sides)
        )
    used = [event for event in events if event.link]
    if not used:
        return total
    moved = kinds.model.sums.combined(
        [kinds.first[event.kind] for event in used], [event.link * event.sign for event in used]
    )
    return total + ends_of(moved.reach(1))[1]


# --- events and cliques -------------------------------------------------------------------------


def _read(
    section: dict[str, Any], kinds: Kinds
) -> tuple[list[_Event], list[tuple[Fraction, list[int]]]]:
    """Return events that can happen and need not, and cliques of these.

    Events of equal rows are one event, with the sum of their multipliers.
    """
    n_rows = len(kinds.kind)
    lists = [
        (row_numbers(section[name], n_rows, n_rows, name), way, over) for name, way, over in _LISTS
    ]
    n_events = sum(len(rows) for rows, _, _ in lists)
    links = vector(section["links"], n_events, "links")
    if n_events and min(links) < 0:
        raise CertificateError("multipliers must not be negative")
    events: list[_Event] = []
    places: dict[tuple[int, int, bool], int] = {}
    number: array[int] = array("q")  # the place of each event of the file; -1 for none
    for (kind, way, over), link in zip(_named(lists, kinds), links, strict=True):
        side = kinds.known[kind].sides.get(way)
        if side is None or not side.is_finite:
            number.append(-1)
            continue
        key = (kind, way, over)
        if key not in places:
            places[key] = len(events)
            level, back = (side.least, side.back) if over else (-side.most, side.ahead)
            event = _Event(kind, way, over, Fraction(0), Fraction(level), Fraction(back))
            events.append(event)
        number.append(places[key])
        events[places[key]].link += Fraction(link)
    return events, _cliques(section["cliques"], number)


def _named(lists: list[Any], kinds: Kinds) -> Iterator[tuple[int, int, bool]]:
    for rows, way, over in lists:
        for row in rows:
            yield kinds.kind[row], way, over


def _cliques(given: list[dict[str, Any]], number: "array[int]") -> list[tuple[Fraction, list[int]]]:
    """Return cliques by the places of their events."""
    found, total = [], 0
    for each in given:
        members = row_numbers(each["events"], len(number), len(number), "a clique")
        total += len(members)
        if total > _MOST_MEMBERS:
            raise CertificateError(f"cliques of more than {_MOST_MEMBERS:,} events in all")
        places = sorted({number[at] for at in members} - {-1})
        found.append((Fraction(each["weight"]), places))
    return found


def _exclusive(
    events: list[_Event], cliques: list[tuple[Fraction, list[int]]], kinds: Kinds
) -> list[tuple[Fraction, list[int]]]:
    """Return cliques without the events that are not proven to exclude all others of them."""
    used = sorted({at for weight, members in cliques if weight for at in members})
    used = used[:_MOST_IN_CLIQUES]
    place = {at: new for new, at in enumerate(used)}
    inside = [(weight, [place[at] for at in members if at in place]) for weight, members in cliques]
    wanted = np.zeros((len(used), len(used)), dtype=bool)
    for weight, members in inside:
        if weight:
            wanted[np.ix_(members, members)] = True
    proven = _proven([events[at] for at in used], np.argwhere(np.triu(wanted, 1)), kinds)
    found = []
    for weight, members in inside:
        kept = _clique(proven, np.array(members, dtype=np.intp))
        if weight and len(kept):
            found.append((weight, [used[at] for at in kept.tolist()]))
    return found


def _clique(proven: Any, members: Any) -> Any:
    """Return members that exclude one another; first to go is who excludes the fewest."""
    inside = proven[np.ix_(members, members)]
    missing = (~inside).sum(axis=1) - 1  # others that are not excluded
    kept = np.ones(len(members), dtype=bool)
    while len(members) and missing.max() > 0:
        worst = int(missing.argmax())
        kept[worst] = False
        missing -= ~inside[worst]
        missing[worst] = -1
    return members[kept]


def _proven(events: list[_Event], pairs: Any, kinds: Kinds) -> Any:
    """Return which pairs of events exclude each other."""
    found = np.zeros((len(events), len(events)), dtype=bool)
    kind, way = (np.array([getattr(e, name) for e in events]) for name in ("kind", "way"))
    over = np.array([event.over for event in events], dtype=bool)
    a, b = pairs.T
    # Of one row: not both ways at once, and not overturned and kept from that.
    either = (over[a] & over[b]) | ((way[a] == way[b]) & (over[a] != over[b]))
    same = (kind[a] == kind[b]) & either
    left = pairs[~same]
    found[a[same], b[same]] = True
    if len(left):
        levels = Levels(
            rows=np.array([kinds.first[event.kind] for event in events]),
            signs=np.array([float(event.sign) for event in events]),
            levels=np.array([_below(event.level) for event in events]),
            scale=np.array([_scale(event, kinds) for event in events]),
        )
        hit = left[kinds.model.sums.exclusive(levels, left)]
        found[hit[:, 0], hit[:, 1]] = True
    return found | found.T


def _below(number: Fraction) -> float:
    """Return a double that is not above a fraction."""
    return math.nextafter(nearest(number), -math.inf)


def _scale(event: _Event, kinds: Kinds) -> float:
    """Return what an event is divided by before it is added to another."""
    side = kinds.known[event.kind].sides[event.way]
    size = nearest(max(abs(event.level), Fraction(side.ahead + side.back) / 10**6))
    return size if 0 < size < math.inf else 1.0
