"""Commands about all rows at once, run again on changed files, against what they promised."""

import json
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from tests.commands import unswayed_here

HAIR = 1e-9
METRICS = (
    "selection_rate,accuracy,demographic_parity_difference,equalized_odds_difference,"
    "true_positive_rate_group_min"
)
HELD_OUT = ("--holdout", "35%")
WITHOUT_TRUTH = (
    "selection_rate,demographic_parity_difference,selection_rate_ratio,selection_rate_group_min"
)


@dataclass
class Tally:
    """How many runs there were, how many promises, and which were broken."""

    runs: int = 0
    promises: int = 0
    broken: list[str] = field(default_factory=list)

    def hold(self, what: str, low: float, value: float, high: float) -> None:
        self.promises += 1
        if not low - HAIR <= value <= high + HAIR:
            self.broken.append(f"{what}: {value} is outside of {low} to {high}")


def rows(seed: int) -> pd.DataFrame:
    """Rows with two groups, a category, numbers and noisy classes."""
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(90, 130))
    group = rng.choice(["a", "b"], n_rows)
    x, z = rng.normal(size=n_rows).round(2), rng.integers(0, 4, n_rows)
    merit = x + 0.5 * z + (group == "a") * rng.normal() + rng.normal(0, 1, n_rows)
    frame = pd.DataFrame({"group": group, "x": x, "z": z, "city": rng.choice(list("kl"), n_rows)})
    frame["y"] = np.where(merit > np.median(merit), "yes", "no")
    return frame


class Attack:
    """One file in a folder of its own, and the answers before any label is changed."""

    def __init__(self, seed: int, folder, split: tuple[str, ...] = HELD_OUT) -> None:
        self.seed, self.folder, self.frame, self.split = seed, folder, rows(seed), split
        self.frame["pair"] = np.arange(len(self.frame)) // 2
        names = METRICS if split == HELD_OUT else WITHOUT_TRUTH
        self.metrics = ("--groups", "group", "--metric", names)
        self.rng = np.random.default_rng([seed, 1])
        self.budget = int(self.rng.integers(1, 5))
        self.tally = Tally()
        self.counted = self.run("together", self.frame)["together"]["budgets"][0]
        self.ranged = self.run("fairness", self.frame, *self.metrics)["fairness"]

    def run(self, command: str, frame: pd.DataFrame, *options: str, budget: int | None = None):
        frame.to_csv(self.folder / "rows.csv", index=False)
        done = unswayed_here(
            *(command, "rows.csv", "--label", "y", "--ignore", "pair", *self.split, "--json"),
            *("--budget", str(self.budget if budget is None else budget), "--time-limit", "1"),
            *options,
            cwd=self.folder,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def predictions(self, frame: pd.DataFrame) -> pd.Series:
        frame.to_csv(self.folder / "rows.csv", index=False)
        done = unswayed_here(
            *("certify", "rows.csv", "--label", "y", "--ignore", "pair", *self.split),
            *("--out", "o.csv", "--quiet"),
            cwd=self.folder,
        )
        assert done.returncode == 0, done.stderr
        return pd.read_csv(self.folder / "o.csv").set_index("row")["prediction"]

    def flipped(self, numbers) -> pd.DataFrame:
        frame = self.frame.copy()
        at = np.array(list(numbers)) - 1
        frame.loc[at, "y"] = frame.loc[at, "y"].map({"yes": "no", "no": "yes"})
        return frame

    def check(self, numbers) -> int:
        """Change labels, ask everything again, and compare with what was promised before."""
        frame = self.flipped(numbers)
        before, after = self.predictions(self.frame), self.predictions(frame)
        other = int((before != after).sum())
        what = f"seed {self.seed}, labels of rows {sorted(map(int, numbers))}"
        self.tally.runs += 1
        self.tally.hold(f"{what}: rows overturned", 0, other, self.counted["at_most"])
        again = self.run("fairness", frame, *self.metrics, budget=0)["fairness"]
        for name, line, now in zip_lines(self.ranged, again):
            ends = line["ranges"][0]
            self.tally.hold(f"{what}: {name}", ends["low"], now["value"], ends["high"])
        return other

    def attack(self, n_random: int = 2) -> Tally:
        """Labels at random, one after the other by what they do, and those that are handed out."""
        held = set(self.predictions(self.frame).index) if self.split == HELD_OUT else set()
        free = [at + 1 for at in range(len(self.frame)) if at + 1 not in held]
        for _ in range(n_random):
            self.check(self.rng.choice(free, self.budget, replace=False))
        self.greedy(free)
        found = self.check([each["row"] for each in self.counted["changes"]])
        self.tally.hold(f"seed {self.seed}: witness", self.counted["at_least"], found, np.inf)
        gap = self.ranged["columns"][0]["metrics"][0]["ranges"][0]
        for end in ("labels_at_low", "labels_at_high"):
            if gap[end]:
                self.check([each["row"] for each in gap[end]])
        return self.tally

    def greedy(self, free: list[int]) -> None:
        """Add the label, of a few, that overturns most, until the budget is spent."""
        chosen: list[int] = []
        before = self.predictions(self.frame)
        for _ in range(self.budget):
            tried = self.rng.choice([row for row in free if row not in chosen], 3, replace=False)
            counts = [
                int((before != self.predictions(self.flipped([*chosen, row]))).sum())
                for row in tried
            ]
            chosen.append(int(tried[int(np.argmax(counts))]))
        self.check(chosen)


def zip_lines(before, after):
    """Pairs of everything that has a value: metrics of all rows, of columns, and of groups."""
    for one, other in zip(before["overall"], after["overall"], strict=True):
        yield one["metric"], one, other
    for one, other in zip(before["columns"], after["columns"], strict=True):
        for line, now in zip(one["metrics"], other["metrics"], strict=True):
            yield line["metric"], line, now
        for rate, then in zip(one["rates"], other["rates"], strict=True):
            for group, now in zip(rate["groups"], then["groups"], strict=True):
                yield f"{rate['rate']} of {group['group']}", group, now
