"""The maps of the house are true: packages name their modules, CONTRIBUTING names the packages."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "unswayed"
PACKAGES = sorted(path.parent for path in SOURCE.rglob("__init__.py") if path.parent != SOURCE)
# The checker is not drawn here: it shares nothing with the rest.
OWN_MAPS = [path for path in PACKAGES if not {"verify", "_core"} & {*path.parts}]


def opening(package):
    """The docstring of a package."""
    return (package / "__init__.py").read_text(encoding="utf-8").split('"""')[1]


def children(package):
    """Modules and packages inside a package, but for itself."""
    modules = {path.stem for path in package.glob("*.py")} - {"__init__"}
    return modules | {path.parent.name for path in package.glob("*/__init__.py")}


@pytest.mark.parametrize("package", OWN_MAPS, ids=lambda path: str(path.relative_to(SOURCE)))
def test_the_opening_of_a_package_names_its_modules_and_no_other(package):
    named = {
        name
        for line in opening(package).splitlines()
        if (match := re.match(r"((?:`[\w/]+`(?:, | and )?)+) {1,}\S", line))
        for name in re.findall(r"`(\w+)/?`", match[1])
    }
    assert named == children(package)


def test_the_picture_of_the_core_shows_every_module():
    text = opening(SOURCE / "_core")
    assert {
        name for name in children(SOURCE / "_core") if not re.search(rf"\b{name}\b", text)
    } == set()


def test_contributing_draws_every_package_and_every_module_beside_them():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    picture = text.split("## How the code is laid out")[1].split("```")[1]
    drawn = {
        name
        for line in picture.splitlines()
        for name in re.findall(r"[a-z_]\w*", re.split(r" {2,}", line.strip())[0])
    }
    assert drawn == children(SOURCE) - {"__main__"} - {"verify"}


def test_the_life_of_a_row_passes_through_files_that_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    life = text.split("## The life of a row")[1].split("\n## ")[0]
    files = re.findall(r"`([a-z_/]+\.py)`", life)
    assert len(files) > 8
    assert [name for name in files if not any((at / name).exists() for at in (SOURCE, ROOT))] == []
    table = text.split("## How to add")[1].split("\n## ")[0]
    assert [n for n in re.findall(r"`([a-z_/]+\.py)`", table) if not (SOURCE / n).exists()] == []
