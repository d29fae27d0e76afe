"""Incomes: census data of the states, excerpts of it with the income itself, and wages."""

import zipfile
from io import BytesIO
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from unswayed.datasets.registry import (
    SOURCES,
    DataHome,
    DatasetError,
    as_frame,
    binary_frame,
    has_file,
    pandas,
    read,
)
from unswayed.exceptions import InputError

FEATURES = ("AGEP", "COW", "SCHL", "MAR", "OCCP", "POBP", "RELP", "WKHP", "SEX", "RAC1P")

ROWS = {"GA": 50_915, "LA": 20_667, "MD": 33_042, "OR": 21_919, "WI": 32_690}
"""Rows of each state's 2018 one-year file after the filter: the check where no hash is pinned."""


def income_records(state: str, data_home: DataHome) -> Any:
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
    data_home: DataHome = None,
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
    groups = {
        "age": _steps(frame["AGEP"], _AGES),
        "work": _named(frame["COW"], _WORK),
        "school": _steps(frame["SCHL"], {"no_diploma": 15, "diploma": 21, "degree": np.inf}),
        "marital": _named(frame["MAR"], _MARITAL),
        "job": _named(frame["OCCP"] // 1000, _JOBS),
        "born": _birthplace(frame["POBP"]),
        "role": _named(frame["RELP"], _ROLES),
        "race": {name: race == name for name in (*_RACES.values(), _REST)},
    }
    first = {"hours_40_or_more": frame["WKHP"] >= 40, "female": frame["SEX"] == 2}
    return binary_frame(first | _flags(groups))


_AGES = {"under_35": 35, "35_to_54": 55, "55_or_more": np.inf}
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


def _flags(groups: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return one column per group and name."""
    return {
        f"{prefix}_{name.lower()}": flag
        for prefix, values in groups.items()
        for name, flag in values.items()
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


# ----------------------------------------------------------------------------------------
# Excerpts of the American Community Survey 2018 with the income itself, by NIST.

_EXCERPT_DESCR = """\
ACS excerpt, {region} 2018
--------------------------
{n_rows} working-age adults with an industry and an income above 100 dollars, from NIST's Diverse
Communities Data Excerpts of the American Community Survey 2018. Unlike Income-Reg it knows
neither hours worked nor occupation, and its areas are chosen, not sampled.

data      {n_columns} binary columns: age, sex, schooling, marital status, race, housing, industry
target    income in dollars a year
race      the survey's code RAC1P
frame     the rows as published

Origin: NIST, https://github.com/usnistgov/SDNist
Licence: NIST's notice: free to use, copy and change; acknowledge NIST as the source.
"""

_EXCERPT_COLUMNS = """
    PUMA AGEP SEX MSP HISP RAC1P NOC NPF HOUSING_TYPE OWN_RENT DENSITY INDP INDP_CAT EDU PINCP
    PINCP_DECILE POVPIP DVET DREM DPHY DEYE DEAR PWGTP WGTP
""".split()

_REGIONS = {"national": "national", "MA": "ma", "TX": "tx"}


def load_acs_excerpt(region: str = "national", *, data_home: DataHome = None) -> Bunch:
    """Load yearly incomes in dollars, of 2018, for regression.

    They stand in for the paper's Income-Reg, whose file is not always at hand.

    Parameters
    ----------
    region : {"national", "MA", "TX"}
    data_home : path, optional
        Folder that holds ``acs_excerpts/national2018.csv`` and its like; by default the one the
        environment variable UNSWAYED_DATA names, or else a download.

    Returns
    -------
    Bunch
        `data` (frame of binary columns), `target` (dollars a year), `race`, `frame`, `DESCR`.
    """
    if region not in _REGIONS:
        raise InputError(f"region must be one of {', '.join(_REGIONS)}, got {region!r}")
    name = f"excerpt_{_REGIONS[region]}"
    frame = as_frame(name, read(name, data_home), _EXCERPT_COLUMNS, na_values="N")
    workers = (frame["AGEP"] > 16) & (frame["PINCP"] > 100) & frame["INDP_CAT"].notna()
    frame = frame[workers].reset_index(drop=True)
    data = _encode_excerpt(frame)
    return Bunch(
        data=data,
        target=frame["PINCP"].to_numpy(np.float64),
        race=frame["RAC1P"].to_numpy(np.int64),
        frame=frame,
        DESCR=_EXCERPT_DESCR.format(region=region, n_rows=len(frame), n_columns=data.shape[1]),
    )


def _encode_excerpt(frame: Any) -> Any:
    columns = _flags(
        {
            "age": _steps(frame["AGEP"], _AGES),
            "school": _steps(frame["EDU"], {"no_diploma": 5, "diploma": 9, "degree": np.inf}),
        }
    )
    columns |= {
        "married": frame["MSP"].isin([1, 2]),
        "formerly_married": frame["MSP"].isin([3, 4, 5]),
        "never_married": frame["MSP"] == 6,
        "race_white": frame["RAC1P"] == 1,
        "race_black": frame["RAC1P"] == 2,
        "race_asian": frame["RAC1P"] == 6,
        "race_rest": ~frame["RAC1P"].isin([1, 2, 6]),
        "owns_home": frame["OWN_RENT"] == 1,
        "group_quarters": frame["HOUSING_TYPE"] > 1,
    }
    columns |= {f"industry_{code}": frame["INDP_CAT"] == code for code in range(19)}
    return binary_frame({"female": frame["SEX"] == 2} | columns)


# ----------------------------------------------------------------------------------------
# Weekly wages of men, from the Current Population Survey of March 1988.

_WAGES_DESCR = """\
Wages, 1988
-----------
{n_rows} men aged 18 to 70 with positive income, Current Population Survey of March 1988.

data      13 binary columns: schooling, experience, ethnicity, city, region and part-time work
target    dollars a week
ethnicity cauc or afam
frame     the rows as published

Origin: data set CPS1988 of the R package AER (Kleiber and Zeileis).
Licence: GPL-2 or GPL-3, the package's.
"""

_WAGES_COLUMNS = "rownames wage education experience ethnicity smsa region parttime".split()


def load_wages(*, data_home: DataHome = None) -> Bunch:
    """Load weekly wages of 1988, for regression.

    They stand in for the paper's Income-Reg, whose file is not always at hand.

    Parameters
    ----------
    data_home : path, optional
        Folder that holds ``wages/cps1988.csv``; by default the one the environment variable
        UNSWAYED_DATA names, or else a download.

    Returns
    -------
    Bunch
        `data` (frame of binary columns), `target` (dollars a week), `ethnicity`, `frame`, `DESCR`.
    """
    frame = as_frame("wages", read("wages", data_home), _WAGES_COLUMNS).drop(columns="rownames")
    columns = _flags(
        {
            "school": _steps(
                frame["education"],
                {"under_12": 12, "12": 13, "13_to_15": 16, "16_or_more": np.inf},
            ),
            "experience": _steps(
                frame["experience"], {"under_10": 10, "10_to_24": 25, "25_or_more": np.inf}
            ),
        }
    )
    columns |= {
        "african_american": frame["ethnicity"] == "afam",
        "city": frame["smsa"] == "yes",
        **{region: frame["region"] == region for region in ("midwest", "south", "west")},
        "part_time": frame["parttime"] == "yes",
    }
    return Bunch(
        data=binary_frame(columns),
        target=frame["wage"].to_numpy(np.float64),
        ethnicity=frame["ethnicity"].to_numpy(str),
        frame=frame,
        DESCR=_WAGES_DESCR.format(n_rows=len(frame)),
    )
