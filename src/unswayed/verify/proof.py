"""What the file carries beside its claims: solutions, thresholds and inverses that were found.

They are in an .npz file beside the certificate. Nothing of it is believed: each number is a hint
that makes a claim provable, or does not.
"""

import hashlib
import math
from pathlib import Path
from typing import Any

import numpy as np

from unswayed.verify.arrays import read_arrays
from unswayed.verify.doubles import FloatArray
from unswayed.verify.limits import MOST_PROVING, CertificateError

_BLOCK = 2**20  # bytes hashed at a time


def read_proof(document: dict[str, Any], certificate: Path) -> dict[str, FloatArray]:
    """Return the arrays of the proof by name; none if the file has no such arrays."""
    if "proof" not in document:
        return {}
    about = document["proof"]
    shapes = {each["name"]: tuple(each["shape"]) for each in about["arrays"]}
    if sum(map(math.prod, shapes.values())) > MOST_PROVING:
        raise CertificateError(f"its proof has more than {MOST_PROVING:,} numbers")
    path = certificate.with_name(about["file"])
    if path.name != about["file"] or path.name in ("", ".", ".."):
        raise CertificateError("its proof must be a file beside it")
    if not path.is_file():
        raise CertificateError(
            f"{path} is missing: the proof of this certificate, which was written beside it"
        )
    if path.stat().st_size > 16 * MOST_PROVING or _sha256(path) != about["sha256"]:
        raise CertificateError(f"{path} is not the proof of this certificate: its hash differs")
    arrays = {
        name: np.array(each.numbers).reshape(shapes[name])
        for name, each in read_arrays(path, shapes).items()
    }
    if not all(np.isfinite(each).all() for each in arrays.values()):
        raise CertificateError(f"{path} holds NaN or infinity")
    return arrays


def sized(
    proof: dict[str, FloatArray], names: tuple[str, ...], shape: tuple[int, int | None]
) -> FloatArray:
    """Return an array of the proof; raise unless it has this shape, zeros if there is none."""
    found = next((proof[name] for name in names if name in proof), None)
    if found is None:
        return np.zeros((shape[0], shape[1] or 0))
    if found.ndim != 2 or len(found) != shape[0] or shape[1] not in (None, found.shape[1]):
        raise CertificateError(f"{names[0]!r} of the proof is {found.shape}, not {shape}")
    return found


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
