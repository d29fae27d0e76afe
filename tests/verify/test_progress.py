"""How far verify is, and how long it will take: no test looks at the clock."""

import io
import json

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from tests.commands import CLASSES, people
from unswayed import CertifiedClassifier, LabelBias
from unswayed.cli import main
from unswayed.cli.terminal import Terminal
from unswayed.cli.verify import checking_time, seconds_to_check
from unswayed.study.opening import CertificateSize
from unswayed.verify import verify


class Screen(io.StringIO):
    """A terminal of 40 columns that keeps what was written to it."""

    def isatty(self):
        return True


def test_progress_replaces_itself_and_leaves_nothing(monkeypatch):
    screen, clock = Screen(), iter(range(0, 1000, 10))
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setattr("time.monotonic", lambda: float(next(clock)))
    terminal = Terminal(None)
    assert list(terminal.track(range(3), "proving", 3)) == [0, 1, 2]
    shown = screen.getvalue()
    assert "\rproving: step 2 of 3, about " in shown
    assert "\n" not in shown
    assert shown.endswith("\r\x1b[K")


def test_nothing_of_progress_goes_to_a_pipe(monkeypatch):
    pipe, clock = io.StringIO(), iter(range(0, 1000, 10))
    monkeypatch.setattr("sys.stderr", pipe)
    monkeypatch.setattr("time.monotonic", lambda: float(next(clock)))
    assert list(Terminal(None).track(range(3), "proving", 3)) == [0, 1, 2]
    assert pipe.getvalue() == ""


def test_both_ways_of_proving_tell_how_far_they_are(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), rng.random(30) < 0.5
    certs = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=1)).fit(X, y).certify(X[:5])
    certs.save(tmp_path / "c.json", data=tmp_path / "c.npz")
    told = []

    def track(steps, what, total):
        done = list(steps)
        told.append((what, len(done), total))
        return done

    verify(tmp_path / "c.json", data=tmp_path / "c.npz", track=track)
    assert told == [("proving", 5, 5)]
    told.clear()
    verify(tmp_path / "c.json", data=tmp_path / "c.npz", track=track, floating_point=False)
    assert told == [("proving in exact arithmetic", 5, 5)]


def test_verify_says_in_which_way_claims_were_proven(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    people().to_csv("people.csv", index=False)
    arguments = ["certify", "people.csv", *CLASSES, "--budget", "3", "--certificates", "c.json"]
    assert main(arguments) == 0
    _, err = capsys.readouterr()
    assert "unswayed verify will take" not in err  # it takes a moment
    assert main(["verify", "c.json", "--train", "people.csv"]) == 0
    out, _ = capsys.readouterr()
    assert "proven in floating point with error bounds: 24, in exact arithmetic: 0" in out
    assert main(["verify", "c.json", "--train", "people.csv", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["by_bounds"], facts["by_exact_arithmetic"]) == (24, 0)
    assert facts["exact_rows"] == []


@pytest.mark.parametrize("command", ["certify", "coefficients"])
def test_a_long_check_is_announced(tmp_path, monkeypatch, capsys, command):
    monkeypatch.chdir(tmp_path)
    people().to_csv("people.csv", index=False)
    monkeypatch.setattr("unswayed.cli.verify.seconds_to_check", lambda *sizes: 3.6e4)
    options = ("--budget", "3", "--certificates", "c.json")
    assert main([command, "people.csv", *CLASSES, *options]) == 0
    assert "unswayed verify will take about 10 hours to check this" in capsys.readouterr().err


def test_only_waits_of_more_than_a_minute_are_worth_a_word():
    assert checking_time(CertificateSize(32_000, 108, 3_000, n_exact=0)) is None
    assert checking_time(CertificateSize(60_000, 20, 60_000, n_exact=0)) == (
        "unswayed verify will take about 2 minutes to check this"
    )
    found = checking_time(CertificateSize(32_000, 108, 200, n_exact=100))
    assert found.startswith("unswayed verify will take about 6 minutes")
    assert "100 of its claims were settled in rational arithmetic" in found


def test_a_file_that_is_too_large_to_be_checked_is_announced():
    found = checking_time(CertificateSize(32_000, 108, 200_000, n_exact=0))
    assert found.startswith("unswayed verify will refuse this file, which is about 25,984,000")


def test_estimates_grow_with_everything():
    sizes = (1000, 20, 100, 1)
    base = seconds_to_check(*sizes)
    for at in range(4):
        more = [size * (2 if at == place else 1) for place, size in enumerate(sizes)]
        assert seconds_to_check(*more) > base
