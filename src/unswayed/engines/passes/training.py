"""Training: from batches of a user's rows to batches of labels, and what a model needs of them."""

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from unswayed._core.influence import SlicedDesign, mix, mix_rows
from unswayed._core.tally import Lines, P, Tally, collect, tally
from unswayed._typing import BoolArray, FloatArray, IntArray, Matrix
from unswayed.engines.protocol import OffsetSums
from unswayed.exceptions import BiasError, InputError
from unswayed.labels.bias import LabelBias
from unswayed.models.ridge.summed import Design, RowSums, entry_errors
from unswayed.models.ridge.verified import roundings, weighted_gram
from unswayed.pieces.passes import Passes, Task
from unswayed.pieces.pieces import Batch, Piece, cut


@dataclass(frozen=True, slots=True, eq=False)
class LabelBatch:
    """Training labels of a batch, and what they need to move a score."""

    design: Matrix  # Rows of the design
    lower: FloatArray  # How far each label may fall
    upper: FloatArray  # and rise
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

    title: str  # What a progress line calls it

    @abstractmethod
    def nothing(self) -> P:
        """Return what is found in no labels."""

    @abstractmethod
    def of(self, batch: LabelBatch) -> P:
        """Return what is found in a batch."""


class Scan(Protocol):
    """The protocol of a scan: it has work done with all training labels."""

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

    title = "counting effects"

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

    title = "evaluating anchors"

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

    title = "finding labels"

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

    title = "spread of movable labels"

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


_ALONE = 4  # rows of either kind that a callable is asked about by themselves
_SAMPLED = 2**19  # numbers of a sample of the design: four megabytes


class Encoder(Protocol):
    """From rows as the user has them to features."""

    def features(self, rows: Any) -> Matrix:
        """Return the features of rows."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Reader:
    """Reads batches: their rows of the design, their labels, and how far these may move."""

    encoder: Encoder
    design: Design
    bias: LabelBias
    # The negative and the positive label; None where labels are numbers
    classes: NDArray[Any] | None = None
    codes: tuple[float, float] = (0.0, 1.0)  # Numbers that stand for them

    def targets(self, labels: Any) -> FloatArray:
        """Return labels as numbers."""
        given = as_array(labels)
        if self.classes is None:
            return np.asarray(given, dtype=np.float64)
        negative, positive = self.codes
        return np.where(given == self.classes[1], positive, negative)

    def offsets(
        self, rows: Any, labels: Any, targets: FloatArray, *, check: bool = False
    ) -> tuple[FloatArray, FloatArray]:
        """Return how far labels may fall and rise."""
        between = None if self.classes is None else self.codes
        bias = replace(self.bias, budget=0)  # a budget is of all rows, and these are some
        found = bias.resolve(targets, X=rows, labels=labels, flip_between=between)
        if check and callable(self.bias.where):
            movable = found.lower < found.upper
            alone = [*np.flatnonzero(movable)[:_ALONE], *np.flatnonzero(~movable)[:_ALONE]]
            for here in (slice(len(targets) // 2, None), *(slice(at, at + 1) for at in alone)):
                some = self.offsets(cut(rows, here), cut(labels, here), targets[here])
                if np.array_equal(some, (found.lower[here], found.upper[here])):
                    continue
                raise BiasError(
                    "where(X, y) says something else of the same rows when it is asked about some "
                    "of them alone, but rows in pieces are never together: let it look at each "
                    "row by itself, such as X['sex'] == 'female', and at no mean or position"
                )
        return found.lower, found.upper

    def read(self, number: int, batch: Batch) -> LabelBatch:
        """Return a batch as engines work with it."""
        targets = self.targets(batch.labels)
        first = len(batch) > 0 and batch.numbers[0] == 0
        lower, upper = self.offsets(batch.rows, batch.labels, targets, check=first)
        rows = self.design.rows(self.encoder.features(batch.rows))
        return LabelBatch(rows, lower, upper, targets, number, batch.numbers)


def as_array(labels: Any) -> NDArray[Any]:
    """Return labels as an array."""
    if hasattr(labels, "combine_chunks"):  # of pyarrow, which knows no kind "category"
        labels = labels.combine_chunks()
    if hasattr(labels, "dictionary_decode"):
        labels = labels.dictionary_decode()
    if hasattr(labels, "to_numpy"):
        try:
            return np.asarray(labels.to_numpy(zero_copy_only=False))
        except TypeError:
            return np.asarray(labels.to_numpy())
    return np.asarray(labels)


@dataclass(frozen=True, slots=True)
class Print:
    """A fingerprint of rows, whatever their order: as many rows of other numbers have another."""

    rows: int = 0
    bits: int = 0

    @classmethod
    def of(cls, batch: LabelBatch) -> "Print":
        """Take the fingerprint of a batch."""
        mixed = mix_rows(batch.design)
        for at, column in enumerate((batch.targets, batch.lower, batch.upper), 1):
            mixed = mix(mixed + np.uint64(at)) ^ (column + 0.0).view(np.uint64)
        return cls(len(batch), int(mix(mixed).sum(dtype=np.uint64)))

    def __add__(self, other: "Print") -> "Print":
        return Print(self.rows + other.rows, (self.bits + other.bits) % 2**64)


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Sums over training rows, and a sample of them."""

    rows: RowSums
    offsets: OffsetSums
    sample: tuple[LabelBatch, ...]
    print: Print

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(
            self.rows + other.rows,
            self.offsets + other.offsets,
            (*self.sample, *other.sample),
            self.print + other.print,
        )

    def sampled(self, width: int) -> LabelBatch:
        """Return the sample as one batch."""
        parts = self.sample
        if not parts:
            none = np.empty(0)
            return LabelBatch(np.empty((0, width)), none, none, none, 0, none.astype(np.intp))
        design: list[Matrix] = [part.design for part in parts]
        stacked = hasattr(design[0], "indptr")
        return LabelBatch(
            sparse.vstack(design, format="csr") if stacked else np.vstack(design),
            np.concatenate([part.lower for part in parts]),
            np.concatenate([part.upper for part in parts]),
            np.concatenate([part.targets for part in parts]),
            0,
            np.concatenate([part.numbers for part in parts]),
        )


@dataclass(frozen=True, slots=True, eq=False)
class SumUp(Task[Sums]):
    """Sum up what a model needs of its training rows, and take a sample of them."""

    title = "summing up"

    reader: Reader
    starts: IntArray  # number of rows before each piece
    step: int  # every so-many-th row is in the sample

    @classmethod
    def of(cls, reader: Reader, counts: IntArray) -> "SumUp":
        """Return the task for pieces of known sizes."""
        most = max(1, _SAMPLED // reader.design.width)
        step = max(1, -(-int(counts.sum()) // most))
        return cls(reader, np.cumsum(counts) - counts, step)

    def nothing(self) -> Sums:
        """Return the sums of no rows."""
        return Sums(RowSums.nothing(self.reader.design.width), OffsetSums(), (), Print())

    def batch(self, number: int, piece: Piece, batch: Batch) -> Sums:
        """Return the sums of a batch."""
        read = self.reader.read(number, batch)
        taken = np.flatnonzero((read.numbers + self.starts[number]) % self.step == 0)
        return Sums(
            RowSums.of(read.design, read.targets),
            OffsetSums.of(np.maximum(-read.lower, read.upper), 1.0, entry_errors(read.design)),
            (read.take(taken),) if len(taken) else (),
            Print.of(read),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Found(Generic[P]):
    """What work found, and in which rows."""

    part: P
    print: Print

    def __add__(self, other: "Found[P]") -> "Found[P]":
        return Found(self.part + other.part, self.print + other.print)


@dataclass(frozen=True, slots=True, eq=False)
class WorkTask(Task[Found[P]], Generic[P]):
    """Work of an engine, as a task for passes."""

    title: str
    reader: Reader
    work: Work[P]

    def nothing(self) -> Found[P]:
        """Return what the work finds in no labels."""
        return Found(self.work.nothing(), Print())

    def batch(self, number: int, piece: Piece, batch: Batch) -> Found[P]:
        """Return what the work finds in a batch."""
        read = self.reader.read(number, batch)
        return Found(self.work.of(read), Print.of(read))


@dataclass(frozen=True, slots=True, eq=False)
class PassesScan:
    """Has an engine's work done by passes over pieces."""

    passes: Passes
    reader: Reader
    # Of the rows that the model was trained on: every pass must find the same
    expected: Print | None = None

    @property
    def fingerprint(self) -> str:
        """Hash of the pieces' names and the bias."""
        text = "\0".join((*self.passes.names, repr(self.reader.bias)))
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    def run(self, work: Work[P]) -> P:
        """Return the sum of what is found in all batches."""
        found = self.passes.run(WorkTask(work.title, self.reader, work))
        if self.expected is not None and found.print != self.expected:
            raise InputError(
                f"the training rows have changed since the first pass over them "
                f"({self.expected.rows:,} rows then, {found.print.rows:,} now), so that nothing "
                "can be said of them; read them from where they stay the same (a lazy frame that "
                "draws or shuffles rows needs a seed) and fit again"
            )
        return found.part
