"""The paper's motivating story: salaries and hiring, with women underpaid and passed over."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from unswayed._typing import FloatArray
from unswayed.datasets.registry import pandas
from unswayed.exceptions import InputError

_DESCR = """\
The salary story
----------------
Synthetic: {n_samples} employees of a company, made up by a seeded generator.

It tells the story that opens "Certifying Data-Bias Robustness in Linear Regression" (Meyer,
Albarghouthi, D'Antoni): a company learns from its own records what to pay and whom to hire, but
the records carry a gender pay gap and managers who judge unevenly.

data      gender ("female" or "male"), education (years), experience (years), interview (0 to 100)
target    "hired" or "declined": by merit, noise, and a penalty for women
salary    dollars a year: by merit and noise; women get 3 % less for equal merit

Licence: none needed, nothing in it is real.
"""

PAY_GAP = 0.03
"""What women are paid less for equal merit."""

_HIRING_PENALTY = 0.3  # in standard deviations of merit
_APPLICANTS, _NEW = 1200, 300  # of the hiring story, and how many of them are asked about


def _merit(education: FloatArray, experience: FloatArray, interview: FloatArray) -> FloatArray:
    """Return what the work is worth, in dollars a year."""
    return 39_000 + 2_800 * (education - 12) + 1_450 * experience + 150 * (interview - 60)


def make_salary_story(n_samples: int = 600, *, random_state: int | None = 0) -> Bunch:
    """Make up the employees of the paper's motivating story.

    Parameters
    ----------
    n_samples : int
        How many employees.
    random_state : int or None
        Seed; the same one gives the same people.

    Returns
    -------
    Bunch
        `data` (frame), `target` ("declined"/"hired"), `salary`, `DESCR`.

    Examples
    --------
    >>> story = make_salary_story(5)
    >>> story.data.columns.tolist()
    ['gender', 'education', 'experience', 'interview']
    >>> story.target.tolist()
    ['declined', 'declined', 'declined', 'declined', 'hired']
    """
    columns = salary_columns(n_samples, random_state=random_state)
    salary, target = columns.pop("salary"), columns.pop("decision")
    return Bunch(
        data=pandas().DataFrame(columns),
        target=target,
        salary=salary,
        DESCR=_DESCR.format(n_samples=n_samples),
    )


def make_hiring_story() -> Bunch:
    """Make up the story of ``unswayed demo``: 900 decisions to learn from, 300 applicants.

    The company hired some of 1,200 applicants. Women were declined who should have been hired, and
    nobody knows which. Needs neither a file nor pandas.

    Returns
    -------
    Bunch
        `X` and `X_new`: the features of the 900 and of the 300, as ``unswayed certify`` makes them
        of `people` with ``--holdout 25%``: gender in two columns, numbers centred and scaled;
        `y` and `y_new`: "declined" or "hired"; `women` and `women_new`: who is a woman; `rows` and
        `rows_new`: the number of each row in the file, from 1; `people`: the file's columns.

    See Also
    --------
    make_salary_story : The same people as a frame, with their salaries.

    Examples
    --------
    >>> story = make_hiring_story()
    >>> story.X.shape, story.X_new.shape
    ((900, 5), (300, 5))
    >>> int((story.women & (story.y == "declined")).sum())
    221
    """
    people = salary_columns(_APPLICANTS)
    order = np.random.default_rng(0).permutation(_APPLICANTS)
    new, past = np.sort(order[:_NEW]), np.sort(order[_NEW:])
    women, decision = people["gender"] == "female", people["decision"]
    numbers = np.column_stack([people[name] for name in ("education", "experience", "interview")])
    scaled = (numbers - numbers[past].mean(axis=0)) / numbers[past].std(axis=0)
    features = np.column_stack([women, ~women, scaled])
    return Bunch(
        X=features[past],
        y=decision[past],
        women=women[past],
        rows=past + 1,
        X_new=features[new],
        y_new=decision[new],
        women_new=women[new],
        rows_new=new + 1,
        people=people,
    )


def salary_columns(n_samples: int, *, random_state: int | None = 0) -> dict[str, NDArray[Any]]:
    """Make up the employees as plain columns, without pandas."""
    if n_samples < 1:
        raise InputError(f"n_samples must be 1 or more, got {n_samples!r}")
    rng = np.random.default_rng(random_state)
    female = rng.random(n_samples) < 0.45
    education = rng.choice([12, 14, 16, 18, 21], size=n_samples, p=[0.22, 0.18, 0.35, 0.19, 0.06])
    experience = np.minimum(rng.gamma(2.2, 4.5, n_samples), 30.0).round(1)
    interview = np.clip(rng.normal(60 + 1.2 * (education - 15), 14), 0, 100).round()

    merit = _merit(education, experience, interview)
    pay = merit * np.where(female, 1 - PAY_GAP, 1.0) + rng.normal(0, 2_500, n_samples)
    salary = np.clip(pay, 35_000, 120_000).round(-2)

    standing = (merit - 60_000) / 12_000 - _HIRING_PENALTY * female
    hired = standing + rng.normal(0, 0.5, n_samples) > 0

    return {
        "gender": np.where(female, "female", "male"),
        "education": education,
        "experience": experience,
        "interview": interview.astype(np.int64),
        "salary": salary,
        # "declined" sorts before "hired", which makes "hired" the positive class.
        "decision": np.where(hired, "hired", "declined"),
    }
