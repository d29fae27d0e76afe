"""Limits on what is read and computed, so that no input takes more memory than documented.

Sizes are checked before anything of that size is made. docs/certificates.md lists the limits.
"""

MOST_BYTES = 2**26  # of a certificate file
MOST_BYTES_BEYOND_ASCII = 2**24  # of one with other characters, which take up to four bytes each
MOST_VALUES = 3_000_000  # in a certificate file
MOST_COLUMNS = 100_000  # of a table that a recipe reads
MOST_NUMBERS = 2**23  # that a certificate is about
MOST_PROVING = 2**24  # in the file that proves its claims
MOST_TOGETHER = 2**15  # test rows of a collective claim
MOST_EXACT_BITS = 2**31  # of exact numbers at any one time

MOST_TEXT = 2**22  # characters of a cell, and of a row of a CSV file
MOST_LINES = 2**24  # of a CSV file
MOST_UNPACKED = 2**30  # bytes of a table, after decompression

MOST_FOOTER = 2**20  # bytes of a Parquet file's description of itself
MOST_PAGE = 2**25  # bytes of a Parquet page, after decompression
MOST_PAGES = 2**17  # in the columns that are read
MOST_BATCH = 2**25  # bytes of texts that are unpacked at a time


class CertificateError(ValueError):
    """A file that is malformed, does not belong to the data, or is too large to be checked."""
