"""How labels are written: the user's classes, and the numbers that stand for them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unswayed._typing import FloatArray
from unswayed.margins.decisions import Threshold


@dataclass(frozen=True, slots=True, eq=False)
class LabelCode:
    """How labels are coded as numbers, and how to turn such numbers into labels again."""

    classes: NDArray[Any] | None = None  # (negative, positive), as the user writes them
    positive: float = 1.0  # the number that stands for the positive class
    shifted: bool = False  # labels are numbers, however many of them happen to land on a class

    def decode(self, targets: FloatArray) -> NDArray[Any]:
        """Return labels as the user writes them; numbers of no class stay as they are."""
        if self.classes is None or self.shifted:
            return targets
        return np.asarray(self.classes[(targets == self.positive).astype(np.intp)])


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """Training labels as a model reads them."""

    targets: FloatArray  # Labels as numbers, which scores are linear in
    to_fit: NDArray[Any]  # What the wrapped estimator is trained on
    code: LabelCode
    flip_between: tuple[float, float] | None = None  # The numbers that stand for two classes
    decision: Threshold | None = None  # Which class a score stands for, where labels are classes
