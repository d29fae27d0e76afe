"""Collective certificate files of every kind, small enough to try every label set in fractions."""

import hashlib
import json
from dataclasses import dataclass
from fractions import Fraction
from io import BytesIO
from itertools import combinations, product
from pathlib import Path

import numpy as np
from sklearn.linear_model import Ridge, RidgeClassifier

from tests.verify import exact
from tests.verify.files import doubles, rows_of
from unswayed import CertifiedClassifier, CertifiedRegressor, LabelBias, RowSum
from unswayed.joint.metrics import names
from unswayed.verify import verify


@dataclass(frozen=True)
class Case:
    document: dict
    data: Path


def saved(certificate, folder, name):
    path, data = folder / f"{name}.json", folder / f"{name}.npz"
    certificate.save(path, data=data)
    return Case(json.loads(path.read_text()), data)


def rows(seed, n=14, n_tests=12):
    """Rows of which several exclude each other, so that multipliers matter."""
    rng = np.random.default_rng(seed)
    X, T = rng.normal(size=(n, 2)).round(2), rng.normal(size=(n_tests, 2)).round(2)
    y = (X[:, 0] + rng.normal(size=n) > 0).astype(int)
    y[:2] = 0, 1
    return X, np.vstack((T, T[:2])), y, rng


def make_collective(folder, seed=8):
    """Return a case of every kind."""
    X, T, y, rng = rows(seed)
    model = CertifiedClassifier(Ridge(alpha=0.3), bias=LabelBias.flips(budget=2)).fit(X, y)
    signed = CertifiedClassifier(
        RidgeClassifier(alpha=0.5), bias=LabelBias.flips(budget=1), threshold="balanced"
    ).fit(X, np.where(y, "yes", "no"))
    numbers = CertifiedRegressor(
        Ridge(alpha=0.3), bias=LabelBias.shifts((-0.5, 1.0), budget=2), radius=0.25
    ).fit(X, X @ [1.0, 0.5] + y)
    groups, truth = np.array(list("aabbcc" * 2 + "ab")), rng.integers(0, 2, len(T))
    weights = rng.choice([0.1, 0.5, 2.0, 0.0], len(T))
    cost = RowSum(lambda actual, said: np.where(said == actual, 0, np.where(said, 5, 1.25)))
    ratio = RowSum(lambda actual, said: 1 + said * actual) / RowSum(lambda _, said: 2.0 + said)
    found = {
        "together": model.certify_together(T, time_limit=0),
        "cases": _split(model, T, by_labels=False),
        "labels": _split(model, T, by_labels=True),
        "up": model.certify_together(T, time_limit=0, direction="up", where=groups != "a"),
        "weighted": model.certify_together(T, time_limit=0, weights=weights),
        "balanced": signed.certify_together(T, time_limit=0),
        "numbers": numbers.certify_together(T, time_limit=0),
        "rate": model.certify_metric(T, "selection_rate", time_limit=0),
        "accuracy": model.certify_metric(
            T, "accuracy_group_min", groups=groups, y_true=truth, time_limit=0
        ),
        "difference": model.certify_metric(
            T, "demographic_parity_difference", groups=groups, time_limit=0
        ),
        "odds": model.certify_metric(
            T, "equalized_odds_difference", groups=groups == "a", y_true=truth, time_limit=0
        ),
        "ratio": model.certify_metric(
            T, "selection_rate_ratio", groups=groups == "a", budget=1, time_limit=0
        ),
        "own": model.certify_metric(T, cost, y_true=truth, time_limit=0),
        "quotient": model.certify_metric(T, ratio, y_true=truth, time_limit=0),
        "mean": numbers.certify_metric(T, "mean_prediction"),
        "gap": numbers.certify_metric(T, "mean_prediction_difference", groups=groups),
    }
    return {name: saved(each, folder, name) for name, each in found.items()}


def _split(model, T, *, by_labels):
    """A bound that takes several cases: of rows, or of how many of some labels move."""
    for start in range(200):
        some = np.random.default_rng(start).permutation(len(T))[:9]
        found = model.certify_together(T[some], time_limit=20)
        if found.bounds.get("cases", np.inf) < found.bounds.get("Lagrangian", 0):
            splits = found.source.cases.arrays()["splits"]
            if splits[:, 1].any() == by_labels:
                return found
    raise AssertionError("no such rows")


def forged_proof(document, data, change):
    """The same document with other arrays in its proof, in a file of their own."""
    folder, made = Path(data).parent, json.loads(json.dumps(document))
    with np.load(folder / document["proof"]["file"]) as given:
        arrays = {name: given[name].copy() for name in given.files}
    change(arrays)
    content = BytesIO()
    np.savez(content, **arrays)
    (folder / "altered.proof.npz").write_bytes(content.getvalue())
    made["proof"] = {
        "file": "altered.proof.npz",
        "sha256": hashlib.sha256(content.getvalue()).hexdigest(),
        "arrays": [{"name": n, "shape": list(each.shape)} for n, each in arrays.items()],
    }
    return made


# --- the truth, in fractions ----------------------------------------------------------------


class Truth:
    """Every label set of a document, tried one by one: influence by `tests.verify.exact`."""

    def __init__(self, document, data):
        arrays, model, bias = np.load(data), document["model"], document["bias"]
        labels = self.labels = [Fraction(float(label)) for label in arrays["labels"]]
        n = len(labels)
        weights = doubles(model.get("weights", 1.0), n)
        self.z = exact.ridge_influence(
            arrays["train"], arrays["test"], model["alpha"], model["intercept"], weights
        )
        self.rule = dict(document["question"])
        if self.rule.get("threshold") == "balanced":
            self.z = [[a - Fraction(1, n) for a in row] for row in self.z]
            self.rule["threshold"] = 0
        self.lower, self.upper = (
            [Fraction(each) for each in doubles(bias[end], n)] for end in ("lower", "upper")
        )
        self.budget = bias["budget"]
        self.scores = [_dot(row, labels) for row in self.z]
        self._sets = None

    def moved(self, changes):
        """Scores after label changes, a dict of row to difference."""
        return [
            score + sum(row[at] * step for at, step in changes.items())
            for score, row in zip(self.scores, self.z, strict=True)
        ]

    @property
    def label_sets(self):
        """Scores after every change of labels to ends of their intervals."""
        if self._sets is None:
            self._sets = [
                self.moved({at: end[at] for at, end in zip(chosen, ends, strict=True) if end[at]})
                for size in range(self.budget + 1)
                for chosen in combinations(range(len(self.lower)), size)
                for ends in product((self.lower, self.upper), repeat=size)
            ]
        return self._sets

    def changes(self, witness):
        """What a witness of the file does to labels; None if the bias does not allow it."""
        up, down = (rows_of(witness[way]) for way in ("up", "down"))
        shares = doubles(witness.get("shares", 1.0), len(up) + len(down))
        steps = [(at, self.upper) for at in up] + [(at, self.lower) for at in down]
        made = {at: Fraction(s) * end[at] for (at, end), s in zip(steps, shares, strict=True)}
        fine = len(made) == len(steps) <= self.budget and all(made.values())
        return made if fine and all(0 < share <= 1 for share in shares) else None

    def ways(self, scores):
        """For each row 1 if it is overturned by rising, -1 by falling, 0 if it is not."""
        return [
            (1 if after > before else -1) if exact.overturned(self.rule, before, after) else 0
            for before, after in zip(self.scores, scores, strict=True)
        ]

    # --- what is asked

    def count(self, claim, scores):
        n_rows = len(self.scores)
        asked = rows_of(claim["where"]) if "where" in claim else range(n_rows)
        weights = [Fraction(repr(each)) for each in doubles(claim.get("weights", 1), n_rows)]
        wanted = {"up": (1,), "down": (-1,), None: (1, -1)}[claim.get("direction")]
        return sum(
            weights[row]
            for row, way in enumerate(self.ways(scores))
            if row in asked and way in wanted
        )

    def metric(self, claim, scores):
        """The value of a metric; None where it is undefined."""
        n_rows = len(scores)
        groups = [rows_of(each["rows"]) for each in claim.get("groups", ())]
        if claim["ask"] == "mean":
            means = [sum(scores[row] for row in group) / len(group) for group in groups]
            return max(means) - min(means) if means else sum(scores) / n_rows
        said = [score > Fraction(self.rule["threshold"]) for score in scores]
        if "terms" in claim:
            sums = [
                sum(
                    Fraction(repr(doubles(each["positive" if flag else "negative"], n_rows)[row]))
                    for row, flag in enumerate(said)
                )
                for each in claim["terms"]
            ]
            return sums[0] if len(sums) == 1 else sums[0] / sums[1]
        truth = set(rows_of(claim["truth"])) if "truth" in claim else set()
        return _metric(claim["metric"], said, groups or [list(range(n_rows))], truth)


_RATES = {
    "demographic_parity": ("selection_rate",),
    "equal_opportunity": ("true_positive_rate",),
    "equalized_odds": ("true_positive_rate", "false_positive_rate"),
}


def _metric(name, said, groups, truth):
    kinds = [each for each in ("difference", "ratio", "group_min", "group_max") if each in name]
    base = name.removesuffix(f"_{kinds[0]}") if kinds else name
    found = []
    for rate in _RATES.get(base, (base,)):
        values = [_rate(rate, said, group, truth) for group in groups]
        low, high = min(values), max(values)
        if "difference" in kinds:
            found.append(high - low)
        elif "ratio" in kinds:
            found.append(low / high if high else None)
        else:
            found.append(low if "group_min" in kinds else high)
    if None in found:
        return None
    return min(found) if "ratio" in kinds else max(found)


def _rate(name, said, group, truth):
    """A rate of a group; `truth` holds the rows that are truly positive."""
    if name == "accuracy":
        return Fraction(sum(said[row] == (row in truth) for row in group), len(group))
    if name == "selection_rate":
        return Fraction(sum(said[row] for row in group), len(group))
    positive = name in ("true_positive_rate", "false_negative_rate")
    used = [row for row in group if (row in truth) == positive]
    wanted = "positive" in name
    return Fraction(sum(said[row] == wanted for row in used), len(used))


def _dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


_TRUTHS = {}


def truth_of(document, data):
    """The truth of a document, which is tried once for all claims about the same question."""
    key = json.dumps([str(data), *(document[part] for part in ("model", "bias", "question"))])
    if key not in _TRUTHS:
        _TRUTHS[key] = Truth(document, data)
    return _TRUTHS[key]


def untrue(document, data, truth=None, **options):
    """What the checker calls proven in a document though it is not true; and its report."""
    folder = Path(data).parent
    (folder / "altered.json").write_text(json.dumps(document))
    report = verify(folder / "altered.json", data=data, **options)
    claim, truth = document["collective"], truth or truth_of(document, data)
    false = [each for each in report.collective if each.status == "proven"
             and not _holds(each.part, claim, truth)]  # fmt: skip
    return false, report


def _holds(part, claim, truth):
    if "terms" in claim and claim["metric"] in (*names(), "mean_prediction"):
        return False  # a reader would take it for another metric
    if claim["ask"] == "together":
        if part == "at most":
            most = max(truth.count(claim, scores) for scores in truth.label_sets)
            return most <= Fraction(claim["at_most"])
        changes = truth.changes(claim["witness"])
        return changes is not None and truth.count(claim, truth.moved(changes)) >= Fraction(
            claim["at_least"]
        )
    now = truth.metric(claim, truth.scores)
    if part == "value":
        if isinstance(claim["value"], list):
            low, high = map(Fraction, claim["value"])
            size = abs(now) + max(map(abs, truth.labels))
            return low <= now <= high <= low + size / 100_000
        return float(now) == claim["value"]
    name = part.split()[0]
    if part == name:
        values = [truth.metric(claim, scores) for scores in truth.label_sets]
        values = [each for each in values if each is not None]
        return min(values) >= claim["low"]["outer"] if name == "low" else (
            max(values) <= claim["high"]["outer"])  # fmt: skip
    changes = truth.changes(claim[name]["witness"])
    if changes is None:
        return False
    value, inner = truth.metric(claim, truth.moved(changes)), claim[name]["inner"]
    return exact.below(value) <= inner if name == "low" else exact.above(value) >= inner
