"""`unswayed inspect`, and its warnings in every output of `certify`."""

import json

import numpy as np
import pandas as pd
import pytest

from tests.commands import CLASSES, people, unswayed_here

N = 240


def suspects() -> pd.DataFrame:
    """People with one column of every suspicious kind."""
    rng = np.random.default_rng(7)
    frame = people(N)
    marks = rng.integers(0, 60, N).astype(str)
    marks[[4, 9, 30]] = "?"
    return frame.assign(
        RAC1P=rng.choice([1, 2, 6, 8, 9], N),
        number=np.arange(N) + 1000,
        months=marks,
        zip=rng.choice(["01234", "90210", "33101"], N),
        plan="basic",
        fired=np.where(frame["hired"] == "yes", 3, 8),
        remark=[f"remark {i // 3}" for i in range(N)],
    )


SETTLED = {
    "code-column": ("RAC1P", ("--categorical", "RAC1P"), ("--numeric", "RAC1P")),
    "id-column": ("number", ("--ignore", "number"), ("--numeric", "number")),
    "mixed-column": ("months", ("--na", "?"), ("--categorical", "months")),
    "leading-zeros": ("zip", ("--categorical", "zip"), ("--numeric", "zip")),
    "constant-column": ("plan", ("--ignore", "plan")),
    "leak": ("fired", ("--ignore", "fired")),
    "free-text": ("remark", ("--ignore", "remark"), ("--categorical", "remark")),
}


@pytest.fixture
def folder(tmp_path):
    suspects().to_csv(tmp_path / "people.csv", index=False)
    return tmp_path


def inspected(folder, *options):
    done = unswayed_here(
        "inspect", "people.csv", "--label", "hired", *options, "--json", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_kind_of_suspicious_column_is_named_with_the_option_that_settles_it(folder):
    found = {each["kind"]: each for each in inspected(folder)["caveats"]}
    assert set(found) == set(SETTLED)
    for kind, (column, *ways) in SETTLED.items():
        assert repr(column) in found[kind]["text"]
        for option, value in ways:
            assert option in found[kind]["option"]
            assert value in found[kind]["option"]


@pytest.mark.parametrize(
    ("kind", "way"), [(kind, way) for kind, (_, *ways) in SETTLED.items() for way in ways], ids=str
)
def test_the_option_that_a_warning_names_settles_it(folder, kind, way):
    assert kind not in {each["kind"] for each in inspected(folder, *way)["caveats"]}


def test_the_table_says_how_each_column_is_read(folder):
    frame = suspects()
    frame.loc[[2, 5, 8], "city"] = None
    frame.to_csv(folder / "people.csv", index=False)
    done = unswayed_here("inspect", "people.csv", "--label", "hired", cwd=folder)
    assert done.returncode == 0
    assert done.stdout.startswith("people.csv: 240 rows, 13 columns, 3 missing cells\n")
    lines = {line.split("  ")[0]: " ".join(line.split()) for line in done.stdout.splitlines()}
    assert lines["city"].startswith("city category 3 3 ")
    assert lines["education"].startswith("education number 12 0 ")
    assert lines["plan"].startswith("plan constant, left out 1 0 basic")
    assert lines["hired"].startswith("hired label (category) 2 0 ")
    assert "warning: column 'months' holds numbers, but also texts in 3 rows ('?' in row 5)" in (
        done.stderr
    )


def test_certify_warns_of_columns_in_console_json_and_report(folder):
    options = ("--label", "hired", "--ignore", "salary", "--report", "r.html")
    done = unswayed_here("certify", "people.csv", *options, cwd=folder)
    assert done.returncode == 0, done.stderr
    page = (folder / "r.html").read_text()
    answer = json.loads(
        unswayed_here("certify", "people.csv", *options, "--json", cwd=folder).stdout
    )
    kinds = {each["kind"] for each in answer["caveats"]}
    assert set(SETTLED) <= kinds
    for kind, (column, *_) in SETTLED.items():
        assert f"warning: column {column!r}" in done.stderr, kind
        assert f"column &#39;{column}&#39;" in page, kind
    read = {each["column"]: each for each in answer["columns"]}
    assert read["plan"]["read_as"] == "constant"
    assert read["salary"]["role"] == "ignored"
    assert read["months"]["warnings"]


@pytest.mark.parametrize("command", ["certify", "coefficients", "compare", "tradeoff", "witness"])
def test_every_command_says_what_it_read_in_one_line(tmp_path, command):
    frame = people(60)
    frame.loc[[1, 7], "education"] = np.nan
    frame.loc[7, "city"] = None
    frame.assign(plan="x").to_csv(tmp_path / "people.csv", index=False)
    more = ("--row", "14") if command == "witness" else ()
    more += ("--alphas", "1") if command == "tradeoff" else ()
    more += ("--against", "--alpha 9") if command == "compare" else ()
    for way, done_with in (("drop", "2 rows left out"), ("impute", "filled in (numbers by")):
        options = (*CLASSES, "--missing", way, "--holdout", "50", *more)
        options = (*CLASSES, "--missing", way, *more) if command == "coefficients" else options
        done = unswayed_here(command, "people.csv", *options, cwd=tmp_path)
        assert done.returncode in (0, 1), done.stderr
        lines = [
            line for line in done.stdout.splitlines() if line.startswith("people.csv: 60 rows; ")
        ]
        assert len(lines) == 1
        assert "2 columns of numbers and 2 of categories make " in lines[0]
        assert f"3 missing cells: {done_with}" in lines[0]
        assert "column 'plan' is 'x' in every row" in done.stderr


def test_counts_measures_and_ordinary_texts_raise_no_suspicion(tmp_path):
    rng = np.random.default_rng(0)
    frame = people(N).assign(
        children=rng.poisson(1.2, N),
        age=rng.integers(18, 30, N),
        year=rng.integers(2001, 2011, N),
        female=rng.integers(0, 2, N),
        sex=rng.integers(1, 3, N),
        income=rng.lognormal(10, 1, N).round(),
        share=rng.random(N),
        grade=rng.integers(1, 6, N),
    )
    frame.to_csv(tmp_path / "people.csv", index=False)
    assert inspected(tmp_path)["caveats"] == []


def test_what_is_certified_does_not_depend_on_a_leak_being_noticed(tmp_path):
    frame = people(N).assign(fired=lambda frame: np.where(frame["hired"] == "yes", 3, 8))
    frame.to_csv(tmp_path / "people.csv", index=False)
    frame.loc[1, "fired"] = 3 if frame.loc[1, "hired"] == "no" else 8  # row 2 is no test row
    frame.to_csv(tmp_path / "other.csv", index=False)
    warned = {}
    for name in ("people.csv", "other.csv"):
        done = unswayed_here("certify", name, *CLASSES, "--json", "--out", "o.csv", cwd=tmp_path)
        facts = json.loads(done.stdout)
        warned[name] = [each["kind"] for each in facts["caveats"]]
        assert facts["data"]["features"] == 8
    assert warned == {"people.csv": ["leak"], "other.csv": ["near-leak"]}


def test_a_number_that_is_the_label_in_another_unit_is_a_leak(tmp_path):
    people(N).assign(cents=lambda frame: 100 * frame["salary"]).to_csv(
        tmp_path / "people.csv", index=False
    )
    done = unswayed_here("inspect", "people.csv", "--label", "salary", "--json", cwd=tmp_path)
    leaks = [each["text"] for each in json.loads(done.stdout)["caveats"] if each["kind"] == "leak"]
    assert len(leaks) == 1
    assert "'cents'" in leaks[0]


def test_many_codes_are_told_in_one_sentence_with_one_option(tmp_path):
    rng = np.random.default_rng(0)
    people(N).assign(COW=rng.integers(1, 9, N), OCCP=rng.integers(10, 9000, N), kind=1).to_csv(
        tmp_path / "people.csv", index=False
    )
    found = [each for each in inspected(tmp_path)["caveats"] if each["kind"] == "code-column"]
    assert len(found) == 1
    assert "--categorical COW,OCCP" in found[0]["option"]


def test_ids_and_dates_are_told_in_one_sentence_each(tmp_path):
    people(N).assign(
        id=range(N), who=[f"p{i}" for i in range(N)],
        born=pd.Timestamp("2001-02-03"), died=pd.Timestamp("2009-02-03"),
    ).to_csv(tmp_path / "people.csv", index=False)  # fmt: skip
    found = {each["kind"]: each["option"] for each in inspected(tmp_path)["caveats"]}
    assert set(found) == {"id-column", "unreadable-column"}
    assert "--ignore id,who" in found["id-column"]
    assert "--ignore born,died" in found["unreadable-column"]


def test_a_column_that_is_constant_in_the_training_rows_only_is_left_out_too(tmp_path):
    frame = people(60)
    held_out = [int(row) for row in np.sort(np.random.default_rng(0).permutation(60)[:6])]
    frame["plan"] = np.where(frame.index.isin(held_out), "new", "old")
    frame.to_csv(tmp_path / "people.csv", index=False)
    done = unswayed_here("certify", "people.csv", *CLASSES, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["data"]["categories"] == 2
    assert [
        "'plan' is 'old' in every training row" in each["text"] for each in facts["caveats"]
    ] == [True]


def test_inspect_describes_files_that_certify_refuses(tmp_path):
    people(400).assign(
        who=[f"p{i}" for i in range(400)], born=pd.Timestamp("2001-02-03"), nothing=None
    ).to_csv(tmp_path / "people.csv", index=False)
    found = inspected(tmp_path)
    assert {each["kind"] for each in found["caveats"]} == {
        "id-column", "unreadable-column", "constant-column",
    }  # fmt: skip


def test_names_with_spaces_around_them_can_be_named(tmp_path):
    people(60).rename(columns={"city": " city", "education": " education"}).to_csv(
        tmp_path / "people.csv", index=False
    )
    done = unswayed_here(
        *("certify", "people.csv", *CLASSES, "--ignore", " city", "--categorical", " education"),
        "--json",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    roles = {each["column"]: each["role"] for each in json.loads(done.stdout)["columns"]}
    assert roles[" city"] == "ignored"


@pytest.mark.parametrize("falling", [False, True])
def test_classes_of_a_number_tell_it(tmp_path, falling):
    frame = people(N).drop(columns="hired")
    frame["decile"] = (frame["salary"].rank(pct=True) * 9.99).astype(int) * (-1 if falling else 1)
    frame["high"] = (frame["salary"] > 30_000).astype(int)  # of two classes any number may be one
    frame.to_csv(tmp_path / "people.csv", index=False)
    done = unswayed_here("inspect", "people.csv", "--label", "salary", "--json", cwd=tmp_path)
    leaks = [each for each in json.loads(done.stdout)["caveats"] if each["kind"] == "leak"]
    assert [each["option"].split()[2] for each in leaks] == ["decile"]
    frame.loc[3, "decile"] = frame["decile"].max() + 1
    frame.to_csv(tmp_path / "people.csv", index=False)
    done = unswayed_here("inspect", "people.csv", "--label", "salary", "--json", cwd=tmp_path)
    assert not [each for each in json.loads(done.stdout)["caveats"] if each["kind"] == "leak"]


@pytest.mark.parametrize("classes", [("True", "False"), ("0", "1")])
def test_a_label_of_two_values_is_read_as_classes(tmp_path, classes):
    lines = ["a,y", *(f"{at / 7},{classes[at % 3 == 0]}" for at in range(30))]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    done = unswayed_here("inspect", "t.csv", "--label", "y", "--json", cwd=tmp_path)
    label = next(each for each in json.loads(done.stdout)["columns"] if each["column"] == "y")
    assert (label["role"], label["read_as"]) == ("label", "category")
