"""What the documents show is what the program prints."""

import re
import shlex
from pathlib import Path

import pytest
from sklearn.datasets import load_wine

from tests.commands import unswayed_here

ROOT = Path(__file__).parents[2]
LEFT_OUT = "…"


def shown(document):
    """Commands of a document, each with the lines that are shown below it."""
    text = (ROOT / document).read_text(encoding="utf-8")
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, lines = part.replace("\\\n", " ").partition("\n")
            yield shlex.split(command, comments=True)[1:], lines.splitlines()


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    assert unswayed_here("demo", cwd=folder).returncode == 0
    wine = load_wine(as_frame=True).frame
    wine["target"] = wine["target"].map({0: "Barolo", 1: "Grignolino", 2: "Barbera"})
    wine.to_csv(folder / "wine.csv", index=False)
    return folder


@pytest.mark.parametrize(
    "document",
    [
        *(
            f"docs/commands/{path.name}"
            for path in sorted((ROOT / "docs" / "commands").glob("*.md"))
            if "```console" in path.read_text(encoding="utf-8")
        ),
        "docs/certificates.md",
        "docs/guide/classes.md",
        "docs/logistic.md",
        "docs/together.md",
    ],
)
def test_every_line_that_a_document_shows_is_printed_in_that_order(demo, document):
    asked = list(shown(document))
    assert asked
    for command, lines in asked:
        done = unswayed_here(*command, cwd=demo)
        assert done.returncode == 0, (command, done.stderr)
        printed = iter([line.rstrip() for line in done.stdout.splitlines()])
        for line in lines:
            if line.strip() and line.strip() != LEFT_OUT:
                assert line in printed, (command, line)


def test_no_block_that_is_shown_ends_in_mid_sentence():
    for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        text = path.read_text(encoding="utf-8")
        for kind, block in re.findall(r"^```(.*?)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            if kind in ("", "console"):
                assert block.rstrip()[-1] not in ":,;", (path, block)
        assert not re.search(r"print\(str\(\w+\)\[", text), path  # the beginning of a message
