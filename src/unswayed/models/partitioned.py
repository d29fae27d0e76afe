"""PartitionedClassifier: any classifier, once per partition of the training rows, by majority.

A row's partition is a hash of its features. So a label has a part in one member only, whatever the
learner does with it, and wrong labels change few votes: see `unswayed.models.votes`.
"""

import operator
from collections import Counter
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    clone,
    is_classifier,
)
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from unswayed._typing import FloatArray, IntArray
from unswayed.exceptions import InputError
from unswayed.inputs import dense, eager_frame, is_missing, take_rows
from unswayed.models.steps import as_labels, as_sample_weight, final_estimator

_HASHED = 4096  # sparse rows that are made dense at once
ABSTAINS = -1  # instead of a class: the partition has no rows


class PartitionedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Deal the rows to partitions, train one classifier on each, and let them vote.

    The partition of a row is a hash of its features, never of its label. A label therefore trains
    one member only, and however a learner reacts to it, one vote is the most that it can change.
    That makes predictions of *any* classifier certifiable: wrap this one in a
    `CertifiedClassifier`.

    A partition whose rows all have one class votes for that class; one without rows never votes. If
    classes have equally many votes, the first in sorted order is predicted.

    Parameters
    ----------
    estimator : classifier, or a Pipeline that ends in one
        Copies of it are trained, one per partition. Every `random_state` in them is set, from the
        one below.
    n_partitions : int
        How many partitions. More of them can withstand more wrong labels, and each member learns
        from fewer rows. An odd number leaves no ties between two classes.
    equal_rows : {"together", "apart"}
        Whether rows with equal features share a partition, or the first of them, the second and so
        on are dealt independently, which labels have no part in either. "apart" makes partitions
        alike where few rows are distinct, as in tables of categories; members are then far better
        and so are certificates. "together" deals every row regardless of all others.
    random_state : int
        Decides which rows share a partition, and the random states of the members.
    exhaustive : int
        Used by certificates only. All sets of this many wrong labels of a partition are tried, each
        by training its member once more: a vote that none of them changes takes more labels. With
        1, members are trained as often as there are training rows; 0 tries nothing.
    n_jobs : int, optional
        Members that are trained at once; -1 for as many as there are processors.
    verbose : int
        Above 0, how many members have been trained is printed.

    Attributes
    ----------
    classes_ : array
        The classes, sorted.
    estimators_ : list
        The member of each partition; None where it has no rows.
    partition_ : (n,) array of int
        The partition of each training row; -1 for rows of weight 0, which are left out.
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from unswayed import CertifiedClassifier, LabelBias, PartitionedClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> votes = PartitionedClassifier(DecisionTreeClassifier(), n_partitions=15)
    >>> votes.fit(X[:400], y[:400]).predict_proba(X[400:402]).round(2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]

    Whatever trees do with their labels, one that is wrong changes one vote:

    >>> model = CertifiedClassifier(votes, bias=LabelBias.flips(budget=4)).fit(X[:400], y[:400])
    >>> model.minimum_budget(X[400:404]).tolist()
    [8.0, 8.0, 8.0, 8.0]
    """

    def __init__(
        self,
        estimator: Any,
        n_partitions: int = 51,
        *,
        equal_rows: Literal["together", "apart"] = "together",
        random_state: int = 0,
        exhaustive: int = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_partitions = n_partitions
        self.equal_rows = equal_rows
        self.random_state = random_state
        self.exhaustive = exhaustive
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Deal the rows, and train one member per partition.

        Parameters
        ----------
        X : array, sparse matrix or frame
            Training rows. Columns of a frame may hold texts, if the estimator takes them.
        y : (n,) array-like
            Their classes.
        sample_weight : (n,) array-like, optional
            How much each row counts; the estimator, or the last step of a pipeline, must take
            weights. Rows of weight 0 are left out.

        Returns
        -------
        self
            The fitted model.

        Raises
        ------
        InputError
            If there are fewer rows than partitions, or the estimator is no classifier.
        """
        check_settings(self)
        rows = self._rows(X, reset=True)
        count = _count(rows)
        labels = as_labels(y, count)
        check_classification_targets(labels)
        weight = as_sample_weight(sample_weight, count)
        final = final_estimator(self.estimator)
        if weight is not None and not has_fit_parameter(final, "sample_weight"):
            raise InputError(
                f"{type(final).__name__} takes no sample_weight in fit; leave it out, or pass an "
                "estimator that takes weights"
            )
        if count < self.n_partitions:
            raise InputError(
                f"n_partitions={self.n_partitions} is more than there are training rows "
                f"(n_samples={count}), so that some partitions could only be empty; pass fewer "
                "partitions than rows, far fewer for members that learn something"
            )
        self.classes_ = np.unique(labels)
        self.partition_ = dealt(self, rows)
        if weight is not None:
            self.partition_[weight == 0] = ABSTAINS
        parts = [np.flatnonzero(self.partition_ == at) for at in range(self.n_partitions)]
        self.estimators_ = Parallel(n_jobs=self.n_jobs, verbose=self.verbose)(
            delayed(_trained)(self, at, take_rows(rows, part), labels[part], _of(weight, part))
            for at, part in enumerate(parts)
        )
        return self

    def _rows(self, X: Any, *, reset: bool) -> Any:
        """Return rows as members take them: frames as they are, all else as checked arrays."""
        if eager_frame(X) is not None:
            validate_data(self, X, skip_check_array=True, reset=reset)
            return X
        finite = not get_tags(self.estimator).input_tags.allow_nan
        return validate_data(self, X, accept_sparse="csr", ensure_all_finite=finite, reset=reset)

    def votes(self, X: Any) -> IntArray:
        """Return the class that each member votes for.

        Parameters
        ----------
        X : array, sparse matrix or frame
            Rows with the same columns as the training rows.

        Returns
        -------
        (n, n_partitions) array of int
            Numbers of classes, as in `classes_`; -1 for a partition without rows, which abstains.

        Examples
        --------
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> from unswayed import PartitionedClassifier
        >>> model = PartitionedClassifier(DecisionTreeClassifier(), n_partitions=3)
        >>> model.fit([[0], [1], [2], [3], [4], [5]], list("aabbbb")).votes([[0], [5]])
        array([[0, 0, 1],
               [1, 1, 1]])
        """
        check_is_fitted(self)
        rows = self._rows(X, reset=False)
        found = Parallel(n_jobs=self.n_jobs)(
            delayed(voted)(member, rows, self.classes_) for member in self.estimators_
        )
        return np.column_stack(found)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the share of the votes that each class gets.

        Parameters
        ----------
        X : array, sparse matrix or frame
            Rows with the same columns as the training rows.

        Returns
        -------
        (n, n_classes) array
            Shares of the members that vote; these are not probabilities.
        """
        counts = tallied(self.votes(X), len(self.classes_))
        return np.asarray(counts / counts.sum(axis=1, keepdims=True))

    def decision_function(self, X: Any) -> FloatArray:
        """Return shares of the votes; for two classes, by how much the second has more than half.

        Parameters
        ----------
        X : array, sparse matrix or frame
            Rows with the same columns as the training rows.

        Returns
        -------
        (n,) or (n, n_classes) array
            One number per row, if there are two classes.
        """
        shares = self.predict_proba(X)
        return shares[:, 1] - 0.5 if shares.shape[1] == 2 else shares

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with most votes; among equals, the first.

        Parameters
        ----------
        X : array, sparse matrix or frame
            Rows with the same columns as the training rows.

        Returns
        -------
        (n,) array
            One class per row, as labels were written at `fit`.
        """
        counts = tallied(self.votes(X), len(self.classes_))
        return np.asarray(self.classes_[counts.argmax(axis=1)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if isinstance(self.estimator, BaseEstimator):
            inner = get_tags(self.estimator).input_tags
            tags.input_tags.sparse = inner.sparse
            tags.input_tags.allow_nan = inner.allow_nan
        return tags


# --- Settings ------------------------------------------------------------------------------------


def check_settings(model: PartitionedClassifier) -> None:
    """Raise for settings that cannot be used."""
    _check_member(model.estimator)
    for name, least in (("n_partitions", 1), ("random_state", 0), ("exhaustive", 0)):
        value = getattr(model, name)
        try:
            right = not isinstance(value, bool) and operator.index(value) >= least
        except TypeError:
            right = False
        if not right:
            why = "; it makes every fit the same" if name == "random_state" else ""
            raise InputError(f"{name} must be a whole number from {least} on, got {value!r}{why}")
    if model.equal_rows not in ("together", "apart"):
        raise InputError(
            f"equal_rows must be 'together' or 'apart', got {model.equal_rows!r}; it says whether "
            "rows with equal features share a partition"
        )


def _check_member(estimator: Any) -> None:
    """Raise if an estimator cannot be a member."""
    if isinstance(estimator, type):
        raise InputError(
            f"estimator is the class {estimator.__name__}; pass an instance of it, "
            f"{estimator.__name__}()"
        )
    kind = type(estimator).__name__
    for method in ("fit", "predict", "get_params"):
        if not hasattr(estimator, method):
            raise InputError(
                f"{kind} has no method {method}, so that no copies of it can be trained and vote; "
                "pass a classifier with scikit-learn's methods, or a pipeline that ends in one"
            )
    if not is_classifier(estimator):
        raise InputError(
            f"{kind} is no classifier, and members vote for classes; pass one, such as "
            "RidgeClassifier instead of Ridge"
        )
    if get_tags(estimator).input_tags.pairwise:
        raise InputError(
            f"{kind} takes a matrix of all pairs of rows, which partitions would cut apart; pass "
            "features instead"
        )


# --- Which partition -----------------------------------------------------------------------------


def dealt(model: PartitionedClassifier, rows: Any) -> IntArray:
    """Return the partition of each row, by a hash of its features."""
    key = str(operator.index(model.random_state)).encode()[:64]
    before: Counter[bytes] = Counter()
    found = []
    for row in _row_bytes(rows):
        digest = blake2b(row, digest_size=16, key=key).digest()
        if model.equal_rows == "apart":
            before[digest] += 1
            copy = before[digest].to_bytes(8, "little")
            digest = blake2b(digest + copy, digest_size=16, key=key).digest()
        found.append(int.from_bytes(digest, "little") % model.n_partitions)
    return np.array(found, dtype=np.intp)


def _row_bytes(rows: Any) -> Iterator[bytes]:
    """Yield the bytes of each row: equal for equal rows, on every machine."""
    frame = eager_frame(rows)
    if frame is not None and not all(kind.is_numeric() for kind in frame.schema.values()):
        columns = [frame[name].to_list() for name in frame.columns]
        for cells in zip(*columns, strict=True):
            yield b"".join(map(_cell_bytes, cells))
        return
    given = rows if frame is None else frame.to_numpy()
    for start in range(0, given.shape[0], _HASHED):
        block = given[start : start + _HASHED]
        values = np.array(dense(block) if sparse.issparse(block) else block, dtype="<f8") + 0.0
        values[np.isnan(values)] = np.nan  # NaN has many bit patterns, and 0 two
        for row in np.ascontiguousarray(values):
            yield row.tobytes()


def _cell_bytes(cell: Any) -> bytes:
    """Return the bytes of a cell: a number, a text, or nothing."""
    if is_missing(cell):
        return b"-"
    if isinstance(cell, int | float | np.number):
        return b"n" + np.array(float(cell) + 0.0, dtype="<f8").tobytes()
    text = str(cell).encode("utf-8", "surrogatepass")
    return b"t" + len(text).to_bytes(8, "little") + text


# --- Members -------------------------------------------------------------------------------------


def seeds(model: PartitionedClassifier) -> list[int]:
    """Return the random state of each member."""
    made = np.random.SeedSequence(int(model.random_state)).generate_state(model.n_partitions)
    return [int(seed) >> 1 for seed in made]  # below 2**31: some libraries take no more


def seeded(estimator: Any, seed: int) -> Any:
    """Return a copy of an estimator with every random state in it set."""
    copy = clone(estimator)
    names = [
        name
        for name in copy.get_params(deep=True)
        if name == "random_state" or name.endswith("__random_state")
    ]
    return copy.set_params(**dict.fromkeys(names, seed)) if names else copy


def member_of(estimator: Any, rows: Any, labels: NDArray[Any], weight: Any, seed: int) -> Any:
    """Return an estimator trained on the rows of a partition; one class takes no learning."""
    if len(np.unique(labels)) == 1:
        return DummyClassifier(strategy="most_frequent").fit(rows, labels)
    member = seeded(estimator, seed)
    return member.fit(rows, labels, **({} if weight is None else {_weight_of(member): weight}))


def _weight_of(estimator: Any) -> str:
    """Return by which name an estimator takes sample weights: of a pipeline, its last step does."""
    name = ""
    while type(estimator) is Pipeline:
        last, estimator = estimator.steps[-1]
        name += f"{last}__"
    return f"{name}sample_weight"


def _trained(
    model: PartitionedClassifier, at: int, rows: Any, labels: NDArray[Any], weight: Any
) -> Any:
    """Return the member of a partition; None if it has no rows."""
    if not len(labels):
        return None
    try:
        return member_of(model.estimator, rows, labels, weight, seeds(model)[at])
    except ValueError as error:
        raise InputError(
            f"partition {at}, with {len(labels)} rows, could not be learned from "
            f"({type(error).__name__}: {error}); fewer partitions (n_partitions) have more rows"
        ) from error


def voted(member: Any, rows: Any, classes: NDArray[Any]) -> IntArray:
    """Return the number of the class that a member votes for, by row."""
    if member is None:
        return np.full(_count(rows), ABSTAINS)
    found = np.ravel(member.predict(rows))
    return np.searchsorted(classes, found.astype(classes.dtype))


def tallied(votes: IntArray, n_classes: int) -> IntArray:
    """Return how many votes each class gets, by row."""
    return np.column_stack([(votes == each).sum(axis=1) for each in range(n_classes)])


def _of(weight: FloatArray | None, part: IntArray) -> FloatArray | None:
    return None if weight is None else weight[part]


def _count(rows: Any) -> int:
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)
