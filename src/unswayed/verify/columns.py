"""Describe the features of a certificate in words."""

from array import array
from collections.abc import Iterator
from itertools import compress, groupby, islice, pairwise
from operator import itemgetter
from typing import Any

from unswayed.verify.data import Data
from unswayed.verify.matrix import Matrix
from unswayed.verify.words import counted, indented, listed, quartiles, quoted, summary
from unswayed.verify.writing import Writing

_COLUMNS = 50  # of a recipe that are listed
_NAMES = 20  # in one line
_SCALES = 1e6  # columns whose spreads differ by more than this factor are named


def features_in_words(
    document: dict[str, Any], data: Data, weights: "array[float]"
) -> Iterator[str]:
    """Yield lines that say how features are made and how much they differ from row to row."""
    if document["model"]["kind"] == "smoother":
        yield "features: none; how much each label counts was given, and nobody checked why"
        if data.tests is not None:
            yield f"  sums of a row's numbers: {quartiles(map(sum, data.tests))}"
            sizes = (max(map(abs, row), default=0.0) for row in data.tests)
            yield f"  largest size in a row: {quartiles(sizes)}"
        return
    if document["model"]["kind"] == "kernel-ridge" and data.train is not None:
        yield "features: none; the kernel's numbers were given, and nobody checked how they came"
        diagonal = (row[at] for at, row in enumerate(data.train))
        yield f"  on its diagonal: {quartiles(diagonal)}"
        if data.tests is not None:
            yield f"  for test rows: {quartiles(data.tests.numbers)}"
        return
    if data.train is not None:
        yield from _made(document, data)
        yield from _columns(document, data.train, data, weights)


def _made(document: dict[str, Any], data: Data) -> Iterator[str]:
    """Yield lines on how features are made."""
    width = document["data"]["features"]
    if "recipe" not in document:
        if data.columns:
            names = listed(map(quoted, data.columns), _COLUMNS)
            yield f"features: {width:,}, columns of the file as they are: {names}"
        else:
            yield f"features: {width:,}, numbers of the data file; nobody checked how they came"
        return
    yield from Writing.of(document["recipe"]).in_words()
    features = document["recipe"]["features"]
    n_columns = len({each["column"] for each in features})
    yield f"features: {width:,}, from {counted(n_columns, 'column')}"
    groups = groupby(features, itemgetter("column"))
    for name, group in islice(groups, _COLUMNS):
        yield from _column(name, list(group), data)
    rest = (line.strip() for name, group in groups for line in _column(name, list(group), data))
    if more := listed(rest, 0):
        yield f"  {more.strip()}"


def _column(name: str, group: list[dict[str, Any]], data: Data) -> Iterator[str]:
    """Yield lines on how the features of one column are made."""
    values = [each["equals"] for each in group if "equals" in each]
    if values:
        texts = ("no value" if value is None else quoted(value) for value in values)
        yield f"  {quoted(name)}: 1 or 0 for {listed(texts, _NAMES)}"
    for each in group:
        if "mean" in each:
            fill = ""
            if "missing" in each:
                cells = counted(data.filled.get(name, 0), "training cell")
                fill = f", {each['missing']!r} where it is missing ({cells})"
            yield f"  {quoted(name)}: (x - {each['mean']!r}) / {each['scale']!r}{fill}"


def feature_name(document: dict[str, Any], data: Data, at: int) -> str:
    """Return the name of a feature by its number."""
    if "recipe" in document:
        feature = document["recipe"]["features"][at]
        value = f" is {quoted(feature['equals'])}" if "equals" in feature else ""
        return quoted(feature["column"]) + value
    return quoted(data.columns[at]) if data.columns else f"number {at}"


def _columns(
    document: dict[str, Any], train: Matrix, data: Data, weights: "array[float]"
) -> Iterator[str]:
    """Yield lines on how much features vary, and which are constant or determine the label."""
    spreads, tests, copies = array("d"), array("d"), array("Q")
    for at in range(train.width):
        column = train.column(at)
        used = list(compress(column, weights))
        spreads.append(max(used) - min(used))
        if _says_the_label(column, data.labels):
            copies.append(at)
        if data.tests is not None and len(data.tests):
            test = data.tests.column(at)
            tests.append(max(test) - min(test))
    if not spreads:
        return
    yield from _spread("training", spreads)
    if tests:
        yield from _spread("test", tests)
    least = max(spreads) / _SCALES
    constant = [at for at, spread in enumerate(spreads) if not spread]
    small = [at for at, spread in enumerate(spreads) if 0 < spread < least]
    for what, found in (
        ("the same in all training rows that count", constant),
        ("next to nothing beside the others", small),
    ):
        if found:
            names = listed((feature_name(document, data, at) for at in found), _NAMES)
            yield f"  {what}: {names}"
    for at in copies[:_NAMES]:
        name = feature_name(document, data, at)
        yield f"  {name} says in every training row what the label says"
    if len(copies) > _NAMES:
        yield f"  and so do {len(copies) - _NAMES:,} more"


def _spread(which: str, spreads: "array[float]") -> Iterator[str]:
    """Yield lines that sum up the ranges of features over training or test rows."""
    rounded = array("d", (float(f"{spread:.4g}") for spread in spreads))
    head, *rest = summary(rounded, "feature", _SCALES)
    yield f"  largest minus smallest value over the {which} rows: {head}"
    yield from indented(indented(rest))


def _says_the_label(column: "array[float]", labels: "array[float]") -> bool:
    """Return whether a feature determines the label of every training row, and not by chance.

    Rows of equal features must have equal labels. Further, there must be at most half as many
    distinct features as rows, or features and labels must be in the same or the opposite order.
    """
    label_of: dict[float, float] = {}
    for feature, label in zip(column, labels, strict=True):
        if label_of.setdefault(feature, label) != label:
            return False
    kinds = len(label_of)
    if kinds < 2 or len(labels) < 4:
        return False
    if 2 * kinds <= len(labels):
        return len(set(label_of.values())) > 1
    in_order = [label_of[feature] for feature in sorted(label_of)]
    ways = (pairwise(in_order), pairwise(reversed(in_order)))
    return any(all(a < b for a, b in way) for way in ways)
