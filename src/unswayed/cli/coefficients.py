"""``unswayed coefficients``: which coefficients keep their sign."""

import math
from pathlib import Path
from typing import Any

from unswayed.cli.certify import positive_in_words
from unswayed.cli.commands import CoefficientsOptions
from unswayed.cli.requests import make_request, split_names
from unswayed.cli.terminal import TABLES, Terminal, check_output, write_table
from unswayed.cli.verify import checking_time
from unswayed.exceptions import InputError
from unswayed.report.classes import nothing_wrong
from unswayed.report.facts import NOT_IDENTIFIED, Effects, caveat_dicts
from unswayed.study.effects import Asked, effects_of
from unswayed.study.findings import column_facts, data_facts
from unswayed.study.opening import open_study
from unswayed.study.recipe import check_recipe, save_certificates
from unswayed.study.study import Study
from unswayed.words import labels, labels_between, number_end, range_text, shorten

_LINES = 40
_TABLE = (
    "name", "column", "level", "base", "per", "wrong labels", "labels", "value", "low", "high",
    "verdict", "keeps_sign", "minimum_budget", "enough", "standard_error", "confidence_low",
    "confidence_high",
)  # fmt: skip
_INTERVAL = ("confidence_low", "confidence_high")
_ODDS = ("odds_ratio", "odds_ratio_low", "odds_ratio_high")


def coefficients(train: Path, options: CoefficientsOptions) -> int:
    """Answer ``unswayed coefficients``."""
    terminal, out, certificates = Terminal(options.output), options.out, options.certificates
    request = make_request(train, options.data, options.bias, options.model, options.kinds)
    check_output(out, "--out", TABLES, *request.files)
    check_output(certificates, "--certificates", (".json",), *request.files, out)
    if certificates is not None:
        check_recipe(request)
    study = open_study(request, terminal, need_test=False)
    asked = Asked(
        split_names(options.base), split_names(options.coefficients), options.standardised
    )
    found = effects_of(study, asked)
    if out is not None:
        heads = _TABLE if request.kind.linear else (*_TABLE, *_ODDS)
        rows = _lines(found)
        table = {head: [each.get(head) for each in rows] for head in heads}
        write_table(out, table, escape=options.escape_formulas)
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


def _lines(found: Effects) -> list[dict[str, Any]]:
    """Return a line of the table for every coefficient at every budget."""
    rows = [*found.rows, *([] if found.intercept is None else [found.intercept])]
    return [
        _at(row, at) | {"wrong labels": budget["budget"], "labels": budget["labels"]}
        for at, budget in enumerate(found.budgets)
        for row in rows
    ]


def _at(row: dict[str, Any], at: int) -> dict[str, Any]:
    """Return a coefficient with its range and verdict at one of the budgets."""
    return row | row["budgets"][at] if row.get("budgets") else row


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
        "sampling": found.sampling,
        "budgets": found.budgets,
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
    terminal.say()
    for at in range(len(facts["budgets"])):
        _show_ranges(terminal, facts, at, odds=not kind.linear)
    if facts["intercept"] is not None:
        terminal.say(f"{facts['intercept']['name']}: {facts['intercept']['meaning']}")
        terminal.say()
    _show_chance(terminal, facts)


def _show_ranges(terminal: Terminal, facts: dict[str, Any], at: int, *, odds: bool) -> None:
    """Print the proven ranges at one of the budgets."""
    found = [_at(each, at) for each in facts["coefficients"]]
    if found:
        terminal.say(_count(facts, facts["budgets"][at]), style="bold")
    ratios = ["odds ratio"] if odds else []
    lines = [
        [*_numbers(each), *(_odds(each) for _ in ratios), each["sign"], _budget(each)]
        for each in found[:_LINES]
    ]
    if facts["intercept"] is not None:
        # A range for the intercept, too; whether it is above 0 is nothing that anybody asks.
        each = _at(facts["intercept"], at)
        sign = "" if each["verdict"] != NOT_IDENTIFIED else NOT_IDENTIFIED
        lines.append([*_numbers(each), *("" for _ in ratios), sign, ""])
    terminal.table(
        ["coefficient", "value", "low", "high", *ratios, "sign", "flipped by"],
        lines,
        left=(0, 4 + len(ratios)),
    )
    if len(found) > _LINES:
        terminal.say(f"… and {len(found) - _LINES:,} more: --out FILE.csv has them all")
    terminal.say()


def _show_chance(terminal: Terminal, facts: dict[str, Any]) -> None:
    """Print standard errors and confidence intervals, and how they differ from what is proven."""
    intercept = facts["intercept"]
    found = [*facts["coefficients"][:_LINES], *([] if intercept is None else [intercept])]
    found = [each for each in found if not math.isnan(each["standard_error"])]
    if found:
        proven = f"proven at {facts['budgets'][0]['budget']}"
        terminal.table(
            ["coefficient", "standard error", "95 % confidence interval", proven],
            [
                [
                    each["name"],
                    number_end(each["standard_error"], digits=4),
                    " to ".join(number_end(each[end], digits=4) for end in _INTERVAL),
                    range_text(each["low"], each["high"], digits=4),
                ]
                for each in found
            ],
        )
    terminal.say(facts["sampling"])
    terminal.say()


def _count(facts: dict[str, Any], asked: dict[str, Any]) -> str:
    total, budget = facts["total"], asked["budget"]
    are = "is" if asked["labels"] == 1 else "are"
    one = "coefficient keeps its sign" if total == 1 else "coefficients keep their sign"
    said = asked["labels_in_words"].removeprefix(labels(asked["labels"]))
    text = f"{asked['kept']:,} of {total:,} {one} if up to {labels(asked['labels'])} ({budget}"
    text += f"{' of all' if said and '%' in budget else ''}{said}) {are} wrong"
    if asked["undecided"]:
        text += f"; {asked['undecided']:,} undecided"
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
