"""Excerpts of the American Community Survey 2018 with the income itself, by NIST."""

import os
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from unswayed.datasets.registry import as_frame, pandas, read
from unswayed.exceptions import InputError

_DESCR = """\
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

_COLUMNS = """
    PUMA AGEP SEX MSP HISP RAC1P NOC NPF HOUSING_TYPE OWN_RENT DENSITY INDP INDP_CAT EDU PINCP
    PINCP_DECILE POVPIP DVET DREM DPHY DEYE DEAR PWGTP WGTP
""".split()

_REGIONS = {"national": "national", "MA": "ma", "TX": "tx"}


def load_acs_excerpt(
    region: str = "national", *, data_home: str | os.PathLike[str] | None = None
) -> Bunch:
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
    frame = as_frame(name, read(name, data_home), _COLUMNS, na_values="N")
    workers = (frame["AGEP"] > 16) & (frame["PINCP"] > 100) & frame["INDP_CAT"].notna()
    frame = frame[workers].reset_index(drop=True)
    data = _encode(frame)
    return Bunch(
        data=data,
        target=frame["PINCP"].to_numpy(np.float64),
        race=frame["RAC1P"].to_numpy(np.int64),
        frame=frame,
        DESCR=_DESCR.format(region=region, n_rows=len(frame), n_columns=data.shape[1]),
    )


def _encode(frame: Any) -> Any:
    age, school = frame["AGEP"], frame["EDU"]
    columns = {
        "female": frame["SEX"] == 2,
        "age_under_35": age < 35,
        "age_35_to_54": (age >= 35) & (age < 55),
        "age_55_or_more": age >= 55,
        "school_no_diploma": school < 5,
        "school_diploma": (school >= 5) & (school < 9),
        "school_degree": school >= 9,
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
    return pandas().DataFrame(columns).astype(np.int64)
