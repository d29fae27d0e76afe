"""Labels: which of them may be wrong, by how much, and how many at once.

`bias`     LabelBias, the offsets it comes to, checked labels, and functionals of the labels
`budgets`  how much may be wrong at once: parts, and how many labels of each
"""

from unswayed.labels.bias import LabelBias
from unswayed.labels.budgets import Budget, Count

__all__ = ["Budget", "Count", "LabelBias"]
