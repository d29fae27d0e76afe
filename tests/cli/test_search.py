"""``--alpha search``: all training labels choose alpha, and the certificates cover the choice."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import RidgeCV

from tests.cli.test_alpha import asked, matrix
from tests.commands import CLASSES, NUMBERS, people, unswayed_here
from unswayed import CertifiedClassifier, GradientDescentRegressor, LabelBias
from unswayed.study.kinds import SEARCH, AlphaChoice

SEARCHED = ("certify", "people.csv", *CLASSES, "--budget", "5%", "--alpha", "search")


@pytest.fixture(scope="module")
def searched(tmp_path_factory):
    """A folder with the facts, the table and the page of one search."""
    folder = tmp_path_factory.mktemp("searched")
    people().to_csv(folder / "people.csv", index=False)
    facts = asked(folder, *SEARCHED, "--budget", "1%", "--out", "o.csv", "--report", "r.html")
    return folder, facts


def in_python(rows):
    """Features and labels of training and test rows, by other means than the command's."""
    frame = people()
    at = np.array(rows) - 1
    train, test = frame.drop(index=at), frame.loc[at]
    labels = (train["hired"] == "yes").to_numpy(int)
    return matrix(train, train), labels, matrix(test, train)


def test_verdicts_are_those_of_ridgecv_certified_in_python(searched):
    folder, facts = searched
    table = pd.read_csv(folder / "o.csv")
    X, y, tests = in_python(table["row"])
    assert facts["train_rows"] == len(y)  # no row is set aside
    model = CertifiedClassifier(RidgeCV(SEARCH.grid), bias=LabelBias.flips(budget=0.05))
    certs = model.fit(X, y).certify(tests)
    assert facts["alpha"] == model.fitted_.final.alpha_
    assert table["verdict"].tolist() == [str(each) for each in certs.verdict]
    np.testing.assert_allclose(table["low"], certs.low, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(table["high"], certs.high, rtol=1e-6, atol=1e-6)
    left = [f"{each:g}" for each in np.array(SEARCH.grid)[certs.candidates.possible]]
    ruled = f"{len(left)} of the 10 alphas tried are not ruled out within the budget"
    assert f"{ruled} ({', '.join(left)})" in facts["alpha_choice"]


def test_minimum_budgets_are_what_verdicts_say_of_them(searched):
    folder, facts = searched
    table, labels = pd.read_csv(folder / "o.csv"), facts["budgets"][0]["labels"]
    robust, broken = table["verdict"] == "robust", table["verdict"] == "not-robust"
    assert (table["minimum_budget"] == np.where(robust, labels + 1, 1)).all()
    assert (table["enough"] == np.where(broken, labels, np.inf)).all()


def test_facts_terminal_and_page_say_who_chose(searched):
    folder, facts = searched
    said = "chosen by the leave-one-out errors of all"
    assert facts["kind"] == "search"
    assert facts["validation_rows"] == 0
    assert said in facts["alpha_choice"]
    page = " ".join((folder / "r.html").read_text().split())
    assert said in page
    assert "put through the whole search again" in page
    shown = unswayed_here(*SEARCHED, cwd=folder)
    assert said in " ".join(shown.stdout.split())
    assert f"ridge with alpha {facts['alpha']:g}" in shown.stdout
    auto = asked(folder, "certify", "people.csv", *CLASSES, "--alpha", "auto")
    assert "rows set aside" in auto["alpha_choice"]
    assert auto["train_rows"] < facts["train_rows"]


def test_numbers_take_a_search_too(folder):
    options = (*NUMBERS, "--shift", "2000", "--radius", "500", "--alpha", "search")
    facts = asked(folder, "certify", "people.csv", *options)
    assert facts["alpha"] in SEARCH.grid
    assert facts["budgets"][0]["robust"] > 0


def test_a_choice_that_labels_cannot_change_is_said_to_be_one():
    found = AlphaChoice((100.0,), 50, None, SEARCH, (100.0,)).in_words()
    assert found.endswith("labels within the budget can choose no other of the 10 alphas tried")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--folds", "5"), "--folds: every fold"),
        (("--give-up", "1"), "--give-up: the smallest error decides"),
        (("--validation", "v.csv"), "--validation: all training rows choose"),
        (("--threshold", "balanced"), "--threshold balanced: it moves with the labels"),
        (("--method", "box"), "--method: other bounds are for one alpha"),
        (("--resolve", "exact"), "--resolve: no search is made in rational arithmetic"),
        (("--certificates", "c.json"), "--certificates: no file"),
        (("--noise", "5%"), "--noise: what single labels do"),
        (("--report", "r.html", "--with-tradeoff"), "--with-tradeoff: it is over alphas"),
        (("--report", "r.html", "--base", "city=north"), "--base: coefficients are not certified"),
        (("--clusters", "city"), "--clusters: a search is certified for numbers of any labels"),
        (("--model", "logistic"), "--model: it is a search over ridge penalties"),
        (("--in-pieces",), "reading training rows in pieces"),
    ],
)
def test_what_does_not_go_with_a_search_is_refused(folder, options, said):
    done = unswayed_here(*SEARCHED, *options, cwd=folder)
    assert done.returncode == 2, done.stdout
    assert f"--alpha search does not go with {said}" in done.stderr
    assert "pass --alpha auto or a number" in done.stderr


@pytest.mark.parametrize("command", ["together", "fairness", "coefficients", "witness"])
def test_other_commands_refuse_a_search(folder, command):
    more = {"witness": ("--row", "1"), "fairness": ("--groups", "gender")}.get(command, ())
    done = unswayed_here(*(command, "people.csv", *CLASSES, "--alpha", "search", *more), cwd=folder)
    assert done.returncode == 2, done.stdout
    assert "only unswayed certify takes it" in done.stderr


def test_three_classes_refuse_a_search_and_steps(folder):
    three = ("people.csv", "--label", "city", "--ignore", "salary")
    for command in (("certify", *three, "--alpha", "search"), ("tradeoff", *three, "--steps", "3")):
        done = unswayed_here(*command, cwd=folder)
        assert done.returncode == 2, done.stdout
        assert "it tells two classes apart" in done.stderr


# --- early-stopped least squares beside alpha -----------------------------------------------


def test_the_tradeoff_over_steps_is_that_of_python(folder):
    done = unswayed_here(
        *("tradeoff", "people.csv", *CLASSES, "--steps", "10,1", "--budget", "1%", "--json"),
        *("--out", "t.csv", "--chart", "t.svg"),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    facts, table = json.loads(done.stdout), pd.read_csv(folder / "t.csv")
    assert facts["kind"] == "descent"
    assert table["steps"].tolist() == [1, 10] == [each["steps"] for each in facts["points"]]
    assert "steps of gradient descent" in (folder / "t.svg").read_text()
    asked(folder, "certify", "people.csv", *CLASSES, "--out", "o.csv")
    rows = pd.read_csv(folder / "o.csv")
    X, y, tests = in_python(rows["row"])
    for at, steps in enumerate((1, 10)):
        model = CertifiedClassifier(
            GradientDescentRegressor(steps=steps), bias=LabelBias.flips(budget=0.01)
        ).fit(X, y)
        assert table["robust at 1%"][at] == pytest.approx(model.certify(tests).robust.mean())
        right = model.predict(tests) == (rows["label"] == "yes")
        assert table["accuracy"][at] == pytest.approx(right.mean())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--steps", "0"), "'0' is not a list of whole numbers, 1 or more; write 1,10,100"),
        (("--steps", "1.5"), "not a list of whole numbers"),
        (("--steps", "1,,2"), "not a list of whole numbers"),
        (("--steps", "many"), "not a list of whole numbers"),
        (("--steps", "1e400"), "not a list of whole numbers"),
        (("--steps", "1", "--alphas", "2"), "--alphas does not go with --steps"),
        (("--steps", "1", "--model", "logistic"), "--steps does not go with --model logistic"),
        (("--steps", "1", "--weights", "education"), "leave --weights out"),
    ],
)
def test_steps_that_are_none_are_refused(folder, options, said):
    done = unswayed_here("tradeoff", "people.csv", *CLASSES, *options, cwd=folder)
    assert done.returncode == 2, done.stdout
    assert said in done.stderr


def test_steps_take_columns_with_many_categories(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"town": rng.integers(40, size=200), "hired": rng.integers(2, size=200)})
    frame["town"] = "t" + frame["town"].astype(str)
    frame.to_csv(tmp_path / "many.csv", index=False)
    done = unswayed_here("tradeoff", "many.csv", "--label", "hired", "--steps", "5", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
