"""Figures of earlier runs, one file per kind of processor and kernel, kept in the repository."""

import json
import os
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.problems import PROJECT
from benchmarks.timing import Line
from reproduction.running_times import processor
from unswayed import __version__
from unswayed._core.kernels import kernel_name

FOLDER = Path(__file__).parent / "history"


def _commit() -> str:
    """The commit that is measured, with a + if files differ from it; empty outside a checkout."""
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty=+", "--exclude=*"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip()


def keep(lines: list[Line]) -> Path:
    """Append a run to the history of this kind of processor."""
    kind = f"{processor()} {kernel_name()}"
    path = FOLDER / f"{re.sub(r'[^a-z0-9]+', '-', kind.lower()).strip('-')}.json"
    runs = json.loads(path.read_text()) if path.exists() else []
    runs.append(
        {
            "when": datetime.now(UTC).strftime("%Y-%m-%d %H:%M"),
            "version": __version__,
            "commit": _commit(),
            "processor": processor(),
            "kernel": kernel_name(),
            "cores": os.cpu_count(),
            "figures": {
                line.name: {"value": float(f"{line.value:.4g}"), "unit": line.unit, "bar": line.bar}
                for line in lines
            },
        }
    )
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(runs, indent=1, ensure_ascii=False) + "\n")
    return path.relative_to(PROJECT)
