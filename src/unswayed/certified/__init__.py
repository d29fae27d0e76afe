"""The certified meta-estimators: scikit-learn's manners and one new verb, certify.

`base`        fitting, checking and questions: what classification and regression share
`classifier`  CertifiedClassifier
`regressor`   CertifiedRegressor
`cross`       cross_certify: every row, by a model that did not see it
`subset`      a bias for some of the training rows
`fitted`      what a fit leaves behind: one object that never changes
`methods`     certifiers of a fitted model, by name
`question`    rows put to a fitted model, and how answers are told
`report`      certificates as a page
`label_code`  the user's classes and the numbers that stand for them
"""

from unswayed.certified.classifier import CertifiedClassifier
from unswayed.certified.methods import METHODS
from unswayed.certified.regressor import CertifiedRegressor

__all__ = ["METHODS", "CertifiedClassifier", "CertifiedRegressor"]
