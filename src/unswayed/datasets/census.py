"""The Census Bureau's person records, filtered as ACSIncome asks (folktables' definition)."""

import os
import zipfile
from io import BytesIO
from typing import Any

from unswayed.datasets._frames import pandas
from unswayed.datasets.registry import SOURCES, DatasetError, read

FEATURES = ("AGEP", "COW", "SCHL", "MAR", "OCCP", "POBP", "RELP", "WKHP", "SEX", "RAC1P")

ROWS = {"GA": 50_915, "LA": 20_667, "MD": 33_042, "OR": 21_919, "WI": 32_690}
"""Rows of each state's 2018 one-year file after the filter: the check where no hash is pinned."""


def income_records(state: str, data_home: str | os.PathLike[str] | None) -> Any:
    """Return ten features and the income of a state's working adults."""
    name = f"records_{state.lower()}"
    kept = _working_adults(_unzipped(name, read(name, data_home)))
    if len(kept) != ROWS[state]:
        raise DatasetError(
            f"{SOURCES[name].path} has {len(kept)} working adults, expected {ROWS[state]}: it is "
            "cut short or not the 2018 one-year file, and results from it would not be "
            f"comparable; replace it by a fresh download of {SOURCES[name].url}"
        )
    return kept


def _unzipped(name: str, content: bytes) -> Any:
    wanted = [*FEATURES, "PINCP", "PWGTP"]
    path = SOURCES[name].path
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            (table,) = [item for item in archive.namelist() if item.lower().endswith(".csv")]
            with archive.open(table) as lines:
                return pandas().read_csv(lines, usecols=wanted)
    except zipfile.BadZipFile as error:
        raise DatasetError(
            f"{path} cannot be unpacked ({error}): it is cut short or is no zip file; replace it "
            f"by a fresh download of {SOURCES[name].url}"
        ) from None
    except ValueError as error:
        raise DatasetError(
            f"{path} should hold one CSV with the columns {', '.join(wanted)}: {error}"
        ) from None


def _working_adults(frame: Any) -> Any:
    """Return ACSIncome's population: over 16, income above 100, at work, with a sampling weight."""
    kept = frame[
        (frame["AGEP"] > 16) & (frame["PINCP"] > 100) & (frame["WKHP"] > 0) & (frame["PWGTP"] >= 1)
    ]
    return kept[[*FEATURES, "PINCP"]].reset_index(drop=True)
