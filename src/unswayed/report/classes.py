"""Classes, caveats and contents of an answer: what is said beside its rates."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.report.facts import Caveat, Findings
from unswayed.results.certificates import ALMOST_ALL, FEW_ROWS
from unswayed.results.curves import Alone, Summary
from unswayed.results.groups import SMALL_GROUP
from unswayed.words import counted, labels, percent, shorten


def class_facts(findings: Findings) -> dict[str, Any]:
    """Return class balance, confusion, and robustness per predicted class."""
    if not findings.classes:
        keys = "balance majority majority_quality confusion predicted_classes".split()
        return dict.fromkeys((*keys, *_SKILLS))
    predicted = codes(findings, findings.prediction)
    actual = None if findings.truth is None else codes(findings, findings.truth)
    larger = None if actual is None else _larger(findings, actual)
    return {
        "balance": _balance(findings, actual),
        "majority": None if larger is None else findings.classes[larger],
        "majority_quality": None if larger is None else float(np.mean(actual == larger)),
        "confusion": None
        if actual is None
        else [
            [int(np.sum((actual == label) & (predicted == said))) for said in _each(findings)]
            for label in _each(findings)
        ],
        "predicted_classes": [
            _predicted(findings, at, predicted == at, actual) for at in _each(findings)
        ],
        **(dict.fromkeys(_SKILLS) if actual is None else _skill(findings, predicted, actual)),
    }


_SKILLS = ("balanced_accuracy", "recall", "precision", "auc")


def _skill(findings: Findings, predicted: IntArray, actual: IntArray) -> dict[str, float | None]:
    """Return how well the classes are told apart, which accuracy hides where one is rare."""
    said, positive = predicted == len(findings.classes) - 1, actual == len(findings.classes) - 1
    recall, others = _share(said, positive), _share(~said, ~positive)
    known = recall is not None and others is not None
    return {
        "balanced_accuracy": (recall + others) / 2 if known else None,  # type: ignore[operator]
        "recall": recall,
        "precision": _share(positive, said),
        "auc": _auc(findings.score, positive) if known else None,
    }


def _share(found: BoolArray, among: BoolArray) -> float | None:
    """Return the share of some rows that have something; None where there are no such rows."""
    return float(found[among].mean()) if among.any() else None


def _auc(score: FloatArray, positive: BoolArray) -> float:
    """Return how often a positive row has a higher score than a negative one; ties count half."""
    _, at, count = np.unique(score, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[at]
    n_positive, n_negative = int(positive.sum()), int((~positive).sum())
    above = rank[positive].sum() - n_positive * (n_positive + 1) / 2
    return float(above / (n_positive * n_negative))


def selected(findings: Findings) -> BoolArray | None:
    """Return which test rows are predicted to be of the positive class."""
    if not findings.classes:
        return None
    return np.asarray(codes(findings, findings.prediction) == len(findings.classes) - 1)


def codes(findings: Findings, names: Sequence[str]) -> IntArray:
    """Return the position of each class among the classes."""
    position = {name: at for at, name in enumerate(findings.classes)}
    return np.array([position[name] for name in names], dtype=np.intp)


def _each(findings: Findings) -> range:
    return range(len(findings.classes))


def _larger(findings: Findings, actual: IntArray) -> int:
    return int(np.argmax(np.bincount(actual, minlength=len(findings.classes))))


def _balance(findings: Findings, actual: IntArray | None) -> list[dict[str, Any]]:
    """Return how many training and test labels are of each class."""
    trained = list(findings.train_counts)
    tested = None if actual is None else np.bincount(actual, minlength=len(findings.classes))
    return [
        {
            "class": name,
            "train": trained[at] if trained else None,
            "train_share": trained[at] / sum(trained) if trained else None,
            **findings.within_budget(findings.class_sizes.get(name)),
            "test": None if tested is None else int(tested[at]),
            "test_share": None if tested is None else float(tested[at] / tested.sum()),
        }
        for at, name in enumerate(findings.classes)
    ]


def _predicted(
    findings: Findings, at: int, members: BoolArray, actual: IntArray | None
) -> dict[str, Any]:
    """Return how many test rows get a prediction, how often it is right, and how robust it is."""
    rows = int(members.sum())
    return {
        "class": findings.classes[at],
        "rows": rows,
        "share": rows / findings.n_test,
        "small": rows < SMALL_GROUP,
        **findings.within_budget(findings.class_sizes.get(findings.classes[at])),
        "right": None if actual is None or not rows else float(np.mean(actual[members] == at)),
        "intervals": [each.interval(members) if rows else None for each in findings.budgets],
        "robust": [int(each.robust[members].sum()) for each in findings.budgets],
        "undecided": [int(each.undecided[members].sum()) for each in findings.budgets],
        "rates": [
            float(each.robust[members].mean()) if rows else None for each in findings.budgets
        ],
        "highest_rates": [
            float(each.standing[members].mean()) if rows else None for each in findings.budgets
        ],
    }


# ----------------------------------------------------------------------------------------
# Caveats about results: where a rate is true and answers a question that nobody asked.


def result_caveats(findings: Findings, facts: dict[str, Any]) -> list[Caveat]:
    """Return what could mislead about the results, whoever made them."""
    option = "budget=" if findings.in_python else "--budget "
    empty = [
        nothing_wrong(f"{option}{each.text}")
        for each in findings.budgets
        if not min(each.labels, findings.n_movable)
    ]
    empty += _outnumbered(findings)
    if findings.n_test < FEW_ROWS:
        return empty
    found = [_constant(findings, facts), _no_better(findings, facts)]
    return [*empty, *(each for each in found if each is not None)]


def _outnumbered(findings: Findings) -> list[Caveat]:
    """Return a caveat where all labels of a class or group can be wrong within the main budget."""
    budget, sizes = findings.budgets[0].labels, findings.group_sizes
    asked = {"class": findings.class_sizes} | {f"group of {each!r}": sizes[each] for each in sizes}
    found = []
    for what, known in asked.items():
        all_of = [
            f"{shorten(name)!r} ({size.rows:,})"
            for name, size in known.items()
            if 0 < size.rows == size.movable < budget
        ]
        if all_of:
            text = (
                f"{labels(budget)} may be wrong, which is more than all training rows of a {what}: "
                f"{', '.join(all_of)}. Every label of theirs can be wrong at once"
            )
            found.append(Caveat("budget-exceeds-group", text))
    return found


def nothing_wrong(budget: str) -> Caveat:
    """Return a caveat about a budget at which no label can be wrong."""
    return Caveat(
        "empty-budget",
        f"at {budget} no label can be wrong, so that everything is robust whatever the model is: "
        "this proves nothing",
    )


def _constant(findings: Findings, facts: dict[str, Any]) -> Caveat | None:
    """Return a caveat where (almost) every row gets the same class."""
    if not findings.classes:
        return None
    most = max(facts["predicted_classes"], key=lambda each: each["rows"])
    if most["share"] < ALMOST_ALL:
        return None
    whom = "everyone" if most["share"] == 1 else "almost everyone"
    return Caveat(
        "constant-classifier",
        f"{whom} is told {most['class']!r} ({most['rows']:,} of {findings.n_test:,} test rows), "
        f'and a model that always says {most["class"]!r} would be "robust" too',
        _caveats_balance(findings),
    )


def _caveats_balance(findings: Findings) -> str | None:
    """Advise to decide at the share of positive labels, where that is possible."""
    option = 'threshold="balanced"' if findings.in_python else "--threshold balanced"
    return f"consider {option}" if findings.can_balance else None


def _no_better(findings: Findings, facts: dict[str, Any]) -> Caveat | None:
    """Return a caveat where an answer that ignores the row is as good."""
    quality = findings.quality
    if quality is None:
        return None
    if findings.classes:
        return _no_better_class(findings, facts, quality)
    if quality > 0:
        return None
    return Caveat(
        "no-better-than-mean",
        f"the model explains {percent(quality)} of the variance of the test rows, no more than "
        "always saying their mean: that its predictions are robust does not make them useful",
    )


def _no_better_class(findings: Findings, facts: dict[str, Any], right: float) -> Caveat | None:
    """Return a caveat where always saying the larger class is as good.

    By accuracy, if the model decides half-way between the classes. A threshold that was chosen
    gives accuracy up to find more of a rare class, and is judged by balanced accuracy.
    """
    simple, balanced, auc = (facts[key] for key in ("majority_quality", "balanced_accuracy", "auc"))
    if balanced is None or (balanced > 0.5 if findings.chosen_threshold else right > simple):
        return None
    useless = "that its predictions are robust does not make them useful"
    also = f"balanced accuracy is {percent(balanced)}, AUC {auc:.3f}"
    if findings.chosen_threshold:
        return Caveat(
            "no-better-than-majority",
            f"the model tells the classes no better apart than always saying one of them: {also}; "
            f"{useless}",
        )
    return Caveat(
        "no-better-than-majority",
        f"the model is right on {percent(right)} of the test rows, and always saying "
        f"{facts['majority']!r} on {percent(simple)} ({also}): {useless}",
        _caveats_balance(findings) if auc > 0.5 else None,
    )


# ----------------------------------------------------------------------------------------
# Contents: whose rows a page or an answer holds, so that people know how to share it.

_NUMBERS = ("overturned", "replayed_rows")  # lists of row numbers
_WITHHELD = "no rows are shown"


def without_rows(facts: Any) -> Any:
    """Return facts without single rows: no numbers of rows, no cells, no examples of cells."""
    if isinstance(facts, dict):
        made = {
            key: [] if key in _NUMBERS and isinstance(value, list) else without_rows(value)
            for key, value in facts.items()
        }
        if "examples" in made:  # the first of every column are the cells of one row
            made |= {"examples": [], "not_shown": made["not_shown"] or _WITHHELD}
        return made
    if isinstance(facts, list):
        return [without_rows(each) for each in facts if not _is_row(each)]
    return facts


def _is_row(value: Any) -> bool:
    return isinstance(value, dict) and "row" in value


def contents(facts: dict[str, Any], sources: Sequence[str]) -> str:
    """Say whose rows a page holds.

    Examples
    --------
    >>> facts = {"review": {"labels": [{"row": 7, "label": "yes"}, {"row": 9, "label": "no"}]}}
    >>> print(contents(facts, ("a.csv", "a.csv")))
    This page contains 2 rows of a.csv: 2 that the model was trained on; share it as you would \
share that file.
    >>> print(contents({}, ()))
    This page contains no single person's row.
    """
    train, test = _rows(facts)
    asked = f"{test:,} that {'is' if test == 1 else 'are'} certified"
    learned = f"{train:,} that the model was trained on"
    both = " and ".join(part for part, count in ((asked, test), (learned, train)) if count)
    if not both:
        return "This page contains no single person's row."
    if not sources:
        return f"This page contains rows of the data: {both}; share it as you would share those."
    if sources[0] == sources[1]:
        what = f"{counted(train + test, 'row')} of {sources[0]}: {both}"
        return f"This page contains {what}; share it as you would share that file."
    parts = [f"{counted(test, 'row')} of {sources[1]}"] if test else []
    parts += [f"{counted(train, 'row')} of {sources[0]}"] if train else []
    files = "those files" if len(parts) > 1 else "that file"
    named = f"{' and '.join(parts)}: {both}"
    return f"This page contains {named}; share it as you would share {files}."


def _rows(facts: dict[str, Any]) -> tuple[int, int]:
    """Return how many training and how many test rows a page holds."""
    train: set[int] = set()
    listed = facts.get("rows") or []
    listed = listed["rows"] if isinstance(listed, dict) else listed
    test = {each["row"] for each in listed}
    for each in listed:
        train |= {row for row, _ in each.get("witness") or ()}
    for each in (facts.get("chosen") or {}).get("rows", ()):
        test.add(each["row"])
        train |= {change["row"] for change in each["changes"]}
    train |= {each["row"] for each in (facts.get("suspects") or {}).get("rows", ())}
    for each in facts.get("together", {}).get("budgets", ()):
        test.update(each["overturned"])
        train |= {change["row"] for change in each["changes"]}
    train |= {each["row"] for each in facts.get("review", {}).get("labels", ())}
    # The script of a report has a number for every test row.
    return len(train), max(len(test), len(facts.get("minimum_budget") or ()))


# ----------------------------------------------------------------------------------------
# Three numbers beside every rate: rows one at a time, together, and labels wrong at random.

_STOPS = 10  # numbers of labels between which a slider moves, beside those that were asked about


def of(findings: Findings, end: int | None) -> dict[int, Summary]:
    """Return the three numbers by number of labels: as asked, and up to the end of a slider."""
    if findings.three is None or not findings.decided:
        return {}
    alone = {
        each.labels: Alone(each.labels, int(each.robust.sum()), int(each.undecided.sum()))
        for each in findings.budgets
    }
    if end is not None:
        least = findings.proven_budget
        enough = np.nan_to_num(findings.enough, nan=np.inf, posinf=np.inf)
        for labels in np.unique(np.linspace(0, end, _STOPS + 1).round().astype(int)).tolist():
            kept = least > labels
            still = int((~kept & (enough > labels)).sum())
            alone.setdefault(labels, Alone(labels, int(kept.sum()), still, main=False))
    found = findings.three([alone[labels] for labels in sorted(alone)])
    return {each.labels: each for each in found}


def dial(summaries: dict[int, Summary], main: int) -> dict[str, Any]:
    """Return columns over the number of labels, for a slider, and the sentences where it starts."""
    found = list(summaries.values())
    return {
        "sentences": summaries[main].lines(),
        "labels": [each.labels for each in found],
        "at_most": [each.at_most for each in found],
        "at_least": [each.at_least for each in found],
        "mean": [None if each.random is None else each.random.mean for each in found],
        "largest": [None if each.random is None else each.random.largest for each in found],
        "draws": [None if each.random is None else each.random.draws for each in found],
    }
