"""What commands about all test rows at once have in common: opening, the page, the answer."""

import contextlib
import ctypes
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unswayed.cli.show import describe, introduce, say_written
from unswayed.cli.terminal import Terminal, command_line, write_text
from unswayed.report.page import without_rows
from unswayed.study.facts import paged, row_facts
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
    """A study whose test rows are asked about together, and the facts that all questions have."""

    study: Study
    facts: dict[str, Any]
    no_rows: bool  # Whether no single row may be shown

    def tell(
        self,
        terminal: Terminal,
        found: dict[str, Any],
        show: Callable[[dict[str, Any]], None],
        *,
        notes: Iterable[str] = (),
        out: Path | None = None,
        write: Callable[[Path], None] = lambda _: None,
        report: Path | None = None,
    ) -> None:
        """Write the files that were asked for, print what was found, and answer programs."""
        facts = self.facts | found
        shared = without_rows(facts) if self.no_rows else facts
        page = None
        if report is not None:
            # The charts' libraries take a second: only those who want a page pay for them.
            from unswayed.report.render import render_collective

            page = render_collective(paged(shared, command_line(), self.study))
        if out is not None:
            write(out)
        if report is not None and page is not None:
            write_text(report, page)
        introduce(terminal, (*notes, *self.study.notes), facts)
        describe(terminal, facts)
        terminal.say()
        show(facts)
        say_written(terminal, out, report)
        terminal.answer(shared)


def open_all_rows(
    request: Request,
    terminal: Terminal,
    *,
    check: Callable[[Study], None] = lambda _: None,
    no_rows: bool = False,
) -> AllRows:
    """Open a study whose test rows are asked about together; `check` raises before any work."""
    study = (
        open_study(request, terminal) if request.folds is None else open_folds(request, terminal)
    )
    check(study)
    return AllRows(study, row_facts(study, three=False), no_rows)
