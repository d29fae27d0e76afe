"""Certificate files of several classes: written, proven again, and forged.

What is true is worked out from every label set, in fractions.
"""

import copy
import json
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier

from tests.classes.oracle import label_sets
from tests.classes.test_enumeration import MODELS, NAMES, problem
from tests.effort import some
from tests.verify import exact
from tests.verify.files import doubles, pack
from tests.verify.proving import specification, subjects, write
from unswayed import CertifiedClassifier, Cost, LabelBias, Sampled
from unswayed.estimators.linear_proof import Asked, linear_proof
from unswayed.exceptions import InputError
from unswayed.labels.classes import ClassChanges
from unswayed.verify import CertificateError, verify

pytestmark = pytest.mark.filterwarnings("ignore:predict says another class")  # ties
MOST = 3  # labels that are changed at once, whatever a file says


def fitted(seed, budget=2):
    _, X, labels, tests, _, options, weight = problem(seed)
    make, _ = MODELS[seed % 2]
    alpha, intercept = float([0.5, 2.0, 0.125][seed % 3]), bool(seed % 11)
    bias = LabelBias.flips(budget=budget, **options)
    model = CertifiedClassifier(make(alpha, intercept), bias=bias, trust="sample_weight")
    return model.fit(X, NAMES[labels], sample_weight=weight), tests


def saved(certs, folder):
    path, data = folder / "c.json", folder / "c.npz"
    certs.save(path, data=data)
    return path, data


# --- what is true -----------------------------------------------------------------------------


def allowed_of(document, labels):
    """Which class each label may be, by a document."""
    table = np.eye(len(document["question"]["to"]), dtype=bool)
    for number, others in enumerate(document["question"]["to"]):
        table[number, others] = True
    ends = (doubles(document["bias"][end], len(labels)) for end in ("lower", "upper"))
    moves = np.array([low < high for low, high in zip(*ends, strict=True)])
    own = labels[:, None] == np.arange(len(table))
    return np.where(moves[:, None], table[labels], own)


class Truth:
    """Every label set of a document, in whole numbers: scores are multiples of one over `below`."""

    def __init__(self, document, data):
        arrays, model = dict(np.load(data)), document["model"]
        self.labels = arrays["labels"].astype(int)
        weights = doubles(model.get("weights", 1.0), len(self.labels))
        found = exact.ridge_influence(
            arrays["train"], arrays["test"], model["alpha"], model["intercept"], weights
        )
        self.below = math.lcm(*(each.denominator for row in found for each in row))
        self.influence = np.array(
            [[int(each * self.below) for each in row] for row in found], dtype=object
        )
        low, high = document["question"]["codes"]
        self.step, self.n_classes = high - low, len(document["question"]["to"])
        self.allowed = allowed_of(document, self.labels)
        self.winner = [self.order(row)[0] for row in self.scores(self.labels)]
        self.least = np.full(len(self.winner), np.inf)
        self.lows = [{} for _ in self.winner]  # the least lead, by the number of changed labels
        for changed in label_sets(self.labels, self.allowed, MOST):
            count, lead = int((changed != self.labels).sum()), self.scores(changed)
            for row, scores in enumerate(lead):
                self.lows[row][count] = min(
                    self.lows[row].get(count, math.inf), self.lead(row, scores)
                )
                if self.lost(row, changed, scores):
                    self.least[row] = min(self.least[row], count)

    def scores(self, labels):
        columns = (labels[:, None] == np.arange(self.n_classes)).astype(int).astype(object)
        return self.influence @ columns * self.step

    def order(self, scores):
        return sorted(range(self.n_classes), key=lambda each: (-scores[each], each))

    def lead(self, row, scores):
        winner = self.winner[row]
        others = (scores[each] for each in range(self.n_classes) if each != winner)
        return Fraction(scores[winner] - max(others), self.below)

    def lost(self, row, changed, scores):
        winner = self.winner[row]
        return self.order(scores)[0] != winner or winner not in changed

    def overturns(self, row, witness):
        changed = self.labels.copy()
        changed[witness["rows"]] = witness["to"]
        right = self.allowed[np.arange(len(changed)), changed].all()
        return right and self.lost(row, changed, self.scores(changed)[row])

    def allows(self, claim, budget):
        """Whether a claim is true."""
        row, least = claim["row"], self.least[claim["row"]]
        if claim["verdict"] == "undecided":
            return claim.keys() <= {"row", "verdict", "solution"}
        robust = claim["verdict"] == "robust"
        bounds = claim.get("minimum_budget", [0, "never"])
        bounds = bounds if isinstance(bounds, list) else [bounds, bounds]
        low, high = (math.inf if each == "never" else each for each in bounds)
        lows = [value for count, value in self.lows[row].items() if count <= budget]
        beyond = least == math.inf  # or more than MOST
        return (
            claim["decision"] == self.winner[row]
            and (least > budget) == robust
            and (low <= least)
            and (high >= least or (beyond and high > MOST))
            and Fraction(claim.get("low", -1e9)) <= min(lows)
            and (robust or len(claim["witness"]["rows"]) <= budget)
            and (robust or self.overturns(row, claim["witness"]))
        )


# --- files as they are written ----------------------------------------------------------------


@pytest.mark.parametrize("seed", range(some(25, 50)))
def test_every_claim_of_a_file_is_proven_again(tmp_path, seed):
    model, tests = fitted(seed)
    certs = model.certify(tests, resolve="exact")
    path, data = saved(certs, tmp_path)
    report = verify(path, data=data)
    assert (report.rejected, report.not_reproven) == ({}, {})
    assert (report.robust, report.proven) == (certs.robust.sum(), len(certs))
    in_fractions = verify(path, data=data, floating_point=False)
    assert (in_fractions.rejected, in_fractions.proven) == ({}, len(certs))


@pytest.mark.parametrize(
    "make",
    [
        lambda: KernelRidge(alpha=0.5, kernel="rbf"),
        LinearRegression,
        lambda: Ridge(alpha=1e-3, fit_intercept=False),
        lambda: KNeighborsClassifier(5),
    ],
    ids=["kernel", "least-squares", "weak", "neighbours"],
)
def test_files_of_other_models_are_proven_again(tmp_path, make):
    rng = np.random.default_rng(4)
    X, tests = rng.normal(size=(40, 3)), rng.normal(size=(12, 3))
    labels = (X @ rng.normal(size=(3, 4)) + 3 * rng.normal(size=(40, 4))).argmax(axis=1)
    bias = LabelBias.flips(budget=3, to={0: [1, 2], 1: [0], 3: [0, 1, 2]})
    certs = CertifiedClassifier(make(), bias=bias).fit(X, labels).certify(tests, resolve="exact")
    path, data = saved(certs, tmp_path)
    report = verify(path, data=data)
    assert (report.rejected, report.not_reproven, report.proven) == ({}, {}, 12)


def test_rows_whose_class_rounding_hides_claim_nothing(tmp_path):
    X = np.eye(3).repeat(2, axis=0)
    model = CertifiedClassifier(
        LinearRegression(fit_intercept=False), bias=LabelBias.flips(budget=1)
    ).fit(X, ["b", "c", "a", "c", "a", "b"])
    certs = model.certify(np.eye(3))
    path, data = saved(certs, tmp_path)
    report = verify(path, data=data)
    assert (report.rejected, report.not_reproven) == ({}, {})
    assert (report.undecided, report.proven) == (3, 0)  # two classes tie in each row
    settled, data = saved(model.certify(np.eye(3), resolve="exact"), tmp_path)
    report = verify(settled, data=data)
    assert (report.not_robust, report.by_exact_arithmetic) == (3, 3)


def test_a_class_that_can_lose_all_of_its_labels_is_not_robust(tmp_path):
    X = np.array([[5.0], [-1.0], [-1.0], [1.0], [1.0], [1.0]])
    y = np.array([0, 1, 1, 2, 2, 2])
    # Label 0 can only become the class that its row is furthest from.
    bias = LabelBias.flips(budget=1, to={0: [1]})
    model = CertifiedClassifier(Ridge(alpha=1e-6, fit_intercept=False), bias=bias).fit(X, y)
    certs = model.certify([[-9.0], [5.0]], resolve="exact")
    path, data = saved(certs, tmp_path)
    document = json.loads(path.read_text())
    report = verify(path, data=data)
    assert (report.rejected, report.proven) == ({}, 2)
    for claim in document["claims"]:
        if claim["decision"] == 0:
            claim.pop("witness", None)
            claim.pop("rival", None)
            claim |= {"verdict": "robust", "minimum_budget": "never"}
    path.write_text(json.dumps(document))
    assert "can be wrong within the budget" in "".join(verify(path, data=data).rejected.values())


def test_a_sample_gives_the_budget_and_other_kinds_are_refused(tmp_path):
    _, X, labels, tests, _, _, _ = problem(4)
    sampled = LabelBias.flips(budget=Sampled(checked=4, wrong=0, confidence=0.5))
    model = CertifiedClassifier(RidgeClassifier(), bias=sampled).fit(X, labels)
    path, data = saved(model.certify(tests, resolve="exact"), tmp_path)
    report = verify(path, data=data)
    assert (report.rejected, report.not_reproven) == ({}, {})
    assert "confidence of 50 %" in report.question
    cost = LabelBias.flips(budget=Cost(2.0, np.ones(len(X))))
    certs = CertifiedClassifier(RidgeClassifier(), bias=cost).fit(X, labels).certify(tests)
    with pytest.raises(InputError, match="number of labels as the budget, and not one of kind"):
        certs.save(tmp_path / "d.json")


def test_labels_are_read_from_a_table(tmp_path):
    _, X, labels, tests, _, _, _ = problem(2)
    model = CertifiedClassifier(RidgeClassifier(), bias=LabelBias.flips(budget=1))
    model.fit(X, NAMES[labels]).certify(tests, resolve="exact").save(tmp_path / "c.json")
    lines = [f"{a!r},{b!r},{name}" for (a, b), name in zip(X.tolist(), NAMES[labels], strict=True)]
    (tmp_path / "train.csv").write_text("\n".join(["a,b,kind", *lines]))
    lines = [f"{a!r},{b!r}" for a, b in tests.tolist()]
    (tmp_path / "test.csv").write_text("\n".join(["a,b", *lines]))
    tables = {"train": tmp_path / "train.csv", "test": tmp_path / "test.csv", "label": "kind"}
    report = verify(tmp_path / "c.json", **tables)
    assert (report.rejected, report.proven) == ({}, len(tests))
    assert "'dog'" in report.question
    (tmp_path / "train.csv").write_text(tables["train"].read_text().replace("dog", "eel"))
    with pytest.raises(CertificateError, match="of no class that the file names"):
        verify(tmp_path / "c.json", **tables)


def test_the_question_is_said_in_words(tmp_path):
    model, tests = fitted(1)
    path, data = saved(model.certify(tests), tmp_path)
    lines = verify(path, data=data).question.splitlines()
    assert lines[0] == (
        "what must stay: the class, which is that of the highest of 3 scores, and of equal ones "
        "the first"
    )
    assert "  labels 1.0 ('bee'): 2 of 2 can become 0.0 ('ant')" in lines
    assert "  labels 2.0 ('cow'): taken to be right" in lines


# --- forged files -----------------------------------------------------------------------------


def other(rng, number, count):
    return int((number + rng.integers(1, count)) % count)


def winner(rng, document, claim, arrays):
    claim["decision"] = other(rng, claim["decision"], len(document["question"]["to"]))


def verdict(rng, document, claim, arrays):
    if claim["verdict"] == "robust":
        rows = np.sort(rng.choice(document["data"]["train_rows"], 2, replace=False))
        count = len(document["question"]["to"])
        claim |= {"verdict": "not-robust", "minimum_budget": int(rng.integers(1, 3))}
        claim["witness"] = {"rows": rows.tolist(), "to": rng.integers(count, size=2).tolist()}
        claim.setdefault("rival", other(rng, claim["decision"], count))
    else:
        claim.pop("witness")
        claim |= {"verdict": "robust", "minimum_budget": [0, "never"]}
        claim.pop("rival", None)


def rival(rng, document, claim, arrays):
    claim["rival"] = int(rng.integers(len(document["question"]["to"])))
    if rng.random() < 0.3:
        del claim["rival"]


def minimum(rng, document, claim, arrays):
    said = claim["minimum_budget"]
    said = said if isinstance(said, int) else 4
    options = [said + 1, max(0, said - 1), "never", [0, said], [said, "never"], [said - 1, said]]
    claim["minimum_budget"] = options[rng.integers(len(options))]


def low(rng, document, claim, arrays):
    claim["low"] += float(rng.choice([1e-9, 1e-3, 0.3, -1e-12])) * (1 + abs(claim["low"]))


def thresholds(rng, document, claim, arrays):
    made = arrays["thresholds"]
    made[:, rng.integers(made.shape[1])] *= float(rng.choice([0.0, -1.0, 0.5, 2.0, 1 + 1e-9]))
    if rng.random() < 0.3:
        arrays["thresholds"] = rng.permutation(made.ravel()).reshape(made.shape)


def rival_left_out(rng, document, claim, arrays):
    rows = arrays["thresholds"].reshape(len(arrays["thresholds"]), -1, 6)
    rows[:, rng.integers(rows.shape[1])] = 0.0
    if rng.random() < 0.3:
        arrays["thresholds"] = rows[:, 1:].reshape(len(rows), -1)


def witness(rng, document, claim, arrays):
    if "witness" in claim:
        at = int(rng.integers(len(claim["witness"]["to"])))
        claim["witness"]["to"][at] = int(rng.integers(len(document["question"]["to"])))
        if rng.random() < 0.3:
            claim["witness"]["rows"][at] = int(rng.integers(document["data"]["train_rows"]))


def budget(rng, document, claim, arrays):
    document["bias"]["budget"] = int(rng.integers(0, MOST + 1))


def table(rng, document, claim, arrays):
    """Another `to`, with ends that go with it: all labels can move, or only some."""
    to = document["question"]["to"]
    at = int(rng.integers(len(to)))
    to[at] = sorted({*to[at]} ^ {other(rng, at, len(to))})
    moves = allowed_of(document, arrays["labels"]).sum(axis=1) > 1
    if rng.random() < 0.5:
        moves |= True
    for end, pick in (("lower", min), ("upper", max)):
        ends = [pick([number, *to[number]]) - number for number in arrays["labels"].tolist()]
        ends = [float(step) * move for step, move in zip(ends, moves.tolist(), strict=True)]
        document["bias"][end] = pack(ends, "d")


def codes(rng, document, claim, arrays):
    document["question"]["codes"] = [[-1, 1], [0, 1], [-1, 0], [1, 0]][rng.integers(4)]


def weights(rng, document, claim, arrays):
    arrays["weights"] *= float(rng.choice([1 + 1e-9, 0.5, 1.0 - 1e-3]))


FORGERIES = [
    winner, verdict, rival, minimum, low, thresholds, rival_left_out, witness, budget, table, codes,
    weights,
]  # fmt: skip


MALFORMED = {
    "its own class": lambda document: document["question"]["to"][1].append(1),
    "an unknown class": lambda document: document["question"]["to"][2].append(3),
    "a class without labels": lambda document: document["question"]["to"].append([]),
    "codes the wrong way": lambda document: document["question"]["codes"].reverse(),
    "ends that do not fit": lambda document: document["bias"].update(upper=1.0),
    "another budget": lambda document: document["bias"].update(
        budget={"kind": "total", "total": 2.0}
    ),
    "another model": lambda document: document.update(
        model={"kind": "logistic", "penalty": 1.0, "intercept": True}
    ),
    "names of two": lambda document: document["data"]["classes"]["values"].pop(),
    "other numbers": lambda document: document["data"]["classes"].update(numbers=[0, 1, 3]),
    "a class too many": lambda document: document["claims"][0].update(decision=3),
    "a high end": lambda document: document["claims"][0].update(high=1.0),
    "labels that move": lambda document: document["claims"][3].update(
        witness={"up": [], "down": [6]}
    ),
    "a witness of no class": lambda document: document["claims"][3]["witness"].update(to=[]),
    "a question of two": lambda document: document.update(
        question={"task": "classification", "threshold": 0.5}
    ),
}


@pytest.mark.parametrize("what", MALFORMED)
def test_parts_that_do_not_belong_together_are_refused(tmp_path, what):
    model, tests = fitted(1)
    path, data = saved(model.certify(tests), tmp_path)
    document = json.loads(path.read_text())
    MALFORMED[what](document)
    path.write_text(json.dumps(document))
    with pytest.raises(CertificateError):
        verify(path, data=data)


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        ({"witness": {"rows": [], "to": []}}, "its witness has 0 labels"),
        ({"witness": {"rows": [6], "to": [2]}}, "a class it may not be"),
        ({"witness": {"rows": [6], "to": [1]}}, "stays as it is"),
        ({"rival": 1}, "two of the classes"),
        ({"rival": 2**32 - 1}, "two of the classes"),
        ({"decision": -1}, "two of the classes"),
        ({"decision": 0}, "of classes"),
        ({"minimum_budget": 3}, "do not go together"),
        ({"verdict": "robust"}, "only then"),
        ({"low": 0.0}, "are reached"),
    ],
)
def test_what_is_wrong_with_a_claim_is_said(tmp_path, part, reason):
    model, tests = fitted(1)
    path, data = saved(model.certify(tests), tmp_path)
    document = json.loads(path.read_text())
    document["claims"][3] |= part
    path.write_text(json.dumps(document))
    report = verify(path, data=data)
    assert reason in report.rejected[3]
    assert (report.proven, report.not_reproven) == (4, {})


def proven_anew(document, data):
    """What proves the claims of a forged file, as far as they can be."""
    arrays, bias = dict(np.load(data)), document["bias"]
    own = arrays["labels"].astype(int)
    rows, ends = (
        subjects(document, arrays),
        (doubles(bias[e], len(own)) for e in ("lower", "upper")),
    )
    _, first = np.unique(rows, axis=0, return_index=True)
    first = np.sort(first)
    asked = Asked(
        specification(document, arrays), arrays["train"], arrays["labels"], *map(np.array, ends),
        bias["budget"], document["question"], rows[first],
        [document["claims"][at] for at in first], np.zeros(len(first), dtype=bool),
        ClassChanges(own, allowed_of(document, own)),
    )  # fmt: skip
    return linear_proof(asked)[0]


def forged(seed, folder):
    """A file with one to three forgeries, and what comes of its claims."""
    rng = np.random.default_rng([seed, 77])
    model, tests = fitted(seed)
    path, data = saved(model.certify(tests, resolve="exact"), folder)
    document = json.loads(path.read_text())
    arrays = dict(np.load(folder / "c.proof.npz"))
    arrays["labels"] = np.load(data)["labels"].astype(int)
    for at in rng.integers(len(FORGERIES), size=rng.integers(1, 4)):
        claim = document["claims"][rng.integers(len(document["claims"]))]
        FORGERIES[(seed + at) % len(FORGERIES)](rng, document, claim, arrays)
    del arrays["labels"]
    if seed % 2 and all(
        0 <= claim["decision"] < len(document["question"]["to"]) for claim in document["claims"]
    ):
        arrays |= proven_anew(copy.deepcopy(document), data)
    write(document, arrays, path)
    try:
        return document, data, verify(path, data=data)
    except CertificateError:
        return document, data, None


@pytest.mark.parametrize("batch", range(10))
def test_nothing_false_is_accepted_in_forged_files(tmp_path, batch):
    seen = Counter()
    for seed in range(batch, some(30, 80), 10):
        document, data, report = forged(seed, tmp_path)
        if report is None:
            continue
        truth = Truth(document, data)
        for claim in document["claims"]:
            true = truth.allows(claim, document["bias"]["budget"])
            if claim["row"] in report.rejected:
                seen["rejected"] += 1
            elif claim["row"] in report.not_reproven:
                seen["not re-proven"] += 1
            else:
                seen["accepted"] += 1
                assert true, (seed, claim)
    assert seen["accepted"]
