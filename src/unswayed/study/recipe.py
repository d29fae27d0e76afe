"""Recipe: how the features of a study come from its files, so that anyone can make them again."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from unswayed._typing import IntArray
from unswayed.estimators.certificate_file import pack_doubles, pack_rows, write_certificates
from unswayed.exceptions import InputError
from unswayed.margins.verdicts import RATIONAL
from unswayed.results.certificates import CertificateSet
from unswayed.study.request import Request
from unswayed.study.study import Study
from unswayed.tables.files import foreign_format, is_parquet


def check_recipe(request: Request) -> None:
    """Raise, before any work is done, if nobody could check certificates of a request."""
    for path in (request.train, request.test):
        if path is None or not path.exists():
            continue
        if not is_parquet(path) and (kind := foreign_format(path)) is not None:
            raise InputError(
                f"--certificates: {path} is {kind}, and unswayed verify reads CSV and Parquet "
                "files only; save it as one of them, and certify that"
            )
        if is_parquet(path) and not request.dialect.is_usual:
            raise InputError(
                f"--certificates: {path} is a Parquet file, which unswayed verify reads as it is, "
                "without --na and the other options about how a file is written; leave them out, "
                "or write the file anew with its missing values as nulls"
            )


@dataclass(frozen=True, slots=True)
class CertificateSize:
    """How much a certificate file is about."""

    n_rows: int  # Of the training data
    n_features: int  # Of the training data
    n_claims: int
    n_exact: int  # Claims that were settled in rational arithmetic


def save_certificates(
    study: Study, certificates: Sequence[CertificateSet], path: Path
) -> CertificateSize:
    """Write certificates of a study to a file that can be checked against the study's own files."""
    write_certificates(
        certificates,
        path,
        recipe=recipe(study),
        classes=_classes(study),
        track=study.progress.track,
    )
    return CertificateSize(
        n_rows=len(study.train.numbers),
        n_features=len(features_of(study)),
        n_claims=sum(map(len, certificates)),
        n_exact=sum(int((part.method == RATIONAL).sum()) for part in certificates),
    )


def _classes(study: Study) -> tuple[Any, ...] | None:
    """Return the classes; None stands for every other label where the positive one was named."""
    if study.request.positive is not None:
        return None, study.target.classes[1]
    return study.target.classes or None


def recipe(study: Study) -> dict[str, Any]:
    """Describe how features and labels are computed from the study's files."""
    dialect = study.request.dialect
    written = {} if dialect.is_usual else {"written": dialect.document()}
    labels = study.train.labels
    assert labels is not None  # noqa: S101  (training rows have labels)
    # No logarithm is exact, so the file says which doubles were taken for those of the column.
    logarithms = {"logarithms": pack_doubles(labels)} if study.target.log else {}
    return {
        "label": study.target.label,
        **logarithms,
        "features": features_of(study),
        "train": _rows(study.train.numbers),
        "test": _rows(study.test.numbers),
        "test_file": "train" if study.request.test is None else "test",
        **written,
    }


def features_of(study: Study) -> list[dict[str, Any]]:
    """Describe how each feature of the model is computed from a column, in the model's order."""
    return [*_categories(study), *_numbers(study)]


def _rows(numbers: IntArray) -> list[int] | str:
    return pack_rows(np.asarray(numbers) - 1)


def _categories(study: Study) -> list[dict[str, Any]]:
    return [
        {"column": column.name, "equals": value}
        for column in study.encoding.categories
        for value in column.categories.to_pylist()
    ]


def _numbers(study: Study) -> list[dict[str, Any]]:
    made = []
    for column in study.encoding.numbers:
        fill = {} if column.missing is None else {"missing": column.missing}
        made.append({"column": column.name, "mean": column.mean, "scale": column.scale, **fill})
    return made
