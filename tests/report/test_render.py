"""The page is a function of a dict, and nothing in the dict can get out of its place."""

import base64
import hashlib
import json
import re

import pytest

from tests.commands import people
from unswayed.audit.findings import findings_of
from unswayed.audit.opening import open_study
from unswayed.audit.request import Request
from unswayed.report.render import render
from unswayed.report.summarise import summarise


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "people.csv"
    people().to_csv(path, index=False)
    request = Request(train=path, label="hired", ignore=("salary",), groups=("gender",))
    return summarise(findings_of(open_study(request), command="unswayed certify people.csv"))


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
    for sentence in ("Robust is not right", "Robust is not fair", "certifies nothing"):
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
