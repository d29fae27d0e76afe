"""One set of examples in CI: a landing must not hang on the luck of a draw."""

import os

import pytest
from hypothesis import settings

from unswayed._core.selection import kernel_name

# No deadlines: a busy machine is no failure.
settings.register_profile("here", deadline=None)
settings.register_profile("ci", derandomize=True, deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "here")


def pytest_report_header(config: pytest.Config) -> str:
    return f"unswayed kernel: {kernel_name()}"
