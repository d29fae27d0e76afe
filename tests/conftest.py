"""What CI runs: one set of examples (a landing must not hang on luck), and the thorough tests."""

import os

import pytest
from hypothesis import settings

from unswayed._core.kernels import kernel_name

# No deadlines: a busy machine is no failure.
settings.register_profile("here", deadline=None)
settings.register_profile("ci", derandomize=True, deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "here")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not os.environ.get("CI"):
        skipped = pytest.mark.skip(reason="thorough: run with CI=1")
        for item in items:
            if item.get_closest_marker("thorough"):
                item.add_marker(skipped)


def pytest_report_header(config: pytest.Config) -> str:
    return f"unswayed kernel: {kernel_name()}"
