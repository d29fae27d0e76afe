"""Logistic regression beside ridge regression: robust, overturned and undecided rows."""

import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge

from reproduction import figures
from reproduction.experiment import Claim, Experiment, Record, Result, Results, Table, Value
from reproduction.problems import ALPHAS, Data
from unswayed._typing import FloatArray, IntArray
from unswayed.estimators import CertifiedClassifier
from unswayed.labels.bias import LabelBias
from unswayed.labels.budgets import count_budget
from unswayed.plots.curve import RobustnessCurveDisplay
from unswayed.plots.style import COLOURS
from unswayed.results.certificates import Verdict

PERCENTS = (0.1, 0.25, 0.5, 1.0, 2.0)
"""Budgets, in per cent of the training rows."""

_STRENGTHS = {
    "COMPAS": (1.0, 0.1, 0.01),
    "Income": (0.1, 0.01, 0.001),
    "MNIST 1/7": (0.001, 0.0001),
}
_ROWS = 300  # test rows at most: the region, which takes most of the time, does not depend on them
_VERDICTS = (Verdict.ROBUST, Verdict.NOT_ROBUST, Verdict.UNDECIDED)


def _rows(name: str, data: Data) -> tuple[FloatArray, IntArray, IntArray, IntArray]:
    """Return features without a constant column, labels, and the first fold's rows."""
    problem = data.problem(name)
    train, test = problem.splits[0]
    # The embedding of MNIST has none.
    rows = problem.rows if name == "MNIST 1/7" else problem.rows[:, :-1]
    return rows, problem.labels, train, test


def _piece(name: str, kind: str, penalty: float, data: Data) -> Result:
    """Certify the same rows at every budget."""
    rows, labels, train, test = _rows(name, data)
    test = test[:_ROWS]
    estimator: Any = Ridge(alpha=penalty)
    if kind == "logistic":
        estimator = LogisticRegression(C=penalty, solver="newton-cholesky", tol=1e-9)
    bias = LabelBias.flips(budget=1)
    model = CertifiedClassifier(estimator, bias=bias).fit(rows[train], labels[train])
    found: dict[str, list[float]] = {str(verdict): [] for verdict in _VERDICTS}
    seconds = []
    for percent in PERCENTS:
        start = time.perf_counter()
        certs = model.certify(rows[test], budget=count_budget(percent / 100, len(train)))
        seconds.append(time.perf_counter() - start)
        for verdict in _VERDICTS:
            found[str(verdict)].append(100.0 * float(np.mean(certs.verdict == verdict)))
    right = 100.0 * float(np.mean(model.predict(rows[test]) == labels[test]))
    sizes = {"train": len(train), "test": len(test), "features": rows.shape[1]}
    return found | {"seconds": seconds, "accuracy": right} | sizes


def _kinds(name: str) -> list[tuple[str, float]]:
    ridge = [("ridge", ALPHAS[name][0]), ("ridge", ALPHAS[name][-1])]
    return [*(("logistic", strength) for strength in _STRENGTHS[name]), *ridge]


def _called(name: str, kind: str, penalty: float) -> str:
    return f"{name}, {kind} {penalty:g}"


def _in_words(kind: str, penalty: float) -> str:
    return f"{kind}, {'C' if kind == 'logistic' else 'α'} = {penalty:g}"


def _report(results: Results) -> Record:
    tables, sizes = [], []
    for name in _STRENGTHS:
        lines: list[list[Value]] = []
        for kind, penalty in _kinds(name):
            found = results[_called(name, kind, penalty)]
            for verdict, word in zip(_VERDICTS, ("robust", "overturned", "undecided"), strict=True):
                if kind == "ridge" and verdict == Verdict.UNDECIDED and not any(found[verdict]):
                    continue
                first = word == "robust"
                model = _in_words(kind, penalty) if first else ""
                right = f"{found['accuracy']:.1f}" if first else ""
                lines.append([model, right, word, *found[verdict]])
        heads = [f"{percent:g} %" for percent in PERCENTS]
        tables.append(
            Table(f"{name}: share of test rows, in %", ["model", "accuracy", "", *heads], lines)
        )
        tables.append(_times(name, results))
        sizes.append(
            f"{name}: {found['train']:,} training rows, {found['test']:,} test rows, "
            f"{found['features']} features"
        )
    return Record(
        name="logistic",
        title="Logistic regression beside ridge regression",
        claims=_claims(results),
        tables=tables,
        notes=[
            "The first fold of each data set by the paper's conventions (MNIST has one), any label "
            f"may be flipped, the first {_ROWS} test rows of each; the effort is the default. "
            + "; ".join(sizes)
            + ". Numbers and categories are those of the paper without its constant column; both "
            "models have an intercept that is not penalised. The rows of MNIST are an embedding of "
            "our own, by the paper's kind of network.",
            "Robust rows are proven to keep their prediction, overturned ones have a set of labels "
            "within the budget that was found and proven to change it, and undecided ones neither. "
            "Verdicts of ridge regression are exact.",
        ],
        figures={
            "logistic": "Rows that are proven robust (heavy) and that were not overturned (thin): "
            "what is undecided lies between. Dashed: ridge regression, exact."
        },
    )


def _times(name: str, results: Results) -> Table:
    heads = [f"{percent:g} %" for percent in PERCENTS]
    lines: list[list[Value]] = [
        [_in_words(kind, penalty), *(f"{each:.1f}" for each in found["seconds"])]
        for kind, penalty in _kinds(name)
        for found in [results[_called(name, kind, penalty)]]
    ]
    return Table(f"{name}: seconds for these rows, on a busy machine", ["model", *heads], lines)


def _claims(results: Results) -> list[Claim]:
    """What the tables show, said in sentences that they could refute."""
    strongest = {
        name: results[_called(name, "logistic", min(_STRENGTHS[name]))] for name in _STRENGTHS
    }
    left = {name: max(each[Verdict.UNDECIDED]) for name, each in strongest.items()}
    weaker = {
        name: [
            max(results[_called(name, "logistic", strength)][Verdict.UNDECIDED])
            for strength in _STRENGTHS[name]
        ]
        for name in _STRENGTHS
    }
    return [
        Claim(
            "With the strongest of the penalties, few rows are undecided at any of these budgets",
            all(share <= 5.0 for share in left.values()),
            "at most: " + ", ".join(f"{name} {share:.1f} %" for name, share in left.items()),
        ),
        Claim(
            "The stronger the penalty, the fewer rows are undecided",
            all(shares == sorted(shares, reverse=True) for shares in weaker.values()),
            "at most, weakest penalty first: "
            + "; ".join(
                f"{name} {', '.join(f'{share:.1f}' for share in shares)} %"
                for name, shares in weaker.items()
            ),
        ),
    ]


def _draw(results: Results, folder: Path) -> None:
    figure, axes = figures.panels(len(_STRENGTHS), height=3.9)
    for axis, name in zip(axes[0], _STRENGTHS, strict=True):
        found = {each: results[_called(name, *each)] for each in _kinds(name)}
        rates = figures.shares(
            {_in_words(*each): shares[Verdict.ROBUST] for each, shares in found.items()}
        )
        curves = RobustnessCurveDisplay(
            PERCENTS, rates, steps=False, unit="labels wrong (% of training rows)"
        ).plot(axis, legend=False)
        others = len(COLOURS) - len(found)
        for number, (line, ((kind, _), shares)) in enumerate(
            zip(curves.lines_, found.items(), strict=True)
        ):
            if kind != "logistic":
                # Colours from both ends: those of ridge regression are the same in every panel.
                line.set(linestyle="--", color=COLOURS[others + number])
                continue
            standing = [100.0 - share for share in shares[Verdict.NOT_ROBUST]]
            style = {"color": line.get_color(), "alpha": 0.15, "linewidth": 0}
            axis.fill_between(PERCENTS, shares[Verdict.ROBUST], standing, **style)
            axis.plot(PERCENTS, standing, "-", color=line.get_color(), linewidth=0.6)
        axis.set(title=name, ylabel="")
        axis.legend(frameon=False, fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.22))
    axes[0][0].set_ylabel("test rows (%)")
    figures.save(figure, folder, "logistic")


EXPERIMENT = Experiment(
    name="logistic",
    title="Logistic regression beside ridge regression",
    pieces={
        _called(name, kind, penalty): partial(_piece, name, kind, penalty)
        for name in _STRENGTHS
        for kind, penalty in _kinds(name)
    },
    report=_report,
    draw=_draw,
)
