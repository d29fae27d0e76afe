"""Files whose columns could be misread: what is said in the terminal, in JSON and on the page."""

import json
import re
import shlex
import shutil
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tests.commands import people, unswayed_here
from unswayed.tables.suspicion import ValueCounts, looks_like_codes

FILES = Path(__file__).parents[1] / "files"
IDENTITY = ("applicant", "contact", "reached under", "lives at", "date of birth", "case id")
APART = ("--ignore", ",".join(IDENTITY))

# The file, its label, what certify is told beside it, and what is said: the kind of a warning and
# parts of its sentence. Files without such are read as they should be, and nothing is said.
SAID = {
    "german-credit.csv": ("class", (), []),
    "adult-encoded.csv": (
        "income",
        (),
        [
            ("code-column", "'workclass', 'marital-status', 'relationship', 'deal' hold whole"),
            ("code-column", "--categorical workclass,marital-status,relationship,deal "),
        ],
    ),
    "housing.csv": ("price", ("--shift", "9000", "--radius", "9000"), []),
    "wine-quality.csv": (
        "quality",
        ("--shift", "1", "--radius", "1"),
        [
            ("label-classes", "holds 6 different whole numbers ('3' in 3 rows, '4' in 18, "),
            ("label-classes", "pass --positive 8, say, to tell one of them from the rest"),
        ],
    ),
    "loans.csv": (
        "status",
        (),
        [
            ("near-leak", "'days to charge off' alone tells the label right for 98.1 % of the"),
            ("near-leak", "--ignore 'days to charge off' if"),
        ],
    ),
    "clinic.csv": (
        "readmitted",
        ("--missing", "impute"),
        [("near-empty-column", "'second reading', 'visit kind' hold the same value, or none")],
    ),
    "fraud.csv": ("fraud", (), []),
    "applicants.csv": ("invited", APART, []),
}
ABOUT_COLUMNS = {
    "code-column", "label-classes", "near-leak", "leak", "near-empty-column", "id-column",
    "constant-column", "mixed-column", "missing-mark", "free-text", "leading-zeros",
}  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    for path in FILES.glob("*.csv"):
        shutil.copy(path, tmp_path)
    return tmp_path


def run(folder, *arguments, code=0):
    done = unswayed_here(*arguments, cwd=folder)
    assert done.returncode == code, done.stderr
    return done


@pytest.mark.parametrize("name", SAID)
def test_what_could_be_misread_is_said_in_terminal_json_and_page_and_nothing_else(folder, name):
    label, options, expected = SAID[name]
    ask = (name, "--label", label)
    looked = run(folder, "inspect", *ask)
    certified = run(folder, "certify", *ask, *options, "--json", "--report", "page.html")
    page = unescape((folder / "page.html").read_text())
    told = [
        each for each in json.loads(certified.stdout)["caveats"] if each["kind"] in ABOUT_COLUMNS
    ]
    assert {each["kind"] for each in told} == {kind for kind, _ in expected}
    for kind, part in expected:
        assert part in looked.stderr
        assert any(part in each["sentence"] for each in told if each["kind"] == kind)
        assert part in page


def test_a_label_of_three_classes_is_counted_and_each_can_be_asked_about(folder):
    looked = run(folder, "inspect", "iris.csv", "--label", "species", "--json")
    assert json.loads(looked.stdout)["caveats"] == []
    every = run(folder, "certify", "iris.csv", "--label", "species")
    assert "3 classes: 'setosa', 'versicolor' and 'virginica'" in every.stdout
    for species in ("setosa", "versicolor", "virginica"):
        ask = ("iris.csv", "--label", "species", "--positive", species)
        run(folder, "certify", *ask, "--report", "page.html")
        assert f"{species} = 1 versus the rest" in (folder / "page.html").read_text()
        found = json.loads(run(folder, "inspect", *ask, "--json").stdout)
        assert "label-classes" not in {each["kind"] for each in found["caveats"]}
    unknown = run(folder, "inspect", "iris.csv", "--label", "species", "--positive", "x", code=2)
    assert "the classes are 'setosa', 'versicolor', 'virginica'" in unknown.stderr
    alone = run(folder, "inspect", "iris.csv", "--positive", "setosa", code=2)
    assert "--label" in alone.stderr


# --- people's data ----------------------------------------------------------------------------


@pytest.mark.parametrize("ignored", [True, False])
def test_no_cell_that_says_who_a_person_is_is_an_example(folder, ignored):
    options = APART if ignored else ("--ignore", "date of birth,lives at")
    frame = pd.read_csv(folder / "applicants.csv", dtype=str)
    looked = run(folder, "inspect", "applicants.csv", "--label", "invited", *options)
    facts = run(folder, "inspect", "applicants.csv", "--label", "invited", *options, "--json")
    for text in (looked.stdout + looked.stderr, facts.stdout):
        for name in IDENTITY:
            assert not [cell for cell in frame[name] if re.search(rf"\b{re.escape(cell)}\b", text)]
    told = {each["column"]: each["not_shown"] for each in json.loads(facts.stdout)["columns"]}
    assert told["score"] is None
    assert told["date of birth"] == "ignored"
    assert told["applicant"] == ("ignored" if ignored else "looks like names")
    if not ignored:
        assert told["contact"] == "looks like e-mail addresses"
        assert told["reached under"] == "looks like phone numbers"
        assert told["case id"] == "looks like ids"


def test_the_page_shows_no_examples_of_ignored_columns(folder):
    ask = ("certify", "applicants.csv", "--label", "invited", *APART)
    run(folder, *ask, "--report", "page.html", "--json")
    page = unescape((folder / "page.html").read_text())
    frame = pd.read_csv(folder / "applicants.csv", dtype=str)
    for name in IDENTITY:
        shown = [cell for cell in frame[name].unique() if cell in page]
        assert not [cell for cell in shown if re.search(rf"(?<![\d.]){re.escape(cell)}\b", page)]
    assert "not shown: ignored" in page


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Name", "names"), ("first_name", "names"), ("lastName", "names"), ("E-Mail", "e-mail"),
        ("home address", "addresses"), ("Telephone", "phone"), ("DOB", "dates of birth"),
        ("birth_date", "dates of birth"), ("PatientID", "ids"), ("ssn", "ids"),
    ],
)  # fmt: skip
def test_names_of_columns_alone_hide_their_cells(tmp_path, name, kind):
    frame = people().assign(**{name: np.tile(["mnop", "qrst", "uvwx"], 80)})
    frame.to_csv(tmp_path / "people.csv", index=False)
    done = run(tmp_path, "inspect", "people.csv", "--label", "hired", "--json")
    told = {each["column"]: each for each in json.loads(done.stdout)["columns"]}
    assert kind in told[name]["not_shown"]
    assert told[name]["examples"] == []
    assert "mnop" not in done.stdout


@pytest.mark.parametrize("name", ["birth weight", "city", "amount", "gender", "state", "mailing"])
def test_other_columns_keep_their_examples(tmp_path, name):
    frame = people().assign(**{name: np.tile(["New York", "Los Angeles", "Rome"], 80)})
    frame.to_csv(tmp_path / "people.csv", index=False)
    done = run(tmp_path, "inspect", "people.csv", "--label", "hired", "--json")
    told = {each["column"]: each for each in json.loads(done.stdout)["columns"]}
    assert told[name]["examples"] == ["New York", "Los Angeles", "Rome"]


# --- codes and counts -------------------------------------------------------------------------


COUNTS = """bedrooms rooms children kids n_children num_rooms NumberOfDependents floors bathrooms
TotRmsAbvGrd BedroomAbvGr FullBath GarageCars Fireplaces OverallQual OverallCond SibSp Parch
stories visits priors_count juv_fel_count years_experience age grade rating stars goals failures
studytime number_inpatient time_in_hospital num_procedures education.num famsize group_size
state_income quality members siblings dependants calls claims tenure level bed bath""".split()
CODES = """workclass marital.status marital_status occupation relationship race native.country
nativeCountry sex_code region state_code job purpose MARRIAGE house_type product_category origin
brand colour color zip county industry religion segment channel status""".split()


def spread(values, counts):
    return ValueCounts.of(pa.chunked_array([np.repeat(values, counts).tolist()]))


@pytest.mark.parametrize("name", COUNTS)
def test_counts_and_measures_by_name_are_no_codes_whatever_their_frequencies(name):
    assert not looks_like_codes(name, spread([0, 1, 2, 3, 8], [5, 40, 3, 30, 9]))
    assert not looks_like_codes(name, spread([1, 2, 3, 4], [5, 40, 3, 30]))


@pytest.mark.parametrize("name", CODES)
def test_codes_by_name_are_codes_whatever_their_frequencies(name):
    assert looks_like_codes(name, spread([0, 1, 2, 3], [40, 30, 20, 10]))


@pytest.mark.parametrize(
    ("values", "counts", "codes"),
    [
        ([0, 1, 2, 3, 4, 5], [60, 30, 15, 7, 2, 1], False),  # ever fewer: a count
        ([0, 1, 2, 3, 4, 5], [20, 50, 40, 12, 3, 1], False),  # up to a peak, then down
        ([0, 1, 2, 3, 4, 5], [20, 4, 40, 12, 3, 30], True),  # in no order: LabelEncoder
        ([0, 1, 2], [40, 5, 30], True),
        ([0, 1, 2, 9], [50, 30, 9, 3], True),  # 9: no answer
        ([0, 10, 20, 40], [50, 3, 9, 40], False),
        ([1, 2, 3, 4], [50, 30, 9, 3], True),
        ([1, 2, 3, 4, 5, 6, 7, 8], [5, 40, 80, 60, 30, 9, 3, 1], False),
        ([-1, 0, 1, 2], [5, 40, 3, 30], True),
        ([0, 1], [5, 40], False),
    ],
)
def test_a_column_whose_name_says_nothing_is_judged_by_its_shape(values, counts, codes):
    assert looks_like_codes("x", spread(values, counts)) == codes


def test_a_label_in_order_of_the_values_speaks_for_a_number(tmp_path):
    rng = np.random.default_rng(0)
    steps = rng.choice(6, 600, p=[0.3, 0.05, 0.3, 0.05, 0.25, 0.05])
    frame = pd.DataFrame({"x": steps, "z": rng.normal(size=600), "shuffled": steps})
    frame["y"] = np.where(rng.random(600) < 0.05 + 0.18 * steps, "yes", "no")
    frame["shuffled"] = frame["x"].map(dict(enumerate([0, 2, 1, 4, 5, 3])))
    frame.to_csv(tmp_path / "some.csv", index=False)
    done = run(tmp_path, "inspect", "some.csv", "--label", "y", "--json")
    (caveat,) = json.loads(done.stdout)["caveats"]
    assert caveat["kind"] == "code-column"
    assert "'shuffled'" in caveat["text"]


# --- near-leaks -------------------------------------------------------------------------------


def leaks(folder, frame, label):
    frame.to_csv(folder / "some.csv", index=False)
    done = run(folder, "inspect", "some.csv", "--label", label, "--json")
    return {
        each["text"].split("'")[1]: each["text"]
        for each in json.loads(done.stdout)["caveats"]
        if each["kind"] == "near-leak"
    }


def test_the_figure_of_a_near_leak_is_what_one_cut_gets_right(tmp_path):
    rng = np.random.default_rng(1)
    bad = rng.random(400) < 0.3
    after = np.where(bad, 5.0, 1.0) + rng.random(400)
    after[np.flatnonzero(bad)[:2]] = 0.5
    after[np.flatnonzero(~bad)[:9]] = 8.5
    frame = pd.DataFrame(
        {"after": after, "other": rng.normal(size=400), "y": np.where(bad, "b", "g")}
    )
    right = ((after > 3)[bad].mean() + (after <= 3)[~bad].mean()) / 2
    text = leaks(tmp_path, frame, "y")
    assert set(text) == {"after"}
    assert f"{np.floor(1000 * right) / 10:.1f} % of the rows of each class" in text["after"]
    empty = frame.assign(after=frame["after"].where(bad))  # known of one class only
    assert set(leaks(tmp_path, empty, "y")) | {"after"} == {"after"}


def test_a_rare_class_does_not_make_every_column_a_leak(tmp_path):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.normal(size=(2000, 6)), columns=list("abcdef"))
    frame["kind"] = rng.choice(["x", "y", "z"], 2000)
    frame["y"] = np.where(np.arange(2000) % 100 == 0, "fraud", "fine")
    assert leaks(tmp_path, frame, "y") == {}


@pytest.mark.parametrize(("noise", "told"), [(0.1, True), (0.25, False)])
def test_a_number_is_nearly_told_from_98_percent_of_its_variance_on(tmp_path, noise, told):
    rng = np.random.default_rng(3)
    y = rng.normal(size=500)
    frame = pd.DataFrame(
        {"near": 7 * y + 7 * noise * rng.normal(size=500), "z": rng.normal(size=500)}
    )
    share = np.corrcoef(frame["near"], y)[0, 1] ** 2
    text = leaks(tmp_path, frame.assign(y=y), "y")
    assert bool(text) == told == (share >= 0.98)
    if told:
        assert f"explains {np.floor(1000 * share) / 10:.1f} % of the variance" in text["near"]


# --- missing values ---------------------------------------------------------------------------


def test_all_columns_that_miss_values_are_named_at_once_with_what_to_do(folder):
    error = run(folder, "certify", "passengers.csv", "--label", "survived", code=2).stderr
    for part in (
        "'age, years' misses 40 values", "'cabin' misses 120 values", "misses 2 values",
        "'survived' misses 1 value ", "--missing drop", "--missing impute",
    ):  # fmt: skip
        assert part in error
    option = words_of(error)["--ignore"]
    done = run(
        folder, "certify", "passengers.csv", "--label", "survived", *option, "--missing", "drop",
        "--json",
    )  # fmt: skip
    assert json.loads(done.stdout)["data"]["dropped"] == 1


@pytest.mark.parametrize("holdout", ["20", "60"])
def test_training_rows_in_pieces_that_miss_values_are_counted_without_test_rows(tmp_path, holdout):
    frame = people(200)
    frame.loc[::4, "interview score"] = np.nan
    (tmp_path / "all").mkdir()
    frame[:90].to_csv(tmp_path / "all" / "a.csv", index=False)
    frame[90:].to_csv(tmp_path / "all" / "b.csv", index=False)
    ask = ("all", "--label", "hired", "--ignore", "salary", "--missing", "drop")
    done = run(tmp_path, "certify", *ask, "--holdout", holdout, "--json")
    facts = json.loads(done.stdout)
    notes = " ".join(facts["notes"])
    train, test = (
        int(re.search(rf"(\d+) {what}", notes)[1])
        for what in ("training rows miss", "rows that were held out miss")
    )
    assert train + test == 50
    assert facts["train_rows"] == 200 - int(holdout) - train
    assert facts["test_rows"] == int(holdout) - test


# --- advice -----------------------------------------------------------------------------------


def words_of(text):
    """Return the options that a sentence advises, each with its value as a shell would read it."""
    found = {}
    word = r"(?:'[^']*'|\"[^\"]*\"|[\w@%+=:,./-])+"
    for name, value in re.findall(rf"(--[a-z][a-z-]*(?==|\s))[=\s]({word})", text):
        parsed = shlex.split(value.rstrip(",;.:") if value[-1] not in "'\"" else value)
        found.setdefault(name, []).extend([f"{name}={parsed[0]}"])
    return found


def odd_names():
    """Columns whose names a shell or a list would read otherwise, each suspected of something."""
    rng = np.random.default_rng(9)
    frame = people(240)[["education", "hired"]]
    return frame.assign(
        **{
            "zip code": rng.choice([1, 5, 7], 240),
            "O'Neil type": rng.choice([1, 2, 3], 240),
            'the "state"': rng.choice([1, 2, 3], 240),
            "a, b code": rng.choice([3, 4, 8], 240),
            "$HOME type": rng.choice([3, 4, 8], 240),
            "-dash code": rng.choice([3, 4, 8], 240),
            "who (id)": np.arange(240),
            "x" * 80: [f"t{i}" for i in range(240)],
            " spaced code": rng.choice([3, 4, 8], 240),
            "marks & co": np.where(np.arange(240) % 50 == 0, "?", rng.integers(0, 90, 240)),
            "said; so": np.where(np.arange(240) % 50 == 0, "-", rng.choice(["u", "v"], 240)),
            "always*": "same",
            "after!": np.where((frame["hired"] == "yes") ^ (np.arange(240) == 3), 8, 1),
        }
    )


BATTERY = {
    **{name: label for name, (label, *_) in SAID.items()},
    "iris.csv": "species",
    "odd.csv": "hired",
    "many.csv": "hired",
}


@pytest.mark.parametrize("name", BATTERY)
def test_every_option_that_is_advised_can_be_pasted_and_settles_what_it_is_about(folder, name):
    odd_names().to_csv(folder / "odd.csv", index=False)
    many = people(240)[["education", "hired"]]
    for at in range(30):
        many[f"answer code {at}"] = np.random.default_rng(at).choice([1, 2, 3], 240)
    many.to_csv(folder / "many.csv", index=False)
    ask = ("inspect", name, "--label", BATTERY[name], "--json")
    before = json.loads(run(folder, *ask).stdout)["caveats"]
    for caveat in before:
        assert "…" not in caveat["option"], caveat
        for option, values in words_of(caveat["option"]).items():
            after = json.loads(run(folder, *ask, *values).stdout)["caveats"]
            assert caveat["sentence"] not in [each["sentence"] for each in after], (option, values)


@pytest.mark.parametrize("name", ["odd.csv", "many.csv"])
def test_certify_takes_the_same_options(folder, name):
    odd_names().to_csv(folder / "odd.csv", index=False)
    people(240).to_csv(folder / "many.csv", index=False)
    ask = (name, "--label", "hired")
    taken = []
    for caveat in json.loads(run(folder, "inspect", *ask, "--json").stdout)["caveats"]:
        taken += next(iter(words_of(caveat["option"]).values()))
    left = json.loads(run(folder, "certify", *ask, *taken, "--missing", "drop", "--json").stdout)
    assert not ABOUT_COLUMNS.intersection(each["kind"] for each in left["caveats"])
