"""Bad input: one line that says what is wrong and what to do, exit 2, no file left behind."""

import pytest

from tests.commands import CLASSES, people, unswayed_here

GOOD = people(60)


def csv(frame):
    return frame.to_csv(index=False).encode()


CASES = {
    "a missing file": (None, CLASSES, ["no file", "bad.csv"]),
    "an empty file": (b"", CLASSES, ["is empty", "header"]),
    "a header only": (csv(GOOD[:0]), CLASSES, ["header but no rows"]),
    "a label that is not there": (csv(GOOD), ("--label", "hird"), ["did you mean 'hired'?"]),
    "a constant label": (
        csv(GOOD.assign(hired="yes")), CLASSES, ["'yes' in every training row", "another label"],
    ),
    "a ragged row": (b"a,b\n1,2\n3,4,5\n6,7\n", ("--label", "b"), ["line 3", "3 cells"]),
    "a wrong encoding": (
        csv(GOOD).decode().encode("latin-1"), CLASSES, ["encoding", "UTF-8", "iconv"],
    ),
    "UTF-16": (csv(GOOD).decode().encode("utf-16"), CLASSES, ["UTF-16", "iconv"]),
    "commas or semicolons": (
        b"a,b;c\n1,5;2\n1,7;3\n", ("--label", "b"),
        ["commas (2 cells a line) or semicolons (2 cells a line)", "--delimiter ',' or"],
    ),
    "spaces": (b"a b c\n1 2 3\n", ("--label", "b"), ["spaces", "--delimiter ' '"]),
    "missing values": (
        csv(GOOD.assign(city=GOOD["city"].where(GOOD.index != 6))), CLASSES,
        ["'city' misses 1 value ", "row 7", "--missing drop"],
    ),
    "infinity": (csv(GOOD.assign(education=float("inf"))), CLASSES, ["'education'", "infinity"]),
    "dates": (
        csv(GOOD.assign(born="2001-02-03")), CLASSES, ["'born'", "neither numbers nor texts"],
    ),
    "names": (
        csv(people(400).assign(who=[f"p{i}" for i in range(400)])), CLASSES,
        ["'who'", "--ignore"],
    ),
    "a threshold between three classes": (
        csv(GOOD), ("--label", "city", "--threshold", "0.3"), ["3 classes", "--positive"],
    ),
    "a direction among three classes": (
        csv(GOOD), ("--label", "city", "--direction", "up"), ["3 classes", "--to"],
    ),
    "logistic regression of three classes": (
        csv(GOOD), ("--label", "city", "--model", "logistic"), ["3 classes", "--positive"],
    ),
    "parts with a direction among three classes": (
        csv(GOOD), ("--label", "city", "--bias", "education < 12: 3 up"), ["up or down in --bias"],
    ),
    "a shift of three classes": (
        csv(GOOD), ("--label", "city", "--shift", "3"), ["3 classes", "--shift"],
    ),
    "a change to a class that nobody has": (
        csv(GOOD), ("--label", "city", "--to", "Aachen: Bergenn"), ["did you mean 'Bergen'"],
    ),
    "a change that is none": (csv(GOOD), ("--label", "city", "--to", "Aachen"), ["a colon"]),
    "a change that is given twice": (
        csv(GOOD), ("--label", "city", "--to", "Aachen: Bergen; Aachen: Bergen"), ["once"],
    ),
    "a change between two classes": (
        csv(GOOD), (*CLASSES, "--to", "yes: no"), ["has two", "--direction"],
    ),
    "one class in two spellings": (
        csv(GOOD.assign(city=["aachen ", *GOOD["city"][1:]])), ("--label", "city"), ["write them"],
    ),
    "more classes than are told apart": (
        csv(people(400).assign(city=[f"c{i % 50}" for i in range(400)])), ("--label", "city"),
        ["50 classes", "at most 40", "--positive"],
    ),
    "a number without a shift": (csv(GOOD), ("--label", "salary"), ["--shift"]),
    "a share to pass without a radius": (
        csv(GOOD), ("--label", "salary", "--shift", "9", "--fail-under", "9%"), ["--radius "],
    ),
    "bounds without a radius": (
        csv(GOOD), ("--label", "salary", "--shift", "9", "--method", "box"), ["--radius"],
    ),
    "a shift of mixed units": (csv(GOOD), ("--label", "salary", "--shift=-5:1%"), ["0:5%"]),
    "a shift with no end": (csv(GOOD), ("--label", "salary", "--shift", "1e999999"), ["range"]),
    "a range that is none": (
        csv(GOOD), ("--label", "salary", "--shift", "9", "--clip", "9:3"), ["'9:3'", "0:100"],
    ),
    "a label outside the range": (
        csv(GOOD.assign(salary=[-5.0, *GOOD["salary"][1:]])),
        ("--label", "salary", "--shift", "9", "--clip", "0:", "--seed", "1"),
        ["'salary' is -5 in row 1", "wider range"],
    ),
    "a label without a logarithm": (
        csv(GOOD.assign(salary=[0.0, *GOOD["salary"][1:]])),
        ("--label", "salary", "--shift", "9%", "--log", "--seed", "1"),
        ["--log", "'salary' is 0 in row 1"],
    ),
    "a logarithm that is off by dollars": (
        csv(GOOD), ("--label", "salary", "--shift", "9", "--log"), ["a factor", "5%"],
    ),
    "a radius in dollars for logarithms": (
        csv(GOOD), ("--label", "salary", "--shift", "9%", "--log", "--radius", "9"), ["10%"],
    ),
    "a share as a radius": (
        csv(GOOD), ("--label", "salary", "--shift", "9", "--radius", "9%"), ["--log"],
    ),
    "a logarithm of classes": (csv(GOOD), (*CLASSES, "--log"), ["two classes", "leave --log"]),
    "a shift for classes": (csv(GOOD), (*CLASSES, "--shift", "1"), ["two classes", "leave"]),
    "an unknown column in only": (
        csv(GOOD), (*CLASSES, "--only", "gendr == 'female'"), ["'gendr'", "'gender'?"],
    ),
    "a call in only": (
        csv(GOOD), (*CLASSES, "--only", "__import__('os').system('touch pwned')"), ["call"],
    ),
    "only without rows": (
        csv(GOOD), (*CLASSES, "--only", "gender == 'x'"), ["selects no training row"],
    ),
    "a budget that is none": (csv(GOOD), (*CLASSES, "--budget", "lots"), ["'lots'", "1%"]),
    "a group that is not there": (csv(GOOD), (*CLASSES, "--groups", "race"), ["'race'"]),
    "an unknown method": (csv(GOOD), (*CLASSES, "--method", "guess"), ["'guess'", "exact"]),
    "an unknown option": (csv(GOOD), (*CLASSES, "--bugdet", "1"), ["--bugdet"]),
    "an output of no known kind": (csv(GOOD), (*CLASSES, "--out", "x.xlsx"), [".csv"]),
    "an output in no folder": (csv(GOOD), (*CLASSES, "--out", "no/x.csv"), ["no folder"]),
    "an output onto the input": (csv(GOOD), (*CLASSES, "--out", "bad.csv"), ["overwrite"]),
    "a broken Parquet file": (b"PAR1 and then nonsense", CLASSES, ["Parquet"]),
}  # fmt: skip


def refused(done, folder, files):
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("unswayed: error: ")
    assert {path.name for path in folder.iterdir()} == files


@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_one_line_and_exit_2(tmp_path, case):
    content, options, fragments = CASES[case]
    if content is not None:
        (tmp_path / "bad.csv").write_bytes(content)
    before = {path.name for path in tmp_path.iterdir()}
    outputs = () if "--out" in options else ("--out", "out.csv", "--report", "report.html")
    done = unswayed_here("certify", "bad.csv", *options, *outputs, cwd=tmp_path)
    refused(done, tmp_path, before)
    for fragment in fragments:
        assert fragment in done.stderr


@pytest.mark.parametrize(
    ("change", "fragments"),
    [
        (lambda frame: frame.assign(city="Derry"), ["'city'", "'Derry'", "--unseen ignore"]),
        (lambda frame: frame.drop(columns="education"), ["lacks the column 'education'"]),
        (lambda frame: frame.assign(education="twelve"), ["'education'", "same kind"]),
        (lambda frame: frame.assign(hired="perhaps"), ["'hired'", "one of 'no', 'yes'"]),
    ],
    ids=["unseen categories", "a missing column", "another kind", "another label"],
)
def test_a_test_file_that_does_not_fit_is_refused(tmp_path, change, fragments):
    (tmp_path / "bad.csv").write_bytes(csv(GOOD))
    (tmp_path / "test.csv").write_bytes(csv(change(GOOD)))
    done = unswayed_here("certify", "bad.csv", *CLASSES, "--test", "test.csv", cwd=tmp_path)
    refused(done, tmp_path, {"bad.csv", "test.csv"})
    for fragment in fragments:
        assert fragment in done.stderr


def test_a_row_outside_the_file_is_refused(tmp_path):
    (tmp_path / "bad.csv").write_bytes(csv(GOOD))
    done = unswayed_here("witness", "bad.csv", *CLASSES, "--row", "9999", cwd=tmp_path)
    refused(done, tmp_path, {"bad.csv"})
    assert "--row 9999 is outside bad.csv, which has 60 rows" in done.stderr
