"""Every option of the command line, declared once: its name, its type, its help and its group.

Options that go together are a class, and a command is composed of these classes (`commands`). This
module is imported for every ``--help``, so it imports nothing but the parser.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, TypeVar, dataclass_transform

from cyclopts import Group, Parameter

COMMON = Group("Common options", sort_key=1)
ASKED = Group("What is asked", sort_key=2)
DATA = Group("Data", sort_key=3)
BIAS = Group("Which labels may be wrong", sort_key=4)
MODEL = Group("Model", sort_key=5)
LARGE = Group("Large data", sort_key=6)
OUTPUT = Group("Output", sort_key=7)
MORE = (DATA, BIAS, MODEL, LARGE, OUTPUT)
"""Groups that ``--help`` only counts, and ``--help-all`` shows."""

HELP_FLAGS = ("--help", "-h", "--help-all")
JOINT = (
    "a question about all rows at once is for models that are linear in their labels, such as "
    "ridge regression, and is always answered in one way"
)
_KINDS_OF_BUDGET = (
    *("--bias", "--cap", "--clusters", "--total", "--cost", "--error-probability", "--surprise"),
    *("--sampled", "--confidence"),
)
_COUNTS = "is about numbers of any labels, which --budget, --only and --direction say"
REASONS = {
    command: dict.fromkeys(("--model", "--C", "--effort", "--method", "--resolve"), JOINT)
    | dict.fromkeys(_KINDS_OF_BUDGET if counts is not None else (), f"{counts} {_COUNTS}")
    for command, counts in (
        ("together", None),
        ("fairness", None),
        ("review plan", "a plan"),
        ("review apply", "a review"),
        ("audit start", "an audit takes no budget, and"),
    )
}
"""Why a command has no option that others have."""

T = TypeVar("T")


@dataclass_transform(kw_only_default=True, frozen_default=True)
def options(group: Group) -> Callable[[type[T]], type[T]]:
    """Make a class a set of options, of one group unless a field says another."""

    def decorate(owner: type[T]) -> type[T]:
        return Parameter(name="*", group=group)(dataclass(frozen=True, kw_only=True)(owner))

    return decorate


# ----------------------------------------------------------------------------------------
# What an option takes.

Common = Parameter(group=COMMON)
Flag = Annotated[bool, Parameter(negative="", show_default=False)]
Many = Parameter(negative="", show_default=False)
Names = Annotated[tuple[str, ...], Many]
Files = Annotated[tuple[Path, ...], Many]
# A range, a number or a class may begin with a minus.
Hyphen = Parameter(allow_leading_hyphen=True)
Text = Annotated[str | None, Hyphen]
Train = Annotated[
    Path, Parameter(help="Training rows: a CSV (UTF-8), Parquet, Excel, Stata or Feather file.")
]
# A text: a path would take one of the slashes of s3://bucket away.
Source = Annotated[
    str,
    Parameter(
        help="Training rows: a CSV (UTF-8), Parquet, Excel, Stata or Feather file; or, read in "
        "pieces, a folder, a pattern such as 'data/*.parquet' or a URL such as s3://bucket/data."
    ),
]

# ----------------------------------------------------------------------------------------
# Single options of several commands.

KindName = Annotated[
    Literal["ridge", "logistic"],
    Parameter(
        group=COMMON,
        help="The model: ridge regression on labels 0 and 1 or on numbers, whose verdicts are "
        "exact, or logistic regression for two classes, which leaves some rows undecided.",
    ),
]
Effort = Annotated[
    int | None,
    Parameter(
        group=MODEL,
        help="How hard --model logistic works on rows that stay undecided: 0, 1 (the default) or "
        "2.",
    ),
]
Method = Annotated[
    str,
    Parameter(
        group=MODEL,
        help="How to prove it: exact; auto for the same verdicts with wider ranges, faster on very "
        "many training rows; sandwich or box for bounds that leave rows undecided.",
    ),
]
Resolve = Annotated[
    Literal["exact"] | None,
    Parameter(
        group=MODEL,
        help="Settle what rounding leaves undecided in rational arithmetic: slow, and never in "
        "doubt.",
    ),
]
Threshold = Annotated[
    str | None,
    Parameter(
        group=MODEL,
        help="Score above which the second class is predicted: a number (by default 0.5, "
        "half-way), or balanced for the share of positive labels, which moves with the labels and "
        "is certified so. With --model logistic it is a probability.",
    ),
]
Radius = Annotated[
    str | None,
    Parameter(
        group=COMMON,
        help="How far a predicted number may move and still count as the same: 2000 in the label's "
        "unit, or with --log a share such as 10%.",
    ),
]
Folds = Annotated[
    str | None,
    Parameter(
        group=DATA,
        help="Ask about every row of the file, each by a model of the other folds: 10 is a good "
        "number. Instead of --test and --holdout.",
    ),
]
Groups = Annotated[
    Names, Parameter(group=COMMON, help="Columns to compare groups by. COL,COL,… or repeated.")
]
Bases = Annotated[
    Names,
    Parameter(
        help="Levels to compare the other levels of their column with, such as sex=male; by "
        "default the most frequent one. COL=LEVEL,COL=LEVEL,… or repeated."
    ),
]
Exclude = Annotated[
    Files,
    Parameter(
        help="Reviews that were applied to the file before: labels that were checked are right. "
        "May be repeated."
    ),
]
Escape = Annotated[
    bool,
    Parameter(
        group=OUTPUT,
        show_default=False,
        help="In CSV files, put no apostrophe before texts that a spreadsheet would run: those "
        "that begin with = + - @, a tab or a line break and are no numbers.",
    ),
]
# Files whose content each command says.
Out = Annotated[Path | None, Common]
Certificates = Annotated[Path | None, Parameter(group=OUTPUT)]

# ----------------------------------------------------------------------------------------
# Options that go together.


@options(DATA)
class ColumnOptions:
    """Options about how files are written and what their columns are."""

    label: Annotated[str | None, Common] = None
    """Column to predict: classes, or numbers. Without it, the columns are listed."""
    ignore: Annotated[Names, Common] = ()
    """Columns to leave out of the model, such as names. COL,COL,… or repeated."""
    features: Names = ()
    """The only columns that the model uses, instead of --ignore. COL,COL,… or repeated; a name with
    a comma goes into quotes: '"a, b",c'."""
    positive: Text = None
    """The class that the model tells from the rest. With several classes, all others count as
    one; with two, it is the second in sorted order unless this names the first."""
    weights: str | None = None
    """Column that says how much each training row counts, 0 or more. It must not have been computed
    from the labels, which nobody can check for you."""
    categorical: Names = ()
    """Columns of numbers that are categories, such as codes; zeros in front of them are kept.
    COL,COL,… or repeated."""
    numeric: Names = ()
    """Columns that are numbers, whatever they look like. COL,COL,… or repeated."""
    na: Names = ()
    """What stands for a missing value, such as "?". May be repeated."""
    delimiter: str | None = None
    """The sign between cells of a CSV file, such as ";" or tab, instead of the one that cuts all
    lines into as many cells."""
    decimal: Annotated[Literal[".", ","] | None, Parameter(show_choices=False)] = None
    """The sign before decimals in a CSV file, instead of the one that its numbers show. With a
    comma, points may separate thousands."""
    no_header: Flag = False
    """The first line of a CSV file is a row; columns are column1, column2 and so on."""
    sheet: str | None = None
    """The sheet of an Excel workbook; by default the first."""


@options(DATA)
class DataOptions(ColumnOptions):
    """Options about the training rows and their columns."""

    task: Literal["classification", "regression"] | None = None
    """Instead of what the label looks like."""
    missing: Literal["refuse", "drop", "impute"] = "refuse"
    """Rows with missing values: refuse the file, drop them, or fill the values in."""
    log: Flag = False
    """Train on the logarithm of the label, for numbers that are off, and compared, by a factor:
    --shift 5% is then a factor of 1.05, --radius 10% one of 1.1. Predictions are printed in the
    label's own unit."""


@options(DATA)
class SplitOptions:
    """Options about the test rows."""

    test: Annotated[Path | None, Common] = None
    """Rows to certify, with the same columns; without, some training rows are held out."""
    holdout: str | None = None
    """How many rows to hold out: a share or a count. By default 10 %, at most 10,000."""
    seed: int = 0
    """Which rows are held out, or in which fold they are."""
    fold_by: str | None = None
    """Column, such as a person or a site, whose rows of the same value are never split between
    training and test. It is left out of the model."""
    unseen: Literal["refuse", "ignore"] = "refuse"
    """Test rows with a category that no training row has: refuse them, or predict from the rest."""


@options(BIAS)
class BiasOptions:
    """Options about which labels may be wrong."""

    budget: Annotated[Names, Common] = ()
    """How many labels at once: a count, or a share of the training rows such as 1% (the default, or
    one label where that is more). May be repeated; the first is the main one."""
    shift: Annotated[Text, Common] = None
    """How far numbers may be off: 2000 either way, 0:2000 too low only, 5% or 0:5% of each label's
    own value."""
    clip: Text = None
    """A range that no label can leave, such as 0: or 0:100; shifts end there."""
    only: str | None = None
    """Only labels of rows like these, for example "sex == 'female' and age < 30"."""
    direction: Literal["up", "down"] | None = None
    """Only labels that should be higher (for classes: the positive one), or lower."""
    to: str | None = None
    """What labels of three or more classes may really be: "hired: declined, withdrawn; interview:
    declined". Labels of classes that are not named are right. By default any label may really be
    any other class."""


@options(BIAS)
class BudgetOptions(BiasOptions):
    """Options about how much may be wrong at once, where that is no number of any labels."""

    bias: str | None = None
    """Rows that exclude each other, each with a budget: "sex == 'female': 5% up; sex == 'male': 2;
    rest: 4/300". A share is one of all training rows; up and down are as for --direction; rest is
    every row of no other part; 4/300 are 4 wrong labels of 300 that were drawn from the part's rows
    and checked. Instead of --budget, --only and --direction."""
    cap: str | None = None
    """The most labels that may be wrong in all parts of --bias together, a count or a share."""
    clusters: str | None = None
    """Column, such as an annotator, a day or a site, whose rows of the same value may be wrong as a
    whole. --budget then counts them (1 by default), and the column is left out of the model."""
    total: Names = ()
    """With --shift, instead of --budget: all changes of labels add up to this at most. May be
    repeated; the first is the main one."""
    cost: str | None = None
    """Column that says what it costs that a label is wrong, 0 or more. --budget is then the limit
    of all costs together, and the column is left out of the model."""
    error_probability: str | None = None
    """Column with the probability that each label is wrong, as cleanlab gives it, left out of the
    model. Needs --surprise."""
    surprise: Names = ()
    """How unlikely a set of wrong labels may be, with --error-probability: at most e^SURPRISE times
    less likely than the likeliest set; 10 is about 22,000 times. May be repeated."""
    sampled: str | None = None
    """A sample that was checked, instead of --budget: WRONG/CHECKED, such as 4/300, of labels drawn
    at random from all rows of the file; or the list of unswayed sample draw, filled in."""
    confidence: str | None = None
    """How sure the bound is that a sample gives on the number of wrong labels; by default 95%."""


@options(MODEL)
class ModelOptions:
    """Options of ridge regression, which every question can be asked about."""

    alpha: str | None = None
    """Ridge penalty: a number (by default 1), or auto to choose it on rows that are no training
    rows: a fifth of them is set aside (at most 5,000), or those of --validation (with --folds only
    these). For certify also search: all training rows choose it by leave-one-out, and certificates
    cover every alpha that wrong labels can choose; slower."""
    threshold: Threshold = None
    give_up: float | None = None
    """Points of accuracy to trade for robustness; takes the largest penalty within that loss."""
    validation: Path | None = None
    """Rows to choose the penalty on, with the same columns and labels that are right. They must be
    other rows than the training rows, which nobody can check for you."""


@options(MODEL)
class KindOptions:
    """Options about another model, for questions about single rows and coefficients."""

    model: KindName = "ridge"
    C: Annotated[str | None, Parameter(name="--C")] = None
    """The inverse penalty of --model logistic, instead of alpha: a number above 0 (by default
    0.01), where smaller means stronger; or auto, as for alpha."""
    effort: Effort = None


@options(LARGE)
class LargeOptions:
    """Options about training rows that are never held whole."""

    in_pieces: Flag = False
    """Read one file in pieces too, as folders and patterns are: it need not fit into memory, and
    a file of more than 1 GB is read so by itself."""
    scheduler: str | None = None
    """Address of a dask scheduler, such as tcp://host:8786, whose workers read the pieces; by
    default this machine does."""
    resume: Path | None = None
    """Folder that keeps what passes over the files found: the same command, interrupted and given
    again, goes on from there."""


@options(ASKED)
class JointOptions:
    """Options about test rows that are put to a model together."""

    only_rows: str | None = None
    """Only test rows like these, for example "sex == 'female'"; --only is about training labels."""
    time_limit: Annotated[float, Hyphen] = 60.0
    """Seconds for each budget of each question, after which what is not closed stays a range. 0:
    bounds that take little time."""


@options(OUTPUT)
class PageOptions:
    """Options about a page for people."""

    report: Annotated[Path | None, Common] = None
    """Page for people: FILE.html, readable offline."""
    no_rows: Flag = False
    """No single person's row in the report and in --json: no table of rows, no labels to change, no
    examples of cells."""


@options(COMMON)
class OutputOptions:
    """Options about what is printed."""

    json: Flag = False
    """Print one JSON object instead of tables."""
    quiet: Annotated[Flag, Parameter(name=("--quiet", "-q"))] = False
    """Print nothing but errors."""
    verbose: Flag = False
    """Print too how the file was read and how well the model does, and log progress."""


@options(COMMON)
class SideOptions:
    """Options of questions about single rows, in which the two sides of ``compare`` may differ."""

    data: DataOptions = DataOptions()
    split: SplitOptions = SplitOptions()
    bias: BudgetOptions = BudgetOptions()
    kinds: KindOptions = KindOptions()
    method: Method = "exact"
    resolve: Resolve = None
    model: ModelOptions = ModelOptions()
    radius: Radius = None


@options(COMMON)
class FitOptions:
    """Options of questions about all rows at once."""

    data: DataOptions = DataOptions()
    split: SplitOptions = SplitOptions()
    bias: BiasOptions = BiasOptions()
    model: ModelOptions = ModelOptions()


@options(COMMON)
class AskedOptions(FitOptions):
    """Options of questions about all rows at once, whose budget may be of any kind."""

    bias: BudgetOptions = BudgetOptions()
