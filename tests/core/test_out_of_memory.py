"""Kernels that get no memory raise MemoryError, in whatever thread they run."""

import subprocess
import sys

import pytest

# The scratch of a call is several times as large as its row, and there is room for one row more.
PROGRAM = """
import resource, sys
from concurrent.futures import ThreadPoolExecutor
import numpy as np
from unswayed._core import selection
from unswayed._core.influence import merge_rows
size = 6_000_000  # 48 MB: memory of this size goes back to the system at once
z = np.linspace(0.5, 1.5, size)[None]
entries = merge_rows(np.zeros(size), np.linspace(1.0, 2.0, size))
asked = {
    "reach": lambda: selection.reach(z, entries, 1000),
    "extremes": lambda: selection.extremes(z, entries, 1000, 1.0),
    "minimum_budget": lambda: selection.minimum_budget(z, entries, np.ones(1), np.ones(1)),
}[sys.argv[1]]
with ThreadPoolExecutor(2) as threads:
    threads.submit(int).result()  # a thread is there before memory is short
    pages = int(open("/proc/self/statm").read().split()[0])
    room = pages * resource.getpagesize() + 8 * size
    resource.setrlimit(resource.RLIMIT_AS, (room, room))
    for run in (asked, lambda: threads.submit(asked).result()):
        try:
            run()
        except MemoryError:
            print("MemoryError")
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits memory as Linux does")
@pytest.mark.parametrize(
    ("kernel", "path"),
    [
        ("reach", None),
        ("minimum_budget", None),
        ("reach", "numpy"),
        ("extremes", None),
        ("extremes", "plain"),
        ("minimum_budget", "numpy"),
    ],
)
def test_a_kernel_without_memory_raises_and_does_not_abort(kernel, path, monkeypatch):
    if path is not None:
        monkeypatch.setenv("UNSWAYED_KERNEL", path)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, kernel], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "MemoryError\nMemoryError\n"), done.stderr
