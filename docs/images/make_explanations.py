"""Draw the pictures that explain the method: python docs/images/make_explanations.py [FOLDER]."""

import sys
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.patches import Rectangle
from scipy.spatial import ConvexHull
from sklearn.linear_model import LinearRegression

from unswayed import CertifiedRegressor, LabelBias
from unswayed.datasets.salary_story import salary_columns
from unswayed.plots.style import COLOURS, plain, pyplot

HERE = Path(__file__).resolve().parent / "explanation"
BLUE, ORANGE, GREEN = COLOURS[:3]
SHIFT = 10.0  # thousand dollars, as in the paper's example
ASKED = 28.0  # years of experience of the row that is asked about


def story() -> tuple[Any, Any]:
    """Return years of experience and salaries, in thousands, of a dozen employees."""
    people = salary_columns(12, random_state=3)
    return people["experience"][:, None], people["salary"] / 1000


def certified(budget: int, radius: float = 1.0) -> CertifiedRegressor:
    """Return a line through them, of which some salaries may be off."""
    bias = LabelBias.shifts(SHIFT, budget=budget)
    return CertifiedRegressor(LinearRegression(), bias=bias, radius=radius).fit(*story())


def panels(n_panels: int, **options: Any) -> tuple[Any, Any]:
    """Return a figure and its axes, one beside the other."""
    plt = pyplot()
    plt.switch_backend("agg")
    figure, axes = plt.subplots(1, n_panels, figsize=(8.4, 3.4), layout="constrained", **options)
    for axis in axes:
        plain(axis)
    return figure, axes


def save(figure: Any, folder: Path, stem: str) -> None:
    """Write a figure and close it."""
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{stem}.png", dpi=110)
    pyplot().close(figure)


def witness(folder: Path) -> None:
    """Draw a line before and after one salary was changed, and all lines that there can be."""
    X, y = story()
    model = certified(budget=1)
    found = model.certify([[ASKED]]).witness(0)
    changed = y.copy()
    changed[found.indices] = found.labels
    at = np.linspace(0, 30, 61)[:, None]
    before, after = model.predict(at), LinearRegression().fit(X, changed).predict(at)
    figure, (left, right) = panels(2, sharey=True)
    for axis in (left, right):
        axis.plot(X[:, 0], y, "o", color="0.35", markersize=4, label="salaries")
        axis.plot(at[:, 0], before, color=BLUE, label="as trained")
        axis.axvline(ASKED, color="0.6", linestyle=":", linewidth=1)
        axis.set_xlabel("years of experience")
    for row, label in zip(found.indices, found.labels, strict=True):
        left.annotate("", (X[row, 0], label), (X[row, 0], y[row]), arrowprops={"arrowstyle": "->"})
        left.plot(X[row, 0], label, "s", color=ORANGE, label="changed by 10")
    left.plot(at[:, 0], after, "--", color=ORANGE, label="trained again")
    certs = model.certify(at)
    right.fill_between(
        at[:, 0], certs.low, certs.high, color=GREEN, alpha=0.3, label="any one changed"
    )
    left.set(title="a witness", ylabel="salary (thousand dollars)")
    right.set_title("every model there can be")
    for axis in (left, right):
        axis.legend(frameon=False, fontsize="small", loc="upper left")
    save(figure, folder, "witness")


def influence(folder: Path) -> None:
    """Draw how far each label can move one prediction, and the sums of the largest."""
    X, _ = story()
    centred = X[:, 0] - X.mean()
    z = 1 / len(X) + centred * (ASKED - X.mean()) / (centred @ centred)
    rise = np.abs(z) * SHIFT
    order, budget, radius = np.argsort(-rise, kind="stable"), 3, 15.0
    figure, (left, middle, right) = panels(3)
    number = np.arange(len(z))
    taken = np.isin(number, order[:budget])
    left.bar(number + 1, z, color=np.where(taken, ORANGE, "0.7"))
    left.set(title="influence of each label", xlabel="label", ylabel="score per unit of label")
    middle.bar(number + 1, rise[order], color=np.where(number < budget, ORANGE, "0.7"))
    middle.set(title=f"rises, largest first: take {budget}", xlabel="rank")
    reach = np.concatenate([[0], np.cumsum(rise[order])])
    right.plot(reach, "o-", color=BLUE, markersize=3.5)
    right.axhline(radius, color=ORANGE, linestyle="--", label="how far it may move")
    least = int(np.flatnonzero(reach > radius)[0])
    exact = certified(budget, radius=radius).minimum_budget([[ASKED]])[0]
    if least != exact:
        raise AssertionError(f"the picture says {least}, the engine {exact}")
    right.plot(least, reach[least], "s", color=ORANGE, label=f"minimum budget {least}")
    right.set(title="their sums: every budget", xlabel="labels wrong", ylim=(0, None))
    right.legend(frameon=False, fontsize="small")
    for axis in (left, middle, right):
        axis.set_xticks(range(0, 13, 2))
    save(figure, folder, "influence")


def box(folder: Path) -> None:
    """Draw all parameters that two wrong labels lead to, and the box around them."""
    X, y = story()
    A = np.column_stack([np.ones(len(X)), X])
    to_parameters = np.linalg.pinv(A)
    signs = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1)]
    shifts = np.array(
        [
            to_parameters[:, [i, j]] @ (SHIFT * np.array(pair))
            for i, j in combinations(range(len(y)), 2)
            for pair in signs
        ]
    )
    points = to_parameters @ y + shifts
    low, high = points.min(axis=0), points.max(axis=0)
    figure, (left, right) = panels(2)
    hull = points[ConvexHull(points).vertices]
    left.fill(*hull.T, color=GREEN, alpha=0.25, label="their convex hull")
    left.plot(*points.T, ".", color=GREEN, markersize=2.5, label="two salaries changed")
    left.add_patch(
        Rectangle(low, *(high - low), fill=False, edgecolor=ORANGE, label="the paper's box")
    )
    left.plot(*(to_parameters @ y), "o", color=BLUE, label="as trained")
    left.set(title="two wrong labels", xlabel="intercept", ylabel="slope")
    left.legend(frameon=False, fontsize="small", loc="lower left")
    at = np.linspace(0, 30, 61)[:, None]
    certs = certified(budget=2).certify(at)
    loose_low = low[0] + np.minimum(at * low[1], at * high[1])[:, 0]
    loose_high = high[0] + np.maximum(at * low[1], at * high[1])[:, 0]
    right.fill_between(at[:, 0], loose_low, loose_high, color=ORANGE, alpha=0.2, label="by the box")
    right.fill_between(at[:, 0], certs.low, certs.high, color=GREEN, alpha=0.4, label="exact")
    right.plot(at[:, 0], certs.score, color=BLUE, label="as trained")
    right.set(title="what they say of a prediction", xlabel="years of experience")
    right.set_ylabel("salary (thousand dollars)")
    right.legend(frameon=False, fontsize="small", loc="upper left")
    save(figure, folder, "box")


PICTURES: tuple[Callable[[Path], None], ...] = (witness, influence, box)


def main(folder: Path = HERE) -> None:
    """Draw all of them."""
    for picture in PICTURES:
        picture(folder)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
