"""What can go wrong, said so that the reader knows what to pass instead."""


class UnswayedError(ValueError):
    """Base of every error this package raises on purpose."""


class BiasError(UnswayedError):
    """A bias model that is not one: a budget, mask or interval that makes no sense."""


class InputError(UnswayedError):
    """Features, labels or test rows that cannot be certified."""


class ArithmeticModeError(UnswayedError):
    """The processor is set to arithmetic that no proof here is about."""


class KernelError(UnswayedError):
    """A selection kernel was asked for that this machine does not have."""


class NotLinearError(UnswayedError):
    """An estimator whose score is not a linear function of its training labels."""


class LabelPeekError(NotLinearError):
    """A step or search that looks at the labels, which would make the certificate false."""


class SolverPrecisionWarning(UserWarning):
    """The wrapped estimator's own solver stopped short of the solution that is certified."""


class UnprovenWarning(SolverPrecisionWarning):
    """A problem too close to singular for proofs in doubles: every verdict is undecided."""
