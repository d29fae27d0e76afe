"""``unswayed reproduce``, on a folder that lacks the data and on an experiment that needs none."""

import json

import pytest

from tests.commands import unswayed
from unswayed._core.kernels import kernel_name


def test_experiments_whose_data_are_missing_are_named_and_the_exit_code_is_2(tmp_path):
    done = unswayed("reproduce", "compas_race", "--data", tmp_path, cwd=tmp_path)
    assert done.returncode == 2
    assert "compas_race could not run: there is no 'compas/compas-scores" in done.stderr


def test_an_unknown_experiment_is_refused_with_the_known_ones(tmp_path):
    done = unswayed("reproduce", "table9", cwd=tmp_path)
    assert done.returncode == 2
    assert "there is no experiment 'table9'; there are: table1" in done.stderr


@pytest.mark.thorough
@pytest.mark.skipif(kernel_name() == "numpy", reason="minutes of work for the NumPy twin")
def test_an_experiment_without_files_is_computed_shown_and_written(tmp_path):
    done = unswayed("reproduce", "minority", "--out", "here", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    claims = json.loads(done.stdout)["experiments"]["minority"]["claims"]
    assert list(claims.values()) == [True, True, True]
    assert (tmp_path / "here" / "minority.svg").exists()
    again = unswayed("reproduce", "minority", "--out", "here", cwd=tmp_path)
    assert "Synthetic data: the minority's share: 3 of 3 claims hold" in again.stdout
