"""What a fit on rows in pieces leaves behind, and the questions that it answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias, cast

import numpy as np

from unswayed._typing import IntArray
from unswayed.engines.passes import MergedEngine, StreamedEngine
from unswayed.engines.protocol import Certifier
from unswayed.estimators.fitted import Fitted
from unswayed.estimators.question import Question
from unswayed.estimators.standard_errors import PIECES
from unswayed.exceptions import InputError
from unswayed.labels.budgets import Budget
from unswayed.margins.verdicts import Answer
from unswayed.models.ridge.summed import SummedRidge
from unswayed.pieces.passes import Passes
from unswayed.results.certificates import CertificateSet, Witness
from unswayed.results.groups import StandardErrors
from unswayed.tables.encoding import Encoding

_FEW = 16  # rows

Unseen: TypeAlias = Literal["raise", "zeros"]
"""What becomes of categories in test rows that no training row has."""


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedInPieces(Fitted):
    """A fit on rows in pieces."""

    _way_out = ""  # rational arithmetic needs all rows

    encoding: Encoding  # From rows to features
    unseen: Unseen
    starts: IntArray  # Number of rows before each piece
    passes: Passes

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return self.encoding.names

    @property
    def largest_label(self) -> float:
        """Largest absolute label."""
        learner = self.model.learner
        assert isinstance(learner, SummedRidge)  # noqa: S101  (no other)
        return learner.sums.largest

    def features(self, X: Any) -> Any:
        """Return the features of test rows."""
        return self.encoding.features(X, unseen=self.unseen)

    def need_rows(self, what: str) -> None:
        """Raise: the training rows are never together."""
        raise InputError(
            f"{what} looks at single labels and at what they do to many rows at once, and the "
            "training rows are in pieces; fit on rows that are in memory, a sample of them, say"
        )

    def question(self, **asked: Any) -> "QuestionInPieces":
        """Put a question."""
        if asked["resolve"]:
            raise InputError(
                "resolve='exact' is not possible for rows in pieces: rational arithmetic needs all "
                "of them; leave it out, or fit on rows that are in memory"
            )
        return QuestionInPieces(**asked, fitted=self)


@dataclass(frozen=True, eq=False, kw_only=True)
class QuestionInPieces(Question):
    """Rows put to a model whose training rows are in pieces."""

    in_memory: ClassVar[bool] = False
    fitted: FittedInPieces

    @property
    def _streams(self) -> bool:
        """Whether answers take passes; where few training rows are different, they do not."""
        return type(self.engine) is not MergedEngine

    def by_least(self, budget: Budget) -> Answer:
        """Return verdicts alone; passes are made until they are known, and not longer."""
        if not self._streams:
            return super().by_least(budget)
        engine = cast(StreamedEngine, self.engine)
        # Of few rows all there is to know takes no longer, and a witness will ask for it.
        known = "_least" in self.__dict__ or len(self.weights) <= _FEW
        found = self._least if known else engine.minimum_budget(self.weights, self.margins, budget)
        return self._decided(found, budget.amount, np.zeros(len(self.weights), dtype=bool))

    def _whatever_the_batch(self, answer: Answer, certifier: Certifier, budget: Budget) -> Answer:
        """Return the answer as it is: to ask about each close call by itself takes a pass."""
        if self._streams:
            return answer
        return super()._whatever_the_batch(answer, certifier, budget)

    def standard_errors(self) -> StandardErrors:
        """Return that there are none."""
        return StandardErrors.missing(len(self.group), PIECES)

    def witness(self, row: int, amount: float) -> Witness:
        """Return the smallest set of label changes, `amount` at most, that overturns a row."""
        at, engine = int(self.group[row]), cast(MergedEngine, self.engine)
        budget = engine.bias.budget.sized(amount)
        needed = float(self._least.high[at]) if "_least" in self.__dict__ else None
        found = engine.strongest(self.weights, at, self.margins, budget, needed)
        if found is None:
            raise InputError(
                f"rounding hides which labels overturn row {row}, and rational arithmetic, which "
                "would tell, needs all training rows in memory"
            )
        labels, shift = found
        pieces = self.fitted.passes.pieces
        order = np.lexsort((labels.number, labels.piece))
        piece, number = labels.piece[order], labels.number[order]
        changed = labels.target[order] + labels.offset[order]
        return Witness(
            self.fitted.starts[piece] + number,
            self.code.decode(changed),
            float(self.scores.value[at] + shift),
            tuple(
                pieces[at].place(row)
                for at, row in zip(piece.tolist(), number.tolist(), strict=True)
            ),
        )

    def save(self, certificates: CertificateSet, path: Path, data: Path | None) -> None:
        """Refuse: a certificate file is checked with all training rows."""
        raise InputError(
            "a certificate file is about training rows that fit into memory, and these are in "
            "pieces; certify.to_frame() has the verdicts"
        )

    def report(
        self,
        certificates: CertificateSet,
        path: Path,
        table: Any,
        groups: Sequence[str],
        y_true: Any,
    ) -> None:
        """Refuse: the page shows training rows."""
        raise InputError(
            "the page shows labels of training rows, and these are in pieces; unswayed certify "
            "writes a page about folders of files, and to_frame() has the verdicts"
        )
