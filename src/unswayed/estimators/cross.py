"""cross_certify: every row, by a model that did not see it."""

import numbers
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GroupKFold, KFold, check_cv
from sklearn.utils import get_tags

from unswayed._typing import IntArray
from unswayed.estimators.base import Certified
from unswayed.estimators.fitted import count_rows, warn_of_one_class
from unswayed.estimators.in_folds import Fold, Folds, refuse_truth
from unswayed.estimators.together import MetricQuestion, together
from unswayed.exceptions import InputError, LabelPeekError, UnswayedError
from unswayed.inputs import is_lazy, take_rows
from unswayed.joint.search import Progress
from unswayed.labels.bias import bias_of_rows
from unswayed.labels.budgets import Budget, Count, Stated, budget_of_rows
from unswayed.margins.decisions import Decision
from unswayed.models.steps import as_labels, as_sample_weight, as_trust, other_labels
from unswayed.results.certificates import CertificateSet
from unswayed.results.collective import MetricRange, TogetherCertificate

Track = Callable[[Iterable[Any], str, int], Iterator[Any]]
_ROWWISE = (
    *("score", "low", "high", "inner_low", "inner_high"),
    *("error", "verdict", "method", "prediction"),
)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class CrossCertificates(CertificateSet):
    """Certificates of all rows of a data set, each by the model of the fold it is in.

    They are a `CertificateSet` with one model per fold behind it. Rows of witnesses are rows of the
    whole data set. If the budget is a share, a fold with more training rows may have one label more
    than another: `budget` is the smallest.

    Attributes
    ----------
    fold : array of int
        The fold of each row, from 0.

    Examples
    --------
    Two wrong labels overturn any of these rows, but no two labels more than two of them:

    >>> from sklearn.linear_model import LinearRegression
    >>> from unswayed import CertifiedClassifier, LabelBias, cross_certify
    >>> model = CertifiedClassifier(
    ...     LinearRegression(fit_intercept=False), bias=LabelBias.flips(budget=2)
    ... )
    >>> X, y = 4 * [[1, 0]] + 4 * [[0, 1]], 4 * ["yes"] + 4 * ["no"]
    >>> certs = cross_certify(model, X, y, cv=8)
    >>> len(certs), sorted(set(certs.fold.tolist()))
    (8, [0, 1, 2, 3, 4, 5, 6, 7])
    >>> certs.robustness_rate, certs.certify_together()
    (0.0, <TogetherCertificate: 8 rows, same class if up to 2 labels are wrong: 2 together>)
    >>> certs.certify_metric("selection_rate")
    <MetricRange: selection_rate 0.5, if up to 2 labels are wrong between 0.25 and 0.75>
    """

    fold: IntArray

    def certify_together(
        self,
        *,
        budget: int | Budget | None = None,
        time_limit: float = 60.0,
        direction: str | None = None,
        where: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        progress: Progress | None = None,
    ) -> TogetherCertificate:
        """Prove how many rows of all folds one admissible set of wrong labels can overturn.

        A label trains the models of all folds but its own, so that one set of wrong labels acts on
        all of them at once. Each row is overturned, or not, by the model of its fold.

        Parameters
        ----------
        budget : int or Budget, optional
            How many labels of the whole data set; by default the budget that the folds
            were certified with, and the smallest of them if it is a share.
        time_limit, direction, where, weights, progress : optional
            As for `CertifiedClassifier.certify_together`.

        Returns
        -------
        TogetherCertificate
            Its rows are rows of the whole data set.
        """
        return together(
            self._folds(),
            self._amount(budget),
            time_limit=time_limit,
            direction=direction,
            where=where,
            weights=weights,
            progress=progress,
        )

    def certify_metric(
        self,
        metric: Any,
        *,
        groups: ArrayLike | None = None,
        budget: int | Budget | None = None,
        time_limit: float = 60.0,
        progress: Progress | None = None,
    ) -> MetricRange:
        """Prove between which values a metric of the rows of all folds lies if labels are wrong.

        Metrics that compare predictions with labels (accuracy, say) are refused: the labels of
        these rows train the models of other folds and may be wrong themselves.

        Parameters
        ----------
        metric : str or RowSum
            For a classifier, "selection_rate" or "demographic_parity", by the names that
            `CertifiedClassifier.certify_metric` has, or one of your own; for a regressor,
            "mean_prediction" or "mean_prediction_difference".
        groups : (n,) array-like, optional
            The group of each row, for metrics that compare groups and for `by_group`.
        budget : int or Budget, optional
            How many labels of the whole data set; by default as for `certify_together`.
        time_limit, progress : optional
            As for `CertifiedClassifier.certify_metric`.

        Returns
        -------
        MetricRange
            Its rows are rows of the whole data set.
        """
        if isinstance(metric, str) and not metric.startswith("mean_prediction"):
            refuse_truth(metric)
        asked = MetricQuestion(
            question=self._folds(),
            budget=self._amount(budget),
            groups=groups,
            y_true=None,
            time_limit=time_limit,
            progress=progress,
        )
        return asked.range_of(metric)

    def _folds(self) -> Folds:
        if not isinstance(self.source, Folds):
            raise InputError(
                "these certificates carry no models: ask what cross_certify() returned, before it "
                "was pickled or cut to some of its rows"
            )
        self.source.check_joint()
        return self.source

    def _amount(self, budget: int | Budget | None) -> Budget:
        if budget is None and not self._folds().counted:
            raise InputError(
                f"one set of labels for the models of all folds is looked for within a number of "
                f"labels, and here {self.question}; pass budget=, a number of labels"
            )
        asked = Count(int(self.budget)) if budget is None else budget
        return asked if isinstance(asked, Budget) else Count(asked)

    def to_dict(self) -> dict[str, Any]:
        """Return the certificates as columns by name, with the fold of each row.

        Returns
        -------
        dict of str to array or list
            One entry per certificate in each.
        """
        return {"fold": self.fold} | super().to_dict()


def cross_certify(
    model: Certified,
    X: Any,
    y: Any,
    *,
    cv: Any = 10,
    budget: Stated | None = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    method: str = "exact",
    resolve: str | None = None,
    decision: Decision | None = None,
    trust: str | Sequence[str] = (),
    track: Track | None = None,
) -> CrossCertificates:
    """Certify every row by a model that did not see it.

    One copy of the model is trained per fold, on the rows of the other folds, and certifies the
    rows of its own. A hold-out certifies a tenth of the rows by one model, and its rates and gaps
    change with the tenth; this uses all of them.

    Folds are drawn without looking at the labels. If labels chose them, another label would mean
    other folds and another model, about which no certificate says anything. A splitter that needs
    the labels (`StratifiedKFold`) is refused, unless you vouch for its folds with ``trust="cv"``.

    Parameters
    ----------
    model : CertifiedClassifier or CertifiedRegressor
        It is copied, and not fitted itself. In its bias, a share is one of each fold's training
        rows, and arrays with one entry per row are cut to them.
    X : array, scipy-sparse matrix, or pandas, polars or pyarrow frame
        All rows, to learn from and to certify.
    y : (n,) array-like
        Their labels.
    cv : int, splitter of scikit-learn, or iterable of (train, test)
        How many folds, which are drawn at random but always in the same way; or how rows are
        split. Every row must be in one test part, and in no more. Pairs must not have been chosen
        by the labels, which nobody can check for you.
    budget : int, float or Budget, optional
        Instead of the bias's own.
    sample_weight : (n,) array-like, optional
        How much each row counts; by default all the same.
    groups : array-like, optional
        Rows of one group stay in one fold.
    method, resolve, decision : optional
        As for `certify`; a method by its name.
    trust : "cv", optional
        You vouch that wrong labels would leave the folds of `cv` as they are, although it looks at
        labels: that these folds were drawn once and stay. Certificates name it in `trusted`.
    track : callable of (steps, what, total), optional
        Yields the steps, and may show how many are done.

    Returns
    -------
    CrossCertificates
        In the order of X.

    Raises
    ------
    InputError
        If the model is no certified one, or rows are in no test part or in several.
    LabelPeekError
        If labels choose the folds.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import Ridge
    >>> from unswayed import CertifiedClassifier, LabelBias
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = CertifiedClassifier(Ridge(alpha=10), bias=LabelBias.flips(budget=8))
    >>> certs = cross_certify(model, X, y, cv=5)
    >>> print(len(certs), f"{certs.robustness_rate:.1%}", certs.fold[:8])
    569 83.3% [4 0 2 3 2 2 1 1]
    """
    if not isinstance(model, Certified):
        raise InputError(
            f"cross_certify takes a CertifiedClassifier or CertifiedRegressor, got {model!r}; wrap "
            "the estimator in one of them, which says which labels may be wrong"
        )
    if not isinstance(method, str):
        raise InputError(
            f"method must be a name, got {method!r}; bounds that were built before are about one "
            "model, and every fold has its own"
        )
    if is_lazy(X):
        raise InputError(
            "cross_certify takes rows that are in memory, and X is a dask collection; hold rows "
            "out and fit once, or pass a sample of the rows, computed"
        )
    model._check_settings()  # here, or the first fold would be named as the culprit
    n_rows = count_rows(X)
    labels, weight = as_labels(y, n_rows), as_sample_weight(sample_weight, n_rows)
    splits, trusted = _splits(cv, X, labels, groups, as_trust(trust))
    made = []
    tracked = enumerate(splits if track is None else track(splits, "certifying folds", len(splits)))
    for at, (train, test) in tracked:
        try:
            fitted = _copy(model, train, n_rows).fit(
                _part(model, X, train, train),
                take_rows(y, train),
                None if weight is None else weight[train],
            )
            certificates = fitted._certified(
                _part(model, X, test, train),
                budget_of_rows(budget, train, n_rows),
                method,
                resolve,
                decision,
            )
        except UnswayedError as error:
            raise type(error)(f"in fold {at} (from 0) of {len(splits)}: {error}") from None
        made.append(Fold(certificates, train, test))
    certs = join(Folds(folds=made, origin=X, labels=labels, vouched=trusted))
    if decision is None and is_classifier(model):
        warn_of_one_class(certs.prediction)
    return certs


def _copy(model: Certified, rows: IntArray, n_rows: int) -> Certified:
    """Return an unfitted copy of a model for some of the rows."""
    assert model.bias is not None  # noqa: S101  (checked: this tells mypy)
    copied: Certified = clone(model).set_params(bias=bias_of_rows(model.bias, rows, n_rows))
    return copied


def _part(model: Certified, X: Any, rows: IntArray, train: IntArray) -> Any:
    """Return some of the rows; of a matrix of all pairs, their columns of the training rows."""
    part = take_rows(X, rows)
    return part[:, train] if get_tags(model).input_tags.pairwise else part


def _splits(
    cv: Any, X: Any, labels: Any, groups: Any, trust: tuple[str, ...]
) -> tuple[list[tuple[IntArray, IntArray]], tuple[str, ...]]:
    """Return training and test rows of every fold, and what the caller vouches for."""
    n_rows = len(labels)
    splitter, blind = _splitter(cv, groups), True
    try:
        try:
            splits = _pairs(splitter, X, None, groups)
        except (TypeError, ValueError, AttributeError):
            splits, blind = _pairs(splitter, X, labels, groups), False
    except (TypeError, ValueError, IndexError) as error:
        raise InputError(f"cv={cv!r} cannot split these {n_rows} rows: {error}") from None
    given = not hasattr(cv, "split") and isinstance(cv, Iterable)  # pairs: made who knows how
    _check_trusted(trust, needed=given or not blind)
    if not blind and not trust:
        _check_blind(cv, splitter, splits, (X, labels, groups))
    times = np.bincount(
        np.concatenate([np.arange(0), *(test for _, test in splits)]), minlength=n_rows
    )
    if (times != 1).any():
        row = int(np.flatnonzero(times != 1)[0])
        raise InputError(
            f"cv={cv!r} puts row {row} into {times[row]} test parts; every row is certified once, "
            "so pass a splitter whose test parts make up the whole, such as KFold or GroupKFold"
        )
    for at, (train, test) in enumerate(splits):
        if not len(train) or np.isin(test, train).any():
            raise InputError(
                f"cv={cv!r}: in fold {at} a test row is a training row too, or there is none to "
                "train on; a row must be certified by a model that did not see it"
            )
    return splits, trust


def _pairs(splitter: Any, X: Any, labels: Any, groups: Any) -> list[tuple[IntArray, IntArray]]:
    """Return training and test rows of every fold, as a splitter makes them of some labels."""
    n_rows = count_rows(X)
    found = splitter.split(X, labels, groups)
    return [(_rows(train, n_rows), _rows(test, n_rows)) for train, test in found]


def _check_trusted(trust: tuple[str, ...], *, needed: bool) -> None:
    """Raise if the caller vouches for something that needs nobody to."""
    for name in trust:
        if name != "cv" or not needed:
            raise InputError(
                f"trust names {name!r}, which needs none; what can be vouched for here is 'cv', "
                "where labels have a part in the folds (steps and weights: in the model's own "
                "trust)"
            )


def _check_blind(cv: Any, splitter: Any, splits: Any, asked: tuple[Any, Any, Any]) -> None:
    """Raise if a splitter that wants labels makes other folds of other labels."""
    (X, labels, groups), name = asked, type(splitter).__name__
    same = "Stratified" not in name
    for others in other_labels(labels) if same else ():
        try:
            again = splits if others is None else _pairs(splitter, X, others, groups)
        except Exception:  # a splitter of the user's own may raise anything
            again = []
        same &= len(again) == len(splits) and all(
            np.array_equal(one, other)
            for fold, refold in zip(splits, again, strict=True)
            for one, other in zip(fold, refold, strict=True)
        )
    if not same:
        raise LabelPeekError(
            f"cv={cv!r} looks at the labels to make the folds (or is random: then set its "
            "random_state), so that a wrong label would mean other folds and other models, of "
            "which the certificates say nothing; pass a number, KFold or GroupKFold, or "
            "trust='cv' if these folds were drawn once and stay as they are (the certificates "
            "will say so)"
        )


def _splitter(cv: Any, groups: Any) -> Any:
    if not isinstance(cv, bool) and isinstance(cv, numbers.Integral):
        if cv < 2:
            raise InputError(f"cv={cv} leaves no rows to train on; pass 2 folds or more")
        return (
            KFold(int(cv), shuffle=True, random_state=0) if groups is None else GroupKFold(int(cv))
        )
    if isinstance(cv, str) or not (hasattr(cv, "split") or isinstance(cv, Iterable)):
        raise InputError(
            f"cv={cv!r} is neither a number of folds, nor a splitter of scikit-learn, nor pairs of "
            "training and test rows; pass 10, say"
        )
    return check_cv(cv)


def _rows(rows: Any, n_rows: int) -> IntArray:
    """Return row numbers, ascending, of numbers or of a mask."""
    found = np.asarray(rows)
    if found.dtype == bool:
        if found.shape != (n_rows,):
            raise IndexError(f"a mask has shape {found.shape}")
        return np.flatnonzero(found)
    if found.dtype.kind not in "iu" or (found < 0).any() or (found >= n_rows).any():
        raise IndexError("row numbers must be whole, at least 0, and below the number of rows")
    return np.unique(found)


def join(folds: Folds) -> CrossCertificates:
    """Return the certificates of all folds in the order of the rows."""
    parts = [each.certificates for each in folds.folds]
    least = min(parts, key=lambda part: part.budget)
    most = max(part.budget for part in parts)
    question = f"{least.question}, by models of the other of {len(parts)} folds"
    if most > least.budget:
        question += f" (up to {most:g} where a fold has more training rows)"
    at = np.repeat(np.arange(len(parts)), [len(each.test) for each in folds.folds])
    return CrossCertificates(
        **folds.columns(lambda part: part, _ROWWISE),
        budget=least.budget,
        question=question,
        trusted=folds.trusted,
        link=least.link,
        unit=least.unit,
        source=folds,
        fold=at[folds.order],
    )
