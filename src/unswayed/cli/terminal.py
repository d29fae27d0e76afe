"""Terminal: tables for people, one JSON object for programs, progress for the patient."""

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from unswayed.cli.options import OutputOptions
from unswayed.cli.writing import to_json

T = TypeVar("T")
_PATIENCE = 1.0  # seconds before a progress bar appears


class Terminal:
    """Where a command speaks. Notes and progress go to stderr, answers to stdout."""

    def __init__(self, options: OutputOptions | None) -> None:
        options = options or OutputOptions()
        self.quiet, self.json = options.quiet, options.json
        # emoji=False: ":heart:" is what a file may well hold, and it stays what it is.
        self.out = Console(
            highlight=False, soft_wrap=False, emoji=False, quiet=options.quiet or options.json
        )
        self.error = Console(stderr=True, highlight=False)

    def say(self, text: str = "", style: str | None = None) -> None:
        """Print a line for people. Text from files goes through here unharmed."""
        self.out.print(escape(_printable(text, "\n")), style=style, soft_wrap=True)

    def note(self, text: str) -> None:
        """Print a remark that is not an answer."""
        if not self.quiet:
            self.error.print(f"[dim]note:[/dim] {escape(_printable(text))}", soft_wrap=True)

    def answer(self, value: Any) -> None:
        """Print the one JSON object, where it was asked for."""
        if self.json and not self.quiet:
            sys.stdout.write(to_json(value) + "\n")

    def table(
        self, heads: Sequence[str], rows: Iterable[Sequence[str]], *, left: Sequence[int] = (0,)
    ) -> None:
        """Print a table; columns `left` hold texts, the others numbers."""
        table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
        for at, head in enumerate(heads):
            table.add_column(
                escape(_printable(head)), justify="left" if at in left else "right", overflow="fold"
            )
        for row in rows:
            table.add_row(*(escape(_printable(cell)) for cell in row))
        self.out.print(table)

    def track(self, steps: Iterable[T], what: str, total: int) -> Iterator[T]:
        """Yield steps; on a terminal, show a bar once they take longer than a second."""
        if self.quiet or not self.error.is_terminal:
            yield from steps
            return
        from rich.progress import Progress

        bar = Progress(console=self.error, transient=True)
        task = bar.add_task(what, total=total)
        start = time.monotonic()
        try:
            for step in steps:
                yield step
                bar.advance(task)
                if time.monotonic() - start > _PATIENCE:
                    bar.start()
        finally:
            bar.stop()


def _printable(text: str, kept: str = "") -> str:
    """Name the signs that would move the cursor, colour the screen or turn the text around."""
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() or sign in kept else f"\\u{ord(sign):04x}" for sign in text
    )
