"""What a case keeps: results of the library, what commands print, files and pages."""

import contextlib
import json
import math
import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from unittest import mock

import jinja2

from tests.commands import unswayed_here
from tests.golden.masks import masked, masked_text, said
from tests.golden.plain import dumps, plain

HERE = Path(__file__).parent
FILES = HERE / "files"
DATA = HERE / "data"
PEOPLE = HERE.parent / "files"  # files as people have them

ENVIRONMENT = {
    "COLUMNS": "80",
    "LINES": "25",
    "OMP_NUM_THREADS": "2",
    "SOURCE_DATE_EPOCH": "1700000000",
    "NO_COLOR": "1",
}

Case = Callable[["Record"], None]
CASES: dict[str, Case] = {}


def case(function: Case) -> Case:
    """Register a case under its own name."""
    assert function.__name__ not in CASES
    CASES[function.__name__] = function
    return function


class Record:
    """What one case keeps, by the name of the file it is stored in, and the folder it works in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kept: dict[str, bytes] = {}

    def keep(self, name: str, value: Any) -> None:
        """Keep a text, a file as it was written (a path), or a result as JSON."""
        assert name not in self.kept, name
        if isinstance(value, Path):
            self.kept[name] = value.read_bytes()
        elif isinstance(value, str):
            self.kept[name] = masked_text(value).encode()
        else:
            self.kept[name] = (dumps(masked(plain(value))) + "\n").encode()

    def data(self, *names: str) -> None:
        """Copy input files into the folder."""
        for name in names:
            found = DATA / name if (DATA / name).exists() else PEOPLE / name
            shutil.copy(found, self.folder / name)

    def command(self, line: str, *, code: int = 0, to: str = "terminal.txt") -> str:
        """Run a command, keep what it prints in a transcript, and return its stdout."""
        done = run(line, self.folder, code)
        lines = f"$ unswayed {line}\n{done.stdout}"
        lines += f"(stderr)\n{beside}" if (beside := said(done.stderr)) else ""
        lines += f"(exit code {done.returncode})\n\n"
        self.kept[to] = self.kept.get(to, b"") + masked_text(lines).encode()
        return done.stdout

    def answer(
        self, line: str, *, code: int = 0, to: str = "answer.json", page: str | None = None
    ) -> None:
        """Run a command with --json and keep the object that it prints, and the page it writes."""
        report = f"--report {page}.html" if page else ""
        with page_facts() as facts:
            done = run(f"{line} {report} --json", self.folder, code)
        self.keep(to, json.loads(done.stdout))
        if page:
            self.keep_page(page, facts)

    def files(self, *names: str) -> None:
        """Keep files that were written into the folder, as they are."""
        for name in names:
            self.keep(name, self.folder / name)

    def keep_page(self, name: str, facts: list[dict[str, Any]]) -> None:
        """Keep the text of a page, the facts it was made of and the data that its script has."""
        html = (self.folder / f"{name}.html").read_text(encoding="utf-8")
        self.keep(f"{name}.txt", page_text(html))
        [behind] = facts
        self.keep(f"{name}-facts.json", behind)
        if (data := page_data(html)) is not None:
            shown = {key: value for key, value in data.items() if behind.get(key) != value}
            self.keep(f"{name}-script.json", shown)

    def certificate(self, name: str, options: str, *, code: int = 0) -> None:
        """Keep a certificate file and its proof, and what the checker prints about it."""
        self.keep(name, self.folder / name)
        if "proof" in (stated := json.loads(self.kept[name])):
            self.files(stated["proof"]["file"])
        self.command(f"verify {name} {options}", code=code, to="verify.txt")


def run(line: str, folder: Path, code: int | None = None):
    """Run a command in this process, as on a terminal of 80 columns."""
    # No lines that depend on how long something takes.
    patience = mock.patch("unswayed.cli.terminal._PASSING", math.inf)
    with mock.patch.dict(os.environ, ENVIRONMENT), patience:
        done = unswayed_here(*shlex.split(line), cwd=folder)
    assert code is None or done.returncode == code, (line, done.returncode, done.stderr)
    return done


def record(name: str, folder: Path) -> dict[str, bytes]:
    """Run a case in an empty folder and return what it keeps, by the name of the file."""
    kept = Record(folder)
    with mock.patch.dict(os.environ, ENVIRONMENT):
        CASES[name](kept)
    return kept.kept


# Pages


@contextlib.contextmanager
def page_facts() -> Iterator[list[dict[str, Any]]]:
    """Collect the dict behind every page that is made meanwhile: what the templates are given.

    The pages' own text and the data of their scripts are read off the files; this dict is not in
    them. Nothing else in tests/golden knows how pages are made.
    """
    found: list[dict[str, Any]] = []
    render = jinja2.Template.render

    def watched(self: jinja2.Template, *values: Any, **named: Any) -> str:
        found.append(named["facts"])
        return render(self, *values, **named)

    with mock.patch.object(jinja2.Template, "render", watched):
        yield found


def page_data(html: str) -> dict[str, Any] | None:
    """Return the data that a page hands to its script."""
    block = re.search(r'<script type="application/json"[^>]*>(.*?)</script>', html, re.DOTALL)
    return None if block is None else json.loads(block[1])


def page_text(html: str) -> str:
    """Return what can be read on a page: its text, and labels for readers that do not see it."""
    parser = _Text()
    parser.feed(html)
    lines = "".join(parser.parts).split("\n")
    lines = [re.sub(r"(?: *\| *)+$|^(?: *\| *)+", "", " ".join(line.split())) for line in lines]
    return "\n".join(line for line in lines if line) + "\n"


class _Text(HTMLParser):
    SILENT = ("script", "style")
    INLINE = (
        "a abbr b button code em i kbd label option output small span strong sub sup var".split()
    )
    SAID = "alt aria-label title placeholder".split()

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.silent += tag in self.SILENT
        if tag in ("td", "th"):
            self.parts.append(" | ")
        elif tag not in self.INLINE:
            self.parts.append("\n")
        for name, value in attrs:
            if name in self.SAID and value:
                self.parts.append(f" [{name}: {value}] ")

    def handle_endtag(self, tag: str) -> None:
        self.silent -= tag in self.SILENT
        if tag not in ("td", "th", *self.INLINE):
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if not self.silent:
            self.parts.append(re.sub(r"\s+", " ", data))
