"""Every public name is in the reference and has an example; pages say what their code prints."""

import contextlib
import inspect
import io
import re
import runpy
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

import unswayed
from unswayed import CertifiedClassifier, LabelBias, RowSum, datasets

ROOT = Path(__file__).parents[2]
LISTED = (ROOT / "docs" / "api" / "index.rst").read_text(encoding="utf-8").split()
NAMES = [name for name in unswayed.__all__ if name != "__version__"]
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (ROOT / "docs").rglob("*.md")
    if "```python" in path.read_text(encoding="utf-8")
)
ABOUT_METHODS = ("README.md",)


def test_every_public_name_is_in_the_reference():
    loaders = [name for name in datasets.__all__ if name != "DatasetError"]
    assert {*NAMES, *loaders} <= set(LISTED)


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_has_an_example(name):
    documented = inspect.getdoc(getattr(unswayed, name))
    assert ">>> " in documented, f"{name} has no example"


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("plot_*.py")), ids=str)
def test_examples_are_short(example):
    assert len(example.read_text(encoding="utf-8").splitlines()) < 80


def surroundings(tmp_path):
    """What pages about methods take as given: a fitted model, rows, and groups of them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    y = (X[:, 0] + rng.normal(0, 0.6, 150) > 0).astype(int)
    (tmp_path / "people").mkdir()
    people = pd.DataFrame(np.tile(X, (10, 1)), columns=["age", "hours", "job"])
    people = people.assign(hired=np.tile(y, 10))
    people.to_parquet(tmp_path / "people" / "1.parquet")
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=3)).fit(X[:120], y[:120])
    line, tests = (
        Ridge(alpha=10).fit(people[["age", "hours", "job"]].to_numpy(), people["hired"]),
        X[120:],
    )
    tests[17] = (0.501 - line.intercept_) * line.coef_ / (line.coef_ @ line.coef_)  # a close call
    return {
        "np": np,
        "LabelBias": LabelBias,
        "RowSum": RowSum,
        "model": model,
        "X": X[:120],
        "y": y[:120],
        "X_test": tests,
        "race": rng.choice(["Black", "White"], 30),
        "stakes": np.ones(30),
        "women": rng.random(120) < 0.5,
        "lower": -np.ones(120),
        "upper": np.ones(120),
    }


@pytest.mark.parametrize("page", [*PAGES, "README.md"])
def test_a_page_prints_what_it_shows(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```(?:\n```\n(.*?)```)?", text, re.DOTALL)
    names = {"__name__": "page"} | (surroundings(tmp_path) if page in ABOUT_METHODS else {})
    for code, shown in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("error")
            exec(compile(code, page, "exec"), names)
        assert printed.getvalue() == shown, page


def blocks(page):
    """Return language and text of the blocks of a page, or of an example's code."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_the_first_block_of_a_page_runs_alone(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    first = next(code for language, code in blocks(page) if language == "python")
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(first, page, "exec"), {"__name__": "page"})


def test_code_on_the_site_has_at_most_72_columns():
    long = [
        (page.name, line)
        for page in (ROOT / "docs").rglob("*.md")
        for language, code in blocks(page)
        if language in ("python", "sh")
        for line in code.splitlines()
        if len(line) > 72
    ]
    assert not long


GUIDE = [
    *(ROOT / "docs" / "guide").glob("*.md"),
    *(ROOT / "docs" / f"{name}.md" for name in ("together", "logistic", "scale")),
]
EXAMPLES = (
    "bias-classes",
    "bias-numbers",
    "index",
    "votes-measured",
)  # bias has the picture; a list has none


@pytest.mark.parametrize("page", [page for page in GUIDE if page.stem not in EXAMPLES], ids=str)
def test_a_page_of_the_guide_has_a_picture(page):
    shown = re.findall(r"!\[[^\]]{40,}\]\((.*?)\)", page.read_text(encoding="utf-8"))
    assert shown
    assert all((page.parent / name).resolve().is_file() for name in shown)


def test_pictures_of_the_guide_are_drawn_by_a_script(tmp_path):
    folder = ROOT / "docs" / "images"
    runpy.run_path(str(folder / "make_guides.py"))["main"](tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        path.name for path in (folder / "guide").iterdir()
    }


def test_the_paper_is_told_in_ten_pictures_of_which_three_are_drawn_by_a_script(tmp_path):
    page = (ROOT / "docs" / "explanation" / "paper.md").read_text(encoding="utf-8")
    shown = re.findall(r"!\[[^\]]{40,}\]\(\.\./images/(.*?)\)", page)
    assert len(shown) == len(set(shown)) == 10
    script = ROOT / "docs" / "images" / "make_explanations.py"
    runpy.run_path(str(script))["main"](tmp_path)
    drawn = {f"explanation/{path.name}" for path in tmp_path.iterdir()}
    assert drawn == {name for name in shown if name.startswith("explanation/")}
    assert all((ROOT / "docs" / "images" / name).is_file() for name in shown)
