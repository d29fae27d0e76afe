"""The checker is as short as docs/checker.md says, and the pages lead to code that exists."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
VERIFY = ROOT / "src" / "unswayed" / "verify"
FILES = [ROOT / "docs" / "checker.md", *sorted((ROOT / "docs" / "checker").glob("*.md"))]
PAGE = "\n".join(file.read_text(encoding="utf-8") for file in FILES)

HELD = ("linear core",)
"""Parts that are held to their bars."""


@pytest.fixture(scope="module")
def tool():
    path = ROOT / "tools" / "checker.py"
    spec = importlib.util.spec_from_file_location("count_the_checker", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_shows_the_table_that_the_tool_counts(tool):
    assert tool.shown() == tool.table(), "run python tools/checker.py --write"


@pytest.mark.parametrize("part", HELD)
def test_a_part_is_within_its_bar(tool, part):
    found, bar = tool.counts()[part], tool.BARS[part]
    assert found[0] <= bar[0], f"{part} has {found[0]:,} lines"
    assert found[1] <= bar[1], f"{part} has {found[1]} files"


def test_every_file_is_counted_once(tool):
    *parts, everything = tool.counts().values()
    assert tuple(map(sum, zip(*parts, strict=True))) == everything
    assert everything[1] == len(list(VERIFY.rglob("*.py")))


def test_functions_that_the_page_names_exist():
    """Names such as `linear.largest` or `rational.RationalRows._moved`."""
    named = re.findall(r"`([a-z_]+)\.((?:[A-Z]\w+\.)?_?[A-Za-z]\w*)`", PAGE)
    assert len(named) > 10
    for module, name in named:
        file = VERIFY / f"{module}.py"
        if file.exists():
            text = file.read_text(encoding="utf-8")
            for part in name.split("."):
                assert re.search(rf"(def|class) {part}\b", text), f"{module} has no {name}"


def test_the_page_names_every_module_in_its_reading_order():
    order = PAGE.split("## Reading order")[1].split("\n## ")[0]
    modules = {path.stem for path in VERIFY.glob("*.py")} - {"__init__"}
    assert modules <= set(re.findall(r"`(\w+)`", order))


def test_the_worked_example_is_a_hundred_lines_at_most():
    longest = max(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL), key=len)
    assert 50 < len(longest.splitlines()) <= 100
