"""Candidates: models of which the labels choose one, and which of them remain possible."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from unswayed._typing import BoolArray
from unswayed.results.notebook import SHOWN, table
from unswayed.words import number_end

_SHOWN = 8  # candidates that are listed


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Models of which the labels choose one, and which may be chosen if labels are wrong.

    Attributes
    ----------
    parameters : tuple of dict
        The parameters of each candidate, in the order of the search.
    chosen : int
        The candidate that the labels choose as they are.
    possible : array of bool
        False for candidates that are proven not to be chosen, whatever labels within the budget
        are wrong.

    Examples
    --------
    >>> from sklearn.linear_model import RidgeCV
    >>> from unswayed import CertifiedRegressor, LabelBias
    >>> X = [[float(x)] for x in range(20)]
    >>> model = CertifiedRegressor(
    ...     RidgeCV([1, 1e5]), bias=LabelBias.shifts(1, budget=1), radius=2
    ... ).fit(X, [2.0 * x for x in range(20)])
    >>> certs = model.certify([[3.0]])
    >>> certs.candidates
    <Candidates: alpha=1 was chosen; 1 of 2 not ruled out: alpha=1>
    >>> certs.candidates.possible.tolist(), certs.candidates.parameters[certs.candidates.chosen]
    ([True, False], {'alpha': 1.0})
    """

    parameters: tuple[Mapping[str, Any], ...]
    chosen: int
    possible: BoolArray

    def __len__(self) -> int:
        return len(self.parameters)

    def __str__(self) -> str:
        names = [_named(each) for each in self.parameters]
        left = [name for name, possible in zip(names, self.possible, strict=True) if possible]
        more = ", …" if len(left) > _SHOWN else ""
        listed = ", ".join(left[:_SHOWN]) + more
        return (
            f"{names[self.chosen]} was chosen; {len(left)} of {len(self)} not ruled out: {listed}"
        )

    def __repr__(self) -> str:
        return f"<Candidates: {self}>"

    def _repr_html_(self) -> str:
        order = np.lexsort((np.arange(len(self)) != self.chosen, ~self.possible))
        at = order[:SHOWN].tolist()
        columns = {
            "candidate": [_named(self.parameters[each]) for each in at],
            "chosen": ["yes" if each == self.chosen else "" for each in at],
            "ruled out": ["" if self.possible[each] else "yes, proven" for each in at],
        }
        many = f"{int(self.possible.sum())} of {len(self)} candidates are not ruled out"
        return table(many, columns, total=len(self), what="candidate")


def _named(parameters: Mapping[str, Any]) -> str:
    """Return the parameters of a candidate in one word for each."""
    return " ".join(
        f"{name}={number_end(value) if isinstance(value, float) else value}"
        for name, value in parameters.items()
    )
