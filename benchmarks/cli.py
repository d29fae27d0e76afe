"""The command line: the start of --help, a whole audit against a bare fit, and a large file."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
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
path, label, names = sys.argv[1:]
codes = names.split(",")
frame = pd.read_csv(path)
numbers = [name for name in frame.columns if name not in (*codes, label)]
target = pd.factorize(frame.pop(label), sort=True)[0]
train, test, y, _ = train_test_split(frame, target, test_size=0.1, random_state=0)
encode = make_column_transformer(
    (OneHotEncoder(handle_unknown="ignore"), codes), (StandardScaler(), numbers)
)
make_pipeline(encode, Ridge(alpha=20.0)).fit(train, y).predict(test)
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


def _run_first(folder: Path, *command: str) -> None:
    """Run a command as on a machine where nothing is in the user's cache folder."""
    empty = tempfile.mkdtemp(dir=folder)
    env = os.environ | {"XDG_CACHE_HOME": empty}
    subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, env=env
    )


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


# Columns of UCI Adult that hold texts, and how many different ones.
_TEXTS = {
    "workclass": 9,
    "education": 16,
    "marital-status": 7,
    "occupation": 15,
    "relationship": 6,
    "race": 5,
    "sex": 2,
    "native-country": 42,
}


def _adult(folder: Path) -> Path:
    """A file like UCI Adult: 32,561 rows, eight columns of texts and six of numbers."""
    rng, n_rows = np.random.default_rng(0), 32_561
    columns: dict[str, object] = {}
    for name, size in _TEXTS.items():
        kinds = np.array([f"{name} {at}" for at in range(size)])
        columns[name] = kinds[rng.zipf(1.4, n_rows) % size]
    rare = rng.random(n_rows) < 0.08
    columns |= {
        "age": rng.integers(17, 91, n_rows),
        "fnlwgt": rng.integers(12_000, 1_500_000, n_rows),
        "education-num": rng.integers(1, 17, n_rows),
        "capital-gain": np.where(rare, rng.integers(100, 99_999, n_rows), 0),
        "capital-loss": np.where(rng.random(n_rows) < 0.05, rng.integers(1, 4_356, n_rows), 0),
        "hours-per-week": rng.integers(1, 100, n_rows),
    }
    score = columns["education-num"] / 8 + columns["age"] / 40 + rare + rng.normal(size=n_rows)
    columns["income"] = np.where(score > np.quantile(score, 0.76), ">50K", "<=50K")
    path = folder / "adult.csv"
    pa_csv.write_csv(pa.table(columns), path)
    return path


def _wide(folder: Path) -> Path:
    """ACS of several states, or a stand-in: 159,233 rows that make 800 features or more."""
    found, path = data_folder(), folder / "states.csv"
    if found is not None:
        states = [pa_csv.read_csv(each) for each in sorted((found / "acs2018").glob("*.csv"))]
        pa_csv.write_csv(pa.concat_tables(states), path)
        return path
    rng, n_rows = np.random.default_rng(0), 159_233
    columns = {name: rng.integers(0, 9, n_rows) for name in _CODES}
    columns |= {"OCCP": rng.zipf(1.3, n_rows) % 700, "POBP": rng.zipf(1.3, n_rows) % 220}
    columns |= {"AGEP": rng.integers(17, 95, n_rows), "WKHP": rng.integers(1, 99, n_rows)}
    score = columns["SCHL"] / 4 + columns["WKHP"] / 50 + rng.normal(size=n_rows)
    pa_csv.write_csv(pa.table(columns | {"PINCP": score > np.median(score)}), path)
    return path


def _peak(command: list[str]) -> float:
    """The most memory that a program held, in megabytes."""
    done = subprocess.run(
        [sys.executable, "-c", _PEAK, *command], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def _against_bare(folder: Path) -> Iterator[Line]:
    """The whole command against a program that reads, fits and predicts."""
    income, adult = _income(folder), _adult(folder)
    report, codes = folder / "report.html", ",".join(_CODES)
    budgets = ("--budget", "0.25%", "--budget", "0.5%", "--budget", "1%", "--alpha", "20")
    asked = (str(income), "--label", "PINCP", "--categorical", codes)
    audit = _unswayed(
        *("certify", *asked, *budgets, "--groups", "SEX,RAC1P", "--report", str(report))
    )
    tradeoff = _unswayed("tradeoff", *asked, "--budget", "1%")
    # The weights of a survey, which are no ids.
    texts = _unswayed(
        *("certify", str(adult), "--label", "income", *budgets, "--groups", "sex,race"),
        *("--numeric", "fnlwgt", "--report", str(folder / "adult.html")),
    )
    bare = [sys.executable, "-c", _BARE]
    best = interleaved(
        {
            "bare": lambda: _run(*bare, str(income), "PINCP", codes),
            "audit": lambda: _run(*audit),
            "first audit": lambda: _run_first(folder, *audit),
            "tradeoff": lambda: _run(*tradeoff),
            "bare texts": lambda: _run(*bare, str(adult), "income", ",".join(_TEXTS)),
            "texts": lambda: _run(*texts),
        },
        rounds=3,
    )
    yield note("cli: a program that reads, fits and predicts Income", best["bare"], "s")
    yield note("cli: certify Income, three budgets, two groups, report", best["audit"], "s")
    yield at_most("cli: certify with report against that program", best["audit"] / best["bare"], 4)
    # The charts' script is put together once on every machine (Linux: XDG_CACHE_HOME).
    yield note("cli: the first report on a machine", best["first audit"] / best["bare"], "×")
    yield at_most(
        "cli: the same on 32,561 rows like UCI Adult", best["texts"] / best["bare texts"], 4
    )
    yield at_most("cli: tradeoff over ten alphas against it", best["tradeoff"] / best["bare"], 8)
    size = (os.path.getsize(report) - 2e6) / 3269
    yield at_most("cli: report, bytes a test row beyond 2 MB", size, 1000, "B")


def _memory(folder: Path) -> Iterator[Line]:
    """The most memory that commands hold, on a long file and on one with many categories."""
    command = _unswayed(
        *("certify", str(_million(folder)), "--label", "label", "--groups", "category 0"),
        *("--report", str(folder / "million.html")),
    )
    yield at_most("cli: peak memory, a million rows of 20 columns", _peak(command), 6144, "MB")
    wide = _wide(folder)
    command = _unswayed(
        *("certify", str(wide), "--label", "PINCP", "--categorical", ",".join(_CODES)),
        *("--budget", "1%", "--alpha", "20"),
    )
    started = time.perf_counter()
    peak = _peak(command)
    yield note("cli: certify 159,233 rows, 820 features", time.perf_counter() - started, "s")
    # Beyond what the same program holds once it has imported what it needs.
    start = _peak([sys.executable, "-c", "import unswayed.cli.certify"])
    size = os.path.getsize(wide) / 1e6
    yield note("cli: its peak memory beyond the start of the program", peak - start, "MB")
    yield at_most("cli: that against the size of the file", (peak - start) / size, 3)
    dense = 159_233 * 820 * 8 / 1e6
    yield at_most("cli: that against features as a dense array", (peak - start) / dense, 0.5)


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
        yield from _against_bare(folder)
        yield from _memory(folder)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    for line in lines():
        print(line, flush=True)
