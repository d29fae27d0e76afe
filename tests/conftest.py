"""One set of examples in CI: a landing must not hang on the luck of a draw."""

import os

import pytest
from hypothesis import settings

from unswayed._core.selection import kernel_name

settings.register_profile("ci", derandomize=True, deadline=None)
if os.environ.get("CI"):
    settings.load_profile("ci")


def pytest_report_header(config: pytest.Config) -> str:
    return f"unswayed kernel: {kernel_name()}"
