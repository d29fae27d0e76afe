"""The compiled kernels as Python sees them; `_selection.cpp` says what they do."""

import numpy as np
from numpy.typing import NDArray

from unswayed._typing import FloatArray, IntArray

most_lanes: int

def reach(
    z: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    n_lower: FloatArray,
    n_upper: FloatArray,
    budget: float,
    up: FloatArray,
    down: FloatArray,
    /,
) -> None: ...
def extremes(
    z: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    n_lower: FloatArray,
    n_upper: FloatArray,
    budget: float,
    sign: float,
    reached: FloatArray,
    index: IntArray,
    amount: FloatArray,
    length: IntArray,
    /,
) -> None: ...
def minimum_budget(
    z: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    n_lower: FloatArray,
    n_upper: FloatArray,
    margin_up: FloatArray,
    margin_down: FloatArray,
    count: FloatArray,
    before: FloatArray,
    after: FloatArray,
    /,
) -> None: ...
def product(
    start: IntArray,
    feature: NDArray[np.int32],
    value: FloatArray,
    ones: bool,
    weights: FloatArray,
    out: FloatArray,
    /,
) -> None: ...
def tally(
    z: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    row: IntArray,
    sign: FloatArray,
    threshold: FloatArray,
    count: IntArray,
    high: FloatArray,
    low: FloatArray,
    /,
) -> None: ...
def collect(
    z: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    row: IntArray,
    sign: FloatArray,
    floor: FloatArray,
    ceiling: FloatArray,
    following: IntArray,
    index: IntArray,
    value: FloatArray,
    /,
) -> None: ...
def paths() -> list[str]: ...
def path() -> str: ...
def use(name: str, /) -> None: ...
