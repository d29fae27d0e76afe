"""Three numbers of one budget: rows one at a time, all rows together, labels wrong at random."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from unswayed._core.rounding import ordinary_arithmetic
from unswayed.estimators.question import Asked
from unswayed.joint.attack import Drawn, at_random
from unswayed.joint.fragile import count_goal
from unswayed.joint.quick import Attacks, Exclusive, Placed, Quick
from unswayed.joint.search import Deadline, Search
from unswayed.labels.budgets import Budget
from unswayed.results.certificates import CertificateSet, Verdict
from unswayed.results.curves import Alone, RandomDraws, Summary
from unswayed.words import whole_or_sum

DRAWS = 1000
_REFITS = 50  # draws of models that have to be trained again
_FEW_DRAWS = 100  # at budgets that nobody asked about
_SMALL = 2**17  # numbers of influence: so few are worth a linear programme and a local search
_LARGE = 2**20  # numbers of weights: attacks then take their time


def summary_of(asked: Sequence[Asked], certificates: CertificateSet, *, seed: int = 0) -> Summary:
    """Return the three numbers at the budget of some certificates."""
    robust = int(certificates.robust.sum())
    undecided = int(np.sum(certificates.verdict == Verdict.UNDECIDED))
    keeps = "keep their prediction"
    if "class" not in certificates.question:
        keeps = f"stay {certificates.question.partition(' if ')[0]}"
    (found,) = summaries(
        asked,
        [Alone(whole_or_sum(certificates.budget, certificates.unit), robust, undecided)],
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
    """Return the three numbers at each number of labels, or other amount of the budget, ascending.

    Several models, of folds, share their labels: the bounds of the models add up, and every draw is
    one set of wrong labels for all of them. Without a model at hand there are no draws, and no
    label sets are looked for.
    """
    most, least = _together(asked, alone, n_rows)
    random = _random(asked, alone, n_rows, seed)
    own = asked[0].question.engine.bias.budget if asked else None
    within = [None if own is None else own.sized(at.labels) for at in alone]
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
            allowed=None if budget is None or budget.countable else str(budget),
            source=None if budget is None else budget.source,
        )
        for at, budget, at_most, at_least, drawn in zip(
            alone, within, most, least, random, strict=True
        )
    ]


# --- together -------------------------------------------------------------------------------


def _together(
    asked: Sequence[Asked], alone: Sequence[Alone], n_rows: int
) -> tuple[list[int | None], list[int | None]]:
    """Return at most and at least how many rows one label set overturns, at each budget."""
    most = [n_rows - each.robust for each in alone]
    own = asked[0].question.engine.bias.budget if asked else None
    if own is not None and not own.countable:
        return _of_other_kind(asked, alone, most)
    if own is None or not all(_can(each, "joint") for each in asked):
        if len(asked) == 1 and _can(asked[0], "together"):
            return _of_classes(asked[0], alone, most)
        return [*most], [_attacked(asked, each) for each in alone]
    placed = [Placed(_quick(each), each.place) for each in asked]
    budgets = [own.sized(each.labels) for each in alone]
    main = [each for each, at in zip(budgets, alone, strict=True) if at.main]
    sets = [[part.quick.exclusive(each) for part in placed] for each in main]
    for at, each in enumerate(alone):
        found = [
            _counted(placed, of, int(each.labels)) for of in sets if of[0].amount >= each.labels
        ]
        most[at] = min(most[at], *found) if found else most[at]
    attacks = Attacks(placed, budgets[-1])
    # Where that takes its time, sets of the largest are tried at the others.
    tried = main[-1:] if sum(each.quick.size for each in placed) > _LARGE else main
    least = [attacks.at_least(each) if each in tried else 0 for each in budgets]
    least = [max(low, attacks.known(each)) for low, each in zip(least, budgets, strict=True)]
    for at, each in enumerate(alone):
        if each.main and len(asked) == 1:
            low, high = _few(asked[0], budgets[at]) or (0, n_rows)
            least[at], most[at] = max(least[at], low), min(most[at], high)
    # More labels do more: what some budget reaches, every larger one reaches too.
    return (
        np.minimum.accumulate(most[::-1])[::-1].tolist(),
        np.maximum.accumulate(np.array(least, dtype=int)).tolist(),
    )


def _of_other_kind(
    asked: Sequence[Asked], alone: Sequence[Alone], most: Sequence[int]
) -> tuple[list[int | None], list[int | None]]:
    """Return the same for a budget that is no number of labels: None unless there are few rows."""
    found: list[tuple[int, int] | None] = [None] * len(alone)
    if len(asked) == 1 and _can(asked[0], "joint"):
        budget = asked[0].question.engine.bias.budget
        found = [
            _few(asked[0], budget.sized(each.labels)) if each.main else (0, n)
            for each, n in zip(alone, most, strict=True)
        ]
    if None in found:
        return [None] * len(alone), [None] * len(alone)
    pairs = [each for each in found if each is not None]
    at_most = [min(high, n) for (_, high), n in zip(pairs, most, strict=True)]
    return (
        np.minimum.accumulate(at_most[::-1])[::-1].tolist(),
        np.maximum.accumulate([low for low, _ in pairs]).tolist(),
    )


def _of_classes(
    asked: Asked, alone: Sequence[Alone], most: Sequence[int]
) -> tuple[list[int | None], list[int | None]]:
    """Return the same for three or more classes: rows one at a time, unless there are few."""
    budget = asked.question.engine.bias.budget
    found = [_few(asked, budget.sized(each.labels)) if each.main else None for each in alone]
    high = [n if pair is None else min(n, pair[1]) for n, pair in zip(most, found, strict=True)]
    low = np.maximum.accumulate([-1 if pair is None else pair[0] for pair in found])
    at_least = [None if each < 0 else int(each) for each in low.tolist()]
    return np.minimum.accumulate(high[::-1])[::-1].tolist(), at_least


def _can(asked: Asked, capability: str) -> bool:
    return capability in asked.question.engine.can


def _quick(asked: Asked) -> Quick:
    case = asked.question.selection
    return Quick(
        engine=case.engine,
        weights=case.held,
        margins=case.margins,
        count=asked.question.count,
        least=asked.least,
    )


def _counted(placed: Sequence[Placed], sets: Sequence[Exclusive], labels: int) -> int:
    return sum(
        of.at_most(each.quick.least, each.quick.count, labels)
        for each, of in zip(placed, sets, strict=True)
    )


def _few(asked: Asked, budget: Budget) -> tuple[int, int] | None:
    """Return bounds where there are few rows that can be overturned; None where there are not.

    The linear programme only guides: the bound that is made of its multipliers is proven.
    """
    question = asked.question
    fragile = int(np.sum(asked.least <= budget.amount))
    if fragile * question.n_effects > _SMALL:
        return None
    if not fragile:
        return 0, len(question.group)
    rows = question.fragile(budget)
    goal = count_goal(question.count[rows.row].astype(np.int64), Fraction(1), rows.row)
    found = Search(rows).largest(goal, Deadline.of(0.0))
    return int(found.inner), int(found.outer)


def _attacked(asked: Sequence[Asked], alone: Alone) -> int | None:
    """Return how many rows a label set is proven to overturn, where the engine looks for one."""
    if not alone.main or len(asked) != 1:
        return None
    question = asked[0].question
    return question.case.overturned_at_least(int(alone.labels), question.count)


# --- at random ------------------------------------------------------------------------------


def _random(
    asked: Sequence[Asked], alone: Sequence[Alone], n_rows: int, seed: int
) -> list[RandomDraws | None]:
    """Return what random label sets do, at each budget."""
    if not asked or not all(_can(each, "draws") for each in asked):
        return [None] * len(alone)
    if not asked[0].question.engine.bias.budget.countable:
        return [None] * len(alone)
    if len({str(each.question.code.classes) for each in asked}) > 1:  # numbers of other classes
        return [None] * len(alone)
    refits = not _can(asked[0], "evidence")  # every draw is another fit
    models = [_drawn(each) for each in asked]
    found: list[RandomDraws | None] = [None] * len(alone)
    for main, draws in ((True, _REFITS if refits else DRAWS), (False, _FEW_DRAWS)):
        at = [place for place, each in enumerate(alone) if each.main == main]
        if at and (main or not refits):
            drawn = at_random(models, [int(alone[each].labels) for each in at], n_rows, draws, seed)
            for place, each in zip(at, drawn, strict=True):
                found[place] = each
    return found


def _drawn(asked: Asked) -> Drawn:
    question = asked.question
    count = question.count.astype(np.float64)
    return Drawn(
        question.engine.bias, asked.place, lambda sets: question.case.overturned(sets, count)
    )
