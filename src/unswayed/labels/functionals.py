"""Functionals: numbers that depend on the labels, one per row; their type chooses the engine."""

from dataclasses import dataclass

from unswayed._typing import FloatArray, Matrix


class Functional:
    """Numbers that depend on the labels. Subclass it for a kind of your own."""


@dataclass(frozen=True, slots=True, eq=False)
class Linear(Functional):
    """Numbers that are linear in the labels: influence · labels."""

    influence: Matrix  # (m, n), dense or CSR: one row per number, one column per label
    targets: FloatArray  # the n labels, as numbers
    lower: FloatArray  # how far each label may fall, <= 0
    upper: FloatArray  # and rise, >= 0


@dataclass(frozen=True, slots=True, eq=False)
class InGradient(Functional):
    """Products of directions with parameters that make a gradient 0 which is linear in the labels.

    Logistic and Poisson regression are of this kind.
    """

    directions: FloatArray  # (m, p)
