"""How the figures look: one style, lines told apart by colour and marker, SVG and PNG."""

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

# Okabe and Ito's colours: told apart by colour-blind readers and in grey print.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = ("o", "s", "^", "D", "v", "P")

Series: TypeAlias = Mapping[str, Sequence[float]]
Panel: TypeAlias = tuple[str, Series]  # the title and what is drawn


def _pyplot() -> Any:
    try:
        import matplotlib  # noqa: PLC0415
    except ImportError:
        raise ImportError(
            "drawing the figures needs matplotlib: pip install 'unswayed[experiments]'"
        ) from None
    matplotlib.use("agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415

    return plt


def panels(
    n_columns: int, n_rows: int = 1, *, height: float = 2.9, alike: bool = True
) -> tuple[Any, Any]:
    """Make a figure with a grid of panels.

    Parameters
    ----------
    n_columns, n_rows : int
    height : float
        Of one row, in inches.
    alike : bool
        Share the vertical scale.

    Returns
    -------
    figure : Figure
    axes : (n_rows, n_columns) array of Axes
    """
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
        axis.grid(color="0.9", linewidth=0.6)
        axis.set_axisbelow(True)
        axis.spines[["top", "right"]].set_visible(False)
    return figure, axes


def lines(axis: Any, xs: Sequence[float], series: Series) -> None:
    """Draw one line per entry.

    Parameters
    ----------
    axis : Axes
    xs : sequence of float
    series : dict of str to sequence of float
        Values by label, as long as `xs`.
    """
    for number, (label, ys) in enumerate(series.items()):
        axis.plot(
            xs,
            ys,
            "-",
            label=label,
            color=COLOURS[number % len(COLOURS)],
            marker=MARKERS[number % len(MARKERS)],
            markersize=3.5,
            linewidth=1.3,
        )


def rate_panels(
    rows: Sequence[Sequence[Panel]],
    xs: Sequence[float],
    folder: Path,
    stem: str,
    *,
    below: str = "labels wrong (% of training rows)",
) -> None:
    """Draw and save a grid of panels with robustness rates over budgets, and one legend.

    Parameters
    ----------
    rows : sequence of sequence of (title, series)
        The panels, row by row.
    xs : sequence of float
        The budgets.
    folder : Path
    stem : str
        Name of the files, without an ending.
    below : str
        Label of the horizontal axis.
    """
    figure, axes = panels(len(rows[0]), len(rows), height=2.6)
    for axis, (title, series) in zip(axes.flat, chain(*rows), strict=True):
        lines(axis, xs, series)
        axis.set(title=title, ylim=(0, 101))
    for axis in axes[:, 0]:
        axis.set_ylabel("rows proven robust (%)")
    for axis in axes[-1]:
        axis.set_xlabel(below)
    axes[0][0].legend(frameon=False, fontsize="small")
    save(figure, folder, stem)


def save(figure: Any, folder: Path, stem: str) -> None:
    """Write a figure as SVG and PNG, and close it. Equal figures give equal SVG files.

    Parameters
    ----------
    figure : Figure
    folder : Path
        It is made if it does not exist.
    stem : str
        Name of the files, without an ending.
    """
    plt = _pyplot()
    folder.mkdir(parents=True, exist_ok=True)
    with plt.rc_context({"svg.hashsalt": stem, "svg.fonttype": "none"}):
        figure.savefig(folder / f"{stem}.svg", metadata={"Date": None})
    figure.savefig(folder / f"{stem}.png", dpi=85)
    plt.close(figure)
