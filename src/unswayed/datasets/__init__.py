"""Data sets of the paper and of its story, one loader per file.

`salary_story`  the paper's motivating story: salaries and hiring
`generated`     a demographic data set and a synthetic one
`compas`        ProPublica's two-year recidivism file
`income`        income from census data of the states
`excerpts`      excerpts of the American Community Survey 2018
`wages`         weekly wages of men, 1988
`mnist17`       handwritten ones and sevens
`embedding`     their embedding by a small network
`registry`      where each comes from, the hash it must have, frames of it
`_network`      the network; imports torch
"""

from unswayed.datasets.compas import load_compas
from unswayed.datasets.excerpts import load_acs_excerpt
from unswayed.datasets.generated import make_demographic, make_synthetic
from unswayed.datasets.income import load_income
from unswayed.datasets.mnist17 import load_mnist17
from unswayed.datasets.registry import DatasetError
from unswayed.datasets.salary_story import make_salary_story
from unswayed.datasets.wages import load_wages

__all__ = [
    "DatasetError",
    "load_acs_excerpt",
    "load_compas",
    "load_income",
    "load_mnist17",
    "load_wages",
    "make_demographic",
    "make_salary_story",
    "make_synthetic",
]
