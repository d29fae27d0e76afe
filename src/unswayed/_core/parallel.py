"""Blocks of work on all cores, one BLAS thread each, that stop promptly when interrupted."""

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache

import numpy as np
from threadpoolctl import ThreadpoolController

from unswayed._core.rounding import check_arithmetic
from unswayed._typing import FloatArray


def thread_count() -> int:
    """Threads to use: OMP_NUM_THREADS if set, as BLAS has it, else the cores we may run on."""
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    if wanted.isdigit() and int(wanted) > 0:
        return int(wanted)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def block_starts(n_rows: int, row_bytes: int) -> range:
    """Starts of the blocks that `n_rows` rows of `row_bytes` each are worked on in.

    64 rows keep a matrix product near its peak; 256 MB a thread keep huge rows in bounds and an
    interrupt within a second; and every thread gets some rows.
    """
    share = -(-n_rows // thread_count())
    return range(0, n_rows, max(1, min(64, share, 2**28 // max(1, row_bytes))))


class _OneBlasThread:
    """BLAS at one thread while anyone is inside.

    The limit is one number for the whole process: the first in sets it, the last out restores
    it. Callers that came and went on their own would restore each other's limit.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._limit = _blas().limit(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._limit.restore_original_limits()


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


one_blas_thread = _OneBlasThread()


def run_blocks(starts: range, width: int, work: Callable[[int, int, FloatArray], None]) -> None:
    """Call ``work(start, stop, buffer)`` for every block.

    Each thread hands its own buffer of `width` columns, one row per row of a block. Threads
    share the blocks, and BLAS keeps to one thread inside each: its own threads would spin for
    the next product while the selection kernels need the core.
    """
    blocks: Iterator[int] = iter(starts)
    lock = threading.Lock()
    stopped = threading.Event()

    def drain() -> None:
        buffer = np.empty((starts.step, width))
        while not stopped.is_set():
            with lock:
                start = next(blocks, None)
            if start is None:
                return
            try:
                work(start, min(start + starts.step, starts.stop), buffer)
                check_arithmetic()  # of this thread, after what others may have done in it
            except BaseException:
                stopped.set()
                raise

    workers = min(thread_count(), len(starts))
    if workers <= 1:
        drain()
        return
    with one_blas_thread, ThreadPoolExecutor(workers) as pool:
        try:
            jobs = [pool.submit(drain) for _ in range(workers)]
            wait(jobs)
        finally:
            stopped.set()  # Ctrl-C lands in wait(): let the workers finish their block and go
        for job in jobs:
            job.result()
