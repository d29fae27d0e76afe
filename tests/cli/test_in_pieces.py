"""Training rows in pieces, from the command line: folders, patterns, URLs and --in-pieces."""

import json
import os
import shutil
from itertools import pairwise

import fsspec
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from tests.commands import CLASSES, NUMBERS, people, unswayed_here
from unswayed.study.plan import _Look, _rows_asked
from unswayed.tables.many_files import FilePiece

STREAMED = 300_000  # rows, all different: too many to be held


def write_parts(frame, folder, cuts, kind="parquet"):
    folder.mkdir(exist_ok=True)
    ends = [0, *cuts, len(frame)]
    for number, (start, end) in enumerate(pairwise(ends)):
        part, path = frame.iloc[start:end], folder / f"{number:02}.{kind}"
        part.to_parquet(path) if kind == "parquet" else part.to_csv(path, index=False)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """The same people in one file, in parts (one of them empty) and in CSV parts; a test file."""
    folder = tmp_path_factory.mktemp("data")
    frame = people(900, 1)
    frame.to_csv(folder / "all.csv", index=False)
    frame.to_parquet(folder / "all.parquet")
    people(80, 2).to_csv(folder / "test.csv", index=False)
    write_parts(frame, folder / "parts", [100, 100, 550])
    write_parts(frame, folder / "texts", [300, 301], "csv")
    return folder


def answers(source, *options, cwd):
    """Run certify on a source; return the JSON object and the table."""
    done = unswayed_here(
        "certify", source, *options, "--json", "--out", cwd / "out.parquet", cwd=cwd
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), pd.read_parquet(cwd / "out.parquet")


def same(one, other):
    """Compare the tables of two runs, up to rounding."""
    for name in ("row", "prediction", "verdict", "minimum_budget", "minimum_budget_proven"):
        if name in one:
            assert one[name].tolist() == other[name].tolist(), name
    for name in ("score", "low", "high"):
        np.testing.assert_allclose(one[name], other[name], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("source", ["parts", "parts/*.parquet", "texts", "all.csv"])
@pytest.mark.parametrize(
    "options",
    [
        (*CLASSES, "--budget", "1%", "--budget", "5", "--groups", "gender"),
        (*CLASSES, "--test", "test.csv", "--direction", "up", "--alpha", "3", "--threshold", "0.4"),
        (*CLASSES, "--ignore", "gender", "--only", "gender == 'female' and education < 15"),
        (*CLASSES, "--categorical", "education", "--seed", "3", "--holdout", "40"),
        (*NUMBERS, "--shift", "900", "--radius", "500", "--clip", "0:", "--test", "test.csv"),
        (*NUMBERS, "--shift", "0:5%", "--holdout", "10%"),
    ],
    ids=["budgets", "threshold", "only", "categorical", "radius", "movement"],
)
def test_a_folder_says_what_one_file_in_memory_says(data, source, options):
    whole, one = answers("all.csv", *options, cwd=data)
    flag = ["--in-pieces"] if source == "all.csv" else []
    pieces, other = answers(source, *options, *flag, cwd=data)
    same(one, other)
    for name in ("train_rows", "test_rows", "classes", "movable_labels", "undecided"):
        assert whole[name] == pieces[name], name
    assert without_training_rows(whole["groups"]) == without_training_rows(pieces["groups"])
    for mine, theirs in zip(whole["budgets"], pieces["budgets"], strict=True):
        three, fewer = mine.pop("three"), theirs.pop("three")
        assert mine == theirs
        if three is not None:
            assert three["one_at_a_time"] == fewer["one_at_a_time"]
            assert three["together"]["at_most"] <= fewer["together"]["at_most"]
            assert fewer["at_random"] is None
    assert whole["quality"] == pytest.approx(pieces["quality"])
    if whole["classes"]:
        for mine, theirs in zip(whole["balance"], pieces["balance"], strict=True):
            # Which of its labels --only selects is not known by class, so that it is a bound.
            for name in ("movable", "can_be_wrong", "fewer_than_budget"):
                assert mine.pop(name) <= theirs.pop(name)
            assert mine == theirs


def without_training_rows(groups):
    """Groups without what is only known of training rows that are in memory."""
    unknown = {"train_rows", "movable", "can_be_wrong", "fewer_than_budget"}
    return [
        grouping
        | {
            "groups": [
                {name: value for name, value in each.items() if name not in unknown}
                for each in grouping["groups"]
            ]
        }
        for grouping in groups
    ]


@pytest.mark.parametrize("method", ["auto", "sandwich", "box"])
def test_other_methods_prove_no_more_than_the_exact_one(data, method):
    _, exact = answers("parts", *CLASSES, cwd=data)
    _, other = answers("parts", *CLASSES, "--method", method, cwd=data)
    decided = other["verdict"] != "undecided"
    assert (other["verdict"][decided] == exact["verdict"][decided]).all()
    if method == "auto":
        assert decided.all()


def test_held_out_rows_name_their_files(data):
    _, table = answers("parts", *CLASSES, cwd=data)
    starts = {"parts/00.parquet": 0, "parts/02.parquet": 100, "parts/03.parquet": 550}
    assert (table["row"] == table["file"].map(starts) + table["row_in_file"]).all()


def test_the_page_works_without_training_rows(data):
    done = unswayed_here("certify", "parts", *CLASSES, "--report", "page.html", cwd=data)
    assert done.returncode == 0, done.stderr
    page = (data / "page.html").read_text()
    assert "names none of them" in page
    assert "unswayed witness" in page


def test_passes_are_told_and_counted(data):
    done = unswayed_here("certify", "texts", *CLASSES, cwd=data)
    assert "pass 1 of about" not in done.stderr  # nothing of progress goes to a pipe
    done = unswayed_here("certify", "texts", *CLASSES, "--verbose", cwd=data)
    assert "pass 1 of about 7: counting rows, 3 of 3 files" in done.stderr
    assert "3 passes over 900 rows in 3 files" in done.stderr
    assert "different training rows, so one pass was enough" in done.stderr
    quiet = unswayed_here("certify", "texts", *CLASSES, "--quiet", cwd=data)
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")


def test_fail_under_fails(data):
    done = unswayed_here("certify", "parts", *CLASSES, "--fail-under", "100%", cwd=data)
    assert done.returncode == 1
    assert "is below --fail-under" in done.stderr


def test_urls_keep_both_slashes(data):
    memory = fsspec.filesystem("memory")
    for path in sorted((data / "parts").iterdir()):
        memory.pipe(f"/people/{path.name}", path.read_bytes())
    try:
        _, one = answers("all.csv", *CLASSES, cwd=data)
        _, other = answers("memory://people", *CLASSES, cwd=data)
        same(one, other)
    finally:
        memory.rm("/people", recursive=True)


LOGIN, SIGNATURE = "hush%21me", "f00dcafe"
SECRET = f"memory://me:{LOGIN}@host/part.csv?part=1&X-Amz-Signature={SIGNATURE}"


@pytest.fixture
def secret(data):
    """A file whose URL holds a password and a signature."""
    memory = fsspec.filesystem("memory")
    memory.pipe(SECRET.removeprefix("memory:/"), (data / "all.csv").read_bytes())
    yield SECRET
    memory.rm(f"/me:{LOGIN}@host", recursive=True)


def shows_nothing(text):
    return LOGIN not in text and "hush!me" not in text and SIGNATURE not in text


def test_no_secret_of_a_url_is_printed_or_written_anywhere(secret, data, tmp_path):
    kept = ("--report", "page.html", "--out", "out.csv", "--resume", "kept")
    done = unswayed_here("certify", secret, *CLASSES, *kept, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert shows_nothing(done.stdout + done.stderr)
    if os.name == "posix":
        assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o700
    page = (tmp_path / "page.html").read_text()
    assert "unswayed certify &#39;memory://***@host/part.csv?part=1&amp;X-Amz-Signature=***" in page
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.name for path in written} >= {"page.html", "out.csv"}
    for path in written:
        assert shows_nothing(path.read_bytes().decode(errors="replace")), path
    listed = unswayed_here("witness", secret, *CLASSES, "--row", "3", cwd=tmp_path)
    assert shows_nothing(listed.stdout + listed.stderr)


@pytest.mark.parametrize(
    "error",
    [
        FileNotFoundError(SECRET),
        OSError(f"403, message='Forbidden', url='{SECRET}'"),
        RuntimeError(f"no access to me:{LOGIN}@host"),
        KeyError("hush!me"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_no_secret_of_a_url_is_in_what_a_storage_says(secret, data, monkeypatch, error):
    def broken(*_, **__):
        raise error

    monkeypatch.setattr("fsspec.implementations.memory.MemoryFileSystem.size", broken)
    done = unswayed_here("certify", secret, *CLASSES, cwd=data)
    assert done.returncode == 2
    assert shows_nothing(done.stdout + done.stderr)
    assert "memory://" in done.stderr


def test_no_secret_of_a_url_is_in_the_traceback_of_a_bug(secret, data, monkeypatch):
    def broken(*_):
        raise RuntimeError(f"cannot go on with {SECRET}")

    monkeypatch.setattr(FilePiece, "batches", broken)
    done = unswayed_here("certify", secret, *CLASSES, cwd=data)
    assert done.returncode == 70
    assert "RuntimeError" in done.stderr
    assert shows_nothing(done.stderr)


def test_a_storage_that_is_not_known_shows_no_secret(data):
    for source in (SECRET.replace("memory", "what"), SECRET.replace("memory://", "https:/")):
        done = unswayed_here("certify", source, *CLASSES, cwd=data)
        assert done.returncode == 2
        assert shows_nothing(done.stdout + done.stderr)


def test_a_file_of_more_than_a_gigabyte_is_read_in_pieces_by_itself(tmp_path):
    people(50, 1).to_csv(tmp_path / "big.csv", index=False)
    os.truncate(tmp_path / "big.csv", 10**9 + 1)  # zeros that take no room, and are no text
    done = unswayed_here("certify", "big.csv", *CLASSES, cwd=tmp_path)
    assert done.returncode == 2
    assert "big.csv has more than 1 GB, so it is read in pieces" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("unswayed: error: big.csv has a record")


# --- rows that are too many to be held --------------------------------------------------------


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    folder = tmp_path_factory.mktemp("large")
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["female", "male"], STREAMED),
            "height": rng.normal(size=STREAMED),
            "age": rng.normal(40, 10, STREAMED),
        }
    )
    merit = frame["height"] + 0.02 * frame["age"] + (frame["sex"] == "male")
    frame["hired"] = (merit + rng.normal(0, 2, STREAMED) > 1.3).astype(int)
    frame.to_parquet(folder / "all.parquet")
    write_parts(frame, folder / "parts", [70_000, 200_000])
    rows = rng.choice(STREAMED, 20, replace=False)
    frame.iloc[rows].to_csv(folder / "test.csv", index=False)
    return folder


LARGE = ("--label", "hired", "--test", "test.csv", "--only", "sex == 'female'")


def test_many_different_rows_take_passes_and_say_the_same(large):
    whole, one = answers("all.parquet", *LARGE, "--budget", "2%", cwd=large)
    pieces, other = answers("parts", *LARGE, "--budget", "2%", cwd=large)
    same(one, other)
    assert pieces["distinct_rows"] is None
    assert pieces["passes"] > 3
    assert whole["movable_labels"] == pieces["movable_labels"]


@pytest.mark.parametrize("method", ["exact", "auto"])
def test_verdicts_alone_need_no_minimum_budgets(large, method):
    def rates(source, *options):
        done = unswayed_here("certify", source, *LARGE, *options, "--json", cwd=large)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    two = ("--budget", "1%", "--budget", "3%")
    whole, pieces = rates("all.parquet", *two), rates("parts", *two, "--method", method)
    assert [each["robust"] for each in whole["budgets"]] == [
        each["robust"] for each in pieces["budgets"]
    ]


# --- witnesses --------------------------------------------------------------------------------


def features(train, test):
    """One-hot texts and scaled numbers, sharing no code with the program."""
    both = pd.get_dummies(pd.concat([train, test])).astype(float)
    numbers = train.select_dtypes("number").columns
    both[numbers] = (both[numbers] - train[numbers].mean()) / train[numbers].std(ddof=0)
    return both.iloc[: len(train)], both.iloc[len(train) :]


@pytest.mark.parametrize("source", ["parts", "texts"])
def test_a_witness_names_file_and_row_of_labels_that_overturn(data, source):
    _, table = answers(source, *CLASSES, "--test", "test.csv", cwd=data)
    row = int(table.loc[table["minimum_budget"].idxmin(), "row"])
    done = unswayed_here(
        "witness", source, *CLASSES, "--test", "test.csv", "--row", row, "--json", cwd=data
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["labels"] == table["minimum_budget"].min() == len(found["changes"])
    read = pd.read_parquet if source == "parts" else pd.read_csv
    frames = {f"{source}/{path.name}": read(path) for path in sorted((data / source).iterdir())}
    for change in found["changes"]:
        frame = frames[change["file"]]
        assert frame.loc[frame.index[change["row"] - 1], "hired"] == change["label"]
        assert frame.iloc[change["row"] - 1]["city"] == change["city"]
        frame.loc[frame.index[change["row"] - 1], "hired"] = change["new label"]
    changed = pd.concat(frames.values())
    out = ["hired", "salary"]
    test = pd.read_csv(data / "test.csv")
    X, T = features(changed.drop(columns=out), test.drop(columns=out))
    model = Ridge(alpha=1.0).fit(X, changed["hired"] == "yes")
    score = float(model.predict(T.iloc[[row - 1]])[0])
    assert score == pytest.approx(found["new_score"])
    assert ("yes" if score > 0.5 else "no") == found["new_prediction"] != found["prediction"]


def test_a_witness_is_a_table_for_people(data):
    done = unswayed_here(
        "witness", "parts", *NUMBERS, "--shift", "2000", "--radius", "10", "--test", "test.csv",
        "--row", "4", "--out", "w.csv", cwd=data,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "without a refit" in done.stdout
    table = pd.read_csv(data / "w.csv")
    assert {"file", "row", "label", "new label", "city"} <= set(table.columns)
    place = table.iloc[0]
    frame = pd.read_parquet(data / place["file"])
    assert frame.iloc[place["row"] - 1]["salary"] == place["label"]


def test_a_row_that_is_no_test_row_is_refused(data):
    done = unswayed_here("witness", "parts", *CLASSES, "--row", 1, cwd=data)
    assert done.returncode == 2
    assert "--row 1 is not held out" in done.stderr


def test_a_witness_of_streamed_rows_overturns(large):
    options = ("--label", "hired", "--test", "test.csv")
    _, table = answers("parts", *options, cwd=large)
    at = table["minimum_budget"].idxmin()
    done = unswayed_here(
        "witness", "parts", *options, "--row", int(table["row"][at]), "--json", cwd=large
    )
    found = json.loads(done.stdout)
    assert found["labels"] == table["minimum_budget"][at]
    assert found["new_prediction"] != found["prediction"]


# --- plan -------------------------------------------------------------------------------------


def test_a_plan_says_what_it_takes_and_does_nothing(data):
    done = unswayed_here("certify", "parts", *CLASSES, "--plan", "--resume", "kept", cwd=data)
    assert done.returncode == 0, done.stderr
    assert "4 files" in done.stdout
    assert "900 rows" in done.stdout
    assert "90 test rows (held out)" in done.stdout
    assert "about" in done.stdout
    assert "pass" not in done.stderr
    assert not (data / "kept").exists()


def test_a_plan_counts_the_effects_on_all_test_rows_once_and_then_on_few():
    look = _Look(None, None, None, read=1.0, surveyed=2.0, encoded=3.0, summed=4.0, counted=0.5)
    kinds = ["collect", "survey", "sum", "effects", "effects", "effects"]
    took = [
        look.seconds(kind, asked)
        for kind, asked in zip(kinds, _rows_asked(kinds, 200), strict=True)
    ]
    assert took == [1, 1 + 2, 1 + 3 + 4, 1 + 3 + 100, 1 + 3 + 5, 1 + 3 + 5]


def test_a_plan_knows_rows_features_passes_and_memory(data, large):
    done = unswayed_here("certify", "parts", *LARGE, "--plan", "--json", cwd=large)
    plan = json.loads(done.stdout)
    assert (plan["files"], plan["rows"], plan["test_rows"]) == (3, STREAMED, 20)
    assert plan["features"] == 4
    assert plan["bytes"] == sum(path.stat().st_size for path in (large / "parts").iterdir())
    assert not plan["merges"]
    assert [each["what"].split()[0] for each in plan["passes"]] == ["look", "sum", *["count"] * 3]
    assert all(each["seconds"] > 0 for each in plan["passes"])
    assert plan["memory_total"] == sum(plan["memory"].values()) > 0
    done = unswayed_here("certify", "texts", *CLASSES, "--plan", "--json", cwd=data)
    plan = json.loads(done.stdout)
    assert plan["rows_estimated"]
    assert plan["rows"] == pytest.approx(900, rel=0.1)
    assert plan["merges"]


# --- runs that are resumed --------------------------------------------------------------------


class Stopped(KeyboardInterrupt):
    """Somebody pressed Ctrl-C."""


def test_an_interrupted_run_goes_on_where_it_was(large, tmp_path, monkeypatch):
    command = ("certify", "parts", *LARGE, "--resume", tmp_path / "kept", "--json")
    read, reads = FilePiece.batches, []

    def interrupted(piece):
        reads.append(piece.name)
        if len(reads) == 8:  # in the middle of the third pass
            raise Stopped
        return read(piece)

    with monkeypatch.context() as patch:
        patch.setattr(FilePiece, "batches", interrupted)
        done = unswayed_here(*command, cwd=large)
    assert done.returncode == 130
    assert "give the same command again to go on" in done.stderr
    reads.clear()
    with monkeypatch.context() as patch:
        patch.setattr(FilePiece, "batches", lambda piece: reads.append(piece) or read(piece))
        resumed = unswayed_here(*command, cwd=large)
        first = len(reads)
        again = unswayed_here(*command, cwd=large)
    facts = json.loads(resumed.stdout)
    assert facts["restored"] == 2
    assert first < 3 * (facts["passes"] - 2) + 1
    assert len(reads) == first  # nothing is read again
    assert json.loads(again.stdout)["restored"] == facts["passes"]
    plain = json.loads(unswayed_here(*command[:-3], "--json", cwd=large).stdout)
    assert plain["budgets"] == facts["budgets"] == json.loads(again.stdout)["budgets"]


def test_another_question_does_not_get_the_answers_of_the_first(data, tmp_path):
    keep = ("--resume", tmp_path / "kept")
    for options in (CLASSES, (*CLASSES, "--ignore", "city"), (*CLASSES, "--seed", "5"), NUMBERS):
        more = ("--shift", "900") if options is NUMBERS else ()
        _, one = answers("texts", *options, *more, *keep, cwd=data)
        _, other = answers("all.csv", *options, *more, cwd=data)
        same(other, one)


def test_files_that_changed_are_noticed(data, tmp_path):
    shutil.copytree(data / "parts", tmp_path / "parts")
    command = ("certify", "parts", *CLASSES, "--resume", "kept")
    assert unswayed_here(*command, cwd=tmp_path).returncode == 0
    people(77, 9).to_parquet(tmp_path / "parts" / "03.parquet")
    done = unswayed_here(*command, cwd=tmp_path)
    assert done.returncode == 2
    assert "parts/03.parquet has changed" in done.stderr
    assert len(done.stderr.splitlines()) == 1
