"""``unswayed verify``: check a certificate file without trusting the program that wrote it."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from unswayed.cli.commands import VerifyOptions
from unswayed.cli.terminal import Terminal
from unswayed.exceptions import InputError
from unswayed.verify import (
    MOST_NUMBERS,
    CertificateError,
    Report,
    schema_text,
)
from unswayed.verify import verify as check
from unswayed.verify.audit import FORMAT, verify_audit

if TYPE_CHECKING:
    from unswayed.study.opening import CertificateSize

_LINES = 40
_PATIENCE = 60.0  # seconds: a shorter wait is not worth a word
_HOUR = 3600.0
_PROVEN, _FALSE, _NOTHING = 0, 1, 3  # exit codes; 2 is bad input

# Seconds on one busy core of an AMD EPYC, from `python -m benchmarks.checker`.
_READING = 1e-6  # per number of the data
_EQUATIONS = 4e-9  # per training row and pair of features
_PRODUCT = 4e-10  # per claim, training row and feature
_SELECTION = 3e-8  # per claim and training row
_EXACT = 1e-6  # per exact claim, training row and feature


def verify(certificates: Path | None, options: VerifyOptions) -> int:
    """Answer ``unswayed verify``."""
    if options.schema:
        sys.stdout.write(schema_text())
        return 0
    if certificates is None:
        raise InputError("name the certificate file, for example unswayed verify c.json")
    terminal = Terminal(options.output)
    if _is_audit(certificates):
        if options.train or options.test or options.data:
            raise InputError(
                f"{certificates} is the file of a label audit, which is checked by itself: its "
                "draws and e-values, not whether the data are those it was started with; leave "
                "--train, --test and --data out. unswayed audit status compares it with the data"
            )
        return _audit(terminal, certificates)
    try:
        report = check(
            certificates,
            train=options.train,
            test=options.test,
            data=options.data,
            label=options.label,
            track=terminal.track,
        )
    except CertificateError as error:
        raise InputError(str(error)) from None
    _show_report(terminal, report)
    terminal.answer(asdict(report))
    if report.rejected:
        return _FALSE
    if report.not_reproven:
        return _NOTHING
    if report.collective:  # it is one claim: a part of it that is open is enough
        return _NOTHING if report.undecided else _PROVEN
    return _PROVEN if report.proven else _NOTHING


def _is_audit(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return FORMAT.encode() in file.read(len(FORMAT) + 20)


def _audit(terminal: Terminal, path: Path) -> int:
    """Check the file of a label audit: what it confirms is what follows from it."""
    try:
        found = verify_audit(path)
    except CertificateError as error:
        terminal.say(str(error), style="bold")
        return _FALSE
    confirmed = int(found.confirmed.sum())
    terminal.say(
        f"{confirmed:,} of {len(found.confirmed):,} rows confirmed after {found.counted:,} labels, "
        f"{found.wrong:,} of them wrong; together: {found.together}, risk {found.risk:g}",
        style="bold",
    )
    terminal.say("draws and e-values follow from the file; margins and effects are the model's")
    terminal.answer({"confirmed": confirmed, "counted": found.counted, "wrong": found.wrong})
    return _PROVEN if confirmed else _NOTHING


def checking_time(size: "CertificateSize") -> str | None:
    """Return what to say of `unswayed verify` when a file is written: a long wait, or a refusal."""
    numbers = (size.n_rows + size.n_claims) * (size.n_features + 4)
    if numbers > MOST_NUMBERS:
        return (
            f"unswayed verify will refuse this file, which is about {numbers:,} numbers: it reads "
            f"at most {MOST_NUMBERS:,}; certify fewer rows at a time"
        )
    found = seconds_to_check(size.n_rows, size.n_features, size.n_claims, size.n_exact)
    if found <= _PATIENCE:
        return None
    length = f"{found / 60:.0f} minutes" if found < 2 * _HOUR else f"{found / _HOUR:.0f} hours"
    why = ""
    if size.n_exact:
        why = (
            f", since {size.n_exact:,} of its claims were settled in rational arithmetic and have "
            "to be proven so"
        )
    return f"unswayed verify will take about {length} to check this{why}"


def seconds_to_check(n_rows: int, n_features: int, n_claims: int, n_exact: int = 0) -> float:
    """Return an estimate of how many seconds `verify` takes, good to a factor of about three.

    Exact arithmetic is estimated for features that are not whole numbers, its worst ordinary case.

    Examples
    --------
    >>> round(seconds_to_check(32_000, 108, 3_000))
    12
    >>> round(seconds_to_check(32_000, 108, 3_000, n_exact=100) / 60)
    6
    """
    found = _READING * (n_rows + n_claims) * (n_features + 4)
    found += _EQUATIONS * n_rows * n_features**2
    found += n_claims * n_rows * (_PRODUCT * n_features + _SELECTION)
    return found + _EXACT * n_exact * n_rows * n_features


def _show_report(terminal: Terminal, report: Report) -> None:
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
    "split": "robust by cases of a split budget",
    "witness": "not robust by a witness",
}
_STATUS = {"proven": "proven, ", "rejected": "REJECTED, ", "not re-proven": ""}
