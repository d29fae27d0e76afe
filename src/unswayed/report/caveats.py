"""Caveats about results: where a rate is true and answers a question that nobody asked."""

from typing import Any

from unswayed.certificates import ALMOST_ALL, FEW_ROWS
from unswayed.report.findings import Caveat, Findings
from unswayed.words import labels, percent, shorten


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
        _balance(findings),
    )


def _balance(findings: Findings) -> str | None:
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
        _balance(findings) if auc > 0.5 else None,
    )
