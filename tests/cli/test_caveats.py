"""No number without its caveat: in the console, in JSON and on the page."""

import json

import numpy as np
import pytest

from tests.commands import people, unswayed_here


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A file with everything that misleads: a code, an id, a small group, hardly any "yes"."""
    folder = tmp_path_factory.mktemp("misleading")
    rng = np.random.default_rng(2)
    frame = people(400)
    rare = frame["salary"] > frame["salary"].quantile(0.95)
    frame["hired"] = np.where(rare, "yes", "no")
    frame["RAC1P"] = rng.integers(1, 9, len(frame))
    frame["person_id"] = rng.permutation(len(frame)) + 10_000
    frame["team"] = np.where(np.arange(len(frame)) % 10 == 0, "small", "large")
    frame[:200].to_csv(folder / "people.csv", index=False)
    frame[200:].to_csv(folder / "others.csv", index=False)  # with 20 of the small team
    return folder


ASKED = ("certify", "people.csv", "--label", "hired", "--ignore", "salary", "--groups", "team")
KINDS = {
    "constant-classifier": "a model that always says 'no' would be \"robust\" too",
    "code-column": "RAC1P",
    "id-column": "person_id",
    "small-group": "'small' (20)",
}


@pytest.fixture(scope="module")
def said(folder):
    """The same run in all three outputs."""
    asked = (*ASKED, "--test", "others.csv")
    console = unswayed_here(*asked, cwd=folder)
    answer = unswayed_here(*asked, "--json", "--report", "r.html", cwd=folder)
    assert console.returncode == answer.returncode == 0, answer.stderr
    page = (folder / "r.html").read_text(encoding="utf-8")
    return console.stdout + console.stderr, json.loads(answer.stdout), page


@pytest.mark.parametrize(("kind", "words"), KINDS.items(), ids=KINDS)
def test_what_misleads_is_named_in_console_json_and_report(said, kind, words):
    console, answer, page = said
    found = [each for each in answer["caveats"] if each["kind"] == kind]
    assert any(words in each["text"] for each in found), answer["caveats"]
    for each in found:
        assert each["sentence"] in " ".join(console.split())
    assert f'data-caveat="{kind}"' in page


def test_what_the_numbers_do_not_mean_comes_first(said):
    _, answer, _ = said
    assert answer["caveats"][0]["kind"] == "constant-classifier"


def test_certifying_the_training_rows_is_said_to_be_that(folder):
    done = unswayed_here(*ASKED, "--test", "people.csv", "--json", cwd=folder)
    kinds = [each["kind"] for each in json.loads(done.stdout)["caveats"]]
    assert "test-is-training" in kinds
    assert "is the training file" in done.stderr
