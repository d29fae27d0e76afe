"""``unswayed fairness``: ranges of rates and gaps, and limits that must be proven."""

import json
import math
from fractions import Fraction

import pandas as pd
import pytest

from tests.commands import CLASSES, NUMBERS, people, unswayed_here
from unswayed.study.joint import BROKEN, HOLDS, OPEN, Limit, Metric
from unswayed.words import number_end, range_text, share_end

QUICK = ("--time-limit", "0")
BY_GENDER = ("--groups", "gender", "--holdout", "30%", "--budget", "3%")


def run(folder, *options):
    return unswayed_here("fairness", "people.csv", *CLASSES, *QUICK, *options, cwd=folder)


def asked(folder, *options):
    done = run(folder, *options, "--json")
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def predicted(folder):
    done = unswayed_here(
        *("certify", "people.csv", *CLASSES, *BY_GENDER, "--out", "o.csv"), cwd=folder
    )
    assert done.returncode == 0
    return pd.read_csv(folder / "o.csv")


def test_values_are_those_of_the_predictions(folder, predicted):
    names = "accuracy,true_positive_rate_difference,demographic_parity_ratio"
    found = asked(folder, *BY_GENDER, "--metric", names)["fairness"]
    right = predicted["prediction"] == predicted["label"]
    assert found["overall"][0]["value"] == pytest.approx(right.mean())
    hits = predicted[predicted["label"] == "yes"].groupby("group_gender")["prediction"]
    rates = hits.apply(lambda said: (said == "yes").mean())
    chosen = predicted.groupby("group_gender")["prediction"].apply(
        lambda said: (said == "yes").mean()
    )
    (column,) = found["columns"]
    gap, ratio = column["metrics"]
    assert gap["value"] == pytest.approx(rates.max() - rates.min())
    assert ratio["value"] == pytest.approx(chosen.min() / chosen.max())
    by_group = {each["rate"]: each["groups"] for each in column["rates"]}
    assert set(by_group) == {"accuracy", "true_positive_rate", "selection_rate"}
    for each in by_group["selection_rate"]:
        assert each["value"] == pytest.approx(chosen[each["group"]])
        assert each["rows"] == (predicted["group_gender"] == each["group"]).sum()


def test_outer_ranges_hold_inner_ones_and_grow_with_the_budget(folder):
    found = asked(folder, *BY_GENDER, "--budget", "1")["fairness"]
    assert [each["labels"] for each in found["budgets"]] == [5, 1]
    lines = [*found["overall"], *found["columns"][0]["metrics"]]
    lines += [group for rate in found["columns"][0]["rates"] for group in rate["groups"]]
    assert len(lines) == 4
    for line in lines:
        for each in line["ranges"]:
            assert each["low"] <= each["inner_low"] <= line["value"] <= each["inner_high"]
            assert each["inner_high"] <= each["high"]
        many, one = line["ranges"]
        assert many["low"] <= one["inner_low"]
        assert one["inner_high"] <= many["high"]


def test_tables_and_text_have_the_same_ranges(folder):
    done = run(folder, *BY_GENDER, "--out", "ranges.csv")
    table = pd.read_csv(folder / "ranges.csv", keep_default_na=False)
    assert list(table["metric"]) == [
        "selection_rate", "demographic_parity_difference", "selection_rate", "selection_rate",
    ]  # fmt: skip
    for _, line in table.iterrows():
        assert range_text(line["low"], line["high"], share=True) in done.stdout
    assert "by gender" in done.stdout


def test_a_limit_that_is_not_proven_to_hold_ends_with_1(folder):
    (line,) = asked(folder, *BY_GENDER)["fairness"]["columns"][0]["metrics"]
    ends = line["ranges"][0]
    above = run(folder, *BY_GENDER, "--limit", str(ends["high"] + 0.001))
    assert above.returncode == 0
    assert "do not take demographic_parity_difference by gender above" in above.stdout
    below = run(folder, *BY_GENDER, "--limit", str(ends["inner_high"] - 0.001))
    assert below.returncode == 1
    assert "wrong labels can take demographic_parity_difference by gender to" in below.stdout


def test_limits_are_judged_exactly_where_they_are_met():
    gap = Limit(
        "0.3",
        Fraction("0.3"),
        Metric("selection_rate_difference", ("selection_rate",), "difference"),
    )
    met = math.nextafter(0.3, 1.0)  # the least double that is 3/10 or more

    def ends(low, high, inner_low, inner_high, proven):
        return {"low": low, "high": high, "inner_low": inner_low, "inner_high": inner_high,
                "proven_low": proven, "proven_high": proven}  # fmt: skip

    assert gap.judge(ends(0, met, 0, met, True), share=True) == HOLDS
    assert gap.judge(ends(0, 0.31, 0, 0.31, True), share=True) == BROKEN
    assert gap.judge(ends(0, 0.31, 0, 0.29, False), share=True) == OPEN
    ratio = Limit(
        "0.8", Fraction("0.8"), Metric("selection_rate_ratio", ("selection_rate",), "ratio")
    )
    assert ratio.judge(ends(0.8, 1, 0.8, 1, True), share=True) == HOLDS
    assert ratio.judge(ends(0.7, 1, 0.75, 1, False), share=True) == BROKEN
    assert ratio.judge(ends(0.7, 1, 0.85, 1, False), share=True) == OPEN


def test_ends_are_never_rounded_to_less_than_is_proven():
    assert share_end(0.12341, 1) == "0.1235"
    assert share_end(0.12349, -1) == "0.1234"
    assert number_end(123456.7, 1) == "123,457"
    assert number_end(-123456.7, 1) == "-123,456"
    assert range_text(1 / 3, 2 / 3, share=True, outer=False) == "0.3334 to 0.6666"


def test_a_value_that_is_reached_alone_is_one_number():
    assert range_text(581.7801, 581.7801, share=False, outer=False) == "581.78"
    assert range_text(1.0, 0.0, share=True, outer=False) == "unknown"


def test_what_rounding_hides_of_numbers_does_not_break_a_limit():
    gap = Limit("4", Fraction(4), Metric("mean_prediction_difference", (), "difference"))
    found = {"high": 4.000001, "inner_high": 3.999999, "proven_high": True}
    assert gap.judge(found, share=False) == OPEN


def test_a_limit_that_is_broken_before_any_label_is_wrong_says_so(folder):
    limits = asked(folder, *BY_GENDER, "--limit", "0.01")["fairness"]["limits"]
    assert "above 0.01 already" in limits[0]["sentence"]
    assert limits[0]["sentence"].startswith("at 3%: ")


def test_ranges_of_which_nothing_is_known_have_a_page_too(folder):
    table = pd.read_csv(folder / "people.csv")
    table["twin"] = 1e6 * table["education"] + 1e-3 * table.index
    table["third"] = table["twin"] + table["education"]
    table.to_csv(folder / "twins.csv", index=False)
    done = unswayed_here(
        *("fairness", "twins.csv", *NUMBERS, "--shift", "3000", *BY_GENDER, "--alpha", "0"),
        *("--report", "r.html"),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    assert "unknown to unknown" in done.stdout
    assert "nan" not in done.stdout
    assert (folder / "r.html").exists()


def test_numbers_have_means_and_their_gap(folder):
    done = unswayed_here(
        *("fairness", "people.csv", *NUMBERS, "--shift", "3000", *BY_GENDER, "--json"), cwd=folder
    )
    found = json.loads(done.stdout)["fairness"]
    (gap,) = found["columns"][0]["metrics"]
    means = [group["value"] for group in found["columns"][0]["rates"][0]["groups"]]
    assert gap["metric"] == "mean_prediction_difference"
    assert gap["value"] == pytest.approx(max(means) - min(means))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "name a column of them with --groups"),
        (("--groups", "gendre"), "did you mean 'gender'?"),
        ((*BY_GENDER, "--metric", "selektion_rate"), "did you mean 'selection_rate'?"),
        ((*BY_GENDER, "--metric", "mean_prediction"), "is about predicted numbers"),
        ((*BY_GENDER, "--metric", "accuracy", "--test", "bare.csv"), "has no column 'hired'"),
        ((*BY_GENDER, "--only-rows", "gender == 'male'"), "'gender' is 'male' in all"),
        ((*BY_GENDER, "--only-rows", "gender == 'x'"), "holds for none"),
        (
            (*BY_GENDER, "--metric", "true_positive_rate_ratio", "--only-rows", "hired == 'no'"),
            "the group 'female' of 'gender' has none",
        ),
        (
            (*BY_GENDER, "--metric", "selection_rate_ratio", "--only-rows", "education < 10"),
            "a denominator that is 0 for some admissible labels",
        ),
        ((*BY_GENDER, "--limit", "a fifth"), "write 0.2, or 20%"),
        ((*BY_GENDER, "--metric", "accuracy", "--limit", "0.2"), "no such --metric"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_one_line(folder, options, said):
    frame = pd.read_csv(folder / "people.csv")
    frame.drop(columns="hired").head(80).to_csv(folder / "bare.csv", index=False)
    if "bare.csv" in options:
        options = [each for each in options if each not in ("--holdout", "30%")]
    done = run(folder, *options)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_small_groups_are_told_of_an_option_that_there_is(folder):
    found = asked(folder, "--groups", "gender", "--holdout", "20")
    (caveat,) = [each for each in found["caveats"] if each["kind"] == "small-group"]
    assert "--holdout" in caveat["sentence"]
    assert "--folds" not in caveat["sentence"]


def with_one_person(folder):
    """Let one test row be a group of its own, and name the column."""
    out = unswayed_here(
        *("certify", "people.csv", *CLASSES, *BY_GENDER, "--out", "o.csv"), cwd=folder
    )
    assert out.returncode == 0
    alone = pd.read_csv(folder / "o.csv")["row"].iloc[0] - 1
    frame = pd.read_csv(folder / "people.csv")
    frame["region"] = frame["gender"].map({"female": "north", "male": "south"})
    frame.loc[alone, "region"] = "west"
    frame.to_csv(folder / "people.csv", index=False)
    return ("--groups", "region", "--ignore", "region", "--holdout", "30%", "--budget", "3%")


def test_a_group_of_one_person_makes_no_headline_and_stays_in_the_table(folder):
    options = with_one_person(folder)
    done = run(folder, *options, "--report", "page.html", "--json")
    (column,) = json.loads(done.stdout)["fairness"]["columns"]
    (gap,) = column["metrics"]
    assert gap["small_groups"] == ["west"]
    rates = {each["group"]: each for each in column["rates"][0]["groups"]}
    assert [name for name, each in rates.items() if each["small"]] == ["west"]
    large = gap["large"]
    assert large["rows"] == gap["rows"] - 1
    apart = abs(rates["north"]["value"] - rates["south"]["value"])
    assert large["value"] == pytest.approx(apart)
    assert large["value"] < gap["value"]  # one person's rate is 0 or 1
    page = (folder / "page.html").read_text()
    answer = page[page.index('id="answer"') : page.index('id="overall-title"')]
    assert f"<strong>{100 * large['value']:.1f} points</strong>" in answer
    assert "Smaller groups are left out of this: west. With them" in answer
    assert f"is {100 * gap['value']:.1f} points and stays within" in answer
    shown = run(folder, *options).stdout
    assert gap["ranges"][0]["text"] in shown
    assert "groups of 30 rows or more" in shown


def test_without_two_large_groups_a_rate_of_all_rows_is_the_headline(folder):
    run(folder, "--groups", "gender", "--holdout", "40", "--report", "page.html")
    page = (folder / "page.html").read_text()
    headline = page[page.index('class="headline"') :].split("</p>", 1)[0]
    assert "The share predicted yes is" in headline
    assert "Counted among 40 test rows" in page
    assert "This is no gap by gender" in page


def test_with_folds_rates_are_of_every_row_and_metrics_that_need_their_labels_are_refused(folder):
    people(100).to_csv(folder / "people.csv", index=False)
    options = ("people.csv", *CLASSES, "--folds", "3", "--groups", "gender", "--budget", "2")
    done = unswayed_here("fairness", *options, *QUICK, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["fairness"]
    certified = unswayed_here("certify", *options, "--out", "out.csv", "--quiet", cwd=folder)
    assert certified.returncode == 0, certified.stderr
    table = pd.read_csv(folder / "out.csv")
    (rate,) = found["overall"]
    assert (rate["rows"], found["folds"]) == (100, 3)
    assert rate["value"] == pytest.approx((table["prediction"] == "yes").mean())
    ends = rate["ranges"][0]
    assert ends["low"] <= ends["inner_low"] < rate["value"] < ends["inner_high"] <= ends["high"]
    for name in ("accuracy", "true_positive_rate", "equalized_odds_difference"):
        done = unswayed_here("fairness", *options, "--metric", name, cwd=folder)
        assert done.returncode == 2
        assert f"--metric {name} compares predictions with the labels of the same" in done.stderr
        assert done.stderr.count("\n") == 1
