"""From options to a request, checked before any file is opened, and to the study it is about."""

import csv
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from unswayed.cli.options import (
    BiasOptions,
    BudgetOptions,
    ColumnOptions,
    DataOptions,
    KindOptions,
    LargeOptions,
    ModelOptions,
    SplitOptions,
)
from unswayed.cli.searching import check_search
from unswayed.cli.terminal import TABLES, Terminal, check_output
from unswayed.exceptions import InputError
from unswayed.study.folds import open_fold, open_folds
from unswayed.study.kinds import KINDS, RIDGE, SEARCH, Kind
from unswayed.study.loading import inspect_file
from unswayed.study.opening import open_study
from unswayed.study.request import (
    DEFAULT_BUDGET,
    Budget,
    InPieces,
    Request,
    Stated,
    parse_alpha,
    parse_budget,
    parse_clip,
    parse_folds,
    parse_holdout,
    parse_probability,
    parse_radius,
    parse_shift,
    parse_strength,
    parse_threshold,
    parse_to,
)
from unswayed.study.stated import (
    ByCluster,
    ByCost,
    BySample,
    InTotal,
    parse_amount,
    parse_clusters,
    parse_confidence,
    parse_parts,
    parse_sample,
)
from unswayed.study.study import Study
from unswayed.tables.delimited import Dialect
from unswayed.tables.inspection import Roles
from unswayed.words import shorten

LARGE_FILE = 10**9
"""Bytes of a file from which on it is read in pieces, unless an option needs it in memory."""
T = TypeVar("T")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")


_NAMES = ("numeric", "categorical", "ignore", "features")
_AS_GIVEN = (
    *("label", "weights", "task", "positive", "missing", "log", "only", "direction"),
    *("test", "unseen", "fold_by", "seed"),
)
_ABSENT = {
    "bias": BiasOptions(),
    "model": ModelOptions(),
    "split": SplitOptions(),
    "kinds": KindOptions(),
    "method": "exact",
    "resolve": None,
    "radius": None,
    "groups": (),
    "folds": None,
}
"""What the options are that a command does not have."""


def make_request(
    train: Path | str,
    options: Any,
    pieces: InPieces | None = None,
    asks: str = "certify",
    *,
    searches: bool = False,
) -> Request:
    """Make a request of the options of a command; raise if two contradict each other.

    `searches` says that the command takes ``--alpha search``.
    """
    asked = _ABSENT | vars(options)
    if _searches(asked["model"]):
        check_search(asked, in_pieces=pieces is not None, command=searches)
    data, split, bias, folds = (asked[name] for name in ("data", "split", "bias", "folds"))
    train = Path(train)
    if pieces is None:
        refuse_many(train)
    fitted = _model_fields(asked["model"], asked["kinds"], train)
    proof = {"method": asked["method"], "resolve": asked["resolve"]}
    _check_proof(fitted["kind"], **proof)
    if split.seed < 0:
        raise InputError(f"--seed {split.seed} is negative; pass 0 or more")
    if folds is not None:
        _check_folds(split)
    _check_fold_by(split, data)
    check_columns(data)
    if data.label is None:
        raise _no_label(pieces.source if pieces else str(train), data)
    given: dict[str, Any] = vars(data) | vars(split) | vars(bias)
    named = {name: split_names(given[name]) for name in _NAMES}
    return Request(
        train=train,
        dialect=dialect_of(data, pieces.source if pieces else train, split.test),
        in_pieces=pieces,
        asks=asks,
        to=_read(parse_to, bias.to) or {},
        holdout=_read(parse_holdout, split.holdout),
        folds=_read(parse_folds, folds),
        shift=_read(parse_shift, bias.shift),
        clip=_read(parse_clip, bias.clip),
        radius=_read(partial(parse_radius, log=data.log), asked["radius"]),
        groups=split_names(asked["groups"]),
        **{name: given[name] for name in _AS_GIVEN}
        | named
        | fitted
        | proof
        | _budget_fields(data, bias, fitted["kind"]),
    )


def _read(parse: Callable[[str], T], text: str | None) -> T | None:
    """Read an option, if it was given."""
    return None if text is None else parse(text)


def split_names(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Return column names from ``a,b`` or repeated options, each once.

    Quotes keep a comma inside a name. Spaces around the names of a list do not count, but a name by
    itself is taken as it is.

    >>> split_names(("race, sex", '"a, b"', " age"))
    ('race', 'sex', 'a, b', ' age')
    """
    names: list[str] = []
    for text in texts:
        found = next(csv.reader([text]), [])
        names += found if len(found) == 1 else [name.strip() for name in found]
    return tuple(dict.fromkeys(names))


# ----------------------------------------------------------------------------------------
# Columns and rows.


def dialect_of(columns: ColumnOptions, *files: Path | str | None) -> Dialect:
    """Return how files are written, by the options and by what the first of them shows."""
    return Dialect.for_files(
        [file for file in files if file is not None],
        columns.delimiter,
        header=not columns.no_header,
        decimal=columns.decimal,
        missing=columns.na,
        sheet=columns.sheet,
    )


def check_columns(columns: ColumnOptions) -> None:
    """Raise if a column is named twice, for what contradicts each other."""
    if columns.features and columns.ignore:
        raise InputError(
            "--features names the only columns that the model uses and --ignore those that it "
            "does not; pass one of them"
        )
    label, weights, features = columns.label, columns.weights, split_names(columns.features)
    for given, name in (("--label", label), ("--weights", weights)):
        if name is not None and name in features:
            raise InputError(
                f"--features and {given} both name {shorten(name)!r}; leave it out of one"
            )
    for name in split_names(columns.numeric):
        if name in split_names(columns.categorical):
            raise InputError(
                f"--numeric and --categorical both name {shorten(name)!r}; pass one of them"
            )
    if weights is not None and weights == label:
        raise InputError(
            f"--weights and --label both name {shorten(weights)!r}; a label that says how much "
            "its row counts would change the weights when it changes, so name another column"
        )


def _check_folds(split: SplitOptions) -> None:
    """Raise if other rows than those of the folds are asked about."""
    for option, given in (("--test", split.test), ("--holdout", split.holdout)):
        if given is not None:
            raise InputError(
                f"--folds certifies every row of the training file, and {option} chooses other "
                f"rows to certify; pass either --folds or {option}"
            )


def _check_fold_by(split: SplitOptions, data: DataOptions) -> None:
    """Raise if there is nothing to split, or labels would do it."""
    if split.fold_by is None:
        return
    if split.test is not None:
        raise InputError(
            "--fold-by says how rows of the training file are split, and --test names other rows; "
            "pass one of them"
        )
    if split.fold_by == data.label:
        raise InputError(
            f"--fold-by and --label both name {shorten(split.fold_by)!r}; if labels chose the rows "
            "of a fold, a wrong label would mean other folds and another model, so name another "
            "column"
        )


def _no_label(source: str, data: DataOptions) -> InputError:
    """Return an error that lists the columns of a file, for its reader to choose the label."""
    from unswayed.pieces.pieces import find_files, is_url

    start = "--label is missing: name the column to predict"
    first = find_files(source)[0]
    path = Path(first.path)
    if is_url(first.path) or (path.is_file() and path.stat().st_size > LARGE_FILE):
        return InputError(f"{start}; unswayed inspect shows the columns of a file")
    _, found = inspect_file(Path(first.name), Roles(), dialect_of(data, source))
    odd = [f"; {caveat}" for caveat in found.general if caveat.kind == "no-header"]
    return InputError("".join([f"{start}. {first.name} has {found.in_words()}", *odd]))


# ----------------------------------------------------------------------------------------
# How much may be wrong at once.

_LIMIT = "all wrong labels together may cost"


def _budget_fields(data: DataOptions, bias: BiasOptions, kind: Kind) -> dict[str, Any]:
    """Return the fields of a request that are about how much may be wrong at once."""
    if not isinstance(bias, BudgetOptions) or not _kind_of_budget(data, bias, kind):
        budgets = tuple(dict.fromkeys(map(parse_budget, bias.budget)))
        return {"budgets": budgets or (DEFAULT_BUDGET,)}
    level = parse_confidence(bias.confidence or "95%")
    texts: tuple[str, ...] = ()
    parse: Callable[[str], Budget] = parse_clusters
    stated: Stated
    if bias.bias is not None:
        stated = parse_parts(bias.bias, bias.cap, level)
        _check_confidence(bias, given=any(term.sample for term in stated.terms))
    elif bias.sampled is not None:
        stated = BySample(parse_sample(bias.sampled) or Path(bias.sampled), level)
    elif bias.clusters is not None:
        stated, texts = ByCluster(bias.clusters), bias.budget or ("1",)
    elif bias.total:
        stated, texts = InTotal(), bias.total
        parse = partial(parse_amount, option="--total", what="the sum of all changes of labels")
    elif bias.cost is not None:
        stated, texts = ByCost(bias.cost, probabilities=False), bias.budget
        parse = partial(parse_amount, option="--budget", what=f"what {_LIMIT}")
    else:
        stated, texts = ByCost(str(bias.error_probability), probabilities=True), bias.surprise
        parse = partial(parse_amount, option="--surprise", what=f"what {_LIMIT}")
    _check_beside(stated, data)
    return {"stated": stated, "budgets": tuple(dict.fromkeys(map(parse, texts)))}


def _kind_of_budget(data: DataOptions, bias: BudgetOptions, kind: Kind) -> str | None:
    """Return the option that says what the budget is; raise if others contradict it."""
    kinds = {
        "--bias": bias.bias,
        "--sampled": bias.sampled,
        "--clusters": bias.clusters,
        "--total": bias.total or None,
        "--cost": bias.cost,
        "--error-probability": bias.error_probability,
    }
    found = [option for option, value in kinds.items() if value is not None]
    if len(found) > 1:
        raise InputError(
            f"{found[0]} and {found[1]} both say what may be wrong at once; pass one of them"
        )
    which = found[0] if found else None
    _check_alone(bias, which)
    if which is None:
        return None
    if kind is not RIDGE and which != "--sampled":
        raise InputError(
            f"{which} is for models that are linear in their labels; {kind.words} is certified for "
            f"numbers of any labels: leave --model {kind.name} out, or pass --budget"
        )
    _check_together(bias, which)
    if which == "--total" and (bias.shift is None or data.log):
        raise InputError(
            "--total adds up by how much labels are off, so it needs --shift, which says how far "
            "one label may be"
            if bias.shift is None
            else "--total adds up changes in the label's own unit, and --log compares logarithms; "
            "pass one of them"
        )
    return which


def _check_alone(bias: BudgetOptions, which: str | None) -> None:
    """Raise if an option is given without the one that it belongs to."""
    for option, value, owner in (
        ("--cap", bias.cap, "--bias"),
        ("--surprise", bias.surprise or None, "--error-probability"),
    ):
        if value is not None and which != owner:
            raise InputError(f"{option} is for {owner}, which was not given; pass both, or none")
    _check_confidence(bias, given=which in ("--sampled", "--bias"))


def _check_confidence(bias: BudgetOptions, *, given: bool) -> None:
    if bias.confidence is not None and not given:
        raise InputError(
            "--confidence is of a sample that was checked, and none is given; pass --sampled "
            "4/300, or a sample in a part of --bias"
        )


def _check_together(bias: BudgetOptions, which: str) -> None:
    """Raise if an option contradicts the one that says what the budget is, or is missing."""
    for option, value, instead in (
        ("--budget", bias.budget, {
            "--bias": "each part has its own; pass --cap for all of them together",
            "--sampled": "the sample says how many labels may be wrong",
            "--total": "the total is the budget",
            "--error-probability": "--surprise is the budget",
        }),
        ("--only", bias.only, {
            "--bias": "write the condition into its parts",
            "--sampled": "the sample is of all rows of the file; for one of some rows only, pass "
            "--bias \"CONDITION: WRONG/CHECKED\"",
        }),
        ("--direction", bias.direction, {"--bias": "write up or down behind a part's budget"}),
    ):  # fmt: skip
        if value and which in instead:
            raise InputError(f"{option} and {which} contradict each other: {instead[which]}")
    if which == "--cost" and not bias.budget:
        raise InputError(f"--cost needs --budget, which is what {_LIMIT}, such as --budget 10")
    if which == "--error-probability" and not bias.surprise:
        raise InputError(
            "--error-probability needs --surprise, such as --surprise 10: sets of wrong labels "
            "count that are at most e^10, about 22,000, times less likely than the likeliest"
        )


def _check_beside(stated: Stated, data: DataOptions) -> None:
    """Raise if a column that says what the budget is has another use already."""
    uses = {"--label": data.label, "--weights": data.weights}
    for option, name in stated.columns.items():
        for other, used in uses.items():
            if name == used:
                raise InputError(f"{option} and {other} both name {shorten(name)!r}; name another")
        if name in split_names(data.features):
            raise InputError(
                f"--features and {option} both name {shorten(name)!r}, which is left out of the "
                "model; leave it out of --features"
            )


# ----------------------------------------------------------------------------------------
# The model.


def _model_fields(model: ModelOptions, kinds: KindOptions, train: Path) -> dict[str, Any]:
    """Return the fields of a request that are about the model."""
    kind = KINDS[kinds.model]
    kind = SEARCH if _searches(model) else kind
    alpha = None if kind is SEARCH else _penalty(model, kinds, kind)
    if model.give_up is not None and not model.give_up >= 0:
        raise InputError(f"--give-up {model.give_up:g} is not a loss; pass 0 or more points")
    if model.give_up is not None and alpha is not None:
        raise InputError(
            f"--give-up chooses {kind.option}, so pass either --{kind.option} or --give-up"
        )
    if model.validation is not None:
        _check_validation(model.validation, train, alpha, kind.option)
    _check_kind(kinds, kind)
    threshold = None
    if model.threshold is not None:
        threshold = (parse_probability if kind.log_odds else parse_threshold)(model.threshold)
    return {
        "kind": kind,
        "alpha": alpha,
        "effort": kinds.effort,
        "threshold": threshold,
        "give_up": model.give_up or 0.0,
        "validation": model.validation,
    }


def _penalty(model: ModelOptions, kinds: KindOptions, kind: Kind) -> float | None:
    """Return the penalty; None if it is to be chosen."""
    other, given = ("C", kinds.C) if kind is RIDGE else ("alpha", model.alpha)
    if given is not None:
        which = "logistic" if other == "C" else "ridge"
        raise InputError(
            f"--{other} is the penalty of --model {which}, and --model is {kind.name}; pass "
            f"--{kind.option} (C = 1 / penalty), or --model {which}"
        )
    mine = model.alpha if kind is RIDGE else kinds.C
    usual = "1" if kind is RIDGE else "0.01"
    text = mine or (usual if model.give_up is None else "auto")
    return parse_alpha(text) if kind is RIDGE else parse_strength(text)


def _searches(model: ModelOptions) -> bool:
    """Return whether all training labels are to choose alpha."""
    return (model.alpha or "").strip().lower() == SEARCH.name


def _check_kind(kinds: KindOptions, kind: Kind) -> None:
    """Raise for options that a kind of model does not have."""
    if not kind.log_odds:
        if kinds.effort is not None:
            raise InputError(
                f"--effort {kinds.effort} is for --model logistic: certificates of ridge "
                "regression are exact anyway; leave it out"
            )
        return
    if kinds.effort not in (None, 0, 1, 2):
        raise InputError(f"--effort {kinds.effort} is none of 0, 1 and 2; pass one of them")


def _check_proof(kind: Kind, method: str, resolve: str | None) -> None:
    """Raise for a proof that a kind of model does not have."""
    if not kind.log_odds:
        return
    bounds = None if method in ("exact", "auto") else method
    for option, value in (("--method", bounds), ("--resolve", resolve)):
        if value is not None:
            raise InputError(
                f"{option} {value} is for models that are linear in their labels, and {kind.words} "
                f"is not; leave --model {kind.name} or {option} {value} out"
            )


def _check_validation(validation: Path, train: Path, alpha: float | None, option: str) -> None:
    """Raise if no penalty is chosen, or training labels would choose it."""
    if alpha is not None:
        raise InputError(
            f"--validation is for rows that choose {option}, but a number was given; pass "
            f"--{option} auto or --give-up, or leave --validation out"
        )
    if validation.exists() and train.exists() and validation.samefile(train):
        raise InputError(
            f"--validation {validation} is the training file; labels that may be wrong would "
            f"choose {option} and the certificate would be false, so pass other rows, or none: "
            "then some are set aside"
        )


# ----------------------------------------------------------------------------------------
# One file in memory, or rows in pieces.


def refuse_many(path: Path) -> None:
    """Raise if a folder, a pattern or a URL is given to a command that takes one file."""
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


def in_pieces(source: str, large: LargeOptions, *, plan: bool = False) -> InPieces | None:
    """Return how training rows are read in pieces; None if one file is read into memory."""
    asked = large.in_pieces or plan or large.scheduler is not None or large.resume is not None
    if not asked and _many(source) is None:
        return None
    return InPieces(source, large.scheduler, large.resume)


def by_size(request: Request, say: Callable[[str], None]) -> Request:
    """Have a large file read in pieces, if nothing that is asked forbids it."""
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


@contextmanager
def opened_study(request: Request, terminal: Terminal, row: int | None = None) -> Iterator[Study]:
    """Open the study that a request is about, of one row where it is in a fold, and close it."""
    if request.in_pieces is not None:
        with _resumable(request, terminal):
            from unswayed.study.in_pieces import open_pieces

            study: Study = open_pieces(request, terminal)
            try:
                yield study
            finally:
                study.scheme.close()
    elif request.folds is None:
        yield open_study(request, terminal)
    elif row is None:
        yield open_folds(request, terminal)
    else:
        yield open_fold(request, row, terminal)


@contextmanager
def _resumable(request: Request, terminal: Terminal) -> Iterator[None]:
    """Say how to go on if the run is interrupted."""
    try:
        yield
    except Exception:
        raise
    except BaseException:  # a signal
        assert request.in_pieces is not None  # noqa: S101
        folder = request.in_pieces.resume
        if folder is not None:
            terminal.note(f"{folder} has what was found; give the same command again to go on")
        raise


def check_outputs(
    request: Request,
    out: Path | None,
    report: Path | None = None,
    *read: Path,
    tables: tuple[str, ...] = TABLES,
) -> None:
    """Raise, before any work is done, if a table or a page cannot be written."""
    check_output(out, "--out", tables, *request.files, *read)
    check_output(report, "--report", (".html", ".htm"), *request.files, *read, out)
    _check_folder(out, "--out", request)
    _check_folder(report, "--report", request)


def _check_folder(path: Path | None, option: str, request: Request) -> None:
    """Raise if an output file would be, or become, one of the files of training rows."""
    if path is None or request.in_pieces is None:
        return
    source = request.in_pieces.source
    if os.path.isdir(source) and path.resolve().is_relative_to(Path(source).resolve()):
        raise InputError(
            f"{option} {path} is in the folder of the training rows, and would be taken for one "
            "of its files the next time; choose another folder"
        )
    from unswayed.pieces.pieces import find_files

    if any(Path(file.path) == path.resolve() for file in find_files(source)):
        raise InputError(f"{option} {path} would overwrite the input; choose another name")
