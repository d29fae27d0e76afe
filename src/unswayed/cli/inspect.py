"""``unswayed inspect``: how the columns of a file are read, and what about them could mislead."""

from pathlib import Path
from typing import Annotated, Any

from unswayed.cli.options import (
    DATA,
    FileOptions,
    OutputOptions,
    Text,
    Train,
    refuse_many,
    split_names,
)
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


def inspect(
    file: Train,
    /,
    *,
    label: Annotated[str | None, DATA] = None,
    positive: Annotated[Text, DATA] = None,
    weights: Annotated[str | None, DATA] = None,
    test: Annotated[Path | None, DATA] = None,
    options: FileOptions | None = None,
    output: OutputOptions | None = None,
) -> int:
    """Show how the columns of a file are read, and what about them could mislead.

    Every warning names the option that settles it; the same options go to certify.

    Example: unswayed inspect people.csv --label hired --test new.csv

    Parameters
    ----------
    file : Path
    label
        Column to predict; columns that give it away are then named too.
    positive
        The class of the label that all others are put against, as one.
    weights
        Column that says how much each row counts.
    test
        Rows to be certified, whose columns are compared with those of the training file.
    options : FileOptions, optional
    output : OutputOptions, optional

    Returns
    -------
    int
        Exit code.
    """
    terminal, options = Terminal(output), options or FileOptions()
    refuse_many(file)
    options.check(label, weights)
    reading = options.reading(file, test)
    roles = Roles(
        label=label,
        positive=positive,
        weights=weights,
        ignore=split_names(options.ignore),
        features=split_names(options.features),
        categorical=split_names(options.categorical),
        numeric=split_names(options.numeric),
        decimal=reading.decimal,
    )
    table, found = inspect_file(file, roles, reading)
    if positive is not None:
        if label is None:
            raise InputError("--positive names a class of the label, so pass --label COLUMN too")
        Target.of(label, table.column(label), None, positive=positive)
    other = None if test is None else look_at(test, table, roles, reading)
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
