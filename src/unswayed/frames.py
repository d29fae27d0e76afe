"""Frames of any library: pandas, polars and pyarrow, by narwhals."""

from typing import Any

import narwhals as nw
import numpy as np

from unswayed._typing import IntArray
from unswayed.exceptions import InputError


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


def take_rows(values: Any, rows: IntArray) -> Any:
    """Return some rows of what users pass, as what it was."""
    native = nw.from_native(values, allow_series=True, pass_through=True)
    if isinstance(native, nw.DataFrame | nw.Series):
        return native[rows].to_native()
    if hasattr(values, "tocsr"):
        return values.tocsr()[rows]
    if isinstance(values, list | tuple):
        return [values[row] for row in rows.tolist()]
    return (values if isinstance(values, np.ndarray) else np.asarray(values))[rows]
