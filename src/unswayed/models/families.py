"""The families that come with the package; importing this module registers them."""

import unswayed.models.averages
import unswayed.models.candidates
import unswayed.models.descent
import unswayed.models.gradient.family
import unswayed.models.gradient.one_vs_rest
import unswayed.models.kernel
import unswayed.models.neighbours
import unswayed.models.ridge.learners
import unswayed.models.smoother
import unswayed.models.votes  # noqa: F401
from unswayed.models.family import Family, check_certifiable, family_of, fit_final, register

__all__ = ["Family", "check_certifiable", "family_of", "fit_final", "register"]
