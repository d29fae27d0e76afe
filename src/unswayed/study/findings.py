"""A study as findings: what the terminal and the page say of it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from unswayed._typing import FloatArray
from unswayed.report.facts import (
    BudgetRate,
    Caveat,
    Effects,
    Findings,
    probability,
    small_groups,
)
from unswayed.results.certificates import MinimumBudgets, Verdict, probability_ranges
from unswayed.study.effects import Asked, effects_of
from unswayed.study.folds import FoldedStudy
from unswayed.study.movement import describe_movement
from unswayed.study.request import Request
from unswayed.study.study import EXACT, Study
from unswayed.study.tradeoff import Point, point_facts
from unswayed.tables.files import sha256
from unswayed.words import counted, listed, shorten


def findings_of(
    study: Study,
    *,
    command: str | None = None,
    tradeoff: Sequence[Point] | None = None,
    chosen: Sequence[int] = (),
    asked: Asked = Asked(),  # noqa: B008  (frozen)
    folds: bool = False,
    no_rows: bool = False,
) -> Findings:
    """Describe the results of a study in the form that the terminal and the page show."""
    request, target, choice, answers = (
        study.request,
        study.target,
        study.alpha_choice,
        study.answers,
    )
    labels = study.test.labels
    held_out, least = request.test is None, _least(study)
    groups = {name: study.groups(name) for name in request.groups}
    return Findings(
        task=target.task,
        label=target.label,
        classes=target.class_names,
        versus=target.versus,
        bias=study.bias_in_words(),
        keeps=study.keeps(),
        model=_model(study),
        rows_in_words=_rows(study),
        numbering=study.numbering,
        n_train=study.n_train,
        n_movable=study.n_movable,
        budgets=[
            BudgetRate.of(budget.text, study.count(budget), study.verdicts(budget))
            for budget in request.budgets
        ],
        score=answers.score,
        minimum_budget=least.low,
        enough=least.high,
        prediction=study.predictions,
        truth=None if labels is None else [target.as_text(label) for label in labels.tolist()],
        quality=study.quality(),
        test=study.test,
        train=study.train,
        columns=study.feature_columns,
        column_facts=column_facts(study),
        data=data_facts(study),
        groups=groups,
        train_label=study.train_label,
        new_label=target.as_text,
        # In pieces, each takes passes.
        witnesses=study.witnesses if request.in_pieces is None and not no_rows else None,
        sources=(
            study.source_in_words,
            study.source_in_words if request.test is None else request.test.name,
        ),
        no_rows=no_rows,
        coefficients=lambda: _effects(study, asked),
        radius=request.radius,
        log=request.log,
        decided=target.task == "classification" or request.radius is not None,
        **describe_movement(study),
        **request.kind.facts(study.alpha),
        probability=_probabilities(study),
        method=request.method,
        alpha_choice=None if choice is None else choice.in_words(),
        n_validation=0 if choice is None else choice.n_rows,
        held_out=held_out,
        folds=request.folds,
        fold_by=None if request.fold_by is None else shorten(request.fold_by),
        notes=study.notes,
        caveats=[*study.caveats, *_caveats(study, groups, folds=folds)],
        command=command,
        files=[(path.name, sha256(path)) for path in study.hashed_files] if command else (),
        seed=request.seed,
        train_counts=study.class_counts,
        class_sizes=study.class_sizes(),
        group_sizes={name: study.group_sizes(name) for name in request.groups},
        chosen=chosen,
        chosen_threshold=request.threshold is not None,
        can_balance=_can_balance(request),
        assumptions=_assumptions(study),
        three=study.summaries,
        tradeoff=None
        if tradeoff is None
        else [point_facts(point, request.kind) for point in tradeoff],
    )


def _least(study: Study) -> MinimumBudgets:
    """Return bounds on minimum budgets, with what verdicts at other budgets add to them."""
    low, high = study.answers.minimum_budget, study.answers.enough
    for budget in study.request.budgets:
        verdicts, labels = study.verdicts(budget), study.count(budget)
        low = np.where(verdicts == Verdict.ROBUST, np.maximum(low, labels + 1.0), low)
        high = np.where(verdicts == Verdict.NOT_ROBUST, np.minimum(high, labels), high)
    return MinimumBudgets(low, high)


def _probabilities(study: Study) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """Return probabilities of the second class and their ranges; None where scores are none."""
    if study.request.kind.linear:
        return None
    return probability_ranges(study.answers.score, study.answers.low, study.answers.high)


def column_facts(study: Study) -> list[dict[str, Any]]:
    """Return how each column of the training file was read."""
    if study.inspection is None:
        return []
    used = {column.name for column in study.columns}
    return [
        each.to_dict()
        | ({"read_as": "constant"} if each.role == "feature" and each.name not in used else {})
        for each in study.inspection.columns
    ]


def data_facts(study: Study) -> dict[str, Any]:
    """Return how many rows, columns, features and missing cells there are."""
    n_rows = study.n_file_rows
    numbers, categories = len(study.columns.numbers), len(study.columns.categories)
    features = len(study.columns.feature_names())
    return {
        "rows": n_rows,
        "numbers": numbers,
        "categories": categories,
        "features": features,
        "missing": study.gaps.cells,
        "dropped": study.gaps.dropped,
        "sentence": f"{study.source_in_words}: {n_rows:,} rows; "
        f"{counted(numbers, 'column')} of numbers and {categories:,} of categories make "
        f"{counted(features, 'feature')}; {study.gaps}",
    }


def _can_balance(request: Request) -> bool:
    """Return whether ``--threshold balanced`` is possible, and was not passed."""
    exact = request.kind.linear and request.method in EXACT and request.in_pieces is None
    return exact and request.threshold != "balanced"


_VERSUS = 6  # classes named of the rest
_BALANCED = ", the share of positive labels, which moves with the labels"


def _about_the_threshold(study: Study) -> list[Caveat]:
    """Return a caveat if every score is on one side of a threshold that was asked for."""
    threshold, score = study.request.threshold, study.answers.score
    if threshold is None or threshold == "balanced" or score.min() <= threshold < score.max():
        return []
    said = study.decided(float(score[0]))
    ends = np.array([threshold, score.min(), score.max()])
    what = "scores"
    instead = ", or --threshold balanced" if _can_balance(study.request) else ""
    if not study.request.kind.linear:  # it was written as a probability
        ends, what = probability_ranges(ends, ends, ends)[0], "probabilities"
    return [
        Caveat(
            "threshold-outside-scores",
            f"--threshold {ends[0]:g} is outside the {what} of the test rows, {ends[1]:.3g} "
            f"to {ends[2]:.3g}, so that every one of them is told {said!r}",
            f"pass a threshold between them{instead}",
        )
    ]


def _caveats(study: Study, groups: dict[str, list[str]], *, folds: bool) -> list[Caveat]:
    """Return what could mislead about the results."""
    request, more = study.request, "pass a larger --holdout to ask about more rows"
    if folds:
        more = "pass --folds 10 to certify every row of the file"
    split = not (request.test or request.folds or request.in_pieces)
    few = small_groups(groups, more if split else None)
    return [*_about_the_test_rows(study, folds=folds), *_about_the_threshold(study), *few]


def _about_the_test_rows(study: Study, *, folds: bool) -> list[Caveat]:
    """Return a caveat if the rows that are certified are those that the model was trained on."""
    path = study.request.test
    if path is None or not study.is_training_file(path):
        return []
    ways = ", or pass --folds 10 instead" if folds and not study.request.in_pieces else ""
    return [
        Caveat(
            "test-is-training",
            f"--test {path.name} is the training file, so that the model has seen the label of "
            "every row it is asked about, and is right more often than on new rows",
            f"leave --test out to hold rows out{ways}",
        )
    ]


def _effects(study: Study, asked: Asked) -> Effects:
    """Certify coefficients; where each fold has a model of its own, of one more, of all rows."""
    if study.request.in_pieces is not None:
        return Effects(rows=[])
    if not isinstance(study, FoldedStudy):
        return effects_of(study, asked)
    whole = study.whole()
    labels = whole.labels_in_words(whole.count(whole.request.budget))
    assert whole.alpha is not None  # noqa: S101  (one model)
    penalty = whole.request.kind.penalty(whole.alpha)
    return replace(
        effects_of(whole, asked),
        scope=f"Each fold has a model of its own, so these are of one more, with {penalty}, "
        f"trained on {whole.n_train:,} rows of all folds; "
        f"{whole.request.budget.text} of its labels are {labels}; standard errors are of that "
        "model too",
        labels=whole.count(whole.request.budget),
    )


def _rows(study: Study) -> str:
    """Describe which rows are certified."""
    by = study.request.fold_by
    apart = "" if by is None else f", and no row with the same {shorten(by)!r}"
    if study.fold is not None:
        return f"rows of the same file, each by a model that did not see it{apart}"
    if study.request.test is None:
        files = "file" if study.request.in_pieces is None else "files"
        whole = "" if by is None else f", with all rows of the same {shorten(by)!r}"
        return f"rows of the same {files} that were held out{whole}"
    return "rows of another file"


def _assumptions(study: Study) -> list[tuple[str, str]]:
    """Return what was assumed besides the labels and the model."""
    if study.request.in_pieces is not None:
        return [
            (
                "Rows in pieces.",
                "The training rows were never in memory together, so this page names none of them; "
                "unswayed witness SOURCE --row N, with the same options, names the labels that "
                "overturn one prediction, by file and row",
            )
        ]
    if study.request.missing != "impute":
        return []
    return [
        (
            "Missing cells.",
            "A missing number is replaced by the median of its column in the training rows, and a "
            "missing category counts as none of the categories. Certificates hold for the rows as "
            "they were filled in; other values would give other features",
        )
    ]


def _model(study: Study) -> str:
    """Describe the model in words."""
    kind = study.request.kind
    penalty = f"an {kind.option} per fold" if kind.linear else f"a {kind.option} per fold"
    if study.alpha is not None:
        penalty = kind.penalty(study.alpha)
    words = f"{kind.words.capitalize()} with {penalty} on one-hot categories and scaled numbers"
    if study.target.log:
        words += f", trained on the logarithm of {study.target.label}"
    if study.request.weights is not None:
        words += f", rows weighted by column {shorten(study.request.weights)!r}"
    if study.target.classes:
        negative, positive = study.target.class_names
        versus = study.target.versus
        rest = f" versus the rest ({listed(versus, _VERSUS)})" if versus else ""
        balanced = study.request.threshold == "balanced"
        each = balanced and study.fold is not None
        if not kind.linear:
            share = probability(study.model.threshold_)
            return f"{words}; {positive}{rest} is said above a probability of {share:.6g}"
        threshold = "a threshold per fold" if each else f"{study.model.threshold_:g}"
        coded = f"{positive} = 1{rest} = 0" if rest else f"{negative} = 0 and {positive} = 1"
        words += f", labels {coded}, deciding at {threshold}"
        words += _BALANCED * balanced
    return words
