"""The figure of targeted bias: only one racial group's labels may be wrong (6.3)."""

from functools import partial
from pathlib import Path

import numpy as np

from reproduction import figures
from reproduction.experiment import Claim, Experiment, Record, Result, Results, Table
from reproduction.problems import ALPHAS, Data, mean_rates
from reproduction.states import PERCENTS, RACES, STATES

_TARGETS = ("anyone", "Black", "White")
_SHOWN = ("WI", "GA")


def _rates(state: str, data: Data) -> Result:
    problem = data.problem(f"Income {state}")
    assert problem.race is not None  # noqa: S101
    return {
        target: mean_rates(
            problem,
            ALPHAS["Income"][0],
            PERCENTS,
            groups=RACES,
            where=None if target == "anyone" else problem.race == target,
        )
        for target in _TARGETS
    }


def _gain(result: Result, target: str, race: str) -> float:
    """Return how much the rate grows if only the target's labels may be wrong.

    In points, mean over the budgets.
    """
    return float(np.mean(np.subtract(result[target][race], result["anyone"][race])))


def _report(results: Results) -> Record:
    gain = {
        (state, target, race): _gain(results[state], target, race)
        for state in _SHOWN
        for target in _TARGETS[1:]
        for race in RACES
    }

    def said(state: str, target: str) -> str:
        white, black = (gain[state, target, race] for race in RACES)
        return f"{STATES[state]}, target {target}: White {white:+.1f}, Black {black:+.1f} points"

    wisconsin, georgia = ({race: gain[state, "Black", race] for race in RACES} for state in _SHOWN)
    return Record(
        name="targeting",
        title="Targeting the bias on one racial group",
        claims=[
            Claim(
                "Wisconsin: targeting on race = Black greatly increases White people's "
                "robustness but barely changes Black people's (6.3)",
                wisconsin["White"] > 20 and wisconsin["Black"] < wisconsin["White"] / 3,
                said("WI", "Black"),
            ),
            Claim(
                "Georgia: targeting on race = Black significantly increases both groups' (6.3)",
                min(georgia.values()) > 5,
                said("GA", "Black"),
            ),
            Claim(
                "In both states targeting on race = White matters less (6.3)",
                all(
                    sum(gain[state, "White", race] for race in RACES)
                    < sum(gain[state, "Black", race] for race in RACES)
                    for state in _SHOWN
                ),
                "; ".join(said(state, "White") for state in _SHOWN),
            ),
        ],
        tables=[
            Table(
                f"{STATES[state]}: rows proven robust, in %",
                ["labels of … may be wrong", "race", *(f"{p:g} %" for p in PERCENTS)],
                [
                    [target, race, *results[state][target][race]]
                    for target in _TARGETS
                    for race in RACES
                ],
            )
            for state in _SHOWN
        ],
        notes=["Budgets are shares of all training rows, whoever is targeted."],
        figures={"targeting": "Robustness if only one group's labels may be wrong."},
    )


def _draw(results: Results, folder: Path) -> None:
    panels = [
        [
            (
                f"{STATES[state]}, {race} people",
                {f"target: {t}": results[state][t][race] for t in _TARGETS},
            )
            for race in RACES
        ]
        for state in _SHOWN
    ]
    figures.rate_panels(panels, PERCENTS, folder, "targeting")


EXPERIMENT = Experiment(
    name="targeting",
    title="Targeting on race",
    pieces={state: partial(_rates, state) for state in _SHOWN},
    report=_report,
    draw=_draw,
)
