"""The real command on real files: how tests run it and what they run it on."""

import contextlib
import io
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from unswayed.cli import main


def unswayed(*arguments: object, cwd: Path, env: dict[str, str] | None = None):
    """Run the program in a process of its own."""
    command = [sys.executable, "-m", "unswayed", *map(str, arguments)]
    return subprocess.run(
        command, cwd=cwd, env=env, capture_output=True, text=True, timeout=500, check=False
    )


def unswayed_here(*arguments: object, cwd: Path):
    """Run the program in this process, which saves the seconds that its start takes."""
    command = [*map(str, arguments)]
    out, error = io.StringIO(), io.StringIO()
    with (
        warnings.catch_warnings(),
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(error),
    ):
        warnings.simplefilter("ignore")  # a process of its own does not raise them either
        code = main(command)
    return subprocess.CompletedProcess(command, code, out.getvalue(), error.getvalue())


def seconds_of_work(process_id):
    """Processor time that a process has used, of all its threads: no busy machine changes it."""
    fields = Path(f"/proc/{process_id}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def people(n_rows: int = 240, seed: int = 3) -> pd.DataFrame:
    """Applicants with texts, numbers, a name with a space, two classes and a salary."""
    rng = np.random.default_rng(seed)
    gender = rng.choice(["female", "male"], n_rows)
    city = rng.choice(["Aachen", "Bergen", "Córdoba"], n_rows)
    education = rng.integers(8, 20, n_rows)
    score = rng.normal(50, 10, n_rows).round(1)
    merit = 0.3 * (education - 13) + 0.1 * (score - 50) + 0.4 * (gender == "male")
    return pd.DataFrame(
        {
            "gender": gender,
            "city": city,
            "education": education,
            "interview score": score,
            "salary": (30_000 + 4_000 * merit + rng.normal(0, 900, n_rows)).round(),
            "hired": np.where(merit + rng.normal(0, 0.8, n_rows) > 0, "yes", "no"),
        }
    )


CLASSES = ("--label", "hired", "--ignore", "salary")
NUMBERS = ("--label", "salary", "--ignore", "hired")


def minimum_budgets(
    frame: pd.DataFrame, label: str, ignore: list[str], held_out: np.ndarray, movable=None
) -> tuple[np.ndarray, np.ndarray]:
    """Scores and minimum budgets of flips by the closed form, sharing no code with the program.

    One-hot texts, scaled numbers, ridge with alpha 1 and an intercept, 0 and 1 decided at 0.5.
    """
    held = np.zeros(len(frame), bool)
    held[held_out] = True
    X = frame.drop(columns=[label, *ignore])
    numbers = X.select_dtypes("number")
    scaled = (numbers - numbers[~held].mean()) / numbers[~held].std(ddof=0)
    X = np.hstack([pd.get_dummies(X.drop(columns=numbers.columns)).to_numpy(float), scaled])
    y = (frame[label] == sorted(frame[label].unique())[1]).to_numpy(float)[~held]
    A, T = X[~held], X[held]
    mean = A.mean(axis=0)
    inverse = np.linalg.inv((A - mean).T @ (A - mean) + np.eye(A.shape[1]))
    Z = (T - mean) @ inverse @ (A - mean).T + 1 / len(A)
    score = Z @ y
    least = np.full(len(T), np.inf)
    may = np.ones(len(A), bool) if movable is None else movable[~held]
    for row, z in enumerate(Z):
        push = np.where(y == 1, -z, z) * may * (1 if score[row] <= 0.5 else -1)
        reach = np.cumsum(np.sort(np.maximum(push, 0))[::-1])
        margin = abs(score[row] - 0.5)
        over = np.flatnonzero(reach > margin)
        if len(over):
            least[row] = over[0] + 1
    return score, least
