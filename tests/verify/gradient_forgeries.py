"""Forged certificate files of logistic and Poisson regression, judged by all label sets.

A file about eight training rows is altered in one to three places: its region, parameters,
claims, witnesses, bias, budget, weights, penalty, or the data with the hashes put right. Whatever
the checker then accepts must be true of the altered question. ``python -m
tests.verify.gradient_forgeries 1000`` draws more of them.
"""

import copy
import math
import sys
import tempfile
from collections import Counter
from itertools import product
from pathlib import Path
from unittest import mock

import numpy as np

from tests.verify.files import Case, doubles
from tests.verify.gradient import (
    checked,
    fitted,
    logistic,
    packed,
    poisson,
    proof_of,
    saved,
    with_proof,
)
from tests.verify.test_mathematics import sha256
from unswayed.engines.region import proof
from unswayed.verify import CertificateError

N = 8
FAR = 1e6  # scores beyond: the labels have no minimiser


def drawn(seed, folder):
    """A valid file about a small problem."""
    rng = np.random.default_rng(seed)
    X, T = rng.normal(size=(N, 2)).round(1), rng.normal(size=(5, 2)).round(1)
    weight = rng.choice([0.5, 1.0, 2.0], N) if seed % 3 == 1 else None
    if seed % 5 == 4:
        counts = rng.poisson(3.0, N).astype(float)
        fitted = poisson(X, counts, 1, alpha=3.0, radius=float(rng.choice([0.2, 1.0, 2.0])))
        return saved(fitted.certify(T), folder, "drawn")
    y = np.array([0, 1] * (N // 2))
    extra = {"class_weight": {0: 0.6, 1: 1.5}} if seed % 3 == 2 else {}
    extra |= {"fit_intercept": False} if seed % 7 == 3 else {}
    strength = float(rng.choice([0.003, 0.01, 0.03]))
    if seed % 4 == 2:
        return _split(seed, folder)
    certs = logistic(X, y, T, 1 + seed % 2, C=strength, weight=weight, **extra)
    return saved(certs, folder, "drawn")


class Splitting(proof._Proof):
    """A proof that goes by the number of labels inside some rows, whether it has to or not."""

    def add(self, asked):
        super().add(asked)
        splitting = self.engine.splitting(self.labels)
        if self._main is None or splitting is None:
            return
        splitting.wide[:] = np.arange(self._size) < self._size // 2
        splitting._inside = splitting.wide[self.engine.moves.sides.rows]
        kept = [
            each[(each[:, 1] < self._size) | (each[:, 3] < self.labels)] for each in self._table
        ]
        self._table = kept
        rows = asked.case.rows.take(asked.rows)
        every = np.ones(len(rows), dtype=bool)
        for inside in range(self.labels + 1):
            region = splitting._smaller(splitting.region, inside, inside)
            number, marks = self._closed(region, inside, inside), np.empty((len(rows), 2, 2))
            self._boxes[number].reach(rows.rows, self.labels, marks)
            for way in (proof.UP, proof.DOWN):
                hints = proof._plain(marks[:, way])
                numbers = self._size + asked.numbers
                self._put_rows(number, numbers, way, 0, hints, rows, every)


def _split(seed, folder):
    """A file that proves rows case by case."""
    rng = np.random.default_rng(seed)
    X, T = rng.normal(size=(N, 2)).round(1), 4 * rng.normal(size=(8, 2)).round(1)
    y = (X[:, 0] > np.median(X[:, 0])).astype(int)
    with mock.patch.object(proof, "_Proof", Splitting):
        return saved(
            logistic(X, y, T, 1 + seed % 8 // 4, C=0.1, effort=2, fit_intercept=False),
            folder,
            "drawn",
        )


# --- alterations ----------------------------------------------------------------------------


def _ends(document, arrays, rng):
    if "boxes" in arrays["proof"]:
        boxes = arrays["proof"]["boxes"]
        row = rng.integers(len(boxes))
        size = boxes.shape[1] if rng.random() < 0.5 else 1
        boxes[row] *= rng.choice([0.0, 0.3, 0.9, 0.999, 1 - 1e-9, 1 + 1e-9, 1.1, 3.0, 30.0], size)


def _no_region(document, arrays, rng):
    for name in ("boxes", "inverses", "cases", "inside", "bounds", "own"):
        arrays["proof"].pop(name, None)


def _any_region(document, arrays, rng):
    if "boxes" in arrays["proof"]:
        boxes = arrays["proof"]["boxes"]
        boxes[:] = rng.choice([1e-3, 0.1, 1.0, 10.0]) * rng.random(boxes.shape)


def _parameters(document, arrays, rng):
    found = arrays["proof"]["parameters"]
    found[rng.integers(len(found))] += rng.choice([1e-9, 1e-4, 0.1, -2.0, 50.0])


def _hint(document, arrays, rng):
    """Any number of the proof, by a unit in its last place, a little, much, or another one."""
    proof = arrays["proof"]
    name = str(rng.choice(sorted(proof)))
    found = proof[name].reshape(-1)
    at = rng.integers(len(found), size=1 if rng.random() < 0.7 else len(found))
    kind = rng.integers(5)
    if kind == 0:
        found[at] = np.nextafter(found[at], rng.choice([-1e9, 1e9]))
    elif kind == 1:
        found[at] *= 1.0 + rng.choice([-1e-9, 1e-9])
    elif kind == 2:
        found[at] *= rng.choice([0.0, 0.5, 2.0, -1.0, 1e3])
    elif kind == 3:
        found[at] += rng.choice([1.0, -1.0])
    else:
        found[at] = found[rng.integers(len(found), size=len(at))]


def _lines(document, arrays, rng):
    """Bounds that are left out, or said to be about others, more labels or other boxes."""
    if "bounds" in arrays["proof"]:
        table = arrays["proof"]["bounds"]
        arrays["proof"]["bounds"] = table = table[rng.random(len(table)) < rng.choice([0.9, 1.0])]
        column = rng.integers(5)
        if len(table):
            some = rng.random(len(table)) < rng.choice([0.05, 1.0])
            table[some, column] = rng.permutation(table[some, column])


def _cases(document, arrays, rng):
    if "cases" in arrays["proof"]:
        cases = arrays["proof"]["cases"]
        cases[rng.integers(len(cases)), rng.integers(2)] += rng.choice([-1.0, 1.0])
        if "inside" in arrays["proof"]:
            inside = arrays["proof"]["inside"]
            inside[rng.integers(len(inside))] = rng.integers(2)


def _any_claim(document, rng):
    return document["claims"][rng.integers(len(document["claims"]))]


def _robust(document, arrays, rng):
    claim = _any_claim(document, rng)
    claim["verdict"] = "robust"
    claim.pop("witness", None)
    claim.pop("minimum_budget", None)
    if document["model"]["kind"] == "logistic":
        claim.setdefault("decision", int(rng.integers(2)))


def _not_robust(document, arrays, rng):
    claim = _any_claim(document, rng)
    rows = np.sort(rng.choice(N, rng.integers(1, 3), replace=False))
    up = rng.random(len(rows)) < 0.5
    upper = np.array(doubles(document["bias"]["upper"], N))
    if rng.random() < 0.7:
        up = upper[rows] > 0
    claim["verdict"] = "not-robust"
    claim.pop("minimum_budget", None)
    claim["witness"] = {"up": rows[up].tolist(), "down": rows[~up].tolist()}


def _range(document, arrays, rng):
    claim = _any_claim(document, rng)
    end = str(rng.choice(["low", "high"]))
    if end in claim:
        sign = 1 if end == "low" else -1
        claim[end] += float(rng.choice([0.0, 1e-9, 1e-3, 0.05, 0.5]) * sign)
        claim[end] = math.nextafter(claim[end], sign * math.inf)


def _least(document, arrays, rng):
    low, high = (int(each) for each in np.sort(rng.integers(1, N + 1, 2)))
    ends = [low, "never" if rng.random() < 0.3 else high]
    _any_claim(document, rng)["minimum_budget"] = ends


def _decision(document, arrays, rng):
    claim = _any_claim(document, rng)
    if "decision" in claim:
        claim["decision"] = 1 - claim["decision"]


def _budget(document, arrays, rng):
    document["bias"]["budget"] = int(rng.integers(0, N + 1))


def _bias(document, arrays, rng):
    for end in ("lower", "upper"):
        found = np.array(doubles(document["bias"][end], N))
        document["bias"][end] = packed(found * (rng.random(N) < 0.7))


def _weights(document, arrays, rng):
    document["model"]["weights"] = packed(rng.choice([0.0, 0.5, 1.0, 1.1, 4.0], N))


def _class_weights(document, arrays, rng):
    if document["model"]["kind"] == "logistic":
        document["model"]["class_weights"] = [float(each) for each in rng.uniform(0.3, 3.0, 2)]


def _penalty(document, arrays, rng):
    document["model"]["penalty"] *= float(rng.choice([0.01, 0.5, 0.999, 1.001, 2.0]))


def _threshold(document, arrays, rng):
    rule = document["question"]
    name = "threshold" if "threshold" in rule else "radius"
    rule[name] = abs(rule[name] + float(rng.choice([-0.1, 0.01, 0.3])))


def _labels(document, arrays, rng):
    """The other class for one label, and the bias turned round: a forger's data."""
    row = rng.integers(N)
    if document["model"]["kind"] == "poisson":
        arrays["labels"][row] += 1.0
        return
    arrays["labels"][row] = 1.0 - arrays["labels"][row]
    ends = [np.array(doubles(document["bias"][end], N)) for end in ("lower", "upper")]
    ends[0][row], ends[1][row] = -ends[1][row], -ends[0][row]
    for end, values in zip(("lower", "upper"), ends, strict=True):
        document["bias"][end] = packed(values)


def _train(document, arrays, rng):
    arrays["train"][rng.integers(N)] += rng.choice([0.01, 1.0])


def _tests(document, arrays, rng):
    arrays["test"][rng.integers(len(arrays["test"]))] *= rng.choice([-1.0, 0.5, 1.01])


ALTERATIONS = (
    _ends, _no_region, _any_region, _parameters, _hint, _hint, _hint, _lines, _cases, _robust,
    _robust, _not_robust, _range, _least,
    _decision, _budget, _bias, _weights, _class_weights, _penalty, _threshold, _labels, _train,
    _tests,
)  # fmt: skip


def altered(case, folder, rng):
    """The file with one to three alterations, and what they are."""
    document = copy.deepcopy(case.document)
    arrays = {name: array.copy() for name, array in np.load(case.data).items()}
    arrays["proof"] = proof_of(case)
    chosen = [ALTERATIONS[at] for at in rng.integers(len(ALTERATIONS), size=rng.integers(1, 4))]
    for alteration in chosen:
        alteration(document, arrays, rng)
    parts = {"train": arrays["train"], "labels": arrays["labels"][:, None], "test": arrays["test"]}
    document["data"]["sha256"] = {name: sha256(part) for name, part in parts.items()}
    document = with_proof(document, fitted(case, document, arrays.pop("proof")), folder)
    path = folder / "altered.npz"
    np.savez(path, **arrays)
    return Case(document, path), [each.__name__ for each in chosen]


# --- the truth ------------------------------------------------------------------------------


def all_scores(case):
    """Scores of the test rows for every choice of label ends, and how many labels each moves."""
    document, arrays = case.document, np.load(case.data)
    model, y = document["model"], arrays["labels"]
    lower, upper = (np.array(doubles(document["bias"][end], N)) for end in ("lower", "upper"))
    choices = [
        [0.0, *{float(low), float(high)} - {0.0}] for low, high in zip(lower, upper, strict=True)
    ]
    added = np.array(list(product(*choices)))
    labels, many = y + added, (added != 0).sum(axis=1)
    A, B = (
        np.column_stack((part, np.ones(len(part)))) if model["intercept"] else part
        for part in (arrays["train"], arrays["test"])
    )
    ridge = np.full(A.shape[1], model["penalty"])
    ridge[arrays["train"].shape[1] :] = 0.0
    load = np.broadcast_to(doubles(model.get("weights", 1.0), N), labels.shape)
    if model["kind"] == "logistic":
        first, second = model.get("class_weights", (1.0, 1.0))
        load = load * np.where(labels == 1, second, first)
    return _solved(A, labels, load, ridge, model["kind"]) @ B.T, many


def _solved(A, labels, load, ridge, kind):
    theta = np.zeros((len(labels), A.shape[1]))
    for _ in range(60):
        margins = np.clip(theta @ A.T, -500, 500)
        mean = np.exp(margins) if kind == "poisson" else 1 / (1 + np.exp(-margins))
        slope = load * (mean if kind == "poisson" else mean * (1 - mean))
        gradient = (load * (mean - labels)) @ A + ridge * theta
        hessian = np.einsum("ki,ij,il->kjl", slope, A, A) + np.diag(ridge + 1e-13)
        step = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        step *= np.minimum(1, 1 / np.maximum(np.abs(step @ A.T).max(axis=1), 1e-12))[:, None]
        theta = theta - step
    lost = np.abs(step).max(axis=1) > 1e-7
    return np.where(lost[:, None], np.nan, theta)


def lies(case, report):
    """What was accepted and is not true."""
    document = case.document
    scores, many = all_scores(case)
    rule, budget = document["question"], document["bias"]["budget"]
    for claim in document["claims"]:
        row = claim["row"]
        if row in report.rejected or row in report.not_reproven:
            continue
        score = scores[:, row]
        base = score[many == 0][0]
        if math.isnan(base):
            yield f"row {row}: accepted without a minimiser"
            continue
        if rule["task"] == "counts":
            moved = np.abs(np.exp(score) - np.exp(base))
            lost, surely = moved > rule["radius"] + 1e-7, moved > rule["radius"] - 1e-7
        else:
            above, side = score - rule["threshold"], base > rule["threshold"]
            lost = above < -1e-7 if side else above > 1e-7
            surely = above < 1e-7 if side else above > -1e-7
        lost |= np.isnan(score)
        surely |= np.isnan(score)
        within = many <= budget
        if claim["verdict"] == "robust" and lost[within].any():
            yield f"row {row}: not robust"
        if claim["verdict"] == "not-robust" and not surely[within].any():
            yield f"row {row}: robust"
        told = "decision" in claim and abs(base - rule["threshold"]) > 1e-7
        if told and claim["decision"] != (base > rule["threshold"]):
            yield f"row {row}: another decision"
        if "low" in claim and not (score[within] >= claim["low"] - 1e-7).all():
            yield f"row {row}: lower"
        if "high" in claim and not (score[within] <= claim["high"] + 1e-7).all():
            yield f"row {row}: higher"
        if "minimum_budget" in claim:
            said = claim["minimum_budget"]
            low, high = (
                math.inf if each == "never" else each
                for each in (said if isinstance(said, list) else [said, said])
            )
            if (many[lost] < low).any() or (high < math.inf and not (many[surely] <= high).any()):
                yield f"row {row}: another minimum budget"


def forgeries(seeds, each, folder):
    """Alter files; return how claims fared, and the lies that were accepted."""
    tally, accepted = Counter(), []
    for seed in seeds:
        case, rng = drawn(seed, folder), np.random.default_rng(10_000 + seed)
        for _ in range(each):
            forged, what = altered(case, folder, rng)
            tally["files"] += 1
            try:
                report = checked(forged.document, forged.data, folder)
            except CertificateError:
                tally["refused"] += 1
                continue
            failed = report.rejected.keys() | report.not_reproven.keys()
            tally["claims rejected"] += len(report.rejected)
            tally["claims not re-proven"] += len(report.not_reproven)
            tally["claims accepted"] += len(forged.document["claims"]) - len(failed)
            tally["files with a claim that fails"] += bool(failed)
            accepted += [f"seed {seed}, {what}: {lie}" for lie in lies(forged, report)]
    return tally, accepted


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        found, false = forgeries(range(int(sys.argv[1]) // 10), 10, Path(place))
    print(dict(found), *false, sep="\n")
