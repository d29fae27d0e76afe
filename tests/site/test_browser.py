"""The built site in a browser: no code is cut off, no page is too long, nothing is too small.

``make docs`` builds the site and says where it is; without it there is nothing to test.
"""

import os
from pathlib import Path

import pytest

from tests.browser.conftest import browser  # noqa: F401

SITE = Path(os.environ.get("UNSWAYED_SITE", "there is no site")).resolve()
pytestmark = pytest.mark.skipif(not SITE.is_dir(), reason="make docs builds what is tested here")

HIGHEST = 6_000  # pixels at a width of 1280
GROWING = ("development/changelog",)  # grows until a release
PAGES = sorted(
    path.relative_to(SITE).as_posix().removesuffix(".html")
    for path in SITE.rglob("*.html")
    if not path.relative_to(SITE).as_posix().startswith(("_", "genindex", "py-modindex", "search"))
)
SOME = [
    *("index", "start/index", "guide/bias", "guide/certificates", "guide/groups", "logistic"),
    *("together", "command-line", "commands/certify", "commands/inspect", "certificates"),
    *("glossary", "reproduction", "api/index", "api/generated/unswayed.CertifiedClassifier"),
]
MEASURED = """() => {
  const small = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode, around = text.parentElement;
    const shown = text.data.trim() && around.getClientRects().length;
    const size = parseFloat(getComputedStyle(around).fontSize);
    if (shown && size < 11) small.push(text.data.trim().slice(0, 40));
  }
  const cut = [...document.querySelectorAll(".bd-article pre")]
    .filter(block => block.scrollWidth > block.clientWidth + 1)
    .map(block => block.innerText.slice(0, 80));
  const page = document.documentElement;
  return {small, cut, height: page.scrollHeight, width: page.scrollWidth};
}"""


@pytest.fixture(scope="module")
def measure(browser):  # noqa: F811
    """Return what a browser of a width finds on a page."""
    contexts = {}

    def measured(page, width, scheme="light"):
        if (width, scheme) not in contexts:
            size = {"width": width, "height": 900}
            contexts[width, scheme] = browser.new_context(
                viewport=size, color_scheme=scheme
            ).new_page()
        tab = contexts[width, scheme]
        tab.goto((SITE / f"{page}.html").as_uri())
        return tab.evaluate(MEASURED)

    yield measured
    for tab in contexts.values():
        tab.context.close()


def test_no_page_is_too_long_and_no_code_is_cut_off_at_1280(measure):
    assert len(PAGES) > 100
    wrong = {}
    for page in PAGES:
        found = measure(page, 1280)
        if found["cut"] or (found["height"] > HIGHEST and page not in GROWING):
            wrong[page] = found["height"], found["cut"]
    assert not wrong


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_pages_fit_screens_and_can_be_read(measure, width, scheme):
    wrong = {}
    for page in SOME:
        found = measure(page, width, scheme)
        if found["width"] > width or found["small"]:
            wrong[page] = found["width"], found["small"]
    assert not wrong
