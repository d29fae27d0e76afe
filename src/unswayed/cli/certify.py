"""``unswayed certify``: which predictions survive wrong labels, and which do not."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from unswayed.cli.budgets import budget_name
from unswayed.cli.commands import CertifyOptions, WitnessOptions
from unswayed.cli.requests import (
    by_size,
    check_outputs,
    in_pieces,
    make_request,
    opened_study,
    split_names,
)
from unswayed.cli.show import (
    NOTHING_TESTED,
    describe,
    introduce,
    positive_in_words,
    puts_to_the_test,
    say_assumed,
    say_kept,
    say_read,
    say_written,
    show_budgets,
    show_changes,
    show_confidence,
    show_groups,
    show_movement,
    show_noise,
    show_predicted,
    show_quality,
    show_three,
    show_turns,
    show_wide,
)
from unswayed.cli.terminal import (
    Terminal,
    check_output,
    command_line,
    write_table,
    write_text,
)
from unswayed.cli.verify import checking_time
from unswayed.exceptions import InputError
from unswayed.report.page import without_rows
from unswayed.results.rows import probability_ranges
from unswayed.study.answers import class_texts
from unswayed.study.compare import tradeoff
from unswayed.study.effects import Asked
from unswayed.study.evidence import noise_facts
from unswayed.study.facts import beside, report_facts, row_facts, witness_facts
from unswayed.study.movement import need_radius
from unswayed.study.opening import check_recipe, save_certificates
from unswayed.study.request import Request, parse_share
from unswayed.study.stated import InParts
from unswayed.study.study import Study
from unswayed.words import counted, labels, number_end, outside, percent, separated


def certify(train: str, options: CertifyOptions) -> int:
    """Answer ``unswayed certify``."""
    terminal = Terminal(options.output)
    out, report, no_rows = options.out, options.page.report, options.page.no_rows
    certificates, fail_under = options.certificates, options.fail_under
    row, base, with_tradeoff = options.row, options.base, options.with_tradeoff
    pieces = in_pieces(train, options.large, plan=options.plan)
    request = make_request(train, options, pieces, searches=True)
    needing_memory = {
        "--certificates": certificates,
        "--noise": options.noise,
        "--with-tradeoff": with_tradeoff,
        "--base": base,
        "--row": row,
    }
    if not any(needing_memory.values()):
        request = by_size(request, terminal.note)
    elif pieces is not None:
        _refuse_in_pieces(needing_memory)
    if options.plan:
        return _show_plan(request, terminal)
    if options.folds is not None and with_tradeoff:
        raise InputError(
            f"--with-tradeoff: the trade-off is of one model per {request.kind.option}; leave "
            "--folds out, or ask for it with unswayed tradeoff"
        )
    _check_report(report, row, base, with_tradeoff, no_rows=no_rows)
    proofs = _certificate_files(certificates, request.folds)
    least = None if fail_under is None else parse_share(fail_under, "--fail-under")
    noise = None if options.noise is None else parse_share(options.noise, "--noise")
    check_outputs(request, out, report)
    for path in proofs:
        check_output(path, "--certificates", (".json",), *request.files, out)
        check_recipe(request)
    asked_for = replace(
        request,
        keep=bool(proofs),
        ranges=out is not None,
        least=(out is not None or report is not None) and "choice" not in request.kind.can,
    )
    with opened_study(asked_for, terminal) as study:
        needing = {"--fail-under": fail_under, "--certificates": certificates}
        for option in (name for name, value in needing.items() if value is not None):
            need_radius(study, option)
        points = tradeoff(request, terminal)[1] if with_tradeoff else None
        chosen = _chosen(study, row)
        facts = row_facts(study, slider=report is not None, folds=True)
        if noise is not None:
            facts["noise"] = noise_facts(study, noise)
        page = None
        if report is not None:
            # The charts' libraries take a second: only those who want a page pay for them.
            from unswayed.report.render import render

            page = render(
                report_facts(
                    study,
                    facts,
                    command=command_line(),
                    tradeoff=points,
                    chosen=chosen,
                    asked=Asked(bases=split_names(base)),
                    no_rows=no_rows,
                )
            )
        if out is not None:
            write_table(out, _answer_table(study), escape=options.escape_formulas)
        remarks = _prove(study, proofs)
        if report is not None and page is not None:
            write_text(report, page)
        _show(terminal, study, facts)
        say_written(terminal, out, *proofs, report)
        introduce(terminal, filter(None, (*study.notes, *remarks, *study.last_notes())), facts)
        main, tested = facts["budgets"][0], puts_to_the_test(facts)
        passed = least is None or (tested and main["rate"] >= least)
        if not passed:
            below = f"{percent(main['rate'], -1)} is below --fail-under {fail_under}"
            terminal.note(below if tested else f"--fail-under {fail_under} {NOTHING_TESTED}")
        terminal.answer(
            (without_rows(facts) if no_rows else facts) | study.pass_facts() | {"passed": passed}
        )
        return 0 if passed else 1


def _prove(study: Study, proofs: Sequence[Path]) -> list[str | None]:
    """Write certificates, and return what to say of checking them."""
    models = study.scheme.studies(study) if proofs else ()
    remarks = [
        checking_time(save_certificates(part, part.certificates, path))
        for path, part in zip(proofs, models, strict=False)
    ]
    stated = study.request.stated
    return remarks if stated is None or not proofs else [*remarks, stated.to_verify(study.request)]


def _refuse_in_pieces(given: dict[str, Any]) -> None:
    """Raise, because an option of this command needs all training rows in memory."""
    from unswayed.study.source import refusal

    whole = "leave it out, or pass one file that fits into memory"
    reasons = {
        "--certificates": ("a certificate file is checked with all training rows", whole),
        "--noise": ("it looks at every single label", whole),
        "--with-tradeoff": ("it fits a model for every alpha", whole),
        "--base": ("the page has no coefficients then", "leave it out"),
        "--row": (
            "the page then shows no training rows",
            "ask unswayed witness about the row, with the same options",
        ),
    }
    first = next(option for option, value in given.items() if value)
    raise refusal(first, *reasons[first])


def _certificate_files(path: Path | None, folds: int | None) -> list[Path]:
    """Return the files of ``--certificates``: a file is about one model, and a fold has its own."""
    if path is None:
        return []
    if folds is None:
        return [path]
    return [path.with_stem(f"{path.stem}-{fold}") for fold in range(1, folds + 1)]


def _check_report(
    report: Path | None,
    rows: Sequence[int],
    bases: Sequence[str],
    with_tradeoff: bool,
    *,
    no_rows: bool,
) -> None:
    """Raise if options are about a report that nobody asked for."""
    if rows and no_rows:
        raise InputError("--row shows a row in full and --no-rows shows none; pass one of them")
    about = (
        (rows, "--row names a row to show in the report", "witness about the row"),
        (bases, "--base is about the coefficients in the report", "coefficients about them"),
        (with_tradeoff, "--with-tradeoff puts a chart into the report", "tradeoff"),
    )
    for given, what, instead in about:
        if given and report is None:
            raise InputError(
                f"{what}, and there is none; pass --report FILE.html, or ask unswayed {instead}"
            )


def _chosen(study: Study, rows: Sequence[int]) -> list[int]:
    """Return the positions of the rows that the report is to show in full."""
    positions = {int(number): at for at, number in enumerate(study.test.numbers)}
    for row in rows:
        if row not in positions:
            some = ", ".join(map(str, list(positions)[:5]))
            raise InputError(
                f"--row {row} is no test row, so it was not certified; test rows are {some}, … "
                "(pass other rows with --test)"
            )
    return [positions[row] for row in rows]


def _answer_table(study: Study) -> dict[str, Any]:
    """Return the columns of ``--out``, with one entry per test row."""
    answers, numbers = study.answers, study.test.numbers
    columns: dict[str, Any] = {
        "row": numbers,
        **_where(study),
        **({} if study.fold is None else {"fold": study.fold}),
        "prediction": study.predictions,
    }
    if study.test.labels is not None:
        columns["label"] = [study.target.as_text(label) for label in study.test.labels.tolist()]
    columns |= {
        "score": study.target.natural(answers.score),
        "low": study.target.natural(answers.low, -math.inf),
        "high": study.target.natural(answers.high, math.inf),
    }
    if study.target.several:
        columns["becomes"] = class_texts(study, answers.rival.tolist())
    if study.request.kind.log_odds:
        names = ("probability", "probability_low", "probability_high")
        ranges = probability_ranges(answers.score, answers.low, answers.high)
        columns |= dict(zip(names, ranges, strict=True))
    if study.target.task == "classification" or study.request.radius is not None:
        columns |= {
            "verdict": [str(verdict) for verdict in answers.verdict],
            "minimum_budget": answers.minimum_budget,
            "minimum_budget_proven": answers.minimum_budget_proven,
        }
        if study.request.stated is not None:
            columns["minimum_budget_unit"] = [study.unit] * len(numbers)
        if "exact" not in study.request.kind.can:
            columns["enough"] = answers.enough
    return columns | {f"group_{name}": study.groups(name) for name in study.request.groups}


def _where(study: Study) -> dict[str, Any]:
    """Return file and row of test rows that are of several files."""
    if study.places is None:
        return {}
    return {
        "file": [place.file for place in study.places],
        "row_in_file": [place.row for place in study.places],
    }


def _show(terminal: Terminal, study: Study, facts: dict[str, Any]) -> None:
    """Print the answer, then the tables, then what was asked and how good the model is."""
    if facts["undecided"] is None:
        show_movement(terminal, facts)
    else:
        _show_kept(terminal, study, facts)
    describe(terminal, facts)
    show_quality(terminal, facts)
    terminal.say()


def _show_kept(terminal: Terminal, study: Study, facts: dict[str, Any]) -> None:
    """Print which rows are robust; options that leave fewer undecided are the study's."""
    say_kept(terminal, facts)
    say_assumed(terminal, facts)
    terminal.say()
    show_budgets(terminal, facts)
    show_three(terminal, facts)
    show_noise(terminal, facts)
    if facts["undecided"]:
        hint = "" if study.request.resolve else "; --resolve exact settles them"
        if facts["kind"] == "search":
            hint = f"; a given alpha ({facts['alpha']:g}, say) leaves fewer"
        elif facts["kind"] != "ridge":
            effort = "" if study.request.effort == 2 else "--effort 2, "
            hint = (
                f"; {effort}a smaller --C, rare categories joined to others, or far-out numbers "
                "capped leave fewer"
            )
        budget = budget_name(facts, facts["budgets"][0])
        terminal.say(f"undecided at {budget}: {counted(facts['undecided'], 'row')}{hint}")
    show_predicted(terminal, facts)
    show_turns(terminal, facts)
    for grouping in facts["groups"]:
        show_groups(terminal, facts, grouping)
    show_confidence(terminal, facts)
    terminal.say()


# ----------------------------------------------------------------------------------------
# ``--plan``: what passes over files would take.

_UNITS = (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3))


def _show_plan(request: Request, terminal: Terminal) -> int:
    """Print what a request would take, and do nothing."""
    from unswayed.study.plan import plan_of

    plan = plan_of(request)
    about = "about " if plan["rows_estimated"] else ""
    held = " (held out)" if plan["held_out"] else ""
    columns, features = counted(plan["columns"], "column"), counted(plan["features"], "feature")
    terminal.say(
        f"{counted(plan['files'], 'file')}, {byte_size(plan['bytes'])}, {about}{plan['rows']:,} "
        f"rows; {columns} make at least {features}; {plan['test_rows']:,} test rows{held}"
    )
    if plan["first_different"] is not None:
        then = (
            "probably few enough that one pass is enough to learn from them"
            if plan["merges"]
            else "probably too many to be held"
        )
        terminal.say(
            f"{plan['first_different']:,} of the first {plan['first_rows']:,} rows are different: "
            f"all in all {then}"
        )
    terminal.say()
    passes = enumerate(plan["passes"], start=1)
    terminal.table(
        ["pass", "what it does", "about"],
        [[str(at), each["what"], duration(each["seconds"])] for at, each in passes],
        left=(1,),
    )
    where = f"on {counted(plan['threads'], 'thread')}"
    if request.pieces.scheduler is not None:
        where = "on one thread of a worker like this machine; all threads of the cluster share it"
    terminal.say(f"together about {duration(plan['seconds'])} {where}", "")
    memory = plan["memory"] | {"together": plan["memory_total"]}
    terminal.table(
        ["memory of a process", "about"],
        [[what, byte_size(amount)] for what, amount in memory.items()],
    )
    terminal.answer(plan)
    return 0


def byte_size(amount: float) -> str:
    """Return a number of bytes as text.

    >>> byte_size(12), byte_size(3_200_000)
    ('12 bytes', '3.2 MB')
    """
    for name, unit in _UNITS:
        if amount >= unit:
            return f"{amount / unit:.3g} {name}"
    return f"{amount:,.0f} bytes"


def duration(seconds: float) -> str:
    """Return a time as text.

    >>> duration(0.2), duration(90), duration(7300)
    ('1 second', '2 minutes', '2 hours')
    """
    for unit, length in (("hour", 3600), ("minute", 60)):
        if seconds >= 1.5 * length:
            return counted(round(seconds / length), unit)
    return counted(max(1, round(seconds)), "second")


# --- ``unswayed witness``: which labels overturn one prediction ----------------------------


_FEWEST = 6  # digits of a score


def witness(train: str, options: WitnessOptions) -> int:
    """Answer ``unswayed witness``."""
    terminal, row, out = Terminal(options.output), options.row, options.out
    request = make_request(train, options, in_pieces(train, options.large))
    check_outputs(request, out)
    with opened_study(by_size(request, terminal.note), terminal, row) as study:
        need_radius(study, "witness")
        at = _position(study, row)
        facts = witness_facts(study, at)
        if facts["undecided"] and not study.searches:
            raise InputError(
                f"whether any label changes overturn row {row} is hidden by rounding; pass "
                "--resolve exact to settle it in rational arithmetic"
            )
        if facts["overturned"] and out is not None:
            changes = facts["changes"]
            columns = {head: [each[head] for each in changes] for head in changes[0]}
            write_table(out, columns, escape=options.escape_formulas)
        digits = _digits(study, facts["score"], facts["new_score"])
        limited = isinstance(request.stated, InParts) and len(request.stated.terms) > 1
        asks = options.bias.budget and options.folds is None
        beyond = _beyond(study, at, facts) if asks else None
        _show_witness(terminal, facts | {"limited": limited, "beyond": beyond}, study, digits)
        introduce(terminal, (*study.notes, *study.last_notes()), facts)
        terminal.answer(facts | study.pass_facts())
    return 0


def _beyond(study: Study, at: int, facts: dict[str, Any]) -> str | None:
    """Say that the labels are more than the budget allows, where fewer are proven not to do it."""
    most = study.count(study.request.budget)
    if study.unit != "labels" or not facts["overturned"] or facts["labels"] <= most:
        return None
    if not study.minimum_budgets(np.array([at])).low[0] > most:  # rounding may hide it
        return None
    allowed = f"{labels(int(most))} ({study.request.budget.text})"
    return f"the budget allows {allowed}: within it, no wrong labels change this prediction"


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
    if len(study.train) and row not in study.train.numbers:
        raise InputError(
            f"--row {row} of {path} is no test row: it misses a value (--missing drop) or is set "
            "aside to choose alpha; pass the row with --test"
        )
    some = ", ".join(str(number) for number in study.test.numbers[:5])
    raise InputError(
        f"--row {row} is not held out, so it is no test row; held out are {some}, … "
        "(the same --seed and --holdout as certify, please), or pass the row with --test"
    )


# --- for people -----------------------------------------------------------------------------


def _digits(study: Study, score: float, after: float | None) -> int:
    """Return with how many digits both scores still show that the prediction is overturned."""
    if after is None:
        return _FEWEST
    if study.target.several:  # leads, which are named with their classes
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


def _show_witness(
    terminal: Terminal,
    facts: dict[str, Any],
    study: Study,
    digits: int,
) -> None:
    numbers, what = not study.target.classes, "lead" if study.target.several else "score"
    spelled = separated if numbers else str
    said = _scored(what, facts["score"], facts.get("probability"), digits)
    predicted = f"row {facts['row']} is predicted {spelled(facts['prediction'])} ({said})"
    asked = [f"assumed: {facts['bias']}", facts["alpha_choice"]]
    asked += [positive_in_words(facts)] if facts["versus_rest"] else []
    features = facts["features"]
    if not facts["overturned"]:
        terminal.say(_not_overturned(facts), style="bold")
        terminal.say(predicted, *asked)
        say_read(terminal, facts)
        terminal.say()
        show_wide(terminal, [{"row": str(facts["row"]), **features}], list(features), ["row"])
        return
    changes = facts["changes"]
    one = len(changes) == 1 or facts["labels_in_words"].startswith(("1 cluster", "a "))
    verb = "overturns" if one else "overturn"
    comma = "," if ", " in facts["labels_in_words"] else ""
    terminal.say(f"{facts['labels_in_words']}{comma} {verb} row {facts['row']}.", style="bold")
    if "proven_not_to" in facts:
        terminal.say(_smallest(facts))
    terminal.say(facts["beyond"], predicted, *asked)
    say_read(terminal, facts)
    terminal.say()
    # Columns whose cells are those of the row throughout say nothing about the labels.
    first = {beside(name) for name in study.request.groups}
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
        terminal.say("", f"the same in all of these rows: {', '.join(same)}")
    terminal.say()
    how = "refitted on" if facts["refitted"] else "by the engine's sums (without a refit), with"
    said = _scored(what, facts["new_score"], facts.get("new_probability"), digits)
    new = spelled(facts["new_prediction"])
    terminal.say(f"{how} these labels, the model says {new} ({said})")


def _scored(what: str, score: float, probability: float | None, digits: int) -> str:
    if probability is None:
        return f"{what} {number_end(score, digits=digits)}"
    return f"probability {number_end(probability, digits=4)}, log-odds {number_end(score)}"


def _not_overturned(facts: dict[str, Any]) -> str:
    """Say that no labels overturn a row, or how much is known of that."""
    if not facts["undecided"]:
        if facts["limited"]:
            return "No label changes within the limits of the parts overturn it."
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
