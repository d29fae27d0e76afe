"""Problems at the edge of the doubles, where something underflows that is not 0."""

import numpy as np
import pytest

from tests.soundness.cases import Problem
from tests.soundness.checks import lies


def problem(X, targets, tests, *, lower=-1.0, upper=1.0, **more):
    ones = np.ones(len(X))
    known = {"budget": 1, "fit_intercept": False, "radius": 0.5, **more}
    if "weight" in known:
        known["weight"] = np.array(known["weight"])
    return Problem(
        "edge",
        0,
        np.array(X),
        np.array(targets),
        np.array(tests),
        lower * ones,
        upper * ones,
        **known,
    )


HUGE = {"lower": -1e290, "upper": 1e290, "radius": 1e-40}
TALL = ([[1e300, 0.0], [-1e300, 1.0], [1e300, 2.0]], [1e300, -1e300, 5e299], [[1e-30, 0.0]])
KERNEL = {"kind": "kernel-ridge", "kernel": {"kernel": "precomputed"}}

HUGE_LABEL, LOST_WEIGHT = [0.0, 0.0, 0.0, -1e308], [1e300, 1e300, 1e300, 1e-30]

EDGES = {
    "a test row underflows": problem(*TALL, **HUGE),
    "a sparse test row underflows": problem(*TALL, sparse=True, **HUGE),
    "a test row underflows, more columns than rows": problem(
        [[1e300, 0.0, 0.0], [-1e300, 1e300, 2e299]], [1e300, -1e300], [[1e-30, 0.0, 0.0]], **HUGE
    ),
    "a kernel row underflows": problem(
        [[1e200, 1e199], [1e199, 1e200]],
        [1.0, -1.0],
        [[1e-180, 1e-180]],
        alpha=1e180,
        **HUGE,
        **KERNEL,
    ),
    "a weight underflows": problem(
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [1.0, 2.0], [[0.0, 3.0, 0.0]], weight=[1e300, 1e-300]
    ),
    "labels underflow in the units of a row without weight": problem(
        [[2.0**440], [1.0], [1.0]],
        [0.0, 2.0**-640, 2.0**-640],
        [[1.0]],
        weight=[0.0, 1.0, 1.0],
        lower=-(2.0**-650),
        upper=2.0**-650,
        radius=2.0**-650,
    ),
    "the square of a reach underflows": problem(
        [[1.0], [1.0]], [0.0, 0.0], [[1e-150]], lower=-1e-16, upper=1e-16, radius=1e-167
    ),
    "a direction is subnormal": problem(
        [[2.0**499], [2.0**499]],
        [0.0, 0.0],
        [[2.0**-570 * (1 + 1 / 64)]],
        lower=-(2.0**800),
        upper=2.0**800,
        radius=2.0**-270 * (1 + 1 / 128),
    ),
    "a weight is lost beside a larger one": problem(
        [[1.0], [2.0], [3.0], [1.0]],
        HUGE_LABEL,
        [[1.0]],
        weight=LOST_WEIGHT,
        fit_intercept=True,
        lower=-1e-300,
        upper=1e-300,
        radius=1e-30,
    ),
    "a weight is lost beside a larger one, sparse rows": problem(
        [[1.0], [2.0], [3.0], [1.0]],
        HUGE_LABEL,
        [[1.0]],
        weight=LOST_WEIGHT,
        sparse=True,
        lower=-1e-300,
        upper=1e-300,
        radius=1e-30,
    ),
    "a kernel row is that of a lost weight, and no label may be wrong": problem(
        np.eye(3),
        [1.0, 0.0, 1.0],
        np.eye(3),
        weight=[1e-200, 1e200, 1e200],
        radius=None,
        budget=0,
        **KERNEL,
    ),
    "a kernel row is that of a lost weight, and all labels are safe": problem(
        np.eye(3),
        [1.0, 0.0, 1.0],
        np.eye(3),
        weight=[1e-200, 1e200, 1e200],
        alpha=1e-220,
        radius=None,
        lower=0.0,
        upper=0.0,
        **KERNEL,
    ),
    "a training row underflows and has a huge label": problem(
        [[1e-60], [1e270]],
        [1e308, 0.0],
        [[1e270]],
        weight=[1.0, 0.0],
        alpha=1e300,
        lower=-1e-200,
        upper=1e-200,
    ),
    "a share of the mean underflows and has a huge label": problem(
        [[1.0] * 5] * 4,
        [0.0, 0.0, 0.0, 1e308],
        [[1.0] * 5],
        weight=[1.0, 1.0, 1.0, 5e-324],
        fit_intercept=True,
        alpha=1.0,
        lower=-1e-200,
        upper=1e-200,
        radius=1e-30,
    ),
    "offsets overflow in the units of the weights": problem(
        [[1.0], [0.0]],
        [0.0, 0.0],
        [[1.0]],
        weight=[1.9, 1.0],
        lower=-1.5e308,
        upper=1.5e308,
        radius=1.7e308,
    ),
    "the largest weight is beyond half of all doubles": problem(
        [[1.0], [0.0]],
        [0.0, 0.0],
        [[1.0]],
        weight=[1.7e308, 1.0],
        lower=-1.5e308,
        upper=1.5e308,
        radius=1.7e308,
    ),
    "a cutting plane meets a row and is subnormal": problem(
        [[1.0], [2.0], [4.0]],
        [0.0, 0.0, 0.0],
        [[2.0**-500], [3 * 2.0**-501]],
        lower=-5 * 2.0**-573,
        upper=5 * 2.0**-573,
        radius=2.0**-1070,
    ),
    "a witness's score is beyond the doubles": problem(
        [[0.0]], [1e308], [[1.0]], kind="smoother", lower=-1e308, upper=1e308
    ),
}


@pytest.mark.parametrize("edge", EDGES)
def test_nothing_is_false_where(edge):
    assert lies(EDGES[edge])[0] == []


def test_a_box_that_is_resolved_keeps_both_inner_ends():
    X = [[0.0], [0.3]]
    found = problem(X, [3.0, 3.0], [[0.6]], lower=-3.0, alpha=0.1, fit_intercept=True)
    model = found.fitted()
    boxed = model.certify(found.tests, method="box", resolve="exact")
    exact = model.certify(found.tests, method="exact")
    assert boxed.inner_low == exact.inner_low
    assert boxed.inner_high == exact.inner_high


def test_a_witness_that_is_resolved_is_the_smallest_whatever_is_asked_first():
    # Two labels move the score by 2/3, which is more than the double nearest to it.
    found = problem([[1.0]] * 3, [0.0] * 3, [[1.0]], budget=3, radius=2 / 3)
    model = found.fitted()
    assert not model.certify(found.tests).minimum_budget_proven[0]
    assert len(model.certify(found.tests, resolve="exact").witness(0)) == 2
