"""Data sets of the paper and of its story, one subject per file.

`salary_story`  the paper's motivating story: salaries and hiring
`generated`     a demographic data set and a synthetic one
`compas`        ProPublica's two-year recidivism file
`income`        incomes: census data of the states, excerpts of it, wages of 1988
`mnist17`       handwritten ones and sevens, and their embedding by a small network
`registry`      where each comes from, the hash it must have, frames of it
`_network`      the network; imports torch
"""

from unswayed.datasets.compas import load_compas
from unswayed.datasets.generated import make_demographic, make_synthetic
from unswayed.datasets.income import load_acs_excerpt, load_income, load_wages
from unswayed.datasets.mnist17 import load_mnist17
from unswayed.datasets.registry import DatasetError
from unswayed.datasets.salary_story import make_hiring_story, make_salary_story

__all__ = [
    "DatasetError",
    "load_acs_excerpt",
    "load_compas",
    "load_income",
    "load_mnist17",
    "load_wages",
    "make_demographic",
    "make_hiring_story",
    "make_salary_story",
    "make_synthetic",
]
