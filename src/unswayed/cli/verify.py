"""``unswayed verify``: check a certificate file without trusting the program that wrote it."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from unswayed.cli.options import OUTPUT, Flag, OutputOptions
from unswayed.cli.terminal import ProgressLines, Terminal
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
    no claim has a verdict, a claim about all rows together rests on a solver's word, or claims
    about a model that is not linear in its labels could not be re-proven.

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
    if report.not_reproven:
        return _NOTHING
    if report.collective:  # it is one claim: a part of it that rests on somebody's word is enough
        return _NOTHING if report.undecided else _PROVEN
    return _PROVEN if report.proven else _NOTHING


def _track(terminal: Terminal) -> Track:
    """Return how progress is shown: as a bar on a terminal, in lines elsewhere."""
    if terminal.error.is_terminal:
        return terminal.track
    return ProgressLines(terminal.note).track


def _show(terminal: Terminal, report: Report) -> None:
    for line in report.question.splitlines():
        terminal.say(line)
    if report.collective:
        _show_collective(terminal, report)
        return
    terminal.say(
        f"{report.proven:,} claims proven, {len(report.rejected):,} rejected, "
        f"{report.undecided:,} without a verdict"
        + (f", {len(report.not_reproven):,} not re-proven" if report.not_reproven else ""),
        style="bold",
    )
    if report.proven:
        terminal.say(f"proven: {report.robust:,} robust, {report.not_robust:,} not robust")
        terminal.say(
            f"proven in floating point with error bounds: {report.by_bounds:,}, "
            f"in exact arithmetic: {report.by_exact_arithmetic:,}"
        )
    elif not report.rejected and not report.not_reproven:
        terminal.say("nothing is proven: no claim has a verdict", style="bold")
    if report.stages:
        told = (f"{_STAGES[stage]}: {count:,}" for stage, count in report.stages.items())
        terminal.say(f"verdicts by what proves them: {', '.join(told)}")
    _show_reasons(terminal, report.rejected, "")
    _show_reasons(terminal, report.not_reproven, " not re-proven")


def _show_reasons(terminal: Terminal, reasons: dict[int, str], what: str) -> None:
    for row, reason in list(reasons.items())[:_LINES]:
        terminal.say(f"claim {row}{what}: {reason}")
    if len(reasons) > _LINES:
        terminal.say(f"… and {len(reasons) - _LINES:,} more: --json has them all")


def _show_collective(terminal: Terminal, report: Report) -> None:
    for part in report.collective:
        terminal.say(f"{part.heading}: {_STATUS[part.status]}{part.text}", style="bold")
    arithmetic = "floating point with error bounds"
    if report.exact_rows:
        arithmetic += f", and exact arithmetic for {len(report.exact_rows):,} rows"
    terminal.say(
        f"{report.proven:,} parts of the claim proven, {len(report.rejected):,} rejected, "
        f"{report.undecided:,} not re-proven; in {arithmetic}"
    )


_STAGES = {
    "region": "robust by the region",
    "remainder": "robust by the region and a closer look inside it",
    "witness": "not robust by a witness",
}
_STATUS = {"proven": "proven, ", "rejected": "REJECTED, ", "not re-proven": ""}
