"""Files that describe the package agree with each other and with what was built."""

import ast
import importlib.metadata
import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest

import unswayed
from unswayed._core import kernels

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def bounds():
    extras = PROJECT["optional-dependencies"]
    used = [extras[name] for name in extras if name not in ("dev", "docs", "mnist")]
    for line in chain(PROJECT["dependencies"], *used):
        found = re.fullmatch(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", line)
        if found:
            yield found.groups()


def test_the_oldest_set_is_made_of_the_lower_bounds():
    lines = (ROOT / "constraints-oldest.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert set(pinned) == {name for name, _ in bounds()}
    for name, bound in bounds():
        version = [int(part) for part in pinned[name].split(".")]
        least = [int(part) for part in bound.split(".")]
        assert version == least + [0] * (len(version) - len(least)), name


def test_the_version_is_written_in_one_place():
    assert "version" in PROJECT["dynamic"]
    assert importlib.metadata.version("unswayed") == unswayed.__version__


def test_the_extra_all_is_every_extra_that_users_need():
    extras = PROJECT["optional-dependencies"]
    (named,) = extras["all"]
    wanted = {*extras} - {"all", "dev", "docs", "mnist"}
    assert set(re.fullmatch(r"unswayed\[(.*)\]", named).group(1).split(",")) == wanted


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 150


def test_hooks_before_a_commit_are_those_of_make_lint():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = re.search(r"^lint:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE).group(1)
    linted = [line.strip().replace("$(BIN)", ".venv/bin") for line in recipe.splitlines()]
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    assert re.findall(r"entry: (.*)", hooks) == linted


@pytest.mark.skipif(kernels.kernel_names() == ("numpy",), reason="no compiled kernel")
def test_the_stub_of_the_kernel_declares_what_was_compiled():
    kernel = kernels._built
    stub = ast.parse((ROOT / "src/unswayed/_core/_selection.pyi").read_text(encoding="utf-8"))
    functions = {node.name: node for node in stub.body if isinstance(node, ast.FunctionDef)}
    attributes = {node.target.id for node in stub.body if isinstance(node, ast.AnnAssign)}
    assert {*functions, *attributes} == {name for name in dir(kernel) if name[0] != "_"}
    for name, node in functions.items():
        heading = getattr(kernel, name).__doc__.splitlines()[0]
        n_arguments = len(node.args.posonlyargs)
        assert len(re.findall(r"\barg\d*:", heading)) == n_arguments, heading
