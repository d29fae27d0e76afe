"""Budgets that are no number of any labels, on the command line: as in Python, and attacked."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from tests.commands import people, unswayed_here
from tests.effort import some
from unswayed import CertifiedClassifier, CertifiedRegressor, Cost, LabelBias, Sampled, Total

BESIDE = ("annotator", "price", "doubt")
IGNORED = "salary,annotator,price,doubt"
HIRED = ("people.csv", "--label", "hired", "--ignore", IGNORED)
PAID = ("people.csv", "--label", "salary", "--ignore", "hired,annotator,price,doubt")
PARTS = "gender == 'female': 4% up; gender == 'male' and city != 'Bergen': 3; rest: 1 down"


def made_people():
    frame = people(160)
    rng = np.random.default_rng(5)
    frame["annotator"] = rng.choice(["Ann", "Bob", "Cat", "Dan", "Eve", "Flo", "Gus", "Hal"], 160)
    frame["price"] = rng.integers(1, 5, 160)
    frame["doubt"] = rng.uniform(0.01, 0.4, 160).round(2)
    return frame


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("people")
    made_people().to_csv(folder / "people.csv", index=False)
    return folder


def asked(folder, *words, code=0):
    done = unswayed_here(*words, cwd=folder)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else " ".join(done.stderr.split())


def certified(folder, *options, start=HIRED):
    """The table of test rows, by their numbers, and the facts."""
    text = asked(folder, "certify", *start, *options, "--out", "rows.csv", "--json")
    return pd.read_csv(folder / "rows.csv").set_index("row"), json.loads(text)


def features(frame, held):
    """One-hot texts and scaled numbers, sharing no code with the program."""
    X = frame.drop(columns=["salary", "hired", *BESIDE])
    numbers = X.select_dtypes("number")
    scaled = (numbers - numbers[~held].mean()) / numbers[~held].std(ddof=0)
    return np.hstack([pd.get_dummies(X.drop(columns=numbers.columns)).to_numpy(float), scaled])


def in_python(frame, table, bias, label="hired"):
    """The same rows, certified in Python."""
    held = frame.index.isin(table.index - 1)
    X, final = features(frame, held), Ridge(alpha=1.0, tol=1e-13)
    if label == "hired":
        model = CertifiedClassifier(final, bias=bias(frame[~held]))
    else:
        model = CertifiedRegressor(final, bias=bias(frame[~held]), radius=500)
    return model.fit(X[~held], frame[label][~held]).certify(X[held])


def parts(rows):
    women, bergen = (rows.gender == "female").to_numpy(), (rows.city == "Bergen").to_numpy()
    return (
        LabelBias.flips(budget=0.04, where=women, direction="up")
        + LabelBias.flips(budget=3, where=~women & ~bergen)
        + LabelBias.flips(budget=1, where=~women & bergen, direction="down")
    )


def surprising(rows):
    return LabelBias.flips(budget=Cost.from_probabilities(rows.doubt.to_numpy(), surprise=10))


SAMPLE = Sampled(4, 1, 0.9, population=160)
ASKED = {
    "parts": (["--bias", PARTS], parts, "labels"),
    "capped parts": (["--bias", PARTS, "--cap", "4"], lambda rows: parts(rows).capped(4), "labels"),
    "one part": (
        ["--bias", "gender == 'female': 3"],
        lambda rows: LabelBias.flips(budget=3, where=(rows.gender == "female").to_numpy()),
        "labels",
    ),
    "a sample of a part": (
        ["--bias", "gender == 'female': 1/40; rest: 2", "--confidence", "80%"],
        lambda rows: (
            LabelBias.flips(
                budget=Sampled(
                    40, 1, 0.8, population=int((made_people().gender == "female").sum())
                ),
                where=(rows.gender == "female").to_numpy(),
            )
            + LabelBias.flips(budget=2, where=(rows.gender == "male").to_numpy())
        ),
        "labels",
    ),
    "clusters": (
        ["--clusters", "annotator", "--budget", "2"],
        lambda rows: LabelBias.flips(budget=2, clusters=rows.annotator.to_numpy()),
        "clusters",
    ),
    "clusters, some labels": (
        ["--clusters", "annotator", "--only", "education < 14", "--direction", "up"],
        lambda rows: LabelBias.flips(
            budget=1,
            clusters=rows.annotator.to_numpy(),
            where=(rows.education < 14).to_numpy(),
            direction="up",
        ),
        "clusters",
    ),
    "costs": (
        ["--cost", "price", "--budget", "9.5"],
        lambda rows: LabelBias.flips(budget=Cost(9.5, rows.price.to_numpy())),
        "cost",
    ),
    "probabilities": (
        ["--error-probability", "doubt", "--surprise", "10"],
        surprising,
        "cost",
    ),
    "a sample": (
        ["--sampled", "1/60", "--confidence", "90%"],
        lambda rows: LabelBias.flips(budget=Sampled(60, 1, 0.9, population=160)),
        "labels",
    ),
}


@pytest.mark.parametrize("name", ASKED)
def test_verdicts_and_minimum_budgets_are_those_of_python(folder, name):
    options, bias, unit = ASKED[name]
    table, facts = certified(folder, *options)
    certs = in_python(made_people(), table, bias)
    assert facts["unit"] == unit
    assert table.minimum_budget_unit.unique().tolist() == [unit]
    assert table.verdict.tolist() == [str(each) for each in certs.verdict]
    np.testing.assert_allclose(table.minimum_budget, certs.minimum_budget, rtol=1e-9)
    assert facts["budgets"][0]["labels"] == certs.budget
    assert facts["budgets"][0]["robust"] == certs.robust.sum()


@pytest.mark.parametrize("relative", [[], ["--only", "gender == 'female'"]])
def test_a_total_is_that_of_python(folder, relative):
    given = ["--shift", "2000", "--radius", "500", "--total", "30000", "--total", "5000"]
    table, facts = certified(folder, *given, *relative, start=PAID)

    def bias(rows):
        where = (rows.gender == "female").to_numpy() if relative else None
        return LabelBias.shifts(2000, budget=Total(30_000), where=where)

    certs = in_python(made_people(), table, bias, "salary")
    assert facts["unit"] == "total change"
    assert [each["labels"] for each in facts["budgets"]] == [30_000, 5_000]
    assert facts["budgets"][0]["labels_in_words"] == "a total change of 30,000"
    assert facts["budgets"][1]["robust"] == (certs.minimum_budget > 5_000).sum()
    assert table.verdict.tolist() == [str(each) for each in certs.verdict]
    np.testing.assert_allclose(table.minimum_budget, certs.minimum_budget, rtol=1e-6)


# --- attacks -----------------------------------------------------------------------------------


def flipped(rows):
    return np.where(rows == "yes", "no", "yes")


def strongest(frame, held, target):
    """Training rows, by how far a flip moves the score of a test row to the other side."""
    X = features(frame, held)
    y = (frame.hired == "yes").to_numpy(float)
    mean = X[~held].mean(axis=0)
    A = X[~held] - mean
    inverse = np.linalg.inv(A.T @ A + np.eye(A.shape[1]))
    z = (X[target] - mean) @ inverse @ A.T + 1 / len(A)
    effect = z * (1 - 2 * y[~held]) * (1 if z @ y[~held] <= 0.5 else -1)
    order = np.argsort(-effect)
    return np.flatnonzero(~held)[order[effect[order] > 0]]


def within_parts(frame, order, most=99):
    """The strongest labels that the parts allow, and a cap."""
    women, bergen = frame.gender == "female", frame.city == "Bergen"
    allowed = {
        "women": (women & (frame.hired == "no"), int(0.04 * 144)),
        "men": (~women & ~bergen, 3),
        "rest": (~women & bergen & (frame.hired == "yes"), 1),
    }
    chosen = []
    for where, limit in allowed.values():
        chosen += [row for row in order if where[row]][:limit]
    return [row for row in order if row in chosen][:most]


def within_clusters(frame, order):
    worth = frame.annotator[order].value_counts().index[:2]
    return [row for row in order if frame.annotator[row] in worth]


def within_cost(frame, order, price, limit):
    chosen, spent = [], 0.0
    for row in sorted(order[:40], key=lambda row: price[row]):
        if spent + price[row] <= limit:
            chosen.append(row)
            spent += price[row]
    return chosen


def odds(frame):
    return np.log((1 - frame.doubt) / frame.doubt).clip(lower=0).to_numpy()


ATTACKS = {
    "parts": within_parts,
    "capped parts": lambda frame, order: within_parts(frame, order, 4),
    "clusters": within_clusters,
    "costs": lambda frame, order: within_cost(frame, order, frame.price, 9.5),
    "probabilities": lambda frame, order: within_cost(frame, order, odds(frame), 10),
    "a sample": lambda frame, order: list(order[: Sampled(60, 1, 0.9).most_wrong(160)]),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_no_row_called_robust_changes_when_labels_change_within_the_budget(folder, tmp_path, name):
    options, frame = ASKED[name][0], made_people()
    table, _ = certified(folder, *options)
    held = frame.index.isin(table.index - 1)
    fragile = table.index[table.verdict == "not-robust"]
    aimed = [*table.index[table.verdict == "robust"][: some(3, 8)], *fragile[: some(1, 4)]]
    overturned = 0
    for number in aimed:
        changed = frame.copy()
        rows = ATTACKS[name](frame, strongest(frame, held, number - 1))
        changed.loc[rows, "hired"] = flipped(frame.hired[rows])
        changed.to_csv(tmp_path / "people.csv", index=False)
        again, _ = certified(tmp_path, "--budget", "1")
        same = again.prediction == table.prediction
        assert same[table.verdict == "robust"].all()
        overturned += int((~same).sum())
    if name not in ("costs", "probabilities"):  # whose attacks are not the strongest ones
        assert overturned


def test_no_number_called_robust_moves_too_far_within_a_total(folder, tmp_path):
    frame, given = made_people(), ["--shift", "2000", "--radius", "500", "--total", "9000"]
    table, _ = certified(folder, *given, start=PAID)
    held = frame.index.isin(table.index - 1)
    robust = (table.verdict == "robust").to_numpy()
    assert robust.any()
    for seed in range(some(3, 12)):
        rng = np.random.default_rng(seed)
        # Four labels all the way and one half of it, of the highest or the lowest educations.
        trained = frame.index[~held]
        order = frame.education[trained].argsort().to_numpy()[:: rng.choice([-1, 1])]
        rows = trained[rng.permutation(order[:8])[:5]]
        changed = frame.copy()
        changed.loc[rows, "salary"] += rng.choice([-1, 1]) * np.array(
            [2000, 2000, 2000, 2000, 1000]
        )
        changed.to_csv(tmp_path / "people.csv", index=False)
        again, _ = certified(tmp_path, *given, start=PAID)
        moved = np.abs(again.score - table.score).to_numpy()
        assert (moved[robust] <= 500).all()


# --- other commands ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["parts", "clusters", "costs", "a sample"])
def test_folds_certify_every_row_at_the_same_budget(folder, name):
    table, facts = certified(folder, *ASKED[name][0], "--folds", "4")
    assert len(table) == 160
    assert facts["unit"] == ASKED[name][2]
    least = table.minimum_budget.fillna(np.inf)
    assert (least > facts["budgets"][0]["labels"]).sum() == facts["budgets"][0]["robust"]


@pytest.mark.parametrize("name", ["parts", "clusters", "costs", "probabilities", "a sample"])
def test_a_witness_is_within_the_budget_and_overturns_its_row(folder, name):
    table, _ = certified(folder, *ASKED[name][0])
    row = table.index[table.verdict == "not-robust"][0]
    text = asked(folder, "witness", *HIRED, *ASKED[name][0], "--row", row, "--json")
    facts = json.loads(text)
    assert facts["overturned"]
    assert facts["new_prediction"] != facts["prediction"]
    frame, rows = made_people(), [each["row"] - 1 for each in facts["changes"]]
    if name == "clusters":
        used = frame.annotator[rows].nunique()
        assert facts["labels_in_words"].startswith(f"{used} cluster")
    elif name == "costs":
        used = frame.price[rows].sum()
        assert facts["labels_in_words"].startswith(f"a cost of {used} ({len(rows)} label")
    elif name == "probabilities":
        used = odds(frame)[rows].sum()
    else:
        used = len(rows)
    assert used == pytest.approx(table.minimum_budget[row], rel=1e-6)


def test_a_row_that_no_part_can_overturn_is_not_called_safe_from_any_number(folder):
    part = ["--bias", "gender == 'female' and education < 10: 1 up; education == 19: 1"]
    table, _ = certified(folder, *part)
    row = table.index[table.verdict == "robust"][0]
    text = asked(folder, "witness", *HIRED, *part, "--row", row)
    assert "No label changes within the limits of the parts overturn it." in text


@pytest.mark.parametrize("name", ["parts", "clusters", "costs", "a sample"])
def test_coefficients_together_fairness_and_compare_say_the_unit(folder, name):
    options, _, unit = ASKED[name]
    head = {"clusters": "wrong clusters", "cost": "cost"}.get(unit, "wrong labels")
    sampled = name == "a sample"
    for command, more in (
        ("coefficients", []),
        ("together", ["--time-limit", "0"]),
        ("fairness", ["--groups", "gender", "--time-limit", "0"]),
    ):
        facts = json.loads(asked(folder, command, *HIRED, *options, *more, "--json"))
        assert facts["unit"] == unit
        assert (facts["budget_source"] is not None) == sampled
        text = asked(folder, command, *HIRED, *options, *more)
        assert ("90 % confidence" in text) == sampled
        wanted = {"coefficients": "flipped by", "together": head, "fairness": "if "}[command]
        assert wanted in text
        if unit == "clusters":
            assert "2 clusters" in text
    sides = json.loads(
        asked(folder, "compare", *HIRED, *options, "--against", "--alpha 100", "--json")
    )
    assert sides["first"]["unit"] == sides["second"]["unit"] == unit


def test_two_units_are_not_compared(folder):
    words = [*HIRED[:-1], "salary,price,doubt", "--against", "--clusters annotator"]
    assert "in labels and of the other in clusters" in asked(folder, "compare", *words, code=2)


def test_rows_that_changed_most_have_their_amounts_in_full(folder):
    words = [*HIRED, *ASKED["probabilities"][0], "--against", "--alpha 100"]
    text = asked(folder, "compare", *words)
    assert "cost that overturns it" in text
    assert "robust at cost 10" in text


def test_what_cannot_be_said_of_other_units_is_left_out(folder):
    text = asked(folder, "certify", *HIRED, *ASKED["clusters"][0], "--groups", "gender")
    for absent in ("one at a time", "at random", "can be wrong", "labels"):
        assert absent not in text.partition("wrong clusters")[2], absent
    assert "wrong clusters" in text
    assert "2 clusters" in text


def test_a_sample_says_its_confidence_wherever_its_budget_is_used(folder):
    text = asked(folder, "certify", *HIRED, "--sampled", "1/60", "--confidence", "90%")
    most = Sampled(60, 1, 0.9).most_wrong(160)
    assert f"with 90 % confidence, at most {most} of the 160 labels of the file are wrong" in text
    assert "what is proven at it holds together, with that confidence" in text
    assert f"up to {most} labels (1/60) are wrong" in text


# --- bad input ---------------------------------------------------------------------------------

BAD = [
    (["--bias", "gender == 'female': 1; education < 12: 1"], "row 2 is in two parts"),
    (["--bias", "gender == 'femail': 1"], "selects no training row"),
    (["--bias", "sex == 'female': 1"], "there is no column 'sex'"),
    (["--bias", "gender == 'female'"], "is not a part"),
    (["--bias", "gender == 'female': many"], "--bias 'many' is not a number of labels"),
    (["--bias", "rest: 1; gender == 'female': 2"], "write it once, as the last"),
    (["--bias", "gender == 'female': 0.1%"], "--bias 0.1% of 144 training rows is less than one"),
    (["--bias", PARTS, "--cap", "0"], "below the budget of every part"),
    (["--bias", PARTS, "--budget", "3"], "--budget and --bias contradict each other"),
    (["--bias", PARTS, "--only", "age < 3"], "--only and --bias contradict each other"),
    (["--bias", PARTS, "--direction", "up"], "--direction and --bias contradict each other"),
    (["--bias", PARTS, "--clusters", "annotator"], "--bias and --clusters both say"),
    (["--bias", PARTS, "--model", "logistic"], "--bias is for models that are linear"),
    (["--bias", PARTS, "--in-pieces"], "--bias is not possible for training rows in pieces"),
    (["--bias", "gender == 'female': 4/3"], "4 of 3 checked labels cannot be wrong"),
    (["--bias", "gender == 'female': 4/300"], "only 77 rows of the file where"),
    (["--cap", "3"], "--cap is for --bias"),
    (["--clusters", "rater"], "--clusters: there is no column 'rater'"),
    (["--clusters", "annotator", "--budget", "5%"], "no number of clusters"),
    (["--clusters", "hired"], "--clusters and --label both name 'hired'"),
    (["--clusters", "city", "--features", "city,education"], "--features and --clusters both name"),
    (["--total", "100"], "--total adds up by how much labels are off, so it needs --shift"),
    (["--cost", "price"], "--cost needs --budget"),
    (["--cost", "price", "--budget", "5%"], "--budget '5%' is not what all wrong labels"),
    (["--cost", "bad", "--budget", "5"], "the cost in column 'bad' is negative in row 1"),
    (["--cost", "gap", "--budget", "5"], "the cost in column 'gap' is missing in row 2"),
    (["--cost", "city", "--budget", "5"], "costs are numbers"),
    (["--error-probability", "doubt"], "--error-probability needs --surprise"),
    (["--error-probability", "price", "--surprise", "9"], "'price' is above 1 in row"),
    (["--surprise", "9"], "--surprise is for --error-probability"),
    (["--clusters", "gap"], "--clusters: column 'gap' is missing in row 2"),
    (["--sampled", "4/3"], "4 of 3 checked labels cannot be wrong"),
    (["--sampled", "4/300"], "there are only 160 rows in the file"),
    (["--sampled", "none.csv"], "neither WRONG/CHECKED, such as 4/300, nor a file"),
    (["--sampled", "1/60", "--budget", "3"], "--budget and --sampled contradict each other"),
    (["--sampled", "1/60", "--only", "age < 3"], "pass --bias"),
    (["--sampled", "1/60", "--confidence", "100%"], "--confidence 100%"),
    (["--confidence", "95%"], "--confidence is of a sample"),
    (["--bias", PARTS, "--confidence", "95%"], "--confidence is of a sample"),
]


@pytest.fixture(scope="module")
def worse(tmp_path_factory):
    """The same people, with columns that are wrong."""
    folder, frame = tmp_path_factory.mktemp("worse"), made_people()
    frame["bad"], frame["gap"] = -1.0, 1.0
    frame.loc[1, "gap"] = np.nan
    frame.to_csv(folder / "people.csv", index=False)
    return folder


@pytest.mark.parametrize(("options", "says"), BAD, ids=[" ".join(each) for each, _ in BAD])
def test_bad_input_is_refused_and_says_what_is_wrong(worse, options, says):
    start = (*HIRED[:-1], f"{IGNORED},bad,gap") if "--features" not in options else HIRED[:-2]
    assert says in asked(worse, "certify", *start, *options, code=2)


def test_a_total_of_logarithms_is_refused(folder):
    words = ["--log", "--shift", "5%", "--radius", "10%", "--total", "3"]
    assert "--log compares logarithms" in asked(folder, "certify", *PAID, *words, code=2)


@pytest.mark.parametrize("command", ["together", "fairness"])
def test_one_set_of_labels_for_all_folds_needs_a_number_of_labels(folder, command):
    words = [*HIRED, *ASKED["clusters"][0], "--folds", "4", "--groups", "gender"]
    words = words if command == "fairness" else words[:-2]
    assert "--clusters is another kind of budget" in asked(folder, command, *words, code=2)


@pytest.mark.parametrize("command", [("review", "plan"), ("audit", "start")])
def test_reviews_and_audits_have_no_such_options_and_say_why(folder, command):
    error = asked(folder, *command, *HIRED, "--clusters", "annotator", code=2)
    assert "has no --clusters" in error
    assert "numbers of any labels" in error


def test_columns_that_say_what_a_budget_is_are_no_features(folder):
    bare = ("people.csv", "--label", "hired", "--ignore", "salary,price,doubt")
    facts = json.loads(asked(folder, "certify", *bare, "--clusters", "annotator", "--json"))
    assert {each["column"]: each["role"] for each in facts["columns"]}["annotator"] == "ignored"


def test_a_page_does_not_say_that_any_labels_may_be_wrong_where_parts_have_limits(folder):
    asked(folder, "certify", *HIRED, "--bias", PARTS, "--report", "parts.html")
    page = (folder / "parts.html").read_text()
    assert "each part within its limit" in page
    assert "Each part of the labels has a limit of its own" in page
    asked(folder, "certify", *HIRED, "--budget", "3", "--report", "any.html")
    assert "Each part of the labels has a limit of its own" not in (folder / "any.html").read_text()
