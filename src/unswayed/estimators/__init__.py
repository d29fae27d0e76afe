"""The certified meta-estimators: scikit-learn's manners and one new verb, certify.

`base`              fitting and questions: what classification and regression share
`classifier`        CertifiedClassifier
`regressor`         CertifiedRegressor
`fitted`            what a fit leaves behind, and the one place that refuses
`fit_in_pieces`     fits on rows in pieces
`question`          rows put to a fitted model, by a method, and the answer
`coefficients`      coefficients and contrasts
`together`          how many rows one set of labels overturns; between which values a metric lies
`in_folds`          rows put to the models of folds, one by one and all together
`three_numbers`     one at a time, together, at random
`review`            which labels to check
`cross`             cross_certify: every row, by a model that did not see it
`certificate_file`  certificate files of single rows, and of all rows together
`linear_proof`      what a certificate file carries to prove claims about linear models
`prices`            prices and trees of cases that prove how far a budget moves a score
`cases_proof`       what it carries to prove bounds on many rows together
`report`            certificates as a page
"""

from unswayed.estimators.classifier import CertifiedClassifier
from unswayed.estimators.question import METHODS
from unswayed.estimators.regressor import CertifiedRegressor

__all__ = ["METHODS", "CertifiedClassifier", "CertifiedRegressor"]
