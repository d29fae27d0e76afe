"""Debian's Chromium by playwright, and one report that all tests share."""

import shutil

import pytest

from tests.commands import CLASSES, people, unswayed_here

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@pytest.fixture(scope="session")
def browser():
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=path, args=FLAGS)
        yield found
        found.close()


@pytest.fixture(scope="session")
def report(tmp_path_factory):
    """A folder with report.html and the table out.csv it must agree with."""
    folder = tmp_path_factory.mktemp("report")
    people(400).to_csv(folder / "people.csv", index=False)
    done = unswayed_here(
        *("certify", "people.csv", *CLASSES, "--holdout", "30%", "--budget", "2%"),
        *("--budget", "5", "--groups", "gender,city", "--out", "out.csv"),
        *("--report", "report.html"),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def visit(browser):
    """Open a page; at the end, nothing may have been requested or complained about."""
    contexts, requests, complaints = [], [], []

    def open_page(path, *, width=1280, scheme="light"):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-drawn=yes]")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
    assert all(url.startswith(("file:", "data:")) for url in requests)
    assert len([url for url in requests if url.startswith("file:")]) == len(contexts)
