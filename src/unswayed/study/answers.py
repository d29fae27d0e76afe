"""Answers: the certified facts about every test row of a study, one array entry per row."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unswayed._typing import BoolArray, FloatArray
from unswayed.margins.decisions import verdicts
from unswayed.results.certificates import CertificateSet, Verdict

if TYPE_CHECKING:
    from unswayed.study.study import Study

_RANGES = ("score", "low", "high", "inner_low", "inner_high")


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """The certified facts about every test row, one array entry per row."""

    score: FloatArray  # of several classes, the lead of the predicted one
    low: FloatArray  # infinite, like the other end, where the request wants no ranges
    high: FloatArray
    inner_low: FloatArray
    inner_high: FloatArray
    verdict: Any  # object array of Verdict, at the main budget
    minimum_budget: FloatArray  # fewer labels are proven not to overturn the row
    enough: FloatArray  # so many do; infinite where none are known to, NaN where nothing is known
    said: FloatArray  # the number that is predicted, or the number of the class
    rival: FloatArray  # the number of the class that the fewest labels make of it; NaN: not known

    @property
    def minimum_budget_proven(self) -> BoolArray:
        """Where the minimum budget is proven to be exactly that."""
        return np.asarray(self.minimum_budget == self.enough)


def columns_of_answers(study: "Study", certificates: CertificateSet, *, least: bool) -> list[Any]:
    """Return the columns of `Answers`; without a radius, ranges only."""
    ranges = [getattr(certificates, name) for name in _RANGES]
    unknown, said = np.full(len(certificates), np.nan), study.said(certificates)
    if study.ranges_only:
        verdict = np.full(len(certificates), Verdict.UNDECIDED, dtype=object)
        return [*ranges, verdict, unknown, unknown, said, unknown]
    if not least and "choice" in study.request.kind.can:  # verdicts say some of it
        verdict, labels = certificates.verdict, study.count(study.request.budget)
        low = np.where(verdict == Verdict.ROBUST, labels + 1.0, 1.0)
        high = np.where(verdict == Verdict.NOT_ROBUST, labels, np.inf)
        return [*ranges, verdict, low, high, said, unknown]
    if not least:
        return [*ranges, certificates.verdict, unknown, unknown, said, unknown]
    found, rival = certificates.minimum_budgets, unknown
    if study.target.several:
        rival = np.array(certificates.source.rivals(), dtype=np.float64)  # None becomes NaN
    return [*ranges, certificates.verdict, found.low, found.high, said, rival]


def by_budgets(low: FloatArray, high: FloatArray, labels: float) -> NDArray[np.object_]:
    """Return the verdicts at so many labels that bounds on minimum budgets tell."""
    broken = high <= labels
    return verdicts(broken, ~broken & ~(low > labels))


def class_texts(study: "Study", numbers: Sequence[float]) -> list[str | None]:
    """Return classes as texts, given their numbers; None where there is none."""
    return [None if np.isnan(each) else study.target.as_text(each) for each in numbers]
