"""The page of numbers for which nobody said how far is too far, against the exported table."""

import numpy as np
import pandas as pd
import pytest

from tests.commands import NUMBERS, people, unswayed_here


@pytest.fixture(scope="module")
def page_and_table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("movement")
    people(300).to_csv(folder / "people.csv", index=False)
    done = unswayed_here(
        *("certify", "people.csv", *NUMBERS, "--shift", "5%", "--holdout", "30%"),
        *("--budget", "2%", "--budget", "9", "--groups", "city", "--out", "out.csv"),
        *("--report", "report.html"),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return folder / "report.html", pd.read_csv(folder / "out.csv")


def test_charts_are_drawn_and_no_dial_is_left_over(page_and_table, visit):
    path, _ = page_and_table
    page = visit(path)
    assert page.locator("#radii svg path").count() > 0
    assert page.locator("#coefficients svg path").count() > 0
    assert page.locator("#budget, .dial, #curve-0").count() == 0
    assert page.locator("#radii .mark-symbol.role-legend-symbol").count() == 2  # budgets


def test_rows_come_by_how_far_they_can_move(page_and_table, visit):
    path, table = page_and_table
    page = visit(path)
    moved = np.maximum(table["high"] - table["score"], table["score"] - table["low"])
    order = table["row"][np.argsort(-moved, kind="stable")].tolist()
    numbers = page.locator("#rows tbody tr td:first-child").all_inner_texts()
    assert [int(number) for number in numbers] == order[:10]
    page.locator("#rows th[data-key=low] button").click()
    first = page.locator("#rows tbody tr").first.locator("td").nth(2).inner_text()
    assert float(first.replace(",", "")) == pytest.approx(table["low"].min(), rel=1e-5)


def test_the_download_has_the_ranges(page_and_table, visit):
    path, table = page_and_table
    page = visit(path)
    with page.expect_download() as download:
        page.locator("#download").click()
    found = pd.read_csv(download.value.path(), encoding="utf-8-sig").set_index("row").sort_index()
    table = table.set_index("row").sort_index()
    np.testing.assert_allclose(found["high"], table["high"], rtol=1e-5)


@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_does_not_scroll_sideways(page_and_table, visit, width):
    page = visit(page_and_table[0], width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
