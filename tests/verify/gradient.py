"""Certificate files of models whose labels are in the gradient, and the truth by refitting."""

import hashlib
import json
import shutil
from itertools import combinations

import numpy as np
from sklearn.linear_model import LogisticRegression, PoissonRegressor

from tests.verify.files import Case, doubles, pack
from unswayed import CertifiedClassifier, CertifiedRegressor, LabelBias
from unswayed.margins.decisions import Radius
from unswayed.verify import verify


def packed(values):
    return pack(list(map(float, values)), "d")


def saved(certs, folder, name):
    path, data = folder / f"{name}.json", folder / f"{name}.npz"
    certs.save(path, data=data)
    return Case(json.loads(path.read_text()), data)


def proof_of(case):
    """The arrays that prove a file."""
    return dict(np.load(case.data.with_name(case.document["proof"]["file"])))


def with_proof(document, arrays, folder, name="altered.proof.npz"):
    """The document with another proof, its hash put right."""
    path = folder / name
    np.savez(path, **arrays)
    about = {
        "file": name,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "arrays": [{"name": each, "shape": list(values.shape)} for each, values in arrays.items()],
    }
    return document | {"proof": about}


def checked(document, data, folder):
    """What the checker says of a document, its proof beside it."""
    path = folder / "altered.json"
    path.write_text(json.dumps(document))
    if "proof" in document and not (beside := folder / document["proof"]["file"]).exists():
        shutil.copy(data.with_name(document["proof"]["file"]), beside)
    return verify(path, data=data)


def witnessed(document, data):
    """The subjects with a witness, in the order of the proof."""
    tests, number, found = np.load(data).get("test"), {}, {}
    for claim in document["claims"]:
        key = claim["row"] if tests is None else (tests[claim["row"]] + 0.0).tobytes()
        at = number.setdefault(key, len(number))
        if "witness" in claim:
            found[at] = None
    return list(found)


def fitted(case, document, proof=None):
    """The proof with a line for each witness of an altered document."""
    proof = proof_of(case) if proof is None else proof
    before = dict(zip(witnessed(case.document, case.data), proof.get("witnesses", ()), strict=True))
    made = [before.get(at, proof["parameters"]) for at in witnessed(document, case.data)]
    proof.pop("witnesses", None)
    return proof | ({"witnesses": np.array(made)} if made else {})


def logistic(X, y, T, budget, *, C=0.1, weight=None, effort=1, **settings):
    bias = settings.pop("bias", None) or LabelBias.flips(budget=budget)
    final = LogisticRegression(C=C, tol=1e-9, max_iter=5000, **settings)
    model = CertifiedClassifier(final, bias=bias, trust="sample_weight")
    return model.fit(X, y, sample_weight=weight).certify(T, effort=effort)


def poisson(X, y, budget, *, alpha=0.3, radius=0.4, weight=None):
    bias = LabelBias.shifts((-1, 2), budget=budget, clip=(0, None))
    final = PoissonRegressor(alpha=alpha, tol=1e-9, max_iter=5000)
    return CertifiedRegressor(final, bias=bias, radius=radius, trust="sample_weight").fit(
        X, y, sample_weight=weight
    )


def problem(seed, n_rows, n_features=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)).round(1)
    y = (X @ rng.normal(size=n_features) + rng.logistic(size=n_rows) > 0).astype(int)
    y[:2] = 0, 1
    T = rng.normal(size=(8, n_features)).round(1)
    return X, y, np.vstack((T, T[:1])), rng


def make_cases(folder):
    """Files of every kind of model and question."""
    X, y, T, rng = problem(1, 60)
    X, y = np.vstack((X, X[:6])), np.append(y, 1 - y[:6])
    weight = rng.choice([0.0, 0.5, 1.0, 2.3], len(y))
    counts = rng.poisson(2.0, len(y)).astype(float)
    fitted = poisson(X, counts, 2)
    women = LabelBias.flips(budget=8, where=np.arange(len(y)) % 3 == 0, direction="up")
    years = np.array([2000.0, 0.0])
    certs = {
        "logistic": logistic(X, y, T, 4),
        "weighted": logistic(X, y, T, 4, weight=weight, fit_intercept=False),
        "class-weights": logistic(X, y, T, 4, class_weight={0: 0.7, 1: 1.6}),
        "some": logistic(X, y, T, 8, bias=women),
        "nobody": logistic(X, y, T, 0),
        "open": logistic(X, y, T, 25, C=10.0),
        "years": logistic(X + years, y, T + years, 4, solver="newton-cholesky"),
        "counts": fitted.certify(T),
        "logarithms": fitted.certify(T, decision=Radius(0.3)),
        "coefficients": CertifiedClassifier(
            LogisticRegression(C=0.1, tol=1e-9), bias=LabelBias.flips(budget=3)
        ).fit(X, y).certify_coefficients(),
    }  # fmt: skip
    return {name: saved(each, folder, name) for name, each in certs.items()}


def refitted(X, y, penalty, *, weight=None, classes=(1.0, 1.0), poisson=False):
    """Parameters by Newton's method, plain: coefficients, then the intercept."""
    A = np.column_stack((X, np.ones(len(X))))
    ridge = penalty * np.append(np.ones(X.shape[1]), 0.0)
    load = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
    load = load * np.where(y == 1, classes[1], classes[0])
    theta = np.zeros(A.shape[1])
    for _ in range(200):
        margin = A @ theta
        mean = np.exp(margin) if poisson else 1.0 / (1.0 + np.exp(-margin))
        slope = mean if poisson else mean * (1.0 - mean)
        gradient = A.T @ (load * (mean - y)) + ridge * theta
        hessian = (A * (load * slope)[:, None]).T @ A + np.diag(ridge)
        step = np.linalg.solve(hessian, gradient)
        theta = theta - step * min(1.0, 1.0 / max(1e-12, np.abs(A @ step).max()))
        if np.abs(step).max() < 1e-14:
            break
    return theta


def reached(document, data, budget):
    """Lowest and highest score of every test row over all label sets within a budget."""
    arrays, model = np.load(data), document["model"]
    X, y, T = arrays["train"], arrays["labels"], arrays["test"]
    lower, upper = (doubles(document["bias"][end], len(y)) for end in ("lower", "upper"))
    weight = doubles(model.get("weights", 1.0), len(y))
    rows = np.column_stack((T, np.ones(len(T))))
    low, high = np.full((2, len(T)), np.nan)
    for many in range(budget + 1):
        for chosen in combinations(range(len(y)), many):
            labels = y.copy()
            for row in chosen:
                labels[row] += upper[row] if upper[row] else lower[row]
            theta = refitted(
                X, labels, model["penalty"], weight=weight,
                classes=model.get("class_weights", (1.0, 1.0)),
            )  # fmt: skip
            score = rows @ theta
            low, high = np.fmin(low, score), np.fmax(high, score)
    return low, high
