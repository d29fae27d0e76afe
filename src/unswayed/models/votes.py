"""Votes over partitions as a model: the family of `PartitionedClassifier`.

A label trains one member, so that wrong labels act on each member by itself. What is known of a
member is how many labels it takes at least to change its vote: 1, whatever it is; more where it is
a model that can be certified itself (`certifiable_member`) or was tried (`exhaustive`).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from unswayed._typing import BoolArray, FloatArray, IntArray, Matrix
from unswayed.exceptions import BiasError, InputError, LabelPeekError, UnswayedError
from unswayed.labels.bias import Functional, InGradient, LabelBias, Linear, ResolvedBias
from unswayed.labels.budgets import Count
from unswayed.labels.classes import ClassChanges
from unswayed.labels.groups import Parts
from unswayed.models.classes import ClassScores
from unswayed.models.family import Family, check_certifiable, family_of, register
from unswayed.models.learner import (
    ExactInfluence,
    Learner,
    LinearInLabels,
    Scores,
    Solution,
    Specification,
)
from unswayed.models.partitioned import (
    PartitionedClassifier,
    check_settings,
    member_of,
    seeds,
    tallied,
    voted,
)
from unswayed.models.steps import (
    as_matrix,
    final_estimator,
    flattened,
    is_known_blind,
    stays_fitted,
    transform_rows,
    transformers,
    transforms_alike,
)

_COMPARED = 1000  # rows on which a member and its copy are compared
_SAME = 1e-9  # scores of a member and its copy that differ by less differ by rounding
_SOLVED = {True: 1e-9, False: 0.02}  # by whether it is linear: how far a solver may stop short


class Votes(Functional):
    """Shares of votes, of members that were trained on labels that nobody else was trained on."""


@dataclass(frozen=True, eq=False)
class CertifiableMember:
    """A member whose own predictions can be certified."""

    learner: Learner
    codes: tuple[float, float]  # the numbers that stand for two classes, or for others and its own
    threshold: float  # of two classes
    fitted: Any  # the member itself
    # Whether it says, of labels that are all alike, that class of every row, as partitions do
    constant: bool
    training: Matrix  # the features that it was trained on
    own: FloatArray | None  # scores of these by the member itself; None if it was not trained

    def features(self, rows: Matrix) -> Matrix:
        """Return rows as the final estimator of the member sees them."""
        return as_matrix(transform_rows(self.fitted, rows))

    def bias(self, labels: IntArray, allowed: BoolArray) -> tuple[FloatArray, ResolvedBias]:
        """Return labels as its numbers, and the bias in which each may be any allowed class."""
        movable = allowed.sum(axis=1) > 1
        if allowed.shape[1] > 2:
            changes, most = ClassChanges(labels, allowed), Count(int(movable.sum()))
            bias = ResolvedBias(*changes.ends(), most, whole=True, classes=changes)
            return labels.astype(np.float64), bias
        low, high = self.codes
        step = np.where(movable, high - low, 0.0)
        lower, upper = np.where(labels == 1, -step, 0.0), np.where(labels == 1, 0.0, step)
        budget = Count(int(movable.sum()))
        targets = np.where(labels == 1, high, low)
        return targets, ResolvedBias(lower + 0.0, upper, budget, whole=True)

    def solved(self, scores: FloatArray) -> bool:
        """Return whether the member's own scores are near those of its solution."""
        near = _SOLVED[self.learner.functional is not InGradient]
        return self.own is not None and np.allclose(scores, self.own, rtol=near, atol=near)


@dataclass(frozen=True, eq=False)
class Partition:
    """The rows of a partition, and the member that was trained on them."""

    rows: IntArray  # training rows
    member: Any
    seed: int


class VotesSpecification(Specification):
    """Rows, dealt to partitions by a hash of their features; members vote."""

    kind = "votes"

    def __init__(
        self, model: PartitionedClassifier, features: Matrix, weight: FloatArray | None
    ) -> None:
        super().__init__(features, sample_weight=weight)
        self._model = model

    def exact(self, n_rows: int) -> ExactInfluence:
        """Raise: votes are counted."""
        raise InputError("votes are no numbers that depend on labels linearly")

    def document(self) -> dict[str, Any]:
        """Return what a certificate file says of the model, apart from its weights."""
        return {
            "kind": self.kind,
            "partitions": int(self._model.n_partitions),
            "random_state": int(self._model.random_state),
            "equal_rows": self._model.equal_rows,
        }


class VotesLearner(Learner):
    """A fitted `PartitionedClassifier`."""

    functional = Votes
    link = "votes"
    codes = (0.0, 1.0)
    takes_features = True

    def __init__(
        self, model: PartitionedClassifier, features: Matrix, weight: FloatArray | None
    ) -> None:
        self.model, self.n_rows = model, int(features.shape[0])
        self.n_classes = len(model.classes_)
        self.specification = VotesSpecification(model, features, weight)
        self.features, self._weight = features, weight
        self.partitions = [
            Partition(np.flatnonzero(model.partition_ == at), member, seed)
            for at, (member, seed) in enumerate(zip(model.estimators_, seeds(model), strict=True))
            if member is not None
        ]

    def represent(self, rows: Matrix) -> Matrix:
        """Return the feature rows themselves."""
        return rows

    def solve(self, labels: FloatArray) -> Solution:
        """Return the labels: the members are trained already."""
        return Solution(labels, np.inf, np.inf)

    def scores(self, represented: Matrix, solution: Solution) -> Scores:
        """Return the scores of rows: correctly rounded quotients."""
        return self.shares(self.votes(represented))

    def shares(self, votes: IntArray) -> Scores:
        """Return the share of votes for the second class; of several, by how much one leads."""
        counts = np.sort(self.tally(votes), axis=1)
        ahead = counts[:, -1] - counts[:, -2]
        share = (ahead if self.n_classes > 2 else (votes == 1).sum(axis=0)) / len(votes)
        return Scores(share, np.zeros(len(share)))

    def tally(self, votes: IntArray) -> IntArray:
        """Return how many of the votes, (members, rows), each class gets, (rows, classes)."""
        return tallied(votes.T, self.n_classes)

    def votes(self, rows: Matrix) -> IntArray:
        """Return the votes of the members of partitions that have rows, (members, rows)."""
        found = self.model.votes(rows).T
        return found[[member is not None for member in self.model.estimators_]]

    def retrained(self, at: int, labels: IntArray) -> Any:
        """Return the member of a partition, trained on other labels of its rows."""
        part, model = self.partitions[at], self.model
        weight = None if self._weight is None else self._weight[part.rows]
        written = model.classes_[labels]
        return member_of(model.estimator, self.features[part.rows], written, weight, part.seed)

    def tried(self, at: int, labels: Iterable[IntArray], rows: Matrix) -> list[IntArray | None]:
        """Return votes after training on other labels of a partition; None where that fails."""
        return list(
            Parallel(n_jobs=self.model.n_jobs)(
                delayed(_vote_after)(self, at, each, rows) for each in labels
            )
        )

    def check_repeatable(self, labels: IntArray) -> None:
        """Raise if the largest member, trained on the same labels again, is another one."""
        at = max(range(len(self.partitions)), key=lambda each: len(self.partitions[each].rows))
        part = self.partitions[at]
        again = self.retrained(at, labels[part.rows])
        if _alike(part.member, again, self.features[:_COMPARED]):
            return
        kind = type(final_estimator(self.model.estimator)).__name__
        raise InputError(
            f"{kind} learns something else from the same rows and labels every time, even with its "
            "random_state set: fitting again may change predictions, whatever the labels are, and "
            "no certificate would hold; pass a learner whose fit can be repeated (one thread, a "
            "seed)"
        )

    def certifiable_member(self, at: int, labels: IntArray) -> CertifiableMember | None:
        """Return a member as a model that can be certified; None if it cannot be."""
        part, estimator = self.partitions[at], self.model.estimator
        steps = [step for _, step in transformers(estimator)]
        if not all(is_known_blind(step) and transforms_alike(step) for step in steps):
            return None
        try:
            check_certifiable(estimator)
        except UnswayedError:
            return None
        member, family = part.member, family_of(estimator)
        if len(labels) == 1 or (self.n_classes > 2 and family.functional is not Linear):
            return None
        if len(np.unique(labels)) == 1:
            # What is linear in its labels depends on features alone: any labels will do.
            other = labels.copy()
            other[0] = (labels[0] + 1) % self.n_classes
            member = self.retrained(at, other)
        weight = None if self._weight is None else self._weight[part.rows]
        final, rows = final_estimator(member), self.features[part.rows]
        training = as_matrix(transform_rows(member, rows))
        learner = family.learner(final, training, weight)
        linear = learner.functional is Linear
        # Neighbours say the mean of their labels.
        constant = linear and bool(
            getattr(final, "fit_intercept", getattr(learner, "sparse", False))
        )
        own = family.scores(final, training) if member is part.member else None
        low, high = family.codes
        if self.n_classes > 2:
            # A class without labels then has less than the mean of the others: it never wins.
            if not constant or not isinstance(learner, LinearInLabels):
                return None
            own = None if own is None else _led(own, np.unique(labels), self.n_classes, low, high)
            learner = ClassScores(learner, family.codes, self.n_classes)
        elif not linear and member is not part.member:
            return None
        return CertifiableMember(
            learner,
            family.codes,
            (low + high) / 2 if family.threshold is None else family.threshold,
            member,
            constant,
            training,
            own,
        )


def _led(
    scores: FloatArray, present: IntArray, n_classes: int, low: float, high: float
) -> FloatArray:
    """Return by how much the first class of each row leads, by the scores of those present."""
    found = np.full((len(scores), n_classes), low)
    found[:, present] = np.stack((low + high - scores, scores), 1) if scores.ndim < 2 else scores
    found.sort(axis=1)
    return np.asarray(found[:, -1] - found[:, -2])


def _vote_after(learner: VotesLearner, at: int, labels: IntArray, rows: Matrix) -> IntArray | None:
    try:
        return voted(learner.retrained(at, labels), rows, learner.model.classes_)
    except ValueError:  # labels that the learner cannot be trained on
        return None


def _alike(one: Any, other: Any, rows: Matrix) -> bool:
    """Whether two members predict the same, with the same scores up to rounding."""
    if not np.array_equal(one.predict(rows), other.predict(rows)):
        return False
    for name in ("decision_function", "predict_proba"):
        if hasattr(one, name):
            first, second = (getattr(each, name)(rows) for each in (one, other))
            return bool(np.allclose(first, second, rtol=_SAME, atol=_SAME, equal_nan=True))
    return True


# --- The family ----------------------------------------------------------------------------------


def _check(final: PartitionedClassifier) -> None:
    """Raise for settings that cannot be used, and for members that were fitted elsewhere."""
    check_settings(final)
    for value in [final.estimator, *final.estimator.get_params().values()]:
        for each in flattened(value):
            if stays_fitted(each):
                raise LabelPeekError(
                    f"{type(each).__name__} was fitted elsewhere and stays as it is in every "
                    "member; if these labels had a part in that, they would change all votes at "
                    "once and the certificate would be false; pass an estimator that is fitted here"
                )


def _check_bias(
    bias: LabelBias, resolved: ResolvedBias, targets: FloatArray, classes: bool
) -> None:
    if bias.kind not in ("flips", "sum"):
        raise BiasError(
            f"members of a PartitionedClassifier are trained on classes, and {bias.kind} lets "
            "labels be between them; use LabelBias.flips"
        )
    if not resolved.budget.countable and not isinstance(resolved.budget, Parts):
        raise BiasError(
            "votes are certified for budgets that are a number of labels, and this one is a "
            f"{type(resolved.budget).__name__}, whose labels may be in many partitions; pass a "
            "count, a share or a sample, or one of these for each of several groups"
        )


def _shares(final: PartitionedClassifier, features: Matrix) -> FloatArray:
    """Return the share of votes for the second class; of several, one column each."""
    found = final.predict_proba(features)
    return found if found.shape[1] > 2 else found[:, 1]


register(
    Family(
        (PartitionedClassifier,),
        learner=VotesLearner,
        check=_check,
        check_bias=_check_bias,
        keeps_rows=lambda final: True,
        scores=_shares,
        threshold=0.5,
        functional=Votes,
    )
)
