"""COMPAS: ProPublica's two-year recidivism file, encoded as in the paper."""

from typing import Any

import numpy as np
from sklearn.utils import Bunch

from unswayed.datasets.registry import DataHome, as_frame, binary_frame, read

_DESCR = """\
COMPAS
------
Criminal defendants of Broward County, Florida, and whether they were charged again within two
years. {n_rows} rows after ProPublica's usual filter: screened within 30 days of the arrest,
recidivism known, a charge that can lead to jail, a score present.

data      21 binary columns, the paper's encoding
target    two_year_recid, 0 or 1
race      African-American, Caucasian, Hispanic or Other
sex       Female or Male
frame     the filtered rows as published

Origin: ProPublica, https://github.com/propublica/compas-analysis
Licence: published by ProPublica for reuse.
"""

# The published file names decile_score and priors_count twice; pandas adds ".1" to the second.
_COLUMNS = """
    id name first last compas_screening_date sex dob age age_cat race juv_fel_count decile_score
    juv_misd_count juv_other_count priors_count days_b_screening_arrest c_jail_in c_jail_out
    c_case_number c_offense_date c_arrest_date c_days_from_compas c_charge_degree c_charge_desc
    is_recid r_case_number r_charge_degree r_days_from_arrest r_offense_date r_charge_desc
    r_jail_in r_jail_out violent_recid is_violent_recid vr_case_number vr_charge_degree
    vr_offense_date vr_charge_desc type_of_assessment decile_score.1 score_text screening_date
    v_type_of_assessment v_decile_score v_score_text v_screening_date in_custody out_custody
    priors_count.1 start end event two_year_recid
""".split()

_RACES = ("Caucasian", "African-American", "Hispanic")


def load_compas(*, data_home: DataHome = None) -> Bunch:
    """Load COMPAS in the paper's encoding.

    Parameters
    ----------
    data_home : path, optional
        Folder that holds ``compas/compas-scores-two-years.csv``; by default the one the
        environment variable UNSWAYED_DATA names, or else a download from ProPublica.

    Returns
    -------
    Bunch
        `data` (frame of 21 binary columns), `target` (0/1), `race`, `sex`, `frame`, `DESCR`.
    """
    frame = _usual_filter(as_frame("compas", read("compas", data_home), _COLUMNS))
    return Bunch(
        data=_encode(frame),
        target=frame["two_year_recid"].to_numpy(np.int64),
        race=frame["race"].where(frame["race"].isin(_RACES), "Other").to_numpy(str),
        sex=frame["sex"].to_numpy(str),
        frame=frame,
        DESCR=_DESCR.format(n_rows=len(frame)),
    )


def _usual_filter(frame: Any) -> Any:
    return frame[
        frame["days_b_screening_arrest"].between(-30, 30)
        & (frame["is_recid"] != -1)
        & (frame["c_charge_degree"] != "O")
        & frame["score_text"].notna()
    ].reset_index(drop=True)


def _encode(frame: Any) -> Any:
    race, age = frame["race"], frame["age"]
    columns = {
        "race_caucasian": race == "Caucasian",
        "race_african_american": race == "African-American",
        "race_hispanic": race == "Hispanic",
        "race_other": ~race.isin(_RACES),
        "age_under_25": age < 25,
        "age_25_to_45": (age >= 25) & (age <= 45),
        "age_over_45": age > 45,
        "female": frame["sex"] == "Female",
    }
    for name, source in (
        ("priors", "priors_count"),
        ("juvenile_misdemeanours", "juv_misd_count"),
        ("juvenile_felonies", "juv_fel_count"),
    ):
        columns[f"{name}_none"] = frame[source] == 0
        columns |= {f"{name}_{least}_or_more": frame[source] >= least for least in (1, 2, 5)}
    columns["charge_misdemeanour"] = frame["c_charge_degree"] == "M"
    return binary_frame(columns)
