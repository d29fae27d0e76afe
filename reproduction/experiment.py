"""An experiment: pieces that are computed one by one, and a record of what they found.

A record holds comparisons with the paper, claims, tables and notes; it is plain JSON.
"""

from collections.abc import Callable
from dataclasses import KW_ONLY, asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from reproduction.problems import Data

Value: TypeAlias = float | int | str | None
"""One entry of a table; None where there is nothing to say."""


@dataclass(frozen=True)
class Comparison:
    """A table of the paper and the same table of ours."""

    title: str
    rows: list[str]
    columns: list[str]
    paper: list[list[float | None]]
    ours: list[list[float | None]]
    _: KW_ONLY
    bar: float | None = None  # largest difference that counts as the same; None: not judged
    decimals: int = 1

    def differences(self) -> list[list[float | None]]:
        """Return our cells minus the paper's, after ours are rounded to the paper's decimals."""
        return [
            [
                None if a is None or b is None else round(round(b, self.decimals) - a, 6)
                for a, b in zip(theirs, mine, strict=True)
            ]
            for theirs, mine in zip(self.paper, self.ours, strict=True)
        ]

    def _sizes(self) -> list[float]:
        return [abs(d) for row in self.differences() for d in row if d is not None]

    @property
    def cells(self) -> int:
        """Number of cells that are compared."""
        return len(self._sizes())

    @property
    def largest(self) -> float:
        """Largest absolute difference."""
        return max(self._sizes(), default=0.0)

    @property
    def outside(self) -> int:
        """Number of cells that differ by more than the bar; 0 without a bar."""
        return 0 if self.bar is None else sum(size > self.bar + 1e-9 for size in self._sizes())


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, and whether it holds here."""

    text: str  # the paper's claim, in our words
    holds: bool
    evidence: str  # the numbers that show it


@dataclass(frozen=True)
class Table:
    """A table of ours that the paper has no numbers for."""

    title: str
    columns: list[str]
    rows: list[list[Value]]


@dataclass(frozen=True)
class Record:
    """The results of one experiment."""

    name: str
    title: str
    comparisons: list[Comparison] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    _: KW_ONLY
    tables: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    figures: dict[str, str] = field(default_factory=dict)  # file stem: caption
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain values, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Record":
        """Make a record from plain values."""
        return cls(
            **{
                **values,
                "comparisons": [Comparison(**item) for item in values["comparisons"]],
                "claims": [Claim(**item) for item in values["claims"]],
                "tables": [Table(**item) for item in values["tables"]],
            }
        )


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
