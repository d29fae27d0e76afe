"""Which examples and which tests are run: the same everywhere, and with CI the thorough ones."""

import os
import signal
from collections import defaultdict

import pytest
from hypothesis import settings

from tests.effort import EVERY, TESTS, THOROUGH, values_of, waiting
from unswayed._core.kernels import kernel_name

# The same examples everywhere: no landing hangs on luck. Others: `make test-fresh`, whose seed
# alone decides what is drawn. No deadlines: a busy machine is no failure.
settings.register_profile("some", derandomize=True, deadline=None, max_examples=EVERY // 10)
settings.register_profile("all", derandomize=True, deadline=None, max_examples=EVERY)
settings.register_profile(
    "fresh", database=None, deadline=None, print_blob=True, max_examples=EVERY
)
settings.load_profile("all" if THOROUGH else "some")

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
    """Mark the tests that THOROUGH.md lists, and skip them without CI=1."""
    listed = {(each.file, each.function): each for each in waiting()}
    thinned = defaultdict(list)
    for item in items:
        if not item.path.is_relative_to(TESTS):
            continue
        file = item.path.relative_to(TESTS).as_posix()
        function = getattr(item, "originalname", "")
        line = listed.get((file, function)) or listed.get((file, ""))
        case = item.callspec.id if hasattr(item, "callspec") else ""
        if line and (line.values or line.every):
            thinned[line].append(item)
        elif line and not line.spares(function, case):
            wait(item)
    for line, cases in thinned.items():
        always = line.chosen([values_of(case) for case in cases])
        for number, item in enumerate(cases):
            if number not in always:
                wait(item)


def wait(item: pytest.Item) -> None:
    """Let a test wait for CI=1."""
    item.add_marker(pytest.mark.thorough)
    if not THOROUGH:
        item.add_marker(pytest.mark.skip(reason="thorough: run with CI=1"))


def pytest_report_header(config: pytest.Config) -> str:
    return f"unswayed kernel: {kernel_name()}"
