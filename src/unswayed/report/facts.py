"""Facts: what was found about test rows and coefficients, as one dict of plain values.

The terminal, ``--json``, the pages and the tests read this dict and nothing else; docs/facts.md
says what its keys mean. `certified_facts` makes it for whoever has certificates: a study of files,
or certificates that were made in Python.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.report.certified import BudgetRate, Certified, Size
from unswayed.results.certificates import ALMOST_ALL, FEW_ROWS, CertificateSet, Verdict
from unswayed.results.curves import Alone, Summary
from unswayed.results.groups import CONFIDENCE, SMALL_GROUP, group_rates
from unswayed.words import in_unit, labels, labels_of, natural, percent, shorten

MOST_GROUPS = 40
"""Groups of one column that can still be compared."""
_NAMED = 5  # small groups that a caveat names
_STOPS = 10  # amounts between which a slider moves, beside those that were asked about


@dataclass(frozen=True, slots=True)
class Caveat:
    """Something that could mislead whoever reads the numbers, and what settles it."""

    # A short name that programs can look for, such as "constant-classifier" or "code-column"
    kind: str
    text: str  # What it is and why it matters, in one sentence
    option: str | None = None  # What to pass to settle it

    def __str__(self) -> str:
        return self.text if self.option is None else f"{self.text}; {self.option}"


def caveat_dicts(caveats: Iterable[Caveat]) -> list[dict[str, Any]]:
    """Return caveats as plain values."""
    return [asdict(each) | {"sentence": str(each)} for each in caveats]


def certified_facts(
    asked: dict[str, Any],
    rows: Certified,
    caveats: Iterable[Caveat],
    *,
    slider: bool = False,
    three: bool = True,
) -> dict[str, Any]:
    """Return the facts about test rows: what was asked, and the rates at every budget."""
    classes = _class_facts(rows)
    summaries = _summaries(rows, slider=slider) if three else {}
    # First what the numbers themselves do not mean, then what they rest on.
    warned = caveat_dicts([*_result_caveats(rows, classes), *caveats])
    return {
        **classes,
        **asked,
        "classes": list(rows.classes),
        "positive": rows.positive,
        "train_rows": rows.n_train,
        "test_rows": rows.n_test,
        "movable_labels": rows.n_movable,
        "quality": rows.quality,
        "undecided": int(rows.budgets[0].undecided.sum()) if rows.decided else None,
        "confidence": CONFIDENCE,
        "unit": rows.unit,
        "budget_source": rows.source,
        **({"limited": True} if rows.limited else {}),
        "budgets": [
            _rate(rows, each) | {"three": summaries[each.amount].to_dict() if summaries else None}
            for each in rows.budgets
        ],
        "three": _dial(summaries, rows.main) if slider and summaries else None,
        "groups": [_group_facts(rows, *each) for each in rows.groups.items()],
        "caveats": warned,
    }


def _rate(rows: Certified, budget: BudgetRate) -> dict[str, Any]:
    robust, undecided = int(budget.robust.sum()), int(budget.undecided.sum())
    found: dict[str, Any] = {
        "robust": robust,
        "overturned": rows.n_test - robust - undecided,
        "undecided": undecided,
        "rate": float(budget.robust.mean()),
        "highest_rate": float((budget.robust | budget.undecided).mean()),
        "interval": budget.interval(np.ones(rows.n_test, dtype=bool)),
    }
    amount, words = budget.amount, in_unit(budget.amount, rows.unit)
    if rows.plain:
        words = labels_of(int(amount), rows.n_movable, rows.n_train)
    return {
        "budget": budget.text,
        "labels": amount,
        "labels_in_words": words,
        "share": amount / rows.n_train if rows.plain else None,
        "share_of_movable": min(1.0, amount / max(1, rows.n_movable)) if rows.plain else None,
        **(found if rows.decided else dict.fromkeys(found)),
    }


def _group_facts(rows: Certified, column: str, values: list[str]) -> dict[str, Any]:
    """Return the rates of the groups of a column, and the gaps between them."""
    of_row, known = np.array(values, dtype=object), rows.group_sizes.get(column)
    rates = [group_rates(each.robust, values, each.undecided) for each in rows.budgets]
    chosen = None
    if rows.positive is not None:
        chosen = group_rates(np.array([each == rows.positive for each in rows.prediction]), values)
    groups = []
    for name in sorted(set(values), key=natural):
        own = np.asarray(of_row == name)
        count = int(own.sum())
        groups.append(
            {
                "group": name,
                "rows": count,
                "small": count < SMALL_GROUP,
                **rows.within_budget(known.get(name, Size(0, 0)) if known else None),
                "selection_rate": None if chosen is None else chosen[name],
                **rows.at_budgets(own),
            }
        )
    large = [[each[line["group"]] for line in groups if not line["small"]] for each in rates]
    gaps: dict[str, list[Any]] = {
        "gaps": [each.gap for each in rates],
        "gap_ranges": [list(each.gap_range()) for each in rates],
        "large_gaps": [max(each) - min(each) if len(each) > 1 else None for each in large],
        "gap_intervals": [list(each.gap_interval()) for each in rates],
    }
    gaps["within_chance"] = [low == 0 for low, _ in gaps["gap_intervals"]]
    return {
        "column": shorten(column),
        "groups": groups,
        **(gaps if rows.decided else {key: [None] * len(rates) for key in gaps}),
        "selection_gap": None if chosen is None else chosen.gap,
    }


# --- classes --------------------------------------------------------------------------------

_OF_CLASSES = "balance majority majority_quality confusion predicted_classes balanced_accuracy"


def _class_facts(rows: Certified) -> dict[str, Any]:
    """Return class balance, confusion, and robustness per predicted class; None for numbers."""
    found: dict[str, Any] = dict.fromkeys([*_OF_CLASSES.split(), "recall", "precision", "auc"])
    if rows.rivals is not None:
        found["turns"] = _turns(rows, rows.rivals)
    if not rows.classes:
        return found
    every, said = range(len(rows.classes)), rows.codes(rows.prediction)
    actual = None if rows.truth is None else rows.codes(rows.truth)
    tested = None if actual is None else np.bincount(actual, minlength=len(rows.classes))
    found["balance"] = _balance(rows, tested)
    found["predicted_classes"] = [_predicted(rows, at, said == at, actual) for at in every]
    if actual is None or tested is None:
        return found
    larger = int(np.argmax(tested))
    found |= {
        "majority": rows.classes[larger],
        "majority_quality": float(np.mean(actual == larger)),
        "confusion": [
            [int(np.sum((actual == label) & (said == each))) for each in every] for label in every
        ],
    }
    if rows.several:
        right = [float(np.mean(said[actual == each] == each)) for each in every if tested[each]]
        return found | {"balanced_accuracy": float(np.mean(right))}
    return found | _skill(rows.score, said == every[-1], actual == every[-1])


def _turns(rows: Certified, rivals: Sequence[str | None]) -> list[dict[str, Any]]:
    """Return which class turns into which within the main budget, by the fewest labels."""
    overturned, enough = np.flatnonzero(rows.breaking <= rows.main), defaultdict(list)
    for row in overturned.tolist():
        enough[rows.prediction[row], rivals[row]].append(float(rows.enough[row]))
    found = [
        {
            "class": said,
            "becomes": rival,
            "rows": len(each),
            "median_budget": float(np.quantile(each, 0.5, method="inverted_cdf")),
        }
        for (said, rival), each in enough.items()
    ]
    order = {name: at for at, name in enumerate([*rows.classes, None])}
    return sorted(
        found, key=lambda each: (-each["rows"], order[each["class"]], order[each["becomes"]])
    )


def _skill(score: FloatArray, said: BoolArray, positive: BoolArray) -> dict[str, float | None]:
    """Return how well the classes are told apart, which accuracy hides where one is rare."""

    def share(found: BoolArray, among: BoolArray) -> float | None:
        return float(found[among].mean()) if among.any() else None

    recall, others = share(said, positive), share(~said, ~positive)
    balanced = None if recall is None or others is None else (recall + others) / 2
    return {
        "balanced_accuracy": balanced,
        "recall": recall,
        "precision": share(positive, said),
        "auc": None if balanced is None else _auc(score, positive),
    }


def _auc(score: FloatArray, positive: BoolArray) -> float:
    """Return how often a positive row has a higher score than a negative one; ties count half."""
    _, at, count = np.unique(score, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[at]
    n_positive, n_negative = int(positive.sum()), int((~positive).sum())
    above = rank[positive].sum() - n_positive * (n_positive + 1) / 2
    return float(above / (n_positive * n_negative))


def _balance(rows: Certified, tested: IntArray | None) -> list[dict[str, Any]]:
    """Return how many training and test labels are of each class."""
    trained = list(rows.train_counts)
    return [
        {
            "class": name,
            "train": trained[at] if trained else None,
            "train_share": trained[at] / sum(trained) if trained else None,
            **rows.within_budget(rows.class_sizes.get(name)),
            "test": None if tested is None else int(tested[at]),
            "test_share": None if tested is None else float(tested[at] / tested.sum()),
        }
        for at, name in enumerate(rows.classes)
    ]


def _predicted(rows: Certified, at: int, own: BoolArray, actual: IntArray | None) -> dict[str, Any]:
    """Return how many test rows get a prediction, how often it is right, and how robust it is."""
    count = int(own.sum())
    return {
        "class": rows.classes[at],
        "rows": count,
        "share": count / rows.n_test,
        "small": count < SMALL_GROUP,
        **rows.within_budget(rows.class_sizes.get(rows.classes[at])),
        "right": None if actual is None or not count else float(np.mean(actual[own] == at)),
        "robust": [int(each.robust[own].sum()) for each in rows.budgets],
        **rows.at_budgets(own),
    }


def quality(predicted: FloatArray, truth: FloatArray, *, classes: bool) -> float:
    """Return the accuracy of predicted classes, or R² of predicted numbers."""
    if classes:
        return float((predicted == truth).mean())
    spread = float(((truth - truth.mean()) ** 2).sum())
    return 1.0 - float(((truth - predicted) ** 2).sum()) / spread if spread else float("nan")


def probability(log_odds: float) -> float:
    """Return the probability of the second class.

    >>> probability(0.0), probability(-1e6)
    (0.5, 0.0)
    """
    return 0.5 * (1.0 + math.tanh(0.5 * log_odds))


# --- where a rate is true and answers a question that nobody asked ---------------------------

_USELESS = "that its predictions are robust does not make them useful"


def small_groups(groups: Mapping[str, Sequence[str]], option: str | None) -> list[Caveat]:
    """Return a caveat for every column that has groups of few rows."""
    made = []
    for column, values in groups.items():
        counts = sorted(
            (rows, name) for name, rows in Counter(values).items() if rows < SMALL_GROUP
        )
        if not counts:
            continue
        named = ", ".join(f"{shorten(name)!r} ({rows})" for rows, name in counts[:_NAMED])
        named += f" and {len(counts) - _NAMED} more" if len(counts) > _NAMED else ""
        text = (
            f"{shorten(column)!r} has {'a group' if len(counts) == 1 else 'groups'} of fewer than "
            f"{SMALL_GROUP} test rows, where one row moves the rate by more than three points: "
            f"{named}"
        )
        made.append(Caveat("small-group", text, option))
    return made


def nothing_wrong(budget: str) -> Caveat:
    """Return a caveat about a budget at which no label can be wrong."""
    return Caveat(
        "empty-budget",
        f"at {budget} no label can be wrong, so that everything is robust whatever the model is: "
        "this proves nothing",
    )


def _result_caveats(rows: Certified, facts: dict[str, Any]) -> Iterator[Caveat]:
    """Yield what could mislead about the results, whoever made them."""
    option = "budget=" if rows.in_python else "--budget "
    for each in rows.budgets:
        if not min(each.amount, rows.n_movable):
            yield nothing_wrong(
                f"{option}{each.text}" if rows.plain else f"a budget of {each.text}"
            )
    yield from _outnumbered(rows) if rows.plain else ()
    if rows.n_test >= FEW_ROWS:
        yield from _useless_classes(rows, facts) if rows.classes else _useless_numbers(rows)


def _outnumbered(rows: Certified) -> Iterator[Caveat]:
    """Yield a caveat where all labels of a class or group can be wrong within the main budget."""
    sizes = {f"group of {each!r}": known for each, known in rows.group_sizes.items()}
    for what, known in ({"class": rows.class_sizes} | sizes).items():
        all_of = [
            f"{shorten(name)!r} ({size.rows:,})"
            for name, size in known.items()
            if 0 < size.rows == size.movable < rows.main
        ]
        if all_of:
            text = (
                f"{labels(rows.main)} may be wrong, which is more than all training rows of a "
                f"{what}: {', '.join(all_of)}. Every label of theirs can be wrong at once"
            )
            yield Caveat("budget-exceeds-group", text)


def _useless_numbers(rows: Certified) -> Iterator[Caveat]:
    """Yield a caveat where always saying the mean is as good."""
    if rows.quality is not None and not rows.quality > 0:
        text = (
            f"the model explains {percent(rows.quality)} of the variance of the test rows, no more "
            f"than always saying their mean: {_USELESS}"
        )
        yield Caveat("no-better-than-mean", text)


def _useless_classes(rows: Certified, facts: dict[str, Any]) -> Iterator[Caveat]:
    """Yield caveats where (almost) every row gets the same class, or the larger one is as good.

    As good by accuracy, if the model decides half-way between the classes. A threshold that was
    chosen gives accuracy up to find more of a rare class, and is judged by balanced accuracy.
    """
    option = 'threshold="balanced"' if rows.in_python else "--threshold balanced"
    advice = f"consider {option}" if rows.can_balance else None
    most = max(facts["predicted_classes"], key=lambda each: each["rows"])
    if most["share"] >= ALMOST_ALL:
        whom = "everyone" if most["share"] == 1 else "almost everyone"
        text = (
            f"{whom} is told {most['class']!r} ({most['rows']:,} of {rows.n_test:,} test rows), "
            f'and a model that always says {most["class"]!r} would be "robust" too'
        )
        yield Caveat("constant-classifier", text, advice)
    right, simple = rows.quality, facts["majority_quality"]
    balanced, auc = facts["balanced_accuracy"], facts["auc"]
    if right is None or balanced is None:
        return
    also = f"balanced accuracy is {percent(balanced)}"
    also += "" if auc is None else f", AUC {auc:.3f}"
    if rows.chosen_threshold and not balanced > 0.5:
        text = "the model tells the classes no better apart than always saying one of them"
        text = f"{text}: {also}; {_USELESS}"
        yield Caveat("no-better-than-majority", text)
    elif not rows.chosen_threshold and not right > simple:
        text = (
            f"the model is right on {percent(right)} of the test rows, and always saying "
            f"{facts['majority']!r} on {percent(simple)} ({also}): {_USELESS}"
        )
        yield Caveat("no-better-than-majority", text, advice if auc and auc > 0.5 else None)


# --- three numbers beside every rate: one at a time, together, and wrong at random -----------


def _summaries(rows: Certified, *, slider: bool) -> dict[float, Summary]:
    """Return the three numbers by amount: as asked, and up to the end of a slider."""
    if rows.three is None or not rows.decided:
        return {}
    alone = {
        each.amount: Alone(each.amount, int(each.robust.sum()), int(each.undecided.sum()))
        for each in rows.budgets
    }
    for amount in rows.grid(_STOPS + 1) if slider else ():
        kept = rows.safe > amount
        still = int((~kept & (rows.breaking > amount)).sum())
        alone.setdefault(amount, Alone(amount, int(kept.sum()), still, main=False))
    return {each.labels: each for each in rows.three([alone[amount] for amount in sorted(alone)])}


def _dial(summaries: dict[float, Summary], main: float) -> dict[str, Any]:
    """Return columns over amounts, for a slider, and the sentences where it starts."""
    found = list(summaries.values())
    sure, drawn = ("labels", "at_most", "at_least"), ("mean", "largest", "draws")
    return {
        "sentences": summaries[main].lines(),
        **{name: [getattr(each, name) for each in found] for name in sure},
        **{name: [each.random and getattr(each.random, name) for each in found] for name in drawn},
    }


# --- coefficients: value, proven range, verdict on the sign, and what chance adds ------------

NOT_IDENTIFIED = "not identified"
"""What stands where a verdict would, if the data do not say what a coefficient is."""
ENDS = ("value", "low", "high")
CHANCE = ("standard_error", "confidence_low", "confidence_high")
_LOST = 2.0**-44


def effect_facts(rows: list[dict[str, Any]], **known: Any) -> dict[str, Any]:
    """Return what is known of coefficients, and how many keep their sign; the rest is empty."""
    return {
        "total": len(rows),
        "kept": sum(row["keeps_sign"] for row in rows),
        "undecided": sum(row["verdict"] == Verdict.UNDECIDED for row in rows),
        "not_identified": [row["name"] for row in rows if row["verdict"] == NOT_IDENTIFIED],
        "rows": rows,
        "intercept": None,
        "bases": {},
        "meaning": "",
        "sampling": "",
        "budgets": [],
        "caveats": [],
    } | known


def certified(certificates: CertificateSet, at: int, scale: float = 1.0) -> dict[str, Any]:
    """Return value, range and verdict of a coefficient, divided by a number."""
    return {
        **measured(certificates, at, scale),
        **judged(certificates, at),
        "minimum_budget": float(certificates.minimum_budget[at]),
        "enough": float(certificates.minimum_budgets.high[at]),
    }


def measured(certificates: CertificateSet, at: int, scale: float = 1.0) -> dict[str, float]:
    """Return a coefficient, its proven range, standard error and interval, divided by a number."""
    chance = (certificates.standard_error, *certificates.confidence_interval())
    return ranged(certificates, at, scale) | {
        name: float(each[at]) / scale for name, each in zip(CHANCE, chance, strict=True)
    }


def ranged(certificates: CertificateSet, at: int, scale: float = 1.0) -> dict[str, float]:
    """Return a coefficient and its proven range, divided by a number."""
    ends = (certificates.score, certificates.low, certificates.high)
    value, low, high = (float(each[at]) for each in ends)
    return in_units(value, low, high, scale)


def judged(certificates: CertificateSet, at: int) -> dict[str, Any]:
    """Return the verdict on a coefficient's sign, and the same in words."""
    verdict, value = Verdict(certificates.verdict[at]), float(certificates.score[at])
    stays = f"stays {'positive' if value > 0 else 'negative' if value < 0 else '0'}"
    words = {Verdict.UNDECIDED: "undecided", Verdict.NOT_ROBUST: "can be lost"}
    return {
        "verdict": str(verdict),
        "keeps_sign": verdict == Verdict.ROBUST,
        "sign": words.get(verdict, stays),
    }


def not_identified() -> dict[str, Any]:
    """Return the facts of a coefficient that the data do not identify: nothing is certified."""
    return {
        **dict.fromkeys((*ENDS, *CHANCE, "minimum_budget", "enough"), math.nan),
        "verdict": NOT_IDENTIFIED,
        "keeps_sign": False,
        "sign": NOT_IDENTIFIED,
    }


def in_units(value: float, low: float, high: float, scale: float) -> dict[str, float]:
    """Return a value and its range divided by a positive number, the range rounded outwards.

    >>> found = in_units(1.0, 0.5, 1.5, 3.0)
    >>> found["low"] * 3 < 0.5, found["high"] * 3 > 1.5
    (True, True)
    """
    if scale == 1:
        return {"value": value, "low": low, "high": high}
    return {
        "value": value / scale,
        "low": math.nextafter(low / scale, -math.inf) if low else low,
        "high": math.nextafter(high / scale, math.inf) if high else high,
    }


def odds_ratios(found: dict[str, Any]) -> dict[str, float]:
    """Return a coefficient of log-odds as an odds ratio, the range rounded outwards.

    >>> odds_ratios({"value": 0.0, "low": -math.inf, "high": math.inf})
    {'odds_ratio': 1.0, 'odds_ratio_low': 0.0, 'odds_ratio_high': inf}
    """
    value, low, high = (_exponential(found[end]) for end in ENDS)
    # Exponentials of a library may be wrong by some units in the last place.
    ends = {"odds_ratio_low": low * (1 - _LOST), "odds_ratio_high": high * (1 + _LOST)}
    return {"odds_ratio": value, **ends}


def _exponential(power: float) -> float:
    try:
        return math.exp(power)
    except OverflowError:
        return math.inf
