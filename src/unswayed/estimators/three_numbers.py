"""Three numbers of one budget: rows one at a time, all rows together, labels wrong at random."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from unswayed._core.influence import MadeRows, WeightRows
from unswayed._core.rounding import narrower, ordinary_arithmetic
from unswayed._typing import FloatArray, IntArray
from unswayed.engines.region.engine import SecantEngine
from unswayed.estimators.gradient import GradientQuestion
from unswayed.estimators.question import Question
from unswayed.estimators.together import Collective
from unswayed.exceptions import InputError
from unswayed.joint.attack import Drawn, at_random
from unswayed.joint.goal import count_goal
from unswayed.joint.quick import Attacks, Exclusive, Placed, Quick
from unswayed.joint.search import Deadline, Search
from unswayed.labels.budgets import Budget, Count
from unswayed.models.gradient.solver import changed, solve_all
from unswayed.results.certificates import CertificateSet, Verdict
from unswayed.results.curves import Alone, RandomDraws, Summary

DRAWS = 1000
_REFITS = 50  # draws of models that have to be trained again
_FEW_DRAWS = 100  # at budgets that nobody asked about
_SMALL = 2**17  # numbers of influence: so few are worth a linear programme and a local search
_BLOCK = 2**22  # numbers of scores at a time
_LARGE = 2**20  # numbers of weights: attacks then take their time
_HELD = 2**25  # numbers of weights that are made once: 256 MB


@dataclass(frozen=True, eq=False)
class Asked:
    """Rows put to a model, and where its training rows are among all labels."""

    question: Question
    place: IntArray
    known: FloatArray | None = None  # minimum budgets of the rows, where they were computed before

    @cached_property
    def least(self) -> FloatArray:
        """Minimum budgets of the distinct rows, 0 where nothing is known."""
        question = self.question
        if self.known is None:
            found = question._least.low
        else:
            found = self.known[np.unique(question.group, return_index=True)[1]]
        return np.nan_to_num(found, nan=0.0, posinf=np.inf)

    @cached_property
    def weights(self) -> WeightRows:
        """The weights of the rows, made once where they fit into memory."""
        weights = self.question.weights
        if len(weights) * self.question.engine.influence.width > _HELD:
            return weights
        return MadeRows(weights.block(0, len(weights)))


def summary_of(asked: Sequence[Asked], certificates: CertificateSet, *, seed: int = 0) -> Summary:
    """Return the three numbers at the budget of some certificates."""
    if not isinstance(asked[0].question.engine.bias.budget, Count):
        raise InputError(
            "a summary is about a number of wrong labels, and this budget is one of another kind; "
            "certify_together says what one admissible set of labels does to all rows"
        )
    robust = int(certificates.robust.sum())
    undecided = int(np.sum(certificates.verdict == Verdict.UNDECIDED))
    keeps = "keep their prediction"
    if "class" not in certificates.question:
        keeps = f"stay {certificates.question.partition(' if ')[0]}"
    (found,) = summaries(
        asked,
        [Alone(int(certificates.budget), robust, undecided)],
        len(certificates),
        keeps=keeps,
        seed=seed,
    )
    return found


@ordinary_arithmetic()
def summaries(
    asked: Sequence[Asked],
    alone: Sequence[Alone],
    n_rows: int,
    *,
    keeps: str,
    seed: int = 0,
) -> list[Summary]:
    """Return the three numbers at each number of labels, which ascend.

    Several models, of folds, share their labels: the bounds of the models add up, and every draw is
    one set of wrong labels for all of them. Without a model at hand there are no draws, and no
    label sets are looked for.
    """
    most, least = _together(asked, alone, n_rows)
    random = _random(asked, alone, n_rows, seed)
    return [
        Summary(
            labels=at.labels,
            rows=n_rows,
            robust=at.robust,
            undecided=at.undecided,
            at_most=at_most,
            at_least=at_least,
            random=drawn,
            keeps=keeps,
        )
        for at, at_most, at_least, drawn in zip(alone, most, least, random, strict=True)
    ]


# --- together -------------------------------------------------------------------------------


def _together(
    asked: Sequence[Asked], alone: Sequence[Alone], n_rows: int
) -> tuple[list[int], list[int | None]]:
    """Return at most and at least how many rows one label set overturns, at each budget."""
    most = [n_rows - each.robust for each in alone]
    own = asked[0].question.engine.bias.budget if asked else None
    if not isinstance(own, Count) or not all(_has_rows(each.question) for each in asked):
        return most, [_refitted_attack(asked, each) for each in alone]
    placed = [Placed(_quick(each), each.place) for each in asked]
    budgets = [own.sized(each.labels) for each in alone]
    sets = [_exclusive(placed, each) for each, at in zip(budgets, alone, strict=True) if at.main]
    for at, each in enumerate(alone):
        found = [_counted(placed, of, each.labels) for of in sets if of[0].amount >= each.labels]
        most[at] = min(most[at], *found) if found else most[at]
    attacks = Attacks(placed, budgets[-1])
    wanted = [each for each, at in zip(budgets, alone, strict=True) if at.main]
    if sum(each.quick.size for each in placed) > _LARGE:
        wanted = wanted[-1:]  # sets of the largest are tried at the others
    least = [attacks.at_least(each) if each in wanted else 0 for each in budgets]
    least = [max(low, attacks.known(each)) for low, each in zip(least, budgets, strict=True)]
    for at, each in enumerate(alone):
        if each.main and len(asked) == 1:
            low, high = _thoroughly(asked[0], budgets[at])
            least[at], most[at] = max(least[at], low), min(most[at], high)
    # More labels do more: what some budget reaches, every larger one reaches too.
    return (
        np.minimum.accumulate(most[::-1])[::-1].tolist(),
        np.maximum.accumulate(np.array(least, dtype=int)).tolist(),
    )


def _has_rows(question: Question) -> bool:
    return question.in_memory and not isinstance(question, GradientQuestion)


def _quick(asked: Asked) -> Quick:
    question = asked.question
    return Quick(
        engine=question.engine,
        weights=asked.weights,
        margins=question.margins,
        count=np.bincount(question.group, minlength=len(question.weights)),
        least=asked.least,
    )


def _exclusive(placed: Sequence[Placed], budget: Budget) -> list[Exclusive]:
    return [each.quick.exclusive(budget) for each in placed]


def _counted(placed: Sequence[Placed], sets: Sequence[Exclusive], labels: int) -> int:
    return sum(
        of.at_most(each.quick.least, each.quick.count, labels)
        for each, of in zip(placed, sets, strict=True)
    )


def _thoroughly(asked: Asked, budget: Budget) -> tuple[int, int]:
    """Return better bounds where there are few rows; bounds that say nothing where there are not.

    The linear programme only guides: the bound that is made of its multipliers is proven.
    """
    question = asked.question
    n_rows, entries = len(question.group), len(question.engine.influence.entries)
    count = np.bincount(question.group, minlength=len(question.weights))
    fragile = int(np.sum(asked.least <= budget.amount))
    if not 0 < fragile * entries <= _SMALL:
        return 0, n_rows
    rows = Collective.of(question, budget).fragile
    goal = count_goal(count[rows.row].astype(np.int64), Fraction(1), rows.row)
    found = Search(rows).largest(goal, Deadline.of(0.0))
    return int(found.inner), int(found.outer)


def _refitted_attack(asked: Sequence[Asked], alone: Alone) -> int | None:
    """Return how many rows a label set overturns that first-order influence suggests.

    The minimiser of the changed labels is enclosed, so that this is proven.
    """
    if not alone.main or len(asked) != 1:
        return None
    question = asked[0].question
    if not isinstance(question, GradientQuestion):
        return None
    engine, margins = question._secant, question.margins
    count = np.bincount(question.group, minlength=len(question.directions))
    rows, best = question.directions.rows, 0
    for sign, margin in ((1.0, margins.up), (-1.0, margins.down)):
        reachable = np.isfinite(margin) & (margin > 0)
        if not (engine.proven and reachable.any() and alone.labels):
            continue
        weight = np.where(reachable, count / np.where(reachable, margin, 1.0), 0.0)
        many = np.array([min(alone.labels, engine.moves.n_movable)])
        towards = np.array([sign])
        found = engine.attacker.strongest(
            (weight @ rows)[None], towards, many, 0, np.array([np.inf])
        )
        best = max(best, _proven(engine, question, found.index[0], found.amount[0], count))
    return best


def _proven(
    engine: SecantEngine, question: GradientQuestion, index: Any, amount: Any, count: IntArray
) -> int:
    """Return how many rows given label changes are proven to overturn."""
    margins, over = question.margins, np.zeros(len(count), dtype=bool)
    for sign, margin in ((1.0, margins.up), (-1.0, margins.down)):
        near = np.flatnonzero(np.isfinite(margin))
        if len(near):
            moved = engine.attacker.moved(sign * question.directions.rows[near], index, amount)
            over[near] |= narrower(moved, margins.slack[near]) > margin[near]
    return int(count[over].sum())


# --- at random ------------------------------------------------------------------------------


def _random(
    asked: Sequence[Asked], alone: Sequence[Alone], n_rows: int, seed: int
) -> list[RandomDraws | None]:
    """Return what random label sets do, at each budget."""
    if not asked or not all(each.question.in_memory for each in asked):
        return [None] * len(alone)
    if not isinstance(asked[0].question.engine.bias.budget, Count):
        return [None] * len(alone)
    refits = isinstance(asked[0].question, GradientQuestion)
    models = [_drawn(each) for each in asked]
    found: list[RandomDraws | None] = [None] * len(alone)
    for main, draws in ((True, _REFITS if refits else DRAWS), (False, _FEW_DRAWS)):
        at = [place for place, each in enumerate(alone) if each.main == main]
        if at and (main or not refits):
            drawn = at_random(models, [alone[each].labels for each in at], n_rows, draws, seed)
            for place, each in zip(at, drawn, strict=True):
                found[place] = each
    return found


def _drawn(asked: Asked) -> Drawn:
    question = asked.question
    count = np.bincount(question.group, minlength=len(question.margins.up)).astype(np.float64)
    up, down = question.margins.up[:, None], question.margins.down[:, None]

    def overturned(changes: Any) -> FloatArray:
        if isinstance(question, GradientQuestion):
            moved = question.directions.rows @ _refitted(question, changes).T
            return np.asarray(count @ ((moved > up) | (-moved > down)))
        return _moved(asked, changes, count)

    return Drawn(question.engine.bias, asked.place, overturned)


def _moved(asked: Asked, changes: Any, count: FloatArray) -> FloatArray:
    """Return how many rows each draw overturns: one product for all of them."""
    question, learner = asked.question, asked.question.engine.learner
    pulled = changes if learner.row_scale is None else changes * learner.row_scale
    if learner.design is not None:
        pulled = pulled @ learner.design
        pulled = pulled.toarray() if hasattr(pulled, "toarray") else np.asarray(pulled)
    # Of many rows, single precision: it takes half the time, and a simulation needs no more.
    kind = np.float32 if len(count) * question.engine.influence.width > _LARGE else np.float64
    pulled, total = pulled.astype(kind), np.zeros(changes.shape[0])
    step = max(1, _BLOCK // max(1, changes.shape[0], question.engine.influence.width))
    for start in range(0, len(count), step):
        here = slice(start, min(start + step, len(count)))
        weights = asked.weights.block(here.start, here.stop).values.astype(kind)
        moved = np.asarray(pulled @ weights.T)
        over = moved > question.margins.up[here]
        over |= moved < -question.margins.down[here]
        total += over @ count[here]
    return total


def _refitted(question: GradientQuestion, changes: Any) -> FloatArray:
    """Return how far the parameters move, for each draw."""
    engine = question._secant
    problem, start = engine.problem, engine.centre.parameters
    rows, added = [], []
    for at in range(changes.shape[0]):
        of = slice(changes.indptr[at], changes.indptr[at + 1])
        chosen = changes.indices[of]
        rows.append(problem.group[chosen])
        added.append(changes.data[of] * problem.weight[chosen])
    labels = changed(problem, engine.labels, rows, added)
    first = np.broadcast_to(start, (len(rows), len(start)))
    return solve_all(problem, labels, first, engine.attacker.inverse) - start
