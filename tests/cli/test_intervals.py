"""How sure rates and gaps are, in console, JSON and report."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from tests.commands import CLASSES, people, unswayed_here


@pytest.fixture
def lopsided(tmp_path):
    """A file whose test rows have a large, a middling and two small groups."""
    frame = people(400)
    frame["team"] = np.random.default_rng(0).choice(list("abcd"), 400, p=[0.6, 0.36, 0.03, 0.01])
    frame.to_csv(tmp_path / "people.csv", index=False)
    people(120, seed=8).assign(team=[*"bacad" * 2, *"bc" * 2, *"aab" * 34, *"ac" * 2]).to_csv(
        tmp_path / "new.csv", index=False
    )
    return tmp_path


ASKED = (
    *("certify", "people.csv", *CLASSES, "--ignore", "team"),
    *("--test", "new.csv", "--budget", "2%"),
)


def test_every_rate_has_the_interval_of_its_counts(lopsided):
    done = unswayed_here(
        *ASKED, "--budget", "7", "--groups", "team", "--out", "out.csv", "--json", cwd=lopsided
    )
    facts, table = json.loads(done.stdout), pd.read_csv(lopsided / "out.csv")
    for each in facts["budgets"]:
        theirs = binomtest(each["robust"], 120).proportion_ci(method="wilson")
        assert each["interval"] == pytest.approx([theirs.low, theirs.high])
    (grouping,) = facts["groups"]
    assert [each["group"] for each in grouping["groups"]] == list("abcd")
    for each in grouping["groups"]:
        rows = table[table["group_team"] == each["group"]]
        for at, budget in enumerate(facts["budgets"]):
            kept = int((rows["minimum_budget"] > budget["labels"]).sum())
            theirs = binomtest(kept, len(rows)).proportion_ci(method="wilson")
            assert each["intervals"][at] == pytest.approx([theirs.low, theirs.high])
    for gap, (low, high), within in zip(
        grouping["gaps"], grouping["gap_intervals"], grouping["within_chance"], strict=True
    ):
        assert 0 <= low <= gap <= high <= 1
        assert within is (low == 0)


def test_the_console_shows_intervals_and_says_which_gaps_are_within_chance(lopsided):
    done = unswayed_here(*ASKED, "--groups", "team", cwd=lopsided)
    facts = json.loads(unswayed_here(*ASKED, "--groups", "team", "--json", cwd=lopsided).stdout)
    low, high = facts["budgets"][0]["interval"]
    assert f"{100 * low:.1f} to {100 * high:.1f}" in done.stdout
    assert facts["groups"][0]["within_chance"] == [True]
    assert "at 2% a gap this size is within chance" in done.stdout
    assert "95 % confidence intervals" in done.stdout
    assert "allow for all 6 pairs" in done.stdout


def test_a_clear_gap_is_not_called_chance(tmp_path):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"sure": rng.integers(0, 2, 2000), "noise": rng.normal(size=2000)})
    chance = np.where(frame["sure"] == 1, 0.97, 0.52)
    frame["label"] = np.where(rng.random(2000) < chance, "yes", "no")
    frame.to_csv(tmp_path / "f.csv", index=False)
    asked = ("certify", "f.csv", "--label", "label", "--groups", "sure", "--budget", "3%")
    done = unswayed_here(*asked, "--json", cwd=tmp_path)
    (grouping,) = json.loads(done.stdout)["groups"]
    assert grouping["within_chance"] == [False]
    assert "within chance" not in unswayed_here(*asked, cwd=tmp_path).stdout


def test_one_group_has_no_gap_to_speak_of(lopsided):
    frame = pd.read_csv(lopsided / "new.csv").assign(team="a")
    frame.to_csv(lopsided / "new.csv", index=False)
    done = unswayed_here(*ASKED, "--groups", "team", cwd=lopsided)
    assert "within chance" not in done.stdout


def test_groups_of_few_rows_are_shown_and_warned_of_in_every_output(lopsided):
    done = unswayed_here(*ASKED, "--groups", "team,city", "--report", "r.html", cwd=lopsided)
    as_json = unswayed_here(*ASKED, "--groups", "team,city", "--json", cwd=lopsided)
    (caveat,) = [c for c in json.loads(as_json.stdout)["caveats"] if c["kind"] == "small-group"]
    assert "'d' (2), 'c' (6)" in caveat["text"]
    assert caveat["sentence"] in done.stderr.replace("\n", " ")
    assert 'data-caveat="small-group"' in (lopsided / "r.html").read_text()
    assert "few rows" in done.stdout


def test_the_gap_is_also_given_without_groups_of_few_rows(lopsided):
    facts = json.loads(unswayed_here(*ASKED, "--groups", "team", "--json", cwd=lopsided).stdout)
    (grouping,) = facts["groups"]
    rates = {each["group"]: each["rates"][0] for each in grouping["groups"] if not each["small"]}
    assert set(rates) == {"a", "b"}
    assert grouping["large_gaps"] == [pytest.approx(abs(rates["a"] - rates["b"]))]
    done = unswayed_here(*ASKED, "--groups", "team", cwd=lopsided)
    line = next(each for each in done.stdout.splitlines() if "of 30 rows or more" in each)
    assert f"{100 * grouping['large_gaps'][0]:.1f} pt" in line
