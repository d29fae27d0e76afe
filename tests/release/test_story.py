"""README, the demo, the tour and the pages to start with tell one story, with the same figures."""

import json
import math
import re
import shlex

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from tests.commands import unswayed_here
from tests.shown import ROOT, STORY, renewed
from unswayed import CertifiedClassifier, LabelBias
from unswayed.cli.tour import _HER, _QUESTION, _program
from unswayed.datasets import make_hiring_story

START = "docs/start/index.md"
# Figures that are not of the story: versions, dates, step 7, and what `make bench` measures.
OTHERS = {
    "README.md": {"3.11", "2026"},
    "docs/start/tour.md": {"7"},
    START: {"3.11", "26,152", "10,000", "0.03"},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("story")
    assert unswayed_here("demo", "--no-report", "--quiet", cwd=made).returncode == 0
    return made


def asked(folder, command, *more):
    """What a command answers to the question of the demo."""
    done = unswayed_here(command, "unswayed-demo.csv", *_QUESTION, *more, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def figures(text):
    return {found.rstrip(",.") for found in re.findall(r"(?<![\w.])\d[\d,.]*", text)}


def prose(text):
    """A document without code, tables and addresses."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"^(\||\[\w+\]:).*$", "", text, flags=re.MULTILINE)
    return re.sub(r"`[^`]*`|\]\([^)]*\)", "", text)


@pytest.mark.parametrize("document", STORY)
def test_a_document_shows_what_runs_print_now(folder, document):
    text = (ROOT / document).read_text(encoding="utf-8")
    assert renewed(text, folder) == text, "python -m tests.shown writes it again"


def test_every_figure_in_the_prose_is_one_that_a_run_prints(folder):
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in (*STORY, START)}
    blocks = re.findall(r"^```.*?^```$", "\n".join(texts.values()), re.DOTALL | re.MULTILINE)
    known = figures("\n".join(blocks)) | gap(folder)
    for name, text in texts.items():
        unknown = figures(prose(text)) - known - OTHERS.get(name, set())
        assert not unknown, (name, unknown)


def gap(folder):
    """The gap between women and men, and the ends of its proven range, in points."""
    (column,) = asked(folder, "fairness", "--groups", "gender")["fairness"]["columns"]
    (found,) = (
        each for each in column["metrics"] if each["metric"] == "demographic_parity_difference"
    )
    (ends,) = found["ranges"]
    low, high = math.floor(1000 * ends["low"]) / 10, math.ceil(1000 * ends["high"]) / 10
    return {f"{each:.1f}" for each in (100 * found["value"], low, high)}


def test_the_command_line_and_python_give_the_same_model_about_the_same_rows(folder):
    story = make_hiring_story()
    bias = LabelBias.flips(budget=0.02, where=story.women, direction="up")
    certs = CertifiedClassifier(Ridge(), bias=bias).fit(story.X, story.y).certify(story.X_new)
    unswayed_here("certify", "unswayed-demo.csv", *_QUESTION, "--out", "rows.csv", cwd=folder)
    table = pd.read_csv(folder / "rows.csv")
    np.testing.assert_array_equal(table["row"], story.rows_new)
    np.testing.assert_array_equal(table["label"], story.y_new)
    np.testing.assert_array_equal(table["verdict"], certs.verdict)
    np.testing.assert_array_equal(table["minimum_budget"], certs.minimum_budget)
    np.testing.assert_allclose(table["score"], certs.score, atol=1e-12)


def test_the_demo_ends_with_the_page_and_three_commands_that_work(tmp_path):
    done = unswayed_here("demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = done.stdout[done.stdout.index("The page is") :]
    assert f"  {(tmp_path / 'unswayed-report.html').as_uri()}\n" in told
    commands = re.findall(r"^  (unswayed (?:.*\\\n)*.*)$", told, re.MULTILINE)
    assert len(commands) == 3
    for command in commands:
        assert max(map(len, command.splitlines())) <= 80
        again = unswayed_here(*shlex.split(command.replace("\\\n", " "))[1:], cwd=tmp_path)
        assert again.returncode == 0, again.stderr
    assert f"--row {_HER}" in commands[0]


def test_a_program_that_is_not_on_the_path_is_called_by_where_it_is(tmp_path, monkeypatch):
    program = tmp_path / "unswayed"
    program.write_text("")
    program.chmod(0o755)
    monkeypatch.setattr("sys.argv", [str(program)])
    monkeypatch.setenv("PATH", "")
    assert _program() == str(program)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert _program() == "unswayed"
