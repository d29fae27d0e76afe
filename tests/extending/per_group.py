"""A budget of somebody else's: at most so many wrong labels in each of several groups."""

from dataclasses import dataclass, field

import numpy as np

from unswayed.labels.budgets import Budget, Part


@dataclass(frozen=True)
class PerGroup(Budget):
    labels: int  # in each group
    group: tuple[int, ...] = field(repr=False)  # of each training row

    def parts(self):
        group = np.array(self.group)
        return [Part(np.flatnonzero(group == each), self.labels) for each in np.unique(group)]

    def __str__(self):
        return f"up to {self.labels} labels of each group are wrong"
