"""The command as it was given, for whoever wants to run it again."""

import shlex
import sys


def command_line() -> str:
    """Return the command line of this run, quoted for a shell."""
    return shlex.join(["unswayed", *sys.argv[1:]])
