"""The pages about all rows at once in a real browser."""

import json
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from itertools import pairwise

import pytest

from tests.commands import CLASSES, people, unswayed_here

NASTY = "<img src=x onerror=window.pwned=1>"
PAGES = {
    "together": ("together", "--budget", "2%", "--budget", "4%", "--time-limit", "0"),
    "fairness": (
        *("fairness", "--groups", "gender,city", "--budget", "1%", "--budget", "2%"),
        *("--limit", "0.4", "--time-limit", "0"),
    ),
    "review": ("review", "plan", "--budget", "3%", "--labels", "12", "--per-reviewer", "6"),
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A folder with a page of each command, and the facts that it must agree with."""
    folder = tmp_path_factory.mktemp("all-rows")
    frame = people(300)
    frame["city"] = frame["city"].replace("Aachen", NASTY).replace("Bergen", "B" * 50)
    frame.to_csv(folder / "people.csv", index=False)
    for name, (command, *options) in PAGES.items():
        rest = [options.pop(0)] if command == "review" else []
        done = unswayed_here(
            *(command, *rest, "people.csv", *CLASSES, "--holdout", "30%", *options),
            *("--report", f"{name}.html", "--json"),
            cwd=folder,
        )
        assert done.returncode in (0, 1), done.stderr
        (folder / f"{name}.json").write_text(done.stdout)
    return folder


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", PAGES)
def test_the_page_fits_its_window_and_runs_nothing(pages, visit, name, width, scheme):
    page = visit(pages / f"{name}.html", width=width, scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("window.pwned") is None
    assert page.locator("img").count() == 0
    charts = page.locator(".chart")
    assert charts.count() > 0
    for at in range(charts.count()):
        assert charts.nth(at).locator("svg").count() == 1


def test_counts_are_those_of_the_answer(pages, visit):
    facts = json.loads((pages / "together.json").read_text())["together"]
    page = visit(pages / "together.html")
    lines = page.locator("#count-table tbody tr")
    for at, each in enumerate(facts["budgets"]):
        cells = lines.nth(at).locator("td").all_inner_texts()
        assert [int(cell) for cell in cells[:4]] == [
            each["one_at_a_time"], each["at_most"], each["at_least"], each["replayed"],
        ]  # fmt: skip


def said(found, line):
    """A proven range as the page writes it, in per cent, or a gap in points."""
    unit = "points" if "metric" in line else "%"
    low, high = (Decimal(repr(100 * found[end])) for end in ("low", "high"))
    low, high = (each.quantize(Decimal("1e-9")) for each in (low, high))
    low = low.quantize(Decimal("0.1"), ROUND_FLOOR)
    return f"{low} to {high.quantize(Decimal('0.1'), ROUND_CEILING)} {unit}"


def test_ranges_and_verdicts_are_those_of_the_answer(pages, visit):
    facts = json.loads((pages / "fairness.json").read_text())["fairness"]
    page = visit(pages / "fairness.html")
    text = page.locator("main").inner_text()
    assert NASTY in text
    for column in facts["columns"]:
        for line in (*column["metrics"], *(each for r in column["rates"] for each in r["groups"])):
            assert all(said(each, line) in text for each in line["ranges"])
    lines = page.locator("#limits li").all_inner_texts()
    verdicts = sorted(each["verdict"].capitalize() for each in facts["limits"])
    assert len(lines) == 4
    assert sorted(line.partition(":")[0] for line in lines) == verdicts
    assert all("the limit is at most 40 points" in line for line in lines)


def test_labels_to_check_are_those_of_the_plan(pages, visit):
    facts = json.loads((pages / "review.json").read_text())["review"]
    page = visit(pages / "review.html")
    rows = page.locator("#list tbody tr td:nth-child(2)").all_inner_texts()
    assert [int(row) for row in rows] == [each["row"] for each in facts["labels"]]


def test_the_rows_of_a_file_with_many_columns_are_neither_clipped_nor_broken_in_words(
    tmp_path, visit
):
    frame = people(300)
    for at in range(12):
        frame[f"a_column_with_a_long_name_{at}"] = frame["city"].replace("Aachen", "Massachusetts")
    frame.to_csv(tmp_path / "people.csv", index=False)
    options = (*CLASSES, "--budget", "4", "--time-limit", "0", "--report", "page.html")
    assert unswayed_here("together", "people.csv", *options, cwd=tmp_path).returncode == 0
    for width in (390, 1280):
        page = visit(tmp_path / "page.html", width=width)
        wide = (
            "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth)"
        )
        assert page.evaluate(f"{wide}.length") == 0
        tall = "[...document.querySelectorAll('.feature')].filter(e => e.offsetHeight > 30).length"
        assert page.evaluate(tall) == 0


def test_numbers_of_an_axis_do_not_touch_on_a_phone(tmp_path, visit):
    frame = people(300)
    frame["salary"] /= 20
    frame.to_csv(tmp_path / "people.csv", index=False)
    options = ("--label", "salary", "--ignore", "hired", "--shift", "1%", "--groups", "gender")
    options += ("--time-limit", "0", "--report", "page.html")
    assert unswayed_here("fairness", "people.csv", *options, cwd=tmp_path).returncode == 0
    page = visit(tmp_path / "page.html", width=390)
    boxes = page.evaluate(
        "[...document.querySelectorAll('.chart')].map(chart => "
        "[...chart.querySelectorAll('.role-axis-label text')].filter(t => +getComputedStyle(t)"
        ".opacity > 0 && /^[\\d,.]+$/.test(t.textContent)).map(t => t.getBoundingClientRect())"
        ".map(box => [box.left, box.right]))"
    )
    assert boxes
    for labels in boxes:
        assert len(labels) > 1
        for (_, right), (left, _) in pairwise(sorted(labels)):
            assert left > right + 4
