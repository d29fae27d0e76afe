"""``unswayed together``: one set of wrong labels for all test rows."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from tests.commands import CLASSES, NUMBERS, people, unswayed_here

QUICK = ("--time-limit", "0")


def asked(folder, *options):
    done = unswayed_here("together", "people.csv", *CLASSES, *options, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def decided(frame, held):
    """Predictions of the held-out rows by a model that shares no code with the program."""
    X = frame.drop(columns=["hired", "salary"])
    numbers = X.select_dtypes("number")
    train = ~held
    scaled = (numbers - numbers[train].mean()) / numbers[train].std(ddof=0)
    X = np.hstack([pd.get_dummies(X.drop(columns=numbers.columns)).to_numpy(float), scaled])
    y = (frame["hired"] == "yes").to_numpy(float)
    return Ridge(alpha=1.0).fit(X[train], y[train]).predict(X[held]) > 0.5


def test_the_labels_that_it_names_overturn_as_many_rows_as_it_says(folder):
    frame = pd.read_csv(folder / "people.csv")
    facts = asked(folder, "--budget", "2%", "--budget", "5%", "--holdout", "25%", *QUICK)
    rows = unswayed_here(
        "certify", "people.csv", *CLASSES, "--holdout", "25%", "--out", "o.csv", cwd=folder
    )
    assert rows.returncode == 0
    numbers = pd.read_csv(folder / "o.csv")["row"].to_numpy()
    held = np.zeros(len(frame), bool)
    held[numbers - 1] = True
    for each in facts["together"]["budgets"]:
        changed = frame.copy()
        for change in each["changes"]:
            assert frame.loc[change["row"] - 1, "hired"] == change["label"]
            assert not held[change["row"] - 1]
            changed.loc[change["row"] - 1, "hired"] = change["new label"]
        other = decided(frame, held) != decided(changed, held)
        assert len(each["changes"]) <= each["labels"]
        assert other.sum() == each["at_least"] == each["replayed"]
        assert sorted(np.flatnonzero(held)[other] + 1) == each["overturned"]
        assert each["at_least"] <= each["at_most"] <= each["one_at_a_time"]


def test_restrictions_count_no_more_than_all_and_ways_add_up(folder):
    whole = asked(folder, "--budget", "4%", "--time-limit", "20")["together"]["budgets"][0]
    assert whole["proven"]
    for options in (
        ("--only-rows", "gender == 'female'"),
        ("--turned", "up"),
        ("--turned", "down"),
    ):
        part = asked(folder, "--budget", "4%", *QUICK, *options)["together"]["budgets"][0]
        assert part["at_least"] <= whole["at_most"]
        assert part["rows"] <= whole["rows"]


def test_weights_of_rows_are_summed(folder):
    plain = asked(folder, "--budget", "4%", *QUICK)["together"]["budgets"][0]
    weighted = asked(
        *(folder, "--budget", "4%", *QUICK, "--row-weights", "education")
    )["together"]["budgets"][0]  # fmt: skip
    education = pd.read_csv(folder / "people.csv")["education"]
    chosen = education[np.array(weighted["overturned"]) - 1].sum()
    assert weighted["at_least"] == pytest.approx(chosen)
    assert weighted["at_most"] >= education[np.array(plain["overturned"]) - 1].sum()


def test_a_table_of_all_budgets_is_written_and_people_read_the_same(folder):
    done = unswayed_here(
        *("together", "people.csv", *CLASSES, "--budget", "2%", "--budget", "5%", *QUICK),
        *("--out", "labels.csv"),
        cwd=folder,
    )
    table = pd.read_csv(folder / "labels.csv")
    assert list(table.columns[:4]) == ["wrong labels", "row", "label", "new label"]
    assert set(table["wrong labels"]) == {"2%", "5%"}
    assert " of 24 test rows if up to 4 labels (2%) are wrong" in done.stdout
    assert "refitted on these labels, the model overturns" in done.stdout


def test_numbers_are_overturned_beyond_a_radius(folder):
    options = (*NUMBERS, "--shift", "3000", "--budget", "3%")
    done = unswayed_here("together", "people.csv", *options, cwd=folder)
    assert done.returncode == 2
    assert "--radius" in done.stderr
    done = unswayed_here(
        *("together", "people.csv", *options, "--radius", "300", *QUICK, "--json"), cwd=folder
    )
    found = json.loads(done.stdout)["together"]["budgets"][0]
    assert 0 < found["at_least"] == found["replayed"] <= found["at_most"]


def test_progress_goes_to_stderr_and_the_answer_to_stdout(folder, monkeypatch):
    monkeypatch.setattr("unswayed.cli.terminal._LOGGED", 0.0)
    words = ("together", "people.csv", *CLASSES, "--budget", "5%", *QUICK, "--json", "--verbose")
    done = unswayed_here(*words, cwd=folder)
    assert "5%: at most" in done.stderr
    assert "gap" in done.stderr
    json.loads(done.stdout)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--time-limit", "-1"), "--time-limit -1"),
        (("--only-rows", "gender == 'none'"), "holds for none of the 24 test rows"),
        (("--only-rows", "gendre == 'none'"), "did you mean 'gender'?"),
        (("--row-weights", "city"), "holds texts"),
        (("--method", "box"), "leave --method out"),
        (("--resolve", "exact"), "leave --resolve out"),
        (("--turned", "sideways"), "--turned"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_one_line(folder, options, said):
    done = unswayed_here("together", "people.csv", *CLASSES, *options, cwd=folder)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_no_wrong_labels_overturn_nothing(folder):
    facts = asked(folder, "--budget", "0")["together"]["budgets"][0]
    assert (facts["at_most"], facts["at_least"], facts["proven"]) == (0, 0, True)


def test_with_folds_the_named_labels_overturn_rows_of_every_fold_as_it_says(folder):
    frame = people(100)
    frame.to_csv(folder / "people.csv", index=False)
    options = ("--folds", "4", "--budget", "2", *QUICK)
    done = unswayed_here("together", "people.csv", *CLASSES, *options, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    (each,) = facts["together"]["budgets"]
    assert (facts["folds"], facts["together"]["rows"], facts["together"]["folds"]) == (4, 100, 4)
    assert each["at_least"] <= each["at_most"] < each["one_at_a_time"]
    assert each["at_least"] == len(each["overturned"]) == each["replayed"]

    def predictions(table):
        table.to_csv(folder / "people.csv", index=False)
        asked = ("certify", "people.csv", *CLASSES, "--folds", "4", "--out", "out.csv", "--quiet")
        assert unswayed_here(*asked, cwd=folder).returncode == 0
        return pd.read_csv(folder / "out.csv").set_index("row")

    before, other = predictions(frame), frame.copy()
    for change in each["changes"]:
        assert other.loc[change["row"] - 1, "hired"] == change["label"]
        other.loc[change["row"] - 1, "hired"] = change["new label"]
    turned = predictions(other)["prediction"] != before["prediction"]
    assert before.index[turned].tolist() == each["overturned"]
    assert before["fold"][turned].nunique() > 1
    frame.to_csv(folder / "people.csv", index=False)
    done = unswayed_here(
        "together", "people.csv", *CLASSES, *options, "--report", "t.html", cwd=folder
    )
    assert "acts on the models of all 4 folds at once" in done.stdout
    assert f"the models of all folds overturn {each['at_least']}: rows" in done.stdout
    assert (
        "One set of wrong labels acts on the models of all 4 folds"
        in (folder / "t.html").read_text()
    )
