"""The tour: what it shows is what it runs, and it waits for nobody but a person."""

import contextlib
import io
import os
import pty
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.commands import unswayed_here
from unswayed.cli.tour import STEPS


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tour")
    done = unswayed_here("tour", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert not list(folder.iterdir())  # it writes nothing
    return done.stdout


def results(told):
    """What the code of each step printed."""
    parts = re.split(r"^\d of \d: ", told, flags=re.MULTILINE)[1:]
    return ["".join(re.findall(r"^  \| (.*\n)", part, flags=re.MULTILINE)) for part in parts]


def test_what_is_shown_is_what_its_code_prints_in_a_python_of_ones_own(told):
    names = {}
    for step, shown in zip(STEPS, results(told), strict=True):
        assert textwrap.indent(step.code, "    ") in told
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(step.code, names)
        assert printed.getvalue() == shown, step.title


def test_the_replay_overturns_and_random_attacks_do_not(told):
    steps = results(told)
    assert steps[4] == "before: declined, after: hired\n"
    assert steps[5].startswith("0 of 200 random attacks overturn it\nthe best 19 changes: ")
    before, after = re.search(r"(\w+) -> (\w+)\n$", steps[5]).groups()
    assert before != after


def test_every_step_says_what_it_proves_and_what_not(told):
    assert told.count("this proves:") == told.count("it does not prove:") == len(STEPS)
    assert told.rstrip().endswith("help(unswayed.LabelBias).")


def test_no_line_is_longer_than_eighty_characters(told):
    assert max(map(len, told.splitlines())) <= 80
    assert max(len(line) for step in STEPS for line in step.code.splitlines()) <= 72


@pytest.mark.parametrize(("typed", "steps"), [(b"\n\nq\n", 2), (b"\x04", 0)])
def test_on_a_terminal_it_waits_for_enter_and_stops_on_q(tmp_path, typed, steps):
    keyboard, terminal = pty.openpty()
    command = [sys.executable, "-m", "unswayed", "tour"]
    process = subprocess.Popen(command, cwd=tmp_path, stdin=terminal, stdout=terminal)
    os.close(terminal)
    os.write(keyboard, typed)
    shown = b""
    with contextlib.suppress(OSError):  # how Linux says that the other end was closed
        while piece := os.read(keyboard, 65536):
            shown += piece
    os.close(keyboard)
    assert process.wait(timeout=100) == 0
    assert shown.count(b"this proves:") == steps
    assert b"Where to go next" not in shown


def test_it_does_not_wait_if_another_program_reads_it(tmp_path):
    keyboard, terminal = pty.openpty()
    command = [sys.executable, "-m", "unswayed", "tour"]
    process = subprocess.Popen(command, cwd=tmp_path, stdin=terminal, stdout=subprocess.PIPE)
    shown, _ = process.communicate(timeout=100)
    os.close(terminal)
    os.close(keyboard)
    assert process.returncode == 0
    assert b"Where to go next" in shown


def test_the_page_of_the_site_tells_the_same():
    page = Path(__file__).parents[2] / "docs" / "start" / "tour.md"
    text = page.read_text(encoding="utf-8")
    assert re.findall(r"```python\n(.*?)\n```", text, re.DOTALL) == [step.code for step in STEPS]
    plain = " ".join(text.split())
    for step in STEPS:
        assert f"## {step.title}" in text
        for words in (step.sentence, step.proves, step.but):
            assert words in plain
