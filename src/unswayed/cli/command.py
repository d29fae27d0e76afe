"""The command as it was given, for whoever wants to run it again."""

import shlex
from collections.abc import Iterable
from contextvars import ContextVar

given: ContextVar[list[str]] = ContextVar("given")
"""Arguments of the command that runs now."""


def command_line(arguments: Iterable[str] | None = None) -> str:
    """Return a command line, by default that of this run, quoted for a shell.

    Examples
    --------
    >>> print(command_line(["certify", "my people.csv", "--only", "gender == 'female'"]))
    unswayed certify 'my people.csv' --only "gender == 'female'"
    """
    return " ".join(["unswayed", *map(_quoted, given.get() if arguments is None else arguments)])


def _quoted(text: str) -> str:
    """Double quotes around single ones, where no shell looks inside: easier to read."""
    return f'"{text}"' if "'" in text and not set(text) & set('"$`\\!%') else shlex.quote(text)
