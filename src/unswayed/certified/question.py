"""A question: rows put to a fitted model, equal ones once."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unswayed._core.influence import WeightRows
from unswayed._core.sandwich import Bounds
from unswayed._typing import FloatArray, IntArray
from unswayed.certificates import CertificateSet, Verdict, Witness
from unswayed.certified.certificate_file import write_certificates, write_data
from unswayed.certified.label_code import LabelCode
from unswayed.engines.answer import Answer
from unswayed.engines.exact import ExactEngine
from unswayed.engines.margins import Margins
from unswayed.inputs import frame_like


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """Everything it takes to answer again: the model may be fitted anew in the meantime."""

    engine: ExactEngine
    targets: FloatArray  # training labels as numbers
    code: LabelCode
    weights: WeightRows
    group: IntArray  # the distinct row of each row
    score: FloatArray  # of the distinct rows, like the margins
    margins: Margins
    origin: Any  # the user's rows: a frame of their library is given back
    rule: dict[str, Any]  # what must stay: the task, and its threshold or radius

    @property
    def _known(self) -> Any:
        return np.isfinite(self.score) & self.engine.reliable

    def certificates(
        self,
        answer: Answer,
        budget: int,
        question: str,
        names: tuple[str, ...] | None = None,
    ) -> CertificateSet:
        """Put an answer into the user's terms."""
        group, bounds = self.group, answer.bounds
        verdict = np.where(self._known, answer.verdict, Verdict.UNDECIDED)
        return CertificateSet(
            score=self.score[group],
            low=(self.score - bounds.outer_down)[group],
            high=(self.score + bounds.outer_up)[group],
            inner_low=(self.score - bounds.inner_down)[group],
            inner_high=(self.score + bounds.inner_up)[group],
            verdict=verdict[group],
            budget=budget,
            question=question,
            method_=answer.method[group],
            names=names,
            source=self,
        )

    def exact(self, budget: int) -> Answer:
        """Answer by selection alone."""
        reach = self.engine.reach(self.weights, budget)
        return Answer.exact(Bounds.exact(*reach), self.margins)

    def minimum_budget(self) -> FloatArray:
        """Least number of wrong labels that overturns each row; NaN where nothing is known."""
        least = self.engine.minimum_budget(self.weights, self.margins)
        return np.where(self._known, least, np.nan)[self.group]

    def changes(self, row: int, budget: int) -> tuple[IntArray, FloatArray, float]:
        """Smallest set of label changes that overturns a row: rows, offsets, the score's shift."""
        return self.engine.changes(self.weights, int(self.group[row]), self.margins, budget)

    def witness(self, row: int, budget: int) -> Witness:
        """Smallest set of label changes that overturns a row."""
        rows, added, shift = self.changes(row, budget)
        labels = self.code.decode(self.targets[rows] + added)
        return Witness(rows, labels, float(self.score[self.group[row]] + shift))

    def save(self, certificates: CertificateSet, path: Path, data: Path | None) -> None:
        """Write certificates to a file that anyone can check, and what they are about beside it."""
        write_certificates(certificates, self, path)
        if data is not None:
            write_data(self, data)

    def frame(self, columns: dict[str, Any]) -> Any:
        """Build a frame of the library the rows came in."""
        return frame_like(self.origin, columns)
