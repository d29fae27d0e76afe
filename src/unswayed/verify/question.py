"""The question of a certificate in words, in full.

A proof is worth as much as its question, and whoever wrote the file chose it. So everything that
changes what is proven is reported: in words where they are complete, in lists where a summary
would hide something, and by hashes where it is as long as the data.
"""

import hashlib
import json
import math
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import compress, groupby, islice, pairwise
from typing import Any, Protocol

from unswayed.verify.columns import feature_name, features_in_words
from unswayed.verify.data import Data
from unswayed.verify.document import row_numbers
from unswayed.verify.matrix import little_endian
from unswayed.verify.words import (
    counted,
    few,
    hides,
    indented,
    listing,
    quartiles,
    quoted,
    ratio,
    runs,
    summary,
)

_COLUMNS = 20  # told of the rows whose labels can move; categories of each at most
_NEAR = 1.01  # weights that differ by less than this factor count as one value
_FROM_LABELS = (
    "Such weights usually come from the labels; then wrong labels mean other weights, and what is "
    "proven here is of no use"
)


@dataclass(frozen=True, slots=True)
class Bias:
    """Which labels may be wrong, by how much, and what each row weighs."""

    lower: "array[float]"
    upper: "array[float]"
    weights: "array[float]"
    budget: int


class Asking(Protocol):
    """What was asked of all rows together."""

    @property
    def ask(self) -> str:
        """Which kind of question it is."""
        ...

    def in_words(self) -> Iterator[str]:
        """Yield lines that say it."""
        ...

    def facts(self) -> dict[str, Any]:
        """Return everything that changes what is proven."""
        ...


def in_words(document: dict[str, Any], data: Data, bias: Bias, asked: Asking | None = None) -> str:
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
        *features_in_words(document, data, bias.weights),
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
        self.checked = data.label is not None  # an .npz file holds numbers only
        self.classes = (
            dict(zip(classes["numbers"], classes["values"], strict=True)) if classes else {}
        )
        kinds = runs(sorted(data.labels))
        self.kinds = kinds if few(kinds) else []  # distinct labels and their counts, if few

    def of(self, number: float) -> str:
        """Return the name of a label."""
        if number in self.classes:
            return f"{number!r} ({self.named(number)})"
        return repr(number)

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
                f"{weight!r} times {feature_name(document, data, feature)}"
                for feature, weight in zip(contrast["features"], contrast["weights"], strict=True)
            ]
            yield f"  {at}: {' plus '.join(terms) or 'nothing, which is 0'}"
    else:
        yield "what must stay: the sign of each coefficient"


def _model(model: dict[str, Any]) -> Iterator[str]:
    if model["kind"] == "smoother":
        yield "model: the score of a row is a sum of labels, each times a number that is given"
    elif model["kind"] == "kernel-ridge":
        yield f"model: kernel ridge, alpha {model['alpha']!r}"
    elif "penalty" in model:
        yield from _gradient_model(model)
    else:
        intercept = "with" if model["intercept"] else "without"
        yield f"model: ridge, alpha {model['alpha']!r}, {intercept} an intercept"


def _gradient_model(model: dict[str, Any]) -> Iterator[str]:
    penalty, intercept = model["penalty"], "with" if model["intercept"] else "without"
    names = {"logistic": "logistic regression", "poisson": "Poisson regression, with a log link"}
    text = f"model: {names[model['kind']]}, penalty {penalty!r}, {intercept} an intercept"
    if model["kind"] == "logistic" and penalty:
        text += f" (C is {ratio(1 / Fraction(penalty))})"
    yield text
    scores = "log-odds" if model["kind"] == "logistic" else "logarithms of expected counts"
    yield f"scores: {scores}"
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
    head, *rest = summary(weights, "row")
    yield f"weights: {head}"
    yield from indented(rest)
    if alpha:
        mean = sum(map(Fraction, weights), Fraction(0)) / len(weights)
        yield f"  with weights of mean 1, {name} would be {ratio(alpha / mean)}"
    if zeros := weights.count(0.0):
        yield f"  {counted(zeros, 'row')} of weight 0 do not count"
    movable = [low < 0 or high > 0 for low, high in zip(bias.lower, bias.upper, strict=True)]
    if not all(movable):
        yield from _part("of rows whose labels can move", list(compress(weights, movable)))
        still = list(compress(weights, (not each for each in movable)))
        yield from _part("of rows whose labels cannot move", still)
    if len(names.kinds) > 1:
        groups = {
            label: [w for w, y in zip(weights, data.labels, strict=True) if y == label]
            for label, _ in names.kinds
        }
        for label, group in groups.items():
            yield from _part(f"of labels {names.of(label)}", group)
        yield from _one_value_per_class(groups, names, len(weights))
    elif not names.kinds and _follow(weights, data.labels):
        yield (f"  weights follow the labels, from the smallest to the largest. {_FROM_LABELS}")


def _part(whose: str, weights: list[float]) -> Iterator[str]:
    head, *rest = summary(weights, "row")
    yield f"  {whose}: {head}"
    yield from indented(indented(rest))


def _one_value_per_class(
    groups: dict[float, list[float]], names: _Names, n_rows: int
) -> Iterator[str]:
    """Yield a remark if weights follow from labels: equal within classes, up to a hundredth."""
    ends = [(min(group), max(group)) for group in groups.values()]
    constant = all(high <= low * _NEAR for low, high in ends)
    ordered = sorted(ends)
    apart = all(a[1] < b[0] for a, b in pairwise(ordered))
    if constant and apart and 2 * len(groups) <= max(n_rows, 4):
        values = ", ".join(
            f"{min(group)!r} for {names.of(label)}" for label, group in groups.items()
        )
        yield (f"  one value per class: {values}. {_FROM_LABELS}")


def _follow(weights: "array[float]", labels: "array[float]") -> bool:
    """Return whether weights are a function of labels that is monotonic or seldom changes."""
    weight_of: dict[float, float] = {}
    for label, weight in zip(labels, weights, strict=True):
        if weight_of.setdefault(label, weight) != weight:
            return False
    in_order = [weight_of[label] for label in sorted(weight_of)]
    rises = sum(a < b for a, b in pairwise(in_order))
    falls = sum(a > b for a, b in pairwise(in_order))
    return not rises or not falls or 10 * (rises + falls) <= len(labels)


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
    if names.classes and not names.checked:
        meaning = ", ".join(f"{number!r} is {names.named(number)}" for number in names.classes)
        yield f"  the file says that {meaning}; the data hold numbers only, so nobody checked"


def _intervals(data: Data, bias: Bias, names: _Names) -> Iterator[str]:
    pairs = list(zip(bias.lower, bias.upper, strict=True))
    movable = sum(1 for low, high in pairs if low < 0 or high > 0)
    yield (
        f"wrong labels: at most {bias.budget:,} at once, of the {movable:,} that can move "
        f"({counted(len(pairs), 'label')} in all)"
    )
    if not bias.budget or not movable:
        yield "  so no label changes at all, and every claim that a row is robust holds trivially"
    weightless = sum(
        1 for (low, high), w in zip(pairs, bias.weights, strict=True) if not w and low < high
    )
    if weightless:
        yield f"  {counted(weightless, 'label')} that can move count nothing, having weight 0"
    if len(names.kinds) == 2:
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


def _whose(document: dict[str, Any], data: Data, bias: Bias) -> Iterator[str]:
    """Yield lines on which rows' labels can move, column by column, where some cannot."""
    movable = [low < high for low, high in zip(bias.lower, bias.upper, strict=True)]
    if "recipe" not in document or data.train is None or all(movable) or not any(movable):
        return
    features = enumerate(document["recipe"]["features"])
    yield "  rows whose labels can move:"
    for name, group in islice(groupby(features, lambda pair: pair[1]["column"]), _COLUMNS):
        made = list(group)
        if len(made) > _COLUMNS:
            continue
        told = (_moving(data.train.column(at), feature, movable) for at, feature in made)
        yield f"    {quoted(name)}: {', '.join(told)}"


def _moving(column: "array[float]", feature: dict[str, Any], movable: list[bool]) -> str:
    """Return, for one feature, how rows whose labels can move differ from the others."""
    inside = array("d", compress(column, movable))
    if "equals" in feature:
        total, moving = column.count(1.0), inside.count(1.0)
        return f"{moving:,} of the {total:,} with {quoted(feature['equals'])}"
    outside = array("d", compress(column, (not each for each in movable)))
    means = (
        feature["mean"] + feature["scale"] * (sum(part) / len(part)) for part in (inside, outside)
    )
    return "on average {:.6g}, where they cannot {:.6g}".format(*means)


@lru_cache(maxsize=2**10)
def _reaches(label: float, other: float, low: float, high: float) -> bool:
    """Return whether a label can become another one within its interval, exactly."""
    return Fraction(label) + Fraction(low) <= Fraction(other) <= Fraction(label) + Fraction(high)


def _moves(pairs: list[tuple[float, float]]) -> Iterator[str]:
    """Yield lines on how far labels can move."""
    ordered = sorted(pairs)
    kinds = runs(ordered)
    apart = hides(low for low, _ in pairs) or hides(high for _, high in pairs)
    if few(kinds) or apart:
        if apart:
            yield "not in plain words:"
        yield from listing(ordered, "label", _interval, lambda pair: max(-pair[0], pair[1]))
        return
    up = [high for _, high in pairs if high > 0]
    down = [-low for low, _ in pairs if low < 0]
    both = sum(1 for low, high in pairs if low < 0 < high)
    yield f"up: {counted(len(up), 'label')}, by at most {quartiles(up)}"
    yield f"down: {counted(len(down), 'label')}, by at most {quartiles(down)}"
    yield f"both ways: {counted(both, 'label')}; not at all: {pairs.count((0.0, 0.0)):,}"


def _interval(pair: tuple[float, float]) -> str:
    return f"by {pair[0] + 0.0!r} to {pair[1] + 0.0!r}"


# --- rows and hashes ------------------------------------------------------------------------


def _rows(document: dict[str, Any], data: Data) -> Iterator[str]:
    about, n_train = document["data"], len(data.labels)
    of_train = ""
    if data.n_rows:
        of_train = f" of the {data.n_rows['train']:,} in the training file"
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


def _fingerprint(document: dict[str, Any], data: Data, bias: Bias, asked: Asking | None) -> str:
    """Return a hash of everything that changes what is proven."""
    model = {key: value for key, value in document["model"].items() if key != "weights"}
    facts: dict[str, Any] = {
        "question": document["question"], "model": model, "data": document["data"],
        "trusted": document.get("trusted", []), "budget": bias.budget,
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
            digest.update(little_endian(rows).tobytes())
    digest.update(json.dumps(facts, sort_keys=True).encode())
    for numbers in (bias.lower, bias.upper, bias.weights):
        without_sign = array("d", (number + 0.0 for number in numbers))  # -0 is 0
        digest.update(little_endian(without_sign).tobytes())
    return digest.hexdigest()
