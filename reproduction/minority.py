"""Synthetic majority and minority: the minority's share and its spread over folds (D.3.2)."""

from functools import partial
from pathlib import Path

import numpy as np

from reproduction import figures
from reproduction.experiment import Claim, Experiment, Record, Result, Results, Table
from reproduction.problems import (
    Data,
    Problem,
    fitted,
    paper_splits,
    percentages,
    with_constant,
)
from unswayed.datasets import make_demographic
from unswayed.plots.curve import RobustnessCurveDisplay
from unswayed.plots.style import lines

SHARES = (5, 10, 15, 20, 25, 30, 35, 40, 45, 50)  # per cent
GROUPS = ("majority", "minority")
_PERCENTS = (5.0, 10.0, 15.0)
_SHOWN = _PERCENTS.index(5.0)
_ALPHA = 0.92  # the authors' code
_FOLDS = 4
_SEEDS = 20


def _by_group(share: int, _: Data) -> Result:
    seeds: dict[str, list[list[list[float]]]] = {group: [] for group in GROUPS}
    for seed in range(_SEEDS):
        made = make_demographic(share / 100, random_state=seed)
        rows = with_constant(made.data)
        problem = Problem(rows, made.target, paper_splits(len(rows), _FOLDS))
        folds: dict[str, list[list[float]]] = {group: [] for group in GROUPS}
        for train, test in problem.splits:
            minimum = fitted(problem, train, _ALPHA).minimum_budget(rows[test])
            for group in GROUPS:
                members = minimum[made.group[test] == group]
                folds[group].append(percentages(members, len(train), _PERCENTS))
        for group in GROUPS:
            seeds[group].append(folds[group])
    return {
        "rates": {group: np.mean(seeds[group], axis=(0, 1)).tolist() for group in GROUPS},
        # Over the folds of one data set, as in the paper's figure; then the mean over seeds.
        "spread": {
            group: np.mean(np.std(seeds[group], axis=1, ddof=1), axis=0).tolist()
            for group in GROUPS
        },
    }


def _series(results: Results, what: str, group: str) -> list[float]:
    return [results[f"{share} %"][what][group][_SHOWN] for share in SHARES]


def _report(results: Results) -> Record:
    rates = {group: _series(results, "rates", group) for group in GROUPS}
    spread = {group: _series(results, "spread", group) for group in GROUPS}
    lost = rates["minority"][-1] - rates["minority"][0]
    won = rates["majority"][0] - rates["majority"][-1]
    return Record(
        name="minority",
        title="Synthetic data: the minority's share",
        claims=[
            Claim(
                "The smaller its share, the less robust the minority (D.3.2)",
                lost > 5 and bool(np.all(np.diff(rates["minority"]) > -1)),
                f"from {rates['minority'][-1]:.1f} at 50 % to {rates['minority'][0]:.1f} at 5 %",
            ),
            Claim(
                "The majority is only slightly more robust when it is larger (D.3.2)",
                0 < won < lost,
                f"from {rates['majority'][-1]:.1f} at 50 % to {rates['majority'][0]:.1f} at 95 %",
            ),
            Claim(
                "The minority's rate varies much more over the folds when it is smaller (D.3.2)",
                spread["minority"][0] > 2 * spread["minority"][-1],
                f"standard deviation over the folds: {spread['minority'][0]:.1f} points at 5 %, "
                f"{spread['minority'][-1]:.1f} at 50 %",
            ),
        ],
        tables=[
            Table(
                f"Rows proven robust if {_PERCENTS[_SHOWN]:g} % of the training labels may be "
                f"flipped, in %, and the standard deviation over the folds; mean of {_SEEDS} seeds",
                [
                    "minority's share",
                    "majority",
                    "minority",
                    "spread, majority",
                    "spread, minority",
                ],
                [
                    [
                        f"{share} %",
                        *(rates[g][at] for g in GROUPS),
                        *(spread[g][at] for g in GROUPS),
                    ]
                    for at, share in enumerate(SHARES)
                ],
            )
        ],
        notes=[
            "The paper gives no numbers here. Means, covariances, sizes and α = 0.92 are those of "
            "the authors' repository; the bias level is ours: 5 %, any label; at 10 % a small "
            "minority has next to no robust row left, and nothing that could vary.",
        ],
        figures={"minority": "Robustness by group, and the minority's spread over folds."},
    )


_BELOW = "minority's share (%)"


def _draw(results: Results, folder: Path) -> None:
    figure, axes = figures.panels(2, alike=False)
    left, right = axes[0]
    rates = figures.shares({group: _series(results, "rates", group) for group in GROUPS})
    RobustnessCurveDisplay(SHARES, rates, steps=False, unit=_BELOW).plot(left)
    lines(right, SHARES, {group: _series(results, "spread", group) for group in GROUPS})
    right.set(xlabel=_BELOW, ylabel="spread over folds (points)", ylim=(0, None))
    figures.save(figure, folder, "minority")


EXPERIMENT = Experiment(
    name="minority",
    title="Synthetic data: the minority's share",
    pieces={f"{share} %": partial(_by_group, share) for share in SHARES},
    report=_report,
    draw=_draw,
)
