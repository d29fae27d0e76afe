"""Labels that are classes: which class each may really be, and what a change does to a lead.

With C classes a model has C scores, one per column of numbers: `step` more in the column of a
label's own class than in the others. All columns have the same influence, so that the lead of a
rival over the winner is linear in one column of differences: `step` for labels of the rival,
-`step` for those of the winner, 0 for all others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unswayed._core.influence import distinct_rows
from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.exceptions import BiasError


@dataclass(frozen=True, eq=False)
class ClassChanges:
    """Which class each training label may really be."""

    own: IntArray  # the class of each label, as a number
    allowed: BoolArray  # (labels, classes): what it may really be, its own class included

    @cached_property
    def kinds(self) -> tuple[IntArray, IntArray]:
        """The first label of each kind, and the kind of each: same class, same changes."""
        return distinct_rows(np.column_stack((self.own, self.allowed)).astype(np.float64))

    @property
    def kind(self) -> IntArray:
        """The kind of each label: those of one kind can do the same to every lead."""
        return self.kinds[1]

    def only(self, mask: BoolArray) -> "ClassChanges":
        """Return the same changes for some of the labels; the others are right."""
        own = self.own[:, None] == np.arange(self.n_classes)
        return ClassChanges(self.own, self.allowed & mask[:, None] | own)

    def spared(self, rows: IntArray, labels: FloatArray | None = None) -> "ClassChanges":
        """Return the same changes where some labels are right, after they were corrected."""
        own, free = self.own.copy(), np.ones(len(self.own), dtype=bool)
        own[rows] = own[rows] if labels is None else labels[rows].astype(own.dtype)
        free[rows] = False
        return ClassChanges(own, self.allowed).only(free)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.allowed.shape[1])

    def ends(self) -> tuple[FloatArray, FloatArray]:
        """Return how far the number of each label's class may fall and rise."""
        number = np.arange(self.n_classes)
        low = np.where(self.allowed, number, self.n_classes).min(axis=1)
        high = np.where(self.allowed, number, -1).max(axis=1)
        return (low - self.own).astype(np.float64), (high - self.own).astype(np.float64)

    def lead(
        self, winner: int, rival: int, step: float
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return numbers whose score is the rival's lead, and how far each may fall and rise."""
        first, kind = self.kinds
        value = lead_values(self.n_classes, winner, rival) * step
        allowed, now = self.allowed[first], value[self.own[first]]
        lower = np.where(allowed, value, np.inf).min(axis=1) - now
        upper = np.where(allowed, value, -np.inf).max(axis=1) - now
        return now[kind], lower[kind], upper[kind]

    def towards(self, winner: int, rival: int, rows: IntArray, *, rising: BoolArray) -> IntArray:
        """Return the class of each changed label that raises or lowers the rival's lead most."""
        value = lead_values(self.n_classes, winner, rival)
        best = np.where(rising[:, None], value, -value)
        return np.asarray(np.argmax(np.where(self.allowed[rows], best, -np.inf), axis=1))

    def losable(self, number: int) -> IntArray:
        """Return the labels of a class; none if not all of them may be wrong."""
        own = np.flatnonzero(self.own == number)
        free = self.allowed[own].sum(axis=1) > 1
        return own if free.all() else own[:0]

    def table(self) -> list[list[int]]:
        """Return, class by class, what those of its labels that may be wrong may really be."""
        found = []
        for number in range(self.n_classes):
            own = self.allowed[self.own == number]
            free = own[own.sum(axis=1) > 1]
            if (free != free[:1]).any():
                raise BiasError(
                    "labels of one class may be different classes here, and a certificate file has "
                    "one list for each class; let labels of a class be the same classes, or right"
                )
            others = free.any(axis=0) & (np.arange(self.n_classes) != number)
            found.append([int(each) for each in np.flatnonzero(others)])
        return found

    # --- random label sets: (draws, labels) CSR, what is added to numbers of classes ------------

    def drawn(self, rows: IntArray, rng: np.random.Generator) -> IntArray:
        """Return a random other class for each label, of those it may be; its own if none."""
        others = self.allowed[rows] & (self.own[rows][..., None] != np.arange(self.n_classes))
        rank = (rng.random(rows.shape) * others.sum(axis=-1)).astype(np.intp)
        found = np.argmax(np.cumsum(others, axis=-1) > rank[..., None], axis=-1)
        return np.where(others.any(axis=-1), found, self.own[rows])

    def gained(self, number: int, changes: Any) -> Any:
        """Return which label changes add a label to a class, 1, or take one from it, -1."""
        found, old = changes.copy(), self.own[changes.indices]
        new = old + changes.data.astype(np.intp)
        found.data = (new == number).astype(np.float64) - (old == number)
        return found


def lead_values(n_classes: int, winner: int, rival: int) -> FloatArray:
    """Return what a label of each class counts in a rival's lead, in steps."""
    found = np.zeros(n_classes)
    found[winner], found[rival] = -1.0, 1.0
    return found


def joined_changes(terms: "Sequence[ClassChanges]") -> ClassChanges:
    """Return what several biases allow, each of them for labels of its own."""
    return ClassChanges(terms[0].own, np.any([each.allowed for each in terms], axis=0))


def allowed_changes(to: Any, classes: Sequence[Any] | NDArray[Any]) -> BoolArray:
    """Return which class a label of each class may really be, its own included."""
    names = list(np.asarray(classes).tolist())
    found = np.eye(len(names), dtype=bool)
    if to is None:
        return np.ones_like(found)
    if not isinstance(to, Mapping):
        raise BiasError(
            f"to must say which classes a label may really be, got {to!r}; pass a dict from a "
            "class to a list of others, such as {'hired': ['declined']}"
        )
    for given, others in to.items():
        for each in [others] if isinstance(others, str) or not np.iterable(others) else others:
            found[_place(given, names), _place(each, names)] = True
    return found


def _place(name: Any, names: list[Any]) -> int:
    if name in names:
        return names.index(name)
    known = ", ".join(map(repr, names[:8])) + (", …" if len(names) > 8 else "")
    raise BiasError(
        f"to names {name!r}, which is no class of the training labels; the classes are {known}"
    )


def flip_offsets(
    y: FloatArray, flip_between: tuple[float, float] | None, allowed: BoolArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return how far each of two labels may fall and rise; `allowed` says which may change."""
    if flip_between is None:
        values = np.unique(y)
        if np.isin(values, (0.0, 1.0)).all():
            flip_between = (0.0, 1.0)
        elif len(values) == 2:
            flip_between = (float(values[0]), float(values[1]))
        else:
            raise BiasError(
                f"flips needs binary labels, got {len(values)} different values; "
                "for real-valued labels use LabelBias.shifts or LabelBias.intervals"
            )
    negative, positive = flip_between
    down = up = positive - negative
    if allowed is not None:
        down, up = down * allowed[1, 0], up * allowed[0, 1]
    return np.where(y == positive, -down, 0.0), np.where(y == positive, 0.0, up)
