"""Work: what is done with the labels of a batch; what is found adds up over batches."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Generic, Protocol

import numpy as np

from unswayed._core.influence import SlicedDesign
from unswayed._core.parts import P
from unswayed._core.tally import Lines, Tally, collect, tally
from unswayed._typing import BoolArray, FloatArray, IntArray, Matrix
from unswayed.models.ridge.verified import roundings, weighted_gram


@dataclass(frozen=True, slots=True, eq=False)
class LabelBatch:
    """Training labels of a batch, and what they need to move a score."""

    design: Matrix  # Rows of the design
    lower: FloatArray  # How far each label may fall and rise
    upper: FloatArray  # How far each label may fall and rise
    targets: FloatArray  # Labels as numbers
    piece: int  # Where the rows are from
    numbers: IntArray  # Their positions in that piece

    def __len__(self) -> int:
        return len(self.lower)

    def take(self, at: IntArray) -> "LabelBatch":
        """Return some of the labels."""
        return LabelBatch(
            self.design[at],
            self.lower[at],
            self.upper[at],
            self.targets[at],
            self.piece,
            self.numbers[at],
        )


class Work(ABC, Generic[P]):
    """What is done with all labels, batch by batch."""

    title: ClassVar[str]  # What a progress line calls it

    @abstractmethod
    def nothing(self) -> P:
        """Return what is found in no labels."""

    @abstractmethod
    def of(self, batch: LabelBatch) -> P:
        """Return what is found in a batch."""


class Scan(Protocol):
    """Whoever has work done with all training labels."""

    @property
    def fingerprint(self) -> str:
        """Hash of the training rows and the bias."""
        ...

    def run(self, work: Work[P]) -> P:
        """Return the sum of what is found in all batches: one pass."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """Counts and sums of effects between thresholds, and some of the effects themselves."""

    tally: Tally
    line: IntArray
    value: FloatArray

    def __add__(self, other: "Counted") -> "Counted":
        return Counted(
            self.tally + other.tally,
            np.concatenate((self.line, other.line)),
            np.concatenate((self.value, other.value)),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Count(Work[Counted]):
    """Count and sum the effects above thresholds; of some lines bring those of the first bin."""

    title: ClassVar[str] = "counting effects"

    weights: FloatArray  # (rows, m)
    lines: Lines  # of these rows, ordered
    thresholds: FloatArray  # (lines, G), ascending
    kept: BoolArray  # (lines,) whose effects in the first bin are wanted

    def nothing(self) -> Counted:
        """Return zeros."""
        return Counted(Tally.blank(*self.thresholds.shape), np.empty(0, dtype=np.intp), np.empty(0))

    def of(self, batch: LabelBatch) -> Counted:
        """Return counts, sums and effects of a batch."""
        found = [self.nothing()]
        for tile in SlicedDesign(batch.design).products(self.weights):
            self.count_tile(batch, tile, found)
        return joined(found)

    def count_tile(
        self, batch: LabelBatch, tile: tuple[slice, slice, FloatArray], found: list[Counted]
    ) -> None:
        """Add the counts of a tile of influence to the first result and its effects to the next."""
        rows, columns, z = tile
        here = lines_of(self.lines.row, rows)
        lines = Lines(self.lines.row[here] - rows.start, self.lines.sign[here])
        lower, upper, sums = batch.lower[columns], batch.upper[columns], found[0].tally
        into = Tally(sums.count[here], sums.high[here], sums.low[here])
        tally(z, lower, upper, lines, self.thresholds[here], into)
        kept = np.flatnonzero(self.kept[here])
        if len(kept):
            ends = self.thresholds[here][kept]
            some = Lines(lines.row[kept], lines.sign[kept])
            line, _, value = collect(z, lower, upper, some, ends[:, 0], ends[:, 1])
            found.append(Counted(sums, kept[line] + here.start, value))


def joined(found: list[Counted]) -> Counted:
    """Return the tally of the first, which is that of all, and the effects of all."""
    return Counted(
        found[0].tally,
        np.concatenate([each.line for each in found]),
        np.concatenate([each.value for each in found]),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Pulled:
    """Counts and sums of effects, and what the labels above a threshold do to the parameters."""

    counted: Counted
    moved: FloatArray  # (lines, m)

    def __add__(self, other: "Pulled") -> "Pulled":
        return Pulled(self.counted + other.counted, self.moved + other.moved)


@dataclass(frozen=True, slots=True, eq=False)
class Pull(Work[Pulled]):
    """Count effects, and move all labels whose effect exceeds one of the thresholds."""

    title: ClassVar[str] = "evaluating anchors"

    count: Count
    above: IntArray  # (lines,) which of its thresholds

    def nothing(self) -> Pulled:
        """Return zeros."""
        return Pulled(
            self.count.nothing(), np.zeros((len(self.above), self.count.weights.shape[1]))
        )

    def of(self, batch: LabelBatch) -> Pulled:
        """Return counts, and sums of the moved labels' rows of the design."""
        count = self.count
        moved = np.zeros((len(self.above), count.weights.shape[1]))
        cut = np.take_along_axis(count.thresholds, self.above[:, None], axis=1)
        found = [count.nothing()]
        for tile in SlicedDesign(batch.design).products(count.weights):
            count.count_tile(batch, tile, found)
            rows, columns, z = tile
            here = lines_of(count.lines.row, rows)
            signed = z[count.lines.row[here] - rows.start] * count.lines.sign[here, None]
            offset = np.where(signed > 0, batch.upper[columns], batch.lower[columns])
            offset[~(signed * offset > cut[here])] = 0.0
            moved[here] += np.asarray(offset @ batch.design[columns])
        return Pulled(joined(found), moved)


@dataclass(frozen=True, slots=True, eq=False)
class Strongest:
    """The labels with the largest effects on one row, strongest first, at most so many."""

    most: int
    value: FloatArray
    piece: IntArray
    number: IntArray
    target: FloatArray
    offset: FloatArray

    def __add__(self, other: "Strongest") -> "Strongest":
        names = ("value", "piece", "number", "target", "offset")
        both = [np.concatenate((getattr(self, name), getattr(other, name))) for name in names]
        # Of equal ones those that come first in the data.
        order = np.lexsort((both[2], both[1], -both[0]))[: self.most]
        return Strongest(self.most, *(each[order] for each in both))


@dataclass(frozen=True, slots=True, eq=False)
class FindStrongest(Work[Strongest]):
    """Find the labels with the largest effects on one row."""

    title: ClassVar[str] = "finding labels"

    weights: FloatArray  # (1, m)
    sign: float
    most: int
    floor: float  # smaller effects are not among them

    def nothing(self) -> Strongest:
        """Return no labels."""
        none, nowhere = np.empty(0), np.empty(0, dtype=np.intp)
        return Strongest(self.most, none, nowhere, nowhere, none, none)

    def of(self, batch: LabelBatch) -> Strongest:
        """Return the strongest of a batch."""
        found = self.nothing()
        for _, columns, z in SlicedDesign(batch.design).products(self.weights):
            lower, upper = batch.lower[columns], batch.upper[columns]
            line = Lines(np.zeros(1, dtype=np.intp), np.array([self.sign]))
            _, at, value = collect(
                z, lower, upper, line, np.array([self.floor]), np.array([np.inf])
            )
            piece = np.full(len(at), batch.piece, dtype=np.intp)
            rises = self.sign * z[0, at] > 0
            offset = np.where(rises, upper[at], lower[at])
            number, target = batch.numbers[columns][at], batch.targets[columns][at]
            found = found + Strongest(self.most, value, piece, number, target, offset)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class GramPart:
    """A Gram matrix, and how many roundings follow one another in its sums."""

    gram: FloatArray
    roundings: int

    def __add__(self, other: "GramPart") -> "GramPart":
        return GramPart(self.gram + other.gram, max(self.roundings, other.roundings) + 1)


@dataclass(frozen=True, slots=True, eq=False)
class OffsetGram(Work[GramPart]):
    """Sum up the Gram matrix of the design, each row weighted by the square of its offset."""

    title: ClassVar[str] = "spread of movable labels"

    width: int

    def nothing(self) -> GramPart:
        """Return zeros."""
        return GramPart(np.zeros((self.width, self.width)), 0)

    def of(self, batch: LabelBatch) -> GramPart:
        """Return the matrix of a batch."""
        offset = np.maximum(-batch.lower, batch.upper)
        return GramPart(weighted_gram(batch.design, offset * offset), roundings(len(batch)) + 3)


def lines_of(row: IntArray, rows: slice) -> slice:
    """Return the places of lines, which are ordered by row, that belong to some rows."""
    start, stop = np.searchsorted(row, (rows.start, rows.stop))
    return slice(int(start), int(stop))
