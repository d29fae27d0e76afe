"""Predicted numbers: how far they move, radii, relative shifts, ranges and logarithms."""

import json
import math

import numpy as np
import pandas as pd
import pytest

from tests.commands import NUMBERS, people, unswayed_here
from unswayed.words import distance


def _answer(folder, *options, command="certify"):
    done = unswayed_here(command, "people.csv", *options, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _influence(frame, held, label="salary", ignore=("hired",)):
    """Weights of the training labels in every test row's prediction, by the closed form."""
    X = frame.drop(columns=[label, *ignore])
    numbers = X.select_dtypes("number")
    scaled = (numbers - numbers[~held].mean()) / numbers[~held].std(ddof=0)
    X = np.hstack([pd.get_dummies(X.drop(columns=numbers.columns)).to_numpy(float), scaled])
    A, T = X[~held], X[held]
    mean = A.mean(axis=0)
    inverse = np.linalg.inv((A - mean).T @ (A - mean) + np.eye(A.shape[1]))
    return (T - mean) @ inverse @ (A - mean).T + 1 / len(A)


def _moved(weights, lower, upper, count):
    """How far up and down each prediction goes if `count` labels are off."""
    up = np.maximum(weights * upper, weights * lower)
    down = np.maximum(-weights * upper, -weights * lower)
    return [np.sort(each, axis=1)[:, ::-1][:, :count].sum(axis=1) for each in (up, down)]


def _held(folder, table):
    frame = pd.read_csv(folder / "people.csv")
    held = np.zeros(len(frame), bool)
    held[table["row"] - 1] = True
    return frame, held


def test_without_a_radius_the_grid_says_what_each_radius_would_say(folder):
    options = (*NUMBERS, "--shift", "0:2000", "--budget", "2%", "--budget", "9")
    facts = _answer(folder, *options)
    grid = facts["radius_grid"]
    assert len(grid) >= 5
    assert grid[0]["rate"] < 0.5
    assert grid[-1]["rates"] == [1.0, 1.0]
    for point in grid:
        alone = _answer(folder, *options, "--radius", point["text"])
        assert [each["rate"] for each in alone["budgets"]] == point["rates"]
        assert alone["budgets"][0]["robust"] == point["robust"]
        assert alone["undecided"] == point["undecided"]


def test_the_movement_is_the_one_of_the_closed_form(folder):
    facts = _answer(folder, *NUMBERS, "--shift", "0:2000", "--budget", "2%", "--out", "out.csv")
    table = pd.read_csv(folder / "out.csv")
    assert "verdict" not in table
    frame, held = _held(folder, table)
    up, down = _moved(_influence(frame, held), 0.0, 2000.0, facts["movement"]["labels"])
    np.testing.assert_allclose(table["high"] - table["score"], up, atol=1e-6)
    np.testing.assert_allclose(table["score"] - table["low"], down, atol=1e-6)
    most = np.sort(np.maximum(up, down))
    assert facts["movement"]["median"] == pytest.approx(np.quantile(most, 0.5, method="higher"))
    assert facts["movement"]["p90"] == pytest.approx(np.quantile(most, 0.9, method="higher"))
    assert facts["movement"]["largest"] == pytest.approx(most[-1])


def test_without_a_radius_there_is_no_rate_and_the_page_of_numbers_says_why(folder):
    options = ("certify", "people.csv", *NUMBERS, "--shift", "2000", "--groups", "gender")
    done = unswayed_here(*options, cwd=folder)
    assert done.returncode == 0
    for words in ("move by at most", "radius", "█", "--radius DISTANCE", "female"):
        assert words in done.stdout
    facts = _answer(folder, *options[2:])
    main = facts["budgets"][0]
    assert main["rate"] is main["robust"] is facts["undecided"] is None
    assert facts["groups"][0]["gaps"] == [None]
    groups = facts["movement"]["groups"][0]["groups"]
    assert [each["group"] for each in groups] == ["female", "male"]
    assert max(each["largest"] for each in groups) == facts["movement"]["largest"]


def _page(folder, *options):
    done = unswayed_here(
        *("certify", "people.csv", *NUMBERS, "--shift", "5%", "--report", "r.html"),
        *options,
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return (folder / "r.html").read_text()


@pytest.mark.parametrize("log", [(), ("--log",)], ids=["numbers", "logarithms"])
def test_without_a_radius_the_page_has_movements_and_no_verdicts(folder, log):
    options = ("--budget", "2%", "--budget", "9", "--groups", "gender", "--row", "7", *log)
    page = _page(folder, *options, "--holdout", "100")
    facts = _answer(folder, *NUMBERS, "--shift", "5%", *options[:6], *log, "--holdout", "100")
    moved, grid = facts["movement"], facts["radius_grid"]
    for name in ("median", "p90", "largest"):
        assert distance(moved[name], bool(log)) in page.split("</section>")[0]
    for each in grid:
        assert f">{each['text']}</th>" in page
    for title in ("radii", "groups", "rows", "coefficients", "assumed", "again"):
        assert f'id="{title}-title"' in page
    for words in ("data-live", "keep their sign even", "suspects-title", "curve-title", "NaN"):
        assert words not in page.split("<script")[0]
    assert "--radius DISTANCE" in page
    assert "unit of salary" in page or log
    assert 'data-row="7"' in page


def test_without_a_radius_the_page_works_for_folds_and_where_nothing_moves(folder):
    assert "all within <strong>0</strong>" in _page(folder, "--budget", "0")
    page = _page(folder, "--folds", "3")
    assert "Half of the 240 test rows" in page


@pytest.mark.parametrize(
    ("command", "extra", "named"),
    [
        ("certify", ("--fail-under", "50%"), "--fail-under"),
        ("certify", ("--certificates", "c.json"), "--certificates"),
        ("certify", ("--report", "r.html", "--with-tradeoff"), "trade-off"),
        ("witness", ("--row", "7"), "witness"),
        ("tradeoff", (), "trade-off"),
    ],
)
def test_what_needs_a_radius_suggests_one_that_half_of_the_rows_keep(folder, command, extra, named):
    options = (*NUMBERS, "--shift", "2000", "--budget", "2%")
    done = unswayed_here(command, "people.csv", *options, *extra, cwd=folder)
    assert done.returncode == 2
    assert named in done.stderr
    suggested = done.stderr.split("within --radius ")[1].split()[0]
    rate = _answer(folder, *options, "--radius", suggested)["budgets"][0]["rate"]
    assert 0.5 <= rate < 1


def test_no_label_at_all_moves_nothing(folder):
    facts = _answer(folder, *NUMBERS, "--shift", "2000", "--budget", "0")
    assert facts["movement"]["largest"] == 0
    assert facts["radius_grid"][0] | {"rates": []} == {
        "radius": 0, "text": "0", "robust": 24, "rate": 1, "undecided": 0, "rates": [],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("shift", "low", "high"), [("5%", -0.05, 0.05), ("0:5%", 0, 0.05), ("-5%:0", -0.05, 0)]
)
def test_a_relative_shift_is_a_share_of_each_label_and_checkers_agree(folder, shift, low, high):
    options = (*NUMBERS, "--shift", shift, "--budget", "2%", "--radius", "150")
    done = unswayed_here(
        *("certify", "people.csv", *options, "--out", "out.csv", "--certificates", "c.json"),
        cwd=folder,
    )
    assert "% of its own value" in done.stdout
    table = pd.read_csv(folder / "out.csv")
    frame, held = _held(folder, table)
    labels = frame["salary"][~held].to_numpy()
    up, down = _moved(_influence(frame, held), low * labels, high * labels, 4)
    np.testing.assert_allclose(table["high"] - table["score"], up, atol=1e-6)
    np.testing.assert_allclose(table["score"] - table["low"], down, atol=1e-6)
    assert set(table["verdict"]) == {"robust", "not-robust"}
    checked = unswayed_here("verify", "c.json", "--train", "people.csv", cwd=folder)
    assert checked.returncode == 0, checked.stderr
    assert "24 claims proven" in checked.stdout


def test_clipped_labels_stay_inside_their_range(folder):
    frame = people()
    frame["salary"] -= frame["salary"].min()  # the lowest is 0
    frame.to_csv(folder / "people.csv", index=False)
    top = frame["salary"].max()
    options = (*NUMBERS, "--shift", "9000", "--clip", f"0:{top}", "--budget", "5")
    done = unswayed_here("certify", "people.csv", *options, "--out", "out.csv", cwd=folder)
    assert f"never outside 0 to {top:,g}" in done.stdout
    table = pd.read_csv(folder / "out.csv")
    frame, held = _held(folder, table)
    labels = frame["salary"][~held].to_numpy()
    lower, upper = np.maximum(-9000, -labels), np.minimum(9000, top - labels)
    up, down = _moved(_influence(frame, held), lower, upper, 5)
    np.testing.assert_allclose(table["high"] - table["score"], up, atol=1e-6)
    np.testing.assert_allclose(table["score"] - table["low"], down, atol=1e-6)


def test_logarithms_are_shifted_by_a_factor_and_shown_in_the_unit_of_the_label(folder):
    options = (*NUMBERS, "--log", "--shift", "5%", "--budget", "2%", "--radius", "0.5%")
    done = unswayed_here("certify", "people.csv", *options, "--out", "out.csv", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "off by a factor of up to 1.05 either way" in done.stdout
    assert "stay within a factor of 1.005" in done.stdout
    table = pd.read_csv(folder / "out.csv")
    frame, held = _held(folder, table)
    weights, labels = _influence(frame, held), np.log(frame["salary"][~held].to_numpy())
    score = weights @ labels
    up, down = _moved(weights, -math.log(1.05), math.log(1.05), 4)
    for name, expected in (("score", score), ("low", score - down), ("high", score + up)):
        np.testing.assert_allclose(table[name], np.exp(expected), rtol=1e-9)
    robust = np.maximum(up, down) <= math.log(1.005)
    assert 0 < robust.sum() < len(robust)
    np.testing.assert_array_equal(table["verdict"] == "robust", robust)
    assert table["label"].tolist() == frame["salary"][held].tolist()


def test_radii_of_logarithms_are_shares(folder):
    options = (*NUMBERS, "--log", "--shift", "0:5%", "--budget", "2%")
    facts = _answer(folder, *options)
    assert facts["movement"]["relative"]
    for point in facts["radius_grid"]:
        assert point["text"].endswith("%")
        alone = _answer(folder, *options, "--radius", point["text"])
        assert alone["budgets"][0]["rate"] == point["rate"]


def test_a_witness_of_logarithms_changes_labels_by_the_factor(folder):
    options = (*NUMBERS, "--log", "--shift", "5%", "--radius", "0.5%")
    table = unswayed_here("certify", "people.csv", *options, "--out", "out.csv", cwd=folder)
    assert table.returncode == 0
    row = int(pd.read_csv(folder / "out.csv")["row"][0])
    found = _answer(folder, *options, "--row", str(row), command="witness")
    frame = pd.read_csv(folder / "people.csv")
    factors = [
        float(each["new label"]) / frame["salary"][each["row"] - 1] for each in found["changes"]
    ]
    assert {round(max(each, 1 / each), 4) for each in factors} == {1.05}
    moved = float(found["new_prediction"]) / float(found["prediction"])
    assert max(moved, 1 / moved) > 1.005 - 1e-5


def test_a_radius_that_is_just_reached_gets_the_verdict_of_a_run_with_it(tmp_path):
    """Two groups of 8 rows: a prediction is a mean of 8, and one label moves it by an eighth."""
    frame = pd.DataFrame({"group": ["a", "b"] * 8, "y": np.arange(16) % 5})
    frame.to_csv(tmp_path / "people.csv", index=False)
    frame[:2].to_csv(tmp_path / "rows.csv", index=False)
    for resolve in ((), ("--resolve", "exact")):
        options = ("--label", "y", "--shift", "1", "--alpha", "0", "--test", "rows.csv", *resolve)
        facts = _answer(tmp_path, *options, "--budget", "1")
        (point,) = (each for each in facts["radius_grid"] if each["radius"] == 0.125)
        alone = _answer(tmp_path, *options, "--budget", "1", "--radius", "0.125")
        assert alone["budgets"][0]["robust"] == point["robust"]
        assert alone["undecided"] == point["undecided"]
    assert point["robust"] == 2  # the last one is settled


def test_movement_that_rounding_hides_is_unknown_until_it_is_resolved(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    frame = pd.DataFrame({"a": x, "b": x + 1e-13 * rng.normal(size=60), "c": rng.normal(size=60)})
    frame["y"] = 3 * x + frame["c"] + rng.normal(size=60)
    frame.to_csv(tmp_path / "people.csv", index=False)
    options = ("--label", "y", "--shift", "1", "--alpha", "0", "--budget", "5")
    done = unswayed_here("certify", "people.csv", *options, cwd=tmp_path)
    assert "unknown" in done.stdout
    assert "--resolve exact tells" in done.stdout
    hidden = _answer(tmp_path, *options)
    assert (hidden["movement"]["median"], hidden["radius_grid"]) == (None, [])
    known = _answer(tmp_path, *options, "--resolve", "exact")
    assert 0 < known["movement"]["median"] < 2
    assert known["radius_grid"][-1]["rate"] == 1
