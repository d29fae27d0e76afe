"""docs/approximation.md and its picture, written from measured figures."""

import platform
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt

from benchmarks.problems import PROJECT

DOCS = PROJECT / "docs"
_INTRO = """\
# Bounds that decide most rows

Exact certificates cost time in proportion to the training rows. The paper's answer is a box
around all reachable parameters (its section 5): it is computed once, and a test row costs
interval arithmetic. `unswayed` has that box and a tighter pair of bounds, the *sandwich*; with
`method="auto"` it uses the sandwich where it saves time and settles what stays
open exactly, so that every verdict is the exact one.

```python
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split

from unswayed import CertifiedClassifier, LabelBias

X, y = load_breast_cancer(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, random_state=0)
bias = LabelBias.flips(budget=0.01)
model = CertifiedClassifier(Ridge(alpha=10), bias=bias).fit(X, y)

box = model.parameter_box()  # the paper's algorithm 5
certs = model.certify(X_test, method=box)  # robust or undecided

sandwich = model.sandwich()  # at most 512 anchors
certs = model.certify(X_test, method=sandwich)
certs.low, certs.inner_low  # outer and inner bounds of the range
certs.method_counts  # how many rows each bound decided

certs = model.certify(X_test, method="auto")  # exact verdicts
```

## How it works

For a fixed budget let h(r) be the furthest the score in direction r can rise. It is convex,
subadditive and positively homogeneous. An *anchor* is a direction c whose h(c) is known exactly,
with the parameter shift g that attains it.

- Below: h(r) ≥ g·r for every such g. One of them above the margin *refutes* robustness.
- Above: h(r) ≤ a·h(c) + h(r − a·c), and the rest is bounded by the best of the paper's box, a
  box in the principal directions of the training rows, and an ellipsoid (√k times the norm of
  all single-label effects); a second anchor may be taken off the rest. Below the margin, that
  *certifies*.

Both are exact at the anchors. Anchors are the most frequent training rows, then those that the
others leave open; `auto` adds every row it had to evaluate exactly (it reports the ranges of the
boxes, so that nobody sees what it learned from other rows). They never number more than
512, the oldest give way, and the cost of a row does not depend on the training set.

## How many rows they decide

Share of test rows decided, without exact fallback (exact decides all of them). Fold 0 by the
paper's conventions, the most accurate alpha and the one that gives up two points of accuracy.
Verdicts that differ from the exact ones, auto's included: **{differences}**.

{precision}

## How the cost grows

Microseconds per test row; Gaussian features, 40 columns, budget 1 %, 2,000 test rows around 200
centres (spread 0.02). *Cold*: the first call, building included. *Warm*: the same rows again.
*Fresh*: other rows around the same centres, with the number of them that needed an exact
evaluation.

{growth}

![Time per test row against training rows](images/approximation-growth.svg)

Made by `python -m benchmarks.approximation` ({machine}; a shared and noisy machine, so ratios
mean more than times). MNIST 1/7 is compared in [the reproduction](reproduction.md).
"""


def _precision_table(rows: list[dict[str, Any]]) -> str:
    table = [
        "| data | α | budget | robust | box decides | sandwich decides | evaluations |",
        "|---|---|---|---|---|---|---|",
    ]
    table += [
        f"| {r['data']} | {r['alpha']:g} | {100 * r['budget']:g} % | {100 * r['robust']:.1f} % "
        f"| {100 * r['box']:.1f} % | **{100 * r['sandwich']:.1f} %** | {r['evaluations']} |"
        for r in rows
    ]
    return "\n".join(table)


def _growth_table(rows: list[dict[str, Any]]) -> str:
    table = [
        "| training rows | exact | box | auto, cold | auto, warm | auto, fresh | of them exact |",
        "|---|---|---|---|---|---|---|",
    ]
    table += [
        f"| {r['n_rows']:,} | {r['exact']:,.0f} | {r['box']:,.0f} | {r['auto_cold']:,.0f} "
        f"| **{r['auto_warm']:,.1f}** | {r['auto_fresh']:,.0f} | {r['exact_rows_fresh']} |"
        for r in rows
    ]
    return "\n".join(table)


def _picture(rows: list[dict[str, Any]]) -> None:
    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "unswayed"  # the same figures give the same file
    figure, axes = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
    # Okabe and Ito's colours, told apart by marker as well.
    for key, label, colour, marker in (
        ("exact", "exact", "#D55E00", "o"),
        ("box", "box, building included", "#56B4E9", "s"),
        ("auto_cold", "auto, cold", "#CC79A7", "^"),
        ("auto_fresh", "auto, fresh rows", "#E69F00", "v"),
        ("auto_warm", "auto, warm", "#009E73", "D"),
    ):
        axes.loglog(
            [r["n_rows"] for r in rows],
            [r[key] for r in rows],
            label=label,
            color=colour,
            marker=marker,
        )
    axes.set_xlabel("training rows")
    axes.set_ylabel("microseconds per test row")
    axes.grid(alpha=0.3, which="major")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    target = DOCS / "images" / "approximation-growth.svg"
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, metadata={"Date": None})
    plt.close(figure)


def write_page(figures: dict[str, Any]) -> None:
    """Write the page and its picture."""
    _picture(figures["growth"])
    differences = sum(r["differences"] for r in figures["precision"])
    page = _INTRO.format(
        differences=differences,
        precision=_precision_table(figures["precision"]),
        growth=_growth_table(figures["growth"]),
        machine=f"{platform.machine()}, 2 cores, Python {platform.python_version()}",
    )
    (DOCS / "approximation.md").write_text(page)
