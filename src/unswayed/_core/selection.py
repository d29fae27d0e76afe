"""Selection kernels: compiled ones for the vectors of this machine, or their NumPy twin.

All return the same bits. ``UNSWAYED_KERNEL`` chooses one by name, for comparisons and tests.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from unswayed._core import selection_numpy
from unswayed._core.compression import Entries
from unswayed._typing import FloatArray, IntArray
from unswayed.exceptions import KernelError

try:
    from unswayed._core import _selection as _built  # type: ignore[attr-defined]
except ImportError:
    _built = None
_compiled = _built  # None while the twin is used


def kernel_names() -> tuple[str, ...]:
    """Return the kernels that this machine has, the fastest first; the last is ``"numpy"``."""
    return (*(() if _built is None else _built.paths()), "numpy")


def kernel_name() -> str:
    """Return the kernel in use: "avx512", "avx2", "neon", "plain" (C++) or "numpy" (the twin)."""
    return "numpy" if _compiled is None else str(_compiled.path())


def use_kernel(name: str) -> None:
    """Use a kernel from now on, in the whole process."""
    global _compiled  # noqa: PLW0603 (one kernel for all threads)
    if name not in kernel_names():
        raise KernelError(
            f"UNSWAYED_KERNEL is {name!r}, which this machine or installation does not have; "
            f"it has: {', '.join(kernel_names())}"
        )
    _compiled = None if name == "numpy" else _built
    if _compiled is not None:
        _compiled.use(name)


@contextmanager
def using_kernel(name: str) -> Iterator[None]:
    """Use a kernel inside a `with` block."""
    before = kernel_name()
    use_kernel(name)
    try:
        yield
    finally:
        use_kernel(before)


use_kernel(os.environ.get("UNSWAYED_KERNEL") or kernel_names()[0])


def reach(z: FloatArray, entries: Entries, budget: float) -> tuple[FloatArray, FloatArray]:
    """Return how far the `budget` most influential labels can raise and lower each row's score."""
    if _compiled is None:
        return selection_numpy.reach(z, entries, budget)
    up, down = np.empty(len(z)), np.empty(len(z))
    _compiled.reach(z, *entries.sides, float(budget), up, down)
    return up, down


@dataclass(frozen=True, slots=True, eq=False)
class Extremes:
    """Reach of each row in one direction, and the label changes that attain it."""

    reach: FloatArray
    index: IntArray  # entries, per row the first `length` columns
    amount: FloatArray  # what is added to their labels, summed over each entry's
    length: IntArray

    def changes(self, row: int) -> tuple[IntArray, FloatArray]:
        """Return the entries that move in `row`, and what is added to their labels in total."""
        return self.index[row, : self.length[row]], self.amount[row, : self.length[row]]


def extremes(z: FloatArray, entries: Entries, budget: int, sign: float) -> Extremes:
    """Return the reach with `sign` +1 upwards or -1 downwards, and the changes that attain it."""
    if _compiled is None:
        return Extremes(*selection_numpy.extremes(z, entries, budget, sign))
    n_rows, most = len(z), min(budget, len(entries))
    found = Extremes(
        np.empty(n_rows),
        np.empty((n_rows, most), dtype=np.int64),
        np.empty((n_rows, most)),
        np.empty(n_rows, dtype=np.int64),
    )
    out = (found.reach, found.index, found.amount, found.length)
    _compiled.extremes(z, *entries.sides, float(budget), sign, *out)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Crossings:
    """How many labels are needed for the reach to exceed a margin, upwards and downwards.

    `count` is correct for the influence rows given. `before` and `after` are the reaches of one
    label less and of `count` labels (`before` of all labels where the count is infinite), each
    rounded once.
    """

    count: FloatArray  # (rows, 2)
    before: FloatArray
    after: FloatArray

    @classmethod
    def blank(cls, n_rows: int) -> "Crossings":
        """Return an object to be filled by `put` or by a kernel."""
        return cls(*np.empty((3, n_rows, 2)))

    def put(self, rows: slice, other: "Crossings") -> None:
        """Fill in some of the rows."""
        self.count[rows], self.before[rows] = other.count, other.before
        self.after[rows] = other.after

    @property
    def least(self) -> FloatArray:
        """Least number of labels whose reach exceeds a row's margin, either way; inf if none."""
        return np.asarray(self.count.min(axis=1))


def minimum_budget(
    z: FloatArray, entries: Entries, margin_up: FloatArray, margin_down: FloatArray
) -> Crossings:
    """Return the least number of labels whose reach exceeds a row's margin, in each direction."""
    if _compiled is None:
        return Crossings(*selection_numpy.minimum_budget(z, entries, margin_up, margin_down))
    found = Crossings.blank(len(z))
    out = (found.count, found.before, found.after)
    _compiled.minimum_budget(z, *entries.sides, margin_up, margin_down, *out)
    return found


if __name__ == "__main__":
    print(
        f"kernel: {kernel_name()}"
        if _built is not None
        else "kernel: not built (no working C++ compiler?), so the NumPy twin answers: the same "
        "results, slower; `make clean install` tries again"
    )
