"""Frames, arrays and labels as users have them, checked before anything is computed."""

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from unswayed._typing import FloatArray
from unswayed.exceptions import InputError
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
