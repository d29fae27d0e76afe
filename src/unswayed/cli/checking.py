"""What checking a certificate file will take, said when the file is written."""

from unswayed.study.recipe import CertificateSize
from unswayed.verify import MOST_NUMBERS, seconds_to_check

_PATIENCE = 60.0  # seconds: a shorter wait is not worth a word
_HOUR = 3600.0


def checking_time(size: CertificateSize) -> str | None:
    """Return a remark on how long `unswayed verify` will take, or that it will refuse the file.

    Parameters
    ----------
    size : CertificateSize

    Returns
    -------
    str or None
        None if it takes less than a minute.
    """
    numbers = (size.n_rows + size.n_claims) * (size.n_features + 4)
    if numbers > MOST_NUMBERS:
        return (
            f"unswayed verify will refuse this file, which is about {numbers:,} numbers: it reads "
            f"at most {MOST_NUMBERS:,}; certify fewer rows at a time"
        )
    found = seconds_to_check(size.n_rows, size.n_features, size.n_claims, size.n_exact)
    if found <= _PATIENCE:
        return None
    length = f"{found / 60:.0f} minutes" if found < 2 * _HOUR else f"{found / _HOUR:.0f} hours"
    why = ""
    if size.n_exact:
        why = (
            f", since {size.n_exact:,} of its claims were settled in rational arithmetic and have "
            "to be proven so"
        )
    return f"unswayed verify will take about {length} to check this{why}"
