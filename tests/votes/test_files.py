"""Certificate files of votes: what the checker proves again and what it does not, forgeries."""

import hashlib
import json
import struct

import numpy as np
import pytest
from sklearn.linear_model import RidgeClassifier
from sklearn.tree import DecisionTreeClassifier

from tests.commands import unswayed_here
from tests.effort import some
from unswayed import CertifiedClassifier, InputError, LabelBias, PartitionedClassifier
from unswayed.models.partitioned import dealt
from unswayed.verify import CertificateError, verify
from unswayed.verify.votes import dealt as dealt_again

RNG = np.random.default_rng(6)
X = RNG.normal(size=(80, 2)).round(1)
TWO = np.where(X[:, 0] + 0.5 * RNG.normal(size=80) > 0, "yes", "no")
PULL = 0.3 * RNG.normal(size=(80, 3)) + X @ np.array([[2.0, -1.0, -1.0], [0.0, 1.7, -1.7]])
THREE = np.array(["a", "b", "c"])[np.argmax(PULL, axis=1)]
TESTS = RNG.normal(size=(12, 2))
TREES = PartitionedClassifier(DecisionTreeClassifier(max_depth=2), 9)
RIDGE = PartitionedClassifier(RidgeClassifier(), 5, equal_rows="apart", random_state=3)
KINDS = {
    "trees": (TREES, TWO, {}),
    "tried": (PartitionedClassifier(DecisionTreeClassifier(max_depth=1), 5, exhaustive=1), TWO, {}),
    "ridge": (RIDGE, TWO, {}),
    "few-movable": (TREES, TWO, {"where": X[:, 1] > 1.2}),
    "three": (TREES, THREE, {}),
    "three-ridge": (RIDGE, THREE, {"to": {"a": ["b", "c"], "b": ["a"]}}),
}


def saved(kind, folder, **options):
    votes, y, bias = KINDS[kind]
    model = CertifiedClassifier(votes, bias=LabelBias.flips(budget=2, **bias), **options)
    certs = model.fit(X, y).certify(TESTS)
    certs.save(folder / "c.json", data=folder / "c.npz")
    return certs


def sha256(rows):
    rows = np.asarray(rows, dtype=float)
    shape = struct.pack("<QQ", *(*rows.shape, 1)[:2])
    return hashlib.sha256(shape + (rows + 0.0).astype("<f8").tobytes()).hexdigest()


def forged(folder, change, data=None):
    """Alter a file, and the data beside it, with hashes put right."""
    document = json.loads((folder / "c.json").read_text(encoding="utf-8"))
    change(document)
    if data is not None:
        arrays = dict(np.load(folder / "c.npz"))
        data(arrays)
        np.savez(folder / "f.npz", **arrays)
        for name, values in arrays.items():
            document["data"]["sha256"][name] = sha256(values)
    (folder / "f.json").write_text(json.dumps(document), encoding="utf-8")
    return verify(folder / "f.json", data=folder / ("c.npz" if data is None else "f.npz"))


@pytest.mark.parametrize("kind", KINDS)
def test_what_follows_from_votes_is_proven_again(kind, tmp_path):
    certs = saved(kind, tmp_path)
    report = verify(tmp_path / "c.json", data=tmp_path / "c.npz")
    assert not report.rejected
    assert not report.not_reproven
    assert report.robust == report.proven == certs.robust.sum() > 0
    assert report.undecided == (~certs.robust).sum()
    assert report.by_exact_arithmetic == 12
    assert "the votes of the members are taken from the data: nobody trained" in report.question
    document = json.loads((tmp_path / "c.json").read_text(encoding="utf-8"))
    claimed = [claim["minimum_budget"] for claim in document["claims"]]
    least = [each[0] if isinstance(each, list) else each for each in claimed]
    least = [np.inf if each == "never" else each for each in least]
    assert least == certs.minimum_budget.tolist()


def test_a_threshold_of_ones_own_and_weights_are_in_the_file(tmp_path):
    certs = saved("trees", tmp_path, threshold=0.7)
    assert verify(tmp_path / "c.json", data=tmp_path / "c.npz").robust == certs.robust.sum()
    weight = np.where(np.arange(80) % 4 == 0, 0.0, 1.0 + np.arange(80) % 3)
    model = CertifiedClassifier(TREES, bias=LabelBias.flips(budget=2))
    certs = model.fit(X, TWO, sample_weight=weight).certify(TESTS)
    certs.save(tmp_path / "w.json", data=tmp_path / "w.npz")
    report = verify(tmp_path / "w.json", data=tmp_path / "w.npz")
    assert (report.robust, report.rejected) == (certs.robust.sum(), {})


def test_the_checker_deals_rows_as_the_model_does():
    rows = np.vstack((X, X[:20], np.zeros((3, 2)), -np.zeros((3, 2))))
    for model in (TREES, RIDGE):
        said = {"partitions": model.n_partitions, "random_state": model.random_state}
        said["equal_rows"] = model.equal_rows
        np.testing.assert_array_equal(dealt_again(said, rows), dealt(model, rows))


def test_the_command_says_what_is_taken_on_trust(tmp_path):
    saved("ridge", tmp_path)
    run = unswayed_here("verify", "c.json", "--data", "c.npz", cwd=tmp_path)
    assert run.returncode == 0
    for text in (
        "votes of 5 members",
        "nobody trained them here",
        "takes is taken from the data",
        "7 robust",
    ):
        assert text in run.stdout


# --- forgeries ----------------------------------------------------------------------------------


def claim_of(document, verdict):
    claims = (each for each in document["claims"] if each["verdict"] == verdict)
    return next(each for each in claims if isinstance(each["minimum_budget"], list))


def low_of(claim):
    return claim["minimum_budget"][0]


@pytest.mark.parametrize("kind", ["trees", "ridge", "three", "three-ridge"])
def test_claims_that_do_not_follow_are_rejected(kind, tmp_path):
    saved(kind, tmp_path)

    def larger(document):
        claim = claim_of(document, "robust")
        claim["minimum_budget"] = [low_of(claim) + 1, "never"]

    def never(document):
        claim_of(document, "robust")["minimum_budget"] = "never"

    def turned(document):
        claim = claim_of(document, "robust")
        claim["decision"] = 1 - claim["decision"] if claim["decision"] < 2 else 0

    def robust(document):
        claim = min((c for c in document["claims"] if c["verdict"] != "robust"), key=low_of)
        claim |= {"verdict": "robust", "decision": 0}

    def budget(document):
        document["bias"]["budget"] = low_of(claim_of(document, "robust"))

    def enough(document):
        claim = claim_of(document, "robust")
        claim["minimum_budget"] = [low_of(claim), 7]

    def ranged(document):
        claim_of(document, "robust")["low"] = 0.6

    for change in (larger, never, turned, robust, budget, enough, ranged):
        assert forged(tmp_path, change).rejected, change.__name__


def test_partitions_that_the_hash_does_not_give_are_refused(tmp_path):
    saved("trees", tmp_path)
    for name, value in (("random_state", 1), ("equal_rows", "apart")):
        with pytest.raises(CertificateError, match="its partition is not the one"):
            forged(tmp_path, lambda document, n=name, v=value: document["model"].update({n: v}))
    with pytest.raises(CertificateError, match="belongs to other data"):
        forged(tmp_path, lambda document: document["model"].update(partitions=8))

    def other_features(arrays):
        arrays["train"][:40] += 0.5

    with pytest.raises(CertificateError, match="its partition is not the one"):
        forged(tmp_path, lambda document: None, other_features)


def test_other_votes_are_other_data_and_claims_must_follow_from_them(tmp_path):
    saved("trees", tmp_path)
    document = json.loads((tmp_path / "c.json").read_text(encoding="utf-8"))
    claim = claim_of(document, "robust")
    row, said = claim["row"], claim["decision"]

    def votes(arrays):
        numbers = arrays["test"][row].reshape(3, 9)  # a view: votes, and what each class costs
        at = np.flatnonzero(numbers[0] == said)[:2]
        numbers[0, at] = 1 - said
        numbers[1:, at] = numbers[:0:-1, at]

    arrays = dict(np.load(tmp_path / "c.npz"))
    votes(arrays)
    np.savez(tmp_path / "other.npz", **arrays)
    with pytest.raises(CertificateError, match="belongs to other data"):
        verify(tmp_path / "c.json", data=tmp_path / "other.npz")
    before = verify(tmp_path / "c.json", data=tmp_path / "c.npz")
    after = forged(tmp_path, lambda document: None, votes)
    assert row in after.rejected
    assert after.question != before.question


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda test, at: test.__setitem__((0, at), 7), "must be classes"),
        (lambda test, at: test.__setitem__((0, at), 0.5), "must be classes"),
        (lambda test, at: test.__setitem__((0, 9 + at), 0.5), "must take 1 label, or more"),
        (lambda test, at: test.__setitem__((0, slice(9, 27)), 60), "fewer labels make partition"),
        (lambda test, at: test.__setitem__((0, slice(9, 27)), -1), "fewer labels make partition"),
    ],
)
def test_votes_and_costs_that_no_member_can_have_are_refused(change, message, tmp_path):
    saved("trees", tmp_path)
    with pytest.raises(CertificateError, match=message):
        forged(tmp_path, lambda document: None, lambda arrays: change(arrays["test"], 4))


def test_a_partition_of_one_class_votes_for_it_and_an_empty_one_never_does(tmp_path):
    rows = np.repeat(np.arange(4.0)[:, None], 4, axis=0)
    model = CertifiedClassifier(
        PartitionedClassifier(DecisionTreeClassifier(), 9), bias=LabelBias.flips(budget=1)
    ).fit(rows, np.repeat(["no", "no", "yes", "yes"], 4))
    model.certify([[0.0], [3.0]]).save(tmp_path / "c.json", data=tmp_path / "c.npz")
    assert not verify(tmp_path / "c.json", data=tmp_path / "c.npz").rejected
    used = np.unique(model.fitted_.final.partition_)
    empty = np.setdiff1d(np.arange(9), used)

    def voting(arrays):
        arrays["test"][:, empty[0]] = 1

    def otherwise(arrays):
        arrays["test"][:, used[0]] = 1 - arrays["test"][:, used[0]]

    for data, message in ((voting, "has no rows, and never votes"), (otherwise, "has one class")):
        with pytest.raises(CertificateError, match=message):
            forged(tmp_path, lambda document: None, data)


def test_labels_that_may_be_something_else_than_the_other_class_are_refused(tmp_path):
    saved("trees", tmp_path)
    with pytest.raises(CertificateError, match="members learn classes"):
        forged(tmp_path, lambda document: document["bias"].update(lower=-1.0, upper=1.0))
    with pytest.raises(CertificateError, match="not one about votes"):
        forged(tmp_path, lambda document: document["question"].update(threshold="balanced"))


def test_limits_of_groups_have_no_file(tmp_path):
    parts = LabelBias.flips(budget=1, where=TWO == "yes")
    parts += LabelBias.flips(budget=1, where=TWO == "no")
    certs = CertifiedClassifier(TREES, bias=parts).fit(X, TWO).certify(TESTS)
    with pytest.raises(InputError, match="take a number of labels as the budget"):
        certs.save(tmp_path / "c.json")


@pytest.mark.parametrize("seed", range(some(6, 60)))
def test_what_is_accepted_follows_from_the_votes_by_trying_all_that_may_become_of_them(
    seed, tmp_path
):
    """Claims are altered at random; every change of votes within the budget is then tried."""
    rng = np.random.default_rng(seed)
    kind = ["trees", "ridge", "three", "three-ridge"][seed % 4]
    saved(kind, tmp_path)

    def change(document):
        for claim in document["claims"]:
            low = rng.integers(1, 7)
            claim["minimum_budget"] = [int(low), "never"]
            claim["verdict"] = "robust" if rng.random() < 0.5 else "undecided"
            claim.pop("decision", None)
            if claim["verdict"] == "robust":
                claim["decision"] = int(rng.integers(0, 2 if kind in ("trees", "ridge") else 3))

    report = forged(tmp_path, change)
    document = json.loads((tmp_path / "f.json").read_text(encoding="utf-8"))
    size, count = document["model"]["partitions"], len(document["question"].get("to", "01"))
    table = np.load(tmp_path / "c.npz")["test"].reshape(12, 1 + count, size)
    for claim in document["claims"]:
        votes, costs = table[claim["row"], 0].astype(int), table[claim["row"], 1:]
        winner, least = overturned(votes, np.where(costs < 0, np.inf, costs), count)
        true = claim.get("decision", winner) == winner and low_of(claim) <= least
        true &= claim["verdict"] != "robust" or least > document["bias"]["budget"]
        assert true == (claim["row"] not in report.rejected)


def overturned(votes, costs, count):
    """The class with most votes, and the least cost of a tally in which another class has most."""
    tally = tuple(np.bincount(votes, minlength=count).tolist())
    winner, reached = int(np.argmax(tally)), {tally: 0.0}
    for at, vote in enumerate(votes):
        more = dict(reached)
        for now, spent in reached.items():
            for new in range(count):
                if new != vote and np.isfinite(costs[new, at]):
                    after = list(now)
                    after[vote] -= 1
                    after[new] += 1
                    price = spent + costs[new, at]
                    more[tuple(after)] = min(more.get(tuple(after), np.inf), price)
        reached = more
    lost = [price for now, price in reached.items() if int(np.argmax(now)) != winner]
    return winner, min(lost, default=np.inf)
