"""Models that the labels choose among candidates: RidgeCV, RidgeClassifierCV, searches over grids.

Every candidate is linear in its labels. Which of them is fitted is decided by cross-validation, and
so by the labels too. The candidates themselves must not depend on labels, nor the rows that each
fold is tested on: what splits rows by their labels is refused.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.linear_model import Ridge, RidgeClassifierCV, RidgeCV
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    LeaveOneOut,
    LeavePOut,
    ParameterGrid,
    ParameterSampler,
    PredefinedSplit,
    RandomizedSearchCV,
    RepeatedKFold,
    ShuffleSplit,
    TimeSeriesSplit,
    check_cv,
)

from unswayed._typing import FloatArray, IntArray, Matrix
from unswayed.exceptions import InputError, LabelPeekError, NotLinearError
from unswayed.inputs import as_doubles
from unswayed.labels.bias import Functional, Linear
from unswayed.models.family import (
    Family,
    check_certifiable,
    decision_scores,
    family_of,
    fit_final,
    register,
)
from unswayed.models.learner import Learner, LinearInLabels, Scores, Solution
from unswayed.models.steps import (
    as_matrix,
    check_features,
    final_estimator,
    fit_steps,
    is_known_blind,
    transform_rows,
    transformers,
)

_MOST = 1000  # candidates: each is a model of its own
_BLIND_SPLITTERS = (
    KFold, LeaveOneOut, LeavePOut, PredefinedSplit, RepeatedKFold, ShuffleSplit, TimeSeriesSplit,
)  # fmt: skip
# Means of errors, and what of them is bounded: over one set of rows, and over folds.
_SCORERS: dict[str, tuple[str | None, str | None]] = {
    "neg_mean_squared_error": ("squared", "squared"),
    "neg_root_mean_squared_error": ("squared", None),
    "r2": ("squared", None),  # over one set of rows, what it divides by is the same for all
    "accuracy": (None, "accuracy"),
    "neg_mean_absolute_error": (None, None),
}


class Chosen(Functional):
    """Scores of whichever candidate the labels choose; each is linear in the labels."""


class Fold(NamedTuple):
    """A model that was trained on some of the rows, and the others, which it is tested on."""

    learner: LinearInLabels
    train: IntArray
    test: IntArray
    features: Matrix  # of the rows that it is tested on


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A model that may be chosen, trained on all rows."""

    parameters: Mapping[str, Any]
    estimator: Any  # with its steps fitted
    learner: LinearInLabels

    def features(self, rows: Matrix) -> Matrix:
        """Return rows as the final estimator of the candidate sees them."""
        return as_matrix(transform_rows(self.estimator, rows))


def _made(estimator: Any, rows: Matrix, sample_weight: FloatArray | None) -> LinearInLabels:
    """Fit the steps of an estimator, and return the learner of its final one."""
    any_labels = np.arange(rows.shape[0]) % 2  # nothing that is used here depends on them
    features = as_matrix(fit_steps(estimator, rows, any_labels))
    check_features(estimator, rows, any_labels, features)
    final = final_estimator(estimator)
    family = family_of(final)
    if family.keeps_rows(final):
        fit_final(final, features, any_labels, sample_weight)
    learner = family.learner(final, features, sample_weight)
    assert isinstance(learner, LinearInLabels)  # noqa: S101  (others are refused before)
    return learner


@dataclass(frozen=True, slots=True, eq=False)
class Validation:
    """How the labels choose: by which error, on which rows."""

    error: str | None  # "squared" or "accuracy"; None if nothing is known of it
    folds: (
        tuple[tuple[IntArray, IntArray], ...] | None
    )  # trained and tested on; None: leave one out


class CandidatesLearner(Learner):
    """Candidates, the one that was chosen, and how others would be."""

    functional = Chosen
    takes_features = True

    def __init__(
        self, search: "Search", final: Any, features: Matrix, sample_weight: FloatArray | None
    ) -> None:
        self.n_rows = int(features.shape[0])
        self.features, self.sample_weight = features, sample_weight
        self._search, self._final = search, clone(final)
        self.chosen = search.chosen(final)
        self.parameters = search.parameters(final)
        self.classes = family_of(final).codes if is_classifier(final) else None

    def represent(self, rows: Matrix) -> Matrix:
        """Return the rows themselves: each candidate has features of its own."""
        return rows

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """All candidates, in the order in which the first of the best is chosen."""
        found = []
        for parameters in self.parameters:
            estimator = self._search.candidate(self._final, parameters)
            learner = _made(estimator, self.features, self.sample_weight)
            found.append(Candidate(parameters, estimator, learner))
        return tuple(found)

    @cached_property
    def validation(self) -> Validation:
        """How they are chosen."""
        found = self._search.validation(self._final, self.features)
        if self.sample_weight is not None and self._final.scoring is not None:
            return replace(found, error=None)  # predictions are divided by weights, which may be 0
        return found

    def solve(self, labels: FloatArray) -> Solution:
        """Train the chosen candidate on labels."""
        return self.candidates[self.chosen].learner.solve(labels)

    def scores(self, represented: Matrix, solution: Solution) -> Scores:
        """Return the scores that the chosen candidate gives rows."""
        candidate = self.candidates[self.chosen]
        rows = candidate.learner.represent(candidate.features(represented))
        return candidate.learner.scores(rows, solution)

    def folds(self, candidate: int) -> Iterator[Fold]:
        """Yield a candidate as it is trained in each fold."""
        for train, test in self.validation.folds or ():
            estimator = self._search.candidate(self._final, self.parameters[candidate])
            weight = None if self.sample_weight is None else self.sample_weight[train]
            learner = _made(estimator, self.features[train], weight)
            features = as_matrix(transform_rows(estimator, self.features[test]))
            yield Fold(learner, train, test, features)

    def chosen_by(self, labels: FloatArray) -> int | None:
        """Return the candidate that the estimator itself chooses by other labels; None if none."""
        if self.classes is not None and set(labels.tolist()) != set(self.classes):
            return None  # a classifier takes two classes, and no numbers between them
        again = clone(self._final)
        fit_final(again, self.features, labels, self.sample_weight)
        return self._search.chosen(again)


# --- What users pass: which candidates, chosen how ------------------------------------------


@dataclass(frozen=True, slots=True)
class Search:
    """A kind of estimator that chooses: its candidates, and how it compares them."""

    parameters: Callable[[Any], Sequence[Mapping[str, Any]]]
    candidate: Callable[[Any, Mapping[str, Any]], Any]
    chosen: Callable[[Any], int]  # of a fitted one
    leaves_one_out: Callable[[Any], bool]

    def validation(self, final: Any, features: Matrix) -> Validation:
        """Return how candidates are compared."""
        alone = self.leaves_one_out(final)
        name = _scorer(final)
        if name is None:
            name = "accuracy" if is_classifier(final) and not alone else "r2"
        error = _SCORERS[name][0 if alone else 1]
        if alone:
            return Validation(error, None)
        splits = _splitter(final).split(features, np.zeros(features.shape[0]))
        return Validation(error, tuple((np.asarray(a), np.asarray(b)) for a, b in splits))

    def check(self, final: Any) -> None:
        """Raise for a search whose candidates or folds are not fixed before labels are seen."""
        _scorer(final)
        if not self.leaves_one_out(final):
            _splitter(final)
        kind = type(final).__name__
        found = list(islice(self.parameters(final), _MOST + 1))
        if len(found) > _MOST:
            raise InputError(
                f"{kind} has more than {_MOST} candidates, and each is certified as a model of its "
                "own; pass fewer"
            )
        for parameters in found:
            _check_candidate(kind, self.candidate(final, parameters), parameters)

    def learner(
        self, final: Any, features: Matrix, sample_weight: FloatArray | None
    ) -> CandidatesLearner:
        """Return the learner of a fitted search."""
        if sample_weight is not None and not self.leaves_one_out(final):
            raise InputError(
                f"{type(final).__name__}(cv=...) trains on sample weights and compares errors "
                "without them; leave sample_weight out, or cv"
            )
        return CandidatesLearner(self, final, features, sample_weight)

    def family(self, final: Any) -> Family:
        """Return the family of a search: labels are coded as its candidates code them."""
        family = replace(_CHOICES[type(final)], adapted=None)
        if is_classifier(final):
            return replace(family, codes=(-1.0, 1.0), scores=decision_scores)
        return family


def _check_candidate(kind: str, estimator: Any, parameters: Mapping[str, Any]) -> None:
    """Raise unless a candidate is linear in its labels, with steps that are known not to look."""
    written = ", ".join(f"{name}={value!r}" for name, value in parameters.items())
    for name, value in parameters.items():
        if hasattr(value, "fit"):
            raise InputError(
                f"{kind} has the candidate {written}: {name} is an estimator; pass values of "
                "parameters, and one search for each kind of estimator"
            )
        if isinstance(value, Real) and not np.isfinite(float(value)):
            raise InputError(
                f"{kind} has the candidate {written}: {name} must be a finite number; drop it"
            )
    check_certifiable(estimator)
    functional = family_of(estimator).functional
    if functional is not Linear:
        raise NotLinearError(
            f"{kind} chooses among models of the kind {type(final_estimator(estimator)).__name__}, "
            "and only choices among models that are linear in their labels can be certified: "
            "LinearRegression, Ridge, RidgeClassifier, KernelRidge or LinearSmoother"
        )
    unknown = [name for name, step in transformers(estimator) if not is_known_blind(step)]
    if unknown:
        raise LabelPeekError(
            f"step {unknown[0]!r} inside {kind} is fitted once per fold, and whether it looks at "
            "labels is not known; put it in front of the search, make_pipeline(step, search)"
        )


def _scorer(final: Any) -> str | None:
    """Return the name of a scorer; raise unless it is a mean of errors."""
    scoring, kind = final.scoring, type(final).__name__
    if scoring is None or (isinstance(scoring, str) and scoring in _SCORERS):
        return scoring
    raise LabelPeekError(
        f"{kind}(scoring={scoring!r}) compares candidates by a score that is no mean of errors of "
        "single rows, so that nothing is known of how labels change it; pass one of "
        f"{', '.join(map(repr, _SCORERS))}"
    )


def _splitter(final: Any) -> Any:
    """Return what splits rows into folds; raise if it looks at labels, or is random."""
    kind, given = type(final).__name__, final.cv
    listed = isinstance(given, list | tuple)
    if not (given is None or listed or isinstance(given, Integral) or hasattr(given, "split")):
        raise InputError(
            f"{kind}(cv={given!r}) cannot be split by again, as a certificate has to; pass a list "
            "of (train, test) pairs, or a splitter such as KFold(5)"
        )
    cv = check_cv(given, np.array([0, 1]), classifier=is_classifier(final))
    if not listed and type(cv) not in _BLIND_SPLITTERS:
        by = f"cv={given!r}, which means {type(cv).__name__}" if given is not cv else f"cv={cv!r}"
        raise LabelPeekError(
            f"{kind}({by}) may split rows by their labels or by groups, so that changing a label "
            "changes the folds too and the certificate would be false; pass cv=KFold(5, "
            "shuffle=True, random_state=0) or another splitter that does not look at labels"
        )
    shuffles = getattr(cv, "shuffle", hasattr(cv, "random_state"))
    if shuffles and not isinstance(cv.random_state, Integral):
        raise InputError(
            f"{kind}(cv={cv!r}) splits rows in another way every time it is fitted; pass a number "
            "as its random_state"
        )
    return cv


# --- RidgeCV and RidgeClassifierCV ----------------------------------------------------------


def _alphas(final: Any) -> list[dict[str, Any]]:
    alphas = as_doubles(final.alphas, "alphas").reshape(-1)
    for alpha in alphas[~(np.isfinite(alphas) & (alphas >= 0))][:1]:
        raise InputError(f"alphas must be finite and not negative, got {alpha}; drop it")
    if not len(alphas):
        raise InputError("alphas is empty: there is no candidate; pass one alpha or more")
    return [{"alpha": alpha} for alpha in alphas.tolist()]


def _ridge(final: Any, parameters: Mapping[str, Any]) -> Any:
    return Ridge(**parameters, fit_intercept=final.fit_intercept)


def _alpha_place(final: Any) -> int:
    return [each["alpha"] for each in _alphas(final)].index(float(final.alpha_))


def _without_folds(final: Any) -> bool:
    return final.cv is None


_RIDGE = Search(_alphas, _ridge, _alpha_place, _without_folds)


# --- GridSearchCV and RandomizedSearchCV ----------------------------------------------------


def _grid(final: Any) -> Sequence[Mapping[str, Any]]:
    if final.refit is not True:
        raise InputError(
            f"{type(final).__name__}(refit={final.refit!r}) does not fit the candidate of the best "
            "score; pass refit=True"
        )
    if isinstance(final, GridSearchCV):
        found: Sequence[Mapping[str, Any]] = ParameterGrid(final.param_grid)
        return found
    if not isinstance(final.random_state, Integral):
        raise InputError(
            f"{type(final).__name__} draws other candidates every time it is fitted; pass a number "
            "as its random_state"
        )
    return list(
        ParameterSampler(final.param_distributions, final.n_iter, random_state=final.random_state)
    )


def _with_parameters(final: Any, parameters: Mapping[str, Any]) -> Any:
    return clone(final.estimator).set_params(**clone(dict(parameters), safe=False))


def _grid_place(final: Any) -> int:
    return int(final.best_index_)


def _always_folds(final: Any) -> bool:
    return False


_SEARCH = Search(_grid, _with_parameters, _grid_place, _always_folds)


def _family(search: Search, *estimators: type) -> Family:
    return Family(
        estimators,
        learner=search.learner,
        check=search.check,
        keeps_rows=lambda final: True,
        functional=Chosen,
        several=False,
        adapted=search.family,
    )


_CHOICES: dict[type, Family] = {}
for _search, _kinds in (
    (_RIDGE, (RidgeCV, RidgeClassifierCV)),
    (_SEARCH, (GridSearchCV, RandomizedSearchCV)),
):
    _CHOICES.update(dict.fromkeys(_kinds, _family(_search, *_kinds)))
    register(_CHOICES[_kinds[0]])
