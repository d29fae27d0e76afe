"""``unswayed review``: a plan, the reviewers' file, and the model after that."""

import csv
import json

import numpy as np
import pandas as pd
import pytest

from tests.commands import CLASSES, NUMBERS, people, unswayed_here

OTHER = {"yes": "no", "no": "yes"}
ASKED = (*CLASSES, "--holdout", "25%", "--budget", "4%")


@pytest.fixture
def planned(folder):
    """A file with gaps, so that rows of the file and training rows differ, and its plan."""
    frame = people()
    frame.loc[[3, 50, 51, 120], "city"] = None
    frame.to_csv(folder / "people.csv", index=False)
    done = run(folder, "plan", "people.csv", "--labels", "12", "--out", "review.csv")
    assert done.returncode == 0, done.stderr
    return folder


def run(folder, *command, options=(*ASKED, "--missing", "drop")):
    return unswayed_here("review", *command, *options, cwd=folder)


def answer(folder, rule, name="answers.csv", delimiter=","):
    """Fill in what reviewers find; None leaves a label unchecked."""
    with (folder / "review.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for at, row in enumerate(rows):
        row["checked_label"] = rule(at, row["label"]) or ""
    with (folder / name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0], delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return rows


def test_the_reviewers_file_numbers_rows_as_the_users_file_does(planned):
    review, frame = pd.read_csv(planned / "review.csv"), pd.read_csv(planned / "people.csv")
    assert len(review) == 12
    assert review["checked_label"].isna().all()
    for _, line in review.iterrows():
        row = frame.iloc[line["row"] - 1]
        assert line["label"] == row["hired"]
        for name in ("gender", "city", "education", "interview score", "salary"):
            assert line[name] == row[name]


def test_what_is_promised_is_kept_when_all_labels_turn_out_to_be_right(planned):
    plan = json.loads(run(planned, "plan", "people.csv", "--labels", "12", "--json").stdout)
    answer(planned, lambda _, label: label)
    done = run(planned, "apply", "people.csv", "answers.csv", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["review"]
    assert (found["checked"], found["corrected"], found["other_predictions"]) == (12, [], 0)
    before, after = found["budgets"][0]["robust"]
    assert before == plan["review"]["robust_after"][0]
    assert after >= plan["review"]["robust_after"][-1]
    assert plan["review"]["robust_after"][-1] > before
    curve = plan["review"]["robust_after"]
    assert curve == sorted(curve)
    assert len(curve) == len(plan["review"]["random"]) == len(plan["review"]["witness"]) == 13


def test_corrected_labels_are_written_and_nothing_else_changes(planned):
    rows = answer(planned, lambda at, label: OTHER[label] if at % 4 == 0 else label, delimiter=";")
    done = run(planned, "apply", "people.csv", "answers.csv", "--out", "corrected.csv", "--json")
    found = json.loads(done.stdout)["review"]
    assert len(found["corrected"]) == 3
    old = (planned / "people.csv").read_text().splitlines()
    new = (planned / "corrected.csv").read_text().splitlines()
    other = [at for at, (a, b) in enumerate(zip(old, new, strict=True)) if a != b]
    assert other == sorted(int(row["row"]) for at, row in enumerate(rows) if at % 4 == 0)
    for at in other:
        assert old[at].rsplit(",", 1)[0] == new[at].rsplit(",", 1)[0]
    # The model after that is the one of the corrected file, without the checked labels.
    again = json.loads(
        unswayed_here(
            *("certify", "corrected.csv", *ASKED, "--missing", "drop", "--json"), cwd=planned
        ).stdout
    )
    assert found["quality"][1] == pytest.approx(again["quality"])
    assert found["budgets"][0]["robust"][1] >= again["budgets"][0]["robust"]


def test_a_second_round_leaves_out_what_was_checked(planned):
    rows = answer(planned, lambda at, label: OTHER[label] if at == 0 else label if at < 6 else None)
    assert run(planned, "apply", "people.csv", "answers.csv", "--out", "c.csv").returncode == 0
    done = run(planned, "plan", "c.csv", "--exclude", "answers.csv", "--json")
    found = json.loads(done.stdout)["review"]
    assert found["checked_before"] == 6
    checked = {int(row["row"]) for row in rows[:6]}
    assert not checked & {each["row"] for each in found["labels"]}


@pytest.mark.parametrize(
    ("change", "command", "said"),
    [
        (
            lambda row: row | {"checked_label": "maybe"},
            ("apply", "people.csv"),
            "say 'no' or 'yes'",
        ),
        (lambda row: row | {"row": "4"}, ("apply", "people.csv"), "misses a value"),
        (lambda row: row | {"row": "9999"}, ("apply", "people.csv"), "from 1 to 240"),
        (
            lambda row: row | {"label": OTHER[row["label"]]},
            ("apply", "people.csv"),
            "when the plan",
        ),
        (lambda row: row | {"checked_label": ""}, ("apply", "people.csv"), "no label was checked"),
        (
            lambda row: row | {"checked_label": OTHER[row["label"]]},
            ("plan", "people.csv", "--exclude"),
            "correct the file first",
        ),
    ],
)
def test_answers_that_do_not_fit_the_file_are_refused(planned, change, command, said):
    rows = answer(planned, lambda _, label: label)
    pd.DataFrame([change(row) for row in rows[:1]]).to_csv(planned / "answers.csv", index=False)
    done = run(planned, *command, "answers.csv")
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_held_out_rows_are_named_where_another_split_is_asked_for(planned):
    answer(planned, lambda _, label: label)
    done = run(planned, "apply", "people.csv", "answers.csv", "--seed", "5")
    assert done.returncode == 2
    assert "is held out as a test row" in done.stderr


def test_two_reviewers_may_not_disagree(planned):
    answer(planned, lambda _, label: label)
    answer(planned, lambda _, label: OTHER[label], "others.csv")
    done = run(planned, "apply", "people.csv", "answers.csv", "others.csv")
    assert done.returncode == 2
    assert "settle which is right" in done.stderr


def test_an_error_rate_asks_for_an_estimate_beside_what_is_proven(planned):
    command = ("plan", "people.csv", "--labels", "12")
    assert json.loads(run(planned, *command, "--json").stdout)["review"]["expected"] is None
    options = ("--error-rate", "30%", "--report", "r.html")
    facts = json.loads(run(planned, *command, *options, "--json").stdout)["review"]
    estimate, points = facts["expected"], facts["points"]
    assert (points[0], points[-1]) == (0, 12)
    assert (estimate["mean"][0], estimate["spread"][0]) == (facts["robust_after"][0], 0)
    assert max(estimate["spread"]) > 0
    shown = run(planned, *command, *options).stdout
    assert "estimate, no proof: 30% of the checked labels drawn wrong" in " ".join(shown.split())
    assert f"{estimate['mean'][-1]:.1f} ± {estimate['spread'][-1]:.1f}" in shown
    assert f"{estimate['mean'][-1]:.1f} ± " in (planned / "r.html").read_text()
    done = run(planned, *command, "--error-rate", "often")
    assert done.returncode == 2
    assert "--error-rate 'often' is not a share" in done.stderr


def test_costs_and_batches(planned):
    done = run(
        *(planned, "plan", "people.csv", "--labels", "9", "--per-reviewer", "4"),
        *("--costs", "education", "--cost-limit", "80", "--out", "r.csv", "--json"),
    )
    found, review = json.loads(done.stdout)["review"], pd.read_csv(planned / "r.csv")
    assert found["cost"] == review["cost"].sum() <= 80
    assert (review["cost"] == review["education"]).all()
    assert list(review["batch"]) == [at // 4 + 1 for at in range(len(review))]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--labels", "-1"), "--labels -1"),
        (("--per-reviewer", "0"), "--per-reviewer 0"),
        (("--cost-limit", "-1"), "--cost-limit -1"),
        (("--costs", "city"), "holds texts"),
        (("--budget", "2%"), "one budget"),
        (("--out", "plan.json"), "must end in .csv"),
        (("--out", "people.csv"), "would overwrite the input"),
        (("--exclude", "none.csv"), "there is no file none.csv"),
    ],
)
def test_what_cannot_be_planned_is_refused_in_one_line(folder, options, said):
    done = run(folder, "plan", "people.csv", *options, options=ASKED)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_numbers_and_parquet_go_the_same_way(folder):
    frame = people()
    frame.to_parquet(folder / "people.parquet")
    options = (*NUMBERS, "--shift", "2000", "--radius", "250", "--budget", "3%")
    done = run(
        *(folder, "plan", "people.parquet", "--labels", "5", "--output", "review.csv"),
        options=options,
    )
    assert done.returncode == 0, done.stderr
    rows = answer(folder, lambda at, label: str(float(label) + 500) if at == 2 else label)
    done = run(
        *(folder, "apply", "people.parquet", "answers.csv", "--out", "c.parquet"), options=options
    )
    assert done.returncode == 0, done.stderr
    assert "5 labels checked, 1 of them corrected" in done.stdout
    after = pd.read_parquet(folder / "c.parquet")
    at = int(rows[2]["row"]) - 1
    assert after.loc[at, "salary"] == frame.loc[at, "salary"] + 500
    assert np.flatnonzero(after["salary"] != frame["salary"]).tolist() == [at]


def test_every_sign_but_the_labels_is_copied_from_a_file_of_any_kind(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=200).round(3)
    frame = pd.DataFrame(
        {
            "row": ['n, "q"\nline' if at % 7 == 0 else "=cmd" for at in range(200)],
            "x": x,
            "checked_label": np.arange(200) % 5,
            "label": np.where(x + rng.normal(size=200) > 0, "-x", "@y"),
        }
    )
    path = tmp_path / "h.csv"
    frame.to_csv(path, index=False, sep=";", lineterminator="\r\n", encoding="utf-8-sig")
    given = path.read_bytes()
    options = ("--label", "label", "--ignore", "row", "--delimiter", ";", "--budget", "5%")
    done = run(tmp_path, "plan", "h.csv", "--labels", "6", "--out", "review.csv", options=options)
    assert done.returncode == 0, done.stderr
    other = {"'-x": "@y", "'@y": "'-x"}  # as the file for spreadsheets writes them
    rows = answer(tmp_path, lambda at, label: other[label] if at < 3 else label)
    done = run(tmp_path, "apply", "h.csv", "answers.csv", "--out", "c.csv", options=options)
    assert "6 labels checked, 3 of them corrected" in done.stdout, done.stderr
    after = pd.read_csv(tmp_path / "c.csv", sep=";", encoding="utf-8-sig")
    changed = np.flatnonzero(after["label"] != frame["label"]) + 1
    assert sorted(changed) == sorted(int(row["row"]) for row in rows[:3])
    after["label"] = frame["label"]
    after.to_csv(path, index=False, sep=";", lineterminator="\r\n", encoding="utf-8-sig")
    assert path.read_bytes() == given
    assert len((tmp_path / "c.csv").read_bytes()) == len(given)
