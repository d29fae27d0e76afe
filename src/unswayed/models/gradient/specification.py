"""What defines a model whose labels are in the gradient, for certificate files."""

from typing import Any, NoReturn

from unswayed._typing import FloatArray, Matrix
from unswayed.exceptions import NotLinearError
from unswayed.models.gradient.links import Link
from unswayed.models.specification import Specification

_KINDS = {"logistic": "logistic", "log": "poisson"}  # names of links, and of models in files


class GradientSpecification(Specification):
    """Features, penalty and weights of logistic or Poisson regression."""

    def __init__(
        self,
        matrix: Matrix,
        link: Link,
        *,
        penalty: float,
        fit_intercept: bool,
        sample_weight: FloatArray | None = None,
        class_weight: tuple[float, float] = (1.0, 1.0),
    ) -> None:
        super().__init__(matrix, sample_weight=sample_weight)
        self.kind = _KINDS[link.name]
        self._penalty, self._intercept, self._classes = penalty, fit_intercept, class_weight

    def exact(self, n_rows: int) -> NoReturn:
        """Raise: there is no form of it in rational arithmetic."""
        raise NotLinearError(
            "logistic and Poisson regression have no form in rational arithmetic: their solutions "
            "are no rational numbers"
        )

    def document(self) -> dict[str, Any]:
        """Return what a certificate file says of the model, apart from its weights."""
        made = super().document() | {"penalty": self._penalty, "intercept": self._intercept}
        if self._classes != (1.0, 1.0):
            made["class_weights"] = list(self._classes)
        return made
