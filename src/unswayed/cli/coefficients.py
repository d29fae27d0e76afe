"""``unswayed coefficients``: which coefficients keep their sign."""

import math
from pathlib import Path
from typing import Any

from unswayed.cli.budgets import amount_between, budget_name, say_source, wrong_in_words
from unswayed.cli.commands import CoefficientsOptions
from unswayed.cli.requests import check_outputs, make_request, split_names
from unswayed.cli.show import introduce, model_in_words, positive_in_words, say_read, say_written
from unswayed.cli.terminal import Terminal, check_output, write_table
from unswayed.cli.verify import checking_time
from unswayed.exceptions import InputError
from unswayed.report.facts import NOT_IDENTIFIED
from unswayed.study.effects import Asked, effects_of
from unswayed.study.facts import coefficient_facts
from unswayed.study.opening import check_recipe, open_study, save_certificates
from unswayed.words import number_end, range_text, shorten

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
    request = make_request(train, options, asks="coefficients")
    check_outputs(request, out)
    check_output(certificates, "--certificates", (".json",), *request.files, out)
    if certificates is not None:
        check_recipe(request)
    study = open_study(request, terminal, need_test=False)
    asked = Asked(
        split_names(options.base), split_names(options.coefficients), options.standardised
    )
    found, claims = effects_of(study, asked)
    facts = coefficient_facts(study, found, asked)
    if out is not None:
        heads = (*_TABLE, *_ODDS) if request.kind.log_odds else _TABLE
        rows = _lines(facts)
        if request.stated is not None:
            heads, rows = (*heads, "unit"), [each | {"unit": facts["unit"]} for each in rows]
        table = {head: [each.get(head) for each in rows] for head in heads}
        write_table(out, table, escape=options.escape_formulas)
    remark = None
    if certificates is not None:
        if not claims:
            raise InputError("--certificates: no coefficient is identified, so nothing is claimed")
        remark = checking_time(save_certificates(study, claims, certificates))
    _show(terminal, facts, log=request.log)
    say_written(terminal, out, certificates)
    introduce(terminal, filter(None, (*facts["notes"], remark)), facts)
    terminal.answer(facts)
    return 0


def _lines(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a line of the table for every coefficient at every budget."""
    return [
        _at(row, at) | {"wrong labels": budget["budget"], "labels": budget["labels"]}
        for at, budget in enumerate(facts["budgets"])
        for row in filter(None, (*facts["coefficients"], facts["intercept"]))
    ]


def _at(row: dict[str, Any], at: int) -> dict[str, Any]:
    """Return a coefficient with its range and verdict at one of the budgets."""
    return row | row["budgets"][at] if row.get("budgets") else row


def _show(terminal: Terminal, facts: dict[str, Any], *, log: bool) -> None:
    found = facts["coefficients"]
    if found:
        terminal.say(f"{_count(facts, facts['budgets'][0])}.", style="bold")
    terminal.say(f"assumed: {facts['bias']}")
    if found:
        terminal.say(f"coefficients are {facts['meaning']}: {_units(facts)}")
        levels = {each["column"]: each["base"] for each in found if each["base"] is not None}
        if levels:
            named = ", ".join(f"{shorten(column)} = {base}" for column, base in levels.items())
            terminal.say(f"base levels: {named}")
    terminal.say()
    for at, budget in enumerate(facts["budgets"]):
        if at and found:
            terminal.say(_count(facts, budget), style="bold")
        _show_ranges(terminal, facts, at, odds=facts["kind"] != "ridge")
    if facts["intercept"] is not None:
        terminal.say(f"{facts['intercept']['name']}: {facts['intercept']['meaning']}", "")
    _show_chance(terminal, facts)
    what = f"{facts['task']}{' of its logarithm' if log else ''}"
    if facts["classes"]:
        what += f", {positive_in_words(facts)}"
    rows = f"{facts['train_rows']:,} training rows"
    terminal.say(f"{facts['label']}: {what}; {model_in_words(facts)}; {rows}")
    terminal.say(facts["alpha_choice"])
    say_read(terminal, facts)


def _show_ranges(terminal: Terminal, facts: dict[str, Any], at: int, *, odds: bool) -> None:
    """Print the proven ranges at one of the budgets."""
    found = [_at(each, at) for each in facts["coefficients"]]
    if found:
        say_source(terminal, facts)
    ratios = ["odds ratio"] if odds else []
    lines = [
        [*_numbers(each), *(_odds(each) for _ in ratios), each["sign"], _budget(facts, each)]
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
    known = filter(None, (*facts["coefficients"][:_LINES], facts["intercept"]))
    found = [each for each in known if not math.isnan(each["standard_error"])]
    if found:
        proven = f"proven at {budget_name(facts, facts['budgets'][0])}"
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
    terminal.say(facts["sampling"], "")


def _count(facts: dict[str, Any], asked: dict[str, Any]) -> str:
    total = facts["total"]
    one = "coefficient keeps its sign" if total == 1 else "coefficients keep their sign"
    text = f"{asked['kept']:,} of {total:,} {one} if {wrong_in_words(facts, asked)}"
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


def _budget(facts: dict[str, Any], coefficient: dict[str, Any]) -> str:
    if coefficient["verdict"] == NOT_IDENTIFIED:
        return "–"
    return amount_between(facts["unit"], coefficient["minimum_budget"], coefficient["enough"])


def _odds(coefficient: dict[str, Any]) -> str:
    """Return the range of an odds ratio as a text."""
    if coefficient["verdict"] == NOT_IDENTIFIED:
        return "–"
    return range_text(coefficient["odds_ratio_low"], coefficient["odds_ratio_high"], digits=4)
