"""``unswayed reproduce``: every table and figure of the paper, again."""

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from unswayed.cli.options import OutputOptions
from unswayed.cli.terminal import Terminal
from unswayed.exceptions import InputError


def reproduce(
    *names: Annotated[str, Parameter(help="Experiments by name; by default all of them.")],
    data: Path | None = None,
    out: Path = Path("reproduction-results"),
    page: Path | None = None,
    output: OutputOptions | None = None,
) -> int:
    """Compute every table and figure of the paper again.

    The experiments are in the repository, not in the installed package: run this in a clone.
    Finished pieces are kept: an interrupted run goes on where it stopped.

    Example: unswayed reproduce table1 --data data --out reproduction-results

    Parameters
    ----------
    *names : str
    data
        Folder with the data sets; by default the one UNSWAYED_DATA names, or else downloads.
    out
        Folder for tables, figures and figures as numbers.
    page
        Write the whole page to this file as well.
    output : OutputOptions, optional

    Returns
    -------
    int
        Exit code.
    """
    terminal = Terminal(output)
    _look_for_checkout()
    try:
        from reproduction.reproduce import reproduce as run_experiments
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "reproduction":
            raise
        raise InputError(
            "the paper's experiments are not part of the installed package; clone the repository, "
            "pip install '.[cli,experiments]' there and run this command in that folder"
        ) from None
    found = run_experiments(names or None, data, out, page=page)
    for line in found.lines():
        terminal.say(line)
    terminal.answer(found.to_dict())
    for name, reason in found.failures.items():
        terminal.error.print(f"{name} could not run: {reason}", soft_wrap=True, markup=False)
    return 2 if found.failures else 0


def _look_for_checkout() -> None:
    """Let Python find the experiments of the checkout that the current folder is in, if any."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        # Both, as a folder `reproduction` may be anyone's.
        if (folder / "reproduction/reproduce.py").is_file() and (folder / "src/unswayed").is_dir():
            if str(folder) not in sys.path:
                sys.path.insert(0, str(folder))
            return
