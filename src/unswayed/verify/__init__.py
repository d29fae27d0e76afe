"""The independent checker of certificate files.

It re-proves every claim of a file from the data alone, in integers of any size, and shares no
code with the engine that made the file: it imports nothing else of this package (a contract in
pyproject.toml holds it to that), only Python's standard library. pyarrow is needed for Parquet
files and numpy for .npz files, nothing else. Read it in this order:

`document`   what a certificate file may hold, and nothing more
`data`       training and test rows from files, held against the hashes in the certificate
`influence`  how much each label counts in a score: the mathematics, in integers
`claims`     what is true of a row, and whether the file says so
"""

from unswayed.verify.claims import Report, verify
from unswayed.verify.document import CertificateError, schema_text

__all__ = ["CertificateError", "Report", "schema_text", "verify"]
