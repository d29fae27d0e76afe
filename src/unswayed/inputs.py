"""Users' arrays and frames: read as doubles, checked, and given back in their own kind."""

import sys
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from unswayed._typing import FloatArray, IntArray, Matrix
from unswayed.exceptions import InputError, UnswayedError


def dense(matrix: Matrix) -> FloatArray:
    """Return a matrix as a dense array."""
    return np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix)


def refuse_masked(values: Any, name: str, error: type[UnswayedError] = InputError) -> None:
    """Raise for a masked array, whose masked values NumPy would take for values."""
    if isinstance(values, np.ma.MaskedArray):
        raise error(
            f"{name} is a masked array, whose masked values would count as values; drop the rows "
            "they are in, or pass filled(...) with a value of your choice"
        )


def as_doubles(values: Any, name: str, error: type[UnswayedError] = InputError) -> FloatArray:
    """Return a new array of doubles."""
    refuse_masked(values, name, error)
    try:
        if np.asarray(values).dtype.kind in "cmM":
            raise TypeError(f"got {np.asarray(values).dtype} values")
        return np.array(values, dtype=np.float64)
    except OverflowError:
        raise error(f"{name} holds a number that is too large for a double") from None
    except (TypeError, ValueError) as problem:
        raise error(f"{name} must be numbers: {problem}") from None


def is_lazy(X: object) -> bool:
    """Return whether something is a dask collection."""
    dask = sys.modules.get("dask")
    return dask is not None and bool(dask.is_dask_collection(X))


def is_missing(value: object) -> bool:
    """Return whether a value is missing: None, NaN of any kind, or pandas' NA.

    NaN is what does not equal itself; NA raises when a comparison with it is taken for a bool.
    """
    try:
        return value is None or bool(value != value)  # noqa: PLR0124
    except TypeError:
        return True


def as_values(values: Any) -> NDArray[Any]:
    """Return values as an array, each as it was given.

    NumPy alone turns the list ["a", nan] into ["a", "nan"], which hides the missing value.
    """
    found = np.asarray(values)
    if found.dtype.kind == "U" and isinstance(values, list | tuple):
        return np.asarray(values, dtype=object)
    return found


# ----------------------------------------------------------------------------------------
# Frames of any library: pandas, polars and pyarrow, by narwhals.


def eager_frame(X: Any) -> Any:
    """Return X as a narwhals frame, or None for arrays and sparse matrices."""
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        raise InputError(
            "X is a lazy frame, which has no rows yet; pass X.collect(), or X.compute() with dask"
        )
    return frame if isinstance(frame, nw.DataFrame) else None


def rows_of_kind(X: Any) -> Any:
    """Return an empty frame of X's library, which is all that `frame_like` needs to know of it."""
    frame = eager_frame(X)
    return None if frame is None else frame.head(0).to_native()


def frame_like(X: Any, columns: dict[str, Any]) -> Any:
    """Return columns as a frame of X's library; for arrays, of the first that is installed.

    Those are pandas, polars and pyarrow, in this order. A pandas frame gets the index of X if it
    has as many rows.
    """
    frame = eager_frame(X)
    if frame is not None:
        made = nw.from_dict(columns, backend=frame.implementation).to_native()
        if frame.implementation.is_pandas() and len(X) == len(made):
            made.index = X.index
        return made
    for backend in ("pandas", "polars", "pyarrow"):
        try:
            return nw.from_dict(columns, backend=backend).to_native()
        except ImportError:
            continue
    raise ImportError("to_frame needs pandas, polars or pyarrow: pip install 'unswayed[frames]'")


def row_labels(X: Any, n_rows: int) -> NDArray[Any]:
    """Return the labels of the index of a pandas frame; of anything else, row numbers from 0."""
    if not nw.dependencies.is_pandas_dataframe(X) or len(X) != n_rows:
        return np.arange(n_rows)
    return np.asarray(X.index.to_numpy(dtype=object))


def take_rows(values: Any, rows: IntArray) -> Any:
    """Return the selected rows in the caller's own type."""
    native = nw.from_native(values, allow_series=True, pass_through=True)
    if isinstance(native, nw.DataFrame | nw.Series):
        return native[rows].to_native()
    if hasattr(values, "tocsr"):
        return values.tocsr()[rows]
    if isinstance(values, list | tuple):
        return [values[row] for row in rows.tolist()]
    return (values if isinstance(values, np.ndarray) else np.asarray(values))[rows]
