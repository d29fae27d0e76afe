"""Data sets of the paper and of its story, one loader per file."""

from unswayed.datasets.salary_story import make_salary_story

__all__ = ["make_salary_story"]
