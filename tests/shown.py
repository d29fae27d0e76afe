"""What documents show of runs: ``python -m tests.shown`` writes it again.

Below a command stands what it prints, in lines of at most 72 characters, and a line ``…`` where the
rest was left out. Below a block of Python stands what the block prints. A test compares both with
runs; this module writes them, to be looked at before they are committed. As many lines of a
command are shown as were shown before.
"""

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
import textwrap
import warnings
from pathlib import Path
from unittest import mock

from tests.commands import unswayed_here

ROOT = Path(__file__).parents[1]
STORY = (
    "README.md",
    "docs/index.md",
    *(f"docs/start/{name}.md" for name in ("command-line", "python", "tour")),
)
WIDTH = 72
LEFT_OUT = "…"


def printed(command, folder):
    """Return the lines that a command of a document prints in a folder, on a narrow terminal."""
    words = shlex.split(command.replace("\\\n", " "), comments=True)
    with mock.patch.dict(os.environ, COLUMNS=str(WIDTH)):
        done = unswayed_here(*words[1:], cwd=folder)
    assert done.returncode == 0, (command, done.stderr)
    lines = [line.rstrip() for line in done.stdout.rstrip().splitlines()]
    parts = ([line] if len(line) <= WIDTH else textwrap.wrap(line, WIDTH) for line in lines)
    return [part for line in parts for part in line]


def renewed_console(block, folder):
    """Return a block of commands with what they print now."""
    parts = []
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, shown = re.fullmatch(r"((?:[^\n]*\\\n)*[^\n]*\n)(.*)", part, re.DOTALL).groups()
        lines = shown.rstrip().splitlines()
        if lines:
            found = printed(command, folder)
            if lines[-1] == LEFT_OUT:
                found = [*found[: len(lines) - 1], LEFT_OUT]
            lines = found
        parts.append("".join([f"$ {command}", *(f"{line}\n" for line in lines)]))
    return "\n".join(parts)


def renewed(text, folder):
    """Return a document with what its commands and its Python print now, run in a folder."""
    names = {"__name__": "page"}

    def replace(found):
        kind, block, shown = found.groups()
        if kind == "console":
            return f"```console\n{renewed_console(block, folder)}```{shown or ''}"
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.chdir(folder), warnings.catch_warnings():
            warnings.simplefilter("error")
            exec(compile(block, "page", "exec"), names)
        return f"```python\n{block}```" + (f"\n```\n{out.getvalue()}```" if out.getvalue() else "")

    pattern = r"```(console|python)\n(.*?)```(\n```\n.*?```)?"
    return re.sub(pattern, replace, text, flags=re.DOTALL)


def main(documents):
    """Write documents again, in a folder with the files of the demo."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        unswayed_here("demo", "--no-report", cwd=folder)
        for document in documents or STORY:
            path = ROOT / document
            before = path.read_text(encoding="utf-8")
            after = renewed(before, folder)
            path.write_text(after, encoding="utf-8")
            print(f"{document}: {'as it was' if after == before else 'changed'}")


if __name__ == "__main__":
    main(sys.argv[1:])
