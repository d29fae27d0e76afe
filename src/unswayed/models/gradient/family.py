"""LogisticRegression and PoissonRegressor."""

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, PoissonRegressor

from unswayed._typing import FloatArray, Matrix
from unswayed.exceptions import InputError, LabelPeekError, NotLinearError
from unswayed.models.family import Family, one_alpha, register
from unswayed.models.gradient.learner import GradientLearner
from unswayed.models.gradient.links import Exponential, Link, Logistic
from unswayed.models.gradient.problem import GradientProblem
from unswayed.models.gradient.specification import GradientSpecification


def _check_logistic(final: Any) -> None:
    """Raise for parameters that make it another model than a penalised one with squares."""
    penalty, ratio = final.penalty, final.l1_ratio
    if penalty in ("l1", "elasticnet") or (ratio or 0.0) != 0.0:
        what = f"penalty={penalty!r}" if penalty in ("l1", "elasticnet") else f"l1_ratio={ratio!r}"
        raise NotLinearError(
            f"LogisticRegression({what}) sets some coefficients to 0, and which ones depends on "
            "the labels in jumps, so that it cannot be certified; leave it out (an L2 penalty, "
            "the default)"
        )
    if final.solver == "liblinear" and final.fit_intercept:
        raise InputError(
            "solver='liblinear' penalises the intercept too, which makes it another model; pass "
            "another solver (solver='lbfgs', the default), or fit_intercept=False"
        )
    strength = final.C
    number = isinstance(strength, Real) and not isinstance(strength, bool)
    if not number or not float(strength) > 0.0:
        raise InputError(f"C must be a number above 0 (inf for no penalty), got {strength!r}")
    if isinstance(final.class_weight, str):
        raise LabelPeekError(
            f"LogisticRegression(class_weight={final.class_weight!r}) computes weights from the "
            "labels, so that changing a label changes the weights of all rows and the certificate "
            "would be false; pass numbers, class_weight={class: weight, ...}, or None"
        )
    if final.class_weight is not None:
        _class_factors(final.class_weight, tuple(final.class_weight))


def _class_factors(given: Any, classes: tuple[Any, ...]) -> tuple[float, ...]:
    """Return the weights of classes as numbers; 1 for those that are not named."""
    if not isinstance(given, Mapping):
        raise InputError(
            f"class_weight must be a mapping of classes to numbers, or None; got {given!r}"
        )
    found = []
    for each in classes:
        factor = given.get(each, 1.0)
        if not isinstance(factor, Real) or not 0.0 < float(factor) < math.inf:
            raise InputError(
                f"class_weight of {each!r} must be a finite number above 0, got {factor!r}"
            )
        found.append(float(factor))
    return tuple(found)


def _learner(
    final: Any,
    features: Matrix,
    link: Link,
    penalty: float,
    weight: FloatArray | None,
    factors: tuple[float, float] = (1.0, 1.0),
) -> GradientLearner:
    settings: dict[str, Any] = {
        "penalty": penalty,
        "fit_intercept": bool(final.fit_intercept),
        "sample_weight": weight,
        "class_weight": factors,
    }
    problem = GradientProblem(features, link, **settings)
    start = np.append(np.ravel(final.coef_), np.ravel(final.intercept_)[:1])
    return GradientLearner(problem, start, GradientSpecification(features, link, **settings))


def _logistic(final: Any, features: Matrix, weight: FloatArray | None) -> GradientLearner:
    none = final.penalty is None or math.isinf(final.C)
    factors = (1.0, 1.0)
    if final.class_weight is not None:
        first, second = _class_factors(final.class_weight, tuple(final.classes_.tolist()))
        factors = (first, second)
    return _learner(
        final, features, Logistic(), 0.0 if none else 1.0 / float(final.C), weight, factors
    )


def _poisson(final: Any, features: Matrix, weight: FloatArray | None) -> GradientLearner:
    total = float(features.shape[0]) if weight is None else math.fsum(weight.tolist())
    return _learner(final, features, Exponential(), one_alpha(final) * total, weight)


register(
    Family(
        (LogisticRegression,),
        learner=_logistic,
        check=_check_logistic,
        score="decision_function",
        threshold=0.0,
        weighs_classes=True,
    )
)
register(Family((PoissonRegressor,), learner=_poisson, check=one_alpha, counts=True))
