"""Claims about all test rows together: how many one label set overturns, and ranges of metrics.

`asked`  what was asked: rows, weights, groups, true classes, metrics as sums; and that in words
`cases`  the theorem of bounds by a tree of cases, with multipliers that need not be trusted

Here a claim is compared with that, part by part. A mean of scores is one more score, whose
influence is the mean of theirs.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from unswayed.verify import linear
from unswayed.verify.budget import Moves, largest, read_moves
from unswayed.verify.collective.asked import Asked, Form
from unswayed.verify.collective.cases import Cases, Gains
from unswayed.verify.data import Bias, Data, Given
from unswayed.verify.document import row_numbers, sized, solution_of
from unswayed.verify.doubles import (
    SAFETY,
    TINY,
    UNIT,
    FloatArray,
    UnprovenError,
    gamma,
    is_ordinary,
)
from unswayed.verify.facts import (
    BUDGET,
    COLUMNS,
    DOWN,
    UNKNOWN,
    UP,
    Ends,
    Facts,
    Number,
    Rule,
    Track,
    ends_of,
)
from unswayed.verify.facts import Asked as Selections
from unswayed.verify.linear import Influence, linear_model
from unswayed.verify.rational import ExactInfluence, RationalRows
from unswayed.verify.words import between, counted, ratio

__all__ = ["Asked", "Finding", "findings"]

PROVEN, REJECTED, OPEN = "proven", "rejected", "not re-proven"
_BLOCK = 2**19  # influences at a time
_MOST_KEPT = 2**23  # influences of the rows that cases are about
_ROOM = 2.0**-19  # of its size: how far the two ends of a value may be apart
_CASES = "by its tree of cases, one selection for each leaf"
_MEAN = "a mean of scores is one influence row, whose range is exact"


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of one part of a collective claim."""

    part: str  # "at least", "at most", "value", "low", "high", "low reached" or "high reached"
    # The number that the file names; of a mean's value two, which it is between
    claimed: float | tuple[float, float]
    status: str  # "proven", "rejected" if it is false, "not re-proven" if neither is known
    # The best that was proven; two numbers where it is what the truth is between
    reproven: float | tuple[float, float] | None
    text: str  # In words

    @property
    def heading(self) -> str:
        """The part and what the file claims of it."""
        claimed = self.claimed
        said = between(*claimed) if isinstance(claimed, tuple) else repr(claimed)
        return f"{self.part} {said}"


def findings(
    document: dict[str, Any], data: Data, bias: Bias, asked: Asked, proof: dict[str, FloatArray],
    track: Track, *, floating_point: bool,
) -> tuple[list[Finding], set[int]]:  # fmt: skip
    """Prove or reject every part of a collective claim."""
    rows = _Rows(document, data, bias, proof, floating_point=floating_point)
    with np.errstate(all="ignore"):
        check = (_Means if asked.ask == "mean" else _Check)(document, bias, asked, rows, proof)
        return list(track(check.parts(), "proving", 5)), rows.settled


def _furthest(
    given: Given, found: Influence, count: int, threshold: float, added: dict[int, float]
) -> Number:
    """Return how far so many labels move one score up at most; some labels move it by more."""
    effects, extra = np.maximum(found.z * given.upper, found.z * given.lower), 0.0
    if added:
        effects[:, list(added)] += list(added.values())
        extra = count * max(map(abs, added.values()))  # rounded together with effects
    most = np.array([float(min(count, effects.shape[1]))])
    _, at_most = largest(effects, most, np.array([threshold]))
    doubt = linear.doubt_of(given, found, most) + 8 * UNIT * (extra + np.abs(at_most))
    total = math.nextafter(float(at_most[0] + doubt[0] * SAFETY), math.inf)
    return ends_of(0, total)[1] if is_ordinary() and total >= 0 else math.inf


def _combined(found: Influence, factors: FloatArray) -> Influence:
    """Return the influence of labels on sums of scores, each times a factor.

    An entry of the product is off by γ Σ |factor·z|, and |z_i| is at most `most` times size i.
    """
    most = np.abs(found.z / np.where(found.sizes > 0, found.sizes, 1)).max(axis=1, initial=0.0)
    sizes, lost = np.abs(factors), gamma(factors.shape[1] + 4)
    return Influence(
        factors @ found.z,
        sizes @ (found.drift + lost * most) * SAFETY + TINY,
        sizes @ found.spread * SAFETY + TINY,
        found.sizes,
        found.weights,
        factors @ found.score,
        sizes @ (found.doubt + lost * np.abs(found.score)) * SAFETY + TINY,
    )


def _stacked(parts: list[Influence]) -> Influence:
    names = ("z", "drift", "spread", "score", "doubt")
    made = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    return Influence(sizes=parts[0].sizes, weights=parts[0].weights, **made)


class _Rows:
    """Test rows, equal ones once: what labels do to them, and to sums of them."""

    def __init__(
        self, document: dict[str, Any], data: Data, bias: Bias, proof: dict[str, FloatArray],
        *, floating_point: bool,
    ) -> None:  # fmt: skip
        self.given, self._budget = Given.of(document, data, bias), bias.labels
        rows = self.given.subjects(np.arange(document["data"]["test_rows"])) + 0.0
        places: dict[bytes, int] = {}
        self.kinds = [places.setdefault(row.tobytes(), len(places)) for row in rows]
        self._first = np.unique(self.kinds, return_index=True)[1]
        self._hints = sized(proof, ("weights", "dual"), (len(places), None))
        self._thresholds = sized(proof, ("thresholds",), (len(places), len(COLUMNS)))
        self._shift = proof.get("shift")
        self._solutions = {
            self.kinds[at]: each["solution"]
            for each in document["collective"].get("solutions", ())
            for at in row_numbers([each["row"]], 1, len(rows), "solutions")
        }
        self._model = linear_model(self.given, proof, self._hints) if floating_point else None
        self._exact: dict[int, ExactInfluence] = {}
        self._kept: tuple[dict[int, int], Influence] | None = None
        self.settled: set[int] = set()  # test rows that took rational arithmetic

    def _selections(self, thresholds: FloatArray, moves: Moves | None) -> Selections:
        labels = np.tile(
            [float(min(self._budget, len(self.given.labels))), 0.0, 0.0], (len(thresholds), 1)
        )
        return Selections(labels, thresholds, [moves] * len(thresholds))

    # --- single rows --------------------------------------------------------------------------

    def facts(self, witnesses: Sequence[Moves], is_open: Any) -> list[list[Facts]]:
        """Return what is known of each kind of row, once for each witness."""
        wanted: list[Moves | None] = [*witnesses] or [None]
        found: list[list[Facts]] = []
        for part, influence in self._influences(np.arange(len(self._first))):
            selections = [self._selections(self._thresholds[part], moves) for moves in wanted]
            ends = [linear.facts(self.given, influence, each) for each in selections]
            found += map(list, zip(*ends, strict=True))
        nothing = Facts(UNKNOWN, dict.fromkeys(COLUMNS, UNKNOWN))
        found = found or [[nothing] * len(wanted) for _ in self._first]
        for kind, known in enumerate(found):
            if known[0] is nothing or any(is_open(kind, facts) for facts in known):
                self.settled.update(np.flatnonzero(np.equal(self.kinds, kind)).tolist())
                exact = [self._exactly([kind], [1.0], m) for m in wanted]
                found[kind] = [each or facts for each, facts in zip(exact, known, strict=True)]
        return found

    def _influences(self, kinds: Any) -> Iterator[tuple[slice, Influence]]:
        step = max(1, _BLOCK // len(self.given.labels))
        for start in range(0, len(kinds) if self._model is not None else 0, step):
            part = slice(start, start + step)
            here = kinds[part]
            assert self._model is not None  # noqa: S101  (tells mypy)
            found = self._model.influence(self.given.subjects(self._first[here]), self._hints[here])
            yield part, found.centred(self.given) if self.given.balanced else found

    # --- sums of rows -------------------------------------------------------------------------

    def keep(self, kinds: Sequence[int]) -> None:
        """Compute the influence on some rows, of which sums will be asked for."""
        unique = sorted(set(kinds))
        if len(unique) * len(self.given.labels) > _MOST_KEPT:
            raise UnprovenError("cases of too many rows")
        parts = [found for _, found in self._influences(np.array(unique, dtype=np.intp))]
        if parts:
            self._kept = {kind: at for at, kind in enumerate(unique)}, _stacked(parts)

    def furthest(
        self, kinds: list[int], factors: list[float], threshold: float, added: dict[int, float]
    ) -> Number:
        """Return how far labels move a sum of rows at most; some labels move it by more."""
        if self._kept is None:
            if added or self._model is not None:
                raise UnprovenError("sums of rows with prices of labels are proven in doubles only")
            facts = self._exactly(kinds, factors, None)
            return math.inf if facts is None else facts.reach[UP, BUDGET][1]
        at, found = self._kept
        here = [at[kind] for kind in kinds]
        part = _stacked([found]) if not here else Influence(
            found.z[here], found.drift[here], found.spread[here], found.sizes, found.weights,
            found.score[here], found.doubt[here],
        )  # fmt: skip
        row = np.array([factors]) if here else np.zeros((1, len(found.z)))
        return _furthest(self.given, _combined(part, row), self._budget, threshold, added)

    def sums(self, factors: FloatArray, pairs: FloatArray, thresholds: FloatArray,
             moves: Moves | None, *, exactly: bool) -> list[Facts]:  # fmt: skip
        """Return what is known of sums of sums of kinds: pairs·factors."""
        if exactly:
            every, self_factors = list(range(factors.shape[1])), pairs @ factors
            self.settled.update(range(len(self.kinds)))
            found = [self._exactly(every, f.tolist(), moves) for f in self_factors]  # fmt: skip
            return [each for each in found if each is not None]
        total: Influence | None = None
        for part, found_here in self._influences(np.arange(len(self._first))):
            made = _combined(found_here, factors[:, part])
            one = np.eye(len(factors))
            total = (
                made if total is None else _combined(_stacked([total, made]), np.hstack((one, one)))
            )
        if total is None:
            return []
        return linear.facts(
            self.given, _combined(total, pairs), self._selections(thresholds, moves)
        )

    # --- in fractions -------------------------------------------------------------------------

    @cached_property
    def _rational(self) -> RationalRows:
        return RationalRows(self.given, getattr(self._model, "inverse", math.inf))

    def _exactly(self, kinds: list[int], factors: list[float], moves: Moves | None) -> Facts | None:
        """Return what is known of a sum of rows in rational arithmetic; None if nothing is."""
        try:
            if self._model is not None:
                self._exact.clear()  # in doubles no row is asked about twice
            for kind in kinds:
                if kind not in self._exact:
                    subject = self.given.subjects(self._first[[kind]])[0]
                    hint = solution_of(self._hints[kind], self._solutions.get(kind), self._shift)
                    self._exact[kind] = self._rational.influence(subject, hint)
            parts = [
                (self._exact[kind], Fraction(f)) for kind, f in zip(kinds, factors, strict=True)
            ]
            unit = Fraction(1, math.lcm(*((each.unit * f).denominator for each, f in parts)))
            times = [int(each.unit * f / unit) for each, f in parts]
            columns = zip(*(each.numerators for each, _ in parts), strict=True)
            found = ExactInfluence(
                [sum(map(int.__mul__, times, column)) for column in columns],
                unit,
                sum((each.drift * abs(f) for each, f in parts), Fraction(0)),
                sum((each.spread * abs(f) for each, f in parts), Fraction(0)),
            )
            labels = [min(self._budget, len(self.given.labels)), 0, 0]
            return self._rational.facts(found, labels, moves)
        except UnprovenError:
            return None


def _witness(given: dict[str, Any], bias: Bias) -> tuple[Moves, str]:
    """Return the labels of a witness, and what is wrong with them."""
    moves = read_moves(given, len(bias.lower), "a witness")
    count = len(moves.up) + len(moves.down)
    if count > bias.labels:
        return moves, f"its witness has {count} labels"
    if not moves.allowed(bias.lower, bias.upper):
        return moves, "its witness moves a label twice, or one that the bias does not let move so"
    return moves, ""


class _Check:
    """A claim about classes, or about numbers within a radius, and what it is compared with."""

    def __init__(self, document: dict[str, Any], bias: Bias, asked: Asked, rows: _Rows,
                 proof: dict[str, FloatArray]) -> None:  # fmt: skip
        self._claim, self._asked, self._rows = document["collective"], asked, rows
        self._rule = Rule.of(document["question"])
        parts = (
            [self._claim] if asked.ask == "together" else [self._claim[e] for e in ("low", "high")]
        )
        self._witnesses = [_witness(each["witness"], bias) for each in parts]
        moves = [moves for moves, objection in self._witnesses if not objection]
        if asked.ask == "together":
            n_rows, listed = asked.n_rows, parts[0]["witness"].get("overturned", [])
            self._listed = row_numbers(listed, n_rows, n_rows, "overturned")
            needed = {rows.kinds[row] for row in self._listed}
        else:
            needed = set(rows.kinds)
        found = rows.facts(moves, lambda kind, facts: self._rule.margins(facts.score) is None or (
            bool(moves) and kind in needed and self._after(facts) is None))  # fmt: skip
        self._found, self._facts = found, [each[0] for each in found]
        self._cases = Cases(proof, rows.kinds, self._facts, self._rule, len(bias.lower))
        self._is_ready = True
        try:
            rows.keep([event.kind for event in self._cases.events])
            self._cases.check_pairs(rows.furthest)
        except UnprovenError:
            self._is_ready = False

    def parts(self) -> Iterator[Finding]:
        """Yield what comes of each part."""
        return self._together() if self._asked.ask == "together" else self._metric()

    def _after(self, facts: Facts) -> int | None:
        """Return the way in which the labels of a witness overturn a row, 0 if they do not."""
        margins, (low, high) = self._rule.margins(facts.score), facts.shift
        if margins is None:
            return None
        shifts = {UP: (low, high), DOWN: (-high, -low)}
        found = {way: self._rule.crossed(each, shifts[way]) for way, each in margins.items()}
        crossed = [way for way, answer in found.items() if answer]
        return crossed[0] if crossed else (None if None in found.values() else 0)

    def _bound(self, goal: Any, number: int | None, now: Any, way: int | None = None) -> Number:
        """Return a bound on a goal, by a tree of the file if that proves anything."""
        gains = Gains(goal, now, self._rows.kinds, self._cases.ways, way)
        counted_only = self._cases.bound(None, gains, self._rows.furthest)
        if number is None or not self._is_ready:
            return counted_only
        try:
            return min(counted_only, self._cases.bound(number, gains, self._rows.furthest))
        except UnprovenError:
            return counted_only

    # --- how many -----------------------------------------------------------------------------

    def _together(self) -> Iterator[Finding]:
        count, claim, asked = self._asked.count(), self._claim, self._asked
        (moves, objection), claimed = self._witnesses[0], claim["at_least"]
        reached: Fraction | str | None = objection or self._reached()
        if isinstance(reached, str):
            yield Finding("at least", claimed, REJECTED, None, reached)
        elif reached is None:
            yield Finding("at least", claimed, OPEN, None, "what its witness does is not known")
        else:
            labels = counted(len(moves.up) + len(moves.down), "label")
            holds = claimed <= _below(reached)  # sums of weights are rounded down
            text = f"{labels} changed at once overturn so many"
            text = text if holds else f"its witness overturns {ratio(reached).removesuffix('.0')}"
            yield Finding("at least", claimed, PROVEN if holds else REJECTED, _below(reached), text)
        most = self._bound([lambda: count], claim.get("tree"), None, asked.way)
        known = [reached] if isinstance(reached, Fraction) else []
        yield _outer("at most", claim["at_most"], most, known, up=True)

    def _reached(self) -> Fraction | str | None:
        """Return what the rows amount to that a witness overturns, or which it does not."""
        count, asked = self._asked.count(), self._asked.flags(self._asked.where)
        ways = (self._asked.way,) if self._asked.way else (1, -1)
        for row in self._listed:
            after = self._after(self._facts[self._rows.kinds[row]])
            if not asked[row]:
                return f"row {row} was not asked about"
            if after is None:
                return None
            if after not in ways:
                return f"its witness does not overturn row {row}"
        return count.unit * sum(int(count.steps[row]) for row in self._listed)

    # --- metrics of classes -------------------------------------------------------------------

    def _metric(self) -> Iterator[Finding]:
        claim, form = self._claim, self._asked.form()
        classes = [self._rule.decision(facts.score) for facts in self._facts]
        if None in classes:
            yield Finding("value", claim["value"], OPEN, None, "the class of a row is not known")
        now = np.array([bool(classes[kind]) for kind in self._rows.kinds])
        value = form.value(now)
        if None not in classes:
            yield _value(claim["value"], value)
        number = 0
        for name, (moves, objection) in zip(("low", "high"), self._witnesses, strict=True):
            part, up = claim[name], name == "high"
            reached: Fraction | str = objection
            if not objection and None not in classes:
                after = [self._after(each[number]) for each in self._found]
                number += 1
                reached = "open" if None in after else self._value_after(form, now, after)
            labels = counted(len(moves.up) + len(moves.down), "label")
            yield _inner(name, part["inner"], reached, labels)
            known = [each for each in (reached, value) if isinstance(each, Fraction)]
            bound: Number = math.inf if up else -math.inf
            if None not in classes:
                bound = self._end(form, part, now, up=up)
            yield _outer(name, part["outer"], bound, known if None not in classes else [], up=up)

    def _value_after(self, form: Form, now: Any, after: list[int | None]) -> Fraction | str:
        value = form.value(now ^ np.array([bool(after[kind]) for kind in self._rows.kinds]))
        return "its witness makes it a quotient by 0" if value is None else value

    def _end(self, form: Form, part: dict[str, Any], now: Any, *, up: bool) -> Number:
        """Return a number that no admissible labels lead beyond.

        If labels make every (up: some) difference numerator - t·denominator at most D in the
        direction that is asked about, and denominators are at least `floor` > 0, the quotient goes
        beyond t by D / floor at most. For rates of groups this is so because the smallest quotient
        is that of the smallest and the largest rate, whose difference is the least of all where t
        >= 0. Where a rate is 0 and another is not, the quotient is 0.
        """
        sign, capped = 1 if up else -1, form.kind == "ratio"  # of rates: between 0 and 1
        start = Fraction(int(up)) if capped else sign * math.inf
        above, below = part.get("at", (0, 1) if not form.divides else (0, 0))
        if below <= 0 or (capped and above < 0):
            return start
        at = Fraction(above, below)
        excess = self._most(form.goals(at, up=up), part.get("tree"), now)
        if not form.divides:
            return sign * excess
        floor = -self._most(form.floors(), part.get("floor"), now)
        if floor <= 0 and (excess > 0 or not capped):
            return start
        over = excess / floor if excess > 0 else Fraction(0)
        return min(start, at + over) if up else max(start, at - over)

    def _most(self, goals: list[Any], tree: int | None, now: Any) -> Number:
        """Return a bound on the largest of some goals, whose trees come one after the other."""
        return max(
            self._bound(goal, None if tree is None else tree + at, now)
            for at, goal in enumerate(goals)
        )


def _value(claimed: float, value: Fraction | None) -> Finding:
    """Return whether a metric has a value as things are."""
    if value is None:
        return Finding("value", claimed, REJECTED, None, "it is a quotient by 0")
    if _nearest(value) != claimed:
        return Finding("value", claimed, REJECTED, _nearest(value), f"it is {ratio(value)}")
    return Finding("value", claimed, PROVEN, _nearest(value), "of the model as trained")


def _inner(name: str, claimed: float, reached: Fraction | str, labels: str) -> Finding:
    """Return whether a value is reached, up to the doubles on both sides of it."""
    part = f"{name} reached"
    if isinstance(reached, str):
        if reached in ("open", ""):
            return Finding(part, claimed, OPEN, None, "what its witness does is not known")
        return Finding(part, claimed, REJECTED, None, reached)
    holds = claimed >= _below(reached) if name == "low" else claimed <= -_below(-reached)
    if not holds:
        text = f"its witness leads to {ratio(reached)}"
        return Finding(part, claimed, REJECTED, _nearest(reached), text)
    return Finding(part, claimed, PROVEN, _nearest(reached), f"{labels} changed at once lead there")


def _outer(
    part: str, claimed: float, bound: Number, reached: list[Fraction], *, up: bool
) -> Finding:
    """Return what comes of an outer end."""
    best = None
    if math.isfinite(bound):
        best = -_below(-Fraction(bound)) if up else _below(Fraction(bound))
    if bound <= claimed if up else bound >= claimed:
        return Finding(part, claimed, PROVEN, best, _CASES)
    beyond = [each for each in reached if (each > claimed if up else each < claimed)]
    if beyond:
        return Finding(part, claimed, REJECTED, best, f"{ratio(beyond[0])} is reached")
    proven = "nothing"
    if best is not None:
        proven = f"{'at most' if up else 'at least'} {repr(best).removesuffix('.0')}, {_CASES}"
    return Finding(part, claimed, OPEN, best, f"not re-proven; what was proven is {proven}")


def _nearest(value: Fraction) -> float:
    """Return the double next to a fraction; infinite beyond all of them."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _below(value: Number) -> float:
    """Return the largest double that is not above a number."""
    near = _nearest(Fraction(value)) if math.isfinite(value) else float(value)
    return near if near <= value else math.nextafter(near, -math.inf)


# --- means of scores ------------------------------------------------------------------------


class _Means:
    """A claim about a mean of scores, or about the largest difference of groups' means."""

    def __init__(self, document: dict[str, Any], bias: Bias, asked: Asked, rows: _Rows,
                 proof: dict[str, FloatArray]) -> None:  # fmt: skip
        self._claim, self._rows, self._bias = document["collective"], rows, bias
        groups = [asked.flags(members) for _, members in asked.groups] or [asked.flags(None)]
        self._factors = np.zeros((len(groups), max(rows.kinds) + 1))
        for group, into in zip(groups, self._factors, strict=True):
            np.add.at(into, np.array(rows.kinds)[group], 1.0)
        sizes = [int(group.sum()) for group in groups]
        ordered = [(a, b) for a in range(len(groups)) for b in range(len(groups)) if a != b]
        self._divisors = [sizes[a] * sizes[b] for a, b in ordered] or sizes
        self._pairs = np.zeros((len(self._divisors), len(groups)))
        for pair, (a, b) in zip(self._pairs, ordered, strict=False):
            pair[[a, b]] = sizes[b], -sizes[a]
        if not ordered:
            self._pairs[:] = 1.0
        given = (
            sized(proof, ("means",), (len(self._divisors), 2)) * np.array(self._divisors)[:, None]
        )
        self._thresholds = np.hstack((given, np.zeros((len(given), len(COLUMNS) - 2))))

    def parts(self) -> Iterator[Finding]:
        """Yield what comes of each part."""
        yield self._value()
        for name in ("low", "high"):
            part, claimed = self._claim[name], self._claim[name]["inner"]
            moves, objection = _witness(part["witness"], self._bias)
            labels = (
                f"{counted(len(moves.up) + len(moves.down), 'label')} changed at once lead there"
            )
            if objection:
                yield Finding(f"{name} reached", claimed, REJECTED, None, objection)
            else:
                yield self._finding(f"{name} reached", claimed, moves, labels)
            yield self._finding(name, part["outer"], None, _MEAN)

    def _ends(self, part: str, moves: Moves | None, *, exactly: bool) -> Ends:
        """Return two numbers that the truth of a part is between: the largest of some means."""
        found = self._rows.sums(
            self._factors, self._pairs, self._thresholds, moves, exactly=exactly
        )
        ends = []
        for facts, divisor in zip(found, self._divisors, strict=False):
            low, high = facts.score
            if moves is not None:
                low, high = low + facts.shift[0], high + facts.shift[1]
            elif part != "value":
                way = 1 if part == "high" else -1
                less, more = facts.reach[way, BUDGET]
                low, high = (low + less, high + more) if way > 0 else (low - more, high - less)
            ends.append((low / divisor, high / divisor))
        if len(ends) < len(self._divisors):
            return UNKNOWN
        low, high = max(each[0] for each in ends), max(each[1] for each in ends)
        if part == "low" and len(ends) > 1:  # a gap is never below 0
            low, high = max(low, Fraction(0)), max(high, Fraction(0))
        return low, high

    def _judged(self, part: str, claimed: Any, moves: Moves | None) -> tuple[bool | None, Ends]:
        """Return whether a part holds, in doubles and, where these leave it open, in fractions."""
        for exactly in (False, True):
            low, high = self._ends(part, moves, exactly=exactly)
            if part == "value":
                holds, fails = claimed[0] <= low and high <= claimed[1], high < claimed[0]
                fails = fails or low > claimed[1]
            elif part in ("low", "high reached"):
                holds, fails = low >= claimed, high < claimed
            else:
                holds, fails = high <= claimed, low > claimed
            if holds or fails:
                return holds, (low, high)
        return None, (low, high)

    def _value(self) -> Finding:
        """Return whether the value is between two numbers that rounding alone keeps apart."""
        low, high = self._claim["value"]
        holds, (least, most) = self._judged("value", (low, high), None)
        known = _below(least), -_below(-most)
        size = max(-least, most) + float(np.abs(self._rows.given.labels).max())
        if holds and high - low <= _ROOM * size:
            return Finding("value", (low, high), PROVEN, known, "of the model as trained")
        text = f"it is {between(*known)}" if math.isfinite(most - least) else "nothing is known"
        if holds:
            text = f"its ends are further apart than rounding explains; {text}"
        return Finding("value", (low, high), OPEN if holds is None else REJECTED, known, text)

    def _finding(self, part: str, claimed: float, moves: Moves | None, text: str) -> Finding:
        holds, (low, high) = self._judged(part, claimed, moves)
        known = _below(low), -_below(-high)
        if not holds:
            status = OPEN if holds is None else REJECTED
            said = between(*known) if math.isfinite(high - low) else "nothing"
            return Finding(part, claimed, status, known, f"what is proven is {said}")
        # The truth is between the two numbers: the cautious one of them is proven.
        best = known[0] if part in ("low", "high reached") else known[1]
        return Finding(part, claimed, PROVEN, best, text)
