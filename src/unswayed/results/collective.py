"""What certification of many rows together returns: ranges, and the labels at their ends."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unswayed._typing import IntArray
from unswayed.results.notebook import SHOWN, facts, table
from unswayed.results.rows import changes_table
from unswayed.results.saved import Saved
from unswayed.words import as_text, number_end, range_text


@dataclass(frozen=True, slots=True, eq=False)
class CollectiveWitness:
    """Label changes that overturn many predictions at once: the proof that they can.

    Attributes
    ----------
    indices : (k,) array of int
        Training rows, ascending.
    labels : (k,) array
        Their new labels, as the user writes labels.
    overturned : (m,) array of int
        Rows that were asked about and that are proven to be overturned, ascending.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from unswayed import CertifiedClassifier, LabelBias
    >>> X = [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1]]
    >>> model = CertifiedClassifier(
    ...     LinearRegression(fit_intercept=False), bias=LabelBias.flips(budget=1)
    ... ).fit(X, ["yes", "yes", "yes", "no", "yes", "no"])
    >>> print(model.certify_together([[1, 0], [0, 1], [0, 1]]).witness)
    1 label change overturns 2 predictions
    """

    indices: IntArray
    labels: NDArray[Any]
    overturned: IntArray

    def __len__(self) -> int:
        return len(self.indices)

    def __str__(self) -> str:
        changes = "1 label change overturns" if len(self) == 1 else f"{len(self)} label changes "
        changes += "" if len(self) == 1 else "overturn"
        n = len(self.overturned)
        return f"{changes} {n} prediction{'' if n == 1 else 's'}"

    def _repr_html_(self) -> str:
        return changes_table(str(self), self.indices, self.labels)


@dataclass(frozen=True, eq=False, kw_only=True)
class TogetherCertificate(Saved):
    """How many predictions one admissible set of wrong labels can overturn.

    Attributes
    ----------
    at_most : int or float
        No admissible set of wrong labels overturns more: a proof. A sum of weights, where rows were
        given weights.
    at_least : int or float
        How many the witness overturns, or the sum of their weights.
    proven : bool
        The two are equal, so that this is the answer.
    witness : CollectiveWitness
        Labels that overturn `at_least`.
    fragile : int or float
        How many can be overturned one at a time, by a set of labels for each.
    n_rows : int
        How many were asked about.
    bounds : dict of str to float
        Proven upper bounds, from cheap to dear: "fragile rows" (each row by itself), "Lagrangian"
        (one selection on a sum of influence rows) and "cases" (one such selection for each case
        of a tree). The engine computes all of them with error bounds; a solver only suggests the
        sums and the cases.
    budget : float
        The most that was taken to be wrong at once.
    question : str
        What was asked, in words.
    trusted : tuple of str
        What the caller vouched for and nobody proved.
    source : CollectiveClaim, optional
        The model behind it, which writes files.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from unswayed import CertifiedClassifier, LabelBias
    >>> X = [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1]]
    >>> model = CertifiedClassifier(
    ...     LinearRegression(fit_intercept=False), bias=LabelBias.flips(budget=1)
    ... ).fit(X, ["yes", "yes", "yes", "no", "yes", "no"])
    >>> found = model.certify_together([[1, 0], [0, 1], [0, 1]])
    >>> found.at_least, found.at_most, found.proven
    (2, 2, True)
    >>> found.to_dict()["fragile"]
    2
    """

    at_most: float
    at_least: float
    proven: bool
    witness: CollectiveWitness
    fragile: float
    n_rows: int
    bounds: dict[str, float]
    budget: float
    question: str
    trusted: tuple[str, ...] = ()
    source: Any = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, for JSON or a frame of any library.

        Returns
        -------
        dict of str to value
            What the certificate says, by name.
        """
        return {
            "at_most": self.at_most,
            "at_least": self.at_least,
            "proven": self.proven,
            "fragile": self.fragile,
            "rows": self.n_rows,
            "bounds": dict(self.bounds),
            "budget": self.budget,
            "question": self.question,
            "trusted": list(self.trusted),
            "witness": _witness_dict(self.witness),
        }

    def __repr__(self) -> str:
        many = number_end(self.at_most, 1)
        many = many if self.proven else f"{number_end(self.at_least, -1)} to {many}"
        rows = f"{self.n_rows} row{'' if self.n_rows == 1 else 's'}"
        return f"<{type(self).__name__}: {rows}, {self.question}: {many} together>"

    def _repr_html_(self) -> str:
        found = {
            "proven: no set of wrong labels overturns more than": number_end(self.at_most, 1),
            "found: the witness overturns": number_end(self.at_least, -1),
            "one at a time, each by its own labels": number_end(self.fragile, 1),
            "rows asked about": self.n_rows,
            "labels of the witness": len(self.witness),
        }
        return facts(f"Rows overturned by one set of wrong labels: {self.question}", found)


@dataclass(frozen=True, eq=False, kw_only=True)
class MetricRange(Saved):
    """Between which values a metric lies over all admissible sets of wrong labels.

    Attributes
    ----------
    metric : str
        Its name.
    value : float
        The metric of the model as trained.
    low, high : float
        No set of wrong labels that the bias allows takes the metric out of this range: a proof.
    inner_low, inner_high : float
        Values that the witnesses reach, or go beyond.
    proven_low, proven_high : bool
        Whether outer and inner end are the same number.
    witness_low, witness_high : CollectiveWitness
        Labels that lead to the inner ends.
    n_rows : int
        Rows that the metric is about.
    budget : float
        The most that was taken to be wrong at once.
    question : str
        What was asked, in words.
    trusted : tuple of str
        What the caller vouched for and nobody proved.
    source : CollectiveClaim, optional
        The model behind it, which writes files.
    by_group : GroupRanges
        The same for every group, where there are groups and the metric is one of single groups.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from unswayed import CertifiedClassifier, LabelBias
    >>> X = [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1]]
    >>> model = CertifiedClassifier(
    ...     LinearRegression(fit_intercept=False), bias=LabelBias.flips(budget=1)
    ... ).fit(X, ["yes", "yes", "yes", "no", "yes", "no"])
    >>> found = model.certify_metric([[1, 0], [0, 1]], "selection_rate")
    >>> found.value, found.low, found.high, found.proven
    (0.5, 0.5, 1.0, True)
    >>> found.to_dict()["metric"]
    'selection_rate'
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> found.save(folder / "gap.json", data=folder / "gap.npz")
    >>> (folder / "gap.json").exists()
    True
    """

    metric: str
    value: float
    low: float
    high: float
    inner_low: float
    inner_high: float
    proven_low: bool
    proven_high: bool
    witness_low: CollectiveWitness
    witness_high: CollectiveWitness
    n_rows: int
    budget: float
    question: str
    trusted: tuple[str, ...] = ()
    by_group: "GroupRanges" = field(default_factory=lambda: GroupRanges(()))
    source: Any = None

    @property
    def proven(self) -> bool:
        """Whether both ends are known exactly."""
        return self.proven_low and self.proven_high

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, for JSON or a frame of any library.

        Returns
        -------
        dict of str to value
            What the range says, by name.
        """
        names = ("metric", "value", "low", "high", "inner_low", "inner_high", "proven", "n_rows",
                 "budget", "question")  # fmt: skip
        return {name: getattr(self, name) for name in names} | {
            "trusted": list(self.trusted),
            "witness_low": _witness_dict(self.witness_low),
            "witness_high": _witness_dict(self.witness_high),
            "by_group": self.by_group.to_dict(),
        }

    def __repr__(self) -> str:
        ends = [
            number_end(outer, way) + ("" if proven else f" (reached: {number_end(inner, -way)})")
            for outer, inner, proven, way in (
                (self.low, self.inner_low, self.proven_low, -1),
                (self.high, self.inner_high, self.proven_high, 1),
            )
        ]
        return (
            f"<{type(self).__name__}: {self.metric} {number_end(self.value)}, if {self.question} "
            f"between {ends[0]} and {ends[1]}>"
        )

    def _repr_html_(self) -> str:
        parts = (("all rows", self), *self.by_group.parts)
        return _ranges_table(f"range of {self.metric}, if {self.question}", parts)


@dataclass(frozen=True, eq=False)
class GroupRanges:
    """Ranges of a metric by group, in sorted order of the groups."""

    parts: tuple[tuple[Any, MetricRange], ...]

    @property
    def groups(self) -> tuple[Any, ...]:
        """The groups."""
        return tuple(group for group, _ in self.parts)

    def __getitem__(self, group: Any) -> MetricRange:
        found: MetricRange = dict(self.parts)[group]
        return found

    def __iter__(self) -> Iterator[Any]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.parts)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return columns, for JSON or a frame of any library."""
        names = ("value", "low", "high", "inner_low", "inner_high", "proven", "n_rows")
        columns: dict[str, list[Any]] = {"group": list(self.groups)}
        return columns | {name: [getattr(one, name) for _, one in self.parts] for name in names}

    def __repr__(self) -> str:
        lines = [("group", "value", "low", "high", "")]
        for group, one in self.parts:
            reached = range_text(one.inner_low, one.inner_high, outer=False)
            ends = number_end(one.value), number_end(one.low, -1), number_end(one.high, 1)
            lines.append((str(group), *ends, "" if one.proven else f"  (reached: {reached})"))
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            f"{group:<{widths[0]}}"
            + "".join(f"  {text:>{width}}" for text, width in zip(ends, widths[1:], strict=False))
            + reached
            for group, *ends, reached in lines
        )

    def _repr_html_(self) -> str:
        asked = sorted({f"range of {one.metric}, if {one.question}" for _, one in self.parts})
        return _ranges_table("; ".join(asked), self.parts)


def _ranges_table(caption: str, parts: Sequence[tuple[Any, MetricRange]]) -> str:
    """Return the table of a metric's ranges: what is proven, and what is reached."""
    shown = parts[:SHOWN]
    columns: dict[str, list[Any]] = {
        "group": [as_text(group) for group, _ in shown],
        "value": [number_end(one.value) for _, one in shown],
        "proven range": [range_text(one.low, one.high) for _, one in shown],
        "reached": [range_text(one.inner_low, one.inner_high, outer=False) for _, one in shown],
        "rows": [one.n_rows for _, one in shown],
    }
    return table(caption, columns, total=len(parts), what="group")


def _witness_dict(witness: CollectiveWitness) -> dict[str, list[Any]]:
    return {
        "indices": witness.indices.tolist(),
        "labels": np.asarray(witness.labels).tolist(),
        "overturned": witness.overturned.tolist(),
    }
