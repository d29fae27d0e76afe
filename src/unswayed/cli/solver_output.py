"""What a compiled solver prints by itself, kept out of standard output."""

import contextlib
import ctypes
import os
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def solver_output() -> Iterator[None]:
    """Send what compiled code prints to stderr: HiGHS does now and then, whatever it is told.

    Programs expect one JSON object on stdout and nothing else. Python's own output is not touched
    if it goes elsewhere, but nothing should be printed within.

    Yields
    ------
    None
    """
    if sys.__stdout__ is None or sys.__stderr__ is None:  # closed: 1 or 2 may be another file
        yield
        return
    sys.stdout.flush()
    saved = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        # C has a buffer of its own, which would be written later, to the restored stdout.
        with contextlib.suppress(OSError, AttributeError, TypeError):
            ctypes.CDLL(None).fflush(None)
        os.dup2(saved, 1)
        os.close(saved)
