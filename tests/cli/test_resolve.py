"""``--resolve exact``: files on which doubles prove nothing, and what is said of them."""

import json
import re

import pytest

from tests.commands import unswayed_here

NEARLY_COLLINEAR = """\
a,b,y
1,1.0000000001,0
2,2.0000000003,1
3,3.0000000002,0
4,4.0000000001,1
5,5.0000000005,1
6,6.0000000001,0
7,7.0000000004,1
8,8.0000000001,1
"""
ASKED = ("hard.csv", "--label", "y", "--alpha", "0")
HELD_OUT = ("--holdout", "3", "--budget", "1")


@pytest.fixture
def hard(tmp_path):
    (tmp_path / "hard.csv").write_text(NEARLY_COLLINEAR)
    return tmp_path


def test_undecided_rows_are_counted_and_the_way_out_is_named(hard):
    done = unswayed_here("certify", *ASKED, *HELD_OUT, "--out", "o.csv", cwd=hard)
    assert done.returncode == 0
    assert "undecided at 1: 3 rows; --resolve exact settles them" in done.stdout
    assert "too close to singular" in done.stderr
    assert "pass --resolve exact to settle them" in done.stderr
    assert "resolve=" not in done.stderr
    assert (hard / "o.csv").read_text().count('"undecided",nan') == 3


def test_where_rounding_hides_every_movement_the_page_says_so(hard):
    (hard / "hard.csv").write_text(
        NEARLY_COLLINEAR.replace(",1\n", ",1.5\n") + "9,9.0000000002,4\n"
    )
    asked = (*ASKED, *HELD_OUT, "--shift", "1", "--report", "r.html")
    done = unswayed_here("certify", *asked, cwd=hard)
    assert done.returncode == 0, done.stderr
    page = (hard / "r.html").read_text()
    assert "within <strong>unknown</strong>" in page
    assert "Rounding errors hide how far predictions can move" in page
    done = unswayed_here("certify", *asked, "--resolve", "exact", cwd=hard)
    assert done.returncode == 0, done.stderr
    assert "unknown" not in (hard / "r.html").read_text().split("<script")[0]


def test_a_report_of_undecided_rows_says_that_nothing_is_known(hard):
    done = unswayed_here("certify", *ASKED, *HELD_OUT, "--report", "r.html", cwd=hard)
    assert done.returncode == 0, done.stderr
    page = (hard / "r.html").read_text()
    assert '"minimum_budget":[0,0,0]' in page
    assert "unknown" in page
    assert "for 3 of these rows rounding hides how many labels it takes" in page
    assert "No prediction can be overturned" not in page


def test_resolved_rows_are_decided_and_the_checker_agrees(hard):
    done = unswayed_here(
        "certify", *ASKED, *HELD_OUT, "--resolve", "exact", "--certificates", "c.json", "--json",
        cwd=hard,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["undecided"] == 0
    assert "singular" not in done.stderr
    done = unswayed_here("verify", "c.json", "--train", "hard.csv", cwd=hard)
    assert done.returncode == 0, done.stdout
    assert "3 claims proven, 0 rejected, 0 without a verdict" in done.stdout


def test_a_witness_that_rounding_hides_is_not_called_impossible(hard):
    asked = ("witness", *ASKED, "--holdout", "3", "--row", "3")
    done = unswayed_here(*asked, cwd=hard)
    assert done.returncode == 2
    assert "hidden by rounding; pass --resolve exact" in done.stderr
    done = unswayed_here(*asked, "--resolve", "exact", "--json", cwd=hard)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["overturned"]


def test_coefficients_that_nothing_is_known_of_are_undecided(hard):
    done = unswayed_here("coefficients", *ASKED, cwd=hard)
    assert "0 of 2 coefficients" in done.stdout
    assert "2 undecided" in done.stdout
    row = r"^(\w) .* unknown +unknown +undecided +unknown$"
    assert re.findall(row, done.stdout, re.MULTILINE) == ["b", "a"]
    done = unswayed_here("coefficients", *ASKED, "--resolve", "exact", cwd=hard)
    assert "0 of 2 coefficients keep their sign" in done.stdout  # one label moves both across 0
    assert done.stdout.count("can be lost") == 2
    assert "undecided" not in done.stdout
    assert "unknown" not in done.stdout


def test_another_way_to_resolve_is_refused(hard):
    done = unswayed_here("certify", *ASKED, "--resolve", "guess", cwd=hard)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
