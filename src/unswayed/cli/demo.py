"""``unswayed demo``: an embedded story end to end."""

import shlex
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from unswayed.cli.options import OUTPUT, Flag, OutputOptions
from unswayed.cli.terminal import Terminal
from unswayed.cli.writing import check_output, write_table

_ROWS = 1500
_STORY = """\
A company hired from {n:,} applicants, and a model learned from its past decisions. Some of these
were unfair: women were turned away who should have been hired. Nobody knows which. So: which of
the model's predictions would be the same if up to 2 % of the decisions were wrong in that way?"""


def demo(
    output: OutputOptions | None = None,
    *,
    folder: Annotated[Path, OUTPUT] = Path(),
    no_report: Annotated[Flag, OUTPUT] = False,
) -> int:
    """Run an embedded story end to end and write its report.

    Writes unswayed-demo.csv and unswayed-report.html, and shows the command that made it.

    Example: unswayed demo

    Parameters
    ----------
    folder
        Where to write.
    no_report
        Only print.
    """
    from unswayed.cli.program import run

    terminal = Terminal(output)
    data, report = folder / "unswayed-demo.csv", folder / "unswayed-report.html"
    check_output(data, "--folder", (".csv",))
    write_table(data, story_frame())
    terminal.say(_STORY.format(n=_ROWS))
    command = [
        *("certify", str(data), "--label", "hired", "--groups", "gender", "--ignore", "salary"),
        *("--holdout", "20%", "--budget", "2%", "--budget", "1%", "--budget", "5%"),
        *("--only", "gender == 'female'", "--direction", "up"),
    ]
    if not no_report:
        command += ["--with-tradeoff", "--report", str(report)]
    terminal.say()
    terminal.say(f"$ {shlex.join(['unswayed', *command])}", style="bold")
    flags = [f"--{name}" for name in ("quiet", "json") if getattr(terminal, name)]
    return run([*command, *flags])


def story_frame(n_rows: int = _ROWS, seed: int = 7) -> dict[str, Any]:
    """Columns of the story: applicants, what they bring, and whether they were hired."""
    draw = np.random.default_rng(seed)
    woman = draw.random(n_rows) < 0.45
    education = draw.choice(
        [9, 12, 13, 15, 16, 18, 21], n_rows, p=[0.05, 0.2, 0.15, 0.2, 0.22, 0.14, 0.04]
    )
    experience = np.round(draw.gamma(2.2, 4.0, n_rows), 0)
    interview = np.clip(np.round(draw.normal(6, 1.6, n_rows), 1), 1, 10)
    role = draw.choice(
        ["engineering", "sales", "support", "research"], n_rows, p=[0.4, 0.3, 0.2, 0.1]
    )
    merit = 0.28 * (education - 14) + 0.11 * (experience - 8) + 0.75 * (interview - 6)
    merit += draw.normal(0, 0.9, n_rows)
    turned_away = woman & (draw.random(n_rows) < 0.12)
    hired = (merit > 0) & ~turned_away
    salary = 31_000 + 1_500 * education + 700 * experience + 900 * interview - 1_200 * woman
    return {
        "gender": np.where(woman, "female", "male"),
        "education years": education,
        "experience years": experience,
        "interview score": interview,
        "role": role,
        "salary": np.round(salary + draw.normal(0, 3_000, n_rows), -2),
        "hired": np.where(hired, "yes", "no"),
    }
