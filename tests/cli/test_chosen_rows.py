"""Rows that are asked for have a section of their own in the report."""

import re

import pandas as pd

from tests.commands import CLASSES, unswayed_here

ASK = ("certify", "people.csv", *CLASSES, "--holdout", "30%", "--budget", "1%")


def sections(folder):
    return [int(row) for row in re.findall(r'data-row="(\d+)"', (folder / "r.html").read_text())]


def test_rows_asked_for_come_first_whatever_their_robustness(folder):
    assert unswayed_here(*ASK, "--out", "rows.csv", cwd=folder).returncode == 0
    rows = pd.read_csv(folder / "rows.csv").sort_values("minimum_budget", kind="stable")
    most, middle = int(rows["row"].iloc[-1]), int(rows["row"].iloc[40])
    done = unswayed_here(
        *ASK, "--report", "r.html", "--row", most, "--row", middle, "--row", most, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    assert sections(folder) == [most, middle, *rows["row"].head(18)]
    page = (folder / "r.html").read_text()
    assert f"{int(rows['minimum_budget'].iloc[40])} labels" in page.split(f'data-row="{middle}"')[1]


def test_a_row_that_no_labels_overturn_says_so(folder):
    only = ("--only", "education < 9", "--direction", "up")
    assert unswayed_here(*ASK, *only, "--out", "rows.csv", cwd=folder).returncode == 0
    rows = pd.read_csv(folder / "rows.csv")
    never = int(rows.loc[rows["minimum_budget"] == float("inf"), "row"].iloc[0])
    done = unswayed_here(*ASK, *only, "--report", "r.html", "--row", never, cwd=folder)
    assert done.returncode == 0, done.stderr
    section = (folder / "r.html").read_text().split(f'data-row="{never}"')[1].split("</section>")[0]
    section = section.split("data-row=")[0]
    assert "overturned by no number of labels" in section
    assert "<table" not in section


def test_a_row_that_was_not_certified_is_refused(folder):
    assert unswayed_here(*ASK, "--out", "rows.csv", cwd=folder).returncode == 0
    tested = set(pd.read_csv(folder / "rows.csv")["row"])
    other = min(set(range(1, 241)) - tested)
    done = unswayed_here(*ASK, "--report", "r.html", "--row", other, cwd=folder)
    assert done.returncode == 2
    assert f"--row {other} is no test row" in done.stderr
    assert not (folder / "r.html").exists()


def test_a_row_without_a_report_is_refused(folder):
    done = unswayed_here(*ASK, "--row", 3, cwd=folder)
    assert done.returncode == 2
    assert "pass --report" in done.stderr


def test_a_trade_off_without_a_report_is_refused(folder):
    done = unswayed_here(*ASK, "--with-tradeoff", cwd=folder)
    assert done.returncode == 2
    assert "pass --report" in done.stderr
