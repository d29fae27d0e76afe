"""Budgets of several sets of labels: sums of biases, each with its own limit, and clusters."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import zip_longest
from typing import Any, ClassVar

import numpy as np

from unswayed._core import selection
from unswayed._core.influence import Entries
from unswayed._core.rounding import UNIT
from unswayed._typing import FloatArray, IntArray
from unswayed.exceptions import BiasError
from unswayed.inputs import refuse_masked
from unswayed.labels.budgets import Amount, Budget, Members, Move, Part, count_budget


@dataclass(frozen=True, eq=False)
class Parts(Budget):
    """Several sets of labels with a limit each, and at most so many labels in all.

    Its size is the number of labels in all; limits of the parts stay as they are. The largest
    effects first, as long as there is room for them, is the best choice: limits on sets that share
    nothing, and one on all of them, are a laminar matroid.
    """

    labels: int  # in all
    limits: tuple[Part, ...]
    confidence: Fraction | None = None  # of all limits together, where samples gave them
    samples: tuple[dict[str, Any] | None, ...] = ()  # of each part, as files write them

    def parts(self) -> tuple[Part, ...]:
        """Return the sets of labels."""
        return self.limits

    @property
    def cap(self) -> int:
        """How many labels may be wrong in all."""
        return self.labels

    def read(self, written: Amount, n_rows: int) -> "Parts":
        """Return the same limits with another number of labels in all."""
        return replace(self, labels=count_budget(written, n_rows))

    def taken(self, rows: IntArray) -> "Parts":
        """Return the limits for some of the training rows."""
        place = {row: at for at, row in enumerate(rows.tolist())}
        found = []
        for part in self.limits:
            kept = None
            if part.rows is not None:
                kept = np.array([place[row] for row in part.rows.tolist() if row in place], int)
            found.append(Part(kept, part.labels))
        return replace(self, limits=tuple(found))

    def labels_of(self, amount: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the numbers of labels themselves, and one less."""
        most = sum(part.labels for part in self.limits)
        return np.minimum(amount, most), np.clip(amount - 1, 0, most)

    def least(
        self, z: FloatArray, entries: Entries, up: FloatArray, down: FloatArray
    ) -> selection.Crossings:
        """Return the fewest labels, each part within its limit, that exceed a row's margins."""
        found, uncapped = selection.Crossings.blank(len(z)), self.sized(2**53)
        ends = uncapped.reach(z, entries)
        for side, (sign, margin, reach) in enumerate(((1.0, up, ends[0]), (-1.0, down, ends[1]))):
            found.count[:, side], found.before[:, side] = np.inf, reach
            # All that the parts allow does not reach the other margins.
            near = np.flatnonzero((reach * (1.0 + 2.0**-40) >= margin) & np.isfinite(margin))
            if len(near):
                crossed = self._strongest(z[near], entries, sign).crossing(margin[near])
                for name, values in zip(("count", "before", "after"), crossed, strict=True):
                    getattr(found, name)[near, side] = values
        return found

    def least_exactly(self, moves: Sequence[Move], goal: Any) -> float:
        """Return the fewest labels that move a score by `goal`; inf if all of them do not."""
        if goal <= 0:
            return 0.0
        used = 0
        for move, taken in replace(self, labels=2**53)._shares(moves):
            if taken and goal <= move.value * taken:
                return float(used - (-goal // move.value))
            goal -= move.value * taken
            used += taken
        return math.inf

    def __str__(self) -> str:
        limits = [
            f"up to {part.labels:,}" + ("" if part.rows is None else f" of {len(part.rows):,}")
            for part in self.limits
        ]
        text = " labels, and ".join(limits) + " labels are wrong"
        if self.labels < sum(part.labels for part in self.limits):
            text += f", at most {self.labels:,} in all"
        return text if self.source is None else f"{text} ({self.source})"

    @property
    def source(self) -> str | None:
        """How sure the limits are together, where samples gave them."""
        if self.confidence is None:
            return None
        return f"{confident(self.confidence)}, from samples"

    def document(self, n_rows: int) -> Any:
        """Return the parts, each with its sample if it has one, and the number in all."""
        parts = [
            {"rows": np.arange(n_rows) if part.rows is None else np.sort(part.rows),
             "labels": part.labels} | ({} if sample is None else {"sample": sample})
            for part, sample in zip_longest(self.limits, self.samples)
        ]  # fmt: skip
        return {"kind": "parts", "labels": self.labels, "parts": parts}


def confident(confidence: Fraction) -> str:
    """Say how sure a budget is that checked samples gave."""
    return f"{float(100 * confidence):.4g} % confidence that no more are"


@dataclass(frozen=True, eq=False)
class Clusters(Budget):
    """At most so many clusters are wrong: all labels of an annotator, a day or a site at once.

    Within a wrong cluster every label may be wrong, so that a cluster moves a score as far as all
    of its labels together.
    """

    unit: ClassVar[str] = "clusters"

    clusters: int
    cluster: IntArray  # of each training row, numbered from 0

    def used(self, rows: IntArray, change: FloatArray) -> float:
        """Return how many clusters the labels are of."""
        return float(len(np.unique(self.cluster[rows])))

    @property
    def _n_clusters(self) -> int:
        return int(self.cluster.max(initial=-1)) + 1

    def parts(self) -> tuple[Part]:
        """Return one part, with as many labels as the largest clusters have."""
        sizes = np.sort(np.bincount(self.cluster))[::-1]
        return (Part(None, int(sizes[: self.clusters].sum())),)

    def read(self, written: Amount, n_rows: int) -> "Clusters":
        """Return the same clusters and another number of wrong ones."""
        return Clusters(cluster_count(written), self.cluster)

    def taken(self, rows: IntArray) -> "Clusters":
        """Return the clusters of some of the training rows."""
        return replace(self, cluster=self.cluster[rows])

    @property
    def relative(self) -> float:
        """Relative rounding error of a reach: effects are added up in doubles."""
        return (len(self.cluster) + 16) * UNIT

    def apart(
        self, lower: FloatArray, upper: FloatArray, scale: FloatArray | None = None
    ) -> FloatArray:
        """Return the clusters: rows of two of them are not merged."""
        return self.cluster.astype(np.float64)

    def _effects(self, z: FloatArray, entries: Entries, sign: float) -> FloatArray:
        """Return how far each cluster moves scores, (rows, clusters)."""
        return self._totals(np.maximum(
            np.maximum(sign * z, 0.0) * (entries.upper * entries.n_upper),
            np.minimum(sign * z, 0.0) * (entries.lower * entries.n_lower),
        ), self.cluster[entries.rows])  # fmt: skip

    def _totals(self, effects: FloatArray, cluster: IntArray) -> FloatArray:
        """Return the sums of columns by cluster."""
        found = np.zeros((len(effects), self._n_clusters))
        if effects.shape[1]:
            order = np.argsort(cluster, kind="stable")
            names, start = np.unique(cluster[order], return_index=True)
            found[:, names] = np.add.reduceat(effects[:, order], start, axis=1)
        return found

    def _ranked(self, z: FloatArray, entries: Entries, sign: float) -> tuple[IntArray, FloatArray]:
        """Return clusters, strongest first, and sums of what they do, from none of them on."""
        effects = self._effects(z, entries, sign)
        order = np.argsort(-effects, axis=1, kind="stable")
        sums = np.zeros((len(z), effects.shape[1] + 1))
        np.cumsum(np.take_along_axis(effects, order, axis=1), axis=1, out=sums[:, 1:])
        return order, sums

    def reach(self, z: FloatArray, entries: Entries) -> tuple[FloatArray, FloatArray]:
        """Return how far the strongest clusters raise and lower scores."""
        most = min(self.clusters, self._n_clusters)
        up, down = (self._ranked(z, entries, sign)[1][:, most] for sign in (1.0, -1.0))
        return up, down

    def argmax(self, z: FloatArray, entries: Entries, sign: float) -> selection.Extremes:
        """Return how far scores can rise or fall, and the label changes that do it."""
        order, sums = self._ranked(z, entries, sign)
        most = min(self.clusters, self._n_clusters)
        wrong = np.zeros((len(z), self._n_clusters), dtype=bool)
        np.put_along_axis(wrong, order[:, :most], values=True, axis=1)
        offset = np.where(
            sign * z >= 0, entries.upper * entries.n_upper, entries.lower * entries.n_lower
        )
        moved = wrong[:, self.cluster[entries.rows]] & (z * offset * sign > 0)
        index = np.argsort(~moved, axis=1, kind="stable")
        amount = np.take_along_axis(np.where(moved, offset, 0.0), index, axis=1)
        return selection.Extremes(sums[:, most], index, amount, moved.sum(axis=1))

    def least(
        self, z: FloatArray, entries: Entries, up: FloatArray, down: FloatArray
    ) -> selection.Crossings:
        """Return the fewest clusters that exceed a row's margins."""
        found, rows = selection.Crossings.blank(len(z)), np.arange(len(z))
        for side, (sign, margin) in enumerate(((1.0, up), (-1.0, down))):
            sums = self._ranked(z, entries, sign)[1]
            count = (sums <= margin[:, None]).sum(axis=1)
            beyond = count < sums.shape[1]
            found.before[:, side] = sums[rows, np.maximum(count - 1, 0)]
            found.after[:, side] = np.where(
                beyond, sums[rows, np.minimum(count, sums.shape[1] - 1)], 0.0
            )
            found.count[:, side] = np.where(beyond, count, np.inf)
        return found

    def choose(
        self, strength: FloatArray, offset: FloatArray | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Return all labels of the strongest clusters that move a score."""
        totals = self._totals(np.maximum(strength, 0.0)[None], self.cluster)[0]
        wrong = np.argsort(-totals, kind="stable")[: self.clusters]
        rows = np.flatnonzero(np.isin(self.cluster, wrong) & (strength > 0))
        return rows, np.ones(len(rows))

    # --- exactly ------------------------------------------------------------------------------

    def _whole(self, moves: Sequence[Move]) -> list[tuple[int, int]]:
        """Return what clusters do, strongest first, with their numbers."""
        totals: dict[int, int] = defaultdict(int)
        for move in moves:
            totals[int(self.cluster[move.row])] += move.value * move.labels
        return sorted(((value, -number) for number, value in totals.items()), reverse=True)

    def reach_exactly(self, moves: Sequence[Move]) -> int:
        """Return the sum of what the strongest clusters do."""
        return sum(value for value, _ in self._whole(moves)[: self.clusters])

    def least_exactly(self, moves: Sequence[Move], goal: Any) -> float:
        """Return the fewest clusters that move a score by `goal`; inf if all of them do not."""
        used = 0
        for value, _ in self._whole(moves):
            if goal <= 0:
                break
            goal -= value
            used += 1
        return math.inf if goal > 0 else float(used)

    def choose_exactly(self, moves: Sequence[Move], members: Members) -> list[tuple[int, Fraction]]:
        """Return all labels of the strongest clusters that move a score."""
        wrong = {-number for _, number in self._whole(moves)[: self.clusters]}
        chosen = [move for move in moves if int(self.cluster[move.row]) in wrong]
        return [(row, Fraction(1)) for row in sorted(r for move in chosen for r in members(move))]

    def document(self, n_rows: int) -> Any:
        """Return the clusters, and how many of them may be wrong."""
        clusters = min(self.clusters, self._n_clusters)
        return {"kind": "clusters", "clusters": clusters, "cluster": self.cluster.astype(float)}

    def __str__(self) -> str:
        some = f"up to {self.clusters:,} of {self._n_clusters:,} clusters are"
        return f"{some if self.clusters != 1 else some.replace(' are', ' is')} wrong as a whole"


def cluster_count(written: object) -> int:
    """Return how many clusters may be wrong; raise unless it is a whole number."""
    if isinstance(written, bool | np.bool_) or not isinstance(written, int | np.integer):
        raise BiasError(
            f"with clusters=, the budget is how many clusters may be wrong, a whole number; got "
            f"{written!r}"
        )
    if written < 0:
        raise BiasError(f"with clusters=, the budget must not be negative; got {written!r}")
    return int(written)


def numbered(clusters: Any, n_rows: int) -> IntArray:
    """Return the number of each training row's cluster, from the names that a user gave."""
    refuse_masked(clusters, "clusters", BiasError)
    names = np.asarray(clusters)
    if names.shape != (n_rows,):
        raise BiasError(
            f"clusters has shape {names.shape} but there are {n_rows} training rows; it needs "
            "exactly one cluster for each"
        )
    for row in [at for at, name in enumerate(names.tolist()) if name is None or name != name]:  # noqa: PLR0124
        raise BiasError(f"the cluster of training row {row} is missing; name one for each row")
    return np.unique(names.astype(str), return_inverse=True)[1].reshape(-1).astype(np.intp)
