"""How likely random label errors overturn a row: every outcome enumerated, in whole numbers.

Nothing here uses the package. Outcomes of single labels are convolved as a table from sums to
probabilities, which is enumeration with equal sums counted once.
"""

import math
from collections import defaultdict
from fractions import Fraction

from tests.soundness.truth import dot, stays


def flips(targets, rates, codes):
    """For every label: what may be added to it, and how likely that is."""
    negative, positive = map(Fraction, codes)
    step = positive - negative
    return [
        [(Fraction(0), 1 - Fraction(p)), (-step if y == positive else step, Fraction(p))]
        for y, p in zip(targets, rates, strict=True)
    ]


def two_points(rates, low, high, share):
    share = Fraction(share)
    return [
        [
            (Fraction(0), 1 - Fraction(p)),
            (Fraction(low), Fraction(p) * (1 - share)),
            (Fraction(high), Fraction(p) * share),
        ]
        for p in rates
    ]


def probability(z, labels, question, outcomes):
    """The exact probability that the prediction of a row does not stay."""
    effects = [
        [(influence * added, chance) for added, chance in each if chance]
        for influence, each in zip(z, outcomes, strict=True)
    ]
    pairs = [pair for each in effects for pair in each]
    unit = math.lcm(*(moved.denominator for moved, _ in pairs))
    whole = math.lcm(*(chance.denominator for _, chance in pairs))
    sums = {0: 1}
    for each in effects:
        after = defaultdict(int)
        steps = [(int(moved * unit), int(chance * whole)) for moved, chance in each]
        for total, weight in sums.items():
            for moved, chance in steps:
                after[total + moved] += weight * chance
        sums = after
    score = dot(z, labels)
    lost = sum(
        weight
        for moved, weight in sums.items()
        if not stays(question, score, score + Fraction(moved, unit))
    )
    return Fraction(lost, whole ** len(effects))


def class_probability(z, labels, likely):
    """The exact probability that random errors change the class of a row, of three or more.

    `likely` has the probability of every class for every label, its own included. The highest sum
    of influence wins, of equal ones the first; a class that no label is of is not known any more.
    """
    n_classes, unit = len(likely[0]), math.lcm(*(each.denominator for each in z))
    whole = math.lcm(*(chance.denominator for each in likely for chance in each))
    steps, outcomes = [int(each * unit) for each in z], {((0,) * n_classes, 0): 1}
    for step, each in zip(steps, likely, strict=True):
        after = defaultdict(int)
        for number, chance in enumerate(each):
            for (scores, there), weight in outcomes.items() if chance else ():
                now = (*scores[:number], scores[number] + step, *scores[number + 1 :])
                after[now, there | 1 << number] += weight * int(chance * whole)
        outcomes = after
    before = [
        sum(a for a, b in zip(steps, labels, strict=True) if b == number)
        for number in range(n_classes)
    ]
    said = before.index(max(before))
    lost = sum(
        weight
        for (scores, there), weight in outcomes.items()
        if scores.index(max(scores)) != said or not there >> said & 1
    )
    return Fraction(lost, whole ** len(z))
