"""How much is tried: enough to notice what is broken, and with CI=1 everything.

`THOROUGH.md` lists the tests that wait for CI=1, and those that try fewer cases without it.
"""

import os
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
    values: bool = False  # as many cases as every value of every parameter needs
    every: int = 0  # the first case, and every so many after it

    def spares(self, function: str, case: str) -> bool:
        """Return whether a test is always run because of its name."""
        names = (case,) if self.function else (function, f"{function}[{case}]")
        return any(name in self.always for name in names)

    def chosen(self, cases: Sequence[Mapping[str, Hashable]]) -> set[int]:
        """Return which of a function's cases, values by parameter, are always run."""
        return covering(cases) if self.values else {*range(0, len(cases), self.every or len(cases))}


def covering(cases: Sequence[Mapping[str, Hashable]]) -> set[int]:
    """Return few cases that have every value of every parameter among them, the first included."""
    left = {pair for case in cases for pair in case.items()}
    found = set()
    while left:
        best = max(range(len(cases)), key=lambda at: len(left & cases[at].items()))
        found.add(best)
        left -= cases[best].items()
    return found


def values_of(item: Any) -> dict[str, Hashable]:
    """Return the parameters of a case: cases with one value have one object."""
    return {name: id(value) for name, value in item.callspec.params.items()}


def waiting() -> list[Waiting]:
    """Return the lines of THOROUGH.md about tests that wait for CI=1."""
    text = (TESTS / "THOROUGH.md").read_text(encoding="utf-8")
    found = []
    for line in text.partition("\n## Fewer cases")[0].splitlines():
        cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
        if line.startswith("| `"):
            name, always, why = cells
            file, _, function = name.strip("`").partition("::")
            every = re.fullmatch(r"every (\d+)(st|nd|rd|th)", always)
            found.append(
                Waiting(
                    file,
                    function,
                    tuple(re.findall("`(.*?)`", always)),
                    why,
                    values=always == "every value",
                    every=int(every[1]) if every else 0,
                )
            )
    return found
