"""What the engine needs of a model that is linear in its labels."""

from typing import Protocol

from unswayed._typing import FloatArray, Matrix
from unswayed.learners.definition import Definition


class Learner(Protocol):
    """A model trained on features; its labels come later, because only the score needs them.

    The influence of the n training labels on the score at a row x is
    ``row_scale * (design @ weights(x))``, or ``weights(x)`` itself where `design` is None.
    """

    n_rows: int
    definition: Definition
    residual: float  # relative, of its equations on a probe: how well they were solved

    @property
    def design(self) -> Matrix | None:
        """The (n, m) matrix A, dense or CSR."""
        ...

    @property
    def row_scale(self) -> FloatArray | None:
        """Nonnegative factors of the influence of each row."""
        ...

    def weights(self, rows: Matrix) -> FloatArray:
        """Weight vectors of feature rows, one row each."""
        ...

    def inputs(self, rows: Matrix) -> Matrix:
        """Feature rows as the definition sees them: features, kernel rows or influence rows."""
        ...

    def solve(self, labels: FloatArray) -> FloatArray:
        """What training on `labels` leaves to remember; linear in them."""
        ...

    def scores(self, rows: Matrix, solution: FloatArray) -> FloatArray:
        """Scores of feature rows, given what `solve` returned."""
        ...


class LinearLearner(Learner, Protocol):
    """A learner whose score is also linear in the features: score = parameters · direction(x).

    Parameters are what `solve` returns: the coefficients, and with an intercept the mean
    prediction after them.
    """

    n_features: int

    @property
    def n_parameters(self) -> int:
        """How many parameters there are."""
        ...

    def directions(self, rows: Matrix) -> FloatArray:
        """Feature rows as directions in parameter space, one row each."""
        ...

    def direction_weights(self, directions: FloatArray) -> FloatArray:
        """Weight vectors of directions: linear in them."""
        ...
