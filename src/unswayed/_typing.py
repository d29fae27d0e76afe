"""Names for the arrays that travel through the package."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.intp]
BoolArray: TypeAlias = NDArray[np.bool_]
Matrix: TypeAlias = Any
"""A float64 matrix, dense (C order) or scipy-sparse (CSR)."""
