"""``unswayed coefficients``: which coefficients keep their sign."""

import math
from pathlib import Path
from typing import Annotated, Any

from unswayed.audit.effects import Asked, effects_of
from unswayed.audit.findings import column_facts, data_facts
from unswayed.audit.opening import open_study
from unswayed.audit.recipe import check_recipe, save_certificates
from unswayed.audit.study import Study
from unswayed.cli.certify import positive_in_words
from unswayed.cli.checking import checking_time
from unswayed.cli.model_options import MODEL, ModelOptions
from unswayed.cli.options import (
    NO_LABEL,
    OUTPUT,
    BiasOptions,
    DataOptions,
    Escape,
    Flag,
    Names,
    OutputOptions,
    Train,
    make_request,
    split_names,
)
from unswayed.cli.terminal import Terminal
from unswayed.cli.writing import TABLES, check_output, write_table
from unswayed.exceptions import InputError
from unswayed.report.caveats import nothing_wrong
from unswayed.report.effects import NOT_IDENTIFIED, Effects
from unswayed.report.findings import caveat_dicts
from unswayed.words import labels, labels_between, number_end, range_text, shorten

_LINES = 40
_TABLE = (
    "name", "column", "level", "base", "per", "value", "low", "high", "verdict", "keeps_sign",
    "minimum_budget", "enough",
)  # fmt: skip
_ODDS = ("odds_ratio", "odds_ratio_low", "odds_ratio_high")


def coefficients(
    train: Train,
    /,
    *,
    data: DataOptions = NO_LABEL,
    bias: BiasOptions | None = None,
    model: ModelOptions | None = None,
    output: OutputOptions | None = None,
    base: Annotated[Names, MODEL] = (),
    coefficients: Annotated[Names, OUTPUT] = (),
    standardised: Annotated[Flag, OUTPUT] = False,
    out: Annotated[Path | None, OUTPUT] = None,
    escape_formulas: Escape = True,
    certificates: Annotated[Path | None, OUTPUT] = None,
) -> int:
    """Prove which coefficients keep their sign.

    Every row is a training row. Coefficients are per unit of a number, and from the base level of
    a category to each other level.

    Example: unswayed coefficients people.csv --label salary --shift 2000 --budget 2%

    Parameters
    ----------
    train : Path
    data : DataOptions
    bias : BiasOptions, optional
    model : ModelOptions, optional
    output : OutputOptions, optional
    base
        Levels to compare the others of their column with, such as sex=male. By default the most
        frequent one. COL=LEVEL,COL=LEVEL,… or repeated.
    coefficients
        Only these columns or coefficients, such as "age,edu*". NAME,NAME,… or repeated.
    standardised
        Per standard deviation of a number instead of per unit, so that coefficients compare.
    out
        Table of the coefficients: FILE.csv, .parquet or .json.
    escape_formulas : bool
    certificates
        Claims that anyone can check with unswayed verify: FILE.json.

    Returns
    -------
    int
        Exit code.
    """
    terminal = Terminal(output)
    request = make_request(train, data, bias, model)
    check_output(out, "--out", TABLES, *request.files)
    check_output(certificates, "--certificates", (".json",), *request.files, out)
    if certificates is not None:
        check_recipe(request)
    study = open_study(request, terminal, need_test=False)
    asked = Asked(split_names(base), split_names(coefficients), standardised)
    found = effects_of(study, asked)
    if out is not None:
        rows = [*found.rows, *_intercept(found)]
        heads = _TABLE if request.kind.linear else (*_TABLE, *_ODDS)
        table = {head: [each.get(head) for each in rows] for head in heads}
        write_table(out, table, escape=escape_formulas)
    remark = None
    if certificates is not None:
        if not found.certificates:
            raise InputError("--certificates: no coefficient is identified, so nothing is claimed")
        remark = checking_time(save_certificates(study, found.certificates, certificates))
    facts = _facts(study, found, asked)
    for note in (*facts["notes"], *([remark] if remark else [])):
        terminal.note(note)
    for caveat in facts["caveats"]:
        terminal.warn(caveat["sentence"])
    _show(terminal, study, facts)
    for path in (out, certificates):
        if path is not None:
            terminal.say(f"wrote {path}")
    terminal.answer(facts)
    return 0


def _intercept(found: Effects) -> list[dict[str, Any]]:
    return [] if found.intercept is None else [found.intercept]


def _facts(study: Study, found: Effects, asked: Asked) -> dict[str, Any]:
    count = study.count(study.request.budget)
    movable = min(count, study.n_movable)
    empty = [] if movable else [nothing_wrong(f"--budget {study.request.budget.text}")]
    return {
        "label": study.target.label,
        "task": study.target.task,
        "classes": list(study.target.class_names),
        "positive": study.target.class_names[1] if study.target.classes else None,
        "versus_rest": list(study.target.versus),
        "bias": study.bias_in_words(),
        "labels": count,
        "labels_in_words": study.labels_in_words(count),
        "movable_labels": study.n_movable,
        "train_rows": study.n_train,
        **study.request.kind.facts(study.alpha),
        "alpha_choice": None if study.alpha_choice is None else study.alpha_choice.in_words(),
        "meaning": found.meaning,
        "standardised": asked.standardised,
        "bases": found.bases,
        "total": len(found.rows),
        "kept": found.kept,
        "undecided": found.undecided,
        "not_identified": found.unidentified,
        "coefficients": found.rows,
        "intercept": found.intercept,
        "notes": list(study.notes),
        "data": data_facts(study),
        "columns": column_facts(study),
        "caveats": [*caveat_dicts([*empty, *study.caveats]), *found.caveats],
    }


def _show(terminal: Terminal, study: Study, facts: dict[str, Any]) -> None:
    what = f"{facts['task']}{' of its logarithm' if study.target.log else ''}"
    if facts["classes"]:
        what += f", {positive_in_words(facts)}"
    assert study.alpha is not None  # noqa: S101  (no folds here)
    kind = study.request.kind
    terminal.say(f"{study.target.label}: {what}; {kind.name} with {kind.penalty(study.alpha)}")
    terminal.say(f"{study.n_train:,} training rows; assumed: {facts['bias']}")
    terminal.say(facts["data"]["sentence"])
    if facts["alpha_choice"] is not None:
        terminal.say(facts["alpha_choice"])
    found = facts["coefficients"]
    if found:
        terminal.say(f"coefficients are {facts['meaning']}: {_units(facts)}")
        levels = {each["column"]: each["base"] for each in found if each["base"] is not None}
        if levels:
            named = ", ".join(f"{shorten(column)} = {base}" for column, base in levels.items())
            terminal.say(f"base levels: {named}")
        terminal.say(_count(study, facts), style="bold")
    terminal.say()
    # A range for the intercept, too; whether it is above 0 is nothing that anybody asks.
    intercept = []
    if facts["intercept"] is not None:
        known = facts["intercept"]["verdict"] != NOT_IDENTIFIED
        odds = [] if kind.linear else [""]
        sign = "" if known else NOT_IDENTIFIED
        intercept = [[*_numbers(facts["intercept"]), *odds, sign, ""]]
    ratios = [] if kind.linear else ["odds ratio"]
    terminal.table(
        ["coefficient", "value", "low", "high", *ratios, "sign", "flipped by"],
        [
            [*_numbers(each), *(_odds(each) for _ in ratios), each["sign"], _budget(each)]
            for each in found[:_LINES]
        ]
        + intercept,
        left=(0, 4 + len(ratios)),
    )
    if len(found) > _LINES:
        terminal.say(f"… and {len(found) - _LINES:,} more: --out FILE.csv has them all")
    if facts["intercept"] is not None:
        terminal.say()
        terminal.say(f"{facts['intercept']['name']}: {facts['intercept']['meaning']}")
    terminal.say()


def _count(study: Study, facts: dict[str, Any]) -> str:
    total, budget = facts["total"], study.request.budget.text
    are = "is" if facts["labels"] == 1 else "are"
    one = "coefficient keeps its sign" if total == 1 else "coefficients keep their sign"
    said = facts["labels_in_words"].removeprefix(labels(facts["labels"]))
    text = f"{facts['kept']:,} of {total:,} {one} if up to {labels(facts['labels'])} ({budget}"
    text += f"{' of all' if said and '%' in budget else ''}{said}) {are} wrong"
    if facts["undecided"]:
        text += f"; {facts['undecided']:,} undecided"
    if facts["not_identified"]:
        text += f"; {len(facts['not_identified']):,} not identified"
    return text


def _units(facts: dict[str, Any]) -> str:
    unit = "standard deviation" if facts["standardised"] else "unit"
    parts = []
    if any(each["level"] is None for each in facts["coefficients"]):
        parts.append(f"per {unit} of a number")
    if any(each["level"] is not None for each in facts["coefficients"]):
        parts.append("from the base level of a category")
    return ", or ".join(parts)


def _numbers(coefficient: dict[str, Any]) -> list[str]:
    """Return name, value and range as texts."""
    ends = ((coefficient[end], way) for end, way in (("value", 0), ("low", -1), ("high", 1)))
    texts = ("–" if math.isnan(each) else number_end(each, way, 4) for each, way in ends)
    return [coefficient["name"], *texts]


def _budget(coefficient: dict[str, Any]) -> str:
    if coefficient["verdict"] == NOT_IDENTIFIED:
        return "–"
    return labels_between(coefficient["minimum_budget"], coefficient["enough"])


def _odds(coefficient: dict[str, Any]) -> str:
    """Return the range of an odds ratio as a text."""
    if coefficient["verdict"] == NOT_IDENTIFIED:
        return "–"
    return range_text(coefficient["odds_ratio_low"], coefficient["odds_ratio_high"], digits=4)
