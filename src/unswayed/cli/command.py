"""The command as it was given, for whoever wants to run it again."""

import shlex
from contextvars import ContextVar

given: ContextVar[list[str]] = ContextVar("given")
"""Arguments of the command that runs now."""


def command_line() -> str:
    """Return the command line of this run, quoted for a shell."""
    return shlex.join(["unswayed", *given.get()])
