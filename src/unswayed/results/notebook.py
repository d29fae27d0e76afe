"""What notebooks show of results: one kind of table for all of them, and links to pages."""

import html
import webbrowser
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any
from urllib.parse import quote

from unswayed.words import as_text, counted

SHOWN = 12
"""Lines of a table, at most, unless somebody asked for more."""
_LONGEST = 400  # characters of a cell
# Colours are the notebook's own, so that tables can be read in light and dark ones.
_FIGURE = "margin:0 0 0.5em;text-align:left"
_TABLE = "color:inherit;border-collapse:collapse;margin:0;font-variant-numeric:tabular-nums"
_CAPTION = "color:inherit;font-weight:bold;padding:0.3em 0"
_TEXT = "text-align:left;padding:0.15em 0.8em"
_NUMBER = "text-align:right;padding:0.15em 0.8em"
_NAME = f"{_TEXT};white-space:nowrap"
_NOTE = "margin:0.2em 0"


def table(
    caption: str,
    columns: Mapping[str, Sequence[Any]],
    *,
    total: int | None = None,
    what: str = "row",
    notes: Sequence[str] = (),
) -> str:
    """Return an HTML table of these lines, which says how many of `total` are left out.

    >>> text = table("Weak & few", {"row": [3, 1], "class": ["<b>", "no"]}, total=40)
    >>> "Weak &amp; few" in text, "&lt;b&gt;" in text, "… and 38 more rows" in text
    (True, True, True)
    """
    looks = [_NUMBER if _are_numbers(cells) else _TEXT for cells in columns.values()]
    head = "".join(_cell("th", *each) for each in zip(columns, looks, strict=True))
    body = "".join(
        f"<tr>{''.join(_cell('td', *each) for each in zip(cells, looks, strict=True))}</tr>"
        for cells in zip(*columns.values(), strict=True)
    )
    left = (total or 0) - max(map(len, columns.values()), default=0)
    below = [f"… and {counted(left, f'more {what}')}"] if left > 0 else []
    inside = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    return _with_caption(caption, inside, [*below, *notes])


def facts(caption: str, named: Mapping[str, Any], *, notes: Sequence[str] = ()) -> str:
    """Return an HTML table of one fact a line.

    >>> "<th " in facts("One row", {"verdict": "robust"})
    True
    """
    lines = (
        f"<tr>{_cell('th', name, _NAME)}{_cell('td', value, _TEXT)}</tr>"
        for name, value in named.items()
    )
    return _with_caption(caption, f"<tbody>{''.join(lines)}</tbody>", notes)


def _with_caption(caption: str, inside: str, notes: Sequence[str]) -> str:
    below = "".join(f'<p style="{_NOTE}">{html.escape(note)}</p>' for note in notes)
    caption = caption[:1].upper() + caption[1:]
    # No caption of the table: it would be as narrow as that.
    return (
        f'<figure style="{_FIGURE}"><figcaption style="{_CAPTION}">{html.escape(caption)}'
        f'</figcaption><table style="{_TABLE}">{inside}</table>{below}</figure>'
    )


def _cell(tag: str, value: Any, look: str) -> str:
    return f'<{tag} style="{look}">{html.escape(as_text(value, _LONGEST))}</{tag}>'


def _are_numbers(cells: Sequence[Any]) -> bool:
    """Return whether cells begin as numbers do, so that they stand to the right."""
    return all(str(cell).lstrip("-")[:1].isdigit() for cell in cells)


@dataclass(frozen=True, slots=True)
class ReportPage(PathLike[str]):
    """A page that was written: notebooks show a link to it, and it can be used as its path.

    Attributes
    ----------
    path : Path
        Its absolute path.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.linear_model import LinearRegression
    >>> from unswayed import CertifiedClassifier, LabelBias
    >>> model = CertifiedClassifier(LinearRegression(), bias=LabelBias.flips(budget=1))
    >>> certs = model.fit([[0], [0], [1], [1]], ["no", "no", "yes", "yes"]).certify([[0]])
    >>> page = certs.report(pathlib.Path(tempfile.mkdtemp()) / "report.html")
    >>> page.path.name, str(page) == str(page.path), pathlib.Path(page).exists()
    ('report.html', True, True)
    >>> page.open()  # doctest: +SKIP
    """

    path: Path

    def open(self) -> None:
        """Show the page in the browser of the machine that wrote it."""
        webbrowser.open(self.path.as_uri())

    def __fspath__(self) -> str:
        return str(self.path)

    def __str__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.path}>"

    def _repr_html_(self) -> str:
        # Notebooks are served from their folder: browsers do not follow links to other files.
        here = Path.cwd()
        near = self.path.is_relative_to(here)
        link = quote(self.path.relative_to(here).as_posix()) if near else self.path.as_uri()
        link, name = html.escape(link), html.escape(str(self.path))
        return f'<a href="{link}" target="_blank" rel="noopener">{name}</a>'
