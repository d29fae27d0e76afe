"""``unswayed demo``: an embedded story end to end."""

from pathlib import Path
from typing import Annotated

from unswayed.cli.options import OUTPUT, Flag, OutputOptions
from unswayed.cli.terminal import Terminal, check_output, command_line, write_table
from unswayed.datasets.salary_story import salary_columns

_ROWS = 1200
_STORY = """\
A company hired some of {n:,} applicants, and a model learned from these decisions. Some were
unjust: women were declined who should have been hired. Nobody knows which. So: which of the
model's predictions would be the same if up to 2 % of the decisions were wrong in that way?"""


def demo(
    *,
    output: OutputOptions | None = None,
    folder: Annotated[Path, OUTPUT] = Path(),
    no_report: Annotated[Flag, OUTPUT] = False,
) -> int:
    """Run an embedded story end to end and write its report.

    Writes unswayed-demo.csv and unswayed-report.html, and shows the command that made it.

    Example: unswayed demo

    Parameters
    ----------
    output : OutputOptions, optional
    folder
        Where to write.
    no_report
        Only print.

    Returns
    -------
    int
        Exit code.
    """
    from unswayed.cli.program import run

    terminal = Terminal(output)
    data, report = folder / "unswayed-demo.csv", folder / "unswayed-report.html"
    check_output(data, "--folder", (".csv",))
    write_table(data, salary_columns(_ROWS))
    terminal.say(_STORY.format(n=_ROWS))
    command = [
        *("certify", str(data), "--label", "decision", "--groups", "gender", "--ignore", "salary"),
        *("--holdout", "25%", "--budget", "2%", "--budget", "1%", "--budget", "5%"),
        *("--only", "gender == 'female'", "--direction", "up"),
    ]
    if not no_report:
        command += ["--with-tradeoff", "--report", str(report)]
    terminal.say()
    terminal.say(f"$ {command_line(command)}", style="bold")
    flags = [f"--{name}" for name in ("quiet", "json") if getattr(terminal, name)]
    return run([*command, *flags])
