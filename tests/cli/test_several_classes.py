"""A label of three or more classes on the command line: the answers are those of Python."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier

from tests.commands import unswayed_here
from tests.effort import some
from unswayed import CertifiedClassifier, LabelBias

ASK = ("certify", "jobs.csv", "--label", "decision")
CLASSES = ["declined", "hired", "interview"]


def jobs(n_rows=150, seed=4):
    """Applicants of two cities, and one of three decisions about each."""
    rng = np.random.default_rng(seed)
    experience = rng.normal(10, 4, n_rows).round(1)
    test = rng.normal(60, 15, n_rows).round(1)
    merit = 0.3 * (experience - 10) + 0.07 * (test - 60) + rng.normal(0, 0.8, n_rows)
    return pd.DataFrame(
        {
            "city": rng.choice(["Bergen", "Oslo"], n_rows),
            "experience": experience,
            "test": test,
            "decision": np.select([merit > 0.8, merit > -0.8], ["hired", "interview"], "declined"),
        }
    )


def run(folder, *words, code=0):
    done = unswayed_here(*words, cwd=folder)
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("jobs")
    jobs().to_csv(made / "jobs.csv", index=False)
    jobs(40, seed=9).to_csv(made / "new.csv", index=False)
    return made


@pytest.fixture(scope="module")
def answered(folder):
    """Facts, console and rows of one question, with a page."""
    ask = (*ASK, "--test", "new.csv", "--budget", "3", "--budget", "9", "--groups", "city")
    facts = json.loads(run(folder, *ask, "--json", "--out", "rows.csv").stdout)
    console = run(folder, *ask, "--report", "page.html", "--verbose").stdout
    return facts, console, pd.read_csv(folder / "rows.csv"), (folder / "page.html").read_text()


def features(frame, like):
    """The features of the command line: one column per category, scaled numbers."""
    numbers = like[["experience", "test"]]
    scaled = (frame[["experience", "test"]] - numbers.mean()) / numbers.std(ddof=0)
    cities = [(frame["city"] == name).astype(float) for name in ("Bergen", "Oslo")]
    return np.column_stack([*cities, scaled])


def in_python(bias, frame=None, test=None):
    train, rows = jobs() if frame is None else frame, jobs(40, seed=9) if test is None else test
    model = CertifiedClassifier(Ridge(alpha=1.0, tol=1e-13), bias=bias)
    model.fit(features(train, train), train["decision"])
    return model.certify(features(rows, train))


def test_verdicts_leads_and_minimum_budgets_are_those_of_python(answered):
    facts, _, rows, _ = answered
    certs = in_python(LabelBias.flips(budget=3))
    assert rows["prediction"].tolist() == certs.prediction.tolist()
    assert rows["verdict"].tolist() == [str(each) for each in certs.verdict]
    assert rows["minimum_budget"].tolist() == certs.minimum_budget.tolist()
    assert rows["score"].to_numpy() == pytest.approx(certs.score, abs=1e-9)
    assert rows["low"].to_numpy() == pytest.approx(certs.low, abs=1e-9)
    assert facts["classes"] == CLASSES
    assert facts["positive"] is None
    for each, budget in zip(facts["budgets"], (3, 9), strict=True):
        assert each["robust"] == int((certs.minimum_budget > budget).sum())


def test_what_a_row_becomes_is_the_rival_of_its_witness(answered):
    _, _, rows, _ = answered
    certs = in_python(LabelBias.flips(budget=150))
    for at in range(len(rows)):
        if np.isfinite(rows["minimum_budget"][at]):
            witness = certs.witness(at)
            assert len(witness) == rows["minimum_budget"][at]
            if witness.rival is not None:
                assert rows["becomes"][at] == witness.rival


def test_which_class_turns_into_which_is_counted_from_the_rows(answered):
    facts, console, rows, page = answered
    lost = rows[rows["minimum_budget"] <= 3]
    counts = lost.groupby(["prediction", "becomes"])["minimum_budget"].agg(["size", "median"])
    assert sum(each["rows"] for each in facts["turns"]) == len(lost) > 0
    for each in facts["turns"]:
        size, middle = counts.loc[(each["class"], each["becomes"])]
        assert each["rows"] == size
        assert each["median_budget"] <= middle
    assert "which class turns into which, within 3 labels" in console
    assert "Which class turns into which" in page
    assert [each["rows"] for each in facts["turns"]] == sorted(
        (each["rows"] for each in facts["turns"]), reverse=True
    )


def test_classes_are_counted_all_of_them(answered):
    facts, console, rows, page = answered
    table = pd.crosstab(rows["label"], rows["prediction"]).reindex(
        index=CLASSES, columns=CLASSES, fill_value=0
    )
    assert facts["confusion"] == table.to_numpy().tolist()
    right = [table.loc[each, each] / table.loc[each].sum() for each in CLASSES]
    assert facts["balanced_accuracy"] == pytest.approx(np.mean(right))
    assert facts["auc"] is None
    assert "(always saying one class: 33.3 %)" in console
    assert facts["groups"][0]["selection_gap"] is None
    shown = page.split("<main", 1)[1].split("</main>")[0]
    for word in ("the other class", "both classes", "threshold", "AUC", ">score<"):
        assert word not in shown
    assert "The lead is the score of the predicted class" in shown
    assert "it would become" in shown


def test_no_labels_within_the_budget_change_a_robust_row_when_the_command_runs_again(tmp_path):
    rng, frame, budget = np.random.default_rng(0), jobs(60), 3
    frame.to_csv(tmp_path / "jobs.csv", index=False)
    jobs(40, seed=9).to_csv(tmp_path / "new.csv", index=False)
    ask = ("--label", "decision", "--test", "new.csv", "--budget", budget, "--out", "rows.csv")
    run(tmp_path, "certify", "jobs.csv", *ask)
    before = pd.read_csv(tmp_path / "rows.csv")
    fragile = before["row"][before["verdict"] != "robust"].tolist()
    for attempt in range(some(4, 20)):
        wrong = frame.copy()
        if attempt < len(fragile):  # the labels that overturn another row
            row = fragile[attempt]
            told = json.loads(
                run(tmp_path, "witness", "jobs.csv", *ask[:4], "--row", row, "--json").stdout
            )
            for each in told["changes"]:
                wrong.loc[each["row"] - 1, "decision"] = each["new label"]
        else:
            for at in rng.choice(len(frame), budget, replace=False):
                wrong.loc[at, "decision"] = rng.choice(CLASSES)
        wrong.to_csv(tmp_path / "wrong.csv", index=False)
        run(tmp_path, "certify", "wrong.csv", *ask)
        after = pd.read_csv(tmp_path / "rows.csv")
        kept = before["verdict"] == "robust"
        assert (before["prediction"] == after["prediction"])[kept].all()
        if attempt < len(fragile):
            at = before["row"] == fragile[attempt]
            assert after["prediction"][at].item() == told["new_prediction"]
            assert after["prediction"][at].item() != before["prediction"][at].item()


def test_what_labels_may_really_be_is_what_python_takes(folder):
    ask = (*ASK, "--test", "new.csv", "--budget", "4", "--out", "to.csv")
    done = run(folder, *ask, "--to", "hired: 'interview'; interview: hired, declined")
    assert "a label 'hired' may really be 'interview'; a label 'interview'" in done.stdout
    assert "labels of every other class are right" in done.stdout
    to = {"hired": ["interview"], "interview": ["hired", "declined"]}
    certs = in_python(LabelBias.flips(budget=4, to=to))
    rows = pd.read_csv(folder / "to.csv")
    assert rows["minimum_budget"].tolist() == certs.minimum_budget.tolist()
    none = run(folder, *ask, "--folds", "3", "--to", "hired: interview", code=2)
    assert "--folds" in none.stderr


def test_every_fold_is_a_model_of_python(folder):
    facts = json.loads(
        run(folder, *ASK, "--folds", "3", "--budget", "4", "--to", "hired: interview",
            "--out", "folds.csv", "--json").stdout
    )  # fmt: skip
    frame, rows = jobs(), pd.read_csv(folder / "folds.csv")
    bias = LabelBias.flips(budget=4, to={"hired": ["interview"]})
    for fold in (1, 2, 3):
        out = (rows["fold"] == fold).to_numpy()
        certs = in_python(bias, frame[~out], frame[out])
        assert rows["prediction"][out].tolist() == certs.prediction.tolist()
        assert rows["minimum_budget"][out].tolist() == certs.minimum_budget.tolist()
    hired = min(
        int((frame["decision"][rows["fold"] != fold] == "hired").sum()) for fold in (1, 2, 3)
    )
    assert facts["movable_labels"] == hired


def test_a_class_that_is_in_one_fold_only_is_refused(tmp_path):
    frame = jobs().assign(site=lambda each: np.where(each["decision"] == "hired", "a", "b"))
    frame.loc[frame.index[frame["decision"] != "hired"][:60], "site"] = "c"
    frame.to_csv(tmp_path / "jobs.csv", index=False)
    done = run(tmp_path, *ASK, "--folds", "3", "--fold-by", "site", code=2)
    assert "all rows with the label 'hired' are in one fold" in done.stderr


def test_a_class_of_test_rows_that_no_training_row_has_is_refused(folder, tmp_path):
    jobs().to_csv(tmp_path / "jobs.csv", index=False)
    jobs(20, seed=2).assign(decision="withdrawn").to_csv(tmp_path / "new.csv", index=False)
    done = run(tmp_path, *ASK, "--test", "new.csv", code=2)
    assert "'withdrawn'" in done.stderr
    assert "cannot be learnt" in done.stderr


def test_a_witness_names_the_new_classes_and_what_the_refitted_model_says(folder, answered):
    _, _, rows, _ = answered
    row = rows["row"][rows["minimum_budget"].idxmin()]
    done = run(
        folder, "witness", "jobs.csv", "--label", "decision", "--test", "new.csv", "--row", row
    )
    becomes = rows["becomes"][rows["row"] == row].item()
    assert f"the model says {becomes} (lead " in done.stdout
    assert "score" not in done.stdout


@pytest.mark.parametrize("way", [("--method", "auto"), ("--resolve", "exact", "--holdout", "9")])
def test_other_proofs_give_the_same_verdicts(folder, way):
    seen = []
    for each in ((), way[:2]):
        run(folder, *ASK, *way[2:], *each, "--budget", "3", "--out", "proof.csv")
        seen.append(pd.read_csv(folder / "proof.csv")[["prediction", "verdict", "minimum_budget"]])
    assert seen[0].equals(seen[1])


def test_whole_numbers_are_classes_if_one_says_so(tmp_path):
    frame = jobs()
    frame["decision"] = frame["decision"].map({"declined": 1, "interview": 2, "hired": 3})
    frame.to_csv(tmp_path / "jobs.csv", index=False)
    done = run(tmp_path, *ASK, code=2)
    assert "--shift" in done.stderr
    done = run(tmp_path, *ASK, "--task", "classification", "--to", "3: 2, 1", "--noise", "5%")
    assert "a label '3' may really be '2' or '1'" in done.stdout
    assert "independent" in done.stdout
    assert "used as a number" not in done.stderr


def test_the_penalty_is_chosen_on_rows_of_all_classes(folder):
    facts = json.loads(run(folder, *ASK, "--alpha", "auto", "--json").stdout)
    assert "was chosen by 5-fold cross-validation" in facts["alpha_choice"]


def test_a_certificate_file_is_proven_from_the_table(folder):
    run(folder, *ASK, "--budget", "2", "--certificates", "proof.json")
    checked = run(folder, "verify", "proof.json", "--train", "jobs.csv")
    assert "0 rejected" in checked.stdout


def test_comparisons_trade_offs_and_audits_take_several_classes(folder):
    compared = ("compare", "jobs.csv", "--label", "decision", "--against=--alpha 500")
    assert "get another prediction" in run(folder, *compared).stdout
    line = ("tradeoff", "jobs.csv", "--label", "decision", "--alphas", "1,100")
    assert "accuracy" in run(folder, *line).stdout
    start = ("audit", "start", "jobs.csv", "--label", "decision", "--out", "audit.json")
    assert "confirmed" in run(folder, *start).stdout


def test_coefficients_are_refused_by_name(folder):
    done = run(folder, "coefficients", "jobs.csv", "--label", "decision", code=2)
    assert "unswayed coefficients does not go with the 3 classes" in done.stderr
    assert "--positive interview" in done.stderr


def test_rows_in_pieces_are_refused_with_what_to_pass(folder):
    done = run(folder, *ASK, "--in-pieces", code=2)
    assert "reading training rows in pieces does not go with the 3 classes" in done.stderr


@pytest.mark.parametrize(
    "model", [RidgeClassifier(alpha=1.0), OneVsRestClassifier(LogisticRegression(C=0.01))]
)
def test_a_page_from_python_says_what_turns_into_what(tmp_path, model):
    train, rows = jobs(), jobs(40, seed=9)
    made = CertifiedClassifier(model, bias=LabelBias.flips(budget=6))
    made.fit(features(train, train), train["decision"])
    certs = made.certify(features(rows, train))
    certs.report(tmp_path / "page.html", table=rows, groups=["city"], y_true=rows["decision"])
    page = (tmp_path / "page.html").read_text().split("<main", 1)[1].split("</main>")[0]
    assert "may really be another class" in page
    assert ("Which class turns into which" in page) == (certs.verdict == "not-robust").any()
    for word in ("the other class", "both classes", "threshold", "AUC"):
        assert word not in page
