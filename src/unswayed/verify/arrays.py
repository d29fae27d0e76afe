"""Arrays of .npz files, which are zip files of .npy files: a header, then the numbers.

Headers are read first and compared with the shapes that the certificate is about, so that nothing
larger is ever unpacked. Only the form of header that NumPy writes is read.
"""

import math
import re
import zipfile
from array import array
from pathlib import Path

from unswayed.verify.limits import CertificateError
from unswayed.verify.matrix import Matrix, little_endian

_BLOCK = 2**15  # bytes read at a time
_HEADER = re.compile(
    rb"\{'descr': '<f8', 'fortran_order': (False|True), "
    rb"'shape': \((\d{1,12}), ?(\d{0,12})\), \} *\n"
)
_LONGEST_HEADER = 2**10
_LONGEST_DIRECTORY = 2**16  # bytes: three members take a few hundred


def read_arrays(path: Path, shapes: dict[str, tuple[int, ...]]) -> dict[str, Matrix]:
    """Read arrays of doubles from an .npz file."""
    try:
        _check_directory(path)
        with zipfile.ZipFile(path) as archive:
            return {name: _array(archive, name, shape) for name, shape in shapes.items()}
    except CertificateError:
        raise
    except OSError as error:
        if error.filename is not None:
            raise
        raise CertificateError(f"{path} is not the .npz file of save(): {error}") from None
    except Exception as error:  # whatever a damaged file leads to
        raise CertificateError(f"{path} is not the .npz file of save(): {error}") from None


def _check_directory(path: Path) -> None:
    """Raise unless the list of members, which zipfile reads whole, is short and comes last."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 42))
        end = file.read(42)
    if len(end) < 22 or end[-22:-18] != b"PK\5\6" or end[-2:] != b"\0\0":
        raise ValueError("it is no zip file, or has a comment")
    if int.from_bytes(end[-10:-6], "little") > _LONGEST_DIRECTORY or end[:4] == b"PK\6\7":
        raise ValueError("it has too many members")


def _array(archive: zipfile.ZipFile, name: str, shape: tuple[int, ...]) -> Matrix:
    """Read one array, block by block; raise unless it has this shape."""
    member = archive.getinfo(f"{name}.npy")
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError("it is packed in another way than NumPy's")
    with archive.open(member) as content:
        start = content.read(10)
        length = int.from_bytes(start[8:10], "little")
        header = content.read(length) if length < _LONGEST_HEADER else b""
        match = _HEADER.fullmatch(header)
        dimensions = [int(part) for part in match.groups()[1:] if part] if match else []
        if start[:8] != b"\x93NUMPY\1\0" or match is None or len(dimensions) != len(shape):
            raise CertificateError(
                f"{archive.filename} must hold doubles: train (2-d), labels (1-d), test (2-d)"
            )
        if (found := tuple(dimensions)) != shape:
            raise CertificateError(f"it belongs to other data: {name!r} is {found}, not {shape}")
        numbers: array[float] = array("d")
        left = 8 * math.prod(shape)
        while left:
            block = content.read(min(left, _BLOCK))
            if not block:
                raise ValueError(f"{name} ends early")
            numbers.frombytes(block)
            left -= len(block)
        if content.read(1):
            raise CertificateError(f"it belongs to other data: {name!r} goes on after its end")
    rows, width = (*shape, 1)[:2]
    numbers = little_endian(numbers)
    if match[1] == b"True" and len(shape) == 2:  # column after column
        numbers = array(
            "d", (numbers[at] for row in range(rows) for at in range(row, len(numbers), rows))
        )
    return Matrix(width, numbers) if width else Matrix.of_no_columns(rows)
