"""How long checking a certificate will take, roughly, before anybody starts."""

# Seconds on one busy core of an AMD EPYC, from `python -m benchmarks.checker`.
_READING = 1e-6  # per number of the data
_EQUATIONS = 4e-9  # per training row and pair of features
_PRODUCT = 4e-10  # per claim, training row and feature
_SELECTION = 3e-8  # per claim and training row
_EXACT = 1e-6  # per exact claim, training row and feature


def seconds_to_check(n_rows: int, n_features: int, n_claims: int, n_exact: int = 0) -> float:
    """Return an estimate of how many seconds `verify` takes, good to a factor of about three.

    Exact arithmetic is estimated for features that are not whole numbers, its worst ordinary case.

    Examples
    --------
    >>> round(seconds_to_check(32_000, 108, 3_000))
    12
    >>> round(seconds_to_check(32_000, 108, 3_000, n_exact=100) / 60)
    6
    """
    found = _READING * (n_rows + n_claims) * (n_features + 4)
    found += _EQUATIONS * n_rows * n_features**2
    found += n_claims * n_rows * (_PRODUCT * n_features + _SELECTION)
    return found + _EXACT * n_exact * n_rows * n_features
