"""Work out what is true of each row, and compare the claims of a certificate with it."""

import math
from array import array
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from unswayed.verify.data import Data, load
from unswayed.verify.document import read, row_numbers, vector
from unswayed.verify.influence import MODELS
from unswayed.verify.integers import Track, bits, bits_of_doubles, common_power, dot, whole
from unswayed.verify.limits import CertificateError, Room
from unswayed.verify.question import Bias, in_words

File = str | Path | None


@dataclass(frozen=True, slots=True)
class Report:
    """Result of checking the claims of a certificate.

    An undecided claim gives no verdict; what else it says has been checked as well.

    Attributes
    ----------
    question : str
        What was asked, in full: several lines.
    proven : int
        Claims with a verdict that hold, `robust` and `not_robust` together.
    robust, not_robust : int
        Claims with that verdict that hold.
    undecided : int
        Claims without a verdict that hold.
    rejected : dict of int to str
        For each claim that is false or not proven, by its row, the reason.
    """

    question: str
    proven: int
    robust: int
    not_robust: int
    undecided: int
    rejected: dict[int, str]


def verify(
    certificate: str | Path, *, train: File = None, test: File = None, data: File = None,
    label: str | None = None, track: Track = lambda steps, what, total: steps,
) -> Report:  # fmt: skip
    """Prove or reject every claim of a certificate file.

    Parameters
    ----------
    certificate : str or Path
    train, test : str or Path, optional
        CSV or Parquet files; `train` alone where some of its rows were held out.
    data : str or Path, optional
        Instead of them, the .npz file that was saved with the certificate.
    label : str, optional
        The label column, where the certificate does not name it.
    track : callable
        Takes an iterable of steps, what they do and how many they are, and yields the steps; for
        progress bars.

    Returns
    -------
    Report
        The question, and how many claims hold.

    Raises
    ------
    CertificateError
        If the file is malformed, belongs to other data, or is too large to be checked.
    """
    paths = [Path(each) if each else None for each in (train, test, data)]
    for path in (Path(certificate), *paths):
        if path is not None and path.exists() and not path.is_file():
            raise CertificateError(f"{path} is not a file")  # a pipe or a device need not end
    document = read(Path(certificate))
    found = load(document, label, *paths)
    bias = _read_bias(document, len(found.labels))
    question = in_words(document, found, bias)
    judge = _Judge(document, found, bias, track)
    alike = defaultdict(list)  # claims about equal test rows
    for claim in document["claims"]:
        alike[judge.subject(claim["row"])].append(claim)
    rejected: dict[int, str] = {}
    for claims in track(alike.values(), "proving", len(alike)):
        truth = judge.truth(claims[0]["row"])
        for claim in claims:
            if reasons := "; ".join(judge.objections(claim, truth)):
                rejected[claim["row"]] = reasons
    verdicts = Counter(
        claim["verdict"] for claim in document["claims"] if claim["row"] not in rejected
    )
    return Report(
        question,
        proven=verdicts["robust"] + verdicts["not-robust"],
        robust=verdicts["robust"],
        not_robust=verdicts["not-robust"],
        undecided=verdicts["undecided"],
        rejected=dict(sorted(rejected.items())),
    )


def _read_bias(document: dict[str, Any], n_rows: int) -> Bias:
    """Return the bias and the weights of a certificate, unpacked; raise unless they make sense."""
    given, model = document["bias"], document["model"]
    bias = Bias(
        lower=vector(given["lower"], n_rows, "bias.lower"),
        upper=vector(given["upper"], n_rows, "bias.upper"),
        weights=vector(model.get("weights", 1), n_rows, "model.weights"),
        budget=given["budget"],
    )
    if max(bias.lower) > 0 or min(bias.upper) < 0:
        raise CertificateError("lower <= 0 <= upper must hold for every label")
    if min(bias.weights) < 0 or not any(bias.weights):
        raise CertificateError("weights >= 0, not all of them 0, must hold")
    return bias


@dataclass(frozen=True, slots=True)
class _Row:
    """Scores of one row as integers, numerators over a common denominator."""

    task: str
    influence: list[int]
    below: int
    mark: int  # the threshold, or the radius
    score: int

    def decision(self, score: int) -> int:
        """Return the class, or the sign of a coefficient, at a score."""
        above = score - (self.mark if self.task == "classification" else 0)
        return int(above > 0) - int(above < 0 and self.task == "coefficients")

    def overturned(self, moved: int) -> bool:
        """Return whether the answer at another score is a different one."""
        if self.task == "regression":
            return abs(moved - self.score) > self.mark
        return self.decision(moved) != self.decision(self.score)

    def reach(self, steps: Counter[int], sign: int, budget: int) -> tuple[int, float]:
        """Return the furthest score within the budget, and how many labels overturn the answer.

        The labels that move the score most are moved first. `steps` counts, for each distance, the
        labels that can move the score by it; `sign` is the direction.
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
    """Compares claims with the truth, worked out in integers."""

    def __init__(self, document: dict[str, Any], data: Data, bias: Bias, track: Track) -> None:
        rule, model = document["question"], document["model"]
        self.task, self.budget, self.tests = rule["task"], bias.budget, data.tests
        self.contrasts = rule.get("contrasts", ())
        self.room = Room()
        self.model = MODELS[model["kind"]](
            data.train, model, bias.weights, data.tests, self.room, track
        )
        self.balanced = rule.get("threshold") == "balanced"
        mark = 0.0 if self.balanced else rule.get("threshold", rule.get("radius", 0))
        self.power = common_power(chain((mark,), data.labels, bias.lower, bias.upper))
        self.mark = whole([mark], self.power)[0]
        self.intervals: list[tuple[int, int]] = []  # distinct ones
        self.interval = array("Q")  # which one each label has
        self._read_intervals(bias)
        self.length = bits(chain.from_iterable(self.intervals))
        n_places = 1 + max(self.model.place)
        if self.balanced:
            self._weigh(bias, n_places)
        self.room.take(n_places, bits_of_doubles(data.labels, self.power))
        self.labels = [0] * n_places  # summed up by place
        for place, label in zip(self.model.place, data.labels, strict=True):
            self.labels[place] += whole([label], self.power)[0]
        # Rows of one place and one interval move a score alike: how many there are of each.
        self.alike: Counter[tuple[int, int]] = Counter()
        for key in zip(self.model.place, self.interval, strict=True):
            if key not in self.alike:
                self.room.take(4, 64)
            self.alike[key] += 1

    def _weigh(self, bias: Bias, n_places: int) -> None:
        """Set the weight of a label at each place, and of all labels, as integers."""
        power = common_power(bias.weights)
        self.room.take(n_places, bits_of_doubles(bias.weights, power))
        self.weights, self.total = [0] * n_places, 0
        for place, weight in zip(self.model.place, bias.weights, strict=True):
            self.weights[place] = whole([weight], power)[0]
            self.total += self.weights[place]

    def _from_the_mean(self, z: list[int], below: int) -> tuple[list[int], int]:
        """Return the influence on a score less the mean of the labels, z - weight / total."""
        self.room.check(len(z), bits(z) + below.bit_length() + self.total.bit_length())
        less = [
            number * self.total - weight * below
            for number, weight in zip(z, self.weights, strict=True)
        ]
        return less, below * self.total

    def _read_intervals(self, bias: Bias) -> None:
        """Number the distinct intervals that labels may move in."""
        known: dict[tuple[float, float], int] = {}
        for pair in zip(bias.lower, bias.upper, strict=True):
            if pair not in known:
                ends = whole(pair, self.power)
                self.room.take(8, bits(ends))
                known[pair] = len(known)
                self.intervals.append((ends[0], ends[1]))
            self.interval.append(known[pair])

    def subject(self, row: int) -> Any:
        """Return what a claim is about: features, or the number of a coefficient or contrast."""
        return row if self.tests is None else self.tests[row].tobytes()

    def truth(self, at: int) -> Truth:
        """Return what is true of a test row, a coefficient or a contrast."""
        if self.contrasts:
            z, below = self.model.contrast(**self.contrasts[at])
        elif self.tests is None:
            z, below = self.model.coefficient(at)
        else:
            z, below = self.model.row(self.tests[at])
            z, below = self._from_the_mean(z, below) if self.balanced else (z, below)
        row = _Row(self.task, z, below * self.power, self.mark * below, dot(z, self.labels))
        self.room.check(4 * len(self.alike), bits(z) + self.length)
        ends = []
        for sign in (-1, 1):
            steps: Counter[int] = Counter()
            for (place, interval), count in self.alike.items():
                lower, upper = self.intervals[interval]
                steps[max(sign * z[place] * lower, sign * z[place] * upper)] += count
            del steps[0]
            ends.append(row.reach(steps, sign, self.budget))
        return row, ends[0][0], ends[1][0], min(ends[0][1], ends[1][1])

    def objections(self, claim: dict[str, Any], truth: Truth) -> Iterator[str]:
        """Yield what is false in a claim, or not proven."""
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
        """Yield the reasons why a witness proves nothing."""
        size, said = len(self.interval), claim.get("minimum_budget")
        moves = []
        for way, end in (("up", 1), ("down", 0)):
            where = f"the witness of row {claim['row']}"
            moves.append((row_numbers(claim["witness"][way], size, size, where), end))
        count = sum(len(rows) for rows, _ in moves)
        if count > self.budget or (type(said) is int and count != said):
            yield f"its witness has {count} labels"
        moved, shift, allowed = bytearray(size), 0, True
        for rows, end in moves:
            for at in rows:
                step = self.intervals[self.interval[at]][end]
                allowed = allowed and step != 0 and not moved[at]
                moved[at] = 1
                shift += row.influence[self.model.place[at]] * step
        if not allowed:
            yield "its witness moves a label twice, or one that the bias does not let move so"
        if not row.overturned(row.score + shift):
            yield "its witness does not overturn it"
