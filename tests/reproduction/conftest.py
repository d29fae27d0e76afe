"""The real data, where they are at hand."""

import os
from pathlib import Path

import pytest

from unswayed.datasets.registry import DATA_VARIABLE


@pytest.fixture(scope="session")
def real_data():
    """The folder UNSWAYED_DATA names, or shared/data beside the project."""
    beside = Path(__file__).parents[2].parent / "shared" / "data"
    folder = Path(os.environ.get(DATA_VARIABLE) or beside)
    if not (folder / "compas").is_dir():
        pytest.skip(f"the real data are not at hand: set {DATA_VARIABLE} to their folder")
    return folder
