"""The file of a label audit: lines of JSON that only grow.

The first line is the header: what is claimed, the margins, the risk. Every draw adds a line with
the chances of all labels (whole numbers), the labels that were drawn, and for each claim the
largest effect of a label over its chance; every recording adds a line with answers and, for labels
that are wrong, how far that moves each number. The e-values follow from these lines alone:
`unswayed.verify.audit` computes them again.
"""

import base64
import json
import os
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unswayed._typing import FloatArray
from unswayed.atomic import atomic_write
from unswayed.evidence.effects import Claims
from unswayed.exceptions import InputError

FORMAT = "unswayed label audit"
_VERSION = 1
_NEARLY = 1e-6  # of margins: another machine rounds differently


def packed(values: NDArray[Any]) -> str:
    """Return an array of 64-bit numbers as text."""
    return base64.b64encode(zlib.compress(np.ascontiguousarray(values).tobytes())).decode()


def unpacked(text: str, kind: type = np.float64) -> NDArray[Any]:
    """Return an array that was turned into text."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=kind).copy()


@dataclass(frozen=True, eq=False)
class Batch:
    """Labels that were drawn, one after the other and none twice."""

    chances: NDArray[np.int64]  # of all labels before the first was drawn
    most: FloatArray  # of each claim, the largest rise of a label over its chance, rounded up
    labels: list[int]

    @classmethod
    def drawn(
        cls, chances: NDArray[np.int64], most: FloatArray, n: int, seed: tuple[int, int]
    ) -> "Batch":
        """Draw labels: whole chances and whole random numbers, so that nothing is rounded."""
        source = np.random.PCG64(np.random.SeedSequence(seed))
        left, labels = chances.copy(), []
        for _ in range(n):
            sums = np.cumsum(left)
            total = int(sums[-1])
            if not total:
                break
            number = int(source.random_raw())
            while number >= 2**64 // total * total:
                number = int(source.random_raw())
            labels.append(int(np.searchsorted(sums, number % total, side="right")))
            left[labels[-1]] = 0
        return cls(chances, most, labels)

    def line(self) -> dict[str, Any]:
        """Return the line of the file."""
        chances, most = packed(self.chances), packed(self.most)
        return {"drawn": self.labels, "chances": chances, "most": most}


@dataclass(frozen=True, eq=False)
class Findings:
    """Answers by training row, and how far wrong labels move each number towards its margins."""

    answers: dict[int, Any] = field(default_factory=dict)
    moved: dict[int, tuple[FloatArray, FloatArray]] = field(default_factory=dict)

    @classmethod
    def all(cls, parts: Iterable["Findings"]) -> "Findings":
        """Return what several recordings found."""
        found = cls()
        for part in parts:
            for row, answer in part.answers.items():
                if found.answers.get(row, answer) != answer:
                    raise twice(row, found.answers[row], answer)
            found.answers.update(part.answers)
            found.moved.update(part.moved)
        return found

    def without(self, known: dict[int, Any]) -> "Findings":
        """Return what is new."""
        new = {row: answer for row, answer in self.answers.items() if row not in known}
        return Findings(new, {row: self.moved[row] for row in new if row in self.moved})

    def line(self) -> dict[str, Any]:
        """Return the line of the file."""
        moved = {str(row): [packed(low), packed(high)] for row, (low, high) in self.moved.items()}
        return {"answers": {str(row): each for row, each in self.answers.items()}, "moved": moved}


def parsed(line: dict[str, Any]) -> Batch | Findings:
    """Return what a line of the file says."""
    if "drawn" in line:
        return Batch(unpacked(line["chances"], np.int64), unpacked(line["most"]), line["drawn"])
    moved = {int(row): (unpacked(a), unpacked(b)) for row, (a, b) in line["moved"].items()}
    return Findings({int(row): answer for row, answer in line["answers"].items()}, moved)


class AuditFile:
    """The lines of an audit, in memory and, once it was saved, on disk."""

    def __init__(self, header: dict[str, Any]) -> None:
        self.header = {"format": FORMAT, "version": _VERSION} | header
        self._lines = [self.header]
        self.path: Path | None = None
        self._length = 0  # of the file, as far as it is known here

    def goes_on(self, path: Path, length: int) -> None:
        """Add later lines to a file that was read, of so many bytes without a line cut short."""
        self.path, self._length = path, length

    def append(self, line: dict[str, Any]) -> None:
        """Add a line: to the file before anything else, so that it knows all that was recorded."""
        if self.path is not None:
            with self.path.open("r+b") as file:
                # What a crash left of a line that was being written.
                end = file.read().rfind(b"\n") + 1
                if end != self._length:
                    raise InputError(
                        f"{self.path} was changed since it was read here, by somebody else who "
                        "drew or recorded: nothing was added to it, and nothing in it is lost; "
                        "read the file again, and repeat this"
                    )
                file.truncate(end)
                file.seek(end)
                file.write(_text(line))
                file.flush()
                os.fsync(file.fileno())
                self._length = file.tell()
        self._lines.append(line)

    def save(self, path: Path) -> None:
        """Write all lines, and add later ones to that file."""
        with atomic_write(path) as beside:
            text = b"".join(map(_text, self._lines))
            beside.write_bytes(text)
        self.goes_on(path, len(text))


def twice(row: int, one: Any, other: Any) -> InputError:
    """Return the error for a label that has two answers."""
    return InputError(
        f"the label of training row {row} has two answers, {one!r} and {other!r}; settle which is "
        "right. Nothing that was recorded before is lost"
    )


def _text(line: dict[str, Any]) -> bytes:
    return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def read(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]], int]:
    """Return the header and other lines, without a last one that was cut short, and their bytes."""
    if not path.is_file():
        raise InputError(f"there is no file {path}; check the name and the folder")
    whole = path.read_bytes().split(b"\n")[:-1]
    try:
        header, *lines = [json.loads(line) for line in whole]
        if header["format"] != FORMAT:
            raise KeyError
    except (ValueError, KeyError, TypeError):
        raise InputError(
            f"{path} is no file of a label audit, or was changed by hand; pass one that "
            "LabelAudit.save or unswayed audit start wrote"
        ) from None
    if header["version"] != _VERSION:
        raise InputError(f"{path} was written by another version of unswayed; use that one")
    return header, lines, sum(len(line) + 1 for line in whole)


def check_same(mine: dict[str, Any], other: dict[str, Any], path: Path) -> None:
    """Raise if a file is about something else than an audit."""
    for names, what in (
        (("labels",), "training labels"),
        (("lower", "upper", "allowed"), "intervals that labels may lie in, or classes"),
        (("rows", "number", "way", "duel", "question"), "rows, or another question about them"),
        (("risk", "together", "seed"), "risk, meaning of together or seed"),
    ):
        if any(_value(mine.get(name)) != _value(other.get(name)) for name in names):
            raise InputError(
                f"{path} is the file of an audit of other {what}; what was found there says "
                "nothing here. Pass the data and the options that it was started with"
            )
    here, there = unpacked(mine["margin"]), unpacked(other["margin"])
    if not np.allclose(
        here, there, rtol=_NEARLY, atol=_NEARLY * float(np.abs(here).max(initial=0))
    ):
        raise InputError(
            f"{path} is the file of an audit of another model: its margins differ. Pass the rows "
            "and the settings that it was fitted with"
        )


def _value(given: Any) -> Any:
    """Return what a header says, without how it was compressed."""
    long = isinstance(given, str) and given.startswith("eJ")  # how compressed bytes begin
    return zlib.decompress(base64.b64decode(given)) if long else given


def claims_of(header: dict[str, Any], claims: Claims) -> Claims:
    """Return claims with the margins that a file was written with."""
    return replace(claims, distance=unpacked(header["margin"]))
