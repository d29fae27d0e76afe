"""COMPAS by race, and re-balanced (appendix D.4)."""

import numpy as np

from reproduction.experiment import Claim, Comparison, Experiment, Record, Result, Results, Table
from reproduction.problems import ALPHAS, Data, mean_rates
from reproduction.table1 import PERCENTS

_NAMES = {"African-American": "Black", "Caucasian": "White"}
PAPER = {
    "African-American": (96.9, 92.7, 86.5, 81.2, 71.9, 49.5, 40.3, 28.9, 11.8, 1.3, 0.7),
    "Caucasian": (93.7, 88.9, 83.1, 74.8, 73.0, 66.9, 56.6, 37.0, 30.4, 17.7, 0.0),
}
_SHARES = {"Caucasian": 34.2, "African-American": 51.4, "Hispanic": 8.2, "Other": 6.2}
_DRAWS = 10  # random halves of the larger group: one alone moves a rate by a point or two


def _by_race(data: Data) -> Result:
    problem = data.problem("COMPAS")
    assert problem.race is not None  # noqa: S101
    return {
        "rates": mean_rates(problem, ALPHAS["COMPAS"][0], PERCENTS, groups=tuple(_NAMES)),
        "shares": {race: 100 * float(np.mean(problem.race == race)) for race in _SHARES},
    }


def _balanced(data: Data) -> Result:
    problem = data.problem("COMPAS")
    members = [np.flatnonzero(problem.race == race) for race in _NAMES]
    size = min(len(rows) for rows in members)
    draws: dict[str, list[list[float]]] = {race: [] for race in _NAMES}
    for seed in range(_DRAWS):
        rng = np.random.default_rng(seed)
        chosen = np.concatenate([rng.choice(rows, size, replace=False) for rows in members])
        part = problem.subset(np.sort(chosen))
        rates = mean_rates(part, ALPHAS["COMPAS"][0], PERCENTS, groups=tuple(_NAMES))
        for race in _NAMES:
            draws[race].append(rates[race])
    return {"rates": {race: np.mean(found, axis=0).tolist() for race, found in draws.items()}}


def _change(results: Results, race: str) -> float:
    before, after = (results[piece]["rates"][race] for piece in ("by race", "balanced"))
    return float(np.mean(np.subtract(after, before)))


def _report(results: Results) -> Record:
    rates, shares = results["by race"]["rates"], results["by race"]["shares"]
    gap = {
        percent: rates["Caucasian"][place] - rates["African-American"][place]
        for place, percent in enumerate(PERCENTS)
    }
    white, black = (_change(results, race) for race in ("Caucasian", "African-American"))
    return Record(
        name="compas_race",
        title="COMPAS by race, and re-balanced",
        comparisons=[
            Comparison(
                title="COMPAS: rows proven robust, in %",
                rows=list(_NAMES.values()),
                columns=[f"{percent:g} %" for percent in PERCENTS],
                paper=[list(PAPER[race]) for race in _NAMES],
                ours=[rates[race] for race in _NAMES],
                bar=2.0,
            ),
            Comparison(
                title="Racial breakdown, in %",
                rows=["COMPAS"],
                columns=["White", "Black", "Hispanic", "other"],
                paper=[list(_SHARES.values())],
                ours=[[shares[race] for race in _SHARES]],
                bar=0.1,
            ),
        ],
        claims=[
            Claim(
                "Rates of White and Black defendants diverge significantly from 1.5 % on (D.4)",
                min(gap[p] for p in (1.5, 2.0, 3.0, 4.0, 5.0)) > 5
                and max(abs(gap[p]) for p in (0.1, 0.25, 0.5, 1.0)) < 5,
                "White minus Black: "
                + ", ".join(f"{p:g} %: {gap[p]:+.1f}" for p in (0.5, 1.0, 1.5, 2.0, 4.0)),
            ),
            Claim(
                "Re-balancing to half White and half Black makes White people's predictions more "
                "robust (D.4)",
                white > 1,
                f"{white:+.1f} points, mean over the budgets",
            ),
            Claim(
                "… and has no impact on the average robustness of Black people's (D.4)",
                abs(black) < white / 2,
                f"{black:+.1f} points, mean over the budgets",
            ),
        ],
        tables=[
            Table(
                f"Re-balanced, mean of {_DRAWS} draws: rows proven robust, in %",
                ["race", *(f"{percent:g} %" for percent in PERCENTS)],
                [[_NAMES[race], *results["balanced"]["rates"][race]] for race in _NAMES],
            )
        ],
    )


EXPERIMENT = Experiment(
    name="compas_race",
    title="COMPAS by race",
    pieces={"by race": _by_race, "balanced": _balanced},
    report=_report,
)
