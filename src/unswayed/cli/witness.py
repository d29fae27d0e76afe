"""``unswayed witness``: which labels overturn one prediction."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np

from unswayed.audit.data_facts import data_facts
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
    OutputOptions,
    RowOptions,
    Train,
    make_request,
)
from unswayed.cli.terminal import Terminal
from unswayed.cli.writing import TABLES, as_rows, check_output, write_table
from unswayed.exceptions import InputError
from unswayed.report.findings import caveat_dicts
from unswayed.words import labels

_COLUMNS = 6  # feature columns that fit beside the labels on a terminal
_LINES = 40


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
    out
        Table of the labels to change: FILE.csv, .parquet or .json.
    escape_formulas : bool

    Returns
    -------
    int
        Exit code.
    """
    terminal = Terminal(output)
    request = make_request(train, data, bias, model, test, radius=radius, folds=folds)
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
    _show(terminal, study, facts)
    terminal.answer(facts)
    return 0


def _position(study: Study, row: int) -> int:
    found = np.flatnonzero(study.test.numbers == row)
    if len(found):
        return int(found[0])
    if study.request.test is None:
        some = ", ".join(str(number) for number in study.test.numbers[:5])
        raise InputError(
            f"--row {row} is not held out, so it is no test row; held out are {some}, … "
            "(the same --seed and --holdout as certify, please), or pass the row with --test"
        )
    raise InputError(
        f"--row {row} is not in {study.request.test}; its rows are 1 to {study.test.numbers[-1]}"
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


def _facts(study: Study, at: int, found: Witness | None) -> dict[str, Any]:
    score = float(study.model.certify(study.test.features[at : at + 1], budget=0).score[0])
    after = None if found is None else _refitted(study, at, found)
    return {
        "row": int(study.test.numbers[at]),
        "bias": study.bias_in_words(),
        "data": data_facts(study),
        "caveats": caveat_dicts(study.caveats),
        "alpha": study.alpha,
        "alpha_choice": None if study.alpha_choice is None else study.alpha_choice.in_words(),
        "prediction": study.decided(score),
        "score": score,
        "overturned": found is not None,
        "labels": None if found is None else len(found),
        "new_prediction": None if after is None else study.decided(after),
        "new_score": after,
    }


def _columns(study: Study, found: Witness) -> dict[str, Any]:
    """Return the training rows of a witness as columns: number, label, new label, features."""
    names = study.feature_columns
    cells = study.train.cells(found.indices, names)
    old = np.asarray(study.train.labels)[found.indices]
    return {
        "row": study.train.numbers[found.indices].tolist(),
        "label": [study.target.as_text(label) for label in old.tolist()],
        "new label": [study.target.as_text(label) for label in found.labels.tolist()],
        **{name: [row[at] for row in cells] for at, name in enumerate(names)},
    }


def _show(terminal: Terminal, study: Study, facts: dict[str, Any]) -> None:
    terminal.say(
        f"row {facts['row']}: predicted {facts['prediction']} (score {facts['score']:.6g})"
    )
    terminal.say(facts["data"]["sentence"])
    if facts["alpha_choice"] is not None:
        terminal.say(facts["alpha_choice"])
    terminal.say(f"assumed: {facts['bias']}")
    if not facts["overturned"]:
        terminal.say("No label changes of that kind overturn it, however many.", style="bold")
        return
    changes = facts["changes"]
    verb = "overturns" if len(changes) == 1 else "overturn"
    terminal.say(f"{labels(len(changes))} {verb} it:", style="bold")
    terminal.say()
    heads = ["row", "label", "new label", *study.feature_columns[:_COLUMNS]]
    terminal.table(
        heads,
        [[str(change[head]) for head in heads] for change in changes[:_LINES]],
        left=range(1, len(heads)),
    )
    if len(changes) > _LINES:
        terminal.say(f"… and {len(changes) - _LINES} more: --out FILE.csv has them all")
    terminal.say()
    terminal.say(
        f"refitted on these labels, the model says {facts['new_prediction']} "
        f"(score {facts['new_score']:.6g})"
    )
