"""From files to a study: rows are read, split and encoded, alpha is chosen, a model fitted."""

import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from unswayed._typing import BoolArray, IntArray, Matrix
from unswayed.estimators.question import Asked
from unswayed.exceptions import InputError, SolverPrecisionWarning, UnprovenWarning
from unswayed.margins.decisions import Decision, Radius
from unswayed.pieces.pieces import Place
from unswayed.report.facts import MOST_GROUPS, Caveat, Size
from unswayed.results.certificates import CertificateSet, Verdict, Witness
from unswayed.study.loading import Loaded, Loader, Rows, hold_out, need, owners, take
from unswayed.study.penalty import (
    AlphaChoice,
    Progress,
    Silent,
    choose_alpha,
    set_aside,
    split_rows,
)
from unswayed.study.request import Budget, Request
from unswayed.study.study import EXACT, Answers, Study, by_budgets
from unswayed.study.target import Target, follow_labels, target_of, weights_of
from unswayed.tables.columns import codes, is_number, is_text, is_usable, plain, same_everywhere
from unswayed.tables.encoding import EncodedColumn, Encoding
from unswayed.tables.expression import select
from unswayed.tables.inspection import constant
from unswayed.tables.suspicion import is_too_many
from unswayed.words import as_text, distinct_texts, option, shorten

NUMBERING = "Rows are numbered from 1 below the header of their file."
_CHUNK = 1024  # rows certified between two steps of the progress bar
_SLOW_CHUNK = 100  # the same of models that are not linear in their labels
_MANY = 10**9  # pairs of a test and a training row: exact ranges then take minutes
_RANGES = ("score", "low", "high", "inner_low", "inner_high")


def certify_as_asked(study: Study, rows: Any, budget: Budget) -> CertificateSet:
    """Certify rows by the method that was asked for."""
    request = study.request
    # Ranges do not depend on the radius, so that any will do where there is none.
    bare = study.target.task == "regression" and request.radius is None
    certs: CertificateSet = study.model.certify(
        rows,
        budget=study.count(budget),
        method=request.method,
        resolve=request.resolve,
        decision=Radius(0.0) if bare else None,
        effort=request.effort,
    )
    return certs


def certify_exactly(
    study: Study, rows: Any, budget: Budget, decision: Decision | None
) -> CertificateSet:
    """Certify rows by the exact method."""
    request = study.request
    certs: CertificateSet = study.model.certify(
        rows,
        budget=study.count(budget),
        decision=decision,
        resolve=request.resolve,
        effort=request.effort,
    )
    return certs


def columns_of_answers(study: Study, certificates: CertificateSet, *, least: bool) -> list[Any]:
    """Return the columns of `Answers`; without a radius, ranges only."""
    ranges = [getattr(certificates, name) for name in _RANGES]
    unknown = np.full(len(certificates), np.nan)
    if study.target.task == "regression" and study.request.radius is None:
        verdict = np.full(len(certificates), Verdict.UNDECIDED, dtype=object)
        return [*ranges, verdict, unknown, unknown]
    if not least:
        return [*ranges, certificates.verdict, unknown, unknown]
    found = certificates.minimum_budgets
    return [*ranges, certificates.verdict, found.low, found.high]


class InMemory:
    """Training rows that are in memory: what the schemes of one model and of folds share."""

    places: None = None

    def n_file_rows(self, study: Study) -> int:
        """Return the number of rows of the file, with those that are left out or certified."""
        return len(study.train) if study.inspection is None else study.inspection.n_rows

    def source_in_words(self, study: Study) -> str:
        """Return the name of the file."""
        return study.request.train.name

    def selected_in_words(self, study: Study) -> str:
        """Return how many rows ``--only`` selects."""
        return f"the {int(study.movable.sum()):,} training rows"

    def numbering(self) -> str:
        """Return how rows are numbered."""
        return NUMBERING

    def is_training_file(self, study: Study, path: Path) -> bool:
        """Return whether training rows are read from a file."""
        return path.samefile(study.request.train)

    def feature_columns(self, study: Study) -> list[str]:
        """Return the columns that are features, in the file's order."""
        used = {column.name for column in study.encoding.columns}
        return [name for name in study.train.table.column_names if name in used]

    def class_counts(self, study: Study) -> list[int]:
        """Return the number of training labels of each of two classes."""
        labels = np.asarray(study.train.labels).astype(np.intp)
        return [int(count) for count in np.bincount(labels, minlength=2)]

    def training_rows(self, study: Study, places: Iterable[Place]) -> Rows:
        """Return some training rows."""
        numbers, train = np.array([place.row for place in places]), study.train
        at = np.searchsorted(train.numbers, numbers)
        labels = np.asarray(train.labels)[at]
        return Rows(train.table.take(pa.array(at)), numbers, train.features[at], labels)

    def pass_facts(self, study: Study) -> dict[str, Any]:
        """Return nothing: there are no passes."""
        return {}

    def last_notes(self, study: Study) -> list[str]:
        """Return nothing: everything was known before."""
        return []

    def close(self) -> None:
        """Do nothing: nothing is held outside this process."""

    def class_sizes(self, study: Study) -> dict[str, Size]:
        """Return the size of each class among the training rows."""
        names = np.array(study.target.class_names)
        return self._sizes(study, names[np.asarray(study.train.labels, dtype=np.intp)])

    def group_sizes(self, study: Study, name: str) -> dict[str, Size]:
        """Return the size of each group among the training rows; nothing if it is not known."""
        if not len(study.train) or name not in study.train.table.column_names:
            return {}
        asked, trained = (rows.table.column(name).to_pylist() for rows in (study.test, study.train))
        return self._sizes(study, np.array(distinct_texts([*asked, *trained])[len(asked) :]))

    def _sizes(self, study: Study, names: NDArray[np.str_]) -> dict[str, Size]:
        """Return the size of each class or group, given that of every training row."""
        known, at = np.unique(names, return_inverse=True)
        every = np.ones(len(at), dtype=bool)
        sizes = (self.times(at, each).tolist() for each in (every, self.may_be_wrong(study)))
        return {str(name): Size(*each) for name, *each in zip(known, *sizes, strict=True)}

    def may_be_wrong(self, study: Study) -> BoolArray:
        """Return the training rows whose label may be wrong."""
        bias = study.model.fitted_.engine.bias
        return np.asarray((bias.lower != 0) | (bias.upper != 0))

    def times(self, at: IntArray, rows: BoolArray) -> IntArray:
        """Return how often each number occurs among some training rows."""
        return np.bincount(at[rows], minlength=int(at.max()) + 1)


class OneModel(InMemory):
    """One model, which was trained on rows in memory and certifies all test rows."""

    fold: None = None

    def n_train(self, study: Study) -> int:
        """Return the number of training rows."""
        return len(study.train)

    def n_movable(self, study: Study) -> int:
        """Return the number of training labels that may be wrong."""
        return int(np.count_nonzero(self.may_be_wrong(study)))

    def rows(self, study: Study, at: IntArray) -> Any:
        """Return the features of some test rows."""
        return study.test.features[at]

    def certified(self, study: Study) -> tuple[Answers, list[CertificateSet]]:
        """Certify the test rows in chunks."""
        request, n_test = study.request, len(study.test)
        if request.method == "exact" and not study.verdicts_only and n_test * study.n_train > _MANY:
            study.notes.append(
                f"exact ranges over {study.n_train:,} training rows take their time; --method auto "
                "gives the same verdicts faster, with ranges that are wider than need be"
            )
        linear = request.kind.linear
        chunk = _CHUNK if linear else _SLOW_CHUNK
        starts, columns, kept = range(0, n_test, chunk), [], []
        for start in study.progress.track(starts, "certifying", len(starts)):
            rows = study.test.features[np.arange(start, min(start + chunk, n_test))]
            certificates = self._answer(study, rows)
            # Minimum budgets of models that are not linear take their time.
            columns.append(columns_of_answers(study, certificates, least=linear or request.least))
            kept += [certificates] if request.keep else []
        return Answers(*map(np.concatenate, zip(*columns, strict=True))), kept

    def _answer(self, study: Study, rows: Any) -> CertificateSet:
        """Certify rows at the main budget."""
        request = study.request
        if not study.verdicts_only:
            return certify_as_asked(study, rows, request.budget)
        certs: CertificateSet = study.model.certify(
            rows, budget=study.count(request.budget), resolve=request.resolve, ranges=False
        )
        return certs

    def ranges(self, study: Study, at: IntArray, budget: Budget) -> CertificateSet:
        """Certify test rows at a budget by the method that was asked for."""
        return certify_as_asked(study, study.test.features[at], budget)

    def certify(
        self, study: Study, at: IntArray, budget: Budget, decision: Decision | None
    ) -> CertificateSet:
        """Certify test rows exactly."""
        return certify_exactly(study, study.test.features[at], budget, decision)

    def least_decides(self, study: Study) -> bool:
        """Return whether minimum budgets tell the verdict at every budget."""
        return study.request.kind.linear and study.request.method in EXACT

    def asked(self, study: Study) -> list[Asked]:
        """Return the test rows put to the model."""
        return [self.placed(study, np.arange(study.n_train), study.answers)]

    def placed(self, study: Study, place: IntArray, answers: Answers) -> Asked:
        """Return the test rows put to the model, whose training rows are at certain places."""
        model = study.model
        question = model._question(model.fitted_, study.test.features, None, None)
        return Asked(question, place, answers.minimum_budget if self.least_decides(study) else None)

    def witnesses(self, study: Study, at: IntArray) -> list[Witness | None]:
        """Find the smallest set of label changes that overturns each of some test rows."""
        tracked = study.progress.track(range(len(at)), "finding witnesses", len(at))
        if not study.request.kind.linear:
            certs = study.searched(at)
            enough, source = certs.minimum_budgets.high, certs.source
            assert source is not None  # noqa: S101  (they were not pickled)
            return [
                source.witness(row, enough[row]) if np.isfinite(enough[row]) else None
                for row in tracked
            ]
        certs = study.model.certify(
            study.test.features[at],
            budget=study.n_train,
            resolve=study.request.resolve,
            ranges=False,
        )
        return [certs.witness(row) for row in tracked]

    def ever_overturned(self, study: Study, at: int) -> Verdict:
        """Return whether any number of label changes overturns a test row."""
        if not study.request.kind.linear:
            least = study.minimum_budgets(np.array([at]))
            return Verdict(by_budgets(least.low, least.high, study.n_train)[0])
        certs = study.model.certify(
            study.test.features[np.array([at])],
            budget=study.n_train,
            resolve=study.request.resolve,
        )
        return Verdict(certs.verdict[0])


# --- From files to a study: rows are read, split and encoded, alpha is chosen, a model fitted


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
        if request.alpha is None and aside is None:
            stay, out = set_aside(train[0].num_rows, request.seed, request.kind.option)
            aside, train = take(train, out)[0], take(train, stay)
        table, numbers = train
        self.request = request = request.settled(table.num_rows)
        target = target_of(
            request, train, certified=self.need_test, versus_rest=self.loader.versus_rest
        )
        encoding = self.encoding(self._varying(names, table), table)
        training = Rows(
            table,
            numbers,
            encoding.features(table),
            target.encode(table.column(request.label)),
            None if request.weights is None else weights_of(request.weights, table, numbers),
        )
        testing = self._test_rows(encoding, target, *test)
        movable = self.movable(table)
        choice = None if aside is None else self._choice(target, encoding, training, aside)
        alpha = request.alpha if choice is None else choice.alpha
        assert alpha is not None  # noqa: S101  (rows are set aside where it is not given)
        model = self.fit(target, training, movable, alpha)
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

    def movable(self, train: pa.Table) -> BoolArray:
        """Return which rows' labels may be wrong."""
        if self.request.only is None:
            return np.ones(train.num_rows, dtype=bool)
        mask = select(self.request.only, train)
        if not mask.any():
            raise self.nothing_selected()
        return mask

    def nothing_selected(self) -> InputError:
        """Return an error about a condition that no training row meets."""
        return InputError(
            f"--only {shorten(self.request.only or '')!r} selects no training row, so no label "
            "could be wrong and everything would be robust; check the values it compares with"
        )

    def _choice(
        self, target: Target, encoding: Encoding, training: Rows, aside: pa.Table
    ) -> AlphaChoice:
        return choose_alpha(
            self.request,
            target,
            n_train=len(training),
            weights=training.weights,
            aside=(encoded(encoding, aside), target.encode(aside.column(target.label))),
            progress=self.progress,
        )

    def fit(self, target: Target, training: Rows, movable: BoolArray, alpha: float) -> Any:
        """Fit the model; what is to be said about that is noted."""
        from unswayed.estimators import METHODS, CertifiedClassifier, CertifiedRegressor

        if self.request.method not in METHODS:
            raise InputError(f"--method {self.request.method!r} is not one of {', '.join(METHODS)}")
        assert training.labels is not None  # noqa: S101
        bias = self.request.bias(training.labels, None if movable.all() else movable)
        final = self.request.kind.estimator(alpha)
        # Who names a column of weights vouches that it was not computed from the labels.
        trust = () if training.weights is None else ("sample_weight",)
        model: Any
        if target.task == "classification":
            threshold = self.request.threshold
            model = CertifiedClassifier(final, bias=bias, threshold=threshold, trust=trust)
        else:
            radius = self.request.radius
            limit = None if radius is None else self.request.on_scale(radius)
            model = CertifiedRegressor(final, bias=bias, radius=limit, trust=trust)
        with self._noting():
            model.fit(training.features, training.labels, training.weights)
        if "sample_weight" in model.fitted_.trusted:
            self.caveats.append(follow_labels(str(self.request.weights)))
        return model

    @contextmanager
    def _noting(self) -> Iterator[None]:
        """Turn warnings about precision into notes; others are for developers."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        for each in caught:
            if issubclass(each.category, UnprovenWarning) and self.request.kind.linear:
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
    if not as_category and is_too_many(len(found), len(values)):
        raise InputError(
            f"column {shorten(name)!r} has {len(found):,} different texts in {len(values):,} "
            f"rows, so it says who a row is and not what it is like; {out}, or keep it with "
            f"{option('--categorical', [name])}"
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
