"""Commands that need no file: the tour, the demo, and the paper's experiments."""

import contextlib
import io
import re
import shutil
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unswayed.cli.commands import DemoOptions, InspectOptions, ReproduceOptions
from unswayed.cli.requests import check_columns, dialect_of, refuse_many, split_names
from unswayed.cli.terminal import Terminal, check_output, command_line, write_table
from unswayed.datasets.salary_story import make_hiring_story
from unswayed.exceptions import InputError
from unswayed.report.facts import caveat_dicts
from unswayed.study.loading import OtherFile, inspect_file, look_at
from unswayed.study.target import Target
from unswayed.tables.inspection import Inspection, Roles
from unswayed.words import counted

_UNSEEN = 3  # values shown of a column
_READ = {"other": "neither number nor text", "constant": "constant, left out"}


def inspect(file: Path, options: InspectOptions) -> int:
    """Answer ``unswayed inspect``."""
    terminal, columns, test = Terminal(options.output), options.columns, options.test
    label, positive = columns.label, columns.positive
    refuse_many(file)
    check_columns(columns)
    dialect = dialect_of(columns, file, test)
    roles = Roles(
        label=label,
        positive=positive,
        weights=columns.weights,
        ignore=split_names(columns.ignore),
        features=split_names(columns.features),
        categorical=split_names(columns.categorical),
        numeric=split_names(columns.numeric),
        decimal=dialect.decimal,
    )
    table, found = inspect_file(file, roles, dialect)
    if positive is not None:
        if label is None:
            raise InputError("--positive names a class of the label, so pass --label COLUMN too")
        Target.of(label, table.column(label), None, positive=positive)
    other = None if test is None else look_at(test, table, roles, dialect)
    for note in found.notes:
        terminal.note(note)
    _show(terminal, file.name, found)
    if other is not None:
        _show_other(terminal, other)
    terminal.answer(
        {
            "file": file.name,
            "rows": found.n_rows,
            "columns": [each.to_dict() for each in found.columns],
            "notes": list(found.notes),
            "caveats": caveat_dicts(found.caveats()),
            "test": None if other is None else _facts(other),
        }
    )
    return 0


def _facts(other: OtherFile) -> dict[str, Any]:
    return {
        "file": other.name,
        "rows": other.n_rows,
        "columns": [each.to_dict() for each in other.columns],
        "caveats": caveat_dicts(other.caveats()),
    }


def _show_other(terminal: Terminal, other: OtherFile) -> None:
    terminal.say(f"{other.name}: {counted(other.n_rows, 'row')}, as test rows", "")
    terminal.table(
        ["column", "read as", "values", "missing", "rows unseen", "unseen values"],
        [
            [
                facts["column"],
                facts["there"],
                f"{facts['values']:,}",
                f"{facts['missing']:,}",
                f"{facts['unseen_rows']:,}",
                ", ".join(facts["unseen"][:_UNSEEN]) + ", …" * (len(facts["unseen"]) > _UNSEEN),
            ]
            for facts in (each.to_dict() for each in other.columns)
        ],
        left=(0, 1, 5),
    )
    terminal.say()
    for caveat in other.caveats():
        terminal.warn(f"{other.name}: {caveat}")


def _read_as(facts: dict[str, Any]) -> str:
    if facts["role"] == "ignored":
        return "ignored"
    read = facts["read_as"]
    return _READ.get(read, read) if facts["role"] == "feature" else f"{facts['role']} ({read})"


def _examples(facts: dict[str, Any]) -> str:
    """Return some values of a column, or why there are none."""
    if facts["not_shown"] is not None:
        return f"not shown: {facts['not_shown']}"
    return ", ".join(facts["examples"])


def _show(terminal: Terminal, name: str, found: Inspection) -> None:
    missing = sum(each.n_missing for each in found.columns)
    terminal.say(
        f"{name}: {counted(found.n_rows, 'row')}, {counted(len(found.columns), 'column')}, "
        + (f"{counted(missing, 'missing cell')}" if missing else "no missing cells")
    )
    terminal.say()
    terminal.table(
        ["column", "read as", "values", "missing", "examples"],
        [
            [
                facts["column"],
                _read_as(facts),
                f"{facts['values']:,}",
                f"{facts['missing']:,}",
                _examples(facts),
            ]
            for facts in (each.to_dict() for each in found.columns)
        ],
        left=(0, 1, 4),
    )
    terminal.say()
    for caveat in found.caveats():
        terminal.warn(str(caveat))


# --- Commands that need no file: the tour, the demo, and the paper's experiments -----------


_WIDEST = 80  # characters of a line, also on a wider screen

_OPENING = """\
A company hired some of its applicants, and a model learned from these decisions. Some of them \
were unjust: women were declined who should have been hired. Nobody knows which.

Can anything the model says still be trusted? The answer has seven steps. All of it is computed \
now, on this machine, by the lines you see. The same lines work in your own Python."""

_CLOSING = """\
That was all of it: say which labels may be wrong, ask, and get a proof or the labels that prove \
the opposite.

Where to go next:

  unswayed demo                              this story as a page to explore
  unswayed inspect people.csv --label hired  how a file of yours is read
  unswayed certify people.csv --label hired --budget 1% --report report.html
  unswayed --help                            everything else

In Python: help(unswayed.CertifiedClassifier) and help(unswayed.LabelBias)."""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to understand, and the code that shows it."""

    title: str
    sentence: str
    code: str  # what is shown and what is run
    proves: str
    but: str  # what it does not prove


STEPS = (
    Step(
        "A model learns from decisions",
        "There are 1,200 made-up applicants. The model learns from the decisions about 900 of "
        "them and is asked about the other 300. It is an ordinary model of scikit-learn.",
        """\
from sklearn.linear_model import RidgeClassifier
from unswayed.datasets import make_hiring_story

story = make_hiring_story()
X, y = story.X, story.y  # features and decisions: 900
new, decided = story.X_new, story.y_new  # the other 300

model = RidgeClassifier().fit(X, y)
said = model.predict(new)
print(f"{(said == decided).mean():.1%} are as the company decided")
for group, who in (False, "men"), (True, "women"):
    hired = said[story.women_new == group] == "hired"
    print(f"{who}: {hired.mean():.1%} are to be hired")""",
        "Nothing yet.",
        "That the model is fair: it learned from the unjust decisions as diligently as from the "
        "just ones.",
    ),
    Step(
        "State what may be wrong",
        "A proof needs an assumption, and you make it: only decisions about women may be wrong, "
        "only from declined to hired, and at most 2 % of all decisions. The proof has to hold for "
        "every choice of these.",
        """\
from math import comb
from unswayed import LabelBias

bias = LabelBias.flips(budget=0.02, where=story.women, direction="up")
doubtful = (story.women & (y == "declined")).nonzero()[0]
ways = sum(comb(len(doubtful), wrong) for wrong in range(19))
print(f"up to 18 of {len(doubtful)}: {ways:.0e} ways to be wrong")""",
        "Nothing yet: this is the question. A model could be trained for each of these ways, but "
        "nobody could train them all.",
        "That 2 % is enough. It is for you to judge, and nothing is said about a 19th wrong "
        "decision.",
    ),
    Step(
        "Ask",
        "One pass answers for all these ways at once, because this kind of model is linear in its "
        "labels: how much each decision adds to a score can be written down.",
        """\
from unswayed import CertifiedClassifier

proven = CertifiedClassifier(model, bias=bias).fit(X, y)
certs = proven.certify(new)
print(f"{certs.robust.sum()} of {len(new)} predictions are robust")
assert (proven.predict(new) == said).all()  # it is still the same model""",
        "For each robust row: whichever decisions were the unjust ones, up to 18 of them, a model "
        "trained on the right ones says the same.",
        "That these predictions are right or fair. That is step 7.",
    ),
    Step(
        "A prediction that hangs by a thread",
        "Here is a woman whom the model declines. Which decisions about others keep her out?",
        """\
names = ["education", "experience", "interview"]
form = "{:<8}" + "{:>11}" * 3 + "  {}"


def show(who, row, decision):
    facts = (story.people[name][row - 1] for name in names)
    print(form.format(who, *facts, decision))


her = (story.rows_new == 917).argmax()
witness = certs.witness(her)
print(form.format("", *names, "decision"))
show("she", 917, f"{said[her]} (predicted)")
for index, right in zip(witness.indices, witness.labels):
    row = story.rows[index]
    show(f"row {row}", row, f"{y[index]} -> {right}")
print(f"no fewer than {certs.minimum_budget[her]:g} of {len(y)} do it")""",
        "If these women should have been hired, she is hired too. Fewer changes never do it: "
        "there is no smaller set.",
        "That these decisions were unjust. They are the ones to look at.",
    ),
    Step(
        "Do not believe it: replay it",
        "Anyone can check a witness: change these labels and train scikit-learn's own model "
        "again. Nothing of unswayed takes part.",
        """\
from sklearn.base import clone

changed = y.copy()
changed[witness.indices] = witness.labels
again = clone(model).fit(X, changed)
print(f"before: {said[her]}, after: {again.predict(new)[her]}")""",
        "That her prediction is not robust: it changed before your eyes.",
        "Anything about anybody else's prediction.",
    ),
    Step(
        "Attack a robust one",
        "Now the robust row that comes closest to falling. Change 18 decisions at random, train "
        "again, and do so 200 times.",
        """\
import numpy as np

close = np.where(certs.robust, certs.minimum_budget, np.inf).argmin()


def after(changes):  # what a model says that learned with these changed
    tried = y.copy()
    tried[changes] = "hired"
    return clone(model).fit(X, tried).predict(new[[close]])[0]


rng, fallen = np.random.default_rng(0), 0
for attempt in range(200):
    changes = rng.choice(doubtful, 18, replace=False)
    fallen += after(changes) != said[close]
print(f"{fallen} of 200 random attacks overturn it")

least = int(certs.minimum_budget[close])
best = proven.certify(new[[close]], budget=least).witness(0)
became = after(best.indices)
print(f"the best {least} changes: {said[close]} -> {became}")""",
        "Attacks that fail prove nothing. The certificate does: no 18 changes overturn it. And it "
        "is exact, not cautious: one change more, of the right decisions, and it falls.",
        "That it stands under other assumptions: if decisions about men were wrong too, say.",
    ),
    Step(
        "What robust does not mean",
        "A robust prediction can be robustly wrong.",
        """\
other = certs.robust & (said != decided)
print(f"{other.sum()} of {certs.robust.sum()} robust: not as decided")
print(certs.by_group(np.where(story.women_new, "women", "men")))""",
        "That wrong labels of the stated kind did not make these predictions what they are.",
        "That they are right, or fair, or that features are free of errors. Rates by group tell "
        "whom the doubt concerns; a gap can be chance, so it comes with an interval.",
    ),
)


def tour() -> int:
    """Answer ``unswayed tour``."""
    terminal = Terminal(None)
    waits = sys.stdin.isatty() and sys.stdout.isatty()
    names: dict[str, Any] = {"__name__": "tour"}
    _say(terminal, _OPENING)
    for number, step in enumerate(STEPS, start=1):
        if waits and not _goes_on():
            return 0
        terminal.say()
        terminal.say(f"{number} of {len(STEPS)}: {step.title}", style="bold")
        terminal.say()
        _say(terminal, step.sentence)
        terminal.say()
        terminal.say(textwrap.indent(step.code, "    "), style="cyan")
        terminal.say("", textwrap.indent(_run(step.code, names).rstrip("\n"), "  | "), "")
        _say(terminal, step.proves, "this proves:       ")
        _say(terminal, step.but, "it does not prove: ")
    terminal.say()
    _say(terminal, _CLOSING)
    return 0


def _run(code: str, names: dict[str, Any]) -> str:
    """Run a step's code in the names of the steps before it, and return what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "<tour>", "exec"), names)  # noqa: S102 - a text of this file
    return printed.getvalue()


def _say(terminal: Terminal, text: str, head: str = "") -> None:
    """Print paragraphs, each wrapped; lines that are indented stay as they are."""
    width = min(terminal.width, _WIDEST)
    for line in text.split("\n"):
        whole = line.startswith(" ") or not line
        indent = " " * len(head)
        made = head + line if whole else textwrap.fill(head + line, width, subsequent_indent=indent)
        terminal.say(made)


def _goes_on() -> bool:
    """Wait for Enter; return whether the reader wants to go on."""
    try:
        answer = input("\nEnter: go on, q: stop ")
    except EOFError:
        answer = "q"
    return answer.strip().lower() != "q"


# ----------------------------------------------------------------------------------------
# The demo.

_STORY = """\
A company hired some of {n:,} applicants, and a model learned from these decisions. Some of them
were unjust: women were declined who should have been hired. Nobody knows which. So: which of the
model's predictions would be the same if up to 2 % of the decisions were wrong in that way?"""

_QUESTION = (
    *("--label", "decision", "--ignore", "salary", "--holdout", "25%"),
    *("--only", "gender == 'female'", "--direction", "up", "--budget", "2%"),
)
_HER = "917"  # the row whose witness the tour shows, too


def demo(options: DemoOptions) -> int:
    """Answer ``unswayed demo``."""
    from unswayed.cli.program import run

    terminal, folder = Terminal(options.output), options.folder
    data, report = folder / "unswayed-demo.csv", folder / "unswayed-report.html"
    check_output(data, "--folder", (".csv",))
    people = make_hiring_story().people
    write_table(data, people)
    terminal.say(_STORY.format(n=len(people["decision"])), "")
    command = ["certify", str(data), *_QUESTION, "--groups", "gender"]
    if not options.no_report:
        command += ["--with-tradeoff", "--report", str(report)]
    terminal.say(_folded(f"$ {command_line(command)}"), style="bold")
    flags = [f"--{name}" for name in ("quiet", "json") if getattr(terminal, name)]
    code = run([*command, *flags])
    if code == 0:
        _show_next(terminal, str(data), None if options.no_report else report)
    return code


def _show_next(terminal: Terminal, data: str, report: Path | None) -> None:
    """Say where the page is, how to open it, and three commands to go on with."""
    if report is not None:
        terminal.say("", f"The page is {report}. To open it, give a browser this address:")
        terminal.say(f"  {report.resolve().as_uri()}", style="bold")
    terminal.say("", "Three commands to go on with:")
    for reason, command in (
        (
            f"which decisions keep the woman in row {_HER} out",
            ["witness", data, *_QUESTION, "--row", _HER],
        ),
        (
            "how far the same wrong decisions can move the gap between women and men",
            ["fairness", data, *_QUESTION, "--groups", "gender"],
        ),
        ("what is proven, and what is not, in seven steps", ["tour"]),
    ):
        terminal.say(f"  # {reason}")
        line = command_line(command).replace("unswayed", _program(), 1)
        terminal.say(_folded(f"  {line}"), style="bold")


def _folded(command: str) -> str:
    """Break a command before options, as a shell allows, into lines that terminals do not break."""
    lines = [""]
    for part in re.split(r"(?= --)", command):
        if len(lines[-1] + part) > _WIDEST - len(" \\"):
            lines.append("     ")
        lines[-1] += part
    return " \\\n".join(lines)


def _program() -> str:
    """Return what starts this program from the current folder: its name, or where it is."""
    called, found = Path(sys.argv[0]), shutil.which("unswayed")
    if called.stem != "unswayed" or (found and Path(found).samefile(called)):
        return "unswayed"
    return str(called)


# ----------------------------------------------------------------------------------------
# The paper's experiments.


def reproduce(names: tuple[str, ...], options: ReproduceOptions) -> int:
    """Answer ``unswayed reproduce``."""
    terminal = Terminal(options.output)
    _look_for_checkout()
    try:
        from reproduction.reproduce import reproduce as run_experiments
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "reproduction":
            raise
        raise InputError(
            "the paper's experiments are not part of the installed package; clone the repository, "
            "pip install '.[cli,experiments]' there and run this command in that folder"
        ) from None
    found = run_experiments(names or None, options.data, options.out, page=options.page)
    for line in found.lines():
        terminal.say(line)
    terminal.answer(found.to_dict())
    for name, reason in found.failures.items():
        terminal.error.print(f"{name} could not run: {reason}", soft_wrap=True, markup=False)
    return 2 if found.failures else 0


def _look_for_checkout() -> None:
    """Let Python find the experiments of the checkout that the current folder is in, if any."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        # Both, as a folder `reproduction` may be anyone's.
        if (folder / "reproduction/reproduce.py").is_file() and (folder / "src/unswayed").is_dir():
            if str(folder) not in sys.path:
                sys.path.insert(0, str(folder))
            return
