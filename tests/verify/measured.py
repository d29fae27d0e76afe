"""Run verify in a process of its own that says how much memory it took."""

import subprocess
import sys
from pathlib import Path

import pytest

MOST = 900_000  # kB: what docs/certificates.md promises

# The peak of the process itself. ru_maxrss will not do: it begins with the size of the process
# that started this one, which here is a pytest worker. The limit on addresses is a second belt:
# should the cap not hold, the machine that runs the tests is not the one to suffer.
MEASURED = """
import resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, 4 * 2**30))
from unswayed.cli import main
code = main(sys.argv[1:])
status = Path("/proc/self/status").read_text()
print(status.partition("VmHWM:")[2].split()[0])
sys.exit(code)
"""


def run_measured(folder, *arguments):
    """Exit code, lines of output and errors, and the peak in kB."""
    if not Path("/proc/self/status").exists():
        pytest.skip("the memory of a process is read from /proc")
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, "verify", *map(str, arguments)],
        cwd=folder, capture_output=True, text=True, timeout=500, check=False,
    )  # fmt: skip
    *out, size = done.stdout.splitlines() or [f"0 {done.stderr[-500:]}"]
    return done.returncode, out, done.stderr, int(size)


def measured(folder, *arguments):
    """Run verify on bad input: the one line that it says."""
    code, out, err, size = run_measured(folder, *arguments)
    line = one_line(code, out, err)
    assert size < MOST, f"{size:,} kB: {line}"
    return line


def one_line(code, out, err):
    assert code == 2, (out, err)
    assert not out
    # A slow machine may have been told how far the work was.
    (line,) = (each for each in err.splitlines() if not each.startswith("note: "))
    assert line.startswith("unswayed: error: ")
    return line
