"""Budgets on the terminal: their heads, their order, and what they allow in words."""

import math
from typing import Any

from unswayed.cli.terminal import Terminal
from unswayed.words import labels, labels_between, number_end

_HEADS = {"clusters": "wrong clusters", "total change": "total change", "cost": "cost"}


def budget_head(facts: dict[str, Any]) -> str:
    """Return the head of a column of budgets, which names their unit."""
    return _HEADS.get(facts["unit"], "wrong labels")


def budget_name(facts: dict[str, Any], budget: dict[str, Any]) -> str:
    """Return a budget as the head of a column, with its unit unless that is labels."""
    text, unit = budget["budget"], facts["unit"]
    if unit == "clusters":
        return str(budget["labels_in_words"])
    return text if unit == "labels" else f"{unit} {text}"


def wrong_in_words(facts: dict[str, Any], budget: dict[str, Any]) -> str:
    """Say that as much as a budget allows is wrong, to follow "if"."""
    unit, words = facts["unit"], budget["labels_in_words"]
    if unit == "labels":
        text, own = budget["budget"], labels(budget["labels"])
        rest = words.removeprefix(own)
        text += f"{' of all' if rest and '%' in text else ''}{rest}"
        are = "is" if budget["labels"] == 1 else "are"
        return f"up to {own}{f' ({text})' if text != str(budget['labels']) else ''} {are} wrong"
    if unit == "clusters":
        return f"up to {words} {'is' if budget['labels'] == 1 else 'are'} wrong as a whole"
    if unit == "cost":
        return f"labels are wrong that cost up to {budget['budget']} together"
    return f"labels are off by up to {budget['budget']} in all"


def amount_between(unit: str, low: float, high: float) -> str:
    """Return a least amount of a budget that is known from below and from above.

    >>> amount_between("clusters", 1, 1), amount_between("cost", 9.25, 9.5)
    ('1 cluster', 'a cost of 9.25 to 9.5')
    """
    if unit == "labels" or not math.isfinite(low):
        return labels_between(low, high)
    if unit == "clusters":
        words = labels_between(low, high)
        return words.replace("label", "cluster")
    ends = number_end(low, -1)
    if not math.isfinite(high):
        ends += " or more"
    elif number_end(high, 1) != ends:
        ends += f" to {number_end(high, 1)}"
    return f"a {unit} of {ends}"


def say_source(terminal: Terminal, facts: dict[str, Any]) -> None:
    """Say how sure a budget is that a checked sample gave."""
    if facts["budget_source"] is not None:
        terminal.say(
            f"the budget is from a sample ({facts['budget_source']}): what is proven at it holds "
            "together, with that confidence"
        )


def ascending(budgets: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return budgets, smallest first; the main one is the first that was asked for."""
    return sorted(budgets, key=lambda each: float(each["labels"]))
