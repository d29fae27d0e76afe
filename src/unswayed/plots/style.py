"""How plots look: colours and markers that tell lines apart, axes; matplotlib comes in here."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from numpy.typing import ArrayLike

from unswayed.exceptions import InputError

# Okabe and Ito's colours: told apart by colour-blind readers and in grey print.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = ("o", "s", "^", "D", "v", "P")

ROBUST_ROWS = "rows proven robust (%)"
"""Of the axis that a share of robust rows is drawn along."""

Series: TypeAlias = Mapping[str, ArrayLike]


def pyplot() -> Any:
    """Import matplotlib."""
    try:
        import matplotlib.pyplot as plt  # noqa: PLC0415
    except ImportError:
        raise ImportError("plots need matplotlib: pip install 'unswayed[plots]'") from None
    return plt


def plain(axis: Any) -> None:
    """Give an axis a faint grid and no frame."""
    axis.grid(color="0.9", linewidth=0.6)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)


def axes_of(ax: Any, *, size: tuple[float, float] = (5.6, 3.6)) -> Any:
    """Return the axes to draw on."""
    if ax is not None:
        return ax
    _, made = pyplot().subplots(figsize=size, layout="constrained")
    plain(made)
    return made


def lines(axis: Any, xs: ArrayLike, series: Series, **options: Any) -> list[Any]:
    """Draw one line per entry, each of another colour and marker."""
    drawn = []
    for number, (label, ys) in enumerate(series.items()):
        look = {
            "color": COLOURS[number % len(COLOURS)],
            "marker": MARKERS[number % len(MARKERS)],
            "markersize": 3.5,
            "linestyle": "-",
            "linewidth": 1.3,
        }
        drawn += axis.plot(xs, ys, label=label, **(look | options))
    return drawn


def listed(axis: Any, names: Sequence[Any]) -> Any:
    """Write names along the vertical axis, the first on top."""
    places = range(len(names))
    axis.set_yticks(list(places), [str(name) for name in names])
    axis.set_ylim(len(names) - 0.5, -0.5)
    axis.grid(visible=False, axis="y")
    return places


def height(n_names: int) -> float:
    """Return the height of a figure with so many names along its vertical axis, in inches."""
    return min(1.3 + 0.28 * n_names, 40.0)


_FITTED = "a fitted CertifiedClassifier or CertifiedRegressor"


def need(estimator: Any, method: str, example: str = _FITTED) -> Any:
    """Return a method of an estimator."""
    found = getattr(estimator, method, None)
    if found is None:
        raise InputError(
            f"{type(estimator).__name__} has no {method}, so there is nothing proven to draw; "
            f"pass {example}"
        )
    return found
