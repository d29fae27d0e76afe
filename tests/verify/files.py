"""Certificate files of every kind, valid and tight, with the data they are about."""

import base64
import json
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier

from tests.verify import exact
from unswayed import CertifiedClassifier, CertifiedRegressor, LabelBias, LinearSmoother
from unswayed.margins.decisions import Sign


@dataclass(frozen=True)
class Case:
    document: dict[str, Any]
    data: Path


def unpack(text, code):
    content = zlib.decompress(base64.b64decode(text, validate=True))
    return [value for (value,) in struct.iter_unpack(f"<{code}", content)]


def pack(values, code):
    content = struct.pack(f"<{len(values)}{code}", *values)
    return base64.b64encode(zlib.compress(content)).decode()


def doubles(value, size):
    return unpack(value, "d") if isinstance(value, str) else [value] * size


def rows_of(value):
    return np.cumsum([-1, *unpack(value, "I")])[1:].tolist() if isinstance(value, str) else value


def truths(document, data):
    """What is true of every row of a document, in fractions."""
    arrays, model, bias = np.load(data), document["model"], document["bias"]
    labels = arrays["labels"]
    weights = doubles(model.get("weights", 1.0), len(labels))
    if model["kind"] == "smoother":
        influence = exact.fractions(arrays["test"])
    elif model["kind"] == "kernel-ridge":
        influence = exact.kernel_influence(arrays["train"], arrays["test"], model["alpha"], weights)
    else:
        tests = None if document["question"]["task"] == "coefficients" else arrays["test"]
        influence = exact.ridge_influence(
            arrays["train"], tests, model["alpha"], model["intercept"], weights
        )
        if "contrasts" in document["question"]:
            (intercept,) = exact.ridge_influence(
                arrays["train"], np.zeros((1, arrays["train"].shape[1])), model["alpha"],
                model["intercept"], weights,
            )  # fmt: skip
            influence = exact.contrasted(influence, document["question"]["contrasts"], intercept)
    lower, upper = (doubles(bias[end], len(labels)) for end in ("lower", "upper"))
    budget, rule = bias["budget"], document["question"]
    return [(z, *exact.truth(z, labels, lower, upper, budget, rule)) for z in influence]


def tight(document, data):
    """The same document with ranges as narrow as doubles allow: a bit less would be false."""
    for claim, (_, _, low, high, _) in zip(document["claims"], truths(document, data), strict=True):
        claim["low"], claim["high"] = exact.below(low), exact.above(high)
    return document


def saved(certs, folder, name):
    path, data = folder / f"{name}.json", folder / f"{name}.npz"
    certs.save(path, data=data)
    return Case(tight(unproven(json.loads(path.read_text())), data), data)


def unproven(document):
    """The same document without what proves its claims."""
    document.pop("proof", None)
    for claim in document["claims"]:
        claim.pop("solution", None)
    return document


def make_cases(folder):
    rng = np.random.default_rng(5)
    X, T = rng.normal(size=(9, 2)).round(2), rng.normal(size=(4, 2)).round(2)
    X, T = np.vstack((X, X[:3])), np.vstack((T, T[:1]))
    y = X @ [1.0, -0.5] + rng.normal(size=12)
    side = np.where(y > 0, "yes", "no")
    weight = rng.choice([0.0, 0.1, 1.0, 3.0], 12)
    wide, wide_tests = rng.normal(size=(5, 8)).round(1), rng.normal(size=(3, 8)).round(1)
    double, more = np.hstack((X, X[:, :1])), np.hstack((T, T[:, 1:]))
    flips, shifts = LabelBias.flips(budget=2), LabelBias.shifts((-0.3, 0.5), budget=3)
    some = LabelBias.intervals(-rng.random(12).round(2), rng.random(12).round(2), budget=2)
    long_X = np.vstack([X[:4]] * 30)
    long_y = np.where(rng.random(120) < 0.5, "yes", "no")
    smooth = CertifiedRegressor(LinearSmoother(), bias=shifts, radius=0.4).fit(np.eye(6), y[:6])
    certs = {
        "classification": CertifiedClassifier(Ridge(), bias=flips).fit(X, side).certify(T),
        "signed": CertifiedClassifier(RidgeClassifier(alpha=0.5), bias=flips)
        .fit(X, side).certify(T),
        "regression": CertifiedRegressor(Ridge(alpha=0.7), bias=shifts, radius=0.2)
        .fit(X, y).certify(T),
        "weighted": CertifiedRegressor(Ridge(alpha=2), bias=some, radius=0.1)
        .fit(X, y, sample_weight=weight).certify(T),
        "coefficients": CertifiedRegressor(LinearRegression(), bias=some, radius=1)
        .fit(X, y).certify_coefficients(),
        "contrasts": CertifiedRegressor(Ridge(), bias=some, radius=1)
        .fit(X, y).certify_coefficients(contrasts=[[1, -1], [0.1, 0], [0, -3], [-1, -1]]),
        "intercept": CertifiedRegressor(Ridge(), bias=some, radius=1)
        .fit(X, y, sample_weight=weight).certify([[0, 0], [0, 1.5], [-0.1, 2]], decision=Sign()),
        "kernel": CertifiedRegressor(KernelRidge(kernel="rbf", alpha=0.5), bias=some, radius=0.2)
        .fit(X, y, sample_weight=weight).certify(T),
        "smoother": smooth.certify(rng.normal(size=(4, 6))),
        "rank-deficient": CertifiedRegressor(LinearRegression(), bias=shifts, radius=0.4)
        .fit(double, y).certify(more),
        "wide": CertifiedRegressor(LinearRegression(fit_intercept=False), bias=shifts, radius=0.3)
        .fit(wide, y[:5]).certify(wide_tests),
        "long": CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=100))
        .fit(long_X, long_y).certify(T * 30),
    }  # fmt: skip
    return {name: saved(each, folder, name) for name, each in certs.items()}
