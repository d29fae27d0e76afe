"""The independent checker of certificate files.

It proves every claim of a file again from the data alone: in floating point with error bounds of
its own, and where these leave something open, in integers of any size. It shares no code with the
engine that made the file: it imports nothing else of this package (a contract in pyproject.toml
enforces that), only Python's standard library, NumPy, and pyarrow to read Parquet files. Read it in
this order:

`limits`     how much memory may be used for what; checked before it is used
`document`   reads a certificate file and checks it against the schema
`data`       reads training and test rows and compares them with the hashes in the certificate:
             from `arrays`, or from `tables` (and `parquet`) by way of `cells`, into a `matrix`
`question`   puts in words what was asked, with `columns` for features and `words` for numbers
`judging`    compares a claim with what is known of its row
`floating`   what is known from doubles with error bounds
`exact`      what is true, worked out in `integers`; `influence` has the mathematics
`claims`     puts it together: bounds first, exact arithmetic for the rest
`collective` the same for a claim about all rows together
`duration`   how long all that will take
"""

from unswayed.verify.claims import Report, verify
from unswayed.verify.document import schema_text
from unswayed.verify.duration import seconds_to_check
from unswayed.verify.integers import Track
from unswayed.verify.limits import MOST_NUMBERS, CertificateError

__all__ = [
    "MOST_NUMBERS",
    "CertificateError",
    "Report",
    "Track",
    "schema_text",
    "seconds_to_check",
    "verify",
]
