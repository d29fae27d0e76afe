"""The certified meta-estimators: scikit-learn's manners and one new verb, certify.

`base`        fitting, inputs and questions: what classification and regression share
`classifier`  CertifiedClassifier
`regressor`   CertifiedRegressor
`question`    rows put to a fitted model, and how answers are told
`label_code`  the user's classes and the numbers that stand for them
"""

from unswayed.certified.base import METHODS
from unswayed.certified.classifier import CertifiedClassifier
from unswayed.certified.regressor import CertifiedRegressor

__all__ = ["METHODS", "CertifiedClassifier", "CertifiedRegressor"]
