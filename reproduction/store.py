"""Finished pieces on disk: an interrupted run goes on where it was, and never mixes versions."""

import hashlib
import inspect
import json
import re
from pathlib import Path
from typing import Any

from reproduction import problems
from reproduction.experiment import Experiment, Record, Result
from unswayed import __version__


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _write(path: Path, values: Any) -> None:
    """Write a JSON file, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(values, indent=1, ensure_ascii=False) + "\n")
    part.replace(path)


def fingerprint(experiment: Experiment) -> str:
    """Return a hash of the code that an experiment's pieces depend on.

    It covers the version, the experiment's module and `problems`. Data files are left out: they are
    pinned by hashes of their own.
    """
    own = inspect.getmodule(experiment.report)
    code = inspect.getsource(problems) + ("" if own is None else inspect.getsource(own))
    return hashlib.sha256(f"{__version__}\n{code}".encode()).hexdigest()[:16]


class Store:
    """Results of pieces, and records of experiments, as JSON files below one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _path(self, experiment: Experiment, piece: str) -> Path:
        return self.folder / "pieces" / experiment.name / f"{_slug(piece)}.json"

    def load(self, experiment: Experiment, piece: str) -> tuple[Result, float] | None:
        """Return a finished piece and its seconds; None if there is none, or other code made it."""
        path = self._path(experiment, piece)
        try:
            kept = json.loads(path.read_text())
        except (FileNotFoundError, json.JSONDecodeError):
            return None
        if kept.get("fingerprint") != fingerprint(experiment):
            return None
        return kept["result"], kept["seconds"]

    def save(self, experiment: Experiment, piece: str, result: Result, seconds: float) -> None:
        """Keep the result of a finished piece, unless its data were absent."""
        if result.get("absent"):
            return
        print_ = fingerprint(experiment)
        values = {"fingerprint": print_, "seconds": seconds, "result": result}
        _write(self._path(experiment, piece), values)

    def save_record(self, record: Record) -> None:
        """Keep the record of an experiment."""
        _write(self.folder / f"{record.name}.json", record.to_dict())

    def records(self, names: list[str]) -> list[Record]:
        """Return the records that are kept, in the order of `names`."""
        paths = [self.folder / f"{name}.json" for name in names]
        return [Record.from_dict(json.loads(path.read_text())) for path in paths if path.exists()]
