"""Coefficients of a fitted model, and contrasts: linear combinations of them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from unswayed._typing import Matrix
from unswayed.engines.protocol import Terms
from unswayed.estimators.fitted import Fitted
from unswayed.estimators.question import Question
from unswayed.exceptions import InputError
from unswayed.inputs import dense, refuse_masked
from unswayed.labels.budgets import Budget
from unswayed.margins.decisions import Decision, Sign
from unswayed.models.learner import Parametric
from unswayed.results.certificates import CertificateSet
from unswayed.words import shorten, suggest

_TERMS = 4  # of a contrast whose name lists them
_EXAMPLE = (
    "pass {'female - male': {'female': 1, 'male': -1}}, or a matrix of one row per contrast and "
    "one column per coefficient"
)


def coefficients_of(
    fitted: Fitted,
    budget: Budget,
    *,
    resolve: bool,
    effort: int | None = None,
    contrasts: tuple[Matrix, tuple[str, ...]] | None = None,
) -> tuple[CertificateSet, tuple[str, ...]] | None:
    """Return certificates of the coefficients, or of contrasts of them, and their names."""
    if "coefficients" not in fitted.learner.capabilities:
        return None
    if effort is not None:
        fitted.need("effort", f"effort={effort!r}")
    names = fitted.names if contrasts is None else contrasts[1]
    question = coefficient_question(fitted, contrasts, resolve=resolve, effort=effort)
    return question.certificates(question.case.answer(budget), budget, names), names


def coefficient_question(
    fitted: Fitted,
    contrasts: tuple[Matrix, tuple[str, ...]] | None,
    *,
    decision: Decision | None = None,
    resolve: bool = False,
    effort: int | None = None,
) -> Question:
    """Put the coefficients, or contrasts of them, to a fitted model: by default, their signs."""
    rows = fitted.engine.coefficients(None if contrasts is None else contrasts[0])
    terms = Terms(
        decision or Sign(),
        fitted.targets,
        fitted.model.solution,
        alone=contrasts is not None,  # all coefficients are one batch, always the same
        resolve=resolve,
        effort=effort,
    )
    every = np.arange(len(rows))
    return Question.of(fitted, fitted.model, rows, terms, group=every, origin=fitted.like)


def as_contrasts(
    given: Any, learner: Parametric, names: tuple[str, ...]
) -> tuple[Matrix, tuple[str, ...]]:
    """Read contrasts and name them."""
    if isinstance(given, Mapping):
        called = tuple(map(str, given))
        weights = _from_mapping(given, names)
    else:
        weights = _as_matrix(given, len(names))
        called = tuple(_called(weights[[row]], names, row) for row in range(weights.shape[0]))
    if not weights.shape[0]:
        raise InputError(f"there are no contrasts; {_EXAMPLE}")
    _check(weights, learner, called)
    weights.eliminate_zeros()
    weights.sort_indices()
    return weights, called


def _from_mapping(given: Mapping[Any, Any], names: tuple[str, ...]) -> Matrix:
    where = {name: at for at, name in enumerate(names)}
    entries: list[tuple[int, int, float]] = []
    for row, (called, terms) in enumerate(given.items()):
        if not isinstance(terms, Mapping):
            raise InputError(f"contrast {called!r} is {terms!r}; {_EXAMPLE}")
        for name, weight in terms.items():
            if name not in where:
                raise InputError(
                    f"contrast {called!r}: there is no feature {shorten(str(name))!r}; "
                    f"{suggest(str(name), list(names), 'features')}"
                )
            if names.count(name) > 1:
                raise InputError(
                    f"contrast {called!r}: {names.count(name)} features are called "
                    f"{shorten(str(name))!r}; pass a matrix of one column per coefficient"
                )
            entries.append((row, where[name], _number(weight, called)))
    rows, columns, values = zip(*entries, strict=True) if entries else ((), (), ())
    shape = (len(given), len(names))
    return sparse.csr_array((np.array(values, dtype=float), (rows, columns)), shape=shape)


def _number(weight: Any, called: Any) -> float:
    try:
        return float(weight)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"contrast {called!r} counts a coefficient {weight!r} times; pass a number"
        ) from None


def _as_matrix(given: Any, width: int) -> Matrix:
    refuse_masked(given, "contrasts")
    try:
        values = given if sparse.issparse(given) else np.asarray(given, dtype=np.float64)
        found = sparse.csr_array(values, dtype=np.float64, copy=True)
        found.sum_duplicates()
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"contrasts must hold numbers; {_EXAMPLE}") from None
    if found.ndim != 2 or found.shape[1] != width:
        raise InputError(
            f"contrasts have the shape {values.shape}, but there are {width} coefficients; "
            f"{_EXAMPLE}"
        )
    return found


def _called(row: Matrix, names: tuple[str, ...], at: int) -> str:
    """Return a name for a contrast: its terms if they are few, else its number."""
    weights = dense(row)[0]
    used = np.flatnonzero(weights)
    if len(used) > _TERMS:
        return f"contrast {at}"
    terms = [(float(weights[j]), names[j]) for j in sorted(used, key=lambda j: weights[j] < 0)]
    text = ""
    for weight, name in terms:
        size = "" if abs(weight) == 1 else f"{abs(weight):g} "
        sign = "-" if weight < 0 else "+"
        text += f" {sign} {size}{name}" if text else f"{'-' if weight < 0 else ''}{size}{name}"
    return text


def _check(weights: Matrix, learner: Parametric, names: tuple[str, ...]) -> None:
    """Raise for contrasts of nothing, and for numbers that scaling by powers of two would round."""
    values, scale = weights.data, learner.parameter_scale[weights.indices]
    with np.errstate(all="ignore"):
        kept = (values * scale) / scale == values
    fine = np.isfinite(values) & np.isfinite(values * scale) & kept
    if not fine.all():
        wrong = float(values[~fine][0])
        raise InputError(
            f"contrasts hold {wrong!r}, which is not finite or too large or small for exact "
            "scaling; only ratios matter, so pass numbers near 1"
        )
    empty = np.flatnonzero(np.asarray(abs(weights).sum(axis=1)).ravel() == 0)
    if len(empty):
        raise InputError(
            f"contrast {names[empty[0]]!r} counts no coefficient, so it is 0 whatever the labels "
            f"are; {_EXAMPLE}"
        )
