"""The built site: no dead link, nothing from elsewhere, every picture told in words.

``make docs`` builds it and says where it is; without it there is nothing to test.
"""

import os
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

SITE = Path(os.environ.get("UNSWAYED_SITE", "there is no site"))
pytestmark = pytest.mark.skipif(not SITE.is_dir(), reason="make docs builds what is tested here")


class Page(HTMLParser):
    """Links, anchors, pictures and what is loaded by a page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors, self.pictures, self.loaded = [], set(), [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.anchors |= {given[key] for key in ("id", "name") if given.get(key)}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag == "img":
            self.pictures.append(given)
        if tag in ("script", "img", "iframe", "source") and given.get("src"):
            self.loaded.append(given["src"])
        if tag == "link" and given.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.append(given["href"])


@pytest.fixture(scope="module")
def pages():
    made = {
        path.resolve(): Page(path) for path in SITE.rglob("*.html") if "_static" not in path.parts
    }
    assert len(made) > 40
    return made


def targets(path, links):
    """Files and anchors that links within the site lead to."""
    for link in links:
        parts = urlsplit(link)
        if not parts.scheme and not parts.netloc:
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            yield link, file, unquote(parts.fragment)


def test_every_link_within_the_site_leads_somewhere(pages):
    dead = []
    for path, page in pages.items():
        for link, file, anchor in targets(path, page.links + page.loaded):
            known = pages[file].anchors if file in pages else None
            if not file.is_file() or (anchor and known is not None and anchor not in known):
                dead.append((path.name, link))
    assert not dead


def test_nothing_is_loaded_from_a_network(pages):
    outside = {
        (path.name, each)
        for path, page in pages.items()
        for each in page.loaded
        if urlsplit(each).scheme not in ("", "data") or urlsplit(each).netloc
    }
    assert not outside
    fetched = [
        path.name for path in SITE.rglob("*.css") if "url(http" in path.read_text(encoding="utf-8")
    ]
    assert not fetched


def test_every_picture_is_told_in_words(pages):
    silent = {
        (path.name, picture.get("src"))
        for path, page in pages.items()
        for picture in page.pictures
        # The title stands right below a thumbnail and is part of the same link.
        if not (picture.get("alt") or "").strip() and not picture["src"].endswith("_thumb.png")
    }
    assert not silent


def test_every_example_can_be_downloaded_as_a_notebook():
    root = Path(__file__).parents[2]
    examples = {path.stem for path in (root / "examples").glob("plot_*.py")}
    assert examples == {path.stem for path in SITE.rglob("*.ipynb")}
