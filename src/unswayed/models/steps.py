"""Steps before the final estimator of a pipeline, and whether their features depend on labels.

A step that stays fitted when it is cloned (`FrozenEstimator`) cannot be tested, so users must name
it in `trust`.
"""

import sys
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import shuffle
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import check_array, column_or_1d

from unswayed._typing import FloatArray, Matrix
from unswayed.exceptions import InputError, LabelPeekError, NotLinearError
from unswayed.inputs import as_doubles, as_values, eager_frame, is_missing, refuse_masked


def _kind(dtype: Any) -> str:
    if dtype.is_numeric() or dtype == nw.Boolean:
        return "numeric"
    if dtype in (nw.String, nw.Categorical, nw.Enum, nw.Object):
        return "text"
    return str(dtype)


@dataclass(frozen=True, slots=True)
class Schema:
    """Kinds of the columns a model was fitted on, to refuse test rows of other kinds."""

    kinds: dict[str, str]

    @classmethod
    def of(cls, X: Any) -> "Schema | None":
        """Return the schema of a frame; None for arrays, which have no columns to name."""
        frame = eager_frame(X)
        if frame is None:
            return None
        return cls({name: _kind(dtype) for name, dtype in frame.schema.items()})

    def check(self, X: Any) -> None:
        """Raise if a column of X is of another kind than the one fitted on.

        Names that are not all text must be the same too; scikit-learn compares those that are.
        """
        other = Schema.of(X)
        # Names that are all text are compared by scikit-learn itself.
        unnamed = not all(isinstance(name, str) for name in self.kinds)
        if other is not None and unnamed and list(other.kinds) != list(self.kinds):
            self._refuse_names(list(other.kinds))
        for name, kind in self.kinds.items():
            found = kind if other is None else other.kinds.get(name, kind)
            if found != kind:
                raise InputError(
                    f"column {name!r} holds {found} values but the model was fitted on {kind} "
                    "ones; convert the column as it was for the training rows"
                )

    def _refuse_names(self, found: list[str]) -> None:
        missing = [name for name in self.kinds if name not in found]
        unknown = [name for name in found if name not in self.kinds]
        if not missing and not unknown:
            what = "the same columns in another order"
        else:
            what = "; ".join(
                f"{word} {', '.join(map(repr, names[:5]))}"
                for word, names in (("without", missing), ("with unknown", unknown))
                if names
            )
        # The first words are scikit-learn's: its own checks look for them.
        raise InputError(
            "The feature names should match those that were passed during fit: got "
            f"{what}; pass the columns {', '.join(map(repr, list(self.kinds)[:10]))} in that order"
        )


def check_numeric_frame(X: Any) -> None:
    """Raise, naming the column, if a frame for a bare estimator holds anything but numbers."""
    schema = Schema.of(X)
    for name, kind in (schema.kinds if schema else {}).items():
        if kind != "numeric":
            raise InputError(
                f"column {name!r} holds {kind} values; a bare estimator needs numbers: put it in "
                "a Pipeline behind a ColumnTransformer that encodes the column"
            )


def for_pipeline(X: Any) -> Any:
    """Return rows as a pipeline takes them: in double precision, pyarrow tables as pandas frames.

    Single precision would round the wrapped estimator's scores to seven digits.
    """
    frame = eager_frame(X)
    if frame is None:
        narrow = getattr(X, "dtype", None) in (np.float16, np.float32)
        return X.astype(np.float64) if narrow else X
    single = [name for name, dtype in frame.schema.items() if dtype == nw.Float32]
    if single:
        frame = frame.with_columns(nw.col(*single).cast(nw.Float64))
    return frame.to_pandas() if frame.implementation.is_pyarrow() else frame.to_native()


def as_labels(y: Any, n_rows: int) -> NDArray[Any]:
    """Return labels as a one-dimensional array; raise if one is missing or infinite."""
    if y is None:
        # The wording is scikit-learn's: its own checks look for it.
        raise InputError("requires y to be passed, but the target y is None")
    refuse_masked(y, "y")
    labels = as_values(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = column_or_1d(labels, warn=True)
    if labels.ndim != 1:
        raise InputError(f"y must be one label per row, got an array of shape {labels.shape}")
    if len(labels) != n_rows:
        raise InputError(f"y has {len(labels)} labels for {n_rows} rows of X")
    if labels.dtype.kind == "c":
        raise InputError("Complex data not supported: y holds complex numbers")
    missing = np.zeros(n_rows, dtype=bool)
    if labels.dtype == object:
        missing[:] = [is_missing(label) for label in labels.tolist()]
        labels = labels if missing.any() else _of_one_kind(labels.tolist())
    if labels.dtype.kind == "f":
        missing = ~np.isfinite(labels)
    elif labels.dtype.kind in "mM":
        missing = np.isnat(labels)
    if missing.any():
        what = "NaT" if labels.dtype.kind in "mM" else "NaN or infinity"
        raise InputError(
            f"y contains {what} (first at row {int(np.flatnonzero(missing)[0])}); "
            "drop those rows or fill their labels in"
        )
    return labels


def _of_one_kind(labels: list[Any]) -> NDArray[Any]:
    """Return Python objects as an array of a dtype that fits them; raise if only some are text."""
    n_texts = sum(isinstance(label, str) for label in labels)
    if 0 < n_texts < len(labels):
        raise InputError(
            f"y mixes text with other values ({n_texts} of {len(labels)} labels are text), so the "
            "labels have no order; write all of them the same way"
        )
    return np.array(labels)


def as_sample_weight(sample_weight: Any, n_rows: int) -> FloatArray | None:
    """Return sample weights as an array; raise unless finite, nonnegative and not all 0."""
    if sample_weight is None:
        return None
    weight = as_doubles(sample_weight, "sample_weight")  # a copy: it is asked for again later
    if weight.ndim == 0:
        weight = np.full(n_rows, float(weight))
    if weight.shape != (n_rows,):
        raise InputError(f"sample_weight has shape {weight.shape}, expected {(n_rows,)}")
    if not np.isfinite(weight).all() or (weight < 0).any():
        raise InputError("sample_weight must be finite and not negative")
    if not weight.any():
        raise InputError("sample_weight is zero for every row: nothing is left to fit")
    return weight


NamedSteps: TypeAlias = Sequence[tuple[str, Any]]

# Transformers of scikit-learn that never look at y, by name: no import is paid for them.
_BLIND = frozenset(
    """
    AdditiveChi2Sampler Binarizer CountVectorizer DictVectorizer FactorAnalysis FastICA
    FeatureAgglomeration FeatureHasher FunctionTransformer GaussianRandomProjection
    HashingVectorizer IncrementalPCA KBinsDiscretizer KNNImputer KernelCenterer KernelPCA
    LatentDirichletAllocation MaxAbsScaler MinMaxScaler MissingIndicator NMF Normalizer Nystroem
    OneHotEncoder OrdinalEncoder PCA PolynomialCountSketch PolynomialFeatures PowerTransformer
    QuantileTransformer RBFSampler RobustScaler SimpleImputer SkewedChi2Sampler
    SparseRandomProjection SplineTransformer StandardScaler TfidfTransformer TfidfVectorizer
    TruncatedSVD VarianceThreshold
    """.split()
)

# --- taking a pipeline apart ----------------------------------------------------------------


def final_estimator(estimator: Any) -> Any:
    """Return the last step of a pipeline, however nested, or the estimator itself.

    A subclass of Pipeline counts as an estimator of its own: it may do anything in `fit`.
    """
    while type(estimator) is Pipeline:
        estimator = estimator.steps[-1][1]
    return estimator


def is_from_sklearn(estimator: Any) -> bool:
    """Return whether an object's class is scikit-learn's own, and not just one of the same name."""
    kind = type(estimator)
    if kind.__module__.split(".")[0] != "sklearn":
        return False
    return getattr(sys.modules.get(kind.__module__), kind.__name__, None) is kind


def is_known_blind(step: Any) -> bool:
    """Return whether a transformer is known never to look at the labels."""
    return is_from_sklearn(step) and type(step).__name__ in _BLIND


def _before_final(estimator: Any, path: str = "") -> list[tuple[str, Any]]:
    """Return the steps before the final one, with their names as `get_params` writes them."""
    steps: list[tuple[str, Any]] = []
    while type(estimator) is Pipeline:
        steps += [(f"{path}{name}", step) for name, step in estimator.steps[:-1]]
        name, estimator = estimator.steps[-1]
        path = f"{path}{name}__"
    return steps


def _inside(step: Any) -> NamedSteps | None:
    """Return the parts of scikit-learn's own containers, by exact type; None for other steps."""
    if type(step) is Pipeline:
        return list(step.steps)
    if type(step) is FeatureUnion:
        return list(step.transformer_list)
    if type(step) is ColumnTransformer:
        parts = [(name, each) for name, each, _ in step.transformers]
        return [*parts, ("remainder", step.remainder)]
    return None


def _leaves(steps: NamedSteps) -> Iterator[tuple[str, Any]]:
    """Yield every transformer inside known containers; other containers as one step each."""
    for name, step in steps:
        if step is None or isinstance(step, str):  # "passthrough", "drop"
            continue
        parts = _inside(step)
        if parts is None:
            yield name, step
        else:
            yield from _leaves([(f"{name}__{inner}", part) for inner, part in parts])


def transformers(estimator: Any) -> list[tuple[str, Any]]:
    """Return every transformer before the final estimator, with its name."""
    return list(_leaves(_before_final(estimator)))


def listed(steps: NamedSteps) -> str:
    """Return names and types of steps, for an error message."""
    return ", ".join(f"{name!r} ({type(step).__name__})" for name, step in steps)


# --- trust ----------------------------------------------------------------------------------


def as_trust(trust: Any) -> tuple[str, ...]:
    """Return the names in `trust` as a tuple, each of them once."""
    names = (trust,) if isinstance(trust, str) else trust
    if not isinstance(names, tuple | list | set | frozenset) or not all(
        isinstance(name, str) for name in names
    ):
        raise InputError(
            f"trust must be a name or several, got {trust!r}; it names what you vouch for: steps "
            "that were fitted elsewhere, or 'sample_weight'"
        )
    return tuple(dict.fromkeys(names))


def check_trust(estimator: Any, trust: tuple[str, ...]) -> tuple[str, ...]:
    """Raise unless every step that stays fitted when cloned is named in `trust`."""
    frozen = dict(_fitted_elsewhere(estimator))
    for name in trust:
        if name not in frozen and name != "sample_weight":
            known = ", ".join(map(repr, (*frozen, "sample_weight")))
            raise InputError(
                f"trust names {name!r}, which needs none: it is not a step that was fitted "
                f"elsewhere; what can be vouched for here is {known}"
            )
    for name, step in frozen.items():
        if name not in trust:
            raise LabelPeekError(
                f"{name!r} ({type(step).__name__}) was fitted elsewhere, and whether these labels "
                "had a part in that cannot be seen: if they had, the certificate would be false; "
                f"pass trust={name!r} if they had none (the certificate will say so), or an "
                "estimator that is fitted here"
            )
    return tuple(name for name in trust if name in frozen)


def _fitted_elsewhere(estimator: Any) -> Iterator[tuple[str, Any]]:
    """Yield steps, and parameters of unknown steps, that stay fitted when they are cloned."""
    for name, step in transformers(estimator):
        if stays_fitted(step):
            # Whatever is inside: a scaler of the positive rows alone knows the labels too.
            yield name, step
        elif not is_known_blind(step) and hasattr(step, "get_params"):
            for inner, value in step.get_params().items():
                for each in flattened(value):
                    if stays_fitted(each):
                        yield f"{name}__{inner}", each


def flattened(value: Any) -> Iterator[Any]:
    """Yield a value, or everything inside it if it is a list, tuple, set or dict."""
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list | tuple | set | frozenset):
        yield value
        return
    for each in value:
        yield from flattened(each)


def stays_fitted(value: Any) -> bool:
    """Whether scikit-learn's `clone` keeps what an estimator has learned."""
    made = getattr(type(value), "__sklearn_clone__", None)
    return made is not None and made is not BaseEstimator.__sklearn_clone__


# --- features -------------------------------------------------------------------------------


def as_matrix(X: Any) -> Matrix:
    """Return rows as float64, dense in C order or canonical CSR, so equal rows have equal bits."""
    try:
        found = check_array(X, accept_sparse="csr", dtype=np.float64, order="C")
    except OverflowError:
        raise InputError("a feature is a number that is too large for a double") from None
    if hasattr(found, "indptr"):
        found = sparse.csr_array(found, copy=True)
        found.sum_duplicates()
        found.eliminate_zeros()
    return found


def may_write(estimator: Any) -> bool:
    """Return whether an estimator, or a part of it, may overwrite its input (``copy=False``)."""
    return any(
        isinstance(value, bool | np.bool_ | int | float)
        and not value
        and name.rsplit("__", maxsplit=1)[-1] in ("copy", "copy_X")
        for name, value in estimator.get_params().items()
    )


def copy_if_written(estimator: Any, X: Any) -> Any:
    """Return rows, or a copy of them if a step may write into them: they belong to the caller."""
    # Functions and unknown steps may do anything with what they are given.
    unknown = any(
        isinstance(step, FunctionTransformer) or not is_known_blind(step)
        for _, step in transformers(estimator)
    )
    return deepcopy(X) if unknown or may_write(estimator) else X


def check_routing(estimator: Any) -> None:
    """Raise if a step requests sample weights, which only the final estimator is given."""
    if not get_config()["enable_metadata_routing"]:
        return
    for name, step in transformers(estimator):
        if get_routing_for_object(step).consumes("fit", ["sample_weight"]):
            raise InputError(
                f"step {name!r} ({type(step).__name__}) requests sample_weight by metadata "
                "routing, but only the final estimator is given weights here; call "
                "set_fit_request(sample_weight=False) on the step"
            )


def fit_steps(estimator: Any, X: Any, labels: Any) -> Any:
    """Fit the steps before the final one, as a pipeline fits them."""
    X = copy_if_written(estimator, X)
    while type(estimator) is Pipeline:
        if len(estimator.steps) > 1:
            before = estimator[:-1]
            X = before.fit_transform(X, labels)
            estimator.steps[:-1] = before.steps  # with a memory, the fitted ones are copies
        estimator = estimator.steps[-1][1]
    return _sliceable(X)


def _sliceable(X: Any) -> Any:
    """Return rows in a format that can be sliced, which not every sparse format can."""
    return X.tocsr() if sparse.issparse(X) else X


def transform_rows(estimator: Any, X: Any) -> Any:
    """Return the features of rows, as the final step of a fitted pipeline sees them."""
    X = copy_if_written(estimator, X)
    while type(estimator) is Pipeline:
        X = estimator[:-1].transform(X) if len(estimator.steps) > 1 else X
        estimator = estimator.steps[-1][1]
    return _sliceable(X)


# ----------------------------------------------------------------------------------------
# Check that the features a pipeline makes do not depend on the labels.
#
# A certificate holds for a pipeline only if changing a label changes none of its features. That
# is known of scikit-learn's own transformers, by their exact type; a subclass may do anything.
# Every other step is tested: fitted again without labels, and with other labels, it must make the
# same features, bit by bit.

# Of the largest feature: training features may differ so much from later ones, by rounding.
_ROUNDING = 1e-6


def check_features(estimator: Any, X: Any, labels: Any, training: Matrix) -> None:
    """Raise if features depend on labels, or if rows get other features in training than later."""
    steps = transformers(estimator)
    _check_repeatable(estimator, steps, X, labels, training)
    unknown = [(name, step) for name, step in steps if not _is_known(step)]
    two_ways = [(name, step) for name, step in steps if not transforms_alike(step)]
    if not (unknown or two_ways):
        return
    later = as_matrix(transform_rows(estimator, X))
    if unknown:
        _refit_withother_labels(estimator, unknown, X, labels, (training, later))
    gap = _gap(later, training)
    if not gap <= _ROUNDING:
        raise NotLinearError(
            f"step {listed(two_ways or unknown)} makes other features of the training rows by "
            f"fit_transform, which the model is trained on, than by transform, which all other "
            f"rows go through (by {gap:.1e} of the largest): certificates would be about a model "
            "that is trained on features no row has; drop the step, or let it converge (a smaller "
            "tol, a larger max_iter)"
        )


def _check_repeatable(
    estimator: Any, steps: NamedSteps, X: Any, labels: Any, training: Matrix
) -> None:
    """Raise if known steps that may be random make other features when fitted again."""
    may_be = [
        (name, step)
        for name, step in steps
        if is_known_blind(step)
        and (type(step) is FunctionTransformer or step.get_params().get("random_state", 0) is None)
    ]
    if (
        may_be
        and not _gap(as_matrix(fit_steps(clone(estimator), X, labels)), training) <= _ROUNDING
    ):
        raise NotLinearError(
            f"step {listed(may_be)} makes other features every time it is fitted, so that fitting "
            "again gives another model, whatever the labels are, and the certificate would be "
            "about one that nobody gets again; set its random_state"
        )


def _is_known(step: Any) -> bool:
    """Whether a step need not be tested: it never looks at labels, or cannot be fitted again."""
    return is_known_blind(step) or type(step) is FrozenEstimator


def transforms_alike(step: Any) -> bool:
    """Whether a step is known to make the same features by `fit_transform` as by `transform`."""
    made = getattr(type(step), "fit_transform", None)
    return made is None or made is TransformerMixin.fit_transform


def _gap(found: Matrix, expected: Matrix) -> float:
    """Return the largest difference of two matrices, relative to their largest entry."""
    if found.shape != expected.shape:
        return np.inf
    largest = max(float(abs(matrix).max()) for matrix in (found, expected)) or 1.0
    return float(abs(found - expected).max()) / largest


def _refit_withother_labels(
    estimator: Any,
    unknown: NamedSteps,
    X: Any,
    labels: NDArray[Any],
    expected: tuple[Matrix, Matrix],
) -> None:
    """Raise if steps make other features when fitted without labels, or with other labels.

    Features are compared as made in training, by `transform`, and by `transform` of the training
    rows in another order. This is a test, not a proof: a step passes if it reacts only to label
    changes that are not tried here.
    """
    training, later = expected
    mixed = as_matrix(transform_rows(estimator, shuffle(X, random_state=0)))
    for others in other_labels(labels):
        fresh = clone(estimator)
        try:
            found = as_matrix(fit_steps(fresh, X, others))
            again = as_matrix(transform_rows(fresh, X))
            moved = as_matrix(transform_rows(fresh, shuffle(X, random_state=0)))
        except Exception as error:  # a transformer of the user's own may raise anything
            raise LabelPeekError(
                f"step {listed(unknown)} cannot be fitted without labels or with others "
                f"({error}), so it may look at them and the certificate could be false; drop the "
                "step, or fit it on data outside the training set"
            ) from error
        if _gap(found, training) or _gap(again, later) or _gap(moved, mixed):
            raise LabelPeekError(
                f"step {listed(unknown)} gives other features when fitted without labels or with "
                "others, so it looks at them (or is random: then set its random_state) and the "
                "certificate would be false; drop the step, or fit it on data outside the "
                "training set"
            )


def other_labels(labels: NDArray[Any]) -> Iterator[NDArray[Any] | None]:
    """Yield None, then the labels in other orders and with some of them replaced."""
    yield None
    yield labels[::-1]
    yield shuffle(labels, random_state=1)
    ranked, half = np.sort(labels), np.arange(len(labels)) % 2 == 0
    yield np.where(half, ranked[0], labels)
    yield np.where(half, ranked[-1], labels)
    rng = np.random.default_rng(0)
    for share in (0.02, 0.1, 0.2):  # near the given ones: a threshold may be close
        few = rng.random(len(labels)) < max(share, 1.5 / len(labels))
        yield np.where(few, ranked[::-1][np.searchsorted(ranked, labels)], labels)
