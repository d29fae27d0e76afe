"""Decisions: which prediction is made of a score, and how far the score may move until it changes.

A prediction is overturned when the score can rise by *more* than a margin `up` or fall by *more*
than `down`. Where touching already counts (a score that falls onto the threshold is no longer
above it), the margin is the double just below, which makes "more than" mean "at least".

A decision gives margins in doubles with the error they carry, limits in rational numbers, the
prediction, a description in words, and what certificate files write.
"""

import math
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from fractions import Fraction
from numbers import Real
from reprlib import repr as shown
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unswayed._core.dyadic import nearest
from unswayed._core.rounding import Bounds, narrower, subtraction_error, wider
from unswayed._typing import BoolArray, FloatArray, IntArray
from unswayed.exceptions import InputError
from unswayed.labels.bias import Functional
from unswayed.models.learner import Scores
from unswayed.results.candidates import Candidates
from unswayed.results.certificates import Verdict
from unswayed.words import written


@dataclass(frozen=True, slots=True, eq=False)
class Margins:
    """How far scores may move, one entry per row; infinity in a direction that changes nothing.

    The true margins are within `slack` of these; it is infinite where not even the prediction
    itself is known.
    """

    up: FloatArray
    down: FloatArray
    slack: FloatArray

    def __getitem__(self, rows: IntArray | slice) -> "Margins":
        return Margins(self.up[rows], self.down[rows], self.slack[rows])


@dataclass(frozen=True, slots=True)
class ExactLimits:
    """How far one score may move, exactly; None in a direction that changes nothing.

    `touching`: reaching a limit overturns; otherwise only going beyond it does.
    """

    up: Fraction | None
    down: Fraction | None
    touching: bool

    @property
    def _limits(self) -> dict[int, Fraction]:
        limits = {+1: self.up, -1: self.down}
        return {sign: limit for sign, limit in limits.items() if limit is not None}

    def goals(self, unit: Fraction) -> dict[int, int]:
        """Return the least whole number of units that overturns, by direction (+1 up, -1 down)."""
        return {
            sign: math.ceil(limit / unit) if self.touching else math.floor(limit / unit) + 1
            for sign, limit in self._limits.items()
        }

    def ends(self, unit: Fraction) -> dict[int, tuple[Fraction, bool]]:
        """Return the limits in some unit, and whether reaching them overturns, by direction."""
        return {sign: (limit / unit, self.touching) for sign, limit in self._limits.items()}

    def crossed(self, sign: int, moved: Fraction) -> bool:
        """Return whether a score that moves so far in a direction is overturned."""
        limit = self._limits.get(sign)
        return limit is not None and (moved >= limit if self.touching else moved > limit)


class Decision(ABC):
    """What must stay the same of a score. Subclass it for a decision of your own."""

    task: ClassVar[str | None] = None  # what a certificate file calls the kind of prediction

    @property
    def classes(self) -> NDArray[Any] | None:
        """The two classes, where classes are predicted."""
        return None

    @property
    def threshold(self) -> float | str | None:
        """Where one class ends and the other begins; "balanced" is the mean of the labels."""
        return None

    @property
    def radius(self) -> float | None:
        """How far a number may move and still count as the same."""
        return None

    @abstractmethod
    def margins(self, scores: Scores) -> Margins:
        """Return how far each score may move, rounding accounted for."""

    @abstractmethod
    def limits(self, score: Fraction) -> ExactLimits:
        """Return how far a score may move, exactly."""

    @abstractmethod
    def predict(self, score: FloatArray) -> NDArray[Any]:
        """Return the prediction made of each score."""

    @abstractmethod
    def predict_exactly(self, score: Fraction) -> Any:
        """Return the prediction made of an exact score, which may lie between two doubles."""

    def scored(self, raw: FloatArray) -> FloatArray:
        """Return the score of each row that decides, given what an estimator says."""
        return raw

    def away(self, score: FloatArray) -> FloatArray:
        """Return how far scores are from where the prediction changes, if it changes anywhere."""
        return np.abs(score)

    def positive(self, score: FloatArray) -> BoolArray:
        """Return which scores are on the upper side: of two classes, the second one."""
        return np.asarray(score > 0.0)

    @abstractmethod
    def __str__(self) -> str:
        """Say what stays the same, to be followed by "if ..."."""

    def claim(self, score: Fraction) -> int | None:
        """Return the prediction as a certificate file states it."""
        return None

    def document(self) -> dict[str, Any]:
        """Return the question as a certificate file writes it; by default raise `InputError`."""
        raise InputError(
            f"there is no way to write the decision {type(self).__name__} to a certificate file; "
            "files take thresholds, radii and signs"
        )


def _set_double(decision: Any, what: str, least: float, meaning: str) -> None:
    """Turn the value of a decision into a double; raise if it is not one, or below `least`."""
    given = decision.value
    number = isinstance(given, Real) and not isinstance(given, bool | np.bool_)
    if not (number and -math.inf < given < math.inf and given >= least):
        wanted = "a finite number" + (" and not negative" if least == 0 else "")
        raise InputError(f"{what} must be {wanted}, got {given!r}; it is {meaning}")
    try:
        value = float(given)
    except OverflowError:
        value = math.inf if given > 0 else -math.inf
    if value != given:
        nearest_one = math.copysign(min(abs(value), sys.float_info.max), value)
        raise InputError(
            f"no double is the {what} {shown(given)}, and a proof for the nearest one would be "
            f"about another question; pass a float, such as {nearest_one!r}"
        )
    object.__setattr__(decision, "value", value)


def touched(distance: FloatArray) -> FloatArray:
    """Return margins that are crossed by what moves just so far."""
    return np.nextafter(distance, -np.inf)


def hidden_slack(distance: FloatArray, error: FloatArray) -> FloatArray:
    """The error, or infinity where it leaves open on which side of 0 the distance is."""
    hidden = (error > 0) & ~(np.abs(distance) > error)
    return np.where(hidden, np.inf, error)


@dataclass(frozen=True, slots=True)
class Threshold(Decision):
    """Classification: the second class if ``score > value``, else the first."""

    task: ClassVar[str | None] = "classification"
    value: float
    classes: NDArray[Any] = field(default_factory=lambda: np.array([0, 1]), compare=False)

    def __post_init__(self) -> None:
        _set_double(self, "threshold", -math.inf, "where one class ends and the other begins")
        object.__setattr__(self, "classes", np.asarray(self.classes))

    @property
    def threshold(self) -> float | str:
        """Where one class ends and the other begins."""
        return self.value

    @classmethod
    def between(cls, first: float, second: float, classes: ArrayLike = (0, 1)) -> "Threshold":
        """Return the threshold half-way between the numbers that two classes were trained on."""
        return cls((first + second) / 2, np.asarray(classes))

    def margins(self, scores: Scores) -> Margins:
        """Return the distance to the threshold; from above, touching it counts."""
        score = scores.value
        error = wider(scores.error, subtraction_error(score, self.value))
        positive = score > self.value
        return Margins(
            up=np.where(positive, np.inf, self.value - score),
            down=np.where(positive, touched(score - self.value), np.inf),
            slack=hidden_slack(score - self.value, error),
        )

    def limits(self, score: Fraction) -> ExactLimits:
        """Return how far a score may move, exactly."""
        distance = score - Fraction(self.value)
        if distance > 0:
            return ExactLimits(None, distance, touching=True)
        return ExactLimits(-distance, None, touching=False)

    def away(self, score: FloatArray) -> FloatArray:
        """Return how far scores are from the threshold."""
        return np.abs(score - self.value)

    def positive(self, score: FloatArray) -> BoolArray:
        """Return which scores stand for the second class."""
        return np.asarray(score > self.value)

    def predict(self, score: FloatArray) -> NDArray[Any]:
        """Return the class of each score."""
        return np.asarray(self.classes[self.positive(score).astype(np.intp)])

    def predict_exactly(self, score: Fraction) -> Any:
        """Return the class of an exact score."""
        return self.classes[self.claim(score)]

    def claim(self, score: Fraction) -> int:
        """Return 1 for the second class, 0 for the first."""
        return int(score > Fraction(self.value))

    def document(self) -> dict[str, Any]:
        """Return the question as a certificate file writes it."""
        return {"task": self.task, "threshold": self.threshold}

    def __str__(self) -> str:
        return "same class"


@dataclass(frozen=True, slots=True)
class AboveMean(Threshold):
    """Classification at the mean of the labels, which scores are measured from (`Balanced`).

    The value is 0: the threshold of scores that are measured so.
    """

    @property
    def threshold(self) -> str:
        """The mean of the labels."""
        return "balanced"


@dataclass(frozen=True, slots=True)
class Argmax(Decision):
    """Classification among several classes: the highest of their scores, of equal ones the first.

    What counts is a row's *lead*: the score of its class less that of the strongest rival. There is
    a margin for every rival (`engines/classes`).
    """

    task: ClassVar[str | None] = "classes"
    names: NDArray[Any] = field(compare=False)

    @property
    def classes(self) -> NDArray[Any]:
        """The classes."""
        return self.names

    def margins(self, scores: Scores) -> Margins:
        """Return how far leads may fall; touching 0 may or may not count."""
        never = np.full(len(scores.value), np.inf)
        return Margins(never, scores.value.copy(), hidden_slack(scores.value, scores.error))

    def limits(self, score: Fraction) -> ExactLimits:
        """Return how far a lead may fall, exactly."""
        return ExactLimits(None, score, touching=False)

    def scored(self, raw: FloatArray) -> FloatArray:
        """Return the lead of each row, given the scores of all classes."""
        ranked = np.sort(raw, axis=1)
        return np.asarray(ranked[:, -1] - ranked[:, -2])

    def predict(self, score: FloatArray) -> NDArray[Any]:
        """Return the class of each row, given the scores of all classes."""
        return np.asarray(self.names[np.argmax(score, axis=1)])

    def predict_exactly(self, score: Fraction) -> Any:
        """Raise: a lead does not say whose it is."""
        raise InputError("the class of a row does not follow from its lead")

    def __str__(self) -> str:
        return "same class"


@dataclass(frozen=True, slots=True)
class Radius(Decision):
    """Regression: the prediction may move by `value` either way, inclusively."""

    task: ClassVar[str | None] = "regression"
    value: float

    def __post_init__(self) -> None:
        meaning = "how far a prediction may move and still count as the same"
        _set_double(self, "radius", 0.0, meaning)

    @property
    def radius(self) -> float:
        """How far a prediction may move."""
        return self.value

    def margins(self, scores: Scores) -> Margins:
        """Return the radius for every score, without any error."""
        every = np.full(len(scores.value), self.value)
        return Margins(every, every, np.zeros(len(every)))

    def limits(self, score: Fraction) -> ExactLimits:
        """Return how far a score may move, exactly."""
        return ExactLimits(Fraction(self.value), Fraction(self.value), touching=False)

    def predict(self, score: FloatArray) -> FloatArray:
        """Return the scores themselves."""
        return score.copy()

    def predict_exactly(self, score: Fraction) -> float:
        """Return the nearest double."""
        return nearest(score)

    def document(self) -> dict[str, Any]:
        """Return the question as a certificate file writes it."""
        return {"task": self.task, "radius": self.value}

    def __str__(self) -> str:
        return f"within {written(self.value)}"


@dataclass(frozen=True, slots=True)
class MeanRadius(Decision):
    """Counts: the expected count, exp(score), may move by `value` either way, inclusively."""

    task: ClassVar[str | None] = "counts"
    value: float

    def __post_init__(self) -> None:
        meaning = "how far an expected count may move and still count as the same"
        _set_double(self, "radius", 0.0, meaning)

    @property
    def radius(self) -> float:
        """How far an expected count may move."""
        return self.value

    def margins(self, scores: Scores) -> Margins:
        """Return how far logarithms may move; errors are bounded by those of both ends."""
        up, down = self._moves(scores.value)
        with np.errstate(invalid="ignore", over="ignore"):
            lost = scores.error * (1.0 + 1e-6)
            slack = 2.0**-40 * (np.abs(scores.value) + 1.0)
            for end in (scores.value - lost, scores.value + lost):
                for here, there in zip((up, down), self._moves(end), strict=True):
                    away = np.abs(here - there)
                    slack = np.maximum(slack, np.where(np.isinf(here) & np.isinf(there), 0.0, away))
            slack = np.where(np.isfinite(slack), 2.0 * slack, np.inf)
        return Margins(up, down, slack)

    def _moves(self, score: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return by how much a logarithm may rise and fall, as computed."""
        with np.errstate(all="ignore"):
            share = self.value * np.exp(-score)
            return np.log1p(share), np.where(share < 1.0, -np.log1p(-share), np.inf)

    def limits(self, score: Fraction) -> ExactLimits:
        """Raise: logarithms are no rational numbers."""
        raise InputError("a radius of expected counts has no form in rational arithmetic")

    def predict(self, score: FloatArray) -> FloatArray:
        """Return expected counts."""
        with np.errstate(over="ignore"):
            return np.exp(score)

    def predict_exactly(self, score: Fraction) -> float:
        """Return the expected count."""
        return math.exp(score)

    def document(self) -> dict[str, Any]:
        """Return the question as a certificate file writes it."""
        return {"task": self.task, "radius": self.value}

    def __str__(self) -> str:
        return f"expected count within {written(self.value)}"


@dataclass(frozen=True, slots=True)
class Sign(Decision):
    """Coefficients: the sign must stay; a zero must not move."""

    task: ClassVar[str | None] = "coefficients"

    def margins(self, scores: Scores) -> Margins:
        """Return the distance to 0, where touching counts; 0 itself may not move at all."""
        value = scores.value
        away = touched(np.abs(value))
        return Margins(
            up=np.where(value < 0, away, np.where(value > 0, np.inf, 0.0)),
            down=np.where(value > 0, away, np.where(value < 0, np.inf, 0.0)),
            slack=hidden_slack(value, scores.error),
        )

    def limits(self, score: Fraction) -> ExactLimits:
        """Return how far a coefficient may move, exactly."""
        if score == 0:
            return ExactLimits(Fraction(0), Fraction(0), touching=False)
        if score > 0:
            return ExactLimits(None, score, touching=True)
        return ExactLimits(-score, None, touching=True)

    def predict(self, score: FloatArray) -> FloatArray:
        """Return -1, 0 or 1."""
        return np.sign(score)

    def predict_exactly(self, score: Fraction) -> float:
        """Return -1, 0 or 1."""
        return float(self.claim(score))

    def claim(self, score: Fraction) -> int:
        """Return -1, 0 or 1."""
        return (score > 0) - (score < 0)

    def document(self) -> dict[str, Any]:
        """Return the question as a certificate file writes it."""
        return {"task": self.task}

    def __str__(self) -> str:
        return "same sign"


# --- Verdicts: what follows from bounds and margins, in one place --------------------------


EXACT, CUTTING_PLANE, ANCHOR, BOX = "exact", "cutting-plane", "anchor", "box"
AUTO, RATIONAL = "auto", "rational"


def judge(bounds: Bounds, margins: Margins) -> tuple[BoolArray, BoolArray]:
    """Return which rows are proven robust, and which are proven not to be."""
    known = np.isfinite(margins.slack)

    def within(outer: FloatArray, margin: FloatArray) -> BoolArray:
        return np.asarray(np.isposinf(margin) | (wider(outer, margins.slack) <= margin))

    def beyond(inner: FloatArray, margin: FloatArray) -> BoolArray:
        return np.asarray(narrower(inner, margins.slack) > margin)

    robust = within(bounds.outer_up, margins.up) & within(bounds.outer_down, margins.down)
    broken = beyond(bounds.inner_up, margins.up) | beyond(bounds.inner_down, margins.down)
    return (known & robust) | bounds.within, (known & broken) | bounds.beyond


def close_calls(bounds: Bounds, margins: Margins) -> BoolArray:
    """Return which verdicts other rounding of the same rows could change.

    The last bits of a product depend on the rows it is computed beside. Elsewhere bounds and
    margins would be within their errors of the true ones too, and so within twice these of the
    ones here: a verdict that holds by four times the errors holds there as well.
    """
    with np.errstate(invalid="ignore"):
        room = 4 * (bounds.error + margins.slack)
        hidden = ~np.isfinite(margins.slack)  # on which side of its threshold a score is
        # What sharper bounds than these decided, they have looked at themselves.
        here = ~(bounds.within | bounds.beyond)
        close = bounds.close | hidden
        for margin, outer, inner in (
            (margins.up, bounds.outer_up, bounds.inner_up),
            (margins.down, bounds.outer_down, bounds.inner_down),
        ):
            near = (np.abs(margin - outer) <= room) | (np.abs(margin - inner) <= room)
            near |= (margins.slack > 0) & (margin <= 4 * margins.slack)
            close |= near & here & np.isfinite(margin) & (room > 0)
    return np.asarray(close & np.isfinite(bounds.error))


_VERDICTS = np.array([Verdict.NOT_ROBUST, Verdict.ROBUST, Verdict.UNDECIDED], dtype=object)


def verdicts(broken: BoolArray, undecided: BoolArray | None = None) -> NDArray[np.object_]:
    """Return verdicts made of flags."""
    code = np.where(broken, 0, 1)
    if undecided is not None:
        code = np.where(undecided, 2, code)
    return np.asarray(_VERDICTS[code])


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """Bounds, verdicts and methods of a set of rows."""

    bounds: Bounds
    verdict: NDArray[np.object_]
    method: NDArray[np.str_]
    candidates: Candidates | None = None  # where the labels choose the model

    @classmethod
    def of(cls, bounds: Bounds, margins: Margins) -> "Answer":
        """Return the verdicts that follow from bounds; UNDECIDED where they leave it open."""
        robust, broken = judge(bounds, margins)
        without_anchors = replace(bounds, outer_up=bounds.base_up, outer_down=bounds.base_down)
        boxed, _ = judge(without_anchors, margins)
        method = np.where(broken, CUTTING_PLANE, np.where(robust & ~boxed, ANCHOR, BOX))
        method = np.where(bounds.tight, EXACT, method)
        method = np.where(bounds.within | bounds.beyond, AUTO, method)
        return cls(bounds, verdicts(broken, ~robust & ~broken), method.astype("<U13"))

    def put(self, rows: IntArray, other: "Answer") -> None:
        """Overwrite some rows with a better answer."""
        self.bounds.put(rows, other.bounds)
        self.verdict[rows] = other.verdict
        self.method[rows] = other.method


# --- Margin: numbers that must not rise too far; a row has one or more, and is robust if all hold


@dataclass(frozen=True, slots=True, eq=False)
class Margin:
    """How far numbers may rise; several of them may belong to one row."""

    functional: Functional  # m numbers that depend on the labels
    distance: FloatArray | None = None  # how far each may rise; None: until it is 0
    touching: bool = False  # rising by just that much counts as crossing
    rows: IntArray | None = None  # the row that each belongs to; None: number i is row i's


@dataclass(frozen=True, slots=True, eq=False)
class Rise(Decision):
    """What a `Margin` says, as a decision about scores: they may rise so far, and fall at will."""

    distance: FloatArray | None
    touching: bool

    def margins(self, scores: Scores) -> Margins:
        """Return how far each number may rise, rounding accounted for."""
        never = np.full(len(scores.value), np.inf)
        if self.distance is None:
            up, slack = -scores.value, hidden_slack(scores.value, scores.error)
        else:
            up, slack = np.array(self.distance, dtype=np.float64), np.zeros(len(never))
        return Margins(touched(up) if self.touching else up, never, slack)

    def limits(self, score: Fraction) -> ExactLimits:
        """Return how far a number may rise until it is 0, exactly."""
        if self.distance is not None:
            raise InputError("distances of several margins are compared in doubles only")
        return ExactLimits(-score, None, touching=self.touching)

    def predict(self, score: FloatArray) -> NDArray[Any]:
        """Return the numbers themselves."""
        return score.copy()

    def predict_exactly(self, score: Fraction) -> float:
        """Return the nearest double."""
        return float(score)

    def __str__(self) -> str:
        return "same outcome"
