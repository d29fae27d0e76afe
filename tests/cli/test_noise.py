"""``unswayed certify --noise``: random errors beside the worst case, in every output."""

import json

import pytest

from tests.commands import people, unswayed_here


@pytest.fixture
def folder(tmp_path):
    people(120).to_csv(tmp_path / "people.csv", index=False)
    return tmp_path


def certify(folder, *options, label="hired"):
    ignored = "salary" if label == "hired" else "hired"
    asked = ["people.csv", "--label", label, "--ignore", ignored, "--budget", "2", *options]
    return unswayed_here("certify", *asked, cwd=folder)


def test_terminal_json_and_page_say_the_same_sentence(folder):
    done = certify(folder, "--noise", "5%", "--json", "--report", "page.html")
    assert done.returncode == 0, done.stderr
    noise = json.loads(done.stdout)["noise"]
    assert noise["sentence"].startswith("with 5 % of labels wrong, independently of each other, ")
    assert noise["sentence"] in (folder / "page.html").read_text(encoding="utf-8")
    terminal = " ".join(certify(folder, "--noise", "5%").stdout.split())
    assert noise["sentence"] in terminal
    assert noise["explained"] in terminal


def test_the_share_is_that_of_the_rows_that_are_counted(folder):
    answer = json.loads(certify(folder, "--noise", "1%", "--folds", "4", "--json").stdout)
    assert answer["noise"]["share"] == answer["noise"]["rows"] / answer["test_rows"]
    assert answer["noise"]["rate"] == 0.01


def test_labels_that_are_never_wrong_change_no_prediction(folder):
    noise = json.loads(certify(folder, "--noise", "0", "--json").stdout)["noise"]
    assert noise["share"] == 1.0
    assert "100.0 % of predictions" in noise["sentence"]


def test_without_the_option_nothing_is_said_of_it(folder):
    assert "noise" not in json.loads(certify(folder, "--json").stdout)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--noise", "often"], "--noise 'often' is not a share"),
        (["--noise", "120%"], "--noise '120%' is not a share"),
        (["--noise", "5%", "--model", "logistic"], "linear in their labels"),
        (["--noise", "5%", "--in-pieces"], "it looks at every single label"),
    ],
)
def test_what_cannot_be_said_is_refused_by_name(folder, options, says):
    done = certify(folder, *options)
    assert done.returncode == 2
    assert says in done.stderr


def test_a_label_that_is_a_number_has_no_other_class(folder):
    done = certify(folder, "--noise", "5%", "--shift", "2000", "--radius", "500", label="salary")
    assert done.returncode == 2
    assert "--noise is about classes" in done.stderr
