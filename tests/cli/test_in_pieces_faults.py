"""What goes wrong with training rows in pieces is said in one line, and ends with 2."""

import json
import os

import pandas as pd
import pytest
from distributed import LocalCluster

from tests.commands import CLASSES, NUMBERS, people, unswayed, unswayed_here


@pytest.fixture
def folder(tmp_path):
    """A folder with three parts."""
    (tmp_path / "parts").mkdir()
    for number in range(3):
        people(60, number).to_parquet(tmp_path / "parts" / f"{number}.parquet")
    return tmp_path


def refused(*arguments, cwd):
    done = unswayed_here(*arguments, cwd=cwd)
    lines = [line for line in done.stderr.splitlines() if not line.startswith("pass ")]
    assert done.returncode == 2, done.stdout
    assert len(lines) == 1, done.stderr
    assert done.stdout == ""
    return lines[0]


def rewrite(path, change):
    frame = pd.read_parquet(path)
    change(frame).to_parquet(path)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--folds", "5"), "--folds"),
        (("--weights", "education"), "--weights"),
        (("--certificates", "c.json"), "--certificates"),
        (("--resolve", "exact"), "--resolve exact"),
        (("--report", "r.html", "--with-tradeoff"), "--with-tradeoff"),
        (("--report", "r.html", "--base", "city=Bergen"), "--base"),
        (("--report", "r.html", "--row", "3"), "--row"),
        (("--threshold", "balanced"), "--threshold balanced"),
        (("--missing", "impute"), "--missing impute"),
        (("--alpha", "auto"), "--alpha auto or --give-up"),
        (("--give-up", "1"), "--alpha auto or --give-up"),
        (("--numeric", "city"), "--numeric city"),
        (("--na", "?"), "--na"),
    ],
)
def test_what_needs_all_rows_together_is_refused_by_name(folder, options, said):
    line = refused("certify", "parts", *CLASSES, *options, cwd=folder)
    assert f"{said} is not possible for training rows in pieces: " in line
    assert "; " in line


def test_logarithms_are_refused(folder):
    line = refused("certify", "parts", *NUMBERS, "--log", "--shift", "5%", cwd=folder)
    assert "--log is not possible" in line


@pytest.mark.parametrize("command", ["inspect", "coefficients", "tradeoff"])
@pytest.mark.parametrize("source", ["parts", "parts/*.parquet", "s3://bucket/parts"])
def test_other_commands_say_which_ones_take_folders(folder, command, source):
    line = refused(command, source, "--label", "hired", cwd=folder)
    assert "unswayed certify and unswayed witness take folders" in line


def test_compare_says_which_commands_take_folders(folder):
    people(60, 3).to_csv(folder / "one.csv", index=False)
    options = (*CLASSES, "--test", "one.csv")
    line = refused("compare", "parts", "one.csv", *options, cwd=folder)
    assert "unswayed certify and unswayed witness take folders" in line


def test_no_match(folder):
    assert "no file matches" in refused("certify", "none/*.csv", *CLASSES, cwd=folder)
    (folder / "empty").mkdir()
    assert "no CSV or Parquet file in" in refused("certify", "empty", *CLASSES, cwd=folder)


def test_no_such_column(folder):
    assert "no column 'hird'" in refused("certify", "parts", "--label", "hird", cwd=folder)
    line = refused("certify", "parts", *CLASSES, "--categorical", "towns", cwd=folder)
    assert "--categorical: there is no column 'towns'" in line
    line = refused("certify", "parts", *CLASSES, "--only", "sex == 'x'", cwd=folder)
    assert "there is no column 'sex'" in line
    assert "there is no column" in refused(
        "certify", "parts", *CLASSES, "--groups", "towns", cwd=folder
    )


def test_a_piece_that_cannot_be_read(folder):
    path = folder / "parts" / "1.parquet"
    path.write_bytes(path.read_bytes()[:200])
    assert "cannot read parts/1.parquet" in refused("certify", "parts", *CLASSES, cwd=folder)


def test_rows_that_cannot_be_read(folder):
    path = folder / "parts" / "2.parquet"
    data = bytearray(path.read_bytes())
    data[4:600] = bytes(596)
    path.write_bytes(data)
    assert "parts/2.parquet" in refused("certify", "parts", *CLASSES, cwd=folder)


def test_a_schema_that_differs(folder):
    rewrite(folder / "parts" / "1.parquet", lambda frame: frame.drop(columns="city"))
    line = refused("certify", "parts", *CLASSES, cwd=folder)
    assert "parts/1.parquet has no column 'city', which parts/0.parquet has" in line


def test_a_kind_that_differs(folder):
    rewrite(folder / "parts" / "2.parquet", lambda frame: frame.assign(education="high"))
    line = refused("certify", "parts", *CLASSES, cwd=folder)
    assert "parts/2.parquet: column 'education' holds texts but numbers in" in line


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_missing_label_names_file_and_row(folder, kind):
    (folder / "more").mkdir()
    for number in range(2):
        frame = people(70_000, number)
        if number:
            frame.loc[67_000, "hired"] = None
        path = folder / "more" / f"{number}.{kind}"
        frame.to_parquet(path) if kind == "parquet" else frame.to_csv(path, index=False)
    people(20, 5).to_csv(folder / "test.csv", index=False)
    line = refused("certify", "more", *CLASSES, "--test", "test.csv", cwd=folder)
    assert f"more/1.{kind}, row 67,001: the label is missing" in line
    done = unswayed_here(
        "certify", "more", *CLASSES, "--test", "test.csv", "--missing", "drop", cwd=folder
    )
    assert done.returncode == 0
    assert "1 training rows miss values and are left out" in done.stderr


def test_what_is_fine(folder):
    """A category in the last file only, an empty file, a piece with one class."""
    rewrite(folder / "parts" / "2.parquet", lambda frame: frame.assign(city="Zürich"))
    rewrite(folder / "parts" / "1.parquet", lambda frame: frame.assign(hired="yes"))
    people(60, 7)[:0].to_parquet(folder / "parts" / "3.parquet")
    done = unswayed_here("certify", "parts", *CLASSES, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["data"]["rows"] == 180
    assert facts["data"]["features"] == 2 + 4 + 2


def test_one_class_in_all_files(folder):
    for number in range(3):
        rewrite(folder / "parts" / f"{number}.parquet", lambda frame: frame.assign(hired="no"))
    line = refused("certify", "parts", *CLASSES, cwd=folder)
    assert "the label 'hired' is 'no' in every training row" in line


def test_labels_that_are_no_classes(folder):
    line = refused("certify", "parts", "--label", "salary", "--task", "classification", cwd=folder)
    assert "more than 20 values" in line
    line = refused("certify", "parts", "--label", "salary", cwd=folder)
    assert "pass --shift 2000" in line


def test_a_condition_that_no_row_meets(folder):
    line = refused("certify", "parts", *CLASSES, "--only", "education > 99", cwd=folder)
    assert "selects no training row" in line


def test_unseen_categories_of_test_rows(folder):
    people(20, 5).assign(city="Ulm").to_csv(folder / "test.csv", index=False)
    options = (*CLASSES, "--test", "test.csv")
    assert "no training row has" in refused("certify", "parts", *options, cwd=folder)
    done = unswayed_here("certify", "parts", *options, "--unseen", "ignore", cwd=folder)
    assert done.returncode == 0
    assert "predicted from their other columns" in done.stderr


def test_constant_columns_are_left_out(folder):
    for number in range(3):
        rewrite(folder / "parts" / f"{number}.parquet", lambda frame: frame.assign(land="x", k=1))
    done = unswayed_here("certify", "parts", *CLASSES, "--alpha", "0", "--json", cwd=folder)
    facts = json.loads(done.stdout)
    assert [each["kind"] for each in facts["caveats"]].count("constant-column") == 2
    assert facts["data"]["features"] == 7


def test_an_output_file_is_not_put_among_the_training_rows(folder):
    line = refused("certify", "parts", *CLASSES, "--out", "parts/out.csv", cwd=folder)
    assert "is in the folder of the training rows" in line
    line = refused("certify", "parts/*.parquet", *CLASSES, "--out", "parts/1.parquet", cwd=folder)
    assert "would overwrite the input" in line


def test_a_folder_of_something_else_is_not_resumed(folder):
    line = refused("certify", "parts", *CLASSES, "--resume", "parts", cwd=folder)
    assert "is not empty" in line


def test_the_test_file_is_among_the_training_files(folder):
    done = unswayed_here("certify", "parts", *CLASSES, "--test", "parts/1.parquet", cwd=folder)
    assert "is the training file" in done.stderr


def test_too_many_held_out(folder):
    line = refused("certify", "parts", *CLASSES, "--holdout", "179", cwd=folder)
    assert "leaves too few to train on" in line


def test_a_scheduler_that_does_not_answer(folder):
    line = refused(
        "certify", "parts", *CLASSES, "--scheduler", "tcp://127.0.0.1:nowhere", cwd=folder
    )
    assert "no scheduler answers at tcp://127.0.0.1:nowhere" in line


def test_without_dask_only_a_scheduler_is_refused(folder):
    """The program in a process of its own, where importing dask or distributed fails."""
    (folder / "no").mkdir()
    for name in ("dask", "distributed"):
        (folder / "no" / f"{name}.py").write_text(f"raise ModuleNotFoundError(name='{name}')\n")
    env = {**os.environ, "PYTHONPATH": str(folder / "no")}
    done = unswayed("certify", "parts", *CLASSES, cwd=folder, env=env)
    assert done.returncode == 0, done.stderr
    done = unswayed("certify", "parts", *CLASSES, "--scheduler", "tcp://x:1", cwd=folder, env=env)
    assert done.returncode == 2
    assert "pip install 'unswayed[distributed]'" in done.stderr


def test_a_scheduler_makes_the_passes(folder):
    options = (*CLASSES, "--only", "education < 15")
    here = unswayed_here("certify", "parts", *options, "--json", "--out", "o.csv", cwd=folder)
    row = int(pd.read_csv(folder / "o.csv")["row"].min())
    witness = ("witness", "parts", *options, "--json", "--row", row)
    with LocalCluster(
        n_workers=1, threads_per_worker=2, host="127.0.0.1", dashboard_address=None
    ) as cluster:
        on = ("--scheduler", cluster.scheduler_address)
        there = unswayed_here("certify", "parts", *options, *on, "--json", cwd=folder)
        found = unswayed_here(*witness, *on, cwd=folder)
    assert there.returncode == found.returncode == 0, there.stderr + found.stderr
    assert json.loads(there.stdout)["budgets"] == json.loads(here.stdout)["budgets"]
    assert json.loads(found.stdout) == json.loads(unswayed_here(*witness, cwd=folder).stdout)
