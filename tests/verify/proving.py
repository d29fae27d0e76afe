"""Proofs of documents: what a certificate file carries, made for whatever it claims."""

import hashlib
import json

import numpy as np

from tests.verify.files import doubles
from unswayed.estimators import linear_proof as producer
from unswayed.models.kernel import KernelSpecification
from unswayed.models.learner import RidgeSpecification, SmootherSpecification


def specification(document, arrays):
    model, size = document["model"], document["data"]["train_rows"]
    weights = np.array(doubles(model.get("weights", 1.0), size))
    if model["kind"] == "smoother":
        return SmootherSpecification(sample_weight=weights)
    if model["kind"] == "kernel-ridge":
        return KernelSpecification(arrays["train"], alpha=model["alpha"], sample_weight=weights)
    return RidgeSpecification(
        arrays["train"],
        alpha=model["alpha"],
        fit_intercept=model["intercept"],
        sample_weight=weights,
    )


def subjects(document, arrays):
    intercept = document["model"].get("intercept", False)
    width, rule = document["data"]["features"], document["question"]
    if rule["task"] != "coefficients":
        rows = arrays["test"] + 0.0
        return np.hstack((rows, np.ones((len(rows), int(intercept)))))
    if "contrasts" not in rule:
        return np.hstack((np.eye(width), np.zeros((width, int(intercept)))))
    made = np.zeros((len(rule["contrasts"]), width + int(intercept)))
    for row, contrast in zip(made, rule["contrasts"], strict=True):
        row[contrast["features"]] = contrast["weights"]
        if contrast.get("intercept"):
            row[-1] = 1.0
    return made


def proof_of(document, data, *, exactly=True):
    """The arrays of a proof, and the solution in fractions of every row if wanted."""
    arrays = dict(np.load(data))
    rows = subjects(document, arrays)
    order = [claim["row"] for claim in document["claims"]]
    number = {}
    for row in order:
        number.setdefault(rows[row].tobytes(), (len(number), row))
    distinct = [row for _, row in number.values()]
    claims = {claim["row"]: claim for claim in document["claims"]}
    bias, size = document["bias"], document["data"]["train_rows"]
    asked = producer.Asked(
        specification(document, arrays), arrays.get("train"), arrays["labels"],
        np.array(doubles(bias["lower"], size)), np.array(doubles(bias["upper"], size)),
        bias["budget"], document["question"], rows[distinct],
        [claims[row] for row in distinct], np.zeros(len(distinct), dtype=bool),
    )  # fmt: skip
    found, _ = producer.linear_proof(asked)
    solutions = {}
    if exactly and document["model"]["kind"] != "smoother":
        every = np.arange(len(distinct))
        solutions = dict(producer._in_fractions(asked, every, None))
    by_row = {}
    for row in order:
        place = number[rows[row].tobytes()][0]
        if place in solutions:
            by_row[row] = solutions[place]
    return found, by_row


def prove(document, data, path, *, exactly=True):
    """Write a document with a proof of its claims beside it."""
    arrays, solutions = proof_of(document, data, exactly=exactly)
    for claim in document["claims"]:
        claim.pop("solution", None)
        if claim["row"] in solutions:
            claim["solution"] = solutions[claim["row"]]
    write(document, arrays, path)
    return document


def write(document, arrays, path):
    """Write a document and these arrays as its proof."""
    beside = path.with_name(f"{path.stem}.proof.npz")
    np.savez(beside, **arrays)
    document["proof"] = {
        "file": beside.name,
        "sha256": hashlib.sha256(beside.read_bytes()).hexdigest(),
        "arrays": [{"name": name, "shape": list(each.shape)} for name, each in arrays.items()],
    }
    path.write_text(json.dumps(document))
