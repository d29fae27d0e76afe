"""The slider of budgets that are no plain numbers of labels, in a real browser."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from unswayed import CertifiedClassifier, CertifiedRegressor, LabelBias, Sampled, Total

RNG = np.random.default_rng(7)
X, TESTS = RNG.normal(size=(80, 3)), RNG.normal(size=(40, 3))
NUMBERS = X @ [1.0, -0.5, 0.25] + RNG.normal(size=80)
SURE = "95 % confidence that no more are"


def text(page, selector):
    return page.locator(selector).first.inner_text()


@pytest.fixture(scope="module")
def total(tmp_path_factory):
    """Certificates under a total, and their page."""
    bias, path = LabelBias.shifts(1.0, budget=Total(2.125)), tmp_path_factory.mktemp("total")
    model = CertifiedRegressor(Ridge(), bias=bias, radius=0.1).fit(X, NUMBERS)
    certs = model.certify(TESTS)
    certs.report(path / "page.html")
    return certs, path / "page.html"


def expect(page, certs, budget, shown):
    kept = int((certs.minimum_budget > budget).sum())
    assert text(page, ".headline [data-live=kept]") == str(kept)
    assert text(page, ".headline [data-live=labels]") == shown


def test_a_total_is_not_rounded_to_a_whole_number(total, visit):
    certs, path = total
    page = visit(path)
    expect(page, certs, 2.125, "2.125")
    for budget in ("0.8125", "0", "1.5", "12345.75"):
        page.locator("#budget-number").fill(budget)
        expect(page, certs, float(budget), f"{float(budget):,}".removesuffix(".0"))
    page.locator("#budget-number").fill("-3")
    expect(page, certs, 0.0, "0")
    page.locator(".chips button").first.click()
    expect(page, certs, 2.125, "2.125")


def test_the_slider_of_a_total_stops_at_short_numbers(total, visit):
    certs, path = total
    page = visit(path)
    page.locator("#budget").focus()
    page.keyboard.press("ArrowRight")
    chosen = text(page, ".headline [data-live=labels]")
    assert chosen != "2.125"
    assert len(chosen.replace(".", "").lstrip("0")) <= 3
    expect(page, certs, float(chosen), chosen)
    assert page.locator("#budget").get_attribute("aria-valuetext") == (
        f"labels are off by up to {chosen} in all"
    )


def test_the_table_of_a_total_has_its_unit_in_its_head(total, visit):
    certs, path = total
    page = visit(path)
    heads = page.locator("#rows thead th").all_inner_texts()
    assert any("moved too far by a total change of" in head for head in heads)
    first = float(page.locator("#rows tbody tr").first.locator("td").nth(2).inner_text())
    assert certs.minimum_budget.min() <= first <= certs.minimum_budget.min() * (1 + 1e-5)


def test_a_sample_says_how_sure_it_is_where_its_budget_is_chosen_and_nowhere_else(visit, tmp_path):
    bias = LabelBias.flips(budget=Sampled(checked=40, wrong=1, confidence=0.95))
    model = CertifiedClassifier(Ridge(), bias=bias).fit(X, NUMBERS > 0)
    certs = model.certify(TESTS)
    certs.report(tmp_path / "page.html")
    page = visit(tmp_path / "page.html")
    headline, together = ".headline", "[data-live=together]"
    assert text(page, headline).count(SURE) == text(page, together).count(SURE) == 1
    page.locator("#budget").fill(str(int(certs.budget) + 2))
    assert text(page, headline).count(SURE) == text(page, together).count(SURE) == 0
    page.locator(".chips button").first.click()
    assert text(page, headline).count(SURE) == text(page, together).count(SURE) == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_clusters_are_counted_on_a_phone_too(visit, tmp_path, scheme):
    bias = LabelBias.flips(budget=1, clusters=np.arange(80) // 8)
    model = CertifiedClassifier(Ridge(), bias=bias).fit(X, NUMBERS > 0)
    certs = model.certify(TESTS)
    certs.report(tmp_path / "page.html")
    page = visit(tmp_path / "page.html", width=390, scheme=scheme)
    for budget in (1, 2, 3):
        page.locator("#budget").fill(str(budget))
        expect(page, certs, budget, str(budget))
        wrong = "cluster of labels is wrong" if budget == 1 else "clusters of labels are wrong"
        assert f"up to {budget} {wrong}:" in text(page, ".headline")
        assert text(page, "[data-live=together]").startswith(
            ("no such set of wrong labels changes more", "it is not ruled out that one such set")
        )
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
