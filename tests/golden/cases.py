"""All cases, by name: those of the library and those of the command line."""

from tests.golden import commands, library
from tests.golden.record import CASES

__all__ = ["CASES", "commands", "library"]
