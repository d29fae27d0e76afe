"""``unswayed sample``: a list of labels drawn at random, and what people find in it."""

import csv
import json

import numpy as np
import pandas as pd
import pytest

from tests.commands import people, unswayed_here
from unswayed import Sampled

DATA = ("people.csv", "--label", "hired", "--ignore", "salary")


@pytest.fixture
def folder(tmp_path):
    people(160).to_csv(tmp_path / "people.csv", index=False)
    return tmp_path


def said(folder, *words, code=0):
    done = unswayed_here(*words, cwd=folder)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else " ".join(done.stderr.split())


def drawn(folder, checks=40, *more):
    said(folder, "sample", "draw", *DATA, "--checks", checks, *more)
    return answered(folder, lambda at, line: line["label"])


def answered(folder, change):
    with (folder / "to-check.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    for at, line in enumerate(lines):
        line["checked_label"] = change(at, line)
    return write(folder, lines)


def write(folder, lines):
    with (folder / "to-check.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, lines[0])
        writer.writeheader()
        writer.writerows(lines)
    return lines


def other(at, line):
    """Two labels are wrong, and of one nobody can tell."""
    wrong = {"yes": "no", "no": "yes"}[line["label"]]
    return wrong if at in (3, 11) else "?" if at == 7 else line["label"]


def read(folder, *more):
    return json.loads(
        said(folder, "sample", "read", "people.csv", "to-check.csv", *DATA[1:], *more)
    )


def test_a_sample_is_drawn_without_replacement_from_all_rows_and_again_with_its_seed(folder):
    first = json.loads(said(folder, "sample", "draw", *DATA, "--checks", "40", "--json"))["drawn"]
    assert len(set(first)) == 40
    assert set(first) <= set(range(1, 161))
    again = said(folder, "sample", "draw", *DATA, "--checks", "40", "--json", "--seed", "0")
    another = said(folder, "sample", "draw", *DATA, "--checks", "40", "--json", "--seed", "1")
    assert json.loads(again)["drawn"] == first != json.loads(another)["drawn"]
    every = said(folder, "sample", "draw", *DATA, "--checks", "160", "--json")
    assert json.loads(every)["drawn"] == list(range(1, 161))


def test_a_sample_is_not_the_rows_that_are_held_out_with_the_same_seed(folder):
    drawn(folder, 40)
    with (folder / "to-check.csv").open(newline="") as file:
        checked = {int(line["row"]) for line in csv.DictReader(file)}
    said(folder, "certify", *DATA, "--out", "rows.csv")
    tested = set(pd.read_csv(folder / "rows.csv")["row"])
    assert len(tested) == 16
    assert len(tested & checked) < 10


def test_every_row_is_drawn_about_as_often_as_any_other(folder):
    times = np.zeros(160)
    for seed in range(40):
        text = said(folder, "sample", "draw", *DATA, "--checks", "40", "--json", "--seed", seed)
        times[np.array(json.loads(text)["drawn"]) - 1] += 1
    assert times.mean() == 10
    assert times.max() <= 22  # five standard deviations and more
    assert times.min() >= 1


def test_the_bound_is_that_of_python_and_what_nobody_can_tell_counts_as_wrong(folder):
    drawn(folder)
    answered(folder, other)
    facts = read(folder, "--confidence", "90%", "--json")
    most = Sampled(40, 3, 0.9).most_wrong(160)
    assert facts["checked"] == 40
    assert (facts["wrong"], facts["unknown"]) == (3, 1)
    assert facts["most_wrong"] == most
    assert facts["most_wrong_of_others"] == most - 2
    text = said(folder, "sample", "read", "people.csv", "to-check.csv", *DATA[1:])
    assert "next: unswayed certify people.csv --label hired --ignore salary --sampled" in text
    assert "1 of them because nobody can tell" in text


@pytest.mark.parametrize("more", [["--folds", "4"], []])
def test_checked_labels_are_known_and_wrong_ones_corrected(folder, more):
    lines = drawn(folder)
    answered(folder, other)
    options = ["--sampled", "to-check.csv", "--confidence", "90%", "--out", "rows.csv", *more]
    facts = json.loads(said(folder, "certify", *DATA, *options, "--json"))
    sampled = pd.read_csv(folder / "rows.csv").set_index("row")
    most = Sampled(40, 3, 0.9).most_wrong(160) - 2
    assert facts["budgets"][0]["labels"] == most
    assert facts["budget_source"].startswith("90 % confidence")
    # The same by hand: labels are corrected in the file, and those that are known left alone.
    frame = people(160)
    for at in (3, 11):
        frame.loc[int(lines[at]["row"]) - 1, "hired"] = other(at, lines[at])
    frame["known"] = np.isin(
        frame.index + 1, [int(line["row"]) for at, line in enumerate(lines) if at != 7]
    )
    frame.to_csv(folder / "people.csv", index=False)
    by_hand = ["--ignore", "known", "--only", "known == False", "--budget", most, *more]
    said(folder, "certify", *DATA, *by_hand, "--out", "rows.csv")
    again = pd.read_csv(folder / "rows.csv").set_index("row")
    pd.testing.assert_frame_equal(sampled.drop(columns="minimum_budget_unit"), again)


def test_no_true_labels_within_the_bound_change_a_row_called_robust(folder):
    drawn(folder, 100)
    options = ["--sampled", "to-check.csv", "--out", "rows.csv"]
    facts = json.loads(said(folder, "certify", *DATA, *options, "--json"))
    table, frame = pd.read_csv(folder / "rows.csv").set_index("row"), people(160)
    with (folder / "to-check.csv").open(newline="") as file:
        known = {int(line["row"]) for line in csv.DictReader(file)}
    trained = [row for row in range(1, 161) if row not in known and row not in table.index]
    most = facts["budgets"][0]["labels"]
    assert 0 < most < len(trained)
    for seed in range(6):
        rows = np.random.default_rng(seed).choice(trained, most, replace=False) - 1
        rows = rows if seed < 3 else [row for row in rows if frame.hired[row] == "yes"]
        changed = frame.copy()
        changed.loc[rows, "hired"] = np.where(frame.hired[rows] == "yes", "no", "yes")
        changed.to_csv(folder / "people.csv", index=False)
        said(folder, "certify", *DATA, "--budget", "1", "--out", "again.csv")
        again = pd.read_csv(folder / "again.csv").set_index("row")
        robust = table.verdict == "robust"
        assert (again.prediction[robust] == table.prediction[robust]).all()


def test_numbers_are_compared_as_numbers(folder):
    numbers = ("people.csv", "--label", "salary", "--ignore", "hired")
    said(folder, "sample", "draw", *numbers, "--checks", "30")
    answered(folder, lambda at, line: f"{float(line['label']) + 100 * (at == 2):.2f}")
    text = said(folder, "sample", "read", "people.csv", "to-check.csv", *numbers[1:], "--json")
    assert json.loads(text)["wrong"] == 1
    options = ["--sampled", "to-check.csv", "--shift", "2000", "--radius", "500", "--json"]
    facts = json.loads(said(folder, "certify", *numbers, *options))
    assert facts["budgets"][0]["labels"] == json.loads(text)["most_wrong_of_others"]


def changed_line(**cells):
    def change(folder, lines):
        lines[2] |= cells
        write(folder, lines)

    return change


def other_file(folder, lines):
    people(161).to_csv(folder / "people.csv", index=False)


def other_labels(folder, lines):
    frame = people(160)
    row = int(lines[0]["row"]) - 1
    frame.loc[row, "hired"] = "no" if frame.hired[row] == "yes" else "yes"
    frame.to_csv(folder / "people.csv", index=False)


def twice(folder, lines):
    write(folder, [*lines, lines[0]])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (changed_line(checked_label=""), "has no checked_label; a sample is a random one only if"),
        (changed_line(checked_label="maybe"), "'maybe', which is none of the classes"),
        (changed_line(row="161"), "'161' is no training row"),
        (changed_line(row="x"), "'x' is no training row"),
        (twice, "is in the list twice"),
        (other_file, "was drawn from a file of 160 rows, and people.csv has 161"),
        (other_labels, "when the sample was drawn, and is"),
        (lambda folder, lines: (folder / "to-check.csv").write_text("row\n1\n"), "is no list of"),
    ],
)
def test_a_list_that_does_not_fit_is_refused(folder, change, says):
    change(folder, drawn(folder))
    read_it = ("sample", "read", "people.csv", "to-check.csv", *DATA[1:])
    for words in (read_it, ("certify", *DATA, "--sampled", "to-check.csv")):
        assert says in said(folder, *words, code=2)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--checks", "161"], "more than the 160 rows"),
        (["--checks", "0"], "--checks is too small"),
        (["--seed", "-1"], "--seed is too small"),
        (["--out", "people.csv"], "would overwrite the input"),
    ],
)
def test_a_sample_that_cannot_be_drawn_is_refused(folder, more, says):
    assert says in said(folder, "sample", "draw", *DATA, *more, code=2)


def test_rows_without_a_label_are_refused(folder):
    frame = people(160)
    frame.loc[4, "hired"] = None
    frame.to_csv(folder / "people.csv", index=False)
    assert "missing in row 5" in said(folder, "sample", "draw", *DATA, code=2)


def test_certificates_of_corrected_labels_are_verified_with_a_corrected_file(folder):
    lines = drawn(folder, 80)
    lines = answered(folder, other)
    words = ("certify", *DATA, "--sampled", "to-check.csv", "--certificates", "c.json")
    done = unswayed_here(*words, cwd=folder)
    assert done.returncode == 0, done.stderr
    rows = [lines[at]["row"] for at in (3, 11)]
    assert f"(rows {rows[0]}, {rows[1]})" in " ".join(done.stderr.split())
    table = pd.read_csv(folder / "people.csv")
    table.loc[[int(row) - 1 for row in rows], "hired"] = [
        lines[at]["checked_label"] for at in (3, 11)
    ]
    table.to_csv(folder / "corrected.csv", index=False)
    said(folder, "verify", "c.json", "--train", "corrected.csv")
