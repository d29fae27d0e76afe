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
    "Candidates": "results.candidates",
    "Certificate": "results.rows",
    "CertificateRows": "results.rows",
    "CertificateSet": "results.certificates",
    "CertifiedClassifier": "estimators",
    "CertifiedRegressor": "estimators",
    "CollectiveWitness": "results.collective",
    "Cost": "labels.costs",
    "CrossCertificates": "estimators.cross",
    "ExpectedChecks": "results.reviews",
    "GradientDescentRegressor": "models.descent",
    "GroupDisplay": "plots",
    "GroupRates": "results.groups",
    "InputError": "exceptions",
    "LabelAudit": "evidence.audit",
    "LabelBias": "labels.bias",
    "LabelNoise": "evidence.noise",
    "LabelPeekError": "exceptions",
    "LinearSmoother": "models.smoother",
    "MetricRange": "results.collective",
    "MetricRangeDisplay": "plots",
    "NotLinearError": "exceptions",
    "OverturnProbability": "evidence.noise",
    "ParameterBox": "engines.anchors",
    "RangeDisplay": "plots",
    "PartitionedClassifier": "models.partitioned",
    "ReportPage": "results.notebook",
    "ReviewPlan": "results.reviews",
    "Reviewed": "results.reviews",
    "RobustnessCurve": "results.curves",
    "RobustnessCurveDisplay": "plots",
    "RowSum": "joint.metrics",
    "Sampled": "labels.samples",
    "Sandwich": "engines.anchors",
    "SolverPrecisionWarning": "exceptions",
    "Summary": "results.curves",
    "TogetherCertificate": "results.collective",
    "Total": "labels.amounts",
    "TradeoffDisplay": "plots",
    "UnswayedError": "exceptions",
    "VacuousWarning": "exceptions",
    "Verdict": "results.certificates",
    "Witness": "results.rows",
    "cross_certify": "estimators.cross",
    "prediction_range": "single",
    "robustness_curve": "results.curves",
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
