"""The commands about labels that people check: review, audit and sample, with their options.

As in `commands`, the module that answers a command is imported when the command runs.
"""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from unswayed.cli.options import (
    ASKED,
    COMMON,
    HELP_FLAGS,
    DataOptions,
    Escape,
    Exclude,
    FitOptions,
    OutputOptions,
    PageOptions,
    Radius,
    Train,
    options,
)

review = App(
    name="review",
    help_flags=HELP_FLAGS,
    help="Plan which labels to check, and apply what reviewers found.\n\n"
    "Example: unswayed review plan people.csv --label hired --labels 60 --out review.csv",
)
ReviewOut = Annotated[Path | None, Parameter(name=("--out", "--output"), group=COMMON)]


@options(ASKED)
class ReviewPlanOptions(FitOptions):
    """Options of ``review plan``."""

    labels: int = 60
    """At most so many labels are checked."""
    per_reviewer: int | None = None
    """Labels that one reviewer checks; by default one reviewer checks all."""
    costs: str | None = None
    """Column of the training file that says what it takes to check each label, above 0. Unless it
    is named in --ignore, it is a feature as well."""
    cost_limit: float | None = None
    """The costs of all checks sum up to this at most."""
    exclude: Exclude = ()
    error_rate: str | None = None
    """Also estimate, by simulation, how many rows will be robust if this share of the checked
    labels turns out to be wrong and is corrected, such as 5%."""
    radius: Radius = None
    out: ReviewOut = None
    """Table for reviewers, with an empty column checked_label: FILE.csv."""
    page: PageOptions = PageOptions()
    escape_formulas: Escape = True
    output: OutputOptions = OutputOptions()


@review.command
def plan(train: Train, /, *, asked: ReviewPlanOptions = ReviewPlanOptions()) -> int:
    """Find the labels whose verification makes most predictions robust.

    Example: unswayed review plan people.csv --label hired --labels 60 --out review.csv
    """
    from unswayed.cli.together import plan

    return plan(train, asked)


@options(ASKED)
class ReviewApplyOptions(FitOptions):
    """Options of ``review apply``."""

    exclude: Exclude = ()
    radius: Radius = None
    out: ReviewOut = None
    """The training file with corrected labels, and everything else as it was: FILE.csv, or .parquet
    if it is a Parquet file."""
    output: OutputOptions = OutputOptions()


@review.command
def apply(
    train: Train,
    /,
    *answers: Annotated[
        Path, Parameter(help="Files of review plan, with checked_label filled in, one or more.")
    ],
    asked: ReviewApplyOptions = ReviewApplyOptions(),
) -> int:
    """Fit the model again after labels were checked, and compare.

    Example: unswayed review apply people.csv review.csv --label hired --out corrected.csv
    """
    from unswayed.cli.together import apply

    return apply(train, answers, asked)


audit = App(
    name="audit",
    help_flags=HELP_FLAGS,
    help="Confirm predictions by checking labels that are drawn, without any budget.\n\n"
    "Example: unswayed audit start people.csv --label hired --risk 5% --out audit.json",
)
AuditFile = Annotated[Path, Parameter(help="The file that audit start wrote.")]


@options(ASKED)
class AuditStartOptions(FitOptions):
    """Options of ``audit start``."""

    risk: str = "5%"
    """How likely something false may be confirmed."""
    together: Literal["each", "all", "discoveries"] = "each"
    """What the risk is about: each row by itself, all test rows at once, or the share of false ones
    among those that are confirmed."""
    draw_seed: int = 0
    """Seed of the draws. If labels may be wrong on purpose, choose one after they are fixed."""
    radius: Radius = None
    out: Annotated[Path, Parameter(name=("--out", "--output"), group=COMMON)] = Path("audit.json")
    """The file of the audit, which draws and answers are added to: FILE.json."""
    output: OutputOptions = OutputOptions()


@audit.command
def start(train: Train, /, *, asked: AuditStartOptions = AuditStartOptions()) -> int:
    """Start an audit of the predictions for the test rows.

    The budget of the bias plays no role: any number of labels may be wrong.

    Example: unswayed audit start people.csv --label hired --risk 5% --out audit.json
    """
    from unswayed.cli.audit import start

    return start(train, asked)


@options(ASKED)
class AuditDrawOptions:
    """Options of ``audit draw``."""

    checks: int = 50
    """How many labels to draw; 0 lists again what has no answer yet."""
    aim: str | None = None
    """Share of the test rows to confirm soonest, such as 75%; by default what brings most."""
    out: Annotated[Path, Parameter(name=("--out", "--output"), group=COMMON)] = Path("to-check.csv")
    """Table for the people who check, with an empty column checked_label: FILE.csv."""
    escape_formulas: Escape = True
    output: OutputOptions = OutputOptions()


@audit.command
def draw(audit: AuditFile, /, *, asked: AuditDrawOptions = AuditDrawOptions()) -> int:
    """Draw labels to check.

    Example: unswayed audit draw audit.json --checks 50 --out to-check.csv
    """
    from unswayed.cli.audit import draw

    return draw(audit, asked)


@options(COMMON)
class AuditRecordOptions:
    """Options of ``audit record``."""

    output: OutputOptions = OutputOptions()


@audit.command
def record(
    audit: AuditFile,
    /,
    *answers: Annotated[
        Path, Parameter(help="Files of audit draw, with checked_label filled in, one or more.")
    ],
    asked: AuditRecordOptions = AuditRecordOptions(),
) -> int:
    """Record what is true of the labels that were drawn.

    Example: unswayed audit record audit.json to-check.csv
    """
    from unswayed.cli.audit import record

    return record(audit, answers, asked)


@options(COMMON)
class AuditStatusOptions:
    """Options of ``audit status``."""

    page: PageOptions = PageOptions()
    output: OutputOptions = OutputOptions()


@audit.command
def status(audit: AuditFile, /, *, asked: AuditStatusOptions = AuditStatusOptions()) -> int:
    """Show how far an audit is, and what further checks would bring.

    Example: unswayed audit status audit.json --report audit.html
    """
    from unswayed.cli.audit import status

    return status(audit, asked)


sample = App(
    name="sample",
    help_flags=HELP_FLAGS,
    help="Draw labels at random to check, and say how many may be wrong in all.\n\n"
    "Example: unswayed sample draw people.csv --label hired --checks 300 --out to-check.csv",
)


@options(ASKED)
class SampleDrawOptions:
    """Options of ``sample draw``."""

    checks: int = 300
    """How many labels to draw, at random and without replacement, from all rows of the file."""
    seed: int = 0
    """Which ones. If labels may be wrong on purpose, choose one after they are fixed."""
    data: DataOptions = DataOptions()
    out: Annotated[Path, Parameter(name=("--out", "--output"), group=COMMON)] = Path("to-check.csv")
    """Table for the people who check, with an empty column checked_label: FILE.csv."""
    escape_formulas: Escape = True
    output: OutputOptions = OutputOptions()


@sample.command(name="draw")
def draw_sample(train: Train, /, *, asked: SampleDrawOptions = SampleDrawOptions()) -> int:
    """Draw labels at random, for people to check all of them.

    Example: unswayed sample draw people.csv --label hired --checks 300 --out to-check.csv
    """
    from unswayed.cli.sample import draw

    return draw(train, asked)


@options(ASKED)
class SampleReadOptions:
    """Options of ``sample read``."""

    confidence: str = "95%"
    """How sure the bound on wrong labels is to be."""
    data: DataOptions = DataOptions()
    output: OutputOptions = OutputOptions()


@sample.command(name="read")
def read_sample(
    train: Train,
    checked: Annotated[
        Path, Parameter(help="The list of sample draw, with checked_label filled in.")
    ],
    /,
    *,
    asked: SampleReadOptions = SampleReadOptions(),
) -> int:
    """Say how many labels of the file may be wrong, given those that were checked.

    Example: unswayed sample read people.csv to-check.csv --label hired --confidence 95%
    """
    from unswayed.cli.sample import read

    return read(train, checked, asked)
