"""From files to a study: rows are read, split and encoded, alpha is chosen, a model fitted."""

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unswayed._typing import BoolArray, FloatArray, IntArray, Matrix
from unswayed.estimators.certificate_file import pack_doubles, pack_rows, write_certificates
from unswayed.exceptions import InputError, SolverPrecisionWarning, UnprovenWarning
from unswayed.margins.decisions import RATIONAL
from unswayed.report.facts import MOST_GROUPS, Caveat
from unswayed.results.certificates import CertificateSet
from unswayed.study.choosing import choose_alpha, chosen_by_labels, set_aside
from unswayed.study.loading import Loader, Rows, hold_out, need, owners, split_rows, take
from unswayed.study.request import Loaded, Request, Where
from unswayed.study.study import OneModel, Progress, Silent, Study
from unswayed.study.target import Target, follow_labels, target_of, weights_of
from unswayed.tables.columns import codes, is_number, is_text, is_usable, plain, same_everywhere
from unswayed.tables.encoding import EncodedColumn, Encoding
from unswayed.tables.expression import select
from unswayed.tables.files import foreign_format, is_parquet
from unswayed.tables.inspection import constant
from unswayed.tables.suspicion import is_too_many
from unswayed.words import as_text, option, shorten

_HELD_OUT = 0.1  # of the rows, where it is not asked for
_MANY_UNSEEN = 0.05  # of the test rows: so many new categories are a warning, fewer a note
MOST_HELD_OUT = 10_000
"""Rows held out at most where the share is not asked for: more say little more."""

_UNPROVEN = (
    "this problem is too close to singular for proofs in double precision, so every verdict is "
    "undecided; pass --resolve exact to settle them in rational arithmetic, or an --alpha above 0, "
    "which makes it regular"
)


def open_study(
    request: Request, progress: Progress | None = None, *, need_test: bool = True
) -> Study:
    """Read the files, split the rows, choose alpha if asked to, and fit the model."""
    progress = progress or Silent()
    return Opening(request, progress, need_test).study()


class Opening:
    """The steps from files to a fitted model."""

    def __init__(self, request: Request, progress: Progress, need_test: bool = True) -> None:
        self.request = request
        self.progress = progress
        self.need_test = need_test
        self.loader = Loader(request)
        self.notes, self.caveats = self.loader.notes, self.loader.caveats
        self._features: tuple[str, ...] = ()

    def study(self) -> Study:
        """Read the files, split the rows and fit the model."""
        request = self.request
        train = self.loader.train()
        if request.test is not None and self.need_test:
            test = self.loader.other(request.test, train[0].schema)
        else:
            stay, out = self._split(train)
            train, test = take(train, stay), take(train, out)
        pa.default_memory_pool().release_unused()  # what reading took, before features take as much
        aside = self.load_validation(train[0].schema)
        return self.fitted(self.loader.names, train, test, aside)

    def load_validation(self, schema: pa.Schema) -> pa.Table | None:
        """Read the rows that choose alpha, where they are of a file of their own."""
        request = self.request
        if request.alpha is not None or request.validation is None:
            return None
        aside, _ = self.loader.other(request.validation, schema)
        need((request.label,), aside, f"--validation {request.validation}")
        return aside

    def fitted(
        self, names: list[str], train: Loaded, test: Loaded, aside: pa.Table | None
    ) -> Study:
        """Encode rows, choose alpha if asked to, and fit the model."""
        request = self.request
        if request.sets_aside and aside is None:
            stay, out = set_aside(train[0].num_rows, request.seed, request.kind.option)
            aside, train = take(train, out)[0], take(train, stay)
        table, numbers = train
        self.request = request = request.settled(table.num_rows)
        target = target_of(
            request, train, certified=self.need_test, versus_rest=self.loader.versus_rest
        )
        self.request = request = self.stated(target)
        encoding = self.encoding(self._varying(names, table), table)
        if "sparse" not in request.kind.can:
            encoding = replace(encoding, is_sparse=False)
        training = Rows(
            table,
            numbers,
            encoding.features(table),
            self.labels(target, train),
            None if request.weights is None else weights_of(request.weights, table, numbers),
        )
        testing = self._test_rows(encoding, target, *test)
        movable = self.movable(train)
        choice = None
        if aside is not None:
            known = encoded(encoding, aside), target.encode(aside.column(target.label))
            choice = choose_alpha(request, target, training, known, self.progress)
        alpha = request.alpha if choice is None else choice.alpha
        model = self.fit(target, training, movable, alpha)
        if "choice" in request.kind.can:
            choice = chosen_by_labels(model, len(training), request.kind)
            alpha = choice.alpha
        return Study(
            request=request,
            target=target,
            encoding=encoding,
            train=training,
            test=testing,
            model=model,
            scheme=OneModel(),
            alpha=alpha,
            movable=movable,
            alpha_choice=choice,
            inspection=self.loader.inspection,
            gaps=self.loader.gaps,
            notes=self.notes,
            caveats=self.caveats,
            sizes=self.loader.sizes,
            progress=self.progress,
        )

    def stated(self, target: Target) -> Request:
        """Return the request once the training file says what its budget is."""
        request, every = self.request, self.loader.every
        if request.stated is None or every is None:
            return request
        return request.stated.known(request, target, every)

    def labels(self, target: Target, rows: Loaded) -> FloatArray:
        """Return labels of rows of the training file as numbers."""
        found, stated = target.encode(rows[0].column(target.label)), self.request.stated
        return found if stated is None else stated.corrected(found, rows[1])

    def _varying(self, names: list[str], train: pa.Table) -> list[str]:
        """Return the feature columns that differ between training rows; say which do not."""
        found = []
        for name in names:
            values = plain(train.column(name))
            if not is_usable(values.type):
                found.append(name)  # refused by `encoding`
                continue
            texts = is_text(values.type) or name in self.request.categorical
            known = codes(values) if texts else codes(values).drop_null()  # gaps are filled in
            if same_everywhere(known):
                value = known[0].as_py() if len(known) else None
                self.caveats.append(constant(name, value, "training row"))
            else:
                found.append(name)
        return found

    def encoding(self, names: list[str], train: pa.Table) -> Encoding:
        """Return how feature columns of the training rows become features."""
        if not names:
            raise InputError("no feature column is left beside the label; ignore fewer columns")
        categorical = self.request.categorical
        for name in names:
            _check_feature(name, plain(train.column(name)), as_category=name in categorical)
        impute = self.request.missing == "impute"
        found = Encoding.of_table(train.select(names), categorical, impute=impute)
        self._features = found.names
        return found

    def _split(self, rows: Loaded) -> tuple[IntArray, IntArray]:
        n_rows, name, seed = rows[0].num_rows, self.request.fold_by, self.request.seed
        if not self.need_test:
            return np.arange(n_rows), np.arange(0)
        if name is not None:
            return hold_out(name, owners(name, rows), self.n_held_out(n_rows), seed)
        return split_rows(n_rows, self.n_held_out(n_rows), seed)

    def n_held_out(self, n_rows: int) -> int:
        """Return how many rows are held out."""
        wanted = self.request.holdout or _HELD_OUT
        n_out = int(wanted) if wanted >= 1 else max(1, round(wanted * n_rows))
        if self.request.holdout is None:
            n_out = min(n_out, MOST_HELD_OUT)
        if n_out > n_rows - 2:
            raise InputError(
                f"holding out {n_out:,} of {n_rows:,} rows leaves too few to train on; pass a "
                "smaller --holdout, or test rows with --test"
            )
        return n_out

    def _test_rows(
        self, encoding: Encoding, target: Target, test: pa.Table, numbers: IntArray
    ) -> Rows:
        features = encoded(encoding, test)
        for name, rows in encoding.unseen(test).items():
            self.unseen(name, rows, (test, numbers))
        has_label = target.label in test.column_names
        labels = target.encode(test.column(target.label)) if has_label else None
        if self.request.test is None and labels is not None:
            labels = self.labels(target, (test, numbers))
        self.check_groups(test)
        return Rows(test, numbers, features, labels)

    def unseen(self, name: str, rows: BoolArray, test: Loaded) -> None:
        """Note test rows with a category that no training row has; raise if that is refused."""
        first = int(np.flatnonzero(rows)[0])
        value = as_text(test[0].column(name)[first].as_py())
        where = f"{int(rows.sum()):,} test rows (first {value!r} in row {test[1][first]:,})"
        if self.request.test is not None and self.request.unseen == "refuse":
            raise InputError(
                f"column {shorten(name)!r} has categories in {where} that no training row "
                "has; correct them, or pass --unseen ignore to predict from the other columns"
            )
        said = (
            f"column {shorten(name)!r}: {where} with a category that no training row has are "
            "predicted from their other columns"
        )
        if rows.mean() > _MANY_UNSEEN:
            out = option("--ignore", [name])
            ways = f"leave it out with {out}, or join rare values"
            self.caveats.append(Caveat("free-text", said, ways))
        else:
            self.notes.append(said)

    def check_groups(self, test: pa.Table) -> None:
        """Raise if a column to compare groups by is missing, or has too many groups."""
        need(self.request.groups, test, "--groups")
        for name in self.request.groups:
            kinds = len({as_text(value) for value in test.column(name).to_pylist()})
            if kinds > MOST_GROUPS:
                sort = "numbers" if is_number(test.column(name).type) else "values"
                raise InputError(
                    f"--groups: column {shorten(name)!r} has {kinds:,} different {sort}, too many "
                    f"to compare; name a column with at most {MOST_GROUPS}"
                )

    def movable(self, train: Loaded) -> BoolArray:
        """Return which rows' labels may be wrong."""
        stated = self.request.stated
        mask = np.ones(len(train[1]), dtype=bool) if stated is None else stated.movable(train)
        if self.request.only is None:
            return mask
        selected = select(self.request.only, train[0])
        if not selected.any():
            raise self.nothing_selected()
        return mask & selected

    def nothing_selected(self) -> InputError:
        """Return an error about a condition that no training row meets."""
        return InputError(
            f"--only {shorten(self.request.only or '')!r} selects no training row, so no label "
            "could be wrong and everything would be robust; check the values it compares with"
        )

    def fit(self, target: Target, training: Rows, movable: BoolArray, alpha: float | None) -> Any:
        """Fit the model; what is to be said about that is noted."""
        assert training.labels is not None  # noqa: S101
        where = None if movable.all() else movable
        # Who names a column of weights vouches that it was not computed from the labels.
        trust = () if training.weights is None else ("sample_weight",)
        rows = training.table, training.numbers
        model = self.model(target, training.labels, where, alpha, rows=rows, trust=trust)
        with self._noting():
            model.fit(training.features, training.labels, training.weights)
        if "sample_weight" in model.fitted_.trusted:
            self.caveats.append(follow_labels(str(self.request.weights)))
        return model

    def model(
        self,
        target: Target,
        labels: FloatArray,
        where: BoolArray | Where | None,
        alpha: float | None,
        rows: Loaded | None = None,
        **more: Any,
    ) -> Any:
        """Make the model, not fitted."""
        from unswayed.estimators import CertifiedClassifier, CertifiedRegressor

        request = self.request
        check_method(request)
        to = target.changes(request.to)
        final, bias = request.kind.estimator(alpha), request.bias(labels, where, rows, to)
        if target.classes:
            return CertifiedClassifier(final, bias=bias, threshold=request.threshold, **more)
        limit = None if request.radius is None else request.on_scale(request.radius)
        return CertifiedRegressor(final, bias=bias, radius=limit, **more)

    @contextmanager
    def _noting(self) -> Iterator[None]:
        """Turn warnings about precision into notes; others are for developers."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        for each in caught:
            if issubclass(each.category, UnprovenWarning) and "exact" in self.request.kind.can:
                if self.request.resolve is None:
                    self.notes.append(_UNPROVEN)
            elif issubclass(each.category, SolverPrecisionWarning):
                self.notes.append(self._by_name(str(each.message)))

    def _by_name(self, message: str) -> str:
        """Return a warning that names features by their names: the model is shown a matrix."""
        names = self._features

        def name(match: re.Match[str]) -> str:
            at = int(match[1])
            return repr(names[at]) if at < len(names) else match[0]

        return re.sub(r"'x(\d+)'", name, message)


def check_method(request: Request) -> None:
    """Raise if there is no such method."""
    from unswayed.estimators import METHODS

    if request.method not in METHODS:
        raise InputError(f"--method {request.method!r} is not one of {', '.join(METHODS)}")


def _check_feature(name: str, values: pa.ChunkedArray, *, as_category: bool) -> None:
    """Raise if a column of the training rows holds neither numbers nor categories."""
    kind, out = values.type, f"leave it out with {option('--ignore', [name])}"
    empty = InputError(f"column {shorten(name)!r} is empty; {out}")
    if pa.types.is_null(kind):
        raise empty
    if not is_usable(kind):
        raise InputError(
            f"column {shorten(name)!r} holds {kind} values, neither numbers nor texts; turn "
            f"it into one of them (a date into a year, say) or {out}"
        )
    if not is_text(kind) and not as_category:
        return
    found = pc.unique(codes(values))
    if found.null_count == len(found):
        raise empty
    if not as_category:
        refuse_identifier(name, len(found), len(values))


def refuse_identifier(name: str, n_texts: int, n_rows: int) -> None:
    """Raise if a column of texts has so many that it says who a row is."""
    if is_too_many(n_texts, n_rows):
        raise InputError(
            f"column {shorten(name)!r} has {n_texts:,} different texts in {n_rows:,} rows, so it "
            f"says who a row is and not what it is like; leave it out with "
            f"{option('--ignore', [name])}, or keep it with {option('--categorical', [name])}"
        )


def encoded(encoding: Encoding, rows: pa.Table) -> Matrix:
    """Return features of rows of another file, or that were held out of the training rows."""
    for column in encoding.columns:
        values = rows.column(column.name)
        if not _takes(column, plain(values)):
            kind = str(column.categories.type) if column.is_category else "numbers"
            raise InputError(
                f"column {shorten(column.name)!r} held {kind} in the training file but "
                f"{values.type} values here; give both the same kind"
            )
    return encoding.features(rows, unseen="zeros")


def _takes(column: EncodedColumn, values: pa.ChunkedArray) -> bool:
    """Return whether values can be compared with those of the training rows.

    Texts go only with texts, and where the categories are truth values, only these do.
    """
    known = column.categories.type if column.is_category else pa.float64()
    same = pa.types.is_boolean(values.type) or not pa.types.is_boolean(known)
    if not pa.types.is_null(values.type) and (is_text(values.type) != is_text(known) or not same):
        return False
    try:
        values.cast(known, safe=column.is_category)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False
    return True


# --- Recipe: how the features of a study come from its files, so that anyone can make them again


def check_recipe(request: Request) -> None:
    """Raise, before any work is done, if nobody could check certificates of a request."""
    for path in (request.train, request.test):
        if path is None or not path.exists():
            continue
        if not is_parquet(path) and (kind := foreign_format(path)) is not None:
            raise InputError(
                f"--certificates: {path} is {kind}, and unswayed verify reads CSV and Parquet "
                "files only; save it as one of them, and certify that"
            )
        if is_parquet(path) and not request.dialect.is_usual:
            raise InputError(
                f"--certificates: {path} is a Parquet file, which unswayed verify reads as it is, "
                "without --na and the other options about how a file is written; leave them out, "
                "or write the file anew with its missing values as nulls"
            )


@dataclass(frozen=True, slots=True)
class CertificateSize:
    """How much a certificate file is about."""

    n_rows: int  # Of the training data
    n_features: int  # Of the training data
    n_claims: int
    n_exact: int  # Claims that were settled in rational arithmetic


def save_certificates(
    study: Study, certificates: Sequence[CertificateSet], path: Path
) -> CertificateSize:
    """Write certificates of a study to a file that can be checked against the study's own files."""
    classes = study.target.classes or None
    if study.request.positive is not None:  # None stands for every other label
        classes = None, study.target.classes[1]
    track = study.progress.track
    write_certificates(certificates, path, recipe=recipe(study), classes=classes, track=track)
    return CertificateSize(
        n_rows=len(study.train.numbers),
        n_features=len(features_of(study)),
        n_claims=sum(map(len, certificates)),
        n_exact=sum(int((part.method == RATIONAL).sum()) for part in certificates),
    )


def recipe(study: Study) -> dict[str, Any]:
    """Describe how features and labels are computed from the study's files."""
    dialect = study.request.dialect
    written = {} if dialect.is_usual else {"written": dialect.document()}
    labels = study.train.labels
    assert labels is not None  # noqa: S101  (training rows have labels)
    # No logarithm is exact, so the file says which doubles were taken for those of the column.
    logarithms = {"logarithms": pack_doubles(labels)} if study.target.log else {}
    return {
        "label": study.target.label,
        **logarithms,
        "features": features_of(study),
        "train": pack_rows(study.train.numbers - 1),
        "test": pack_rows(study.test.numbers - 1),
        "test_file": "train" if study.request.test is None else "test",
        **written,
    }


def features_of(study: Study) -> list[dict[str, Any]]:
    """Describe how each feature of the model is computed from a column, in the model's order."""
    made: list[dict[str, Any]] = [
        {"column": column.name, "equals": value}
        for column in study.encoding.categories
        for value in column.categories.to_pylist()
    ]
    for column in study.encoding.numbers:
        fill = {} if column.missing is None else {"missing": column.missing}
        made.append({"column": column.name, "mean": column.mean, "scale": column.scale, **fill})
    return made
