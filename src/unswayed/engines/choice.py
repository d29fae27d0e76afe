"""The engine of a model, chosen by the functional that its scores are of the labels."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from unswayed._typing import FloatArray
from unswayed.engines.cascade import Cascade
from unswayed.engines.protocol import Certifier, Engine
from unswayed.engines.region.engine import SecantEngine
from unswayed.engines.selection import ExactEngine
from unswayed.engines.sparse import SparseEngine
from unswayed.labels.bias import ResolvedBias
from unswayed.labels.functionals import Functional, InGradient, Linear
from unswayed.models.gradient.family import GradientLearner
from unswayed.models.learner import Learner, LinearInLabels, Solution


@dataclass(frozen=True, eq=False)
class Trained:
    """A model that was trained on labels, and the engine that bounds its scores under a bias."""

    learner: Learner
    solution: Solution
    engine: Engine
    auto: Certifier | None = None  # the method "auto", where it is not the engine itself


Maker = Callable[[Any, FloatArray, ResolvedBias], Trained]


def _selection(learner: LinearInLabels, labels: FloatArray, bias: ResolvedBias) -> Trained:
    engine = SparseEngine(learner, bias) if learner.sparse else ExactEngine(learner, bias)
    return Trained(learner, learner.solve(labels), engine, Cascade(engine))


def _region(learner: GradientLearner, labels: FloatArray, bias: ResolvedBias) -> Trained:
    centre = learner.centre(labels)
    engine = SecantEngine(learner, labels, centre, bias)
    return Trained(learner, learner.solution(centre), engine)


_ENGINES: dict[type[Functional], Maker] = {Linear: _selection, InGradient: _region}


def register_engine(functional: type[Functional], maker: Maker) -> None:
    """Register how models are trained and bounded whose scores are functionals of a kind."""
    _ENGINES[functional] = maker


def trained(learner: Learner, labels: FloatArray, bias: ResolvedBias) -> Trained:
    """Train a model on labels, and prepare its engine."""
    return _ENGINES[learner.functional](learner, labels, bias)
