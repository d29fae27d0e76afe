"""Label audits: e-values computed again from the draws, chances and answers in a file.

Checked: the seed draws these labels, none twice; answers count in the order of the draws; labels
that are not the given ones count as wrong; every bet, rounded down. Taken as given, as they are
the model's: margins, the largest effect of a label over its chance, what wrong labels move, and of
three or more classes which ones could lose all of their labels.
"""

import base64
import json
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unswayed.verify.document import CertificateError

FORMAT = "unswayed label audit"
_MORE, _WAYS = 1.0 + 2.0**-40, ("each", "all", "discoveries")
_ODD = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, zlib.error)
_LOST = 2.0**-48  # relative: more than a few roundings lose


@dataclass(frozen=True)
class AuditResult:
    """What the file of an audit proves."""

    e_values: Any  # of each row, rounded down
    confirmed: Any  # flags, in the sense of `together`
    together: str
    risk: float
    counted: int  # draws
    wrong: int  # among them


def _array(text: str, kind: Any = np.float64) -> Any:
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=kind)


def verify_audit(path: str | Path) -> AuditResult:
    """Compute the e-values of an audit again; a last line that was cut short is left out."""
    try:
        header, *lines = [json.loads(each) for each in Path(path).read_bytes().split(b"\n")[:-1]]
        return _Replay(header).run(lines)
    except _ODD as problem:
        raise CertificateError(f"{path}: no label audit, or a changed one: {problem}") from None


def _need(holds: Any, otherwise: str) -> None:
    if not holds:
        raise CertificateError(f"what does not follow from the file: {otherwise}")


class _Replay:
    """An audit, from its first draw on."""

    def __init__(self, header: dict[str, Any]) -> None:
        self.header, self.risk, self.together = header, header["risk"], header["together"]
        _need((header["format"], header["version"]) == (FORMAT, 1), "no file of a label audit")
        _need(self.together in _WAYS and 0 < self.risk < 1, "no such risk or meaning of together")
        self.answers, self.moved = dict[int, Any](), dict[int, Any]()  # of wrong labels: effects
        self.labels, self.group = _array(header["labels"]), _array(header["rows"], np.int64)
        self.number, self.margin = _array(header["number"], np.int64), _array(header["margin"])
        self.fractions = np.array(header["fractions"], dtype=float)
        _need(min(self.fractions) > 0 and max(self.fractions) <= 1, "a λ beyond the largest")
        certain = _array(header["certain"], np.int64) != 0
        self.capital = np.where(certain[:, None], np.inf, np.ones((1, len(self.fractions))))
        self.settled, self.count = np.zeros(len(self.margin)) > 0, np.bincount(self.group)
        self.drawn, self.batches = list[tuple[int, int, int, Any]](), 0
        self.doubtful = np.full(len(self.margin), -1)
        if header["classes"] is not None and len(header["classes"]) > 2:
            self.doubtful = _array(header["doubtful"], np.int64).copy()
            _need(len(self.doubtful) == len(self.margin), "classes of other claims")

    def run(self, lines: list[dict[str, Any]]) -> AuditResult:
        for line in lines:
            (self._draws if "drawn" in line else self._answered)(line)
        self._settle()
        counted = wrong = 0
        for label, chance, total, most in self.drawn:
            if label not in self.answers:
                break  # those behind it do not count yet
            if self.answers[label] in (self.header["classes"] or ()):
                seen = self.header["classes"].index(self.answers[label])
                self.doubtful[self.doubtful == seen] = -1  # a true label of it was seen
            self._bet(chance, total, most, self.moved.get(label))
            counted, wrong = counted + 1, wrong + (label in self.moved)
        found = ~np.isin(self.group, self.number[~self.settled])
        confirmed = np.full(len(found), found.all()) if self.together == "all" else found
        return AuditResult(
            self._of_numbers()[self.group], confirmed, self.together, self.risk, counted, wrong
        )

    def _draws(self, line: dict[str, Any]) -> None:
        left, most = _array(line["chances"], np.int64).copy(), _array(line["most"])
        _need(len(left) == len(self.labels) and (left >= 0).all(), "chances of other labels")
        _need(len(most) == len(self.margin) and (most >= 0).all(), "bounds of other claims")
        _need(not any(left[label] for label, *_ in self.drawn), "a label could be drawn twice")
        seed = np.random.SeedSequence((self.header["seed"], self.batches))
        source, self.batches = np.random.PCG64(seed), self.batches + 1
        for label in line["drawn"]:
            sums = np.cumsum(left)
            total, number = int(sums[-1]), int(source.random_raw())
            while number >= 2**64 // total * total:
                number = int(source.random_raw())
            _need(label == np.searchsorted(sums, number % total, side="right"), "another draw")
            self.drawn.append((label, int(left[label]), total, most))
            left[label] = 0

    def _answered(self, line: dict[str, Any]) -> None:
        classes, known = self.header["classes"], {label for label, *_ in self.drawn}
        for key, answer in line["answers"].items():
            label = int(key)
            _need(label in known and self.answers.get(label, answer) == answer, f"answer {label}")
            right = answer == self.labels[label]
            if classes is not None and len(classes) > 2:
                right = answer == classes[int(self.labels[label])]
            elif classes is not None:
                positive = bool(self.labels[label] == self.header["positive"])
                right = answer in classes and (answer == classes[1]) == positive
            _need(right != (key in line["moved"]), f"label {label} is counted as what it is not")
            self.answers[label] = answer
            if not right:
                self.moved[label] = _array(line["moved"][key][1]) + np.zeros(len(self.margin))

    def _bet(self, chance: int, total: int, most: Any, moved: Any) -> None:
        self._settle(most, total)
        with np.errstate(all="ignore"):
            largest = most * total * (1 + _LOST)
            usable = ~self.settled & (self.margin > 0) & (largest > self.margin) & (most < np.inf)
            rate = self.fractions / ((largest - self.margin) * _MORE)[:, None]
            estimate = 0.0 if moved is None else moved * (total / chance)
            gain = self.margin - estimate - _LOST * (self.margin + np.abs(estimate))
            product = rate * gain[:, None]
            factor = np.maximum(1 + product - _LOST * (1 + np.abs(product)), 0.0) * (1 - _LOST)
        self.capital = np.where(usable[:, None], self.capital * factor, self.capital)
        if moved is not None:
            self.margin = self.margin - moved - _LOST * (np.abs(self.margin) + np.abs(moved))
        self._settle(most, total - chance)

    def _of_numbers(self) -> Any:
        e = np.full(len(self.count), np.inf)
        np.minimum.at(e, self.number, self._e_values())
        return e

    def _e_values(self) -> Any:
        with np.errstate(over="ignore"):
            return np.where(self.doubtful >= 0, 0.0, self.capital.mean(axis=1) / _MORE)

    def _settle(self, most: Any = np.inf, total: int = 1) -> None:
        with np.errstate(invalid="ignore"):
            sure = np.isfinite(most) & (most * total * (1 + _LOST) <= self.margin)
        self.capital[sure & ~self.settled] = np.inf  # whatever the labels are that are left
        rows = len(self.group) if self.together == "discoveries" else 1
        self.settled |= self._e_values() * self.risk >= _MORE * rows
        if self.together == "discoveries":
            e = self._of_numbers()
            order = np.argsort(-e, kind="stable")
            enough = e[order] * np.cumsum(self.count[order]) * self.risk >= _MORE * rows
            self.settled |= np.isin(
                self.number, order[: np.flatnonzero(enough).max(initial=-1) + 1]
            )
