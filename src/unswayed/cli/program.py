"""The program: finds the command, runs it, and turns what goes wrong into one line."""

import contextlib
import ctypes
import errno
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator
from typing import Any

from cyclopts import App, CycloptsError
from cyclopts.help import DefaultFormatter, HelpPanel

from unswayed import __version__
from unswayed.cli import COMMANDS, SUMMARY
from unswayed.cli.terminal import given
from unswayed.exceptions import UnswayedError, VacuousWarning
from unswayed.words import without_secrets

_EXTRAS = {
    "cyclopts": "cli",
    "rich": "cli",
    "pyarrow": "cli",
    "altair": "report",
    "dask": "distributed",
    "distributed": "distributed",
    "flint": "exact",
    "fsspec": "distributed",
    "jinja2": "report",
    "matplotlib": "plots",
    "openpyxl": "excel",
    "pandas": "frames",
    "platformdirs": "report",
    "pooch": "datasets",
    "vl_convert": "report",
}


def complain(error: ModuleNotFoundError) -> int:
    """Tell the user which extra to install for a missing module.

    Parameters
    ----------
    error : ModuleNotFoundError

    Returns
    -------
    int
        Exit code 2.

    Raises
    ------
    ModuleNotFoundError
        The same error, if the module belongs to no extra: that is a bug.
    """
    missing = (error.name or "").split(".")[0]
    if missing not in _EXTRAS:
        raise error
    sys.stderr.write(
        f"unswayed: error: this command needs {missing}, which is not installed; "
        f"pip install 'unswayed[{_EXTRAS[missing]}]'\n"
    )
    return 2


# ----------------------------------------------------------------------------------------
# The last word on the exit code: 1 is said by this program or not at all.
#
# OpenBLAS, when it finds no memory, ends the process itself with C's ``exit(1)``, and so do other
# libraries; to whoever reads the exit code that would be a rate below ``--fail-under``. No Python
# code runs after ``exit``, but C's own exit handlers do, the latest first. So one is left there
# that ends the process at once with a code of its own, and a result, once there is one, is put on
# top.

GAVE_UP = 70
"""Exit code if memory ran out, or a bug was met (EX_SOFTWARE of sysexits.h)."""


def guard() -> None:
    """Make `GAVE_UP` the exit code of the process unless `settle` is called before it ends."""
    _at_exit(GAVE_UP)


def settle(code: int) -> None:
    """Make a result the exit code of the process, whenever it ends.

    Parameters
    ----------
    code : int
    """
    _at_exit(code)


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


# ----------------------------------------------------------------------------------------
# The program: finds the command, runs it, and turns what goes wrong into one line.


class _Flowing(DefaultFormatter):
    """Help whose lines end where the terminal does, not where those of the source do."""

    def __call__(self, console: Any, options: Any, panel: HelpPanel) -> None:
        for entry in panel.entries:
            text = getattr(entry.description, "primary_renderable", None)
            if text is not None:
                text.plain = " ".join(text.plain.split())
        super().__call__(console, options, panel)


def build() -> App:
    """Make the parser; a command's module is imported when the command is called.

    Returns
    -------
    App
    """
    app = App(
        name="unswayed",
        help=SUMMARY,
        version=f"unswayed {__version__}",
        help_format="plaintext",
        help_formatter=_Flowing(),
        suppress_keyboard_interrupt=False,  # it would end the program without a word
    )
    for name in COMMANDS:
        app.command(f"unswayed.cli.{name}:{name}", name=name)
    app.register_install_completion_command(add_to_startup=False)
    return app


# What libraries say when memory, or a thread's share of it, is refused to them.
_STARVED = (
    "failed to map segment",
    "cannot allocate memory",
    "failed to launch worker thread",
    "can't start new thread",
    "bad_alloc",
)


class _Stopped(BaseException):
    """SIGTERM, raised so that half-written files are removed on the way out."""


@contextlib.contextmanager
def _stoppable() -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise _Stopped

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def fail(message: object) -> int:
    """Write an error to stderr, as one line.

    Parameters
    ----------
    message : object

    Returns
    -------
    int
        Exit code 2.
    """
    line = " ".join(without_secrets(str(message)).split())
    sys.stderr.write(f"unswayed: error: {line}\n")
    return 2


def run(arguments: list[str]) -> int:
    """Run a command line and return its exit code.

    Parameters
    ----------
    arguments : list of str
        What follows the program's name.

    Returns
    -------
    int
    """
    _open_streams()
    app = build()
    given.set(arguments)
    try:
        with _stoppable(), warnings.catch_warnings():
            warnings.simplefilter("ignore", VacuousWarning)  # caveats of the answer say it
            result = app(
                arguments, exit_on_error=False, print_error=False, result_action="return_value"
            )
            sys.stdout.flush()
        return int(result or 0)
    except CycloptsError as error:
        return fail(f"{error} (unswayed {_command(arguments)}--help shows what there is)")
    except ModuleNotFoundError as error:
        return complain(error)
    except UnswayedError as error:
        return fail(error)
    except Exception as error:  # uncaught, it would end the process with 1
        return _unexpected(error)
    except (KeyboardInterrupt, _Stopped) as stop:
        sys.stderr.write("unswayed: interrupted; no file was left half-written\n")
        return 143 if isinstance(stop, _Stopped) else 130


def _open_streams() -> None:
    """Let what is written to a stream that the caller has closed go nowhere."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115


def _unexpected(error: Exception) -> int:
    """Report an error that no command raises on purpose, and return its exit code."""
    if _starved(error):
        sys.stderr.write(
            "unswayed: error: not enough memory; certify fewer rows or columns at a time\n"
        )
        return GAVE_UP
    if isinstance(error, OSError):
        return _system(error)
    if isinstance(error, ImportError):
        return fail(error)
    kind, lines = type(error).__name__, "".join(traceback.format_exception(error))
    text = (
        f"{lines}unswayed: internal error: {kind}: {error}; please report it, with the lines above"
    )
    for argument in given.get():
        text = without_secrets(text, argument)
    sys.stderr.write(f"{text}\n")
    return GAVE_UP


def _starved(error: BaseException | None) -> bool:
    """Return whether an error, or one of its causes, is a lack of memory."""
    while error is not None:
        if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
            return True
        if any(words in str(error).casefold() for words in _STARVED):
            return True
        error = error.__cause__ or error.__context__
    return False


def _system(error: OSError) -> int:
    if isinstance(error, BrokenPipeError):
        # The reader (head, say) has seen enough; the interpreter must not flush into the pipe.
        sys.stdout = None
        return 0
    where = f"{error.filename}: " if error.filename else ""
    return fail(f"{where}{error.strerror or error}")


def _command(arguments: list[str]) -> str:
    return f"{arguments[0]} " if arguments and arguments[0] in COMMANDS else ""
