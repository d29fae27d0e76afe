"""Every kind of page, at a desk and on a phone, light and dark: nothing is cut off."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_wine

from tests.commands import CLASSES, NUMBERS, people, unswayed_here

WINES = np.array(["Barolo", "Grignolino", "Barbera"])
HIRED = ("people.csv", *CLASSES, "--holdout", "30%")
PAID = ("people.csv", *NUMBERS, "--holdout", "30%", "--shift", "5%")
QUICK = ("--time-limit", "0")
TWO = ("--budget", "3%", "--budget", "1%")
PARTS = "gender == 'female': 4% up; gender == 'male': 2"
PAGES = {
    "classes": ("certify", *HIRED, *TWO, "--groups", "gender,city", "--with-tradeoff"),
    "wide": ("certify", "cancer.csv", "--label", "target", *TWO),
    "several": ("certify", "wine.csv", "--label", "cultivar", *TWO),
    "logistic": ("certify", *HIRED, "--model", "logistic", "--C", "0.01", "--groups", "gender"),
    "numbers": ("certify", *PAID, *TWO, "--groups", "city"),
    "radius": ("certify", *PAID, *TWO, "--radius", "300", "--groups", "city"),
    "parts": ("certify", *HIRED, "--bias", PARTS, "--groups", "gender"),
    "cost": ("certify", *HIRED, "--cost", "education", "--budget", "20"),
    "sample": ("certify", *HIRED, "--sampled", "1/60"),
    "together": ("together", *HIRED, *TWO, *QUICK),
    "together-parts": ("together", *HIRED, "--bias", PARTS, *QUICK),
    "fairness": ("fairness", *HIRED, *TWO, "--groups", "gender,city", "--limit", "0.3", *QUICK),
    "fairness-parts": ("fairness", *HIRED, "--bias", PARTS, "--groups", "gender", *QUICK),
    "means": ("fairness", *PAID, *TWO, "--groups", "city", *QUICK),
    "review": ("review", "plan", *HIRED, "--budget", "3%", "--labels", "12", "--error-rate", "5%"),
    "compare": ("compare", *HIRED, *TWO, "--groups", "gender", "--against", "--alpha 900"),
    "tradeoff": ("tradeoff", *HIRED, *TWO),
    "audit": ("audit", "status", "audit.json"),
}
UNFOLD = """() => {
    document.querySelectorAll("details").forEach((each) => { each.open = true; });
    document.querySelector("#rows .fold")?.click();
}"""
# Of every text that can be seen: its size, its boxes, and whether a table breaks a short word.
FAULTS = r"""() => {
    const faults = [], boxes = [];
    const seen = (element) => {
        return element.checkVisibility({ visibilityProperty: true, opacityProperty: true })
            && !element.closest(".visually-hidden, .skip, select");
    };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const node = walker.currentNode, parent = node.parentElement, text = node.textContent;
        const hidden = innerWidth < 640 && parent.closest(".cards thead");
        if (!text.trim() || !seen(parent) || hidden) continue;
        const range = document.createRange();
        range.selectNodeContents(node);
        const own = [...range.getClientRects()].filter((box) => box.width > 1 && box.height > 1);
        if (!own.length) continue;
        const name = text.trim().slice(0, 40);
        if (parseFloat(getComputedStyle(parent).fontSize) < 11) faults.push("small text: " + name);
        for (const box of own) {
            if (box.right > innerWidth + 1 || box.left < -1) faults.push("outside: " + name);
            boxes.push([box, name, node]);
        }
        if (!parent.closest("th, td")) continue;
        for (const word of text.matchAll(/[A-Za-z]{2,13}/g)) {
            range.setStart(node, word.index);
            range.setEnd(node, word.index + word[0].length);
            const lines = [...range.getClientRects()].map((box) => Math.round(box.top));
            if (new Set(lines).size > 1) faults.push("broken: " + word[0]);
        }
    }
    boxes.sort((one, other) => one[0].top - other[0].top);
    boxes.forEach(([box, name, node], at) => {
        for (const [other, its, theirs] of boxes.slice(at + 1)) {
            if (other.top >= box.bottom - 5) break;
            const wide = Math.min(box.right, other.right) - Math.max(box.left, other.left);
            if (theirs !== node && wide > 2) faults.push("overlap: " + name + " / " + its);
        }
    });
    for (const code of document.querySelectorAll("pre, code")) {
        const inline = getComputedStyle(code).display === "inline";
        const cut = !inline && code.scrollWidth > code.clientWidth + 1;
        if (cut) faults.push("cut off: " + code.textContent.slice(0, 40));
    }
    if (document.documentElement.scrollWidth > innerWidth) faults.push("scrolls sideways");
    return faults;
}"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the files that pages are made of."""
    made = tmp_path_factory.mktemp("pages")
    people(300).to_csv(made / "people.csv", index=False)
    cancer, wine = load_breast_cancer(as_frame=True).frame, load_wine(as_frame=True).frame
    cancer["target"] = np.where(cancer["target"] == 1, "benign", "malignant")
    cancer.to_csv(made / "cancer.csv", index=False)
    wine.assign(cultivar=WINES[wine.pop("target")]).to_csv(made / "wine.csv", index=False)
    return made


def run(folder, *words):
    done = unswayed_here(*words, cwd=folder)
    assert done.returncode in (0, 1), done.stderr


@pytest.fixture(scope="module")
def page_of(folder):
    """From a kind of page to its file, which is made once."""

    def made(name):
        path = folder / f"{name}.html"
        if path.exists():
            return path
        if name == "audit":
            run(folder, "audit", "start", "people.csv", *CLASSES, "--alpha", "1")
            run(folder, "audit", "draw", "audit.json", "--checks", "30", "--out", "to-check.csv")
            lines = pd.read_csv(folder / "to-check.csv", dtype=str)
            lines.assign(checked_label=lines["label"]).to_csv(folder / "to-check.csv", index=False)
            run(folder, "audit", "record", "audit.json", "to-check.csv")
        run(folder, *PAGES[name], "--chart" if name == "tradeoff" else "--report", path.name)
        return path

    return made


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_cut_off_small_broken_or_overlaps(page_of, visit, name, width, scheme):
    page = visit(page_of(name), width=width, scheme=scheme)
    assert page.evaluate(FAULTS) == []
    page.evaluate(UNFOLD)
    assert page.evaluate(FAULTS) == []


def test_a_page_of_thirty_features_is_not_long_before_anything_is_unfolded(page_of, visit):
    page = visit(page_of("wide"))
    assert page.evaluate("document.documentElement.scrollHeight") <= 5_000


@pytest.mark.parametrize("name", ["parts", "together-parts", "fairness-parts"])
def test_a_budget_of_parts_says_that_each_part_has_a_limit(page_of, name):
    assert "each part within its limit" in page_of(name).read_text("utf-8")


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("classes", ".chips button"),
        ("numbers", "#movement tbody th"),
        ("together", "#count-table tbody th"),
        ("fairness", ".ranges thead th"),
        ("compare", ".wide tbody th"),
        ("tradeoff", "thead th"),
    ],
)
def test_budgets_ascend_in_whatever_order_they_were_given(page_of, visit, name, place):
    heads = visit(page_of(name)).locator(place).all_text_contents()
    shares = [head for head in heads if "%" in head]
    assert [share for share in ("1%", "3%") for head in shares[:2] if share in head] == ["1%", "3%"]
    assert "1%" in shares[0]


def test_every_part_of_a_page_can_be_jumped_to(page_of, visit):
    page = visit(page_of("classes"))
    places = page.locator(".jump a").evaluate_all("(all) => all.map((each) => each.hash)")
    assert len(places) == len(page.locator("main h2:visible").all())
    assert all(page.locator(place).is_visible() for place in places)


def test_the_axis_of_a_review_starts_at_none_and_its_list_is_numbered(page_of, visit):
    page = visit(page_of("review"))
    labels = page.locator("#review .role-axis-label text").all_text_contents()
    assert "0" in labels
    assert "90" in labels or "80" in labels
    order = page.locator("#list td.order").all_text_contents()
    assert order == [str(at) for at in range(1, 13)]


def test_the_list_of_a_review_can_be_downloaded_filled_in_and_applied(page_of, visit, folder):
    page = visit(page_of("review"))
    with page.expect_download() as waiting:
        page.locator("#download").click()
    waiting.value.save_as(folder / "list.csv")
    lines = pd.read_csv(folder / "list.csv", dtype=str, encoding="utf-8-sig")
    assert lines["order"].tolist() == [str(at) for at in range(1, 13)]
    lines.assign(checked_label=lines["label"]).to_csv(folder / "list.csv", index=False)
    done = unswayed_here("review", "apply", "people.csv", "list.csv", *HIRED[1:], cwd=folder)
    assert done.returncode == 0, done.stderr
