"""Rows as a learner represents them (features, kernel rows, influence rows), always the same bits.

A kernel row is data: scores, influence and exact arithmetic must all start from the same doubles.
But the last bits of a product depend on the rows it is computed beside, and on the threads. So
rows are always computed in the same blocks, by one thread.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterator

import numpy as np

from unswayed._core.parallel import one_blas_thread
from unswayed._typing import IntArray, Matrix
from unswayed.models.learner import Learner

_BLOCK = 2**22  # numbers in a block: kernel rows of all rows may not fit into memory
_BLOCKS_KEPT = 4  # blocks kept: threads work side by side on neighbouring rows


class RepresentedRows:
    """A set of feature rows as a learner represents them, made on demand."""

    def __init__(self, learner: Learner, rows: Matrix) -> None:
        self.rows = rows
        self._learner = learner
        self._given = learner.takes_features  # they are what they are
        self._step = max(1, _BLOCK // max(1, learner.n_rows))
        self._made: OrderedDict[int, Matrix] = OrderedDict()
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def _block(self, number: int) -> Matrix:
        with self._lock:
            if number not in self._made:
                start = number * self._step
                rows = self.rows[start : start + self._step]
                with one_blas_thread:
                    self._made[number] = self._learner.represent(rows)
            self._made.move_to_end(number)
            while len(self._made) > _BLOCKS_KEPT:
                self._made.popitem(last=False)
            return self._made[number]

    def take(self, which: IntArray) -> Matrix:
        """Return some of the rows as the learner represents them."""
        if self._given or not len(which):
            return self.rows[which] if self._given else np.empty((0, self._learner.n_rows))
        block = which // self._step
        out = np.empty((len(which), self._learner.n_rows))
        for number in np.unique(block).tolist():
            here = np.flatnonzero(block == number)
            out[here] = self._block(number)[which[here] - number * self._step]
        return out

    def blocks(self) -> Iterator[Matrix]:
        """Yield all rows as the learner represents them, block by block, in order."""
        if self._given:
            yield self.rows
            return
        for number in range(-(-len(self) // self._step)):
            yield self._block(number)

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()
