"""``python -m unswayed``: the same program as the `unswayed` script."""

import sys

from unswayed.cli import main
from unswayed.cli.program import guard, settle


def program() -> None:
    """Run the command line in a process of its own, and end it with the result's exit code."""
    guard()
    code = main()
    settle(code)
    sys.exit(code)


if __name__ == "__main__":
    program()
