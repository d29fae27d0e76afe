"""``unswayed verify``: check a certificate file without trusting the program that wrote it."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from unswayed.cli.commands import VerifyOptions, WitnessOptions
from unswayed.cli.requests import by_size, check_outputs, in_pieces, make_request, opened_study
from unswayed.cli.show import introduce, positive_in_words, show_changes, show_wide
from unswayed.cli.terminal import ProgressLines, Terminal, write_table
from unswayed.exceptions import InputError
from unswayed.study.facts import beside, need_radius, witness_facts
from unswayed.study.opening import CertificateSize
from unswayed.study.study import Study
from unswayed.verify import (
    MOST_NUMBERS,
    CertificateError,
    Report,
    Track,
    schema_text,
    seconds_to_check,
)
from unswayed.verify import verify as check
from unswayed.words import labels, number_end, outside, separated

_LINES = 40
_PATIENCE = 60.0  # seconds: a shorter wait is not worth a word
_HOUR = 3600.0
_PROVEN, _FALSE, _NOTHING = 0, 1, 3  # exit codes; 2 is bad input


def verify(certificates: Path | None, options: VerifyOptions) -> int:
    """Answer ``unswayed verify``."""
    if options.schema:
        sys.stdout.write(schema_text())
        return 0
    if certificates is None:
        raise InputError("name the certificate file, for example unswayed verify c.json")
    terminal = Terminal(options.output)
    try:
        report = check(
            certificates,
            train=options.train,
            test=options.test,
            data=options.data,
            label=options.label,
            track=_track(terminal),
        )
    except CertificateError as error:
        raise InputError(str(error)) from None
    _show_report(terminal, report)
    terminal.answer(asdict(report))
    if report.rejected:
        return _FALSE
    if report.not_reproven:
        return _NOTHING
    if report.collective:  # it is one claim: a part of it that rests on somebody's word is enough
        return _NOTHING if report.undecided else _PROVEN
    return _PROVEN if report.proven else _NOTHING


def checking_time(size: CertificateSize) -> str | None:
    """Return what to say of `unswayed verify` when a file is written: a long wait, or a refusal."""
    numbers = (size.n_rows + size.n_claims) * (size.n_features + 4)
    if numbers > MOST_NUMBERS:
        return (
            f"unswayed verify will refuse this file, which is about {numbers:,} numbers: it reads "
            f"at most {MOST_NUMBERS:,}; certify fewer rows at a time"
        )
    found = seconds_to_check(size.n_rows, size.n_features, size.n_claims, size.n_exact)
    if found <= _PATIENCE:
        return None
    length = f"{found / 60:.0f} minutes" if found < 2 * _HOUR else f"{found / _HOUR:.0f} hours"
    why = ""
    if size.n_exact:
        why = (
            f", since {size.n_exact:,} of its claims were settled in rational arithmetic and have "
            "to be proven so"
        )
    return f"unswayed verify will take about {length} to check this{why}"


def _track(terminal: Terminal) -> Track:
    """Return how progress is shown: as a bar on a terminal, in lines elsewhere."""
    if terminal.error.is_terminal:
        return terminal.track
    return ProgressLines(terminal.note).track


def _show_report(terminal: Terminal, report: Report) -> None:
    for line in report.question.splitlines():
        terminal.say(line)
    if report.collective:
        _show_collective(terminal, report)
        return
    terminal.say(
        f"{report.proven:,} claims proven, {len(report.rejected):,} rejected, "
        f"{report.undecided:,} without a verdict"
        + (f", {len(report.not_reproven):,} not re-proven" if report.not_reproven else ""),
        style="bold",
    )
    if report.proven:
        terminal.say(f"proven: {report.robust:,} robust, {report.not_robust:,} not robust")
        terminal.say(
            f"proven in floating point with error bounds: {report.by_bounds:,}, "
            f"in exact arithmetic: {report.by_exact_arithmetic:,}"
        )
    elif not report.rejected and not report.not_reproven:
        terminal.say("nothing is proven: no claim has a verdict", style="bold")
    if report.stages:
        told = (f"{_STAGES[stage]}: {count:,}" for stage, count in report.stages.items())
        terminal.say(f"verdicts by what proves them: {', '.join(told)}")
    _show_reasons(terminal, report.rejected, "")
    _show_reasons(terminal, report.not_reproven, " not re-proven")


def _show_reasons(terminal: Terminal, reasons: dict[int, str], what: str) -> None:
    for row, reason in list(reasons.items())[:_LINES]:
        terminal.say(f"claim {row}{what}: {reason}")
    if len(reasons) > _LINES:
        terminal.say(f"… and {len(reasons) - _LINES:,} more: --json has them all")


def _show_collective(terminal: Terminal, report: Report) -> None:
    for part in report.collective:
        terminal.say(f"{part.heading}: {_STATUS[part.status]}{part.text}", style="bold")
    arithmetic = "floating point with error bounds"
    if report.exact_rows:
        arithmetic += f", and exact arithmetic for {len(report.exact_rows):,} rows"
    terminal.say(
        f"{report.proven:,} parts of the claim proven, {len(report.rejected):,} rejected, "
        f"{report.undecided:,} not re-proven; in {arithmetic}"
    )


_STAGES = {
    "region": "robust by the region",
    "remainder": "robust by the region and a closer look inside it",
    "witness": "not robust by a witness",
}
_STATUS = {"proven": "proven, ", "rejected": "REJECTED, ", "not re-proven": ""}


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
        introduce(terminal, (*study.notes, *study.last_notes()), facts)
        digits = _digits(study, facts["score"], facts["new_score"])
        _show(terminal, facts, request.groups, digits)
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
) -> None:
    numbers = facts["positive"] is None
    spelled = separated if numbers else str
    said = _scored(facts["score"], facts.get("probability"), digits)
    terminal.say(f"row {facts['row']}: predicted {spelled(facts['prediction'])} ({said})")
    if facts["versus_rest"]:
        terminal.say(positive_in_words(facts))
    terminal.say(facts["data"]["sentence"], facts["alpha_choice"], f"assumed: {facts['bias']}")
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
        terminal.say("", f"the same in all of these rows: {', '.join(same)}")
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
