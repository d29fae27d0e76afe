"""``unswayed inspect``: how the columns of a file are read, and what about them could mislead."""

from pathlib import Path
from typing import Any

from unswayed.cli.commands import InspectOptions
from unswayed.cli.requests import check_columns, dialect_of, refuse_many, split_names
from unswayed.cli.terminal import Terminal
from unswayed.exceptions import InputError
from unswayed.report.facts import caveat_dicts
from unswayed.study.loading import inspect_file
from unswayed.study.other_file import OtherFile, look_at
from unswayed.study.target import Target
from unswayed.tables.inspection import Inspection, Roles
from unswayed.words import counted

_UNSEEN = 3  # values shown of a column
_READ = {"other": "neither number nor text", "constant": "constant, left out"}


def inspect(file: Path, options: InspectOptions) -> int:
    """Answer ``unswayed inspect``."""
    terminal, columns, test = Terminal(options.output), options.columns, options.test
    label, positive = columns.label, columns.positive
    refuse_many(file)
    check_columns(columns)
    dialect = dialect_of(columns, file, test)
    roles = Roles(
        label=label,
        positive=positive,
        weights=columns.weights,
        ignore=split_names(columns.ignore),
        features=split_names(columns.features),
        categorical=split_names(columns.categorical),
        numeric=split_names(columns.numeric),
        decimal=dialect.decimal,
    )
    table, found = inspect_file(file, roles, dialect)
    if positive is not None:
        if label is None:
            raise InputError("--positive names a class of the label, so pass --label COLUMN too")
        Target.of(label, table.column(label), None, positive=positive)
    other = None if test is None else look_at(test, table, roles, dialect)
    for note in found.notes:
        terminal.note(note)
    _show(terminal, file.name, found)
    if other is not None:
        _show_other(terminal, other)
    terminal.answer(
        {
            "file": file.name,
            "rows": found.n_rows,
            "columns": [each.to_dict() for each in found.columns],
            "notes": list(found.notes),
            "caveats": caveat_dicts(found.caveats()),
            "test": None if other is None else _facts(other),
        }
    )
    return 0


def _facts(other: OtherFile) -> dict[str, Any]:
    return {
        "file": other.name,
        "rows": other.n_rows,
        "columns": [each.to_dict() for each in other.columns],
        "caveats": caveat_dicts(other.caveats()),
    }


def _show_other(terminal: Terminal, other: OtherFile) -> None:
    terminal.say(f"{other.name}: {counted(other.n_rows, 'row')}, as test rows")
    terminal.say()
    terminal.table(
        ["column", "read as", "values", "missing", "rows unseen", "unseen values"],
        [
            [
                facts["column"],
                facts["there"],
                f"{facts['values']:,}",
                f"{facts['missing']:,}",
                f"{facts['unseen_rows']:,}",
                ", ".join(facts["unseen"][:_UNSEEN]) + ", …" * (len(facts["unseen"]) > _UNSEEN),
            ]
            for facts in (each.to_dict() for each in other.columns)
        ],
        left=(0, 1, 5),
    )
    terminal.say()
    for caveat in other.caveats():
        terminal.warn(f"{other.name}: {caveat}")


def _read_as(facts: dict[str, Any]) -> str:
    if facts["role"] == "ignored":
        return "ignored"
    read = facts["read_as"]
    return _READ.get(read, read) if facts["role"] == "feature" else f"{facts['role']} ({read})"


def _examples(facts: dict[str, Any]) -> str:
    """Return some values of a column, or why there are none."""
    if facts["not_shown"] is not None:
        return f"not shown: {facts['not_shown']}"
    return ", ".join(facts["examples"])


def _show(terminal: Terminal, name: str, found: Inspection) -> None:
    missing = sum(each.n_missing for each in found.columns)
    terminal.say(
        f"{name}: {counted(found.n_rows, 'row')}, {counted(len(found.columns), 'column')}, "
        + (f"{counted(missing, 'missing cell')}" if missing else "no missing cells")
    )
    terminal.say()
    terminal.table(
        ["column", "read as", "values", "missing", "examples"],
        [
            [
                facts["column"],
                _read_as(facts),
                f"{facts['values']:,}",
                f"{facts['missing']:,}",
                _examples(facts),
            ]
            for facts in (each.to_dict() for each in found.columns)
        ],
        left=(0, 1, 4),
    )
    terminal.say()
    for caveat in found.caveats():
        terminal.warn(str(caveat))
