"""Labels: which of them may be wrong, by how much, and how many at once.

`bias`     LabelBias, the offsets it comes to, checked labels, and functionals of the labels
`classes`  labels that are classes: what each may really be
`offsets`  how far labels may be off
`budgets`  how much may be wrong at once: parts, and how many labels of each
`groups`   sums of biases with a limit each, and clusters that are wrong as a whole
`amounts`  a budget on the total of all changes
`costs`    a budget on what wrong labels cost, each at its own price
`samples`  a budget from a checked sample
"""

from unswayed.labels.bias import LabelBias
from unswayed.labels.budgets import Budget, Count

__all__ = ["Budget", "Count", "LabelBias"]
