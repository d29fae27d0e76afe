"""Records as Markdown: tables beside the paper's, sections, and the pages that show them."""

from collections.abc import Iterable, Sequence

from reproduction.experiment import Claim, Comparison, Record, Value

_INTRODUCTION = """\
# The paper, reproduced

Every table and figure of "Certifying Data-Bias Robustness in Linear Regression" (Meyer,
Albarghouthi, D'Antoni), computed by `unswayed` on the same data: the paper's figure, ours, and
the difference. This page is written by a command and not edited by hand:

```
{command}
```

Run it in a clone of the repository, whose folder `reproduction` holds the experiments. `DIR` is a
folder with the data sets; without `--data` they are downloaded. Splits, encodings and
alphas are those of the authors' published code: ten folds (KFold, shuffled, seed 42), of each
fold's training part one ninth set aside for validation, rates the mean over the folds. Budgets
are shares of the training rows, rounded down. Differences are in percentage points, between
figures as printed."""


def table(columns: Sequence[str], rows: Iterable[Sequence[Value]], decimals: int = 1) -> str:
    """Return a Markdown table; columns without letters are aligned to the right."""
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
    """Return, in words, whether every cell is within the bar."""
    if comparison.bar is None:
        return "shown, not judged"
    if comparison.outside:
        return f"**{comparison.outside} of {comparison.cells} cells outside**"
    return "within the bar"


def compared(comparison: Comparison) -> str:
    """Return a comparison as Markdown: paper, ours and the difference in a line each."""
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
    """Return claims as a Markdown table: what the paper says, whether it holds, the numbers."""
    rows: list[list[Value]] = [
        [claim.text, "holds" if claim.holds else "**does not hold**", claim.evidence]
        for claim in claims
    ]
    return table(["Claim", "", "Found"], rows)


def experiment_page(record: Record, images: str, lead: Sequence[str] = ()) -> str:
    """Return the page of one experiment, as Markdown."""
    parts = [f"# {record.title}", *lead, *record.notes]
    parts += [compared(comparison) for comparison in record.comparisons]
    parts += [claimed(record.claims)] * bool(record.claims)
    parts += [
        f"[![{caption}]({images}/{stem}.png)]({images}/{stem}.svg)\n\n*{caption}*"
        for stem, caption in record.figures.items()
    ]
    parts += [f"**{item.title}**\n\n{table(item.columns, item.rows)}" for item in record.tables]
    return "\n\n".join(parts) + "\n"


def page(records: list[Record], *, folder: str, command: str) -> str:
    """Return the summary of all experiments, whose pages are in `folder`, as Markdown."""
    claims = [claim for record in records for claim in record.claims]
    held = sum(claim.holds for claim in claims)
    pages = [f"{folder}/{name}" for name in ("claims", *(record.name for record in records))]
    parts = [
        _INTRODUCTION.format(command=command),
        "## Summary",
        _summary(records, folder),
        f"[{held} of {len(claims)} claims hold]({folder}/claims.md); the whole took "
        f"{sum(record.seconds for record in records):.0f} seconds.",
        "\n".join(("```{toctree}", ":hidden:", "", *pages, "```")),
    ]
    return "\n\n".join(parts) + "\n"


def claims_page(records: Iterable[Record]) -> str:
    """Return the page of all claims, as Markdown."""
    claims = (claim for record in records for claim in record.claims)
    return f"# Claims of the paper\n\n{claimed(claims)}\n"


def own_page(record: Record, *, images: str, command: str) -> str:
    """Return the page of an experiment that the paper does not have, as Markdown."""
    said = f"""\
This page is written by a command and not edited by hand; it took {record.seconds:.0f} seconds:

```
{command}
```

Run it in a clone of the repository. `DIR` is a folder with the data sets; without `--data` they are
downloaded."""
    return experiment_page(record, images, [said])


def _summary(records: Iterable[Record], folder: str) -> str:
    rows: list[list[Value]] = []
    for record in records:
        held = sum(claim.holds for claim in record.claims)
        name = f"[{record.title}]({folder}/{record.name}.md)"
        ending: list[Value] = [f"{held} of {len(record.claims)}", f"{record.seconds:.1f} s"]
        if not record.comparisons:
            rows.append([name, "", None, None, None, "no numbers in the paper", *ending])
        for comparison in record.comparisons:
            largest = f"{comparison.largest:.{comparison.decimals}f}"
            bar = None if comparison.bar is None else f"{comparison.bar:g}"
            what = comparison.title.split(":")[0]
            rows.append([name, what, comparison.cells, largest, bar, verdict(comparison), *ending])
            name, ending = "", ["", ""]
    columns = ["Experiment", "", "Cells", "Largest difference", "Bar", "Verdict"]
    return table([*columns, "Claims that hold", "Time"], rows)
