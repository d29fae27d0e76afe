"""Columns: which are numbers, which are categories, and the matrix they make."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unswayed._typing import BoolArray, FloatArray
from unswayed.exceptions import InputError
from unswayed.tables.cells import codes, is_text, is_usable, plain
from unswayed.words import as_text, option, shorten

# More categories than this, and than half the rows: a name or a number of a file, not a feature.
_MANY = 100


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """One feature column as the training rows have it."""

    name: str
    categories: pa.Array | None  # None for a number; sorted, a null last where rows miss it

    @classmethod
    def of(cls, name: str, values: pa.ChunkedArray, *, as_category: bool) -> "Column":
        """Decide whether a column of the training rows holds numbers or categories."""
        values = plain(values)
        kind = values.type
        out = f"leave it out with {option('--ignore', [name])}"
        empty = InputError(f"column {shorten(name)!r} is empty; {out}")
        if pa.types.is_null(kind):
            raise empty
        if not is_usable(kind):
            raise InputError(
                f"column {shorten(name)!r} holds {kind} values, neither numbers nor texts; turn "
                f"it into one of them (a date into a year, say) or {out}"
            )
        if not is_text(kind) and not as_category:
            return cls(name, None)
        found = pc.unique(codes(values).combine_chunks())
        if found.null_count == len(found):
            raise empty
        if not as_category and is_too_many(len(found), values.length()):
            raise InputError(
                f"column {shorten(name)!r} has {len(found):,} different texts in "
                f"{values.length():,} rows, so it says who a row is and not what it is like; "
                f"{out}, or keep it with {option('--categorical', [name])}"
            )
        return cls(name, found.take(pc.sort_indices(found)))

    def encode(self, values: pa.ChunkedArray) -> FloatArray:
        """Return cells as floats: numbers themselves, categories by their position."""
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
        """Return whether values of an Arrow type can be compared with those of the training rows.

        Texts go only with texts, and where the categories are booleans, only booleans do.
        """
        known = pa.float64() if self.categories is None else self.categories.type
        same = pa.types.is_boolean(kind) or not pa.types.is_boolean(known)
        return pa.types.is_null(kind) or (is_text(kind) == is_text(known) and same)

    @property
    def values(self) -> list[Any]:
        """The categories, sorted; an empty list for a column of numbers."""
        return [] if self.categories is None else list(self.categories.to_pylist())

    @property
    def n_categories(self) -> int:
        """Number of categories; 0 for a column of numbers."""
        return 0 if self.categories is None else len(self.categories)

    def names(self) -> list[str]:
        """Return the names of the features that this column becomes."""
        name = shorten(self.name)
        if self.categories is None:
            return [name]
        return [f"{name} = {as_text(value)}" for value in self.values]


def is_too_many(n_values: int, n_rows: int) -> bool:
    """Return whether so many different texts must be names or numbers of a file."""
    return n_values > max(_MANY, n_rows // 2)


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The feature columns of a file, categories first, as the training rows have them."""

    categories: tuple[Column, ...]
    numbers: tuple[Column, ...]

    @classmethod
    def of(cls, table: pa.Table, names: list[str], categorical: tuple[str, ...]) -> "Columns":
        """Recognise the feature columns of the training rows."""
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
        """Return rows as numbers, one column per feature column of the file."""
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
        """Return the rows that have a category which no training row has."""
        flags = {
            column.name: np.asarray(matrix[:, at] == column.n_categories)
            for at, column in enumerate(self.categories)
        }
        return {name: rows for name, rows in flags.items() if rows.any()}

    def feature_names(self) -> list[str]:
        """Return the names of the model's features, in the order of its coefficients."""
        return [name for column in self for name in column.names()]

    def transformer(self, missing: Literal["refuse", "drop", "impute"]) -> Any:
        """Make the transformer from `matrix` to features: one-hot categories and scaled numbers.

        It uses no labels, so a changed label never changes a feature.
        """
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
        """Make a pipeline of the transformer and a final estimator."""
        from sklearn.pipeline import Pipeline

        return Pipeline([("features", self.transformer(missing)), ("model", final)])
