"""Three or more classes: every rival of a row's class makes a question about two classes.

Each class has a score, trained on the second of two `codes` for its own labels and the first for
all others; the highest wins, of equal ones the first. All have the same influence z, so that for
classes a < b the lead of b over a is the score Σ z_i t_i for t_i = d for labels of b, -d for those
of a and 0 for others, d being the difference of the codes; and b is preferred to a exactly if the
lead is above 0. That is the question which files about two classes ask, with a threshold of 0. A
label of class c that may be other classes moves its t by what these have more or less than c.

A class wins if it is preferred to every other one. So a claim about a row of class p is proven by
C - 1 claims, one for each rival: none of them may overtake p. That one of them does is claimed of
the rival that is named only. Of a class that has lost all of its labels no model would know
anything: a row is not robust if that can happen within the budget.
"""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from unswayed.verify.budget import Moves
from unswayed.verify.data import Bias
from unswayed.verify.document import CertificateError, row_numbers
from unswayed.verify.doubles import FloatArray, IntArray
from unswayed.verify.facts import Rule, claimed_budgets

Claim = dict[str, Any]
PREFERRED = Rule.of({"task": "classification", "threshold": 0})
"""Of two classes, whether the second is preferred to the first."""


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """Labels that are classes, and which classes they may really be."""

    own: IntArray
    allowed: Any  # (classes, classes) of truth values: what a label of each may be, and its own
    movable: Any  # of each label, whether it may be wrong
    step: int
    bias: Bias

    @classmethod
    def of(cls, document: dict[str, Any], labels: "array[float]", bias: Bias) -> "Classes":
        """Read which classes labels may be; raise unless all parts of the file say the same."""
        rule, numbers = document["question"], np.arange(len(document["question"]["to"]))
        given, (first, second) = np.frombuffer(labels), rule["codes"]
        _need(
            np.array_equal(np.unique(given), numbers),
            "labels must be numbers of classes from 0, one for each list of `to`",
        )
        _need(first < second, "the second of its codes must be the larger one")
        _need(bias.budget.is_count, "several classes need a number of labels as the budget")
        allowed, own = np.eye(len(numbers), dtype=bool), given.astype(np.int64)
        for number, others in enumerate(rule["to"]):
            row_numbers(others, len(numbers), len(numbers), f"to[{number}]")
            _need(number not in others, f"to[{number}] must name other classes than {number}")
            allowed[number, others] = True
        last, moves = len(numbers) - 1, np.array(bias.movable)
        ends = allowed.argmax(axis=1), last - allowed[:, ::-1].argmax(axis=1)
        for found, end in zip((bias.lower, bias.upper), ends, strict=True):
            same = np.array_equal(np.frombuffer(found), np.where(moves, (end - numbers)[own], 0))
            _need(same, "`lower` and `upper` must be 0, or lead to the first and last of `to`")
        return cls(own, allowed, moves, second - first, bias)

    def pairs(self) -> list[tuple[int, int]]:
        """Return every two classes, the first one first."""
        return list(combinations(range(len(self.allowed)), 2))

    def lead(self, pair: tuple[int, int]) -> tuple[FloatArray, Bias]:
        """Return numbers whose score is the lead of the second of two, and how far they move."""
        values = self._values(pair)
        low = np.where(self.allowed, values, np.inf).min(axis=1) - values
        high = np.where(self.allowed, values, -np.inf).max(axis=1) - values
        lower, upper = (array("d", np.where(self.movable, e[self.own], 0.0)) for e in (low, high))
        return values[self.own], replace(self.bias, lower=lower, upper=upper)

    def _values(self, pair: tuple[int, int]) -> FloatArray:
        values = np.zeros(len(self.allowed))
        values[list(pair)] = -self.step, self.step
        return values

    # --- claims -------------------------------------------------------------------------------

    def about(self, claim: Claim, pair: tuple[int, int]) -> Claim:
        """Return what a claim says of two classes, one of which is its own."""
        winner = claim["decision"]
        rival = sum(pair) - winner
        least, most = (bound if bound < np.inf else "never" for bound in claimed_budgets(claim))
        named = claim.get("rival") == rival
        made: Claim = {"row": claim["row"], "verdict": "undecided", "decision": pair.index(winner)}
        made["minimum_budget"] = [least, most if named else "never"]
        if "low" in claim:  # no lead of the winner is below
            made |= {"low": claim["low"]} if winner > rival else {"high": -claim["low"]}
        if claim["verdict"] == "robust":
            made["verdict"] = "robust"
        elif named and "witness" in claim:
            made["verdict"], made["witness"] = "not-robust", self._moves(claim, pair)
        return made | {name: claim[name] for name in ("solution",) if name in claim}

    def _witness(self, claim: Claim) -> tuple[list[int], list[int]]:
        """Return training rows of a witness, and the class that the label of each then is."""
        given, where = claim["witness"], f"the witness of row {claim['row']}"
        rows = row_numbers(given["rows"], len(self.own), len(self.own), where)
        known = all(new < len(self.allowed) for new in given["to"])
        _need(known and len(given["to"]) == len(rows), f"{where} must name a class for each label")
        return list(rows), given["to"]

    def _moves(self, claim: Claim, pair: tuple[int, int]) -> Moves:
        """Return how a witness moves the lead of the second of two classes."""
        values, (_, bias) = self._values(pair), self.lead(pair)
        found: dict[bool, list[tuple[int, float]]] = {True: [], False: []}
        for row, new in zip(*self._witness(claim), strict=True):
            change = float(values[new] - values[self.own[row]])
            end = (bias.upper if change > 0 else bias.lower)[row]
            if change and end:  # shares are 1 or 1/2; what is not allowed is objected to
                found[change > 0].append((row, change / end))
        up, down = (array("Q", [row for row, _ in found[way]]) for way in (True, False))
        return Moves(up, down, array("d", [share for way in found.values() for _, share in way]))

    def objections(self, claim: Claim) -> Iterator[str]:
        """Yield what is wrong with a claim, whatever the scores are."""
        if claim["verdict"] == "undecided":
            if claim.keys() - {"row", "verdict", "solution"}:
                yield "without a verdict it must say nothing of its class, rival or budgets"
            return
        winner, rival, (least, most) = claim["decision"], claim.get("rival"), claimed_budgets(claim)
        if winner < 0 or rival == winner or (rival or 0) >= len(self.allowed):
            yield "its class and its rival must be two of the classes"
            return
        robust, said, lost = claim["verdict"] == "robust", self.bias.budget.said, self._lost(winner)
        if robust and lost <= said:
            yield f"all {lost:,} labels of its class can be wrong within the budget"
        if least > lost:
            yield f"its minimum budget is at most {lost:,}: its class has no more labels"
        if most < np.inf and rival is None and lost > most:
            yield "it names no rival that its minimum budget overturns it for"
        if least > most or (most <= said if robust else least > said):
            yield "its minimum budget and its verdict do not go together"
        if robust != ("witness" not in claim):
            yield "a witness must be given if it is not robust, and only then"
        if "witness" in claim:
            yield from self._objections_to_witness(claim, winner, rival)

    def _lost(self, winner: int) -> float:
        """Return how many labels a class must lose so that none is left; infinite if it cannot."""
        of_class = self.own == winner
        return int(of_class.sum()) if self.movable[of_class].all() else np.inf

    def _objections_to_witness(self, claim: Claim, winner: int, rival: int | None) -> Iterator[str]:
        rows, new = self._witness(claim)
        said = claim.get("minimum_budget")
        if len(rows) > self.bias.budget.said or (type(said) is int and len(rows) != said):
            yield f"its witness has {len(rows):,} labels"
        if not self.movable[rows].all() or not self.allowed[self.own[rows], new].all():
            yield "its witness changes a label that may not be wrong, or to a class it may not be"
        if any(int(self.own[row]) == to for row, to in zip(rows, new, strict=True)):
            yield "its witness names a label that stays as it is"
        if rival is None and not np.isin(np.flatnonzero(self.own == winner), rows).all():
            yield "it names no rival, and its witness leaves a label of its class"


def _need(holds: Any, otherwise: str) -> None:
    if not holds:
        raise CertificateError(otherwise)
