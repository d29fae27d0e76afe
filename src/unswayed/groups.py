"""Groups of rows: the share of each that is robust, and the gap between them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.doubles import as_values, is_missing, refuse_masked
from unswayed.exceptions import InputError


@dataclass(frozen=True, slots=True, eq=False)
class GroupRates:
    """Robustness rates of groups of test rows, and the gap between the best and the worst.

    Examples
    --------
    >>> rates = GroupRates(("Black", "White"), np.array([0.4, 0.5]), np.array([10, 20]))
    >>> round(rates.gap, 3)
    0.1
    >>> print(rates)
    Black   40.0 %  (10 rows)
    White   50.0 %  (20 rows)
    gap     10.0 points
    """

    groups: tuple[Any, ...]
    rate: FloatArray
    count: IntArray

    @property
    def gap(self) -> float:
        """Largest rate minus smallest."""
        return float(self.rate.max() - self.rate.min())

    def __getitem__(self, group: Any) -> float:
        return float(self.rate[self.groups.index(group)])

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values, for JSON or a frame of any library.

        Returns
        -------
        dict of str to list
            Columns "group", "rate" and "count".
        """
        return {
            "group": list(self.groups),
            "rate": self.rate.tolist(),
            "count": self.count.tolist(),
        }

    def __str__(self) -> str:
        width = max(len("gap"), *(len(str(group)) for group in self.groups)) + 2
        lines = [
            f"{group!s:<{width}} {100 * rate:.1f} %  ({count} rows)"
            for group, rate, count in zip(self.groups, self.rate, self.count, strict=True)
        ]
        return "\n".join([*lines, f"{'gap':<{width}} {100 * self.gap:.1f} points"])


def group_rates(robust: BoolArray, groups: ArrayLike) -> GroupRates:
    """Return rate and count per group, in sorted order of the groups.

    Parameters
    ----------
    robust : (n,) array of bool
    groups : array-like of shape (n,)
        Missing values form a group of their own.

    Returns
    -------
    GroupRates
    """
    refuse_masked(groups, "groups")
    values = as_values(groups)
    if values.shape != (len(robust),):
        raise InputError(
            f"groups has shape {values.shape} but there are {len(robust)} certificates; "
            "pass one group per certified row"
        )
    labels = ["missing" if is_missing(v) else v for v in values.tolist()]
    try:
        names = sorted(set(labels))
    except TypeError:  # mixed types have no order of their own
        names = sorted(set(labels), key=str)
    position = {name: at for at, name in enumerate(names)}
    which = np.array([position[label] for label in labels])
    count = np.bincount(which, minlength=len(names))
    kept = np.bincount(which, weights=robust, minlength=len(names))
    return GroupRates(tuple(names), kept / count, count)
