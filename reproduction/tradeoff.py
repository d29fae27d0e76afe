"""The figure of the accuracy-robustness trade-off (section 6)."""

from functools import partial
from pathlib import Path

import numpy as np

from reproduction import figures
from reproduction.experiment import Claim, Experiment, Record, Result, Results, Table
from reproduction.problems import (
    ALPHAS,
    CLASSIFICATION,
    LOSSES,
    Data,
    mean_accuracy,
    mean_rates,
)
from unswayed.plots.curve import TradeoffDisplay

_PERCENTS = (0.5, 1.0, 2.0)


def _curve(name: str, data: Data) -> Result:
    problem = data.problem(name)
    return {
        "rates": [mean_rates(problem, alpha, _PERCENTS)["all"] for alpha in ALPHAS[name]],
        "accuracy": [mean_accuracy(problem, alpha) for alpha in ALPHAS[name]],
    }


def _report(results: Results) -> Record:
    ends = {
        name: (results[name]["rates"][0][1], results[name]["rates"][-1][1])
        for name in CLASSIFICATION
    }
    losses = {
        name: results[name]["accuracy"][0] - results[name]["accuracy"][-1]
        for name in CLASSIFICATION
    }
    return Record(
        name="tradeoff",
        title="Figure: the accuracy-robustness trade-off",
        claims=[
            Claim(
                "Larger λ improves robustness at the expense of accuracy (6)",
                all(last > first for first, last in ends.values()) and min(losses.values()) > 0,
                "; ".join(
                    f"{name}: {ends[name][0]:.1f} to {ends[name][1]:.1f} % robust at 1 %, for "
                    f"{losses[name]:.1f} points of accuracy"
                    for name in CLASSIFICATION
                ),
            )
        ],
        tables=[
            Table(
                f"{name}: accuracy and robustness, in %",
                ["α", "loss in the paper", "accuracy", *(f"at {p:g} %" for p in _PERCENTS)],
                [
                    [f"{alpha:g}", f"{loss:g}", accuracy, *rates]
                    for alpha, loss, accuracy, rates in zip(
                        ALPHAS[name],
                        LOSSES,
                        results[name]["accuracy"],
                        results[name]["rates"],
                        strict=True,
                    )
                ],
            )
            for name in CLASSIFICATION
        ],
        figures={"tradeoff": "Robustness against accuracy given up, at three budgets."},
    )


def _draw(results: Results, folder: Path) -> None:
    figure, axes = figures.panels(len(CLASSIFICATION))
    for axis, name in zip(axes[0], CLASSIFICATION, strict=True):
        rates = np.array(results[name]["rates"]) / 100
        budgets = [f"{percent:g} %" for percent in _PERCENTS]
        display = TradeoffDisplay(np.array(LOSSES) / 100, dict(zip(budgets, rates.T, strict=True)))
        display.plot(axis, legend=axis is axes[0][0]).ax_.set_title(name)
        axis.label_outer()
    figures.save(figure, folder, "tradeoff")


EXPERIMENT = Experiment(
    name="tradeoff",
    title="Figure: the accuracy-robustness trade-off",
    pieces={name: partial(_curve, name) for name in CLASSIFICATION},
    report=_report,
    draw=_draw,
)
