"""Weekly wages of men, from the Current Population Survey of March 1988."""

import os

import numpy as np
from sklearn.utils import Bunch

from unswayed.datasets.registry import as_frame, pandas, read

_DESCR = """\
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

_COLUMNS = "rownames wage education experience ethnicity smsa region parttime".split()


def load_wages(*, data_home: str | os.PathLike[str] | None = None) -> Bunch:
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
    frame = as_frame("wages", read("wages", data_home), _COLUMNS).drop(columns="rownames")
    school, years = frame["education"], frame["experience"]
    columns = {
        "school_under_12": school < 12,
        "school_12": school == 12,
        "school_13_to_15": (school > 12) & (school < 16),
        "school_16_or_more": school >= 16,
        "experience_under_10": years < 10,
        "experience_10_to_24": (years >= 10) & (years < 25),
        "experience_25_or_more": years >= 25,
        "african_american": frame["ethnicity"] == "afam",
        "city": frame["smsa"] == "yes",
        "midwest": frame["region"] == "midwest",
        "south": frame["region"] == "south",
        "west": frame["region"] == "west",
        "part_time": frame["parttime"] == "yes",
    }
    return Bunch(
        data=pandas().DataFrame(columns).astype(np.int64),
        target=frame["wage"].to_numpy(np.float64),
        ethnicity=frame["ethnicity"].to_numpy(str),
        frame=frame,
        DESCR=_DESCR.format(n_rows=len(frame)),
    )
