"""What can go wrong, said so that the reader knows what to pass instead."""


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
    >>> from sklearn.linear_model import RidgeCV
    >>> from unswayed import CertifiedRegressor, LabelBias, LabelPeekError
    >>> model = CertifiedRegressor(RidgeCV(), bias=LabelBias.shifts(1, budget=1), radius=1)
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
    Where a warning should stop the program:

    >>> import warnings
    >>> from unswayed import SolverPrecisionWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", SolverPrecisionWarning)
    """


class UnprovenWarning(SolverPrecisionWarning):
    """A problem too close to singular for proofs in doubles: every verdict is undecided."""
