"""The independent checker of certificate files.

It proves every claim of a file again from the data. It does not search: the file carries what was
found, and a residual, a threshold or a list of labels shows what follows from it, in floating point
with error bounds of its own, and where these leave something open, in integers of any size. It
shares no code with the engine that made the file: it imports nothing else of this package (a
contract in pyproject.toml enforces that), only Python's standard library, NumPy, and pyarrow to
read Parquet files. Read it in this order:

`limits`     how much memory may be used for what; checked before it is used
`document`   reads a certificate file and checks it against the schema
`data`       reads training and test rows and compares them with the hashes in the certificate:
             from `arrays`, or from `tables` (and `parquet`) by way of `cells`, into a `matrix`
`proof`      reads what the file carries to prove its claims
`question`   puts in words what was asked, with `columns` for features and `words` for numbers
`facts`      what is known of a score, and what a claim about it follows from
`doubles`    what is assumed of floating point
`given`      the data as arrays
`linear`     what each label does to a score: a residual proves a solution
`selection`  how far some labels move a score: a threshold proves a selection
`rational`   the same in fractions, for what doubles leave open
`claims`     puts it together
`gradient`   logistic and Poisson regression
`collective` a claim about all rows together: a tree of cases proves a bound
`duration`   how long all that will take
"""

from unswayed.verify.claims import Report, verify
from unswayed.verify.document import schema_text
from unswayed.verify.duration import seconds_to_check
from unswayed.verify.facts import Track
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
