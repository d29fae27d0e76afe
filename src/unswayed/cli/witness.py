"""``unswayed witness``: which labels overturn one prediction; label changes as tables."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unswayed._typing import IntArray
from unswayed.cli.certify import positive_in_words
from unswayed.cli.commands import WitnessOptions
from unswayed.cli.requests import by_size, check_beside, in_pieces, make_request, opened_study
from unswayed.cli.terminal import TABLES, Terminal, as_rows, check_output, write_table
from unswayed.exceptions import InputError
from unswayed.report.facts import caveat_dicts, probability
from unswayed.results.certificates import Verdict, Witness
from unswayed.study.findings import data_facts
from unswayed.study.folds import refitted_scores
from unswayed.study.loading import Rows
from unswayed.study.movement import need_radius
from unswayed.study.study import Study
from unswayed.words import labels, number_end, outside, separated

_FEWEST = 6  # digits of a score


def witness(train: str, options: WitnessOptions) -> int:
    """Answer ``unswayed witness``."""
    terminal, row, out = Terminal(options.output), options.row, options.out
    request = make_request(
        *(train, options.data, options.bias, options.model, options.kinds, options.split),
        radius=options.radius,
        groups=options.groups,
        folds=options.folds,
        pieces=in_pieces(train, options.large),
    )
    check_output(out, "--out", TABLES, *request.files)
    check_beside(out, "--out", request)
    with opened_study(by_size(request, terminal.note), terminal, row) as study:
        need_radius(study, "witness")
        at = _position(study, row)
        found = study.witnesses(np.array([at]))[0]
        ever = None if found is not None else study.ever_overturned(at)
        if ever == Verdict.UNDECIDED and request.kind.linear:
            raise InputError(
                f"whether any label changes overturn row {row} is hidden by rounding; pass "
                "--resolve exact to settle it in rational arithmetic"
            )
        facts = _facts(study, at, found) | {"undecided": ever == Verdict.UNDECIDED}
        digits = _digits(study, facts["score"], facts["new_score"])
        if not request.kind.linear:
            facts |= _known(study, at, facts["score"], facts["new_score"])
        if found is not None:
            columns = _columns(study, found)
            if out is not None:
                write_table(out, columns, escape=options.escape_formulas)
            facts["changes"] = as_rows(columns)
        for note in (*study.notes, *study.last_notes()):
            terminal.note(note)
        for caveat in study.caveats:
            terminal.warn(str(caveat))
        _show(terminal, facts, request.groups, digits, numbers=not study.target.classes)
        terminal.answer(facts | study.pass_facts())
    return 0


def _position(study: Study, row: int) -> int:
    """Return the place of a row among the test rows; raise and say why if it is not there."""
    found = np.flatnonzero(study.test.numbers == row)
    if len(found):
        return int(found[0])
    request = study.request
    path = request.train if request.test is None else request.test
    n_rows = study.sizes[path]
    if not 1 <= row <= n_rows:
        raise InputError(outside(row, path, n_rows))
    if request.test is not None:
        raise InputError(f"--row {row} of {path} misses a value and is left out (--missing drop)")
    if request.in_pieces is None and row not in study.train.numbers:
        raise InputError(
            f"--row {row} of {path} is no test row: it misses a value (--missing drop) or is set "
            "aside to choose alpha; pass the row with --test"
        )
    some = ", ".join(str(number) for number in study.test.numbers[:5])
    raise InputError(
        f"--row {row} is not held out, so it is no test row; held out are {some}, … "
        "(the same --seed and --holdout as certify, please), or pass the row with --test"
    )


def _refitted(study: Study, at: int, found: Witness) -> float:
    """Return the score of a test row by a model that is trained anew on the changed labels."""
    return float(refitted_scores(study, found.indices, found.labels, np.array([at]))[0])


def _facts(study: Study, at: int, found: Witness | None) -> dict[str, Any]:
    score, places = study.score(at), None if found is None else found.places
    after = None if found is None else found.score if places else _refitted(study, at, found)
    names = shown_columns(study)
    known = study.test.labels
    return {
        "row": int(study.test.numbers[at]),
        "label": None if known is None else study.target.as_text(known[at]),
        "features": dict(
            zip(map(beside, names), study.test.cells(np.array([at]), names)[0], strict=True)
        ),
        "positive": study.target.class_names[1] if study.target.classes else None,
        "versus_rest": list(study.target.versus),
        "bias": study.bias_in_words(),
        "data": data_facts(study),
        "caveats": caveat_dicts(study.caveats),
        **study.request.kind.facts(study.alpha),
        "alpha_choice": None if study.alpha_choice is None else study.alpha_choice.in_words(),
        "prediction": study.decided(score),
        "score": score,
        "overturned": found is not None,
        "labels": None if found is None else len(found),
        "labels_in_words": None if found is None else study.labels_in_words(len(found)),
        "movable_labels": study.n_movable,
        "new_prediction": None if after is None else study.decided(after),
        "new_score": after,
        "refitted": found is not None and not places,
    }


def _known(study: Study, at: int, score: float, after: float | None) -> dict[str, Any]:
    """Return what else is known where sets of labels are searched for."""
    least = study.minimum_budgets(np.array([at])).low[0]
    return {
        "proven_not_to": None if math.isnan(least) else least - 1,
        "probability": probability(score),
        "new_probability": None if after is None else probability(after),
    }


def _columns(study: Study, found: Witness) -> dict[str, Any]:
    """Return the training rows of a witness as columns: number, label, new label, features."""
    if found.places is None:
        return change_columns(study, study.train, found.indices, found.labels)
    rows = study.training_rows(found.places)
    new = study.target.numbers(found.labels)
    where = {"file": [place.file for place in found.places]}
    return where | change_columns(study, rows, np.arange(len(found)), new)


# --- for people -----------------------------------------------------------------------------


def _digits(study: Study, score: float, after: float | None) -> int:
    """Return with how many digits both scores still show that the prediction is overturned."""
    if after is None:
        return _FEWEST
    rule, radius = study.request.rule, study.request.radius
    for digits in range(_FEWEST, 17):
        ends = [float(number_end(each, 0, digits).replace(",", "")) for each in (score, after)]
        if study.target.classes:
            if (rule.predict(np.array(ends)) == rule.predict(np.array([score, after]))).all():
                return digits
        elif radius is not None and abs(ends[1] - ends[0]) > study.request.on_scale(radius):
            return digits
    return 17


def _show(
    terminal: Terminal,
    facts: dict[str, Any],
    groups: tuple[str, ...],
    digits: int,
    *,
    numbers: bool,
) -> None:
    spelled = separated if numbers else str
    said = _scored(facts["score"], facts.get("probability"), digits)
    terminal.say(f"row {facts['row']}: predicted {spelled(facts['prediction'])} ({said})")
    if facts["versus_rest"]:
        terminal.say(positive_in_words(facts))
    terminal.say(facts["data"]["sentence"])
    if facts["alpha_choice"] is not None:
        terminal.say(facts["alpha_choice"])
    terminal.say(f"assumed: {facts['bias']}")
    features = facts["features"]
    if not facts["overturned"]:
        terminal.say(_not_overturned(facts), style="bold")
        terminal.say()
        show_wide(terminal, [{"row": str(facts["row"]), **features}], list(features), ["row"])
        return
    changes = facts["changes"]
    verb = "overturns" if len(changes) == 1 else "overturn"
    comma = "," if ", " in facts["labels_in_words"] else ""
    terminal.say(f"{facts['labels_in_words']}{comma} {verb} it:", style="bold")
    if "proven_not_to" in facts:
        terminal.say(_smallest(facts))
    terminal.say()
    # Columns whose cells are those of the row throughout say nothing about the labels.
    first = {beside(name) for name in groups}
    differ = [
        name
        for name in features
        if name in first or any(each[name] != features[name] for each in changes)
    ]
    this = f"this: {facts['row']}"
    own = {"file": "", "row": this, "label": facts["label"] or "", "new label": ""}
    show_changes(terminal, changes, differ, own | features, numbers=numbers)
    same = [f"{name} {text}" for name, text in features.items() if name not in differ]
    if same:
        terminal.say()
        terminal.say(f"the same in all of these rows: {', '.join(same)}")
    terminal.say()
    how = "refitted on" if facts["refitted"] else "by the engine's sums (without a refit), with"
    said = _scored(facts["new_score"], facts.get("new_probability"), digits)
    new = spelled(facts["new_prediction"])
    terminal.say(f"{how} these labels, the model says {new} ({said})")


def _scored(score: float, probability: float | None, digits: int) -> str:
    if probability is None:
        return f"score {number_end(score, digits=digits)}"
    return f"probability {number_end(probability, digits=4)}, log-odds {number_end(score)}"


def _not_overturned(facts: dict[str, Any]) -> str:
    """Say that no labels overturn a row, or how much is known of that."""
    if not facts["undecided"]:
        return "No label changes of that kind overturn it, however many."
    safe = facts["proven_not_to"]
    proven = "nothing is proven" if not safe else f"{labels(safe)} are proven not to"
    return f"Not known: {proven}, and no label changes were found that overturn it."


def _smallest(facts: dict[str, Any]) -> str:
    """Say how far a set of labels is from the smallest one."""
    safe = facts["proven_not_to"]
    if safe is not None and safe + 1 == facts["labels"]:
        return "fewer are proven not to"
    proven = f"{labels(safe)} are proven not to" if safe else "it is not known whether fewer do"
    return f"the smallest set that was found; {proven}"


# ----------------------------------------------------------------------------------------
# Label changes as tables: training rows, their labels, their new labels and their cells.

OWN = ("file", "row", "label", "new label")
"""Columns that a table of label changes has by itself."""
_CHANGES = 40
_GAP = 2  # spaces between columns


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


def change_columns(study: Study, rows: Rows, at: IntArray, new: NDArray[Any]) -> dict[str, Any]:
    """Return the training rows whose labels change as columns."""
    names = shown_columns(study)
    cells = rows.cells(at, names)
    old = np.asarray(rows.labels)[at]
    return {
        "row": rows.numbers[at].tolist(),
        "label": [study.target.as_text(label) for label in old.tolist()],
        "new label": [study.target.as_text(label) for label in new.tolist()],
        **{beside(name): [row[place] for row in cells] for place, name in enumerate(names)},
    }


def show_changes(
    terminal: Terminal,
    changes: list[dict[str, Any]],
    names: list[str],
    first: dict[str, Any],
    *,
    numbers: bool,
) -> None:
    """Print label changes as a table, cut where it is long."""
    heads = [head for head in OWN if head in changes[0]]
    lines = [*([first] if first else []), *changes[:_CHANGES]]
    show_wide(terminal, lines, names, heads, numbers=numbers)
    if len(changes) > _CHANGES:
        terminal.say(f"… and {len(changes) - _CHANGES} more: --out FILE.csv has them all")


def show_wide(
    terminal: Terminal,
    rows: list[dict[str, Any]],
    names: list[str],
    first: list[str],
    *,
    numbers: bool = False,
) -> None:
    """Print rows as a table, or as several below one another if they are too wide for one."""
    if numbers:
        labels = [head for head in ("label", "new label") if head in first]
        rows = [row | {head: separated(str(row[head])) for head in labels} for row in rows]
    for number, heads in enumerate(_fitting(rows, names, first, terminal.out.width)):
        if number:
            terminal.say()
        terminal.table(
            heads,
            [[str(row[head]) for head in heads] for row in rows],
            left=range(1, len(heads)),
        )


def _fitting(
    rows: list[dict[str, Any]], names: list[str], first: list[str], width: int
) -> Iterator[list[str]]:
    """Yield columns that fit side by side; those of tables after the first begin with the row."""

    def size(head: str) -> int:
        return _GAP + max(len(head), *(len(str(row[head])) for row in rows))

    heads = list(first)
    for name in names:
        if len(heads) > 1 and sum(map(size, heads)) + size(name) > width:
            yield heads
            heads = [first[0]]
        heads.append(name)
    yield heads
