"""HTML pages about certificates that were made in Python: the same facts as those of a study."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unswayed._typing import FloatArray, IntArray
from unswayed.atomic import atomic_write
from unswayed.estimators.three_numbers import summaries
from unswayed.exceptions import InputError
from unswayed.inputs import as_doubles, as_values, eager_frame, refuse_masked
from unswayed.margins.decisions import AboveMean, Decision, MeanRadius, Radius, Threshold
from unswayed.report.facts import (
    MOST_GROUPS,
    BudgetRate,
    Certified,
    Size,
    certified_facts,
    effect_facts,
    quality,
    small_groups,
)
from unswayed.report.page import Shown, model_effects, page_facts, provenance
from unswayed.report.render import render
from unswayed.results.certificates import CertificateSet, Witness, probability_ranges
from unswayed.words import as_text, beginning, distinct_texts, shorten, suggest, written

if TYPE_CHECKING:
    from unswayed.estimators.cross import Folds
    from unswayed.estimators.question import Question

_LONGEST = 300  # characters of a model in words
_KINDS = {None: "ridge", "logistic": "logistic", "log": "poisson"}  # by link
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
    question: "Question",
    certificates: CertificateSet,
    path: Path,
    table: Any,
    groups: Sequence[str],
    y_true: Any,
) -> None:
    """Write a page about certificates."""
    _check_path(path)
    frame = _frame(question.origin, table, len(certificates))
    rows = _certified(question, certificates, frame, groups, y_true)
    asked, shown = _asked(question, certificates), _shown(question, certificates, frame)
    few = small_groups(rows.groups, "cross_certify certifies every row")
    facts = certified_facts(asked, rows, few, slider=True)
    _write(page_facts(facts, rows, shown, effects=_effects(question), made=provenance()), path)


def write_folds_report(
    folds: "Folds",
    certificates: CertificateSet,
    path: Path,
    table: Any,
    groups: Sequence[str],
    y_true: Any,
) -> None:
    """Write a page about certificates of every row, each by a model that did not see it."""
    _check_path(path)
    frame = _frame(folds.origin, table, len(certificates))
    one: Any = folds.folds[0].certificates.source
    found = _certified(one, certificates, frame, groups, folds.labels if y_true is None else y_true)
    counts = Counter(as_text(label) for label in folds.labels.tolist())
    rows = replace(
        found,
        n_train=min(len(each.train) for each in folds.folds),
        train_counts=[counts[name] for name in found.classes] if found.train_counts else (),
        class_sizes=_fewest(folds, found.classes) if found.class_sizes else {},
        three=lambda alone: summaries(folds.asked(), alone, found.n_test, keeps=asked["keeps"]),
    )
    asked = _asked(one, certificates) | {
        "rows_in_words": "rows, each by the model of the other folds",
        "held_out": True,
        "folds": len(folds.folds),
    }
    asked["notes"].append(_NO_COEFFICIENTS)
    shown = replace(
        _shown(one, certificates, frame),
        train=FrameRows(None, len(certificates)),
        train_label=lambda row: as_text(folds.labels[row].item()),
        witnesses=lambda at: _witnesses(folds, certificates, at),
    )
    facts = certified_facts(asked, rows, small_groups(rows.groups, None), slider=True)
    _write(page_facts(facts, rows, shown, effects=effect_facts([]), made=provenance()), path)


def _check_path(path: Path) -> None:
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{path}: a report is a page, so its name must end in .html")


def _write(facts: dict[str, Any], path: Path) -> None:
    page = render(facts)
    with atomic_write(path) as beside:
        beside.write_text(page, encoding="utf-8", newline="\n")


def _asked(question: "Question", certificates: CertificateSet) -> dict[str, Any]:
    """Return what was asked, as facts have it; what only files have is empty."""
    decision, bias, kind = question.decision, question.engine.bias, _KINDS[certificates.link]
    movable = int(np.count_nonzero((bias.lower != 0) | (bias.upper != 0)))
    ends = f"{written(bias.lower.min())} to {written(bias.upper.max())}"
    wrong = "really be the other class" if kind == "logistic" else f"be off, by {ends}"
    radius = decision.value if isinstance(decision, Radius | MeanRadius) else None
    scale = " in the logarithm" if kind == "poisson" and isinstance(decision, Radius) else ""
    return {
        "task": "regression" if radius is not None else "classification",
        "label": "the label",
        "versus_rest": [],
        "bias": f"{movable:,} of {len(bias.lower):,} training labels may {wrong}",
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
    question: "Question",
    certificates: CertificateSet,
    frame: Any,
    groups: Sequence[str],
    y_true: Any,
) -> Certified:
    """Return certificates as arrays, classes and groups in texts."""
    decision, budget, bias = question.decision, certificates.budget, question.engine.bias
    classes = decision.classes.tolist() if isinstance(decision, Threshold) else []
    names = dict(zip(classes, distinct_texts(classes), strict=True))
    sizes, kind = _sizes(question, classes), _KINDS[certificates.link]
    truth, right = _truth(certificates, names, y_true)
    keeps = _asked(question, certificates)["keeps"]
    return Certified(
        n_train=len(bias.lower),
        n_movable=int(np.count_nonzero((bias.lower != 0) | (bias.upper != 0))),
        budgets=[BudgetRate.of(f"{budget:g}", int(budget), certificates.verdict)],
        score=certificates.score,
        minimum_budget=certificates.minimum_budgets.low,
        enough=certificates.minimum_budgets.high,
        prediction=[names.get(each, as_text(each)) for each in certificates.prediction.tolist()],
        truth=truth,
        quality=right,
        classes=tuple(names.values()),
        groups=_groups(frame, groups),
        train_counts=[each.rows for each in sizes],
        class_sizes=dict(zip(names.values(), sizes, strict=False)),
        three=lambda alone: summaries(question.asked(), alone, len(certificates), keeps=keeps),
        chosen_threshold=_chosen(decision, kind, question.targets),
        can_balance=kind == "ridge" and not isinstance(decision, AboveMean),
        in_python=True,
    )


def _shown(question: "Question", certificates: CertificateSet, frame: Any) -> Shown:
    """Return how a page shows single rows."""
    ranges = certificates.score, certificates.low, certificates.high
    return Shown(
        test=FrameRows(frame, len(certificates)),
        train=FrameRows(None, len(question.engine.bias.lower)),
        columns=[] if frame is None else list(frame.columns),
        train_label=lambda row: as_text(question.code.decode(question.targets[[row]]).tolist()[0]),
        new_label=as_text,
        witnesses=lambda at: _witnesses(question, certificates, at),
        probability=probability_ranges(*ranges) if certificates.link == "logistic" else None,
    )


def _fewest(folds: "Folds", names: Sequence[str]) -> dict[str, Size]:
    """Return the size of each class among the training rows of the fold that has fewest of it."""
    sources: list[Any] = [each.certificates.source for each in folds.folds]
    known = np.array([_sizes(each, each.decision.classes.tolist()) for each in sources])
    return {
        name: Size(*map(int, least)) for name, least in zip(names, known.min(axis=0), strict=True)
    }


def _chosen(decision: Decision, kind: str, targets: FloatArray) -> bool:
    """Return whether one class ends elsewhere than half-way between the two."""
    middle = 0.0 if kind == "logistic" else float(targets.min() + targets.max()) / 2
    return isinstance(decision, AboveMean) or (
        isinstance(decision, Threshold) and decision.value != middle
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
    question: "Question | Folds", certificates: CertificateSet, at: IntArray
) -> list[Witness | None]:
    enough = certificates.minimum_budgets.high
    return [
        question.witness(int(row), float(enough[row])) if np.isfinite(enough[row]) else None
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
