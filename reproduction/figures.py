"""How the figures look: one style, lines told apart by colour and marker, SVG and PNG."""

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from unswayed.plots.curve import RobustnessCurveDisplay
from unswayed.plots.style import plain, pyplot

Series: TypeAlias = Mapping[str, Sequence[float]]  # percentages by label
Panel: TypeAlias = tuple[str, Series]  # the title and what is drawn


def _pyplot() -> Any:
    """Import matplotlib for files, which need no screen."""
    plt = pyplot()
    plt.switch_backend("agg")
    return plt


def panels(
    n_columns: int, n_rows: int = 1, *, height: float = 2.9, alike: bool = True
) -> tuple[Any, Any]:
    """Make a figure with a grid of panels."""
    plt = _pyplot()
    figure, axes = plt.subplots(
        n_rows,
        n_columns,
        figsize=(min(3.1 * n_columns, 11.0), height * n_rows),
        sharex=True,
        sharey=alike,
        squeeze=False,
        layout="constrained",
    )
    for axis in axes.flat:
        plain(axis)
    return figure, axes


def shares(series: Series) -> dict[str, Any]:
    """Return percentages as the shares that displays take."""
    return {label: np.asarray(values) / 100 for label, values in series.items()}


def rate_panels(
    rows: Sequence[Sequence[Panel]],
    xs: Sequence[float],
    folder: Path,
    stem: str,
    *,
    below: str = "labels wrong (% of training rows)",
) -> None:
    """Draw and save a grid of panels with robustness rates over budgets, and one legend."""
    figure, axes = panels(len(rows[0]), len(rows), height=2.6)
    for axis, (title, series) in zip(axes.flat, chain(*rows), strict=True):
        curves = RobustnessCurveDisplay(xs, shares(series), steps=False, unit=below)
        curves.plot(axis, legend=False).ax_.set_title(title)
        axis.label_outer()
    axes[0][0].legend(frameon=False, fontsize="small")
    save(figure, folder, stem)


def save(figure: Any, folder: Path, stem: str) -> None:
    """Write a figure as SVG and PNG, and close it. Equal figures give equal SVG files."""
    plt = _pyplot()
    folder.mkdir(parents=True, exist_ok=True)
    with plt.rc_context({"svg.hashsalt": stem, "svg.fonttype": "none"}):
        figure.savefig(folder / f"{stem}.svg", metadata={"Date": None})
    figure.savefig(folder / f"{stem}.png", dpi=85)
    plt.close(figure)
