"""Facts of a page: curves over budgets, and the rows and labels worth a closer look."""

import datetime
import importlib.metadata
import importlib.util
import math
import os
import platform
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from unswayed import __version__
from unswayed._core.kernels import kernel_name
from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.report.certified import Certified
from unswayed.report.facts import (
    CHANCE,
    ENDS,
    NOT_IDENTIFIED,
    certified,
    effect_facts,
)
from unswayed.results.certificates import CertificateSet
from unswayed.results.curves import robustness_curve
from unswayed.results.groups import SMALL_GROUP
from unswayed.results.rows import Witness
from unswayed.words import (
    as_text,
    counted,
    distance,
    labels_between,
    natural,
    number_end,
    range_text,
)

_ROWS = 500
_CELLS = 10  # columns shown beside a row
_CELL_LENGTH = 40
_LISTED = 25  # labels named of one witness
_SUSPECTS = 20
_COEFFICIENTS = 40
_CHOSEN = 20  # rows with a section of their own
_SECTION_COLUMNS = 60  # columns named in such a section
_SECTION_LABELS = 15  # training rows listed there
# A witness sorts every training label: keep the sum of that below a second or two.
_WITNESS_WORK = 6_000_000
_MOST_WITNESSES = 300
_CURVE_POINTS = 121
_CURVE_GROUPS = 8
_PER_ROW = ("minimum_budget", "enough", "predicted_codes", "group_codes")  # for the page's script


class ShownRows(Protocol):
    """Rows whose numbers and cells can be shown."""

    @property
    def numbers(self) -> IntArray:
        """Number of each row, as the reader knows it."""

    def cells(self, at: IntArray, names: list[str], length: int) -> list[list[str]]:
        """Return cells of some rows as texts."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Shown:
    """What a page shows of single rows, and how it says so."""

    test: ShownRows
    train: ShownRows
    columns: list[str]  # Columns to show beside rows
    train_label: Callable[[int], str]  # From a training row to its label as a text
    new_label: Callable[[Any], str]  # From another label to its text
    # From positions of test rows to their witnesses; None where the page names no training row
    witnesses: Callable[[IntArray], list[Witness | None]] | None
    # Of the second class, and its ends at the main budget, where scores are log-odds
    probability: tuple[FloatArray, FloatArray, FloatArray] | None = None
    # Of predicted numbers at the main budget: both ends in the label's unit, and how far they move
    ends: tuple[FloatArray, FloatArray, FloatArray] | None = None
    chosen: Sequence[int] = ()  # Positions of rows to show in full, before the least robust ones
    sources: tuple[str, ...] = ()  # Names of the files of training and of test rows
    no_rows: bool = False  # Whether no single row may be shown


def page_facts(
    facts: dict[str, Any],
    rows: Certified,
    shown: Shown,
    *,
    effects: dict[str, Any],
    made: dict[str, Any],
    tradeoff: Sequence[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """Return everything that the page about test rows shows."""
    named = shown.witnesses is not None
    witnesses = _witnesses(rows, shown, facts["kind"]) if rows.decided else {}
    budgets = [each.text for each in rows.budgets]
    page = facts | {
        "in_python": rows.in_python,
        "no_rows": shown.no_rows,
        "decided": rows.decided,
        "named": named,
        "small_group": SMALL_GROUP,
        "main": rows.main,
        **(_over_budgets(rows, facts) if rows.decided else {}),
        "rows": _least_robust(rows, shown, witnesses)
        if rows.decided
        else _furthest(rows, shown, relative=facts["log"]),
        "chosen": _chosen_rows(rows, shown, witnesses, relative=facts["log"]),
        "suspects": suspects(rows, shown, witnesses) if rows.decided and named else None,
        "coefficients": drawn_effects(effects, rows.main, rows.unit),
        "tradeoff": None if tradeoff is None else {"budgets": budgets, "points": list(tradeoff)},
        "provenance": made,
    }
    if shown.no_rows:
        page = without_rows(page) | dict.fromkeys(_PER_ROW, ())
    return page | {"contents": contents(page, shown.sources)}


# --- over budgets ---------------------------------------------------------------------------


def _over_budgets(rows: Certified, facts: dict[str, Any]) -> dict[str, Any]:
    """Return what the page shows at every amount of wrong labels."""
    grouped = [_codes(values) for values in rows.groups.values()]
    predicted = [(list(rows.classes), rows.codes(rows.prediction))] if rows.classes else []
    named = ["prediction"] * len(predicted) + [each["column"] for each in facts["groups"]]
    kept = rows.safe > rows.main
    left = ~kept & (rows.breaking > rows.main)
    exact = [_kept(kept, left, *each) for each in grouped]
    rates = [[group["kept"] / group["rows"] for group in each] for each in exact]
    return {
        "top": rows.slider_end,
        "kept": int(kept.sum()),
        "left": int(left.sum()),
        "overturned": int((rows.breaking <= rows.main).sum()),
        "unknown": int(np.sum(~rows.settled)),
        "exact_predicted": [_kept(kept, left, *each) for each in predicted],
        "exact_groups": exact,
        "exact_gaps": [max(each) - min(each) for each in rates],
        # One number per test row gives every rate at every budget; -1 stands for never.
        "minimum_budget": [rows.amount(each) for each in rows.safe.tolist()],
        "enough": [rows.amount(each) for each in rows.breaking.tolist()],
        "predicted_codes": [codes.tolist() for _, codes in predicted],
        "group_codes": [codes.tolist() for _, codes in grouped],
        "curves": _curves(rows, named, [*predicted, *grouped]),
    }


def _codes(values: Sequence[str]) -> tuple[list[str], IntArray]:
    """Return the names of groups in order, and the position of each row's group."""
    names = sorted(set(values), key=natural)
    position = {name: at for at, name in enumerate(names)}
    return names, np.array([position[value] for value in values])


def _kept(
    kept: BoolArray, left: BoolArray, names: list[str], codes: IntArray
) -> list[dict[str, Any]]:
    """Return how many rows of each group keep their prediction, and how many are undecided."""
    masks = (np.ones(len(codes), dtype=bool), kept, left)
    counts = (np.bincount(codes[each], minlength=len(names)).tolist() for each in masks)
    return [
        {"group": name, "rows": rows, "kept": robust, "left": still, "small": rows < SMALL_GROUP}
        for name, rows, robust, still in zip(names, *counts, strict=True)
    ]


def _curves(
    rows: Certified, columns: list[str], grouped: list[tuple[list[str], IntArray]]
) -> list[dict[str, Any]]:
    """Return rates over a grid of budgets: of all rows, and of the groups of each column.

    The largest groups are named, the others drawn faintly. There is one entry per column; without
    groups, one for all rows. "all" is what is proven to keep its prediction, "standing" what was
    not overturned by any labels that were found: the truth is in between.
    """
    grid, least = rows.grid(_CURVE_POINTS), rows.safe

    def rate(values: FloatArray) -> list[float]:
        curve = robustness_curve(values)
        return [curve(budget) for budget in grid]

    curves: list[dict[str, Any]] = []
    for column, (names, codes) in zip(columns, grouped, strict=True):
        count = np.bincount(codes, minlength=len(names))
        largest = np.argsort(-count, kind="stable")[:_CURVE_GROUPS].tolist()
        groups = [
            {
                "group": name,
                "rows": int(count[at]),
                "small": bool(count[at] < SMALL_GROUP),
                "named": at in largest,
                "rate": rate(least[codes == at]),
            }
            for at, name in enumerate(names)
            if count[at]
        ]
        curves.append({"column": column, "groups": groups})
    same = {
        "budget": grid,
        "all": rate(least),
        "standing": rate(rows.breaking),
    }
    return [same | curve for curve in curves or [{"column": None, "groups": []}]]


# --- single rows ----------------------------------------------------------------------------


def _least(rows: Certified) -> IntArray:
    """Return positions of the least robust test rows: fewest wrong labels first."""
    return np.asarray(np.lexsort((rows.enough, rows.safe))[:_ROWS])


def _asked_first(shown: Shown, others: IntArray) -> IntArray:
    """Return positions of the rows that were asked for, then the others."""
    return np.array([*dict.fromkeys([*shown.chosen, *others.tolist()])], dtype=int)


def _witnesses(rows: Certified, shown: Shown, kind: str) -> dict[int, Witness]:
    """Find witnesses of the least robust test rows.

    A witness sorts every training label, so at most 20 to 300 rows are tried, fewer the more
    training rows there are.
    """
    if shown.witnesses is None:
        return {}
    at = _least(rows)
    at = at[np.isfinite(rows.safe[at]) & (rows.safe[at] > 0)]
    many = int(np.clip(_WITNESS_WORK // rows.n_train, 20, _MOST_WITNESSES))
    if kind != "ridge":  # each of them takes refits
        at, many = at[np.isfinite(rows.enough[at])], _CHOSEN
    found = shown.witnesses(at[:many])
    return {int(row): each for row, each in zip(at, found, strict=False) if each is not None}


def _columns(rows: Certified, shown: Shown) -> list[str]:
    """Return the columns to show beside test rows: groups first."""
    return [*dict.fromkeys([*rows.groups, *shown.columns])]


def _entries(
    rows: Certified,
    shown: Shown,
    at: IntArray,
    names: list[str],
    particulars: Callable[[int, list[str]], dict[str, Any]],
) -> list[dict[str, Any]]:
    """Return some test rows with their own cells, and what is said of each."""
    return [
        {
            "row": int(shown.test.numbers[row]),
            "prediction": rows.prediction[row],
            "label": None if rows.truth is None else rows.truth[row],
            **particulars(row, cells),
            "cells": cells,
        }
        for row, cells in zip(at.tolist(), shown.test.cells(at, names, _CELL_LENGTH), strict=True)
    ]


def _texts(names: Sequence[str]) -> list[str]:
    return [as_text(name, _CELL_LENGTH) for name in names]


def _least_robust(rows: Certified, shown: Shown, witnesses: dict[int, Witness]) -> dict[str, Any]:
    """Return the least robust test rows, and the labels that overturn them."""
    names, safe, enough = _columns(rows, shown)[:_CELLS], rows.safe, rows.enough

    def particulars(row: int, _: list[str]) -> dict[str, Any]:
        witness = witnesses.get(row)
        return {
            **_scored(rows, shown, row),
            "least": None if math.isinf(safe[row]) else rows.amount(safe[row]),
            "enough": rows.amount(enough[row]) if math.isfinite(enough[row]) else None,
            "witness": None
            if witness is None
            else [[number, new] for number, new, _ in _changes(shown, witness, _LISTED)],
            "changed": 0 if witness is None else len(witness),
        }

    found = _entries(rows, shown, _asked_first(shown, _least(rows)), names, particulars)
    return {"columns": _texts(names), "total": rows.n_test, "rows": found}


def _scored(rows: Certified, shown: Shown, row: int) -> dict[str, Any]:
    """Return score, probability where there is one, and how many labels overturn a row."""
    found = {
        "score": float(f"{rows.score[row]:.6g}"),
        "needs": labels_between(rows.minimum_budget[row], rows.enough[row], rows.unit),
    }
    if rows.rivals is not None:
        found["becomes"] = rows.rivals[row]
    if shown.probability is None:
        return found
    value, low, high = (float(each[row]) for each in shown.probability)
    return found | {
        "probability": number_end(value, digits=4),
        "probability_range": range_text(low, high, digits=4),
    }


def _changes(shown: Shown, witness: Witness, most: int) -> list[tuple[int, str, int]]:
    """Return the first label changes of a witness: number of the row, new label, position."""
    pairs = zip(witness.indices[:most].tolist(), witness.labels[:most].tolist(), strict=True)
    return [(int(shown.train.numbers[row]), shown.new_label(new), row) for row, new in pairs]


def _furthest(rows: Certified, shown: Shown, *, relative: bool) -> dict[str, Any]:
    """Return the test rows whose predicted number can move furthest at the main budget."""
    assert shown.ends is not None  # noqa: S101  (numbers without a radius have them)
    furthest = np.argsort(-shown.ends[2], kind="stable")[:_ROWS]
    at, names = _asked_first(shown, furthest), _columns(rows, shown)[:_CELLS]
    found = _entries(rows, shown, at, names, lambda row, _: _range(shown, row, relative=relative))
    return {"columns": _texts(names), "total": rows.n_test, "rows": found}


def _range(shown: Shown, row: int, *, relative: bool) -> dict[str, Any]:
    """Return between which ends a predicted number stays, and how far it can move."""
    assert shown.ends is not None  # noqa: S101
    low, high, moved = (float(each[row]) for each in shown.ends)
    return {
        "low": low if math.isfinite(low) else None,
        "high": high if math.isfinite(high) else None,
        "low_text": number_end(low, -1),
        "high_text": number_end(high, 1),
        "moved": moved if math.isfinite(moved) else None,
        "moves": distance(moved, relative),
    }


def _chosen_rows(
    rows: Certified, shown: Shown, witnesses: dict[int, Witness], *, relative: bool
) -> dict[str, Any]:
    """Return rows in full, with labels that overturn them: chosen ones, then least robust ones."""
    asked = [*dict.fromkeys(shown.chosen)]
    others = [row for row in _least(rows).tolist() if row in witnesses and row not in asked]
    at = np.array([*asked, *others[: max(_CHOSEN - len(asked), 0)]], dtype=int)
    if rows.decided and shown.witnesses is not None:
        missing = np.array([row for row in asked if row not in witnesses], dtype=int)
        pairs = zip(missing.tolist(), shown.witnesses(missing), strict=True)
        witnesses = witnesses | {row: found for row, found in pairs if found is not None}
    every = _columns(rows, shown)
    names = every[:_SECTION_COLUMNS]

    def particulars(row: int, cells: list[str]) -> dict[str, Any]:
        if not rows.decided:
            return _range(shown, row, relative=relative) | {"changes": []}
        witness, own = witnesses.get(row), dict(zip(names, cells, strict=True))
        return {
            **_scored(rows, shown, row),
            "least": None if witness is None else len(witness),
            "never": bool(np.isposinf(rows.minimum_budget[row])),
            "proven": bool(rows.settled[row]),
            "changes": [] if witness is None else _compared(shown, witness, own),
        }

    found = _entries(rows, shown, at, names, particulars)
    return {
        "columns": _texts(names),
        "left_out": len(every) - len(names),
        "asked": len(asked),
        "compared": any(change["cells"] for row in found for change in row["changes"]),
        "rows": found,
    }


def _compared(shown: Shown, witness: Witness, own: dict[str, str]) -> list[dict[str, Any]]:
    """Return the first training rows of a witness: label, new label, and cells that differ."""
    names = [name for name in shown.columns if name in own]
    changes = _changes(shown, witness, _SECTION_LABELS)
    cells = shown.train.cells(witness.indices[:_SECTION_LABELS], names, _CELL_LENGTH)
    return [
        {
            "row": number,
            "label": shown.train_label(row),
            "becomes": new,
            "cells": bool(there),
            "differs": [
                [as_text(name, _CELL_LENGTH), cell]
                for name, cell in zip(names, there, strict=False)
                if own[name] != cell
            ],
        }
        for (number, new, row), there in zip(changes, cells, strict=True)
    ]


def suspects(rows: Certified, shown: Shown, witnesses: dict[int, Witness]) -> dict[str, Any]:
    """Return the training labels that appear in the most witnesses."""
    names = [name for name in _columns(rows, shown) if name in shown.columns][:_CELLS]
    becomes: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for witness in witnesses.values():
        for _, new, row in _changes(shown, witness, len(witness)):
            becomes[row][new] += 1
    top = sorted(becomes, key=lambda row: (-becomes[row].total(), row))[:_SUSPECTS]
    cells = shown.train.cells(np.array(top, dtype=int), names, _CELL_LENGTH)
    return {
        "columns": _texts(names if cells and cells[0] else []),
        "witnesses": len(witnesses),
        "rows": [
            {
                "row": int(shown.train.numbers[row]),
                "label": shown.train_label(row),
                "becomes": [list(each) for each in becomes[row].most_common()],
                "count": becomes[row].total(),
                "cells": own,
            }
            for row, own in zip(top, cells, strict=True)
        ],
    }


# --- coefficients ---------------------------------------------------------------------------


_DIFFERENCE = (
    "The proven range is not a confidence interval: it is what wrong labels can do, and sampling "
    "error is not in it."
)


def model_effects(
    certificates: CertificateSet, names: Sequence[str], *, classes: bool, penalised: bool
) -> dict[str, Any]:
    """Return the coefficients of a model as they are, largest first."""
    rows = [{"name": name} | certified(certificates, at) for at, name in enumerate(names)]
    rows.sort(key=lambda row: -abs(row["value"]))
    words = sampling_in_words(
        reason=certificates.standard_errors.reason,
        linear=certificates.link is None,
        classes=classes,
        penalised=penalised,
    )
    return effect_facts(rows, sampling=words)


def sampling_in_words(*, reason: str, linear: bool, classes: bool, penalised: bool) -> str:
    """Say what standard errors and confidence intervals are, and how proven ranges differ."""
    if reason:
        return f"Standard errors and confidence intervals are not computed: {reason}. {_DIFFERENCE}"
    assumed = "errors of equal variance" if linear else "labels of the variance that the model says"
    if linear and classes:
        assumed += ", which labels of two classes have only roughly"
    about = (
        " With a penalty, the interval is about the penalised coefficient, not about what it would "
        "be without one."
    )
    return (
        f"{_DIFFERENCE} Confidence intervals, 95 %, allow for chance in the sample, take every "
        f"label to be right, and assume independent {assumed}.{about if penalised else ''}"
    )


def drawn_effects(found: dict[str, Any], labels: float, unit: str) -> dict[str, Any]:
    """Return coefficients for a page: the largest of those that are identified, in one unit.

    `labels` may be wrong, in the unit, where the facts name no other number, and `scope` says of
    which model they are, where that is not the one that was certified.
    """
    known = [each for each in found["rows"] if each["verdict"] != NOT_IDENTIFIED]
    intercept = found["intercept"]
    return {"scope": "", "labels": labels} | found | {
        "intercept": None if intercept is None else _drawable(intercept, unit),
        "rows": [_comparable(each, unit) for each in known[:_COEFFICIENTS]],
    }  # fmt: skip


def _comparable(coefficient: dict[str, Any], unit: str) -> dict[str, Any]:
    """Return a coefficient for a page: standardised, with its base level in its name."""
    row = _drawable(coefficient, unit)
    if coefficient.get("standard") is not None:
        original = {end: row[end] for end in ENDS}
        row |= _finite(coefficient["standard"]) | {"original": original}
        row["budgets"] = [
            each | _finite(each["standard"]) for each in coefficient.get("budgets", ())
        ]
    if coefficient.get("base") is not None:
        row["short"] = coefficient["name"]  # for the chart: base levels stand above it
        row["name"] = f"{coefficient['name']}, not {coefficient['base']}"
    return row


def _drawable(coefficient: dict[str, Any], unit: str) -> dict[str, Any]:
    """Return a coefficient for a page: infinite ends become None, the budget a text."""
    budget = labels_between(coefficient["minimum_budget"], coefficient["enough"], unit)
    return coefficient | _finite(coefficient) | {"minimum_budget": budget}


def _finite(ends: dict[str, Any]) -> dict[str, Any]:
    """Return value, ends, standard error and interval, None where they are not finite."""
    names = (end for end in (*ENDS, *CHANCE) if end in ends)
    return {end: ends[end] if math.isfinite(ends[end]) else None for end in names}


# --- whose rows a page or an answer holds, so that people know how to share it ----------------

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
        rows = [isinstance(each, dict) and "row" in each for each in facts]
        return [without_rows(each) for each, row in zip(facts, rows, strict=True) if not row]
    return facts


def contents(facts: dict[str, Any], sources: Sequence[str]) -> str:
    """Say whose rows a page holds.

    >>> facts = {"review": {"labels": [{"row": 7, "label": "yes"}, {"row": 9, "label": "no"}]}}
    >>> print(contents(facts, ("a.csv", "a.csv")))
    This page contains 2 rows of a.csv: 2 that the model was trained on; share it as you would \
share that file.
    >>> print(contents({}, ()))
    This page contains no single person's row.
    """
    train, test = _counts(facts)
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


def _counts(facts: dict[str, Any]) -> tuple[int, int]:
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
    test |= {each["row"] for each in facts.get("audit", {}).get("listed", ())}
    # The script of a report has a number for every test row.
    return len(train), max(len(test), len(facts.get("minimum_budget") or ()))


# --- how a page is made again ---------------------------------------------------------------

_PARTS = {"numpy": "numpy", "scipy": "scipy", "scikit-learn": "sklearn", "pyarrow": "pyarrow"}
"""Packages whose versions are named, and the modules that they are imported as."""


def provenance(
    command: str | None = None, files: Iterable[tuple[str, str]] = (), seed: int | None = None
) -> dict[str, Any]:
    """Return what someone needs to make the same page again; files are names with their hashes."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = (
        datetime.datetime.fromtimestamp(int(epoch), datetime.UTC)
        if epoch.isdigit()
        else datetime.datetime.now(datetime.UTC)
    )
    installed = [part for part, module in _PARTS.items() if importlib.util.find_spec(module)]
    return {
        "command": command,
        "files": [{"name": name, "sha256": digest} for name, digest in files],
        "seed": seed,
        "versions": {
            "unswayed": __version__,
            "kernel": kernel_name(),
            "Python": platform.python_version(),
            **{part: importlib.metadata.version(part) for part in installed},
        },
        "date": now.strftime("%Y-%m-%d %H:%M UTC"),
    }
