"""The same problems with their training rows in pieces: passes over them, never all together."""

import contextlib
from dataclasses import dataclass

import numpy as np

from tests.soundness.checks import (
    decision,
    false_bounds,
    false_budgets,
    false_ranges,
    false_verdicts,
    false_witness,
    ill_conditioned,
)
from unswayed._core.influence import distinct_rows
from unswayed.engines.passes import AnchorsFirst, LabelBatch, MergedEngine, StreamedEngine
from unswayed.engines.passes.engine import Located
from unswayed.engines.passes.training import PassesScan, SumUp
from unswayed.engines.protocol import FeatureRows, Precision, Terms
from unswayed.estimators.fitted import LabelCode
from unswayed.estimators.question import Question
from unswayed.exceptions import InputError
from unswayed.labels.bias import LabelBias, ResolvedBias
from unswayed.labels.budgets import Count
from unswayed.margins.decisions import Sign
from unswayed.models.ridge.summed import Design, RowSums, SummedRidge
from unswayed.pieces.passes import LocalPasses
from unswayed.pieces.pieces import HeldPiece


@dataclass(frozen=True, eq=False)
class GivenOffsets:
    """Reads rows by their numbers; offsets are given for each, more than a bias in pieces says."""

    X: np.ndarray
    problem: object
    design: Design
    bias: LabelBias | None = None

    def read(self, number, batch):
        rows, problem = batch.rows[:, 0], self.problem
        return LabelBatch(
            self.design.rows(self.X[rows]),
            problem.lower[rows],
            problem.upper[rows],
            problem.targets[rows],
            number,
            batch.numbers,
        )


def possible(problem):
    """Whether a problem's model can be had in pieces."""
    return problem.kind == "ridge" and problem.weight is None and not problem.balanced


def scanned(problem, rng):
    """A problem's rows in pieces that are cut anywhere."""
    n_rows = len(problem.targets)
    dense = np.asarray(problem.X)
    anything = problem.fit_intercept and not problem.sparse
    centre = [np.zeros_like(dense[0]), dense.mean(axis=0), dense[0]][rng.integers(3)]
    centre = centre if anything else np.zeros_like(dense[0])
    design = Design.of(
        centre,
        np.abs(dense - centre).max(axis=0),
        alpha=problem.alpha,
        fit_intercept=problem.fit_intercept,
    )
    X = problem.matrix(dense)
    reader = GivenOffsets(X.tocsr() if problem.sparse else X, problem, design)
    ends = np.sort(rng.integers(0, n_rows + 1, size=rng.integers(0, 5)))
    parts = np.split(np.arange(n_rows)[:, None], ends)
    pieces = [HeldPiece(f"piece {at}", part, part) for at, part in enumerate(parts)]
    return PassesScan(LocalPasses(pieces, threads=1), reader), np.array([len(p) for p in parts])


def streamed(problem, scan, counts, rng):
    """An engine that makes passes, with a sample of all rows or of some."""
    task = SumUp.of(scan.reader, counts)
    task = SumUp(scan.reader, task.starts, int(rng.choice([1, 2, 7])))
    sums = scan.passes.run(task)
    sample = sums.sampled(scan.reader.design.width)
    learner = SummedRidge(
        sums.rows, scan.reader.design, alpha=problem.alpha, examples=sample.design
    )
    precision = Precision(learner.error_scale, sums.offsets)
    budget = Count(problem.budget)
    located = Located(scan.passes.pieces, np.cumsum(counts) - counts)
    return StreamedEngine(learner, scan, budget, precision, sample, sums.offsets.largest, located)


def merged(problem, scan, counts, rng):
    """An engine that holds every different row, label and interval once."""
    dense, design = np.asarray(problem.X), scan.reader.design
    whole = np.column_stack((dense, problem.targets, problem.lower, problem.upper))
    first, group = distinct_rows(np.ascontiguousarray(whole))
    count = np.bincount(group).astype(float)
    rows = design.rows(problem.matrix(dense[first]))
    sums = RowSums.of(rows, problem.targets[first], count)
    learner = SummedRidge(sums, design, alpha=problem.alpha, examples=rows)
    bias = ResolvedBias(problem.lower[first], problem.upper[first], Count(problem.budget))
    located = Located(scan.passes.pieces, np.cumsum(counts) - counts)
    return MergedEngine(learner, bias, rows, count, scan, located)


def lies_in_pieces(problem):
    """Everything that is false in what is said of a problem in pieces, and how many cases."""
    rng = np.random.default_rng(problem.seed)
    found, n_cases = [], 0
    with ill_conditioned():
        scan, counts = scanned(problem, rng)
        for make in (streamed, merged):
            engine = make(problem, scan, counts, rng)
            complaints, cases = lies_of(problem, engine, scan, counts)
            found += [f"{make.__name__}, {complaint}" for complaint in complaints]
            n_cases += cases
    return found, n_cases


def lies_of(problem, engine, scan, counts):
    """Everything that is false in what an engine says of a problem."""
    learner, found = engine.learner, []
    solution, budget = learner.solution(), Count(problem.budget)
    true = problem.true_rows(problem.influence(problem.tests))

    def note(what, complaints):
        found.extend(f"{what}, {complaint}" for complaint in complaints)

    def ask(rows, rule):
        return Question(
            engine=engine,
            case=engine.case(rows, Terms(rule, problem.targets, solution, alone=False)),
            decision=rule,
            targets=problem.targets,
            code=LabelCode(),
            group=np.arange(len(rows)),
            origin=None,
        )

    rule = decision(*problem.question)
    rows = FeatureRows.of(learner, problem.matrix(problem.tests))
    question = ask(rows, rule)
    certs = question.certificates(question.case.answer(budget), budget)
    note("exact", false_verdicts(certs, true))
    note("exact", false_ranges(certs, true))
    # A close call may be proven by its batch and not by its row alone: it then says so.
    with contextlib.suppress(InputError):
        note("exact", false_witness(certs, problem, true))
    note("minimum budgets", false_budgets(question.minimum_budgets(), true))
    decided = ask(rows, rule)
    note(
        "decide", false_verdicts(decided.certificates(decided.case.verdicts(budget), budget), true)
    )
    note("roughly", false_bounds(engine.roughly(rows, budget), problem.budget, true))
    if isinstance(engine, StreamedEngine):
        auto = AnchorsFirst(engine, solution, rule)
        certs = question.certificates(question.case.answer(budget, auto), budget)
        note("auto", false_verdicts(certs, true))
        note("auto", false_ranges(certs, true))
    units = ask(engine.coefficients(), Sign())
    certs = units.certificates(units.case.answer(budget), budget)
    note("coefficients", false_verdicts(certs, problem.true_coefficients))
    note("coefficients", false_ranges(certs, problem.true_coefficients))
    return found, len(true) + learner.n_features
