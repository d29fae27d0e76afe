"""An experiment: pieces that can be computed one by one, and a report made of their results."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from unswayed.experiments.problems import Data
from unswayed.experiments.record import Record

Result: TypeAlias = dict[str, Any]
"""What a piece found: plain values, as JSON has them."""

Results: TypeAlias = dict[str, Result]
"""Results of all pieces, by name."""


@dataclass(frozen=True)
class Experiment:
    """One table or figure of the paper."""

    name: str
    title: str
    pieces: dict[str, Callable[[Data], Result]]
    report: Callable[[Results], Record]
    draw: Callable[[Results, Path], None] | None = None  # writes figures into a folder
