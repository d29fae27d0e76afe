"""The page that shows every experiment: a summary, then each piece."""

import re
from collections.abc import Iterable

from unswayed.experiments.markdown import claimed, section, table, verdict
from unswayed.experiments.record import Record, Value

_INTRODUCTION = """\
# The paper, reproduced

Every table and figure of "Certifying Data-Bias Robustness in Linear Regression" (Meyer,
Albarghouthi, D'Antoni), computed by `unswayed` on the same data: the paper's figure, ours, and
the difference. This page is written by a command and not edited by hand:

```
{command}
```

`DIR` is a folder with the data sets; without `--data` they are downloaded. Splits, encodings and
alphas are those of the authors' published code: ten folds (KFold, shuffled, seed 42), of each
fold's training part one ninth set aside for validation, rates the mean over the folds. Budgets
are shares of the training rows, rounded down. Differences are in percentage points, between
figures as printed."""


def page(records: list[Record], *, images: str, command: str) -> str:
    """Return the whole page, as Markdown.

    Parameters
    ----------
    records : list of Record
        In the order to show them.
    images : str
        Folder of the figures, relative to the page.
    command : str
        The command that writes the page again.

    Returns
    -------
    str
    """
    claims = [claim for record in records for claim in record.claims]
    held = sum(claim.holds for claim in claims)
    parts = [
        _INTRODUCTION.format(command=command),
        "## Summary",
        _summary(records),
        f"{held} of {len(claims)} claims hold; the whole took "
        f"{sum(record.seconds for record in records):.0f} seconds.",
        "## Claims",
        claimed(claims),
        *(section(record, images) for record in records),
    ]
    return "\n\n".join(parts) + "\n"


def own_page(record: Record, *, images: str, command: str) -> str:
    """Return the page of an experiment that the paper does not have, as Markdown.

    Parameters
    ----------
    record : Record
    images : str
        Folder of the figures, relative to the page.
    command : str
        The command that writes the page again.

    Returns
    -------
    str
    """
    said = f"""\
This page is written by a command and not edited by hand; it took {record.seconds:.0f} seconds:

```
{command}
```

`DIR` is a folder with the data sets; without `--data` they are downloaded."""
    heading, rest = section(record, images).split("\n\n", 1)
    return "\n\n".join((heading.removeprefix("#"), said, rest)) + "\n"


def _summary(records: Iterable[Record]) -> str:
    rows: list[list[Value]] = []
    for record in records:
        held = sum(claim.holds for claim in record.claims)
        name = f"[{record.title}](#{_anchor(record.title)})"
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


def _anchor(title: str) -> str:
    """Return the anchor that Markdown viewers give a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
