"""What the model says to whom stands beside how robust it is, in every output."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from tests.commands import CLASSES, NUMBERS, people, unswayed_here
from unswayed import CertifiedClassifier, LabelBias

ASK = ("certify", "people.csv", *CLASSES, "--groups", "city", "--budget", "2%", "--budget", "9")


@pytest.fixture(scope="module")
def answered(tmp_path_factory):
    """JSON, console and exported rows of one question about 400 people."""
    folder = tmp_path_factory.mktemp("people")
    people(400).to_csv(folder / "people.csv", index=False)
    ask = (*ASK, "--holdout", "30%")
    facts = json.loads(unswayed_here(*ask, "--json", "--out", "rows.csv", cwd=folder).stdout)
    console = unswayed_here(*ask, "--verbose", cwd=folder).stdout
    return facts, console, pd.read_csv(folder / "rows.csv"), people(400)


def shares(series):
    return series.value_counts(normalize=True).sort_index().tolist()


def test_class_balance_is_that_of_the_training_and_of_the_test_labels(answered):
    facts, _, rows, frame = answered
    train = frame["hired"].drop(rows["row"] - 1)
    assert [each["class"] for each in facts["balance"]] == ["no", "yes"]
    assert [each["train_share"] for each in facts["balance"]] == pytest.approx(shares(train))
    assert [each["test_share"] for each in facts["balance"]] == pytest.approx(shares(rows["label"]))
    assert sum(each["train"] for each in facts["balance"]) == facts["train_rows"]


def test_the_larger_class_is_the_best_answer_that_ignores_the_row(answered):
    facts, console, rows, _ = answered
    assert facts["majority_quality"] == pytest.approx(max(shares(rows["label"])))
    assert facts["majority"] == rows["label"].mode()[0]
    line = next(line for line in console.splitlines() if line.startswith("accuracy"))
    assert f"(always saying {facts['majority']}: {100 * max(shares(rows['label'])):.1f} %)" in line
    assert "training labels: " in line


def test_the_confusion_table_counts_labels_against_predictions(answered):
    facts, _, rows, _ = answered
    assert facts["confusion"] == pd.crosstab(rows["label"], rows["prediction"]).to_numpy().tolist()


def test_rates_per_predicted_class_are_those_of_the_exported_rows(answered):
    facts, console, rows, _ = answered
    for said in facts["predicted_classes"]:
        some = rows[rows["prediction"] == said["class"]]
        kept = [some["minimum_budget"] > each["labels"] for each in facts["budgets"]]
        assert said["rows"] == len(some)
        assert said["rates"] == pytest.approx([each.mean() for each in kept])
        assert said["robust"] == [each.sum() for each in kept]
        assert said["right"] == pytest.approx((some["label"] == said["class"]).mean())
    assert sum(each["rows"] for each in facts["predicted_classes"]) == len(rows)
    assert any(line.startswith("predicted") for line in console.splitlines())


def test_selection_rates_per_group_are_those_of_the_exported_rows(answered):
    facts, console, rows, _ = answered
    rates = (rows["prediction"] == "yes").groupby(rows["group_city"]).mean()
    (grouping,) = facts["groups"]
    assert [each["selection_rate"] for each in grouping["groups"]] == pytest.approx(rates.tolist())
    assert grouping["selection_gap"] == pytest.approx(rates.max() - rates.min())
    assert "predicted yes" in console


def test_numbers_have_no_classes_to_count(folder):
    done = unswayed_here(
        *("certify", "people.csv", *NUMBERS, "--shift", "500", "--radius", "50", "--json"),
        *("--groups", "city"),
        cwd=folder,
    )
    facts = json.loads(done.stdout)
    for key in ("balance", "majority", "majority_quality", "confusion", "predicted_classes"):
        assert facts[key] is None
    assert facts["groups"][0]["selection_gap"] is None


def test_without_test_labels_there_is_no_confusion_and_no_majority(folder):
    people(40, seed=5).drop(columns=["hired"]).to_csv(folder / "new.csv", index=False)
    done = unswayed_here(
        "certify", "people.csv", *CLASSES, "--test", "new.csv", "--json", cwd=folder
    )
    facts = json.loads(done.stdout)
    assert facts["confusion"] is None
    assert facts["majority_quality"] is None
    assert facts["balance"][0]["test_share"] is None
    assert facts["balance"][0]["train_share"] > 0
    words = ("certify", "people.csv", *CLASSES, "--test", "new.csv", "--verbose")
    said = unswayed_here(*words, cwd=folder)
    assert "training labels: " in said.stdout


def one_sided(n_rows=300, positives=0.06):
    """A label that is mostly "no" and that nothing predicts."""
    rng = np.random.default_rng(2)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n_rows),
            "sex": rng.choice(["f", "m"], n_rows),
            "granted": np.where(rng.random(n_rows) < positives, "yes", "no"),
        }
    )


def test_a_constant_classifier_is_warned_about_everywhere(tmp_path):
    one_sided().to_csv(tmp_path / "loans.csv", index=False)
    ask = ("certify", "loans.csv", "--label", "granted")
    done = unswayed_here(*ask, "--report", "r.html", cwd=tmp_path)
    assert "warning: everyone is told 'no'" in done.stderr
    assert "consider --threshold balanced" in done.stderr
    facts = json.loads(unswayed_here(*ask, "--json", cwd=tmp_path).stdout)
    kinds = [each["kind"] for each in facts["caveats"]]
    assert "constant-classifier" in kinds
    assert "no-better-than-majority" in kinds
    page = (tmp_path / "r.html").read_text()
    assert 'data-caveat="constant-classifier"' in page
    assert 'data-caveat="no-better-than-majority"' in page


def test_a_model_that_tells_classes_apart_has_no_such_warning(answered):
    facts, *_ = answered
    kinds = {each["kind"] for each in facts["caveats"]}
    assert not kinds & {"constant-classifier", "no-better-than-majority"}


def test_five_rows_of_one_class_are_chance_and_no_constant_classifier(tmp_path):
    one_sided().to_csv(tmp_path / "loans.csv", index=False)
    ask = ("certify", "loans.csv", "--label", "granted", "--holdout", "5", "--json")
    assert "constant-classifier" not in unswayed_here(*ask, cwd=tmp_path).stdout


def test_the_page_from_python_has_the_warning_in_the_words_of_python(tmp_path):
    frame = one_sided()
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=3))
    certs = model.fit(frame[["age"]], frame["granted"]).certify(frame[["age"]])
    certs.report(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert 'data-caveat="constant-classifier"' in page
    assert "threshold=&#34;balanced&#34;" in page
    assert "--threshold" not in page


def test_numbers_that_the_mean_predicts_as_well_are_warned_about(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(120, 41)), columns=[*map(str, range(40)), "income"])
    frame.to_csv(tmp_path / "noise.csv", index=False)
    done = unswayed_here(
        *("certify", "noise.csv", "--label", "income", "--shift", "1", "--radius", "1", "--json"),
        *("--holdout", "40%"),
        cwd=tmp_path,
    )
    facts = json.loads(done.stdout)
    assert facts["quality"] <= 0
    assert [each["kind"] for each in facts["caveats"]] == ["no-better-than-mean"]


def test_groups_and_classes_with_long_names_that_begin_alike_stay_apart(tmp_path):
    frame = people(200)
    start = "a very long name of a municipality in the northern part of the country, "
    middle = {name: f"{start}{name}{start}" for name in frame["city"].unique()}
    frame["city"] = frame["city"].map(middle)
    frame["hired"] = frame["hired"].map({"yes": start * 2 + "yes", "no": start * 2 + "no"})
    frame.to_csv(tmp_path / "people.csv", index=False)
    facts = json.loads(unswayed_here(*ASK, "--json", cwd=tmp_path).stdout)
    names = [each["group"] for each in facts["groups"][0]["groups"]]
    assert len(set(names)) == 3
    assert all(len(name) <= 60 for name in [*names, *facts["classes"]])
    assert facts["classes"][0].endswith("no")
    assert facts["classes"][1].endswith("yes")
