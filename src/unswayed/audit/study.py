"""Study: a file and a question, answered by a fitted model."""

from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.audit.columns import Columns
from unswayed.audit.inspection import Inspection
from unswayed.audit.loading import Gaps
from unswayed.audit.penalty import AlphaChoice
from unswayed.audit.progress import Progress, Silent
from unswayed.audit.request import Budget, Request
from unswayed.audit.rows import Rows
from unswayed.audit.target import Target
from unswayed.certificates import CertificateSet, Verdict, Witness
from unswayed.decisions import Decision, Radius
from unswayed.report.findings import Caveat, quality
from unswayed.words import distinct_texts, labels_of

_CHUNK = 1024  # rows certified between two steps of the progress bar
_MANY = 10**9  # pairs of a test and a training row: exact ranges then take minutes
_EXACT = ("auto", "exact")
_RANGES = ("score", "low", "high", "inner_low", "inner_high")


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """The certified facts about every test row, one array entry per row."""

    score: FloatArray
    low: FloatArray  # infinite, like the other end, where the request wants no ranges
    high: FloatArray
    inner_low: FloatArray
    inner_high: FloatArray
    verdict: Any  # object array of Verdict, at the main budget
    minimum_budget: FloatArray
    minimum_budget_proven: BoolArray  # elsewhere it is proven only that fewer do not suffice


@dataclass(frozen=True, eq=False, kw_only=True)
class Study:
    """A request, the rows it is about, and the model that answers it."""

    request: Request
    target: Target
    columns: Columns
    train: Rows
    test: Rows
    model: Any
    alpha: float | None  # None: one per fold
    movable: BoolArray  # training rows whose label may be wrong
    alpha_choice: AlphaChoice | None = None  # None: alpha was given
    inspection: Inspection | None = None  # of the training file
    gaps: Gaps = field(default_factory=Gaps)
    notes: list[str] = field(default_factory=list)
    caveats: list[Caveat] = field(default_factory=list)  # of the file and its columns
    sizes: dict[Path, int] = field(default_factory=dict)  # rows of each file, all of them
    progress: Progress = field(default_factory=Silent)

    # --- what was asked ------------------------------------------------------------------

    @property
    def n_train(self) -> int:
        """Number of training rows."""
        return len(self.train)

    @property
    def fold(self) -> IntArray | None:
        """The fold of every test row, from 1; None where one model certifies all of them."""
        return None

    def count(self, budget: Budget) -> int:
        """Return a budget as a number of training labels.

        Parameters
        ----------
        budget : Budget

        Returns
        -------
        int
        """
        return budget.count(self.n_train)

    @property
    def n_movable(self) -> int:
        """Number of training labels that may be wrong, where --only and --direction let them."""
        bias = self.model.fitted_.engine.bias
        return int(np.count_nonzero((bias.lower != 0) | (bias.upper != 0)))

    def labels_in_words(self, count: int) -> str:
        """Return a number of labels and, if not all may be wrong, its share of those that may.

        Parameters
        ----------
        count : int

        Returns
        -------
        str
        """
        return labels_of(count, self.n_movable, self.n_train)

    @property
    def feature_columns(self) -> list[str]:
        """Columns of the file that are features, in the file's order."""
        used = {column.name for column in self.columns}
        return [name for name in self.train.table.column_names if name in used]

    def bias_in_words(self) -> str:
        """Describe which labels may be wrong and how.

        Returns
        -------
        str
        """
        request = self.request
        if request.shift is None:
            what = self._flips_in_words()
        else:
            what = request.shift.in_words(request.direction, log=request.log) + self._clip()
        if request.only is None:
            return what
        count = int(self.movable.sum())
        return (
            f"{what}, in the {count:,} training rows where {request.only}; "
            "every other label is taken to be right"
        )

    def _flips_in_words(self) -> str:
        negative, positive = self.target.class_names
        match self.request.direction:
            case "up":
                return f"a label {negative!r} may really be {positive!r}"
            case "down":
                return f"a label {positive!r} may really be {negative!r}"
        return "any label may really be the other class"

    def _clip(self) -> str:
        """Describe the range that labels cannot leave, if there is one."""
        if self.request.clip is None:
            return ""
        low, high = self.request.clip
        if not np.isfinite(high):
            return f", but never below {low:g}"
        if not np.isfinite(low):
            return f", but never above {high:g}"
        return f", but never outside {low:g} to {high:g}"

    def keeps(self) -> str:
        """Describe what robust rows keep.

        Returns
        -------
        str
            A phrase that follows "rows that".
        """
        if self.target.task == "classification":
            return "keep their prediction"
        if self.request.radius is None:
            return "stay within a radius of their prediction"
        if self.request.log:
            return f"stay within a factor of {1 + self.request.radius:.6g} of their prediction"
        return f"stay within {self.request.radius:g} of their prediction"

    # --- what was found ------------------------------------------------------------------

    @cached_property
    def _certified(self) -> tuple[Answers, list[CertificateSet]]:
        """Certify the test rows in chunks.

        Returns the answers, and the certificates themselves if the request wants to keep them.
        """
        slow = self.request.method == "exact" and not self._verdicts_only
        if slow and len(self.test) * self.n_train > _MANY:
            self.notes.append(
                f"exact ranges over {self.n_train:,} training rows take their time; --method auto "
                "gives the same verdicts faster, with ranges that are wider than need be"
            )
        starts, columns, kept = range(0, len(self.test), _CHUNK), [], []
        for start in self.progress.track(starts, "certifying", len(starts)):
            rows = self.test.features[start : start + _CHUNK]
            certificates = self._answer(rows)
            columns.append(self._facts(certificates))
            kept += [certificates] if self.request.keep else []
        return Answers(*map(np.concatenate, zip(*columns, strict=True))), kept

    def _facts(self, certificates: CertificateSet) -> list[Any]:
        """Return the columns of `Answers`; without a radius, ranges only."""
        if self.target.task == "classification" or self.request.radius is not None:
            return [getattr(certificates, each.name) for each in fields(Answers)]
        ranges = [getattr(certificates, name) for name in _RANGES]
        size = len(certificates)
        verdict = np.full(size, Verdict.UNDECIDED, dtype=object)
        return [*ranges, verdict, np.full(size, np.nan), np.zeros(size, dtype=bool)]

    @property
    def answers(self) -> Answers:
        """Certified facts about every test row, at the main budget."""
        return self._certified[0]

    @property
    def certificates(self) -> list[CertificateSet]:
        """Certificates of the test rows in chunks; empty unless the request keeps them."""
        return self._certified[1]

    @property
    def _verdicts_only(self) -> bool:
        """Whether nobody wants to see ranges: minimum budgets then give every verdict."""
        request = self.request
        exact = request.method in _EXACT and self.target.task == "classification"
        return exact and not (request.ranges or request.keep)

    def _answer(self, features: FloatArray) -> Any:
        """Certify rows at the main budget."""
        request = self.request
        if not self._verdicts_only:
            return self._certify(features, request.budget)
        return self.model.certify(
            features, budget=self.count(request.budget), resolve=request.resolve, ranges=False
        )

    def _certify(self, features: FloatArray, budget: Budget) -> Any:
        """Certify rows by the method that was asked for."""
        request = self.request
        # Ranges do not depend on the radius, so that any will do where there is none.
        bare = self.target.task == "regression" and request.radius is None
        return self.model.certify(
            features,
            budget=self.count(budget),
            method=request.method,
            resolve=request.resolve,
            decision=Radius(0.0) if bare else None,
        )

    def certify_rows(
        self, at: IntArray, budget: Budget, decision: Decision | None = None
    ) -> CertificateSet:
        """Certify some test rows exactly.

        Parameters
        ----------
        at : int array
            Positions among the test rows.
        budget : Budget
        decision : Decision, optional
            What must stay the same, if not what was asked.

        Returns
        -------
        CertificateSet
        """
        certs: CertificateSet = self.model.certify(
            self.test.features[at],
            budget=self.count(budget),
            decision=decision,
            resolve=self.request.resolve,
        )
        return certs

    def ranges(self, budget: Budget) -> CertificateSet:
        """Certify the test rows at a budget, for the ranges of their scores.

        Parameters
        ----------
        budget : Budget

        Returns
        -------
        CertificateSet
        """
        certs: CertificateSet = self._certify(self.test.features, budget)
        return certs

    def robust(self, budget: Budget) -> BoolArray:
        """Return which test rows are proven robust at a budget, by the method asked for.

        Parameters
        ----------
        budget : Budget

        Returns
        -------
        (n,) bool array
        """
        if budget == self.request.budget:
            return np.asarray(self.answers.verdict == Verdict.ROBUST, dtype=bool)
        if self.request.method in _EXACT:
            return self.answers.minimum_budget > self.count(budget)
        return np.asarray(self._certify(self.test.features, budget).robust)

    def quality(self) -> float | None:
        """Return the accuracy on the test rows, or R² for regression.

        Returns
        -------
        float or None
            None if the test rows have no labels.
        """
        if self.test.labels is None:
            return None
        score, classes = self.answers.score, bool(self.target.classes)
        predicted = self.request.rule.predict(score) if classes else score
        return quality(predicted, self.test.labels, classes=classes)

    def prediction(self, at: int) -> str:
        """Return the prediction of a test row as a text.

        Parameters
        ----------
        at : int
            Position among the test rows.

        Returns
        -------
        str
        """
        return self.predictions[at]

    @cached_property
    def predictions(self) -> list[str]:
        """Predictions of all test rows as texts."""
        score = self.answers.score
        if not self.target.classes:
            return [self.target.as_text(each) for each in score.tolist()]
        return [self.target.as_text(each) for each in self.request.rule.predict(score).tolist()]

    def decided(self, score: float) -> str:
        """Return the prediction that a score leads to, as a text.

        Parameters
        ----------
        score : float

        Returns
        -------
        str
            A class, or a number in the label's unit.
        """
        if not self.target.classes:
            return self.target.as_text(score)
        return self.target.as_text(float(self.request.rule.predict(np.array([score]))[0]))

    def groups(self, name: str) -> list[str]:
        """Return the group of every test row, by a column.

        Parameters
        ----------
        name : str
            Column of the test file.

        Returns
        -------
        list of str
        """
        return distinct_texts(self.test.table.column(name).to_pylist())

    def witnesses(self, at: IntArray) -> list[Witness | None]:
        """Find the smallest set of label changes that overturns each of some test rows.

        Parameters
        ----------
        at : int array
            Positions among the test rows.

        Returns
        -------
        list of Witness or None
            None where no label changes overturn the row, or rounding hides whether any do.
        """
        if not len(at):
            return []
        certs = self.model.certify(
            self.test.features[at], budget=self.n_train, resolve=self.request.resolve, ranges=False
        )
        tracked = self.progress.track(range(len(at)), "finding witnesses", len(at))
        return [certs.witness(row) for row in tracked]

    def ever_overturned(self, at: int) -> Verdict:
        """Return whether any number of label changes overturns a test row.

        Parameters
        ----------
        at : int
            Position among the test rows.

        Returns
        -------
        Verdict
            UNDECIDED if rounding hides the answer.
        """
        one = self.test.features[at : at + 1]
        certs = self.model.certify(one, budget=self.n_train, resolve=self.request.resolve)
        return Verdict(certs.verdict[0])
