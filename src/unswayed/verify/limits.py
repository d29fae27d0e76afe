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
MOST_EXACT_BYTES = 300 * 2**20  # of exact numbers at any one time

MOST_TEXT = 2**22  # characters of a cell, and of a row of a CSV file
MOST_LINES = 2**24  # of a CSV file
MOST_UNPACKED = 2**30  # bytes of a table, after decompression

MOST_FOOTER = 2**20  # bytes of a Parquet file's description of itself
MOST_PAGE = 2**25  # bytes of a Parquet page, after decompression
MOST_PAGES = 2**17  # in the columns that are read
MOST_BATCH = 2**25  # bytes of texts that are unpacked at a time


class CertificateError(ValueError):
    """A file that is malformed, does not belong to the data, or is too large to be checked."""


class Room:
    """A budget of memory for exact numbers, charged before they are made.

    An integer of b bits takes 28 + 4·⌈b/30⌉ bytes in CPython, and 8 more in a list.
    """

    def __init__(self, n_bytes: int = MOST_EXACT_BYTES) -> None:
        self._left = n_bytes

    def take(self, count: int, bits: int) -> None:
        """Charge the memory of integers that are kept."""
        self.check(count, bits)
        self._left -= _size(count, bits)

    def check(self, count: int, bits: int) -> None:
        """Raise unless there is memory left for integers; nothing is charged."""
        if _size(count, bits) > self._left:
            raise CertificateError(
                f"{count:,} exact numbers of about {bits:,} bits would take more memory than the "
                "checker allows itself; certify fewer rows or features, or features of fewer digits"
            )


def _size(count: int, bits: int) -> int:
    """Return the bytes that integers of so many bits take."""
    return count * (40 + bits * 4 // 30)
