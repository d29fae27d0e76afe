"""The whole command, run again on changed files: what it says then against what it promised."""

import json
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from tests.commands import unswayed_here
from tests.loop.questions import Question
from tests.verify.files import rows_of

HAIR = 1e-9  # scores of two runs are compared as doubles, relative to the largest label


@dataclass
class Answers:
    """What ``certify`` says of the test rows, by their number in their file."""

    rows: dict[int, dict]
    trains: list[np.ndarray]  # positions of training rows in the table, as each certificate has it
    alphas: list[float]

    @property
    def train(self) -> np.ndarray:
        """Positions of the rows that train any of the models."""
        return np.unique(np.concatenate(self.trains))

    def promised(self, n_changed: int, n_allowed: int) -> list[int]:
        """Test rows that `n_changed` wrong labels are said not to overturn."""
        kept = []
        for number, row in self.rows.items():
            least = row["minimum_budget"]
            never = least is None and row["minimum_budget_proven"]
            robust = row["verdict"] == "robust" and n_changed <= n_allowed
            if robust or never or (least is not None and least > n_changed):
                kept.append(number)
        return kept


@dataclass
class Tally:
    """How many commands were run again, and which promises were broken."""

    questions: int = 0
    refused: int = 0
    runs: int = 0
    runs_refused: int = 0
    promises: int = 0
    other_alphas: int = 0
    broken: list[str] = field(default_factory=list)

    def __add__(self, other):
        return Tally(*(getattr(self, name) + getattr(other, name) for name in vars(self)))


class Loop:
    """One question in a folder of its own."""

    def __init__(self, question: Question, folder) -> None:
        self.question, self.folder = question, folder
        for name, table in question.files.items():
            table.to_csv(folder / name, index=False)

    def run(self, *command: str):
        return unswayed_here(*command, "--quiet", cwd=self.folder)

    def answers(self, table) -> Answers | None:
        """Run the whole command on a table; None where it refuses."""
        table.to_csv(self.folder / "train.csv", index=False)
        question = self.question
        done = self.run(
            *("certify", "train.csv", *question.shared, *question.own),
            *("--out", "out.json", "--certificates", "c.json"),
        )
        if done.returncode == 2:
            return None
        assert done.returncode == 0 or "--fail-under" in question.own, done.stderr
        rows = json.loads((self.folder / "out.json").read_text())
        files = sorted(self.folder.glob("c*.json"))  # of folds, one each
        documents = [json.loads(path.read_text()) for path in files]
        return Answers(
            {row["row"]: row for row in rows},
            [np.array(rows_of(each["recipe"]["train"])) for each in documents],
            [each["model"].get("alpha", 0.0) for each in documents],
        )

    def witness(self, row: int) -> dict[int, float]:
        """Positions of the training labels that overturn a row, and which way they move."""
        self.question.table.to_csv(self.folder / "train.csv", index=False)
        (self.folder / "w.json").write_text("[]")
        done = self.run(
            "witness", "train.csv", *self.question.shared, "--row", str(row), "--out", "w.json"
        )
        assert done.returncode in (0, 2), done.stderr
        found = json.loads((self.folder / "w.json").read_text())
        if self.question.classes is not None:
            return dict.fromkeys((each["row"] - 1 for each in found), 0.0)
        return {
            each["row"] - 1: np.sign(float(each["new label"]) - float(each["label"]))
            for each in found
        }

    # --- changed labels ---------------------------------------------------------------------

    def free(self, train: np.ndarray) -> np.ndarray:
        """Training rows whose label the bias lets be wrong."""
        question, labels = self.question, self.question.table[self.question.label]
        rows = train[question.only[train]]
        if question.classes is None or question.direction is None:
            return rows
        return rows[(labels == question.classes[question.direction == "down"]).to_numpy()[rows]]

    def ends(self) -> tuple[float, float]:
        low, high = self.question.offsets
        match self.question.direction:
            case "up":
                return 0.0, high
            case "down":
                return low, 0.0
        return low, high

    def changed(self, moves: dict[int, float], rng):
        """The table with other labels: flipped, or moved to an end (0: anywhere) of the range."""
        table, label = self.question.table.copy(), self.question.label
        values = table[label].astype(object).to_numpy(copy=True)
        for row, way in moves.items():
            if self.question.classes is not None:
                negative, positive = self.question.classes
                values[row] = positive if values[row] == negative else negative
                continue
            low, high = self.ends()
            somewhere = (low, high, rng.uniform(low, high))[rng.integers(3)]
            values[row] = float(values[row]) + (low if way < 0 else high if way > 0 else somewhere)
        table[label] = values
        return table


def budget_of(text: str, n_rows: int) -> int:
    """How many labels a budget is."""
    share = Fraction(text.rstrip("%")) / 100 if text.endswith("%") else None
    return int(text) if share is None else int(share * n_rows)


def attack(question: Question, folder, n_random: int = 2, n_witness: int = 2) -> Tally:
    """Ask, change training labels within the bias, ask again, and compare."""
    loop, tally = Loop(question, folder), Tally(questions=1)
    before = loop.answers(question.table)
    if before is None:
        tally.refused = 1
        return tally
    rng = np.random.default_rng([question.seed, 1])
    free = loop.free(before.train)
    if not len(free):
        return tally
    allowed = budget_of(question.budget, min(map(len, before.trains)))
    for moves in [
        *_at_random(rng, free, allowed, n_random),
        *_by_witness(rng, loop, before, n_witness),
    ]:
        assert set(moves) <= set(free), f"{question}: a witness changes labels that cannot be wrong"
        after = loop.answers(loop.changed(moves, rng))
        tally.runs += 1
        if after is None:
            tally.runs_refused += 1
            continue
        tally.other_alphas += before.alphas != after.alphas
        promised = before.promised(len(moves), allowed)
        tally.promises += len(promised)
        tally.broken += [
            f"{question}\nrow {row}: {before.rows[row]} became {after.rows[row]} "
            f"with the labels of rows {sorted(int(each) + 1 for each in moves)} changed"
            for row in promised
            if _moved(question, before.rows[row], after.rows[row])
        ]
        assert set(before.rows) == set(after.rows), f"{question}: other rows were held out"
        for train, other in zip(before.trains, after.trains, strict=True):
            assert set(train) == set(other), f"{question}: other rows were trained on"
    return tally


def _at_random(rng, free, allowed, times):
    for _ in range(times):
        many = int(rng.integers(1, max(allowed, 4) + 1))
        rows = rng.choice(free, min(many, len(free)), replace=False)
        yield dict.fromkeys(rows.tolist(), 0.0)


def _by_witness(rng, loop, before, times):
    """All labels but one of those that overturn a row: as near to overturning it as may be."""
    least = {
        number: row["minimum_budget"]
        for number, row in before.rows.items()
        if row["minimum_budget"] is not None and row["minimum_budget"] >= 2
    }
    near = sorted(least, key=lambda number: (least[number], number))
    some = [near[0], *rng.permutation(near[1:])] if near else []
    for number in some[:times]:
        moves = loop.witness(int(number))
        if len(moves) >= 2:
            moves.pop(int(rng.choice(list(moves))))
            yield moves


def _moved(question, before, after):
    """Whether a prediction is another one, by more than the rounding of two doubles."""
    if question.classes is None:
        size = max(1.0, abs(before["score"]), abs(after["score"]))
        return abs(after["score"] - before["score"]) > question.radius + HAIR * size
    near = question.tie is not None and abs(after["score"] - question.tie) <= HAIR
    return before["prediction"] != after["prediction"] and not near
