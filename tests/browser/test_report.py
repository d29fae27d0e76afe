"""The report in a real browser, against the exported table."""

from decimal import ROUND_HALF_UP, Decimal
from importlib.resources import files

import pandas as pd
import pytest

from unswayed import words


@pytest.fixture
def table(report):
    return pd.read_csv(report / "out.csv")


def points(share):
    return str(Decimal(100 * share).quantize(Decimal("0.1"), ROUND_HALF_UP))


def percent(rate):
    return f"{points(rate)} %"


def text(page, selector):
    return page.locator(selector).first.inner_text()


def expect_rates(page, table, budget):
    """Every number that depends on the budget, computed from the exported table."""
    kept = table["minimum_budget"] > budget
    assert text(page, ".headline [data-live=kept]") == str(kept.sum())
    assert text(page, ".headline [data-live=rate]") == percent(kept.mean())
    assert text(page, ".headline [data-live=labels]") == str(budget)
    for at, column in enumerate(("gender", "city")):
        rates = kept.groupby(table[f"group_{column}"]).mean()
        cells = page.locator(f"#group-{at} [data-cell=rate]").all_inner_texts()
        assert cells == [percent(rate) for rate in rates]
        gap = f"{points(rates.max() - rates.min())} points"
        assert text(page, f"[data-gap='{at}']") == gap


def test_every_chart_is_drawn(report, visit):
    page = visit(report / "report.html")
    for chart in ("#curve-0", "#curve-1", "#coefficients"):
        assert page.locator(f"{chart} svg path").count() > 0


def test_the_slider_changes_the_numbers_to_those_of_the_exported_table(report, visit, table):
    page = visit(report / "report.html")
    expect_rates(page, table, 5)  # 2 % of 280
    top = int(page.locator("#budget").get_attribute("max"))
    for budget in (0, 1, 17, top):
        page.locator("#budget").fill(str(budget))
        expect_rates(page, table, budget)


def test_the_slider_moves_the_line_in_the_chart(report, visit):
    page = visit(report / "report.html")
    rule = page.locator("#curve-0 .mark-rule.role-mark line")
    before = rule.get_attribute("transform")
    page.locator("#budget").fill("30")
    page.wait_for_timeout(100)
    assert rule.get_attribute("transform") != before


def test_the_keyboard_and_the_number_box_move_the_budget_too(report, visit, table):
    page = visit(report / "report.html")
    page.locator("#budget").focus()
    page.keyboard.press("ArrowRight")
    expect_rates(page, table, 6)
    page.locator("#budget-number").fill("40")
    expect_rates(page, table, 40)
    page.locator("[data-budget='5']").first.press("Enter")
    expect_rates(page, table, 5)


def column(page, at):
    return page.locator(f"#rows tbody tr td:nth-child({at})").all_inner_texts()


def test_sorting_orders_the_rows_both_ways(report, visit, table):
    page = visit(report / "report.html")
    least = table["minimum_budget"].sort_values().head(10)
    shown = [int(cell.split()[0]) for cell in column(page, 3)]
    assert shown == least.astype(int).tolist()
    head = page.locator("#rows th[data-key=score]")
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    scores = [float(cell) for cell in column(page, 5)]
    assert scores == pytest.approx(table["score"].sort_values().head(10).tolist(), rel=1e-5)
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert float(column(page, 5)[0]) == pytest.approx(table["score"].max(), rel=1e-5)


def test_searching_keeps_the_rows_that_match(report, visit, table):
    page = visit(report / "report.html")
    page.locator("#search").fill("bergen female")
    expected = ((table["group_city"] == "Bergen") & (table["group_gender"] == "female")).sum()
    assert page.locator("#found").inner_text() == f"{expected} rows found"
    page.locator("#search").fill("no such thing")
    assert page.locator("#rows tbody tr").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_fits_its_window(report, visit, width, scheme):
    page = visit(report / "report.html", width=width, scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_everything_that_can_be_used_has_a_name_for_screen_readers(report, visit):
    page = visit(report / "report.html")
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll("input, button, [role=img], [role=region]")].filter(
            (e) => !(e.getAttribute("aria-label") || e.textContent.trim() || e.labels?.length)
        ).map((e) => e.outerHTML)"""
    )
    assert unnamed == []
    assert page.locator("html").get_attribute("lang") == "en"


def test_the_script_rounds_shares_as_the_terminal_does(browser):
    """Down, to nearest and up; all rows are 100.0 %, and none are 0.0 %."""
    source = files("unswayed.report").joinpath("templates/report.js").read_text("utf-8")
    code = source[source.index("const hundredths") : source.index("const said")]
    sizes = [3, 7, 120, 2_500, 40_001]
    rates = [k / n for n in sizes for k in (0, 1, n // 3, n // 2, n - 1, n)]
    page = browser.new_page()
    ask = "return rates.map((rate) => [-1, 0, 1].map((way) => percent(rate, way)));"
    found = page.evaluate(f"(rates) => {{ {code} {ask} }}", rates)
    page.close()
    assert found == [[words.percent(rate, way) for way in (-1, 0, 1)] for rate in rates]
