"""What can go wrong, said so that the reader knows what to pass instead."""

import sys
import warnings
from types import FrameType


class UnswayedError(ValueError):
    """Base of every error this package raises on purpose.

    Examples
    --------
    One `except` for all of them:

    >>> from unswayed import LabelBias, UnswayedError
    >>> try:
    ...     LabelBias.flips(budget=-1)
    ... except UnswayedError as error:
    ...     print(type(error).__name__)
    BiasError
    """


class BiasError(UnswayedError):
    """A bias model that is not one: a budget, mask or interval that makes no sense.

    Examples
    --------
    >>> from unswayed import LabelBias
    >>> try:
    ...     LabelBias.flips(budget=1.5)
    ... except BiasError as error:
    ...     print(str(error)[:66])
    budget 1.5 is a float of 1 or more, which is neither a count nor a
    """


class InputError(UnswayedError):
    """Features, labels or test rows that cannot be certified.

    Examples
    --------
    >>> from unswayed import robustness_curve
    >>> try:
    ...     robustness_curve([])
    ... except InputError as error:
    ...     print(error)
    minimum_budget must hold one number per row, for at least one row
    """


class ArithmeticModeError(UnswayedError):
    """The processor is set to arithmetic that no proof here is about.

    Examples
    --------
    Some libraries switch the whole process to arithmetic that drops tiny numbers; `certify` then
    refuses to go on. It can be told apart from bad input:

    >>> from unswayed import ArithmeticModeError, InputError
    >>> issubclass(ArithmeticModeError, InputError)
    False
    """


class KernelError(UnswayedError):
    """A selection kernel was asked for that this machine does not have."""


class NotLinearError(UnswayedError):
    """An estimator whose score is not a linear function of its training labels.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from unswayed import CertifiedClassifier, LabelBias, NotLinearError
    >>> model = CertifiedClassifier(DecisionTreeClassifier(), bias=LabelBias.flips(budget=1))
    >>> try:
    ...     model.fit([[0], [1]], [0, 1])
    ... except NotLinearError:
    ...     print("not linear in its labels")
    not linear in its labels
    """


class LabelPeekError(NotLinearError):
    """A step or search that looks at the labels, which would make the certificate false.

    Examples
    --------
    >>> from sklearn.linear_model import LassoCV
    >>> from unswayed import CertifiedRegressor, LabelBias, LabelPeekError
    >>> model = CertifiedRegressor(LassoCV(), bias=LabelBias.shifts(1, budget=1), radius=1)
    >>> try:
    ...     model.fit([[0], [1], [2]], [0, 1, 3])
    ... except LabelPeekError:
    ...     print("alpha would depend on the labels")
    alpha would depend on the labels
    """


class SolverPrecisionWarning(UserWarning):
    """The wrapped estimator's own solver stopped short of the solution that is certified.

    Examples
    --------
    To stop the program at this warning:

    >>> import warnings
    >>> from unswayed import SolverPrecisionWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", SolverPrecisionWarning)
    """


class UnprovenWarning(SolverPrecisionWarning):
    """A problem too close to singular for proofs in doubles: every verdict is undecided."""


class VacuousWarning(UserWarning):
    """A certificate that is true and proves next to nothing.

    The budget is a share that rounds down to no label at all, or the model says the same of
    (almost) every row: always saying it would be as robust.

    Examples
    --------
    >>> import warnings
    >>> from sklearn.linear_model import Ridge
    >>> from unswayed import CertifiedClassifier, LabelBias, VacuousWarning
    >>> model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=0.1))
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", VacuousWarning)
    ...     _ = model.fit([[0], [1], [2]], [0, 1, 1])
    >>> print(caught[0].message)
    budget 0.1 of 3 training rows is less than one label, so that nothing is put to the test and
    everything is robust; pass 0.334 or more, or an int for a count of labels
    """


_INSIDE = ("unswayed.", "contextlib")  # decorators are of the latter


def warn_asker(message: str, category: type[Warning]) -> None:
    """Warn, naming the line outside this package that asked."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _name(frame).startswith(_INSIDE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _name(frame: FrameType) -> str:
    """Return the module a frame is of; code run by `exec` may be of none."""
    return str(frame.f_globals.get("__name__"))
