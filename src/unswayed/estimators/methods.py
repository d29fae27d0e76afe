"""Methods: the certifiers of a fitted model, by name or built beforehand."""

from collections.abc import Callable
from typing import Any, TypeAlias

from unswayed.engines.anchors import (
    MAX_ANCHORS,
    ByBox,
    BySandwich,
    ParameterBox,
    Sandwich,
    check_budget,
)
from unswayed.engines.choice import Trained
from unswayed.engines.protocol import Certifier
from unswayed.estimators.fitted import Fitted
from unswayed.exceptions import InputError
from unswayed.labels.budgets import Budget
from unswayed.margins.decisions import Decision
from unswayed.models.learner import linear_in_both

METHODS = ("auto", "exact", "sandwich", "box")
Method: TypeAlias = str | ParameterBox | Sandwich | Certifier


def check_method(method: Method) -> None:
    """Raise unless `method` is the name of a method, or has the fingerprint that bounds carry."""
    known = isinstance(method, str) and method in METHODS
    if not known and (isinstance(method, type | str) or not hasattr(method, "fingerprint")):
        raise InputError(f"method must be one of {', '.join(METHODS)}, got {method!r}")


def certifier_of(
    fitted: Fitted, asked: Trained, decision: Decision, budget: Budget, method: Method
) -> Certifier | None:
    """Return the certifier that a method means; None for the engine itself."""
    boxed = (
        method in ("box", "sandwich")
        if isinstance(method, str)
        else isinstance(method, ParameterBox | Sandwich)
    )
    if boxed and asked is not fitted.model:
        raise InputError(
            "bounds on coefficients do not bound scores that are measured from the mean of the "
            "labels, as they are with threshold='balanced': use method='exact' or 'auto'"
        )
    build: dict[str, Callable[[], Method | None]] = {
        "exact": lambda: None,
        "auto": lambda: asked.auto,
        "box": lambda: parameter_box(fitted, budget),
        "sandwich": lambda: sandwich(fitted, decision, budget, MAX_ANCHORS),
    }
    made = build[method]() if isinstance(method, str) else method
    if made is None:
        return None
    assert not isinstance(made, str)  # noqa: S101  (tells mypy)
    _check_origin(asked, made, budget)
    if isinstance(made, ParameterBox):
        return ByBox(made, linear_in_both(fitted.learner))
    return BySandwich(made) if isinstance(made, Sandwich) else made


def _check_origin(
    asked: Trained, bounds: ParameterBox | Sandwich | Certifier, budget: Budget
) -> None:
    if bounds.fingerprint != asked.engine.fingerprint:
        raise InputError(
            f"this {type(bounds).__name__} was built from another model or bias than this one; "
            "bounds prove nothing beyond what they were built from: build one from this model"
        )
    if isinstance(bounds, ParameterBox | Sandwich):
        check_budget(bounds, budget)


def parameter_box(fitted: Fitted, budget: Budget) -> ParameterBox:
    """Build the box of all parameters a budget can lead to."""
    learner, names = linear_in_both(fitted.learner, type(fitted.final).__name__), fitted.names
    names += ("mean prediction",) * (learner.n_parameters - len(names))
    return ParameterBox.build(_anchored(fitted), budget, fitted.model.solution, names)


def sandwich(fitted: Fitted, decision: Decision, budget: Budget, max_anchors: int) -> Sandwich:
    """Build anchors and boxes that bound the range of every row from both sides."""
    if "anchors" not in fitted.parametric.capabilities:
        raise InputError(
            "there are fewer training rows than features, so that exact certificates are "
            "cheaper than any bound: use method='exact'"
        )
    made = Sandwich(_anchored(fitted), budget, max_anchors)
    return made.choose_anchors(fitted.model.solution, decision)


def _anchored(fitted: Fitted) -> Any:
    """Return the engine, which evaluates anchors if it offers bounds at all."""
    fitted.need("bounds", "a bound on coefficients")
    return fitted.engine
