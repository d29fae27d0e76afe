"""Fitting on training rows in pieces."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from unswayed._core.rounding import ordinary_arithmetic
from unswayed._typing import IntArray, Matrix
from unswayed.engines.choice import Cascade, Trained
from unswayed.engines.passes import AnchorsFirst, MergedEngine, StreamedEngine
from unswayed.engines.passes.engine import Located
from unswayed.engines.passes.training import PassesScan, Reader, SumUp, as_array
from unswayed.engines.protocol import Precision
from unswayed.estimators.fitted import CHECKS, Fitted, Reading
from unswayed.exceptions import BiasError, InputError
from unswayed.labels.bias import LabelBias, ResolvedBias
from unswayed.labels.budgets import Budget, Statement, as_budget
from unswayed.margins.decisions import Sign
from unswayed.models.families import family_of
from unswayed.models.family import one_alpha
from unswayed.models.ridge.summed import Design, RowSums, SummedRidge
from unswayed.models.steps import final_estimator
from unswayed.pieces.cluster import DaskPasses
from unswayed.pieces.passes import Passes
from unswayed.pieces.pieces import pieces_of
from unswayed.tables.encoding import Encoding, Survey, SurveyTask

MOST_DISTINCT = 2**18
"""Different training rows that are held in memory, at most; of more, none is held."""

MOST_FEATURES = 5000
"""Features of rows in pieces, at most: their Gram matrix has 200 megabytes then."""


Unseen: TypeAlias = Literal["raise", "zeros"]
"""What becomes of categories in test rows that no training row has."""


@dataclass(frozen=True, eq=False)
class TrainedInPieces(Trained):
    """A ridge regression that was trained on sums over pieces."""

    learner: SummedRidge


@dataclass(frozen=True, slots=True)
class FeatureRule:
    """How columns become features."""

    categorical: tuple[str, ...] = ()  # Columns of numbers that are categories
    standardise: bool = False  # Whether numbers are centred and scaled
    categories_first: bool = False  # Whether features of categories come before those of numbers
    unseen: Unseen = "raise"  # What becomes of categories in test rows that no training row has
    beside: tuple[str, ...] = ()  # Columns that are no features: a callable `where` looks at them
    # Whether columns that are the same in all training rows are no features either
    varying: bool = False
    # The label that all others are put against, as one class; None: there are two
    positive: Any = None

    def task(self) -> SurveyTask:
        """Return the first pass."""
        return SurveyTask(self.categorical, MOST_DISTINCT)

    def features(self, survey: Survey) -> Survey:
        """Return what was found in the columns that are features."""
        columns = tuple(
            column
            for column in survey.columns
            if column.name not in self.beside and (column.varies or not self.varying)
        )
        if not columns:
            raise InputError("no feature column is left beside the label; ignore fewer columns")
        return replace(survey, columns=columns)


# --- what cannot be had in pieces -------------------------------------------------------------


def check_in_pieces(estimator: Any, bias: LabelBias, sample_weight: Any) -> None:
    """Raise if something needs all training rows together."""
    final = final_estimator(estimator)
    family_of(final)
    if not hasattr(final, "fit_intercept"):
        raise InputError(
            f"{type(final).__name__} compares rows with all training rows, which in pieces are "
            "never together; use Ridge, LinearRegression or RidgeClassifier, or rows in memory"
        )
    if type(estimator) is Pipeline and not _is_scaled(estimator):
        names = ", ".join(type(step).__name__ for _, step in estimator.steps[:-1])
        raise InputError(
            f"the pipeline's steps ({names}) would have to be fitted on rows that are never "
            "together; StandardScaler() before the model is possible, and categories are encoded "
            "without a step; apply other steps beforehand, for example with map_partitions"
        )
    if sample_weight is not None:
        raise InputError(
            "sample_weight is not possible for rows in pieces; leave it out, or pass rows that "
            "are in memory"
        )
    masked = bias.where is not None and not callable(bias.where)
    if masked or (bias.kind == "intervals" and bias.lower is not None and bias.lower.size > 1):
        what = "a mask" if masked else "intervals"
        raise BiasError(
            f"the bias has {what} with one entry per training row, which do not come in pieces; "
            "pass where=function of (X, y), which is asked about every batch of rows"
        )
    counted = not isinstance(bias.budget, Statement) and bias.clusters is None and not bias.terms
    if not counted or (isinstance(bias.budget, Budget) and not bias.budget.countable):
        kind = "clusters" if bias.clusters is not None else type(bias.budget).__name__
        raise BiasError(
            f"a budget of kind {'sum' if bias.terms else kind} is not possible for rows in pieces; "
            "pass a count of labels, or a share of them"
        )


def _is_scaled(estimator: Any) -> bool:
    """Return whether a pipeline is a plain StandardScaler and a model."""
    steps = [step for _, step in estimator.steps[:-1]]
    plain = len(steps) == 1 and type(steps[0]) is StandardScaler
    return plain and steps[0].with_mean and steps[0].with_std


# --- fitting ----------------------------------------------------------------------------------


class FitInPieces:
    """A fit under way: one pass looks at the rows, one sums them up unless few are different."""

    def __init__(
        self,
        certified: Any,
        passes: Passes,
        columns: FeatureRule,
        as_given: Callable[[Any], Any] = lambda table: table,
    ) -> None:
        self._certified, self._passes, self._as_given = certified, passes, as_given
        self._estimator, self._bias = clone(certified.estimator), certified.bias
        if type(self._estimator) is Pipeline:
            columns = replace(columns, standardise=True)
        self._columns = columns
        self._final = final_estimator(self._estimator)
        self._alpha = one_alpha(self._final) if hasattr(self._final, "alpha") else 0.0

    def fitted(self, like: Any, *, named: bool, survey: Survey | None = None) -> Fitted:
        """Make the passes."""
        door = type(self._certified)(**self._certified.get_params(deep=False))
        if survey is None:
            survey = self._passes.run(self._columns.task())
        if not survey.n_rows:
            raise InputError("X has no rows")
        survey = self._columns.features(survey)
        labels = self._reading(survey)
        encoding = Encoding.of(
            survey,
            standardise=self._columns.standardise,
            categories_first=self._columns.categories_first,
        )
        if encoding.n_features > MOST_FEATURES:
            raise InputError(
                f"the columns make {encoding.n_features:,} features, and a matrix of that width "
                f"squared would travel in every piece's result; leave out columns with many "
                f"categories, or join rare ones, until there are {MOST_FEATURES:,} at most"
            )
        self._blocks = encoding.blocks
        door.n_features_in_ = len(encoding.columns)
        if named:
            door.feature_names_in_ = np.array([c.name for c in survey.columns], dtype=object)
        design = Design.of(
            encoding.centre,
            encoding.peak,
            alpha=self._alpha,
            fit_intercept=self._final.fit_intercept,
        )
        codes = labels.flip_between
        classes = None if labels.decision is None else labels.code.classes
        reader = Reader(encoding, design, self._bias, classes, codes or (0.0, 1.0))
        scan = PassesScan(self._passes, reader)
        counts = np.array([survey.ends.get(at, 0) for at in range(len(self._passes.pieces))])
        budget = as_budget(self._bias.budget, survey.n_rows)
        self._located = Located(self._passes.pieces, np.cumsum(counts) - counts)
        trained = (
            self._streamed(scan, counts, budget, labels)
            if survey.distinct is None
            else self._merged(scan, survey, budget, encoding)
        )
        self._show(trained, survey, encoding, labels)
        return Fitted(
            door=door,
            schema=None,
            like=like,
            estimator=self._estimator,
            model=trained,
            scored=trained,
            labels=labels,
            trusted=(),
            check=CHECKS["pieces"],
            largest_label=trained.learner.sums.largest,
            encode=partial(encoding.features, unseen=self._columns.unseen),
            encoded_names=encoding.names,
        )

    def _reading(self, survey: Survey) -> Reading:
        """Return how labels are read, from those that occur."""
        found, positive = survey.labels, self._columns.positive
        if positive is not None:
            # Labels are compared with the positive one alone; what stands for the others is a name.
            texts = isinstance(positive, str)
            classes = np.array([f"not {positive}" if texts else np.nan, positive])
            reading: Reading = self._certified._read(np.array([0, 1]))
            return replace(reading, code=replace(reading.code, classes=classes))
        if found.counts is None:
            ends = (found.moments.low, found.moments.high)
            values = np.array(ends if found.moments.count else ["many", "different", "texts"])
        else:
            values = np.array(sorted(found.counts))
        reading = self._certified._read(values)
        if reading.code.classes is not None and len(reading.code.classes) > 2:
            raise InputError(
                f"the labels have {'many' if found.counts is None else len(values)} classes, and "
                "labels of rows in pieces are summed up as two; pass labels that say whether a row "
                "is of one class, such as y == 'hired', or rows that are in memory"
            )
        if reading.decision is not None and reading.decision.threshold == "balanced":
            raise InputError(
                "threshold='balanced' is not possible for rows in pieces; pass a number, or None"
            )
        return reading

    def _learner(self, sums: RowSums, reader: Reader, examples: Matrix) -> SummedRidge:
        return SummedRidge(
            sums,
            reader.design,
            alpha=self._alpha,
            blocks=self._blocks,
            examples=examples,
        )

    def _streamed(
        self,
        scan: PassesScan,
        counts: IntArray,
        budget: Budget,
        labels: Reading,
    ) -> TrainedInPieces:
        sums = self._passes.run(SumUp.of(scan.reader, counts))
        sample = sums.sampled(scan.reader.design.width)
        learner = self._learner(sums.rows, scan.reader, sample.design)
        precision = Precision(learner.error_scale, sums.offsets)
        scan = replace(scan, expected=sums.print)
        engine = StreamedEngine(
            learner, scan, budget, precision, sample, sums.offsets.largest, self._located
        )
        solution = learner.solution()
        decision = labels.decision or Sign()  # anchors are chosen where predictions are in doubt
        auto = AnchorsFirst(engine, solution, decision)
        return TrainedInPieces(learner, solution, engine, auto)

    def _merged(
        self, scan: PassesScan, survey: Survey, budget: Budget, encoding: Encoding
    ) -> TrainedInPieces:
        distinct, reader = survey.distinct, scan.reader
        assert distinct is not None  # noqa: S101  (tells mypy)
        rows = reader.design.rows(encoding.features(distinct.rows))
        targets = reader.targets(distinct.labels)
        given = self._as_given(distinct.rows), as_array(distinct.labels)
        times = distinct.counts.astype(np.float64)
        learner = self._learner(RowSums.of(rows, targets, times), reader, rows)
        bias = ResolvedBias(*reader.offsets(*given, targets, check=True), budget)
        engine = MergedEngine(learner, bias, rows, times, scan, self._located)
        return TrainedInPieces(learner, learner.solution(), engine, Cascade(engine))

    def _show(
        self, trained: TrainedInPieces, survey: Survey, encoding: Encoding, labels: Reading
    ) -> None:
        """Give the wrapped estimator the coefficients that were found."""
        learner, solution = trained.learner, trained.solution
        design = learner.design_map
        slope = solution.values[: learner.n_features] * design.scale
        constant = solution.values[-1] - design.centre @ slope if design.fit_intercept else 0.0
        # Shown a few rows first: it then has all attributes that it has after a fit.
        shown = np.zeros((2, learner.n_features))
        classes = labels.code.classes
        to_fit = classes if is_classifier(self._final) else np.array([0.0, 1.0])
        self._final.fit(shown, to_fit)
        self._final.coef_ = slope.reshape(np.shape(self._final.coef_))
        self._final.intercept_ = (
            np.full(np.shape(self._final.intercept_), constant)
            if np.ndim(self._final.intercept_)
            else float(constant)
        )
        if type(self._estimator) is Pipeline:
            scaler = self._estimator.steps[0][1]
            scaler.fit(shown)
            scaler.mean_ = np.array([column.mean for column in encoding.columns])
            scaler.scale_ = np.array([column.scale for column in encoding.columns])
            numbers = [column for column in survey.columns if not column.is_category]
            scaler.var_ = np.array([column.moments.variance for column in numbers])
            scaler.n_samples_seen_ = learner.n_rows


def fit_lazily(certified: Any, X: Any, y: Any, sample_weight: Any) -> Fitted:
    """Fit on a dask collection."""
    check_in_pieces(certified.estimator, certified.bias, sample_weight)
    passes = DaskPasses(pieces_of(X, y))
    like = getattr(X, "_meta", None)
    like = like if hasattr(like, "iloc") else None
    as_given = (lambda table: table) if like is None else (lambda table: table.to_pandas())
    fit = FitInPieces(certified, passes, FeatureRule(), as_given)
    return fit.fitted(like, named=like is not None)


def fit_on_passes(
    certified: Any, passes: Passes, columns: FeatureRule, survey: Survey | None = None
) -> None:
    """Fit a meta-estimator on the rows that passes go over."""
    check_in_pieces(certified.estimator, certified.bias, None)
    certified._check_settings()
    with ordinary_arithmetic():
        fitted = FitInPieces(certified, passes, columns).fitted(None, named=True, survey=survey)
    certified._show(fitted)
    certified.fitted_ = fitted
