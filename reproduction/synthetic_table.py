"""Synthetic data: sizes, features, and the approximate gap (appendix D.3.1)."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from sklearn.linear_model import LinearRegression

from reproduction.experiment import Claim, Comparison, Experiment, Record, Result, Results, Table
from reproduction.problems import Data, paper_splits, with_constant
from unswayed._typing import FloatArray, IntArray
from unswayed.datasets import make_synthetic
from unswayed.estimators import CertifiedClassifier, CertifiedRegressor
from unswayed.labels.bias import LabelBias
from unswayed.labels.budgets import count_budget

SIZES = (200, 500, 1000)
FEATURES = (3, 4, 5)
PERCENTS = (4, 8, 12, 16, 20)
PAPER = {
    (200, 3): (83.8, 75.5, 69.8, 66.8, 65.0),
    (500, 3): (83.7, 75.2, 70.3, 68.0, 67.0),
    (1000, 3): (84.0, 75.5, 69.6, 68.1, 67.0),
    (200, 4): (81.5, 71.3, 64.0, 61.3, 61.0),
    (500, 4): (81.7, 70.5, 65.3, 63.3, 61.6),
    (1000, 4): (82.9, 71.9, 66.1, 63.3, 62.6),
    (200, 5): (78.0, 66.5, 59.8, 56.8, 56.0),
    (500, 5): (79.5, 69.1, 60.6, 57.2, 56.8),
    (1000, 5): (79.9, 67.6, 62.2, 59.5, 58.5),
}
PAPER_GAP = {3: (79.1, 60.2), 4: (76.4, 45.5), 5: (74.7, 31.7)}  # exact, approximate

_FOLDS = 4
_SEEDS = 50
_GAP_SIZE = 1000
_GAP_SEEDS = 20
_READINGS = {
    "code": "as the authors' code computes it",
    "text": "as the text describes it",
}


def _code_rates(
    rows: FloatArray,
    labels: IntArray,
    train: IntArray,
    test: IntArray,
    asked: list[tuple[int, str]],
) -> list[float]:
    """Return rates as the authors' code computes them.

    Labels are -1 and 1 but the threshold is 0.5, and only a label 1 may change, to 0.
    """
    signed = 2.0 * labels[train] - 1.0
    bias = LabelBias.shifts((-1, 0), budget=1, where=signed == 1)
    model = CertifiedRegressor(LinearRegression(fit_intercept=False), bias=bias, radius=0.0)
    model.fit(rows[train], signed)
    rates = []
    for budget, method in asked:
        certs = model.certify(rows[test], budget=budget, method=method)
        kept = np.where(certs.score > 0.5, certs.low > 0.5, certs.high <= 0.5)
        rates.append(100 * float(np.mean(kept)))
    return rates


def _text_rates(
    rows: FloatArray,
    labels: IntArray,
    train: IntArray,
    test: IntArray,
    asked: list[tuple[int, str]],
) -> list[float]:
    """Return rates as the paper's text describes them.

    Labels are 0 and 1, any of them may be flipped, and there is a constant column.
    """
    whole = with_constant(rows)
    model = CertifiedClassifier(
        LinearRegression(fit_intercept=False), bias=LabelBias.flips(budget=1)
    ).fit(whole[train], labels[train])
    return [
        100 * model.certify(whole[test], budget=budget, method=method).robustness_rate
        for budget, method in asked
    ]


_RATES = {"code": _code_rates, "text": _text_rates}


def _mean(
    reading: str,
    size: int,
    n_features: int,
    seeds: int,
    asked: Sequence[tuple[float, str]],
    *,
    of_all_rows: bool,
) -> list[float]:
    """Return mean rates over seeds and folds, one per (share of labels, method)."""
    found = []
    for seed in range(seeds):
        made = make_synthetic(size, n_features, random_state=seed)
        rows = made.data.to_numpy()
        for train, test in paper_splits(size, _FOLDS):
            total = size if of_all_rows else len(train)
            budgets = [(count_budget(share, total), method) for share, method in asked]
            found.append(_RATES[reading](rows, made.target, train, test, budgets))
    return [float(rate) for rate in np.mean(found, axis=0)]


def _table(size: int, n_features: int, _: Data) -> Result:
    asked = [(percent / 100, "exact") for percent in PERCENTS]
    return {
        "code": _mean("code", size, n_features, _SEEDS, asked, of_all_rows=True),
        "text": _mean("text", size, n_features, _SEEDS, asked, of_all_rows=False),
    }


def _gap(_: Data) -> Result:
    asked = [(0.1, "exact"), (0.1, "box")]
    return {
        reading: {
            str(n_features): _mean(
                reading, _GAP_SIZE, n_features, _GAP_SEEDS, asked, of_all_rows=False
            )
            for n_features in FEATURES
        }
        for reading in _READINGS
    }


def _name(size: int, n_features: int) -> str:
    return f"{size} rows, {n_features} features"


def _report(results: Results) -> Record:
    code = {key: results[_name(*key)]["code"] for key in PAPER}
    text = {key: results[_name(*key)]["text"] for key in PAPER}
    gap = results["gap"]["code"]
    gaps = {n: gap[str(n)][0] - gap[str(n)][1] for n in FEATURES}
    return Record(
        name="synthetic_table",
        title="Synthetic data: sizes and features",
        comparisons=[
            Comparison(
                title=f"Rows proven robust, in %, {_READINGS['code']}; mean of {_SEEDS} seeds",
                rows=[_name(*key) for key in PAPER],
                columns=[f"{percent} %" for percent in PERCENTS],
                paper=[list(row) for row in PAPER.values()],
                ours=list(code.values()),
                bar=3.0,
            ),
            Comparison(
                title=f"Rows proven robust, in %, {_READINGS['text']}; mean of {_SEEDS} seeds",
                rows=[_name(*key) for key in PAPER],
                columns=[f"{percent} %" for percent in PERCENTS],
                paper=[list(row) for row in PAPER.values()],
                ours=list(text.values()),
                bar=3.0,
            ),
            Comparison(
                title="Exact rate at 10 % of the training labels, same reading, in %",
                rows=["exact"],
                columns=[f"{n} features" for n in FEATURES],
                paper=[[PAPER_GAP[n][0] for n in FEATURES]],
                ours=[[gap[str(n)][0] for n in FEATURES]],
                bar=3.0,
            ),
            Comparison(
                title="Box at 10 % of the training labels, same reading, in %",
                rows=["box"],
                columns=[f"{n} features" for n in FEATURES],
                paper=[[PAPER_GAP[n][1] for n in FEATURES]],
                ours=[[gap[str(n)][1] for n in FEATURES]],
                bar=3.0,
            ),
        ],
        claims=_claims(code, text, gaps),
        tables=[
            Table(
                f"Any label may be flipped, at 10 % of the training labels ({_GAP_SIZE} rows)",
                ["features", "exact", "box"],
                [[n, *results["gap"]["text"][str(n)]] for n in FEATURES],
            ),
        ],
        notes=[
            "The paper's table does not come from flipping any label, as its text has it: then "
            "hardly a row survives 12 %, and every cell is outside the bar. It does come out if "
            "the authors' published code is followed to the letter: the generator writes labels "
            "-1 and 1 while the solver's defaults expect 0 and 1, so the threshold is 0.5 and only "
            "labels 1 can change, to 0; no constant column; feature 2 with mean 0 (the text says "
            "1); four folds; and budgets in per cent of all rows, of which half are training rows. "
            "Which labels, threshold, columns and base of the budget to take, the code and the "
            "paper leave open; we settled them by the fit to this table, so the agreement explains "
            "the table rather than confirms it. Both readings are judged.",
            "The box's rates at 10 % are the one part that no reading we tried gives: ours are "
            "higher (the box is less loose here than the paper reports), the trend is the same.",
        ],
    )


def _claims(
    code: dict[tuple[int, int], list[float]],
    text: dict[tuple[int, int], list[float]],
    gaps: dict[int, float],
) -> list[Claim]:
    def mean(table: dict[tuple[int, int], list[float]], size: int, n_features: int) -> float:
        return float(np.mean(table[size, n_features]))

    by_size = {n: mean(code, 1000, n) - mean(code, 200, n) for n in FEATURES}
    honest = {n: mean(text, 1000, n) - mean(text, 200, n) for n in FEATURES}
    falls = [mean(code, 1000, n) for n in FEATURES]
    honest_falls = [mean(text, 1000, n) for n in FEATURES]
    lowest = min(rates[0] for rates in text.values())
    return [
        Claim(
            "Synthetic data withstand far more flipped labels than the real ones (D.3)",
            lowest > 23.3,
            f"at 4 %: {lowest:.1f} or more even if any label may be flipped, against 4.8 "
            "(Income), 17.9 (COMPAS) and 23.3 (MNIST 1/7) in Table 1",
        ),
        Claim(
            "With three features the size of the data set does not matter much (D.3.1)",
            abs(by_size[3]) < 3,
            f"1000 against 200 rows: {by_size[3]:+.1f} points, mean over the budgets",
        ),
        Claim(
            "With a fourth, and more so a fifth feature, larger sets are more robust (D.3.1)",
            0 < by_size[4] < by_size[5],
            f"1000 against 200 rows: {by_size[4]:+.1f} (4 features), {by_size[5]:+.1f} (5); if "
            f"any label may be flipped {honest[4]:+.1f} and {honest[5]:+.1f}",
        ),
        Claim(
            "More features reduce robustness (D.3.1)",
            falls == sorted(falls, reverse=True),
            "3, 4, 5 features, 1000 rows, mean over the budgets: "
            + ", ".join(f"{rate:.1f}" for rate in falls)
            + "; if any label may be flipped: "
            + ", ".join(f"{rate:.1f}" for rate in honest_falls),
        ),
        Claim(
            "The gap between exact and approximate grows with the features: 18.9, 30.9, 43.0 "
            "points (D.3.1)",
            gaps[3] < gaps[4] < gaps[5],
            "ours: " + ", ".join(f"{gaps[n]:.1f}" for n in FEATURES),
        ),
    ]


EXPERIMENT = Experiment(
    name="synthetic_table",
    title="Synthetic data: sizes and features",
    pieces={_name(*key): partial(_table, *key) for key in PAPER} | {"gap": _gap},
    report=_report,
)
