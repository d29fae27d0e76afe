"""Facts of a study: one dict of plain values for every kind of question about single rows.

docs/facts.md says what the keys mean. Questions about all rows at once add their own to these:
`joint` and `review`; `compare` puts two of these dicts side by side.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unswayed._typing import IntArray
from unswayed.report.certified import Certified
from unswayed.report.facts import (
    Caveat,
    caveat_dicts,
    certified_facts,
    effect_facts,
    nothing_wrong,
    probability,
    small_groups,
)
from unswayed.report.page import Shown, contents, page_facts, provenance
from unswayed.results.certificates import Verdict
from unswayed.results.rows import Witness, probability_ranges
from unswayed.study.effects import Asked, effects_of
from unswayed.study.loading import Rows
from unswayed.study.movement import movement_facts, shown_ends
from unswayed.study.request import Budget
from unswayed.study.study import Study
from unswayed.tables.files import sha256
from unswayed.words import counted, listed, shorten

_VERSUS = 6  # classes named of the rest
_HIGHEST = (
    "1 for its own labels and 0 for all others; the class with the highest score is predicted"
)
_BALANCED = ", the share of positive labels, which moves with the labels"
OWN = ("file", "row", "label", "new label")
"""Columns that a table of label changes has by itself."""


def asked_facts(study: Study) -> dict[str, Any]:
    """Return what was asked: label, model, bias, and how the file was read."""
    target, choice = study.target, study.alpha_choice
    return {
        "task": target.task,
        "classes": list(target.class_names),
        "positive": target.positive,
        "versus_rest": list(target.versus),
        "bias": study.bias_in_words(),
        "movable_labels": study.n_movable,
        "train_rows": study.n_train,
        **study.request.kind.facts(study.alpha),
        "alpha_choice": None if choice is None else choice.in_words(),
        "data": data_facts(study),
        "columns": column_facts(study),
        "notes": list(study.notes),
    }


def column_facts(study: Study) -> list[dict[str, Any]]:
    """Return how each column of the training file was read."""
    if study.inspection is None:
        return []
    used = {column.name for column in study.encoding.columns}
    return [
        each.to_dict()
        | ({"read_as": "constant"} if each.role == "feature" and each.name not in used else {})
        for each in study.inspection.columns
    ]


def data_facts(study: Study) -> dict[str, Any]:
    """Return how many rows, columns, features and missing cells there are."""
    n_rows = study.n_file_rows
    numbers, categories = len(study.encoding.numbers), len(study.encoding.categories)
    features = study.encoding.n_features
    return {
        "rows": n_rows,
        "numbers": numbers,
        "categories": categories,
        "features": features,
        "missing": study.gaps.cells,
        "dropped": study.gaps.dropped,
        "sentence": f"{study.scheme.source_in_words(study)}: {n_rows:,} rows; "
        f"{counted(numbers, 'column')} of numbers and {categories:,} of categories make "
        f"{counted(features, 'feature')}; {study.gaps}",
    }


def budget_facts(study: Study, budget: Budget) -> dict[str, Any]:
    """Return a budget as it was written and in labels."""
    count = study.count(budget)
    words = study.labels_in_words(count)
    return {"budget": budget.text, "labels": count, "labels_in_words": words}


# --- test rows ------------------------------------------------------------------------------


def row_facts(
    study: Study, *, slider: bool = False, three: bool = True, folds: bool = False
) -> dict[str, Any]:
    """Return the facts about the test rows; `folds` says that a caveat may advise them."""
    request, choice, rows = study.request, study.alpha_choice, study.certified
    asked = asked_facts(study) | {
        "label": shorten(study.target.label),
        "keeps": study.keeps(),
        "model": _model(study),
        "rows_in_words": _rows_in_words(study),
        "numbering": study.scheme.numbering,
        "radius": request.radius,
        "log": request.log,
        **movement_facts(study),
        "method": request.method,
        "validation_rows": 0 if choice is None or choice.possible else choice.n_rows,
        "held_out": request.test is None,
        "folds": request.folds,
        "fold_by": None if request.fold_by is None else shorten(request.fold_by),
        "assumptions": _assumptions(study),
    }
    caveats = [*study.caveats, *_caveats(study, rows, folds=folds)]
    found = certified_facts(asked, rows, caveats, slider=slider, three=three)
    if study.unit != "labels":  # amounts of something else are no shares of labels
        for each in found["budgets"]:
            words = study.labels_in_words(each["labels"])
            each |= {"labels_in_words": words, "share": None, "share_of_movable": None}
    return found


def report_facts(
    study: Study,
    facts: dict[str, Any],
    *,
    command: str | None = None,
    tradeoff: Sequence[dict[str, Any]] | None = None,
    chosen: Sequence[int] = (),
    asked: Asked = Asked(),  # noqa: B008  (frozen)
    no_rows: bool = False,
) -> dict[str, Any]:
    """Return everything that a page about the test rows shows, given their facts."""
    return page_facts(
        facts,
        study.certified,
        shown_rows(study, chosen, no_rows=no_rows),
        effects=_effects(study, asked),
        made=_made(command, study),
        tradeoff=tradeoff,
    )


def shown_rows(study: Study, chosen: Sequence[int] = (), *, no_rows: bool = False) -> Shown:
    """Return how a page shows single rows of a study."""
    answers = study.answers
    return Shown(
        test=study.test,
        train=study.train,
        columns=study.feature_columns,
        train_label=study.train_label,
        new_label=study.target.as_text,
        # In pieces, each takes passes.
        witnesses=study.witnesses if "witnesses" in study.scheme.can and not no_rows else None,
        probability=probability_ranges(answers.score, answers.low, answers.high)
        if study.request.kind.log_odds
        else None,
        ends=shown_ends(study),
        chosen=chosen,
        sources=_sources(study),
        no_rows=no_rows,
    )


def _sources(study: Study) -> tuple[str, str]:
    """Return the names of the files of training and of test rows."""
    train, test = study.scheme.source_in_words(study), study.request.test
    return train, train if test is None else test.name


def _made(command: str | None, *studies: Study) -> dict[str, Any]:
    """Return how a page about studies is made again; without a command, no file is read for it."""
    files = dict.fromkeys(path for study in studies for path in study.request.files)
    hashes = [(path.name, sha256(path)) for path in files] if command else []
    return provenance(command, hashes, studies[0].request.seed)


def paged(facts: dict[str, Any], command: str, *studies: Study) -> dict[str, Any]:
    """Return facts with how a page of them is made again, and whose rows it holds."""
    made, holds = _made(command, *studies), contents(facts, _sources(studies[0]))
    return facts | {"provenance": made, "contents": holds}


# --- one row --------------------------------------------------------------------------------


def witness_facts(study: Study, at: int) -> dict[str, Any]:
    """Return which labels overturn a test row, or what is known where none were found to."""
    one = np.array([at])
    found = study.witnesses(one)[0]
    (score, said), places = study.scored(at), None if found is None else found.places
    after = None if found is None else np.array([found.score])
    if found is not None and not places:
        after = study.scheme.refitted_scores(study, found.indices, found.labels, one)
    new = None if after is None else float(study.rule.scored(after)[0])
    ever = None if found is not None else study.ever_overturned(at)
    names, known = shown_columns(study), study.test.labels
    same = ("positive", "versus_rest", "bias", "data", "movable_labels", "kind", "alpha", "C")
    asked = asked_facts(study)
    facts = {key: asked[key] for key in (*same, "alpha_choice")} | {
        "row": int(study.test.numbers[at]),
        "label": None if known is None else study.target.as_text(known[at]),
        "features": dict(zip(map(beside, names), study.test.cells(one, names)[0], strict=True)),
        "caveats": caveat_dicts(study.caveats),
        "prediction": said,
        "score": score,
        "overturned": found is not None,
        "undecided": ever == Verdict.UNDECIDED,
        "labels": None if found is None else len(found),
        "labels_in_words": None if found is None else _changes_in_words(study, found),
        "new_prediction": None
        if after is None
        else study.target.as_text(float(study.decided(after)[0])),
        "new_score": new,
        "refitted": found is not None and not places,
    }
    if study.searches:
        least = study.minimum_budgets(one).low[0]
        facts["proven_not_to"] = None if math.isnan(least) else least - 1
    if study.request.kind.log_odds:
        facts |= {
            "probability": probability(score),
            "new_probability": None if new is None else probability(new),
        }
    return facts if found is None else facts | {"changes": _witness_changes(study, found)}


def _changes_in_words(study: Study, found: Witness) -> str:
    """Say how many labels change, and how much of a budget of another unit that takes."""
    stated, limit = study.request.stated, study.limit
    if stated is None or limit is None or study.unit == "labels":
        return study.labels_in_words(len(found))
    change = np.asarray(found.labels - np.asarray(study.train.labels)[found.indices])
    used = stated.spent(limit, found.indices, change)
    return f"{limit.in_words(used)} ({counted(len(found), 'label')})"


def shown_columns(study: Study) -> list[str]:
    """Return groups, whether they are features or not, then the other features."""
    groups = list(study.request.groups)
    known = set(study.train.table.column_names) & set(study.test.table.column_names)
    return [
        *(name for name in groups if name in known),
        *(name for name in study.feature_columns if name not in groups),
    ]


def beside(name: str, own: Sequence[str] = OWN) -> str:
    """Return the name of a file's column beside columns that a table has by itself."""
    return f"{name} (column)" if name in own else name


def change_heads(study: Study) -> list[str]:
    """Return the columns of a table of label changes."""
    return ["row", "label", "new label", *map(beside, shown_columns(study))]


def label_changes(
    study: Study, rows: Rows, at: IntArray, new: NDArray[Any]
) -> list[dict[str, Any]]:
    """Return training rows whose labels change: number, label, new label and features."""
    heads, text = change_heads(study), study.target.as_text
    old, cells = np.asarray(rows.labels)[at], rows.cells(at, shown_columns(study))
    known = (each.tolist() for each in (rows.numbers[at], old, new))
    return [
        dict(zip(heads, (number, text(before), text(after), *own), strict=True))
        for number, before, after, own in zip(*known, cells, strict=True)
    ]


def _witness_changes(study: Study, found: Witness) -> list[dict[str, Any]]:
    """Return the label changes of a witness, with their files where these are many."""
    if found.places is None:
        return label_changes(study, study.train, found.indices, found.labels)
    rows, new = study.scheme.training_rows(study, found.places), study.target.numbers(found.labels)
    changes = label_changes(study, rows, np.arange(len(found)), new)
    return [{"file": place.file} | each for place, each in zip(found.places, changes, strict=True)]


# --- coefficients ---------------------------------------------------------------------------


def coefficient_facts(study: Study, found: dict[str, Any], asked: Asked) -> dict[str, Any]:
    """Return what is known of coefficients, given their effects, and what was asked."""
    count = study.count(study.request.budget)
    empty = [nothing_wrong(f"--budget {study.request.budget.text}")]
    empty = [] if min(count, study.n_movable) else empty
    rows = {"coefficients" if key == "rows" else key: value for key, value in found.items()}
    return asked_facts(study) | rows | {
        "label": study.target.label,
        "labels": count,
        "labels_in_words": study.labels_in_words(count),
        "unit": study.unit,
        "budget_source": None if study.limit is None else study.limit.source,
        "standardised": asked.standardised,
        "caveats": [*caveat_dicts([*empty, *study.caveats]), *found["caveats"]],
    }  # fmt: skip


def _effects(study: Study, asked: Asked) -> dict[str, Any]:
    """Certify coefficients; where each fold has a model of its own, of one more, of all rows."""
    # Each of several classes has coefficients of its own, and so has each alpha of a search.
    apart = study.target.several or "choice" in study.request.kind.can
    whole = None if apart else study.scheme.whole(study)
    if whole is None:
        return effect_facts([])
    found = effects_of(whole, asked)[0]
    if whole is study:
        return found
    count = whole.count(whole.request.budget)
    assert whole.alpha is not None  # noqa: S101  (one model)
    scope = (
        "Each fold has a model of its own. These coefficients and their standard errors are those "
        f"of one more model, with {whole.request.kind.penalty(whole.alpha)}, trained on "
        f"{whole.n_train:,} rows of all folds; {whole.request.budget.text} of its labels are "
        f"{whole.labels_in_words(count)}"
    )
    return found | {"scope": scope, "labels": count}


# --- words ----------------------------------------------------------------------------------


def _rows_in_words(study: Study) -> str:
    """Describe which rows are certified."""
    by = study.request.fold_by
    apart = "" if by is None else f", and no row with the same {shorten(by)!r}"
    if study.fold is not None:
        return f"rows of the same file, each by a model that did not see it{apart}"
    if study.request.test is None:
        whole = "" if by is None else f", with all rows of the same {shorten(by)!r}"
        return f"rows of {study.scheme.held_out_of} that were held out{whole}"
    return "rows of another file"


def _assumptions(study: Study) -> list[list[str]]:
    """Return what was assumed besides the labels and the model: titles and sentences."""
    known = [list(each) for each in study.scheme.assumptions]
    if study.request.missing != "impute":
        return known
    return [
        *known,
        [
            "Missing cells.",
            "A missing number is replaced by the median of its column in the training rows, and a "
            "missing category counts as none of the categories. Certificates hold for the rows as "
            "they were filled in; other values would give other features",
        ],
    ]


def _model(study: Study) -> str:
    """Describe the model in words."""
    kind, balanced = study.request.kind, study.request.threshold == "balanced"
    penalty = kind.per_fold if study.alpha is None else kind.penalty(study.alpha)
    words = f"{kind.words.capitalize()} with {penalty} on one-hot categories and scaled numbers"
    if study.target.log:
        words += f", trained on the logarithm of {study.target.label}"
    if study.request.weights is not None:
        words += f", rows weighted by column {shorten(study.request.weights)!r}"
    if not study.target.classes:
        return words
    if study.target.several:
        return f"{words}, one column of numbers per class, {_HIGHEST}"
    (negative, positive), versus = study.target.class_names, study.target.versus
    rest = f" versus the rest ({listed(versus, _VERSUS)})" if versus else ""
    if kind.log_odds:
        share = probability(study.model.threshold_)
        return f"{words}; {positive}{rest} is predicted above a probability of {share:.6g}"
    threshold = f"{study.model.threshold_:g}"
    if balanced and study.fold is not None:
        threshold = "a threshold per fold"
    coded = f"{positive} = 1{rest} = 0" if rest else f"{negative} = 0 and {positive} = 1"
    return f"{words}, labels {coded}, deciding at {threshold}{_BALANCED * balanced}"


# --- what could mislead ---------------------------------------------------------------------


def _caveats(study: Study, rows: Certified, *, folds: bool) -> list[Caveat]:
    """Return what could mislead about the results."""
    request, more = study.request, "pass a larger --holdout to ask about more rows"
    if folds:
        more = "pass --folds 10 to certify every row of the file"
    split = request.test is None and "folds" in study.scheme.can
    few = small_groups(rows.groups, more if split else None)
    return [*_about_the_test_rows(study, folds=folds), *_about_the_threshold(study), *few]


def _about_the_test_rows(study: Study, *, folds: bool) -> list[Caveat]:
    """Return a caveat if the rows that are certified are those that the model was trained on."""
    path = study.request.test
    if path is None or not study.scheme.is_training_file(study, path):
        return []
    ways = ", or pass --folds 10 instead" if folds and "folds" in study.scheme.can else ""
    return [
        Caveat(
            "test-is-training",
            f"--test {path.name} is the training file, so that the model has seen the label of "
            "every row it is asked about, and is right more often than on new rows",
            f"leave --test out to hold rows out{ways}",
        )
    ]


def _about_the_threshold(study: Study) -> list[Caveat]:
    """Return a caveat if every score is on one side of a threshold that was asked for."""
    threshold, score = study.request.threshold, study.answers.score
    if threshold is None or threshold == "balanced" or score.min() <= threshold < score.max():
        return []
    ends, what = np.array([threshold, score.min(), score.max()]), "scores"
    if study.request.kind.log_odds:  # it was written as a probability
        ends, what = probability_ranges(ends, ends, ends)[0], "probabilities"
    instead = ", or --threshold balanced" if study.can_balance else ""
    return [
        Caveat(
            "threshold-outside-scores",
            f"--threshold {ends[0]:g} is outside the {what} of the test rows, {ends[1]:.3g} to "
            f"{ends[2]:.3g}, so that {study.predictions[0]!r} is predicted for all of them",
            f"pass a threshold between them{instead}",
        )
    ]
