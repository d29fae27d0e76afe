"""Options that commands share, and the request they make together."""

import csv
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Group, Parameter

from unswayed.cli.model_options import MODEL_GROUP, ModelOptions
from unswayed.exceptions import InputError
from unswayed.study.loading import inspect_file
from unswayed.study.request import (
    DEFAULT_BUDGET,
    InPieces,
    Request,
    parse_budget,
    parse_clip,
    parse_folds,
    parse_holdout,
    parse_radius,
    parse_shift,
)
from unswayed.tables.inspection import Roles
from unswayed.tables.reading import Reading
from unswayed.words import shorten

_DATA = Group("Data", sort_key=1)
_BIAS = Group("Which labels may be wrong", sort_key=2)
_LARGE = Group("Large data", sort_key=4)
_OUTPUT = Group("Output", sort_key=5)

DATA = Parameter(group=_DATA)
LARGE = Parameter(group=_LARGE)
OUTPUT = Parameter(group=_OUTPUT)
Flag = Annotated[bool, Parameter(negative="", show_default=False)]
Names = Annotated[tuple[str, ...], Parameter(negative="", show_default=False)]
Numbers = Annotated[tuple[int, ...], Parameter(negative="", show_default=False)]
Escape = Annotated[
    bool,
    Parameter(
        group=_OUTPUT,
        help="In CSV files, put an apostrophe before texts that a spreadsheet would run: those "
        "that begin with = + - @, a tab or a line break and are no numbers.",
    ),
]
NoRows = Annotated[
    bool,
    Parameter(
        group=_OUTPUT,
        negative="",
        show_default=False,
        help="No single person's row in the report and in --json: no table of rows, no labels to "
        "change, no examples of cells.",
    ),
]
# A range may begin with a minus.
Range = Annotated[str | None, Parameter(allow_leading_hyphen=True)]
Text = Range
Distance = Annotated[
    str | None,
    Parameter(
        group=MODEL_GROUP,
        help="How far a predicted number may move and still count as the same: 2000 in the label's "
        "unit, or with --log a share such as 10%.",
    ),
]
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
LARGE_FILE = 10**9
"""Bytes of a file from which on it is read in pieces, unless an option needs it in memory."""
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")


@Parameter(name="*", group=_DATA)
@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """Options about how files are written and what their columns are."""

    categorical: Names = ()
    """Columns of numbers that are categories, such as codes; zeros in front of them are kept.
    COL,COL,… or repeated."""
    numeric: Names = ()
    """Columns that are numbers, whatever they look like. COL,COL,… or repeated."""
    ignore: Names = ()
    """Columns to leave out of the model, such as names. COL,COL,… or repeated."""
    features: Names = ()
    """The only columns that the model uses, instead of --ignore. COL,COL,… or repeated; a name with
    a comma goes into quotes: '"a, b",c'."""
    na: Annotated[tuple[str, ...], Parameter(negative="", show_default=False)] = ()
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

    def reading(self, *files: Path | str | None) -> Reading:
        """Return how files are written, by the options and by what the first of them shows.

        Parameters
        ----------
        *files : Path, str or None

        Returns
        -------
        Reading

        Raises
        ------
        InputError
            If the delimiter is not one sign, or is the decimal sign.
        """
        return Reading.for_files(
            [file for file in files if file is not None],
            self.delimiter,
            header=not self.no_header,
            decimal=self.decimal,
            missing=self.na,
            sheet=self.sheet,
        )

    def check(self, label: str | None, weights: str | None) -> None:
        """Raise if a column is named twice, for what contradicts each other."""
        if self.features and self.ignore:
            raise InputError(
                "--features names the only columns that the model uses and --ignore those that it "
                "does not; pass one of them"
            )
        features, numeric = split_names(self.features), split_names(self.numeric)
        for given, name in (("--label", label), ("--weights", weights)):
            if name is not None and name in features:
                raise InputError(
                    f"--features and {given} both name {shorten(name)!r}; leave it out of one"
                )
        for name in numeric:
            if name in split_names(self.categorical):
                raise InputError(
                    f"--numeric and --categorical both name {shorten(name)!r}; pass one of them"
                )
        if weights is not None and weights == label:
            raise InputError(
                f"--weights and --label both name {shorten(weights)!r}; a label that says how much "
                "its row counts would change the weights when it changes, so name another column"
            )


@Parameter(name="*", group=_DATA)
@dataclass(frozen=True, kw_only=True)
class DataOptions(FileOptions):
    """Options about the training rows and their columns."""

    label: str | None = None
    """Column to predict: two classes, or numbers. Without it, the columns are listed."""
    positive: Text = None
    """The class that the model tells from the rest: of a label with several classes, all others
    count as one; of two classes, the second in sorted order unless this names the first."""
    task: Literal["classification", "regression"] | None = None
    """Instead of what the label looks like."""
    weights: str | None = None
    """Column that says how much each training row counts, 0 or more. It must not have been computed
    from the labels, which nobody can check for you."""
    missing: Literal["refuse", "drop", "impute"] = "refuse"
    """Rows with missing values: refuse the file, drop them, or fill the values in."""
    log: Flag = False
    """Train on the logarithm of the label, for numbers that are off, and compared, by a factor:
    --shift 5% is then a factor of 1.05, --radius 10% one of 1.1. Predictions are printed in the
    label's own unit."""


@Parameter(name="*", group=_DATA)
@dataclass(frozen=True, kw_only=True)
class RowOptions:
    """Options about the test rows."""

    test: Path | None = None
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


@Parameter(name="*", group=_BIAS)
@dataclass(frozen=True, kw_only=True)
class BiasOptions:
    """Options about which labels may be wrong."""

    budget: Annotated[tuple[str, ...], Parameter(negative="", show_default=False)] = ()
    """How many labels at once: a count, or a share of the training rows such as 1%
    (the default, or one label where that is more). May be repeated;
    the first is the main one."""
    shift: Range = None
    """How far numbers may be off: 2000 either way, 0:2000 too low only, 5% or 0:5% of each
    label's own value."""
    clip: Range = None
    """A range that no label can leave, such as 0: or 0:100; shifts end there."""
    only: str | None = None
    """Only labels of rows like these, for example "sex == 'female' and age < 30"."""
    direction: Literal["up", "down"] | None = None
    """Only labels that should be higher (for classes: the positive one), or lower."""


@Parameter(name="*", group=_OUTPUT)
@dataclass(frozen=True, kw_only=True)
class OutputOptions:
    """Options about what is printed."""

    quiet: Flag = False
    """Print nothing but errors."""
    json: Flag = False
    """Print one JSON object instead of tables."""


@Parameter(name="*", group=_LARGE)
@dataclass(frozen=True, kw_only=True)
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


NO_LABEL = DataOptions()
"""What commands take for options about the data where none is given."""
_ANY_ROWS = RowOptions()
_NOT_LARGE = LargeOptions()
_NO_MODEL = ModelOptions()


def split_names(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return column names from ``a,b`` or repeated options; quotes keep a comma inside a name.

    Spaces around the names of a list do not count, but a name by itself is taken as it is.

    Parameters
    ----------
    texts : tuple of str
        Values of the option, one per time it was given.

    Returns
    -------
    tuple of str
        Each name once.

    Examples
    --------
    >>> split_names(("race, sex", '"a, b"', " age"))
    ('race', 'sex', 'a, b', ' age')
    """
    names: list[str] = []
    for text in texts:
        found = next(csv.reader([text]), [])
        names += found if len(found) == 1 else [name.strip() for name in found]
    return tuple(dict.fromkeys(names))


def refuse_many(path: Path) -> None:
    """Raise if a folder, a pattern or a URL is given to a command that takes one file.

    Parameters
    ----------
    path : Path

    Raises
    ------
    InputError
    """
    kind = _many(str(path))
    if kind is not None:
        raise InputError(
            f"{path} is {kind}, and this command reads one file into memory; unswayed certify and "
            "unswayed witness take folders, patterns and URLs"
        )


def _many(source: str) -> str | None:
    """Say what is not the name of one file on this machine."""
    if _URL.match(source):
        return "a URL"
    if os.path.isdir(source):
        return "a folder"
    if any(sign in source for sign in "*?[") and not os.path.exists(source):
        return "a pattern"
    return None


def in_pieces(source: str, large: LargeOptions | None, *, plan: bool = False) -> InPieces | None:
    """Return how training rows are read if it is in pieces.

    Parameters
    ----------
    source : str
        As typed.
    large : LargeOptions or None
    plan : bool
        Whether passes are to be planned.

    Returns
    -------
    InPieces or None
        None: one file is read into memory.
    """
    large = large or _NOT_LARGE
    asked = large.in_pieces or plan or large.scheduler is not None or large.resume is not None
    if not asked and _many(source) is None:
        return None
    return InPieces(source, large.scheduler, large.resume)


def by_size(request: Request, say: Callable[[str], None]) -> Request:
    """Have a large file read in pieces, if nothing that is asked forbids it.

    Parameters
    ----------
    request : Request
    say : callable
        Takes a note about it.

    Returns
    -------
    Request
    """
    path = request.train
    if request.in_pieces or not path.is_file() or path.stat().st_size < LARGE_FILE:
        return request
    from unswayed.study.source import check_options

    found = replace(request, in_pieces=InPieces(str(path)))
    try:
        check_options(found)
    except InputError:
        return request
    say(
        f"{path} has more than {LARGE_FILE / 10**9:g} GB, so it is read in pieces, as --in-pieces "
        "does"
    )
    return found


def make_request(
    train: Path | str,
    data: DataOptions,
    bias: BiasOptions | None,
    model: ModelOptions | None,
    test: RowOptions | None = None,
    *,
    radius: str | None = None,
    groups: tuple[str, ...] = (),
    folds: str | None = None,
    pieces: InPieces | None = None,
) -> Request:
    """Make a request of the options of a command.

    Parameters
    ----------
    train : Path or str
    data : DataOptions
    bias : BiasOptions or None
    model : ModelOptions or None
    test : RowOptions, optional
    radius : str, optional
        As typed.
    groups : tuple of str
        As typed; names may be joined by commas.
    folds : str, optional
    pieces : InPieces, optional
        How training rows are read that are not held in memory.

    Returns
    -------
    Request

    Raises
    ------
    InputError
        If a value cannot be read, or two options contradict each other.
    """
    bias, model, test = bias or BiasOptions(), model or _NO_MODEL, test or _ANY_ROWS
    train = Path(train)
    if pieces is None:
        refuse_many(train)
    asked = model.asked(train)
    if test.seed < 0:
        raise InputError(f"--seed {test.seed} is negative; pass 0 or more")
    if folds is not None:
        _check_folds(test)
    _check_fold_by(test, data)
    data.check(data.label, data.weights)
    if data.label is None:
        raise _no_label(pieces.source if pieces else str(train), data)
    return Request(
        train=train,
        reading=data.reading(pieces.source if pieces else train, test.test),
        numeric=split_names(data.numeric),
        weights=data.weights,
        label=data.label,
        test=test.test,
        task=data.task,
        positive=data.positive,
        categorical=split_names(data.categorical),
        ignore=split_names(data.ignore),
        features=split_names(data.features),
        missing=data.missing,
        unseen=test.unseen,
        holdout=None if test.holdout is None else parse_holdout(test.holdout),
        folds=None if folds is None else parse_folds(folds),
        fold_by=test.fold_by,
        seed=test.seed,
        budgets=tuple(dict.fromkeys(map(parse_budget, bias.budget))) or (DEFAULT_BUDGET,),
        shift=None if bias.shift is None else parse_shift(bias.shift),
        clip=None if bias.clip is None else parse_clip(bias.clip),
        log=data.log,
        only=bias.only,
        direction=bias.direction,
        radius=None if radius is None else parse_radius(radius, log=data.log),
        groups=split_names(groups),
        in_pieces=pieces,
        **asked,
    )


def _check_folds(test: RowOptions) -> None:
    for option, given in (("--test", test.test), ("--holdout", test.holdout)):
        if given is not None:
            raise InputError(
                f"--folds certifies every row of the training file, and {option} chooses other "
                f"rows to certify; pass either --folds or {option}"
            )


def _check_fold_by(test: RowOptions, data: DataOptions) -> None:
    if test.fold_by is None:
        return
    if test.test is not None:
        raise InputError(
            "--fold-by says how rows of the training file are split, and --test names other rows; "
            "pass one of them"
        )
    if test.fold_by == data.label:
        raise InputError(
            f"--fold-by and --label both name {shorten(test.fold_by)!r}; if labels chose the rows "
            "of a fold, a wrong label would mean other folds and another model, so name another "
            "column"
        )


def _no_label(source: str, data: DataOptions) -> InputError:
    """Return an error that lists the columns of a file, for its reader to choose the label."""
    from unswayed.pieces.paths import find_files, is_url

    start = "--label is missing: name the column to predict"
    first = find_files(source)[0]
    path = Path(first.path)
    if is_url(first.path) or (path.is_file() and path.stat().st_size > LARGE_FILE):
        return InputError(f"{start}; unswayed inspect shows the columns of a file")
    _, found = inspect_file(Path(first.name), Roles(), data.reading(source))
    odd = [f"; {caveat}" for caveat in found.general if caveat.kind == "no-header"]
    return InputError("".join([f"{start}. {first.name} has {found.in_words()}", *odd]))
