"""Tables of the report in a real browser: they fit, follow the slider, and can be taken away."""

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest

from tests.commands import CLASSES, people, unswayed_here

TABLES = """() => {
    document.querySelectorAll("details").forEach((each) => { each.open = true; });
    return [...document.querySelectorAll("table")].map((each) => {
        const box = each.getBoundingClientRect(), around = each.closest(".scroll");
        return [each.id, box.right, around ? around.scrollWidth - around.clientWidth : 0];
    }).filter(([, right, hidden]) => right > innerWidth || hidden > 0);
}"""


@pytest.fixture(scope="session")
def crowded(tmp_path_factory):
    """A report of 34 groups with long names, a group of five rows, and thirty columns."""
    rng = np.random.default_rng(1)
    frame = people(1200)
    areas = [f"Public use microdata area number {at} of the northern part" for at in range(34)]
    frame["area"] = rng.choice(areas, len(frame))
    frame["size"] = "many"
    frame.loc[frame.index[::240], "size"] = "five"
    for at in range(22):
        frame[f"a question with a long name, number {at}"] = rng.normal(size=len(frame)).round(3)
    folder = tmp_path_factory.mktemp("crowded")
    frame.to_csv(folder / "people.csv", index=False)
    frame.iloc[::4].to_csv(folder / "new.csv", index=False)
    done = unswayed_here(
        *("certify", "people.csv", *CLASSES, "--test", "new.csv", "--groups", "area,size"),
        *("--report", "report.html", "--out", "out.csv"),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("width", [390, 1280])
def test_no_table_is_wider_than_the_page(report, crowded, visit, width):
    for folder in (report, crowded):
        page = visit(folder / "report.html", width=width)
        assert page.evaluate(TABLES) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_all_groups_are_drawn_and_small_ones_faintly(crowded, visit):
    page = visit(crowded / "report.html")
    names = page.locator("#group-0 tbody th").all_inner_texts()
    assert len(names) == 34
    numbers = [int(name.split("number ")[1].split()[0]) for name in names]
    assert numbers == sorted(numbers)  # as people sort, not as 1, 10, 11, 2
    assert page.locator("#curve-1 .mark-line path").count() == 34 + 1  # and all rows
    few = page.locator("#group-1 tr.faint th").all_inner_texts()
    assert [name.split()[0] for name in few] == ["five"]


def test_lines_differ_by_dashes_also_in_the_legend(crowded, visit):
    page = visit(crowded / "report.html")
    for place in ("#curve-1 .role-legend-symbol path", "#curve-1 .mark-line.role-mark path"):
        dashes = page.locator(place).evaluate_all(
            "(paths) => paths.map((each) => each.getAttribute('stroke-dasharray'))"
        )
        assert len(set(dashes)) >= 8


def test_names_in_legends_stay_distinct(crowded, visit):
    page = visit(crowded / "report.html", width=390)
    names = page.locator("#curve-1 .role-legend-label text").all_text_contents()
    assert len(names) == len(set(names)) == 8
    assert not any(name.endswith("…") for name in names)


def test_the_axis_ends_where_the_curve_does(report, visit):
    page = visit(report / "report.html")
    least = pd.read_csv(report / "out.csv")["minimum_budget"]
    last = least[np.isfinite(least)].quantile(0.995, interpolation="higher")
    assert int(page.locator("#budget").get_attribute("max")) == max(last, 6, 10)


def test_rates_per_prediction_follow_the_slider(report, visit):
    page = visit(report / "report.html")
    table = pd.read_csv(report / "out.csv")
    for budget in (5, 0, 21):
        page.locator("#budget").fill(str(budget))
        kept = (table["minimum_budget"] > budget).groupby(table["prediction"]).sum()
        cells = page.locator("#predicted [data-cell=kept]").all_inner_texts()
        assert [int(cell) for cell in cells] == kept.tolist()
    counts = page.locator("#confusion td").all_inner_texts()
    expected = pd.crosstab(table["label"], table["prediction"]).to_numpy().ravel()
    assert [int(count) for count in counts] == expected.tolist()


def test_a_row_unfolds_to_its_cells_and_its_witness(report, visit):
    page = visit(report / "report.html")
    button = page.locator("#rows .fold").nth(2)
    row = button.inner_text()
    assert button.get_attribute("aria-expanded") == "false"
    button.click()
    full = page.locator(f"#row-{row}")
    assert full.is_visible()
    done = unswayed_here(
        *("witness", "people.csv", *CLASSES, "--holdout", "30%", "--row", row, "--json"),
        cwd=report,
    )
    changes = json.loads(done.stdout)["changes"]
    shown = full.locator("tbody tr").evaluate_all(
        "(rows) => rows.map((row) => [...row.cells].slice(0, 3).map((cell) => cell.textContent))"
    )
    assert shown == [
        [str(change["row"]), change["label"], change["new label"]] for change in changes
    ]
    people_csv = pd.read_csv(report / "people.csv")
    own = people_csv.iloc[int(row) - 1]
    assert f"city {own['city']}" in full.locator(".own").inner_text()
    page.locator("#rows .fold").nth(2).click()
    assert full.count() == 0


def test_rows_that_the_page_has_less_of_unfold_too_and_stay_so_when_sorted(report, visit):
    page = visit(report / "report.html")
    page.locator("#rows th[data-key=least] button").click()
    button = page.locator("#rows .fold").first
    row = button.inner_text()
    button.click()
    assert "Labels that overturn it" in page.locator(f"#row-{row}").inner_text()
    page.locator("#rows th[data-key=row] button").click()
    page.locator("#search").fill(row)
    assert page.locator(f"#row-{row}").is_visible()


def test_an_address_with_a_row_unfolds_it(report, visit):
    page = visit(report / "report.html")
    last = page.locator(".chosen").last.get_attribute("data-row")
    assert page.locator(f"#row-{last}").count() == 0
    page.evaluate("(id) => { location.hash = id; }", f"row-{last}")
    page.wait_for_timeout(100)
    assert page.locator(f"#row-{last}").is_visible()


def downloaded(page):
    with page.expect_download() as waiting:
        page.locator("#download").click()
    text = waiting.value.path().read_bytes().decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_the_download_holds_the_rows_of_the_table(report, visit):
    table = pd.read_csv(report / "out.csv").set_index("row")
    page = visit(report / "report.html")
    rows = downloaded(page)
    assert len(rows) == len(table)
    for row in rows:
        known = table.loc[int(row["row"])]
        assert row["prediction"] == known["prediction"]
        assert float(row["minimum_budget"]) == known["minimum_budget"]
        assert row["city"] == known["group_city"]
    page.locator("#search").fill("bergen")
    assert {row["city"] for row in downloaded(page)} == {"Bergen"}


def test_the_download_runs_no_formula(tmp_path, visit):
    frame = people(120).rename(columns={"city": "=1+1", "gender": "a,b"})
    frame["=1+1"] = frame["=1+1"].map(
        {"Aachen": '=HYPERLINK("http://x")', "Bergen": "-1", "Córdoba": "＋cmd\n"}
    )
    frame.to_csv(tmp_path / "people.csv", index=False)
    done = unswayed_here(
        *("certify", "people.csv", *CLASSES, "--holdout", "40%", "--report", "report.html"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    rows = downloaded(visit(tmp_path / "report.html"))
    assert {row["'=1+1"] for row in rows} == {'\'=HYPERLINK("http://x")', "-1", "'＋cmd\n"}
    assert {row["a,b"] for row in rows} == {"female", "male"}


def test_intervals_on_the_page_are_those_of_the_command_line(report, visit):
    done = unswayed_here(
        *("certify", "people.csv", *CLASSES, "--holdout", "30%", "--budget", "2%", "--json"),
        *("--groups", "gender,city"),
        cwd=report,
    )
    facts = json.loads(done.stdout)
    page = visit(report / "report.html")
    tables = {"predicted": facts["predicted_classes"]}
    tables |= {f"group-{at}": each["groups"] for at, each in enumerate(facts["groups"])}
    for name, groups in tables.items():
        shown = page.locator(f"#{name} [data-cell=interval]").all_inner_texts()
        ends = [[100 * end for end in each["intervals"][0]] for each in groups]
        assert [[float(end) for end in text.split(" to ")] for text in shown] == [
            pytest.approx(pair, abs=0.051) for pair in ends
        ]
    for at, grouping in enumerate(facts["groups"]):
        said = page.locator(f"[data-gap-chance='{at}']").inner_text()
        assert ("within chance" in said) == grouping["within_chance"][0]
