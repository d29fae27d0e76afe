"""How the training file of a study was read, for the terminal, programs and the page."""

from typing import Any

from unswayed.audit.study import Study
from unswayed.words import counted


def column_facts(study: Study) -> list[dict[str, Any]]:
    """Return how each column of the training file was read.

    Parameters
    ----------
    study : Study

    Returns
    -------
    list of dict
        As `ColumnFacts.to_dict` has it; a column that is the same in all training rows is
        "constant" even if it is not in the whole file.
    """
    if study.inspection is None:
        return []
    used = {column.name for column in study.columns}
    return [
        each.to_dict()
        | ({"read_as": "constant"} if each.role == "feature" and each.name not in used else {})
        for each in study.inspection.columns
    ]


def data_facts(study: Study) -> dict[str, Any]:
    """Return how many rows, columns, features and missing cells there are.

    Parameters
    ----------
    study : Study

    Returns
    -------
    dict
        "rows" of the file; columns that are "numbers" and "categories"; "features" after encoding;
        "missing" cells, "dropped" rows; and all of it as a "sentence".
    """
    n_rows = len(study.train) if study.inspection is None else study.inspection.n_rows
    numbers, categories = len(study.columns.numbers), len(study.columns.categories)
    features = len(study.columns.feature_names())
    return {
        "rows": n_rows,
        "numbers": numbers,
        "categories": categories,
        "features": features,
        "missing": study.gaps.cells,
        "dropped": study.gaps.dropped,
        "sentence": f"{study.request.train.name}: {n_rows:,} rows; "
        f"{counted(numbers, 'column')} of numbers and {categories:,} of categories make "
        f"{counted(features, 'feature')}; {study.gaps}",
    }
