"""Count the files and functions of the package that one run calls, as a Markdown table.

Whoever changes what a run does has to read about so much. Every run has a process of its own and a
small table that is written here, and uses only what users have: the command line and the names that
they import. A file counts if one of its functions is called; what happens while modules are
imported does not count, and comprehensions and class bodies are no functions. CONTRIBUTING shows
what this prints::

    python tools/paths.py

With ``--list certify`` it prints the functions of one run instead, by file.
"""

import argparse
import csv
import importlib.util
import json
import random
import runpy
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

HOME = Path(importlib.util.find_spec("unswayed").origin).parent
NO_FUNCTIONS = ("<module>", "<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
OPTIMIZED = 0x1  # the flag of code that functions have and class bodies do not
ASKED = ("--label", "hired", "--budget", "5%")


def people(n_rows: int, seed: int) -> Iterator[list[Any]]:
    """Yield rows of applicants with two groups, a city, two numbers and a decision."""
    draw = random.Random(seed)  # noqa: S311
    for _ in range(n_rows):
        gender, city = draw.choice(["female", "male"]), draw.choice(["Aachen", "Bergen"])
        education, interview = draw.randrange(8, 20), round(draw.gauss(50, 10), 1)
        merit = 0.3 * (education - 13) + 0.1 * (interview - 50) + 0.4 * (gender == "male")
        hired = "yes" if merit + draw.gauss(0, 0.8) > 0 else "no"
        yield [gender, city, education, interview, hired]


def write_people(path: Path, n_rows: int = 240, seed: int = 3) -> None:
    """Write a CSV file of applicants."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["gender", "city", "education", "interview", "hired"])
        writer.writerows(people(n_rows, seed))


def command(*arguments: str) -> Callable[[], None]:
    """Return a run of the program on the files of the folder."""

    def run() -> None:
        sys.argv = ["unswayed", *arguments]
        try:
            runpy.run_module("unswayed", run_name="__main__", alter_sys=True)
        except SystemExit as stop:
            if stop.code:
                raise

    return run


def estimator(name: str) -> Callable[[], None]:
    """Return a run that fits and certifies a linear model of scikit-learn."""

    def run() -> None:
        from sklearn import linear_model  # noqa: PLC0415

        from unswayed import CertifiedClassifier, LabelBias  # noqa: PLC0415

        rows = list(people(240, seed=3))
        X, y = [row[2:4] for row in rows], [row[4] for row in rows]
        options = {"C": 0.01} if name == "LogisticRegression" else {}
        model = getattr(linear_model, name)(**options)
        certified = CertifiedClassifier(model, bias=LabelBias.flips(budget=5))
        certified.fit(X[:200], y[:200]).certify(X[200:])

    return run


RUNS = {
    "certify": ("`certify`, a CSV file to the terminal", command("certify", "people.csv", *ASKED)),
    "report": (
        "`certify --report`, a CSV file to a page",
        command("certify", "people.csv", *ASKED, "--groups", "gender", "--report", "people.html"),
    ),
    "fairness": (
        "`fairness`",
        command("fairness", "people.csv", *ASKED, "--groups", "gender"),
    ),
    "together": ("`together`", command("together", "people.csv", *ASKED)),
    "pieces": ("`certify`, a folder in pieces", command("certify", "pieces", *ASKED)),
    "ridge": ("`CertifiedClassifier(Ridge()).fit().certify()`", estimator("Ridge")),
    "logistic": ("the same with `LogisticRegression`", estimator("LogisticRegression")),
}


def importing(frame: FrameType | None) -> bool:
    """Return whether a module is being imported, below which calls are no part of the run."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__") != "__main__":
            return True
        frame = frame.f_back
    return False


def called(run: Callable[[], None]) -> list[tuple[str, str]]:
    """Return the files and functions of the package that a run calls, each function once."""
    seen: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code not in seen and not importing(frame):
            seen.add(frame.f_code)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    functions = {
        (str(Path(code.co_filename).relative_to(HOME)), code.co_qualname, code.co_firstlineno)
        for code in seen
        if Path(code.co_filename).is_relative_to(HOME)
        and code.co_name not in NO_FUNCTIONS
        and code.co_flags & OPTIMIZED
    }
    return [(file, name) for file, name, _ in sorted(functions)]


def count(key: str) -> list[tuple[str, str]]:
    """Return what a run calls, in a fresh process in a folder of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_people(folder / "people.csv")
        (folder / "pieces").mkdir()
        for piece in range(3):
            write_people(folder / "pieces" / f"{piece}.csv", 120, seed=piece)
        here = [sys.executable, str(Path(__file__).resolve()), "--run", key]
        done = subprocess.run(here, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{key}: {done.stdout}{done.stderr}"
        return [(file, name) for file, name in json.loads(done.stdout.splitlines()[-1])]


def main() -> None:
    """Print the table, or what one run calls."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", choices=RUNS, help="print the functions of one run, by file")
    parser.add_argument("--run", choices=RUNS, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.run:
        print("\n" + json.dumps(called(RUNS[asked.run][1])))
        return
    if asked.list:
        for file, name in count(asked.list):
            print(f"{file}  {name}")
        return
    print("| run | files | functions |\n|---|---:|---:|")
    for key, (title, _) in RUNS.items():
        found = count(key)
        print(f"| {title} | {len({file for file, _ in found})} | {len(found)} |", flush=True)


if __name__ == "__main__":
    main()
