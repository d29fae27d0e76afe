"""``unswayed audit``: confirm predictions by checking labels that are drawn, without any budget.

The file of an audit keeps the words that it was started with, so that later commands name it alone.
"""

from pathlib import Path
from typing import Any

from cyclopts import App, CycloptsError

from unswayed.cli.checks import (
    AuditDrawOptions,
    AuditRecordOptions,
    AuditStartOptions,
    AuditStatusOptions,
)
from unswayed.cli.options import Train
from unswayed.cli.requests import make_request
from unswayed.cli.show import say_written
from unswayed.cli.terminal import (
    Terminal,
    check_output,
    command_line,
    given,
    write_table,
    write_text,
)
from unswayed.evidence.audit import LabelAudit
from unswayed.evidence.audit_file import read
from unswayed.exceptions import InputError
from unswayed.report.page import without_rows
from unswayed.study.evidence import NEXT, answers_of, audit_facts, start_audit
from unswayed.study.facts import paged, row_facts
from unswayed.study.movement import need_radius
from unswayed.study.opening import open_study
from unswayed.study.request import parse_share
from unswayed.study.review import list_columns
from unswayed.study.study import Study
from unswayed.words import counted, percent

_NAMED = 12  # rows that are named
_NO_OPTIONS = AuditStartOptions()


def start(train: Path, options: AuditStartOptions) -> int:
    """Answer ``unswayed audit start``."""
    terminal = Terminal(options.output)
    if options.out.exists():
        raise InputError(
            f"--out {options.out} exists, and what was recorded in it would be lost; name another "
            "file, or go on with that audit: unswayed audit status " + str(options.out)
        )
    check_output(options.out, "--out", (".json",), train)
    study = _study(train, options, terminal)
    audit = start_audit(study, options, {"words": list(given.get())[2:]})
    facts = audit_facts(study, audit)
    audit.save(options.out)
    _show(terminal, facts)
    say_written(terminal, options.out)
    terminal.say(f"next: unswayed audit draw {options.out} --checks {NEXT} --out to-check.csv")
    terminal.answer({"audit": facts})
    return 0


def draw(path: Path, options: AuditDrawOptions) -> int:
    """Answer ``unswayed audit draw``."""
    terminal = Terminal(options.output)
    check_output(options.out, "--out", (".csv",), path)
    study, audit = _again(path, terminal)
    rows = audit.waiting
    if options.checks:
        aim = None if options.aim is None else parse_share(options.aim, "--aim")
        audit.draw(options.checks, aim=aim)
        rows = audit.waiting  # what was drawn before and has no answer comes first
    write_table(options.out, list_columns(study, rows, {}), escape=options.escape_formulas)
    if not len(rows):
        terminal.say("no label is left whose check could confirm more rows")
    else:
        terminal.say(
            f"{counted(len(rows), 'label')} to check: fill in checked_label, with the label as it "
            "should be, or ? where nobody can tell; what is left empty was not checked",
            style="bold",
        )
    say_written(terminal, options.out)
    terminal.answer({"drawn": study.train.numbers[rows].tolist()})
    return 0


def record(path: Path, answers: tuple[Path, ...], options: AuditRecordOptions) -> int:
    """Answer ``unswayed audit record``."""
    terminal = Terminal(options.output)
    if not answers:
        raise InputError(
            "audit record needs what people found: name the files that audit draw --out wrote, "
            "with checked_label filled in, after the audit's file"
        )
    study, audit = _again(path, terminal)
    found = answers_of(study, audit, answers)
    audit.record(list(found), list(found.values()))
    facts = audit_facts(study, audit)
    _show(terminal, facts)
    terminal.answer({"audit": facts})
    return 0


def status(path: Path, options: AuditStatusOptions) -> int:
    """Answer ``unswayed audit status``."""
    terminal, page = Terminal(options.output), options.page
    check_output(page.report, "--report", (".html", ".htm"), path)
    study, audit = _again(path, terminal)
    found = audit_facts(study, audit)
    facts = row_facts(study, three=False) | {"audit": found}
    facts = without_rows(facts) if page.no_rows else facts
    if page.report is not None:
        # The charts' libraries take a second: only those who want a page pay for them.
        from unswayed.report.render import render_collective

        write_text(page.report, render_collective(paged(facts, command_line(), study)))
    _show(terminal, found)
    say_written(terminal, page.report)
    terminal.answer({"audit": facts["audit"]})
    return 0


def _study(train: Path, options: AuditStartOptions, terminal: Terminal) -> Study:
    request = make_request(train, options)
    study = open_study(request, terminal)
    need_radius(study, "audit start")
    return study


def _again(path: Path, terminal: Terminal) -> tuple[Study, LabelAudit]:
    """Open the study that an audit is about, and the audit itself."""
    words = read(path)[0]["about"].get("words")
    if words is None:
        raise InputError(f"{path} was started in Python: go on with LabelAudit.load")
    app = App(help_flags=(), version_flags=())
    app.default(_started)
    try:
        train, options = app(
            words, exit_on_error=False, print_error=False, result_action="return_value"
        )
    except CycloptsError as error:
        raise InputError(f"{path} was started with options that are not known: {error}") from None
    study = _study(train, options, terminal)
    return study, LabelAudit.load(path, study.model, study.test.features)


def _started(
    train: Train, /, *, asked: AuditStartOptions = _NO_OPTIONS
) -> tuple[Path, AuditStartOptions]:
    return train, asked


def _show(terminal: Terminal, facts: dict[str, Any]) -> None:
    terminal.say(
        f"{facts['confirmed']:,} of {counted(facts['rows'], 'test row')} confirmed after "
        f"{counted(facts['counted'], 'label')}, {facts['wrong']:,} of them wrong",
        style="bold",
    )
    terminal.say(f"proven: {facts['claim']}")
    if facts["waiting"]:
        terminal.say(
            f"{counted(facts['waiting'], 'label')} drawn and not answered: answers count in the "
            "order of the draws, and one that is missing holds up those behind it"
        )
    if facts["refuted"]:
        named = ", ".join(f"{each['row']:,}" for each in facts["refuted"][:_NAMED])
        terminal.say(f"change if only the labels found wrong so far are corrected: rows {named}")
    terminal.say()
    gained = "with enough evidence" if facts["together"] == "all" else "confirmed"
    terminal.table(
        ["further checks", f"{gained}, if none is wrong", ""],
        [
            [f"{each['checks']:,}", f"{each['rows']:,.0f}", percent(each["rows"] / facts["rows"])]
            for each in facts["expected"]
        ],
        left=(),
    )
    terminal.say("simulated: what to expect, and no proof")
    terminal.say()
