"""The machine-checked proofs: they compile, and their program says what the package says."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from tests.extending.per_group import PerGroup
from unswayed import CertifiedClassifier, LabelBias
from unswayed.datasets import make_salary_story

PROOFS = Path(__file__).parents[2] / "proofs"
COMPILE = str(PROOFS / "compile.sh")
GRID = 2**40  # influence in whole units of 1 / GRID: the check is about the numbers it is given
ALPHA, TESTS, TRAINING = 10, 20, 100


def shell(*words, path=os.environ["PATH"], **options):
    return subprocess.run(
        words,
        check=False,
        capture_output=True,
        text=True,
        env=os.environ | {"PATH": path},
        **options,
    )


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """The folder of the compiled proofs."""
    if shutil.which("coqc") is None:
        pytest.skip("coqc is not installed (apt-get install coq)")
    folder = tmp_path_factory.mktemp("proofs")
    run = shell("sh", COMPILE, str(folder))
    assert run.returncode == 0, run.stderr
    assert "without axioms" in run.stdout
    return folder


def sources():
    """The text of every file, without its comments."""
    return {
        path.name: re.sub(r"\(\*.*?\*\)", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        for path in PROOFS.glob("*.v")
    }


def test_nothing_is_assumed_and_every_theorem_is_asked_for_its_axioms():
    texts = sources()
    proofs = "".join(texts[name] for name in ("Selection.v", "Certificate.v", "Votes.v"))
    named = re.search(r"Definition theorems :=\s*\((.*?)\)", texts["Assumptions.v"], re.DOTALL)
    stated = re.findall(r"^(?:Theorem|Corollary) (\w+)", proofs, re.MULTILINE)
    assert re.findall(r"\w+", named.group(1)) == stated
    assert not re.search(
        r"\b(Admitted|admit|give_up|Axioms?|Parameters?|Conjecture|Variables?|Hypothes[ie]s"
        r"|Bypass|Unset)\b",
        proofs,
    )


def test_without_coq_one_line_says_what_was_skipped_and_how_to_get_it(tmp_path):
    run = shell("/bin/sh", COMPILE, str(tmp_path / "build"), path=str(tmp_path))
    assert (run.returncode, run.stderr) == (0, "")
    assert "skipped" in run.stdout
    assert "apt-get install coq" in run.stdout
    assert run.stdout.count("\n") == 1


def test_a_theorem_that_rests_on_an_axiom_fails(tmp_path):
    """By a stand-in for coqc that names an axiom."""
    coqc = tmp_path / "coqc"
    says = 'echo "Axioms: guess : False"'
    coqc.write_text(f'#!/bin/sh\ncase "$*" in *Assumptions.v) {says};; esac\n', encoding="utf-8")
    coqc.chmod(0o755)
    run = shell(
        "sh", COMPILE, str(tmp_path / "build"), path=f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    )
    assert run.returncode == 1
    assert "rests on an axiom" in run.stderr
    assert "guess : False" in run.stderr


@dataclass(frozen=True)
class Claim:
    """A claim as the proofs have it; all numbers in units of 1 / GRID."""

    row: int
    rises: tuple[int, ...]  # the most that each label adds, in the direction that is asked about
    upwards: bool
    margin: int
    touching: bool
    budgets: tuple[int, ...]
    parts: tuple[int, ...]  # of each label
    cap: int | None = None
    thresholds: tuple[int, ...] | None = None  # None: the best ones

    def chosen(self):
        """The largest rises of each part, as many as its budget says."""
        return [
            sorted(
                (rise for rise, part in zip(self.rises, self.parts, strict=True) if part == p),
                reverse=True,
            )[:budget]
            for p, budget in enumerate(self.budgets)
        ]

    def reach(self):
        """How far the score can move, by sorting."""
        return sum(sorted(chain(*self.chosen()), reverse=True)[: self.cap])

    def stays(self):
        return self.reach() < self.margin if self.touching else self.reach() <= self.margin

    def hints(self):
        """Thresholds that lose nothing: the last rise that is chosen in each part, and in all."""
        chosen = sorted(chain(*self.chosen()), reverse=True)
        shared = 0
        if self.cap is not None and self.cap < len(chosen):
            shared = chosen[self.cap - 1] if self.cap else chosen[0]
        if self.thresholds is not None:
            return self.thresholds, shared
        last = [
            (max(self.rises) if not budget else values[-1] if len(values) == budget else 0)
            for values, budget in zip(self.chosen(), self.budgets, strict=True)
        ]
        return tuple(max(0, value - shared) for value in last), shared

    def written(self):
        """The claim in Coq, about a list of labels that is named after its row."""
        thresholds, shared = self.hints()
        labels = f"row{self.row}_{'parts' if len(self.budgets) > 1 else 'plain'}"
        cap = "None" if self.cap is None else f"(Some {self.cap}%nat)"
        budgets = "; ".join(f"{budget}%nat" for budget in self.budgets)
        question = f"(Question {labels} [{budgets}] {cap})"
        if not self.upwards:
            question = f"(falls {question})"
        return (
            f"Claim {question} (grid ({self.margin})) {str(self.touching).lower()} "
            f"(Hints [{'; '.join(f'grid ({t})' for t in thresholds)}] (grid {shared}))"
        )


class Story:
    """The hiring story: a ridge model, twenty applicants, and their influence on a grid."""

    def __init__(self):
        story = make_salary_story(TRAINING + TESTS)
        female = (story.data["gender"] == "female").to_numpy()
        X = np.column_stack([female, story.data[["education", "experience", "interview"]]])
        self.X, self.tests = X[:TRAINING].astype(float), X[TRAINING:].astype(float)
        self.target = story.target[:TRAINING]
        self.hired = [int(each) for each in self.target == "hired"]
        self.group = tuple(int(each) for each in female[:TRAINING])
        # A model that is linear in its labels shows its influence on the labels' unit vectors.
        influence = Ridge(alpha=ALPHA).fit(self.X, np.eye(TRAINING)).predict(self.tests)
        self.influence = [[round(z * GRID) for z in row] for row in influence.tolist()]
        self.least = self.model(1).minimum_budget(self.tests)

    def model(self, budget):
        model = CertifiedClassifier(Ridge(alpha=ALPHA), bias=LabelBias.flips(budget=budget))
        return model.fit(self.X, self.target)

    def claim(self, row, budgets, cap=None):
        """No applicant's decision changes: hired is a score above one half."""
        z = self.influence[row]
        distance = sum(a * b for a, b in zip(z, self.hired, strict=True)) - GRID // 2
        upwards = distance <= 0
        effects = [a * (1 - 2 * b) for a, b in zip(z, self.hired, strict=True)]
        rises = tuple(max(0, effect if upwards else -effect) for effect in effects)
        parts = self.group if len(budgets) > 1 else (0,) * TRAINING
        return Claim(row, rises, upwards, abs(distance), not upwards, budgets, parts, cap)

    def definitions(self, rows):
        """The labels of some rows in Coq, all in one part, and with women and men apart."""
        intervals = "; ".join(
            f"({-hired}, {1 - hired}, {group}%nat)"
            for hired, group in zip(self.hired, self.group, strict=True)
        )
        yield "From Coq Require Import QArith List."
        yield "From Unswayed Require Import Certificate."
        yield "Import ListNotations."
        yield f"Definition grid (n : Z) : Q := n # {GRID}."
        yield f"Definition intervals : list (Q * Q * nat) := [{intervals}]."
        yield (
            "Definition ask (apart : bool) (zs : list Z) : list label := map (fun '(z, (l, u, p)) "
            "=> Label (grid z) l u (if apart then p else 0%nat)) (combine zs intervals)."
        )
        for row in sorted(rows):
            influence = "; ".join(map(str, self.influence[row]))
            yield f"Definition row{row} : list Z := [{influence}]%Z."
            yield f"Definition row{row}_plain := ask false row{row}."
            yield f"Definition row{row}_parts := ask true row{row}."


@pytest.fixture(scope="module")
def story():
    return Story()


@pytest.fixture
def computed(compiled, story, tmp_path):
    """What `check` says of claims, computed by Coq."""

    def run(claims):
        written = ";\n".join(claim.written() for claim in claims)
        definitions = story.definitions({claim.row for claim in claims})
        lines = [*definitions, f"Eval vm_compute in map check [\n{written}]."]
        path = tmp_path / "Claims.v"
        path.write_text("\n".join(lines), encoding="utf-8")
        answer = shell("coqc", "-q", "-Q", str(compiled), "Unswayed", path.name, cwd=tmp_path)
        assert answer.returncode == 0, answer.stderr
        said = re.findall(r"true|false", answer.stdout)
        assert len(said) == len(claims)
        return [word == "true" for word in said]

    return run


def test_check_computes_what_sorting_and_the_package_say_of_twenty_rows(story, computed):
    claims, package = [], []
    for row, least in enumerate(story.least.astype(int).tolist()):
        for budget in (least - 1, least):
            claims.append(story.claim(row, (budget,)))
            package.append(bool(story.model(budget).certify(story.tests[[row]]).robust[0]))
    for budget in (2, 4):
        robust = story.model(PerGroup(budget, group=story.group)).certify(story.tests).robust
        claims += [story.claim(row, (budget, budget)) for row in range(TESTS)]
        package += robust.tolist()
    assert [claim.stays() for claim in claims] == package
    assert computed(claims) == package
    assert min(package.count(True), package.count(False)) >= TESTS
    assert {claim.touching for claim in claims} == {True, False}


def test_check_is_exact_at_the_margin_with_parts_and_with_caps(story, computed):
    claims = []
    for row in range(0, TESTS, 4):
        for budgets, cap in [((3,), None), ((0, 4), None), ((3, 5), 4), ((2, 2), 0), ((2, 3), 9)]:
            claim = story.claim(row, budgets, cap)
            for margin in (claim.reach() - 1, claim.reach(), claim.reach() + 1):
                claims.append(replace(claim, margin=margin, touching=False))
                claims.append(replace(claim, margin=margin, touching=True))
    assert computed(claims) == [claim.stays() for claim in claims]


def test_wrong_thresholds_prove_nothing(story, computed):
    claim = story.claim(0, (3,))
    claim = replace(claim, margin=claim.reach(), touching=False)
    ((best,), _) = claim.hints()
    claims = [replace(claim, thresholds=(t,)) for t in (best, best + 1, 0, GRID)]
    # With a negative threshold and more labels than there are, the sum would be too small.
    many = story.claim(0, (2 * TRAINING,))
    claims.append(replace(many, margin=many.reach() - 1, touching=False, thresholds=(-1,)))
    assert computed(claims) == [True, False, False, False, False]
