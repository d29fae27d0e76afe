"""Families of models that are linear in their labels, by registration.

A family says which estimators it wraps, by their exact types, and how a fitted one becomes a
learner. Its file registers it when it is imported; `unswayed.models.families` imports those that
come with the package. A family of your own needs no more than a `Family` and `register`.
"""

from collections.abc import Callable
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from unswayed._core.kernels import one_blas_thread
from unswayed._typing import FloatArray, IntArray, Matrix
from unswayed.exceptions import InputError, LabelPeekError, NotLinearError
from unswayed.inputs import as_doubles
from unswayed.labels.bias import Functional, LabelBias, Linear, ResolvedBias
from unswayed.models.learner import Learner
from unswayed.models.steps import (
    final_estimator,
    is_from_sklearn,
    is_known_blind,
    may_write,
    transformers,
)

CERTIFIABLE = (
    "LinearRegression, Ridge, RidgeClassifier, KernelRidge, LogisticRegression, "
    "PoissonRegressor, nearest neighbours, GaussianProcessRegressor with optimizer=None, averages "
    "of them (BaggingRegressor, VotingRegressor), unswayed.GradientDescentRegressor, "
    "unswayed.LinearSmoother, unswayed.PartitionedClassifier, RidgeCV, RidgeClassifierCV, "
    "GridSearchCV and RandomizedSearchCV over linear ones, and "
    "Pipelines and ColumnTransformers that end in one of them"
)

_FEW = 8  # of fewer weights an order says nothing
_ROUNDED = 1e-9  # weights of a class that differ by less were meant to be the same

_PEEKING_REASONS = {
    "PLSRegression": "chooses its directions by the labels",
    "PLSCanonical": "chooses its directions by the labels",
    "CCA": "chooses its directions by the labels",
    "TunedThresholdClassifierCV": "chooses its threshold by the labels",
    "CalibratedClassifierCV": "calibrates its scores on the labels",
    "TargetEncoder": "encodes categories by their labels",
}


_TREES = (
    "grows trees, and where they split, and where they stop, is decided by the labels: changing "
    "a label changes the tree. For classes, unswayed.PartitionedClassifier certifies votes of any "
    "model. (RandomTreesEmbedding before Ridge is certified: it never sees the labels.)"
)
_TREE_KINDS = """
    DecisionTree ExtraTree ExtraTrees RandomForest GradientBoosting HistGradientBoosting AdaBoost
""".split()
_NOT_LINEAR_REASONS = {
    **{f"{name}{kind}": _TREES for name in _TREE_KINDS for kind in ("Classifier", "Regressor")},
    "MultiOutputRegressor": (
        "has several columns of labels, and fits each by itself; so does the certificate of each: "
        "fit one CertifiedRegressor, with the regressor that is inside, on every column"
    ),
}


def _is_selector(step: Any) -> bool:
    """Whether a step is one of scikit-learn's feature selectors that look at labels."""
    # Their tags say that some can do without labels; given labels, they all look at them.
    package = "sklearn.feature_selection."
    return type(step).__module__.startswith(package) and not is_known_blind(step)


def _is_search(estimator: Any) -> bool:
    """Whether an estimator searches its parameters by cross-validation."""
    name = type(estimator).__name__
    return name.endswith(("CV", "Search")) or hasattr(estimator, "best_estimator_")


def check_final(estimator: Any) -> None:
    """Raise if a final estimator uses the labels for more than fitting its coefficients."""
    kind = type(estimator).__name__
    reason = _PEEKING_REASONS.get(kind)
    if reason is None and _is_search(estimator) and type(estimator) not in _FAMILIES:
        reason = "chooses its parameters by the labels"
    if reason is None:
        return
    raise LabelPeekError(
        f"{kind} {reason}, so changing a label changes the model it chooses and the certificate "
        "would be false; choose on data outside the training set, then certify the chosen one "
        f"of {CERTIFIABLE}"
    )


def refuse_nonlinear(estimator: Any) -> NotLinearError:
    """Return the error for an estimator that is not known to be linear in its labels."""
    kind = type(estimator).__name__
    reason = _NOT_LINEAR_REASONS.get(kind)
    return NotLinearError(
        f"{kind} is not known to be linear in its labels, so its predictions cannot be certified "
        f"exactly; use one of {CERTIFIABLE}; a linear model of your own goes through "
        "LinearSmoother, and any classifier through PartitionedClassifier, by votes"
        + (f". {kind} {reason}" if reason and is_from_sklearn(estimator) else "")
    )


def check_parameters(estimator: Any, *, weighs_classes: bool = False) -> None:
    """Raise for parameters with which a linear estimator is no longer linear in its labels."""
    kind = type(estimator).__name__
    if getattr(estimator, "positive", False):
        raise NotLinearError(
            f"{kind}(positive=True) is not linear in its labels: which coefficients are held at 0 "
            "depends on them; pass positive=False"
        )
    weight = getattr(estimator, "class_weight", None)
    if weight is not None and not weighs_classes:
        raise NotLinearError(
            f"{kind}(class_weight={weight!r}) weighs each row by its label, so changing a label "
            "changes the weights too and the score is not linear in the labels; "
            "pass class_weight=None (weights that were fixed before the labels were seen, such as "
            "those of a survey, go to fit as sample_weight)"
        )


def check_weights(labels: NDArray[Any], weight: FloatArray, *, classes: bool) -> None:
    """Raise if sample weights look as if they were computed from the labels.

    Of the rows with positive weight, that is so if rows of equal label have equal weights, if rows
    of equal weight have equal labels (as with weights that make groups and labels independent), if
    all rows of one class are heavier than all of the other, or if weights are in the order of the
    labels; also if no row of a class has positive weight. Weights computed from labels and from
    something else can pass.
    """
    what = "class" if classes else "label"
    counts = weight > 0  # rows without weight are out of it
    n_values = len(np.unique(labels))
    labels, weight = labels[counts], weight[counts]
    values, label = np.unique(labels, return_inverse=True)
    # Where most of them are different, any weights are one per label, and any labels per weight.
    if classes and len(values) < n_values:
        look = "leaves out all rows of one class"
    elif (classes or 2 * len(values) <= len(labels)) and _tells(label, weight):
        look = f"has one value per {what}"
    elif _tells_label(weight, label):
        look = f"tells the {what}: rows of equal weight have equal labels"
    elif classes and _separates(weight, label):
        look = "is larger for all rows of one class than for any of the other"
    elif not classes and _follows(weight, labels.astype(np.float64)):
        look = "rises or falls with the label"
    else:
        return
    raise LabelPeekError(
        f"sample_weight {look}, as weights that balance classes do: if they were computed from "
        "the labels, changing a label changes the weights too and the certificate would be false; "
        "leave them out, or pass trust='sample_weight' if they were fixed before the labels were "
        "seen (the certificate will say so)"
    )


def _extremes(group: IntArray, value: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the smallest and the largest value of each group."""
    low, high = np.full(group.max() + 1, np.inf), np.full(group.max() + 1, -np.inf)
    np.minimum.at(low, group, value)
    np.maximum.at(high, group, value)
    return low, high


def _tells(label: IntArray, weight: FloatArray) -> bool:
    """Whether rows of equal label have equal weights, and not all weights are equal."""
    low, high = _extremes(label, weight)
    near = 1.0 - _ROUNDED
    return bool((low >= near * high).all() and low.min() < near * high.max())


def _tells_label(weight: FloatArray, label: IntArray) -> bool:
    """Whether rows of equal weight have equal labels, for 2 to n/2 distinct weights."""
    ranked = np.sort(weight)
    starts = np.flatnonzero(np.diff(ranked, prepend=-1.0) > _ROUNDED * ranked)
    group = np.searchsorted(ranked[starts], weight, side="right") - 1
    low, high = _extremes(group, label.astype(np.float64))
    return bool(1 < len(starts) <= len(weight) // 2 and (low == high).all())


def _follows(weight: FloatArray, labels: FloatArray) -> bool:
    """Whether weights are in the order of the labels, or of their sizes, or in reverse."""
    if len(labels) < _FEW or 2 * len(np.unique(weight)) <= len(weight):
        return False  # a few heavy rows happen to be the first or the last
    steps = [np.diff(weight[np.argsort(key)]) for key in (labels, np.abs(labels))]
    return any(bool((step >= 0).all() or (step <= 0).all()) for step in steps)


def _separates(weight: FloatArray, label: IntArray) -> bool:
    """Whether all weights of one class are larger than all of the other."""
    low, high = _extremes(label, weight)
    return bool(low[0] > high[1] or low[1] > high[0])


def check_step(name: str, step: Any) -> None:
    """Raise if a transformer is known to look at the labels."""
    kind = type(step).__name__
    needs_labels = (
        kind in _PEEKING_REASONS
        or _is_search(step)
        or get_tags(step).target_tags.required
        or (is_from_sklearn(step) and hasattr(step, "transform") and is_classifier(step))
        or _is_selector(step)
    )
    if needs_labels:
        raise LabelPeekError(
            f"step {name!r} ({kind}) looks at the labels, so changing a label changes the "
            "features too and the certificate would be false; drop the step, or fit it on data "
            "outside the training set"
        )


def predicted_scores(final: Any, features: Any) -> FloatArray:
    """Return what an estimator predicts."""
    return _one_column(final.predict(features))


def decision_scores(final: Any, features: Any) -> FloatArray:
    """Return what an estimator's decisions are made of."""
    return _one_column(final.decision_function(features))


def _one_column(found: Any) -> FloatArray:
    """Return one number per row, or of several classes one per class."""
    scores = np.asarray(found, dtype=np.float64)
    return scores.ravel() if scores.ndim < 2 or scores.shape[1] == 1 else scores


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of model: its estimators, and how a fitted one becomes a learner."""

    # Exactly these types; a subclass does not count, because it may do anything in `fit`
    estimators: tuple[type, ...]
    learner: Callable[[Any, Matrix, FloatArray | None], Learner]  # Returns its `Learner`
    # Raises for parameters that cannot be certified
    check: Callable[[Any], object] = lambda estimator: None
    # Raises for a bias that allows labels which the model could not be trained on; it is given
    # the bias, its offsets, the labels as numbers, and whether these are classes
    check_bias: Callable[[LabelBias, ResolvedBias, FloatArray, bool], object] = (
        lambda bias, resolved, targets, classes: None
    )
    # Whether it keeps the rows it is fitted on; it is then given a copy of them
    keeps_rows: Callable[[Any], bool] = lambda estimator: False
    # Numbers that stand for two classes; the decision is halfway between them
    codes: tuple[float, float] = (0.0, 1.0)
    # Scores as the fitted estimator itself computes them
    scores: Callable[[Any, Any], FloatArray] = predicted_scores
    threshold: float | None = None  # Where scores decide, if that is not halfway between the codes
    weighs_classes: bool = False  # Whether its `class_weight`, as numbers, is accounted for
    several: bool = True  # Whether three or more classes are certified, one column of scores each
    # Whether its labels are counts, and its scores their logarithms: a regressor only
    counts: bool = False
    functional: type[Functional] = Linear  # What its scores are of the labels
    # Returns the family of an estimator whose codes depend on its parameters, such as a search
    adapted: "Callable[[Any], Family] | None" = None


_FAMILIES: dict[type, Family] = {}


def register(family: Family) -> None:
    """Register a family, so that its estimators can be certified."""
    _FAMILIES.update(dict.fromkeys(family.estimators, family))


def family_of(estimator: Any) -> Family:
    """Return the family of an estimator, or of the last step of a pipeline."""
    final = final_estimator(estimator)
    found = _FAMILIES.get(type(final))
    if found is None:
        raise refuse_nonlinear(final)
    return found if found.adapted is None else found.adapted(final)


def check_certifiable(estimator: Any) -> None:
    """Raise if an estimator cannot be certified, before anything is fitted."""
    if isinstance(estimator, type):
        raise InputError(
            f"estimator is the class {estimator.__name__}; pass an instance of it, "
            f"{estimator.__name__}()"
        )
    if not hasattr(estimator, "fit"):
        raise refuse_nonlinear(estimator)
    for name, step in transformers(estimator):
        check_step(name, step)
    final = final_estimator(estimator)
    check_final(final)
    family = family_of(final)
    check_parameters(final, weighs_classes=family.weighs_classes)
    family.check(final)


def feature_names(estimator: Any, names: Any, n_features: int) -> tuple[str, ...]:
    """Return the names of the final estimator's features."""
    while type(estimator) is Pipeline:
        if len(estimator.steps) > 1:
            try:
                names = estimator[:-1].get_feature_names_out(names)
            except AttributeError:  # a transformer that does not name what it makes
                names = None
        estimator = estimator.steps[-1][1]
    if names is None:
        names = [f"x{j}" for j in range(n_features)]
    return tuple(str(name) for name in names)


def fit_final(final: Any, features: Any, labels: Any, weight: FloatArray | None) -> None:
    """Fit a final estimator; it is given a copy of the features if it may change or keep them."""
    if weight is not None and not has_fit_parameter(final, "sample_weight"):
        raise InputError(
            f"{type(final).__name__} takes no sample_weight: leave it out, or put it into the "
            "influence of a LinearSmoother"
        )
    # It may write into its rows, or keep them while the caller changes theirs.
    own = family_of(final).keeps_rows(final) or may_write(final)
    rows = deepcopy(features) if own else features
    # Solvers of sparse problems take thousands of steps, too short to share among threads.
    with one_blas_thread if sparse.issparse(rows) else nullcontext():
        final.fit(rows, labels, **({} if weight is None else {"sample_weight": weight}))


def one_alpha(final: Any) -> float:
    """Return the penalty of an estimator; raise unless it is one number, 0 or more."""
    alpha = as_doubles(final.alpha, "alpha").reshape(-1)
    if alpha.size != 1:
        raise InputError(f"alpha has {alpha.size} values but there is one target; pass one number")
    if not 0 <= alpha[0] < np.inf:  # scikit-learn checks single numbers, not arrays
        raise InputError(f"alpha must be a finite number and not negative, got {final.alpha!r}")
    return float(alpha[0])
