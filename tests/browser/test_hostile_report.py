"""A file full of markup, quotes, emoji, right-to-left and endless texts is shown, never run."""

import json

import numpy as np
import pandas as pd
import pytest

from tests.commands import unswayed_here

SCRIPT = "<script>window.pwned = 1; alert(1)</script>"
IMAGE = "<img src=https://example.org/x.png onerror='window.pwned = 1'>"
CLOSING = "</script><script>window.pwned = 1</script>\"'`{{ 7*7 }}{% raw %}"
LABEL = f"decision {SCRIPT}"


@pytest.fixture(scope="session")
def hostile(tmp_path_factory):
    rng = np.random.default_rng(0)
    n = 150
    frame = pd.DataFrame(
        {
            f"group {CLOSING}": rng.choice(["<b>bold</b>", "שלום עולם", "🦉\u2028\u202e"], n),
            f"{IMAGE}": rng.choice(["x" * 10_000, CLOSING, IMAGE, "a,b"], n),
            "y" * 10_000: rng.normal(size=n),
            "=1+1": rng.normal(size=n),
        }
    )
    frame[LABEL] = np.where(frame["=1+1"] + rng.normal(size=n) > 0, SCRIPT, "مرحبا & 'no'")
    folder = tmp_path_factory.mktemp("hostile")
    frame.to_csv(folder / "<b>hostile & odd.csv", index=False)
    group = '"' + f"group {CLOSING}".replace('"', '""') + '"'
    done = unswayed_here(
        *("certify", "<b>hostile & odd.csv", "--label", LABEL, "--groups", group),
        *("--holdout", "40%", "--report", "report.html", "--out", "out.json"),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_hostile_text_is_shown_as_text(hostile, visit):
    page = visit(hostile / "report.html", width=390)
    assert page.evaluate("window.pwned") is None
    assert page.locator("img").count() == 0
    assert page.locator("main b", has_text="bold").count() == 0
    assert SCRIPT in page.locator(".asked").inner_text()
    assert "<b>bold</b>" in page.locator("#group-0").inner_text()
    assert "שלום עולם" in page.locator("#group-0").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_hostile_report_stays_within_its_size(hostile):
    rows = len(json.loads((hostile / "out.json").read_text()))
    assert (hostile / "report.html").stat().st_size < 2_000_000 + 1_000 * rows
