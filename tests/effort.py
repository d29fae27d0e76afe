"""How much is tried: enough to notice what is broken, and with CI=1 everything.

`THOROUGH.md` lists the tests that wait for CI=1, and those that try fewer cases without it.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from hypothesis import settings

TESTS = Path(__file__).parent
THOROUGH = bool(os.environ.get("CI"))
EVERY = 100  # examples of a profile that draws all


def examples(most: int) -> int:
    """Return how many of at most so many examples the chosen profile draws."""
    return max(10, most * settings.default.max_examples // EVERY)


def some(quick: int, thorough: int) -> int:
    """Return a number of cases: the second with CI=1, else the first."""
    return thorough if THOROUGH else quick


@dataclass(frozen=True)
class Waiting:
    """A line of THOROUGH.md: a file or a function, and what of it is always run."""

    file: str
    function: str  # "" for all of the file
    always: tuple[str, ...]  # cases of the function, or functions of the file
    why: str

    def spares(self, function: str, case: str) -> bool:
        """Return whether a test is always run."""
        names = (case,) if self.function else (function, f"{function}[{case}]")
        return any(name in self.always for name in names)


def waiting() -> list[Waiting]:
    """Return the lines of THOROUGH.md about tests that wait for CI=1."""
    text = (TESTS / "THOROUGH.md").read_text(encoding="utf-8")
    found = []
    for line in text.partition("\n## Fewer cases")[0].splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        if line.startswith("| `"):
            name, always, why = cells
            file, _, function = name.strip("`").partition("::")
            found.append(Waiting(file, function, tuple(re.findall("`(.*?)`", always)), why))
    return found
