"""Terminal: tables for people, one JSON object for programs, and progress bars."""

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
_PASSING = 5.0  # seconds between two lines about a pass


class Terminal:
    """Prints the output of a command: answers to stdout, notes and progress to stderr."""

    def __init__(self, options: OutputOptions | None) -> None:
        options = options or OutputOptions()
        self.quiet, self.json = options.quiet, options.json
        # emoji=False: ":heart:" is what a file may well hold, and it stays what it is.
        self.out = Console(
            highlight=False, soft_wrap=False, emoji=False, quiet=options.quiet or options.json
        )
        self.error = Console(stderr=True, highlight=False)
        self._said = time.monotonic()  # the last line about a pass

    @property
    def width(self) -> int:
        """Characters of a line."""
        return self.out.width

    def say(self, text: str = "", style: str | None = None) -> None:
        """Print a line for people, unless the output is quiet or JSON.

        Markup in the text is not interpreted, and control characters are shown as escapes.

        Parameters
        ----------
        text : str
        style : str, optional
            A style of rich, such as "bold".
        """
        self.out.print(escape(printable(text, "\n")), style=style, soft_wrap=True)

    def note(self, text: str) -> None:
        """Print a remark to stderr, unless the output is quiet.

        Parameters
        ----------
        text : str
        """
        if not self.quiet:
            self.error.print(f"[dim]note:[/dim] {escape(printable(text))}", soft_wrap=True)

    def warn(self, text: str) -> None:
        """Print what could mislead to stderr, unless the output is quiet.

        Parameters
        ----------
        text : str
        """
        if not self.quiet:
            said = escape(printable(text))
            self.error.print(f"[yellow]warning:[/yellow] {said}", soft_wrap=True)

    def answer(self, value: Any) -> None:
        """Print the result as one JSON object, if JSON was asked for.

        Parameters
        ----------
        value : dict
        """
        if self.json and not self.quiet:
            sys.stdout.write(to_json(value) + "\n")

    def table(
        self,
        heads: Sequence[str],
        rows: Iterable[Sequence[str]],
        *,
        left: Sequence[int] = (0,),
        widths: Sequence[int] | None = None,
    ) -> None:
        """Print a table for people, unless the output is quiet or JSON.

        Parameters
        ----------
        heads : sequence of str
        rows : iterable of sequence of str
        left : sequence of int
            Columns that are aligned to the left; the others to the right.
        widths : sequence of int, optional
            Characters of each column; by default as many as its cells need and the line has.
        """
        table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
        for at, head in enumerate(heads):
            table.add_column(
                justify="left" if at in left else "right",
                overflow="fold",
                width=widths[at] if widths else None,
                min_width=max(map(len, head.split()), default=0) if at == 0 else None,
            )
        # As a row: heads of several lines begin on the same line, and a table with its first head.
        table.add_row(*(escape(printable(head)) for head in heads), style="dim")
        for row in rows:
            table.add_row(*(escape(printable(cell)) for cell in row))
        self.out.print(table)

    def track(self, steps: Iterable[T], what: str, total: int) -> Iterator[T]:
        """Yield steps; on a terminal, show a bar once they take longer than a second.

        Parameters
        ----------
        steps : iterable
        what : str
            Name of the work, to show beside the bar.
        total : int
            Number of steps.

        Yields
        ------
        object
            The steps, unchanged.
        """
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

    def passing(self, line: str, *, finished: bool) -> None:
        """Say how far a pass over files is: now and then, and at its end.

        Parameters
        ----------
        line : str
        finished : bool
            Whether it is at its end.
        """
        now = time.monotonic()
        if self.quiet or (not finished and now - self._said < _PASSING):
            return
        self._said = now
        self.error.print(f"[dim]{escape(printable(line))}[/dim]", soft_wrap=True)


def printable(text: str, kept: str = "") -> str:
    """Return a text with its unprintable signs, but for those in `kept`, as escapes.

    They could move the cursor, colour the screen or reverse the text.
    """
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() or sign in kept else f"\\u{ord(sign):04x}" for sign in text
    )
