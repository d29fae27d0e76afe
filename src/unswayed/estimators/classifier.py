"""CertifiedClassifier: a binary classifier whose predictions come with proofs."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, is_classifier

from unswayed._core.rounding import ordinary_arithmetic
from unswayed._typing import FloatArray
from unswayed.estimators.fitted import Fitted, LabelCode, Reading
from unswayed.estimators.review import Reviewable
from unswayed.exceptions import InputError
from unswayed.labels.bias import LabelBias
from unswayed.margins.decisions import AboveMean, Argmax, Decision, Threshold
from unswayed.models.candidates import Chosen
from unswayed.models.families import family_of
from unswayed.models.steps import final_estimator

_DIFFERENT = 10  # so many labels that all differ are no classes


class CertifiedClassifier(ClassifierMixin, Reviewable):
    """A classifier whose predictions come with proofs.

    Parameters
    ----------
    estimator : LinearRegression, Ridge, RidgeClassifier, KernelRidge, LogisticRegression, \
LinearSmoother, PartitionedClassifier, or a Pipeline that ends in one
        Regressors are trained on labels 0 and 1 and decide at 0.5, as in the paper;
        RidgeClassifier on -1 and 1, deciding at 0. Scores of LogisticRegression are log-odds,
        those of PartitionedClassifier shares of votes.
    bias : LabelBias
        Which labels may be wrong. Offsets of `shifts` and `intervals` are in the numbers above.
    threshold : float or "balanced", optional
        The second class is predicted if the score is above it; by default half-way between the
        numbers above. "balanced" is the mean of the labels in these numbers (for 0 and 1 the share
        of positive ones; weighted, if there are sample weights). It moves with the labels, and
        certificates account for that: their scores are measured from it.
    trust : str or sequence of str
        What you vouch for, by name, because it cannot be seen here that no label had a part in
        it: "sample_weight", or steps that were fitted elsewhere. Certificates say so.

    Attributes
    ----------
    classes_ : array
        The classes, sorted; the second of two is the positive one.
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
    <CertificateSet: 2 rows, same class if up to 1 label is wrong:
      one at a time: 2 not-robust
      together: 0 to 2 change
      at random: 13.7 % change on average (simulated)>
    >>> str(certs.witness(0)), certs.witness(0).labels.tolist()
    ('1 label change moves the score to 0.5', ['no'])

    Predictions are those of the wrapped estimator. With more labels, some rows take more errors:

    >>> X = [[1, 0]] * 5 + [[0, 1]] * 3
    >>> model.fit(X, ["yes"] * 5 + ["no"] * 3).predict([[1, 0], [0, 1]]).tolist()
    ['yes', 'no']
    >>> model.decision_function([[1, 0], [0, 1]]).round(3).tolist()
    [0.5, -0.5]
    >>> model.minimum_budget([[1, 0], [0, 1]]).tolist()
    [3.0, 2.0]
    >>> model.minimum_budgets([[1, 0], [0, 1]]).proven.tolist()
    [True, True]
    """

    def __init__(
        self,
        estimator: Any,
        *,
        bias: LabelBias | None = None,
        threshold: float | Literal["balanced"] | None = None,
        trust: str | Sequence[str] = (),
    ) -> None:
        self.estimator = estimator
        self.bias = bias
        self.threshold = threshold
        self.trust = trust

    def _check_settings(self) -> None:
        super()._check_settings()
        family = family_of(self.estimator)
        if family.counts:
            raise InputError(
                f"{type(final_estimator(self.estimator)).__name__} predicts counts, not classes; "
                "wrap it in CertifiedRegressor"
            )
        if self.threshold == "balanced" and family.threshold is not None:
            raise InputError(
                "threshold='balanced' compares scores with the mean of the labels, and those of a "
                f"{type(final_estimator(self.estimator)).__name__} are no numbers like labels "
                f"(log-odds, or shares of votes); pass a number, or None for {family.threshold:g}"
            )
        if self.threshold == "balanced" and family.functional is Chosen:
            raise InputError(
                "threshold='balanced' moves with the labels, and so does the model that a search "
                "chooses; pass a number as the threshold, or the chosen model itself"
            )
        if isinstance(self.threshold, str) and self.threshold != "balanced":
            raise InputError(
                f"threshold must be a number, 'balanced' or None, got {self.threshold!r}; "
                "'balanced' decides at the share of positive labels"
            )
        if self.threshold is not None and self.threshold != "balanced":
            Threshold(self.threshold)

    def _read(self, labels: NDArray[Any]) -> Reading:
        if labels.dtype.kind == "f" and (labels != np.floor(labels)).any():
            # The wording is scikit-learn's: its own checks look for it.
            raise InputError(
                "Unknown label type: continuous. A classifier needs two classes; for real-valued "
                "labels use CertifiedRegressor"
            )
        classes = np.unique(labels)
        if len(classes) < 2:
            raise InputError(
                "y has one class. A classifier needs labels that take at least two values"
            )
        if len(classes) > 2:
            return self._read_several(labels, classes)
        negative, positive = codes = family_of(self.estimator).codes
        targets = np.where(labels == classes[1], positive, negative)
        terms = () if self.bias is None else self.bias.terms or (self.bias,)
        flips = bool(terms) and all(each.kind == "flips" for each in terms)
        return Reading(
            targets,
            # A classifier codes its classes itself.
            labels if is_classifier(final_estimator(self.estimator)) else targets,
            LabelCode(classes, positive, shifted=not flips),
            flip_between=codes,
            decision=self._rule(negative, positive, classes),
        )

    def _read_several(self, labels: NDArray[Any], classes: NDArray[Any]) -> Reading:
        """Read labels of three or more classes: numbers of classes, one column of scores each."""
        family, final = family_of(self.estimator), final_estimator(self.estimator)
        if not family.several:
            raise InputError(
                f"y has {len(classes)} classes, and {type(final).__name__} is certified for two. "
                "Only binary classification is supported for it; use RidgeClassifier, or Ridge, "
                "KernelRidge or a smoother, which are trained on one column per class"
            )
        if len(classes) == len(labels) > _DIFFERENT:
            raise InputError(
                f"every one of the {len(labels)} labels is a class of its own, so that there is "
                "nothing to learn; for numbers use CertifiedRegressor"
            )
        if self.threshold is not None:
            raise InputError(
                f"threshold={self.threshold!r} tells two classes apart, and y has {len(classes)}: "
                "the highest score decides; leave it out"
            )
        number = np.searchsorted(classes, labels)
        codes = family.codes
        columns = np.where(number[:, None] == np.arange(len(classes)), codes[1], codes[0])
        return Reading(
            number.astype(np.float64),
            labels if is_classifier(final) else columns,
            LabelCode(classes),
            decision=Argmax(classes),
        )

    def _rule(self, negative: float, positive: float, classes: NDArray[Any]) -> Threshold:
        own = family_of(self.estimator).threshold
        if self.threshold is None:
            if own is not None:
                return Threshold(own, classes)
            return Threshold.between(negative, positive, classes)
        if isinstance(self.threshold, str):
            return AboveMean(0.0, classes)
        return Threshold(self.threshold, classes)

    def _show(self, fitted: Fitted) -> None:
        super()._show(fitted)
        self.classes_ = fitted.labels.code.classes
        self.__dict__.pop("threshold_", None)
        decision = self._decision(fitted)
        if isinstance(decision, Threshold):
            self.threshold_ = decision.value + fitted.reference

    def _decision(self, fitted: Fitted) -> Decision:
        decision = fitted.labels.decision
        assert decision is not None  # noqa: S101  (tells mypy)
        return decision

    @ordinary_arithmetic()
    def decision_function(self, X: Any) -> FloatArray:
        """Return score minus threshold of each row, or the score of each of several classes.

        Parameters
        ----------
        X : array, sparse matrix or frame
            Rows with the same columns as the training rows.

        Returns
        -------
        (n,) or (n, n_classes) array
            One number per row, positive for the second of two classes; with three or more classes,
            one column each, in the order of `classes_`.
        """
        fitted = self._current()
        decision, raw = self._decision(fitted), fitted.raw(fitted.features(X))
        return raw - decision.value if isinstance(decision, Threshold) else raw

    @ordinary_arithmetic()
    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row, exactly the wrapped estimator's.

        Parameters
        ----------
        X : array, sparse matrix or frame
            Rows with the same columns as the training rows.

        Returns
        -------
        (n,) array
            One class per row, as labels were written at `fit`.
        """
        fitted = self._current()
        return self._decision(fitted).predict(fitted.raw(fitted.features(X)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = family_of(self.estimator).several
        return tags
