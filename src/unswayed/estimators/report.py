"""HTML pages about certificates that were made in Python: the same facts as those of a study."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unswayed._typing import IntArray
from unswayed.atomic import atomic_write
from unswayed.estimators.three_numbers import summaries
from unswayed.exceptions import InputError
from unswayed.inputs import as_doubles, as_values, eager_frame, refuse_masked
from unswayed.report.certified import BudgetRate, Certified, Size
from unswayed.report.facts import (
    MOST_GROUPS,
    certified_facts,
    effect_facts,
    quality,
    small_groups,
)
from unswayed.report.page import Shown, model_effects, page_facts, provenance
from unswayed.report.render import render
from unswayed.results.certificates import CertificateSet
from unswayed.results.rows import Witness, probability_ranges
from unswayed.words import (
    as_text,
    beginning,
    distinct_texts,
    shorten,
    suggest,
    whole_or_sum,
    written,
)

if TYPE_CHECKING:
    from unswayed.estimators.question import Question, Source

_LONGEST = 300  # characters of a model in words
_KINDS = {None: "ridge", "logistic": "logistic", "log": "poisson", "votes": "votes"}  # by link
_NO_COEFFICIENTS = (
    "Each fold has a model and coefficients of its own; fit one model on all rows and ask it for "
    "certify_coefficients() to see how far they can move"
)


class FrameRows:
    """Rows of a frame of any library as people see them, numbered from 0 as in Python."""

    def __init__(self, frame: Any, n_rows: int) -> None:
        self.numbers = np.arange(n_rows)
        self._frame = frame

    def cells(self, at: IntArray, names: list[str], length: int = 60) -> list[list[str]]:
        """Return cells of some rows as texts."""
        if self._frame is None:
            return [[] for _ in at]
        columns = [self._frame[name].to_list() for name in names]
        return [[as_text(column[row], length) for column in columns] for row in at.tolist()]


def write_report(
    source: "Source",
    certificates: CertificateSet,
    path: Path,
    *,
    table: Any,
    groups: Sequence[str],
    y_true: Any,
) -> None:
    """Write a page about certificates, by one model or by the models of folds."""
    _check_path(path)
    parts = source.asked()
    one, in_folds = parts[0].question, len(parts) > 1
    frame = _frame(source.origin, table, len(certificates))
    asked = _asked(one, certificates)
    if in_folds:
        y_true = source.training_labels() if y_true is None else y_true
        asked |= {"rows_in_words": "rows, each by the model of the other folds"}
        asked |= {"held_out": True, "folds": len(parts)}
        asked["notes"].append(_NO_COEFFICIENTS)
    rows = _certified(source, certificates, asked["keeps"], frame, groups, y_true)
    few = small_groups(rows.groups, None if in_folds else "cross_certify certifies every row")
    facts = certified_facts(asked, rows, few, slider=True)
    effects = effect_facts([]) if in_folds else _effects(one)
    shown = _shown(source, certificates, frame)
    page = render(page_facts(facts, rows, shown, effects=effects, made=provenance()))
    with atomic_write(path) as beside:
        beside.write_text(page, encoding="utf-8", newline="\n")


def _check_path(path: Path) -> None:
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{path}: a report is a page, so its name must end in .html")


def _asked(question: "Question", certificates: CertificateSet) -> dict[str, Any]:
    """Return what was asked, as facts have it; what only files have is empty."""
    decision, bias, kind = question.decision, question.engine.bias, _KINDS[certificates.link]
    movable = int(np.count_nonzero((bias.lower != 0) | (bias.upper != 0)))
    ends = f"{written(bias.lower.min())} to {written(bias.upper.max())}"
    wrong = "really be the other class" if kind in ("logistic", "votes") else f"be off, by {ends}"
    if bias.classes is not None:
        wrong = "really be another class"
    at_once = "" if bias.budget.countable else f"; at once, {bias.budget}"
    radius = decision.radius
    scale = " in the logarithm" if kind == "poisson" and decision.task == "regression" else ""
    return {
        "task": "regression" if radius is not None else "classification",
        "label": "the label",
        "versus_rest": [],
        "bias": f"{movable:,} of {len(bias.lower):,} training labels may {wrong}{at_once}",
        "keeps": "keep their prediction"
        if radius is None
        else f"stay within {written(radius)}{scale}",
        "model": beginning(" ".join(repr(question.estimator).split()), _LONGEST),
        "rows_in_words": "rows that it was asked about",
        "numbering": "Rows are numbered from 0, as in Python.",
        "radius": radius,
        "log": False,
        "kind": kind,
        "method": ", ".join(certificates.method_counts),
        "notes": [f"{name} is taken on trust" for name in certificates.trusted],
        "held_out": False,
        "validation_rows": 0,
        **dict.fromkeys(("movement", "alpha", "C", "alpha_choice", "folds", "fold_by", "data")),
        **{name: [] for name in ("radius_grid", "columns", "assumptions")},
    }


def _certified(
    source: "Source",
    certificates: CertificateSet,
    keeps: str,
    frame: Any,
    groups: Sequence[str],
    y_true: Any,
) -> Certified:
    """Return certificates as arrays, classes and groups in texts."""
    parts, labels = source.asked(), source.training_labels()
    question, budget, unit = parts[0].question, certificates.budget, certificates.unit
    amount = whole_or_sum(budget, unit)
    decision, kind, bias = question.decision, _KINDS[certificates.link], question.engine.bias
    classes = [] if decision.classes is None else decision.classes.tolist()
    names = dict(zip(classes, distinct_texts(classes), strict=True))
    truth, right = _truth(certificates, names, y_true)
    sizes = np.array([_sizes(each.question, classes) for each in parts])
    ends = question.targets.min(), question.targets.max()
    middle = 0.0 if kind == "logistic" else float(sum(ends)) / 2
    return Certified(
        n_train=min(len(each.place) for each in parts),
        n_movable=int(np.count_nonzero((bias.lower != 0) | (bias.upper != 0))),
        budgets=[BudgetRate.of(written(budget), amount, certificates.verdict)],
        score=certificates.score,
        minimum_budget=certificates.minimum_budgets.low,
        enough=certificates.minimum_budgets.high,
        prediction=[names.get(each, as_text(each)) for each in certificates.prediction.tolist()],
        truth=truth,
        quality=right,
        classes=tuple(names.values()),
        groups=_groups(frame, groups),
        train_counts=[int(np.sum(labels == each)) for each in classes] if sizes.size else [],
        # Of folds, those of the one that has fewest of a class
        class_sizes={
            name: Size(*map(int, least))
            for name, least in zip(names.values(), sizes.min(axis=0), strict=False)
        },
        three=lambda alone: summaries(parts, alone, len(certificates), keeps=keeps),
        chosen_threshold=decision.threshold not in (None, middle),
        rivals=_rivals(source, names) if len(names) > 2 else None,
        can_balance=kind == "ridge" and decision.threshold != "balanced" and len(names) < 3,
        in_python=True,
        unit=unit,
        limited=unit == "labels" and not bias.budget.countable,
        source=bias.budget.sized(amount).source,
    )


def _shown(source: "Source", certificates: CertificateSet, frame: Any) -> Shown:
    """Return how a page shows single rows."""
    ranges = certificates.score, certificates.low, certificates.high
    labels = source.training_labels()
    return Shown(
        test=FrameRows(frame, len(certificates)),
        train=FrameRows(None, len(labels)),
        columns=[] if frame is None else list(frame.columns),
        train_label=lambda row: as_text(labels[[row]].tolist()[0]),
        new_label=as_text,
        witnesses=lambda at: _witnesses(source, certificates, at),
        probability=probability_ranges(*ranges) if certificates.link == "logistic" else None,
    )


def _truth(
    certificates: CertificateSet, class_names: dict[Any, str], y_true: Any
) -> tuple[list[str] | None, float | None]:
    """Return labels as texts, and how good the predictions are; None where they are not known."""
    if y_true is None:
        return None, None
    refuse_masked(y_true, "y_true")
    labels = as_values(y_true)
    if labels.shape != (len(certificates),):
        raise InputError(
            f"y_true has shape {labels.shape} but there are {len(certificates)} certificates; pass "
            "one label per certified row, in the same order"
        )
    if not class_names:
        numbers = as_doubles(y_true, "y_true")
        if not np.isfinite(numbers).all():
            raise InputError("y_true holds NaN or infinity; pass the label of every certified row")
        texts = [as_text(each) for each in numbers.tolist()]
        predicted = np.asarray(certificates.prediction, dtype=np.float64)  # scores may be logs
        return texts, quality(predicted, numbers, classes=False)
    strange = [each for each in labels.tolist() if each not in class_names]
    if strange:
        known = " and ".join(repr(each) for each in class_names)
        raise InputError(
            f"y_true has {strange[0]!r}, which the model does not know: its classes are {known}; "
            "write labels as they were passed to fit"
        )
    said = np.array(certificates.prediction.tolist(), dtype=object)
    actual = np.array(labels.tolist(), dtype=object)
    return [class_names[each] for each in labels.tolist()], quality(said, actual, classes=True)


def _rivals(source: "Source", names: dict[Any, str]) -> list[str | None] | None:
    """Return the class that the fewest labels make of each row, as a text."""
    found = source.rivals()
    return None if found is None else [names.get(each) for each in found.tolist()]


def _sizes(question: "Question", classes: Sequence[Any]) -> list[Size]:
    """Return the size of each class among the training rows; none where labels are numbers."""
    if question.code.classes is None or question.code.shifted:
        return []
    found, bias = question.code.decode(question.targets), question.engine.bias
    movable = (bias.lower != 0) | (bias.upper != 0)
    of = [found == each for each in classes]
    return [Size(int(each.sum()), int((each & movable).sum())) for each in of]


def _effects(question: "Question") -> dict[str, Any]:
    found = question.coefficients()
    if found is None:
        return effect_facts([])
    return model_effects(
        *found,
        classes=question.code.classes is not None,
        penalised=bool(getattr(question.engine.learner.specification, "alpha", 1.0)),
    )


def _witnesses(
    source: "Source", certificates: CertificateSet, at: IntArray
) -> list[Witness | None]:
    enough = certificates.minimum_budgets.high
    return [
        source.witness(int(row), float(enough[row])) if np.isfinite(enough[row]) else None
        for row in at
    ]


def _frame(origin: Any, table: Any, n_rows: int) -> Any:
    """Return the rows to show: a table that was passed, or the frame that was certified."""
    frame = eager_frame(origin if table is None else table)
    if frame is None and table is not None:
        raise InputError(
            "table must be a frame of pandas, polars or pyarrow: its columns are shown"
        )
    if frame is not None and len(frame) != n_rows:
        raise InputError(
            f"table has {len(frame)} rows but {n_rows} were certified; pass the rows that were "
            "certified, in the same order"
        )
    return frame


def _groups(frame: Any, groups: Sequence[str]) -> dict[str, list[str]]:
    found = {}
    for name in (groups,) if isinstance(groups, str) else groups:
        if frame is None or name not in frame.columns:
            known = [] if frame is None else list(frame.columns)
            raise InputError(
                f"groups: there is no column {shorten(str(name))!r}; "
                + (suggest(str(name), known) if known else "pass the rows as a frame, table=...")
            )
        found[name] = distinct_texts(frame[name].to_list())
        if len(set(found[name])) > MOST_GROUPS:
            raise InputError(
                f"groups: column {shorten(name)!r} has {len(set(found[name])):,} different values, "
                f"too many to compare; name a column with at most {MOST_GROUPS}"
            )
    return found
