"""Target: the label column and the weights of rows, where they suit what was asked."""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from unswayed._typing import FloatArray, IntArray
from unswayed.exceptions import InputError
from unswayed.labels.samples import class_named
from unswayed.report.facts import Caveat
from unswayed.study.request import Loaded, Request
from unswayed.tables.columns import (
    are_numbers,
    codes,
    is_number,
    is_text,
    plain,
    texts_as_numbers,
)
from unswayed.tables.suspicion import MOST_CLASSES
from unswayed.words import (
    as_text,
    counted,
    distinct_texts,
    in_shell,
    is_called,
    listed,
    shorten,
    suggest,
    values_in_words,
)

Task = Literal["classification", "regression"]


@dataclass(frozen=True, slots=True)
class Target:
    """The label column. Of two classes the second is the positive one, of more there is none.

    Classes are sorted unless one was named as the positive one. If that one has several others
    against it (`rest`), the first of `classes` is None, which stands for all of them.
    """

    label: str
    task: Task
    classes: tuple[Any, ...] = ()
    log: bool = False  # labels are encoded as their logarithms
    rest: tuple[Any, ...] = ()

    @classmethod
    def of(
        cls,
        label: str,
        values: pa.ChunkedArray,
        task: Task | None,
        *,
        log: bool = False,
        positive: str | None = None,
        versus_rest: bool = False,
    ) -> "Target":
        """Recognise classes or numbers from the labels of the training rows."""
        name = shorten(label)
        values = codes(plain(values))
        number = is_number(values.type)
        if not number and not is_text(values.type) and not pa.types.is_boolean(values.type):
            raise InputError(
                f"the label {name!r} holds {values.type} values, neither numbers nor texts; turn "
                "it into one of them"
            )
        found = values.combine_chunks().value_counts()
        counts = dict(
            zip(found.field("values").to_pylist(), found.field("counts").to_pylist(), strict=True)
        )
        if positive is not None:
            return cls.one_class(label, counts, positive, task, versus_rest=versus_rest)
        return cls.among(label, counts, task, number=number, log=log)

    @classmethod
    def among(
        cls,
        label: str,
        counts: Mapping[Any, int],
        task: Task | None,
        *,
        number: bool,
        log: bool = False,
    ) -> "Target":
        """Recognise classes or numbers from the different labels of the training rows."""
        name, distinct = shorten(label), sorted(counts)
        if not distinct:
            raise InputError("no training row is left; pass more rows, or a number as --alpha")
        if len(distinct) < 2:
            raise InputError(
                f"the label {name!r} is {as_text(distinct[0])!r} in every training row; there is "
                "nothing to predict, so choose another label or more rows"
            )
        if task is None:
            task = "regression" if number and len(distinct) > 2 else "classification"
        if task == "regression":
            if not number:
                raise InputError(
                    f"the label {name!r} holds texts, but regression needs numbers; leave --task "
                    "out or choose another label"
                )
            return cls(label, "regression", log=log)
        if len(distinct) > MOST_CLASSES:
            say = in_shell("--positive", as_text(distinct[-1], sys.maxsize))
            raise InputError(
                f"the label {name!r} has {len(distinct):,} classes "
                f"({values_in_words(distinct, [counts[each] for each in distinct])}), and at most "
                f"{MOST_CLASSES} are told apart; join rare ones, or pass {say}, say, to ask about "
                "one class versus the rest"
                + (", or --task regression to predict the number" if number else "")
            )
        target = cls(label, "classification", tuple(distinct))
        target._refuse_spellings()
        return target

    @classmethod
    def one_class(
        cls,
        label: str,
        counts: Mapping[Any, int],
        positive: str,
        task: Task | None,
        *,
        versus_rest: bool = False,
    ) -> "Target":
        """Recognise the class that ``--positive`` names; all others are one class against it."""
        name, distinct = shorten(label), sorted(counts)
        if task == "regression":
            raise InputError(
                "--positive names a class, and --task regression predicts a number; pass one of "
                "the two"
            )
        found = [value for value in distinct if is_called(value, positive)]
        if not found:
            texts = [as_text(value, sys.maxsize) for value in distinct]
            raise InputError(
                f"--positive {shorten(positive)!r} is no class of the label {name!r} in the "
                f"training rows; {suggest(positive, texts, 'classes')}"
            )
        rest = tuple(value for value in distinct if value != found[0])
        if not rest:
            raise InputError(
                f"the label {name!r} is {as_text(found[0])!r} in every training row; there is "
                "nothing to predict, so choose another label or more rows"
            )
        target = cls(label, "classification", (rest[0], found[0]))
        if len(rest) > 1 or versus_rest:
            target = replace(target, classes=(None, found[0]), rest=rest)
        target.refuse_look_alikes(rest)
        return target

    def refuse_look_alikes(self, others: Iterable[Any]) -> None:
        """Raise if labels that count as the rest are the positive class but for its spelling."""
        alike = [each for each in others if only_looks_different([each], self.classes[1:])]
        if self.rest and alike:
            raise InputError(
                f"the label {shorten(self.label)!r} has {as_text(alike[0], 30)!r} too, which "
                f"differs from --positive {self.class_names[1]!r} by a full stop, spaces or "
                "capitals only and would count as another class; write them alike"
            )

    def _refuse_spellings(self) -> None:
        """Raise if two of several classes are the same but for their spelling."""
        for at, each in enumerate(self.classes if self.several else ()):
            if only_looks_different([each], self.classes[:at]):
                raise InputError(
                    f"the label {shorten(self.label)!r} has {as_text(each, 30)!r}, and another "
                    "class that differs from it by a full stop, spaces or capitals only, so that "
                    "one class would count as two; write them alike"
                )

    @property
    def several(self) -> bool:
        """Whether there are three or more classes, of which the highest score is said."""
        return len(self.classes) > 2

    @property
    def positive(self) -> str | None:
        """The positive one of two classes."""
        return self.class_names[1] if len(self.classes) == 2 else None

    def changes(self, to: Mapping[str, tuple[str, ...]]) -> dict[float, list[float]] | None:
        """Return what labels may really be as numbers of classes; None: any other class."""
        names = {name: self._number(name) for pair in to.items() for name in (pair[0], *pair[1])}
        return {names[each]: [names[other] for other in to[each]] for each in to} or None

    def _number(self, name: str) -> float:
        """Return the number of the class that ``--to`` names."""
        for number, value in enumerate(self.classes):
            if is_called(value, name):
                return float(number)
        texts = [as_text(value, sys.maxsize) for value in self.classes]
        raise InputError(
            f"--to: {shorten(name)!r} is no class of the label {shorten(self.label)!r} in the "
            f"training rows; {suggest(name, texts, 'classes')}"
        )

    @property
    def versus(self) -> tuple[str, ...]:
        """The classes that are one class against the positive one; none where there are two."""
        return tuple(distinct_texts(self.rest))

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes as texts; empty for regression."""
        if self.rest:
            name = as_text(self.classes[1])
            return f"not {name}", name
        return tuple(distinct_texts(self.classes))

    def encode(self, values: pa.ChunkedArray) -> FloatArray:
        """Return labels as numbers."""
        values = codes(plain(values))
        try:
            if self.task == "regression":
                numbers = np.asarray(values.cast(pa.float64(), safe=False), dtype=np.float64)
                return self._logarithms(numbers) if self.log else numbers
            known = pa.array(self.classes[1:] if self.rest else self.classes, type=values.type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
            raise InputError(
                f"the label {shorten(self.label)!r} holds {values.type} values here but other "
                "ones in the training file; give both the same kind"
            ) from None
        position = pc.index_in(values, value_set=known)
        if self.rest and not values.null_count:
            self.refuse_look_alikes(pc.unique(values.filter(pc.is_null(position))).to_pylist())
            return np.asarray(pc.is_valid(position), dtype=np.float64)
        if position.null_count:
            strange = pc.unique(values.filter(pc.is_null(position)).combine_chunks()).to_pylist()
            raise InputError(self._strange(strange))
        return np.asarray(position, dtype=np.float64)

    def numbers(self, labels: NDArray[Any]) -> FloatArray:
        """Return labels as a model in pieces writes them, as numbers: classes as 0 and 1."""
        if not self.classes:
            return np.asarray(labels, dtype=np.float64)
        return np.asarray(labels == self.classes[1], dtype=np.float64)

    def _logarithms(self, numbers: FloatArray) -> FloatArray:
        if not (numbers > 0).all():
            raise InputError(
                f"--log: the label {shorten(self.label)!r} is "
                f"{as_text(float(numbers[~(numbers > 0)][0]))} in a row here, and only positive "
                "numbers have a logarithm; leave --log out, or such rows"
            )
        return np.log(numbers)

    def natural(self, scores: FloatArray, way: float = 0.0) -> FloatArray:
        """Return scores in the label's own unit."""
        if not self.log:
            return scores
        with np.errstate(over="ignore"):
            found = np.exp(scores)
        for _ in range(2 if way else 0):  # the C library's last place is not certain
            found = np.nextafter(found, way)
        return np.maximum(found, 0.0)

    def _strange(self, values: list[Any]) -> str:
        """Say which labels no training row has, and whether they only look different."""
        shown = ", ".join(repr(as_text(value, 30)) for value in values[:4])
        known = ", ".join(map(repr, self.class_names))
        more = ", …" if len(values) > 4 else ""
        if only_looks_different(values, self.classes):
            ways = "they differ by a full stop, spaces or capitals only, so write them alike"
        else:
            ways = f"it must be one of {known}"
        if self.several:
            ways += (
                "; a class that no training row has cannot be learnt: pass training rows of it, "
                "another --seed if rows were held out, or leave such rows out"
            )
        return (
            f"the label {shorten(self.label)!r} has values here that the training file does not "
            f"have: {shown}{more} where that has {known}; {ways}"
        )

    def as_text(self, value: float) -> str:
        """Return a label as a text."""
        if self.classes:
            return self.class_names[int(value)]
        if self.log:
            return as_text(float(f"{self.natural(np.array([value]))[0]:.12g}"))
        return as_text(float(value))


def only_looks_different(values: Iterable[Any], known: Iterable[Any]) -> bool:
    """Return whether values are known but for spaces, capitals, and full stops at their end.

    Examples
    --------
    >>> only_looks_different([" <=50K."], ["<=50K", ">50K"])
    True
    """
    bare = {_bare(as_text(each)) for each in known}
    return all(_bare(as_text(each)) in bare for each in values)


def _bare(text: str) -> str:
    """Return a text without what people overlook: spaces, full stops at its end, capitals."""
    return " ".join(text.split()).rstrip(". ").casefold()


def target_of(
    request: Request,
    train: tuple[pa.Table, IntArray],
    *,
    certified: bool,
    versus_rest: bool = False,
) -> Target:
    """Recognise what is predicted from training rows."""
    column = train[0].column(request.label)
    target = Target.of(
        request.label,
        column,
        request.task,
        log=request.log,
        positive=request.positive,
        versus_rest=versus_rest,
    )
    check_bias(request, target, certified=certified)
    _check_labels(request, target, train)
    return target


def check_bias(request: Request, target: Target, *, certified: bool) -> None:
    """Raise if what may be wrong does not suit the labels."""
    _check_classes(request, target)
    if target.task == "regression":
        if "numbers" not in request.kind.can:
            raise InputError(
                f"--model {request.kind.name} is for two classes, but the label "
                f"{shorten(target.label)!r} is a number; leave --model out, or name a column with "
                "two different values"
            )
        if request.shift is None:
            raise InputError(
                f"the label {shorten(target.label)!r} is a number, so say how far it may be "
                "off: pass --shift 2000, --shift 0:2000 for labels that are too low, or "
                "--shift 5% for a share of each; or --task classification if its numbers are "
                "classes"
            )
        if request.log and not request.shift.relative:
            raise InputError(
                "--log: on the scale of logarithms a label is off by a factor, so write "
                "--shift as a share, such as 5% for a factor of 1.05"
            )
        if request.threshold is not None:
            raise InputError(
                f"--threshold is for classes, but the label {shorten(target.label)!r} is a "
                "number; leave it out"
            )
        if request.radius is None and certified and request.method != "exact":
            raise InputError(
                f"--method {request.method} has ranges that are wider than what labels can "
                "do, so it needs a radius to decide by: pass --radius, or leave --method out"
            )
        return
    if request.threshold == "balanced" and request.method in ("box", "sandwich"):
        raise InputError(
            f"--method {request.method} bounds coefficients, which does not bound scores "
            "measured from the share of positive labels; use --method exact or auto"
        )
    given = {
        "--shift": request.shift,
        "--radius": request.radius,
        "--clip": request.clip,
        "--log": request.log or None,
    }
    for option in (name for name, value in given.items() if value is not None):
        has = f"the two classes {' and '.join(map(repr, target.class_names))}, which are flipped"
        if target.several:
            has = f"{len(target.classes)} classes, and a wrong label is another of these"
        raise InputError(
            f"{option} is for labels that are numbers, but {shorten(target.label)!r} has {has}; "
            f"leave {option} out, or pass --task regression"
        )


def _check_classes(request: Request, target: Target) -> None:
    """Raise if something is asked of three or more classes that is for two, or the reverse."""
    name = shorten(target.label)
    if not target.several:
        if request.to:
            instead = "pass --direction up or down" if target.classes else "pass --shift"
            raise InputError(
                "--to says which of three or more classes a label may really be, and the label "
                f"{name!r} {'has two' if target.classes else 'is a number'}; leave it out, or "
                f"{instead}"
            )
        return
    parts = getattr(request.stated, "terms", ())
    all_rows = request.asks in ("together", "fairness")
    say = in_shell("--positive", as_text(target.classes[-1], sys.maxsize))
    versus = f"pass {say}, say, to ask about one class versus the rest"
    either = f"leave it out, or {versus}"
    rules = (
        (request.asks == "coefficients", "unswayed coefficients",
         "every class has coefficients of its own", versus),
        (request.folds and all_rows, "--folds", "one set of wrong labels for the models of all "
         "folds is looked for in one score", f"hold rows out with --holdout, or {versus}"),
        (request.kind.log_odds, f"--model {request.kind.name}", "it tells two classes apart",
         either),
        ("choice" in request.kind.can, "--alpha search", "it tells two classes apart",
         f"pass --alpha auto or a number, or {versus}"),
        (request.kind.option == "steps", "--steps", "it tells two classes apart", either),
        (request.in_pieces, "reading training rows in pieces", "labels are summed up as two "
         "classes there", f"pass one file that fits into memory, or {versus}"),
        (request.threshold, "--threshold", "of several classes the highest score decides",
         either),
        (request.direction or any(part.direction for part in parts),
         "--direction" if request.direction else "up or down in --bias",
         "no class is above another", 'say what labels may really be with --to "CLASS: CLASS, …", '
         f"or {versus}"),
    )  # fmt: skip
    for given, what, reason, instead in rules:
        if given:
            raise InputError(
                f"{what} does not go with the {len(target.classes)} classes of the label {name!r} "
                f"({listed(target.class_names, 4)}): {reason}; {instead}"
            )
    target.changes(request.to)


def _check_labels(request: Request, target: Target, train: tuple[pa.Table, IntArray]) -> None:
    table, numbers = train
    if target.task == "classification" or not (request.log or request.clip):
        return
    values = replace(target, log=False).encode(table.column(target.label))
    low, high = request.clip or (-np.inf, np.inf)
    rules = (
        (request.log & (values <= 0), "--log: only positive numbers have a logarithm"),
        ((values < low) | (values > high), "--clip: no label may be outside the range"),
    )
    for broken, rule in rules:
        for at in np.flatnonzero(broken)[:1]:
            others = int(broken.sum()) - 1
            more = f", and {others:,} more are like it" if others else ""
            raise InputError(
                f"{rule}, but {shorten(target.label)!r} is {as_text(float(values[at]))} in row "
                f"{numbers[at]:,} of {request.train}{more}; mend such labels or leave their "
                f"rows out, or {'pass a wider range' if request.clip else 'leave --log out'}"
            )


# ----------------------------------------------------------------------------------------
# Weights: a column that says how much each training row counts.


def column_of_numbers(
    name: str, rows: Loaded, option: str, one: str, says: str, *, most: float | None = None
) -> FloatArray:
    """Return a column of numbers that are 0 or more, and finite or at most so much."""
    table, numbers = rows
    column = plain(table.column(name))
    if not is_number(column.type) and not pa.types.is_boolean(column.type):
        raise InputError(f"{option}: column {shorten(name)!r} holds {column.type} values; {says}")
    values = np.asarray(pc.fill_null(column.cast(pa.float64(), safe=False), np.nan))
    for wrong, what in (
        (np.isnan(values), "is missing"),
        (values < 0, "is negative"),
        (np.isinf(values) & (most is None), "is infinite"),
        (values > (np.inf if most is None else most), f"is above {most:g}" if most else ""),
    ):
        if wrong.any():
            at = int(np.flatnonzero(wrong)[0])
            raise InputError(
                f"{option}: the {one} in column {shorten(name)!r} {what} in row "
                f"{int(numbers[at]):,} ({counted(int(wrong.sum()), 'such row')}); correct it, or "
                f"remove the rows: {says}"
            )
    return values


def weights_of(name: str, table: pa.Table, numbers: IntArray) -> FloatArray:
    """Return the weights of rows."""
    says = "weights are numbers, 0 or more, which say how much a row counts"
    values = column_of_numbers(name, (table, numbers), "--weights", "weight", says)
    if not values.any():
        raise InputError(
            f"--weights: column {shorten(name)!r} is zero in every training row, so nothing is "
            "left to learn from; name another column"
        )
    return values


def follow_labels(name: str) -> Caveat:
    """Say that weights follow the labels."""
    return Caveat(
        "label-weights",
        f"the weights in column {shorten(name)!r} follow the labels, as weights that balance "
        "classes do; if they were computed from the labels, changing a label would change them "
        "too, and nothing here is certified",
        "leave --weights out unless they were fixed before the labels were seen",
    )


# ----------------------------------------------------------------------------------------
# Labels as people write them who checked them.


def label_of(request: Request, target: Target, row: int, text: str, path: Path) -> float:
    """Return an answer as the model is trained on it."""
    names = target.class_names
    if names:
        if any(same(text, each) for each in target.versus):
            return 0.0
        # A text that a spreadsheet would run has an apostrophe before it in the reviewers' file.
        bare = text.removeprefix("'") if text.removeprefix("'") in names else text
        try:
            return float(names.index(class_named(bare, np.array(names, dtype=object), row)))
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
    cell = pa.chunked_array([pa.array([text])])
    decimal = request.dialect.decimal
    if not are_numbers(cell, decimal, grouped=False)[0]:
        raise InputError(
            f"{path}: the answer for row {row:,} is {shorten(text)!r}, which is no number with "
            f"a {'point' if decimal == '.' else 'comma'} before its decimals; correct it, or leave "
            "it empty if the label was not checked"
        )
    number = texts_as_numbers(cell, decimal)
    value = float(number[0].as_py())
    low, high = request.clip or (-np.inf, np.inf)
    if not low <= value <= high:
        raise InputError(
            f"{path}: the answer for row {row:,} is {shorten(text)}, outside the range of --clip; "
            "correct it, or pass a wider range"
        )
    return float(target.encode(number)[0])


def same(one: str, other: str) -> bool:
    """Return whether two texts are the same number, or the same but for spaces and capitals."""
    try:
        return float(one) == float(other)
    except ValueError:
        return one.strip().casefold() == other.casefold()
