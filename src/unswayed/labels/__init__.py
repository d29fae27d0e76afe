"""Labels: which of them may be wrong, by how much, and how many at once.

`bias`         LabelBias, the offsets it comes to, and labels that were checked
`budgets`      how much may be wrong at once: parts, and how many labels of each
`functionals`  numbers that depend on the labels; their type chooses the engine
"""

from unswayed.labels.bias import LabelBias
from unswayed.labels.budgets import Budget, Count

__all__ = ["Budget", "Count", "LabelBias"]
