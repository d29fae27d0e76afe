"""``unswayed verify``: check a certificate file without trusting the program that wrote it."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from unswayed.cli.options import OUTPUT, Flag, OutputOptions
from unswayed.cli.progress_lines import ProgressLines
from unswayed.cli.terminal import Terminal
from unswayed.exceptions import InputError
from unswayed.verify import CertificateError, Report, Track, schema_text
from unswayed.verify import verify as check

_LINES = 40
_PROVEN, _FALSE, _NOTHING = 0, 1, 3  # exit codes; 2 is bad input


def verify(
    certificates: Annotated[Path | None, Parameter(help="The certificate file.")] = None,
    /,
    *,
    train: Path | None = None,
    test: Path | None = None,
    data: Path | None = None,
    label: str | None = None,
    schema: Annotated[Flag, OUTPUT] = False,
    output: OutputOptions | None = None,
) -> int:
    """Check a certificate file without trusting the program that wrote it.

    Every claim is proven again from the data, by code that shares nothing with what made it: in
    floating point with error bounds, and in exact arithmetic where these leave it open. The
    question that was proven is printed in full: read it. Exit codes: 0 every verdict is proven, 1
    some claim is false, 2 the file is damaged or belongs to other data, 3 nothing is proven because
    no claim has a verdict.

    Example: unswayed verify c.json --train people.csv

    Parameters
    ----------
    certificates : Path, optional
    train
        Training rows: the CSV or Parquet file that was certified, or one of bare numbers.
    test
        Test rows, if they were in a file of their own.
    data
        The .npz file that was saved with the certificate, instead of the other two.
    label
        Label column of a file of bare numbers.
    schema
        Print the JSON schema of certificate files and do nothing else.
    output : OutputOptions, optional

    Returns
    -------
    int
        Exit code.
    """
    if schema:
        sys.stdout.write(schema_text())
        return 0
    if certificates is None:
        raise InputError("name the certificate file, for example unswayed verify c.json")
    terminal = Terminal(output)
    try:
        report = check(
            certificates, train=train, test=test, data=data, label=label, track=_track(terminal)
        )
    except CertificateError as error:
        raise InputError(str(error)) from None
    _show(terminal, report)
    terminal.answer(asdict(report))
    if report.rejected:
        return _FALSE
    return _PROVEN if report.proven else _NOTHING


def _track(terminal: Terminal) -> Track:
    """Return how progress is shown: as a bar on a terminal, in lines elsewhere."""
    if terminal.error.is_terminal:
        return terminal.track
    return ProgressLines(terminal.note).track


def _show(terminal: Terminal, report: Report) -> None:
    for line in report.question.splitlines():
        terminal.say(line)
    terminal.say(
        f"{report.proven:,} claims proven, {len(report.rejected):,} rejected, "
        f"{report.undecided:,} without a verdict",
        style="bold",
    )
    if report.proven:
        terminal.say(f"proven: {report.robust:,} robust, {report.not_robust:,} not robust")
        terminal.say(
            f"proven in floating point with error bounds: {report.by_bounds:,}, "
            f"in exact arithmetic: {report.by_exact_arithmetic:,}"
        )
    elif not report.rejected:
        terminal.say("nothing is proven: no claim has a verdict", style="bold")
    for row, reason in list(report.rejected.items())[:_LINES]:
        terminal.say(f"claim {row}: {reason}")
    if len(report.rejected) > _LINES:
        terminal.say(f"… and {len(report.rejected) - _LINES:,} more: --json has them all")
