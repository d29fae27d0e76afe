"""Columns: which are numbers, which are categories, and the matrix they make."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unswayed._typing import BoolArray, FloatArray
from unswayed.exceptions import InputError
from unswayed.words import as_text, shorten

# More categories than this, and than half the rows: a name or a number of a file, not a feature.
_MANY = 100


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """One feature column as the training rows have it."""

    name: str
    categories: pa.Array | None  # None for a number; sorted, a null last where rows miss it

    @classmethod
    def of(cls, name: str, values: pa.ChunkedArray, *, as_category: bool) -> "Column":
        """Look at a column of the training rows and decide what it is."""
        values = plain(values)
        kind = values.type
        empty = InputError(f"column {shorten(name)!r} is empty; leave it out with --ignore")
        if pa.types.is_null(kind):
            raise empty
        number = is_number(kind) or pa.types.is_boolean(kind)
        if not is_text(kind) and not number:
            raise InputError(
                f"column {shorten(name)!r} holds {kind} values, neither numbers nor texts; turn "
                "it into one of them (a date into a year, say) or leave it out with --ignore"
            )
        if number and not as_category:
            return cls(name, None)
        found = pc.unique(codes(values).combine_chunks())
        if found.null_count == len(found):
            raise empty
        if not as_category and len(found) > max(_MANY, values.length() // 2):
            raise InputError(
                f"column {shorten(name)!r} has {len(found):,} different texts in "
                f"{values.length():,} rows, so it says who a row is and not what it is like; "
                "leave it out with --ignore, or keep it with --categorical"
            )
        return cls(name, found.take(pc.sort_indices(found)))

    def encode(self, values: pa.ChunkedArray) -> FloatArray:
        """Numbers as they are (missing: NaN), categories by position (unseen: one past the end)."""
        if not self._takes(values.type):
            raise pa.ArrowInvalid(f"{values.type} is another kind of values")
        values = plain(values)
        if self.categories is None:
            numbers = values.cast(pa.float64(), safe=False)
            return np.asarray(pc.fill_null(numbers, np.nan), dtype=np.float64)
        values = codes(values.cast(self.categories.type))
        position = pc.index_in(values, value_set=self.categories)
        return np.asarray(pc.fill_null(position, len(self.categories)), dtype=np.float64)

    def _takes(self, kind: Any) -> bool:
        """Whether values of another file can be compared: a text is no number, nor is 2 true."""
        known = pa.float64() if self.categories is None else self.categories.type
        same = pa.types.is_boolean(kind) or not pa.types.is_boolean(known)
        return pa.types.is_null(kind) or (is_text(kind) == is_text(known) and same)

    @property
    def values(self) -> list[Any]:
        """The categories; none for a number."""
        return [] if self.categories is None else list(self.categories.to_pylist())

    @property
    def n_categories(self) -> int:
        """How many categories there are."""
        return 0 if self.categories is None else len(self.categories)

    def names(self) -> list[str]:
        """Names of the features this column becomes."""
        name = shorten(self.name)
        if self.categories is None:
            return [name]
        return [f"{name} = {as_text(value)}" for value in self.values]


def codes(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Make equal numbers equal categories: -0 is 0, and NaN is a missing value."""
    if not pa.types.is_floating(values.type):
        return values
    values = pc.add(values, pa.scalar(0, values.type))
    return pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)


def plain(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return values themselves instead of codes for them; doubles for decimals and half floats."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    rare = pa.types.is_decimal(values.type) or pa.types.is_float16(values.type)
    return values.cast(pa.float64(), safe=False) if rare else values


def is_text(kind: Any) -> bool:
    """Whether an Arrow type holds texts, or codes for them."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def is_number(kind: Any) -> bool:
    """Whether an Arrow type holds numbers."""
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The features of a file, categories first, as the training rows have them."""

    categories: tuple[Column, ...]
    numbers: tuple[Column, ...]

    @classmethod
    def of(cls, table: pa.Table, names: list[str], categorical: tuple[str, ...]) -> "Columns":
        """Look at the feature columns `names` of the training rows."""
        found = [
            Column.of(name, table.column(name), as_category=name in categorical) for name in names
        ]
        if not found:
            raise InputError("no feature column is left beside the label; ignore fewer columns")
        return cls(
            tuple(column for column in found if column.categories is not None),
            tuple(column for column in found if column.categories is None),
        )

    def __iter__(self) -> Any:
        return iter((*self.categories, *self.numbers))

    def matrix(self, table: pa.Table) -> FloatArray:
        """One column of numbers per column of the file."""
        out = np.empty((table.num_rows, len(self.categories) + len(self.numbers)))
        for at, column in enumerate(self):
            values = table.column(column.name)
            try:
                out[:, at] = column.encode(values)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                kind = "numbers" if column.categories is None else str(column.categories.type)
                raise InputError(
                    f"column {shorten(column.name)!r} held {kind} in the training file but "
                    f"{values.type} values here; give both the same kind"
                ) from None
        return out

    def unseen(self, matrix: FloatArray) -> dict[str, BoolArray]:
        """Rows of a matrix whose category no training row has, by column."""
        flags = {
            column.name: np.asarray(matrix[:, at] == column.n_categories)
            for at, column in enumerate(self.categories)
        }
        return {name: rows for name, rows in flags.items() if rows.any()}

    def feature_names(self) -> list[str]:
        """Names of the model's features, in its order."""
        return [name for column in self for name in column.names()]

    def transformer(self, missing: Literal["refuse", "drop", "impute"]) -> Any:
        """One-hot categories and scaled numbers; nothing of it looks at the labels."""
        from sklearn.compose import ColumnTransformer
        from sklearn.impute import SimpleImputer
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder, StandardScaler

        split = len(self.categories)
        known = [np.arange(float(column.n_categories)) for column in self.categories]
        one_hot = OneHotEncoder(categories=known, handle_unknown="ignore")
        scale: Any = StandardScaler()
        if missing == "impute":
            # keep_empty_features: every column of the file stays a feature, in its place.
            scale = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), scale)
        return ColumnTransformer(
            [
                ("category", one_hot, list(range(split))),
                ("number", scale, list(range(split, split + len(self.numbers)))),
            ]
        )

    def pipeline(self, final: Any, missing: Literal["refuse", "drop", "impute"]) -> Any:
        """Put the transformer before a final estimator."""
        from sklearn.pipeline import Pipeline

        return Pipeline([("features", self.transformer(missing)), ("model", final)])
