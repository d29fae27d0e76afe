"""Count the checker: ``python tools/checker.py`` prints the table of docs/checker.md.

With ``--write``, the table there is replaced. `BARS` are what each part may have at most.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERIFY = ROOT / "src" / "unswayed" / "verify"
PAGE = ROOT / "docs" / "checker.md"

# Lines, docstrings and blank ones included, and files.
BARS = {
    "linear core": (600, 2),
    "gradient": (900, 4),
    "collective": (500, 3),
    "reading and the rest": (2000, 10),
    "all": (4000, 20),
}
HEAD = "| part | lines | at most | files | at most |\n|---|---|---|---|---|\n"


def part_of(file: Path) -> str:
    """Return the part that a file of the checker belongs to."""
    folder = file.relative_to(VERIFY).parts[0]
    if folder in ("gradient", "collective"):
        return folder
    return "linear core" if folder in ("linear.py", "rational.py") else "reading and the rest"


def counts() -> dict[str, tuple[int, int]]:
    """Return the lines and the files of each part."""
    found = dict.fromkeys(BARS, (0, 0))
    for file in VERIFY.rglob("*.py"):
        size = len(file.read_text(encoding="utf-8").splitlines())
        for part in (part_of(file), "all"):
            lines, files = found[part]
            found[part] = lines + size, files + 1
    return found


def table() -> str:
    """Return the table in Markdown."""
    rows = (
        f"| {part} | {lines:,} | {BARS[part][0]:,} | {files} | {BARS[part][1]} |\n"
        for part, (lines, files) in counts().items()
    )
    return HEAD + "".join(rows)


def shown() -> str:
    """Return the table that the page shows."""
    text = PAGE.read_text(encoding="utf-8")
    return HEAD + text.split(HEAD)[1].split("\n\n")[0] + "\n"


if __name__ == "__main__":
    if "--write" in sys.argv:
        page = PAGE.read_text(encoding="utf-8").replace(shown(), table())
        PAGE.write_text(page, encoding="utf-8")
    print(table(), end="")
