"""Where each data set comes from, the hash it must have, and how it is found on this machine."""

import gzip
import hashlib
import os
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from unswayed.exceptions import UnswayedError


def pandas() -> Any:
    """Return the pandas module, or say which extra brings it."""
    try:
        import pandas  # noqa: PLC0415
    except ImportError:
        raise ImportError(
            "data sets come as pandas frames: pip install 'unswayed[datasets]'"
        ) from None
    return pandas


DATA_VARIABLE = "UNSWAYED_DATA"


class DatasetError(UnswayedError):
    """Raised if the file of a data set is missing or is not the one it should be."""


@dataclass(frozen=True, slots=True)
class Source:
    """One file of a data set."""

    path: str  # inside a data folder
    url: str  # public origin
    sha256: str | None  # of the content, unpacked if the file is packed; None: not published


_GITHUB = "https://raw.githubusercontent.com"
_RDATASETS = "https://vincentarelbundock.github.io/Rdatasets/csv/AER"
_EXCERPTS = f"{_GITHUB}/usnistgov/SDNist/main/BenchmarkData/ACSDataExcerpts"
_CENSUS = "https://www2.census.gov/programs-surveys/acs/data/pums/2018/1-Year"
# The mirror that the PyTorch project keeps; the original page no longer answers.
_DIGITS = "https://ossci-datasets.s3.amazonaws.com/mnist"
_REGIONS = {
    "ma": ("massachusetts", "067b99e8180a6b8149d03fa31b5a29aa6d9ff66a9173e6425915d46a4bb77cad"),
    "national": ("national", "d3f9b74f95d4bd55add179957812c3cd46756be1fd58f565a9ef53522cb4ce3a"),
    "tx": ("texas", "f6a6d7ba4f845b168a6e1d8ee869c11ea156abe4221f2abb1d2bddb50fe7d0fa"),
}
_STATES = {
    "ga": "fc15773f9e851658922fb3000e8a22627c200778e8a3adf2de6047b8b4f57835",
    "la": "46b96d1734093076d1f9c5838352c9ef3c7312d0ddf77ea33869d050ed225c39",
    "md": "293dc1ee11ff6b25e154ceba635bf6869273412e796edaa0394e6bd88caf5244",
    "or": "bfeef53e477bbb1d2b4ad45f7ac1d10c605df1cf87423869898e3dd82688dac4",
    "wi": "dfb9e83056062a2ae1eb77011242922b3afaa6446a0765d5025f94ae5b1bf5e5",
}
_MNIST = {
    "train-images-idx3": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}


def _sources() -> dict[str, Source]:
    """Return all files by name."""
    compas, wages = "compas-scores-two-years.csv", "CPS1988.csv"
    found = {
        "compas": Source(
            f"compas/{compas}",
            f"{_GITHUB}/propublica/compas-analysis/master/{compas}",
            "c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",
        ),
        "wages": Source(
            f"wages/{wages.lower()}",
            f"{_RDATASETS}/{wages}",
            "0604b992c82567034df45b7837d0e8663943d4532b50bc50ab61c27494c12bf1",
        ),
    }
    for name, (region, sha256) in _REGIONS.items():
        file = f"{name}2018.csv"
        url = f"{_EXCERPTS}/{region}/{file}"
        found[f"excerpt_{name}"] = Source(f"acs_excerpts/{file}", url, sha256)
    for state, sha256 in _STATES.items():
        records = f"csv_p{state}.zip"
        found[f"records_{state}"] = Source(f"acs2018/{records}", f"{_CENSUS}/{records}", None)
        # Not published in this form: made from the Census Bureau's records by ACSIncome's filter.
        income = f"acs2018/acsincome_2018_{state}.csv"
        found[f"income_{state}"] = Source(income, f"{_CENSUS}/{records}", sha256)
    for name, sha256 in _MNIST.items():
        part, what, _ = name.replace("t10k", "test").split("-")
        file = f"{name}-ubyte.gz"
        found[f"mnist_{part}_{what}"] = Source(f"mnist/{file}", f"{_DIGITS}/{file}", sha256)
    return found


SOURCES = _sources()
DataHome: TypeAlias = str | os.PathLike[str] | None
"""The folder that the user named, if any."""


def data_folder(data_home: DataHome) -> Path | None:
    """Return the folder that the user named, by argument or by the environment."""
    named = data_home if data_home is not None else os.environ.get(DATA_VARIABLE) or None
    if named is None:
        return None
    folder = Path(named).expanduser()
    if not folder.is_dir():
        raise DatasetError(
            f"the data folder {str(folder)!r} does not exist; pass data_home= (or set "
            f"{DATA_VARIABLE}) to the folder that holds the files, or neither, to download them"
        )
    return folder


def cache_folder() -> Path:
    """Return the folder where downloads and trained embeddings are kept."""
    return Path(_pooch().os_cache("unswayed"))


def _pooch() -> Any:
    try:
        import pooch  # noqa: PLC0415
    except ImportError:
        raise ImportError(
            "downloading a data set needs pooch: pip install 'unswayed[datasets]', or pass "
            f"data_home= (or set {DATA_VARIABLE}) to a folder that holds the files"
        ) from None
    return pooch


def _download(source: Source) -> Path:
    pooch = _pooch()
    pooch.get_logger().setLevel("WARNING")
    target = cache_folder() / source.path
    if target.exists():
        return target
    try:
        # The hash is checked by `read`, on the unpacked content, wherever the file came from.
        return Path(
            pooch.retrieve(source.url, known_hash=None, fname=target.name, path=str(target.parent))
        )
    except OSError as error:
        raise DatasetError(
            f"cannot download {source.url} ({type(error).__name__}) and no data folder is named. "
            f"Download that file on another machine, save it as {source.path!r} inside a folder, "
            f"and pass data_home= (or set {DATA_VARIABLE}) to that folder"
        ) from error


def _unpacked(path: Path) -> bytes:
    content = path.read_bytes()
    if path.suffix != ".gz":
        return content
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise DatasetError(
            f"{path} cannot be unpacked ({error}): it is cut short or is no gzip file; "
            "replace it by a fresh download"
        ) from None


def has_file(name: str, data_home: DataHome) -> bool:
    """Return whether the folder that the user named holds a file."""
    folder = data_folder(data_home)
    return folder is not None and (folder / SOURCES[name].path).exists()


def read(name: str, data_home: DataHome = None) -> bytes:
    """Return the content of a file, from the folder that the user named or the download cache."""
    source = SOURCES[name]
    folder = data_folder(data_home)
    path = _download(source) if folder is None else folder / source.path
    if not path.exists():
        raise DatasetError(
            f"there is no {source.path!r} in the data folder {str(folder)!r}; get it from "
            f"{source.url}, or name no folder to have it downloaded"
        )
    content = _unpacked(path)
    found = hashlib.sha256(content).hexdigest()
    if source.sha256 is not None and found != source.sha256:
        raise DatasetError(
            f"{path} is not the file it should be: its sha256 is {found}, expected "
            f"{source.sha256}. It is cut short, edited or another release, and results from it "
            f"would not be comparable; replace it by a fresh download of {source.url}"
        )
    return content


def binary_frame(columns: Mapping[str, Any]) -> Any:
    """Return flags as a pandas frame of zeros and ones."""
    return pandas().DataFrame(columns).astype(np.int64)


def as_frame(name: str, content: bytes, columns: Iterable[str], **options: Any) -> Any:
    """Return CSV content as a pandas frame that has exactly the columns it should have."""
    frame = pandas().read_csv(BytesIO(content), **options)
    expected = list(columns)
    missing = [column for column in expected if column not in frame.columns]
    unknown = [column for column in frame.columns if column not in expected]
    if missing or unknown:
        parts = [f"lacks {', '.join(missing)}"] * bool(missing)
        parts += [f"has unknown {', '.join(unknown)}"] * bool(unknown)
        raise DatasetError(
            f"{SOURCES[name].path} {' and '.join(parts)}; the loader reads the columns "
            f"{', '.join(expected)} and no others, so that a renamed one is never missed"
        )
    return frame
