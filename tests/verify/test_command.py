"""`unswayed certify --certificates` and `unswayed verify` on real files."""

import json
from decimal import Decimal

import jsonschema
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.linear_model import Ridge

from tests.commands import CLASSES, NUMBERS, people, unswayed_here
from tests.verify.test_mutations import mutations
from unswayed import CertifiedClassifier, LabelBias
from unswayed.cli import main
from unswayed.verify import CertificateError, schema_text, verify


@pytest.fixture
def folder(tmp_path):
    people().to_csv(tmp_path / "people.csv", index=False)
    people(30, seed=9).to_csv(tmp_path / "new.csv", index=False)
    return tmp_path


def holes(frame):
    frame = frame.copy()
    frame["education"] = frame["education"].astype(float)
    frame.loc[frame.index % 17 == 3, "education"] = np.nan
    frame.loc[frame.index % 23 == 5, "city"] = None
    return frame


def typed(frame):
    """Columns of every type a Parquet file may bring along."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    extra = {
        "dictionary": pa.array(frame["city"]).dictionary_encode(),
        "flag": pa.array(frame["gender"] == "male"),
        "single": pa.array(frame["interview score"], type=pa.float32()),
        "tenths": pa.array([Decimal(int(x)) / 10 for x in frame["education"]]),
        "decimal": pa.array(frame["education"]).cast(pa.decimal128(20)).cast(pa.decimal128(22, 2)),
        "long": pa.array(2**60 + frame["education"]),
    }
    for name, column in extra.items():
        table = table.append_column(name, column)
    return table


OPTIONS = {
    "held out": CLASSES,
    "numbers": (*NUMBERS, "--shift", "0:2000", "--radius", "350"),
    "another file": (*CLASSES, "--test", "new.csv"),
    "some rows": (*CLASSES, "--only", "gender == 'female'", "--direction", "up"),
    "alpha chosen": (*CLASSES, "--alpha", "auto"),
    "least squares": (*CLASSES, "--alpha", "0"),
    "codes": (*CLASSES, "--categorical", "education"),
    "only texts": (*CLASSES, "--ignore", "education,interview score"),
    "only numbers": (*CLASSES, "--ignore", "gender,city"),
    "bounds alone": (*CLASSES, "--method", "box"),
}


@pytest.fixture
def checked(folder, capsys, monkeypatch):
    """Certify, verify, and give back what verify says."""
    monkeypatch.chdir(folder)

    def run(*options, train="people.csv"):
        output = ("--certificates", "c.json", "--budget", "3", "--quiet")
        code = main(["certify", train, *options, *output])
        assert code == 0, capsys.readouterr().err
        test = ("--test", options[options.index("--test") + 1]) if "--test" in options else ()
        capsys.readouterr()
        code = main(["verify", "c.json", "--train", train, *test, "--json"])
        out, err = capsys.readouterr()
        assert code == 0, out + err
        assert json.loads(out)["rejected"] == {}
        return json.loads(out)

    return run


@pytest.mark.parametrize("case", OPTIONS)
def test_what_certify_writes_is_proven_from_the_files_alone(folder, checked, case):
    facts = checked(*OPTIONS[case])
    assert facts["proven"] > 0
    assert (facts["undecided"] > 0) == (case == "bounds alone")


@pytest.mark.parametrize("way", ["drop", "impute"])
def test_missing_values_are_treated_the_same_way(folder, checked, way):
    holes(people()).to_csv(folder / "people.csv", index=False)
    checked(*CLASSES, "--missing", way)


def test_parquet_columns_of_every_type_become_the_same_features(folder, checked):
    pq.write_table(typed(people()), folder / "people.parquet")
    checked(*CLASSES, "--categorical", "flag,tenths", train="people.parquet")


def test_a_csv_file_of_other_words_becomes_the_same_features(folder, checked):
    frame = people()
    frame["flag"] = np.where(frame["gender"] == "male", "True", "False")
    frame["hired"] = np.where(frame["hired"] == "yes", "true", "false")
    frame["city"] = frame["city"].replace("Bergen", 'a "quoted", long\nname')
    frame["big"] = 2**60 + frame["education"]
    frame["exponent"] = [f"{x:.3e}" for x in frame["interview score"]]
    frame.to_csv(folder / "people.csv", index=False)
    checked(*CLASSES, "--categorical", "flag")


def test_numbers_in_unusual_writing_become_the_same_features(folder, checked):
    frame = people()
    frame["zero"] = np.where(frame["gender"] == "male", "-0.0", "0")
    frame.loc[:2, "zero"] = ["1.5", "NAN", "nan"]
    frame["identifier"] = [str(2**64 + each % 7 * 2**20) for each in frame.index]
    frame["story"] = np.where(frame.index % 20, "short", "long " * 40_000)
    frame.to_csv(folder / "people.csv", index=False)
    options = (*CLASSES, "--ignore", "story", "--missing")
    checked(*options, "impute")
    checked(*options, "drop", "--categorical", "zero,identifier")


def test_a_file_with_fewer_rows_is_other_data(folder, checked):
    checked(*CLASSES)
    people().head(100).to_csv(folder / "people.csv", index=False)
    with pytest.raises(
        CertificateError, match=r"recipe.train names row 239, but the file has 100 rows"
    ):
        verify(folder / "c.json", train=folder / "people.csv")


def test_a_category_that_no_training_row_has_is_all_zeros(folder, checked):
    new = people(30, seed=9)
    new.loc[4, "city"] = "Derry"
    new.to_csv(folder / "new.csv", index=False)
    checked(*CLASSES, "--test", "new.csv", "--unseen", "ignore")


def test_plain_numbers_need_no_data_file(folder):
    frame = people()[["education", "interview score", "hired"]]
    train, test = frame[:200], frame[200:]
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=3))
    model.fit(train[["education", "interview score"]], train["hired"])
    model.certify(test[["education", "interview score"]]).save(folder / "c.json")
    model.certify_coefficients().save(folder / "coefficients.json")
    train.to_csv(folder / "train.csv", index=False)
    test.to_csv(folder / "test.csv", index=False)
    files = ("--train", "train.csv", "--test", "test.csv")
    done = unswayed_here("verify", "c.json", *files, "--label", "hired", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "40 claims proven, 0 rejected, 0 without a verdict" in done.stdout
    report = verify(folder / "coefficients.json", train=folder / "train.csv", label="hired")
    assert (report.proven, report.rejected) == (2, {})


@pytest.mark.parametrize(
    "options", [(*CLASSES, "--resolve", "exact"), (*NUMBERS, "--shift", "2000", "--alpha", "0")]
)
def test_coefficients_are_proven_from_the_file_alone(folder, options, capsys):
    arguments = ("coefficients", "people.csv", *options, "--certificates", "c.json")
    done = unswayed_here(*arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "wrote c.json" in done.stdout
    document = json.loads((folder / "c.json").read_text())
    jsonschema.validate(document, json.loads(schema_text()))
    assert document["question"]["task"] == "coefficients"
    assert {"features": [0, 1], "weights": [1.0, -1.0]} in document["question"]["contrasts"]
    report = verify(folder / "c.json", train=folder / "people.csv")
    assert (report.proven, report.undecided, report.rejected) == (6, 0, {})
    assert "  0: 1.0 times 'gender' is 'female' plus -1.0 times 'gender' is 'male'" in (
        report.question.splitlines()
    )
    document["claims"][0]["decision"] *= -1
    (folder / "c.json").write_text(json.dumps(document))
    assert list(verify(folder / "c.json", train=folder / "people.csv").rejected) == [0]


def test_rows_are_certified_once_for_table_and_file(folder, monkeypatch):
    people(2600).to_csv(folder / "people.csv", index=False)
    monkeypatch.chdir(folder)
    asked = []
    certify = CertifiedClassifier.certify
    monkeypatch.setattr(
        CertifiedClassifier,
        "certify",
        lambda self, X, **options: asked.append(len(X)) or certify(self, X, **options),
    )
    options = ("--holdout", "1100", "--out", "table.csv", "--certificates", "c.json", "--quiet")
    assert main(["certify", "people.csv", *CLASSES, *options]) == 0
    assert asked == [1024, 76]
    report = verify("c.json", train="people.csv")
    assert (report.proven + report.undecided, report.rejected) == (1100, {})
    document = json.loads((folder / "c.json").read_text())
    table = pd.read_csv(folder / "table.csv")
    assert [claim["verdict"] for claim in document["claims"]] == table["verdict"].tolist()


def test_a_false_claim_is_named_with_the_reason_and_exit_1(folder, checked):
    checked(*CLASSES)
    document = json.loads((folder / "c.json").read_text())
    liar = next(each for each in document["claims"] if each["verdict"] == "robust")
    liar["minimum_budget"] += 1
    (folder / "c.json").write_text(json.dumps(document))
    done = unswayed_here("verify", "c.json", "--train", "people.csv", cwd=folder)
    assert done.returncode == 1
    reason = f"its minimum budget is below {liar['minimum_budget']} labels"
    assert f"claim {liar['row']}: {reason}" in done.stdout
    quiet = unswayed_here("verify", "c.json", "--train", "people.csv", "--quiet", cwd=folder)
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (1, "", "")


def test_another_cell_or_another_recipe_is_other_data(folder, checked):
    checked(*CLASSES)
    document = json.loads((folder / "c.json").read_text())
    changed, count = people(), 0
    changed.loc[7, "education"] += 1
    changed.to_csv(folder / "other.csv", index=False)
    with pytest.raises(CertificateError, match="belongs to other data"):
        verify(folder / "c.json", train=folder / "other.csv")
    for path, altered in mutations(document):
        if path[:1] != ("recipe",):
            continue
        (folder / "c.json").write_text(json.dumps(altered))
        count += 1
        with pytest.raises(CertificateError):
            verify(folder / "c.json", train=folder / "people.csv")
    assert count > 150


def test_the_schema_is_printed(tmp_path):
    done = unswayed_here("verify", "--schema", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, schema_text())


def test_certificates_do_not_overwrite_what_they_are_about(folder):
    (folder / "people.csv").rename(folder / "people.json")
    done = unswayed_here(
        "certify", "people.json", *CLASSES, "--certificates", "people.json", cwd=folder
    )
    assert done.returncode == 2
    assert "overwrite" in done.stderr


def test_a_file_of_labels_that_are_numbers_of_two_kinds_is_read_as_certify_reads_it(
    folder, checked
):
    frame = people()
    frame["hired"] = np.where(frame["hired"] == "yes", 10, 9)
    frame.to_csv(folder / "people.csv", index=False)
    checked(*CLASSES)
    assert pd.read_csv(folder / "people.csv")["hired"].isin([9, 10]).all()
