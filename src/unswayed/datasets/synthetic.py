"""The paper's synthetic classes: normal features, some of which tell the classes apart."""

import numpy as np
from sklearn.utils import Bunch

from unswayed.datasets._frames import pandas
from unswayed.exceptions import InputError

_DESCR = """\
Synthetic classes
-----------------
{n_samples} rows, half of each class, made by a seeded generator after the paper's appendix D.2:
{n_features} independent normal features of variance 1, whose means are

class 1    {positive}
class 0    {negative}

Licence: none needed, nothing in it is real.
"""

# The paper's text gives feature 2 the mean 1 for both classes; the authors' generator, which
# made its tables, has 0. It matters only to a model without an intercept.
_POSITIVE = (0.5, 0.0, -0.5, 1.0, 0.0)
_NEGATIVE = (-0.5, 0.0, 0.5, -1.0, 0.0)


def make_synthetic(
    n_samples: int = 1000, n_features: int = 3, *, random_state: int | None = 0
) -> Bunch:
    """Make one of the paper's synthetic data sets (appendix D.2).

    Parameters
    ----------
    n_samples : int
        Rows; half of them of each class.
    n_features : int
        3, 4 or 5 in the paper; 1 to 5 here.
    random_state : int or None
        Seed.

    Returns
    -------
    Bunch
        `data` (frame), `target` (0/1), `DESCR`.

    Examples
    --------
    >>> synthetic = make_synthetic(200, 5)
    >>> synthetic.data.shape, synthetic.target.mean().item()
    ((200, 5), 0.5)
    """
    if not 1 <= n_features <= len(_POSITIVE):
        raise InputError(f"n_features must be 1 to {len(_POSITIVE)}, got {n_features!r}")
    if n_samples < 2 or n_samples % 2:
        raise InputError(f"n_samples must be even and positive, got {n_samples!r}: half per class")
    positive, negative = _POSITIVE[:n_features], _NEGATIVE[:n_features]
    rng = np.random.default_rng(random_state)
    target = np.repeat([0, 1], n_samples // 2)
    rows = rng.standard_normal((n_samples, n_features))
    rows += np.where(target[:, None] == 1, positive, negative)
    names = [f"x{number}" for number in range(1, n_features + 1)]
    return Bunch(
        data=pandas().DataFrame(rows, columns=names),
        target=target,
        DESCR=_DESCR.format(
            n_samples=n_samples, n_features=n_features, positive=positive, negative=negative
        ),
    )
