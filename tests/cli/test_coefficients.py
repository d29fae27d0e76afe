"""``unswayed coefficients``: units, base levels, names, and what is not identified."""

import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.linear_model import LinearRegression

from tests.commands import CLASSES, NUMBERS, people, unswayed_here

WEIGHTS = ("--weights", "counts")
SHIFT = ("--shift", "2000", "--budget", "5")


def asked(folder, *options, file="people.csv", of=(*NUMBERS, *SHIFT)):
    done = unswayed_here("coefficients", file, *of, *options, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def by_name(facts):
    return {each["name"]: each for each in facts["coefficients"]}


def design(frame):
    """Treatment coding from the most frequent levels, numbers in their own units."""
    columns = {}
    for name in ("gender", "city"):
        base = frame[name].value_counts().idxmax()
        for level in sorted(set(frame[name]) - {base}):
            columns[f"{name} = {level}"] = (frame[name] == level).astype(float)
    return pd.DataFrame(columns | {c: frame[c] for c in ("education", "interview score")})


def test_least_squares_is_that_of_treatment_coding_in_the_units_of_the_file(folder):
    facts, frame = asked(folder, "--alpha", "0"), people()
    X = design(frame)
    model = LinearRegression().fit(X, frame["salary"])
    found = by_name(facts)
    assert set(found) == set(X.columns)
    for name, coefficient in zip(X.columns, model.coef_, strict=True):
        assert found[name]["value"] == pytest.approx(coefficient, rel=1e-9)
        assert found[name]["low"] < coefficient < found[name]["high"]
    assert facts["intercept"]["value"] == pytest.approx(model.intercept_, rel=1e-9)
    assert "every number 0" in facts["intercept"]["meaning"]


def test_ranges_and_minimum_budgets_are_those_of_the_closed_form(folder):
    """Influence of each label on each contrast, sorted: shares no code with the program."""
    facts, frame = asked(folder, "--alpha", "0"), people()
    X = design(frame).to_numpy()
    influence = np.linalg.pinv(np.column_stack((X, np.ones(len(X)))))
    found = [*by_name(facts).values(), facts["intercept"]]
    names = [*design(frame).columns, "(intercept)"]
    for name, z in zip(names, influence, strict=True):
        each = next(row for row in found if row["name"] == name)
        reach = 2000 * np.sort(np.abs(z))[::-1]
        value = z @ frame["salary"]
        assert each["low"] == pytest.approx(value - reach[:5].sum(), rel=1e-6)
        assert each["high"] == pytest.approx(value + reach[:5].sum(), rel=1e-6)
        over = np.flatnonzero(np.cumsum(reach) >= abs(value))
        assert each["minimum_budget"] == (over[0] + 1 if len(over) else None)


def test_standardised_differs_by_the_standard_deviation_and_in_no_verdict(folder):
    plain, standard = asked(folder), asked(folder, "--standardised")
    scale = people()["education"].std(ddof=0)
    a, b = by_name(plain)["education"], by_name(standard)["education"]
    assert b["value"] == pytest.approx(a["value"] * scale)
    assert (a["per"], b["per"]) == ("1", "1 sd")
    assert "at its mean" in standard["intercept"]["meaning"]
    for name, each in by_name(plain).items():
        other = by_name(standard)[name]
        assert (each["verdict"], each["minimum_budget"]) == (
            other["verdict"], other["minimum_budget"],
        )  # fmt: skip


def test_ends_of_ranges_are_rounded_outwards(folder):
    plain, standard = asked(folder), asked(folder, "--standardised")
    done = unswayed_here(
        *("coefficients", "people.csv", *NUMBERS, *SHIFT, "--certificates", "c.json"), cwd=folder
    )
    assert done.returncode == 0
    recipe = json.loads((folder / "c.json").read_text())["recipe"]["features"]
    scales = {each["column"]: each.get("scale", 1.0) for each in recipe}
    for name in ("education", "interview score"):
        a, b = by_name(plain)[name], by_name(standard)[name]
        scale = Fraction(scales[name])
        assert Fraction(a["low"]) * scale <= Fraction(b["low"])
        assert Fraction(a["high"]) * scale >= Fraction(b["high"])


def test_each_category_has_a_base_level_and_each_question_is_counted_once(folder):
    facts, frame = asked(folder), people()
    assert facts["bases"] == {
        name: frame[name].value_counts().idxmax() for name in ("gender", "city")
    }
    assert facts["total"] == 1 + 2 + 2
    assert facts["kept"] == sum(each["keeps_sign"] for each in facts["coefficients"])


def test_another_base_level_turns_the_sign_and_the_range_around(folder):
    one = by_name(asked(folder, "--base", "gender=male"))["gender = female"]
    two = by_name(asked(folder, "--base", "gender = female"))["gender = male"]
    assert (one["base"], two["base"]) == ("male", "female")
    assert one["value"] == pytest.approx(-two["value"])
    assert one["low"] == pytest.approx(-two["high"])
    assert one["minimum_budget"] == two["minimum_budget"]


def test_names_with_equals_signs_and_two_bases_at_once(folder):
    frame = people().rename(columns={"city": "town=city"})
    frame["town=city"] = frame["town=city"].str.replace("Aachen", "a=b")
    frame.to_csv(folder / "odd.csv", index=False)
    facts = asked(folder, "--base", "town=city=a=b,gender=male", file="odd.csv")
    assert facts["bases"] == {"gender": "male", "town=city": "a=b"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--base", "gendre=male"), "there is no category 'gendre'; did you mean 'gender'?"),
        (("--base", "gender=mal"), "no level 'mal' in the training rows; did you mean 'male'?"),
        (("--base", "gender=x"), "the levels are 'female', 'male'"),
        (("--base", "education=12"), "holds numbers, which have no levels"),
        (("--base", "gender"), "write COLUMN=LEVEL"),
        (("--coefficients", "educaton"), "did you mean 'education'?"),
        (("--coefficients", "zz*"), "the columns are 'gender'"),
        (("--base", "gender=male", "--coefficients", "gender = male"), "is the base level"),
    ],
)
def test_unknown_names_are_refused_with_what_was_meant(folder, options, said):
    done = unswayed_here("coefficients", "people.csv", *NUMBERS, *SHIFT, *options, cwd=folder)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_patterns_choose_columns_levels_and_the_intercept(folder):
    facts = asked(folder, "--coefficients", "edu*,city")
    assert {each["column"] for each in facts["coefficients"]} == {"education", "city"}
    assert facts["intercept"] is None
    everything = by_name(asked(folder))
    for name, each in by_name(facts).items():
        for end in ("value", "low", "high"):
            assert each[end] == pytest.approx(everything[name][end], rel=1e-12)
        assert each["minimum_budget"] == everything[name]["minimum_budget"]
    base = ("--base", "city=Aachen")
    facts = asked(folder, *base, "--coefficients", "city = B*,intercept")
    assert list(by_name(facts)) == ["city = Bergen"]
    assert facts["intercept"]["name"] == "(intercept)"


def test_a_person_reads_the_outcome_its_unit_and_the_positive_class(folder):
    done = unswayed_here("coefficients", "people.csv", *NUMBERS, *SHIFT, cwd=folder)
    assert "changes of salary, in its own units: per unit of a number" in done.stdout
    assert "base levels: gender = " in done.stdout
    assert "(intercept): the prediction for a row with every category" in done.stdout
    done = unswayed_here("coefficients", "people.csv", *CLASSES, cwd=folder)
    assert "hired: classification, positive: yes" in done.stdout
    assert "changes of a score that is 0 for 'no' and 1 for 'yes'" in done.stdout


def test_with_only_the_budget_is_also_a_share_of_the_labels_that_may_be_wrong(folder):
    only = ("--only", "gender == 'male'", "--budget", "5%")
    n_male = int((people()["gender"] == "male").sum())
    done = unswayed_here(
        "coefficients", "people.csv", *NUMBERS, "--shift", "100", *only, cwd=folder
    )
    share = f"{100 * 12 / n_male:.1f} % of the {n_male} that may be wrong"
    assert f"if up to 12 labels (5% of all, {share}) are wrong" in done.stdout


# --- columns that depend on one another ------------------------------------------------------


@pytest.fixture
def twice(folder):
    """A column twice, in other units, and one that is the same wherever the weight is not 0."""
    frame = people()
    frame["education in months"] = 12 * frame["education"]
    frame["counts"] = np.arange(len(frame)) > 5
    frame["country"] = np.where(frame["counts"], 7, 8)
    frame.to_csv(folder / "twice.csv", index=False)
    return folder


def test_what_is_not_identified_is_said_and_not_certified(twice):
    facts = asked(twice, "--alpha", "0", *WEIGHTS, file="twice.csv")
    found = by_name(facts)
    free = {"education", "education in months", "country"}
    assert set(facts["not_identified"]) == free
    for name, each in found.items():
        assert (each["verdict"] == "not identified") == (name in free)
        assert (each["value"] is None) == (name in free)
        assert not (each["keeps_sign"] and name in free)
    assert facts["kept"] <= facts["total"] - 3
    kinds = [each["kind"] for each in facts["caveats"]]
    assert kinds.count("collinear-columns") == 1
    done = unswayed_here(
        *("coefficients", "twice.csv", *NUMBERS, *SHIFT, "--alpha", "0", *WEIGHTS), cwd=twice
    )
    assert "'education' and 'education in months' depend on one another" in done.stderr
    assert "3 not identified" in done.stdout


def test_with_a_penalty_dependent_columns_are_certified_and_named(twice):
    facts = asked(twice, *WEIGHTS, file="twice.csv")
    assert facts["not_identified"] == ["country"]
    (caveat,) = [each for each in facts["caveats"] if each["kind"] == "collinear-columns"]
    assert "the penalty, not the data, divides their effect" in caveat["sentence"]


def test_levels_of_categories_are_no_collinear_columns(folder):
    for alpha in ("0", "1"):
        facts = asked(folder, "--alpha", alpha)
        assert (facts["not_identified"], facts["caveats"]) == ([], [])


def test_a_category_that_follows_from_another_is_named(folder):
    frame = people()
    frame["country"] = frame["city"].map({"Aachen": "D", "Bergen": "N", "Córdoba": "E"})
    frame.to_csv(folder / "nested.csv", index=False)
    facts = asked(folder, "--alpha", "0", file="nested.csv")
    free = {each["column"] for each in facts["coefficients"] if each["verdict"] == "not identified"}
    assert free == {"city", "country"}
    assert len(facts["caveats"]) == 2  # each level with its country


def test_nothing_identified_means_nothing_to_certify(folder):
    pd.DataFrame({"a": [1, 2, 3, 4], "b": [2, 4, 6, 8], "y": [1.0, 3, 2, 5]}).to_csv(
        folder / "two.csv", index=False
    )
    options = ("coefficients", "two.csv", "--label", "y", "--shift", "1", "--alpha", "0")
    done = unswayed_here(*options, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "0 of 2 coefficients keep their sign" in done.stdout
    done = unswayed_here(*options, "--coefficients", "a,b", "--certificates", "c.json", cwd=folder)
    assert done.returncode == 2
    assert "no coefficient is identified" in done.stderr


def test_the_table_has_the_intercept_last_and_empty_cells_where_nothing_is_certified(twice):
    unswayed_here(
        *("coefficients", "twice.csv", *NUMBERS, *SHIFT, "--alpha", "0", "--out", "c.csv"),
        *WEIGHTS,
        cwd=twice,
    )
    table = pd.read_csv(twice / "c.csv")
    assert table["name"].iloc[-1] == "(intercept)"
    free = table["verdict"] == "not identified"
    assert free.sum() == 4  # the prediction at country 0 depends on that of a country
    assert table.loc[free, ["value", "low", "high"]].isna().all(axis=None)


def test_levels_that_look_alike_and_levels_with_spaces_are_told_apart(folder):
    frame, long = people(), "x" * 70
    frame["city"] = frame["city"].map({"Aachen": " A", "Bergen": long + "1", "Córdoba": long + "2"})
    frame.to_csv(folder / "alike.csv", index=False)
    facts = asked(folder, "--alpha", "0", "--base", "city=A", file="alike.csv")
    assert facts["bases"]["city"] == " A"
    one, two = ((frame["city"] == long + end).astype(float) for end in "12")
    X = design(frame)
    X = X[[name for name in X.columns if not name.startswith("city")]].assign(one=one, two=two)
    model = LinearRegression().fit(X, frame["salary"])
    found = sorted(each["value"] for each in facts["coefficients"] if each["column"] == "city")
    np.testing.assert_allclose(found, sorted(model.coef_[-2:]), rtol=1e-8)
    assert facts["intercept"]["value"] == pytest.approx(model.intercept_, rel=1e-8)


@pytest.mark.parametrize("name", ["c.parquet", "c.json", "c.csv"])
def test_tables_of_every_kind_are_written(twice, name):
    done = unswayed_here(
        *("coefficients", "twice.csv", *NUMBERS, *SHIFT, "--alpha", "0", "--out", name), cwd=twice
    )
    assert done.returncode == 0, done.stderr
    assert (twice / name).stat().st_size > 100


def test_the_intercept_alone_is_a_range_without_a_count(folder):
    done = unswayed_here(
        *("coefficients", "people.csv", *NUMBERS, *SHIFT, "--coefficients", "intercept"), cwd=folder
    )
    assert "(intercept)" in done.stdout
    assert "keep" not in done.stdout


def test_of_a_logarithm_coefficients_are_said_to_be_that(folder):
    of = (*NUMBERS, "--log", "--shift", "5%", "--budget", "5")
    facts = asked(folder, "--alpha", "0", of=of)
    assert "logarithm of salary" in facts["meaning"]
    assert "predicted logarithm" in facts["intercept"]["meaning"]
    model = LinearRegression().fit(design(people()), np.log(people()["salary"]))
    found = by_name(facts)
    for name, coefficient in zip(design(people()).columns, model.coef_, strict=True):
        assert found[name]["value"] == pytest.approx(coefficient, rel=1e-8)


def test_the_report_compares_with_the_base_levels_that_were_asked_for(folder):
    asked = ("certify", "people.csv", *CLASSES, "--base", "city=Aachen,gender=male")
    done = unswayed_here(*asked, "--report", "r.html", cwd=folder)
    assert done.returncode == 0, done.stderr
    page = (folder / "r.html").read_text()
    for name in ("city = Bergen, not Aachen", "gender = female, not male"):
        assert f">{name}</th>" in page
        assert f'"name":"{name.split(",")[0]}"' in page  # in the chart, where room is short
    assert unswayed_here(*asked, cwd=folder).returncode == 2
    done = unswayed_here(*asked[:-1], "city=Aachn", "--report", "s.html", cwd=folder)
    assert done.returncode == 2
    assert "did you mean 'Aachen'" in done.stderr
    assert not (folder / "s.html").exists()


@pytest.mark.parametrize("more", [(), ("--standardised",), ("--alpha", "0"), WEIGHTS], ids=str)
def test_the_intercept_is_in_the_certificate_file_and_proven(folder, more):
    frame = people().assign(counts=np.arange(240) % 3 + 1)
    frame.to_csv(folder / "people.csv", index=False)
    facts = asked(folder, "--certificates", "c.json", *more)
    document = json.loads((folder / "c.json").read_text())
    assert [each.get("intercept", False) for each in document["question"]["contrasts"]] == (
        [False] * facts["total"] + [True]
    )
    claim = document["claims"][-1]
    low, high = facts["intercept"]["low"], facts["intercept"]["high"]
    room = max(abs(low), abs(high)) * 2.0**-30  # ranges are stated a little further out
    assert low - 1.01 * room < claim["low"] < low
    assert high < claim["high"] < high + 1.01 * room

    def verified():
        done = unswayed_here("verify", "c.json", "--train", "people.csv", cwd=folder)
        return done.returncode, done.stdout

    code, said = verified()
    assert code == 0
    assert f"{facts['total'] + 1} claims proven, 0 rejected" in said
    assert f"{facts['total']}: the intercept plus 1.0 times" in said
    claim["low"] = (claim["low"] + facts["intercept"]["value"]) / 2
    (folder / "c.json").write_text(json.dumps(document))
    code, said = verified()
    assert code == 1
    assert "scores beyond low" in said


def test_an_intercept_that_the_data_do_not_identify_is_said_to_be_that(folder):
    frame = people().assign(share=lambda each: 100 - each["education"])
    frame.to_csv(folder / "people.csv", index=False)
    facts = asked(folder, "--alpha", "0", "--certificates", "c.json")
    assert facts["intercept"]["verdict"] == "not identified"
    assert facts["intercept"]["value"] is None
    contrasts = json.loads((folder / "c.json").read_text())["question"]["contrasts"]
    assert not any(each.get("intercept") for each in contrasts)
    done = unswayed_here(
        *("coefficients", "people.csv", *NUMBERS, *SHIFT, "--alpha", "0"), cwd=folder
    )
    line = next(each for each in done.stdout.splitlines() if each.startswith("(intercept)"))
    assert "not identified" in line
    assert asked(folder, "--alpha", "1")["intercept"]["verdict"] != "not identified"
    # What depends on nothing but itself says what a row of zeros is predicted.
    frame["share"] = 2 * frame["education"]
    frame.to_csv(folder / "people.csv", index=False)
    assert asked(folder, "--alpha", "0")["intercept"]["verdict"] != "not identified"


def test_standard_errors_are_those_of_treatment_coding_in_the_units_of_the_file(folder):
    """Classical least squares, written out: of levels against their base, and of the intercept."""
    facts, frame = asked(folder, "--alpha", "0"), people()
    X = design(frame)
    A, y = np.column_stack((X.to_numpy(), np.ones(len(X)))), frame["salary"].to_numpy()
    coefficients, squares, *_ = np.linalg.lstsq(A, y, rcond=None)
    degrees = len(A) - A.shape[1]
    errors = np.sqrt(squares[0] / degrees * np.diag(np.linalg.inv(A.T @ A)))
    half = stats.t.ppf(0.975, degrees) * errors
    found = [*(by_name(facts)[name] for name in X.columns), facts["intercept"]]
    for each, value, error, width in zip(found, coefficients, errors, half, strict=True):
        assert each["standard_error"] == pytest.approx(error, rel=1e-8)
        assert each["confidence_low"] == pytest.approx(value - width, rel=1e-8)
        assert each["confidence_high"] == pytest.approx(value + width, rel=1e-8)
    assert "not about what it would be without one" not in facts["sampling"]
    assert "not about what it would be without one" in asked(folder, "--alpha", "3")["sampling"]


def test_the_terminal_says_what_a_confidence_interval_is_not(folder):
    done = unswayed_here("coefficients", "people.csv", *NUMBERS, *SHIFT, cwd=folder)
    assert "The proven range is not a confidence interval" in done.stdout
    assert "sampling error is not in it" in done.stdout
    assert "take every label to be right" in done.stdout
    weighted = people().assign(counts=2.0)
    weighted.to_csv(folder / "weighted.csv", index=False)
    facts = asked(folder, *WEIGHTS, file="weighted.csv")
    assert "not computed: the training rows are weighted" in facts["sampling"]
    assert all(each["standard_error"] is None for each in facts["coefficients"])


@pytest.mark.parametrize(
    "model", [(*NUMBERS, "--shift", "2000"), (*CLASSES, "--model", "logistic")]
)
def test_every_budget_is_answered_as_if_it_were_the_only_one(folder, model):
    together = asked(folder, "--budget", "3", "--budget", "9", of=model)
    assert [each["budget"] for each in together["budgets"]] == ["3", "9"]
    for at, budget in enumerate(("3", "9")):
        alone = asked(folder, "--budget", budget, of=model)
        assert together["budgets"][at]["kept"] == alone["kept"]
        for each, one in zip(
            [*together["coefficients"], together["intercept"]],
            [*alone["coefficients"], alone["intercept"]],
            strict=True,
        ):
            for name in ("low", "high", "verdict", "sign"):
                assert each["budgets"][at][name] == one[name]
    done = unswayed_here(
        *("coefficients", "people.csv", *model, "--budget", "3", "--budget", "9"),
        *("--out", "both.csv"),
        cwd=folder,
    )
    assert "if up to 3 labels are wrong" in done.stdout
    assert "if up to 9 labels are wrong" in done.stdout
    table = pd.read_csv(folder / "both.csv")
    assert sorted(set(table["labels"])) == [3, 9]
    assert len(table) == 2 * (1 + len(together["coefficients"]))


def test_the_page_shows_every_budget_and_standard_errors(folder):
    done = unswayed_here(
        *("certify", "people.csv", *NUMBERS, "--shift", "2000", "--budget", "3", "--budget", "9"),
        *("--report", "page.html"),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "The proven range is not a confidence interval" in page
    assert 'data-head="at 9"' in page
    assert 'data-head="standard error and 95 % confidence interval"' in page
