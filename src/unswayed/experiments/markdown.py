"""Records as Markdown: the paper's figure beside ours and the difference."""

from collections.abc import Iterable, Sequence

from unswayed.experiments.record import Claim, Comparison, Record, Value


def table(columns: Sequence[str], rows: Iterable[Sequence[Value]], decimals: int = 1) -> str:
    """Return a Markdown table; columns without letters are aligned to the right.

    Parameters
    ----------
    columns : sequence of str
        The head.
    rows : iterable of sequence of float, int, str or None
        None is shown as a dash.
    decimals : int
        Of floats.

    Returns
    -------
    str
    """
    body = [[_entry(value, decimals) for value in row] for row in rows]
    rules = ["---" if _is_text(column) else "---:" for column in zip(*body, strict=True)]
    lines = [columns, rules, *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _is_text(column: Iterable[str]) -> bool:
    return any(letter.isalpha() for entry in column for letter in entry)


def _entry(value: Value, decimals: int) -> str:
    if value is None:
        return "–"
    return f"{value:.{decimals}f}" if isinstance(value, float) else str(value)


def _signed(value: float | None, decimals: int) -> str:
    if value is None:
        return "–"
    shown = f"{value:+.{decimals}f}"
    return shown.lstrip("+-") if float(shown) == 0 else shown.replace("-", "−")


def verdict(comparison: Comparison) -> str:
    """Return, in words, whether every cell is within the bar.

    Parameters
    ----------
    comparison : Comparison

    Returns
    -------
    str
    """
    if comparison.bar is None:
        return "shown, not judged"
    if comparison.outside:
        return f"**{comparison.outside} of {comparison.cells} cells outside**"
    return "within the bar"


def compared(comparison: Comparison) -> str:
    """Return a comparison as Markdown: paper, ours and the difference in a line each.

    Parameters
    ----------
    comparison : Comparison

    Returns
    -------
    str
    """
    rows: list[list[Value]] = []
    for name, paper, ours, difference in zip(
        comparison.rows,
        comparison.paper,
        comparison.ours,
        comparison.differences(),
        strict=True,
    ):
        rows.append([name, "paper", *paper])
        rows.append(["", "ours", *ours])
        signed = [_signed(value, comparison.decimals) for value in difference]
        rows.append(["", "difference", *signed])
    bar = "" if comparison.bar is None else f", bar {comparison.bar:g}"
    return "\n\n".join(
        (
            f"**{comparison.title}**",
            table(["", "", *comparison.columns], rows, comparison.decimals),
            f"{comparison.cells} cell{'s' * (comparison.cells != 1)}, largest difference "
            f"{comparison.largest:.{comparison.decimals}f}{bar}: {verdict(comparison)}.",
        )
    )


def claimed(claims: Iterable[Claim]) -> str:
    """Return claims as a Markdown table: what the paper says, whether it holds, the numbers.

    Parameters
    ----------
    claims : iterable of Claim

    Returns
    -------
    str
    """
    rows: list[list[Value]] = [
        [claim.text, "holds" if claim.holds else "**does not hold**", claim.evidence]
        for claim in claims
    ]
    return table(["Claim", "", "Found"], rows)


def section(record: Record, images: str) -> str:
    """Return one experiment's section of the page, as Markdown.

    Parameters
    ----------
    record : Record
    images : str
        Folder of the figures, relative to the page.

    Returns
    -------
    str
    """
    parts = [f"## {record.title}"]
    parts += [f"{note}" for note in record.notes]
    parts += [compared(comparison) for comparison in record.comparisons]
    parts += [claimed(record.claims)] * bool(record.claims)
    parts += [
        f"[![{caption}]({images}/{stem}.png)]({images}/{stem}.svg)\n\n*{caption}*"
        for stem, caption in record.figures.items()
    ]
    parts += [f"**{item.title}**\n\n{table(item.columns, item.rows)}" for item in record.tables]
    return "\n\n".join(parts)
