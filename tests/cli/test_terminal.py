"""Texts from files reach the terminal as texts: none colours it, clears it or turns it round."""

import numpy as np
import pandas as pd
import pytest

from tests.commands import CLASSES, people, unswayed_here

NASTY = "red\x1b[31m", "back\u202edrow", "two\tcells", "title\x1b]0;x\x07"


def test_signs_that_control_a_terminal_are_named(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "g\x1b[2J": rng.choice(NASTY, 80),
            "x": rng.normal(size=80),
            "y": rng.choice(["no", "ye\x1b[0ms"], 80),
        }
    )
    frame.to_csv(tmp_path / "a.csv", index=False)
    done = unswayed_here(
        *("certify", "a.csv", "--label", "y", "--groups", "g\x1b[2J", "--holdout", "40"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    shown = done.stdout + done.stderr
    assert not {sign for sign in shown if not sign.isprintable()} - {"\n"}
    assert "\\u001b[31m" in shown
    assert "\\u202e" in shown


@pytest.mark.parametrize("codec", ["latin-1", "utf-16"])
def test_a_header_in_another_encoding_is_told_with_the_codec(tmp_path, codec):
    (tmp_path / "a.csv").write_bytes("größe,ok\n1,0\n2,1\n".encode(codec))
    done = unswayed_here("certify", "a.csv", "--label", "ok", cwd=tmp_path)
    assert done.returncode == 2
    assert f"iconv -f {'UTF-16' if codec == 'utf-16' else 'WINDOWS-1252'} -t UTF-8" in done.stderr


@pytest.mark.parametrize("length", range(4, 20))
def test_tables_of_groups_fit_the_terminal_at_any_width_of_their_names(folder, length):
    frame = people().assign(team=np.where(np.arange(240) % 9 == 0, "b", "a" * length))
    frame.to_csv(folder / "people.csv", index=False)
    asked = ("certify", "people.csv", *CLASSES, "--ignore", "team", "--holdout", "50%")
    done = unswayed_here(
        *asked, "--groups", "team", "--budget", "2%", "--budget", "5%", "--budget", "9", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    table = done.stdout.split("\n\nteam ", 1)[1].split("between:")[0].splitlines()
    assert max(map(len, table)) <= 80
    shown = sum(line.count("between") for line in table if line.startswith("team"))
    shown += done.stdout.split("\n\nteam ", 1)[1].splitlines()[0].count("between")
    assert shown == 3  # one per budget, as many beside each other as fit
    parts = sum(line.startswith("a" * length + " ") for line in table)
    assert sum("few rows" in line for line in table) == parts
