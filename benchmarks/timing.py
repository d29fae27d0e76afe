"""Comparisons within one run: the machine is shared, so only ratios taken side by side count."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Line:
    """One figure with the bar it is held to."""

    name: str
    value: float
    unit: str
    bar: str
    ok: bool

    def __str__(self) -> str:
        mark = "ok  " if self.ok else "MISS"
        return f"{mark} {self.name:<66} {self.value:>10,.4g} {self.unit:<6} (bar: {self.bar})"


def at_least(name: str, value: float, bar: float, unit: str = "×") -> Line:
    return Line(name, value, unit, f"at least {bar:g} {unit}", value >= bar)


def at_most(name: str, value: float, bar: float, unit: str = "×") -> Line:
    return Line(name, value, unit, f"at most {bar:g} {unit}", value <= bar)


def note(name: str, value: float, unit: str = "") -> Line:
    """A figure without a bar of its own."""
    return Line(name, value, unit, "none", True)


def interleaved(
    works: dict[str, Callable[[], object]],
    rounds: int = 7,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Best time of each piece of work, taken in turns so that noise hits all alike."""
    best = dict.fromkeys(works, float("inf"))
    for _ in range(rounds):
        for name, work in works.items():
            started = clock()
            work()
            best[name] = min(best[name], clock() - started)
    return best


def _status(field: str) -> float:
    """Megabytes of a field of Linux's account of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return float(line.split()[1]) / 1024
    raise KeyError(field)


def peak_megabytes(work: Callable[[], object]) -> float:
    """How far memory rises above what it was before (Linux only)."""
    Path("/proc/self/clear_refs").write_text("5")  # start the high-water mark anew
    before = _status("VmRSS")
    work()
    return _status("VmHWM") - before


def in_fresh_process(code: str) -> float:
    """Run code that prints one JSON number as its last line, in a process of its own."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout.splitlines()[-1]))
