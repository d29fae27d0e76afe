"""The families that come with the package; importing this module registers them."""

import unswayed.models.candidates
import unswayed.models.gradient.family
import unswayed.models.kernel
import unswayed.models.ridge.learners
import unswayed.models.smoother  # noqa: F401
from unswayed.models.family import Family, check_certifiable, family_of, fit_final, register

__all__ = ["Family", "check_certifiable", "family_of", "fit_final", "register"]
