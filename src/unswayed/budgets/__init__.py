"""Budgets: how much may be wrong at once, and what that can do to a score.

A bias says by how much each label may be off, its budget how much of that may happen at once.
A budget tells how far it can move a score (`reach`), by which labels (`argmax`, `choose`), and
what is the least of its kind that crosses a margin (`least`): in doubles, over the entries of
influence rows, and exactly, over whole numbers.

`Count` is the budget of the paper: at most k labels. A new kind is a subclass of `Budget`, in a
file of its own; a bias takes it in place of a number.
"""

from unswayed.budgets.base import Amount, Budget, Members, Move
from unswayed.budgets.count import Count, as_written, count_budget, least_share

__all__ = [
    "Amount",
    "Budget",
    "Count",
    "Members",
    "Move",
    "as_written",
    "count_budget",
    "least_share",
]
