"""MNIST 1/7: telling handwritten ones from sevens, by pixels or by a learned embedding."""

import os
import struct

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from unswayed.datasets.embedding import embedded as embedding_of
from unswayed.datasets.registry import SOURCES, DatasetError, pandas, read

_DESCR = """\
MNIST 1/7
---------
{n_rows} handwritten digits, ones and sevens, in MNIST's own split: training rows first, then
test rows.

data      {features}
target    0 for a one, 1 for a seven
test      True for the rows of MNIST's test part

Origin: Y. LeCun, C. Cortes, C. J. C. Burges, the MNIST database of handwritten digits.
Licence: none stated by the authors.
"""

_FEATURES = {
    True: "50 columns: the second dense layer of a small network trained on the other digits",
    False: "784 columns: brightness of the pixels, 0 to 255",
}


def load_mnist17(
    embedded: bool = True, *, data_home: str | os.PathLike[str] | None = None
) -> Bunch:
    """Load MNIST's ones and sevens.

    Parameters
    ----------
    embedded : bool
        The paper's 50-dimensional embedding, or the pixels. The embedding is trained on first
        use, which takes a few minutes and PyTorch (extra ``mnist``), and cached.
    data_home : path, optional
        Folder that holds MNIST's four files in ``mnist/``; by default the one the environment
        variable UNSWAYED_DATA names, or else a download.

    Returns
    -------
    Bunch
        `data` (frame), `target` (0/1), `test` (mask of MNIST's test part), `DESCR`.
    """
    parts = {part: _part(part, data_home) for part in ("train", "test")}
    chosen = {part: np.isin(labels, (1, 7)) for part, (_, labels) in parts.items()}
    images = np.concatenate([parts[part][0][chosen[part]] for part in parts])
    digits = np.concatenate([parts[part][1][chosen[part]] for part in parts])
    if embedded:
        columns = [f"e{number}" for number in range(50)]
        rows = embedding_of(*parts["train"], images)
    else:
        columns = [f"pixel{number}" for number in range(images[0].size)]
        rows = images.reshape(len(images), -1)
    return Bunch(
        data=pandas().DataFrame(rows, columns=columns),
        target=(digits == 7).astype(np.int64),
        test=np.arange(len(images)) >= int(chosen["train"].sum()),
        DESCR=_DESCR.format(n_rows=len(images), features=_FEATURES[embedded]),
    )


def _part(
    part: str, data_home: str | os.PathLike[str] | None
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    images = _idx(f"mnist_{part}_images", data_home)
    labels = _idx(f"mnist_{part}_labels", data_home)
    if len(images) != len(labels):
        raise DatasetError(
            f"MNIST's {part} part has {len(images)} images but {len(labels)} labels; "
            "the two files do not belong together"
        )
    return images, labels


def _idx(name: str, data_home: str | os.PathLike[str] | None) -> NDArray[np.uint8]:
    """Read MNIST's own format: two zeros, type, rank, then one big-endian size per axis."""
    content = read(name, data_home)
    if len(content) < 4 or content[:3] != b"\x00\x00\x08":
        raise DatasetError(f"{SOURCES[name].path} is not in MNIST's format (idx, bytes)")
    rank = content[3]
    shape = struct.unpack(f">{rank}I", content[4 : 4 + 4 * rank])
    values = np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * rank)
    if values.size != int(np.prod(shape)):
        raise DatasetError(
            f"{SOURCES[name].path} announces {int(np.prod(shape))} values but holds "
            f"{values.size}: it is cut short"
        )
    return values.reshape(shape)
