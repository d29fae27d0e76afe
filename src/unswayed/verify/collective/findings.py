"""Compare a collective claim with what can be proven of it."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from unswayed.verify.collective.asked import Asked
from unswayed.verify.collective.ends import outer_end
from unswayed.verify.collective.finding import (
    PROVEN,
    REJECTED,
    Finding,
    below,
    inner_finding,
    outer_finding,
    value_finding,
)
from unswayed.verify.collective.functions import Function
from unswayed.verify.collective.kinds import Goal, Kinds, Model, kinds_of
from unswayed.verify.collective.known import Rule
from unswayed.verify.collective.means import mean_findings
from unswayed.verify.collective.multipliers import bound
from unswayed.verify.data import Bias, Data
from unswayed.verify.document import row_numbers, vector
from unswayed.verify.facts import Moves
from unswayed.verify.integers import Track
from unswayed.verify.words import counted, ratio


def findings(
    document: dict[str, Any],
    data: Data,
    bias: Bias,
    asked: Asked,
    track: Track,
    *,
    floating_point: bool,
) -> tuple[list[Finding], set[int]]:
    """Prove or reject every part of a collective claim."""
    model = Model(document, data, bias, track, floating_point=floating_point)
    claim = document["collective"]
    if asked.ask == "mean":
        witnesses = {name: _witness(claim[name]["witness"], bias) for name in ("low", "high")}
        return list(mean_findings(claim, asked, model, witnesses)), model.settled
    check = _Check(claim, data, bias, asked, model, _rule(document["question"]))
    parts = check.together() if asked.ask == "together" else check.metric()
    return list(parts), model.settled


def _rule(question: dict[str, Any]) -> Rule:
    balanced = question.get("threshold") == "balanced"
    mark = 0 if balanced else question.get("threshold", question.get("radius", 0))
    return Rule(question["task"], Fraction(mark))


def _witness(given: dict[str, Any], bias: Bias) -> tuple[Moves, str]:
    """Return the labels of a witness, and what is wrong with them."""
    size = len(bias.lower)
    up, down = (row_numbers(given[way], size, size, "a witness") for way in ("up", "down"))
    count = len(up) + len(down)
    shares = vector(given["shares"], count, "shares") if "shares" in given else None
    moves = Moves(up, down, shares)
    if count > bias.budget:
        return moves, f"its witness has {count} labels"
    if not moves.allowed(bias):
        return moves, "its witness moves a label twice, or one that the bias does not let move so"
    return moves, ""


class _Check:
    """A claim about classes, or about numbers within a radius, and what it is compared with."""

    def __init__(
        self,
        claim: dict[str, Any],
        data: Data,
        bias: Bias,
        asked: Asked,
        model: Model,
        rule: Rule,
    ) -> None:
        self._claim, self._data, self._bias = claim, data, bias
        self._asked, self._model, self._rule = asked, model, rule

    def _kinds(self, witnesses: list[Moves], needed: set[int] | None = None) -> Kinds:
        """Survey all rows.

        Needed are those of which it must be known what witnesses do to them; by default all.
        """
        first, kind = kinds_of(self._data)
        rows = set(first) if needed is None else {first[kind[row]] for row in needed}
        known = self._model.known(first, self._rule, witnesses, rows)
        return Kinds(self._model, first, kind, known)

    # --- how many -----------------------------------------------------------------------------

    def together(self) -> Iterator[Finding]:
        """Yield what comes of a claim of how many rows labels overturn."""
        claim, count, n_rows = self._claim, self._asked.count(), self._asked.n_rows
        moves, objection = _witness(claim["witness"], self._bias)
        listed = set(
            row_numbers(claim["witness"].get("overturned", []), n_rows, n_rows, "overturned")
        )
        kinds = self._kinds([] if objection else [moves], set() if objection else listed)
        reached = objection or self._reached(kinds, count, listed)
        yield self._at_least(reached, counted(len(moves.up) + len(moves.down), "label"))
        gains = [0] * len(kinds.first)
        for kind, step in zip(kinds.kind, count.steps, strict=True):
            gains[kind] += step
        goal = Goal(Fraction(0), gains, count.unit, self._asked.way)
        yield outer_finding(
            "at most",
            claim["at_most"],
            claim["rests_on"],
            bound(goal, kinds, claim["multipliers"]),
            [] if isinstance(reached, str) else [reached],
        )

    def _reached(self, kinds: Kinds, count: Function, listed: set[int]) -> Fraction | str:
        """Return what the rows amount to that a witness overturns, or which it does not."""
        asked = set(range(self._asked.n_rows) if self._asked.where is None else self._asked.where)
        ways = (self._asked.way,) if self._asked.way else (1, -1)
        for row in sorted(listed):
            if row not in asked:
                return f"row {row} was not asked about"
            if kinds.known[kinds.kind[row]].after[0] not in ways:
                return f"its witness does not overturn row {row}"
        return count.unit * sum(count.steps[row] for row in listed)

    def _at_least(self, reached: Fraction | str, labels: str) -> Finding:
        claimed = self._claim["at_least"]
        if isinstance(reached, str):
            return Finding("at least", claimed, REJECTED, None, reached)
        # Weights are taken as they are written, of which sums are rounded down.
        if below(reached) < claimed:
            text = f"its witness overturns {ratio(reached).removesuffix('.0')}"
            return Finding("at least", claimed, REJECTED, below(reached), text)
        text = f"{labels} changed at once overturn so many"
        return Finding("at least", claimed, PROVEN, below(reached), text)

    # --- metrics of classes -------------------------------------------------------------------

    def metric(self) -> Iterator[Finding]:
        """Yield what comes of a claim of the range of a metric of classes."""
        claim, form = self._claim, self._asked.form()
        ends = {name: _witness(claim[name]["witness"], self._bias) for name in ("low", "high")}
        allowed = [name for name, (_, objection) in ends.items() if not objection]
        kinds = self._kinds([ends[name][0] for name in allowed])
        value = form.value(kinds.now)
        yield value_finding(claim["value"], value)
        for name, (moves, objection) in ends.items():
            reached: Fraction | str = objection
            if name in allowed:
                after = form.value(kinds.after(allowed.index(name)))
                reached = "its witness makes it a quotient by 0" if after is None else after
            labels = counted(len(moves.up) + len(moves.down), "label")
            yield inner_finding(name, claim[name]["inner"], reached, labels)
            up = name == "high"
            yield outer_finding(
                name,
                claim[name]["outer"],
                claim[name]["rests_on"],
                outer_end(form, kinds, claim[name], up=up),
                [each for each in (reached, value) if isinstance(each, Fraction)],
                up=up,
            )
