"""What the engine needs of a model that is linear in its labels."""

from typing import Protocol

from unswayed._core.influence import Weights
from unswayed._typing import FloatArray, Matrix
from unswayed.learners.accuracy import Accuracy, Scores, Solution
from unswayed.learners.definition import Definition


class Learner(Protocol):
    """A model trained on features; its labels come later, because only the score needs them.

    The influence of the n training labels on the score at a row x is
    ``row_scale * (design @ weights(x))``, or ``weights(x)`` itself where `design` is None: as
    computed, which `accuracy` compares with the definition.
    """

    n_rows: int
    definition: Definition
    accuracy: Accuracy

    @property
    def design(self) -> Matrix | None:
        """The (n, m) matrix A, dense or CSR."""
        ...

    @property
    def row_scale(self) -> FloatArray | None:
        """Nonnegative factors of the influence of each row."""
        ...

    def weights(self, inputs: Matrix) -> Weights:
        """Weight vectors of rows, as `inputs` gives them."""
        ...

    def inputs(self, rows: Matrix) -> Matrix:
        """Feature rows as the definition sees them: features, kernel rows or influence rows."""
        ...

    def solve(self, labels: FloatArray) -> Solution:
        """Train on `labels`; linear in them."""
        ...

    def scores(self, inputs: Matrix, solution: Solution) -> Scores:
        """Scores of rows, as `inputs` gives them, given what `solve` returned."""
        ...


class LinearLearner(Learner, Protocol):
    """A learner whose score is also linear in the features: score = parameters · direction(x).

    Parameters are what `solve` returns: the coefficients, and with an intercept the mean
    prediction after them. They are scaled by powers of two, so that features of any unit are
    treated alike: parameter j counts in units of ``parameter_scale[j]``.
    """

    n_features: int
    parameter_scale: FloatArray

    @property
    def n_parameters(self) -> int:
        """How many parameters there are."""
        ...

    def directions(self, rows: Matrix) -> FloatArray:
        """Feature rows as directions in parameter space, one row each.

        Every entry has a relative error of one rounding at most.
        """
        ...

    def direction_sizes(self, directions: FloatArray) -> FloatArray:
        """Sizes of directions, rounded up."""
        ...

    def direction_scores(self, directions: FloatArray, solution: Solution) -> Scores:
        """Scores of directions: what parameters make of them."""
        ...

    def direction_weights(self, directions: FloatArray) -> Weights:
        """Weight vectors of directions: linear in them, up to rounding."""
        ...
