"""Exit codes: nothing but a rate below --fail-under, or a false certificate, is 1."""

import os
import subprocess
import sys

import pytest

from tests.commands import CLASSES, unswayed

ASKED = ("certify", "people.csv", *CLASSES, "--fail-under", "0%")

# The command, with something that goes wrong where the model would be fitted.
BROKEN = """
import resource, runpy, sys
import numpy as np
import unswayed.cli.certify
import unswayed.cli.requests as requests

def tight(megabytes):
    size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + megabytes * 2**20,) * 2)

def inside_blas():
    matrix = np.ones((300, 300))
    tight(5)
    matrix @ matrix  # OpenBLAS finds no memory for its buffers and calls exit(1)

def inside_numpy():
    tight(5)
    np.ones((2000, 2000))

def inside_python():
    raise RuntimeError("something nobody thought of")

def unreadable_library():
    raise ImportError("libx.so: failed to map segment from shared object")

def no_memory_for_a_thread():
    raise OSError(12, "Cannot allocate memory")

goes_wrong = globals()[sys.argv.pop()]
requests.open_study = lambda *_, **__: goes_wrong()
runpy.run_module("unswayed", run_name="__main__", alter_sys=True)
"""


LIMITED = """
import resource, runpy, sys
size = int(sys.argv.pop(1)) * 2**20
resource.setrlimit(resource.RLIMIT_AS, (size, size))
runpy.run_module("unswayed", run_name="__main__", alter_sys=True)
"""


def broken(folder, what):
    return subprocess.run(
        [sys.executable, "-c", BROKEN, *ASKED, what],
        cwd=folder, capture_output=True, text=True, timeout=500, check=False,
    )  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="limits memory in Linux's way")
@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("inside_blas", "OpenBLAS"),
        ("inside_numpy", "not enough memory"),
        ("unreadable_library", "not enough memory"),
        ("no_memory_for_a_thread", "not enough memory"),
        ("inside_python", "internal error: RuntimeError: something nobody thought of"),
    ],
)
def test_running_out_of_memory_and_bugs_have_a_code_of_their_own(folder, what, said):
    done = broken(folder, what)
    assert done.returncode == 70, done.stderr
    assert said in done.stderr
    assert done.stdout == ""
    assert [path.name for path in folder.iterdir()] == ["people.csv"]


@pytest.mark.parametrize(("share", "code"), [("0%", 0), ("100%", 1)])
def test_results_keep_their_codes(folder, share, code):
    asked = ("certify", "people.csv", *CLASSES, "--budget", "5%", "--fail-under", share)
    done = unswayed(*asked, cwd=folder)
    assert done.returncode == code, done.stderr
    assert "rows that keep their prediction" in done.stdout


def test_bad_input_keeps_its_code(folder):
    assert unswayed("certify", "nothing.csv", *CLASSES, cwd=folder).returncode == 2


@pytest.mark.skipif(sys.platform != "linux", reason="limits memory in Linux's way")
def test_whatever_the_limit_a_lack_of_memory_is_never_a_rate_or_bad_input(folder):
    codes = set()
    for megabytes in (300, 600, 900):
        try:
            done = subprocess.run(
                [sys.executable, "-c", LIMITED, str(megabytes), *ASKED],
                cwd=folder, capture_output=True, text=True, timeout=15, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            continue  # SciPy's OpenBLAS asks for memory for ever: no code, so no false one
        codes.add(done.returncode)
    assert codes <= {0, 70, -6, -11}, codes


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams_are_no_error(folder, closed):
    command = f"{sys.executable} -m unswayed certify people.csv {' '.join(CLASSES)} --out o.csv"
    done = subprocess.run(f"{command} {closed}", shell=True, cwd=folder, check=False)
    assert done.returncode == 0
    assert (folder / "o.csv").stat().st_size


@pytest.mark.parametrize(("least", "code"), [("0%", 0), ("100%", 1)])
def test_a_reader_that_has_seen_enough_changes_neither_code_nor_files(folder, least, code):
    reading, writing = os.pipe()
    os.close(reading)
    asked = ("certify", "people.csv", *CLASSES, "--budget", "5%", "--out", "rows.csv")
    command = [sys.executable, "-m", "unswayed", *asked, "--fail-under", least]
    done = subprocess.run(command, cwd=folder, stdout=writing, timeout=300, check=False)
    os.close(writing)
    assert done.returncode == code
    assert (folder / "rows.csv").is_file()
