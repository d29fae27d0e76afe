"""The figure of states and racial groups (6.3) and the table of states (D.4)."""

from functools import partial
from pathlib import Path

import numpy as np

from reproduction import figures
from reproduction.experiment import Claim, Comparison, Experiment, Record, Result, Results, Table
from reproduction.problems import ALPHAS, Data, mean_rates

STATES = {"GA": "Georgia", "LA": "Louisiana", "MD": "Maryland", "OR": "Oregon", "WI": "Wisconsin"}
RACES = ("White", "Black")
PERCENTS = (0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0)

# Training rows, per cent White, per cent Black.
PAPER = {
    "GA": (40731, 67.6, 23.9),
    "LA": (16533, 70.9, 23.5),
    "MD": (26433, 63.6, 23.5),
    "OR": (17537, 86.4, 1.4),
    "WI": (26153, 92.7, 2.6),
}
_BALANCED = ("GA", "LA", "MD")
_UNBALANCED = ("OR", "WI")


def _by_race(state: str, data: Data) -> Result:
    problem = data.problem(f"Income {state}")
    assert problem.race is not None  # noqa: S101
    return {
        "rates": mean_rates(problem, ALPHAS["Income"][0], PERCENTS, groups=RACES),
        "train": float(np.mean([len(train) for train, _ in problem.splits])),
        "shares": [100 * float(np.mean(problem.race == race)) for race in RACES],
    }


def _gap(result: Result) -> float:
    """Return the difference between the groups' rates, in points, mean over the budgets."""
    rates = result["rates"]
    return float(np.mean(np.abs(np.subtract(rates["White"], rates["Black"]))))


def _report(results: Results) -> Record:
    gaps = {state: _gap(results[state]) for state in STATES}
    behind = {
        state: float(
            np.mean(np.subtract(results[state]["rates"]["White"], results[state]["rates"]["Black"]))
        )
        for state in STATES
    }
    said = ", ".join(f"{STATES[state]} {gap:.1f}" for state, gap in gaps.items())
    white, black = results["WI"]["shares"]
    return Record(
        name="states",
        title="States and racial groups",
        comparisons=[
            Comparison(
                title="Share of the racial groups, in %",
                rows=list(STATES.values()),
                columns=list(RACES),
                paper=[list(PAPER[state][1:]) for state in STATES],
                ours=[results[state]["shares"] for state in STATES],
                bar=0.1,
            ),
            Comparison(
                title="Training rows",
                rows=list(STATES.values()),
                columns=["rows"],
                paper=[[PAPER[state][0]] for state in STATES],
                ours=[[results[state]["train"]] for state in STATES],
                bar=2.0,
                decimals=0,
            ),
        ],
        claims=[
            Claim(
                "Wisconsin's rows are 92.7 % White and 2.6 % Black (6.3)",
                abs(white - 92.7) <= 0.1 and abs(black - 2.6) <= 0.1,
                f"{white:.1f} and {black:.1f} %",
            ),
            Claim(
                "Georgia, Louisiana and Maryland have small gaps between racial groups; Wisconsin "
                "and Oregon, where Black people are few, have large ones (6.3)",
                max(gaps[state] for state in _BALANCED) < min(gaps[state] for state in _UNBALANCED),
                f"mean distance of the two curves, in points: {said}",
            ),
            Claim(
                "Where they are few, Black people's predictions are the less robust ones (6.3)",
                min(behind[state] for state in _UNBALANCED) > 0,
                "White minus Black, mean over the budgets: "
                + ", ".join(f"{STATES[state]} {behind[state]:.1f}" for state in STATES),
            ),
        ],
        tables=[
            Table(
                "Rows proven robust, in %",
                ["state", "race", *(f"{percent:g} %" for percent in PERCENTS)],
                [
                    [STATES[state], race, *results[state]["rates"][race]]
                    for state in STATES
                    for race in RACES
                ],
            )
        ],
        notes=[
            "α = 20 in every state: the authors' code of the time used Income's value for all.",
        ],
        figures={"states": "Robustness of White and Black people's predictions in five states."},
    )


def _draw(results: Results, folder: Path) -> None:
    panels = [(name, results[state]["rates"]) for state, name in STATES.items()]
    figures.rate_panels([panels], PERCENTS, folder, "states", below="labels wrong (%)")


EXPERIMENT = Experiment(
    name="states",
    title="States and racial groups",
    pieces={state: partial(_by_race, state) for state in STATES},
    report=_report,
    draw=_draw,
)
