"""Two files, or two settings of one, on the same test rows."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from tests.commands import CLASSES, NUMBERS, people, unswayed_here
from unswayed.results.groups import paired_interval
from unswayed.words import signed


def _compared(folder, *options):
    done = unswayed_here("compare", *options, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _certified(folder, file, *options):
    done = unswayed_here("certify", file, *options, "--out", "one.csv", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), pd.read_csv(folder / "one.csv")


def test_both_sides_say_what_certify_says_of_each(folder):
    options = (*CLASSES, "--budget", "2%", "--budget", "9", "--groups", "gender")
    facts = _compared(
        folder, "people.csv", *options, "--against", "--alpha 300 --direction=up", "--out", "o.csv"
    )
    one, before = _certified(folder, "people.csv", *options)
    other, after = _certified(folder, "people.csv", *options, "--alpha", "300", "--direction", "up")
    for side, certified in (("first", one), ("second", other)):
        # What to do about few rows is another thing: this command has no --folds.
        for caveats, option in (
            (facts[side]["caveats"], "holdout"),
            (certified["caveats"], "folds"),
        ):
            for caveat in caveats:
                assert f"--{option}" in caveat.pop("option")
                caveat.pop("sentence")
        expected = {key: value for key, value in certified.items() if key != "passed"}
        assert facts[side] == expected
    for at, budget in enumerate(facts["budgets"]):
        assert budget["rates"] == [one["budgets"][at]["rate"], other["budgets"][at]["rate"]]
    kept = before["verdict"] == "robust", after["verdict"] == "robust"
    main = facts["budgets"][0]
    assert main["gained"] == (~kept[0] & kept[1]).sum()
    assert main["lost"] == (kept[0] & ~kept[1]).sum()
    assert main["both"] + main["neither"] + main["gained"] + main["lost"] == len(before)
    changed = before["prediction"] != after["prediction"]
    assert facts["changed"] == changed.sum() > 0
    table = pd.read_csv(folder / "o.csv")
    np.testing.assert_array_equal(table["prediction_changed"], changed)
    np.testing.assert_array_equal(table["minimum_budget_second"], after["minimum_budget"])
    groups = facts["groups"][0]
    assert [each["group"] for each in groups["groups"]] == ["female", "male"]
    assert groups["gaps"][0] == [one["groups"][0]["gaps"][0], other["groups"][0]["gaps"][0]]
    assert sum(each["changed"] for each in groups["groups"]) == changed.sum()
    assert all(row["prediction_changed"] for row in facts["rows"][: changed.sum()])


def test_rates_and_changes_carry_the_intervals_of_their_counts(folder):
    options = ("people.csv", *CLASSES, "--holdout", "40%", "--budget", "2%", "--groups", "gender")
    facts = _compared(folder, *options, "--against", "--alpha 300", "--out", "o.csv")
    table = pd.read_csv(folder / "o.csv")
    kept = [table[f"verdict_{side}"] == "robust" for side in ("first", "second")]
    right = [table[f"prediction_{side}"] == table["label"] for side in ("first", "second")]
    women = table["group_gender"] == "female"
    group = facts["groups"][0]["groups"][0]
    at_main = {key: group[key][0] for key in ("rates", "intervals", "within_chance")} | {
        "change_interval": group["change_intervals"][0]
    }
    for found, (one, other) in (
        (facts["budgets"][0], kept),
        (facts["accuracy"], right),
        (at_main, [each[women] for each in kept]),
    ):
        assert found["rates"] == [one.mean(), other.mean()]
        for each, ends in zip((one, other), found["intervals"], strict=True):
            theirs = binomtest(int(each.sum()), len(each)).proportion_ci(method="wilson")
            assert ends == pytest.approx([theirs.low, theirs.high])
        low, high = found["change_interval"]
        counts = [(one & other).sum(), (one & ~other).sum(), (~one & other).sum()]
        assert (low, high) == paired_interval(*counts, len(one) - sum(counts))
        assert found["within_chance"] is (low <= 0 <= high)
    low, high = facts["groups"][0]["gap_intervals"][0][0]
    assert 0 <= low <= facts["groups"][0]["gaps"][0][0] <= high


def test_console_and_page_say_how_sure_a_change_is(folder):
    options = ("people.csv", *CLASSES, "--groups", "gender", "--without", "city")
    done = unswayed_here("compare", *options, "--report", "c.html", cwd=folder)
    main, page = _compared(folder, *options)["budgets"][0], (folder / "c.html").read_text()
    ends = " to ".join(map(signed, main["change_interval"]))
    assert main["within_chance"]
    assert "at 1% a change this size is within chance" in done.stdout
    assert "Newcombe's for paired shares" in done.stdout
    assert f"95 % interval {ends}), which is within chance" in page.replace("&#43;", "+")
    assert ends in done.stdout


def test_a_model_without_a_column_is_the_one_that_ignores_it(folder):
    facts = _compared(folder, "people.csv", *CLASSES, "--without", "gender,city")
    other, _ = _certified(folder, "people.csv", *CLASSES, "--ignore", "gender", "--ignore", "city")
    assert facts["second"]["budgets"] == other["budgets"]
    assert facts["difference"] == "the same without gender, city"


def test_options_that_are_the_default_can_be_given_to_the_second(folder):
    facts = _compared(
        *(folder, "people.csv", *CLASSES, "--method", "box", "--against", "--method exact")
    )
    assert (facts["first"]["method"], facts["second"]["method"]) == ("box", "exact")
    assert facts["changed"] == 0


def test_people_see_rates_groups_and_rows(folder):
    done = unswayed_here(
        *("compare", "people.csv", *CLASSES, "--groups", "gender", "--against", "--alpha 1000"),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    for words in ("accuracy", "robust at 1%", "rows gained", "gender at 1%", "another prediction",
                  "the same with --alpha 1000", "rows that changed most", "→"):  # fmt: skip
        assert words in done.stdout


def test_two_files_with_the_same_rows_are_matched_by_place(folder):
    mended = people()
    mended.loc[:30, "hired"] = "yes"
    mended.to_csv(folder / "mended.csv", index=False)
    facts = _compared(folder, "people.csv", "mended.csv", *CLASSES)
    assert facts["names"] == ["people.csv", "mended.csv"]
    assert "row N of people.csv is taken to be row N of mended.csv" in facts["matched"]
    assert "'hired'" in facts["matched"]
    for name, side in (("people.csv", "first"), ("mended.csv", "second")):
        assert facts[side]["budgets"] == _certified(folder, name, *CLASSES)[0]["budgets"]


def test_two_files_with_other_rows_need_test_rows(folder):
    frame = people()
    frame.sample(frac=1, random_state=1).to_csv(folder / "shuffled.csv", index=False)
    frame[:-40].to_csv(folder / "shorter.csv", index=False)
    frame[-40:].to_csv(folder / "rows.csv", index=False)
    for name, words in (("shuffled.csv", "same order"), ("shorter.csv", "numbers of rows")):
        done = unswayed_here("compare", "people.csv", name, *CLASSES, cwd=folder)
        assert done.returncode == 2
        assert words in done.stderr
        assert "--test" in done.stderr
    facts = _compared(folder, "people.csv", "shorter.csv", *CLASSES, "--test", "rows.csv")
    assert facts["matched"] == "both certify the rows of rows.csv"
    assert facts["test_rows"] == 40


def test_numbers_have_changed_where_they_are_further_off_than_the_radius(folder):
    options = (*NUMBERS, "--shift", "2000", "--radius", "300")
    facts = _compared(folder, "people.csv", *options, "--without", "gender", "--out", "o.csv")
    table = pd.read_csv(folder / "o.csv")
    changed = (table["score_first"] - table["score_second"]).abs() > 300
    assert facts["changed"] == changed.sum() > 0
    done = unswayed_here("compare", "people.csv", *options[:-2], "--without", "gender", cwd=folder)
    assert done.returncode == 2
    assert "compare needs to know" in done.stderr


def test_the_page_is_one_file_that_runs_nothing_and_escapes_what_files_hold(folder):
    frame = people()
    nasty = "<img src=x onerror=alert(1)>"
    frame["city"] = np.where(frame["city"] == "Aachen", nasty, frame["city"])
    frame.to_csv(folder / "nasty.csv", index=False)
    done = unswayed_here(
        *("compare", "nasty.csv", *CLASSES, "--groups", "city", "--against", "--alpha 500"),
        *("--report", "page.html"),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    page = (folder / "page.html").read_text()
    assert nasty not in page
    assert "&lt;img src=x" in page
    assert "<script" not in page
    assert not re.search(r"(src|href)=\"?(https?:)?//", page)
    assert "default-src &#39;none&#39;" in page
    rates = re.findall(r"\d+\.\d %", done.stdout)
    assert rates
    assert all(rate in page for rate in rates)
    assert "unswayed compare nasty.csv" in page


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), ["nothing to compare", "--against", "--without"]),
        (("--against", "--alpha 1"), ["nothing to compare"]),
        (("--against", "--nonsense 1"), ["--against", "--nonsense"]),
        (("--against", "other.csv"), ["must hold options", "right after the first"]),
        (("--against", "--alpha 'x"), ["not a list of options"]),
        (("--against", "--alpha lots"), ["'lots'"]),
        (("--against", "--report r.html"), ["--report"]),
        (("--against", "--seed 4"), ["holds out other rows"]),
        (("--against", "--budget 1 --budget 2"), ["numbers of budgets"]),
        (("--against", "--test people.csv"), ["different files"]),
        (("--without", "gendr"), ["--without", "'gender'?"]),
        (("--without", "hired"), ["no feature 'hired'"]),
        (("--against", "--label gender"), ["classes 'no' and 'yes'", "'female' and 'male'"]),
        (("--against", "--label salary --shift 3 --radius 3"), ["a number", "the same kind"]),
        (("--against", "--alpha 9", "--report", "page.pdf"), ["--report", ".html"]),
        (("--against", "--alpha 9", "--out", "people.csv"), ["overwrite"]),
    ],
)
def test_what_cannot_be_compared_is_refused_in_a_line(folder, options, words):
    done = unswayed_here("compare", "people.csv", *CLASSES, *options, cwd=folder)
    assert done.returncode == 2, done.stdout
    assert done.stderr.count("\n") == 1
    for word in words:
        assert word in done.stderr


def test_undecided_rows_leave_rates_and_their_change_open(folder):
    done = unswayed_here(
        *("compare", "people.csv", *CLASSES, "--model", "logistic", "--C", "1", "--budget", "6"),
        *("--against", "--C 0.01", "--groups", "gender", "--json"),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    for each in facts["budgets"]:
        low, high = each["rates"], each["highest_rates"]
        assert low[0] < high[0]
        for at in (0, 1):
            ends = each["intervals"][at]
            assert ends[0] <= low[at] <= high[at] <= ends[1]
        ends = each["change_interval"]
        assert ends[0] <= low[1] - high[0] <= high[1] - low[0] <= ends[1]
