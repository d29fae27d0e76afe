"""Certificates of a model of logarithms: no logarithm is exact, so the file says which doubles."""

import json
import math

import numpy as np
import pandas as pd
import pytest

from tests.commands import NUMBERS, people, unswayed_here
from tests.verify.files import pack, unpack
from unswayed.verify import CertificateError, verify

ASKED = ("people.csv", *NUMBERS, "--log", "--shift", "5%", "--budget", "3")


@pytest.fixture
def folder(tmp_path):
    people(90).to_csv(tmp_path / "people.csv", index=False)
    return tmp_path


def certified(folder, command, *options):
    done = unswayed_here(command, *ASKED, *options, "--certificates", "c.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "c.json").read_text())


def checked(folder, document):
    (folder / "c.json").write_text(json.dumps(document))
    return verify(folder / "c.json", train=folder / "people.csv")


@pytest.mark.parametrize("more", [("--radius", "0.2%"), ("--radius", "1%", "--clip", "10000:")])
def test_claims_about_logarithms_are_proven_from_the_file(folder, more):
    document = certified(folder, "certify", *more)
    report = checked(folder, document)
    assert (report.proven, report.rejected) == (9, {})
    factor = 1 + float(more[1].rstrip("%")) / 100
    assert f"this radius is about a factor of {factor:g}" in report.question
    assert "labels: natural logarithms of column 'salary'" in report.question
    document["claims"][0]["low"] += 0.01
    assert list(checked(folder, document).rejected) == [0]


def test_coefficients_of_logarithms_are_proven_too(folder):
    report = checked(folder, certified(folder, "coefficients"))
    assert report.rejected == {}
    assert report.proven == 6


def test_a_file_of_every_fold_is_proven(folder):
    done = unswayed_here(
        *("certify", *ASKED, "--radius", "1%", "--folds", "3", "--certificates", "c.json"),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    for fold in ("1", "2", "3"):
        report = verify(folder / f"c-{fold}.json", train=folder / "people.csv")
        assert (report.proven, report.rejected) == (30, {})


def moved(document, steps):
    """The file with its first logarithm so many doubles further, and a hash to go with it."""
    labels = unpack(document["recipe"]["logarithms"], "d")
    for _ in range(abs(steps)):
        labels[0] = math.nextafter(labels[0], math.copysign(math.inf, steps))
    document["recipe"]["logarithms"] = pack(labels, "d")
    return document


def test_doubles_that_are_no_logarithms_of_the_column_are_refused(folder):
    document = certified(folder, "certify", "--radius", "1%")
    for steps in (1, -1):  # as another library might have rounded: but a hash knows
        with pytest.raises(CertificateError, match="hash of 'labels' differs"):
            checked(folder, moved(json.loads(json.dumps(document)), steps))
    for steps in (4, -4):
        with pytest.raises(CertificateError, match="is not the logarithm of the label"):
            checked(folder, moved(json.loads(json.dumps(document)), steps))
    other = json.loads(json.dumps(document))
    del other["recipe"]["logarithms"]
    with pytest.raises(CertificateError, match="hash of 'labels' differs"):
        checked(folder, other)


@pytest.mark.parametrize("wrong", [0.0, -3.0, 31_000.0])
def test_labels_of_another_file_are_refused(folder, wrong):
    document = certified(folder, "certify", "--radius", "1%")
    frame = people(90)
    held = set(np.cumsum([-1, *unpack(document["recipe"]["train"], "I")])[1:].tolist())
    frame.loc[min(held), "salary"] = wrong
    frame.to_csv(folder / "people.csv", index=False)
    with pytest.raises(CertificateError, match="is not the logarithm of the label"):
        checked(folder, document)


def test_a_file_of_too_few_logarithms_is_refused(folder):
    document = certified(folder, "certify", "--radius", "1%")
    document["recipe"]["logarithms"] = pack([10.0] * 7, "d")
    with pytest.raises(CertificateError, match="must hold 81 finite numbers"):
        checked(folder, document)


def test_labels_near_one_have_logarithms_near_zero(folder):
    frame = pd.read_csv(folder / "people.csv")
    frame["salary"] = np.where(np.arange(90) % 3, 1.0, 1.0 + 2.0**-50 * np.arange(90))
    frame.to_csv(folder / "people.csv", index=False)
    assert checked(folder, certified(folder, "certify", "--radius", "1%")).rejected == {}
