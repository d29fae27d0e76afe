"""The page of a comparison in a real browser."""

import pandas as pd
import pytest

from tests.commands import CLASSES, people, unswayed_here

NASTY = "<img src=x onerror=window.pwned=1>"


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """A folder with compare.html and the table out.csv it must agree with."""
    folder = tmp_path_factory.mktemp("compare")
    frame = people(400)
    frame["city"] = frame["city"].replace("Aachen", NASTY).replace("Bergen", "B" * 50)
    frame.to_csv(folder / "people.csv", index=False)
    done = unswayed_here(
        *("compare", "people.csv", *CLASSES, "--holdout", "30%", "--groups", "gender,city"),
        *("--budget", "2%", "--budget", "9", "--against", "--alpha 900", "--out", "out.csv"),
        *("--report", "compare.html"),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_fits_its_window(compared, visit, width, scheme):
    page = visit(compared / "compare.html", width=width, scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_page_agrees_with_the_table_and_runs_nothing(compared, visit):
    table = pd.read_csv(compared / "out.csv")
    page = visit(compared / "compare.html")
    assert page.evaluate("window.pwned") is None
    assert page.locator("img").count() == 0
    assert NASTY in page.locator("main").inner_text()
    for at, side in enumerate(("first", "second")):
        rate = f"{100 * (table[f'verdict_{side}'] == 'robust').mean():.1f} %"
        assert page.locator(".figure").nth(at).inner_text() == rate
    changed = page.locator("#answer .headline strong").first.inner_text()
    assert int(changed) == table["prediction_changed"].sum()


def test_no_table_scrolls_sideways_on_a_phone(compared, visit):
    page = visit(compared / "compare.html", width=390)
    wide = "[...document.querySelectorAll('.scroll')].filter((e) => e.scrollWidth > e.clientWidth)"
    assert page.evaluate(f"{wide}.length") == 0


@pytest.mark.parametrize("width", [390, 1280])
def test_the_legend_is_one_line(compared, visit, width):
    legend = visit(compared / "compare.html", width=width).locator(".legend")
    assert legend.inner_text().split() == ["first", "second"]
    assert legend.bounding_box()["height"] < 40
