"""``unswayed compare``: two files, or two settings of one, on the same test rows."""

import math
import shlex
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from cyclopts import App, CycloptsError

from unswayed.atomic import atomic_write
from unswayed.cli.budgets import budget_name, say_source
from unswayed.cli.commands import CompareOptions, TradeoffOptions
from unswayed.cli.options import KindOptions, ModelOptions, SideOptions
from unswayed.cli.requests import check_outputs, make_request, split_names
from unswayed.cli.show import (
    describe,
    introduce,
    model_in_words,
    positive_in_words,
    say_assumed,
    say_read,
    say_written,
    show_three,
)
from unswayed.cli.terminal import (
    Terminal,
    as_rows,
    check_output,
    command_line,
    write_table,
    write_text,
)
from unswayed.exceptions import InputError
from unswayed.report.page import without_rows
from unswayed.study.compare import Comparison
from unswayed.study.compare import tradeoff as tradeoff_of
from unswayed.study.facts import paged, row_facts
from unswayed.study.kinds import DESCENT, RIDGE, Kind
from unswayed.study.opening import open_study
from unswayed.study.request import Request, parse_alpha, parse_steps, parse_strength
from unswayed.study.study import Study
from unswayed.words import (
    between,
    counted,
    labels,
    number_end,
    percent,
    points,
    separated,
    share_range,
    shorten,
    signed,
    suggest,
)

_LINES = 10
_NO_OPTIONS = SideOptions()
_INTERVALS = (
    "as the test rows are a sample: Wilson's for rates, Newcombe's for paired shares (with "
    "McNemar's exact test) for changes"
)


def compare(train: Path, second: Path | None, options: CompareOptions) -> int:
    """Answer ``unswayed compare``."""
    terminal, against, without = Terminal(options.output), options.against, options.without
    out, report, no_rows = options.out, options.page.report, options.page.no_rows
    groups = split_names(options.groups)
    one = replace(make_request(train, options.first), groups=groups)
    other = make_request(second or train, _overridden(options.first, against or ""))
    left_out = tuple(dict.fromkeys((*other.ignore, *split_names(without))))
    other = replace(other, groups=groups, ignore=left_out)
    if one == other:
        raise InputError(
            "there is nothing to compare: pass a second file, options that differ, such as "
            '--against "--alpha 100", or a column to leave out with --without'
        )
    check_outputs(one, out, report, *other.files)
    studies = [open_study(one, terminal)]
    _check_without(studies[0], split_names(without))
    studies.append(open_study(other, terminal))
    names = ("first", "second")
    if second is not None and second.name != train.name:
        names = (train.name, second.name)
    both = Comparison.of(studies[0], studies[1], names)
    facts = both.facts() | {"difference": _difference(second, against, without)}
    shown = (without_rows(facts) if no_rows else facts) | {"no_rows": no_rows}
    page = None
    if report is not None:
        # Templates take their time: only those who want a page pay for them.
        from unswayed.report.render import render_comparison

        page = render_comparison(paged(shown, command_line(), *studies))
    if out is not None:
        write_table(out, both.table(), escape=options.escape_formulas)
    if report is not None and page is not None:
        write_text(report, page)
    _show(terminal, facts)
    say_written(terminal, out, report)
    introduce(terminal, dict.fromkeys(note for study in studies for note in study.notes), facts)
    terminal.answer(shown)
    return 0


def _check_without(study: Study, names: tuple[str, ...]) -> None:
    for name in names:
        if name not in study.feature_columns:
            raise InputError(
                f"--without: the first model has no feature {shorten(name)!r}; "
                f"{suggest(name, study.feature_columns)}"
            )


def _overridden(given: SideOptions, text: str) -> SideOptions:
    """Return the options of the first, with those in a text instead of its own."""
    try:
        tokens = shlex.split(text)
    except ValueError as error:
        raise InputError(f"--against {text!r} is not a list of options: {error}") from None
    if tokens and not tokens[0].startswith("--"):
        raise InputError(
            f'--against {text!r} must hold options, such as --against "--alpha 100"; name a '
            "second file right after the first"
        )
    app = App(help_flags=(), version_flags=())
    app.default(_side)
    try:
        found: SideOptions = app(
            tokens, exit_on_error=False, print_error=False, result_action="return_value"
        )
    except CycloptsError as error:
        raise InputError(f"--against {text!r}: {error}") from None
    named = {token.split("=")[0] for token in tokens if token.startswith("--")}
    return replace(given, **_changes(given, found, named))


def _side(*, side: SideOptions = _NO_OPTIONS) -> SideOptions:
    """Return what ``--against`` holds."""
    return side


def _changes(mine: Any, other: Any, named: set[str]) -> dict[str, Any]:
    """Return the fields of a set of options that are named, with the values of another set."""
    chosen: dict[str, Any] = {}
    for each in fields(mine):
        own: Any = getattr(mine, each.name)
        found = getattr(other, each.name)
        if is_dataclass(each.type):
            chosen[each.name] = replace(own, **_changes(own, found, named))
        elif f"--{each.name.replace('_', '-')}" in named:
            chosen[each.name] = found
    return chosen


def _difference(second: Path | None, against: str | None, without: tuple[str, ...]) -> str:
    """Say in what the second differs from the first."""
    parts = [f"with {against.strip()}"] if against else []
    parts += [f"without {', '.join(split_names(without))}"] if without else []
    return " ".join([*([] if second else ["the same"]), *parts])


def _change(rates: list[float]) -> str:
    return f"{signed(rates[1] - rates[0])} pt"


def _show_undecided(terminal: Terminal, facts: dict[str, Any]) -> None:
    """Say how many rows are neither robust nor overturned: a rate is what is proven."""
    for name, side in zip(facts["names"], (facts["first"], facts["second"]), strict=True):
        left = [
            f"{counted(each['undecided'], 'row')} at {each['budget']}"
            for each in side["budgets"]
            if each["undecided"]
        ]
        if left:
            terminal.say(f"undecided, {name}: {', '.join(left)}; at least what is proven is robust")


def _between(sides: list[list[float]], change: list[float]) -> list[str]:
    """Return the intervals of two rates and of their change, which stand below them."""
    return [*map(between, sides), " to ".join(map(signed, change))]


def _show(terminal: Terminal, facts: dict[str, Any]) -> None:
    one, other = facts["first"], facts["second"]
    sides = list(zip(facts["names"], (one, other), strict=True))
    what = "another prediction" if one["classes"] else "a prediction further away than the radius"
    get = "gets" if facts["changed"] == 1 else "get"
    terminal.say(
        f"{facts['changed']:,} of {facts['test_rows']:,} test rows {get} {what} from the second "
        "model.",
        style="bold",
    )
    for (name, side), what in zip(sides, ("", facts["difference"]), strict=True):
        model = f"{model_in_words(side)}, {side['train_rows']:,} training rows"
        terminal.say(f"{name}: {what}{'; ' if what else ''}{model}", side["alpha_choice"])
    for side in {side["data"]["sentence"]: side for _, side in sides}.values():
        say_read(terminal, side)
    for versus in dict.fromkeys(
        positive_in_words(each) for _, each in sides if each["versus_rest"]
    ):
        terminal.say(versus)
    if one["bias"] == other["bias"]:
        sides = [("assumed", one)]
    for name, side in sides:
        terminal.say(f"{name}: {'' if name == 'assumed' else 'assumed '}{side['bias']}")
    if one["keeps"] != other["keeps"]:
        terminal.say(f"robust rows {one['keeps']}; of the second, {other['keeps']}")
    terminal.say(f"{facts['test_rows']:,} test rows; {facts['matched']}", "")
    _show_rates(terminal, facts)
    _show_undecided(terminal, facts)
    for name, side in zip(facts["names"], (one, other), strict=True):
        show_three(terminal, side, of=name)
    for grouping in facts["groups"]:
        _show_groups(terminal, facts, grouping)
    terminal.say("", f"between: {100 * facts['confidence']:g} % confidence intervals, {_INTERVALS}")
    if facts["rows_changed"]:
        _show_rows(terminal, facts)


def _budgets(facts: dict[str, Any], at: int) -> str:
    """Return a budget of both, with its unit unless that is labels."""
    sides = (facts["first"], facts["second"])
    return " / ".join(dict.fromkeys(budget_name(side, side["budgets"][at]) for side in sides))


def _show_rates(terminal: Terminal, facts: dict[str, Any]) -> None:
    one, other = facts["first"], facts["second"]
    rows = []
    if one["quality"] is not None and other["quality"] is not None:
        found = [one["quality"], other["quality"]]
        name = "accuracy" if one["classes"] else "variance explained (R²)"
        rows.append([name, *map(percent, found), _change(found), "", ""])
    if facts["accuracy"] is not None:
        ends = facts["accuracy"]["intervals"], facts["accuracy"]["change_interval"]
        rows.append(["  between", *_between(*ends), "", ""])
    for at, each in enumerate(facts["budgets"]):
        asked = _budgets(facts, at)
        if each["labels"][0] != each["labels"][1] and one["unit"] == "labels":
            asked += " ({:,} / {:,} labels)".format(*each["labels"])
        kept = [*map(share_range, each["rates"], each["highest_rates"])]
        counts = [f"{each['gained']:,}", f"{each['lost']:,}"]
        rows.append([f"robust at {asked}", *kept, _change(each["rates"]), *counts])
        rows.append(["  between", *_between(each["intervals"], each["change_interval"]), "", ""])
    terminal.table(["", *facts["names"], "change", "rows gained", "lost"], rows)
    say_source(terminal, one)
    within = [_budgets(facts, at) for at, e in enumerate(facts["budgets"]) if e["within_chance"]]
    if within:
        terminal.say(f"at {', '.join(within)} a change this size is within chance")


def _show_groups(terminal: Terminal, facts: dict[str, Any], grouping: dict[str, Any]) -> None:
    asked = _budgets(facts, 0)
    terminal.say()
    terminal.table(
        [f"{grouping['column']} at {asked}", "rows", *facts["names"], "change", ""],
        [
            *(line for each in grouping["groups"] for line in _group(each)),
            ["gap", "", *(f"{points(gap)} pt" for gap in grouping["gaps"][0]), "", ""],
            ["  between", "", *map(between, grouping["gap_intervals"][0]), "", ""],
        ],
        left=(0, 5),
    )


def _group(group: dict[str, Any]) -> list[list[str]]:
    """Return the two lines of a group: rates, and their intervals."""
    rates = group["rates"][0]
    shown = map(share_range, rates, group["highest_rates"][0])
    few = "few rows" if group["small"] else ""
    ends = _between(group["intervals"][0], group["change_intervals"][0])
    return [
        [group["group"], f"{group['rows']:,}", *shown, _change(rates), few],
        ["  between", "", *ends, "within chance" if group["within_chance"][0] else ""],
    ]


def _arrow(texts: list[str]) -> str:
    """Return "one → other", or one alone if they are equal."""
    return " → ".join(dict.fromkeys(texts))


def _show_rows(terminal: Terminal, facts: dict[str, Any]) -> None:
    shown = facts["rows"][:_LINES]
    columns = facts["columns"][:3]
    said, unit = str if facts["first"]["classes"] else separated, facts["first"]["unit"]

    def least(amount: float) -> str:
        counts = unit in ("labels", "clusters") or not math.isfinite(amount)
        return labels(amount).split()[0] if counts else number_end(amount, -1)

    terminal.say("rows that changed most")
    terminal.table(
        [
            "row",
            "prediction",
            f"{unit} that {'overturn' if unit.endswith('s') else 'overturns'} it",
            *columns,
        ],
        [
            [
                str(row["row"]),
                _arrow([said(text) for text in row["prediction"]]),
                _arrow([least(amount) for amount in row["minimum_budget"]]),
                *row["cells"][: len(columns)],
            ]
            for row in shown
        ],
        left=(1, 2, *range(3, 3 + len(columns))),
    )
    if facts["rows_changed"] > len(shown):
        terminal.say("--out FILE.csv has all rows")
    terminal.say()


# --- ``unswayed tradeoff``: accuracy against robustness over alpha, or over C --------------


_CHARTS = (".html", ".svg", ".png")
_BAR = 24


def tradeoff(train: Path, options: TradeoffOptions) -> int:
    """Answer ``unswayed tradeoff``."""
    terminal, out, chart = Terminal(options.output), options.out, options.chart
    side = SideOptions(
        data=options.data,
        split=options.split,
        bias=options.bias,
        kinds=KindOptions(model=options.model, effort=options.effort),
        model=ModelOptions(threshold=options.threshold),
        radius=options.radius,
    )
    request = make_request(train, side)
    if options.steps is not None and request.kind is RIDGE:
        request = replace(request, kind=DESCENT)
    kind = request.kind
    given = {"alphas": options.alphas, "Cs": options.Cs, "steps": options.steps}
    penalties = _penalties(kind, given)
    _check_steps(request)
    check_outputs(request, out)
    check_output(chart, "--chart", _CHARTS, *request.files, out)
    study, points = tradeoff_of(request, terminal, penalties)
    facts = row_facts(study, three=False)
    heads = [budget_name(facts, each) for each in facts["budgets"]]
    name = "accuracy" if facts["classes"] else "r2"
    columns: dict[str, Any] = {
        kind.option: [point["penalty"] for point in points],
        name: [point["quality"] for point in points],
    }
    shown = {"robust": "rates", "undecided": "undecided"}
    if "exact" in kind.can and not any(sum(point["undecided"]) for point in points):
        shown.pop("undecided")
    for said, key in shown.items():
        for at, head in enumerate(heads):
            columns[f"{said} at {head}"] = [point[key][at] for point in points]
    if facts["classes"]:
        columns["always says"] = [point["always"] for point in points]
    if out is not None:
        write_table(out, columns, escape=options.escape_formulas)
    if chart is not None:
        _draw_tradeoff(study, facts, {"budgets": heads, "points": points}, chart)
    _show_tradeoff(terminal, facts, columns, kind.option)
    say_written(terminal, out, chart)
    introduce(terminal, study.notes, facts)
    keys = "task label kind bias train_rows test_rows data columns caveats".split()
    terminal.answer({key: facts[key] for key in keys} | {"points": as_rows(columns)})
    return 0


def _draw_tradeoff(study: Study, facts: dict[str, Any], found: dict[str, Any], chart: Path) -> None:
    """Write the chart, as a page of its own or as a picture."""
    kind = study.request.kind
    if chart.suffix.lower() == ".html":
        from unswayed.report.render import render_collective

        assert study.alpha is not None  # noqa: S101  (no folds here)
        model = facts["model"].replace(
            kind.penalty(study.alpha),
            f"each {'number of steps' if kind is DESCENT else kind.option} of the chart",
        )
        page = facts | {"model": model, "tradeoff": found}
        write_text(chart, render_collective(paged(page, command_line(), study)))
        return
    from unswayed.report.charts import save, tradeoff_chart

    with atomic_write(chart) as beside:
        name = "accuracy" if facts["classes"] else "r2"
        spec = tradeoff_chart(found["points"], found["budgets"], name, kind.option)
        save(spec, beside, chart.suffix.lower())


_READ = {"alphas": parse_alpha, "Cs": parse_strength, "steps": parse_steps}
_SOME = {"alphas": "1,10,100", "Cs": "0.001,0.01,0.1", "steps": "1,10,100"}


def _penalties(kind: Kind, given: dict[str, str | None]) -> tuple[float, ...] | None:
    """Return the penalties that were asked for; None for those of the kind."""
    own = kind.option if kind is DESCENT else f"{kind.option}s"
    for other, value in given.items():
        if other != own and value is not None:
            which = "--steps" if kind is DESCENT else f"--model {kind.name}"
            raise InputError(f"--{other} does not go with {which}; pass --{own} alone")
    text = given[own]
    if text is None:
        return None
    try:
        found = [_READ[own](part) for part in text.split(",")]
    except InputError:
        found = [None]
    known = tuple(each for each in found if each is not None)
    if len(known) < len(found):
        what = "whole numbers, 1 or more" if kind is DESCENT else "penalties"
        raise InputError(f"--{own} {text!r} is not a list of {what}; write {_SOME[own]}")
    return known


def _check_steps(request: Request) -> None:
    """Raise if rows are weighted, which gradient descent does not take."""
    if request.kind is DESCENT and request.weights is not None:
        raise InputError(
            "--steps: gradient descent here gives all rows the same weight; leave --weights out, "
            "or pass --alphas"
        )


def _best(columns: dict[str, Any], option: str, named: dict[str, str]) -> str:
    """Say at which penalty each of several columns is largest; of equal ones the first."""
    parts = []
    for head, name in named.items():
        known = [(value, -at) for at, value in enumerate(columns[head]) if value is not None]
        if known:
            value, at = max(known)
            parts.append(
                f"{name} is highest at {option} {columns[option][-at]:.4g}: {percent(value)}"
            )
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}."


def _show_tradeoff(
    terminal: Terminal, facts: dict[str, Any], columns: dict[str, Any], option: str
) -> None:
    quality = "accuracy" if facts["classes"] else "r2"
    heads = [head for head in columns if head.startswith(("robust", "undecided"))]
    left = heads[-1].startswith("undecided")
    name = "accuracy" if facts["classes"] else "R²"
    named = {quality: name, heads[0]: f"the share {heads[0]}"}
    terminal.say(_best(columns, option, named), style="bold")
    terminal.say()
    rows = []
    for at, penalty in enumerate(columns[option]):
        found, always = columns[quality][at], columns.get("always says", {at: None})[at]
        bar = "" if left else "█" * round(_BAR * columns[heads[0]][at])
        bar = bar if always is None else f"says {always} to (almost) everyone"
        cells = [percent(columns[head][at]) for head in heads]
        rows.append([f"{penalty:.4g}", "" if found is None else percent(found), *cells, bar])
    terminal.table([option, name, *heads, ""], rows, left=(2 + len(heads),))
    terminal.say(
        "robust: one at a time, each row against its own worst labels; unswayed certify says what "
        "one set of wrong labels does to all rows, and random ones"
    )
    say_assumed(terminal, facts)
    describe(terminal, facts | {option: None})
    terminal.say()
