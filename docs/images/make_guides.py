"""Draw one picture for each page of the guide: python docs/images/make_guides.py [FOLDER]."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.patches import Rectangle
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    Ridge,
    RidgeClassifier,
    RidgeCV,
)
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from unswayed import (
    CertifiedClassifier,
    CertifiedRegressor,
    LabelBias,
    LabelNoise,
    PartitionedClassifier,
    RangeDisplay,
    TradeoffDisplay,
    robustness_curve,
)
from unswayed.datasets import make_demographic, make_salary_story
from unswayed.plots.style import COLOURS, plain, pyplot

HERE = Path(__file__).resolve().parent / "guide"
BLUE, ORANGE, GREEN = COLOURS[:3]
SURVIVE = "predictions that survive (%)"


def panel(width: float = 6.4, height: float = 3.2, n_panels: int = 1) -> tuple[Any, Any]:
    """Return a figure and its axes."""
    plt = pyplot()
    plt.switch_backend("agg")
    figure, axes = plt.subplots(1, n_panels, figsize=(width, height), layout="constrained")
    for axis in np.atleast_1d(axes):
        plain(axis)
    return figure, axes


def tumours() -> Any:
    """Return training rows, test rows and their labels, as most pages use them."""
    return train_test_split(*load_breast_cancer(return_X_y=True), random_state=0)


def ridge(budget: float = 8, alpha: float = 10) -> Any:
    """Return the model that most pages ask about."""
    X, _, y, _ = tumours()
    bias = LabelBias.flips(budget=budget)
    return CertifiedClassifier(Ridge(alpha=alpha), bias=bias).fit(X, y)


def bias() -> Any:
    """Draw which labels three biases leave in doubt."""
    story = make_salary_story(400)
    women = (story.data["gender"] == "female").to_numpy()
    declined = story.target == "declined"
    figure, axis = panel(height=2.2)
    doubts = {
        "any label": np.ones(400, dtype=bool),
        "where=women": women,
        'where=women, direction="up"': women & declined,
    }
    for place, mask in enumerate(doubts.values()):
        axis.barh(place, 400, color="0.9", height=0.6)
        axis.barh(place, mask.sum(), color=ORANGE, height=0.6)
        axis.text(mask.sum() + 6 if mask.sum() < 340 else 330, place, f"{mask.sum()}", va="center")
    axis.set_yticks(range(3), list(doubts))
    axis.invert_yaxis()
    axis.set(xlabel="labels that may be wrong, of 400", xlim=(0, 400))
    return figure


def certificates() -> Any:
    """Draw how many predictions survive each number of wrong labels."""
    model, (_, X_test, _, _) = ridge(), tumours()
    figure, axis = panel()
    counts = np.arange(61)
    curve = robustness_curve(model.minimum_budget(X_test))
    rates = [100 * curve(k) for k in counts]
    axis.step(counts, rates, where="post", color=BLUE)
    axis.plot(8, rates[8], "o", color=ORANGE)
    axis.annotate(f"8 wrong labels: {rates[8]:.0f} %", (8, rates[8]), (14, rates[8] + 3))
    axis.set(xlabel="wrong labels", ylabel=SURVIVE, ylim=(0, 103))
    return figure


def alpha() -> Any:
    """Draw accuracy given up against robust rows."""
    X, X_test, y, y_test = tumours()
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=0.02))
    display = TradeoffDisplay.from_estimator(
        model, X, y, X_test=X_test, y_test=y_test, param_range=[0.1, 10, 1000, 100_000]
    )
    figure, axis = panel()
    rates = 100 * np.asarray(display.rates["2 %"])
    axis.plot(100 * np.asarray(display.loss), rates, "o", color=BLUE)
    for value, loss, rate in zip(display.values, display.loss, rates, strict=True):
        axis.annotate(f"alpha {value:g}", (100 * loss, rate), (6, 4), textcoords="offset points")
    axis.set(xlabel="accuracy given up (points)", ylabel="rows proven robust (%)")
    axis.margins(0.15)
    return figure


def coefficients() -> Any:
    """Draw ranges of coefficients around their values."""
    story = make_salary_story(600)
    X = story.data.assign(female=(story.data["gender"] == "female").astype(float))
    X = X.drop(columns="gender")
    shifts = LabelBias.shifts(2000, budget=0.05)
    certs = CertifiedRegressor(LinearRegression(), bias=shifts).fit(X, story.salary)
    figure, axis = panel(height=2.4)
    RangeDisplay.from_certificates(certs.certify_coefficients()).plot(ax=axis, legend=False)
    axis.axvline(0, color="0.5", linewidth=1)
    axis.set_xlabel("change of salary per unit")
    return figure


def groups() -> Any:
    """Draw how majority and minority lose predictions."""
    made = make_demographic(0.2, random_state=0)
    X, X_test, y, _, _, group = train_test_split(made.data, made.target, made.group, random_state=0)
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=0.05)).fit(X, y)
    least = model.minimum_budget(X_test)
    figure, axis = panel()
    shares = np.linspace(0, 0.1, 51)
    for name, colour in (("majority", BLUE), ("minority", ORANGE)):
        curve = robustness_curve(least[group == name])
        axis.plot(100 * shares, [100 * curve(s * len(X)) for s in shares], color=colour, label=name)
    axis.axvline(5, color="0.6", linestyle=":")
    axis.set(xlabel="wrong labels (% of the training rows)", ylabel=SURVIVE, ylim=(0, 103))
    axis.legend(frameon=False)
    return figure


def random() -> Any:
    """Draw bounds on the probability of a change against minimum budgets."""
    story = make_salary_story(400)
    X = story.data.drop(columns="gender")
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=0.05)).fit(X, story.target)
    asked = X[::8]
    found = model.overturn_probability(asked, LabelNoise(rate=0.05), method="convolution")
    least = model.minimum_budget(asked)
    figure, axis = panel()
    seen = found.low > 1e-9
    axis.vlines(least[seen], found.low[seen], found.high[seen], color=BLUE, alpha=0.5)
    axis.plot(least[seen], found.high[seen], ".", color=BLUE, markersize=4)
    axis.set(yscale="log", ylim=(1e-9, 1))
    axis.set(xlabel="minimum budget of the row (worst labels)", ylabel="probability of a change")
    return figure


def audit() -> Any:
    """Draw how many predictions are confirmed as labels are checked."""
    rng = np.random.default_rng(0)
    X = rng.choice([0.0, 1.0], (2000, 5))
    y = (X @ [2, 1, 1, -1, -1] + rng.normal(size=2000) > 1).astype(int)
    truth = np.where(rng.random(2000) < 0.01, 1 - y, y)
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=1)).fit(X, y)
    asked = model.label_audit(np.unique(X, axis=0), risk=0.05)
    confirmed = [0]
    for _ in range(20):
        rows = asked.draw(20)
        asked.record(rows, truth[rows])
        confirmed.append(int(asked.confirmed.sum()))
    figure, axis = panel()
    axis.step(np.arange(21) * 20, confirmed, where="post", color=BLUE)
    axis.axhline(32, color="0.6", linestyle=":")
    axis.set(xlabel="labels checked", ylabel="predictions confirmed, of 32", ylim=(0, 34))
    return figure


def models() -> Any:
    """Draw three models that are linear in their labels, with bands."""
    rng = np.random.default_rng(1)
    X = np.sort(rng.uniform(0, 6, 30))[:, None]
    y = np.sin(X[:, 0]) + 0.3 * X[:, 0] + rng.normal(0, 0.2, 30)
    at = np.linspace(0, 6, 121)[:, None]
    kinds = {
        "Ridge": Ridge(),
        "KernelRidge": KernelRidge(kernel="rbf", alpha=0.3),
        "KNeighborsRegressor": KNeighborsRegressor(6),
    }
    figure, axes = panel(8.4, 2.8, 3)
    for axis, (name, estimator) in zip(axes, kinds.items(), strict=True):
        shifts = LabelBias.shifts(1, budget=2)
        certs = CertifiedRegressor(estimator, bias=shifts, radius=1).fit(X, y).certify(at)
        axis.fill_between(at[:, 0], certs.low, certs.high, color=GREEN, alpha=0.3)
        axis.plot(at[:, 0], certs.score, color=BLUE)
        axis.plot(X[:, 0], y, ".", color="0.35", markersize=4)
        axis.set(title=name, ylim=(-1.2, 3.4))
    return figure


def limits() -> Any:
    """Draw predictions by whether they are robust and whether they are right."""
    story = make_salary_story(1200)
    X, X_test, y, y_test = train_test_split(
        story.data.drop(columns="gender"), story.target, random_state=0
    )
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=0.01)).fit(X, y)
    robust, right = model.certify(X_test).robust, model.predict(X_test) == y_test
    figure, axis = panel(4.6, 2.6)
    for column, (is_right, title) in enumerate(((True, "right"), (False, "wrong"))):
        for line, is_robust in enumerate((True, False)):
            count = int(((robust == is_robust) & (right == is_right)).sum())
            shade = ORANGE if is_robust and not is_right else "0.9"
            axis.add_patch(Rectangle((column, line), 0.96, 0.94, color=shade))
            axis.text(column + 0.48, line + 0.47, str(count), ha="center", va="center")
        axis.text(column + 0.48, -0.12, title, ha="center")
    axis.set(xlim=(0, 2), ylim=(2, -0.3), xticks=[], yticks=[0.47, 1.47])
    axis.set_yticklabels(["robust", "not robust"])
    axis.grid(visible=False)
    axis.spines[:].set_visible(False)
    axis.tick_params(length=0)
    return figure


def together() -> Any:
    """Draw predictions that change one at a time and together."""
    story = make_salary_story(400)
    X = story.data.drop(columns="gender")
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=8)).fit(X, story.target)
    budgets = range(0, 13, 2)
    least = model.minimum_budget(X[:80])
    alone = [int((least <= budget).sum()) for budget in budgets]
    jointly = [
        model.certify_together(X[:80], budget=budget, time_limit=60).at_most for budget in budgets
    ]
    figure, axis = panel()
    axis.plot(budgets, alone, "s-", color=ORANGE, label="one at a time")
    axis.plot(budgets, jointly, "o-", color=BLUE, label="together")
    axis.set(xlabel="wrong labels", ylabel="predictions that can change, of 80", ylim=(0, None))
    axis.legend(frameon=False)
    return figure


def review() -> Any:
    """Draw what checks are worth."""
    story = make_salary_story(800)
    X, X_test, y, _ = train_test_split(
        story.data.drop(columns="gender"), story.target, random_state=0
    )
    model = CertifiedClassifier(Ridge(), bias=LabelBias.flips(budget=0.02)).fit(X, y)
    plan = model.review_plan(X_test, labels=60)
    figure, axis = panel()
    axis.plot(plan.robust_after, color=BLUE, label="the plan")
    axis.plot(plan.baseline("witness"), "--", color=GREEN, label="most used in witnesses")
    axis.plot(plan.baseline("random"), ":", color=ORANGE, label="at random")
    axis.set(xlabel="labels checked", ylabel="rows proven robust, of 200")
    axis.legend(frameon=False)
    return figure


def scale() -> Any:
    """Draw the sum of the largest effects between two thresholds."""
    effects = np.sort(np.random.default_rng(0).exponential(size=1000))[::-1]
    k, low, high = 50, 2.6, 3.4
    counted = int((effects > high).sum())
    figure, axis = panel()
    rank = np.arange(1, 101)
    axis.bar(rank[:counted], effects[:counted], color=BLUE, width=1, label="summed exactly")
    axis.bar(rank[counted:k], effects[counted:k], color=GREEN, width=1, label="bounded")
    axis.bar(rank[k:], effects[k:100], color="0.85", width=1, label="beyond the budget")
    for mark, name in ((low, "threshold τ₁"), (high, "threshold τ₂")):
        axis.axhline(mark, color=ORANGE, linewidth=1)
        axis.text(101, mark, name, color=ORANGE, va="center")
    axis.set(xlabel="labels, the largest effect first", ylabel="effect on a score", xlim=(0, 100))
    axis.legend(frameon=False)
    return figure


def logistic() -> Any:
    """Draw robust, overturned and undecided rows over the penalty."""
    X, X_test, y, _ = tumours()
    shares = {"robust": [], "undecided": [], "not-robust": []}
    strengths = (1, 0.1, 0.01, 0.001)
    for C in strengths:
        fitted = make_pipeline(StandardScaler(), LogisticRegression(C=C, tol=1e-8))
        model = CertifiedClassifier(fitted, bias=LabelBias.flips(budget=0.01)).fit(X, y)
        verdict = model.certify(X_test).verdict
        for name, found in shares.items():
            found.append(100 * (verdict == name).mean())
    figure, axis = panel(height=2.6)
    left = np.zeros(len(strengths))
    for (name, found), colour in zip(shares.items(), (BLUE, "0.8", ORANGE), strict=True):
        axis.barh(range(4), found, left=left, color=colour, label=name.replace("-", " "))
        left += found
    axis.set_yticks(range(4), [f"C = {C:g}" for C in strengths])
    axis.set(xlabel="test rows (%), if 1 % of the labels are wrong", xlim=(0, 100))
    figure.legend(frameon=False, ncols=3, loc="outside upper center")
    return figure


def classes() -> Any:
    """Draw which class turns into which."""
    X, y = load_wine(return_X_y=True)
    names = ("Barolo", "Grignolino", "Barbera")
    X, X_test, y, _ = train_test_split(X, y, random_state=0)
    fitted = make_pipeline(StandardScaler(), RidgeClassifier(alpha=10))
    model = CertifiedClassifier(fitted, bias=LabelBias.flips(budget=5)).fit(X, y)
    certs = model.certify(X_test)
    counts = np.zeros((3, 3), dtype=int)
    for row in range(len(X_test)):
        rival = row_rival(certs, row)
        counts[certs.prediction[row], certs.prediction[row] if rival is None else rival] += 1
    figure, axis = panel(4.8, 3.4)
    axis.imshow(counts, cmap="Blues", vmax=counts.max() * 1.6)
    for (line, column), count in np.ndenumerate(counts):
        axis.text(column, line, str(count), ha="center", va="center")
    axis.set_xticks(range(3), names)
    axis.set_yticks(range(3), names)
    axis.set(xlabel="after up to 5 wrong labels", ylabel="predicted")
    axis.grid(visible=False)
    return figure


def row_rival(certs: Any, row: int) -> Any:
    """Return the class that overtakes the prediction of a row, if any does."""
    return None if certs.robust[row] else certs.witness(row).rival


def chosen() -> Any:
    """Draw the ranges of rows under every alpha that labels can choose."""
    X, X_test, y, _ = tumours()
    search = make_pipeline(StandardScaler(), RidgeCV(np.logspace(0, 6, 7)))
    fixed = make_pipeline(StandardScaler(), Ridge(alpha=1))
    few = X_test[:12]
    figure, axis = panel()
    for offset, (name, estimator, colour) in enumerate(
        (("the search as a whole", search, BLUE), ("alpha 1, as if it were given", fixed, ORANGE))
    ):
        model = CertifiedClassifier(estimator, bias=LabelBias.flips(budget=3)).fit(X, y)
        certs = model.certify(few)
        places = np.arange(len(few)) + 0.3 * offset
        axis.vlines(places, certs.low, certs.high, color=colour, linewidth=3, label=name)
    axis.axhline(0.5, color="0.5", linewidth=1)
    axis.set(xlabel="test row", ylabel="range of the score")
    figure.legend(frameon=False, ncols=2, loc="outside upper center")
    return figure


def votes() -> Any:
    """Draw how many predictions survive by the number of partitions."""
    X, X_test, y, _ = tumours()
    figure, axis = panel()
    counts = np.arange(16)
    for partitions, colour in zip((5, 15, 45), COLOURS, strict=False):
        trees = PartitionedClassifier(DecisionTreeClassifier(max_depth=2), partitions)
        model = CertifiedClassifier(trees, bias=LabelBias.flips(budget=5)).fit(X, y)
        curve = robustness_curve(model.minimum_budget(X_test))
        rates = [100 * curve(k) for k in counts]
        axis.step(counts, rates, where="post", color=colour, label=f"{partitions} partitions")
    axis.set(xlabel="wrong labels", ylabel=SURVIVE, ylim=(0, 103))
    axis.legend(frameon=False)
    return figure


PICTURES: tuple[Callable[[], Any], ...] = (
    *(bias, certificates, alpha, coefficients, groups, random, audit, models, limits),
    *(together, review, scale, logistic, classes, chosen, votes),
)


def main(folder: Path = HERE) -> None:
    """Draw all of them."""
    folder.mkdir(parents=True, exist_ok=True)
    for picture in PICTURES:
        figure = picture()
        figure.savefig(folder / f"{picture.__name__}.png", dpi=110)
        pyplot().close(figure)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
