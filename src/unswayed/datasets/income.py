"""Income from census data of the states: downloaded, or an excerpt."""

import os
import zipfile
from io import BytesIO
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from unswayed.datasets.registry import SOURCES, DatasetError, as_frame, has_file, pandas, read
from unswayed.exceptions import InputError

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


# ----------------------------------------------------------------------------------------
# Income: who earns above 50,000 dollars, or how much, from the American Community Survey.

_DESCR = """\
Income, {state} 2018
--------------------
{n_rows} working adults of the American Community Survey (2018, one-year, public-use person
records): folktables' ACSIncome population, in the order of the survey's file.

data      42 binary columns, the paper's encoding
target    {target}
race      White, Black, Asian, Indigenous, Other or Multiple
sex       Female or Male
frame     the ten features as surveyed

Origin: US Census Bureau, ACS PUMS 2018; population and features after folktables' ACSIncome.
Licence: US Government work.
"""

_TARGETS = {
    "classification": "1 if the income is above 50,000 dollars a year, else 0",
    "regression": "income in dollars a year",
}

_RACES = {1: "White", 2: "Black", 6: "Asian", 8: "Other", 9: "Multiple"}  # RAC1P; the rest
_REST = "Indigenous"


def load_income(
    state: str = "WI",
    task: Literal["classification", "regression"] = "classification",
    *,
    data_home: str | os.PathLike[str] | None = None,
) -> Bunch:
    """Load the paper's Income (classification) or Income-Reg (regression).

    Parameters
    ----------
    state : {"WI", "GA", "LA", "MD", "OR"}
        The paper's main state is Wisconsin.
    task : {"classification", "regression"}
        Above 50,000 dollars or not; or the income itself.
    data_home : path, optional
        Folder that holds ``acs2018/acsincome_2018_wi.csv`` (classification) or
        ``acs2018/csv_pwi.zip``, the Census Bureau's own file (either task); by default the one
        the environment variable UNSWAYED_DATA names, or else a download from the Bureau.

    Returns
    -------
    Bunch
        `data` (frame of 42 binary columns), `target`, `race`, `sex`, `frame`, `DESCR`.
    """
    if str(state).upper() not in ROWS:
        raise InputError(f"state must be one of {', '.join(sorted(ROWS))}, got {state!r}")
    if task not in _TARGETS:
        raise InputError(f"task must be 'classification' or 'regression', got {task!r}")
    state = str(state).upper()
    prepared = f"income_{state.lower()}"
    if task == "classification" and has_file(prepared, data_home):
        frame = as_frame(prepared, read(prepared, data_home), [*FEATURES, "PINCP"])
        target = frame["PINCP"].to_numpy().astype(np.int64)
    else:
        frame = income_records(state, data_home)
        income = frame["PINCP"].to_numpy(np.float64)
        target = (income > 50_000).astype(np.int64) if task == "classification" else income
    race = np.array([_RACES.get(int(code), _REST) for code in frame["RAC1P"]])
    return Bunch(
        data=_encode(frame, race),
        target=target,
        race=race,
        sex=np.where(frame["SEX"] == 2, "Female", "Male"),
        frame=frame[list(FEATURES)],
        DESCR=_DESCR.format(state=state, n_rows=len(frame), target=_TARGETS[task]),
    )


def _encode(frame: Any, race: NDArray[np.str_]) -> Any:
    columns: dict[str, Any] = {
        "hours_40_or_more": frame["WKHP"] >= 40,
        "female": frame["SEX"] == 2,
    }
    for prefix, values in (
        ("age", _steps(frame["AGEP"], {"under_35": 35, "35_to_54": 55, "55_or_more": np.inf})),
        ("work", _named(frame["COW"], _WORK)),
        ("school", _steps(frame["SCHL"], {"no_diploma": 15, "diploma": 21, "degree": np.inf})),
        ("marital", _named(frame["MAR"], _MARITAL)),
        ("job", _named(frame["OCCP"] // 1000, _JOBS)),
        ("born", _birthplace(frame["POBP"])),
        ("role", _named(frame["RELP"], _ROLES)),
        ("race", {name: race == name for name in (*_RACES.values(), _REST)}),
    ):
        columns |= {f"{prefix}_{name.lower()}": flag for name, flag in values.items()}
    return pandas().DataFrame(columns).astype(np.int64)


_WORK = {"for_profit": [1], "non_profit": [2], "government": [3, 4, 5], "own": [6, 7, 8]}
_MARITAL = {"married": [1], "formerly": [2, 3, 4], "never": [5]}
_JOBS = {  # thousands of the occupation code
    "management": [0],
    "science": [1],
    "community": [2],
    "care": [3],
    "service": [4],
    "office": [5],
    "trades": [6, 7],
    "production": [8],
    "transport": [9],
}
_ROLES = {
    "head_or_partner": [0, 1, 13],
    "child": [2, 3, 4, 7, 14],
    "relative": [5, 6, 8, 9, 10],
    "housemate": [11, 12, 15],
    "institution": [16],
    "group_quarters": [17],
}


def _named(codes: Any, groups: dict[str, list[int]]) -> dict[str, Any]:
    return {name: codes.isin(members) for name, members in groups.items()}


def _steps(values: Any, ends: dict[str, float]) -> dict[str, Any]:
    """Return one flag per interval; each interval ends before its number."""
    flags, start = {}, -np.inf
    for name, end in ends.items():
        flags[name] = (values >= start) & (values < end)
        start = end
    return flags


def _birthplace(codes: Any) -> dict[str, Any]:
    # Canada (301) counts with the states.
    home = codes.where(codes != 301, 1)
    ends = {"state": 57, "territory": 79, "europe": 170, "asia": 255, "americas": 400}
    return _steps(home, {**ends, "elsewhere": np.inf})
