"""`--no-rows`: pages and JSON without a single person's row; every page says whose rows it has."""

import json
import re
from functools import cache
from html import unescape

import numpy as np
import pandas as pd
import pytest

from tests.commands import people, unswayed_here

N = 240
SIDE = ("--label", "hired", "--ignore", "salary,who", "--budget", "2%")
COMMANDS = {
    "certify": ("certify", "people.csv", *SIDE, "--groups", "gender"),
    "certify in pieces": ("certify", "people.csv", *SIDE, "--in-pieces"),
    "logistic": ("certify", "people.csv", *SIDE, "--model", "logistic"),
    "folds": ("certify", "people.csv", *SIDE, "--folds", "3"),
    "numbers": (
        "certify", "people.csv", "--label", "salary", "--ignore", "hired,who", "--shift", "900",
    ),
    "together": ("together", "people.csv", *SIDE),
    "fairness": ("fairness", "people.csv", *SIDE, "--groups", "gender"),
    "review plan": ("review", "plan", "people.csv", *SIDE, "--labels", "6"),
    "compare": ("compare", "people.csv", *SIDE, "--against", "--alpha 30"),
}  # fmt: skip


def marked():
    """People whose interview score is like nobody else's, and so is found wherever it stands."""
    rng = np.random.default_rng(11)
    frame = people(N)
    unique = 40 + rng.permutation(N) * 0.08 + 0.0137
    return frame.assign(**{"interview score": unique.round(4), "who": [f"Q{i}Z" for i in range(N)]})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("people")
    marked().to_csv(made / "people.csv", index=False)
    return made


@cache
def made(folder, name, *options):
    done = unswayed_here(*COMMANDS[name], "--report", "page.html", "--json", *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    return (folder / "page.html").read_text(), done.stdout


def cells_in(text):
    text = re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)  # code, the same everywhere
    return {cell for cell in marked()["interview score"].astype(str) if cell in text}


def numbers_of_rows(value, found=None):
    """Every list of JSON that has as many entries as there are test or training rows, and rows."""
    found = [] if found is None else found
    if isinstance(value, dict):
        found += [value["row"]] if "row" in value else []
        for each in value.values():
            numbers_of_rows(each, found)
    elif isinstance(value, list):
        if len(value) in (24, 216, N):
            found.append(value)
        for each in value:
            numbers_of_rows(each, found)
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_no_cell_and_no_number_of_a_row_is_in_the_text_of_the_page_or_in_the_json(folder, name):
    page, answer = made(folder, name, "--no-rows")
    assert cells_in(page) == set()
    assert cells_in(answer) == set()
    script = re.search(r'id="data">(.*?)</script>', page, re.DOTALL)
    for facts in (answer, *([script[1]] if script else [])):
        assert numbers_of_rows(json.loads(facts)) == []
    assert "This page contains no single person's row." in unescape(page)
    assert 'minimum_budget":[' not in page
    assert not re.search(r"\bQ\d+Z\b", page + answer)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_foot_of_a_page_counts_the_rows_that_it_has(folder, name):
    page, _ = made(folder, name)
    foot = unescape(re.search(r'<p id="contents">(.*?)</p>', page)[1])
    if name == "fairness":
        assert foot == "This page contains no single person's row."
        assert cells_in(page) == set()
        return
    shared = re.fullmatch(
        r"This page contains ([\d,]+) rows? of people\.csv(?: \(1 file\))?: (.*); "
        r"share it as you would share that file\.",
        foot,
    )
    parts = [int(each.replace(",", "")) for each in re.findall(r"([\d,]+) that", shared[2])]
    assert int(shared[1].replace(",", "")) == sum(parts)
    # Cells are those of rows that are counted; examples of a column are three at most.
    assert len(cells_in(page)) <= sum(parts) + 3
    assert cells_in(page)


@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_counted_is_the_same_with_and_without_rows(folder, name):
    _, whole = made(folder, name)
    _, bare = made(folder, name, "--no-rows")
    whole, bare = json.loads(whole), json.loads(bare)
    one = whole["first"] if name == "compare" else whole
    other = bare["first"] if name == "compare" else bare
    assert one["budgets"] == other["budgets"]
    if name == "review plan":
        assert whole["review"]["robust_after"] == bare["review"]["robust_after"]
        assert bare["review"]["n_labels"] == len(whole["review"]["labels"]) > 0


def test_the_page_of_a_plan_without_rows_still_says_what_checks_are_worth(folder):
    page, _ = made(folder, "review plan", "--no-rows")
    assert "Checking <strong>" in page
    assert "The labels to check" not in page
    page, _ = made(folder, "compare", "--no-rows")
    assert "none is shown (--no-rows)" in page
    assert "No row changed" not in page


def test_test_rows_of_another_file_are_counted_as_its_own(folder):
    marked()[:30].to_csv(folder / "new.csv", index=False)
    done = unswayed_here(
        *COMMANDS["certify"], "--test", "new.csv", "--report", "page.html", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    foot = re.search(r'<p id="contents">(.*?)</p>', (folder / "page.html").read_text())[1]
    assert foot.startswith("This page contains 30 rows of new.csv and ")
    assert foot.endswith("; share it as you would share those files.")


def test_a_row_cannot_be_shown_and_not_shown(folder):
    done = unswayed_here(
        *COMMANDS["certify"], "--report", "page.html", "--row", "3", "--no-rows", cwd=folder
    )
    assert done.returncode == 2
    assert "--no-rows" in done.stderr


def test_the_table_that_was_asked_for_still_has_its_rows(folder):
    done = unswayed_here(*COMMANDS["certify"], "--no-rows", "--out", "rows.csv", cwd=folder)
    assert done.returncode == 0
    assert len(pd.read_csv(folder / "rows.csv")) == 24
