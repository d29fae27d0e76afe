"""The command line: the start of --help, a whole audit against a bare fit, and a large file."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from benchmarks.problems import data_folder
from benchmarks.timing import Line, at_most, interleaved, note

_CODES = ["COW", "SCHL", "MAR", "OCCP", "POBP", "RELP", "SEX", "RAC1P"]

# What a data scientist would run without unswayed, as a program of its own like the command.
_BARE = """
import sys
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
codes = sys.argv[2].split(",")
frame = pd.read_csv(sys.argv[1])
train, test = train_test_split(frame, test_size=0.1, random_state=0)
encode = make_column_transformer(
    (OneHotEncoder(handle_unknown="ignore"), codes), (StandardScaler(), ["AGEP", "WKHP"])
)
model = make_pipeline(encode, Ridge(alpha=20.0))
model.fit(train.drop(columns="PINCP"), train["PINCP"]).predict(test.drop(columns="PINCP"))
"""

# Runs a command and prints the most memory it held, in megabytes.
_PEAK = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024 if code == 0 else "nan")
"""


def _unswayed(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "unswayed", *arguments]


def _run(*command: str) -> None:
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)


def _income(folder: Path) -> Path:
    """The raw Income file, or a stand-in with as many rows, columns and categories."""
    found = data_folder()
    if found is not None:
        return found / "acs2018" / "acsincome_2018_wi.csv"
    rng, n_rows = np.random.default_rng(0), 32_690
    sizes = dict(zip(_CODES, (8, 24, 5, 521, 168, 18, 2, 9), strict=True))
    columns = {name: rng.zipf(1.3, n_rows) % size for name, size in sizes.items()}
    columns |= {"AGEP": rng.integers(17, 95, n_rows), "WKHP": rng.integers(1, 99, n_rows)}
    score = columns["SCHL"] / 12 + columns["WKHP"] / 50 + rng.normal(size=n_rows)
    path = folder / "income.csv"
    pa_csv.write_csv(pa.table(columns | {"PINCP": score > np.median(score)}), path)
    return path


def _million(folder: Path) -> Path:
    """A million rows of 20 columns: twelve numbers, seven categories, a label."""
    rng, n_rows = np.random.default_rng(0), 1_000_000
    columns = {f"number {at}": rng.normal(size=n_rows).round(3) for at in range(12)}
    for at in range(7):
        columns[f"category {at}"] = rng.choice(list("abcdefgh"[: at + 2]), n_rows)
    score = columns["number 0"] + (columns["category 0"] == "a") + rng.normal(size=n_rows)
    path = folder / "million.parquet"
    pq.write_table(pa.table(columns | {"label": score > 0.5}), path)
    return path


def lines() -> Iterator[Line]:
    best = interleaved(
        {
            "pass": lambda: _run(sys.executable, "-c", "pass"),
            "help": lambda: _run(*_unswayed("--help")),
        },
        rounds=15,
    )
    yield at_most("cli: --help against python -c pass", best["help"] / best["pass"], 8)

    folder = Path(tempfile.mkdtemp())
    try:
        income, report = _income(folder), folder / "report.html"
        audit = _unswayed(
            *("certify", str(income), "--label", "PINCP", "--categorical", ",".join(_CODES)),
            *("--budget", "0.25%", "--budget", "0.5%", "--budget", "1%", "--alpha", "20"),
            *("--groups", "SEX,RAC1P", "--report", str(report)),
        )
        best = interleaved(
            {
                "bare": lambda: _run(sys.executable, "-c", _BARE, str(income), ",".join(_CODES)),
                "audit": lambda: _run(*audit),
            },
            rounds=3,
        )
        yield note("cli: a program that reads, fits and predicts Income", best["bare"], "s")
        yield note("cli: certify Income, three budgets, two groups, report", best["audit"], "s")
        yield at_most(
            "cli: certify with report against that program", best["audit"] / best["bare"], 10
        )
        size = (os.path.getsize(report) - 2e6) / 3269
        yield at_most("cli: report, bytes a test row beyond 2 MB", size, 1000, "B")
        command = _unswayed(
            *("certify", str(_million(folder)), "--label", "label", "--groups", "category 0"),
            *("--report", str(folder / "million.html")),
        )
        done = subprocess.run(
            [sys.executable, "-c", _PEAK, *command], capture_output=True, text=True, check=True
        )
        yield at_most(
            "cli: peak memory, a million rows of 20 columns", float(done.stdout), 6144, "MB"
        )
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    for line in lines():
        print(line, flush=True)
