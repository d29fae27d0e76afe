"""Which kernels run: compiled ones for the vectors of this machine, or their NumPy twin.

All return the same bits. ``UNSWAYED_KERNEL`` chooses one by name, for comparisons and tests.
"""

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from unswayed._core.rounding import check_arithmetic
from unswayed._typing import FloatArray
from unswayed.exceptions import KernelError

try:
    from unswayed._core import _selection
except ImportError:
    _built: Any = None
else:
    _built = _selection
_compiled = _built  # None while the twin is used


def compiled() -> Any | None:
    """Return the compiled module, or None if the twin is to be used."""
    return _compiled


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


class Locked:
    """An object with a lock of its own, which does not travel when the object is pickled."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()


# --- Blocks of work on all cores, one BLAS thread each, that stop promptly when interrupted


_FEW_COLUMNS = 1024  # of a matrix that one BLAS thread handles as fast as several


def thread_count() -> int:
    """Return the number of threads to use: OMP_NUM_THREADS if set, else the cores we may run on."""
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    if wanted.isdigit() and int(wanted) > 0:
        return int(wanted)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def block_starts(n_rows: int, row_bytes: int, most_bytes: int = 2**28) -> range:
    """Return the starts of the blocks in which `n_rows` rows of `row_bytes` each are processed.

    Blocks of 64 rows keep a matrix product near its peak speed. They are smaller if rows are so
    large that a block would exceed `most_bytes` (256 MB also keep the response to an interrupt
    within a second), or so few that some thread would have none.
    """
    share = -(-n_rows // thread_count())
    return range(0, n_rows, max(1, min(64, share, most_bytes // max(1, row_bytes))))


class _OneBlasThread:
    """Context manager that limits BLAS to one thread while any caller is inside.

    The limit is one number for the whole process, so the first caller to enter sets it and the
    last to leave restores it. If each did so alone, they would restore each other's limit.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                _take_control()
                self._limit = _blas().limit(limits=1, user_api="blas")
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                _take_control()
                self._limit.restore_original_limits()


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


def _take_control() -> None:
    """Let this thread set the limit: threadpoolctl ignores all threads but the first one to try.

    Silently, so that a limit would not be set, or never be taken back.
    """
    for library in _blas().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):  # since version 3.8
            library.clear_controlling_thread(force=True)


one_blas_thread = _OneBlasThread()


def few_blas_threads(size: int) -> AbstractContextManager[None]:
    """Return a context manager that limits BLAS to one thread for matrices of this size or less.

    Factorisations of a thousand columns take a third of the time on one thread: several wait
    for one another after every few columns.
    """
    return one_blas_thread if size <= _FEW_COLUMNS else nullcontext()


def run_blocks(starts: range, width: int, work: Callable[[int, int, FloatArray], None]) -> None:
    """Call ``work(start, stop, buffer)`` for every block, on several threads.

    `buffer` belongs to the thread and has `width` columns and one row per row of a block. BLAS is
    limited to one thread meanwhile: its own threads would wait busily for the next product while
    the selection kernels need the cores.
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


if __name__ == "__main__":
    print(
        f"kernel: {kernel_name()}"
        if _built is not None
        else "kernel: not built (no working C++ compiler?), so the NumPy twin answers: the same "
        "results, slower; `make clean install` tries again"
    )
