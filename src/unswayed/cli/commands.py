"""The commands: which options each has, what its help says, and which module answers it.

A command is options, a question and a way to show the answer. The options are here; the module that
has the rest is imported when the command runs, so that no ``--help`` waits for scikit-learn.
"""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from unswayed.cli.options import (
    ASKED,
    COMMON,
    LARGE,
    OUTPUT,
    AskedOptions,
    Bases,
    BudgetOptions,
    Certificates,
    ColumnOptions,
    DataOptions,
    Effort,
    Escape,
    Flag,
    Folds,
    Groups,
    Hyphen,
    JointOptions,
    KindName,
    KindOptions,
    LargeOptions,
    Many,
    ModelOptions,
    Names,
    Out,
    OutputOptions,
    PageOptions,
    Radius,
    Resolve,
    SideOptions,
    Source,
    SplitOptions,
    Threshold,
    Train,
    options,
)


@options(COMMON)
class InspectOptions:
    """Options of ``inspect``."""

    columns: ColumnOptions = ColumnOptions()
    test: Path | None = None
    """Rows to be certified, whose columns are compared with those of the training file."""
    output: OutputOptions = OutputOptions()


def inspect(file: Train, /, *, asked: InspectOptions = InspectOptions()) -> int:
    """Show how the columns of a file are read, and what about them could mislead.

    Every warning names the option that settles it; the same options go to certify.

    Example: unswayed inspect people.csv --label hired --test new.csv
    """
    from unswayed.cli.tour import inspect

    return inspect(file, asked)


@options(COMMON)
class CertifyOptions(SideOptions):
    """Options of ``certify``."""

    folds: Folds = None
    groups: Groups = ()
    out: Out = None
    """Table of the test rows: FILE.csv, .parquet or .json."""
    page: PageOptions = PageOptions()
    row: Annotated[tuple[int, ...], Many, Parameter(group=OUTPUT)] = ()
    """Test row to show in full in the report, with the labels that overturn it; repeatable."""
    base: Annotated[Bases, Parameter(group=OUTPUT)] = ()
    with_tradeoff: Annotated[Flag, Parameter(group=OUTPUT)] = False
    """Put accuracy against robustness into the report."""
    certificates: Certificates = None
    """Claims that anyone can check with unswayed verify: FILE.json; with --folds FILE-1.json and
    so on, one per fold."""
    noise: Annotated[str | None, Parameter(group=ASKED)] = None
    """Say too how likely predictions change if this share of the labels is wrong, each by chance:
    5%, say."""
    fail_under: Annotated[str | None, Parameter(group=OUTPUT)] = None
    """Exit with 1 if the rate at the main budget is below this share, such as 80%."""
    escape_formulas: Escape = True
    large: LargeOptions = LargeOptions()
    plan: Annotated[Flag, Parameter(group=LARGE)] = False
    """Say how many rows, bytes, passes, how much memory and how much time it would take, from a
    first look at the files, and do nothing."""
    output: OutputOptions = OutputOptions()


def certify(train: Source, /, *, asked: CertifyOptions = CertifyOptions()) -> int:
    """Prove which predictions survive wrong labels, and which do not.

    Example: unswayed certify people.csv --label hired --budget 1% --groups gender
    --report report.html
    """
    from unswayed.cli.certify import certify

    return certify(train, asked)


@options(COMMON)
class WitnessOptions(SideOptions):
    """Options of ``witness``."""

    row: Annotated[int, Parameter(group=ASKED)]
    """Number of the test row in its file, counted from 1 below the header, as certify --out has
    it."""
    folds: Folds = None
    groups: Names = ()
    """Columns to show first. COL,COL,… or repeated."""
    out: Out = None
    """Table of the labels to change: FILE.csv, .parquet or .json."""
    escape_formulas: Escape = True
    large: LargeOptions = LargeOptions()
    output: OutputOptions = OutputOptions()


def witness(train: Source, /, *, asked: WitnessOptions) -> int:
    """Show which labels overturn one prediction.

    Example: unswayed witness people.csv --label hired --row 17
    """
    from unswayed.cli.certify import witness

    return witness(train, asked)


@options(COMMON)
class CoefficientsOptions:
    """Options of ``coefficients``."""

    data: DataOptions = DataOptions()
    bias: BudgetOptions = BudgetOptions()
    kinds: KindOptions = KindOptions()
    resolve: Resolve = None
    model: ModelOptions = ModelOptions()
    base: Annotated[Bases, Parameter(group=ASKED)] = ()
    coefficients: Annotated[Names, Parameter(group=ASKED)] = ()
    """Only these columns or coefficients, such as "age,edu*". NAME,NAME,… or repeated."""
    standardised: Annotated[Flag, Parameter(group=ASKED)] = False
    """Per standard deviation of a number instead of per unit, so that coefficients compare."""
    out: Out = None
    """Table of the coefficients: FILE.csv, .parquet or .json."""
    escape_formulas: Escape = True
    certificates: Certificates = None
    """Claims that anyone can check with unswayed verify: FILE.json."""
    output: OutputOptions = OutputOptions()


def coefficients(train: Train, /, *, asked: CoefficientsOptions = CoefficientsOptions()) -> int:
    """Prove which coefficients keep their sign.

    Every row is a training row. Coefficients are per unit of a number, and from the base level of
    a category to each other level.

    Example: unswayed coefficients people.csv --label salary --shift 2000 --budget 2%
    """
    from unswayed.cli.coefficients import coefficients

    return coefficients(train, asked)


@options(COMMON)
class TogetherOptions(AskedOptions):
    """Options of ``together``."""

    folds: Folds = None
    joint: JointOptions = JointOptions()
    turned: Annotated[Literal["up", "down"] | None, Parameter(group=ASKED)] = None
    """Count only predictions that are turned up (to the second class in sorted order, or to a
    higher number), or down. --direction is about labels."""
    row_weights: Annotated[str | None, Parameter(group=ASKED)] = None
    """Column of the test rows that says how much each counts, 0 or more; by default 1."""
    radius: Radius = None
    out: Out = None
    """Table of the labels to change, at every budget: FILE.csv, .parquet or .json."""
    page: PageOptions = PageOptions()
    escape_formulas: Escape = True
    output: OutputOptions = OutputOptions()


def together(train: Train, /, *, asked: TogetherOptions = TogetherOptions()) -> int:
    """Prove how many predictions one set of wrong labels can overturn.

    Example: unswayed together people.csv --label hired --budget 1% --budget 5%
    """
    from unswayed.cli.together import together

    return together(train, asked)


@options(COMMON)
class FairnessOptions(AskedOptions):
    """Options of ``fairness``."""

    folds: Folds = None
    joint: JointOptions = JointOptions()
    groups: Groups = ()
    metric: Annotated[Names, Parameter(group=ASKED)] = ()
    """Metrics by their names in fairlearn: selection_rate, accuracy, true_positive_rate,
    false_positive_rate, true_negative_rate or false_negative_rate, each also with _difference,
    _ratio, _group_min or _group_max behind it, and demographic_parity, equal_opportunity or
    equalized_odds with _difference or _ratio; of numbers, mean_prediction and
    mean_prediction_difference. By default selection_rate and demographic_parity_difference. Of
    three or more classes each has its own, or one is named: "selection_rate (hired)".
    NAME,NAME,… or repeated."""
    limit: Annotated[Names, Parameter(group=ASKED)] = ()
    """Exit with 1 unless it is proven, at the main budget, that the difference stays at most, or
    the ratio at least, such as 0.2; among several metrics demographic_parity_difference=0.2. May be
    repeated."""
    out: Out = None
    """Table of all ranges: FILE.csv, .parquet or .json."""
    page: PageOptions = PageOptions()
    escape_formulas: Escape = True
    output: OutputOptions = OutputOptions()


def fairness(train: Train, /, *, asked: FairnessOptions = FairnessOptions()) -> int:
    """Prove how far wrong labels can move rates and gaps between groups.

    Example: unswayed fairness people.csv --label hired --groups gender --budget 1% --limit 0.2
    """
    from unswayed.cli.together import fairness

    return fairness(train, asked)


@options(COMMON)
class VerifyOptions:
    """Options of ``verify``."""

    train: Path | None = None
    """Training rows: the CSV or Parquet file that was certified, or one of bare numbers."""
    test: Path | None = None
    """Test rows, if they were in a file of their own."""
    data: Path | None = None
    """The .npz file that was saved with the certificate, instead of the other two."""
    label: str | None = None
    """Label column of a file of bare numbers."""
    schema: Flag = False
    """Print the JSON schema of certificate files and do nothing else."""
    output: OutputOptions = OutputOptions()


def verify(
    certificates: Annotated[Path | None, Parameter(help="The certificate file.")] = None,
    /,
    *,
    asked: VerifyOptions = VerifyOptions(),
) -> int:
    """Check a certificate file without trusting the program that wrote it.

    Every claim is proven again from the data, by code that shares nothing with what made it: in
    floating point with error bounds, and in exact arithmetic where these leave it open. The
    question that was proven is printed in full: read it. Exit codes: 0 every verdict is proven, 1
    some claim is false, 2 the file is damaged or belongs to other data, 3 nothing is proven because
    no claim has a verdict, or what the file carries does not prove some claim.

    Example: unswayed verify c.json --train people.csv
    """
    from unswayed.cli.verify import verify

    return verify(certificates, asked)


@options(COMMON)
class CompareOptions:
    """Options of ``compare``."""

    first: SideOptions = SideOptions()
    against: Annotated[str | None, Hyphen, Parameter(group=ASKED)] = None
    """Options of the second that differ, in quotes: "--alpha 100 --only 'age < 30'". All others are
    those of the first."""
    without: Annotated[Names, Parameter(group=ASKED)] = ()
    """Columns that the second leaves out of its model. COL,COL,… or repeated."""
    groups: Groups = ()
    out: Out = None
    """Table of the test rows, both side by side: FILE.csv, .parquet or .json."""
    page: PageOptions = PageOptions()
    escape_formulas: Escape = True
    output: OutputOptions = OutputOptions()


def compare(
    train: Train,
    second: Annotated[
        Path | None, Parameter(help="Another training file, to compare with; by default the same.")
    ] = None,
    /,
    *,
    asked: CompareOptions = CompareOptions(),
) -> int:
    """Compare two files, or two settings of one, on the same test rows.

    Example: unswayed compare people.csv --label hired --against "--alpha 100"

    Example: unswayed compare before.csv after.csv --label hired --test rows.csv
    """
    from unswayed.cli.compare import compare

    return compare(train, second, asked)


@options(COMMON)
class TradeoffOptions:
    """Options of ``tradeoff``."""

    data: DataOptions = DataOptions()
    split: SplitOptions = SplitOptions()
    bias: BudgetOptions = BudgetOptions()
    model: KindName = "ridge"
    radius: Radius = None
    alphas: Annotated[str | None, Parameter(group=ASKED)] = None
    """Penalties to try, such as 1,10,100; by default ten from 0.1 to 30,000."""
    Cs: Annotated[str | None, Parameter(name="--Cs", group=ASKED)] = None
    """Values of C to try with --model logistic, such as 0.001,0.01,0.1; by default seven from 1 to
    0.001."""
    steps: Annotated[str | None, Parameter(group=ASKED)] = None
    """Numbers of steps of gradient descent, such as 1,3,10,30: least squares that stops early,
    instead of a penalty."""
    effort: Effort = None
    threshold: Threshold = None
    out: Out = None
    """The table: FILE.csv, .parquet or .json."""
    chart: Path | None = None
    """The chart: FILE.html, .svg or .png."""
    escape_formulas: Escape = True
    output: OutputOptions = OutputOptions()


def tradeoff(train: Train, /, *, asked: TradeoffOptions = TradeoffOptions()) -> int:
    """Weigh accuracy against robustness over the penalty.

    It is alpha, or with --model logistic C, where smaller means stronger; or with --steps how early
    gradient descent stops.

    Example: unswayed tradeoff people.csv --label hired --budget 1% --chart tradeoff.svg
    """
    from unswayed.cli.compare import tradeoff

    return tradeoff(train, asked)


@options(COMMON)
class ReproduceOptions:
    """Options of ``reproduce``."""

    data: Path | None = None
    """Folder with the data sets; by default the one UNSWAYED_DATA names, or else downloads."""
    out: Path = Path("reproduction-results")
    """Folder for tables, figures and figures as numbers."""
    page: Path | None = None
    """Write the whole page to this file as well."""
    output: OutputOptions = OutputOptions()


def reproduce(
    *names: Annotated[str, Parameter(help="Experiments by name; by default all of them.")],
    asked: ReproduceOptions = ReproduceOptions(),
) -> int:
    """Compute every table and figure of the paper again.

    The experiments are in the repository, not in the installed package: run this in a clone.
    Finished pieces are kept: an interrupted run goes on where it stopped.

    Example: unswayed reproduce table1 --data data --out reproduction-results
    """
    from unswayed.cli.tour import reproduce

    return reproduce(names, asked)


def tour() -> int:
    """Understand what is proven, in five minutes and seven steps.

    An embedded story, computed while you read. On a terminal it waits for Enter after each step;
    unswayed tour | less does not.

    Example: unswayed tour
    """
    from unswayed.cli.tour import tour

    return tour()


@options(COMMON)
class DemoOptions:
    """Options of ``demo``."""

    folder: Path = Path()
    """Where to write."""
    no_report: Flag = False
    """Only print."""
    output: OutputOptions = OutputOptions()


def demo(*, asked: DemoOptions = DemoOptions()) -> int:
    """Run an embedded story end to end and write its report.

    Writes unswayed-demo.csv and unswayed-report.html, and shows the command that made it.

    Example: unswayed demo
    """
    from unswayed.cli.tour import demo

    return demo(asked)
