"""Votes over partitions: what follows for claims from how the members vote.

A row's partition is a hash of its features, and a label trains the member of its partition only. So
labels that change several votes are those of each of them, added up, and the fewest that overturn a
row are counted in whole numbers. How members vote, and where it is said to take more than one label
to change a vote, is taken from the data: nobody can see that without training them. The rest is
computed here: partitions, which of them can change, majorities, and the fewest labels. That labels
do overturn a row is seen by training alone, so that no claim may say so.
"""

from collections import Counter
from hashlib import blake2b
from typing import Any

import numpy as np

from unswayed.verify.classes import Classes
from unswayed.verify.data import Bias, Data
from unswayed.verify.document import CertificateError
from unswayed.verify.doubles import FloatArray, IntArray
from unswayed.verify.facts import claimed_budgets
from unswayed.verify.gradient import Settled


def dealt(model: dict[str, Any], rows: FloatArray) -> IntArray:
    """Return the partition of each row: a hash of its doubles, little-endian and -0 as 0."""
    key, before, found = str(model["random_state"]).encode()[:64], Counter[bytes](), []
    for row in (rows + 0.0).astype("<f8"):
        digest = blake2b(row.tobytes(), digest_size=16, key=key).digest()
        if model["equal_rows"] == "apart":  # the first of equal rows, the second and so on
            before[digest] += 1
            copy = before[digest].to_bytes(8, "little")
            digest = blake2b(digest + copy, digest_size=16, key=key).digest()
        found.append(int.from_bytes(digest, "little") % model["partitions"])
    return np.array(found, dtype=np.int64)


class Votes:
    """How members vote about the rows of claims, and what it takes to change that."""

    def __init__(
        self, document: dict[str, Any], data: Data, bias: Bias, proof: dict[str, FloatArray],
        classes: Classes | None,
    ) -> None:  # fmt: skip
        model, self._rule = document["model"], document["question"]
        asks = classes is not None or type(self._rule.get("threshold")) in (int, float)
        _need(asks and "collective" not in document, "its question is not one about votes")
        assert data.train is not None and data.tests is not None  # noqa: S101, PT018
        partition, said, self.labels = dealt(model, data.train), proof.get("partition"), bias.labels
        same = said is not None and np.array_equal(said.ravel(), partition)
        _need(same, "its partition is not the one that the hash of features gives")
        self.own = np.frombuffer(data.labels).astype(np.int64)
        self._allowed = self._may_be(data, bias, classes)
        size, count = model["partitions"], self._allowed.shape[1]
        numbers = data.tests.reshape(len(data.tests), 1 + count, size)
        counted = np.frombuffer(bias.weights) > 0  # others are left out
        members = [np.flatnonzero(counted & (partition == at)) for at in range(size)]
        self.votes, self.costs = numbers[:, 0], np.where(numbers < 0, np.inf, numbers)[:, 1:]
        for at, rows in enumerate(members):
            self._check_member(at, rows)
        used = [at for at, rows in enumerate(members) if len(rows)]
        self.votes, self.costs = self.votes[:, used].astype(np.int64), self.costs[:, :, used]

    def _may_be(self, data: Data, bias: Bias, classes: Classes | None) -> Any:
        """Return which class each label may be, (labels, classes)."""
        moves = np.array(bias.movable)
        if classes is not None:
            known = self.own[:, None] == np.arange(len(classes.allowed))
            return classes.allowed[self.own] & moves[:, None] | known
        ends = np.frombuffer(bias.lower), np.frombuffer(bias.upper)
        flips = np.where(moves, -self.own, 0), np.where(moves, 1 - self.own, 0)
        right = np.isin(np.frombuffer(data.labels), (0.0, 1.0)).all()
        right &= all(map(np.array_equal, ends, flips))
        _need(right, "members learn classes: a label is 0 or 1, and may be the other")
        return moves[:, None] | (self.own[:, None] == np.arange(2))

    def _check_member(self, at: int, rows: IntArray) -> None:
        """Raise unless what is said of a member can be true, whatever it learned."""
        vote, costs, count = self.votes[:, at], self.costs[:, :, at], self._allowed.shape[1]
        own, allowed = self.own[rows], self._allowed[rows]
        if not len(rows):
            _need((vote == -1).all(), f"partition {at} has no rows, and never votes")
            return
        _need(np.isin(vote, range(count)).all(), f"votes of partition {at} must be classes")
        one = own[0] if (own == own[0]).all() else None
        _need(one is None or (vote == one).all(), f"partition {at} has one class, and votes for it")
        whole = np.isinf(costs) | ((costs >= 1) & (costs == np.floor(costs)))
        _need(whole.all(), f"votes of partition {at} must take 1 label, or more")
        # A partition whose labels are all of one class votes for that class.
        needed = own[:, None] != np.arange(count)
        turned = np.where((needed & ~allowed).any(axis=0), np.inf, needed.sum(axis=0))
        elsewhere = vote[:, None] != np.arange(count)
        _need(
            (costs <= turned)[elsewhere].all(), f"fewer labels make partition {at} vote otherwise"
        )
        costs[~elsewhere | (allowed.sum() == len(own))] = np.inf  # a vote that cannot change

    def least(self) -> tuple[IntArray, FloatArray]:
        """Return the class of each row, and the fewest labels that can overturn it."""
        n_classes, n_votes, every = self._allowed.shape[1], self.votes.shape[1], len(self.votes)
        counts = np.stack([(self.votes == each).sum(axis=1) for each in range(n_classes)], axis=1)
        winner, found = counts.argmax(axis=1), np.full(every, np.inf)
        if self._rule["task"] == "classification":
            wins = [n for n in range(n_votes + 1) if n / n_votes > self._rule["threshold"]]
            second = min(wins, default=n_votes + 1)
            winner = (counts[:, 1] >= second).astype(np.int64)
        for rival in range(n_classes):
            rows = np.flatnonzero(winner != rival)
            gap = counts[rows, winner[rows]] - counts[rows, rival] + (winner[rows] < rival)
            if self._rule["task"] == "classification":
                ahead = counts[rows, 1] - second
                gap = 2 * np.where(winner[rows] == 1, ahead + 1, -ahead)
            own = self.votes[rows] == winner[rows, None]
            towards = self.costs[rows, rival]
            away = np.delete(self.costs[rows], rival, axis=1).min(axis=1)
            two, one = np.where(own, towards, np.inf), np.where(own, away, towards)
            found[rows] = np.minimum(found[rows], _fewest(two, one, gap))
        return winner, found


def _fewest(two: FloatArray, one: FloatArray, gap: IntArray) -> FloatArray:
    """Return the least cost of votes that close a gap, each by 2 or by 1, row by row."""
    places = np.arange(gap.max(initial=0) + 1)
    least = np.where(places == 0, 0.0, np.full((len(gap), len(places)), np.inf))
    for at in range(two.shape[1]):
        by_one = least[:, np.maximum(places - 1, 0)] + one[:, at, None]
        by_two = least[:, np.maximum(places - 2, 0)] + two[:, at, None]
        least = np.minimum(least, np.minimum(by_one, by_two))
    return least[np.arange(len(gap)), gap]


def settle_votes(votes: Votes, claims: list[dict[str, Any]]) -> Settled:
    """Prove or reject every claim."""
    settled, (winner, found) = Settled(), votes.least()
    for claim in claims:
        row, (least, most) = claim["row"], claimed_budgets(claim)
        if claim["verdict"] == "not-robust" or not np.isinf(most) or claim.keys() - _FIELDS:
            settled.rejected[row] = "what labels do to votes is not known without training"
        elif claim.get("decision", winner[row]) != winner[row]:
            settled.rejected[row] = f"most votes are for class {winner[row]}"
        elif least > found[row]:
            settled.rejected[row] = f"{found[row]:,.0f} labels may overturn it, fewer than it says"
        elif claim["verdict"] == "robust" and found[row] <= votes.labels:
            settled.rejected[row] = f"{found[row]:,.0f} labels may overturn it: within the budget"
    return settled


_FIELDS = {"row", "verdict", "decision", "minimum_budget"}


def _need(holds: Any, otherwise: str) -> None:
    if not holds:
        raise CertificateError(otherwise)
