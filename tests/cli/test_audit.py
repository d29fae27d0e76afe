"""``unswayed audit``: from a file to a list for people, and back to what is confirmed."""

import csv
import json

import numpy as np
import pytest

from tests.commands import unswayed_here

START = ("audit", "start", "people.csv", "--label", "hired", "--alpha", "1")


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    school, team, years = rng.integers(0, 3, 900), rng.integers(0, 2, 900), rng.integers(0, 4, 900)
    hired = np.where(school + team - 0.7 * years + rng.normal(size=900) > 0.3, "yes", "no")
    lines = [
        f"{'xyz'[a]},{'uv'[b]},{c},{d}"
        for a, b, c, d in zip(school, team, years, hired, strict=True)
    ]
    (tmp_path / "people.csv").write_text("\n".join(["school,team,years,hired", *lines, ""]))
    return tmp_path


def said(folder, *words, code=0):
    done = unswayed_here(*words, cwd=folder)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def answered(folder, change=lambda at, line: line["label"], name="to-check.csv"):
    with (folder / name).open(newline="") as file:
        lines = list(csv.DictReader(file))
    for at, line in enumerate(lines):
        line["checked_label"] = change(at, line)
    with (folder / name).open("w", newline="") as file:
        writer = csv.DictWriter(file, lines[0])
        writer.writeheader()
        writer.writerows(lines)
    return lines


def test_an_audit_goes_from_a_file_to_people_and_back_to_a_page(folder):
    said(folder, *START, "--risk", "5%")
    said(folder, "audit", "draw", "audit.json", "--checks", "60", "--out", "to-check.csv")
    answered(folder, lambda at, line: "?" if at == 7 else line["label"])
    said(folder, "audit", "record", "audit.json", "to-check.csv")
    text = said(folder, "audit", "status", "audit.json", "--report", "page.html", "--json")
    facts = json.loads(text)["audit"]
    assert facts["counted"] == 60
    assert facts["wrong"] == 1
    assert facts["confirmed"] == sum(each["state"] == "confirmed" for each in facts["listed"]) > 10
    assert facts["expected"][0]["checks"] == 50
    page = (folder / "page.html").read_text()
    assert "for each of them by itself" in page
    assert "What further checks would bring" in page
    assert f"{facts['confirmed']} of" in said(folder, "verify", "audit.json")


@pytest.mark.parametrize(
    ("together", "words"), [("all", "nothing yet"), ("discoveries", "none of")]
)
def test_what_is_proven_is_said_in_the_sense_of_together(folder, together, words):
    assert words in said(folder, *START, "--together", together)


def test_answers_that_are_missing_are_listed_again(folder):
    said(folder, *START)
    said(folder, "audit", "draw", "audit.json", "--checks", "10")
    answered(folder, lambda at, line: "" if at == 3 else line["label"])
    text = said(folder, "audit", "record", "audit.json", "to-check.csv")
    assert "after 3 labels" in text
    assert "1 label drawn and not answered" in text
    said(folder, "audit", "draw", "audit.json", "--checks", "0", "--out", "rest.csv")
    assert len(answered(folder, name="rest.csv")) == 1
    assert "after 10 labels" in said(folder, "audit", "record", "audit.json", "rest.csv")


def test_what_was_recorded_is_never_written_over(folder):
    said(folder, *START)
    before = (folder / "audit.json").read_bytes()
    assert "would be lost" in said(folder, *START, code=2)
    assert (folder / "audit.json").read_bytes() == before


def test_bad_answers_are_refused_and_nothing_is_lost(folder):
    said(folder, *START)
    said(folder, "audit", "draw", "audit.json", "--checks", "10")
    lines = answered(folder)
    said(folder, "audit", "record", "audit.json", "to-check.csv")
    before = (folder / "audit.json").read_bytes()
    other = {"yes": "no", "no": "yes"}
    for change, words in (
        (lambda at, line: "maybe", "none of the classes"),
        (lambda at, line: other[line["label"]], "has two answers"),
    ):
        answered(folder, change)
        error = said(folder, "audit", "record", "audit.json", "to-check.csv", code=2)
        assert words in error
        assert f"row {lines[0]['row']} " in error  # as the file numbers it
    drawn = {int(line["row"]) for line in lines}
    said(folder, "audit", "start", *START[2:], "--draw-seed", "5", "--out", "other.json")
    said(folder, "audit", "draw", "other.json", "--checks", "30", "--out", "more.csv")
    rows = {int(line["row"]) for line in answered(folder, name="more.csv")}
    assert rows - drawn
    assert "was not drawn" in said(folder, "audit", "record", "audit.json", "more.csv", code=2)
    assert (folder / "audit.json").read_bytes() == before


def test_rows_of_a_whole_list_are_not_called_confirmed_one_by_one(folder):
    expected = "confirmed, if none is wrong"
    assert expected in said(folder, *START)
    listed = said(folder, *START, "--together", "all", "--out", "all.json")
    assert "with enough evidence, if none is wrong" in listed
    assert expected not in listed


def test_verify_takes_no_data_for_an_audit_that_it_would_not_look_at(folder):
    said(folder, *START)
    error = said(folder, "verify", "audit.json", "--train", "people.csv", code=2)
    assert "leave --train, --test and --data out" in error


def test_an_audit_of_data_that_changed_since_is_refused(folder):
    said(folder, *START)
    text = (folder / "people.csv").read_text()
    (folder / "people.csv").write_text(text.replace(",yes", ",no", 9))
    assert "other training labels" in said(folder, "audit", "status", "audit.json", code=2)
    (folder / "people.csv").write_text(text)
    said(folder, "audit", "status", "audit.json")


def test_a_file_that_is_no_audit_and_one_that_was_forged_are_refused(folder):
    assert "there is no file" in said(folder, "audit", "status", "none.json", code=2)
    (folder / "other.json").write_text("{}\n")
    assert "no file of a label audit" in said(folder, "audit", "draw", "other.json", code=2)
    said(folder, *START)
    said(folder, "audit", "draw", "audit.json", "--checks", "10")
    text = (folder / "audit.json").read_text()
    (folder / "audit.json").write_text(text.replace('"seed":0', '"seed":1'))
    done = unswayed_here("verify", "audit.json", cwd=folder)
    assert (done.returncode, "another draw" in done.stdout) == (1, True)
