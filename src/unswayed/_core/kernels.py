"""Which kernels run: compiled ones for the vectors of this machine, or their NumPy twin.

All return the same bits. ``UNSWAYED_KERNEL`` chooses one by name, for comparisons and tests.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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


if __name__ == "__main__":
    print(
        f"kernel: {kernel_name()}"
        if _built is not None
        else "kernel: not built (no working C++ compiler?), so the NumPy twin answers: the same "
        "results, slower; `make clean install` tries again"
    )
