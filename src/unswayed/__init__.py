"""Would this prediction survive if some of the training labels were wrong?

`unswayed` answers with a proof. Wrap a model that is linear in its labels, say which labels may
be wrong, and certify: see `CertifiedClassifier`, `CertifiedRegressor` and `LabelBias`.
"""

from importlib import import_module
from typing import Any

# Imported on first use: scikit-learn takes over a second, and not every question needs it.
_HOMES = {
    "ArithmeticModeError": "exceptions",
    "BiasError": "exceptions",
    "CertificateSet": "certificates",
    "CertifiedClassifier": "certified",
    "CertifiedRegressor": "certified",
    "CollectiveWitness": "collective",
    "CrossCertificates": "certified.cross",
    "ExpectedReview": "reviews",
    "GroupDisplay": "plots",
    "GroupRates": "groups",
    "InputError": "exceptions",
    "LabelBias": "bias",
    "LabelPeekError": "exceptions",
    "LinearSmoother": "models.smoother",
    "MetricRange": "collective",
    "MetricRangeDisplay": "plots",
    "NotLinearError": "exceptions",
    "ParameterBox": "certifiers.parameter_box",
    "RangeDisplay": "plots",
    "ReviewPlan": "reviews",
    "Reviewed": "reviews",
    "RobustnessCurve": "curves",
    "RobustnessCurveDisplay": "plots",
    "RowSum": "together.metrics",
    "Sandwich": "certifiers.sandwich",
    "SolverPrecisionWarning": "exceptions",
    "Summary": "summaries",
    "TogetherCertificate": "collective",
    "TradeoffDisplay": "plots",
    "UnswayedError": "exceptions",
    "VacuousWarning": "exceptions",
    "Verdict": "certificates",
    "Witness": "certificates",
    "cross_certify": "certified.cross",
    "prediction_range": "single",
    "robustness_curve": "curves",
}

__version__ = "0.2.0"
__all__ = ["__version__", *sorted(_HOMES)]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'unswayed' has no attribute {name!r}")
    value = getattr(import_module(f"unswayed.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
