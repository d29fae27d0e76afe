"""Generated data sets: a demographic one and a synthetic one."""

import numpy as np
from sklearn.utils import Bunch

from unswayed.datasets.registry import pandas
from unswayed.exceptions import InputError

_DESCR = """\
Synthetic majority and minority
-------------------------------
{n_samples} rows, half of each class, {n_minority} of them of the minority group, made by a seeded
generator after the paper's appendix D.2. Each of the four combinations of group and class is a
normal cloud in the plane with variances 0.5 and covariance 0.1 around

majority, class 1   (-1, 1)      majority, class 0   (2, -1)
minority, class 1   (-2, 1)      minority, class 0   (1, -1)

(means and covariances as the authors' repository has them). The third column marks the majority.

data      x1, x2, majority (0 or 1)
target    0 or 1
group     "majority" or "minority"

Licence: none needed, nothing in it is real.
"""

_MEANS = {(1, 1): (-1, 1), (0, 1): (-2, 1), (1, 0): (2, -1), (0, 0): (1, -1)}  # majority, class
_COVARIANCE = ((0.5, 0.1), (0.1, 0.5))


def make_demographic(
    minority: float = 0.1, *, n_samples: int = 4000, random_state: int | None = 0
) -> Bunch:
    """Make the paper's two-group data set (appendix D.2).

    Parameters
    ----------
    minority : float
        The minority's share of the rows, above 0 and at most 0.5.
    n_samples : int
        Rows; half of them of each class.
    random_state : int or None
        Seed.

    Returns
    -------
    Bunch
        `data` (frame), `target` (0/1), `group` ("majority"/"minority"), `DESCR`.

    Examples
    --------
    >>> people = make_demographic(0.05)
    >>> people.data.shape, (people.group == "minority").mean().item()
    ((4000, 3), 0.05)
    """
    if not 0 < minority <= 0.5:
        raise InputError(f"minority must be a share above 0 and at most 0.5, got {minority!r}")
    per_class = n_samples // 2
    few = round(minority * per_class)
    if few < 1 or few >= per_class:
        raise InputError(
            f"{n_samples} rows with a minority of {minority!r} leave a group without a row per "
            "class; ask for more rows"
        )
    rng = np.random.default_rng(random_state)
    clouds, majority, target = [], [], []
    for (of_majority, label), mean in _MEANS.items():
        size = per_class - few if of_majority else few
        clouds.append(rng.multivariate_normal(mean, _COVARIANCE, size))
        majority.append(np.full(size, of_majority))
        target.append(np.full(size, label))
    points, marks = np.vstack(clouds), np.concatenate(majority)
    frame = pandas().DataFrame({"x1": points[:, 0], "x2": points[:, 1], "majority": marks})
    return Bunch(
        data=frame,
        target=np.concatenate(target),
        group=np.where(marks == 1, "majority", "minority"),
        DESCR=_DESCR.format(n_samples=2 * per_class, n_minority=2 * few),
    )


# ----------------------------------------------------------------------------------------
# The paper's synthetic classes: normal features, some of which tell the classes apart.

_SYNTHETIC_DESCR = """\
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
        DESCR=_SYNTHETIC_DESCR.format(
            n_samples=n_samples, n_features=n_features, positive=positive, negative=negative
        ),
    )
