"""``unswayed reproduce``: where it finds the experiments, and how it runs them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import unswayed, unswayed_here
from unswayed._core.kernels import kernel_name

ROOT = Path(__file__).parents[2]


def test_experiments_whose_data_are_missing_are_named_and_the_exit_code_is_2(tmp_path):
    out = tmp_path / "out"
    done = unswayed_here("reproduce", "compas_race", "--data", tmp_path, "--out", out, cwd=ROOT)
    assert done.returncode == 2
    assert "compas_race could not run: there is no 'compas/compas-scores" in done.stderr


def test_an_unknown_experiment_is_refused_with_the_known_ones():
    done = unswayed_here("reproduce", "table9", cwd=ROOT)
    assert done.returncode == 2
    assert "there is no experiment 'table9'; there are: table1" in done.stderr


def test_a_folder_inside_a_checkout_will_do():
    done = unswayed("reproduce", "table9", cwd=ROOT / "docs" / "images")
    assert "there is no experiment 'table9'" in done.stderr


def test_an_installed_package_of_that_name_will_do(tmp_path):
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = unswayed("reproduce", "table9", cwd=tmp_path, env=os.environ | {"PYTHONPATH": paths})
    assert "there is no experiment 'table9'" in done.stderr


@pytest.mark.parametrize("folder", ["elsewhere", "reproduction"])
def test_outside_a_checkout_one_line_says_what_to_do(tmp_path, folder):
    (tmp_path / folder).mkdir()  # an earlier version wrote its results to "reproduction"
    done = unswayed("reproduce", "table1", cwd=tmp_path)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("unswayed: error: the paper's experiments are not part of the installed")
    assert "clone the repository" in line
    assert "experiments]'" in line
    assert done.stdout == ""


@pytest.mark.parametrize("inside", [True, False])
def test_its_help_imports_neither_scikit_learn_nor_matplotlib(tmp_path, inside):
    code = (
        "import sys; from unswayed.cli import main; main(['reproduce', '--help']); "
        "sys.exit([m for m in ('sklearn', 'matplotlib', 'reproduction') if m in sys.modules] or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT if inside else tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "--page" in done.stdout


@pytest.mark.skipif(kernel_name() == "numpy", reason="minutes of work for the NumPy twin")
def test_an_experiment_without_files_is_computed_shown_and_written(tmp_path):
    here = tmp_path / "here"
    done = unswayed("reproduce", "minority", "--out", here, "--json", cwd=ROOT)
    assert done.returncode == 0, done.stderr
    claims = json.loads(done.stdout)["experiments"]["minority"]["claims"]
    assert list(claims.values()) == [True, True, True]
    assert (here / "minority.svg").exists()
    again = unswayed("reproduce", "minority", "--out", here, cwd=ROOT)
    assert "Synthetic data: the minority's share: 3 of 3 claims hold" in again.stdout
