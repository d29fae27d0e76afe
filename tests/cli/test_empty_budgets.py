"""A budget of no labels proves nothing: the default has one, and a stated share is refused."""

import json

import pytest

from tests.commands import CLASSES, people, unswayed_here


@pytest.fixture
def few(tmp_path):
    """80 rows, of which 72 train: 1 % of them is less than one label."""
    people(80).to_csv(tmp_path / "few.csv", index=False)
    (tmp_path / "parts").mkdir()
    for name, rows in (("a", slice(40)), ("b", slice(40, 80))):
        people(80)[rows].to_csv(tmp_path / "parts" / f"{name}.csv", index=False)
    return tmp_path


COMMANDS = [
    ("certify", "few.csv"),
    ("certify", "few.csv", "--folds", "4"),
    ("certify", "parts"),
    ("witness", "few.csv", "--row", "6"),
    ("coefficients", "few.csv"),
    ("tradeoff", "few.csv", "--alphas", "1,10"),
    ("compare", "few.csv", "--against", "--alpha 10"),
    ("together", "few.csv"),
    ("fairness", "few.csv", "--groups", "gender"),
    ("review plan", "few.csv", "--labels", "2"),
]


def run(folder, command, *options):
    name, *rest = command
    return unswayed_here(*name.split(), *rest, *CLASSES, *options, cwd=folder)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_stated_share_below_one_label_is_refused_with_one_that_is_not(few, command):
    done = run(few, command, "--budget", "0.5%")
    assert done.returncode == 2
    assert "is less than one label" in done.stderr
    advised = done.stderr.split("pass --budget ")[1].split()[0]
    again = run(few, command, "--budget", advised)
    assert again.returncode == 0, again.stderr


@pytest.mark.parametrize("command", [each for each in COMMANDS if each[0] != "tradeoff"],
                         ids=" ".join)  # fmt: skip
def test_the_default_is_one_label_at_least(few, command):
    done = run(few, command, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    if "budgets" in found:
        asked = found["budgets"][0]
        assert asked["labels"] in (1, [1, 1])
        assert asked.get("budget", "1") == "1"  # not 1%, which it is not
    assert "empty-budget" not in {each["kind"] for each in found.get("caveats", ())}


def test_a_share_is_one_of_all_training_rows_whatever_only_selects(few):
    done = run(few, COMMANDS[0], "--budget", "1.4%", "--only", "gender == 'female'", "--json")
    assert json.loads(done.stdout)["budgets"][0]["labels"] == 1
    done = run(few, COMMANDS[0], "--budget", "1.3%", "--only", "gender == 'female'")
    assert done.returncode == 2
    assert "of 72 training rows" in done.stderr


def test_a_gate_is_not_met_at_a_budget_of_no_labels(few):
    done = run(few, COMMANDS[0], "--budget", "0", "--fail-under", "1%", "--json")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert found["passed"] is False
    assert found["caveats"][0]["kind"] == "empty-budget"
    assert "proves nothing" in done.stderr


def test_a_limit_is_not_met_at_a_budget_of_no_labels(few):
    done = run(few, ("fairness", "few.csv", "--groups", "gender"), "--budget", "0", "--limit", "1")
    assert done.returncode == 1
    assert "proves nothing" in done.stderr


def test_no_budget_at_all_is_allowed_and_said_to_prove_nothing(few):
    for command in (COMMANDS[0], COMMANDS[2], ("coefficients", "few.csv")):
        done = run(few, command, "--budget", "0")
        assert done.returncode == 0, done.stderr
        assert "this proves nothing" in done.stderr
