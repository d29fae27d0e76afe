"""The page is a function of a dict, and nothing in the dict can get out of its place."""

import base64
import hashlib
import json
import re

import numpy as np
import pytest

from tests.commands import people, unswayed_here
from unswayed.report.page import suspects
from unswayed.report.render import render
from unswayed.results.rows import Witness
from unswayed.study.facts import report_facts, row_facts, shown_rows
from unswayed.study.opening import open_study
from unswayed.study.request import Request, Shift


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "people.csv"
    people().to_csv(path, index=False)
    request = Request(train=path, label="hired", ignore=("salary",), groups=("gender",))
    study = open_study(request)
    command = "unswayed certify people.csv"
    return report_facts(study, row_facts(study, slider=True), command=command)


@pytest.fixture(scope="module")
def page(facts):
    return render(facts)


def test_the_same_dict_makes_the_same_page(facts, page):
    assert render(json.loads(json.dumps(facts))) == page


def test_the_policy_allows_the_pages_own_scripts_and_nothing_else(page):
    policy = re.search(r'Security-Policy" content="([^"]+)"', page)[1].replace("&#39;", "'")
    scripts = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    hashes = [
        f"'sha256-{base64.b64encode(hashlib.sha256(each.encode()).digest()).decode()}'"
        for each in scripts
    ]
    assert f"default-src 'none'; script-src {' '.join(hashes)};" in policy
    assert "unsafe-eval" not in policy


def test_data_between_script_tags_cannot_close_them(facts):
    rows = [row | {"cells": ["</script><!-- &\u2028"] * len(row["cells"])}
            for row in facts["rows"]["rows"]]  # fmt: skip
    page = render(facts | {"rows": facts["rows"] | {"rows": rows}})
    block = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    found = json.loads(block[1])["rows"]["rows"][0]["cells"][0]
    assert found == "</script><!-- &\u2028"
    assert not set(block[1]) & set("<>&\u2028")


def test_the_page_says_what_was_assumed_and_how_to_repeat_it(facts, page):
    assert "unswayed certify people.csv" in page
    assert facts["provenance"]["files"][0]["sha256"] in page
    for sentence in (
        "Robust is not right",
        "Robust is not fair",
        "If more labels are wrong than a budget allows",
    ):
        assert sentence in page


def test_a_small_group_is_marked_and_warned_about(facts, page):
    assert all(each["small"] for each in facts["groups"][0]["groups"])  # 24 test rows
    assert "too small to mean much" in page


def test_rates_on_the_page_come_from_minimum_budgets(facts):
    least = [value if value >= 0 else float("inf") for value in facts["minimum_budget"]]
    for curve in facts["curves"]:
        for budget, rate in zip(curve["budget"], curve["all"], strict=True):
            expected = sum(value > budget for value in least) / len(least)
            assert rate == pytest.approx(expected, abs=1e-5)
    assert facts["kept"] == sum(value > facts["main"] for value in least)


COLUMN = {
    "column": "city <code>",
    "role": "feature",
    "read_as": "category",
    "values": 3,
    "missing": 2,
    "examples": ["Aachen", "Bergen"],
    "not_shown": None,
    "warnings": ["looks like a code"],
}


def test_columns_are_shown_as_they_were_read(facts):
    page = render(facts | {"columns": [COLUMN]})
    assert "How the columns were read" in page
    for said in ("city &lt;code&gt;", "category", "Aachen, Bergen", "looks like a code"):
        assert said in page


def test_intervals_and_chance_are_shown_where_the_facts_have_them(facts):
    budgets = [each | {"interval": [0.1, 0.9]} for each in facts["budgets"]]
    grouping = facts["groups"][0] | {"gap_intervals": [[0.0, 0.4]], "within_chance": [True]}
    page = render(facts | {"budgets": budgets, "groups": [grouping]})
    assert "95 % interval" in page
    block = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    tables = {each["id"]: each for each in json.loads(block[1])["tables"]}
    assert tables["group-0"]["gaps"] == [
        {"labels": facts["main"], "interval": [0.0, 0.4], "within_chance": True}
    ]


def test_alpha_is_explained_where_it_is_named(page):
    assert "Alpha is the penalty on large coefficients" in page


def test_a_column_that_is_filled_in_stands_among_the_assumptions(tmp_path):
    frame = people(120)
    frame.loc[::7, "education"] = None
    frame.to_csv(tmp_path / "people.csv", index=False)
    ask = ("certify", "people.csv", "--label", "hired", "--ignore", "salary")
    unswayed_here(*ask, "--missing", "impute", "--report", "r.html", cwd=tmp_path)
    assert "A missing number is replaced by the median" in (tmp_path / "r.html").read_text()


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "people.csv"
    people(200).to_csv(path, index=False)
    request = Request(
        train=path, label="salary", ignore=("hired",), shift=Shift(-300.0, 300.0), radius=40.0
    )
    study = open_study(request)
    return report_facts(study, row_facts(study, slider=True))


def test_a_page_about_numbers_speaks_of_numbers(numbers):
    page = render(numbers)
    assert "rows that stay within 40 of their prediction" in page  # the chart's axis
    assert "moved too far by" in page
    for words in ("overturned by", "What the model says", "predicted_classes"):
        assert words not in page


def test_radii_are_drawn_where_the_facts_have_them(numbers):
    grid = [
        {"radius": radius, "text": f"{radius:g}", "rates": [rate], "undecided": 0}
        for radius, rate in ((10.0, 0.25), (80.0, 1.0))
    ]
    page = render(numbers | {"radius_grid": grid})
    assert "How far predictions can move" in page
    assert '"domain":[0,80.0]' in page


def test_a_label_that_could_become_two_things_is_said_to(tmp_path):
    people(200).to_csv(tmp_path / "people.csv", index=False)
    request = Request(
        train=tmp_path / "people.csv",
        label="salary",
        ignore=("hired",),
        shift=Shift(-9.0, 9.0),
        radius=1.0,
    )
    study = open_study(request)
    rows, shown = study.certified, shown_rows(study)
    labels = [100.0, 300.0, 100.0]
    witnesses = {
        at: Witness(np.array([7]), np.array([label]), 0.0) for at, label in enumerate(labels)
    }
    (found,) = suspects(rows, shown, witnesses)["rows"]
    assert found["becomes"] == [["100", 2], ["300", 1]]
    assert found["count"] == 3
    facts = report_facts(study, row_facts(study, slider=True))
    page = render(facts | {"suspects": suspects(rows, shown, witnesses)})
    assert ">100 in 2, 300 in 1<" in page


def test_cells_that_differ_are_all_named(facts):
    for row in facts["chosen"]["rows"]:
        own = dict(zip(facts["chosen"]["columns"], row["cells"], strict=True))
        for change in row["changes"]:
            assert all(own[name] != cell for name, cell in change["differs"])
