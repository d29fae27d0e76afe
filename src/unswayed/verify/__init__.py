"""The independent checker of certificate files.

It proves every claim of a file again from the data. It does not search: the file carries what was
found, and a residual, a threshold or a list of labels shows what follows from it, in floating point
with error bounds of its own, and where these leave something open, in integers of any size. It
shares no code with the engine that made the file: it imports nothing else of this package (a
contract in pyproject.toml enforces that), only Python's standard library, NumPy, and pyarrow to
read Parquet files. docs/checker.md leads through it; read it in this order:

`document`   reads a certificate file and the arrays beside it, strictly and in bounded memory
`data`       reads training and test rows and compares them with the hashes in the certificate,
             with `tables` for CSV files and cells, and `parquet`
`question`   puts in words what was asked, with `words` for numbers and texts
`budget`     what may be wrong at once: prices prove how far that moves a score
`facts`      what is known of a score, and what a claim about it follows from
`doubles`    what is assumed of floating point
`linear`     what labels do to a score: a residual proves a solution
`rational`   the same in fractions, for what doubles leave open
`classes`    three or more classes: a question about two of them for every rival
`votes`      votes over partitions: what follows from how members vote
`claims`     puts it together
`gradient`   logistic and Poisson regression
`collective` a claim about all rows together: a tree of cases proves a bound
`audit`      the e-values of a label audit, from its own file
"""

from unswayed.verify.claims import Report, verify
from unswayed.verify.document import MOST_NUMBERS, CertificateError, schema_text
from unswayed.verify.facts import Track

__all__ = [
    "MOST_NUMBERS",
    "CertificateError",
    "Report",
    "Track",
    "schema_text",
    "verify",
]
