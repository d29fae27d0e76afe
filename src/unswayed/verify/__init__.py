"""The independent checker of certificate files.

It re-proves every claim of a file from the data alone, in integers of any size, and shares no
code with the engine that made the file: it imports nothing else of this package (a contract in
pyproject.toml enforces that), only Python's standard library, and pyarrow to read Parquet files.
Read it in this order:

`limits`     how much memory may be used for what; checked before it is used
`document`   reads a certificate file and checks it against the schema
`data`       reads training and test rows and compares them with the hashes in the certificate:
             from `arrays`, or from `tables` (and `parquet`) by way of `cells`, into a `matrix`
`influence`  how much each label counts in a score: the mathematics, in `integers`
`question`   puts in words what was asked, with `columns` for features and `words` for numbers
`claims`     works out what is true of a row, and whether the file says so
"""

from unswayed.verify.claims import Report, verify
from unswayed.verify.document import schema_text
from unswayed.verify.limits import CertificateError

__all__ = ["CertificateError", "Report", "schema_text", "verify"]
