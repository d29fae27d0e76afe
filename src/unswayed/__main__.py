"""``python -m unswayed``: the same program as the `unswayed` script."""

import ctypes
import sys

from unswayed.cli import GAVE_UP, main


def program() -> None:
    """Run the command line in a process of its own, and end it with the result's exit code."""
    _at_exit(GAVE_UP)
    code = main()
    _at_exit(code)
    sys.exit(code)


# ----------------------------------------------------------------------------------------
# The exit code: 1 is said by this program or not at all.
#
# OpenBLAS, when it finds no memory, ends the process itself with C's ``exit(1)``, and so do other
# libraries; to whoever reads the exit code that would be a rate below ``--fail-under``. No Python
# code runs after ``exit``, but C's own exit handlers do, the latest first. So one is left there
# that ends the process at once with a code of its own, and a result, once there is one, is put on
# top.


def _at_exit(code: int) -> None:
    """Have C call ``_exit(code)`` before any other exit handler there is now.

    `__cxa_atexit` belongs to the C++ ABI of Linux and macOS. Elsewhere nothing is done: results
    are right, but a library that calls ``exit(1)`` is not told from them.
    """
    try:
        library = ctypes.CDLL(None)
        end, register = library._exit, library.__cxa_atexit
    except (TypeError, OSError, AttributeError):
        return
    register(ctypes.cast(end, ctypes.c_void_p), ctypes.c_void_p(code), None)


if __name__ == "__main__":
    program()
