"""The command as it was given, for whoever wants to run it again."""

import shlex
from collections.abc import Iterable
from contextvars import ContextVar

from unswayed.words import without_secrets

given: ContextVar[list[str]] = ContextVar("given")
"""Arguments of the command that runs now."""


def command_line(arguments: Iterable[str] | None = None) -> str:
    """Return a command line, quoted for a shell, without the secrets of URLs.

    Parameters
    ----------
    arguments : iterable of str, optional
        What follows the program's name; by default the arguments of this run.

    Returns
    -------
    str

    Examples
    --------
    >>> print(command_line(["certify", "my people.csv", "--only", "gender == 'female'"]))
    unswayed certify 'my people.csv' --only "gender == 'female'"
    """
    words = given.get() if arguments is None else arguments
    return " ".join(["unswayed", *(_quoted(without_secrets(word, word)) for word in words)])


def _quoted(text: str) -> str:
    """Quote an argument for a shell.

    One with single quotes gets double ones, which are easier to read, unless it holds a sign
    that shells interpret inside them.
    """
    return f'"{text}"' if "'" in text and not set(text) & set('"$`\\!%') else shlex.quote(text)
