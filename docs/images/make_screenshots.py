"""Take the pictures of the report: python docs/images/make_screenshots.py (needs Chromium)."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

HERE = Path(__file__).resolve().parent
SHOTS = {
    "report-desktop.png": {"viewport": {"width": 1280, "height": 1240}},
    "report-phone.png": {"viewport": {"width": 390, "height": 1240}, "color_scheme": "dark"},
}


def main() -> None:
    """Run the demo, open its report at each size and save what is seen."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        subprocess.run(
            [sys.executable, "-m", "unswayed", "demo", "--quiet"], cwd=folder, check=True
        )
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        for name, window in SHOTS.items():
            page = browser.new_context(**window).new_page()
            page.goto((Path(folder) / "unswayed-report.html").as_uri())
            page.wait_for_selector("html[data-drawn=yes]")
            page.screenshot(path=HERE / name)
        browser.close()


if __name__ == "__main__":
    main()
