"""Averages of models that are linear in their labels: bags, votes of regressors, scaled labels.

z(x) is the average of the members' z(x), each of them placed where the member's rows are among the
training rows. Labels that a scaler has moved to mean 0 and back add (1 - Σz)/n to each influence;
by how much it divides them plays no part, because what is linear multiplies it back.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import BaggingClassifier, BaggingRegressor, VotingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor, RadiusNeighborsRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import has_fit_parameter

from unswayed._core.influence import Weights
from unswayed._core.rounding import (
    PRODUCT_UNDERFLOW,
    SAFETY,
    SIZE_UNDERFLOW,
    UNIT,
    gamma,
    norm,
)
from unswayed._typing import FloatArray, IntArray, Matrix
from unswayed.exceptions import InputError, LabelPeekError, NotLinearError
from unswayed.inputs import dense
from unswayed.models.family import Family, check_certifiable, family_of, register
from unswayed.models.learner import (
    ErrorScale,
    ExactInfluence,
    InfluenceRow,
    LinearInLabels,
    LinearLearner,
    Scores,
    SmootherSpecification,
    Solution,
)
from unswayed.models.neighbours import vote_scores
from unswayed.models.ridge.verified import row_norms


@dataclass(frozen=True, eq=False)
class Member:
    """A model that takes part in an average: how much, on which rows and which columns."""

    share: Fraction
    learner: LinearInLabels
    rows: IntArray | None = None  # training rows it was fitted on, some of them several times
    columns: IntArray | None = None

    @property
    def width(self) -> int:
        """How many numbers the member sees of a row: features, or one for each of its rows."""
        learner = self.learner
        if isinstance(learner, Average):
            return learner.width
        return learner.n_features if isinstance(learner, LinearLearner) else learner.n_rows

    def represent(self, rows: Matrix) -> FloatArray:
        """Return feature rows as the member sees them."""
        own = rows if self.columns is None else rows[:, self.columns]
        return dense(self.learner.represent(own))

    def influence(self, represented: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return influence on the member's scores, and bounds on the norm of its error."""
        learner, scale = self.learner, self.learner.error_scale
        values, error, size = learner.weights(represented)
        if learner.design is not None:
            values = dense(values @ learner.design.T)
            values = values if learner.row_scale is None else values * learner.row_scale
        spread = math.sqrt(float(scale.weight.max(initial=0.0)))
        return np.asarray(values), SAFETY * (error * spread + size * norm(scale.entry))

    def place(self, n_rows: int) -> tuple[Matrix | None, int]:
        """Return the matrix that puts influence where the rows are, and how many meet there."""
        if self.rows is None:
            return None, 1
        n_own = len(self.rows)
        start = np.arange(n_own + 1)
        found = sparse.csr_array((np.ones(n_own), self.rows, start), shape=(n_own, n_rows))
        return found, int(np.bincount(self.rows, minlength=1).max())


def _apart(represented: FloatArray, members: Sequence[Member]) -> list[FloatArray]:
    """Return what each member sees of rows that are represented side by side."""
    ends = np.cumsum([member.width for member in members])
    return np.split(represented, ends[:-1], axis=1)


class Average(LinearInLabels):
    """The learner of an average of others; influence is dense.

    Rows are represented side by side as its members see them: kernels and distances are computed
    once, so that scores, influence and exact arithmetic start from the same doubles.
    """

    def __init__(self, n_rows: int, members: Sequence[Member], *, centred: bool = False) -> None:
        self.n_rows, self._members, self._centred = n_rows, members, centred
        self._places = [member.place(n_rows) for member in members]
        self.specification = AverageSpecification(members, centred=centred)
        self.error_scale = ErrorScale.unknown(n_rows)
        if all(member.learner.error_scale.proven for member in members):
            entry = np.full(n_rows, SIZE_UNDERFLOW)
            self.error_scale = ErrorScale(np.ones(n_rows), entry, UNIT, 1.0)

    @property
    def width(self) -> int:
        """How many numbers represent a row."""
        return sum(member.width for member in self._members)

    def represent(self, rows: Matrix) -> FloatArray:
        """Return feature rows as the members see them, side by side."""
        return np.hstack([member.represent(rows) for member in self._members])

    def weights(self, represented: Matrix) -> Weights:
        """Return influence rows."""
        shape = (int(represented.shape[0]), self.n_rows)
        total, error, size = np.zeros(shape), np.zeros(shape[0]), np.zeros(shape[0])
        terms = len(self._members) + 6
        with np.errstate(over="ignore", invalid="ignore"):
            seen = _apart(represented, self._members) if len(represented) else []
            for member, (place, most), own in zip(self._members, self._places, seen, strict=False):
                share = float(member.share)
                z, off = member.influence(own)
                # Where labels meet, their errors add up: by Cauchy and Schwarz, √most at most.
                error += abs(share) * math.sqrt(most) * off
                size += abs(share) * math.sqrt(most) * row_norms(z)
                total += share * (z if place is None else z @ place)
                terms = max(terms, len(self._members) + most + 6)
            error = SAFETY * (error + gamma(terms) * size)
            if self._centred:
                # The mean of the errors is no larger than they are; sums of n terms are rounded.
                missing = 1.0 - total.sum(axis=1)
                error = SAFETY * (2 * error + gamma(self.n_rows + 8) * (2 * size + 1.0))
                total += (missing / self.n_rows)[:, None]
                size = 2 * size + 1.0
        return Weights(total, np.where(np.isnan(error), np.inf, error), size)

    def shown(self, represented: Matrix) -> Matrix:
        """Return influence as computed: a file about averages holds that."""
        return self.weights(represented).values

    def solve(self, labels: FloatArray) -> Solution:
        """Return the labels themselves."""
        return Solution(labels, 0.0, 0.0)

    def scores(self, represented: Matrix, solution: Solution) -> Scores:
        """Return influence times labels."""
        z, error, _ = self.weights(represented)
        labels = solution.values
        with np.errstate(over="ignore", invalid="ignore"):
            rounding = gamma(self.n_rows + 2) * (np.abs(z) @ np.abs(labels))
            found = SAFETY * (error * norm(labels) + rounding) + self.n_rows * PRODUCT_UNDERFLOW
            value = z @ labels
        known = self.error_scale.proven & np.isfinite(value) & ~np.isnan(found)
        return Scores(value, np.where(known, found, np.inf))


class AverageSpecification(SmootherSpecification):
    """The members of an average; in a certificate file, influence as computed."""

    def __init__(self, members: Sequence[Member], *, centred: bool) -> None:
        super().__init__()
        self._members, self._centred = members, centred

    def exact(self, n_rows: int) -> "AverageInfluence":
        """Return the average in rational arithmetic."""
        return AverageInfluence(n_rows, self._members, centred=self._centred)


class AverageInfluence(ExactInfluence):
    """Exact influence of an average."""

    def __init__(self, n_rows: int, members: Sequence[Member], *, centred: bool) -> None:
        self.group, self.n_groups, self._centred = np.arange(n_rows), n_rows, centred
        self._members = [
            (member, member.learner.specification.exact(member.learner.n_rows))
            for member in members
        ]

    def rows(self, represented: Matrix) -> Iterator[InfluenceRow]:
        """Yield the influence on the score of each row."""
        seen = _apart(represented, [member for member, _ in self._members])
        parts = [exact.rows(own) for (_, exact), own in zip(self._members, seen, strict=True)]
        for found in zip(*parts, strict=True):
            z = [Fraction(0)] * self.n_groups
            for (member, exact), row in zip(self._members, found, strict=True):
                weight = member.learner.specification.weights(member.learner.n_rows).tolist()
                rows = range(len(weight)) if member.rows is None else member.rows.tolist()
                for at, s, group in zip(rows, weight, exact.group.tolist(), strict=True):
                    z[at] += member.share * row.scale * Fraction(s) * row.numerators[group]
            if self._centred:
                added = (1 - sum(z, Fraction(0))) / self.n_groups
                z = [each + added for each in z]
            below = math.lcm(*(each.denominator for each in z))
            yield InfluenceRow([int(each * below) for each in z], Fraction(1, below))


# --- the members of scikit-learn's averages --------------------------------------------------


def _check_member(kind: str, member: Any) -> None:
    """Raise unless a member is a model that is linear in its labels, without steps before it."""
    if isinstance(member, Pipeline):
        raise InputError(
            f"{kind} is certified over models without steps of their own, and one of them is a "
            f"Pipeline; put the steps before it: make_pipeline(StandardScaler(), {kind}(...))"
        )
    check_certifiable(member)
    family = family_of(member)
    if family.threshold is not None or family.counts:
        raise NotLinearError(
            f"{kind} is certified over models that are linear in their labels, and "
            f"{type(member).__name__} is not; use Ridge, KernelRidge or neighbours inside"
        )


def _check_bag(bag: Any) -> None:
    kind = type(bag).__name__
    member = bag.estimator
    if member is None:
        raise NotLinearError(
            f"{kind} without an estimator is one of decision trees, whose splits look at the "
            f"labels; pass an estimator that is linear in its labels, {kind}(Ridge()) for numbers"
        )
    if isinstance(bag.random_state, bool) or not isinstance(bag.random_state, int | np.integer):
        raise InputError(
            f"{kind}(random_state={bag.random_state!r}) draws other bags every time it is fitted, "
            "so that the certificate would be about a model that nobody gets again; pass a whole "
            "number as random_state"
        )
    _check_member(kind, member)


def _check_bag_of_votes(bag: Any) -> None:
    member = bag.estimator
    if member is not None and not isinstance(member, Pipeline):
        check_certifiable(member)
        if not hasattr(member, "predict_proba"):
            raise NotLinearError(
                f"BaggingClassifier over {type(member).__name__} counts the votes of its members, "
                "because these have no predict_proba, and votes are not linear in the labels; "
                "pass BaggingRegressor(Ridge()), which averages scores, on the same labels, or "
                "votes over rows that no two members share: unswayed.PartitionedClassifier"
            )
    _check_bag(bag)


def _linear(model: Any, features: Matrix, weight: FloatArray | None) -> LinearInLabels:
    """Return the learner of a fitted member, with dense influence."""
    found = family_of(model).learner(model, features, weight)
    assert isinstance(found, LinearInLabels)  # noqa: S101  (checked before it was fitted)
    return found.full()


def _bag(bag: Any, features: Matrix, sample_weight: FloatArray | None) -> Average:
    if sample_weight is not None:
        raise InputError(
            f"{type(bag).__name__} draws its bags by sample_weight, which is not certified; leave "
            "it out"
        )
    share, n_rows = Fraction(1, len(bag.estimators_)), int(features.shape[0])
    members = []
    drawn = zip(bag.estimators_, bag.estimators_samples_, bag.estimators_features_, strict=True)
    for model, rows, columns in drawn:
        if _takes_weights(model):  # a bag is then given as how often each row is in it
            times = np.bincount(rows, minlength=n_rows).astype(np.float64)
            own = _linear(model, features[:, columns], times)
            members.append(Member(share, own, columns=columns))
        else:
            own = _linear(model, features[rows][:, columns], None)
            members.append(Member(share, own, rows, columns))
    return Average(n_rows, members)


def _takes_weights(model: Any) -> bool:
    """Whether a bag hands its rows to a member as sample weights."""
    if get_config()["enable_metadata_routing"]:
        return bool(get_routing_for_object(model).consumes("fit", ["sample_weight"]))
    return bool(has_fit_parameter(model, "sample_weight"))


def _voters(voting: Any) -> list[tuple[Any, Fraction]]:
    """Return the estimators that vote, and the weight of each."""
    weights = voting.weights
    numbers = [1.0] * len(voting.estimators) if weights is None else list(weights)
    return [
        (estimator, Fraction(float(weight)))
        for (_, estimator), weight in zip(voting.estimators, numbers, strict=False)
        if not isinstance(estimator, str)
    ]


def _check_voting(voting: Any) -> None:
    for estimator, _ in _voters(voting):
        _check_member("VotingRegressor", estimator)


def _voting(voting: Any, features: Matrix, sample_weight: FloatArray | None) -> Average:
    weights = [weight for _, weight in _voters(voting)]
    members = [
        Member(weight / sum(weights), _linear(model, features, sample_weight))
        for model, weight in zip(voting.estimators_, weights, strict=True)
    ]
    return Average(int(features.shape[0]), members)


# --- labels that are scaled before they are fitted ------------------------------------------

_SCALERS = (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler)


def _shift(model: Any) -> str:
    """Return what is subtracted from labels before they are scaled: nothing, "mean" or "other"."""
    scaler = model.transformer
    if scaler is None or type(scaler) is MaxAbsScaler:
        return ""
    if type(scaler) is StandardScaler:
        return "mean" if scaler.with_mean else ""
    return "" if type(scaler) is RobustScaler and not scaler.with_centering else "other"


def _inside(model: Any) -> Any:
    return LinearRegression() if model.regressor is None else model.regressor


def _keeps_constants(final: Any) -> bool:
    """Whether what is added to all labels is added to all predictions."""
    neighbours = type(final) in (KNeighborsRegressor, RadiusNeighborsRegressor)
    return neighbours or bool(getattr(final, "fit_intercept", False))


def _check_scaled(model: Any) -> None:
    kind, inside = type(model).__name__, _inside(model)
    if model.func is not None or model.inverse_func is not None:
        raise LabelPeekError(
            f"{kind}(func=...) transforms the labels by a function before it fits, and what it "
            "predicts is not linear in the labels unless the function is; transform the labels "
            "yourself and certify the regressor on them: bias and radius are then in their unit"
        )
    scaler = model.transformer
    if scaler is not None and (type(scaler) not in _SCALERS or getattr(scaler, "clip", False)):
        raise LabelPeekError(
            f"{kind} transforms the labels by {type(scaler).__name__} before it fits, which is "
            "not known to be the same scale and shift there and back; pass one of "
            f"{', '.join(each.__name__ for each in _SCALERS)}, or transform the labels yourself"
        )
    _check_member(kind, inside)
    if _shift(model) == "other" and not _keeps_constants(inside):
        raise NotLinearError(
            f"{kind} subtracts what {type(scaler).__name__} finds in the labels, such as their "
            f"smallest, which is not linear in them, and {type(inside).__name__} without an "
            "intercept does not make up for it; pass fit_intercept=True, or StandardScaler()"
        )


def _scaled(model: Any, features: Matrix, sample_weight: FloatArray | None) -> LinearInLabels:
    final = model.regressor_
    found = family_of(final).learner(final, features, sample_weight)
    assert isinstance(found, LinearInLabels)  # noqa: S101  (checked before it was fitted)
    if _shift(model) == "" or _keeps_constants(final):
        return found
    return Average(found.n_rows, [Member(Fraction(1), found.full())], centred=True)


def _register(
    kind: type, check: Callable[[Any], None], learner: Callable[..., LinearInLabels], **more: Any
) -> None:
    register(Family((kind,), learner=learner, check=check, keeps_rows=lambda model: True, **more))


_register(BaggingRegressor, _check_bag, _bag)
_register(BaggingClassifier, _check_bag_of_votes, _bag, codes=(-1.0, 1.0), scores=vote_scores)
_register(VotingRegressor, _check_voting, _voting)
_register(TransformedTargetRegressor, _check_scaled, _scaled)
