"""What commands about all test rows at once have in common: options, opening, the page."""

import contextlib
import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from unswayed.cli.certify import describe
from unswayed.cli.terminal import Terminal, command_line
from unswayed.report.classes import contents, without_rows
from unswayed.report.summarise import headline, provenance
from unswayed.study.findings import findings_of
from unswayed.study.folds import open_folds
from unswayed.study.opening import open_study
from unswayed.study.request import Request
from unswayed.study.study import Study


@contextlib.contextmanager
def solver_output() -> Iterator[None]:
    """Send what compiled code prints to stderr: HiGHS does now and then, whatever it is told.

    Programs expect one JSON object on stdout and nothing else. Python's own output is not touched
    if it goes elsewhere, but nothing should be printed within.
    """
    if sys.__stdout__ is None or sys.__stderr__ is None:  # closed: 1 or 2 may be another file
        yield
        return
    sys.stdout.flush()
    saved = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        # C has a buffer of its own, which would be written later, to the restored stdout.
        with contextlib.suppress(OSError, AttributeError, TypeError):
            ctypes.CDLL(None).fflush(None)
        os.dup2(saved, 1)
        os.close(saved)


@dataclass(frozen=True, eq=False)
class AllRows:
    """A study whose test rows are asked about together."""

    study: Study
    facts: dict[str, Any]
    paged: Callable[[dict[str, Any]], str]
    shown: Callable[[dict[str, Any]], dict[str, Any]]

    def introduce(self, terminal: Terminal) -> None:
        """Print notes, what could mislead, and what was asked."""
        for note in self.study.notes:
            terminal.note(note)
        for caveat in self.facts["caveats"]:
            terminal.warn(caveat["sentence"])
        describe(terminal, self.study, self.facts)
        terminal.say()


def open_all_rows(
    request: Request,
    terminal: Terminal,
    *,
    check: Callable[[Study], None] = lambda _: None,
    page: bool,
    no_rows: bool = False,
) -> AllRows:
    """Open a study whose test rows are asked about together."""
    study = (
        open_study(request, terminal) if request.folds is None else open_folds(request, terminal)
    )
    check(study)
    findings = findings_of(study, command=command_line() if page else None)

    def paged(facts: dict[str, Any]) -> str:
        # The charts' libraries take a second: only those who want a page pay for them.
        from unswayed.report.collective import render_collective

        made = provenance(findings.command, findings.files, findings.seed)
        holds = contents(facts, findings.sources)
        return render_collective(facts | {"provenance": made, "contents": holds})

    return AllRows(
        study, headline(findings, three=False), paged, without_rows if no_rows else lambda it: it
    )
