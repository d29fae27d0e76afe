"""The question of a certificate in words, in full.

A proof is worth as much as its question, and whoever wrote the file chose it. So everything that
changes what is proven is reported: in words where they are complete, in lists where a summary
would hide something, and by hashes where it is as long as the data.
"""

import hashlib
import json
import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import compress, groupby, islice, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from unswayed.verify.data import Bias, Data
from unswayed.verify.document import row_numbers
from unswayed.verify.doubles import FloatArray
from unswayed.verify.tables import USUAL, Writing
from unswayed.verify.words import (
    counted,
    hides,
    indented,
    kinds,
    listed,
    listing,
    quartiles,
    quoted,
    ratio,
    told,
)

if TYPE_CHECKING:
    from unswayed.verify.collective import Asked

_COLUMNS = 50  # of a recipe that are listed
_NAMES = 20  # in one line
_MOVING = 20  # columns told of the rows whose labels can move; categories of each at most
_NEAR = 1.01  # weights that differ by less than this factor count as one value
_SCALES = 1e6  # columns whose spreads differ by more than this factor are named
_FROM_LABELS = (
    "Such weights usually come from the labels; then wrong labels mean other weights, and what is "
    "proven here is of no use"
)


def in_words(document: dict[str, Any], data: Data, bias: Bias, asked: "Asked | None" = None) -> str:
    """Return a description, in several lines, of what a certificate is about."""
    names = _Names(document, data)
    lines = [
        *(() if asked is not None and asked.ask == "mean" else _task(document, data)),
        *(() if asked is None else asked.in_words()),
        *_model(document["model"]),
        *_weights(document["model"], data, bias, names),
        *_labels(data, names),
        *_intervals(data, bias, names),
        *_whose(document, data, bias),
        *_features(document, data, bias),
        *_rows(document, data),
    ]
    if trusted := document.get("trusted"):
        texts = ", ".join(map(repr, trusted))
        lines.append(f"taken on trust by whoever wrote the file: {texts}")
    hashes = document["data"]["sha256"].items()
    lines.append("sha256: " + ", ".join(f"{name} {digest[:16]}" for name, digest in hashes))
    lines.append(f"fingerprint of all this: {_fingerprint(document, data, bias, asked)}")
    return "\n".join(lines)


class _Names:
    """Names of labels: numbers, and the classes they stand for."""

    def __init__(self, document: dict[str, Any], data: Data) -> None:
        classes = document["data"].get("classes")
        self.classes = (
            dict(zip(classes["numbers"], classes["values"], strict=True)) if classes else {}
        )
        self.kinds = kinds(data.labels)  # distinct labels and their counts, if few
        self.to = document["question"].get("to", [])  # of several classes, what each may be
        if self.to:
            self.kinds = sorted(Counter(data.labels).items())

    def of(self, number: float) -> str:
        """Return the name of a label."""
        return f"{number!r} ({self.named(number)})" if number in self.classes else repr(number)

    def named(self, number: float) -> str:
        """Return the class that a number stands for."""
        value = self.classes[number]
        return "every other label" if value is None else quoted(value)


def _task(document: dict[str, Any], data: Data) -> Iterator[str]:
    rule = document["question"]
    if rule["task"] == "classification":
        balanced = rule["threshold"] == "balanced"
        mark = "mean of the labels" if balanced else f"threshold {rule['threshold']!r}"
        yield f"what must stay: the class, which is whether the score is above the {mark}"
        if balanced:
            yield "scores: measured from that mean (weighted, if rows are), which moves with labels"
        if document["model"]["kind"] == "votes":
            yield "scores: shares of votes for the second class"
    elif document["model"]["kind"] == "votes":
        yield (
            f"what must stay: the class, which is that with most votes of {len(rule['to']):,} "
            "classes, and of equal ones the first"
        )
    elif rule["task"] == "classes":
        first, second = rule["codes"]
        yield (
            f"what must stay: the class, which is that of the highest of {len(rule['to']):,} "
            "scores, and of equal ones the first"
        )
        yield (
            f"scores: one for each class, which learns {second} from labels of its own and {first} "
            "from others; claims are about how far the class is ahead"
        )
        yield "a class that can lose all of its labels within the budget does not stay"
    elif rule["task"] == "regression":
        yield f"what must stay: the score, up to a radius of {rule['radius']!r}"
        if data.log:
            factor = f"a factor of {math.exp(min(rule['radius'], 700)):.6g}"
            yield f"scores: of natural logarithms, so that this radius is about {factor}"
    elif rule["task"] == "counts":
        yield f"what must stay: the expected count, e^score, up to a radius of {rule['radius']!r}"
    elif "contrasts" in rule:
        yield "what must stay: the sign of each of these contrasts, which are sums of coefficients"
        for at, contrast in enumerate(rule["contrasts"]):
            terms = ["the intercept"] if contrast.get("intercept") else []
            terms += [
                f"{weight!r} times {_feature_name(document, data, feature)}"
                for feature, weight in zip(contrast["features"], contrast["weights"], strict=True)
            ]
            yield f"  {at}: {' plus '.join(terms) or 'nothing, which is 0'}"
    else:
        yield "what must stay: the sign of each coefficient"


def _model(model: dict[str, Any]) -> Iterator[str]:
    kind, intercept = model["kind"], "with" if model.get("intercept") else "without"
    if kind == "votes":
        equal = "share one" if model["equal_rows"] == "together" else "are dealt one by one"
        yield (
            f"model: votes of {counted(model['partitions'], 'member')}, each trained on one "
            f"partition: a hash of features, random state {model['random_state']}; equal rows "
            f"{equal}"
        )
        yield "  the votes of the members are taken from the data: nobody trained them here"
    elif kind == "smoother":
        yield "model: the score of a row is a sum of labels, each times a number that is given"
    elif kind == "kernel-ridge":
        yield f"model: kernel ridge, alpha {model['alpha']!r}"
    elif kind == "ridge":
        yield f"model: ridge, alpha {model['alpha']!r}, {intercept} an intercept"
    else:
        penalty, is_logistic = model["penalty"], kind == "logistic"
        name = "logistic regression" if is_logistic else "Poisson regression, with a log link"
        text = f"model: {name}, penalty {penalty!r}, {intercept} an intercept"
        yield text + (f" (C is {ratio(1 / Fraction(penalty))})" if is_logistic and penalty else "")
        yield f"scores: {'log-odds' if is_logistic else 'logarithms of expected counts'}"
    if "class_weights" in model:
        first, second = model["class_weights"]
        yield (
            f"class weights: {first!r} for labels 0.0, {second!r} for labels 1.0; a label that "
            "changes takes the weight of its new class"
        )


# --- weights --------------------------------------------------------------------------------


def _weights(model: dict[str, Any], data: Data, bias: Bias, names: _Names) -> Iterator[str]:
    weights = bias.weights
    name = "penalty" if "penalty" in model else "alpha"
    first, alpha = weights[0], Fraction(model.get(name, 0))
    if min(weights) == max(weights):
        if first == 1:
            yield "weights: unweighted"
            return
        same = f"{name} {ratio(alpha / Fraction(first))} without weights"
        yield f"weights: each row has weight {first!r}, which is the same as {same}"
        return
    yield from told("weights", weights, "row")
    if alpha:
        total = sum((Fraction(w) * count for w, count in Counter(weights).items()), Fraction(0))
        yield f"  with weights of mean 1, {name} would be {ratio(alpha * len(weights) / total)}"
    if zeros := weights.count(0.0):
        yield f"  {counted(zeros, 'row')} of weight 0 do not count"
    movable = bias.movable
    if not all(movable):
        still = [not each for each in movable]
        for which, rows in (("can", movable), ("cannot", still)):
            chosen = list(compress(weights, rows))
            yield from told(f"  of rows whose labels {which} move", chosen, "row")
    if len(names.kinds) > 1:
        groups = {
            label: [w for w, y in zip(weights, data.labels, strict=True) if y == label]
            for label, _ in names.kinds
        }
        for label, group in groups.items():
            yield from told(f"  of labels {names.of(label)}", group, "row")
        yield from _one_value_per_class(groups, names, len(weights))
    elif not names.kinds and _follow(weights, data.labels):
        yield f"  weights follow the labels, from the smallest to the largest. {_FROM_LABELS}"


def _one_value_per_class(
    groups: dict[float, list[float]], names: _Names, n_rows: int
) -> Iterator[str]:
    """Yield a remark if weights follow from labels: equal within classes, up to a hundredth."""
    ends = sorted((min(group), max(group)) for group in groups.values())
    constant = all(high <= low * _NEAR for low, high in ends)
    apart = all(a[1] < b[0] for a, b in pairwise(ends))
    if constant and apart and 2 * len(groups) <= max(n_rows, 4):
        values = ", ".join(
            f"{min(group)!r} for {names.of(label)}" for label, group in groups.items()
        )
        yield f"  one value per class: {values}. {_FROM_LABELS}"


def _follow(weights: "array[float]", labels: "array[float]") -> bool:
    """Return whether weights are a function of labels that is monotonic or seldom changes."""
    in_order = _as_function(labels, weights)
    rises = sum(a < b for a, b in pairwise(in_order))
    falls = sum(a > b for a, b in pairwise(in_order))
    return bool(in_order) and (not rises or not falls or 10 * (rises + falls) <= len(labels))


def _as_function(keys: Iterable[float], values: Iterable[float]) -> list[float]:
    """Return values in the order of their keys, each once; nothing if they are no function."""
    value_of: dict[float, float] = {}
    for key, value in zip(keys, values, strict=True):
        if value_of.setdefault(key, value) != value:
            return []
    return [value_of[key] for key in sorted(value_of)]


# --- labels and their intervals -------------------------------------------------------------


def _labels(data: Data, names: _Names) -> Iterator[str]:
    column = "" if data.label is None else f"column {quoted(data.label)}, "
    if data.log:
        column = f"natural logarithms of {column}up to two units in the last place, "
    if names.kinds:
        values = ", ".join(f"{names.of(label)} in {counted(n, 'row')}" for label, n in names.kinds)
    else:
        values = quartiles(data.labels)
    yield f"labels: {column}{values}"
    if names.classes and data.label is None:
        meaning = ", ".join(f"{number!r} is {names.named(number)}" for number in names.classes)
        yield f"  the file says that {meaning}; the data hold numbers only, so nobody checked"


def _intervals(data: Data, bias: Bias, names: _Names) -> Iterator[str]:
    pairs, movable = list(zip(bias.lower, bias.upper, strict=True)), sum(bias.movable)
    yield from bias.budget.in_words(movable, len(pairs))
    if not (bias.budget.said or bias.budget.kind == "cost") or not movable:
        yield "  so no label changes at all, and every claim that a row is robust holds trivially"
    if weightless := sum(not w for w in compress(bias.weights, bias.movable)):
        yield f"  {counted(weightless, 'label')} that can move count nothing, having weight 0"
    if names.to:
        yield from _may_be(data, bias, names)
    elif len(names.kinds) == 2:
        (low_label, _), (high_label, _) = names.kinds
        for label, other in ((low_label, high_label), (high_label, low_label)):
            own = [pair for pair, y in zip(pairs, data.labels, strict=True) if y == label]
            reach = sum(1 for low, high in own if _reaches(label, other, low, high))
            yield (
                f"  labels {names.of(label)}: {reach:,} of {len(own):,} can become "
                f"{names.of(other)}"
            )
            yield from indented(indented(_moves(own)))
    else:
        yield from indented(_moves(pairs))


def _may_be(data: Data, bias: Bias, names: _Names) -> Iterator[str]:
    """Yield, class by class, which classes its labels may really be."""
    moving = Counter(compress(data.labels, bias.movable))
    for number, (label, count) in enumerate(names.kinds):
        if not moving[label]:
            yield f"  labels {names.of(label)}: taken to be right"
            continue
        others = names.to[number]
        text = listed((names.of(float(other)) for other in others), _NAMES)
        if len(others) == len(names.to) - 1:
            text = "any other class"
        elif len(others) > 1:
            text = f"one of {text}"
        yield f"  labels {names.of(label)}: {moving[label]:,} of {count:,} can become {text}"


@lru_cache(maxsize=2**10)
def _reaches(label: float, other: float, low: float, high: float) -> bool:
    """Return whether a label can become another one within its interval, exactly."""
    return Fraction(label) + Fraction(low) <= Fraction(other) <= Fraction(label) + Fraction(high)


def _moves(pairs: list[tuple[float, float]]) -> Iterator[str]:
    """Yield lines on how far labels can move."""
    apart = hides(low for low, _ in pairs) or hides(high for _, high in pairs)
    if kinds(pairs) or apart:
        if apart:
            yield "not in plain words:"
        yield from listing(pairs, "label", _interval, lambda pair: max(-pair[0], pair[1]))
        return
    up = [high for _, high in pairs if high > 0]
    down = [-low for low, _ in pairs if low < 0]
    both = sum(1 for low, high in pairs if low < 0 < high)
    yield f"up: {counted(len(up), 'label')}, by at most {quartiles(up)}"
    yield f"down: {counted(len(down), 'label')}, by at most {quartiles(down)}"
    yield f"both ways: {counted(both, 'label')}; not at all: {pairs.count((0.0, 0.0)):,}"


def _interval(pair: tuple[float, float]) -> str:
    return f"by {pair[0] + 0.0!r} to {pair[1] + 0.0!r}"


def _whose(document: dict[str, Any], data: Data, bias: Bias) -> Iterator[str]:
    """Yield lines on which rows' labels can move, column by column, where some cannot."""
    movable = bias.movable
    if "recipe" not in document or data.train is None or all(movable) or not any(movable):
        return
    features = enumerate(document["recipe"]["features"])
    yield "  rows whose labels can move:"
    for name, group in islice(groupby(features, lambda pair: pair[1]["column"]), _MOVING):
        made = list(group)
        if len(made) <= _MOVING:
            texts = (_moving(data.train[:, at].tolist(), each, movable) for at, each in made)
            yield f"    {quoted(name)}: {', '.join(texts)}"


def _moving(column: list[float], feature: dict[str, Any], movable: list[bool]) -> str:
    """Return, for one feature, how rows whose labels can move differ from the others."""
    inside = list(compress(column, movable))
    if "equals" in feature:
        total, moving = column.count(1.0), inside.count(1.0)
        return f"{moving:,} of the {total:,} with {quoted(feature['equals'])}"
    outside = list(compress(column, (not each for each in movable)))
    means = (
        feature["mean"] + feature["scale"] * (sum(part) / len(part)) for part in (inside, outside)
    )
    return "on average {:.6g}, where they cannot {:.6g}".format(*means)


# --- features -------------------------------------------------------------------------------


def _features(document: dict[str, Any], data: Data, bias: Bias) -> Iterator[str]:
    """Yield lines that say how features are made and how much they differ from row to row."""
    train, tests, kind = data.train, data.tests, document["model"]["kind"]
    if kind == "smoother":
        yield "features: none; how much each label counts was given, and nobody checked why"
        if tests is not None:
            yield f"  sums of a row's numbers: {quartiles(sum(row.tolist()) for row in tests)}"
            sizes = (max(map(abs, row.tolist()), default=0.0) for row in tests)
            yield f"  largest size in a row: {quartiles(sizes)}"
    elif kind == "kernel-ridge" and train is not None:
        yield "features: none; the kernel's numbers were given, and nobody checked how they came"
        yield f"  on its diagonal: {quartiles(np.diag(train).tolist())}"
        if tests is not None:
            yield f"  for test rows: {quartiles(tests.ravel().tolist())}"
    elif kind == "votes" and tests is not None:
        yield from _made(document, data)
        votes, costs = np.split(tests, [document["model"]["partitions"]], axis=1)
        width, above = costs.shape[1] // votes.shape[1], int((costs > 1).sum())
        never = int((costs < 0).sum() - (votes >= 0).sum() - width * (votes < 0).sum())
        yield (
            "  how many labels a vote takes is taken from the data, too, where that is more than 1 "
            f"({above:,} times) or no number is enough ({never:,} times)"
        )
    elif train is not None:
        yield from _made(document, data)
        yield from _columns(document, train, data, bias)


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
    yield from _written(Writing.of(document["recipe"]))
    features = document["recipe"]["features"]
    n_columns = len({each["column"] for each in features})
    yield f"features: {width:,}, from {counted(n_columns, 'column')}"
    groups = groupby(features, itemgetter("column"))
    for name, group in islice(groups, _COLUMNS):
        yield from _column(name, list(group), data)
    rest = (line.strip() for name, group in groups for line in _column(name, list(group), data))
    if more := listed(rest, 0):
        yield f"  {more.strip()}"


def _written(writing: Writing) -> Iterator[str]:
    """Yield a line that says how files are written, if it is not the usual way."""
    if writing == USUAL:
        return
    parts = [
        f"cells separated by {quoted(writing.delimiter)}",
        f"decimals after {writing.decimal!r}",
    ]
    if not writing.header:
        parts.append("no header, so that columns are column1, column2 and so on")
    if writing.missing:
        parts.append(f"no value where a cell is {' or '.join(map(quoted, writing.missing))}")
    yield f"files are written with: {'; '.join(parts)}"


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


def _feature_name(document: dict[str, Any], data: Data, at: int) -> str:
    """Return the name of a feature by its number."""
    if "recipe" in document:
        feature = document["recipe"]["features"][at]
        value = f" is {quoted(feature['equals'])}" if "equals" in feature else ""
        return quoted(feature["column"]) + value
    return quoted(data.columns[at]) if data.columns else f"number {at}"


def _columns(document: dict[str, Any], train: FloatArray, data: Data, bias: Bias) -> Iterator[str]:
    """Yield lines on how much features vary, and which are constant or determine the label."""
    if not train.shape[1]:
        return

    def names(found: Iterable[int]) -> list[str]:
        return [_feature_name(document, data, at) for at in found]

    spreads = _spreads(train[np.frombuffer(bias.weights) > 0])
    parts = {"training": spreads}
    if data.tests is not None and len(data.tests):
        parts["test"] = _spreads(data.tests)
    for which, part in parts.items():
        rounded = [float(f"{spread:.4g}") for spread in part]
        head = f"  largest minus smallest value over the {which} rows"
        yield from told(head, rounded, "feature", _SCALES)
    least = max(spreads) / _SCALES
    if constant := [at for at, spread in enumerate(spreads) if not spread]:
        yield f"  the same in all training rows that count: {listed(names(constant), _NAMES)}"
    if small := [at for at, spread in enumerate(spreads) if 0 < spread < least]:
        yield f"  next to nothing beside the others: {listed(names(small), _NAMES)}"
    copies = [at for at, column in enumerate(train.T) if _says_the_label(column, data.labels)]
    for name in names(copies[:_NAMES]):
        yield f"  {name} says in every training row what the label says"
    if len(copies) > _NAMES:
        yield f"  and so do {len(copies) - _NAMES:,} more"


def _spreads(rows: FloatArray) -> list[float]:
    """Return the largest less the smallest number of each column."""
    with np.errstate(over="ignore"):
        return list((rows.max(axis=0) - rows.min(axis=0)).tolist())


def _says_the_label(column: FloatArray, labels: "array[float]") -> bool:
    """Return whether a feature determines the label of every training row, and not by chance.

    Rows of equal features must have equal labels. Further, there must be at most half as many
    distinct features as rows, or features and labels must be in the same or the opposite order.
    """
    in_order = _as_function(column.tolist(), labels)
    if len(in_order) < 2 or len(labels) < 4:
        return False
    if 2 * len(in_order) <= len(labels):
        return len(set(in_order)) > 1
    ways = (pairwise(in_order), pairwise(reversed(in_order)))
    return any(all(a < b for a, b in way) for way in ways)


# --- rows and hashes ------------------------------------------------------------------------


def _rows(document: dict[str, Any], data: Data) -> Iterator[str]:
    about, n_train = document["data"], len(data.labels)
    of_train = f" of the {data.n_rows['train']:,} in the training file" if data.n_rows else ""
    text = f"rows: {n_train:,}{of_train} to learn from"
    if data.tests is None:
        what = "contrast" if "contrasts" in document["question"] else "coefficient"
        yield f"{text}; claims are about {counted(about['test_rows'], what)}"
        return
    text += f", {about['test_rows']:,}"
    if "test" in data.n_rows:
        text += f" of the {data.n_rows['test']:,} in the test file"
    elif data.n_rows:
        text += " of the same file"
        if data.both:
            text += f" ({data.both:,} of them learned from as well)"
    yield f"{text} to test"


def _fingerprint(document: dict[str, Any], data: Data, bias: Bias, asked: "Asked | None") -> str:
    """Return a hash of everything that changes what is proven."""
    model = {key: value for key, value in document["model"].items() if key != "weights"}
    facts: dict[str, Any] = {
        "question": document["question"], "model": model, "data": document["data"],
        "trusted": document.get("trusted", []), "budget": document["bias"]["budget"],
        "label": data.label, "columns": data.columns,
    }  # fmt: skip
    if asked is not None:
        facts["collective"] = asked.facts()
    digest = hashlib.sha256()
    if "recipe" in document:
        facts["recipe"] = dict(document["recipe"])
        for which in ("train", "test"):
            rows = row_numbers(facts["recipe"].pop(which), 2**32, 2**32, f"recipe.{which}")
            digest.update(f"{which} {len(rows)} ".encode())
            digest.update(np.asarray(rows).astype("<u8").tobytes())
    digest.update(json.dumps(facts, sort_keys=True).encode())
    for numbers in (bias.lower, bias.upper, bias.weights):
        digest.update((np.frombuffer(numbers) + 0.0).astype("<f8").tobytes())  # -0 is 0
    return digest.hexdigest()
