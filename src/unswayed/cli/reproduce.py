"""``unswayed reproduce``: every table and figure of the paper, again."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from unswayed.cli.options import OutputOptions
from unswayed.cli.terminal import Terminal
from unswayed.experiments.markdown import verdict
from unswayed.experiments.reproduce import reproduce as run_experiments


def reproduce(
    *names: Annotated[str, Parameter(help="Experiments by name; by default all of them.")],
    data: Path | None = None,
    out: Path = Path("reproduction"),
    page: Path | None = None,
    output: OutputOptions | None = None,
) -> int:
    """Compute every table and figure of the paper again.

    Finished pieces are kept: an interrupted run goes on where it stopped.

    Example: unswayed reproduce table1 --data data --out reproduction

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
    found = run_experiments(names or None, data, out, page=page)
    for record in found.records:
        held = sum(claim.holds for claim in record.claims)
        terminal.say(f"{record.title}: {held} of {len(record.claims)} claims hold")
        for item in record.comparisons:
            largest = f"{item.largest:.{item.decimals}f}"
            terminal.say(f"  {item.title}: largest difference {largest}: {verdict(item)}")
    terminal.answer(
        {
            "experiments": {
                record.name: {
                    "claims": {claim.text: claim.holds for claim in record.claims},
                    "largest differences": {c.title: c.largest for c in record.comparisons},
                }
                for record in found.records
            },
            "failures": found.failures,
        }
    )
    for name, reason in found.failures.items():
        terminal.error.print(f"{name} could not run: {reason}", soft_wrap=True, markup=False)
    return 2 if found.failures else 0
