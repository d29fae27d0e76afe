"""``unswayed witness``: which labels overturn one prediction."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from unswayed.audit.findings import data_facts
from unswayed.audit.folds import open_fold
from unswayed.audit.movement import need_radius
from unswayed.audit.opening import open_study
from unswayed.audit.study import Study
from unswayed.certificates import Verdict, Witness
from unswayed.cli.options import (
    DATA,
    OUTPUT,
    BiasOptions,
    DataOptions,
    Distance,
    Escape,
    ModelOptions,
    Names,
    OutputOptions,
    RowOptions,
    Train,
    make_request,
)
from unswayed.cli.terminal import Terminal
from unswayed.cli.writing import TABLES, as_rows, check_output, write_table
from unswayed.exceptions import InputError
from unswayed.report.findings import caveat_dicts
from unswayed.words import outside

_OWN = ("row", "label", "new label")
_LINES = 40
_GAP = 2  # spaces between columns


def witness(
    train: Train,
    /,
    *,
    data: DataOptions,
    test: RowOptions | None = None,
    bias: BiasOptions | None = None,
    model: ModelOptions | None = None,
    output: OutputOptions | None = None,
    row: int,
    folds: Annotated[str | None, DATA] = None,
    radius: Distance = None,
    groups: Annotated[Names, OUTPUT] = (),
    out: Annotated[Path | None, OUTPUT] = None,
    escape_formulas: Escape = True,
) -> int:
    """Show which labels overturn one prediction.

    Example: unswayed witness people.csv --label hired --row 17

    Parameters
    ----------
    train : Path
    data : DataOptions
    test : RowOptions, optional
    bias : BiasOptions, optional
    model : ModelOptions, optional
    output : OutputOptions, optional
    row
        Number of the test row in its file, counted from 1 below the header, as certify --out
        has it.
    folds
        By the model of the other folds, as certify --folds has it.
    radius : str, optional
    groups
        Columns to show first. COL,COL,… or repeated.
    out
        Table of the labels to change: FILE.csv, .parquet or .json.
    escape_formulas : bool

    Returns
    -------
    int
        Exit code.
    """
    terminal = Terminal(output)
    request = make_request(
        train, data, bias, model, test, radius=radius, groups=groups, folds=folds
    )
    check_output(out, "--out", TABLES, *request.files)
    study = open_study(request, terminal) if folds is None else open_fold(request, row, terminal)
    need_radius(study, "witness")
    at = _position(study, row)
    found = study.witnesses(np.array([at]))[0]
    if found is None and study.ever_overturned(at) == Verdict.UNDECIDED:
        raise InputError(
            f"whether any label changes overturn row {row} is hidden by rounding; pass "
            "--resolve exact to settle it in rational arithmetic"
        )
    for note in study.notes:
        terminal.note(note)
    for caveat in study.caveats:
        terminal.warn(str(caveat))
    facts = _facts(study, at, found)
    if found is not None:
        columns = _columns(study, found)
        if out is not None:
            write_table(out, columns, escape=escape_formulas)
        facts["changes"] = as_rows(columns)
    _show(terminal, facts, request.groups)
    terminal.answer(facts)
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
    if row not in study.train.numbers:
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
    """Return the score of a test row by a model that is trained anew on the changed labels.

    Where the threshold is balanced, it is measured from the mean of these labels.
    """
    from sklearn.base import clone

    changed = np.array(study.train.labels)
    changed[found.indices] = found.labels
    weights = study.train.weights
    weighted = {} if weights is None else {"model__sample_weight": weights}
    fitted = clone(study.model.estimator).fit(study.train.features, changed, **weighted)
    score = float(fitted.predict(study.test.features[at : at + 1])[0])
    if study.request.threshold == "balanced":
        score -= float(np.average(changed, weights=weights))
    return score


def _shown_columns(study: Study) -> list[str]:
    """Return groups, whether they are features or not, then the other features."""
    groups = list(study.request.groups)
    known = set(study.train.table.column_names)
    return [
        *(name for name in groups if name in known),
        *(name for name in study.feature_columns if name not in groups),
    ]


def _key(name: str) -> str:
    """Return the name of a column beside a witness's own columns."""
    return f"{name} (column)" if name in _OWN else name


def _facts(study: Study, at: int, found: Witness | None) -> dict[str, Any]:
    score = float(study.model.certify(study.test.features[at : at + 1], budget=0).score[0])
    after = None if found is None else _refitted(study, at, found)
    names = _shown_columns(study)
    known = study.test.labels
    return {
        "row": int(study.test.numbers[at]),
        "label": None if known is None else study.target.as_text(known[at]),
        "features": dict(
            zip(map(_key, names), study.test.cells(np.array([at]), names)[0], strict=True)
        ),
        "bias": study.bias_in_words(),
        "data": data_facts(study),
        "caveats": caveat_dicts(study.caveats),
        "alpha": study.alpha,
        "alpha_choice": None if study.alpha_choice is None else study.alpha_choice.in_words(),
        "prediction": study.decided(score),
        "score": score,
        "overturned": found is not None,
        "labels": None if found is None else len(found),
        "labels_in_words": None if found is None else study.labels_in_words(len(found)),
        "movable_labels": study.n_movable,
        "new_prediction": None if after is None else study.decided(after),
        "new_score": after,
    }


def _columns(study: Study, found: Witness) -> dict[str, Any]:
    """Return the training rows of a witness as columns: number, label, new label, features."""
    names = _shown_columns(study)
    cells = study.train.cells(found.indices, names)
    old = np.asarray(study.train.labels)[found.indices]
    return {
        "row": study.train.numbers[found.indices].tolist(),
        "label": [study.target.as_text(label) for label in old.tolist()],
        "new label": [study.target.as_text(label) for label in found.labels.tolist()],
        **{_key(name): [row[at] for row in cells] for at, name in enumerate(names)},
    }


# --- for people -----------------------------------------------------------------------------


def _show(terminal: Terminal, facts: dict[str, Any], groups: tuple[str, ...]) -> None:
    terminal.say(
        f"row {facts['row']}: predicted {facts['prediction']} (score {facts['score']:.6g})"
    )
    terminal.say(facts["data"]["sentence"])
    if facts["alpha_choice"] is not None:
        terminal.say(facts["alpha_choice"])
    terminal.say(f"assumed: {facts['bias']}")
    features = facts["features"]
    if not facts["overturned"]:
        terminal.say("No label changes of that kind overturn it, however many.", style="bold")
        terminal.say()
        _tables(terminal, [{"row": str(facts["row"]), **features}], list(features), ["row"])
        return
    changes = facts["changes"]
    verb = "overturns" if len(changes) == 1 else "overturn"
    comma = "," if "," in facts["labels_in_words"] else ""
    terminal.say(f"{facts['labels_in_words']}{comma} {verb} it:", style="bold")
    terminal.say()
    # Columns whose cells are those of the row throughout say nothing about the labels.
    first = {_key(name) for name in groups}
    differ = [
        name
        for name in features
        if name in first or any(each[name] != features[name] for each in changes)
    ]
    own = {"row": f"this: {facts['row']}", "label": facts["label"] or "", "new label": ""}
    _tables(terminal, [own | features, *changes[:_LINES]], differ, list(_OWN))
    if len(changes) > _LINES:
        terminal.say(f"… and {len(changes) - _LINES} more: --out FILE.csv has them all")
    same = [f"{name} {text}" for name, text in features.items() if name not in differ]
    if same:
        terminal.say()
        terminal.say(f"the same in all of these rows: {', '.join(same)}")
    terminal.say()
    terminal.say(
        f"refitted on these labels, the model says {facts['new_prediction']} "
        f"(score {facts['new_score']:.6g})"
    )


def _tables(
    terminal: Terminal, rows: list[dict[str, Any]], names: list[str], first: list[str]
) -> None:
    """Print rows as a table, or as several below one another if they are too wide for one."""
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
