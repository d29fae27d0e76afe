"""The certified meta-estimators: scikit-learn's manners and one new verb, certify."""

from unswayed.estimators.classifier import CertifiedClassifier
from unswayed.estimators.methods import METHODS
from unswayed.estimators.regressor import CertifiedRegressor

__all__ = ["METHODS", "CertifiedClassifier", "CertifiedRegressor"]
