"""``unswayed inspect``: how the columns of a file are read, and what about them could mislead."""

from typing import Annotated, Any

from unswayed.audit.inspection import Inspection, Roles
from unswayed.audit.loading import inspect_file
from unswayed.cli.options import DATA, FileOptions, OutputOptions, Train, split_names
from unswayed.cli.terminal import Terminal
from unswayed.report.findings import caveat_dicts
from unswayed.words import counted

_READ = {"other": "neither number nor text", "constant": "constant, left out"}


def inspect(
    file: Train,
    /,
    *,
    label: Annotated[str | None, DATA] = None,
    weights: Annotated[str | None, DATA] = None,
    options: FileOptions | None = None,
    output: OutputOptions | None = None,
) -> int:
    """Show how the columns of a file are read, and what about them could mislead.

    Every warning names the option that settles it; the same options go to certify.

    Example: unswayed inspect people.csv --label hired

    Parameters
    ----------
    file : Path
    label
        Column to predict; columns that give it away are then named too.
    weights
        Column that says how much each row counts.
    options : FileOptions, optional
    output : OutputOptions, optional

    Returns
    -------
    int
        Exit code.
    """
    terminal, options = Terminal(output), options or FileOptions()
    reading = options.reading()
    roles = Roles(
        label=label,
        weights=weights,
        ignore=split_names(options.ignore),
        categorical=split_names(options.categorical),
        numeric=split_names(options.numeric),
        decimal=reading.decimal,
    )
    _, found = inspect_file(file, roles, reading)
    _show(terminal, file.name, found)
    terminal.answer(
        {
            "file": file.name,
            "rows": found.n_rows,
            "columns": [each.to_dict() for each in found.columns],
            "caveats": caveat_dicts(found.caveats()),
        }
    )
    return 0


def _read_as(facts: dict[str, Any]) -> str:
    if facts["role"] == "ignored":
        return "ignored"
    read = facts["read_as"]
    return _READ.get(read, read) if facts["role"] == "feature" else f"{facts['role']} ({read})"


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
                ", ".join(facts["examples"]),
            ]
            for facts in (each.to_dict() for each in found.columns)
        ],
        left=(0, 1, 4),
    )
    terminal.say()
    for caveat in found.caveats():
        terminal.warn(str(caveat))
