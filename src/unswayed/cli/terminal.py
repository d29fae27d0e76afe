"""Terminal: tables for people, one JSON object for programs, progress, and output files."""

import json
import math
import os
import re
import shlex
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from unswayed.atomic import atomic_write
from unswayed.cli.options import OutputOptions
from unswayed.exceptions import InputError
from unswayed.words import without_secrets

TABLES = (".csv", ".parquet", ".json")
# What spreadsheets take for the start of a formula, wide signs and spaces before it included.
_FORMULA = re.compile(r"[\t\r\n]|\s*[=+\-@＝＋－＠]")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


def check_output(
    path: Path | None, option: str, suffixes: tuple[str, ...], *read: Path | None
) -> None:
    """Raise, before any work is done, if `path` cannot become an output file."""
    if path is None:
        return
    if path.suffix.lower() not in suffixes:
        raise InputError(f"{option} {path}: the name must end in {' or '.join(suffixes)}")
    folder = path.resolve().parent
    if not folder.is_dir():
        raise InputError(f"{option} {path}: there is no folder {folder}; make it first")
    if path.is_dir():
        raise InputError(f"{option} {path} is a folder; name a file in it")
    if not os.access(folder, os.W_OK):
        raise InputError(f"{option} {path}: nothing may be written to {folder}")
    if any(each is not None and each.resolve() == path.resolve() for each in read):
        raise InputError(f"{option} {path} would overwrite the input; choose another name")


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    with atomic_write(path) as beside:
        beside.write_text(text, encoding="utf-8", newline="\n")


def to_json(value: Any, *, indent: int | None = 2) -> str:
    """Return a value as JSON that every reader accepts: infinity and NaN become null."""
    return json.dumps(_plain(value), indent=indent, ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def as_rows(columns: dict[str, Any]) -> list[dict[str, Any]]:
    """Return columns as one dict per row."""
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def escaped(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet would run as a formula.

    >>> escaped("=1+1"), escaped("-2+3"), escaped("-2.5"), escaped("a=1")
    ("'=1+1", "'-2+3", '-2.5', 'a=1')
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def write_table(path: Path, columns: dict[str, Any], *, escape: bool = True) -> None:
    """Write columns as CSV, Parquet or JSON (a list of rows), by the name's ending."""
    suffix = path.suffix.lower()
    if suffix == ".json":
        rows = as_rows(_plain(columns))
        write_text(path, to_json(rows, indent=None).replace("}, {", "},\n{") + "\n")
        return
    import pyarrow as pa
    import pyarrow.csv as pa_csv
    import pyarrow.parquet as pq

    table = pa.table(columns)
    with atomic_write(path) as beside:
        if suffix == ".csv":
            pa_csv.write_csv(_without_formulas(table) if escape else table, beside)
        else:
            pq.write_table(table, beside)


def _without_formulas(table: Any) -> Any:
    """Return a table with its texts and the names of its columns escaped."""
    import pyarrow as pa

    columns = [
        pa.array([None if text is None else escaped(text) for text in column.to_pylist()])
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        else column
        for column in table.columns
    ]
    return pa.table(columns, names=[escaped(name) for name in table.column_names])


# ----------------------------------------------------------------------------------------
# The command as it was given, for whoever wants to run it again.

given: ContextVar[list[str]] = ContextVar("given")
"""Arguments of the command that runs now."""


def command_line(arguments: Iterable[str] | None = None) -> str:
    """Return a command line, quoted for a shell, without the secrets of URLs.

    >>> print(command_line(["certify", "my people.csv", "--only", "gender == 'female'"]))
    unswayed certify 'my people.csv' --only "gender == 'female'"
    """
    words = given.get() if arguments is None else arguments
    return " ".join(["unswayed", *(_quoted(without_secrets(word, word)) for word in words)])


def _quoted(text: str) -> str:
    """Quote an argument for a shell.

    One with single quotes gets double ones, which are easier to read, unless it holds a sign
    that shells interpret inside them.
    """
    return f'"{text}"' if "'" in text and not set(text) & set('"$`\\!%') else shlex.quote(text)


# ----------------------------------------------------------------------------------------
# Terminal: tables for people, one JSON object for programs, and progress bars.

_PATIENCE = 1.0  # seconds before progress appears
_PASSING = 0.2  # seconds between two lines of progress, which replace each other
_LOGGED = 5.0  # the same with --verbose where there is no terminal, and they stay

T = TypeVar("T")


class _Stdout(Console):
    """Stdout whose reader (``head``, say) may have seen enough: the command goes on, silently."""

    def on_broken_pipe(self) -> None:
        """Print nothing more, instead of ending the process before its files are written."""
        self.quiet = True
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


class Terminal:
    """Prints the output of a command: answers to stdout, notes and progress to stderr."""

    def __init__(self, options: OutputOptions | None) -> None:
        options = options or OutputOptions()
        self.quiet, self.json, self.verbose = options.quiet, options.json, options.verbose
        # emoji=False: ":heart:" is what a file may well hold, and it stays what it is.
        self.out = _Stdout(
            highlight=False, soft_wrap=False, emoji=False, quiet=options.quiet or options.json
        )
        self.error = Console(stderr=True, highlight=False)
        self._said = time.monotonic()  # the last line about a pass

    @property
    def width(self) -> int:
        """Characters of a line."""
        return self.out.width

    def say(self, *lines: str | None, style: str | None = None) -> None:
        """Print lines for people, without those that are None; without any, an empty one.

        Markup in them is not interpreted, and control characters are shown as escapes. On a
        terminal they are wrapped at words; programs that read them get whole lines.
        """
        clear_progress()
        for line in lines or ("",):
            if line is not None:
                text = escape(printable(line, "\n"))
                self.out.print(text, style=style, soft_wrap=not self.out.is_terminal)

    def note(self, text: str, head: str = "[dim]note:[/dim]") -> None:
        """Print a remark to stderr, unless the output is quiet."""
        clear_progress()
        if not self.quiet:
            whole = not self.error.is_terminal
            self.error.print(f"{head} {escape(printable(text))}", soft_wrap=whole)

    def warn(self, text: str) -> None:
        """Print what could mislead to stderr, unless the output is quiet."""
        self.note(text, "[yellow]warning:[/yellow]")

    def answer(self, value: Any) -> None:
        """Print the result as one JSON object, if JSON was asked for."""
        clear_progress()
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
        """Print a table for people, unless the output is quiet or JSON."""
        clear_progress()
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
        """Yield steps; on a terminal, say which one it is once they take longer than a second."""
        start = time.monotonic()
        for done, step in enumerate(steps):
            took = time.monotonic() - start
            if done and took > _PATIENCE:
                left = took / done * (total - done)
                self.passing(f"{what}: step {done + 1:,} of {total:,}, about {spell(left)} left")
            yield step
        clear_progress()

    def passing(self, line: str, *, finished: bool = False) -> None:
        """Show how far long work is, in one line that the next one replaces.

        Nothing of it stays on a terminal, and none goes to a file or a pipe but with --verbose.
        """
        now, shown = time.monotonic(), self.error.is_terminal
        if self.quiet or not (finished or now - self._said >= (_PASSING if shown else _LOGGED)):
            return
        self._said = now
        if shown:
            text = printable(line)[: self.error.width - 1]
            self.error.file.write(f"\r{text}{_ERASE}")
            self.error.file.flush()
        elif self.verbose:
            self.error.print(escape(printable(line)), soft_wrap=True)


_ERASE = "\x1b[K"  # the rest of a line


def clear_progress() -> None:
    """Take a line of progress off the terminal."""
    if sys.stderr is not None and sys.stderr.isatty():
        sys.stderr.write(f"\r{_ERASE}")


def spell(seconds: float) -> str:
    """Return a time that is left, in words.

    >>> spell(0.3), spell(40.2), spell(170), spell(7300)
    ('1 s', '40 s', '3 min', '2.0 h')
    """
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def printable(text: str, kept: str = "") -> str:
    """Return a text with its unprintable signs, but for those in `kept`, as escapes.

    They could move the cursor, colour the screen or reverse the text.
    """
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() or sign in kept else f"\\u{ord(sign):04x}" for sign in text
    )
