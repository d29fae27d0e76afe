"""`--positive`: one class versus the rest is asked as a yes/no column written by hand is."""

import json

import numpy as np
import pandas as pd
import pytest

from tests.commands import people, unswayed_here

ASK = ("--label", "species", "--budget", "3")
ONE = (*ASK, "--positive", "versicolor")


def flowers(n_rows: int = 150) -> pd.DataFrame:
    """Three species that overlap, and which of them is the middle one."""
    rng = np.random.default_rng(5)
    kind = np.arange(n_rows) % 3
    species = np.array(["setosa", "versicolor", "virginica"])[kind]
    return pd.DataFrame(
        {
            "petal": (1.5 * kind + rng.normal(1.4, 0.5, n_rows)).round(1),
            "sepal": (0.6 * kind % 1.1 + rng.normal(5, 0.4, n_rows)).round(1),
            "meadow": rng.choice(["dry", "wet"], n_rows),
            "species": species,
        }
    )


@pytest.fixture
def folder(tmp_path):
    frame = flowers()
    frame.to_csv(tmp_path / "many.csv", index=False)
    two = np.where(frame["species"] == "versicolor", "versicolor", "not versicolor")
    frame.assign(species=two).to_csv(tmp_path / "two.csv", index=False)
    return tmp_path


def answer(folder, *arguments):
    done = unswayed_here(*arguments, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def said(folder, *arguments):
    done = unswayed_here(*arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


WORDS = {"bias", "model", "versus_rest", "data", "columns", "caveats", "file", "notes"}


@pytest.mark.parametrize(
    "command",
    [
        ("certify",),
        ("certify", "--groups", "meadow", "--direction", "up"),
        ("certify", "--direction", "down", "--threshold", "balanced"),
        ("certify", "--folds", "5"),
        ("certify", "--in-pieces"),
        ("certify", "--model", "logistic"),
        ("certify", "--only", "meadow == 'wet'"),
        ("coefficients",),
        ("together",),
        ("fairness", "--groups", "meadow"),
        ("tradeoff",),
        ("review", "plan", "--labels", "5"),
        ("compare", "--against", "--alpha 20"),
    ],
    ids=" ".join,
)
def test_one_class_versus_the_rest_is_answered_as_a_yes_no_column_is(folder, command):
    name = command[:2] if command[0] == "review" else command[:1]
    options = command[len(name) :]
    many = answer(folder, *name, "many.csv", *ONE, *options)
    two = answer(folder, *name, "two.csv", *ASK, *options)

    def numbers(facts):
        if isinstance(facts, dict):
            return {key: numbers(value) for key, value in facts.items() if key not in WORDS}
        return [numbers(each) for each in facts] if isinstance(facts, list) else facts

    assert numbers(many) == numbers(two)


def test_witnesses_are_those_of_the_yes_no_column(folder):
    row = 7
    facts = [
        answer(folder, "witness", name, *ask, "--row", row, "--folds", "5")
        for name, ask in (("many.csv", ONE), ("two.csv", ASK))
    ]
    assert facts[0]["changes"] == facts[1]["changes"]
    assert facts[0]["versus_rest"] == ["setosa", "virginica"]


@pytest.mark.parametrize("command", ["certify", "together", "tradeoff", "coefficients", "compare"])
def test_the_terminal_says_versus_the_rest_and_what_a_wrong_label_is(folder, command):
    more = ("--against", "--alpha 20") if command == "compare" else ()
    text = said(folder, command, "many.csv", *ONE, *more)
    assert "versicolor, versus the rest ('setosa' and 'virginica')" in text
    assert (
        "assumed: a label 'versicolor' may really be another class, and any other label may really "
        "be 'versicolor'; mistakes among the other classes change nothing" in text
    )


def test_the_page_and_the_json_say_versus_the_rest(folder):
    facts = answer(folder, "certify", "many.csv", *ONE, "--report", "page.html")
    assert facts["positive"] == "versicolor"
    assert facts["classes"] == ["not versicolor", "versicolor"]
    assert facts["versus_rest"] == ["setosa", "virginica"]
    page = (folder / "page.html").read_text()
    assert "versicolor = 1 versus the rest (&#39;setosa&#39; and &#39;virginica&#39;) = 0" in page


def test_labels_of_some_rows_are_chosen_by_the_class_that_the_file_has(folder):
    facts = answer(folder, "certify", "many.csv", *ONE, "--only", "species == 'virginica'")
    train = flowers()["species"]
    assert 0 < facts["movable_labels"] <= (train == "virginica").sum()
    text = facts["bias"]
    assert text.endswith("is taken to be right; mistakes among the other classes change nothing")
    pieces = answer(
        folder, "certify", "many.csv", *ONE, "--only", "species == 'virginica'", "--in-pieces"
    )
    assert pieces["movable_labels"] == facts["movable_labels"]


@pytest.mark.parametrize(
    ("direction", "sentence"),
    [
        ("up", "any other label may really be 'versicolor'"),
        ("down", "a label 'versicolor' may really be another class"),
    ],
)
def test_up_is_towards_the_class_that_was_named(folder, direction, sentence):
    facts = answer(folder, "certify", "many.csv", *ONE, "--direction", direction)
    assert facts["bias"].startswith(sentence)
    inside = next(each for each in facts["balance"] if each["class"] == "versicolor")["train"]
    assert facts["movable_labels"] == (
        facts["train_rows"] - inside if direction == "up" else inside
    )


def test_of_two_classes_it_says_which_is_the_positive_one(tmp_path):
    people().to_csv(tmp_path / "people.csv", index=False)
    ask = ("certify", "people.csv", "--label", "hired", "--ignore", "salary", "--budget", "3")
    usual, turned = answer(tmp_path, *ask), answer(tmp_path, *ask, "--positive", "no")
    assert (usual["positive"], turned["positive"]) == ("yes", "no")
    assert turned["classes"] == ["yes", "no"]
    assert turned["versus_rest"] == []
    assert turned["bias"] == usual["bias"]
    assert turned["budgets"][0]["robust"] == usual["budgets"][0]["robust"]
    up = answer(tmp_path, *ask, "--positive", "no", "--direction", "up")
    assert up["bias"] == "a label 'yes' may really be 'no'"


@pytest.mark.parametrize(
    ("label", "positive"), [([1, 2, 3], "2"), ([0.5, 1.5, 2.5], "1.5"), (["a b", "-1", "?c"], "-1")]
)
@pytest.mark.parametrize("pieces", [(), ("--in-pieces",)])
def test_classes_may_be_numbers_or_odd_texts(tmp_path, label, positive, pieces):
    frame = flowers()
    frame["species"] = np.array(label)[np.arange(len(frame)) % 3]
    frame.to_csv(tmp_path / "many.csv", index=False)
    facts = answer(tmp_path, "certify", "many.csv", *ASK, f"--positive={positive}", *pieces)
    assert facts["positive"] == positive
    assert facts["task"] == "classification"


def test_an_unknown_class_lists_those_there_are(folder):
    done = unswayed_here("certify", "many.csv", *ASK, "--positive", "rose", cwd=folder)
    assert done.returncode == 2
    assert "the classes are 'setosa', 'versicolor', 'virginica'" in done.stderr
    near = unswayed_here("certify", "many.csv", *ASK, "--positive", "setossa", cwd=folder)
    assert "did you mean 'setosa'?" in near.stderr
    number = unswayed_here("certify", "many.csv", *ONE, "--task", "regression", cwd=folder)
    assert number.returncode == 2
    assert "--positive names a class" in number.stderr


def test_a_class_that_only_looks_different_is_not_taken_for_the_rest(folder):
    frame = flowers()
    frame.loc[3, "species"] = "Setosa."
    frame.to_csv(folder / "spelled.csv", index=False)
    done = unswayed_here("certify", "spelled.csv", *ASK, "--positive", "setosa", cwd=folder)
    assert done.returncode == 2
    assert "write them alike" in done.stderr
    test = unswayed_here(
        "certify", "many.csv", *ASK, "--positive", "setosa", "--test", "spelled.csv", cwd=folder
    )
    assert test.returncode == 2
    assert "write them alike" in test.stderr


def test_without_it_all_classes_are_told_apart_and_the_advice_can_be_pasted(folder):
    assert unswayed_here("certify", "many.csv", *ASK, cwd=folder).returncode == 0
    done = unswayed_here("coefficients", "many.csv", *ASK, cwd=folder)
    assert done.returncode == 2
    assert (
        "3 classes of the label 'species' ('setosa', 'versicolor' and 'virginica')" in done.stderr
    )
    assert "pass --positive virginica, say" in done.stderr


# --- certificates -----------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["ridge", "logistic"])
@pytest.mark.parametrize("positive", ["setosa", "versicolor"])
def test_the_checker_reads_the_class_versus_the_rest_from_the_file_itself(folder, model, positive):
    ask = (*ASK, "--positive", positive, "--model", model)
    said(folder, "certify", "many.csv", *ask, "--certificates", "proof.json")
    text = said(folder, "verify", "proof.json", "--train", "many.csv")
    assert "0.0 (every other label)" in text
    assert f"1.0 ('{positive}')" in text
    assert " 0 rejected" in text


def test_the_checker_reads_the_first_of_two_classes_as_the_positive_one(tmp_path):
    people().to_csv(tmp_path / "people.csv", index=False)
    ask = ("certify", "people.csv", "--label", "hired", "--ignore", "salary", "--positive", "no")
    said(tmp_path, *ask, "--certificates", "proof.json")
    assert "1.0 ('no')" in said(tmp_path, "verify", "proof.json", "--train", "people.csv")


def test_a_certificate_that_names_another_class_belongs_to_other_data(folder):
    said(folder, "certify", "many.csv", *ONE, "--certificates", "proof.json")
    proof = json.loads((folder / "proof.json").read_text())
    assert proof["data"]["classes"]["values"] == [None, "versicolor"]
    for forged in ([None, "setosa"], ["versicolor", None], [None, None], ["setosa", "versicolor"]):
        proof["data"]["classes"]["values"] = forged
        (folder / "forged.json").write_text(json.dumps(proof))
        done = unswayed_here("verify", "forged.json", "--train", "many.csv", cwd=folder)
        assert done.returncode != 0, forged


# --- reviews ----------------------------------------------------------------------------------


def test_reviewers_may_answer_with_any_class_and_the_file_gets_that_class(folder):
    ask = ("many.csv", *ONE)
    said(folder, "review", "plan", *ask, "--labels", "3", "--out", "plan.csv")
    plan = pd.read_csv(folder / "plan.csv")
    before = flowers()["species"]
    answers = ["virginica" if before[row - 1] != "virginica" else "setosa" for row in plan["row"]]
    plan.assign(checked_label=answers).to_csv(folder / "done.csv", index=False)
    said(folder, "review", "apply", "many.csv", "done.csv", *ONE, "--out", "better.csv")
    after = pd.read_csv(folder / "better.csv")["species"]
    changed = [row - 1 for row in plan["row"] if before[row - 1] == "versicolor"]
    assert after[changed].tolist() == ["virginica"] * len(changed)
    assert after.drop(changed).equals(before.drop(changed))
    if changed:
        plan.assign(checked_label="not versicolor").to_csv(folder / "vague.csv", index=False)
        vague = unswayed_here(
            "review", "apply", "many.csv", "vague.csv", *ONE, "--out", "other.csv", cwd=folder
        )
        assert vague.returncode == 2
        assert "does not say which class to write" in vague.stderr
