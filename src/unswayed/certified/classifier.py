"""CertifiedClassifier: a binary classifier whose predictions come with proofs."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.linear_model import RidgeClassifier

from unswayed._typing import FloatArray
from unswayed.bias import LabelBias
from unswayed.certified.base import Certified
from unswayed.certified.label_code import LabelCode
from unswayed.certified.question import Limits
from unswayed.engines.margins import Margins, threshold_margins
from unswayed.engines.rational import ExactLimits
from unswayed.exceptions import InputError
from unswayed.learners.accuracy import Scores
from unswayed.learners.adapters import final_estimator


class CertifiedClassifier(ClassifierMixin, Certified):
    """A binary classifier whose predictions come with proofs.

    Parameters
    ----------
    estimator : LinearRegression, Ridge, RidgeClassifier, KernelRidge, LinearSmoother, or a \
Pipeline that ends in one
        Regressors are trained on labels 0 and 1 and decide at 0.5, as in the paper;
        RidgeClassifier on -1 and 1, deciding at 0.
    bias : LabelBias
        Which labels may be wrong. Offsets of `shifts` and `intervals` are in the numbers above.

    Attributes
    ----------
    classes_ : array
        The two labels; the second is the positive one.
    estimator_ : the fitted estimator
    threshold_ : float
        The decision is ``score > threshold_``.

    Examples
    --------
    Four labels, of which one may be wrong. The first row is decided by two of them, and one
    takes it exactly to the threshold: closer than doubles can tell, so rational arithmetic does.

    >>> from sklearn.linear_model import LinearRegression
    >>> X = [[1, 0], [1, 0], [0, 1], [0, 1]]
    >>> model = CertifiedClassifier(
    ...     LinearRegression(fit_intercept=False), bias=LabelBias.flips(budget=1)
    ... ).fit(X, ["yes", "yes", "no", "yes"])
    >>> certs = model.certify([[1, 0], [0, 1]], resolve="exact")
    >>> certs
    <CertificateSet: 2 rows, same class if up to 1 label is wrong: 2 not-robust>
    >>> str(certs.witness(0)), certs.witness(0).labels.tolist()
    ('1 label change moves the score to 0.5', ['no'])
    """

    def __init__(self, estimator: Any, *, bias: LabelBias | None = None) -> None:
        self.estimator = estimator
        self.bias = bias

    def _encode(self, labels: NDArray[Any]) -> FloatArray:
        if labels.dtype.kind == "f" and (labels != np.floor(labels)).any():
            # The wording is scikit-learn's: its own checks look for it.
            raise InputError(
                "Unknown label type: continuous. A classifier needs two classes; for real-valued "
                "labels use CertifiedRegressor"
            )
        classes = np.unique(labels)
        if len(classes) != 2:
            what = "one class" if len(classes) == 1 else f"{len(classes)} classes"
            raise InputError(
                f"y has {what}. Only binary classification is supported: the labels must take "
                "exactly two values"
            )
        self.classes_ = classes
        signed = isinstance(final_estimator(self.estimator), RidgeClassifier)
        self.threshold_ = 0.0 if signed else 0.5
        positive = labels == classes[1]
        return np.where(positive, 1.0, -1.0 if signed else 0.0)

    def _signed(self) -> bool:
        return self.threshold_ == 0.0

    def _labels_to_fit(self, labels: NDArray[Any]) -> NDArray[Any]:
        return labels if self._signed() else self.targets_

    def _flip_between(self) -> tuple[float, float]:
        return (-1.0, 1.0) if self._signed() else (0.0, 1.0)

    def _code(self) -> LabelCode:
        flips = self.bias is not None and self.bias.kind == "flips"
        return LabelCode(self.classes_, shifted=not flips)

    def _margins(self, scores: Scores) -> Margins:
        return threshold_margins(scores, self.threshold_)

    def _limits(self) -> Limits:
        return partial(ExactLimits.threshold, threshold=self.threshold_)

    def _rule(self) -> dict[str, Any]:
        return {"task": "classification", "threshold": self.threshold_}

    def _raw(self, estimator: Any, X: Any) -> FloatArray:
        if self._signed():
            return np.asarray(estimator.decision_function(X), dtype=np.float64).ravel()
        return super()._raw(estimator, X)

    def decision_function(self, X: Any) -> FloatArray:
        """Score minus threshold: positive for the second class."""
        rows = self._validated(X, reset=False)
        return self._raw(self.estimator_, rows) - self.threshold_

    def predict(self, X: Any) -> NDArray[Any]:
        """Class of each row, exactly the wrapped estimator's."""
        positive = self.decision_function(X) > 0
        return np.asarray(self.classes_[positive.astype(np.intp)])

    def _in_words(self, budget: int) -> str:
        return f"same class if {self._wrong(budget)}"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
