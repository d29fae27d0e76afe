"""How alpha is chosen: by rows that are no training rows, and by nothing else."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from tests.commands import CLASSES, NUMBERS, people, unswayed_here
from tests.verify.files import rows_of
from unswayed.study.kinds import GRID

AUTO = (*CLASSES, "--alpha", "auto")


def asked(folder, *command):
    done = unswayed_here(*command, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def matrix(frame, like):
    """Features as the command makes them of the training rows `like`, by other means."""
    numbers = ["education", "interview score"]
    scaled = (frame[numbers] - like[numbers].mean()) / like[numbers].std(ddof=0)
    return np.hstack([pd.get_dummies(frame[["gender", "city"]]).to_numpy(float), scaled])


def largest_within(loss, X, y, seed=0):
    """Penalties of a grid by 5-fold cross-validation, fitted one by one."""
    fold = np.random.default_rng(seed).permutation(len(y)) % 5
    right = []
    for alpha in GRID:
        score = np.empty(len(y))
        for each in range(5):
            out = fold == each
            score[out] = Ridge(alpha=alpha).fit(X[~out], y[~out]).predict(X[out])
        right.append(((score > 0.5) == y).mean())
    return max(a for a, r in zip(GRID, right, strict=True) if r >= max(right) - loss / 100 - 1e-12)


def test_no_training_label_takes_part_in_the_choice(folder):
    first = asked(folder, "certify", "people.csv", *AUTO, "--certificates", "c.json")
    train = rows_of(json.loads((folder / "c.json").read_text())["recipe"]["train"])
    rng, frame = np.random.default_rng(0), people()
    for change in (lambda y: np.where(y == "no", "yes", "no"), rng.permutation):
        changed = frame.copy()
        changed.loc[train, "hired"] = change(changed.loc[train, "hired"].to_numpy())
        changed.to_csv(folder / "changed.csv", index=False)
        again = asked(folder, "certify", "changed.csv", *AUTO)
        assert again["alpha"] == first["alpha"]
        assert again["quality"] != first["quality"]


@pytest.mark.parametrize("loss", [0, 3])
def test_a_file_of_its_own_chooses_alpha_and_training_keeps_all_its_rows(folder, loss):
    other, train = people(90, seed=8), people()
    other.to_csv(folder / "other.csv", index=False)
    facts = asked(
        *(folder, "coefficients", "people.csv", *CLASSES),
        *("--give-up", loss, "--validation", "other.csv"),
    )
    assert facts["train_rows"] == 240
    found = largest_within(loss, matrix(other, train), (other["hired"] == "yes").to_numpy(float))
    # 72 rows are in four folds of five; equal shrinkage on 240 rows needs so much more.
    assert facts["alpha"] == pytest.approx(found * 240 / 72, rel=5e-3)


def test_the_rows_that_chose_alpha_are_named_on_screen_in_json_and_in_the_report(folder):
    people(90, seed=8).to_csv(folder / "other.csv", index=False)
    for options, rows in (
        ((), "on 43 rows set aside for it; they are no part of the training rows, so no label"),
        (("--validation", "other.csv"), "on the 90 rows of other.csv; as long as none of them is"),
    ):
        command = ("certify", "people.csv", *AUTO, *options)
        shown = unswayed_here(*command, "--report", "r.html", cwd=folder)
        sentence = asked(folder, *command)["alpha_choice"]
        assert f"chosen by 5-fold cross-validation {rows}" in sentence
        assert sentence in shown.stdout
        assert sentence[1:] in (folder / "r.html").read_text()
        asked(folder, *command, "--out", "o.json")
        number = json.loads((folder / "o.json").read_text())[0]["row"]
        for other in (("witness", "people.csv", *AUTO, *options, "--row", number),
                      ("coefficients", "people.csv", *AUTO, *options)):  # fmt: skip
            assert "rows set aside" in unswayed_here(*other, cwd=folder).stdout or options
            assert "was chosen by 5-fold" in asked(folder, *other)["alpha_choice"]


def test_a_given_alpha_was_not_chosen(folder):
    facts = asked(folder, "certify", "people.csv", *CLASSES, "--alpha", "7")
    assert (facts["alpha_choice"], facts["validation_rows"], facts["train_rows"]) == (None, 0, 216)


def test_the_variance_explained_chooses_for_numbers(folder):
    options = (*NUMBERS, "--shift", "2000", "--radius", "500")
    small, large = (
        asked(folder, "certify", "people.csv", *options, "--give-up", loss)["alpha"]
        for loss in (0, 30)
    )
    assert small < large


@pytest.mark.parametrize(
    ("change", "options", "fragments"),
    [
        (lambda f: f[:20], AUTO, ["18 rows are too few", "--validation"]),
        (lambda f: f, (*CLASSES, "--validation", "v.csv"), ["--alpha auto", "--give-up"]),
        (lambda f: f, (*AUTO, "--validation", "bad.csv"), ["is the training file"]),
        (lambda f: f, (*AUTO, "--validation", "no.csv"), ["no file no.csv"]),
        (lambda f: f, (*AUTO, "--validation", "v.csv", "--out", "v.csv"), ["overwrite"]),
        (lambda f: f, (*AUTO, "--seed=-1"), ["--seed -1", "0 or more"]),
    ],
    ids=["few rows", "a number", "the training file", "no file", "overwritten", "a bad seed"],
)
def test_what_cannot_choose_alpha_is_refused(tmp_path, change, options, fragments):
    change(people(200)).to_csv(tmp_path / "bad.csv", index=False)
    people(40, seed=5).to_csv(tmp_path / "v.csv", index=False)
    done = unswayed_here("certify", "bad.csv", *options, cwd=tmp_path)
    assert done.returncode == 2, done.stdout
    assert len(done.stderr.splitlines()) == 1
    for fragment in fragments:
        assert fragment in done.stderr


@pytest.mark.parametrize(
    ("change", "fragments"),
    [
        (lambda f: f[:9], ["9 rows of v.csv are too few", "at least 10"]),
        (lambda f: f.assign(hired="no"), ["all have the same label"]),
        (lambda f: f.drop(columns="hired"), ["--validation v.csv", "no column 'hired'"]),
        (lambda f: f.drop(columns="city"), ["lacks the column 'city'"]),
        (lambda f: f.assign(hired="perhaps"), ["one of 'no', 'yes'"]),
        (lambda f: f.assign(education=None), ["'education' misses 40 values"]),
    ],
    ids=["few rows", "one class", "no label", "no feature", "other classes", "missing values"],
)
def test_a_validation_file_that_does_not_fit_is_refused(folder, change, fragments):
    change(people(40, seed=5)).to_csv(folder / "v.csv", index=False)
    for command in ("certify", "coefficients"):
        done = unswayed_here(command, "people.csv", *AUTO, "--validation", "v.csv", cwd=folder)
        assert done.returncode == 2, done.stdout
        for fragment in fragments:
            assert fragment in done.stderr


def test_labels_set_aside_that_are_all_equal_choose_nothing(folder):
    frame = people()
    asked(folder, "certify", "people.csv", *AUTO, "--certificates", "c.json", "--out", "o.csv")
    train = rows_of(json.loads((folder / "c.json").read_text())["recipe"]["train"])
    test = pd.read_csv(folder / "o.csv")["row"] - 1
    frame.loc[frame.index.difference([*train, *test]), "hired"] = "no"
    frame.to_csv(folder / "people.csv", index=False)
    done = unswayed_here("certify", "people.csv", *AUTO, cwd=folder)
    assert done.returncode == 2
    assert "the 43 rows set aside to choose it by all have the same label" in done.stderr
