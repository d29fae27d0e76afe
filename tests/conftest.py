"""Which examples and which tests are run: the same everywhere, and with CI the thorough ones."""

import os
import signal

import pytest
from hypothesis import settings

from unswayed._core.kernels import kernel_name

# The same examples everywhere: no landing hangs on luck. Others: `make test-fresh`, whose seed
# alone decides what is drawn. No deadlines: a busy machine is no failure.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("fresh", database=None, deadline=None, print_blob=True)
settings.load_profile("same")

# Wishes of a person's terminal: the program heeds them, tests read it without.
for wish in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
    os.environ.pop(wish, None)


@pytest.fixture
def heard_signals():
    """Let processes that a test starts hear the signals which a shell may have it ignore.

    ``nohup make test &`` hands down an ignored SIGINT, to children of the tests too.
    """
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.getsignal(number) for number in numbers]
    for number, handler in zip(numbers, before, strict=True):
        if handler == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if not os.environ.get("CI"):
        skipped = pytest.mark.skip(reason="thorough: run with CI=1")
        for item in items:
            if item.get_closest_marker("thorough"):
                item.add_marker(skipped)


def pytest_report_header(config: pytest.Config) -> str:
    return f"unswayed kernel: {kernel_name()}"
