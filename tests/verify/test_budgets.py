"""Files of budgets of every kind: all that is claimed is proven, and no forgery that is false."""

import json
import math
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, Ridge

from tests.budgets import oracle
from tests.budgets.test_kinds import KINDS, drawn
from tests.budgets.test_stated import at_most
from tests.effort import some
from tests.verify import exact
from tests.verify.files import doubles, pack, rows_of
from tests.verify.proving import write
from unswayed import (
    CertifiedClassifier,
    CertifiedRegressor,
    Cost,
    InputError,
    LabelBias,
    LinearSmoother,
    Sampled,
    Total,
)
from unswayed.estimators.certificate_file import _plain
from unswayed.verify import CertificateError, verify
from unswayed.verify.budget import Budget

FILES = range(some(6, 40))
FORGED = range(some(15, 60))


def certified(rng, kind, most_rows=7, resolve=None):
    """Certificates of a small problem with ties, zeros and duplicates: a smoother, or a ridge."""
    n_rows = int(rng.integers(2, most_rows + 1))
    z, lower, upper = oracle.problem(rng, n_rows)
    bias, _ = drawn(rng, kind, lower, upper)
    radius = float(rng.choice([0.0, 0.1, 0.5, 1.0, 2.0]))
    if rng.random() < 0.5:
        model = CertifiedRegressor(LinearSmoother(), bias=bias, radius=radius)
        model.fit(np.zeros((n_rows, n_rows)), np.zeros(n_rows))
        return model.certify(np.vstack((z, rng.normal(size=n_rows))), resolve=resolve)
    X = rng.integers(-1, 2, (n_rows, 2)).astype(float)
    model = CertifiedRegressor(Ridge(alpha=1.0), bias=bias, radius=radius / 4)
    model.fit(X, rng.normal(size=n_rows).round(1))
    return model.certify(rng.normal(size=(2, 2)).round(1), resolve=resolve)


def saved(certs, folder):
    path, data = folder / "c.json", folder / "c.npz"
    certs.save(path, data=data)
    return path, data


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("resolve", [None, "exact"])
def test_every_claim_of_a_file_is_proven(kind, resolve, tmp_path):
    proven = 0
    for seed in FILES:
        path, data = saved(certified(np.random.default_rng([5, seed]), kind, 9, resolve), tmp_path)
        report = verify(path, data=data)
        assert not report.rejected, (seed, report.rejected)
        assert not report.not_reproven, (seed, report.not_reproven)
        proven += report.proven
    assert proven > len(FILES)


BIASES = {
    "parts": lambda some, n: (
        LabelBias.shifts(1.0, budget=5, where=some) + LabelBias.shifts(0.5, budget=3, where=~some)
    ),
    "capped": lambda some, n: (
        LabelBias.shifts(1.0, budget=5, where=some) + LabelBias.shifts(0.5, budget=3, where=~some)
    ).capped(6),
    "clusters": lambda some, n: LabelBias.shifts(1.0, budget=3, clusters=np.arange(n) % 17),
    "total": lambda some, n: LabelBias.intervals(-0.3 - some, 1.0 + some, budget=Total(4.7)),
    "cost": lambda some, n: LabelBias.shifts(
        1.0, budget=Cost(5.5, np.random.default_rng(3).uniform(0.2, 2, n).round(1))
    ),
    "log-odds": lambda some, n: LabelBias.shifts(
        1.0,
        budget=Cost.from_probabilities(np.random.default_rng(3).uniform(0, 0.4, n), surprise=5),
    ),
}


@pytest.mark.parametrize("kind", BIASES)
@pytest.mark.parametrize("model", [Ridge(alpha=2.0), LinearRegression()], ids=["ridge", "ols"])
def test_files_about_a_hundred_rows_are_proven_in_doubles(kind, model, tmp_path):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(120, 4)), rng.normal(size=120)
    X[60:90] = X[:30]  # equal rows
    bias = BIASES[kind](np.arange(120) % 3 == 0, 120)
    certs = CertifiedRegressor(model, bias=bias, radius=0.3).fit(X, y).certify(X[:40])
    path, data = saved(certs, tmp_path)
    report = verify(path, data=data)
    assert (report.rejected, report.not_reproven) == ({}, {})
    assert report.proven == 40
    assert report.by_exact_arithmetic == 0
    assert min(report.robust, report.not_robust) > 0


# --- what is true of a file, by trying every set of labels --------------------------------------


class Truth:
    """What admissible labels do to the scores of a document."""

    def __init__(self, document, data):
        arrays, model, bias = np.load(data), document["model"], document["bias"]
        self.labels = arrays["labels"]
        size = len(self.labels)
        if model["kind"] == "smoother":
            self.influence = exact.fractions(arrays["test"])
        else:
            self.influence = exact.ridge_influence(
                arrays["train"], arrays["test"], model["alpha"], model["intercept"], [1.0] * size
            )
        self.lower, self.upper = (doubles(bias[end], size) for end in ("lower", "upper"))
        self.radius, self.budget = Fraction(document["question"]["radius"]), bias["budget"]
        self.kind = self.budget["kind"]
        changes = list(product(*(sorted({0.0, a, b}) for a, b in
                                 zip(self.lower, self.upper, strict=True))))  # fmt: skip
        self.sizes = {change: self.size(change) for change in changes}

    def amount(self, number):
        return Fraction(repr(float(number))) if self.kind == "cost" else Fraction(number)

    @property
    def limit(self):
        names = {"parts": "labels", "clusters": "clusters", "total": "total", "cost": "limit"}
        return self.amount(self.budget[names[self.kind]])

    def size(self, change):
        """How much of the budget a change takes."""
        moved = [row for row, step in enumerate(change) if step]
        if self.kind == "total":
            return sum((abs(Fraction(step)) for step in change), Fraction(0))
        if self.kind == "cost":
            costs = doubles(self.budget["costs"], len(change))
            return sum((Fraction(repr(costs[row])) for row in moved), Fraction(0))
        if self.kind == "clusters":
            cluster = doubles(self.budget["cluster"], len(change))
            return Fraction(len({cluster[row] for row in moved}))
        parts = [(set(rows_of(part["rows"])), part["labels"]) for part in self.budget["parts"]]
        within = all(len(rows & set(moved)) <= most for rows, most in parts)
        inside = set(moved) <= set().union(*(rows for rows, _ in parts))
        return Fraction(len(moved)) if within and inside else math.inf

    def reach(self, z, limit):
        """How far a score can rise and fall."""
        if self.kind == "total":
            return oracle.total_reach(z, self.lower, self.upper, limit)
        shifts = [moved(z, change) for change, size in self.sizes.items() if size <= limit]
        return max(shifts), -min(shifts)

    def overturned(self, z, limit):
        return max(self.reach(z, limit)) > self.radius

    def holds(self, claim):
        """Whether all that a claim says is true."""
        z = self.influence[claim["row"]]
        score, (up, down) = moved(z, self.labels.tolist()), self.reach(z, self.limit)
        if not Fraction(claim.get("low", -1e300)) <= score - down:
            return False
        if not score + up <= Fraction(claim.get("high", 1e300)):
            return False
        said = claim.get("minimum_budget", [0, "never"])
        if claim["verdict"] == "robust" and self.overturned(z, self.limit):
            return False
        if (claim["verdict"] == "not-robust") != ("witness" in claim):
            return False
        if "witness" in claim and not self.shown(z, claim["witness"], self.limit):
            return False
        if "witness" in claim and isinstance(said, int):  # it must be as small as that
            least = self.amount(said)
            if self.shown(z, claim["witness"], least - 1) or not self.shown(
                z, claim["witness"], least
            ):
                return False
        least, most = said if isinstance(said, list) else (said, said)
        if "enough" in claim and not self.shown(z, claim["enough"], math.inf):
            return False
        return self.not_enough(z, least) and (
            most == "never" or self.overturned(z, self.amount(most))
        )

    def not_enough(self, z, least):
        if least == "never":
            return not self.overturned(z, Fraction(10**9))
        if self.kind == "total":
            return not least or not self.overturned(z, self.amount(least))
        less = [size for size in self.sizes.values() if size < self.amount(least)]
        return not less or not self.overturned(z, max(less))

    def shown(self, z, witness, limit):
        """Whether the labels of a witness are admissible and overturn a row."""
        change = [Fraction(0)] * len(z)
        places = [(row, self.upper[row]) for row in rows_of(witness["up"])]
        places += [(row, self.lower[row]) for row in rows_of(witness["down"])]
        shares = doubles(witness.get("shares", 1.0), len(places))
        for (row, end), share in zip(places, shares, strict=True):
            if change[row] or not 0 <= share <= 1:
                return False
            change[row] = Fraction(end) * Fraction(share)
        if not all(change[row] for row, _ in places):
            return False
        return self.size(change) <= limit and abs(moved(z, change)) > self.radius


def moved(z, change):
    return sum((a * Fraction(b) for a, b in zip(z, change, strict=True)), Fraction(0))


# --- forgeries ----------------------------------------------------------------------------------


def pick(rng, *choices):
    return choices[int(rng.integers(len(choices)))]


def altered(rng, number):
    return pick(rng, number * (1 + 1e-9), number * (1 - 1e-9), number + 1, max(number - 1, 0.0),
                number / 2, 0.0)  # fmt: skip


def budget(rng, document, arrays):
    """Another limit, another part, other clusters or other costs."""
    given, size = document["bias"]["budget"], document["data"]["train_rows"]
    for name in ("labels", "clusters"):
        if name in given:
            given[name] += pick(rng, 1, 1, 2)
    for name in ("total", "limit"):
        if name in given:
            given[name] = float(pick(rng, given[name] + 0.1, given[name] * 1.5, given[name] + 1))
    if given.get("parts") and rng.random() < 0.7:
        part = pick(rng, *given["parts"])
        part["labels"] += 1
    if "costs" in given and rng.random() < 0.6:
        costs = doubles(given["costs"], size)
        costs[int(rng.integers(size))] = float(pick(rng, 0.0, 0.1, 0.2))
        given["costs"] = pack(costs, "d")
    if "cluster" in given and rng.random() < 0.6:
        cluster = doubles(given["cluster"], size)
        cluster[int(rng.integers(size))] = float(pick(rng, *cluster))
        given["cluster"] = pack(cluster, "d")


def claims(rng, document, arrays):
    """A claim that says something else."""
    claim = pick(rng, *document["claims"])
    name = pick(rng, "low", "high", "verdict", "minimum_budget", "minimum_budget", "enough")
    if name in ("low", "high"):
        size = abs(claim["high"] - claim["low"])
        claim[name] += (1 if name == "low" else -1) * size * pick(rng, 1e-9, 1e-3, 0.1)
    elif name == "verdict":
        claim["verdict"] = pick(rng, "robust", "not-robust")
        shown = claim.pop("enough", None) or claim.pop("witness", None)
        if shown is not None:
            claim["witness" if claim["verdict"] == "not-robust" else "enough"] = shown
    elif name == "enough":
        claim.pop("enough", None)
    else:
        said = claim["minimum_budget"]
        ends = list(said) if isinstance(said, list) else [said, said]
        at = pick(rng, 0, 1)
        if ends[at] == "never":
            ends[at] = pick(rng, 1, 2)
        elif isinstance(ends[at], int):
            ends[at] = pick(rng, ends[at] + 1, max(ends[at] - 1, 0), "never")
        else:
            ends[at] = pick(rng, altered(rng, ends[at]), "never")
        claim["minimum_budget"] = ends
        if rng.random() < 0.4:  # both, so that they do not contradict each other
            claim["minimum_budget"] = ends[at]


def witness(rng, document, arrays):
    """Labels that are fewer, others, more, or go further than they may."""
    named = [c.get("witness", c.get("enough")) for c in document["claims"]]
    named = [each for each in named if each is not None]
    if not named:
        return
    given, way = pick(rng, *named), pick(rng, "up", "down")
    rows = set(given[way])
    rows ^= {int(rng.integers(document["data"]["train_rows"]))}
    given[way] = sorted(rows)
    if "shares" in given:
        size = len(given["up"]) + len(given["down"])
        given["shares"] = pack(rng.choice([0.5, 0.9, 1.0], size).tolist(), "d") if size else 1.0


def hints(rng, document, arrays):
    """Prices, solutions and trees with something else in them."""
    name = pick(rng, "thresholds", "thresholds", *arrays)
    values = arrays[name].reshape(-1)
    if len(values):
        at = int(rng.integers(len(values)))
        values[at] = pick(rng, 0.0, -values[at], values[at] * (1 + 1e-9), values[at] * 0.9, 1e300,
                          values[at] + 1, values[at] + 0.5, -1.0)  # fmt: skip
    if name == "cost_splits" and rng.random() < 0.5:
        arrays[name] = np.delete(arrays[name], int(rng.integers(len(arrays[name]))), axis=0)


def forged(rng, path):
    """Alter a file in one to three places, with the hash of its proof put right."""
    document = json.loads(path.read_text())
    arrays = {name: each.copy() for name, each in np.load(path.with_name("c.proof.npz")).items()}
    for _ in range(int(rng.integers(1, 4))):
        pick(rng, budget, claims, claims, witness, hints)(rng, document, arrays)
    write(document, arrays, path)
    return document


def outcomes(kind, seeds, folder):
    """How many claims of forged files came out how; raise where one that is accepted is false."""
    counts = Counter()
    for seed in seeds:
        rng = np.random.default_rng([11, seed, KINDS.index(kind)])
        resolve = pick(rng, None, "exact")
        path, data = saved(certified(rng, kind, 6, resolve), folder)
        document = forged(rng, path)
        try:
            report = verify(path, data=data)
        except CertificateError:
            counts["refused"] += 1
            continue
        truth = Truth(document, data)
        for claim in document["claims"]:
            row, where = claim["row"], f"{kind}, seed {seed}: {json.dumps(document)[:3000]}"
            if row in report.rejected:
                assert not truth.holds(claim), f"{where}, row {row}: {report.rejected[row]}"
                counts["rejected"] += 1
            elif row in report.not_reproven:
                counts["not re-proven"] += 1
            else:
                assert truth.holds(claim), f"{where}, row {row}"
                counts["accepted"] += 1
    return counts


@pytest.mark.parametrize("kind", KINDS)
def test_no_forgery_that_is_false_is_accepted(kind, tmp_path):
    counts = outcomes(kind, FORGED, tmp_path)
    assert counts["accepted"] > 0
    assert counts["rejected"] + counts["not re-proven"] > 0


def read(bias, lower, upper):
    """The budget of a bias as the checker has it."""
    resolved = bias.resolve(np.zeros(len(lower)))
    document = _plain(resolved.budget.document(len(lower)))
    return Budget.of(document, resolved.lower.tolist(), resolved.upper.tolist()), resolved


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_the_prices_no_label_set_moves_a_score_further_than_their_bound(kind):
    for seed in range(some(40, 100)):
        rng = np.random.default_rng([12, seed])
        z, lower, upper = oracle.problem(rng, int(rng.integers(1, 6)))
        bias, defined = drawn(rng, kind, lower, upper)
        found, resolved = read(bias, lower, upper)
        ends = np.stack((resolved.lower, resolved.upper))
        amount = found.exactly(found.said)
        truth = (
            oracle.total_reach(z, *ends, defined)
            if isinstance(defined, float)
            else oracle.reach(z, *ends, defined)
        )
        prices = rng.normal(size=(5, 1 + len(found.most))) * np.abs(z).max()
        prices = np.where(rng.random(prices.shape) < 0.7, np.abs(prices), prices)
        prices[0] = 0.0
        rows = np.repeat(z[None], 5, axis=0)
        for sign, far in zip((1, -1), truth, strict=True):
            moved_to = sign * rows * ends[:, None]
            limits = np.full(5, found.rounded(amount))
            low, high = found.reach(moved_to, slice(None), ends, limits, prices)
            assert (low <= float(far)).all(), seed
            assert all(Fraction(each) >= far for each in high if each < math.inf), seed
            assert (high[(prices < 0).any(axis=1)] == math.inf).all(), seed


# --- samples ------------------------------------------------------------------------------------


def sampled(folder, *, rows=None, groups=False):
    """The file of a budget that one sample gave, or two samples of two groups."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] + 0.3 * rng.normal(size=60) > 0).astype(int)
    women = np.arange(60) < 40
    sample = Sampled(checked=30, wrong=1, confidence=0.95, rows=rows)
    bias = LabelBias.flips(budget=sample)
    if groups:
        bias = LabelBias.flips(
            budget=Sampled(checked=25, wrong=1, confidence=0.95), where=women
        ) + LabelBias.flips(budget=Sampled(checked=15, wrong=0, confidence=0.99), where=~women)
    certs = CertifiedClassifier(Ridge(), bias=bias).fit(X, y).certify(X[:6])
    return saved(certs, folder)


def test_a_file_says_which_sample_gave_its_budget_and_how_sure_all_of_it_is(tmp_path):
    path, data = sampled(tmp_path)
    report = verify(path, data=data)
    assert (report.rejected, report.not_reproven) == ({}, {})
    assert "1 of 30 labels drawn at random from 60 was wrong" in report.question
    assert "all claims hold together with a confidence of 95 %" in report.question
    path, data = sampled(tmp_path, rows=np.arange(30))
    report = verify(path, data=data)
    assert (report.rejected, report.not_reproven) == ({}, {})
    assert "30 training rows of these cannot move any more" in report.question
    path, data = sampled(tmp_path, groups=True)
    report = verify(path, data=data)
    assert (report.rejected, report.not_reproven) == ({}, {})
    assert "all claims hold together with a confidence of 94 %" in report.question


SAMPLES = {
    "labels": lambda given, rng: given.update(labels=int(rng.integers(0, 12))),
    "confidence": lambda given, rng: given["sample"].update(
        confidence=float(rng.choice([0.5, 0.9, 0.951, 0.96, 0.99, 0.9999]))
    ),
    "checked": lambda given, rng: given["sample"].update(checked=int(rng.integers(0, 61))),
    "wrong": lambda given, rng: given["sample"].update(wrong=int(rng.integers(0, 5))),
    "population": lambda given, rng: given["sample"].update(population=int(rng.integers(30, 90))),
}


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("known", [False, True])
def test_a_sample_is_taken_exactly_if_it_shows_so_few_wrong_labels(name, known, tmp_path):
    path, data = sampled(tmp_path, rows=np.arange(30) if known else None)
    first = json.loads(path.read_text())
    for seed in range(some(8, 20)):
        document = json.loads(json.dumps(first))
        given = document["bias"]["budget"]
        SAMPLES[name](given, np.random.default_rng(seed))
        path.write_text(json.dumps(document))
        sample, n_open = given["sample"], 30 if known else 60
        checked, wrong, population = (sample[n] for n in ("checked", "wrong", "population"))
        total = given["labels"] + (wrong if known else 0)
        holds = wrong <= checked <= population and population >= 60 and (not known or checked >= 30)
        if holds and given["labels"] < n_open and total < population - (checked - wrong):
            chance = at_most(wrong, population, total + 1, checked)
            holds = chance <= 1 - Fraction(str(sample["confidence"]))
        if holds:
            assert verify(path, data=data).question
        else:
            with pytest.raises(CertificateError):
                verify(path, data=data)


def test_labels_that_a_sample_corrected_must_not_move(tmp_path):
    path, data = sampled(tmp_path)
    document = json.loads(path.read_text())
    document["bias"]["budget"]["sample"]["rows"] = [3]
    path.write_text(json.dumps(document))
    with pytest.raises(CertificateError, match="can still move"):
        verify(path, data=data)


def test_confidences_that_leave_none_are_refused(tmp_path):
    path, data = sampled(tmp_path, groups=True)
    document = json.loads(path.read_text())
    for part in document["bias"]["budget"]["parts"]:
        part["sample"]["confidence"] = 0.5
    path.write_text(json.dumps(document))
    with pytest.raises(CertificateError, match="none for all of them"):
        verify(path, data=data)


# --- what is said, and refused ------------------------------------------------------------------

WORDS = {
    "parts": "part 1: at most 3 of 80 labels",
    "capped": "wrong labels: at most 6 at once, of the 120 that can move",
    "clusters": "wrong labels: all labels of at most 3 clusters at once",
    "total": "wrong labels: changes that add up to at most 4.7, signs apart",
    "cost": "wrong labels: those that cost at most 5.5 together",
}


@pytest.mark.parametrize("kind", WORDS)
def test_the_question_says_what_may_be_wrong_in_its_own_unit(kind, tmp_path):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(120, 4)), rng.normal(size=120)
    bias = BIASES[kind](np.arange(120) % 3 == 0, 120)
    model = CertifiedRegressor(Ridge(), bias=bias, radius=0.3).fit(X, y)
    path, data = saved(model.certify(X[:3]), tmp_path)
    assert WORDS[kind] in verify(path, data=data).question


def test_a_claim_about_all_rows_together_takes_numbers_of_labels_only(tmp_path):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    bias = LabelBias.shifts(1.0, budget=2, clusters=np.arange(20) // 4)
    model = CertifiedRegressor(Ridge(), bias=bias, radius=0.3).fit(X, y)
    with pytest.raises(InputError, match="number of labels"):
        model.certify_together(X, time_limit=2).save(tmp_path / "c.json", data=tmp_path / "c.npz")
    together = CertifiedRegressor(Ridge(), bias=LabelBias.shifts(1.0, budget=2), radius=0.3)
    path, data = tmp_path / "c.json", tmp_path / "c.npz"
    together.fit(X, y).certify_together(X, time_limit=2).save(path, data=data)
    document = json.loads(path.read_text())
    document["bias"]["budget"] = {"kind": "total", "total": 2.0}
    path.write_text(json.dumps(document))
    with pytest.raises(CertificateError, match="number of labels"):
        verify(path, data=data)


MALFORMED = {
    "parts that share a row": {"kind": "parts", "labels": 2, "parts": [
        {"rows": list(range(60)), "labels": 1}, {"rows": [0], "labels": 1}]},
    "a label in no part": {"kind": "parts", "labels": 2, "parts": [{"rows": [0], "labels": 1}]},
    "a row that is none": {"kind": "parts", "labels": 2, "parts": [{"rows": [60], "labels": 1}]},
    "negative costs": {"kind": "cost", "limit": 1.0, "costs": -1.0},
    "half a cluster": {"kind": "clusters", "clusters": 1, "cluster": 0.5},
    "a negative total": {"kind": "total", "total": -1.0},
    "no such kind": {"kind": "votes", "labels": 1},
}  # fmt: skip


@pytest.mark.parametrize("name", MALFORMED)
def test_a_budget_that_makes_no_sense_is_refused(name, tmp_path):
    path, data = sampled(tmp_path)
    document = json.loads(path.read_text())
    document["bias"]["budget"] = MALFORMED[name]
    path.write_text(json.dumps(document))
    with pytest.raises(CertificateError):
        verify(path, data=data)


def test_a_cost_that_is_asked_about_must_be_the_one_that_was_fitted():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    bias = LabelBias.shifts(1.0, budget=Cost(2, np.ones(20)))
    model = CertifiedRegressor(Ridge(), bias=bias, radius=0.3).fit(X, y)
    assert model.certify(X, budget=Cost(3, np.ones(20))).budget == 3
    with pytest.raises(InputError, match="costs"):
        model.certify(X, budget=Cost(3, np.arange(20.0)))


if __name__ == "__main__":  # python -m tests.verify.test_budgets 300
    import sys
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as place:
        total = Counter()
        for each in KINDS:
            total.update(outcomes(each, range(int(sys.argv[1])), Path(place)))
        print(dict(total))
