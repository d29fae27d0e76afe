"""What is true of a row, and whether the certificate says so."""

import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as shown
from typing import Any

from unswayed.verify.data import Data, load
from unswayed.verify.document import CertificateError, read, row_numbers, vector
from unswayed.verify.influence import MODELS, Track, common_power, dot, whole

File = str | Path | None


@dataclass(frozen=True, slots=True)
class Report:
    """What came of the claims. An undecided one has no verdict; what else it says is true."""

    question: str
    proven: int
    undecided: int
    rejected: dict[int, str]  # row: why


def verify(
    certificate: str | Path, *, train: File = None, test: File = None, data: File = None,
    label: str | None = None, track: Track = lambda steps, what, total: steps,
) -> Report:  # fmt: skip
    """Prove or reject every claim of a certificate file.

    Parameters
    ----------
    certificate : path
    train, test : paths, optional
        CSV or Parquet files; `train` alone where some of its rows were held out.
    data : path, optional
        Instead of them, the .npz file that was saved with the certificate.
    label : str, optional
        The label column, where the certificate does not name it.
    track : callable
        Takes steps, what they do and how many they are; yields them and can tell how far it is.

    Raises
    ------
    CertificateError
        If the file is malformed or belongs to other data.
    """
    paths = [Path(each) if each else None for each in (train, test, data)]
    document = read(Path(certificate))
    judge = _Judge(document, load(document, label, *paths), track)
    alike = defaultdict(list)  # claims about equal test rows
    for claim in document["claims"]:
        alike[judge.subject(claim["row"])].append(claim)
    rejected: dict[int, str] = {}
    for subject, claims in track(alike.items(), "proving", len(alike)):
        truth = judge.truth(subject)
        for claim in claims:
            if reasons := "; ".join(judge.objections(claim, truth)):
                rejected[claim["row"]] = reasons
    true = [claim["verdict"] for claim in document["claims"] if claim["row"] not in rejected]
    undecided = true.count("undecided")
    return Report(judge.question, len(true) - undecided, undecided, dict(sorted(rejected.items())))


@dataclass(frozen=True, slots=True)
class _Row:
    """Scores of one row as integers, numerators over a common denominator."""

    task: str
    influence: list[int]
    below: int
    mark: int  # the threshold, or the radius
    score: int

    def decision(self, score: int) -> int:
        """Class, or sign of a coefficient."""
        above = score - (self.mark if self.task == "classification" else 0)
        return int(above > 0) - int(above < 0 and self.task == "coefficients")

    def overturned(self, moved: int) -> bool:
        """Whether another score counts as another answer."""
        if self.task == "regression":
            return abs(moved - self.score) > self.mark
        return self.decision(moved) != self.decision(self.score)

    def reach(self, steps: Counter[int], sign: int, budget: int) -> tuple[int, float]:
        """Move labels, strongest first: the score at the budget, and how many overturn it.

        `steps` counts the labels that can move the score by so much.
        """
        used, moved, reached, least = 0, self.score, self.score, math.inf
        for step in sorted(steps, reverse=True):
            count, push = steps[step], sign * step
            reached += push * max(0, min(count, budget - used))
            if least == math.inf and self.overturned(moved + count * push):
                scores = range(moved + push, moved + (count + 1) * push, push)
                least = used + 1 + bisect_left(scores, True, key=self.overturned)
            used, moved = used + count, moved + count * push
        return reached, least


Truth = tuple[_Row, int, int, float]  # lowest and highest score, and how many labels overturn it


class _Judge:
    """The question of a certificate, in integers."""

    def __init__(self, document: dict[str, Any], data: Data, track: Track) -> None:
        question, bias, model = (document[key] for key in ("question", "bias", "model"))
        train, labels, self.tests = data
        size, self.task, self.budget = len(labels), question["task"], bias["budget"]
        lower, upper = (vector(bias[end], size, f"bias.{end}") for end in ("lower", "upper"))
        weights = vector(model.get("weights", 1), size, "model.weights")
        if max(lower) > 0 or min(upper) < 0 or min(weights) < 0 or not any(weights):
            raise CertificateError("lower <= 0 <= upper and weights >= 0, not all 0, must hold")
        self.model = MODELS[model["kind"]](train, model, weights, self.tests, track)
        mark = question.get("threshold", question.get("radius", 0))
        self.power = common_power((mark, *labels, *lower, *upper))
        self.mark = whole([mark], self.power)[0]
        self.lower, self.upper = whole(lower, self.power), whole(upper, self.power)
        self.labels = [0] * (1 + max(self.model.place))  # summed up by place
        for place, label in zip(self.model.place, whole(labels, self.power), strict=True):
            self.labels[place] += label
        # Rows of one place and one interval move a score alike: how many there are of each.
        self.alike = Counter(zip(self.model.place, self.lower, self.upper, strict=True))
        movable = sum(map(any, zip(lower, upper, strict=True)))
        name = document.get("recipe", {"label": "y"})["label"]
        facts = (f"{key} {value}" for key, value in (question | model).items() if key != "weights")
        self.question = (
            f"{', '.join(facts)}, {'un' * (len({*weights}) == 1)}weighted; {movable:,} of {size:,} "
            f"labels {shown(name)} ({min(labels):g} to {max(labels):g}) may be off by "
            f"{min(lower):g} to {max(upper):g}, at most {self.budget:,} at once"
        )

    def subject(self, row: int) -> Any:
        """What a claim is about: features, or the number of a coefficient."""
        return row if self.task == "coefficients" else tuple(self.tests[row])

    def truth(self, subject: Any) -> Truth:
        """Work out what is true of a test row or a coefficient."""
        look_up = self.model.coefficient if self.task == "coefficients" else self.model.row
        z, below = look_up(subject)
        row = _Row(self.task, z, below * self.power, self.mark * below, dot(z, self.labels))
        ends = []
        for sign in (-1, 1):
            steps: Counter[int] = Counter()
            for (place, lower, upper), count in self.alike.items():
                steps[max(sign * z[place] * lower, sign * z[place] * upper)] += count
            del steps[0]
            ends.append(row.reach(steps, sign, self.budget))
        return row, ends[0][0], ends[1][0], min(ends[0][1], ends[1][1])

    def objections(self, claim: dict[str, Any], truth: Truth) -> Iterator[str]:
        """Say what is false in a claim, or not proven."""
        row, low, high, fewest = truth
        overturn = f"{fewest} labels overturn it" if fewest < math.inf else "nothing overturns it"
        if "decision" in claim and claim["decision"] != row.decision(row.score):
            yield f"the decision is {row.decision(row.score)}"
        for end, sign, reached in (("low", 1, low), ("high", -1, high)):
            above, under = claim.get(end, 0).as_integer_ratio()
            if end in claim and sign * above * row.below > sign * reached * under:
                yield f"scores beyond {end} {claim[end]!r} are reached"
        bounds = claim.get("minimum_budget", [0, "never"])
        bounds = bounds if isinstance(bounds, list) else [bounds, bounds]
        least, most = (math.inf if bound == "never" else bound for bound in bounds)
        verdict = "robust" if fewest > self.budget else "not-robust"
        if not least <= fewest <= most or claim["verdict"] not in (verdict, "undecided"):
            yield f"it is {verdict}: {overturn}"
        if (claim["verdict"] == "not-robust") != ("witness" in claim):
            yield "a witness must be given if it is not robust, and only then"
        elif "witness" in claim:
            yield from self._doubts(claim, row)

    def _doubts(self, claim: dict[str, Any], row: _Row) -> Iterator[str]:
        """Say why a witness proves nothing."""
        where, size = f"the witness of row {claim['row']}", len(self.lower)
        up, down = (row_numbers(claim["witness"][key], size, where) for key in ("up", "down"))
        count, said = len(up) + len(down), claim.get("minimum_budget")
        if count > self.budget or (type(said) is int and count != said):
            yield f"its witness has {count} labels"
        steps = [(at, self.upper[at]) for at in up] + [(at, self.lower[at]) for at in down]
        if len({*up, *down}) < count or not all(step for _, step in steps):
            yield "its witness moves a label twice, or one that the bias does not let move so"
        shift = sum(row.influence[self.model.place[at]] * step for at, step in steps)
        if not row.overturned(row.score + shift):
            yield "its witness does not overturn it"
